"""Of how many factors a value is a product: each leaves something out of the estimate of its size.

# E[x^2 y^2] = E[x^2] E[y^2] where x^2 and y^2 have nothing to do with each other, as tensors of one program have

A loss that is written out by a handful of operations gives a gradient of a few factors: differences, probabilities. One
that is a simulation, a characteristic function or a spline gives one of dozens, and each is half an octave or so off,
most of them to the same side. Numbers that are constants are no factors. What a product of matrices gives counts anew,
and so do bounded functions; what is measured has none. What a loop multiplies in each iteration has any number of them,
and so has a quotient by what may be all but 0.

# c' = f c: of n iterations f^n; c' = c + f: a sum of what has one factor
# d arccosh(x) = dx / sqrt(x^2 - 1): 2^9.5 at 1 + 2^-20
"""

from collections.abc import Iterable

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, defining_op, enters_unchanged, loops_around, terminator, walk
from scalify_hlo.analysis.intervals import divided_by, vanishing_differences
from scalify_hlo.analysis.multiplied_in_turns import multiplied_in_turns
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.identity import composite_name
from scalify_hlo.module.traits import BRANCHES, CARRYING, Trait, has
from scalify_hlo.size.size_errors import BOUNDED, CONTRACTIONS, EXPONENTIALS, POWERS
from scalify_hlo.types import tensor_info

# Attribute of a marker that sets the scale that was measured of a value: there was no telling how large it is.
ANY_SIZE = "scalify.any_size"
_PRODUCTS = ("stablehlo.multiply", "stablehlo.divide")
# As many as are told apart, and what a loop carries has.
_MOST, _CARRIED = 1000.0, 500.0


def of_any_size(module: ir.Module, calls: CallGraph, gradients: Iterable[ir.Value]) -> set[ir.Value]:
    """What may be of any size, and what it is computed of as far as that may be so too: what is measured therefore,
    and those of `gradients`, which enter an optimiser, that a loop multiplies in each iteration.

    The module has the attribute of the markers, if there are any, and loses it.
    """
    factors = Factors(calls)
    found = [value for value in gradients if factors.of(value) > _CARRIED and not loops_around(value)]
    if ANY_SIZE in module.operation.attributes:
        del module.operation.attributes[ANY_SIZE]
        operations = (op for function in calls.functions.values() for op in walk(function))
        found += [op.operands[0] for op in operations if _is_of_any_size(op)]
    return factors.behind(found)


def _is_of_any_size(op: ir.Operation) -> bool:
    attributes = op.attributes.get("composite_attributes") if op.name == "stablehlo.composite" else None
    return attributes is not None and ANY_SIZE in ir.DictAttr(attributes)


class Factors:
    """Looks back from values: of the rest of a program nothing is read. Functions are called once each."""

    def __init__(self, calls: CallGraph):
        self._calls = calls
        self._known = dict.fromkeys(multiplied_in_turns(calls), _MOST)

    def of(self, value: ir.Value) -> float:
        """How many factors a float value has, `_MOST` at most."""
        pending = [value]
        while pending:
            current = pending[-1]
            if current in self._known:
                pending.pop()
                continue
            sources = self._sources(current)
            missing = [source for source in sources if source not in self._known]
            if missing:
                pending += missing
            else:
                self._known[current] = min(self._count(current, sources), _MOST)
        return self._known[value]

    def are_too_many(self, value: ir.Value) -> bool:
        """Whether a value has more factors than f16 bears; those that an iteration begins with are not known."""
        count = self.of(value)
        return count > budget.FACTORS_IN_F16 and (count < _CARRIED or not loops_around(value))

    def behind(self, values: Iterable[ir.Value]) -> set[ir.Value]:
        """These, and what they are computed of as far as it has more factors than f16 bears, or was only moved.

        What a loop gives they have as it is.
        """
        found, pending = set[ir.Value](), list(values)
        while pending:
            value = pending.pop()
            if value in found:
                continue
            found.add(value)
            op = defining_op(value)
            moves = op is not None and (op.name in CARRYING or has(op.name, Trait.MOVES | Trait.ASSEMBLES))
            if op is None or op.name != "stablehlo.while":
                sources = self._sources(value)
                pending += [source for source in sources if moves or self.of(source) > budget.FACTORS_IN_F16]
        return found

    def _sources(self, value: ir.Value) -> list[ir.Value]:
        """The float values that one is computed of; none where counting begins anew."""
        op = defining_op(value)
        if op is not None and (
            op.name in CONTRACTIONS or op.name in BOUNDED or op.name in BRANCHES or composite_name(op)
        ):
            return []
        across = self._calls.across(value)
        if across is not None:
            return across
        if op is None:
            entering = enters_unchanged(value)
            return [] if entering is None else [entering]
        if op.name == "stablehlo.while":
            return [terminator(op.regions[1].blocks[0]).operands[ir.OpResult(value).result_number]]
        operands = list(op.operands)[1:] if op.name == "stablehlo.select" else list(op.operands)
        return [operand for operand in operands if tensor_info(operand.type).carries_scale]

    def _count(self, value: ir.Value, sources: list[ir.Value]) -> float:
        counts = [self._known[source] for source in sources]
        op = defining_op(value)
        if op is None and self._calls.across(value) is None:
            return counts[0] if counts else _CARRIED
        if op is None or not counts:
            return max(counts, default=0.0)
        if op.name == "stablehlo.while":
            return counts[0] if counts[0] != _CARRIED else 0.0
        divisor = divided_by(op)
        if divisor is not None and vanishing_differences(divisor):
            return _MOST
        if op.name in _PRODUCTS:
            return sum(counts) + (
                not any(number_behind(operand, converted=True) is not None for operand in op.operands)
            )
        if op.name in EXPONENTIALS:
            return 1.0
        if op.name in POWERS:
            return abs(POWERS[op.name]) * counts[0]
        return max(counts)
