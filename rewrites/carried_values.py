"""What a value that a loop carries is: state, or a bound that runs along."""

import math

from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.rules.oprewrite import OpRewrite

from .selection import is_far

_MOVES = names(Trait.MOVES, without=Trait.COLLECTIVE) | {"stablehlo.convert", "stablehlo.negate"}
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
