"""What is made of a Python function once, however often it is asked for: `scalify(f)(x)` in a loop compiles once.

`jax.jit(f)(x)` does, because JAX knows f again. It is kept with the function itself, and goes when that does.
"""

import types
from collections.abc import Callable, Hashable
from typing import Any

_NAME = "__scalified__"


def shared(fun: Callable[..., Any], key: Hashable, make: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """What `make` made of a function for an equal key before, or makes now; always now of no Python function."""
    if not isinstance(fun, types.FunctionType):
        return make()
    # `functools.wraps` copies what a function knows to the one around it.
    owner, made = getattr(fun, _NAME, (None, dict[Hashable, Callable[..., Any]]()))
    if owner is not fun:
        made = dict[Hashable, Callable[..., Any]]()
        setattr(fun, _NAME, (fun, made))
    if key not in made:
        made[key] = make()
    return made[key]
