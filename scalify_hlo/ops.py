"""Rescaling, casts and debugging under the names of `jax_scalify.ops`, and what belongs beside them."""

from scalify_hlo.frontend.casts import (
    cast_on_backward,
    cast_on_forward,
    reduce_precision_on_backward,
    reduce_precision_on_forward,
    saturating_cast,
)
from scalify_hlo.frontend.debug import debug_callback, debug_callback_grad, debug_print, debug_print_grad
from scalify_hlo.frontend.delayed import AmaxHistory, delayed_rescale
from scalify_hlo.frontend.one_way import map_on_backward, map_on_forward
from scalify_hlo.frontend.rescaling import (
    dynamic_rescale,
    dynamic_rescale_every,
    dynamic_rescale_l1,
    dynamic_rescale_l1_grad,
    dynamic_rescale_l2,
    dynamic_rescale_l2_grad,
    dynamic_rescale_max,
    dynamic_rescale_max_grad,
    rescale_state,
)

# Older names of jax-scalify, which its FP8 example still uses.
cast_ml_dtype = reduce_precision_on_forward
cast_ml_dtype_grad = reduce_precision_on_backward

__all__ = [
    "AmaxHistory", "cast_ml_dtype", "cast_ml_dtype_grad", "cast_on_backward", "cast_on_forward", "debug_callback",
    "debug_callback_grad", "debug_print", "debug_print_grad", "delayed_rescale", "dynamic_rescale",
    "dynamic_rescale_every", "dynamic_rescale_l1", "dynamic_rescale_l1_grad", "dynamic_rescale_l2",
    "dynamic_rescale_l2_grad", "dynamic_rescale_max", "dynamic_rescale_max_grad", "map_on_backward",
    "map_on_forward", "reduce_precision_on_backward", "reduce_precision_on_forward", "rescale_state",
    "saturating_cast",
]  # fmt: skip
