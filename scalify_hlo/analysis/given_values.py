"""Values that a program computes of what it is given alone, of sizes that do not follow from it.

# x[:, 1:] of x = (10^7, 0.3): of size 1; (t - 1.7e9) / 1e6 of t = 1.7e9 + 1e6: of size 1; 1 / (d + 1e-8), y / s^2

How large an argument is says little of a part of its columns, which may be in units of their own, of what is left when
a number is taken from it, of a quotient, and of what is joined of such. Each is known when the program runs, and small
beside what a model computes: it is measured where the model's values meet it, a product with weights or a difference
from a prediction, in the forward pass. What an argument is times a number has the argument's size times the number's;
what is bounded has the bound's; and what was measured is of unit size, and so is what is computed of it alone.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence

from scalify_hlo.analysis.calls import CallGraph, defining_op
from scalify_hlo.analysis.following import follow
from scalify_hlo.analysis.name_stack import Direction, NameStacks
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import Number
from scalify_hlo.module.traits import SUMS, Trait, has, names
from scalify_hlo.types import tensor_info

# Results of which an argument's size says as much as it says of the argument.
_SIZED = names(Trait.MOVES | Trait.CARRIES, without=Trait.SHRINKS) | {
    "stablehlo.negate", "stablehlo.abs", "stablehlo.pad",
}  # fmt: skip
_BY_NUMBERS = ("stablehlo.multiply", "stablehlo.divide")
_CONDITIONS = names(Trait.PREDICATE)
_COMPUTES = names(Trait.ELEMENTWISE | Trait.MOVES | Trait.ASSEMBLES | Trait.CONSTANT, without=Trait.COLLECTIVE)
_GIVES = _COMPUTES | names(Trait.REDUCES | Trait.CONTRACTS, without=Trait.COLLECTIVE | Trait.JOINT)
_UNREAD = _CONDITIONS | {"func.return", "stablehlo.return", "func.call"}
_ELEMENTS = names(Trait.ELEMENTWISE | Trait.MOVES, without=Trait.COLLECTIVE)
# Functions of which a small operand makes a large result, or a few times one many times the other.
_STEEP = ("stablehlo.divide", "stablehlo.rsqrt", "stablehlo.power", "stablehlo.exponential", "stablehlo.tan")
# Numbers beyond these make masks of what they multiply, such as (1 - mask) * -1e4, to be added to scores.
_MASKING = 2.0**13


def given_values(
    calls: CallGraph, main: str, given: Iterable[ir.Value], measured: Iterable[ir.Value], number: Number
) -> "GivenValues":
    """Look for what a program computes of arguments alone, outside of its loops.

    given: arguments of the function `main`. measured: what is measured already. number: the number that all elements of
    a value are, if it is known.
    """
    finder = _Finder(calls, calls.body(main).arguments, given, measured, number)
    follow(calls, main, finder.look_at, finder.hand_on)
    return GivenValues(list(finder.found), finder.given, finder.unsized, finder.cancels)


@dataclasses.dataclass(frozen=True)
class GivenValues:
    """What a program computes of arguments alone.

    met: the values of more than one element and of no known size that other values meet. given: all of them, the
    arguments among them. unsized: those of no known size. cancels: whether something given is taken off a sum of
    something given and of a value of the model's, whose size says nothing of what is left.
    """

    met: list[ir.Value]
    given: set[ir.Value]
    unsized: set[ir.Value]
    cancels: bool

    # L = mean((z - t)^2 / s^2): dL/dz is as large as the smallest s make it
    def weigh(self, gradient: ir.Value) -> bool:
        """Whether a gradient is multiplied by such a value of no known size, or divided by any, since the last sum."""
        pending, seen = [gradient], set[ir.Value]()
        while pending:
            value = pending.pop()
            op = defining_op(value)
            if value in seen or op is None or value in self.given or op.name not in _ELEMENTS:
                continue
            seen.add(value)
            operands = [value for value in op.operands if tensor_info(value.type).is_float]
            if op.name == "stablehlo.divide" and operands[1] in self.given:
                return True
            if op.name in _BY_NUMBERS and any(each in self.unsized for each in operands):
                return True
            pending += operands
        return False


def _is_repeated(value: ir.Value) -> bool:
    """Whether a tensor repeats fewer elements along some dimension."""
    op = defining_op(value)
    while op is not None and op.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        if tensor_info(op.operands[0].type).size < tensor_info(value.type).size:
            return True
        op = defining_op(op.operands[0])
    return False


class _Finder:
    def __init__(
        self,
        calls: CallGraph,
        arguments: Iterable[ir.Value],
        given: Iterable[ir.Value],
        measured: Iterable[ir.Value],
        number: Number,
    ):
        self.found: dict[ir.Value, None] = {}
        self._number = number
        self._names = NameStacks(calls)
        self._measured = set(measured)
        # Numbers of the program's own, integers that it is given, conditions, and what is computed of these alone.
        self._neutral = {value for value in arguments if not tensor_info(value.type).is_float}
        self.given = set(given)
        self.unsized: set[ir.Value] = set()
        self.cancels = False
        self._beside: set[ir.Value] = set()  # sums of what is given and what is not
        self._settled: set[ir.Value] = set()  # of unit size, being measured, or computed of such alone

    def hand_on(self, ways: Iterable[Sequence[ir.Value]], places: Iterable[ir.Value]) -> None:
        """What is known of operands, of a function's arguments; of what it returns, of the call's results."""
        for values, place in zip(ways, places, strict=True):
            for known in (self._neutral, self.given, self.unsized, self._settled, self._beside):
                if known.issuperset(values):
                    known.add(place)

    def look_at(self, op: ir.Operation) -> None:
        """Learn what one operation's result is."""
        operands = list(op.operands)
        of_given = [value for value in operands if value in self.given]
        is_of_given = not has(op.name, Trait.CAPTURES) and all(v in self.given or v in self._neutral for v in operands)
        if is_of_given and (not of_given or op.name in _CONDITIONS):
            if op.name in _COMPUTES:
                self._neutral.add(op.results[0])
            return
        if not is_of_given and self._names.direction(op) is not Direction.BACKWARD:
            self._note_sum(op, operands, of_given)
        if not of_given or op.name in _UNREAD or (is_of_given and len(op.results) > 1):
            return
        if self._names.direction(op) is Direction.BACKWARD:
            return  # the loss's own, such as the gradient of what it picks by labels
        if not is_of_given:
            for value in of_given:
                info = tensor_info(value.type)
                if value in self.unsized and info.is_static and info.size > 1:
                    self.found[value] = None
            return
        result = op.results[0]
        if self._makes_masks(op) or op.name not in _GIVES:
            return
        if not tensor_info(result.type).is_float:  # an index
            self._neutral.add(result)
            return
        self.given.add(result)
        if result in self._measured or self._stays_settled(op, of_given):
            self._settled.add(result)
        elif not self._is_bounded(op) and (any(value in self.unsized for value in of_given) or not self._is_sized(op)):
            self.unsized.add(result)

    # f = x + net(x), f - c: x is 10^4 and c its mean, and f - c as large as x varies
    def _note_sum(self, op: ir.Operation, operands: list[ir.Value], of_given: list[ir.Value]) -> None:
        """Note a sum of something given and something else, and what is given that is taken off such a sum."""
        of_sums = [value for value in operands if value in self._beside]
        if op.name in SUMS:
            self.cancels |= bool(of_sums) and bool(of_given)
            if (of_given or of_sums) and any(tensor_info(value.type).size > 1 for value in op.results):
                self._beside.update(op.results)
        elif of_sums and op.name in _SIZED:
            self._beside.update(op.results)

    # (x - m) / s: what is of unit size is so beside a number for each row, but not 1 / x
    def _stays_settled(self, op: ir.Operation, of_given: list[ir.Value]) -> bool:
        if op.name in _BY_NUMBERS and op.operands[0] in self._settled and _is_repeated(op.operands[1]):
            return True
        return op.name not in _STEEP and all(value in self._settled for value in of_given)

    def _factor(self, op: ir.Operation) -> float | None:
        """What an operation multiplies by, if it is one number."""
        if op.name not in _BY_NUMBERS:
            return None
        by = [self._number(value) for value in op.operands]
        if op.name == "stablehlo.divide":
            return 1 / by[1] if by[1] else None
        return next((each for each in by if each is not None), None)

    def _makes_masks(self, op: ir.Operation) -> bool:
        factor = self._factor(op)
        return factor is not None and math.isfinite(factor) and abs(factor) >= _MASKING

    def _is_bounded(self, op: ir.Operation) -> bool:
        """Whether an operation's result has bounds, whatever the operand is."""
        if op.name == "stablehlo.clamp":
            return op.operands[0] in self._neutral and op.operands[2] in self._neutral
        return has(op.name, Trait.BOUNDED)

    def _is_sized(self, op: ir.Operation) -> bool:
        """Whether an operation's result is of the operand's size, times a number that is known."""
        if op.name == "stablehlo.slice":
            before, after = (tensor_info(value.type).shape for value in (op.operands[0], op.results[0]))
            return before[-1:] == after[-1:]  # all columns
        if op.name in ("stablehlo.dynamic_slice", "stablehlo.gather"):
            return True  # rows, by an index that the program is given
        return op.name in _SIZED or self._factor(op) is not None
