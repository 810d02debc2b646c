"""Numbers in blocks as operands of products: MXFP8 and NVFP4, and rounding to them in the program.

# x = data * scale, a scale for each block of neighbours along what is contracted

MXFP8 (OCP Microscaling Formats v1.0): E4M3, 32 elements share a power of two in E8M0, the smallest by which their
largest magnitude is within E4M3's range (the exponent rounded up, arXiv 2506.08027). NVFP4: E2M1, 16 elements share a
number in E4M3, a sixth of their largest magnitude; the scale of all of the tensor, by which that is within E4M3's
range, is the data's own.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from scalify_hlo.analysis.product_shapes import contracted_dimensions, extent, is_batched
from scalify_hlo.bindings import ir
from scalify_hlo.execution.element_types import NUMPY_DTYPES
from scalify_hlo.module import block_numbers
from scalify_hlo.passes import emission as emit
from scalify_hlo.types import FLOAT_RANGE, tensor_info

FormatName = Literal["mxfp8", "nvfp4"]
# f32: the bits of the significand, and the exponent of 1.
_SIGNIFICAND, _BIAS = 23, 127


@dataclasses.dataclass(frozen=True)
class BlockFormat:
    """element, scale: the types. block: how many elements share a scale. largest: of the elements.

    scales: of the largest magnitudes of blocks, finite f32, the scales and by what elements are multiplied for them.
    """

    name: str
    element: str
    scale: str
    block: int
    largest: float
    scales: Callable[[ir.Value], tuple[ir.Value, ir.Value]]


def of_ones(matrix: ir.Value, kind: BlockFormat) -> ir.Value:
    """Scales of 1 for a matrix [rows, contracted]."""
    rows, columns = tensor_info(matrix.type).shape
    type_ = emit.tensor_type((rows, columns // kind.block), kind.scale)
    one = np.ones((rows, columns // kind.block), NUMPY_DTYPES[kind.scale])
    return emit.op("constant", type_, value=ir.DenseElementsAttr.get(one.view(np.uint8), type=type_))


def in_blocks(matrix: ir.Value, kind: BlockFormat) -> tuple[ir.Value, ir.Value]:
    """A matrix [rows, contracted] rounded in each call, and the scales of its blocks, [rows, contracted / block]."""
    info = tensor_info(matrix.type)
    rows, columns = info.shape
    blocked = emit.tensor_type((rows, columns // kind.block, kind.block), "f32")
    wide = emit.op("reshape", blocked, emit.convert(matrix, "f32"))
    amax = emit.reduce(emit.op("abs", wide.type, wide), "maximum", 0.0, [2])
    # An infinite element saturates, and leaves the others of its block as they are.
    high, _, bits = FLOAT_RANGE[info.element]
    amax = emit.op("minimum", amax.type, amax, emit.splat(amax.type, 2.0**high * (2 - 2.0**-bits)))
    scales, factor = kind.scales(amax)
    spread = emit.op("broadcast_in_dim", wide.type, factor, broadcast_dimensions=ir.DenseI64ArrayAttr.get([0, 1]))
    data = emit.op("reshape", emit.tensor_type(info.shape, "f32"), emit.op("multiply", wide.type, wide, spread))
    scalar = emit.tensor_type((), "f32")
    low, top = (emit.splat(scalar, bound) for bound in (-kind.largest, kind.largest))
    narrow = emit.convert(emit.op("clamp", data.type, low, data, top), kind.element)
    # Compilers take a conversion to FP8 and back for nothing where they may keep more precision than is asked for.
    held = ir.Operation.create("stablehlo.optimization_barrier", [narrow.type, scales.type], [narrow, scales])
    return held.results[0], held.results[1]


def _powers_of_two(amax: ir.Value) -> tuple[ir.Value, ir.Value]:
    """E8M0: the smallest by which the largest magnitude is within E4M3's range."""
    ratio = emit.op("multiply", amax.type, amax, emit.splat(amax.type, 1 / MXFP8.largest))
    integers = emit.tensor_type(tensor_info(amax.type).shape, "i32")

    def number(value: int) -> ir.Value:
        return emit.integer_splat(integers, value)

    # The exponent, rounded up: what is added carries unless the significand is 1. Only the sign is above it.
    raised = emit.op("add", integers, emit.op("bitcast_convert", integers, ratio), number((1 << _SIGNIFICAND) - 1))
    exponent = emit.op("shift_right_logical", integers, raised, number(_SIGNIFICAND))
    inverse = emit.op(
        "shift_left", integers, emit.op("subtract", integers, number(2 * _BIAS), exponent), number(_SIGNIFICAND)
    )
    byte = emit.op("convert", emit.tensor_type(tensor_info(integers).shape, "ui8"), exponent)
    scales = emit.op("bitcast_convert", emit.tensor_type(tensor_info(integers).shape, MXFP8.scale), byte)
    return scales, emit.op("bitcast_convert", amax.type, inverse)


def _sixths(amax: ir.Value) -> tuple[ir.Value, ir.Value]:
    """E4M3: a sixth of the largest magnitude, or E4M3's smallest number; elements beyond its largest saturate."""
    scalar = emit.tensor_type((), "f32")
    least, most = (emit.splat(scalar, end) for end in (block_numbers.SMALLEST_SCALE, block_numbers.LARGEST_SCALE))
    ratio = emit.op("multiply", amax.type, amax, emit.splat(amax.type, 1 / NVFP4.largest))
    scales = emit.convert(emit.op("clamp", amax.type, least, ratio, most), NVFP4.scale)
    # Elements are divided by what the scale was rounded to.
    held = ir.Operation.create("stablehlo.optimization_barrier", [scales.type], [scales]).results[0]
    one = emit.splat(amax.type, 1.0)
    return held, emit.op("divide", amax.type, one, emit.convert(held, "f32"))


MXFP8 = BlockFormat("mxfp8", "f8E4M3FN", "f8E8M0FNU", 32, 448.0, _powers_of_two)
NVFP4 = BlockFormat(
    "nvfp4", block_numbers.ELEMENT, block_numbers.SCALE, block_numbers.BLOCK, block_numbers.LARGEST_ELEMENT, _sixths
)
FORMATS: dict[FormatName, BlockFormat] = {"mxfp8": MXFP8, "nvfp4": NVFP4}


def reason_to_skip(op: ir.Operation, kind: BlockFormat) -> str | None:
    """Why a product has not the sizes that block-scaled ones take; None where it has."""
    if is_batched(op) or not all(tensor_info(x.type).is_static for x in op.operands):
        return "they have batch dimensions or sizes that are known at run time only"
    if any(tensor_info(x.type).is_empty for x in op.operands):
        return "they have no elements"
    contracted = extent(op.operands[0], contracted_dimensions(op)[0])
    if contracted % kind.block or not contracted:
        return f"what they contract is no multiple of {kind.block}"
    return None


def as_matrix(value: ir.Value, contracting: Sequence[int]) -> ir.Value:
    """A tensor as [rest, contracted]: what a product contracts comes last, in the product's order."""
    info = tensor_info(value.type)
    order = [*(d for d in range(info.rank) if d not in contracting), *contracting]
    if order != list(range(info.rank)):
        type_ = emit.tensor_type([info.shape[d] for d in order], info.element)
        value = emit.op("transpose", type_, value, permutation=ir.DenseI64ArrayAttr.get(order))
    columns = math.prod(info.shape[d] for d in contracting)
    matrix = emit.tensor_type((info.size // columns, columns), info.element)
    return value if value.type == matrix else emit.op("reshape", matrix, value)


def from_matrix(matrix: ir.Value, like: ir.Value, contracting: Sequence[int]) -> ir.Value:
    """What `as_matrix` made a matrix of, in the matrix' element type and the shape of another value."""
    info, element = tensor_info(like.type), tensor_info(matrix.type).element
    order = [*(d for d in range(info.rank) if d not in contracting), *contracting]
    moved = emit.op("reshape", emit.tensor_type([info.shape[d] for d in order], element), matrix)
    back = ir.DenseI64ArrayAttr.get([order.index(d) for d in range(info.rank)])
    return emit.op("transpose", emit.tensor_type(info.shape, element), moved, permutation=back)


def times(data: ir.Value, scales: ir.Value, kind: BlockFormat, element: str = "bf16") -> ir.Value:
    """data * scales, in bf16 exactly, a scale for each block of a row."""
    rows, blocks = tensor_info(scales.type).shape
    wide = emit.convert(data, element)
    dims = ir.DenseI64ArrayAttr.get([0, 1])
    spread = emit.op(
        "broadcast_in_dim", emit.tensor_type((rows, blocks, kind.block), element), emit.convert(scales, element),
        broadcast_dimensions=dims,
    )  # fmt: skip
    return emit.op("multiply", wide.type, wide, emit.op("reshape", wide.type, spread))
