"""What a value that a loop carries is: state, or a bound that runs along."""

import math

from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.rules.oprewrite import OpRewrite

from .selection import is_far

_MOVES = names(Trait.MOVES, without=Trait.COLLECTIVE) | {"stablehlo.convert", "stablehlo.negate"}
# In a sum with a bound the bound is all that counts.
_TERMS = _MOVES | {f"stablehlo.{name}" for name in ("add", "subtract", "concatenate", "pad", "select", "abs")}
_CHOICES = {"stablehlo.maximum", "stablehlo.minimum", "stablehlo.compare"}
_HANDED_ON = ("stablehlo.convert", "stablehlo.reshape", "stablehlo.broadcast_in_dim")


def leaves(value: ir.Value) -> bool:
    """Whether a value is returned by the function, or the iteration of a loop, converted perhaps."""
    users = [use.owner.operation for use in value.uses]
    return any(
        op.name in ("func.return", "stablehlo.return") or (op.name == "stablehlo.convert" and leaves(op.results[0]))
        for op in users
    )


def is_from_outside(data: ir.Value) -> bool:
    """Whether data are an argument of a function or of a loop's body, converted perhaps."""
    while not isinstance(data.owner, ir.Block):
        if data.owner.name != "stablehlo.convert":
            return False
        data = data.owner.operands[0]
    return True


# m <- max(m, s x) from a far c: s max(c/s, x), as max(c, s x) is
def running_bound(r: OpRewrite, index: int) -> float | None:
    """The far constant of a narrow type that a running maximum, or minimum, enters a loop as; None for others."""
    if r.rewriter.paper or not r.info(index).is_narrow:
        return None
    number = r.splat(index)
    if number is None or not math.isfinite(number) or not is_far(r.info(index), number):
        return None
    body = r.op.regions[1].blocks[0]
    owner = terminator(body).operands[index].owner
    bounds = "stablehlo.maximum" if number < 0 else "stablehlo.minimum"
    if isinstance(owner, ir.Block) or owner.operation.name != bounds:
        return None
    returned = owner.operation
    users = [use.owner.operation for use in body.arguments[index].uses]
    only = all(user == returned or _is_forgotten(user) for user in users)
    return number if only and returned in users else None


# m <- max(m, x) + y from a far c: c is in no value that is read, and its size says nothing of theirs
def is_far_bound(r: OpRewrite, index: int) -> bool:
    """Whether a plain value that enters a loop is a far bound: at scale 1, as other masks, not split as constants.

    A running bound of a narrow type is brought to the scale of what it meets, if that is known (`running_bound`).
    """
    number = r.splat(index)
    far = number is not None and math.isfinite(number) and is_far(r.info(index), number)
    return far and not r.rewriter.paper and not r.info(index).is_narrow and _is_chosen_from(r, index)


def _is_chosen_from(r: OpRewrite, index: int) -> bool:
    """Whether an iteration takes what is larger, or smaller, of a carried value, or what is added to it, and others."""
    pending: list[ir.Value] = [r.op.regions[1].blocks[0].arguments[index]]
    seen: set[ir.Value] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            op = use.owner.operation
            others = [operand for operand in op.operands if operand != value]
            if op.name in _CHOICES and others and all(constant_behind(other) is None for other in others):
                return True
            if op.name == "stablehlo.reduce" and _CHOICES & {each.name for each in op.regions[0].blocks[0].operations}:
                return True
            if op.name in _TERMS:
                pending += op.results
    return False


# exp(c - m) = 0 of any far c
def _is_forgotten(op: ir.Operation) -> bool:
    """Whether an operation is a difference whose exponential is taken, and nothing else."""
    if op.name not in ("stablehlo.subtract", *_HANDED_ON):
        return False
    users = [use.owner.operation for use in op.results[0].uses]
    return bool(users) and all(
        user.name == "stablehlo.exponential" or (user.name in _HANDED_ON and _is_forgotten(user)) for user in users
    )


# x <- c x
def only_multiplied(op: ir.Operation, index: int) -> bool:
    """Whether an iteration of a loop only multiplies a carried value by constants, and moves it."""
    body = op.regions[1].blocks[0]
    value = terminator(body).operands[index]
    while not isinstance(value.owner, ir.Block):
        step = value.owner.operation
        if step.name in ("stablehlo.multiply", "stablehlo.divide"):
            factors = [constant_behind(operand) is not None for operand in step.operands]
            if True not in factors:
                return False
            value = step.operands[factors.index(False) if False in factors else 0]
        elif step.name in _MOVES and len(step.operands):
            value = step.operands[0]
        else:
            return False
    return value == body.arguments[index]
