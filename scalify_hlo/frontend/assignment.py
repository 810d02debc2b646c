"""`variable[...] = value` of flax nnx variables that hold ScaledArrays: resets of metrics, running statistics.

A ScaledArray is not changed in place, as no JAX array is. nnx takes everything that is no `jax.Array` for a buffer that
is: it assigns to the elements of what a variable holds, where it gives the variable of a `jax.Array` another one. The
same is done here: what else holds the old array, a copy of the best weights say, keeps it.
"""

# jax and flax are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from types import FrameType
from typing import Any

import jax.numpy as jnp

from scalify_hlo.frontend.conversion import as_scaled_array
from scalify_hlo.frontend.scaled_array import ScaledArray, is_scaled
from scalify_hlo.frontend.single_call import call_scaled
from scalify_hlo.frontend.state_pairs import as_it_was
from scalify_hlo.frontend.tied_variables import NNX


def assign(array: ScaledArray, index: Any, value: Any, frame: FrameType) -> None:
    """Give the nnx variable that a frame assigns to elements of another array, with `value` at `index`.

    frame: that of `array[index] = value`. Raises TypeError where it is none of an nnx variable that holds `array`.
    """
    variable = frame.f_locals.get("self") if frame.f_globals.get("__name__", "").startswith(NNX) else None
    if getattr(variable, "_raw_value", None) is not array:
        raise TypeError(
            "a ScaledArray is not changed in place, as no JAX array is; write "
            "x = scalify_hlo.scalify(lambda x, value: x.at[index].set(value))(x, value)"
        )
    variable._raw_value = _whole(array, value) if index is Ellipsis else _part(array, index, value)  # type: ignore[union-attr]


def _whole(array: ScaledArray, value: Any) -> ScaledArray:
    new = value if is_scaled(value) else as_scaled_array(jnp.asarray(value, jnp.float32))
    if jnp.shape(new.data) != array.shape:
        new = ScaledArray(jnp.broadcast_to(new.data, array.shape), new.scale)
    return as_it_was(new.astype(array.dtype), array)


def _part(array: ScaledArray, index: Any, value: Any) -> ScaledArray:
    def with_part(x: Any, value: Any) -> Any:
        return x.at[index].set(value)

    return call_scaled(with_part, array, value)
