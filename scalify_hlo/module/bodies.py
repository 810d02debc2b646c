"""What small regions compute: reducers and comparators, told by their operations."""

from scalify_hlo.bindings import ir

_KINDS = {
    f"stablehlo.{name}": name for name in ("add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor")
}
_ORDERS = {"GT": "maximum", "GE": "maximum", "LT": "minimum", "LE": "minimum"}


def body_kind(op: ir.Operation, region: int = 0) -> str:
    """What a two-argument reducer computes: "add", "multiply", "maximum", ..., "first", "second" or "other"."""
    block = op.regions[region].blocks[0]
    arguments = list(block.arguments)
    if len(arguments) != 2:
        return "other"
    operations = [inner.operation for inner in block.operations]
    returned = list(operations[-1].operands)
    if len(operations) == 1 and returned[0] in arguments:
        return "second" if returned[0] == arguments[1] else "first"
    if len(operations) != 2 or len(operations[0].operands) != 2:
        return "other"
    kind = _KINDS.get(operations[0].name, "other")
    operands = set(operations[0].operands)
    uses_both = arguments[0] in operands and arguments[1] in operands
    return kind if uses_both and returned[0] == operations[0].results[0] else "other"


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
