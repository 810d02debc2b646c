"""chlo.scan: a running reduction along one dimension, with its carries as further results."""

from scalify_hlo.bindings import ir
from scalify_hlo.emit.widening import widened
from scalify_hlo.rules.bodies import open_scale, with_body
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.registry import rule
from scalify_hlo.scale import Scale, round_log2
from scalify_hlo.size.moments import Moments
from scalify_hlo.types import tensor_info

from .regions import on_values


# cumsum(s x) = s cumsum(x);  cummax(s x) = s cummax(x)
@rule("chlo.scan", family="accumulation", law="cumsum(s x) = (s 2^k) (cumsum(x) 2^-k); cummax(s x) = s cummax(x)",
      scale="add: s 2^k, k = floor(log2 sqrt(N)); bodies that keep the scale: s",
      note="other bodies: on values, in f32 or wider")  # fmt: skip
def scan(r: OpRewrite) -> None:
    floats = [i for i in range(len(r.inputs)) if r.info(i).carries_scale]
    members = tuple(r.scaled(i) for i in floats)
    indifferent = all(member.indifferent for member in members)
    moments = next((m.moments for m in members if not m.indifferent), members[0].moments)
    if _is_sum(r.op):
        return _running_sum(r, r.aligned(floats), r.rewriter.moments(moments), indifferent)
    opened = open_scale(r.rewriter)
    arguments = [opened if i in floats else None for i in range(len(r.inputs))]
    expected = [opened if tensor_info(value.type).carries_scale else None for value in r.op.results]
    copy = with_body(r.rewriter, r.op, arguments, expected)
    if copy is None:
        return on_values(r)
    scale = r.aligned(floats)
    copy.move_before(r.op)
    for i in floats:
        copy.operands[i] = r.operand(i)
    for i, value in enumerate(copy.results):
        if expected[i] is None:
            r.op.results[i].replace_all_uses_with(value)
        else:
            r.result(scale, moments, index=i, data=value, indifferent=indifferent)
    return r.erase()


def _running_sum(r: OpRewrite, scale: Scale, moments: Moments, indifferent: bool) -> None:
    dimension = int(ir.IntegerAttr(r.op.attributes["dimension"]).value)
    summed = moments.summed(max(r.info(0).shape[dimension], 1))
    if indifferent:
        for i in range(2):
            r.result(scale, summed, index=i, indifferent=True)
        return
    if not r.result_info().is_narrow:
        for i in range(2):
            r.settled(scale, summed, index=i, slack=r.rewriter.slack)
        return
    # In f32: the power of two comes before the sum is rounded to the narrow type.
    exponent = round_log2(summed.log2, r.rewriter.options.rounding)
    op = widened(r)
    for i in range(2):
        with r.after():
            r.accumulated(op.results[i], exponent, scale, summed, index=i)


def _is_sum(op: ir.Operation) -> bool:
    """Whether the body adds its one element to its one carry, and returns the sum as both."""
    block = op.regions[0].blocks[0]
    operations = [inner.operation for inner in block.operations]
    if len(op.results) != 2 or len(operations) != 2 or operations[0].name != "stablehlo.add":
        return False
    total = operations[0].results[0]
    return set(operations[0].operands) == set(block.arguments) and all(v == total for v in operations[1].operands)
