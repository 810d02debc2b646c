"""Unit scaling (Blake, Orr and Luschi, 2023): fixed factors, of shapes alone, keep every tensor near unit RMS.

The model is another one: weights of deviation 1, a factor in every product, sums in the residual stream weighted,
and the learning rate of each weight divided by the deviation that the f32 model draws it with. FP8 casts need no scale
then, as long as tensors stay where they started.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp

from experiments.fp8_layers import contracted
from experiments.layers import Array, MixedLayers
from scalify_hlo.frontend.casts import saturating_cast

# 1 / sqrt(rms(f(x)) rms(f'(x))) of x ~ N(0, 1).
_GELU, _SILU = 1.51, 1.72


class UnitScaledLayers(MixedLayers):
    """FP8 products of linear layers, f16 otherwise. One object serves one pass through a model.

    narrow: False for the same model in f32, to evaluate it.
    """

    def __init__(self, *, narrow: bool = True):
        super().__init__(jnp.float16 if narrow else jnp.float32)
        self.narrow = narrow
        self.branches = 0

    def product(self, x: Array, weight: Array) -> Array:
        if self.narrow:
            return _product(x, weight)
        return contracted(x, weight, x.ndim - 1, 0) * _factor(weight)

    def linear(self, x: Array, weight: Array, bias: Array | None) -> Array:
        y = self.product(x, weight)
        return y if bias is None else y + bias.astype(self.compute)

    def head(self, x: Array, weight: Array) -> Array:
        # The weight may be the embedding: one factor, so that both parts of its gradient have the same.
        return super().head(x, weight) / math.sqrt(weight.shape[0])

    # a x + b f(x), a^2 + b^2 = 1: the start of the stream and each branch contribute alike
    def residual(self, x: Array, y: Array) -> Array:
        self.branches += 1
        share = 1 / (self.branches + 1)
        return x * math.sqrt(1 - share) + y * math.sqrt(share)

    def attention(self, query: Array, key: Array, value: Array) -> Array:
        # Row t is an average of about t values.
        length = query.shape[1]
        return super().attention(query, key, value) * math.sqrt(length / (1 + math.log(length)))

    def gelu(self, x: Array) -> Array:
        return super().gelu(x) * _GELU

    def silu(self, x: Array) -> Array:
        return super().silu(x) * _SILU


def _factor(weight: Array) -> float:
    # Forward 1 / sqrt(K) and backward 1 / sqrt(N) have to be one number, or a branch's gradient would no longer match
    # that of the stream beside it: their geometric mean.
    return (weight.shape[0] * weight.shape[1]) ** -0.25


@jax.custom_vjp
def _product(x: Array, weight: Array) -> Array:
    return _forward(x, weight)[0]


def _forward(x: Array, weight: Array) -> tuple[Array, Any]:
    qx, qw = (saturating_cast(a, jnp.float8_e4m3fn) for a in (x, weight))
    return (contracted(qx, qw, x.ndim - 1, 0) * _factor(weight)).astype(x.dtype), (qx, qw)


def _backward(saved: Any, gradient: Array) -> tuple[Array, Array]:
    qx, qw = saved
    qg = saturating_cast(gradient, jnp.float8_e5m2)
    gradient_x = contracted(qg, qw, qg.ndim - 1, 1) * _factor(qw)
    rows = qx.reshape(-1, qx.shape[-1]), qg.reshape(-1, qg.shape[-1])
    # A factor of its own: Adam does not see it.
    gradient_weight = contracted(*rows, 0, 0) / math.sqrt(rows[0].shape[0])
    return gradient_x.astype(gradient.dtype), gradient_weight


_product.defvjp(_forward, _backward)
