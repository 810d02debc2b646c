"""Weights of NVFP4 products as they are stored: E2M1 elements, and beside them an E4M3 scale for each 16.

# w = elements * scales * (the scale that the argument is pinned to)

A weight in E4M3 that such products alone read, contracted along one of its dimensions in whole blocks, becomes two
arguments, or two constants. What only moves the elements (transposes, reshapes, the slices of a loop over layers) moves
the scales likewise; a loop that carries the elements unchanged reads the scales from outside of it.
"""

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from scalify_hlo.analysis.calls import hands_on, walk
from scalify_hlo.analysis.product_shapes import contracted_dimensions
from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import NAME, argument_names, attributes_of
from scalify_hlo.execution.element_types import Array
from scalify_hlo.module.block_numbers import in_blocks
from scalify_hlo.module.function_types import retype
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.block_formats import BlockFormat
from scalify_hlo.passes.cast import STATE
from scalify_hlo.passes.frozen_weights import EXACT
from scalify_hlo.passes.pin_scales import PINNED
from scalify_hlo.types import tensor_info

# Attribute of an argument that is the scales of the blocks of the one before it: the dimension that blocks lie along.
BLOCK_SCALES = "scalify.block_scales"
# What the name of such an argument ends with.
SUFFIX = ".block_scales"
_FP8 = "f8E4M3FN"


class BlockStorage:
    """The weights of a pinned module, or its constants, in blocks."""

    def __init__(self, main: ir.Operation, kind: BlockFormat):
        self._main = main
        self._kind = kind
        self._scales: dict[ir.Value, ir.Value] = {}
        self._kept: set[ir.Value] = set()
        self.count = 0

    def scales_of(self, value: ir.Value) -> ir.Value | None:
        """The scales of what has been stored in blocks, or made of it by moves, where it stands."""
        return self._scales.get(value)

    def reason_to_skip(self, product: ir.Operation) -> str | None:
        """Why a product reads a weight that is not stored in blocks; None for others."""
        is_kept = product.results[0] in self._kept
        return f"a weight of theirs is not read in blocks of {self._kind.block} alone" if is_kept else None

    def store(self, products: Collection[ir.Value]) -> None:
        """Store what can be of what some products, by their results, read. Changes the public function's arguments."""
        body = self._main.regions[0].blocks[0]
        attributes = attributes_of(self._main, "arg_attrs", len(body.arguments))
        pinned = {
            i: body.arguments[i]
            for i, own in enumerate(attributes)
            if PINNED in own and STATE in own and ir.StringAttr(own[STATE]).value == "weight"
            if tensor_info(body.arguments[i].type).element == _FP8
        }
        constants = [op for op in walk(self._main) if EXACT in op.attributes]
        allowed, refused = set(products), list[ir.Value]()
        dimensions: dict[int, int] = {}
        while True:  # a product whose one weight cannot be stored so keeps the other in E4M3
            dimensions = {i: d for i, value in pinned.items() if (d := self._dimension(value, allowed)) is not None}
            refused = [value for i, value in pinned.items() if i not in dimensions]
            refused += [op.results[0] for op in constants if self._dimension(op.results[0], allowed) is None]
            barred = {product for value in refused for product in _products(value, allowed)}
            if not barred:
                break
            allowed -= barred
        self._kept = set(products) - allowed
        for op in constants:
            self._store_constant(op, allowed)
        for i, argument, scales in _with_scales(self._main, attributes, dimensions, self._kind):
            self._push(argument, scales, dimensions[i])
        self.count += len(dimensions)
        retype(self._main)

    def _store_constant(self, op: ir.Operation, allowed: Collection[ir.Value]) -> None:
        exact: Array = np.asarray(ir.DenseElementsAttr(op.attributes[EXACT]))
        del op.attributes[EXACT]
        dimension = self._dimension(op.results[0], allowed)
        if dimension is None:
            return
        elements, scales = in_blocks(exact, dimension)
        with ir.InsertionPoint(op), op.location:
            value, own = (
                emit.op("constant", type_, value=ir.DenseElementsAttr.get(numbers.view(np.uint8), type=type_))
                for numbers, type_ in (
                    (elements, emit.tensor_type(elements.shape, self._kind.element)),
                    (scales, emit.tensor_type(scales.shape, self._kind.scale)),
                )
            )
        op.results[0].replace_all_uses_with(value)
        op.erase()
        self._push(value, own, dimension)
        self.count += 1

    # --- where a weight goes --------------------------------------------------------------------------------------

    def _dimension(self, weight: ir.Value, products: Collection[ir.Value]) -> int | None:
        """The dimension along which products, and nothing else, contract a weight in whole blocks; None for none."""
        block = self._kind.block
        if not _products(weight, products):
            return None
        sizes = enumerate(tensor_info(weight.type).shape)
        return next((d for d, n in sizes if n and n % block == 0 and self._follows(weight, d, products)), None)

    def _follows(self, value: ir.Value, dimension: int, products: Collection[ir.Value]) -> bool:
        """Whether products alone read a value, and contract it along a dimension in whole blocks."""
        for use in value.uses:
            reader, i = use.owner.operation, use.operand_number
            if reader.name == "stablehlo.dot_general":
                if reader.results[0] not in products or _blocked(reader, i) != dimension:
                    return False
            elif reader.name == "stablehlo.while":
                forms = _carried(reader, i)
                if not forms or not all(self._follows(each, dimension, products) for each in forms):
                    return False
            elif reader.name == "stablehlo.return":
                if not _is_carried_on(value, reader, i):
                    return False
            else:
                after = _moved(reader, i, dimension, self._kind.block)
                if after is None or not self._follows(reader.results[0], after, products):
                    return False
        return True

    def _push(self, value: ir.Value, scales: ir.Value, dimension: int) -> None:
        """Retype a value and what is made of it by moves, and move the scales likewise."""
        if tensor_info(value.type).element != self._kind.element:
            value.set_type(emit.with_element(value.type, self._kind.element))
        self._scales[value] = scales
        for reader, i in [(use.owner.operation, use.operand_number) for use in value.uses]:
            if reader.name == "stablehlo.while":
                for each in _carried(reader, i):
                    self._push(each, scales, dimension)
                continue
            after = _moved(reader, i, dimension, self._kind.block)
            if after is not None:
                moved = _move_scales(reader, scales, dimension, after, self._kind.block)
                self._push(reader.results[0], moved, after)


def forget_exact(module: ir.Module) -> None:
    """Take what constants were rounded from away."""
    for op in walk(module.operation):
        if EXACT in op.attributes:
            del op.attributes[EXACT]


def _products(value: ir.Value, products: Collection[ir.Value]) -> list[ir.Value]:
    """Those of the products that read a value or what moves and loops make of it."""
    found: list[ir.Value] = []
    pending, seen = [value], set[ir.Value]()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        for use in current.uses:
            reader, i = use.owner.operation, use.operand_number
            if reader.name == "stablehlo.while":
                pending += _carried(reader, i)
            elif reader.name in _MOVES and i == 0:
                pending += reader.results
            else:
                found += [result for result in reader.results if result in products]
    return found


def _blocked(product: ir.Operation, side: int) -> int:
    """The dimension of an operand whose neighbours are neighbours in what a product contracts."""
    return contracted_dimensions(product)[side][-1]


# --- loops ----------------------------------------------------------------------------------------------------------


def _carried(loop: ir.Operation, i: int) -> list[ir.Value]:
    """The forms of what a loop carries unchanged: in its condition, its body, and behind it; none if it changes."""
    condition, body = (region.blocks[0] for region in loop.regions)
    return [condition.arguments[i], body.arguments[i], loop.results[i]] if hands_on(loop, i) else []


def _is_carried_on(value: ir.Value, leaving: ir.Operation, i: int) -> bool:
    """Whether the body of a loop hands on what it carries, in its place."""
    block = leaving.block
    return block.owner.operation.name == "stablehlo.while" and i < len(block.arguments) and value == block.arguments[i]


# --- moves ----------------------------------------------------------------------------------------------------------

_MOVES = ("stablehlo.transpose", "stablehlo.reshape", "stablehlo.slice", "stablehlo.dynamic_slice",
          "stablehlo.optimization_barrier")  # fmt: skip


def _moved(op: ir.Operation, operand: int, dimension: int, block: int) -> int | None:
    """The dimension of a movement's result that blocks lie along; None where they do not, and of other operations."""
    if op.name not in _MOVES or operand != 0 or len(op.results) != 1:
        return None
    before, after = (tensor_info(value.type).shape for value in (op.operands[0], op.results[0]))
    match op.name.removeprefix("stablehlo."):
        case "transpose":
            return _integers(op, "permutation").index(dimension)
        case "reshape":
            inner = math.prod(before[dimension + 1 :])
            places = [d for d, size in enumerate(after) if size % block == 0 and math.prod(after[d + 1 :]) == inner]
            return places[-1] if places else None
        case "slice":
            whole = before == after or (
                before[dimension] == after[dimension] and _integers(op, "strides")[dimension] == 1
            )
            return dimension if whole else None
        case "dynamic_slice":
            return dimension if before[dimension] == after[dimension] else None
        case _:
            return dimension


def _move_scales(op: ir.Operation, scales: ir.Value, before: int, after: int, block: int) -> ir.Value:
    """What a movement of elements makes of their scales."""
    if op.name == "stablehlo.optimization_barrier":
        return scales
    shape = [n // block if d == after else n for d, n in enumerate(tensor_info(op.results[0].type).shape)]
    attributes = dict(op.attributes.items())
    for name in ("limit_indices", "slice_sizes"):
        if name in attributes:
            ends = [n // block if d == before else n for d, n in enumerate(_integers(op, name))]
            attributes[name] = ir.DenseI64ArrayAttr.get(ends)
    type_ = emit.tensor_type(shape, tensor_info(scales.type).element)
    with ir.InsertionPoint.after(op), op.location:
        return ir.Operation.create(op.name, [type_], [scales, *list(op.operands)[1:]], attributes).results[0]


def _integers(op: ir.Operation, name: str) -> list[int]:
    return [int(n) for n in ir.DenseI64ArrayAttr(op.attributes[name])]


# --- arguments ------------------------------------------------------------------------------------------------------


def _with_scales(
    main: ir.Operation,
    attributes: Sequence[Mapping[str, ir.Attribute]],
    dimensions: Mapping[int, int],
    kind: BlockFormat,
) -> list[tuple[int, ir.Value, ir.Value]]:
    """Give a function an argument of scales behind each of some; their old indices, they, and the scales."""
    if not dimensions:
        return []
    body = main.regions[0].blocks[0]
    names, old = argument_names(main), list(body.arguments)
    found: list[tuple[int, ir.Value, ir.Value]] = []
    entries: list[ir.DictAttr] = []
    for i, argument in enumerate(old):
        again = body.add_argument(argument.type, argument.location)
        argument.replace_all_uses_with(again)
        entries.append(ir.DictAttr.get(dict(attributes[i])))
        if i not in dimensions:
            continue
        d = dimensions[i]
        shape = [n // kind.block if j == d else n for j, n in enumerate(tensor_info(argument.type).shape)]
        scales = body.add_argument(emit.tensor_type(shape, kind.scale), argument.location)
        along = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), d)
        entries.append(ir.DictAttr.get({NAME: ir.StringAttr.get(names[i] + SUFFIX), BLOCK_SCALES: along}))
        found.append((i, again, scales))
    for _ in old:
        body.erase_argument(0)
    main.attributes["arg_attrs"] = ir.ArrayAttr.get(entries)
    return found
