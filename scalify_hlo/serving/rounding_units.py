"""What each FP8 tensor of a program costs: a form of it in which every rounding to E4M3, or in blocks, has a switch.

A unit is a weight, as it is stored, with the operands of the FP8 products that read it; or an FP8 product of
activations alone. The program runs in its wide type; where a tensor would be rounded it takes

# select(switch, convert(convert(x)), x)

so that one compiled program tells what any choice of units costs.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from scalify_hlo.analysis.calls import CallGraph, walk
from scalify_hlo.analysis.origins import Origins
from scalify_hlo.analysis.product_shapes import contracted_dimensions
from scalify_hlo.analysis.products import MatrixProduct
from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import argument_names, attributes_of
from scalify_hlo.engine.signature import public_function
from scalify_hlo.execution.element_types import Array
from scalify_hlo.io.scales_file import split_scales
from scalify_hlo.module.function_types import retype
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.block_formats import BlockFormat, as_matrix, from_matrix, in_blocks, reason_to_skip, times
from scalify_hlo.passes.cast import STATE
from scalify_hlo.passes.fp8_quantise import unmoved
from scalify_hlo.passes.held_values import after
from scalify_hlo.passes.private_functions import inline_functions
from scalify_hlo.types import LARGEST, tensor_info

# Attribute of a product while functions are inlined: its index in program order.
_INDEX = "scalify.product"


@dataclasses.dataclass(frozen=True)
class Unit:
    """What is rounded to FP8, or not, together.

    weight: the argument's name; "" for a product of activations. products: their indices, as in a file of scales.
    bytes: how many more it takes in f16 than in FP8: the weight's elements, or those of a product's smaller operand.
    """

    name: str
    weight: str
    products: tuple[int, ...]
    bytes: int


def find_units(module: ir.Module, decided: Sequence[MatrixProduct | None]) -> list[Unit]:
    """The units of a rewritten module. decided: for each product, in program order, itself if it becomes FP8."""
    main = public_function(module)
    arguments = list(main.regions[0].blocks[0].arguments)
    attributes = attributes_of(main, "arg_attrs", len(arguments))
    names = argument_names(main)
    weights = {
        argument: name
        for argument, name, own in zip(arguments, names, attributes, strict=True)
        if STATE in own and ir.StringAttr(own[STATE]).value == "weight"
    }
    products: dict[str, list[int]] = {name: [] for name in weights.values()}
    units: list[Unit] = []
    for i, product in enumerate(decided):
        if product is None:
            continue
        read = {weights[root] for operand in product.operands if (root := operand.origin.root) in weights}
        for name in read:
            products[name].append(i)
        if not read:
            least = min(tensor_info(operand.value.type).size for operand in product.operands)
            units.append(Unit(f"product {i}", "", (i,), least))
    return [
        *(Unit(name, name, tuple(products[name]), tensor_info(value.type).size) for value, name in weights.items()),
        *units,
    ]


def add_switches(
    module: ir.Module,
    units: Sequence[Unit],
    decided: Sequence[MatrixProduct | None],
    operands: Mapping[str, float],
    scales: Mapping[str, Array],
    *,
    weights: bool = True,
    kind: BlockFormat | None = None,
) -> None:
    """Give `main` one more argument, last: a tensor<n x i1> that says which units are rounded. Changes the module.

    operands, scales: of the file of scales: what operands are divided by, and the weights that have one by channel.
    weights: whether the weights of a unit are rounded too, and not only what is multiplied by them. kind: of products
    with scales for blocks; where weights are stored in blocks too, those of such products are rounded so.
    """
    factors = _factors(decided, operands)
    for i, product in enumerate(decided):
        if product is not None:
            product.op.attributes[_INDEX] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), i)
    inline_functions(module)
    main = public_function(module)
    body = main.regions[0].blocks[0]
    names = argument_names(main)
    switches = body.add_argument(emit.tensor_type((len(units),), "i1"), main.location)
    origins = Origins(CallGraph(module))
    roots = {
        argument for argument, name in zip(body.arguments, names, strict=False) if name in {u.weight for u in units}
    }
    unit_of = {i: k for k, unit in enumerate(units) for i in unit.products}
    found: list[tuple[ir.Operation, int, int, BlockFormat | None]] = []
    stored = set[ir.Value]()  # in blocks
    for op in walk(main):
        if _INDEX in op.attributes:
            i = ir.IntegerAttr(op.attributes[_INDEX]).value
            del op.attributes[_INDEX]
            blocked = kind if kind is not None and reason_to_skip(op, kind) is None else None
            both = blocked is not None and blocked.element != "f8E4M3FN"
            for side in (0, 1):
                root = origins.of(op.operands[side]).root
                if root in roots and both and weights:
                    stored.add(root)
                if root not in roots or (both and weights):
                    found.append((op, side, i, blocked))
    with ir.InsertionPoint.at_block_begin(body), main.location:
        each = [_switch(switches, k) for k in range(len(units))]
    done: dict[tuple[ir.Value, int, tuple[int, ...]], ir.Value] = {}
    for op, side, i, own in found:
        value = op.operands[side]
        contracted = tuple(contracted_dimensions(op)[side]) if own is not None else ()
        key = (value, unit_of[i], contracted)
        if key not in done:
            ip, location = after(value)
            if isinstance(value, ir.BlockArgument) and value.owner == body:
                ip = ir.InsertionPoint.after(each[-1].owner)
            with ip, location:
                factor = np.asarray(factors.get((i, side), 1.0), np.float32)
                done[key] = _rounded(value, each[unit_of[i]], factor, own, contracted)
        op.operands[side] = done[key]
    for argument, name in zip(list(body.arguments), names, strict=False):
        for k, unit in enumerate(units):
            if weights and unit.weight == name and argument in roots - stored:
                readers = [(use.owner.operation, use.operand_number) for use in argument.uses]
                scale = scales.get(name)
                factor = np.ones((), np.float32) if scale is None or not scale.ndim else split_scales(scale)[1]
                with ir.InsertionPoint.after(each[-1].owner), main.location:
                    rounded = _rounded(argument, each[k], factor)
                for reader, operand in readers:
                    reader.operands[operand] = rounded
    retype(main)


def _factors(decided: Sequence[MatrixProduct | None], operands: Mapping[str, float]) -> dict[tuple[int, int], float]:
    """Product and side -> what the operand is divided by. One value has one, by whichever product it is known."""
    by_value: dict[ir.Value, float] = {}
    for name, factor in operands.items():
        index, _, side = name.partition(".")
        product = decided[int(index)]
        if product is not None:
            by_value[unmoved((product.lhs if side == "lhs" else product.rhs).value)] = factor
    return {
        (i, side): by_value[unmoved(operand.value)]
        for i, product in enumerate(decided)
        if product is not None
        for side, operand in enumerate(product.operands)
        if unmoved(operand.value) in by_value
    }


def _switch(switches: ir.Value, k: int) -> ir.Value:
    bounds = {name: ir.DenseI64ArrayAttr.get([number]) for name, number in
              (("start_indices", k), ("limit_indices", k + 1), ("strides", 1))}  # fmt: skip
    one = emit.op("slice", emit.tensor_type((1,), "i1"), switches, **bounds)
    return emit.op("reshape", emit.tensor_type((), "i1"), one)


def _rounded(
    value: ir.Value, switch: ir.Value, factor: Array, kind: BlockFormat | None = None, contracted: Sequence[int] = ()
) -> ir.Value:
    """value, rounded to E4M3 as value / factor where the switch is on; or in blocks of what is contracted."""
    wide = emit.convert(value, "f32")
    divisor = None
    if not (factor == 1).all():
        kept = [d for d, n in enumerate(factor.shape) if n != 1]
        shape = [factor.shape[d] for d in kept]  # np.ascontiguousarray makes one dimension of none
        type_ = emit.tensor_type(shape, "f32")
        numbers = ir.DenseElementsAttr.get(np.ascontiguousarray(factor.reshape(shape), np.float32), type=type_)
        small = emit.op("constant", type_, value=numbers)
        divisor = emit.op("broadcast_in_dim", wide.type, small, broadcast_dimensions=ir.DenseI64ArrayAttr.get(kept))
    data = wide if divisor is None else emit.op("divide", wide.type, wide, divisor)
    if kind is None:
        back = _in_e4m3(data)
    else:
        elements, scales = in_blocks(as_matrix(data, contracted), kind)
        back = from_matrix(times(elements, scales, kind, "f32"), data, contracted)
    back = back if divisor is None else emit.op("multiply", back.type, back, divisor)
    return emit.op("select", value.type, switch, emit.convert(back, tensor_info(value.type).element), value)


def _in_e4m3(data: ir.Value) -> ir.Value:
    scalar = emit.tensor_type((), "f32")
    low, high = (emit.splat(scalar, bound) for bound in (-LARGEST["f8E4M3FN"], LARGEST["f8E4M3FN"]))
    narrow = emit.convert(emit.op("clamp", data.type, low, data, high), "f8E4M3FN")
    # Compilers take a conversion and its inverse for nothing where they may keep more precision than is asked for.
    narrow = ir.Operation.create("stablehlo.optimization_barrier", [narrow.type], [narrow]).results[0]
    return emit.convert(narrow, "f32")


def error_per_byte(errors: Sequence[float], units: Sequence[Unit]) -> list[int]:
    """Indices of the units, those first that free most of the squared error for each byte that they take in f16."""
    gain = [error**2 / max(unit.bytes, 1) for error, unit in zip(errors, units, strict=True)]
    return sorted(range(len(units)), key=lambda k: -gain[k] if math.isfinite(gain[k]) else -math.inf)
