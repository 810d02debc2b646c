"""What the models are made of: plain layers, the paper's, and those of the usual mixed-precision recipes."""

import dataclasses
import math
from typing import Any, Literal

import jax
import jax.numpy as jnp

from scalify_hlo import nn
from scalify_hlo.frontend.casts import cast_on_backward

Array = jax.Array
_F32 = jnp.dtype("float32")


class Layers:
    """Plain f32 layers, as anyone would write them: they know nothing of scales or narrow types."""

    def activation(self, x: Array) -> Array:
        """The residual stream at its start, [B, T, D]."""
        return x

    def linear(self, x: Array, weight: Array, bias: Array | None) -> Array:
        """x @ weight + bias; [B, T, K], [K, N], [N]."""
        y = x @ weight
        return y if bias is None else y + bias

    def head(self, x: Array, weight: Array) -> Array:
        """Logits in f32."""
        return x @ weight

    def norm(self, x: Array, gain: Array, bias: Array | None) -> Array:
        """Layer normalisation, or RMS normalisation without a bias."""
        if bias is not None:
            x = x - jnp.mean(x, axis=-1, keepdims=True)
        y = x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-5) * gain
        return y if bias is None else y + bias

    def residual(self, x: Array, y: Array) -> Array:
        """The residual stream after a branch y, [B, T, D] both."""
        return x + y

    def attention(self, query: Array, key: Array, value: Array) -> Array:
        """Causal attention, [B, T, H, K] all of them."""
        scores = jnp.einsum("bthk,bshk->bhts", query, key) / math.sqrt(query.shape[-1])
        visible = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1)
        return jnp.einsum("bhts,bshk->bthk", weights, value)

    def gelu(self, x: Array) -> Array:
        return jax.nn.gelu(x)

    def silu(self, x: Array) -> Array:
        return jax.nn.silu(x)


@dataclasses.dataclass(frozen=True)
class PaperLayers(Layers):
    """The paper's way: explicit casts in the model, FP8 linear layers, a LayerNorm that rescales its gradient.

    compute: type of activations and of the weights that are multiplied.
    fp8: whether linear layers multiply E4M3, with E5M2 for gradients, and weights' gradients are E5M2.
    rescale: whether the gradient of each normalisation's input is rescaled dynamically (paper, Algorithm 6).
    """

    compute: Any = jnp.float16
    fp8: bool = False
    rescale: bool = False

    def activation(self, x: Array) -> Array:
        return x.astype(self.compute)

    def linear(self, x: Array, weight: Array, bias: Array | None) -> Array:
        if self.fp8:
            weight = cast_on_backward(weight, jnp.float8_e5m2)
        bias = None if bias is None else bias.astype(self.compute)
        return nn.linear(x, weight.astype(self.compute), bias, formats=nn.FP8 if self.fp8 else nn.FULL)

    def head(self, x: Array, weight: Array) -> Array:
        return jnp.matmul(x, weight.astype(self.compute), preferred_element_type=_F32)

    def norm(self, x: Array, gain: Array, bias: Array | None) -> Array:
        gain = gain.astype(self.compute)
        rescale: Literal["l2"] | None = "l2" if self.rescale else None
        if bias is None:
            return nn.rms_norm(x, gain, epsilon=1e-5, rescale_gradient=rescale)
        return nn.layer_norm(x, gain, bias.astype(self.compute), rescale_gradient=rescale)

    def attention(self, query: Array, key: Array, value: Array) -> Array:
        return nn.dot_product_attention(query, key, value, is_causal=True)

    def gelu(self, x: Array) -> Array:
        return nn.gelu(x)

    def silu(self, x: Array) -> Array:
        return nn.silu(x)


class MixedLayers(Layers):
    """The usual mixed precision: f32 weights cast to `compute`; normalisation, softmax and logits in f32.

    results: the type that products give before anything else. They sum in f32 whatever it is, but where it is f32 their
    derivatives multiply f32 gradients.
    """

    def __init__(self, compute: Any = jnp.bfloat16, results: Any = _F32):
        self.compute, self.results = compute, results

    def activation(self, x: Array) -> Array:
        return x.astype(self.compute)

    def linear(self, x: Array, weight: Array, bias: Array | None) -> Array:
        y = self.product(x, weight.astype(self.compute))
        return y if bias is None else y + bias.astype(self.compute)

    def product(self, x: Array, weight: Array) -> Array:
        """x @ weight, accumulated in f32."""
        return jnp.matmul(x, weight, preferred_element_type=self.results).astype(self.compute)

    def head(self, x: Array, weight: Array) -> Array:
        return jnp.matmul(x, weight.astype(self.compute), preferred_element_type=self.results).astype(_F32)

    def norm(self, x: Array, gain: Array, bias: Array | None) -> Array:
        return super().norm(x.astype(_F32), gain, bias).astype(self.compute)

    def attention(self, query: Array, key: Array, value: Array) -> Array:
        scores = jnp.einsum("bthk,bshk->bhts", query, key, preferred_element_type=self.results).astype(_F32)
        scores = scores / math.sqrt(query.shape[-1])
        visible = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1).astype(self.compute)
        return jnp.einsum("bhts,bshk->bthk", weights, value)
