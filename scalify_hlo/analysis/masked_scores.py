"""Sums of what a program is given and of what it computes, which an exponential ends.

# softmax(q k^T + m), m of -1e9 where a key is hidden: beside 1e9 nothing is left of q k^T in f16, at any scale

A mask that is given as numbers has the size of its largest, and is mostly zeros; so may any other bias of scores be.
"""

from collections.abc import Iterable, Iterator

from scalify_hlo.analysis.calls import CallGraph, defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import readers
from scalify_hlo.module.traits import SUMS, Trait, names
from scalify_hlo.types import tensor_info

_ENDS = ("stablehlo.exponential", "stablehlo.logistic")
# On the way to the exponential: x - max(x), x / temperature, where(p, x, c).
_PASSES = names(Trait.MOVES | Trait.CARRIES, without=Trait.COLLECTIVE) | {
    *SUMS, "stablehlo.multiply", "stablehlo.divide", "stablehlo.select", "stablehlo.maximum",
}  # fmt: skip
_HANDS_ON = ("func.call", "func.return")
_COMPUTES = names(Trait.ELEMENTWISE | Trait.MOVES | Trait.ASSEMBLES, without=Trait.COLLECTIVE)
# What is computed in a region, or in another function.
_ELSEWHERE = names(Trait.CAPTURES | Trait.CALLS)
# How many operations there are to the exponential at most, branches included; and before a number of the program's own.
_STEPS = 32


def masked_scores(calls: CallGraph, given: Iterable[ir.Value]) -> set[ir.Value]:
    """The results of these sums, outside of loops. given: arguments of the public function, of whatever size."""
    pending = list(given)
    known, found = set(pending), set[ir.Value]()
    while pending:
        value = pending.pop()
        for op, results in _reading(calls, value):
            if op.name in _HANDS_ON:
                following = results
            elif not all(each in known or _is_neutral(each) for each in op.operands):
                following = []
                if op.name in SUMS and _ends(calls, op.results[0]):
                    found.add(op.results[0])
            else:
                following = results if op.name in _COMPUTES else []
            pending += [each for each in following if each not in known]
            known.update(following)
    return found


def _reading(calls: CallGraph, value: ir.Value) -> Iterator[tuple[ir.Operation, list[ir.Value]]]:
    """The operations that read a value, with what has it then or is computed of it: results, a callee's arguments."""
    for op in readers(value):
        if op.name in _HANDS_ON:
            places = [i for i, operand in enumerate(op.operands) if operand == value]
            yield op, [each for i in places for each in calls.handed_to(op, i) or ()]
        else:
            yield op, list(op.results)


def _is_neutral(value: ir.Value) -> bool:
    """Whether a value is made of the program's own numbers, of integers and of conditions."""
    pending, left = [value], _STEPS
    while pending and left:
        left -= 1
        current = pending.pop()
        if tensor_info(current.type).is_float:
            op = defining_op(current)
            if op is None or op.name in _ELSEWHERE:
                return False
            pending += op.operands
    return not pending


def _ends(calls: CallGraph, value: ir.Value) -> bool:
    """Whether an exponential is what comes of a value, moved, shifted and multiplied."""
    pending, seen = [value], {value}
    while pending and len(seen) < _STEPS:
        for op, following in _reading(calls, pending.pop()):
            if op.name in _ENDS:
                return True
            if op.name in _PASSES or op.name in _HANDS_ON:
                pending += [each for each in following if each not in seen]
                seen.update(following)
    return False
