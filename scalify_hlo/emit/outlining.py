"""Operations moved out of a block into a function of their own, which is called in their place."""

from collections.abc import Mapping, Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.emit.packed_scales import elements_of, vector_of
from scalify_hlo.module.identity import symbol_name

# What XLA is told of an operation, by StableHLO's name for it.
_FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"


def leaving(operations: Sequence[ir.Operation]) -> list[ir.Value]:
    """The results of some operations of one result each that others than these read."""
    inside = set(operations)
    results = [op.results[0] for op in operations]
    return [result for result in results if any(use.owner.operation not in inside for use in result.uses)]


def outline(
    module: ir.Module,
    name: str,
    operations: Sequence[ir.Operation],
    before: ir.Operation,
    told: Mapping[str, str],
    *,
    in_one_vector: bool = False,
) -> None:
    """Move operations without regions, of one result each, into a private function, and call it.

    operations: of one block, in its order, and defined by nothing that follows `before`, where the call is placed.
        Constants that they read are copied with them.
    name: of the function, with a number behind it where the module has the name.
    told: frontend attributes of the call, which are for XLA.
    in_one_vector: what the function is given, numbers of 32 bits and booleans, comes in one vector, which it returns as
        well, for nobody. What is given alone XLA may find to be a constant, which it writes into the function.
    """
    results = leaving(operations)
    constants: dict[ir.Value, ir.Operation] = {}
    given: dict[ir.Value, None] = {}
    inside = {op.results[0] for op in operations}
    for op in operations:
        for operand in op.operands:
            if operand in inside:
                continue
            owner = operand.owner
            if not isinstance(owner, ir.Block) and owner.name == "stablehlo.constant":
                constants[operand] = owner.operation
            else:
                given[operand] = None
    inputs = list(given)
    in_one_vector = in_one_vector and bool(inputs)
    types = [value.type for value in results]
    callee = _unused(module, name)
    with before.location:
        with ir.InsertionPoint(before):
            number = ir.RankedTensorType.get([], ir.F32Type.get())
            handed = [vector_of([_as(value, number) for value in inputs])] if in_one_vector else inputs
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
            own = elements_of(body.arguments[0], range(len(inputs))) if in_one_vector else body.arguments
            known = {value: _as(taken, value.type) for value, taken in zip(inputs, own, strict=True)}
            for op in [*constants.values(), *operations]:
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
