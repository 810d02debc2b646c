"""Matrix products of what a training step is given: the first layers of networks that read numbers.

# x = m + d, E4M3: an element is rounded to 2^-4 of itself, and what a layer learns from is d

Columns that a program is given have a mean that is not known, and may be many times what they vary by: temperatures of
290 K +- 10 K, pressures, years, prices, a window of a series, pixels from 0 to 255. Of 290 +- 10 three bits leave two
or three numbers. What a model computes itself is centred or begins at 0; so is what is given once something has been
subtracted from it, or added by a table, or once it has been divided by its own size: then somebody has looked after it.
"""

import enum
from collections.abc import Collection

from scalify_hlo.analysis.calls import CallGraph, program_order
from scalify_hlo.analysis.origins import Origins
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import Trait, has, names
from scalify_hlo.types import tensor_info

_MOVES = names(Trait.MOVES | Trait.CARRIES, without=Trait.COLLECTIVE)
_ASSEMBLES = names(Trait.ASSEMBLES, without=Trait.COLLECTIVE)
_ELEMENTWISE = names(Trait.ELEMENTWISE, without=Trait.BITWISE | Trait.PREDICATE | Trait.COMPLEX)
_NUMBERS = names(Trait.BITWISE | Trait.PREDICATE)
_ADDS_UP = names(Trait.REDUCES | Trait.CONTRACTS, without=Trait.COLLECTIVE)
_BY_PLACES = _ELEMENTWISE | _ASSEMBLES | {"stablehlo.scatter"}
_CONVERSIONS = ("stablehlo.convert", "stablehlo.reduce_precision")
_PRODUCT = "stablehlo.dot_general"


class _Of(enum.Enum):
    """What a value is computed of, element by element: data with their mean, weights, constants, or anything else."""

    GIVEN = enum.auto()
    LEARNT = enum.auto()
    TABLE = enum.auto()
    NUMBERS = enum.auto()  # as tables, but of random bits, integers compared, or scalars
    OTHER = enum.auto()


_NEUTRAL = (_Of.TABLE, _Of.NUMBERS)


def products_of_given(calls: CallGraph, main: str, learnt: Collection[int]) -> list[ir.Operation]:
    """The products of which one operand is what the function `main` is given, and the other is no activation.

    learnt: indices of the arguments that are weights or state. Calls are looked through where each function is called
    once; values that a loop computes are activations.
    """
    finder = _Finder(calls, main, learnt)
    return [op for op in program_order(calls) if finder.look_at(op)]


class _Finder:
    def __init__(self, calls: CallGraph, main: str, learnt: Collection[int]):
        self._origins = Origins(calls)
        self._known: dict[ir.Value, _Of] = {}
        for i, argument in enumerate(calls.body(main).arguments):
            info = tensor_info(argument.type)
            self._known[argument] = _Of.NUMBERS if not info.rank else _Of.LEARNT if i in learnt else _Of.GIVEN

    def look_at(self, op: ir.Operation) -> bool:
        """Learn what an operation's result is; whether it is such a product."""
        if op.name == _PRODUCT:
            a, b = (self._of(value) for value in op.operands)
            self._known[op.results[0]] = a if a == b == _Of.LEARNT else _Of.OTHER
            return _Of.GIVEN in (a, b) and _Of.OTHER not in (a, b)
        if len(op.results) == 1:
            self._known[op.results[0]] = self._result(op)
        return False

    def _of(self, value: ir.Value) -> _Of:
        known = self._known.get(value)
        if known is None:  # a block's argument, or what a call or a loop gives
            root = self._origins.of(value).root
            known = self._known[value] = self._known.get(root, _Of.OTHER)
        return known

    def _result(self, op: ir.Operation) -> _Of:
        source = op.operands[0] if len(op.operands) else None
        if source is None or has(op.name, Trait.CONSTANT):
            return _Of.TABLE
        if op.name in _NUMBERS:
            return _Of.NUMBERS
        if op.name in _MOVES or op.name in _CONVERSIONS:
            return _Of.NUMBERS if tensor_info(source.type).element == "i1" else self._of(source)
        is_float = tensor_info(op.results[0].type).is_float
        parts = {self._of(value) for value in op.operands if tensor_info(value.type).is_float == is_float}
        whole = parts.difference(_NEUTRAL)
        if op.name in _ASSEMBLES and _Of.GIVEN in parts:
            return _Of.GIVEN
        if op.name in _BY_PLACES or whole == {_Of.LEARNT}:
            known = op.name in _BY_PLACES or op.name in _ADDS_UP
            if not whole and known:
                return _Of.TABLE if parts == {_Of.TABLE} else _Of.NUMBERS
            if len(whole) == 1 and known and not (_Of.GIVEN in whole and _is_looked_after(op, parts)):
                return whole.pop()
        return _Of.OTHER


def _is_looked_after(op: ir.Operation, parts: set[_Of]) -> bool:
    """Whether an operation bounds what is given, takes something off it, or adds what was chosen before."""
    if op.name == "stablehlo.add":
        return _Of.TABLE in parts
    return op.name == "stablehlo.subtract" or has(op.name, Trait.BOUNDED)
