"""What small regions compute: reducers and comparators, told by their operations."""

from scalify_hlo.bindings import ir

_KINDS = {
    f"stablehlo.{name}": name for name in ("add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor")
}
_ORDERS = {"GT": "maximum", "GE": "maximum", "LT": "minimum", "LE": "minimum"}


def body_kind(op: ir.Operation, region: int = 0) -> str:
    """What a two-argument reducer computes: "add", "multiply", "maximum", ..., "first", "second" or "other"."""
    block = op.regions[region].blocks[0]
    arguments, operations = list(block.arguments), list(block.operations)
    if len(arguments) != 2:
        return "other"
    last = operations[-1].operation
    returned = last.operands[0]
    if len(operations) == 1 and returned in arguments:
        return "second" if returned == arguments[1] else "first"
    if len(operations) != 2:
        return "other"
    first = operations[0].operation
    operands = list(first.operands)
    if len(operands) != 2 or returned != first.results[0]:
        return "other"
    return _KINDS.get(first.name, "other") if operands in (arguments, arguments[::-1]) else "other"


# argmax: (x > y or x != x) ? x : y
def compared_kind(op: ir.Operation, index: int) -> str:
    """What a reducer of several tensors keeps of one that it compares: "maximum", "minimum" or "other"."""
    block = op.regions[0].blocks[0]
    x, y = block.arguments[index], block.arguments[len(op.results) + index]
    operations = [inner.operation for inner in block.operations]
    kept = operations[-1].operands[index].owner
    if isinstance(kept, ir.Block) or kept.name != "stablehlo.select" or list(kept.operands)[1:] != [x, y]:
        return "other"
    compared = (inner for inner in operations if inner.name == "stablehlo.compare" and list(inner.operands) == [x, y])
    orders = {str(inner.attributes["comparison_direction"]) for inner in compared}
    found = {kind for order in orders for sign, kind in _ORDERS.items() if sign in order}
    return found.pop() if len(found) == 1 else "other"
