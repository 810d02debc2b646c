"""What a loop carries and computes of itself alone: the positions of a simulation, whatever is decided in each step.

# x' = x + h v, v' = v + h f(x, v, a), a an action, which is an integer: no number of a parameter enters x

No product reads it but as an input, so that 16 bits make nothing of it faster, while x + h v is rounded in each step,
and x may grow to any size from where it starts. The same holds of what a loop adds to in each iteration without
any product, though parameters enter it: concentrations of 10^4 that diffuse by 1 an iteration would not move in f16.

# T' = T + h f(T), f of products, h a small number: temperatures of 288 K that change by .02 K

What it adds to in small steps is such too, and nothing else of what these are computed of.
"""

from collections.abc import Callable

from scalify_hlo.analysis.calls import CallGraph, defining_op, enters_unchanged, terminator
from scalify_hlo.analysis.intervals import before_moves
from scalify_hlo.analysis.product_shapes import product_sizes
from scalify_hlo.analysis.residuals import Slice
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind, number_behind, read_dense
from scalify_hlo.module.traits import Trait, is_linear_algebra, names
from scalify_hlo.types import tensor_info

_PRODUCTS = names(Trait.CONTRACTS)
# A multiple of at most this much is small beside what it is added to: four of the eleven bits of f16.
_STEP = 2.0**-4
# x + y, and what keeps such a sum in bounds or changes some of its elements: of each operand that x may be.
_SUMS = ("stablehlo.add", "stablehlo.subtract", "stablehlo.scatter")
_KEEPS_SUM = {
    "stablehlo.add": (0, 1), "stablehlo.subtract": (0,), "stablehlo.convert": (0,), "stablehlo.select": (1, 2),
    "stablehlo.maximum": (0, 1), "stablehlo.minimum": (0, 1), "stablehlo.clamp": (1,),
    "stablehlo.scatter": (0,), "stablehlo.dynamic_update_slice": (0,),
}  # fmt: skip


# c' = c + D (c_left - 2 c + c_right)
def simulated_values(
    calls: CallGraph, loop: ir.Operation, is_from_model: Callable[[ir.Value], bool]
) -> tuple[set[ir.Value], set[ir.Value]]:
    """The float values inside of a `stablehlo.while` that such carried values are, or are computed of.

    is_from_model: whether a value from outside depends on an input or parameter.
    Returns also the arguments of the loop's body that it adds to in each iteration, what is added being of no product.
    """
    body = loop.regions[1].blocks[0]
    found, integrated = set[ir.Value](), set[ir.Value]()
    inside = Slice(calls, loop)
    for argument, last in zip(body.arguments, terminator(body).operands, strict=True):
        info = tensor_info(argument.type)
        if not info.is_float or not info.rank or last == argument:
            continue
        adds = _is_added_to(calls, argument, last)
        if not adds and (argument in found or _is_stack(argument)):
            continue
        own = inside.behind([argument])
        if any(_is_of_product(value) for value in own):
            if adds and any(map(_is_small_step, adds)):
                found |= {argument, *(value for value in adds if _keeps_sum(value))}
            continue
        if adds:
            integrated.add(argument)
        if adds or not any(_is_foreign(value, own, body, loop, is_from_model) for value in own):
            found |= own
    return found, integrated


def _is_added_to(calls: CallGraph, argument: ir.Value, last: ir.Value) -> set[ir.Value]:
    """The terms and sums that an iteration makes of an argument, which is a term of them as it is; else nothing."""
    pending, seen, adds, enters = [last], set[ir.Value](), False, False
    while pending:
        value = pending.pop()
        if value == argument:
            enters = True
            continue
        if value in seen:
            continue
        seen.add(value)
        op = defining_op(value)
        across = calls.across(value)
        if across is not None:
            pending += across
        elif op is None:
            pending += _entering(ir.BlockArgument(value), argument)
        elif op.name == "stablehlo.while":
            pending.append(terminator(op.regions[1].blocks[0]).operands[ir.OpResult(value).result_number])
        else:
            adds = adds or op.name in _SUMS
            pending += _multiplied(op) if op.name in ("stablehlo.multiply", "stablehlo.divide") else []
            pending += [op.operands[i] for i in _KEEPS_SUM.get(op.name, ())]
    return seen if adds and enters else set()


def _keeps_sum(value: ir.Value) -> bool:
    op = defining_op(value)
    return op is not None and op.name in _KEEPS_SUM


def _is_small_step(value: ir.Value) -> bool:
    """Whether a term is a small multiple of something: the step of a solver is such a number."""
    op = defining_op(value)
    if op is None or op.name not in ("stablehlo.multiply", "stablehlo.divide"):
        return False
    numbers = [number_behind(operand, converted=True) for operand in op.operands]
    if op.name == "stablehlo.divide":
        return numbers[1] is not None and abs(numbers[1]) >= 1 / _STEP
    return any(number is not None and 0 < abs(number) <= _STEP for number in numbers)


# x' = c (2 x - x_before + h a), c of .98, or of ones and of less next to edges: waves that are damped
# P' = (P - (P h) (P h)^T / (1 + h^T P h)) / .995: a covariance, of which f16 would leave no positive eigenvalues
def _multiplied(op: ir.Operation) -> list[ir.Value]:
    """What an operation multiplies by a known number, or by known numbers, that are about 1 or more: what is added is
    there many iterations later."""
    factors = [_mean_of_constant(operand) for operand in op.operands]
    if op.name == "stablehlo.divide":
        factors = [None, 1 / factors[1] if factors[1] else None]
    return [
        x
        for x, factor in zip(op.operands, reversed(factors), strict=True)
        if factor is not None and factor >= 1 - _STEP
    ]


def _mean_of_constant(value: ir.Value) -> float | None:
    """The mean of the numbers that a value is, as they are or as a loop is given them; None for what is computed."""
    *_, value = before_moves(value)
    while isinstance(value, ir.BlockArgument):
        entering = enters_unchanged(value)
        if entering is None:
            return None
        *_, value = before_moves(entering)
    constant = constant_behind(value, converted=True)
    if constant is None:
        return None
    found = read_dense(constant)
    return found.splat if found.moments is None else found.moments.mean


def _entering(inner: ir.BlockArgument, argument: ir.Value) -> list[ir.Value]:
    """What enters a loop within that of `argument` as an argument of its body."""
    loop = inner.owner.owner.operation
    return [loop.operands[inner.arg_number]] if inner.owner != argument.owner and loop.name == "stablehlo.while" else []


def _is_stack(argument: ir.Value) -> bool:
    """Whether iterations only write into it what they give."""
    uses = [(use.owner.operation.name, use.operand_number) for use in argument.uses]
    return all(name == "stablehlo.dynamic_update_slice" and i == 0 for name, i in uses)


def _is_of_product(value: ir.Value) -> bool:
    """Whether a product gives a value, other than of a matrix with a vector, of which 16 bits make none faster."""
    op = defining_op(value)
    if op is None or (op.name == "stablehlo.dot_general" and min(product_sizes(op)[1:]) == 1):
        return False
    return op.name in _PRODUCTS or is_linear_algebra(op)


def _is_foreign(
    value: ir.Value, own: set[ir.Value], body: ir.Block, loop: ir.Operation, is_from_model: Callable[[ir.Value], bool]
) -> bool:
    """Whether something of an input or parameter from outside of the loop enters a value."""
    op = defining_op(value)
    for operand in op.operands if op is not None else ():
        info = tensor_info(operand.type)
        if not info.is_float or not info.rank or operand in own:
            continue
        held = isinstance(operand.owner, ir.Block) and operand.owner == body
        if is_from_model(loop.operands[ir.BlockArgument(operand).arg_number] if held else operand):
            return True
    return False
