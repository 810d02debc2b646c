"""The guard of a pinned module: how many values were beyond what its scales foresee, as one more result.

A scale that is built in is right for inputs like those that it was chosen on. On others FP8 operands saturate, and
arguments that are stored in f16 overflow. Both places are known when the scales are pinned: where a value is clamped to
the range of an FP8 type and converted, and where an argument of the caller's becomes narrower. There the values are
counted that are beyond the range of the type. What is computed in between may leave the range of f16 as well, which
nobody counts where it happens: of each result it is counted how many values are no finite numbers. On a GPU a count is
one more reduction of a tensor that is in registers anyway; whoever does not ask for a guard pays nothing.

The result is a tensor<n x i32>, one number for each tensor, over all iterations of the loops that it is in. NaN counts.
"""

import dataclasses
import math

from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator
from scalify_hlo.analysis.name_stack import NameStacks
from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import NAME, argument_names, attributes_of, result_name
from scalify_hlo.errors import describe_location
from scalify_hlo.module.function_types import replace_terminator, retype
from scalify_hlo.module.traits import BRANCHES
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.instrument import rebuilt
from scalify_hlo.types import FLOAT_RANGE, LARGEST, tensor_info

# Name of the result, and of the module's attribute that names the tensors in order.
GUARD = "scalify.guard"

_MOVEMENTS = ("stablehlo.transpose", "stablehlo.reshape")


@dataclasses.dataclass
class _Count:
    name: str
    value: ir.Value  # tensor<1 x i32>


def add_guard(module: ir.Module, main: ir.Operation) -> list[str]:
    """Add the result to `main`, the one function of a pinned module; the names of the tensors that are watched."""
    body = main.regions[0].blocks[0]
    guard = _Guard(NameStacks(CallGraph(module)))
    arguments = guard.arguments(body, argument_names(main))
    last = terminator(body)
    counts = [*arguments, *guard.block(body), *guard.results(main, last)]
    with ir.InsertionPoint(last), last.location:
        vector = (
            emit.concatenate([count.value for count in counts])
            if counts
            else emit.integer_splat(emit.tensor_type((0,), "i32"), 0)
        )
    replace_terminator(last, [*last.operands, vector])
    count = len(terminator(body).operands)
    retype(main)
    given = list(ir.ArrayAttr(main.attributes["res_attrs"])) if "res_attrs" in main.attributes else []
    given = [*given[: count - 1], *[ir.DictAttr.get({})] * (count - 1 - len(given[: count - 1]))]
    main.attributes["res_attrs"] = ir.ArrayAttr.get([*given, ir.DictAttr.get({NAME: ir.StringAttr.get(GUARD)})])
    names = [each.name for each in counts]
    module.operation.attributes[GUARD] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in names])
    return names


def guarded_tensors(module: ir.Module) -> list[str] | None:
    """The names of the tensors that a module's guard counts; None where it has none."""
    if GUARD not in module.operation.attributes:
        return None
    return [ir.StringAttr(each).value for each in ir.ArrayAttr(module.operation.attributes[GUARD])]


class _Guard:
    def __init__(self, names: NameStacks):
        self._names = names

    def arguments(self, body: ir.Block, names: list[str]) -> list[_Count]:
        """Counts of the caller's values that are converted to a narrower float type."""
        found: list[_Count] = []
        for argument, name in zip(body.arguments, names, strict=True):
            narrowed = _narrowed(argument)
            if narrowed is not None:
                source, element = narrowed
                found.append(_Count(f"argument {name}", _count(source, _largest(element))))
        return found

    def results(self, main: ir.Operation, last: ir.Operation) -> list[_Count]:
        """Counts of values of the results that are infinite or NaN; FP8 types, which caches have, saturate."""
        found: list[_Count] = []
        for i, (value, own) in enumerate(
            zip(last.operands, attributes_of(main, "res_attrs", len(last.operands)), strict=True)
        ):
            element = tensor_info(value.type).element
            if element in FLOAT_RANGE and element not in LARGEST:
                found.append(_Count(f"result {result_name(own, i)}", _count(value, _largest(element))))
        return found

    def block(self, block: ir.Block) -> list[_Count]:
        """Counts of what a block, and what is nested in it, rounds to FP8; visible at its end."""
        found: list[_Count] = []
        for child in list(block.operations):
            op = child.operation
            if op.name == "stablehlo.clamp" and _form(op) is not None:
                found.append(_Count(self._name(op), _count(op.operands[1], LARGEST[_element(_form(op))])))
            elif op.name == "stablehlo.while":
                found += self._loop(op)
            elif op.name in BRANCHES:
                found += self._branches(op)
        return found

    def _loop(self, op: ir.Operation) -> list[_Count]:
        condition, body = (region.blocks[0] for region in op.regions)
        inside = self.block(body)
        if not inside:
            return []
        last = terminator(body)
        with ir.InsertionPoint(op), op.location:
            initial = [emit.integer_splat(each.value.type, 0) for each in inside]
        arguments = [body.add_argument(value.type, op.location) for value in initial]
        for value in initial:
            condition.add_argument(value.type, op.location)
        with ir.InsertionPoint(last), op.location:
            totals = [
                emit.op("add", each.value.type, before, each.value)
                for before, each in zip(arguments, inside, strict=True)
            ]
        replace_terminator(last, [*last.operands, *totals])
        return _renewed(inside, rebuilt(op, [*op.operands, *initial], initial))

    def _branches(self, op: ir.Operation) -> list[_Count]:
        by_branch = [self.block(region.blocks[0]) for region in op.regions]
        inside = [each for branch in by_branch for each in branch]
        if not inside:
            return []
        for region, taken in zip(op.regions, by_branch, strict=True):
            last = terminator(region.blocks[0])
            with ir.InsertionPoint(last), op.location:
                added = [each.value if each in taken else emit.integer_splat(each.value.type, 0) for each in inside]
            replace_terminator(last, [*last.operands, *added])
        return _renewed(inside, rebuilt(op, list(op.operands), [each.value for each in inside]))

    def _name(self, clamp: ir.Operation) -> str:
        """Of the first product that reads what is clamped, else of the place in the source."""
        form = _form(clamp)
        values = [form] if form is not None else []
        for value in values:
            for use in value.uses:
                reader = use.owner.operation
                if reader.name == "stablehlo.dot_general":
                    side = "lhs" if use.operand_number == 0 else "rhs"
                    return f"{side} of {self._names.full_name(reader) or describe_location(reader.location)}"
                if reader.name in _MOVEMENTS:
                    values.append(reader.results[0])
        return self._names.full_name(clamp) or describe_location(clamp.location)


def _renewed(counts: list[_Count], values: list[ir.Value]) -> list[_Count]:
    return [_Count(each.name, value) for each, value in zip(counts, values, strict=True)]


def _form(clamp: ir.Operation) -> ir.Value | None:
    """The FP8 value that a clamp's result is converted to."""
    for use in clamp.results[0].uses:
        reader = use.owner.operation
        if reader.name == "stablehlo.convert" and _element(reader.results[0]) in LARGEST:
            return reader.results[0]
    return None


def _narrowed(argument: ir.Value) -> tuple[ir.Value, str] | None:
    """The values of an argument, divided by its scale, that are converted to a narrower type; and the type."""
    info = tensor_info(argument.type)
    if not info.is_float or not info.rank:
        return None
    for use in argument.uses:
        reader = use.owner.operation
        if reader.name in _MOVEMENTS or (
            reader.name == "stablehlo.multiply" and _by_constant(reader, use.operand_number)
        ):
            found = _narrowed(reader.results[0])
            if found is not None:
                return found
        if reader.name == "stablehlo.convert":
            element = _element(reader.results[0])
            if element in FLOAT_RANGE and _largest(element) < _largest(info.element):
                return argument, element
    return None


def _by_constant(multiply: ir.Operation, operand: int) -> bool:
    other = defining_op(multiply.operands[1 - operand])
    return other is not None and other.name in ("stablehlo.constant", "stablehlo.broadcast_in_dim")


def _count(value: ir.Value, bound: float) -> ir.Value:
    """tensor<1 x i32>: how many elements are not within -bound .. bound."""
    op = defining_op(value)
    block = ir.BlockArgument(value).owner if op is None else op.block
    ip = ir.InsertionPoint.at_block_begin(block) if op is None else ir.InsertionPoint.after(op)
    with ip, ir.Location.unknown() if op is None else op.location:
        size = emit.op("abs", value.type, value)
        fits = emit.compare(size, emit.filled(value, bound), "LE")  # false for NaN
        i32 = ir.RankedTensorType.get(ir.RankedTensorType(value.type).shape, ir.IntegerType.get_signless(32))
        beyond = emit.op("convert", i32, emit.op("not", fits.type, fits))
        return emit.op("reshape", emit.tensor_type((1,), "i32"), _sum(beyond))


def _sum(x: ir.Value) -> ir.Value:
    scalar = emit.tensor_type((), "i32")
    dims = ir.DenseI64ArrayAttr.get(list(range(tensor_info(x.type).rank)))
    zero = emit.integer_splat(scalar, 0)
    reduction = ir.Operation.create("stablehlo.reduce", [scalar], [x, zero], {"dimensions": dims}, regions=1)
    block = ir.Block.create_at_start(reduction.regions[0], [scalar] * 2, [ir.Location.current] * 2)
    with ir.InsertionPoint(block):
        total = emit.op("add", scalar, *block.arguments)
        ir.Operation.create("stablehlo.return", [], [total])
    return reduction.results[0]


def _element(value: ir.Value | None) -> str:
    assert value is not None
    return tensor_info(value.type).element


def _largest(element: str) -> float:
    high, _, mantissa = FLOAT_RANGE[element]
    return min(LARGEST.get(element, math.inf), 2.0**high * (2 - 2.0**-mantissa))
