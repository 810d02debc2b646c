"""Symbolic scales: a power of two times a product of run-time scale values to integer powers.

Multiplying and dividing scales costs nothing: no operation is emitted until a scale has to exist as an SSA
value (a maximum of unlike scales, a function boundary, a loop-carried value, a value that must be unscaled).
Two scales with the same factors differ by a power of two known at compile time.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Literal, Never

from scalify_hlo import budget
from scalify_hlo.bindings import ir

# The smallest normal f32: the scale of a tensor of zeros, so that zeros lose every maximum (DESIGN, section 3).
SMALLEST_EXPONENT = -126
# Symbols without a value are numbered from here.
FIRST_OPEN = 10**9

Trials = tuple[float, float, float]
TRIALS: Trials = (0.0, 2.0, -2.0)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A scale that exists at run time: `value` is a f32 tensor of `shape`, () or broadcastable to the data.

    index: order of creation, which makes every product deterministic.
    depth: nesting depth of the region that defines the value, 0 for the function body.
    positive: known not to be zero, so that dividing by it is safe.
    least: log2 of the smallest value that a positive symbol can have.
    most: log2 of the largest value that it can have.
    trials: log2 of what it would be if all scales that enter the function were 1, 2^2, 2^-2.
    """

    index: int
    value: ir.Value
    shape: tuple[int, ...]
    depth: int
    positive: bool
    least: float = SMALLEST_EXPONENT
    trials: Trials = TRIALS
    most: float = math.inf

    @property
    def is_open(self) -> bool:
        """It has no value: only its identity is known (see scalify_hlo.rules.bodies.open_scale)."""
        return self.index >= FIRST_OPEN


@dataclasses.dataclass(slots=True, unsafe_hash=True)  # never changed; a frozen one takes three times as long to make
class Scale:
    """2^exponent * product of symbol^power.

    exponent: an integer, unless the user asked for exact scales (`--rounding=none`).
    factors: (symbol, power) pairs, power != 0, sorted by the symbols' index.
    """

    exponent: float = 0
    factors: tuple[tuple[Symbol, int], ...] = ()

    def __mul__(self, other: "Scale") -> "Scale":
        if not isinstance(other, Scale):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(_mixed("a scale times {}", other, "scale.shifted(k) for 2^k times a scale"))
        if not other.factors:
            return self.shifted(other.exponent)
        return Scale(self.exponent + other.exponent, _merge(self.factors, other.factors, 1))

    def __truediv__(self, other: "Scale") -> "Scale":
        if not isinstance(other, Scale):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(_mixed("a scale over {}", other, "scale.shifted(-k) for a scale over 2^k"))
        if not other.factors:
            return self.shifted(-other.exponent)
        return Scale(self.exponent - other.exponent, _merge(self.factors, other.factors, -1))

    def __pow__(self, power: int) -> "Scale":
        if power == 0:
            return ONE
        if power == 1:
            return self
        if not isinstance(power, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"a scale to the power of {power}: powers are integers; scale.rooted(n) is a pair of scales "
                "(root, rest) with root^n * rest = scale"
            )
        return Scale(self.exponent * power, tuple((s, p * power) for s, p in self.factors))

    def __rmul__(self, other: object) -> Never:
        raise TypeError(_mixed("{} times a scale", other, "scale.shifted(k) for 2^k times a scale"))

    def __rtruediv__(self, other: object) -> Never:
        raise TypeError(_mixed("{} over a scale", other, "(scale**-1).shifted(k) for 2^k over a scale"))

    def __add__(self, other: object) -> Never:
        raise TypeError(
            "scales cannot be added: x s + y t = m (x s/m + y t/m), where r.aligned([0, 1]) brings operands to their "
            "largest scale m and returns it"
        )

    __radd__ = __sub__ = __rsub__ = __add__

    def __lt__(self, other: object) -> Never:
        raise TypeError(
            "scales cannot be compared, most are known only when the program runs: r.maximum([s, t]) is the largest"
        )

    __gt__ = __le__ = __ge__ = __lt__

    def shifted(self, exponent: float) -> "Scale":
        """This scale times 2^exponent."""
        return Scale(self.exponent + exponent, self.factors) if exponent else self

    @property
    def is_constant(self) -> bool:
        """Known at compile time."""
        return not self.factors

    @property
    def is_one(self) -> bool:
        return not self.factors and self.exponent == 0

    @property
    def is_scalar(self) -> bool:
        """Rank 0: one number for the whole tensor."""
        for symbol, _ in self.factors:  # noqa: SIM110
            if symbol.shape:
                return False
        return True

    @property
    def shape(self) -> tuple[int, ...]:
        """() or the broadcast shape of the factors (same rank as the data, each dimension 1 or full)."""
        shape: tuple[int, ...] = ()
        for symbol, _ in self.factors:
            if symbol.shape:
                shape = joined(shape, symbol.shape)
        return shape

    @property
    def depth(self) -> int:
        """Depth of the innermost region that this scale depends on."""
        depth = 0
        for symbol, _ in self.factors:
            depth = max(depth, symbol.depth)
        return depth

    @property
    def degree(self) -> int:
        """The highest power, positive or negative, of a run-time factor."""
        degree = 0
        for _, power in self.factors:
            degree = max(degree, abs(power))
        return degree

    @property
    def trials(self) -> Trials:
        """log2 of what it would be if all scales that enter the function were 1, 2^2, 2^-2."""
        one = larger = smaller = self.exponent
        for symbol, power in self.factors:
            a, b, c = symbol.trials
            one, larger, smaller = one + power * a, larger + power * b, smaller + power * c
        return one, larger, smaller

    @property
    def positive(self) -> bool:
        """Known not to be zero: a product of positive scales may underflow, unless they are bounded from below."""
        return self.least >= SMALLEST_EXPONENT

    @property
    def least(self) -> float:
        """log2 of the smallest number that this scale can be, as far as it is known; else -inf."""
        least = self.exponent
        for symbol, power in self.factors:
            if power < 0 or not symbol.positive:
                return -math.inf
            least += symbol.least * power
        return least

    @property
    def most(self) -> float:
        """log2 of the largest number that this scale can be, as far as it is known; else inf."""
        most = self.exponent
        for symbol, power in self.factors:
            if power < 0 and not symbol.positive:
                return math.inf
            most += power * (symbol.most if power > 0 else symbol.least)
        return most

    def primitive(self) -> "tuple[Scale, int]":
        """(root, power) with 2^exponent * root^power = self: the highest power with which root's first one is positive.

        # s^-4 t^2 = (s^2 t^-1)^-2
        """
        if len(self.factors) == 1:
            ((symbol, power),) = self.factors
            return Scale(0, ((symbol, 1),)), power
        power = math.gcd(*(p for _, p in self.factors))
        if self.factors[0][1] < 0:
            power = -power
        return Scale(0, tuple((s, p // power) for s, p in self.factors)), power

    def halved(self) -> "tuple[Scale, Scale]":
        """(root, rest) with root^2 * rest = self, rest as small as algebra allows."""
        return self.rooted(2)

    def rooted(self, degree: int) -> "tuple[Scale, Scale]":
        """(root, rest) with root^degree * rest = self; the powers in rest are 0, 1 and -1.

        A rest of s^2 would leave the range of f32 where s^-1 does not, and a rest of s t where s / t does not: the odd
        powers of a square root are rounded down and up in turns.
        """
        half = (degree - 1) // 2
        exponent = math.floor((self.exponent + half) / degree)
        powers: list[tuple[Symbol, int]] = []
        up = 0
        for symbol, power in self.factors:
            powers.append((symbol, (power + (up if degree == 2 else half)) // degree))
            up ^= power % 2
        root = Scale(exponent, _drop_zeros(powers))
        return root, self / root**degree

    def __str__(self) -> str:
        terms = [f"s{symbol.index}" + (f"^{power}" if power != 1 else "") for symbol, power in self.factors]
        if self.exponent or not terms:
            terms.insert(0, f"2^{self.exponent:g}")
        return "*".join(terms)


def _mixed(what: str, other: object, instead: str) -> str:
    """What to write for a scale times or over what is no scale."""
    if isinstance(other, (int, float)):
        return f"{what.format(repr(other))}: write {instead}"
    return (
        f"{what.format(f'a {type(other).__name__}')}: a scale is no value of the program; r.bring(x, scale) are "
        "the data of x at a scale, r.plain(i) is the value of operand i"
    )


ONE = Scale()
SMALLEST = Scale(SMALLEST_EXPONENT)


def floor() -> Scale:
    """What scales that may be 0 are kept above."""
    return Scale(budget.FLOOR)


def largest(trials: Iterable[Trials]) -> Trials:
    """The trials of the maximum of scales."""
    a, b, c = zip(*trials, strict=True)
    return max(a), max(b), max(c)


def smallest(trials: Iterable[Trials]) -> Trials:
    """The trials of the minimum of scales."""
    a, b, c = zip(*trials, strict=True)
    return min(a), min(b), min(c)


def round_log2(log2: float, rounding: Literal["down", "nearest", "up", "none"]) -> float:
    """Round the logarithm of a scale, so that the scale becomes a power of two."""
    match rounding:
        case "down":
            # A hair of slack: log2 of an exact power of two must not fall below it.
            return math.floor(log2 + 1e-9)
        case "nearest":
            return math.floor(log2 + 0.5)
        case "up":
            return math.ceil(log2 - 1e-9)
        case "none":
            return log2


def joined(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that scales of these shapes broadcast to: () where none has one. A size of 1 gives way, to 0 too."""
    shaped = [shape for shape in shapes if shape]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*shaped, strict=True))


def _drop_zeros(pairs: object) -> tuple[tuple[Symbol, int], ...]:
    return tuple((s, p) for s, p in pairs if p)  # type: ignore[union-attr]


def _merge(
    a: tuple[tuple[Symbol, int], ...], b: tuple[tuple[Symbol, int], ...], sign: int
) -> tuple[tuple[Symbol, int], ...]:
    if not b:
        return a
    if not a and sign == 1:
        return b
    if len(b) == 1 and b[0][0].index > (a[-1][0].index if a else 0):
        return (*a, (b[0][0], sign * b[0][1]))
    merged: list[tuple[Symbol, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        (symbol, power), (other, its) = a[i], b[j]
        if symbol is other:
            i, j, power = i + 1, j + 1, power + sign * its
            if power:
                merged.append((symbol, power))
        elif symbol.index <= other.index:
            merged.append(a[i])
            i += 1
        else:
            merged.append((other, sign * its))
            j += 1
    merged.extend(a[i:])
    for symbol, power in b[j:]:
        merged.append((symbol, sign * power))
    return tuple(merged)
