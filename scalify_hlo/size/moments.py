"""What is known at compile time of the elements of a tensor: second moment, mean and sign.

The paper's static rules take every operand to be Gaussian of zero mean and unit second moment (section 3.2,
after unit scaling). That assumption fails for sums of squares, means, softmax and biases, and the error
compounds with depth. Three numbers per tensor, propagated by the rules, repair most of it at no run-time cost.
"""

import dataclasses
import math
from collections.abc import Sequence

from scalify_hlo import budget

# Larger estimates are this one, 2^72 beyond f32's range: of numbers of f64, of which the fourth power is none.
_MOST = 2.0**200


@dataclasses.dataclass(slots=True, unsafe_hash=True)  # never changed; a frozen one takes three times as long to make
class Moments:
    """Estimates for the *data* of a scaled value (or for a plain value).

    rms: root of the mean square of the elements, sqrt(E[x^2]).
    mean: E[x], between -rms and rms.
    nonnegative: every element is known to be >= 0.
    least: no element is smaller in magnitude, if positive: a denominator of softmax is a sum of exponentials, the
    largest of which is 1.
    infinite: elements may be infinite (a mask): the data must not be multiplied by a scale that may have become 0.
    share: of the elements that may be other than 0; less than 1 after zeros were put beside or around them, and of
    one-hot vectors.
    unknown: their size is not known: of values without a scale, since it would leave the range of f32, and products of
    such values.
    """

    rms: float = 1.0
    mean: float = 0.0
    nonnegative: bool = False
    least: float = 0.0
    infinite: bool = False
    share: float = 1.0
    unknown: bool = False

    @property
    def log2(self) -> float:
        """log2 of the root mean square."""
        return math.log2(self.rms) if self.rms > 0 and math.isfinite(self.rms) else 0.0

    def times(self, factor: float) -> "Moments":
        """Moments of factor * x."""
        nonnegative = self.nonnegative and factor >= 0
        least = abs(self.least * factor)
        rms, mean = abs(self.rms * factor), self.mean * factor
        if rms > _MOST:
            rms, mean, least = map(_bounded, (rms, mean, least))
        return Moments(rms, mean, nonnegative, least, self.infinite, self.share)

    def shifted(self, exponent: float) -> "Moments":
        """Moments of x * 2^exponent."""
        return self.times(2.0**exponent) if exponent else self

    def summed(self, count: float) -> "Moments":
        """Moments of a sum of `count` independent elements: variances add, means add.

        # E[(sum x)^2] = N * var + N^2 * mean^2
        """
        variance = max(self.rms**2 - self.mean**2, 0.0)
        mean = count * self.mean
        share = min(1.0, count * self.share)
        return Moments(
            math.sqrt(count * variance + mean**2), mean, self.nonnegative, infinite=self.infinite, share=share
        )

    def product(self, other: "Moments") -> "Moments":
        """Moments of x * y, x and y independent.  # E[x^2 y^2] = E[x^2] E[y^2]"""
        nonnegative = self.nonnegative and other.nonnegative
        infinite = self.infinite or other.infinite
        rms, mean, least = self.rms * other.rms, self.mean * other.mean, self.least * other.least
        if rms > _MOST:
            rms, mean, least = map(_bounded, (rms, mean, least))
        return Moments(rms, mean, nonnegative, least, infinite, self.share * other.share)

    def squared(self) -> "Moments":
        """Moments of x * x.

        # Gaussian: E[x^4] = 3 var^2 + 6 var mean^2 + mean^4
        """
        if self.rms**2 > _MOST:
            return Moments(_MOST, _MOST, True, min(self.least**2, _MOST), self.infinite)
        variance = max(self.rms**2 - self.mean**2, 0.0)
        fourth = 3 * variance**2 + 6 * variance * self.mean**2 + self.mean**4
        return Moments(math.sqrt(fourth), self.rms**2, True, self.least**2, self.infinite)

    @property
    def reciprocal_rms(self) -> float:
        """Root mean square of 1/x, as far as it is known.

        Of elements between `least` and `rms` the small ones decide: E[1/t^2] over the denominators t = 1, ..., N of
        causal attention is pi^2 / 6N, not 1/N^2, and gradients are largest where they are small. Between 1/least and
        1/rms, but nearer to the former.
        """
        size = (self.rms * min(self.least, self.rms) ** 3) ** 0.25 if self.least else self.rms
        return 1 / size if size else 1.0

    def plus(self, other: "Moments", sign: int = 1) -> "Moments":
        """Moments of x + sign * y, x and y independent: variances add, means add."""
        variance = max(self.rms**2 - self.mean**2, 0.0) + max(other.rms**2 - other.mean**2, 0.0)
        mean = self.mean + sign * other.mean
        # Means never cancel altogether: they are estimates.
        rms = max(math.sqrt(variance + mean**2), max(self.rms, other.rms) / budget.CANCELLATION)
        nonnegative = sign > 0 and self.nonnegative and other.nonnegative
        return Moments(rms, mean, nonnegative, infinite=self.infinite or other.infinite)

    def mixed(self, other: "Moments") -> "Moments":
        """Moments of a tensor whose elements come from either, half and half (select, concatenate)."""
        return Moments(
            math.sqrt((self.rms**2 + other.rms**2) / 2),
            (self.mean + other.mean) / 2,
            self.nonnegative and other.nonnegative,
            infinite=self.infinite or other.infinite,
        )

    def beside(self, others: "Sequence[Moments]", shares: Sequence[float]) -> "Moments":
        """Moments of a tensor whose elements come from this and from `others`, in these shares, and are 0 else.

        # E[x^2] = sum of share_i E[x_i^2]
        """
        parts = [(self, shares[0]), *zip(others, shares[1:], strict=True)]
        return Moments(
            math.sqrt(sum(share * part.rms**2 for part, share in parts)),
            sum(share * part.mean for part, share in parts),
            all(part.nonnegative for part, _ in parts),
            infinite=any(part.infinite for part, _ in parts),
            share=sum(share * part.share for part, share in parts),
        )

    def combined_with(self, nonnegative: bool) -> "Moments":
        """The same of a tensor that has, or was added to, other elements: they may be negative, if these are not."""
        return self if nonnegative or not self.nonnegative else dataclasses.replace(self, nonnegative=False)

    def absolute(self) -> "Moments":
        """Moments of |x|.  # Gaussian: E|x| = sqrt(2/pi) * rms"""
        if self.nonnegative:
            return self
        mean = max(abs(self.mean), math.sqrt(2 / math.pi) * self.rms)
        return Moments(self.rms, mean, True, infinite=self.infinite)


def _bounded(number: float) -> float:
    return math.copysign(min(abs(number), _MOST), number)


# Unit scaling: Gaussian, zero mean, unit second moment.
UNIT = Moments()
# Of values whose size nothing is known of.
UNKNOWN = Moments(unknown=True)
# Integer types that are as narrow as their numbers need.
_BITS = {"i2": 2, "i4": 4, "i8": 8}


def of_constant(value: float) -> Moments:
    """Moments of a tensor whose elements all equal `value`; an infinity or NaN has a sign at most.

    None is further from 1 than estimates are.
    """
    if not math.isfinite(value):
        return Moments(nonnegative=value > 0, infinite=True)
    size = min(max(abs(value), 1 / _MOST), _MOST) if value else 0.0
    return Moments(size, math.copysign(size, value), value >= 0)


# integers that fill their type, as quantised weights and the pixels of images do: uniform between its ends
def of_integers(element: str) -> Moments | None:
    """Moments of integers of a type that is as narrow as its numbers need, of 8 bits at most; None for other types.

    Wider ones count things or name them: nothing is known of how large they are.
    """
    bits = _BITS.get(element.removeprefix("u"))
    if bits is None:
        return None
    unsigned = element.startswith("u")
    most = 2.0 ** (bits if unsigned else bits - 1) - 1
    return Moments(most / math.sqrt(3), most / 2 if unsigned else 0.0, unsigned)
