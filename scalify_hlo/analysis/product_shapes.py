"""What a matrix product contracts, how large its sides are, and whether 16 or 8 bits make it any faster."""

import math
from collections.abc import Iterable, Sequence

from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.types import tensor_info

# What XLA pads each size of a product to a multiple of for tensor cores, in FP8 and in f16, and how many times as fast
# each multiplies as the type of twice its bits.
PADDED, PADDED_WIDE, FASTER = 16, 8, 2
# A size that is only known at run time is taken for a large one.
_LARGE = 2**16


def extent(value: ir.Value, dimensions: Iterable[int]) -> int:
    """How many elements a tensor has along some dimensions; one that is symbolic counts as large."""
    shape = tensor_info(value.type).shape
    return math.prod(shape[d] if shape[d] >= 0 else _LARGE for d in dimensions)


# What XLA makes a block-scaled product of; operands: x [rows, contracted], y [rows, contracted], their scales.
BLOCK_SCALED = "__op$block_scaled_dot"


def is_product(op: ir.Operation) -> bool:
    """Whether an operation multiplies matrices: a `dot_general`, or the custom call for block-scaled ones."""
    if op.name == "stablehlo.custom_call":
        return ir.StringAttr(op.attributes["call_target_name"]).value == BLOCK_SCALED
    return op.name == "stablehlo.dot_general"


# (J C J^T)_00 (J C J^T)_11 - (J C J^T)_01^2: of a covariance that is known to 2^-11, and may be 2^15 from its estimate
def is_of_small_matrices(op: ir.Operation) -> bool:
    """Whether a product, of a batch or alone, has an operand of at most 4 by 4: a rotation, a covariance.

    Such products are no faster in 16 bits, neither is what reads their few numbers, and geometry multiplies several of
    them by each other and takes differences and quotients of what comes out.
    """
    if op.name != "stablehlo.dot_general":
        return False
    contracted, *free = product_sizes(op)
    return is_padded(contracted) and any(is_padded(size) for size in free)


def contracted_dimensions(op: ir.Operation) -> tuple[list[int], list[int]]:
    """The dimensions of each operand that a `dot_general` contracts, in its order."""
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    return list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)


def is_batched(op: ir.Operation) -> bool:
    """Whether a `dot_general` multiplies several matrices."""
    return bool(len(stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"]).lhs_batching_dimensions))


def product_sizes(op: ir.Operation) -> tuple[int, int, int]:
    """How many elements the operands of a `dot_general` are contracted over, and how many each has free."""
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    lhs = {*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions}
    rhs = {*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions}
    free = [
        extent(value, (d for d in range(tensor_info(value.type).rank) if d not in taken))
        for value, taken in zip(op.operands, (lhs, rhs), strict=True)
    ]
    return extent(op.operands[0], numbers.lhs_contracting_dimensions), free[0], free[1]


def is_padded_away(sizes: Sequence[int]) -> bool:
    """Whether padding a product of these sizes adds as much work as FP8 saves."""
    padded, padded_wide = (math.prod(-(-size // to) * to for size in sizes) for to in (PADDED, PADDED_WIDE))
    return padded >= FASTER * padded_wide


def is_padded(size: int) -> bool:
    """Whether a product with such a size is no faster in 16 bits: XLA pads it to 8."""
    return FASTER * size <= PADDED_WIDE
