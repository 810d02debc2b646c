"""Steps of Adam that are partitioned by `NamedSharding` and `with_sharding_constraint`, for each strategy."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from benchmarks.partitioned.models import COLUMNS, ROWS, Model, Place, Shape, is_shape

DEVICES = 8
LEARNING_RATE = 1e-3
# What a step is written in, and how it is lowered: text of StableHLO.
Text = Callable[[Any], str]


@dataclasses.dataclass(frozen=True)
class Strategy:
    """mesh: of 8 devices. weights, moments: the spec of a leaf by its name and shape. batch: of all of it.
    activations: by kind; those that are not in it are left to the partitioner."""

    mesh: AbstractMesh
    weights: Callable[[str, Shape], P]
    batch: P
    activations: dict[str, P]
    moments: Callable[[str, Shape], P] | None = None

    def place(self, x: jax.Array, kind: str) -> jax.Array:
        """An activation, cut as the strategy wants it."""
        if kind not in self.activations:
            return x
        return jax.lax.with_sharding_constraint(x, NamedSharding(self.mesh, self.activations[kind]))


def _whole(name: str, shape: Shape) -> P:  # noqa: ARG001
    return P()


def _first(name: str, shape: Shape) -> P:  # noqa: ARG001
    """The first dimension that all devices have a part of."""
    cut = next((d for d, n in enumerate(shape) if n % DEVICES == 0), None)
    return P() if cut is None else P(*[None] * cut, "d")


def _last(name: str, shape: Shape) -> P:  # noqa: ARG001
    return P(*[None] * (len(shape) - 1), "d") if shape[-1] % DEVICES == 0 else P()


def _megatron(axis: str) -> Callable[[str, Shape], P]:
    def spec(name: str, shape: Shape) -> P:
        if name in COLUMNS:
            return P(*[None] * (len(shape) - 1), axis)
        return P(*[None] * (len(shape) - 2), axis, None) if name in ROWS else P()

    return spec


_LINE = AbstractMesh((DEVICES,), ("d",), axis_types=(AxisType.Auto,))
_GRID = AbstractMesh((2, 4), ("d", "m"), axis_types=(AxisType.Auto,) * 2)
_ROWS = {"residual": P("d"), "hidden": P("d"), "heads": P("d")}
STRATEGIES = {
    "data": Strategy(_LINE, _whole, P("d"), {}),
    "ZeRO-1": Strategy(_LINE, _whole, P("d"), {}, _first),
    "ZeRO-3": Strategy(_LINE, _first, P("d"), _ROWS),
    "ZeRO-3, last dimension": Strategy(_LINE, _last, P("d"), _ROWS),
    "tensor": Strategy(
        _LINE, _megatron("d"), P(), {"residual": P(), "hidden": P(None, None, "d"), "heads": P(None, None, "d")}
    ),
    "sequence": Strategy(
        _LINE, _megatron("d"), P(),
        {"residual": P(None, "d"), "hidden": P(None, None, "d"), "heads": P(None, None, "d")},
    ),
    "2x4": Strategy(
        _GRID, _megatron("m"), P("d"),
        {"residual": P("d"), "hidden": P("d", None, "m"), "heads": P("d", None, "m")},
    ),
}  # fmt: skip


def cast(tree: Any, dtype: Any) -> Any:
    """Floats of a tree in another type."""
    return jax.tree.map(lambda x: x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def adam_step(loss: Callable[[Any, Any], jax.Array], dtype: Any) -> Callable[[Any, Any], Any]:
    """One step of Adam on a state in f32; loss and gradients are computed of parameters in `dtype`."""

    def step(state: Any, batch: Any) -> Any:
        value, g = jax.value_and_grad(lambda p: loss(cast(p, dtype), batch))(state["params"])
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], g)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["v"], g)
        params = jax.tree.map(
            lambda p, m, v: p - LEARNING_RATE * m / (jnp.sqrt(v) + 1e-8), state["params"], m, v
        )  # fmt: skip
        return {"params": params, "m": m, "v": v}, value

    return step


def state_of(params: Any, moments: Any) -> Any:
    """The state of Adam, of two trees of leaves."""
    return {"params": params, "m": moments, "v": moments}


def lowered(step: Callable[..., Any], *arguments: Any, out: Any = None) -> str:
    """The text of a step for GPUs. arguments: abstract arrays with shardings."""
    jitted = jax.jit(step) if out is None else jax.jit(step, out_shardings=out)
    return jitted.trace(*arguments).lower(lowering_platforms=("cuda",)).as_text()


def array(mesh: AbstractMesh, shape: Shape, dtype: Any, spec: P) -> jax.ShapeDtypeStruct:
    """An abstract array that is cut."""
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))


def named(model: Model, strategy: str) -> Text:
    """A step of a model with a strategy."""
    chosen = STRATEGIES[strategy]
    place: Place = chosen.place

    def leaves(spec: Callable[[str, Shape], P]) -> Any:
        return jax.tree_util.tree_map_with_path(
            lambda path, shape: array(chosen.mesh, shape, np.float32, spec(str(getattr(path[-1], "key", "")), shape)),
            model.shapes, is_leaf=is_shape,
        )  # fmt: skip

    def text(dtype: Any) -> str:
        state = state_of(leaves(chosen.weights), leaves(chosen.moments or chosen.weights))
        batch = jax.tree.map(lambda x: array(chosen.mesh, x.shape, x.dtype, chosen.batch), model.batch)
        out = jax.tree.map(lambda x: x.sharding, state), NamedSharding(chosen.mesh, P())
        return lowered(adam_step(lambda p, b: model.loss(p, b, place), dtype), state, batch, out=out)

    return text
