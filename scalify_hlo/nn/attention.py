"""Attention whose scales stay at 1 by construction.

The logits' scale is removed by the softmax rule, softmax has scale 1 / sqrt(keys), and the product with the values
gains sqrt(keys) by the contraction rule: the result has the scale of the values, as an average of values should.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from scalify_hlo.nn.softmax import softmax


def dot_product_attention(
    query: Any, key: Any, value: Any, *, mask: Any = None, is_causal: bool = False, scale: float | None = None
) -> Any:
    """softmax(query key^T * scale) value for each head; logits and softmax in f32.

    query: [..., T, N, H]; key, value: [..., S, N, H] or [..., S, K, H] with N a multiple of K (grouped heads).
    mask: boolean, broadcasts to [..., N, T, S]; false keys are left out. A query without keys gives 0.
    is_causal: query t sees keys 0..t only.
    scale: of the logits, default 1 / sqrt(H).
    Returns [..., T, N, H] in the type of `value`. Raises ValueError for heads that do not divide.
    """
    heads, groups = query.shape[-2], key.shape[-2]
    if heads % groups:
        raise ValueError(f"dot_product_attention: {heads} query heads are no multiple of {groups} key heads")
    if heads != groups:
        key, value = (jnp.repeat(x, heads // groups, axis=-2) for x in (key, value))
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    logits = jnp.einsum("...tnh,...snh->...nts", query, key, preferred_element_type=jnp.float32) * scale
    if is_causal:
        rows, columns = logits.shape[-2:]
        causal = jnp.arange(rows)[:, None] >= jnp.arange(columns)[None]
        causal = jnp.expand_dims(causal, tuple(range(logits.ndim - 2)))
        mask = causal if mask is None else mask & causal
    weights = softmax(logits, where=mask).astype(value.dtype)
    return jnp.einsum("...nts,...snh->...tnh", weights, value)
