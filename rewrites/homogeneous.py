"""Homogeneous operations, f(s x) = s f(x): they work on the data alone and pass the scale on."""

import math

from scalify_hlo import budget
from scalify_hlo.analysis.quantised_values import OF_VALUE
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.plain import note_rounded
from scalify_hlo.rules.registry import Law, rule
from scalify_hlo.rules.shapes import placed, to_rank_0, uniform_along
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import Scale, round_log2
from scalify_hlo.types import FLOAT_RANGE, LARGEST, TensorInfo, tensor_info

from .nonlinear import on_values

_LAW: Law = {"family": "homogeneous", "law": "f(s x) = s f(x)", "scale": "s"}


# reduce_precision(s x) = s reduce_precision(x): the mantissa of x is that of s x, its exponent is not; without mantissa
# bits 1.5 goes to the even exponent
@rule("reduce_precision", **_LAW, shaped=True, note="to fewer exponent bits than the type has, or to powers of two: on "
      "the value, in f32 or wider, as the range is the value's, and which exponent is even")  # fmt: skip
def reduce_precision(r: OpRewrite) -> None:
    x = r.scaled(0)
    own_bits = math.ceil(math.log2(r.info(0).max_exponent + 1)) + 1
    exponent_bits, mantissa_bits = (
        ir.IntegerAttr(r.op.attributes[name]).value for name in ("exponent_bits", "mantissa_bits")
    )
    if x.indifferent or (exponent_bits >= own_bits and mantissa_bits):
        return r.result(x.scale, x.moments, indifferent=x.indifferent)
    return on_values(r, x.moments, [x.scale])


# -(s x) = s (-x)
@rule("negate", **_LAW, shaped=True)
def negate(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.result(x.scale, r.expected(x), indifferent=x.indifferent)


# |s x| = s |x|
@rule("abs", **_LAW, shaped=True)
def absolute(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.result(x.scale, r.expected(x), indifferent=x.indifferent)


# every value keeps its own scale
@rule("optimization_barrier", family="homogeneous", law="f(s x, t y) = (s f(x), t f(y))", scale="its operand's",
      shaped=True)  # fmt: skip
def barrier(r: OpRewrite) -> None:
    for i, x in enumerate(r.inputs):
        if x is not None:
            r.result(x.scale, x.moments, index=i, indifferent=x.indifferent)


@rule("convert", **_LAW, shaped=True, note="to f8: clamped first, so that it saturates; to an integer: nonlinear")
def convert(r: OpRewrite) -> None:
    x = r.scaled(0)
    target = r.result_info()
    if OF_VALUE in r.op.attributes and not x.indifferent:
        r.value_result(r.plain(0))
        return r.erase()
    if target.is_float or target.is_complex:
        if target.is_narrow and r.info(0).max_exponent > target.max_exponent and not x.indifferent:
            x = _at_unit_scale(r, x)
            if r.value() in r.rewriter.nonnegative_states:
                r.set_operand(0, _rounding_to_more_than_zero(r, x, target))
        if target.element in LARGEST and r.info(0).is_float:
            data = r.emit.convert(r.operand(0), target.element)
            if r.operand(0) == x.data:
                note_rounded(r.rewriter, data, x)
            r.result(x.scale, x.moments, data=data, indifferent=x.indifferent)
            return r.erase()
        if x.data.type == r.value().type:  # the data are of this type already
            r.result(x.scale, x.moments, data=r.operand(0), indifferent=x.indifferent)
            return r.erase()
        return r.result(x.scale, x.moments, indifferent=x.indifferent)
    if target.element == "i1":
        return None  # x != 0 on the data is s x != 0
    # int(s x): needs the value
    r.set_operand(0, r.plain(0))
    return None


def _at_unit_scale(r: OpRewrite, x: ScaledValue) -> ScaledValue:
    """Data of a wide type, which may be some way from unit scaling, brought back to it before they are narrowed."""
    growth = r.rewriter.moments(x.moments).log2
    exponent = round_log2(growth, r.rewriter.options.rounding) if abs(growth) >= budget.NARROWED else 0.0
    if not exponent:
        return x
    balanced = r.rebalanced(x, exponent)
    r.set_operand(0, balanced.data)
    return balanced


def _rounding_to_more_than_zero(r: OpRewrite, x: ScaledValue, target: TensorInfo) -> ir.Value:
    """Nonnegative data that a narrow type rounds to zero only where they are zero.

    # max(x, min(x / t, t)) is x from t on, t from t^2 on and 0 at 0, t the smallest number of the type

    State is what later steps divide by, and averages m of g and v of g^2 bound m / sqrt(v) while both are held. Where v
    has vanished and m, of half its range, has not, the next step is as large as 1/epsilon. A v that is too large makes
    it smaller.
    """
    _, least, digits = FLOAT_RANGE[target.element]
    smallest = 2.0 ** (least - digits)
    many, floor = (r.emit.splat(x.data, number) for number in (1 / smallest, smallest))

    def create(name: str, *operands: ir.Value) -> ir.Value:
        return r.emit.create(f"stablehlo.{name}", [x.data.type], operands).results[0]

    return create("maximum", x.data, create("minimum", create("multiply", x.data, many), floor))


# --- data movement: a scale with a shape moves like its data ---------------------------------------------------


def _move_scale(
    r: OpRewrite,
    scale: Scale,
    attributes: dict[str, ir.Attribute],
    shape: list[int],
    operands: tuple[ir.Value, ...] = (),
) -> Scale:
    """Apply the operation to a shaped scale as well, with its own attributes."""
    emit = r.emit
    value = emit.scale_value(scale)
    moved = emit.create(r.name, [ir.RankedTensorType.get(shape, emit.f32)], [value, *operands], attributes).results[0]
    return emit.as_scale(moved, positive=scale.positive, trials=scale.trials)


def moved(r: OpRewrite, scale: Scale) -> None:
    """Declare the result of a data movement."""
    x = r.scaled(0)
    r.result(scale, r.expected(x), indifferent=x.indifferent)


@rule("reverse", **_LAW, shaped=True)
def reverse(r: OpRewrite) -> None:
    x = r.scaled(0)
    dims = [d for d in r.attribute_ints("dimensions") if x.scale.shape and x.scale.shape[d] != 1]
    if dims:
        attributes = {"dimensions": ir.DenseI64ArrayAttr.get(dims)}
        moved(r, _move_scale(r, x.scale, attributes, list(x.scale.shape)))
    else:
        moved(r, x.scale)


@rule("transpose", **_LAW, shaped=True)
def transpose(r: OpRewrite) -> None:
    x = r.scaled(0)
    shape = x.scale.shape
    if not shape:
        return moved(r, x.scale)
    permutation = r.attribute_ints("permutation")
    attributes = {"permutation": ir.DenseI64ArrayAttr.get(permutation)}
    return moved(r, _move_scale(r, x.scale, attributes, [shape[d] for d in permutation]))


@rule("broadcast_in_dim", **_LAW, shaped=True)
def broadcast_in_dim(r: OpRewrite) -> None:
    x = r.scaled(0)
    shape = x.scale.shape
    if not shape:
        return moved(r, x.scale)
    target = [1] * r.result_info().rank
    dims = r.attribute_ints("broadcast_dimensions")
    for d, n in zip(dims, shape, strict=True):
        target[d] = n
    attributes = {"broadcast_dimensions": ir.DenseI64ArrayAttr.get(dims)}
    return moved(r, _move_scale(r, x.scale, attributes, target))


@rule("slice", **_LAW, shaped=True)
def slice_(r: OpRewrite) -> None:
    x = r.scaled(0)
    shape = x.scale.shape
    if not shape:
        return moved(r, x.scale)
    result = r.result_info().shape
    parts: dict[str, list[int]] = {"start_indices": [], "limit_indices": [], "strides": []}
    for d, n in enumerate(shape):
        for name, values in parts.items():
            whole = {"start_indices": 0, "limit_indices": 1, "strides": 1}[name]
            values.append(whole if n == 1 else r.attribute_ints(name)[d])
    attributes: dict[str, ir.Attribute] = {k: ir.DenseI64ArrayAttr.get(v) for k, v in parts.items()}
    return moved(
        r, _move_scale(r, x.scale, attributes, [1 if n == 1 else m for n, m in zip(shape, result, strict=True)])
    )


@rule("dynamic_slice", **_LAW, shaped=True)
def dynamic_slice(r: OpRewrite) -> None:
    x = r.scaled(0)
    shape = x.scale.shape
    if not shape:
        return moved(r, x.scale)
    sizes = [1 if n == 1 else m for n, m in zip(shape, r.result_info().shape, strict=True)]
    attributes = {"slice_sizes": ir.DenseI64ArrayAttr.get(sizes)}
    scale = _move_scale(r, x.scale, attributes, sizes, tuple(list(r.op.operands)[1:]))
    if all(n == 1 for n in sizes):  # one slice: one number again
        value = r.emit.op("reshape", r.emit.scalar, r.emit.scale_value(scale))
        scale = r.emit.as_scale(value, positive=x.scale.positive, trials=x.scale.trials)
    return moved(r, scale)


@rule("reshape", **_LAW, shaped=True, note="a scaled dimension that is merged or split is brought to one scale first")
def reshape(r: OpRewrite) -> None:
    x = r.scaled(0)
    shape = x.scale.shape
    if not shape:
        return moved(r, x.scale)
    target = reshaped_scale(shape, r.info(0).shape, r.result_info().shape)
    if target is None:
        flat = to_rank_0(r.rewriter, x)
        r.set_operand(0, flat.data)
        return r.result(flat.scale, flat.moments, indifferent=flat.indifferent)
    value = r.emit.op("reshape", ir.RankedTensorType.get(target, r.emit.f32), r.emit.scale_value(x.scale))
    return moved(r, r.emit.as_scale(value, positive=x.scale.positive, trials=x.scale.trials))


def reshaped_scale(scale: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...]) -> list[int] | None:
    """Shape of the scale after its data are reshaped from `source` to `target`; None if it does not follow.

    Groups of dimensions with equal products are matched; in each group either nothing is scaled, or the leading
    dimension alone, which must survive as the leading dimension of its group.
    """
    result: list[int] = []
    i = j = 0
    while i < len(source) or j < len(target):
        a, b, i0, j0 = 1, 1, i, j
        if i < len(source):
            a, i = source[i], i + 1
        if j < len(target):
            b, j = target[j], j + 1
        while a != b:
            if a < b:
                if i >= len(source):
                    return None
                a, i = a * source[i], i + 1
            else:
                if j >= len(target):
                    return None
                b, j = b * target[j], j + 1
        scaled = [d for d in range(i0, i) if scale[d] != 1]
        group = [1] * (j - j0)
        if scaled:
            full = [d for d in range(i0, i) if source[d] != 1]
            if all(scale[d] == source[d] for d in range(i0, i)):
                group = list(target[j0:j])  # every element its own scale
            elif scaled == full[:1]:
                lead = [d for d in range(j0, j) if target[d] != 1][:1]
                if not lead or target[lead[0]] != source[scaled[0]]:
                    return None
                group[lead[0] - j0] = target[lead[0]]
            else:
                return None
        result += group
    return result


# x[i] of s x is s x[i]
@rule("gather", **_LAW, shaped=True)
def gather(r: OpRewrite) -> None:
    x, emit = r.scaled(0), r.emit
    shape = x.scale.shape
    if not shape:
        return moved(r, x.scale)
    numbers = stablehlo.GatherDimensionNumbers(r.op.attributes["dimension_numbers"])
    batching = [int(d) for d in numbers.operand_batching_dims]
    indexed = [*(int(d) for d in numbers.start_index_map), *batching]
    windows = [d for d in range(len(shape)) if d not in {*numbers.collapsed_slice_dims, *batching}]
    sizes = r.attribute_ints("slice_sizes")
    if any(shape[d] != 1 for d in indexed):
        # Each gathered slice comes with its slice of the scale. A start index beyond a dimension of size 1 counts as 0.
        whole = [r.info(0).shape[d] if d in batching else n for d, n in enumerate(shape)]
        scale_sizes = [1 if n == 1 else sizes[d] for d, n in enumerate(whole)]
        target = list(r.result_info().shape)
        for o, d in zip(numbers.offset_dims, windows, strict=True):
            target[o] = scale_sizes[d]
        attributes = dict(r.op.attributes.items()) | {"slice_sizes": ir.DenseI64ArrayAttr.get(scale_sizes)}
        operands = [emit.broadcast_to(emit.scale_value(x.scale), whole), r.operand(1)]
        value = emit.create(r.name, [ir.RankedTensorType.get(target, emit.f32)], operands, attributes).results[0]
        return moved(r, emit.as_scale(value, positive=x.scale.positive, trials=x.scale.trials))
    x = uniform_along(r.rewriter, x, [d for d, n in enumerate(r.info(0).shape) if sizes[d] != n])
    r.inputs[0] = x
    r.set_operand(0, x.data)
    return moved(r, placed(emit, x.scale, windows, list(numbers.offset_dims), r.result_info().rank))


@rule("torch_index_select", **_LAW)
def index_select(r: OpRewrite) -> None:
    moved(r, r.scaled(0).scale)


# a bag of operations on the elements' positions
@rule("real_dynamic_slice", "dynamic_gather", "dynamic_broadcast_in_dim", "dynamic_reshape", "broadcast", **_LAW)
def move_dynamic(r: OpRewrite) -> None:
    moved(r, r.scaled(0).scale)


def element(type_: ir.Type) -> str:
    """Element type name of a tensor type."""
    return tensor_info(type_).element


__all__ = ["UnsupportedError", "element"]
