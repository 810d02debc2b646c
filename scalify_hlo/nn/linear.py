"""The general linear layer: matrix products with formats of their own for activations, weights and gradients.

Paper, appendix A and Algorithm 7. FP8 takes part as an ordinary type: the layer casts its operands, multiplies them
directly (f8 x f8, accumulated wide) and casts the gradient on its way back; scaling is left to the transform.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.frontend.casts import saturating_cast


@dataclasses.dataclass(frozen=True)
class Formats:
    """Element types of the operands of a layer's three matrix products; None leaves the type as it is.

    activation: of the input. weight: of the weight. gradient: of the output's gradient on its way back.
    """

    activation: np.dtype[Any] | None = None
    weight: np.dtype[Any] | None = None
    gradient: np.dtype[Any] | None = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            given = getattr(self, field.name)
            object.__setattr__(self, field.name, None if given is None else np.dtype(given))


FULL = Formats()
# Four exponent bits for activations and weights, five for gradients, whose range is larger (paper, section 1).
FP8 = Formats(jnp.float8_e4m3fn, jnp.float8_e4m3fn, jnp.float8_e5m2)


def linear(x: Any, weight: Any, bias: Any = None, *, formats: Formats = FULL) -> Any:
    """x @ weight + bias.

    x: [..., K]; weight: [K, N]; bias: [N] or None. Returns [..., N] in the type of x.
    formats: the types in which the three products are computed: the output from activation and weight, the gradient
        of x from gradient and weight, that of the weight from activation and gradient. Products of 8-bit types
        accumulate in f32. Casts to 8-bit types saturate.
    Raises ValueError for shapes that do not match.
    """
    if weight.ndim != 2 or x.shape[-1] != weight.shape[0]:
        raise ValueError(f"linear: input {x.shape} and weight {weight.shape} do not match: [..., K] and [K, N]")
    y: Any = _matmul(x, weight, formats)
    return y if bias is None else y + jnp.expand_dims(bias, tuple(range(y.ndim - 1)))


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def _matmul(x: Any, weight: Any, formats: Formats) -> Any:
    return _forward(x, weight, formats)[0]


def _forward(x: Any, weight: Any, formats: Formats) -> tuple[Any, Any]:
    cast_x, cast_weight = _cast(x, formats.activation), _cast(weight, formats.weight)
    y = _contract(cast_x, cast_weight, x.ndim - 1, 0, x.dtype)
    # Kept for the backward pass as they were multiplied; empty arrays carry the types of the gradients.
    return y, (cast_x, cast_weight, jnp.zeros((0,), x.dtype), jnp.zeros((0,), weight.dtype))


def _backward(formats: Formats, residuals: Any, gradient: Any) -> tuple[Any, Any]:
    x, weight, like_x, like_weight = residuals
    g = _cast(gradient, formats.gradient)
    gradient_x = _contract(g, weight, g.ndim - 1, 1, like_x.dtype, exact=True)
    rows = x.reshape(-1, x.shape[-1]), g.reshape(-1, g.shape[-1])
    gradient_weight = _contract(*rows, 0, 0, like_weight.dtype, exact=True)
    return gradient_x, gradient_weight


_matmul.defvjp(_forward, _backward)


def _cast(x: Any, dtype: np.dtype[Any] | None) -> Any:
    if dtype is None or x.dtype == dtype:
        return x
    return saturating_cast(x, dtype) if dtype.itemsize == 1 else x.astype(dtype)


def _contract(a: Any, b: Any, axis_a: int, axis_b: int, dtype: Any, *, exact: bool = False) -> Any:
    """Contract one axis of each; f8 products accumulate in f32. `exact`: without FP8's fast accumulation."""
    narrow = a.dtype.itemsize == 1 or b.dtype.itemsize == 1
    if not narrow and a.dtype != b.dtype:
        common = jnp.promote_types(a.dtype, b.dtype)
        a, b = a.astype(common), b.astype(common)
    elif narrow and not (a.dtype.itemsize == b.dtype.itemsize == 1):
        # One operand is f8 only: no product of mixed widths exists, the wider type holds both.
        wider = a.dtype if b.dtype.itemsize == 1 else b.dtype
        a, b = a.astype(wider), b.astype(wider)
    result = jax.lax.dot_general(
        a, b, (((axis_a,), (axis_b,)), ((), ())),
        precision=jax.lax.Precision.HIGHEST if exact and narrow else None,
        preferred_element_type=np.float32 if narrow else None,
    )  # fmt: skip
    return result.astype(dtype)
