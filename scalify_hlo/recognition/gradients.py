"""The gradient of a recognised block: what is computed of one cotangent and the values of the block alone."""

import dataclasses
from collections.abc import Container

from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import TABLE, Trait, names, of
from scalify_hlo.recognition.blocks import Block
from scalify_hlo.recognition.graph import Graph, Node, shape_of
from scalify_hlo.recognition.laws import SLOPE, Law, averages, probabilities, rows
from scalify_hlo.size.moments import UNIT, Moments

_POINTWISE = names(
    Trait.ELEMENTWISE | Trait.RESHAPES | Trait.CARRIES, without=Trait.BODY | Trait.BOUND_TO_TYPE | Trait.COMPLEX
)
_MULTIPLY, _DIVIDE = "stablehlo.multiply", "stablehlo.divide"
# Linear in all operands together: sums, what is moved or rounded. The `reduce` of a gradient is a sum.
_LINEAR = {name for name, row in TABLE.items() if row.linear == ((0,),) and row.degrees == (1,)} | {
    "stablehlo.add", "stablehlo.subtract", "stablehlo.reduce"
}  # fmt: skip
# More values than this a gradient does not have.
_MOST = 64


@dataclasses.dataclass(frozen=True)
class Part:
    """A value of a gradient.

    own: one of the block's own values took part; of a softmax's, its sum and an exponential.
    summed: of a softmax's, its sum did.
    direct: the cotangent is a term of it, not multiplied by such a one.
    averaged: the cotangent takes part by its sums alone.
    """

    own: bool
    summed: bool
    direct: bool
    averaged: bool


class _Region:
    """The values that depend on one cotangent and on a block."""

    def __init__(self, block: Block, graph: Graph):
        self.block = block
        self.graph = graph
        self._before: _Region | None = None
        argument = [] if block.argument is None else [block.argument, graph.bare(block.argument)]
        # value -> whether it is a value of the block's, or computed of such alone
        self._own: dict[ir.Value, bool] = dict.fromkeys([*argument, *block.inner], True)

    def own(self, value: ir.Value, depth: int = 0) -> bool:
        """Whether a value is computed of the block's and of constants alone."""
        known = self._own.get(value)
        if known is None:
            graph = self.graph
            known = graph.constant(value) is not None
            if not known and depth < 12:
                node = graph.node(value)
                known = node is not None and self._fits(node) and all(self.own(v, depth + 1) for v in node.operands)
            self._own[value] = known
        return known

    def _unnormalised(self, value: ir.Value) -> bool:
        """Whether a value of a softmax is computed of the exponentials alone."""
        if not self.block.exponential:
            return False
        if self._before is None:
            exponentials = dataclasses.replace(self.block, law=Law("exponential", None), inner=self.block.inner[:1])
            self._before = _Region(exponentials, self.graph)
            self._before._own |= dict.fromkeys(self.block.inner[1:], False)
        return self._before.own(value)

    def _is_whole(self, value: ir.Value) -> bool:
        """Whether a value is no number for each row alone; of a softmax, an exponential or a probability."""
        return not self.block.exponential or shape_of(self.graph.bare(value)) == shape_of(self.block.inner[0])

    def _fits(self, node: Node) -> bool:
        if node.name == "stablehlo.reduce":
            found = self.graph.sum_of(node.result)
            return found is not None and found[1] in (1, self.block.count)
        return node.name in _POINTWISE

    def cotangents(self) -> list[ir.Value]:
        """The values that the block's own are first multiplied by or divide."""
        found: dict[ir.Value, None] = {}
        pending = list(self.block.inner)
        seen = set(pending)
        while pending and len(seen) <= len(self.block.inner) + _MOST:
            for user in self.graph.users(pending.pop(0)):
                others = [operand for operand in user.operands if not self.own(operand)]
                if not others:
                    result = user.result
                    if result not in seen and self._fits(user):
                        seen.add(result)
                        pending.append(result)
                elif len(others) == 1 and (
                    user.name == _MULTIPLY or (user.name == _DIVIDE and user.operands[0] == others[0])
                ):
                    found[self._first(others[0])] = None
        return list(found)

    def _first(self, value: ir.Value) -> ir.Value:
        """What a value is before it was first combined with one of the block's."""
        node = self.graph.node(value)
        if node is None or not self._fits(node):
            return value
        others = [operand for operand in node.operands if not self.own(operand)]
        if len(others) != 1 or not (node.name in _LINEAR or node.name == _MULTIPLY or _is_linear(node, others)):
            return value
        first = self._first(others[0])
        combined = any(self.own(operand) and self.graph.constant(operand) is None for operand in node.operands)
        return value if first == others[0] and not combined else first

    def grown(self, cotangent: ir.Value) -> dict[ir.Value, "Part"]:
        """The values computed of the cotangent and the block alone."""
        found = {cotangent: Part(own=False, summed=False, direct=True, averaged=False)}
        pending = [cotangent]
        while pending and len(found) <= _MOST:
            for node in self.graph.uses(pending.pop(0)):
                if node is None or len(node.results) != 1 or node.result in found or not self._fits(node):
                    continue
                parts: list[Part] = []
                added: list[ir.Value] = []
                for operand in node.operands:
                    part = found.get(operand)
                    if part is not None:
                        parts.append(part)
                    elif not self.own(operand):
                        break
                    elif self.graph.constant(operand) is None:
                        added.append(operand)
                else:
                    if node.name in _LINEAR or (node.name == _MULTIPLY and len(parts) == 1) or _is_linear(node, found):
                        found[node.result] = self._part(node.name, parts, added)
                        pending.append(node.result)
        return found if len(found) <= _MOST else {}

    def _part(self, name: str, parts: list[Part], added: list[ir.Value]) -> Part:
        """What the result of an operation is, from its operands.

        parts: of those that are values of the gradient. added: the others that are no constants, the block's own.
        """
        own = summed = direct = False
        averaged = True
        for part in parts:
            own, summed, direct = own or part.own, summed or part.summed, direct or part.direct
            averaged = averaged and part.averaged
        if added:
            summed = summed or any(not self._unnormalised(v) for v in added)
            own = own or (summed and any(self._is_whole(v) for v in added))
            direct = direct and name not in ("stablehlo.multiply", "stablehlo.divide", "stablehlo.reduce")
        reduced = name == "stablehlo.reduce"
        return Part(own and not (self.block.exponential and reduced), summed, direct, averaged or reduced)


def gradient_laws(block: Block, graph: Graph) -> dict[ir.Value, Law]:
    """The laws of what leaves the gradient of a block, and of the row sums in a softmax's."""
    region = _Region(block, graph)
    shape = shape_of(block.inner[0] if block.argument is None else block.argument)
    mine = {*block.inner, *([] if block.result is None else [block.result])}
    laws: dict[ir.Value, Law] = {}
    for cotangent in region.cotangents():
        values = region.grown(cotangent)
        quotient = block.name == "softmax" and not (block.result and _uses(values, cotangent, block.result, graph))
        for value, part in values.items():
            node = graph.node(value)
            if node is None or value in mine:
                continue
            if part.own and shape_of(value) == shape:
                if any(user is None or user.result not in values for user in graph.uses(value)):  # it leaves
                    laws[value] = _law(block, cotangent, part)
            elif quotient and part.summed and node.name == "stablehlo.reduce" and _terms(value, graph) == block.count:
                laws[value] = Law(f"gradient of {block.name}", rows(block.count), (cotangent,))
    return laws


def _is_linear(node: Node, values: Container[ir.Value]) -> bool:
    """Whether an operation is linear in its operands among `values`, as a gradient is in its cotangent.

    # x gelu(x) / c is no gradient of gelu, nor is exp(c) gelu(x)
    """
    positions = {i for i, operand in enumerate(node.operands) if operand in values}
    return any(positions.issubset(group) for group in of(node.name).linear)


def _terms(value: ir.Value, graph: Graph) -> int:
    found = graph.sum_of(value)
    return found[1] if found is not None else 0


def _uses(values: dict[ir.Value, Part], cotangent: ir.Value, result: ir.Value, graph: Graph) -> bool:
    """Whether some of the values are computed of the result."""
    nodes = [graph.node(value) for value in values if value != cotangent]
    return any(graph.bare(operand) == result for node in nodes if node is not None for operand in node.operands)


def _law(block: Block, cotangent: ir.Value, part: Part) -> Law:
    name = f"gradient of {block.name}"
    if block.name == "logsumexp" and part.direct:  # log_softmax: c - p sum(c)
        return Law(name, UNIT, (cotangent,))
    if block.exponential:
        centred = block.name == "softmax"
        moments = centred_times(block.count) if centred else Moments(probabilities(block.count).rms)  # p c
        return Law(name, moments, (cotangent,))
    if block.name == "normalisation":
        moments = averages(block.count) if part.averaged else UNIT
        if block.inverse is not None:
            return Law(name, moments, (cotangent, block.inverse))
        if block.deviation is not None:
            return Law(name, moments, (cotangent,), (block.deviation,))
        return Law(name, None)
    return Law(name, SLOPE, (cotangent,))


def centred_times(count: int) -> Moments:
    """Moments of the gradient of a softmax over `count` elements, relative to its cotangent.

    # p (c - sum(p c)): c/N if all p are equal, c / (2 sqrt(N)) if two are 1/2, 0 if one is 1; half-way 0.7 c N^(-3/4)

    Half of E[c^2] is taken to be common to a row, as values of attention have much in common, and cancels: 0.7 of that.
    """
    return Moments(probabilities(count).rms / 2)
