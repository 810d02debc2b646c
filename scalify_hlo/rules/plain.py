"""Between plain and scaled: the scaled form of a plain value, and the plain value of a scaled one."""

import math
from typing import Any

from scalify_hlo import budget
from scalify_hlo.bindings import ir
from scalify_hlo.rules.rewriting import Rewriting
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, SMALLEST, Scale
from scalify_hlo.size.moments import Moments, of_constant
from scalify_hlo.types import LARGEST, tensor_info


def split_constant(number: float, *, mantissa_from_one: bool, furthest: int = 127) -> tuple[float, int]:
    """(mantissa, exponent) with mantissa * 2^exponent = number, exponent no further from 0 than `furthest`.

    mantissa_from_one: |mantissa| in [1, 2), the floating-point split of the paper, section 3.4. Otherwise
    |mantissa| in [sqrt(1/2), sqrt(2)), the power of two nearest to the number: 0.9 = 0.9 * 2^0. With the former
    (0.9 = 1.8 * 2^-1) the scale of a decaying average halves at every step while its data nearly double.
    """
    log2 = math.log2(abs(number))
    exponent = math.floor(log2) if mantissa_from_one else math.floor(log2 + 0.5)
    exponent = max(-furthest, -126, min(furthest, exponent))  # a f32 scale
    return number * 2.0**-exponent if abs(exponent) < 1000 else math.ldexp(number, -exponent), exponent


def scaled_form(rewriter: Rewriting, value: ir.Value) -> ScaledValue:
    """A plain float tensor as data * scale, the scale a constant found at compile time (paper, section 3.4)."""
    facts = rewriter.facts_of(value)
    if facts.indifferent:
        return ScaledValue(value, ONE, rewriter.moments(of_constant(facts.splat or 0.0)), indifferent=True)
    if facts.splat is not None:
        furthest = 127 if rewriter.paper or tensor_info(value.type).is_narrow else budget.FURTHEST_CONSTANT
        mantissa, exponent = split_constant(facts.splat, mantissa_from_one=rewriter.paper, furthest=furthest)
        data = rewriter.emit.splat(value, mantissa) if exponent else value
        return ScaledValue(data, Scale(exponent), rewriter.moments(of_constant(mantissa)))
    if facts.moments is None or rewriter.paper:
        return split_scalar(rewriter, value) or ScaledValue(value, ONE)
    exponent = round(facts.moments.log2)
    if abs(exponent) < budget.FAR_PLAIN:
        return ScaledValue(value, ONE, rewriter.moments(facts.moments))
    data = rewriter.emit.rescale(value, Scale(-exponent))
    return ScaledValue(data, Scale(exponent), rewriter.moments(facts.moments.shifted(-exponent)))


def split_scalar(rewriter: Rewriting, value: ir.Value) -> ScaledValue | None:
    """A number known at run time only, or a broadcast one, of a narrow type, split into mantissa and power of two.

    Adam's second moment divided by 1 - b2^t, a thousandth in the first step, would overflow f16 otherwise. Zero,
    infinities and NaN fit any scale and have the smallest one, so that a selection of others keeps theirs. None for
    other values, and for types whose range is that of a scale.
    """
    info = tensor_info(value.type)
    if not info.is_float or not info.is_narrow:
        return None
    number = value
    if info.rank:
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.name != "stablehlo.broadcast_in_dim":
            return None
        number = owner.operands[0]
        if tensor_info(number.type).rank:
            return None
    owner = number.owner
    if not isinstance(owner, ir.Block) and owner.name == "stablehlo.convert":
        (wide,) = owner.operands
        if wide not in rewriter.scaled and tensor_info(wide.type).element == "f32":
            number = wide  # before it was narrowed, where it may have become 0
    emit = rewriter.emit
    key = ("split", number)
    if key not in emit.scope.cache:
        wide = emit.convert(number, "f32")
        size = emit.op("abs", wide.type, wide)
        least = emit.scale_value(SMALLEST)
        size = emit.op("clamp", wide.type, least, size, emit.scale_value(Scale(127)))
        finite = emit.op("is_finite", emit.tensor_type(wide.type, "i1"), wide)
        power = emit.rounded_power_of_two(emit.op("select", wide.type, finite, size, least))
        emit.scope.cache[key] = emit.op("divide", wide.type, wide, power)
        emit.scope.cache["split scale", number] = emit.as_scale(power, positive=True)
    mantissa, scale = emit.scope.cache[key], emit.scope.cache["split scale", number]
    data = emit.broadcast_like(emit.convert(mantissa, info.element), value)
    return ScaledValue(data, scale, Moments(infinite=True))


def wide_element(element: str) -> str:
    """The element type in which an unscaled value of `element` cannot overflow when its scale is a f32.

    bf16 has the range of f32 and stays; f16 and f8 widen to f32.
    """
    return element if element in ("f32", "f64", "bf16") or element.startswith("complex") else "f32"


def unscaled_key(data: ir.Value, scale: Scale, element: str) -> tuple[Any, ...]:
    """Under what a scope's cache has the value data * scale in an element type."""
    return ("unscaled", data, scale.exponent, scale.factors, element)


def unscaled(rewriter: Rewriting, scaled: ScaledValue, *, element: str | None = None) -> ir.Value:
    """data * scale, in `element` (by default wide enough: f32 for f16 and f8)."""
    emit = rewriter.emit
    wide = wide_element(scaled.info.element)
    element = element or wide
    if scaled.indifferent:
        return emit.convert(scaled.data, element)
    key = unscaled_key(scaled.data, scaled.scale, element)
    found = emit.scope.cache.get(key)
    if found is None:
        # Round once: widen, multiply, and narrow only at the end.
        found = _before_rounding(rewriter, scaled) if element in LARGEST else None
        found = found or _product(rewriter, scaled, wide) or _multiplied(rewriter, scaled, wide)
        found = found if element == wide else emit.convert(found, element)
        emit.scope.cache[key] = found
    return found


def _multiplied(rewriter: Rewriting, scaled: ScaledValue, wide: str) -> ir.Value:
    """data * scale in a wide type."""
    emit = rewriter.emit
    data, scale = scaled.data, scaled.scale
    source = emit.known("source", data)
    if source is not None:
        # The data are 2^k times another value: unscale that one, by a product without the power of two.
        data, scale = source[0], scale.shifted(source[1])
    data = data if wide == scaled.info.element else emit.convert(data, wide)
    return emit.rescale(data, scale, infinite=scaled.moments.infinite)


def note_rounded(rewriter: Rewriting, data: ir.Value, x: ScaledValue) -> None:
    """Remember that `data` are those of x in a narrower type."""
    rewriter.emit.scope.cache["rounded", data] = x


# round(s x), for s round(x) is another number where x leaves the range of the type, and s x does not
def _before_rounding(rewriter: Rewriting, scaled: ScaledValue) -> ir.Value | None:
    """The value of what was converted to f8, before it was; None for what is not known to be converted."""
    x: ScaledValue | None = rewriter.emit.scope.cache.get(("rounded", scaled.data))
    return None if x is None or x.scale != scaled.scale else unscaled(rewriter, x)


def note_product(rewriter: Rewriting, data: ir.Value, x: ScaledValue, y: ScaledValue) -> None:
    """Remember that `data` is the product of the data of two values."""
    rewriter.emit.scope.cache["product", data] = (x, y)


def _product(rewriter: Rewriting, scaled: ScaledValue, wide: str) -> ir.Value | None:
    """The value of a product from the values of its factors, where these are there already or are constants.

    One operation, instead of a product of scales, its broadcast and a multiplication.
    """
    emit = rewriter.emit
    if not scaled.scale.factors or wide != scaled.info.element:
        return None
    found = _factors(rewriter, scaled)
    if found is None:
        return None
    values: list[ir.Value] = []
    for factor, other in (found, found[::-1]):
        key = unscaled_key(factor.data, factor.scale, wide)
        if factor.scale.is_constant:
            values.append(emit.rescale(factor.data, factor.scale))
        elif key in emit.scope.cache or other.scale.is_constant or _product_of_values(rewriter, factor, wide):
            values.append(unscaled(rewriter, factor))
        else:
            return None
    if not isinstance(scaled.data.owner, ir.Block):
        rewriter.dead.append(scaled.data.owner.operation)
    return emit.op("multiply", scaled.data.type, *values)


def _factors(rewriter: Rewriting, scaled: ScaledValue) -> tuple[ScaledValue, ScaledValue] | None:
    """The two values that a value is the product of; None where its data alone are, and a constant is in its scale."""
    emit = rewriter.emit
    source, exponent = emit.known("source", scaled.data) or (scaled.data, 0.0)
    found = emit.scope.cache.get(("product", source))
    if found is None:
        return None
    scale, product = scaled.scale.shifted(exponent), found[0].scale * found[1].scale
    return found if scale == product or emit.expanded(scale) == emit.expanded(product) else None


def _product_of_values(rewriter: Rewriting, scaled: ScaledValue, wide: str) -> bool:
    """Whether the value of a product can be had from values that are there already."""
    cache = rewriter.emit.scope.cache
    found = _factors(rewriter, scaled)
    return found is not None and all(
        f.scale.is_constant or unscaled_key(f.data, f.scale, wide) in cache or _product_of_values(rewriter, f, wide)
        for f in found
    )
