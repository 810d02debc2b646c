"""Compile-time facts of plain values: constants and what data movement and simple arithmetic makes of them.

The facts are found by walking back from a plain value when a scaled one meets it, so that subgraphs that never
meet a scaled value cost nothing.
"""

import dataclasses
import math
from collections.abc import Callable

from scalify_hlo import budget
from scalify_hlo.analysis.calls import enters_unchanged, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import carried_by
from scalify_hlo.module.constants import BINARY, UNARY, moments_of_iota, read_dense, rounded
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.rules.sizing import of_facts
from scalify_hlo.rules.values import UNKNOWN, PlainFacts
from scalify_hlo.size.algebra import Algebra, Size
from scalify_hlo.size.estimate import UNKNOWN as UNSIZED
from scalify_hlo.size.estimate import size_of
from scalify_hlo.size.laws.functions import mask
from scalify_hlo.size.masks import is_term, share_of
from scalify_hlo.size.moments import Moments, of_constant, of_integers
from scalify_hlo.size.view import View
from scalify_hlo.types import NARROW_INTEGERS, tensor_info

# Operations that rearrange or repeat elements: a splat stays the same splat.
_MOVES = names(Trait.MOVES, without=Trait.COLLECTIVE)
_DEPTH = 12


class FactFinder:
    """Facts of the plain values of one function. Function arguments may come with facts from their caller."""

    def __init__(
        self, callee: Callable[[ir.Operation], ir.Operation | None] = lambda _: None, *, numbers_only: bool = False
    ) -> None:
        self.callee = callee  # the function that a call refers to, if it is known
        self.numbers_only = numbers_only  # no moments by the laws of size
        self.known: dict[ir.Value, PlainFacts] = {}
        # How many operations were looked back at from values that nothing was found of, where there were more.
        self._looked_back: dict[ir.Value, int] = {}
        self._cut_short = False  # whether that is so of the value that is looked at
        # Journals of what was learnt in rewritings that may be taken back, innermost last.
        self.learnt: list[list[ir.Value]] = []

    def of(self, value: ir.Value, depth: int = _DEPTH) -> PlainFacts:
        """What is known of a plain value; UNKNOWN for block arguments and opaque operations."""
        found = self.known.get(value)
        if found is not None:
            return found
        if depth <= self._looked_back.get(value, 0):
            self._cut_short = True
            return UNKNOWN
        before, self._cut_short = self._cut_short, False
        found = self._derive(value, depth)
        if found is UNKNOWN and self._cut_short:  # by this many operations: it may be known to who asks from nearer
            self._looked_back[value] = depth
        else:
            self.known[value] = found
            self._cut_short = before
        if self.learnt:
            self.learnt[-1].append(value)
        return found

    def forget(self, value: ir.Value) -> None:
        """Forget a value that is going to be erased."""
        self.known.pop(value, None)
        self._looked_back.pop(value, None)

    def numbers(self) -> "FactFinder":
        """A finder of numbers that knows the same of arguments: what it learns before a rewriting stays out of it."""
        other = FactFinder(self.callee, numbers_only=True)
        other.known = {value: facts for value, facts in self.known.items() if isinstance(value, ir.BlockArgument)}
        return other

    def number(self, value: ir.Value) -> float | None:
        """The number that all elements of a plain value equal, if it is known."""
        return self.of(value).splat

    def _derive(self, value: ir.Value, depth: int) -> PlainFacts:
        owner = value.owner
        if isinstance(owner, ir.Block):
            entering = enters_unchanged(value)
            return UNKNOWN if entering is None else self.of(entering, depth - 1)
        op = owner.operation
        name = op.name
        if name == "stablehlo.constant":
            return _of_dense(op)
        if name in _MOVES:
            return self.of(op.operands[0], depth - 1)
        if name == "stablehlo.reduce_precision":
            facts = self.of(op.operands[0], depth - 1)
            return UNKNOWN if facts is UNKNOWN else dataclasses.replace(facts, splat=None)  # nearly the same number
        carried = carried_by(value)
        if carried is not None:
            return self.of(carried, depth)
        if name == "stablehlo.convert":
            return self._of_convert(op.operands[0], value, depth)
        if name == "stablehlo.iota":
            return _of_iota(op, value)
        if name == "func.call":
            return self._of_call(op, value, depth)
        if name in UNARY:
            x = self.of(op.operands[0], depth - 1)
            if x.splat is not None:
                return _splat(UNARY[name](x.splat), value)
        if name in BINARY:
            x, y = self.of(op.operands[0], depth - 1).splat, self.of(op.operands[1], depth - 1).splat
            if x is not None and y is not None:
                return _splat(BINARY[name](x, y), value)
        return UNKNOWN if self.numbers_only else self._by_law(op, value, depth)

    def _by_law(self, op: ir.Operation, value: ir.Value, depth: int) -> PlainFacts:
        """By the law of size, of an operation whose operands are all known."""
        if not len(op.operands):
            return UNKNOWN
        sizes: list[Size] = []
        for operand in op.operands:
            info = tensor_info(operand.type)
            facts = UNKNOWN if info.element == "i1" else self.of(operand, depth - 1)
            if facts is UNKNOWN:
                if info.carries_scale:
                    return UNKNOWN
                # int8 x int8 -> int32: sums of products of numbers of up to 127
                if info.element in NARROW_INTEGERS:
                    facts = PlainFacts(moments=of_integers(info.element))
            sizes.append(mask(share_of(operand)) if info.element == "i1" else of_facts(facts))
        view = View(op, op.name, sizes, Algebra(), {}, {}, 0.0)
        view.index = ir.OpResult(value).result_number
        size = size_of(view)
        if size is UNSIZED or size.is_indifferent:
            return UNKNOWN
        # Zeros and a number that stands for infinity, (1 - p) * -1e9, are a mask: at the scale of their RMS what they
        # are added to would be 0.
        if size.moments.rms >= budget.MASK and not is_term(value, self.callee):
            return UNKNOWN
        # A law's number is one for the size: of a mask of zeros and -1e4 it is -1e4. Nor are all elements then alike.
        return PlainFacts(moments=size.moments)

    def _of_call(self, op: ir.Operation, value: ir.Value, depth: int) -> PlainFacts:
        """Of a result of a function, found in its body given what is known of the arguments."""
        function = self.callee(op)
        if function is None:
            return UNKNOWN
        block = function.regions[0].blocks[0]
        body = FactFinder(self.callee, numbers_only=self.numbers_only)
        for argument, operand in zip(block.arguments, op.operands, strict=True):
            body.known[argument] = self.of(operand, depth - 1)
        found = body.of(terminator(block).operands[ir.OpResult(value).result_number], depth - 1)
        self._cut_short |= body._cut_short
        return found

    def _of_convert(self, source: ir.Value, value: ir.Value, depth: int) -> PlainFacts:
        facts = self.of(source, depth - 1)
        if facts.splat is not None:
            rounded = _splat(facts.splat, value)
            # 1e-8 becomes 0 in f16, but 1.34 * 2^-27 need not: a constant that its type cannot hold is kept.
            lost = rounded.indifferent and not facts.indifferent and tensor_info(value.type).is_narrow
            return PlainFacts(facts.splat, False, of_constant(facts.splat)) if lost else rounded
        if tensor_info(source.type).element == "i1":
            # A mask of zeros and ones.  # E[x^2] = E[x] = share of ones
            share = share_of(source)
            few = share < budget.SPARSE
            return PlainFacts(moments=Moments(math.sqrt(share), share, True, share=share if few else 1.0))
        if facts is UNKNOWN:
            integers = of_integers(tensor_info(source.type).element)
            return UNKNOWN if integers is None else PlainFacts(moments=integers)
        return facts


def _splat(number: float, value: ir.Value) -> PlainFacts:
    """Facts of a tensor whose elements all equal `number`, rounded to its element type; of integers toward zero."""
    held = rounded(number, tensor_info(value.type).element)
    if held is None:
        return UNKNOWN
    number = held
    indifferent = number == 0 or not math.isfinite(number)
    return PlainFacts(float(number), indifferent, None if indifferent else of_constant(number))


def _of_dense(op: ir.Operation) -> PlainFacts:
    found = read_dense(op)
    if not found.is_read:
        return UNKNOWN
    if found.splat is None:
        return PlainFacts(moments=found.moments, indifferent=found.moments is None)
    indifferent = found.splat == 0 or not math.isfinite(found.splat)
    return PlainFacts(found.splat, indifferent, None if indifferent else of_constant(found.splat))


def _of_iota(op: ir.Operation, value: ir.Value) -> PlainFacts:
    info = tensor_info(value.type)
    size = info.shape[int(ir.IntegerAttr(op.attributes["iota_dimension"]).value)]
    if size <= 1:
        return UNKNOWN if size < 0 else _splat(0.0, value)
    return PlainFacts(moments=moments_of_iota(size))
