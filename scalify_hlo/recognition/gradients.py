"""The gradient of a recognised block: what is computed of one cotangent and the values of the block alone."""

import dataclasses

from scalify_hlo.bindings import ir
from scalify_hlo.moments import Moments
from scalify_hlo.recognition.blocks import Block
from scalify_hlo.recognition.graph import bare, constant, operation_of, shape_of, sum_of, users
from scalify_hlo.recognition.laws import NORMALISED, SLOPE, Law, averages, probabilities, rows

_POINTWISE = frozenset(
    f"stablehlo.{name}"
    for name in (
        "abs", "add", "broadcast_in_dim", "clamp", "compare", "convert", "cosine", "divide", "exponential", "log",
        "logistic", "maximum", "minimum", "multiply", "negate", "power", "reshape", "rsqrt", "select", "sqrt",
        "subtract", "tanh",
    )
) | {"chlo.square", "func.call"}  # fmt: skip
_COMBINING = frozenset({"func.call", "stablehlo.divide", "stablehlo.multiply"})
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

    def __init__(self, block: Block):
        self.block = block
        self._before: _Region | None = None
        argument = [] if block.argument is None else [block.argument, bare(block.argument)]
        # value -> whether it is a value of the block's, or computed of such alone
        self._own: dict[ir.Value, bool] = dict.fromkeys([*argument, *block.inner], True)

    def own(self, value: ir.Value, depth: int = 0) -> bool:
        """Whether a value is computed of the block's and of constants alone."""
        known = self._own.get(value)
        if known is None:
            op = operation_of(value)
            known = constant(value) is not None or (
                op is not None and depth < 12 and self._fits(op) and all(self.own(v, depth + 1) for v in op.operands)
            )
            self._own[value] = known
        return known

    def _unnormalised(self, value: ir.Value) -> bool:
        """Whether a value of a softmax is computed of the exponentials alone."""
        if not self.block.exponential:
            return False
        if self._before is None:
            exponentials = dataclasses.replace(self.block, law=Law("exponential", None), inner=self.block.inner[:1])
            self._before = _Region(exponentials)
            self._before._own |= dict.fromkeys(self.block.inner[1:], False)
        return self._before.own(value)

    def _is_whole(self, value: ir.Value) -> bool:
        """Whether a value is no number for each row alone; of a softmax, an exponential or a probability."""
        return not self.block.exponential or shape_of(bare(value)) == shape_of(self.block.inner[0])

    def _fits(self, op: ir.Operation) -> bool:
        name = op.name
        if name == "stablehlo.reduce":
            found = sum_of(op.results[0])
            return found is not None and found[1] in (1, self.block.count)
        return name in _POINTWISE

    def cotangents(self) -> list[ir.Value]:
        """The values that the block's own are first multiplied by or divide."""
        found: dict[ir.Value, None] = {}
        pending = list(self.block.inner)
        seen = set(pending)
        while pending and len(seen) <= len(self.block.inner) + _MOST:
            for user in users(pending.pop(0)):
                others = [operand for operand in user.operands if not self.own(operand)]
                if not others:
                    result = user.results[0]
                    if result not in seen and self._fits(user):
                        seen.add(result)
                        pending.append(result)
                elif len(others) == 1 and user.name in _COMBINING:
                    found[self._first(others[0])] = None
        return list(found)

    def _first(self, value: ir.Value) -> ir.Value:
        """What a value is before it was first combined with one of the block's."""
        op = operation_of(value)
        if op is None or not self._fits(op):
            return value
        others = [operand for operand in op.operands if not self.own(operand)]
        if len(others) != 1:
            return value
        first = self._first(others[0])
        combined = any(self.own(operand) and constant(operand) is None for operand in op.operands)
        return value if first == others[0] and not combined else first

    def grown(self, cotangent: ir.Value) -> dict[ir.Value, "Part"]:
        """The values computed of the cotangent and the block alone."""
        found = {cotangent: Part(own=False, summed=False, direct=True, averaged=False)}
        pending = [cotangent]
        while pending and len(found) <= _MOST:
            for use in pending.pop(0).uses:
                op = use.owner.operation
                results = op.results
                if len(results) != 1:
                    continue
                result = results[0]
                if result in found or not self._fits(op):
                    continue
                operands = list(op.operands)
                known = [found.get(operand) for operand in operands]
                if all(part or self.own(operand) for part, operand in zip(known, operands, strict=True)):
                    parts = [part for part in known if part]
                    others = [operand for part, operand in zip(known, operands, strict=True) if not part]
                    found[result] = self._part(op, parts, [v for v in others if constant(v) is None])
                    pending.append(result)
        return found if len(found) <= _MOST else {}

    def _part(self, op: ir.Operation, parts: list[Part], added: list[ir.Value]) -> Part:
        """What the result of an operation is, from its operands.

        parts: of those that are values of the gradient. added: the others that are no constants, the block's own.
        """
        name = op.name
        summed = any(part.summed for part in parts) or any(not self._unnormalised(v) for v in added)
        own = any(part.own for part in parts) or (summed and any(self._is_whole(v) for v in added))
        own = own and not (self.block.exponential and name == "stablehlo.reduce")
        kept = not added or name not in ("stablehlo.multiply", "stablehlo.divide", "stablehlo.reduce")
        direct = kept and any(part.direct for part in parts)
        averaged = name == "stablehlo.reduce" or all(part.averaged for part in parts)
        return Part(own, summed, direct, averaged)


def gradient_laws(block: Block) -> dict[ir.Value, Law]:
    """The laws of what leaves the gradient of a block, and of the row sums in a softmax's."""
    region = _Region(block)
    shape = shape_of(block.inner[0] if block.argument is None else block.argument)
    mine = {*block.inner, *([] if block.result is None else [block.result])}
    laws: dict[ir.Value, Law] = {}
    for cotangent in region.cotangents():
        values = region.grown(cotangent)
        quotient = block.name == "softmax" and not (block.result and _uses(values, cotangent, block.result))
        for value, part in values.items():
            op = operation_of(value)
            if op is None or value in mine:
                continue
            leaves = any(
                not use.owner.operation.results or use.owner.operation.results[0] not in values for use in value.uses
            )
            if part.own and shape_of(value) == shape and leaves:
                laws[value] = _law(block, cotangent, part)
            elif (
                quotient
                and part.summed
                and op.name == "stablehlo.reduce"
                and (sum_of(value) or (0, 0))[1] == block.count
            ):
                laws[value] = Law(f"gradient of {block.name}", rows(block.count), (cotangent,))
    return laws


def _uses(values: dict[ir.Value, Part], cotangent: ir.Value, result: ir.Value) -> bool:
    """Whether some of the values are computed of the result."""
    ops = [operation_of(value) for value in values if value != cotangent]
    return any(bare(operand) == result for op in ops if op is not None for operand in op.operands)


def _law(block: Block, cotangent: ir.Value, part: Part) -> Law:
    name = f"gradient of {block.name}"
    if block.name == "logsumexp" and part.direct:  # log_softmax: c - p sum(c)
        return Law(name, NORMALISED, (cotangent,))
    if block.exponential:
        return Law(name, probabilities_times(block.count), (cotangent,))
    if block.name == "normalisation":
        moments = averages(block.count) if part.averaged else NORMALISED
        if block.inverse is not None:
            return Law(name, moments, (cotangent, block.inverse))
        if block.deviation is not None:
            return Law(name, moments, (cotangent,), (block.deviation,))
        return Law(name, None)
    return Law(name, SLOPE, (cotangent,))


# p (c - sum(p c)): no larger than p c
def probabilities_times(count: int) -> Moments:
    """Moments of the gradient of a softmax, relative to its cotangent."""
    return Moments(probabilities(count).rms)
