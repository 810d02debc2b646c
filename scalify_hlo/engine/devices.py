"""Which values are the same on every device, seen from inside a region of per-device code.

Scales mostly are: they enter such a region replicated and change by the same algebra everywhere. Where that is
certain, no communication is needed to bring the scales of several devices together.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir, sdy
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import EVERYWHERE, GROUPS, MANUAL, covers, groups_around, parent
from scalify_hlo.module.traits import BRANCHES, Trait, names

# Operations whose result is a function of their operands alone.
_FUNCTIONS = names(Trait.FUNCTION, without=Trait.CONSTANT)
_CONSTANTS = names(Trait.CONSTANT)


def same_on_every_device(value: ir.Value, known: AbstractSet[ir.Value]) -> bool:
    """Whether `value` is known to be equal on all devices that run the region it belongs to.

    known: values that are, such as arguments of private functions.
    """
    return _same(value, set(known))


def _same(value: ir.Value, assumed: set[ir.Value]) -> bool:
    if value in assumed:
        return True  # a loop: equal if everything else that feeds it is
    assumed.add(value)
    owner = value.owner
    if isinstance(owner, ir.Block):
        return _argument(ir.BlockArgument(value), owner, assumed)
    op = owner.operation
    if op.name in _CONSTANTS:
        return True
    if op.name in _FUNCTIONS:
        return all(_same(operand, assumed) for operand in op.operands)
    if op.name == "stablehlo.while":
        index = next(i for i, result in enumerate(op.results) if result == value)
        return _carried(op, index, assumed)
    if op.name in BRANCHES:
        returned = [terminator(region.blocks[0]).operands[ir.OpResult(value).result_number] for region in op.regions]
        return all(_same(each, assumed) for each in (op.operands[0], *returned))
    if op.name == "stablehlo.all_reduce":
        whole = groups_around(op)
        return whole is not None and covers(op, whole)
    return op.name == "func.call" and _returned_everywhere(op, ir.OpResult(value).result_number, assumed)


def _returned_everywhere(call: ir.Operation, index: int, assumed: set[ir.Value]) -> bool:
    """Whether a result of a called function is the same on all devices: as it says, or as its operations tell."""
    root = call
    while (above := parent(root)) is not None:
        root = above
    name = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
    for op in root.regions[0].blocks[0].operations:
        function = op.operation
        if function.name == "func.func" and symbol_name(function) == name:
            if _has(function, "res_attrs", index, EVERYWHERE):
                return True
            if not all(_same(operand, assumed) for operand in call.operands):
                return False
            block = function.regions[0].blocks[0]
            assumed.update(block.arguments)
            return _same(terminator(block).operands[index], assumed)
    return False


def _has(function: ir.Operation, kind: str, index: int, name: str) -> bool:
    attributes = ir.ArrayAttr(function.attributes[kind]) if kind in function.attributes else ()
    return index < len(attributes) and any(named.name == name for named in ir.DictAttr(attributes[index]))


def _argument(argument: ir.BlockArgument, block: ir.Block, assumed: set[ir.Value]) -> bool:
    op = block.owner.operation
    if op.name == "stablehlo.while":
        return _carried(op, argument.arg_number, assumed)
    if op.name == MANUAL:
        shardings = sdy.TensorShardingPerValueAttr(op.attributes["in_shardings"]).shardings
        return not any(True for _ in _axes(shardings[argument.arg_number]))
    # An argument of a partitioned program is one logical value; of a replicated program, one for each replica.
    if op.name != "func.func":
        return False
    attributes = op.attributes
    if _has(op, "arg_attrs", argument.arg_number, EVERYWHERE):
        return True
    module = parent(op)
    if module is None or GROUPS in module.attributes:
        return False
    public = "sym_visibility" not in attributes or ir.StringAttr(attributes["sym_visibility"]).value == "public"
    return public and _count(module, "mhlo.num_replicas") == 1


def _count(module: ir.Operation, name: str) -> int:
    """An integer attribute of the module; 0 when absent."""
    return ir.IntegerAttr(module.attributes[name]).value if name in module.attributes else 0


def _carried(op: ir.Operation, index: int, assumed: set[ir.Value]) -> bool:
    """Whether a value carried by a loop is equal everywhere: at entry, after each iteration, and in their number."""
    condition, body = (region.blocks[0] for region in op.regions)
    returned = list(terminator(body).operands)
    if index >= len(returned):
        return False  # the body is being rewritten: its scales are not returned yet
    decision = terminator(condition).operands[0]
    return all(_same(v, assumed) for v in (op.operands[index], returned[index], decision))


def _axes(sharding: ir.Attribute) -> Iterable[ir.Attribute]:
    for dimension in sdy.TensorShardingAttr(sharding).dimension_shardings:
        yield from sdy.DimensionShardingAttr(dimension).axes
