"""`scalify-block-dots`: FP8 products with a scale for each block of what they contract, MXFP8 or NVFP4.

Runs last, on a program without a backward pass whose products have E4M3 operands (`scalify-fp8-dots`). Each operand
that is computed is rounded anew (`scalify_hlo/passes/block_formats.py`): each token has scales of its own then, and one
large element takes the precision of its block's others only.

In MXFP8 an operand that is stored in E4M3, a weight, stays as it is at scales of 1: it was divided by its scale when it
was packed, by that of the channel where channels differ. In NVFP4 it is stored as elements and their scales, two
arguments (`scalify_hlo/passes/block_storage.py`), where scales are pinned; else it is rounded in each call.

# x . y = sum over blocks of (x_b / s_b . y_b / t_b) s_b t_b

What is emitted is the composite `xla.scaled_dot`, as by `jax.lax.scaled_dot`: XLA:GPU makes a block-scaled product of
it, and every other backend inlines its decomposition, which is exact but for the order of the sum. With `target` a GPU
of compute capability 10 or more it is the custom call `__op$block_scaled_dot`, which becomes cuDNN's kernel there.
"""

import collections
import dataclasses
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.analysis.product_shapes import BLOCK_SCALED, contracted_dimensions
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.manual import is_partitioned
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.block_formats import (
    FORMATS,
    NVFP4,
    BlockFormat,
    FormatName,
    as_matrix,
    in_blocks,
    of_ones,
    reason_to_skip,
    times,
)
from scalify_hlo.passes.block_storage import BlockStorage, forget_exact
from scalify_hlo.types import tensor_info

COMPOSITE = "xla.scaled_dot"
# The type of the products that are looked at.
_FP8 = "f8E4M3FN"
_PRODUCT = "stablehlo.dot_general"
_MOVEMENTS = ("stablehlo.transpose", "stablehlo.reshape")


@dataclasses.dataclass(frozen=True)
class BlockDots(Pass):
    """Give the FP8 products of a forward program scales for blocks of what they contract: MXFP8 or NVFP4."""

    name: ClassVar[str] = "scalify-block-dots"

    # "mxfp8": E4M3 with a power of two for each 32 elements; "nvfp4": E2M1 with an E4M3 scale for each 16.
    format: FormatName = "mxfp8"
    # A GPU whose matrix units take block scales (b200): products become XLA's custom call for it. "": a composite,
    # which every backend runs.
    target: str = ""

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Rewrites products in place. Raises ScalifyError for a backward pass, and a target without block scales."""
        if self.format not in FORMATS:
            raise ScalifyError(f"{self.name}: unknown format '{self.format}'; known are {', '.join(FORMATS)}")
        chosen = FORMATS[self.format]
        if self.target:
            gpu = target(self.target)
            if gpu.vendor != "nvidia" or gpu.compute_capability < (10, 0):
                raise ScalifyError(f"{gpu.description} has no block-scaled matrix units: leave out the target, or fp8")
        products = [op for op in walk(module.operation) if op.name == _PRODUCT and _is_fp8(op)]
        if any("E5M2" in tensor_info(x.type).element for op in products for x in op.operands):
            what = self.format.upper()
            raise ScalifyError(f"{self.name}: {what} is for programs without a backward pass: train in fp8")
        if is_partitioned(module):
            forget_exact(module)
            remarks.append(
                Diagnostic(f"{self.name}: left in fp8: XLA cannot partition block-scaled products", "", "warning")
            )
            return
        with module.context, ir.Location.unknown(module.context):
            storage = BlockStorage(public_function(module), chosen)
            reasons = [_other_operands(op) or reason_to_skip(op, chosen) for op in products]
            if chosen is NVFP4:
                storage.store([op.results[0] for op, why in zip(products, reasons, strict=True) if why is None])
                reasons = [why or storage.reason_to_skip(op) for op, why in zip(products, reasons, strict=True)]
            emitter = _Emitter(module, chosen, storage, custom_call=bool(self.target))
            for op, reason in zip(products, reasons, strict=True):
                if reason is None:
                    emitter.rewrite(op)
            if None in reasons:
                erase_dead(module)
        left = collections.Counter(reason for reason in reasons if reason is not None)
        count = len(products) - left.total()
        summary = f"{self.name}: {count} products with a scale for each {chosen.block} elements"
        summary += "".join(f", {number} left in fp8: {reason}" for reason, number in left.most_common())
        remarks.append(Diagnostic(summary, "", "remark"))
        if storage.count:
            remarks.append(Diagnostic(f"{self.name}: {storage.count} weights in {chosen.element}", "", "remark"))


def _is_fp8(op: ir.Operation) -> bool:
    return all(tensor_info(operand.type).element.startswith("f8") for operand in op.operands)


def _other_operands(op: ir.Operation) -> str | None:
    is_other = any(tensor_info(operand.type).element != _FP8 for operand in op.operands)
    return "their operands are of another FP8 type" if is_other else None


class _Emitter:
    def __init__(self, module: ir.Module, kind: BlockFormat, storage: BlockStorage, *, custom_call: bool):
        self._module = module
        self._kind = kind
        self._storage = storage
        self._custom_call = custom_call
        self._rounded: dict[tuple[ir.Value, ir.Block, tuple[int, ...]], tuple[ir.Value, ir.Value]] = {}
        self._functions: dict[tuple[ir.Type, ...], str] = {}

    def rewrite(self, op: ir.Operation) -> None:
        """Replace a product of the form that block-scaled products take."""
        contracting = contracted_dimensions(op)
        with ir.InsertionPoint(op), op.location:
            (x, s), (y, t) = (self._operand(op.operands[side], op.block, tuple(contracting[side])) for side in (0, 1))
            rows = [tensor_info(side.type).shape[0] for side in (x, y)]
            result = emit.tensor_type(rows, tensor_info(op.results[0].type).element)
            product = self._product(result, x, y, s, t)
            op.results[0].replace_all_uses_with(emit.op("reshape", op.results[0].type, product))
        op.erase()

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
        """An operand as [rows, contracted] elements, and the scales of their blocks, [rows, contracted / block]."""
        key = (value, block, contracting)
        if key not in self._rounded:
            scales = self._storage.scales_of(value)
            wide = _before_rounding(value)
            matrix = as_matrix(value if wide is None else wide, contracting)
            if scales is not None:
                self._rounded[key] = matrix, as_matrix(scales, contracting)
            elif wide is None and self._kind.element == _FP8:
                self._rounded[key] = matrix, of_ones(matrix, self._kind)
            else:
                self._rounded[key] = in_blocks(matrix, self._kind)
        return self._rounded[key]

    def _decomposition(self, types: tuple[ir.Type, ...]) -> str:
        """A private function (x, y, s, t) -> (x s) . (y t)^T: products of E4M3 and E8M0, or E2M1 and E4M3, are exact in
        bf16."""
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
                times(x, s, self._kind),
                times(y, t, self._kind),
                dot_dimension_numbers=numbers,
            )
            ir.Operation.create("func.return", [], [emit.convert(exact, tensor_info(result).element)])
        return name


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
