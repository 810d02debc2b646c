"""Differences of elements of one tensor that the program is given, or computes of what it is given.

# (1e5 + 9) - 1e5 = 9: how large a difference is does not follow from how large the tensor is

Of times, prices, counts and pixels the elements have more in common than they differ by; what a model computes of its
weights is centred. A difference is told by what is computed: the coefficients of the tensor's elements add up to 0, as
those of a[1:] - a[:-1], of a - mean(a), or of -(b - a) where b is a moved. So are those of two tensors that are given.

# (a - mean) (1 / deviation): columns of 10^3 and of 10^-3 times 10^-3 and 10^3 are of size 1, and not of 10^6

Nor does it follow how large such a tensor is when its columns are multiplied by a number each, for they are in units of
their own: by how much they are out of proportion is what the numbers are chosen by.

# select(|a| < 9000, a, 0): what stands for a missing number, -9999 or 1e20, tells the size of a, not of the rest

And of what a condition on what the program is given chooses of it, or of what is computed of it element by element.
"""

from collections.abc import Iterable, Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, defining_op
from scalify_hlo.analysis.following import follow
from scalify_hlo.analysis.intervals import MOVES
from scalify_hlo.bindings import ir
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.constants import Number
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

_COMPUTES = names(Trait.ELEMENTWISE | Trait.MOVES | Trait.ASSEMBLES, without=Trait.COLLECTIVE | Trait.BODY)
_CHOOSES = ("stablehlo.select", "stablehlo.multiply")
_TERMWISE = ("stablehlo.add", "stablehlo.subtract", "stablehlo.multiply")
# A tensor, and what the coefficients of its elements add up to.
_Part = tuple[ir.Value, float]


def given_differences(calls: CallGraph, main: str, given: Iterable[ir.Value], number: Number) -> list[ir.Value]:
    """The differences of more than one element in a program, outside of its loops.

    given: arguments of the function `main`. number: the number that all elements of a value are, if it is known.
    """
    finder = _Finder(number, given)
    follow(calls, main, finder.look_at, finder.hand_on)
    return finder.found


class _Finder:
    def __init__(self, number: Number, given: Iterable[ir.Value]):
        self.found: list[ir.Value] = []
        self._number = number
        self._parts: dict[ir.Value, _Part] = {value: (value, 1.0) for value in given}
        self._conditions: set[ir.Value] = set()  # on what is given alone, numbers 0 and 1 among them
        self._mixed = set(self._parts)  # what is computed of it element by element, perhaps of weights too
        self._columns = {value for value in self._parts if tensor_info(value.type).rank > 1}  # and sums with rows

    def hand_on(self, ways: Iterable[Sequence[ir.Value]], places: Iterable[ir.Value]) -> None:
        """What is known of operands, of a function's arguments; of what it returns, of the call's results."""
        for values, place in zip(ways, places, strict=True):
            parts = {self._parts.get(value) for value in values}
            if len(parts) == 1 and (part := parts.pop()) is not None:
                self._parts[place] = part
            for known in (self._columns, self._conditions, self._mixed):
                if known.issuperset(values):
                    known.add(place)

    def look_at(self, op: ir.Operation) -> None:
        """Learn what one operation's result is."""
        if len(op.results) != 1:
            return
        result = op.results[0]
        if self._is_condition(op):
            self._conditions.add(result)
        if not tensor_info(result.type).is_float:
            return
        if op.name in _COMPUTES and not self._mixed.isdisjoint(op.operands):
            self._mixed.add(result)
        if self._is_chosen(op):
            self.found.append(result)
            self._parts[result] = (result, 1.0)
            return
        if op.name in _TERMWISE and self._is_by_columns(op):
            self._columns.add(result)
            if op.name == "stablehlo.multiply":
                self.found.append(result)
                return
        part = self._part(op)
        if part is not None and not part[1]:
            info = tensor_info(result.type)
            if info.is_static and info.size > 1:
                self.found.append(result)
            part = None
        if part is not None:
            self._parts[result] = part
        elif op.name in _COMPUTES or _adds(op):
            floats = [value for value in op.operands if tensor_info(value.type).is_float]
            if any(value in self._parts for value in floats) and all(self._is_given(value) for value in floats):
                self._parts[result] = (result, 1.0)

    def _is_condition(self, op: ir.Operation) -> bool:
        """Whether an operation compares what is given with numbers or itself, or is of such comparisons alone.

        Of elements: what one number says, a count of steps, is said of all of them.
        """
        compared = tensor_info(op.results[0].type)
        if compared.is_static and compared.size == 1:
            return False
        if op.name == "stablehlo.compare":
            return any(value in self._parts for value in op.operands) and all(map(self._is_given, op.operands))
        if op.name == "stablehlo.is_finite":
            return op.operands[0] in self._parts
        if tensor_info(op.results[0].type).is_float and op.name != "stablehlo.convert" and op.name not in MOVES:
            return False
        return op.name in _COMPUTES and all(value in self._conditions for value in op.operands)

    def _is_chosen(self, op: ir.Operation) -> bool:
        """Whether a condition on what is given chooses elements of it, or of what is computed of it."""
        info = tensor_info(op.results[0].type)
        if op.name not in _CHOOSES or not info.is_static or info.size == 1:
            return False
        floats = [value for value in op.operands if tensor_info(value.type).is_float]
        return not self._conditions.isdisjoint(op.operands) and any(
            value in self._mixed and value not in self._conditions for value in floats
        )

    def _is_by_columns(self, op: ir.Operation) -> bool:
        """Whether columns of a tensor that is given meet a number each."""
        a, b = op.operands
        return (a in self._columns and _is_row(b)) or (b in self._columns and _is_row(a))

    def _is_given(self, value: ir.Value) -> bool:
        return value in self._parts or self._number(value) is not None

    def _part(self, op: ir.Operation) -> _Part | None:
        """A result as elements of one tensor times coefficients; None where it is none, or of several tensors."""
        parts = [self._parts.get(value) for value in op.operands]
        first = parts[0] if parts else None
        if op.name in MOVES:
            return first
        match op.name:
            case "stablehlo.reduce" if first is not None and _adds(op):
                terms = tensor_info(op.operands[0].type).size / max(1, tensor_info(op.results[0].type).size)
                return first[0], first[1] * terms
            case "stablehlo.negate" if first is not None:
                return first[0], -first[1]
            case "stablehlo.multiply" | "stablehlo.divide":
                return self._multiple(op, parts)
            case "stablehlo.add" | "stablehlo.subtract" | "stablehlo.select":
                a, b = parts[-2:]
                if a is None or b is None:
                    return None
                if a[0] != b[0]:  # two tensors of inputs, of which neither is centred: x - mean, a mean of earlier ones
                    return (a[0], 0.0) if op.name == "stablehlo.subtract" else None
                if op.name == "stablehlo.select":
                    return a if a[1] == b[1] else None
                total = a[1] + b[1] if op.name == "stablehlo.add" else a[1] - b[1]
                return a[0], total if abs(total) > budget.ADDS_UP * abs(a[1]) else 0.0
            case _:
                return None

    def _multiple(self, op: ir.Operation, parts: list[_Part | None]) -> _Part | None:
        for part, other in zip(parts, reversed(list(op.operands)), strict=True):
            number = self._number(other)
            if part is not None and number and (op.name == "stablehlo.multiply" or part is parts[0]):
                return part[0], part[1] * number if op.name == "stablehlo.multiply" else part[1] / number
        return None


def _is_row(value: ir.Value) -> bool:
    """Whether a tensor is several numbers, of its last dimension, repeated along the others."""
    op = defining_op(value)
    while op is not None and op.name == "stablehlo.broadcast_in_dim":
        source, rank = op.operands[0], tensor_info(op.results[0].type).rank
        last = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))[-1:]
        if 1 < tensor_info(source.type).size == tensor_info(value.type).shape[-1] and last == [rank - 1]:
            return True
        op = defining_op(source)
    return False


def _adds(op: ir.Operation) -> bool:
    """Whether an operation is a sum of elements of one tensor."""
    return op.name == "stablehlo.reduce" and len(op.operands) == 2 and body_kind(op) == "add"
