"""Dynamic rescaling: the scale follows the statistics of the data (paper, section 3.3 and Algorithm 5).

All of it is written in terms of `get_data_and_scale` and `set_scaling`, so that it is visible in the program, does
nothing outside of the transform, and works on ScaledArrays directly. Scales move by powers of two: values keep their
bits. Where the statistic says nothing (all zeros, infinite or NaN elements) the scale stays as it is.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import jax
import jax.core
import jax.numpy as jnp

from scalify_hlo.frontend.one_way import map_on_backward
from scalify_hlo.frontend.powers_of_two import Pow2RoundMode, clip_scale, pow2_round
from scalify_hlo.frontend.primitives import get_data_and_scale, set_scaling
from scalify_hlo.frontend.scaled_array import SCALE_DTYPE, ScaledArray, is_scaled
from scalify_hlo.frontend.splitting import is_float_array
from scalify_hlo.frontend.statistics import Statistic, magnitude
from scalify_hlo.frontend.tracing import is_tracing_scalified

GradientRescaling = Literal["l1", "l2", "max"]


def dynamic_rescale(tree: Any, statistic: Statistic = "rms") -> Any:
    """Every float array of a tree with the scale that makes the statistic of its data lie in [1, 2).

    tree: arrays inside the transform, ScaledArrays outside; other leaves, and plain arrays outside of the
        transform, stay as they are.
    statistic: "rms" root mean square, "l1" mean magnitude, "max" largest magnitude.
    The derivative is the identity.
    """
    return jax.tree.map(partial(_rescale, statistic=statistic), tree, is_leaf=is_scaled)


def dynamic_rescale_max(tree: Any) -> Any:
    """`dynamic_rescale` by the largest magnitude."""
    return dynamic_rescale(tree, "max")


def dynamic_rescale_l1(tree: Any) -> Any:
    """`dynamic_rescale` by the mean magnitude."""
    return dynamic_rescale(tree, "l1")


def dynamic_rescale_l2(tree: Any) -> Any:
    """`dynamic_rescale` by the root mean square."""
    return dynamic_rescale(tree, "rms")


def dynamic_rescale_max_grad(x: Any) -> Any:
    """x; its gradient goes through `dynamic_rescale_max`."""
    return map_on_backward(dynamic_rescale_max, x)


def dynamic_rescale_l1_grad(x: Any) -> Any:
    """x; its gradient goes through `dynamic_rescale_l1`."""
    return map_on_backward(dynamic_rescale_l1, x)


def dynamic_rescale_l2_grad(x: Any) -> Any:
    """x; its gradient goes through `dynamic_rescale_l2`."""
    return map_on_backward(dynamic_rescale_l2, x)


GRADIENT_RESCALING: dict[str, Callable[[Any], Any]] = {
    "l1": dynamic_rescale_l1_grad,
    "l2": dynamic_rescale_l2_grad,
    "max": dynamic_rescale_max_grad,
}


def dynamic_rescale_every(steps: int, step: Any, tree: Any, statistic: Statistic = "rms") -> Any:
    """`dynamic_rescale` when `step` is a multiple of `steps`; the statistics are computed only then.

    step: integer scalar, traced or not.
    """
    if steps < 1:
        raise ValueError(f"dynamic_rescale_every: the number of steps must be positive, not {steps}")
    due = jnp.asarray(step) % steps == 0
    return jax.tree.map(partial(_rescale, statistic=statistic, due=due), tree, is_leaf=is_scaled)


@partial(jax.jit, static_argnames=("statistic",))
def rescale_state(tree: Any, statistic: Statistic = "rms") -> Any:
    """The ScaledArrays of a training state rescaled by their statistics: the last line of Algorithm 1, compiled."""
    return dynamic_rescale(tree, statistic)


def _rescale(x: Any, statistic: Statistic, due: Any = None) -> Any:
    if not (is_scaled(x) or is_float_array(x)) or _stays_plain(x):
        return x
    data, scale = get_data_and_scale(x)
    data, scale = jax.lax.stop_gradient((data, scale))
    # One statistic for each element of the scale.
    axes = None if scale.ndim == 0 else tuple(i for i, n in enumerate(scale.shape) if n != data.shape[i])
    measure = partial(rescaling_factor, statistic=statistic, axes=axes)
    if due is None:
        factor = measure(data)
    else:
        factor = jax.lax.cond(due, measure, partial(_ones_like_statistic, shape=scale.shape), data)
    result = set_scaling(x, clip_scale(scale.astype(SCALE_DTYPE) * factor))
    return ScaledArray(result.data, result.scale.astype(x.scale.dtype)) if is_scaled(x) else result


def _ones_like_statistic(data: Any, shape: tuple[int, ...]) -> Any:
    """1 for each element of a scale; inside `shard_map` of a type that varies over devices as the data do."""
    if data.size == 0:
        return jnp.ones(shape, SCALE_DTYPE)
    # True whatever the element is; it gives the result the data's type.
    always = (data.reshape(-1)[0] == 0) | True
    return jnp.broadcast_to(always.astype(SCALE_DTYPE), shape)


def _stays_plain(x: Any) -> bool:
    """Whether x is a plain array at hand, outside of any transform."""
    return not (is_scaled(x) or isinstance(x, jax.core.Tracer) or is_tracing_scalified())


def rescaling_factor(data: Any, statistic: Statistic = "rms", axes: tuple[int, ...] | None = None) -> Any:
    """The power of two by which a scale has to be multiplied: the statistic of the data, rounded down.

    axes: the axes that share one scale; None for all, and then the result has rank 0. 1 for data of zeros and
    data with infinite or NaN elements.
    """
    norm = pow2_round(magnitude(data, statistic, axes), Pow2RoundMode.DOWN)
    return jnp.where((norm > 0) & jnp.isfinite(norm), norm, jnp.ones_like(norm))
