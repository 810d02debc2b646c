"""Operations moved out of a block into a function of their own, which is called in their place."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from scalify_hlo.bindings import ir
from scalify_hlo.emit.packed_scales import elements_of, vector_of
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.traits import Trait, has
from scalify_hlo.types import tensor_info

# What XLA is told of an operation, by StableHLO's name for it.
_FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"


def leaving(operations: Sequence[ir.Operation]) -> list[ir.Value]:
    """The results of some operations of one result each that others than these read."""
    inside = set(operations)
    results = [op.results[0] for op in operations]
    return [result for result in results if any(use.owner.operation not in inside for use in result.uses)]


def settled_values(block: ir.Block) -> set[ir.Value]:
    """The constants of a block, and its values of rank 0 that follow from them alone by arithmetic."""
    found: set[ir.Value] = set()
    for operation in block.operations:
        op = operation.operation
        computed = has(op.name, Trait.ELEMENTWISE) and len(op.operands) and not tensor_info(op.results[0].type).rank
        if op.name == "stablehlo.constant" or (computed and all(operand in found for operand in op.operands)):
            found.update(op.results)
    return found


def outline(
    module: ir.Module,
    name: str,
    operations: Sequence[ir.Operation],
    before: ir.Operation,
    told: Mapping[str, str],
    *,
    settled: AbstractSet[ir.Value],
    in_one_vector: bool = False,
) -> None:
    """Move operations without regions, of one result each, into a private function, and call it.

    operations: of one block, in its order, and defined by nothing that follows `before`, where the call is placed.
        What they read of `settled` is copied with them.
    name: of the function, with a number behind it where the module has the name.
    settled: constants, and values that follow from them, which XLA computes as it compiles, and not in a function that
        it is to leave alone.
    told: frontend attributes of the call, which are for XLA.
    in_one_vector: numbers of 32 bits and booleans that the function is given come in one vector, and all that it is
        given it returns as well, for nobody. What XLA finds to be a constant it writes into the function.
    """
    results = leaving(operations)
    copied: dict[ir.Value, ir.Operation] = {}
    given: dict[ir.Value, None] = {}
    inside = {op.results[0] for op in operations}
    for op in operations:
        for operand in op.operands:
            if operand in inside:
                continue
            if operand in settled:
                _copy_with_operands(operand, copied)
            else:
                given[operand] = None
    inputs = list(given)
    together = [value for value in inputs if in_one_vector and not tensor_info(value.type).rank]
    apart = [value for value in inputs if value not in together]
    types = [value.type for value in results]
    callee = _unused(module, name)
    with before.location:
        with ir.InsertionPoint(before):
            number = ir.RankedTensorType.get([], ir.F32Type.get())
            handed = [vector_of([_as(value, number) for value in together])] if together else []
        handed += apart
        types += [value.type for value in handed] if in_one_vector else []
        with ir.InsertionPoint(module.body):
            signature = ir.FunctionType.get([value.type for value in handed], types)
            attributes = {
                "sym_name": ir.StringAttr.get(callee),
                "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(signature),
            }
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
        body = function.regions[0].blocks.append(*signature.inputs)
        with ir.InsertionPoint(body):
            own: list[ir.Value] = list(body.arguments)
            elements: list[ir.Value] = [*elements_of(own.pop(0), range(len(together)))] if together else []
            known = {value: _as(taken, value.type) for value, taken in zip(together, elements, strict=True)}
            known.update(zip(apart, own, strict=True))
            for op in [*copied.values(), *operations]:
                copy = op.clone()
                for i, operand in enumerate(op.operands):
                    copy.operands[i] = known[operand]
                known[op.results[0]] = copy.results[0]
            returned = [known[result] for result in results]
            ir.Operation.create("func.return", [], [*returned, *body.arguments] if in_one_vector else returned)
        with ir.InsertionPoint(before):
            words = ir.DictAttr.get({key: ir.StringAttr.get(value) for key, value in told.items()})
            call = ir.Operation.create(
                "func.call", types, handed, {"callee": ir.FlatSymbolRefAttr.get(callee), _FRONTEND_ATTRIBUTES: words}
            )
    for result, replacement in zip(results, call.results, strict=not in_one_vector):
        result.replace_all_uses_with(replacement)
    for op in reversed(operations):
        op.erase()


def _copy_with_operands(value: ir.Value, copied: dict[ir.Value, ir.Operation]) -> None:
    """Add what a value follows from, and its own operation, to the operations to copy."""
    pending = [value]
    while pending:
        op = pending[-1].owner.operation
        missing = [operand for operand in op.operands if operand not in copied]
        if not missing:
            copied[pending.pop()] = op
        pending += missing


def _as(number: ir.Value, type_: ir.Type) -> ir.Value:
    """A number of 32 bits as another type of 32 bits, with its bits; a boolean as 0 or 1, and back."""
    if number.type == type_:
        return number
    is_boolean = ir.IntegerType.get_signless(1) in (ir.RankedTensorType(x).element_type for x in (number.type, type_))
    name = "stablehlo.convert" if is_boolean else "stablehlo.bitcast_convert"
    return ir.Operation.create(name, [type_], [number]).results[0]


def _unused(module: ir.Module, name: str) -> str:
    taken = {symbol_name(op) for op in module.body.operations}
    free, count = name, 0
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    return free
