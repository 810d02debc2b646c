"""Coefficients of affine forms: polynomials in numbers that are known at run time only.

A learning rate, 1 - b^t or 1/(n + 1) is such a number. What is known of them at compile time is their algebra: b and
1 - b add up to 1 whatever b is.
"""

import dataclasses
from collections.abc import Hashable

# Polynomials of more terms than this are not formed: they become a number of their own.
_MOST_TERMS = 12
# Relative to the largest coefficient: what f32 constants such as 0.9 and 0.1 leave of a term that cancels.
_ROUNDING = 1e-6

Monomial = tuple[Hashable, ...]


@dataclasses.dataclass(frozen=True)
class Polynomial:
    """Sum of `number` * product of the atoms of a monomial; the empty monomial is the constant part."""

    terms: tuple[tuple[Monomial, float], ...] = ()

    @staticmethod
    def constant(number: float) -> "Polynomial":
        """A number that is known at compile time."""
        return Polynomial((((), number),)) if number else Polynomial()

    @staticmethod
    def atom(name: Hashable) -> "Polynomial":
        """A number that is known at run time only, told from others by its name."""
        return Polynomial((((name,), 1.0),))

    def __add__(self, other: "Polynomial") -> "Polynomial":
        sums = dict(self.terms)
        for monomial, number in other.terms:
            sums[monomial] = sums.get(monomial, 0.0) + number
        return _without_rounding(sums, self, other)

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        products: dict[Monomial, float] = {}
        for a, x in self.terms:
            for b, y in other.terms:
                monomial = tuple(sorted((*a, *b), key=hash))
                products[monomial] = products.get(monomial, 0.0) + x * y
        return _without_rounding(products, Polynomial())

    def times(self, number: float) -> "Polynomial":
        """The polynomial times a number known at compile time."""
        return Polynomial(tuple((monomial, number * x) for monomial, x in self.terms)) if number else Polynomial()

    @property
    def number(self) -> float | None:
        """Its value where that is known at compile time."""
        if not self.terms:
            return 0.0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def is_large(self) -> bool:
        """Whether it has too many terms to go on with."""
        return len(self.terms) > _MOST_TERMS

    @property
    def constant_part(self) -> float:
        """What does not depend on any number of run time."""
        return dict(self.terms).get((), 0.0)

    @property
    def if_chosen(self) -> float:
        """What depends on no numbers of run time but on what is chosen: the larger of both cases."""
        chosen = sum(number for monomial, number in self.terms if all(is_choice(atom) for atom in monomial))
        return max(self.constant_part, chosen)


ZERO, ONE = Polynomial(), Polynomial.constant(1.0)


def choice(*name: Hashable) -> Polynomial:
    """A number of run time that is 0 or 1: whether a branch is taken, or a member of a select chosen."""
    return Polynomial.atom(("choice", *name))


def is_choice(atom: Hashable) -> bool:
    """Whether an atom is that of a `choice`."""
    return isinstance(atom, tuple) and "choice" in atom[:1]


def _without_rounding(sums: dict[Monomial, float], *given: Polynomial) -> Polynomial:
    largest = 0.0
    for polynomial in given:
        for _, x in polynomial.terms:
            largest = max(largest, abs(x))
    return Polynomial(tuple([(m, x) for m, x in sums.items() if abs(x) > _ROUNDING * largest]))
