"""Matrix products of what a training step is given: the first layers of networks that read numbers.

# x = m + d, E4M3: an element is rounded to 2^-4 of itself, and what a layer learns from is d

Columns that a program is given have a mean that is not known, and may be many times what they vary by: temperatures of
290 K +- 10 K, pressures, years, prices, a window of a series, pixels from 0 to 255. Of 290 +- 10 three bits leave two
or three numbers. What a model computes itself is centred or begins at 0; so is what is given once something has been
subtracted from it, or added by a table, or once it has been divided by its own size: then somebody has looked after it.
"""

import enum
from collections.abc import Collection, Iterable

from scalify_hlo.analysis.branches import yielded
from scalify_hlo.analysis.calls import CallGraph, defining_op
from scalify_hlo.analysis.origins import Origins
from scalify_hlo.bindings import ir
from scalify_hlo.module.identity import is_scale_marker
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.traits import BRANCHES, Trait, has, names
from scalify_hlo.types import tensor_info

_MOVES = names(Trait.MOVES | Trait.CARRIES, without=Trait.COLLECTIVE)
_PRODUCT = "stablehlo.dot_general"
_ASSEMBLES = names(Trait.ASSEMBLES, without=Trait.COLLECTIVE)
_ELEMENTWISE = names(Trait.ELEMENTWISE, without=Trait.BITWISE | Trait.PREDICATE | Trait.COMPLEX)
_NUMBERS = names(Trait.BITWISE | Trait.PREDICATE)
_ADDS_UP = names(Trait.REDUCES | Trait.CONTRACTS, without=Trait.COLLECTIVE)
_SCATTER = "stablehlo.scatter"
_HANDED_ON = _ELEMENTWISE | _ASSEMBLES
_BY_PLACES = _HANDED_ON | {_SCATTER}


class _Of(enum.Enum):
    """What a value is computed of, element by element: data with their mean, weights, constants, or anything else."""

    GIVEN = enum.auto()
    LEARNT = enum.auto()
    TABLE = enum.auto()
    NUMBERS = enum.auto()  # as tables, but of random bits, integers compared, or scalars
    OTHER = enum.auto()


_NEUTRAL = (_Of.TABLE, _Of.NUMBERS)
# How far back a value is looked at; what is computed of more is a model's.
_FAR = 64


def products_of_given(calls: CallGraph, main: str, learnt: Collection[int]) -> list[ir.Operation]:
    """The products of which one operand is what the function `main` is given, and the other is no activation.

    learnt: indices of the arguments that are weights or state. Calls are looked through where each function is called
    once; values that a loop computes are activations.
    """
    body = calls.body(main)
    given = [each for i, each in enumerate(body.arguments) if i not in learnt and tensor_info(each.type).rank]
    found = _reached(calls, given)
    if not found:
        return []
    finder = _Finder(calls, main, learnt)
    return [op for op in found if finder.is_of_given(op)]


def _reached(calls: CallGraph, given: Iterable[ir.Value]) -> list[ir.Operation]:
    """The products that read what may be given, moved or computed of element by element: few read tokens, say."""
    pending, seen = list(given), set[ir.Value]()
    found: dict[ir.Value, ir.Operation] = {}
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            op, i = use.owner.operation, use.operand_number
            name, handed = op.name, calls.handed_to(op, i)
            if name == _PRODUCT:
                found[op.results[0]] = op
            elif name in _HANDED_ON or is_scale_marker(op):
                pending += op.results
            elif handed is not None:
                pending += handed
            elif name == "stablehlo.while":
                pending += [op.regions[1].blocks[0].arguments[i], op.results[i]]
            elif name == MANUAL:
                pending.append(op.regions[0].blocks[0].arguments[i])
            elif name == "stablehlo.optimization_barrier":
                pending.append(op.results[i])
            elif (name in _MOVES and i == 0) or (name == _SCATTER and i != 1):
                pending += op.results
    return list(found.values())


class _Finder:
    def __init__(self, calls: CallGraph, main: str, learnt: Collection[int]):
        self._origins = Origins(calls)
        self._known: dict[ir.Value, _Of] = {}
        for i, argument in enumerate(calls.body(main).arguments):
            info = tensor_info(argument.type)
            self._known[argument] = _Of.NUMBERS if not info.rank else _Of.LEARNT if i in learnt else _Of.GIVEN

    def is_of_given(self, product: ir.Operation) -> bool:
        """Whether an operand is what the program is given, and the other is no activation."""
        a, b = (self._of(value, product, 0) for value in product.operands)
        return _Of.GIVEN in (a, b) and _Of.OTHER not in (a, b)

    def _of(self, value: ir.Value, reader: ir.Operation, depth: int) -> _Of:
        value = self._origins.of(value, reader).root
        known = self._known.get(value)
        if known is None:
            op = defining_op(value)
            if op is None or depth > _FAR:
                known = _Of.OTHER
            elif op.name == "stablehlo.optimization_barrier":
                known = self._of(op.operands[ir.OpResult(value).result_number], op, depth + 1)
            elif op.name in BRANCHES:
                ways = yielded(op, ir.OpResult(value).result_number)
                kinds = {self._of(each, op, depth + 1) for each in ways}
                known = kinds.pop() if len(kinds) == 1 else _Of.OTHER
            else:
                known = _Of.OTHER if len(op.results) > 1 else self._result(op, depth + 1)
            self._known[value] = known
        return known

    def _result(self, op: ir.Operation, depth: int) -> _Of:
        source = op.operands[0] if len(op.operands) else None
        if source is None or has(op.name, Trait.CONSTANT):
            return _Of.TABLE
        if op.name in _NUMBERS:
            return _Of.NUMBERS
        if op.name in _MOVES or is_scale_marker(op):
            return _Of.NUMBERS if tensor_info(source.type).element == "i1" else self._of(source, op, depth)
        if op.name == _PRODUCT or op.name in _ADDS_UP:
            return _Of.LEARNT if self._parts(op, depth, {_Of.OTHER, _Of.GIVEN}) == {_Of.LEARNT} else _Of.OTHER
        if op.name not in _BY_PLACES:
            return _Of.OTHER
        joins = op.name in _ASSEMBLES
        parts = self._parts(op, depth, {_Of.GIVEN} if joins else {_Of.OTHER})
        if joins and _Of.GIVEN in parts:
            return _Of.GIVEN
        if _Of.OTHER in parts:
            return _Of.OTHER
        whole = parts.difference(_NEUTRAL)
        if not whole:
            return _Of.TABLE if parts == {_Of.TABLE} else _Of.NUMBERS
        is_raw = len(whole) == 1 and not (_Of.GIVEN in whole and _is_looked_after(op, parts))
        return whole.pop() if is_raw else _Of.OTHER

    def _parts(self, op: ir.Operation, depth: int, enough: set[_Of]) -> set[_Of]:
        """What operands of the result's kind, floats or integers, are of: up to the first of some kinds."""
        is_float = tensor_info(op.results[0].type).is_float
        parts: set[_Of] = set()
        for value in op.operands:
            if tensor_info(value.type).is_float == is_float:
                parts.add(self._of(value, op, depth))
                if parts & enough:
                    break
        return parts


def _is_looked_after(op: ir.Operation, parts: set[_Of]) -> bool:
    """Whether an operation bounds what is given, takes something off it, or adds what was chosen before."""
    if op.name == "stablehlo.add":
        return _Of.TABLE in parts
    return op.name == "stablehlo.subtract" or has(op.name, Trait.BOUNDED)
