"""Variables that a flax nnx object has at two places: an embedding that is the head's weight too, one layer used twice.

To JAX an object is a tree, and in a tree each place is a leaf of its own: taken apart and put together again, the two
would be two variables, of which each gets a part of the gradient. nnx takes objects apart as graphs (`nnx.split`), each
variable once; so does this, for objects that have such variables.
"""

# jax and flax are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import jax

NNX = "flax.nnx"


def nnx_objects(tree: Any) -> list[Any]:
    """The nnx objects (modules, optimisers, metrics, random keys) in a tree, not those inside of others."""
    kind = getattr(sys.modules.get(NNX), "Pytree", None)
    if kind is None:
        return []
    return [x for x in jax.tree.leaves(tree, is_leaf=lambda x: isinstance(x, kind)) if isinstance(x, kind)]


def has_ties(tree: Any) -> bool:
    """Whether an nnx object in a tree has a variable at two places."""
    return any(map(_is_tied, nnx_objects(tree)))


class Tied:
    """An nnx object with ties as a node of a tree: each of its variables once.

    definition: what nnx calls the graph's definition, which says where each belongs. paths: of the variables.
    """

    def __init__(self, static: tuple[Any, tuple[Any, ...]], variables: Any):
        self.definition, self.paths = static
        self.variables = tuple(variables)

    @classmethod
    def of(cls, value: Any) -> Tied:
        """An object taken apart."""
        nnx: Any = sys.modules[NNX]
        definition, state = nnx.split(value)
        flat = list(nnx.to_flat_state(state))
        return cls((definition, tuple(path for path, _ in flat)), (variable for _, variable in flat))

    def state(self) -> Any:
        """Its variables as an `nnx.State`."""
        nnx: Any = sys.modules[NNX]
        return nnx.from_flat_state(list(zip(self.paths, self.variables, strict=True)))

    def merged(self) -> Any:
        """The object, a new one."""
        nnx: Any = sys.modules[NNX]
        return nnx.merge(self.definition, self.state())


def _flatten(tied: Tied) -> tuple[Any, Any]:
    # Named as in the object: `model.head.kernel.value`.
    keys = (jax.tree_util.GetAttrKey(".".join(map(str, path))) for path in tied.paths)
    return tuple(zip(keys, tied.variables, strict=True)), (tied.definition, tied.paths)


jax.tree_util.register_pytree_with_keys(Tied, _flatten, Tied)


def packed(tree: Any) -> Any:
    """A tree with the objects that have ties taken apart."""
    tied = {id(x) for x in nnx_objects(tree) if _is_tied(x)}
    return jax.tree.map(lambda x: Tied.of(x) if id(x) in tied else x, tree, is_leaf=lambda x: id(x) in tied)


def unpacked(tree: Any) -> Any:
    """A tree with the objects put together again."""
    return jax.tree.map(lambda x: x.merged() if isinstance(x, Tied) else x, tree, is_leaf=lambda x: isinstance(x, Tied))


def map_leaves(convert: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool]) -> Any:
    """`jax.tree.map` under which variables that are tied stay so."""
    if has_ties(tree):
        return unpacked(jax.tree.map(convert, packed(tree), is_leaf=is_leaf))
    return jax.tree.map(convert, tree, is_leaf=is_leaf)


def taking_tied(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun` for arguments with objects taken apart; it returns (results, objects), these taken apart too."""

    @functools.wraps(fun)
    def with_tied(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = unpacked((args, kwargs))
        results = fun(*args, **kwargs)
        return packed((results, nnx_objects((args, kwargs))))

    return with_tied


def _is_tied(value: Any) -> bool:
    nnx: Any = sys.modules[NNX]
    variables = jax.tree.leaves(value, is_leaf=lambda each: isinstance(each, nnx.Variable))
    places = [id(each) for each in variables if isinstance(each, nnx.Variable)]
    return len(set(places)) < len(places)
