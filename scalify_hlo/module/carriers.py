"""Operations that only carry a value: how it is laid out over devices or in memory, or when it is computed.

They are the identity, so nothing that is known of a value is lost behind one. Two means make them transparent:

- `layouts_folded` moves the sharding of an operation's result from a `sharding_constraint` behind it onto the operation
  itself while a pass works, as Shardy's own first pass does (shardy/dialect/sdy/transforms/import/
  apply_sharding_constraints.cc). In JAX's explicit sharding mode there is one behind every operation. Afterwards they
  are constraints again: shardings of operations do not reach XLA.
- What is left (behind arguments, loops and calls, and where one value has several layouts) analyses look through, with
  `carried_by` towards where a value comes from and `readers` towards where it goes.
"""

import contextlib
from collections.abc import Generator, Iterator

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, sdy
from scalify_hlo.module.preserved import once
from scalify_hlo.module.traits import is_identity_call

# How one value is laid out over devices.
LAYOUTS = frozenset({"sdy.sharding_constraint", "sdy.reshard", "sdy.propagation_barrier"})
# Each result is the operand in its place, of the same type.
CARRIERS = LAYOUTS | {"stablehlo.optimization_barrier"}
# Shardy gives the results of these shardings of their own (`sdy.data_flow_edge`), or a call's attribute is lost when it
# is inlined.
_NOT_FOLDED = CARRIERS | {
    "func.call", "stablehlo.composite", "stablehlo.while", "stablehlo.case", "stablehlo.if", "stablehlo.custom_call",
    "sdy.manual_computation", "sdy.named_computation",
}  # fmt: skip
# Rewritten with the scales of their results as more results.
_REBUILT = {"func.call", "stablehlo.composite", "stablehlo.while", "stablehlo.case", "stablehlo.if"}
# What `carries` may hold for.
MAY_CARRY = CARRIERS | {"stablehlo.custom_call"}
_CONSTRAINT = "sdy.sharding_constraint"
SHARDING = "sdy.sharding"


def carries(op: ir.Operation) -> bool:
    """Whether an operation hands each operand on as the result in its place, of the same type."""
    if op.name in CARRIERS:
        return True
    if op.name != "stablehlo.custom_call" or not is_identity_call(op):
        return False
    return all(x.type == y.type for x, y in zip(op.operands, op.results, strict=True))


def carried_by(value: ir.Value) -> ir.Value | None:
    """The operand that a carrying operation hands on as `value`; None for other values."""
    if not isinstance(value, ir.OpResult):
        return None
    op = value.owner.operation
    return op.operands[ir.OpResult(value).result_number] if op.name in MAY_CARRY and carries(op) else None


def before_carriers(value: ir.Value) -> ir.Value:
    """The value as it was computed, before the operations that only carry it."""
    while (carried := carried_by(value)) is not None:
        value = carried
    return value


def readers(value: ir.Value) -> Iterator[ir.Operation]:
    """The operations that read a value, directly or behind operations that only carry it."""
    for use in value.uses:
        op = use.owner.operation
        if op.name in MAY_CARRY and carries(op):
            yield from readers(op.results[use.operand_number])
        else:
            yield op


@contextlib.contextmanager
def layouts_folded(module: ir.Module) -> Generator[bool]:
    """Shardings of results stand on their operations meanwhile. Yields whether there are any."""
    found = once("sharded", lambda: _is_sharded(module)) and fold_layouts(module)
    yield found
    if found:
        unfold_layouts(module)


def fold_layouts(module: ir.Module) -> bool:
    """Give results of operations the shardings that constraints behind them ask for, and remove these constraints.

    A constraint stays where its operand is no result of a simple operation, or is to have several shardings: there it
    stands for a movement of data between devices. Returns whether any result has a sharding now.
    """
    found = False
    for function in module.body.operations:
        for region in function.operation.regions:
            for block in region.blocks:
                found |= _fold_block(block)
    return found


def _is_sharded(module: ir.Module) -> bool:
    """Whether a module has to do with devices: a mesh, a constraint, per-device code, a sharding of anything."""
    for op in walk(module.operation):
        if op.name.startswith("sdy.") or SHARDING in op.attributes:
            return True
        if op.name == "func.func":
            given = (
                each for name in ("arg_attrs", "res_attrs") if name in op.attributes for each in op.attributes[name]
            )
            if any(SHARDING in ir.DictAttr(each) for each in given):
                return True
    return False


def unfold_layouts(module: ir.Module) -> None:
    """Turn the shardings of operations' results into constraints behind them."""
    for function in module.body.operations:
        for op in walk(function.operation):
            if SHARDING in op.attributes and len(op.results) == 1 and op.name not in _NOT_FOLDED:
                _constrain_results(op)


def takes_layout(value: ir.Value, sharding: ir.Attribute) -> bool:
    """Whether the operation that makes a value can be given its sharding, and has no other one."""
    own = sharding_of(value)
    return _may_take(value, sharding) if own is None else own == sharding


def lay_out(op: ir.Operation, sharding: ir.Attribute) -> None:
    """Give an operation of one result its sharding."""
    op.attributes[SHARDING] = sdy.TensorShardingPerValueAttr.get([sharding])


def constrain(value: ir.Value, sharding: ir.Attribute, ip: ir.InsertionPoint) -> ir.Value:
    """The value with a sharding, by a constraint."""
    attributes = {"sharding": sharding}
    location = ir.Location.unknown() if isinstance(value, ir.BlockArgument) else value.owner.operation.location
    return ir.Operation.create(_CONSTRAINT, [value.type], [value], attributes, loc=location, ip=ip).results[0]


def pinned(value: ir.Value, sharding: ir.Attribute, ip: ir.InsertionPoint) -> ir.Value:
    """The value laid out as it would be without the parts; for all that read it, so that it is gathered once."""
    own = sharding_of(value)
    if own is None and takes_layout(value, sharding):
        lay_out(value.owner.operation, sharding)
        return value
    return value if own is not None and own == sharding else constrain(value, sharding, ip)


def _fold_block(block: ir.Block) -> bool:
    found = False
    for each in list(block.operations):
        op = each.operation
        if op.name == _CONSTRAINT:
            found |= _fold(op)
            continue
        if SHARDING in op.attributes:
            if op.name in _REBUILT or len(op.results) > 1:
                _constrain_results(op)
            found = found or len(op.results) == 1
        for region in op.regions if len(op.regions) else ():
            for inner in region.blocks:
                found |= _fold_block(inner)
    return found


def _constrain_results(op: ir.Operation) -> None:
    """Turn the shardings of an operation's results into constraints behind it, whose results may be others then."""
    shardings = sdy.TensorShardingPerValueAttr(op.attributes[SHARDING]).shardings
    del op.attributes[SHARDING]
    for result, sharding in zip(op.results, shardings, strict=True):
        uses = [(use.owner.operation, use.operand_number) for use in result.uses]
        if uses and isinstance(result.type, ir.RankedTensorType) and not _says_nothing(result, sharding):
            new = constrain(result, sharding, ir.InsertionPoint.after(op))
            for user, index in uses:
                user.operands[index] = new


def _says_nothing(value: ir.Value, sharding: ir.Attribute) -> bool:
    """Whether a sharding is one of a number: it is replicated in any case, but where devices have parts of it."""
    is_number = isinstance(value.type, ir.RankedTensorType) and not ir.RankedTensorType(value.type).rank
    return is_number and not len(sdy.TensorShardingAttr(sharding).unreduced_axes)


def _fold(constraint: ir.Operation) -> bool:
    """Fold one constraint, where it can be; returns whether its operand has got the sharding by it."""
    (value,), (result,) = constraint.operands, constraint.results
    sharding = constraint.attributes["sharding"]
    own = sharding_of(value)
    if _says_nothing(value, sharding):
        given = False
    elif own is None and _may_take(value, sharding):
        lay_out(value.owner.operation, sharding)
        given = True
    elif own is None or own != sharding:
        return False
    else:
        given = False
    result.replace_all_uses_with(value)
    constraint.erase()
    return given


def sharding_of(value: ir.Value) -> ir.Attribute | None:
    """The sharding that a value is declared to have: the result of a simple operation, or a function's argument."""
    if isinstance(value, ir.OpResult):
        op = value.owner.operation
        if op.name in _NOT_FOLDED or SHARDING not in op.attributes:
            return None
        return sdy.TensorShardingPerValueAttr(op.attributes[SHARDING]).shardings[ir.OpResult(value).result_number]
    argument = ir.BlockArgument(value)
    function = argument.owner.owner.operation
    if function.name != "func.func" or "arg_attrs" not in function.attributes:
        return None
    attributes = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[argument.arg_number])
    return next((named.attr for named in attributes if named.name == SHARDING), None)


def is_in_parts(value: ir.Value) -> bool:
    """Whether devices have parts of a value that are still to be summed (Shardy's unreduced axes)."""
    own = sharding_of(value)
    return own is not None and len(sdy.TensorShardingAttr(own).unreduced_axes) > 0


def declared_sharding(value: ir.Value) -> ir.Attribute | None:
    """The sharding that a value is declared to have, before conversions too: they keep it."""
    while isinstance(value, ir.OpResult) and sharding_of(value) is None:
        op = value.owner.operation
        if op.name == _CONSTRAINT:
            return op.attributes["sharding"]
        if op.name != "stablehlo.convert":
            return None
        value = op.operands[0]
    return sharding_of(value)


def _may_take(value: ir.Value, sharding: ir.Attribute) -> bool:
    """Whether the operation that makes a value may be given its sharding: no other one is asked for."""
    if not isinstance(value, ir.OpResult) or not isinstance(value.type, ir.RankedTensorType):
        return False
    op = value.owner.operation
    if op.name in _NOT_FOLDED or len(op.results) != 1:
        return False
    for use in value.uses:
        user = use.owner.operation
        if user.name == "sdy.manual_computation":
            entering = sdy.TensorShardingPerValueAttr(user.attributes["in_shardings"]).shardings[use.operand_number]
            if entering != sharding:
                return False
        elif user.name == _CONSTRAINT and user.attributes["sharding"] != sharding:
            return False
    return True
