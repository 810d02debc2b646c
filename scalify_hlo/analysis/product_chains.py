"""Chains of products of matrices that nothing normalises: what leaves one is as far from its estimate as all of them.

# |W g| = r |W| |g|: 1 <= r < 2 of weights whose scale is their size rounded down to a power of two

Twenty layers without a normalisation or a residual stream are 2^10 then, though each is as good as known: it counts how
many there are, and not what they are. So every few products of a chain its value is measured. A sum continues the
shorter chain: that of a residual stream, in a recurrence that of the new input, of a layer its bias. What is divided by
a statistic (of rows, of a batch, of all elements) has the products of that less, which are as far from their estimates:
a normalised value has none, nor has, on the way back, what the layer in front of the normalisation adds. In loops each
iteration starts anew, where the next would have to wait for a statistic.
"""

from collections.abc import Collection, Sequence
from typing import Literal

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import BRANCHES, SUMS, Trait, names

_CONTRACTIONS = names(Trait.CONTRACTS)
_JOINS = frozenset(
    (*SUMS, "stablehlo.concatenate", "stablehlo.select", "stablehlo.pad", "stablehlo.dynamic_update_slice")
)
# Whose size does not follow from their operand's.
_BOUNDED = frozenset(f"stablehlo.{name}" for name in ("exponential", "logistic", "cosine", "sign", "compare"))
_REDUCTIONS = ("stablehlo.reduce", "stablehlo.reduce_window")
_INVERSES = ("stablehlo.rsqrt", "stablehlo.power")

# Looked at though nothing that they read may follow from a product.
_CALLS = names(Trait.CALLS)
_ALWAYS = _CONTRACTIONS | _CALLS | {"stablehlo.while", *BRANCHES}

# Of a value: the products behind it, or None if it follows from none.
_Length = int | None
# A statistic of what was reduced, or the inverse of one, perhaps times parameters; None for other values.
_Kind = Literal["statistic", "inverse"] | None


def long_chains(calls: CallGraph, measured: Collection[ir.Value] = ()) -> dict[ir.Value, ir.Operation]:
    """Operands that have so many products before them that they are to be measured, each with a product that reads it.

    measured: values that are.
    """
    chains = _Chains(calls, measured)
    for name in calls.public:
        block = calls.body(name)
        chains.block(block, [None] * len(block.arguments), in_loop=False)
    return chains.found


class _Chains:
    def __init__(self, calls: CallGraph, measured: Collection[ir.Value]):
        self.found: dict[ir.Value, ir.Operation] = {}
        self._calls = calls
        self._measured = measured
        self._length: dict[ir.Value, int] = {}
        self._kind: dict[ir.Value, _Kind] = {}

    def block(self, block: ir.Block, arguments: Sequence[_Length], *, in_loop: bool) -> list[_Length]:
        """The lengths of what a block returns."""
        known = self._length
        for argument, length in zip(block.arguments, arguments, strict=True):
            if length is not None:
                known[argument] = length
        for child in block.operations:
            op = child.operation
            if not len(op.results) or (op.name not in _ALWAYS and known.keys().isdisjoint(op.operands)):
                continue  # of what follows from no product nothing is noted
            for result, length in zip(op.results, self._of(op, in_loop), strict=True):
                if length is not None:
                    known[result] = 0 if result in self._measured else length
        return [known.get(value) for value in terminator(block).operands]

    def _of(self, op: ir.Operation, in_loop: bool) -> Sequence[_Length]:
        name = op.name
        lengths = [*map(self._length.get, op.operands)]
        callee = self._calls.callee_body(op) if name in _CALLS else None
        if callee is not None:
            for argument, operand in zip(callee.arguments, op.operands, strict=True):
                self._kind[argument] = self._kind.get(operand)
            results = self.block(callee, lengths, in_loop=in_loop)
            for result, returned in zip(op.results, terminator(callee).operands, strict=True):
                self._kind[result] = self._kind.get(returned)
            return results
        if name == "stablehlo.while":
            for region in op.regions:
                self.block(region.blocks[0], [None] * len(op.operands), in_loop=True)
            return [None] * len(op.results)
        if name in BRANCHES:
            branches = [self.block(region.blocks[0], [], in_loop=in_loop) for region in op.regions]
            return [_longest(results) for results in zip(*branches, strict=True)]
        if name in _CONTRACTIONS:
            return [self._product(op, in_loop)]
        if name in _JOINS:
            terms = list(op.operands)[1:] if name == "stablehlo.select" else op.operands
            self._kind[op.results[0]] = self._common_kind(terms)
            shortest: _Length = None
            for term in terms:
                length = self._length.get(term)
                if length is not None and (shortest is None or length < shortest):
                    shortest = length
            return [shortest]
        if name in ("stablehlo.multiply", "stablehlo.divide"):
            return [self._quotient(op, lengths)]
        longest = _longest(lengths)
        if name in _BOUNDED:
            return [None if longest is None else 0]
        if name in _REDUCTIONS:
            kind = "statistic"
        else:
            kind = self._common_kind(op.operands)
            kind = "inverse" if kind == "statistic" and name in _INVERSES else kind
        for result in op.results:
            self._kind[result] = kind
        return [longest] * len(op.results)

    def _product(self, op: ir.Operation, in_loop: bool) -> int:
        """One product more than both operands have behind them, of which the longer chain is measured if that is many.

        Of a weight's gradient these are the errors of both: of what the layer was given, and of its result's gradient.
        """
        while True:
            lengths = [self._length.get(operand) or 0 for operand in op.operands]
            if in_loop or sum(lengths) < budget.PRODUCTS_IN_F16:
                return max(lengths) + 1
            value = op.operands[lengths.index(max(lengths))]
            self.found.setdefault(value, op)
            self._length[value] = 0

    def _quotient(self, op: ir.Operation, lengths: Sequence[_Length]) -> _Length:
        """Of what is divided by a statistic, or multiplied by its inverse, the products that only it has behind it."""
        kinds = [*map(self._kind.get, op.operands)]
        inverse = "statistic" if op.name == "stablehlo.divide" else "inverse"
        for i, (kind, length) in enumerate(zip(kinds, lengths, strict=True)):
            if kind != inverse or kinds[1 - i] == kind or (op.name == "stablehlo.divide" and i == 0):
                continue
            other = lengths[1 - i]
            if other is None:  # parameters and numbers
                self._kind[op.results[0]] = "inverse"
                return length
            return max(0, other - (length or 0))
        self._kind[op.results[0]] = self._common_kind(op.operands)
        return _longest(lengths)

    def _common_kind(self, values: Sequence[ir.Value]) -> _Kind:
        """The kind of all values that follow from products."""
        found: _Kind = None
        for value in values:
            if value in self._length:
                kind = self._kind.get(value)
                if kind is None or found not in (None, kind):
                    return None
                found = kind
        return found


def _longest(lengths: Sequence[_Length]) -> _Length:
    longest: _Length = None
    for each in lengths:
        if each is not None and (longest is None or each > longest):
            longest = each
    return longest
