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
    types = [value.type for value in results]
    callee = _unused(module, name)
    with before.location:
        with ir.InsertionPoint(before):
            handed = [_joined(inputs)] if in_one_vector else inputs
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
            own = _taken_apart(body.arguments[0], inputs) if in_one_vector else list(body.arguments)
            known = dict(zip(inputs, own, strict=True))
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


def _joined(numbers: Sequence[ir.Value]) -> ir.Value:
    """Numbers of 32 bits and booleans, these as 0 and 1, in one f32 vector."""
    f32, parts = ir.F32Type.get(), list[ir.Value]()
    for number in numbers:
        kind = ir.RankedTensorType(number.type).element_type
        if kind != f32:
            name = "convert" if ir.IntegerType(kind).width == 1 else "bitcast_convert"
            number = _op(name, ir.RankedTensorType.get([], f32), [number])
        parts.append(_op("reshape", ir.RankedTensorType.get([1], f32), [number]))
    type_ = ir.RankedTensorType.get([len(parts)], f32)
    return _op("concatenate", type_, parts, {"dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)})


def _taken_apart(vector: ir.Value, numbers: Sequence[ir.Value]) -> list[ir.Value]:
    """What `_joined` has made a vector of."""
    f32, found = ir.F32Type.get(), list[ir.Value]()
    for i, number in enumerate(numbers):
        places = zip(("start_indices", "limit_indices", "strides"), (i, i + 1, 1), strict=True)
        attributes: dict[str, ir.Attribute] = {name: ir.DenseI64ArrayAttr.get([at]) for name, at in places}
        part = _op("slice", ir.RankedTensorType.get([1], f32), [vector], attributes)
        value, kind = (
            _op("reshape", ir.RankedTensorType.get([], f32), [part]),
            ir.RankedTensorType(number.type).element_type,
        )
        if kind != f32:
            name = "convert" if ir.IntegerType(kind).width == 1 else "bitcast_convert"
            value = _op(name, number.type, [value])
        found.append(value)
    return found


def _op(
    name: str, type_: ir.Type, operands: Sequence[ir.Value], attributes: dict[str, ir.Attribute] | None = None
) -> ir.Value:
    return ir.Operation.create(f"stablehlo.{name}", [type_], list(operands), attributes or {}).results[0]


def _unused(module: ir.Module, name: str) -> str:
    taken = {symbol_name(op) for op in module.body.operations}
    free, count = name, 0
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    return free
