"""How operations behave when the element type of what they compute on is chosen, by kind."""

from scalify_hlo.analysis.calls import walk
from scalify_hlo.analysis.update import ELEMENTWISE as _PLAIN_ELEMENTWISE
from scalify_hlo.bindings import ir


def _names(text: str) -> frozenset[str]:
    return frozenset(f"stablehlo.{name}" for name in text.split())


# The same element type for all float operands and results; an element depends on elements at the same place.
ELEMENTWISE = (_PLAIN_ELEMENTWISE - _names("convert")) | _names("compare is_finite map")
# Bounded whatever the operand: a value of extreme magnitude does not come out.
BOUNDED = _names("exponential exponential_minus_one logistic tanh sign sine cosine compare is_finite") | {
    "chlo.erf", "chlo.erfc",
}  # fmt: skip
# The operand is wanted as exact as it is known: its error is multiplied by its size.
EXACT_OPERAND = _names("exponential exponential_minus_one")
# Operands of different size meet in one tensor.
MERGING = _names("add subtract select maximum minimum clamp pad concatenate dynamic_update_slice scatter")
# No arithmetic: elements are moved, repeated or dropped.
MOVEMENT = _names(
    "reshape dynamic_reshape transpose broadcast_in_dim dynamic_broadcast_in_dim broadcast reverse pad dynamic_pad "
    "concatenate dynamic_update_slice all_gather all_to_all collective_permute collective_broadcast slice "
    "dynamic_slice real_dynamic_slice gather dynamic_gather"
)
# Of these the result is usually smaller than the operand.
SHRINKING = _names("slice dynamic_slice real_dynamic_slice gather dynamic_gather")
PRODUCTS = _names("dot_general dot convolution dynamic_conv")
# Operations with a reduction body: sums where the body adds or multiplies.
REDUCTIONS = _names("reduce reduce_window scatter select_and_scatter all_reduce reduce_scatter")
BRANCHES = ("stablehlo.case", "stablehlo.if")
# Composites that hand their operand on, whatever its type.
SCALE_MARKERS = ("scalify.set_scaling", "scalify.get_data_and_scale", "scalify.stop_scaling")
# Custom calls that give back their operand, whatever its type.
IDENTITY_CALLS = frozenset(
    {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint", "annotate_device_placement"}
)


def accumulates(op: ir.Operation) -> bool:
    """Whether a reduction's body adds or multiplies, rather than picks one of its operands."""
    return any(inner.name in ("stablehlo.add", "stablehlo.multiply") for inner in walk(op))
