"""How far an f16 program over (data, scale) pairs may be from the true value: a running error analysis.

Every value of a random graph is carried as its true value (in f64), a bound on the error that a correct rewriting in
f16 may make, and the exponent of the scale that the laws of the design (section 4) give it. The bound is made of

- what the operands' errors become (first order where the function is smooth, exact for sums and selections);
- one rounding, ROUNDOFF relative to the result;
- the smallest step that f16 data at that scale can make, with SLACK binades for rules that choose another scale:
  this is where a small term that meets a large one is lost, and must be.

It knows nothing of the rewriter. Where the sign of a difference, or a divisor, is within the errors, anything may
come out: the error is infinite there, and such elements are not compared.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDOFF = 2.0**-10  # f16 has 2^-11; double that for rescaling that rounds once more
FEW_TERMS = 8  # of so many or fewer a sum in f16 is formed in f16 (docs/contract.md)
SMALLEST_STEP = -24  # log2 of the smallest subnormal f16
SLACK = 7  # binades between the scale of the laws and the one that a rule may choose
# A graph is admissible while the data at the laws' scale keep this far from the ends of f16.
LARGEST_DATA = 8
SMALLEST_DATA = -6
LARGEST_EXPONENT = 110
# Beyond this power of one scale, 2^60 leaves the range of f32.
LARGEST_DEGREE = 3


class InadmissibleError(Exception):
    """A value that f16 data at the laws' scale, or a f32 scale, cannot hold."""


@dataclasses.dataclass(frozen=True)
class Bounded:
    """A float tensor: true value, bound on the error, exponent of the scale, power of the arguments' scales in it.

    indifferent: known at compile time to be zeros or infinities, so that any scale fits.
    """

    value: Floats
    error: Floats
    exponent: float = 0.0
    degree: int = 0
    indifferent: bool = False


@dataclasses.dataclass(frozen=True)
class Predicate:
    """A boolean tensor, and where it is unknown because the operands' errors reach across the boundary."""

    value: NDArray[np.bool_]
    unknown: NDArray[np.bool_]


Value = Bounded | Predicate


def agreement(value: Value, result: np.ndarray) -> NDArray[np.bool_]:
    """Where a result is what a node may be: within the error of it, or equal where it is not finite."""
    if isinstance(value, Predicate):
        return np.asarray((result == value.value) | value.unknown)
    with np.errstate(invalid="ignore"):
        close = np.abs(result.astype(np.float64) - value.value) <= value.error
    return np.where(np.isfinite(value.value), close, result == value.value) | np.isinf(value.error)


def argument(data: Floats, exponent: int) -> Bounded:
    """data * 2^exponent, exact."""
    value = np.ldexp(data, exponent)
    return Bounded(value, np.zeros_like(value), exponent, 1)


def constant(number: float, shape: Sequence[int]) -> Bounded:
    """A number that f16 may round; the exponent of the paper's split (section 3.4)."""
    value = np.full(shape, number, np.float64)
    if number == 0 or not np.isfinite(number):
        return Bounded(value, np.zeros_like(value), indifferent=True)
    return Bounded(value, np.abs(value) * ROUNDOFF / 2, float(np.floor(np.log2(abs(number)))))


def rounded(value: Floats, error: Floats, exponent: float, degree: int) -> Bounded:
    """The result of one operation: adds its rounding and the smallest step of its data. Raises InadmissibleError."""
    finite = np.isfinite(value)
    error = error + ROUNDOFF * np.abs(value) + 2.0 ** (exponent + SMALLEST_STEP + SLACK)
    error = np.where(np.isnan(error), np.inf, error)
    return _admissible(Bounded(value, np.where(finite | (error == np.inf), error, 0.0), exponent, degree))


def moved(x: Bounded, move: Callable[[Floats], Floats]) -> Bounded:
    """Elements in other places: no error is added."""
    return Bounded(move(x.value), move(x.error), x.exponent, x.degree)


def _admissible(x: Bounded) -> Bounded:
    if np.isnan(x.value).any():
        raise InadmissibleError("not a number")
    sizes = np.abs(x.value[np.isfinite(x.value)])
    largest = sizes.max(initial=0.0)
    if abs(x.exponent) > LARGEST_EXPONENT or x.degree > LARGEST_DEGREE:
        raise InadmissibleError("scale out of range")
    if largest and not SMALLEST_DATA <= np.log2(largest) - x.exponent <= LARGEST_DATA:
        raise InadmissibleError("data out of range")
    return x


def held(x: Bounded, entry: Bounded) -> Bounded:
    """A value carried by a loop: its scale may be held at the one that entered it, so that it must fit both."""
    exponent = max(x.exponent, entry.exponent)
    error = np.where(np.isfinite(x.value), x.error + 2.0 ** (exponent + SMALLEST_STEP + SLACK), 0.0)
    return _admissible(Bounded(x.value, error, entry.exponent, x.degree))


# --- arithmetic -----------------------------------------------------------------------------------------------


def joined(*members: Bounded) -> tuple[float, int]:
    """Exponent and degree of what is brought to the largest scale; indifferent members do not count."""
    live = [m for m in members if not m.indifferent] or list(members)
    return max(m.exponent for m in live), max(m.degree for m in live)


def add(x: Bounded, y: Bounded, sign: int = 1) -> Bounded:
    return rounded(x.value + sign * y.value, x.error + y.error, *joined(x, y))


def multiply(x: Bounded, y: Bounded) -> Bounded:
    error = np.abs(x.value) * y.error + np.abs(y.value) * x.error + x.error * y.error
    value = x.value * y.value
    return rounded(value, error, x.exponent + y.exponent, x.degree + y.degree)


def reciprocal_error(y: Bounded) -> tuple[Floats, Floats]:
    """1/y and its error; infinite where y may be zero."""
    room = np.abs(y.value) - y.error
    inverse = 1 / y.value
    error = np.where(room > 0, y.error / (np.abs(y.value) * room), np.inf)
    return inverse, error


def divide(x: Bounded, y: Bounded) -> Bounded:
    if (y.value == 0).any():
        raise InadmissibleError("division by zero")
    inverse, error = reciprocal_error(y)
    total = np.abs(x.value) * error + np.abs(inverse) * x.error + error * x.error
    return rounded(x.value * inverse, total, x.exponent - y.exponent, x.degree + y.degree)


def monotone(
    x: Bounded, function: Callable[[Floats], Floats], exponent: float, degree: int, low: float = -np.inf
) -> Bounded:
    """A monotone function: its error is what it does to the ends of the interval. Unknown where that leaves `low`."""
    value = function(x.value)
    ends = [function(x.value - x.error), function(x.value + x.error)]
    error = np.maximum(*(np.abs(end - value) for end in ends))
    if np.isnan(value).any() or (x.value < low).any():
        raise InadmissibleError("outside the domain")
    error = np.where((x.value - x.error < low) | np.isnan(error), np.inf, error)
    return rounded(value, np.where(x.error == 0, 0.0, error), exponent, degree)


def contracting(x: Bounded, function: Callable[[Floats], Floats], lipschitz: float, most: float) -> Bounded:
    """A bounded function of values, with scale 1: errors grow by `lipschitz` at most, and are never above `most`.

    Of what may be infinite, the sine may be NaN.
    """
    with np.errstate(invalid="ignore"):
        has_limit = not np.isnan(function(np.array(np.inf)))
    error = np.minimum(lipschitz * x.error, most)
    return rounded(function(x.value), np.where(np.isinf(x.error) & (not has_limit), np.inf, error), 0.0, 0)


# --- sums -----------------------------------------------------------------------------------------------------


def summed(x: Bounded, axes: tuple[int, ...]) -> Bounded:
    """A sum that is accumulated in f32 and rounded once; of few terms it is formed in f16, each sum rounded."""
    count = math.prod(x.value.shape[axis] for axis in axes)
    error = x.error.sum(axes) + _of_few(count) * np.abs(x.value).sum(axes)
    return rounded(x.value.sum(axes), error, x.exponent, x.degree)


def _of_few(count: int) -> float:
    """What roundings to f16 in a sum of `count` terms or products are at most, relative to the sum of magnitudes."""
    return count * ROUNDOFF / 2 if count <= FEW_TERMS else 0.0


def running_sum(x: Bounded, axis: int) -> Bounded:
    error = np.cumsum(x.error, axis) + _of_few(x.value.shape[axis]) * np.cumsum(np.abs(x.value), axis)
    return rounded(np.cumsum(x.value, axis), error, x.exponent, x.degree)


def contracted(
    x: Bounded, y: Bounded, product: Callable[[Floats, Floats], Floats], *, count: int = 0, rounded_terms: int = 0
) -> Bounded:
    """A sum of `count` products (0: many): `product` is bilinear. rounded_terms: of so many each sum is rounded."""
    ax, ay = np.abs(x.value), np.abs(y.value)
    error = product(ax, y.error) + product(x.error, ay) + product(x.error, y.error)
    relative = rounded_terms * ROUNDOFF + (_of_few(count) if count else 0.0)
    if relative:
        error = error + relative * product(ax, ay)
    return rounded(product(x.value, y.value), error, x.exponent + y.exponent, x.degree + y.degree)


def repeated_sum(x: Bounded, terms: Bounded, place: Callable[[Floats, Floats], Floats], count: int) -> Bounded:
    """Terms added one by one, each sum rounded; `place(x, terms)` does it exactly."""
    sizes = place(np.abs(x.value), np.abs(terms.value))
    error = place(x.error, terms.error) + count * ROUNDOFF * sizes
    exponent, degree = joined(x, terms)
    return rounded(place(x.value, terms.value), error + count * 2.0 ** (exponent + SMALLEST_STEP), exponent, degree)


# --- selections -----------------------------------------------------------------------------------------------


def selected(function: Callable[..., Floats], *members: Bounded) -> Bounded:
    """Maximum, minimum, clamp, sort...: the error is at most the largest of the members' errors."""
    error = largest_of([m.error for m in members])
    return _at_one_scale(function(*(m.value for m in members)), error, *members)


def assembled(function: Callable[..., Floats], *members: Bounded) -> Bounded:
    """Concatenate, pad...: elements come from the members with their own errors."""
    return _at_one_scale(function(*(m.value for m in members)), function(*(m.error for m in members)), *members)


def select(p: Predicate, x: Bounded, y: Bounded) -> Bounded:
    value = np.where(p.value, x.value, y.value)
    error = np.where(p.value, x.error, y.error)
    either = np.maximum(x.error + np.abs(x.value - value), y.error + np.abs(y.value - value))
    return _at_one_scale(value, np.where(p.unknown, either, error), x, y)


def compare(x: Bounded, y: Bounded, function: Callable[[Any, Any], Any]) -> Predicate:
    unknown = np.abs(x.value - y.value) <= x.error + y.error
    unknown &= ~((x.error == 0) & (y.error == 0))
    return Predicate(np.asarray(function(x.value, y.value)), unknown)


def largest_of(arrays: Sequence[Floats]) -> Floats:
    result = arrays[0]
    for array in arrays[1:]:
        result = np.maximum(result, array)
    return result


def _at_one_scale(value: Floats, error: Floats, *members: Bounded) -> Bounded:
    """What is left of members that were brought to one scale: the smallest step of their data is lost."""
    exponent, degree = joined(*members)
    if all(m.indifferent for m in members):
        return Bounded(value, np.zeros_like(value), exponent, degree)
    error = np.where(np.isfinite(value), error + 2.0 ** (exponent + SMALLEST_STEP + SLACK), 0.0)
    return _admissible(Bounded(value, error, exponent, degree))
