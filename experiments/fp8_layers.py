"""Per-tensor FP8 with scales from largest magnitudes: the recipe of NVIDIA's TransformerEngine.

Each linear layer's three products have E4M3 activations and weights and E5M2 gradients, each multiplied by
largest / amax first, in bf16 mixed precision otherwise. Current scaling measures amax of the tensor itself, which has
to be read once more for it; delayed scaling takes the largest of the last steps, kept in the training state.
"""

from typing import Any

import jax
import jax.numpy as jnp

from experiments.layers import Array, MixedLayers
from scalify_hlo.frontend.casts import saturating_cast

_F32 = jnp.dtype("float32")
_VALUES, _GRADIENTS = jnp.dtype(jnp.float8_e4m3fn), jnp.dtype(jnp.float8_e5m2)
# Steps that delayed scaling looks back; TransformerEngine's default is 1024, for runs of many thousand steps.
HISTORY = 16


class CurrentScalingLayers(MixedLayers):
    """Scales from the tensors themselves."""

    def product(self, x: Array, weight: Array) -> Array:
        return _current(x, weight)


class DelayedScalingLayers(MixedLayers):
    """Scales from the magnitudes of earlier steps.

    histories: f32 [layers, 3, HISTORY], amax of input, weight and output gradient of each linear layer in the order
    of their calls, the latest first. What the layers hand back as the derivative with respect to it is not a
    derivative but the new histories.
    """

    def __init__(self, histories: Array | None = None):
        """histories: None to count the linear layers only, in `calls`."""
        super().__init__()
        self.histories = histories
        self.calls = 0

    def product(self, x: Array, weight: Array) -> Array:
        self.calls += 1
        if self.histories is None:
            return super().product(x, weight)
        return _delayed(x, weight, self.histories[self.calls - 1])


def _amax(x: Array) -> Array:
    return jnp.max(jnp.abs(x)).astype(_F32)


def _factor(amax: Array, dtype: Any) -> Array:
    """What brings `amax` to the largest number of the type; 1 while it is 0 or not finite."""
    usable = (amax > 0) & jnp.isfinite(amax)
    return jnp.where(usable, float(jnp.finfo(dtype).max) / jnp.where(usable, amax, 1), 1)


def _quantised(x: Array, factor: Array, dtype: Any) -> Array:
    return saturating_cast(x.astype(_F32) * factor, dtype)


def contracted(a: Array, b: Array, axis_a: int, axis_b: int) -> Array:
    """The product of a and b over one axis of each, in f32."""
    return jax.lax.dot_general(a, b, (((axis_a,), (axis_b,)), ((), ())), preferred_element_type=_F32)


def _forward(x: Array, weight: Array, factors: Array) -> tuple[Array, Any]:
    qx, qw = _quantised(x, factors[0], _VALUES), _quantised(weight, factors[1], _VALUES)
    y = contracted(qx, qw, x.ndim - 1, 0) / (factors[0] * factors[1])
    return y.astype(x.dtype), (qx, qw, factors)


def _backward(saved: Any, gradient: Array, factor: Array, dtype: Any) -> tuple[Array, Array]:
    qx, qw, factors = saved
    qg = _quantised(gradient, factor, _GRADIENTS)
    gradient_x = contracted(qg, qw, qg.ndim - 1, 1) / (factor * factors[1])
    rows = qx.reshape(-1, qx.shape[-1]), qg.reshape(-1, qg.shape[-1])
    gradient_weight = contracted(*rows, 0, 0) / (factors[0] * factor)
    return gradient_x.astype(dtype), gradient_weight.astype(dtype)


@jax.custom_vjp
def _current(x: Array, weight: Array) -> Array:
    return _current_forward(x, weight)[0]


def _current_forward(x: Array, weight: Array) -> tuple[Array, Any]:
    factors = jnp.stack([_factor(_amax(x), _VALUES), _factor(_amax(weight), _VALUES)])
    return _forward(x, weight, factors)


def _current_backward(saved: Any, gradient: Array) -> tuple[Array, Array]:
    return _backward(saved, gradient, _factor(_amax(gradient), _GRADIENTS), gradient.dtype)


_current.defvjp(_current_forward, _current_backward)


@jax.custom_vjp
def _delayed(x: Array, weight: Array, history: Array) -> Array:
    return _delayed_forward(x, weight, history)[0]


def _delayed_forward(x: Array, weight: Array, history: Array) -> tuple[Array, Any]:
    factors = jnp.stack([_factor(jnp.max(history[i]), _VALUES) for i in (0, 1)])
    y, saved = _forward(x, weight, factors)
    return y, (saved, history, _amax(x), _amax(weight))


def _delayed_backward(residuals: Any, gradient: Array) -> tuple[Array, Array, Array]:
    saved, history, amax_x, amax_weight = residuals
    factor = _factor(jnp.max(history[2]), _GRADIENTS)
    gradient_x, gradient_weight = _backward(saved, gradient, factor, gradient.dtype)
    latest = jnp.stack([amax_x, amax_weight, _amax(gradient)])
    return gradient_x, gradient_weight, jnp.concatenate([latest[:, None], history[:, :-1]], axis=1)


_delayed.defvjp(_delayed_forward, _delayed_backward)
