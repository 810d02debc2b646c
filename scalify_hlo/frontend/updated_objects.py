"""Functions that update flax nnx objects in place: `optimizer.update(model, gradients)`, counts of random keys.

`flax.nnx.jit` writes what such a function has changed back into its caller's objects; `jax.jit`, for which they are
trees like others, forgets it. `scalify` does what nnx.jit does: the objects are results of the compiled function beside
its own, so that they are state like any other, and are written back after the call.
"""

# jax and flax are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import jax

from scalify_hlo.errors import ScalifyError
from scalify_hlo.frontend.scaled_array import is_scaled
from scalify_hlo.frontend.tied_variables import NNX, Tied, nnx_objects


class ArgumentsUpdatedError(Exception):
    """A function that is being traced has changed objects that were given to it, and does not return them."""


def check_unchanged(arguments: Any, given: list[Any], results: Any) -> None:
    """Raise ArgumentsUpdatedError if nnx objects among arguments have new leaves, unless they are returned.

    given: the leaves of the arguments before the function was called.
    """
    if not nnx_objects(arguments) or nnx_objects(results):
        return
    now = jax.tree.leaves(arguments, is_leaf=is_scaled)
    if len(now) != len(given) or any(a is not b for a, b in zip(now, given, strict=True)):
        raise ArgumentsUpdatedError


def returning_objects(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun`, which returns the nnx objects among its arguments too: (results, objects)."""

    @functools.wraps(fun)
    def with_objects(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        results = fun(*args, **kwargs)
        return results, nnx_objects((args, kwargs))

    return with_objects


def write_back(arguments: Any, updated: list[Any]) -> None:
    """Give the nnx objects among arguments the values of those that a function returned.

    Raises ScalifyError where two of them share a variable, of which there are two different values then.
    """
    nnx: Any = sys.modules[NNX]
    objects = nnx_objects(arguments)
    seen: set[int] = set()
    for each in objects:
        own = {id(variable) for _, variable in nnx.iter_graph(each) if isinstance(variable, nnx.Variable)}
        if own & seen:
            raise ScalifyError("two nnx objects among the arguments share a variable: give one object that holds both")
        seen |= own
    for each, new in zip(objects, updated, strict=True):
        nnx.update(each, new.state() if isinstance(new, Tied) else nnx.state(new))


def take_cache() -> None:
    """Take what `nnx.cached_partial` remembers of its objects, which it insists on; they are trees here."""
    nnx: Any = sys.modules[NNX]
    with nnx.update_context("scalify"):
        pass
