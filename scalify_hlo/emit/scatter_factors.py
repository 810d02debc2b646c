"""Factors of what is scattered into zeros: they go to the updates.

# c scatter(0, i, u) = scatter(0, i, c u), for bodies that add or replace

A scatter is a kernel of its own, which nothing is fused into. A factor behind it is another pass over the whole result,
and hides that the result is only added to something: XLA scatters into that directly (a loss's gradient, one number of
each row of the logits, into softmax's). Powers of two change no bit. A factor of the program's own that is known at run
time alone stays where it is: where nothing is scattered to, 0 / 0 is NaN, for a count of 0, and 0 * inf.
"""

import math
from collections.abc import Set as AbstractSet

from scalify_hlo.analysis.calls import terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.constants import dense_value, number_behind
from scalify_hlo.module.identity import identity, symbol_name
from scalify_hlo.types import tensor_info

_SCATTER, _CALL = "stablehlo.scatter", "func.call"
_FACTORS = ("stablehlo.multiply", "stablehlo.divide")
_BY_POSITION = ("stablehlo.reshape", "stablehlo.transpose")


def factors_of_program(module: ir.Module) -> set[int]:
    """The identities of products and quotients of scatters, or of calls, by factors that may be 0, infinite or NaN."""
    found: set[int] = set()
    for op in walk(module.operation):
        for use in op.results[0].uses if op.name in (_SCATTER, _CALL) and len(op.results) == 1 else ():
            user = use.owner.operation
            if user.name in _FACTORS and not any(map(_is_harmless, user.operands)):
                found.add(identity(user))
    return found


def _is_harmless(factor: ir.Value) -> bool:
    number = number_behind(factor)
    return bool(number) and math.isfinite(number)


def move_factors_to_updates(module: ir.Module, stay: AbstractSet[int] = frozenset()) -> None:
    """Rewrite products of scatters in place, also of those that a private function returns.

    stay: identities of products that are left alone.
    """
    functions = {symbol_name(op): op.operation for op in module.body.operations if op.operation.name == "func.func"}
    # All of them first: the product that is erased may be the operation that a walk would come to next.
    for op in [op for op in walk(module.operation) if op.name in (_SCATTER, _CALL)]:
        if op.name == _SCATTER:
            if _scatters_into_zeros(op):
                _move_all(op, 2, stay)
        elif len(op.results) == 1:
            callee = functions.get(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
            index = None if callee is None else _linear_argument(callee)
            if index is not None:
                _move_all(op, index, stay)


def _move_all(op: ir.Operation, index: int, stay: AbstractSet[int]) -> None:
    """Multiply operand `index` by all factors that the result is multiplied by, one after the other."""
    while _move(op, index, stay):
        pass


def _move(op: ir.Operation, index: int, stay: AbstractSet[int]) -> bool:
    """Multiply operand `index` by the factor that the result's only user multiplies it by; whether there is one."""
    result = op.results[0]
    users = [use.owner.operation for use in result.uses]
    update = op.operands[index]
    info = tensor_info(result.type)
    if len(users) != 1 or users[0].name not in _FACTORS or info.is_narrow:
        return False
    user = users[0]
    if identity(user) in stay:
        return False
    factors = [operand for operand in user.operands if operand != result]
    updated = tensor_info(update.type)
    if len(factors) != 1 or (user.operands[0] != result and user.name == "stablehlo.divide"):
        return False
    if not info.is_static or not updated.is_static or not info.is_float or updated.size >= info.size:
        return False
    if user.operation.block != op.block:
        return False
    factor = _scalar(factors[0])
    if factor is None:
        return False
    with ir.InsertionPoint(user), op.location:
        shape = list(updated.shape)
        type_ = ir.RankedTensorType.get(shape, ir.RankedTensorType(result.type).element_type)
        if isinstance(factor, ir.DenseElementsAttr):
            splat = ir.DenseElementsAttr.get_splat(type_, factor.get_splat_value())
            full = ir.Operation.create("stablehlo.constant", [type_], [], {"value": splat}).results[0]
        else:
            nowhere = {"broadcast_dimensions": ir.DenseI64ArrayAttr.get([])}
            full = ir.Operation.create("stablehlo.broadcast_in_dim", [type_], [factor], nowhere).results[0]
        scaled = ir.Operation.create(user.name, [type_], [update, full]).results[0]
    # The factor may be computed after the scatter, whose only reader this is.
    op.move_before(user)
    scaled.owner.move_before(op)
    full.owner.move_before(scaled.owner)
    op.operands[index] = scaled
    user.results[0].replace_all_uses_with(result)
    user.erase()
    return True


def _scalar(value: ir.Value) -> ir.Value | ir.DenseElementsAttr | None:
    """The one number that a full tensor repeats, as a value of rank 0 or a constant; None if it is none."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    op = owner.operation
    if op.name == "stablehlo.constant":
        attribute = dense_value(op)
        return attribute if attribute is not None and attribute.is_splat else None
    if op.name == "stablehlo.broadcast_in_dim" and tensor_info(op.operands[0].type).rank == 0:
        return op.operands[0]
    return None


def _scatters_into_zeros(op: ir.Operation) -> bool:
    """Whether a scatter writes to zeros, and adds or replaces."""
    return len(op.operands) == 3 and _is_zero(op.operands[0]) and body_kind(op) in ("add", "second")


def _is_zero(value: ir.Value) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    op = owner.operation
    if op.name in ("stablehlo.broadcast_in_dim", *_BY_POSITION):
        return _is_zero(op.operands[0])
    if op.name != "stablehlo.constant" or not tensor_info(value.type).is_float:
        return False
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return False
    return ir.FloatAttr(attribute.get_splat_value()).value == 0


def _linear_argument(function: ir.Operation) -> int | None:
    """The argument that a function scatters into zeros, if that is all it returns and uses the argument for."""
    if not function.regions[0].blocks:
        return None
    block = function.regions[0].blocks[0]
    returned = terminator(block)
    if returned.name != "func.return" or len(returned.operands) != 1:
        return None
    value = returned.operands[0]
    while True:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return None
        op = owner.operation
        if len(list(value.uses)) != 1:
            return None
        if op.name == _SCATTER and _scatters_into_zeros(op):
            update = op.operands[2]
            while not isinstance(update.owner, ir.Block) and update.owner.operation.name in _BY_POSITION:
                update = update.owner.operation.operands[0]
            if not isinstance(update.owner, ir.Block) or len(list(update.uses)) != 1:
                return None
            return ir.BlockArgument(update).arg_number
        if op.name not in _BY_POSITION:
            return None
        value = op.operands[0]
