"""Operations moved out of a block into a function of their own, which is called in their place."""

from collections.abc import Mapping, Sequence

from scalify_hlo.bindings import ir
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
    returns_inputs: bool = False,
) -> None:
    """Move operations without regions, of one result each, into a private function, and call it.

    operations: of one block, in its order, and defined by nothing that follows `before`, where the call is placed.
        Constants that they read are copied with them.
    name: of the function, with a number behind it where the module has the name.
    told: frontend attributes of the call, which are for XLA.
    returns_inputs: behind what is read of it the function returns what it is given, which nothing reads.
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
    types = [value.type for value in [*results, *(inputs if returns_inputs else ())]]
    callee = _unused(module, name)
    with before.location:
        with ir.InsertionPoint(module.body):
            signature = ir.FunctionType.get([value.type for value in inputs], types)
            attributes = {
                "sym_name": ir.StringAttr.get(callee),
                "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(signature),
            }
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
        body = function.regions[0].blocks.append(*signature.inputs)
        known = dict(zip(inputs, body.arguments, strict=True))
        with ir.InsertionPoint(body):
            for op in [*constants.values(), *operations]:
                copy = op.clone()
                for i, operand in enumerate(op.operands):
                    copy.operands[i] = known[operand]
                known[op.results[0]] = copy.results[0]
            returned = [known[result] for result in results]
            ir.Operation.create("func.return", [], [*returned, *body.arguments] if returns_inputs else returned)
        with ir.InsertionPoint(before):
            words = ir.DictAttr.get({key: ir.StringAttr.get(value) for key, value in told.items()})
            call = ir.Operation.create(
                "func.call", types, inputs, {"callee": ir.FlatSymbolRefAttr.get(callee), _FRONTEND_ATTRIBUTES: words}
            )
    for result, replacement in zip(results, call.results, strict=not returns_inputs):
        result.replace_all_uses_with(replacement)
    for op in reversed(operations):
        op.erase()


def _unused(module: ir.Module, name: str) -> str:
    taken = {symbol_name(op) for op in module.body.operations}
    free, count = name, 0
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    return free
