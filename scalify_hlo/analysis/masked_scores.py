"""Sums of what a program is given and of what it computes, which an exponential ends.

# softmax(q k^T + m), m of -1e9 where a key is hidden: beside 1e9 nothing is left of q k^T in f16, at any scale

A mask that is given as numbers has the size of its largest, and is mostly zeros; so may any other bias of scores be.
"""

from collections.abc import Iterable

from scalify_hlo.analysis.calls import CallGraph, follow_calls
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import readers
from scalify_hlo.module.traits import SUMS, Trait, has, names
from scalify_hlo.types import tensor_info

_ENDS = ("stablehlo.exponential", "stablehlo.logistic")
# On the way to the exponential: x - max(x), x / temperature, where(p, x, c).
_PASSES = names(Trait.MOVES | Trait.CARRIES, without=Trait.COLLECTIVE) | {
    *SUMS, "stablehlo.multiply", "stablehlo.divide", "stablehlo.select", "stablehlo.maximum",
}  # fmt: skip
_COMPUTES = names(Trait.ELEMENTWISE | Trait.MOVES | Trait.ASSEMBLES | Trait.CONSTANT, without=Trait.COLLECTIVE)
# How many operations there are to the exponential at most, branches included.
_STEPS = 32


def masked_scores(calls: CallGraph, main: str, given: Iterable[ir.Value]) -> set[ir.Value]:
    """The results of these sums, outside of loops. given: arguments of the function `main`, of whatever size."""
    finder = _Finder(calls, calls.body(main).arguments, given)
    follow_calls(calls, main, finder.look_at, finder.hand_on)
    return finder.found


class _Finder:
    def __init__(self, calls: CallGraph, arguments: Iterable[ir.Value], given: Iterable[ir.Value]):
        self.found: set[ir.Value] = set()
        self._calls = calls
        self._given = set(given)
        # Integers that the program is given, conditions, numbers of its own, and what is computed of these alone.
        self._neutral = {value for value in arguments if not tensor_info(value.type).is_float}

    def hand_on(self, values: Iterable[ir.Value], places: Iterable[ir.Value]) -> None:
        """What is known of operands, of a function's arguments; of what it returns, of the call's results."""
        for value, place in zip(values, places, strict=True):
            for known in (self._given, self._neutral):
                if value in known:
                    known.add(place)

    def look_at(self, op: ir.Operation) -> None:
        """Learn what one operation's results are."""
        if has(op.name, Trait.CAPTURES):
            return
        of_given = [value for value in op.operands if value in self._given]
        if all(value in self._given or value in self._neutral for value in op.operands):
            if op.name in _COMPUTES:
                (self._given if of_given else self._neutral).update(op.results)
        elif of_given and op.name in SUMS and self._ends(op.results[0]):
            self.found.add(op.results[0])

    def _ends(self, value: ir.Value) -> bool:
        """Whether an exponential is what comes of a value, moved, shifted and multiplied."""
        pending, seen = [value], {value}
        while pending and len(seen) < _STEPS:
            current = pending.pop()
            for op in readers(current):
                body = self._calls.callee_body(op)
                if op.name in _ENDS:
                    return True
                if body is not None and op.name == "func.call":
                    following = [a for a, v in zip(body.arguments, op.operands, strict=True) if v == current]
                else:
                    following = list(op.results) if op.name in _PASSES else []
                pending += [each for each in following if each not in seen]
                seen.update(following)
        return False
