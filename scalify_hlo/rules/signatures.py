"""How a private function is called with scaled arguments, and what its rewritten form returns."""

import dataclasses
import functools

from scalify_hlo.bindings import ir
from scalify_hlo.rules.values import PlainFacts
from scalify_hlo.scale import TRIALS, Scale, Symbol, Trials
from scalify_hlo.size.moments import UNIT, Moments


@dataclasses.dataclass(frozen=True)
class ScaledParameter:
    """How one argument is scaled: 2^exponent * factor^power, or indifferent."""

    exponent: float
    factor: int | None  # index of a distinct run-time factor, None for a constant scale
    shape: tuple[int, ...] = ()
    indifferent: bool = False
    moments: Moments = UNIT
    everywhere: bool = False  # the factor is known to be the same on every device
    carried: bool = False  # by a loop of the caller
    positive: bool = False  # the factor is known not to be zero
    power: int = 1  # of the factor
    trials: Trials = TRIALS  # of the factor, roughly


@dataclasses.dataclass(frozen=True)
class PlainParameter:
    """An argument without a scale; what the caller knows of it."""

    facts: PlainFacts


Parameter = ScaledParameter | PlainParameter
Signature = tuple[Parameter, ...]


@dataclasses.dataclass(frozen=True)
class ResultForm:
    """How one result of a specialised function is scaled; None scale: the extra result `extra` holds it."""

    scaled: bool
    scale: Scale | None = None  # in terms of the callee's factor symbols
    extra: int | None = None
    moments: Moments = UNIT
    indifferent: bool = False


@dataclasses.dataclass(frozen=True)
class Specialised:
    """A private function rewritten for one signature.

    used_factors: which of the signature's factors the function takes as extra arguments, in order.
    symbols: the callee's symbol of each factor.
    """

    name: str
    results: tuple[ResultForm, ...]
    used_factors: tuple[int, ...]
    symbols: tuple[Symbol, ...]
    extra_types: tuple[ir.Type, ...]
    extra_everywhere: tuple[bool, ...]  # which extra results are known to be the same on every device
    extra_parts: tuple[tuple[Scale, ...], ...]  # of which products of `symbols` each extra result is about the largest
    extra_trials: tuple[Trials, ...]  # of each extra result

    @functools.cached_property
    def positions(self) -> dict[Symbol, int]:
        """Which factor each of `symbols` is."""
        return {symbol: i for i, symbol in enumerate(self.symbols)}
