"""Between which numbers the elements of a value lie, whatever the arguments are: 1 + x^2 is at least 1.

Bounds follow from constants and from what operations do to them; they are of the value, not of its data. A NaN is in
every interval.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from scalify_hlo import budget
from scalify_hlo.analysis.calls import enters_unchanged
from scalify_hlo.analysis.integer_intervals import EXACT, Interval, converted, representable
from scalify_hlo.analysis.narrow_values import WIDE
from scalify_hlo.bindings import ir
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.constants import constant_behind, number_behind
from scalify_hlo.module.traits import SUMS, Trait, names
from scalify_hlo.types import tensor_info

_ANY: Interval = (-math.inf, math.inf)
_POSITIVE: Interval = (0.0, math.inf)
# How many operations are looked back at from a value.
_STEPS = 12
# Of which a divisor is formed anew in a wide type.
_FORMED = frozenset(
    f"stablehlo.{name}" for name in ("add", "subtract", "multiply", "negate", "abs", "maximum", "minimum", "sqrt")
)
# What grows with a power of what it is made of.
_OF_A_DEGREE = _FORMED | {"stablehlo.power"}
_DIVIDING = frozenset(f"stablehlo.{name}" for name in ("log", "divide", "rsqrt", "power"))
# What is 0 where an operand is.
_VANISHES_WITH = frozenset(f"stablehlo.{name}" for name in ("multiply", "negate", "abs", "sqrt")) | {"chlo.square"}
# What hands elements on, rounded at most.
MOVES = names(Trait.MOVES, without=Trait.COLLECTIVE) | {"stablehlo.convert", "stablehlo.optimization_barrier"}
# What comes out whatever goes in.
_RANGES: dict[str, Interval] = {
    "exponential": _POSITIVE, "logistic": (0.0, 1.0), "sqrt": _POSITIVE, "rsqrt": _POSITIVE, "tanh": (-1.0, 1.0),
    "sine": (-1.0, 1.0), "cosine": (-1.0, 1.0), "chlo.cosh": (1.0, math.inf), "chlo.square": _POSITIVE,
    "chlo.erf": (-1.0, 1.0), "chlo.erfc": (0.0, 2.0), "exponential_minus_one": (-1.0, math.inf), "abs": _POSITIVE,
}  # fmt: skip


_FACTORS = ("stablehlo.multiply", "stablehlo.negate", "stablehlo.convert", "stablehlo.abs")

# A value of the program, a number, or an operation on expressions.
Expression = ir.Value | float | tuple[str, tuple["Expression", ...]]


@dataclasses.dataclass(frozen=True)
class Divisor:
    """What cannot be 0.

    bound: the number next to 0 that it can be: 1 of 1 + x^2, -2 of -2 - |y|, 1e-6 of |x| + 1e-6.
    formed: how it is made, in operations of which each is quick, where it comes near that bound and the quotient is
        large there; None of a guard, which nothing comes near, and where the dividend vanishes with the divisor.
    """

    bound: float
    formed: Expression | None


def bounded_divisors(operations: Sequence[ir.Operation]) -> dict[ir.Value, Divisor]:
    """The divisors that cannot be 0 of quotients and inverse roots, by their results, in a module with narrow types.

    What a logarithm of a narrow type is taken of is one likewise. Operations that no narrow value has to do with count
    for nothing.
    """
    found: dict[ir.Value, Divisor] = {}
    for op in operations:
        if op.name not in _DIVIDING or WIDE in op.attributes:
            continue
        index = 0 if op.name == "stablehlo.log" else _divisor(op)
        if index is None:
            continue
        info = tensor_info(op.results[0].type)
        divisor = op.operands[index]
        # Of f32 only what has to be formed otherwise counts, and nothing is asked that takes a search.
        if not info.is_narrow and (op.name == "stablehlo.log" or not info.is_float or _is_far_from_bound(divisor)):
            continue
        bound = _next_to_zero(divisor)
        if math.isinf(bound) or not bound or constant_behind(divisor) is not None:
            continue
        # What is divided by a mean of squares mostly is in it, and vanishes with it.
        apart = op.name != "stablehlo.log" and _next_to_zero(divisor, sums=False) == bound
        formed = _expression(divisor, _STEPS) if apart else None
        if formed is not None and abs(bound) < budget.GUARD ** (2 if _is_square(formed) else 1):
            formed = None  # a guard against zeros: nothing comes near it
        if formed is not None and index == 1 and _vanishes_with(op.operands[0], formed):
            formed = None
        # The square of a guard is one as well there: nothing has been lost yet, and of sqrt(v + 1e-5) v is a statistic.
        if not info.is_narrow and (formed is None or bound**2 < budget.GUARD or _is_outweighed(op, divisor)):
            continue
        found[op.results[0]] = Divisor(bound, formed)
    return found


def _is_far_from_bound(divisor: ir.Value) -> bool:
    """Whether nothing comes near the bound of a divisor: it is a guard, or the same numbers for all elements."""
    owner = divisor.owner
    if isinstance(owner, ir.Block) or owner.name == "stablehlo.broadcast_in_dim":
        return True
    added = number_behind(owner.operands[1], converted=True) if owner.name == "stablehlo.add" else None
    return added is not None and abs(added) < budget.GUARD


@dataclasses.dataclass(frozen=True)
class Guarded:
    """What an operation divides by, or by whose root, where a constant keeps it from 0: p + 1e-6, max(p, 1e-6), a clip.

    slope: the most that the quotient of 1 changes for a change of the divisor, where nothing but the constant is left.
    vanishes: the quotient is small where the divisor is.
    """

    divisor: ir.Value
    slope: float
    vanishes: bool


def guarded_divisor(op: ir.Operation) -> Guarded | None:
    """The divisor of a quotient, an inverse root or an inverse power; None where it can be 0 or is a constant."""
    index = _divisor(op)
    if index is None:
        return None
    bound = abs(_next_to_zero(op.operands[index]) or _added(op.operands[index]))
    if not 0 < bound < math.inf or constant_behind(op.operands[index]) is not None:
        return None
    divides = op.name == "stablehlo.divide"
    exponent = _inverse_exponent(op)
    return Guarded(
        op.operands[index],
        exponent * bound ** (-exponent - 1),  # d(x^-n) = -n x^(-n - 1) dx
        divides and _vanishes_with(op.operands[0], _expression(op.operands[1], _STEPS)),
    )


# (1 - |x|^2)^-2 of |x| = 0.99999: x that is rounded to f16 may be 1
def vanishing_differences(divisor: ir.Value) -> list[ir.Value]:
    """What is subtracted from a constant, or the reverse, where the difference makes a divisor (or its root) vanish."""
    pending = [(divisor, _STEPS)]
    found: list[ir.Value] = []
    while pending:
        value, steps = pending.pop()
        if isinstance(value.owner, ir.Block) or not steps:
            continue
        owner = value.owner.operation
        if owner.name in SUMS:
            numbers = [_interval_of_constant(operand) for operand in owner.operands]
            terms = [x for x, number in zip(owner.operands, numbers, strict=True) if number is None]
            constant = next((abs(number[0]) for number in numbers if number is not None), 0.0)
            cancels = owner.name == "stablehlo.subtract" or any(_is_negative(x) for x in terms)
            if len(terms) == 1 and cancels and abs(_next_to_zero(value)) < constant * budget.NEXT_TO_0:
                found += terms
        elif owner.name in _VANISHES_WITH or _hands_on(owner):
            pending += [(operand, steps - 1) for operand in owner.operands]
    return found


def _is_negative(value: ir.Value) -> bool:
    negated = not isinstance(value.owner, ir.Block) and value.owner.operation.name == "stablehlo.negate"
    return negated or interval(value)[1] <= 0


def _hands_on(op: ir.Operation) -> bool:
    """Whether an operation moves the elements of its one operand, rounded at most: not a number made an integer."""
    if op.name not in MOVES or len(op.operands) != 1:
        return False
    return op.name != "stablehlo.convert" or tensor_info(op.results[0].type).is_float


def before_moves(value: ir.Value) -> Iterator[ir.Value]:
    """A value, and those whose elements it has, moved, one after the other."""
    yield value
    while not isinstance(value.owner, ir.Block):
        owner = value.owner.operation
        if not _hands_on(owner):
            return
        value = owner.operands[0]
        yield value


def _added(value: ir.Value, steps: int = _STEPS) -> float:
    """The number that is added to a value of unknown sign: nobody adds one to a divisor but to what is not negative."""
    if isinstance(value.owner, ir.Block) or not steps:
        return 0.0
    owner = value.owner.operation
    if _hands_on(owner):
        return _added(owner.operands[0], steps - 1)
    if owner.name == "stablehlo.multiply" and owner.operands[0] == owner.operands[1]:
        return _added(owner.operands[0], steps - 1) ** 2
    constants = [_interval_of_constant(operand) for operand in owner.operands] if owner.name == "stablehlo.add" else []
    return next((number[0] for number in constants if number is not None and number[0] > 0), 0.0)


def _next_to_zero(value: ir.Value, sums: bool = True) -> float:
    low, high = interval(value, sums=sums)
    return low if low > 0 else high if high < 0 else 0.0


def _is_square(expression: Expression) -> bool:
    return isinstance(expression, tuple) and len(expression[1]) == 2 and expression[1][0] == expression[1][1]


# x / (c + |x|) is at most 1, where x / (c + |x|)^2 is at most 1 / 4c
def _vanishes_with(dividend: ir.Value, divisor: Expression) -> bool:
    """Whether a dividend has a factor of which the divisor is made, so that their quotient is small where that is."""
    if not isinstance(divisor, tuple) or _is_square(divisor):
        return False
    leaves, pending = set[ir.Value](), [divisor]
    while pending:
        for each in pending.pop()[1]:
            if isinstance(each, tuple):
                pending.append(each)
            elif isinstance(each, ir.Value):
                leaves.add(each)
    factors = [dividend]
    for _ in range(_STEPS):
        value = factors.pop() if factors else None
        if value is None or value in leaves:
            return value is not None
        if not isinstance(value.owner, ir.Block) and value.owner.operation.name in _FACTORS:
            factors.extend(value.owner.operation.operands)
    return False


# h^3 / (1 + h^2)^2: what the quotient is multiplied by is 0 where the divisor is next to its bound
def _is_outweighed(quotient: ir.Operation, divisor: ir.Value) -> bool:
    """Whether what a quotient is multiplied by is of no lower degree than its divisor in what that is made of."""
    made = _expression(divisor, _STEPS, _OF_A_DEGREE)
    base = _base_of(made)
    if base is None:
        return False
    degree = _degree(made, base) * _inverse_exponent(quotient)
    dividend = _degree_of(quotient.operands[0], base) if quotient.name == "stablehlo.divide" else 0.0
    pending = [(quotient.results[0], dividend)]
    for _ in range(_STEPS):
        if not pending:
            break
        value, sum_of_degrees = pending.pop()
        if sum_of_degrees >= degree:
            return True
        for use in value.uses:
            op = use.owner.operation
            if op.name in _FACTORS:
                others = sum(_degree_of(x, base) for x in op.operands if x != value)
                pending.append((op.results[0], sum_of_degrees + others))
    return False


def _base_of(expression: Expression) -> ir.Value | None:
    """The one value that an expression is made of; None if there are others."""
    if not isinstance(expression, tuple):
        return expression if isinstance(expression, ir.Value) else None
    found = {base for each in expression[1] if (base := _base_of(each)) is not None or isinstance(each, tuple)}
    return found.pop() if len(found) == 1 else None


def _degree_of(value: ir.Value, base: ir.Value) -> float:
    return _degree(_expression(value, _STEPS, _OF_A_DEGREE), base)


def _degree(expression: Expression, base: ir.Value) -> float:
    """With which power of a value an expression grows; 0 of what is made of anything else."""
    if not isinstance(expression, tuple):
        return 1.0 if isinstance(expression, ir.Value) and expression == base else 0.0
    name, operands = expression
    degrees = [_degree(each, base) for each in operands]
    if name == "stablehlo.multiply":
        return sum(degrees)
    if name == "stablehlo.power":
        return degrees[0] * operands[1] if isinstance(operands[1], float) else 0.0
    return max(degrees) / (2 if name == "stablehlo.sqrt" else 1)


def _expression(value: ir.Value, steps: int, formed: frozenset[str] = _FORMED) -> Expression:
    constant = _interval_of_constant(value)
    if constant is not None:
        return constant[0]
    if isinstance(value.owner, ir.Block) or not steps:
        return value
    owner = value.owner.operation
    if owner.name == "stablehlo.convert" and tensor_info(owner.operands[0].type).is_float:
        return _expression(owner.operands[0], steps - 1, formed)
    if owner.name not in formed:
        return value
    return owner.name, tuple(_expression(operand, steps - 1, formed) for operand in owner.operands)


def divided_by(op: ir.Operation) -> ir.Value | None:
    """The operand that an operation divides by, or by whose root, if any."""
    index = _divisor(op)
    return None if index is None else op.operands[index]


def _divisor(op: ir.Operation) -> int | None:
    """Which operand of an operation it divides by, or by whose root."""
    if op.name == "stablehlo.divide":
        return 1
    if op.name == "stablehlo.rsqrt":
        return 0
    return 0 if op.name == "stablehlo.power" and _exponent(op) < 0 else None


def _inverse_exponent(op: ir.Operation) -> float:
    """n where an operation gives a multiple of x^-n of what it divides by, x."""
    return 1.0 if op.name == "stablehlo.divide" else 0.5 if op.name == "stablehlo.rsqrt" else -_exponent(op)


def _exponent(op: ir.Operation) -> float:
    """The exponent of a power; 0 where it is not known. JAX writes that of a gradient as a difference, n - 1."""
    low, high = interval(op.operands[1])
    return low if low == high and math.isfinite(low) else 0.0


def interval(value: ir.Value, steps: int = _STEPS, sums: bool = True) -> Interval:
    """The least and the largest number that an element can be, as far as constants tell. sums: and sums of squares."""
    constant = _interval_of_constant(value)
    if constant is not None:
        return constant
    info = tensor_info(value.type)
    whole = None if info.is_float else representable(info.element)  # of an integer
    unknown = whole or _ANY
    if not steps:
        return unknown
    if isinstance(value.owner, ir.Block):
        entering = enters_unchanged(value)  # JAX hoists arithmetic of constants out of a loop
        return unknown if entering is None else interval(entering, steps - 1, sums)
    owner = value.owner.operation
    if sums and owner.name == "stablehlo.reduce" and not whole:
        return _of_sum(owner, steps)
    if not len(owner.operands) or len(owner.regions):
        return unknown
    name = owner.name.removeprefix("stablehlo.")
    if name == "convert" and whole:
        source = owner.operands[0]
        return converted(tensor_info(source.type), interval(source, steps - 1, sums), info.element, whole)
    if whole and name not in EXACT and owner.name not in MOVES:
        return unknown
    if owner.name in MOVES:
        return interval(owner.operands[0], steps - 1, sums) if len(owner.results) == 1 else unknown
    found = _RANGES.get(name, _ANY)
    if name == "multiply" and owner.operands[0] == owner.operands[1]:
        return _meet(_POSITIVE, _even(interval(owner.operands[0], steps - 1, sums)))
    if name == "select":
        chosen = [operand for operand in list(owner.operands)[1:] if not _is_nan(operand)]
        bounds = [interval(operand, steps - 1, sums) for operand in chosen] or [unknown]
        return min(low for low, _ in bounds), max(high for _, high in bounds)
    law = _LAWS.get(name)
    if law is None:
        return found
    return _meet(found, law(*[interval(operand, steps - 1, sums) for operand in owner.operands]))


# sum(x) >= 0 of x >= 0
def _of_sum(op: ir.Operation, steps: int) -> Interval:
    """Of the sum of numbers of one sign, however many there are; of other reductions nothing is known."""
    if len(op.results) != 1 or body_kind(op) != "add":
        return _ANY
    low, high = zip(*(interval(operand, steps - 1) for operand in op.operands), strict=True)
    return (0.0 if min(low) >= 0 else -math.inf), (0.0 if max(high) <= 0 else math.inf)


def _interval_of_constant(value: ir.Value) -> Interval | None:
    number = number_behind(value)
    return None if number is None or math.isnan(number) else (float(number), float(number))


# jnp.var divides by max(n - ddof, 0) and puts NaN where that is 0
def _is_nan(value: ir.Value) -> bool:
    number = number_behind([*before_moves(value)][-1])
    return number is not None and math.isnan(number)


def _meet(a: Interval, b: Interval) -> Interval:
    """What is in both; one of them where a NaN left nothing."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else a


def _times(x: float, y: float) -> float:
    return 0.0 if 0 in (x, y) else x * y  # a bound of infinity is never reached


def _product(a: Interval, b: Interval) -> Interval:
    corners = [_times(x, y) for x in a for y in b]
    return min(corners), max(corners)


def _quotient(a: Interval, b: Interval) -> Interval:
    if b[0] < 0 < b[1] or b == (0.0, 0.0):
        return _ANY
    inverse = tuple(sorted(1 / y if y else math.copysign(math.inf, b[0] + b[1]) for y in b))
    return _product(a, (inverse[0], inverse[1]))


def _even(a: Interval) -> Interval:
    """The interval of x^2."""
    low, high = _magnitude(a)
    return low * low, high * high


def _magnitude(a: Interval) -> Interval:
    low = 0.0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))
    return low, max(abs(a[0]), abs(a[1]))


def _power(a: Interval, n: Interval) -> Interval:
    if n[0] != n[1] or not math.isfinite(n[0]):
        return _ANY
    if n[0] == 2:
        return _even(a)
    if a[0] < 0:
        return _POSITIVE if n[0] % 2 == 0 else _ANY
    with np.errstate(all="ignore"):
        ends = sorted(float(np.float64(x) ** n[0]) for x in a)
    return ends[0], ends[1]


def _root(a: Interval) -> Interval:
    return math.sqrt(max(a[0], 0.0)), math.sqrt(max(a[1], 0.0))


_UNARY: dict[str, Callable[[Interval], Interval]] = {
    "negate": lambda a: (-a[1], -a[0]),
    "abs": _magnitude,
    "chlo.square": _even,
    "sqrt": _root,
    "log_plus_one": lambda a: (0.0, math.inf) if a[0] >= 0 else _ANY,
}
_BINARY: dict[str, Callable[[Interval, Interval], Interval]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "multiply": _product,
    "divide": _quotient,
    "power": _power,
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
}
_TERNARY: dict[str, Callable[[Interval, Interval, Interval], Interval]] = {
    "clamp": lambda low, x, high: (min(max(low[0], x[0]), high[0]), min(max(low[1], x[1]), high[1])),
}
# By name, of the intervals of the operands.
_LAWS: dict[str, Callable[..., Interval]] = {**_UNARY, **_BINARY, **_TERNARY}
