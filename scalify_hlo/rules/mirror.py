"""Chains of elementwise operations between two sums: on values too, beside the data."""

from scalify_hlo.bindings import ir
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.plain import unscaled, unscaled_key, wide_element

# Elementwise operations whose value follows from their operands' values with one operation.
MIRRORED = frozenset(
    f"stablehlo.{name}" for name in ("multiply", "divide", "sqrt", "rsqrt", "negate", "abs", "broadcast_in_dim")
)


def mirror(r: OpRewrite) -> None:
    """Compute the value of an elementwise result beside its data, where the values of its operands are known.

    In types with the range of f32 a chain of elementwise operations between two sums of unlike scales is then the
    original program's; whatever of the data and of the values is not used is erased at the end.
    """
    rewriter = r.rewriter
    first = r.inputs[0]
    if r.name == "stablehlo.broadcast_in_dim" and (first is None or first.info.rank):
        return
    result = r.value()
    scaled = rewriter.scaled.get(result)
    if scaled is None or scaled.scale.is_constant or scaled.indifferent:
        return
    emit = rewriter.emit
    info = scaled.info
    if info.is_complex or wide_element(info.element) != info.element:
        return
    cache = emit.scope.cache
    key = unscaled_key(scaled.data, scaled.scale, info.element)
    if key in cache:
        return
    if first is not None and r.name == "stablehlo.broadcast_in_dim":
        # A scalar (a learning rate) is unscaled before it is broadcast.
        with r.after():
            cache[key] = emit.broadcast_like(unscaled(rewriter, first), scaled.data)
        return
    values: list[ir.Value] = []
    for i, x in enumerate(r.inputs):
        if x is None:
            values.append(r.original(i))
            continue
        value = cache.get(unscaled_key(x.data, x.scale, info.element))
        if value is None:
            return
        values.append(value)
    with r.after():
        cache[key] = emit.create(r.name, [result.type], values).results[0]
    rewriter.dead.append(r.op)
