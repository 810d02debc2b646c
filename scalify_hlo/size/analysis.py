"""How large every value of a module is, before anything is rewritten: a walk over the program that changes nothing.

Every float argument of the public function is a source, of a size that only the run knows. Calls are followed once for
each distinct set of operand sizes, branches are joined, loops iterated until their carried sizes are known:

- an iteration that leaves them as they are has settled;
- squares that grow by the same amount each time are a sum over the iterations;
- squares that grow by less each time settle at the limit of the geometric series (a moving average);
- what grows by more each time is held at the size that it entered with.

Blocks that are recognised as a whole (`scalify_hlo.recognition`) have laws of their own, which replace the estimates.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.accumulation import iterations
from scalify_hlo.analysis.calls import CallGraph, callee_name, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.recognition import find_laws
from scalify_hlo.recognition.laws import Law
from scalify_hlo.size.algebra import Algebra, Size, inverse, product
from scalify_hlo.size.estimate import MASK, UNKNOWN, size_of
from scalify_hlo.size.moments import Moments
from scalify_hlo.size.view import View
from scalify_hlo.types import tensor_info

__all__ = ["Frame", "SizeAnalysis"]

# How often a loop's body is walked to see how the sizes that it carries change.
_ROUNDS = 3
# Loops in loops deeper than this are walked once for each walk of what is around them.
_DEEP = 2


@dataclasses.dataclass
class Frame:
    """The sizes of one call of a function: of its values, and the frames of the calls in it."""

    sizes: dict[ir.Value, Size] = dataclasses.field(default_factory=dict[ir.Value, Size])
    calls: dict[ir.Operation, "Frame"] = dataclasses.field(default_factory=dict[ir.Operation, "Frame"])
    blocks: dict[ir.Value, str] = dataclasses.field(default_factory=dict[ir.Value, str])
    results: list[Size] = dataclasses.field(default_factory=list[Size])


class SizeAnalysis:
    """The sizes of the values of a module, which must not change meanwhile.

    sources: sizes of arguments of the public function that are not to be sources of their own, by index.
    """

    def __init__(self, module: ir.Module, public: ir.Operation, sources: Mapping[int, Size] | None = None,
                 algebra: Algebra | None = None):  # fmt: skip
        self.algebra = algebra or Algebra()
        self._calls = CallGraph(module)
        self._known: dict[tuple[str, tuple[Size, ...]], Frame] = {}
        self._block_laws: dict[ir.Block, dict[ir.Value, Law]] = {}
        self._depth = 0
        self._iterated: dict[ir.Value, int | None] = {}
        block = public.regions[0].blocks[0]
        given = sources or {}
        arguments = [given.get(i) or self._argument(i, a) for i, a in enumerate(block.arguments)]
        self.main = self._function(block, arguments)

    def _argument(self, index: int, argument: ir.Value) -> Size:
        info = tensor_info(argument.type)
        if info.carries_scale:
            return self.algebra.source(f"s{index}")
        return MASK if info.element == "i1" else UNKNOWN

    def callee(self, op: ir.Operation) -> ir.Operation | None:
        """The function that a call refers to."""
        name = callee_name(op)
        return None if name is None else self._calls.functions.get(name)

    # --- functions and blocks ---------------------------------------------------------------------------------

    def _function(self, block: ir.Block, arguments: Sequence[Size]) -> Frame:
        frame = Frame()
        frame.results = self._block(block, arguments, frame)
        return frame

    def _block(self, block: ir.Block, arguments: Sequence[Size], frame: Frame) -> list[Size]:
        """The sizes of what a block returns; those of its values go into the frame."""
        frame.sizes.update(zip(block.arguments, arguments, strict=True))
        operations = [op.operation for op in block.operations]
        known = self._block_laws.get(block)
        if known is None:
            known = self._block_laws[block] = find_laws(operations)
        for op in operations[:-1]:
            found = self._operation(op, frame)
            for result, size in zip(op.results, found, strict=True):
                law = known.get(result) if known else None
                if law is not None:
                    frame.blocks[result] = law.block
                    size = _of_block(law, frame, size)
                frame.sizes[result] = size
        return [frame.sizes.get(value, UNKNOWN) for value in operations[-1].operands]

    def _operation(self, op: ir.Operation, frame: Frame) -> list[Size]:
        """The sizes of an operation's results."""
        name = op.name
        sizes = [frame.sizes.get(operand, UNKNOWN) for operand in op.operands]
        function = self.callee(op)
        if function is not None:
            return self._call(op, function, sizes, frame)
        match name:
            case "stablehlo.while":
                return self._loop(op, sizes, frame)
            case "stablehlo.case" | "stablehlo.if":
                return self._branches(op, frame)
            case "sdy.manual_computation":
                return self._block(op.regions[0].blocks[0], sizes, frame)
            case _:
                pass
        view = View(op, name, sizes, self.algebra, self._iterated, frame.sizes)
        found: list[Size] = []
        for index in range(len(op.results)):
            view.index = index
            found.append(size_of(view))
        return found

    def _call(self, op: ir.Operation, function: ir.Operation, sizes: list[Size], frame: Frame) -> list[Size]:
        for operand, argument in zip(op.operands, function.regions[0].blocks[0].arguments, strict=True):
            if operand in self._iterated:  # a buffer that is written in a function
                self._iterated[argument] = self._iterated[operand]
        key = callee_name(op) or "", tuple(sizes)
        if key not in self._known:
            self._known[key] = self._function(function.regions[0].blocks[0], sizes)
        frame.calls[op] = self._known[key]
        return self._known[key].results

    def _branches(self, op: ir.Operation, frame: Frame) -> list[Size]:
        each = [self._block(region.blocks[0], [], frame) for region in op.regions]
        return [self._either(members) for members in zip(*each, strict=True)]

    def _either(self, members: Sequence[Size]) -> Size:
        """The size of one of several values: the largest, where it is known which that is."""
        live = [m for m in dict.fromkeys(members) if not m.is_indifferent]
        if not live:
            return members[0]
        if all(m.factors == live[0].factors for m in live):
            return max(live, key=lambda m: m.moments.rms)
        return self.algebra.sum(live)

    # --- loops ------------------------------------------------------------------------------------------------

    def _loop(self, op: ir.Operation, entering: list[Size], frame: Frame) -> list[Size]:
        condition, body = (region.blocks[0] for region in op.regions)
        count = iterations(op, lambda value: _number(value, frame))
        returned = list(terminator(body).operands)
        self._iterated.update(dict.fromkeys(body.arguments, count))
        kept = [value == argument for value, argument in zip(returned, body.arguments, strict=True)]
        start = [
            size if same or size.splat is None else _without_number(size)
            for size, same in zip(entering, kept, strict=True)
        ]
        history = [start]
        rounds = _ROUNDS if self._depth < _DEEP else 1
        self._depth += 1
        for _ in range(rounds if count is None else max(1, min(rounds, count))):
            after = self._block(body, history[-1], frame)
            history.append([a if same else b for a, b, same in zip(start, after, kept, strict=True)])
            if history[-1] == history[-2]:
                break
        settled = [self._settled([sizes[i] for sizes in history], count) for i in range(len(entering))]
        inside = [a if same else b for a, b, same in zip(start, settled, kept, strict=True)]
        self._block(condition, inside, frame)
        if inside != history[-2]:  # else what the body has been walked with last
            self._block(body, inside, frame)
        self._depth -= 1
        return inside

    def _settled(self, sizes: list[Size], count: int | None) -> Size:
        """What a carried size becomes, from those of the first iterations.

        # v_1, v_2, v_3 squares: v_n = v_1 + (n - 1) d for equal steps d; v_3 + d r / (1 - r) for steps d r^k, r < 1
        """
        last = sizes[-1]
        if len(sizes) <= _ROUNDS or last.is_indifferent:
            return last
        at_one = [self.algebra.at_one(size) for size in sizes]
        far = not all(math.isfinite(n) and abs(n) < 500 for n in at_one[1:])
        if far or abs(at_one[-1] - at_one[-2]) <= budget.SETTLED:
            return last
        one, two, three = (4.0**n for n in at_one[1:])
        before, step = two - one, three - two
        if step <= 0 or before <= 0:
            return last
        ratio = step / before
        if ratio > budget.GROWING:
            return sizes[1] if sizes[0].is_indifferent else sizes[0]
        if ratio >= 1 - budget.STEADY:
            return last.times(math.sqrt(max(1.0, (one + ((count or _ROUNDS) - 1) * before) / three)))
        terms = math.inf if count is None else max(0, count - _ROUNDS)
        limit = three + step * ratio / (1 - ratio) * (1 - ratio**terms)
        return last.times(math.sqrt(limit / three))


def _of_block(law: Law, frame: Frame, estimate: Size) -> Size:
    """The size of a recognised block's result, relative to those of other values; the estimate where one is missing."""
    if law.moments is None or estimate.is_indifferent:
        return estimate
    factors, rms = (), 1.0
    for values, power in ((law.like, 1), (law.over, -1)):
        for value in values:
            found = frame.sizes.get(value)
            if found is None or found.is_indifferent or not 0 < found.moments.rms < math.inf:
                return estimate
            factors = product(factors, found.factors if power > 0 else inverse(found.factors))
            rms *= found.moments.rms**power
    moments = law.moments
    nonnegative = moments.nonnegative or estimate.moments.nonnegative
    return Size(factors, Moments(moments.rms * rms, moments.mean * rms, nonnegative))


def _number(value: ir.Value, frame: Frame) -> float | None:
    found = frame.sizes.get(value)
    if found is not None:
        return found.splat
    owner = value.owner  # a constant of the condition, which has not been walked
    if isinstance(owner, ir.Block) or owner.operation.name != "stablehlo.constant":
        return None
    return size_of(View(owner.operation, "stablehlo.constant", [], Algebra(), {}, {})).splat


def _without_number(size: Size) -> Size:
    """A number that changes from one iteration to the next: zeros stay what they are at first."""
    return size if size.is_zero else Size((), dataclasses.replace(size.moments))
