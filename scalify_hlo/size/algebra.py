"""Sizes: a product of powers of the sizes of sources, times moments.

A *source* is what enters the program with a size that only the run knows: an argument. A sum of terms that grow with
different sources has a size that is no product; it gets a symbol of its own, with the terms as its parts:

    s0, s1^2, (s0 + 2*s1*s2), s3^-1*(s0 + s1)^0.5

Equal sums are one symbol, so that sizes can be compared, divided and cancelled. With numbers for the sources every size
is a number (`Algebra.log2`).
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from scalify_hlo.size.moments import UNIT, Moments, of_constant

Factors = tuple[tuple["Symbol", float], ...]
Parts = tuple[tuple[Factors, float], ...]

# A sum of more terms than this, when another is added, is one term of the new sum.
_MOST_PARTS = 8
# Printed sums are written out to this depth.
_DEEPEST = 2
# log2 of what is taken for zero, and for infinity.
ZERO, INFINITE = -math.inf, math.inf


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A source, or the root of the sum of squares of `parts` that grow with different sources.

    index: order of creation. name: of a source.
    """

    index: int
    name: str = ""
    parts: Parts = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Size:
    """How large a value is: the product of symbol^power, times what is known of the value divided by that.

    splat: the number that all elements equal, if it is known at compile time; the factors are empty then.
    """

    factors: Factors = ()
    moments: Moments = UNIT
    splat: float | None = None

    @property
    def is_zero(self) -> bool:
        """Whether all elements are known to be 0."""
        return self.splat == 0 or self.moments.rms == 0

    @property
    def is_indifferent(self) -> bool:
        """Whether all elements are 0, infinite or NaN: they say nothing of a size."""
        return self.is_zero or (self.splat is not None and not math.isfinite(self.splat))

    def with_moments(self, moments: Moments) -> "Size":
        """The same growth with other moments, as after arithmetic on the elements."""
        return Size(self.factors, moments)

    def times(self, number: float) -> "Size":
        """The size of number * x."""
        if self.splat is not None:
            return of_number(self.splat * number)
        return Size(self.factors, self.moments.times(number))

    def __pow__(self, power: float) -> "Size":
        """The size of |x|^power, of the same sign where that is known."""
        rms = self.moments.rms**power if self.moments.rms > 0 else (0.0 if power > 0 else math.inf)
        least = self.moments.least**power if self.moments.least and power > 0 else 0.0
        mean = abs(self.moments.mean) ** power if self.moments.nonnegative and self.moments.mean else 0.0
        moments = Moments(rms, min(mean, rms), self.moments.nonnegative, least, self.moments.infinite)
        return Size(tuple((symbol, p * power) for symbol, p in self.factors), moments)


def of_number(number: float) -> Size:
    """The size of a tensor whose elements all equal a number."""
    if not math.isfinite(number):
        return Size((), Moments(nonnegative=number > 0, infinite=True), number)
    return Size((), of_constant(number), number)


def product(x: Factors, y: Factors) -> Factors:
    """The factors of x * y."""
    if not x or not y:
        return x or y
    powers = dict(x)
    for symbol, power in y:
        powers[symbol] = powers.get(symbol, 0.0) + power
    return tuple(sorted(((s, p) for s, p in powers.items() if abs(p) > 1e-9), key=lambda pair: pair[0].index))


def inverse(x: Factors) -> Factors:
    """The factors of 1/x."""
    return tuple((symbol, -power) for symbol, power in x)


class Algebra:
    """The symbols of one program."""

    def __init__(self) -> None:
        self._symbols: list[Symbol] = []
        self._sources: dict[str, Symbol] = {}
        self._sums: dict[tuple[tuple[Factors, float], ...], Symbol] = {}
        self._at_one: dict[Symbol, float] = {}

    def source(self, name: str) -> Size:
        """What enters the program at a size that only the run knows; the same for the same name."""
        symbol = self._sources.get(name)
        if symbol is None:
            symbol = self._sources[name] = Symbol(len(self._symbols), name)
            self._symbols.append(symbol)
        return Size(((symbol, 1.0),))

    def sum(self, terms: Sequence[Size], moments: Moments | None = None) -> Size:
        """The size of a sum of independent terms, of which none is common to all.

        # E[(x + y)^2] = E[x^2] + E[y^2], of zero means

        moments: of the sum divided by its size; by default what the terms have in common.
        """
        parts: dict[Factors, float] = {}
        for term in terms:
            for factors, rms in self._parts_of(term):
                parts[factors] = math.hypot(parts.get(factors, 0.0), rms)
        parts = {f: r for f, r in parts.items() if r > 0}
        common = moments or _common(terms, [2.0 ** self.at_one(term) for term in terms])
        if not parts:
            return of_number(0.0)
        if len(parts) == 1:
            ((factors, rms),) = parts.items()
            return Size(factors, common.times(rms))
        if len(parts) > _MOST_PARTS:
            parts = {}
            for term in terms:
                if not term.is_zero:
                    parts[term.factors] = math.hypot(parts.get(term.factors, 0.0), term.moments.rms)
        key = tuple(sorted(((f, float(f"{r:.6g}")) for f, r in parts.items()), key=_order))
        symbol = self._sums.get(key)
        if symbol is None:
            symbol = self._sums[key] = Symbol(len(self._symbols), parts=key)
            self._symbols.append(symbol)
        return Size(((symbol, 1.0),), common)

    def _parts_of(self, size: Size) -> Parts:
        """A size as a sum of terms: its own, if it is a multiple of one."""
        if len(size.factors) == 1 and size.factors[0][1] == 1 and size.factors[0][0].parts:
            return tuple((factors, rms * size.moments.rms) for factors, rms in size.factors[0][0].parts)
        return ((size.factors, size.moments.rms),)

    # --- numbers ----------------------------------------------------------------------------------------------

    def at_one(self, size: Size) -> float:
        """log2 of a size if all sources were of size 1."""
        return self._log2(size, {}, self._at_one)

    def log2(self, size: Size, sources: Mapping[str, float]) -> float:
        """log2 of a size.

        sources: log2 of the size of each source, by name; -inf for zeros. A source without a number is of size 1.
        """
        return self._log2(size, sources, {})

    def _log2(self, size: Size, sources: Mapping[str, float], known: dict[Symbol, float]) -> float:
        """No recursion: sums of a deep network are made of one another by the thousand."""
        pending = [symbol for symbol, _ in size.factors]
        while pending:
            symbol = pending[-1]
            if symbol in known:
                pending.pop()
                continue
            missing = [s for factors, _ in symbol.parts for s, _ in factors if s not in known]
            if missing:
                pending += missing
                continue
            pending.pop()
            if symbol.parts:
                terms = [_product_log2(factors, known, _log2_of(rms)) for factors, rms in symbol.parts]
                known[symbol] = _root_of_squares(terms)
            else:
                known[symbol] = sources.get(symbol.name, 0.0)
        return _product_log2(size.factors, known, _log2_of(size.moments.rms))

    # --- text -------------------------------------------------------------------------------------------------

    def describe(self, size: Size) -> str:
        """The size as text: the factors, then the moments relative to them."""
        if size.splat is not None:
            return f"{size.splat:g}"
        moments = size.moments
        parts = [self._factors(size.factors, _DEEPEST) or "1", f"rms={moments.rms:.3g}"]
        if moments.mean:
            parts.append(f"mean={moments.mean:.3g}")
        if moments.nonnegative:
            parts.append("nonnegative")
        if moments.least:
            parts.append(f"least={moments.least:.3g}")
        if moments.infinite:
            parts.append("infinite")
        return " ".join(parts)

    def _factors(self, factors: Factors, depth: int) -> str:
        return "*".join(self._symbol(s, depth) + (f"^{p:g}" if p != 1 else "") for s, p in factors)

    def _symbol(self, symbol: Symbol, depth: int) -> str:
        if not symbol.parts:
            return symbol.name
        if not depth:
            return f"sum{symbol.index}"
        terms: list[str] = []
        for factors, rms in symbol.parts:
            text = self._factors(factors, depth - 1)
            number = f"{rms:.3g}"
            terms.append(number if not text else text if number == "1" else f"{number}*{text}")
        return "(" + " + ".join(terms) + ")"


def _common(terms: Sequence[Size], weights: Sequence[float]) -> Moments:
    """Moments of a sum divided by its size, where all sources are of size 1."""
    finite = [w for w in weights if math.isfinite(w)]
    total = math.sqrt(sum(w * w for w in finite)) or 1.0
    mean = sum(w * t.moments.mean / t.moments.rms for t, w in zip(terms, weights, strict=True) if t.moments.rms > 0)
    nonnegative = all(t.moments.nonnegative for t in terms)
    infinite = any(t.moments.infinite for t in terms)
    ratio = mean / total if math.isfinite(mean) else 0.0
    return Moments(1.0, max(-1.0, min(1.0, ratio)), nonnegative, infinite=infinite)


def _order(part: tuple[Factors, float]) -> tuple[tuple[tuple[int, float], ...], float]:
    return tuple((symbol.index, power) for symbol, power in part[0]), part[1]


def _log2_of(number: float) -> float:
    return math.log2(number) if 0 < number < math.inf else ZERO if number == 0 else INFINITE


def _product_log2(factors: Factors, known: Mapping[Symbol, float], log2: float) -> float:
    total = log2
    for symbol, power in factors:
        total += power * known[symbol]
    return 0.0 if math.isnan(total) else total


def _root_of_squares(terms: Sequence[float]) -> float:
    largest = max(terms)
    if not math.isfinite(largest):
        return largest
    return largest + 0.5 * math.log2(sum(4.0 ** (term - largest) for term in terms))
