"""`scalify-block-dots`: FP8 products with a scale for each 32 elements along what they contract (MXFP8).

Runs last, on a program without a backward pass whose products have E4M3 operands (`scalify-fp8-dots`). Each operand
that is computed is rounded anew: 32 neighbours share a power of two in E8M0, the smallest by which their largest
magnitude is within E4M3's range (OCP Microscaling Formats v1.0, with the exponent rounded up, arXiv 2506.08027). So
each token has scales of its own, and one large element takes the precision of 31 others only. An operand that is stored
in E4M3, a weight, stays as it is at scales of 1: it was divided by its scale when it was packed, by that of the channel
where channels differ.

# x . y = sum over blocks of (x_b 2^-i . y_b 2^-j) 2^(i + j)

What is emitted is the composite `xla.scaled_dot`, as by `jax.lax.scaled_dot`: XLA:GPU makes a block-scaled product of
it, and every other backend inlines its decomposition, which is exact but for the order of the sum. With `target` a GPU
of compute capability 10 or more it is the custom call `__op$block_scaled_dot`, which becomes cuDNN's kernel there.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.analysis.products import BLOCK_SCALED
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.manual import is_partitioned
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.types import FLOAT_RANGE, LARGEST, tensor_info

FORMAT, SCALES = "f8E4M3FN", "f8E8M0FNU"
COMPOSITE = "xla.scaled_dot"
# Elements that share a scale.
BLOCK = 32
_PRODUCT = "stablehlo.dot_general"
_MOVEMENTS = ("stablehlo.transpose", "stablehlo.reshape")
# f32: the bits of the significand, and the exponent of 1.
_SIGNIFICAND, _BIAS = 23, 127


@dataclasses.dataclass(frozen=True)
class BlockDots(Pass):
    """Give the FP8 products of a forward program a scale for each 32 elements: MXFP8."""

    name: ClassVar[str] = "scalify-block-dots"

    # A GPU whose matrix units take block scales (b200): products become XLA's custom call for it. "": a composite,
    # which every backend runs.
    target: str = ""

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Rewrites products in place. Raises ScalifyError for a backward pass, and a target without block scales."""
        if self.target:
            gpu = target(self.target)
            if gpu.vendor != "nvidia" or gpu.compute_capability < (10, 0):
                raise ScalifyError(f"{gpu.description} has no block-scaled matrix units: leave out the target, or fp8")
        products = [op for op in walk(module.operation) if op.name == _PRODUCT and _is_fp8(op)]
        if any("E5M2" in tensor_info(x.type).element for op in products for x in op.operands):
            raise ScalifyError(f"{self.name}: MXFP8 is for programs without a backward pass: train in fp8")
        if is_partitioned(module):
            remarks.append(
                Diagnostic(f"{self.name}: left in fp8: XLA cannot partition block-scaled products", "", "warning")
            )
            return
        with module.context, ir.Location.unknown(module.context):
            emitter = _Emitter(module, custom_call=bool(self.target))
            left = [op for op in products if not emitter.rewrite(op)]
            if len(left) < len(products):
                erase_dead(module)
        summary = f"{self.name}: {len(products) - len(left)} products with a scale for each {BLOCK} elements"
        if left:
            summary += f", {len(left)} left in fp8: what they contract is no multiple of {BLOCK}"
        remarks.append(Diagnostic(summary, "", "remark"))


def _is_fp8(op: ir.Operation) -> bool:
    return all(tensor_info(operand.type).element.startswith("f8") for operand in op.operands)


class _Emitter:
    def __init__(self, module: ir.Module, *, custom_call: bool):
        self._module = module
        self._custom_call = custom_call
        self._rounded: dict[tuple[ir.Value, ir.Block, tuple[int, ...]], tuple[ir.Value, ir.Value]] = {}
        self._functions: dict[tuple[ir.Type, ...], str] = {}

    def rewrite(self, op: ir.Operation) -> bool:
        """Replace a product; whether it has the form that block-scaled products take."""
        numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
        contracting: list[list[int]] = [
            list(numbers.lhs_contracting_dimensions),
            list(numbers.rhs_contracting_dimensions),
        ]
        shape = tensor_info(op.operands[0].type).shape
        k = math.prod(shape[d] for d in contracting[0])
        if numbers.lhs_batching_dimensions or k % BLOCK or not k or not tensor_info(op.results[0].type).is_static:
            return False
        if any(tensor_info(operand.type).element != FORMAT for operand in op.operands):
            return False
        with ir.InsertionPoint(op), op.location:
            (x, s), (y, t) = (self._operand(op.operands[side], op.block, tuple(contracting[side])) for side in (0, 1))
            rows = [tensor_info(side.type).shape[0] for side in (x, y)]
            result = emit.tensor_type(rows, tensor_info(op.results[0].type).element)
            product = self._product(result, x, y, s, t)
            op.results[0].replace_all_uses_with(emit.op("reshape", op.results[0].type, product))
        op.erase()
        return True

    def _product(self, result: ir.Type, *operands: ir.Value) -> ir.Value:
        if self._custom_call:
            # XLA hands a transposed weight over column by column, and then takes it for what it was before.
            rows = ir.Attribute.parse("dense<[1, 0]> : tensor<2xindex>")
            attributes = {
                "call_target_name": ir.StringAttr.get(BLOCK_SCALED),
                "operand_layouts": ir.ArrayAttr.get([rows] * len(operands)),
                "result_layouts": ir.ArrayAttr.get([rows]),
                "has_side_effect": ir.BoolAttr.get(False),
                "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 2),
            }
            return ir.Operation.create("stablehlo.custom_call", [result], operands, attributes).results[0]
        types = (result, *(operand.type for operand in operands))
        if types not in self._functions:
            self._functions[types] = self._decomposition(types)
        element = ir.TypeAttr.get(ir.RankedTensorType(result).element_type)
        attributes = {
            "name": ir.StringAttr.get(COMPOSITE),
            "composite_attributes": ir.DictAttr.get({
                "dimension_numbers": ir.Attribute.parse("[[[1], [1]], [[], []]]"),
                "preferred_element_type": element,
            }),
            "decomposition": ir.FlatSymbolRefAttr.get(self._functions[types]),
        }  # fmt: skip
        return ir.Operation.create("stablehlo.composite", [result], operands, attributes).results[0]

    # --- operands ---------------------------------------------------------------------------------------------

    def _operand(self, value: ir.Value, block: ir.Block, contracting: tuple[int, ...]) -> tuple[ir.Value, ir.Value]:
        """An operand as [rows, contracted] in E4M3, and its scales, [rows, contracted / 32] in E8M0."""
        key = (value, block, contracting)
        if key not in self._rounded:
            wide = _before_rounding(value)
            matrix = _as_matrix(value if wide is None else wide, contracting)
            self._rounded[key] = (matrix, _ones(matrix)) if wide is None else _in_blocks(matrix)
        return self._rounded[key]

    def _decomposition(self, types: tuple[ir.Type, ...]) -> str:
        """A private function (x, y, s, t) -> (x s) . (y t)^T: products of E4M3 and E8M0 are exact in bf16."""
        name = f"{COMPOSITE}_{len(self._functions)}"
        result, *operands = types
        function = ir.Operation.create(
            "func.func", [], [],
            {
                "sym_name": ir.StringAttr.get(name),
                "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(operands, [result])),
            },
            regions=1, ip=ir.InsertionPoint(self._module.body),
        )  # fmt: skip
        body = ir.Block.create_at_start(function.regions[0], operands, [ir.Location.unknown()] * 4)
        with ir.InsertionPoint(body), ir.Location.unknown():
            x, y, s, t = body.arguments
            numbers = stablehlo.DotDimensionNumbers.get([], [], [1], [1])
            exact = emit.op(
                "dot_general",
                emit.with_element(result, "f32"),
                _times(x, s),
                _times(y, t),
                dot_dimension_numbers=numbers,
            )
            ir.Operation.create("func.return", [], [emit.convert(exact, tensor_info(result).element)])
        return name


def _times(data: ir.Value, scales: ir.Value) -> ir.Value:
    """data * scales in bf16, a scale for each block of a row."""
    rows, blocks = tensor_info(scales.type).shape
    wide = emit.convert(data, "bf16")
    dims = ir.DenseI64ArrayAttr.get([0, 1])
    spread = emit.op(
        "broadcast_in_dim", emit.tensor_type((rows, blocks, BLOCK), "bf16"), emit.convert(scales, "bf16"),
        broadcast_dimensions=dims,
    )  # fmt: skip
    return emit.op("multiply", wide.type, wide, emit.op("reshape", wide.type, spread))


def _before_rounding(value: ir.Value) -> ir.Value | None:
    """What is clamped and converted to E4M3 to be an operand, moved as that is; None for what is stored in E4M3."""
    movements: list[ir.Operation] = []
    while (op := defining_op(value)) is not None and op.name in _MOVEMENTS:
        movements.append(op)
        value = op.operands[0]
    if op is None or op.name != "stablehlo.convert":
        return None
    clamp = defining_op(op.operands[0])
    if clamp is None or clamp.name != "stablehlo.clamp":
        return None
    wide = clamp.operands[1]
    for each in reversed(movements):
        type_ = emit.with_element(each.results[0].type, tensor_info(wide.type).element)
        wide = ir.Operation.create(each.name, [type_], [wide], dict(each.attributes.items())).results[0]
    return wide


def _as_matrix(value: ir.Value, contracting: Sequence[int]) -> ir.Value:
    """A tensor as [rest, contracted]: what a product contracts comes last, in the product's order."""
    info = tensor_info(value.type)
    order = [*(d for d in range(info.rank) if d not in contracting), *contracting]
    if order != list(range(info.rank)):
        type_ = emit.tensor_type([info.shape[d] for d in order], info.element)
        value = emit.op("transpose", type_, value, permutation=ir.DenseI64ArrayAttr.get(order))
    columns = math.prod(info.shape[d] for d in contracting)
    matrix = emit.tensor_type((info.size // columns, columns), info.element)
    return value if value.type == matrix else emit.op("reshape", matrix, value)


def _ones(matrix: ir.Value) -> ir.Value:
    """Scales of 1 for a matrix in E4M3."""
    rows, columns = tensor_info(matrix.type).shape
    type_ = emit.tensor_type((rows, columns // BLOCK), SCALES)
    one = ir.DenseElementsAttr.get(np.full((rows, columns // BLOCK), _BIAS, np.uint8), type=type_)
    return emit.op("constant", type_, value=one)


def _in_blocks(matrix: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A matrix in E4M3, and for each 32 elements of a row the power of two that they are divided by."""
    info = tensor_info(matrix.type)
    rows, columns = info.shape
    wide = emit.op("reshape", emit.tensor_type((rows, columns // BLOCK, BLOCK), "f32"), emit.convert(matrix, "f32"))
    amax = emit.reduce(emit.op("abs", wide.type, wide), "maximum", 0.0, [2])
    # An infinite element saturates, and leaves the others of its block as they are.
    high, _, bits = FLOAT_RANGE[info.element]
    amax = emit.op("minimum", amax.type, amax, emit.splat(amax.type, 2.0**high * (2 - 2.0**-bits)))
    ratio = emit.op("multiply", amax.type, amax, emit.splat(amax.type, 1 / LARGEST[FORMAT]))
    integers = emit.tensor_type(tensor_info(amax.type).shape, "i32")

    def number(value: int) -> ir.Value:
        return emit.integer_splat(integers, value)

    # The exponent, rounded up: what is added carries unless the significand is 1. Only the sign is above it.
    raised = emit.op("add", integers, emit.op("bitcast_convert", integers, ratio), number((1 << _SIGNIFICAND) - 1))
    exponent = emit.op("shift_right_logical", integers, raised, number(_SIGNIFICAND))
    inverse = emit.op(
        "shift_left", integers, emit.op("subtract", integers, number(2 * _BIAS), exponent), number(_SIGNIFICAND)
    )
    factor = emit.op("bitcast_convert", amax.type, inverse)
    spread = emit.op("broadcast_in_dim", wide.type, factor, broadcast_dimensions=ir.DenseI64ArrayAttr.get([0, 1]))
    data = emit.op("reshape", emit.tensor_type(info.shape, "f32"), emit.op("multiply", wide.type, wide, spread))
    scalar = emit.tensor_type((), "f32")
    low, top = (emit.splat(scalar, bound) for bound in (-LARGEST[FORMAT], LARGEST[FORMAT]))
    narrow = emit.convert(emit.op("clamp", data.type, low, data, top), FORMAT)
    byte = emit.op("convert", emit.tensor_type(tensor_info(integers).shape, "ui8"), exponent)
    scales = emit.op("bitcast_convert", emit.tensor_type(tensor_info(integers).shape, SCALES), byte)
    # Compilers take a conversion to FP8 and back for nothing where they may keep more precision than is asked for.
    held = ir.Operation.create("stablehlo.optimization_barrier", [narrow.type, scales.type], [narrow, scales])
    return held.results[0], held.results[1]
