"""`scalify-store-caches`: a decoder's keys and values in FP8, at pinned scales. Runs on a pinned module.

A cache is a result whose elements are only moved and written after they were computed (`scalify_hlo.analysis.caches`).
Such a tensor is stored in E4M3 from the argument, where there is one, to the result: what a step writes is divided by
the scale, clamped and rounded, which is a few rows, and the rest of the cache is not touched. What reads the cache
converts what it reads.

# write(x / s, u / s) = write(x, u) / s

The file of scales says which results are caches and at which scale; exports of one model for prefill and decode are
given the same (`scalify-calibrate --add`), so that what the one returns the other takes.
"""

import dataclasses

from scalify_hlo.analysis.caches import carried_operands, constant_factor, written_over
from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.function_types import retype
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.held_values import after
from scalify_hlo.types import LARGEST, tensor_info

FORMAT = "f8E4M3FN"


@dataclasses.dataclass
class _Chain:
    """The tensors that are a cache on its way. units: what each is of the stored data. inputs: what is to be stored."""

    units: dict[ir.Value, float] = dataclasses.field(default_factory=dict[ir.Value, float])
    inputs: list[tuple[ir.Operation, int, float]] = dataclasses.field(
        default_factory=list[tuple[ir.Operation, int, float]]
    )
    consistent: bool = True


def store_cache(main: ir.Operation, calls: CallGraph, result: int, argument: int | None, scale: float) -> bool:
    """Store a result of a pinned module, and the argument that it is the new value of, in FP8 at a scale.

    argument: its index; None where the program makes the cache (prefill). False where the argument is not stored: where
    the result is computed of it, or it is carried at scales that are known at run time only.
    """
    body = main.regions[0].blocks[0]
    last = terminator(body)
    old = None if argument is None else ir.BlockArgument(body.arguments[argument])
    if old is not None:
        found, _ = written_over(last.operands[result], calls)
        old = old if found is not None and found == old else None
    chain = _Chain()
    _collect(chain, last, result, scale, body, old)
    if not chain.consistent or (old is not None and chain.units.get(old) != scale):
        chain, old = _Chain(inputs=[(last, result, scale)]), None
    _store(chain, last, result)
    retype(main)
    return old is not None or argument is None


def store_argument(main: ir.Operation, argument: int, scale: float) -> None:
    """Store an argument in FP8 at a scale; what reads it has its value."""
    own = main.regions[0].blocks[0].arguments[argument]
    wide = tensor_info(own.type).element
    readers = [(use.owner.operation, use.operand_number) for use in own.uses]
    own.set_type(emit.with_element(own.type, FORMAT))
    ip, location = after(own)
    with ip, location:
        value = emit.convert(own, wide)
        if scale != 1:
            value = emit.times(value, scale)
    for reader, i in readers:
        reader.operands[i] = value
    retype(main)


def _collect(
    chain: _Chain, op: ir.Operation, operand: int, unit: float, body: ir.Block, argument: ir.BlockArgument | None
) -> None:
    """Add operand `operand` of `op`, which is stored * unit, and where it comes from."""
    value = op.operands[operand]
    if value in chain.units:
        chain.consistent &= chain.units[value] == unit
        return
    source = defining_op(value)
    if source is None:
        own = ir.BlockArgument(value)
        block = own.owner
        if block == body:
            if argument is not None and value == argument:
                chain.units[value] = unit
            else:
                chain.inputs.append((op, operand, unit))
            return
        loop = block.owner.operation
        if loop.name != "stablehlo.while":
            chain.inputs.append((op, operand, unit))
            return
        _collect_loop(chain, loop, own.arg_number, unit, body, argument)
        return
    if source.name == "stablehlo.while":
        _collect_loop(chain, source, ir.OpResult(value).result_number, unit, body, argument)
        return
    carried = carried_operands(source)
    if not carried or (source.name in _ARITHMETIC and not _leads_on(source, carried[0], body, argument)):
        chain.inputs.append((op, operand, unit))
        return
    chain.units[value] = unit
    if source.name == "stablehlo.multiply":
        factor = constant_factor(source.operands[1 - carried[0]])
        assert factor is not None
        chain.consistent &= factor > 0
        unit = unit / factor if factor > 0 else unit
    for i in carried:
        _collect(chain, source, i, unit, body, argument)


# A factor or a conversion is part of the way only where a cache comes through it; else it belongs to what is written.
_ARITHMETIC = ("stablehlo.multiply", "stablehlo.convert")


def _leads_on(op: ir.Operation, operand: int, body: ir.Block, argument: ir.BlockArgument | None) -> bool:
    """Whether behind a conversion or factor there is a write, a loop or the cache's argument."""
    value = op.operands[operand]
    while True:
        source = defining_op(value)
        if source is None:
            return (argument is not None and value == argument) or ir.BlockArgument(value).owner != body
        carried = carried_operands(source)
        if source.name == "stablehlo.while" or len(carried) > 1:
            return True
        if not carried:
            return False
        value = source.operands[carried[0]]


def _collect_loop(
    chain: _Chain, loop: ir.Operation, i: int, unit: float, body: ir.Block, argument: ir.BlockArgument | None
) -> None:
    inner = loop.regions[1].blocks[0]
    for own in (inner.arguments[i], loop.regions[0].blocks[0].arguments[i], loop.results[i]):
        chain.units[own] = unit
    _collect(chain, terminator(inner), i, unit, body, argument)
    _collect(chain, loop, i, unit, body, argument)


# --- storing ------------------------------------------------------------------------------------------------------


def _store(chain: _Chain, last: ir.Operation, result: int) -> None:
    readers = [
        (value, use.owner.operation, use.operand_number)
        for value in chain.units
        for use in value.uses
        if not _is_inside(chain, use.owner.operation, use.operand_number, last, result)
    ]
    for value, reader, i in readers:
        with _before(reader), reader.location:
            reader.operands[i] = _read(value, chain.units[value])
    for op, i, unit in chain.inputs:
        op.operands[i] = _stored(op.operands[i], unit)
    # What was read is converted from the stored type from here on.
    for value in chain.units:
        value.set_type(emit.with_element(value.type, FORMAT))
        op = defining_op(value)
        if op is not None and op.name == "stablehlo.scatter":
            block = op.regions[0].blocks[0]
            for own in block.arguments:
                own.set_type(emit.with_element(own.type, FORMAT))
    for value in list(chain.units):
        op = defining_op(value)
        if op is not None and op.name in _ARITHMETIC:
            value.replace_all_uses_with(op.operands[carried_operands(op)[0]])
            op.erase()


def _is_inside(chain: _Chain, op: ir.Operation, operand: int, last: ir.Operation, result: int) -> bool:
    """Whether an operation takes an operand as a part of the chain."""
    if op == last:
        return operand == result
    if op.name == "stablehlo.while":
        return op.results[operand] in chain.units
    if op.name == "stablehlo.return" and op.parent is not None and op.parent.operation.name == "stablehlo.while":
        loop = op.parent.operation
        return op.block == loop.regions[1].blocks[0] and loop.results[operand] in chain.units
    return any(own in chain.units for own in op.results) and operand in carried_operands(op)


def _read(value: ir.Value, unit: float) -> ir.Value:
    """A placeholder for stored * unit in the type that `value` has now; right once `value` has the stored type."""
    wide = ir.Operation.create("stablehlo.convert", [value.type], [value]).results[0]
    return emit.times(wide, unit)


def _stored(value: ir.Value, unit: float) -> ir.Value:
    """value / unit, clamped and rounded."""
    ip, location = after(value)
    with ip, location:
        if unit != 1:
            wide = emit.convert(value, "f32")
            value = emit.op("multiply", wide.type, wide, emit.splat(wide.type, 1 / unit))
        scalar = emit.tensor_type((), tensor_info(value.type).element)
        low, high = (emit.splat(scalar, bound) for bound in (-LARGEST[FORMAT], LARGEST[FORMAT]))
        return emit.convert(emit.op("clamp", value.type, low, value, high), FORMAT)


def _before(reader: ir.Operation) -> ir.InsertionPoint:
    return ir.InsertionPoint(reader)
