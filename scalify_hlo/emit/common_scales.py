"""Scales of several devices brought to their maximum: one collective for all that meet at one place."""

from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.emit.emitter import Emitter
from scalify_hlo.engine.devices import same_on_every_device
from scalify_hlo.rules.rewriting import Rewriting
from scalify_hlo.rules.shapes import to_rank_0
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import Scale


def is_same_everywhere(rewriter: Rewriting, scale: Scale) -> bool:
    """Whether a scale is known to be the same on all devices."""
    return all(same_on_every_device(symbol.value, rewriter.functions.everywhere) for symbol, _ in scale.factors)


def all_reduce_maximum(emit: Emitter, value: ir.Value, attributes: dict[str, ir.Attribute]) -> ir.Value:
    """The maximum of a f32 value over groups of devices, element by element."""
    reduce = emit.create("stablehlo.all_reduce", [value.type], [value], attributes, regions=1)
    body = reduce.regions[0].blocks.append(emit.scalar, emit.scalar, arg_locs=[emit.location] * 2)
    with emit.at(ir.InsertionPoint(body)):
        pair = list(body.arguments)
        largest = ir.Operation.create("stablehlo.maximum", [emit.scalar], pair, loc=emit.location, ip=emit.ip)
        ir.Operation.create("stablehlo.return", [], [largest.results[0]], loc=emit.location, ip=emit.ip)
    return reduce.results[0]


def at_common_scales(
    rewriter: Rewriting, values: Sequence[ScaledValue], attributes: dict[str, ir.Attribute]
) -> list[ScaledValue]:
    """Values with scales that are the same on all devices: those that may differ are brought to their maximum.

    # s_i x_i = m (x_i s_i / m), m = max s_i

    attributes: of a collective between the devices. However many scales differ, one collective of a vector takes their
    maxima.
    """
    emit = rewriter.emit
    flat = [x if x.indifferent or is_same_everywhere(rewriter, x.scale) else to_rank_0(rewriter, x) for x in values]
    differ = [x for x in flat if not (x.indifferent or is_same_everywhere(rewriter, x.scale))]
    products = list(dict.fromkeys(Scale(0, x.scale.factors) for x in differ))
    if not products:
        return flat
    largest = dict(zip(products, _largest(emit, products, attributes), strict=True))
    result: list[ScaledValue] = []
    for x in flat:
        common = largest.get(Scale(0, x.scale.factors))
        if common is None or x.indifferent:
            result.append(x)
            continue
        scale = common.shifted(x.scale.exponent)
        result.append(ScaledValue(emit.rescale(x.data, x.scale / scale), scale, x.moments))
    return result


def _largest(emit: Emitter, scales: Sequence[Scale], attributes: dict[str, ir.Attribute]) -> list[Scale]:
    values = [emit.scale_value(scale) for scale in scales]
    if len(values) > 1:
        row = ir.RankedTensorType.get([1], emit.f32)
        all_ = ir.RankedTensorType.get([len(values)], emit.f32)
        rows = [emit.op("reshape", row, value) for value in values]
        axis = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
        maxima = all_reduce_maximum(emit, emit.op("concatenate", all_, *rows, dimension=axis), attributes)
        array = ir.DenseI64ArrayAttr.get
        values = [
            emit.op(
                "reshape", emit.scalar,
                emit.op("slice", row, maxima, start_indices=array([i]), limit_indices=array([i + 1]),
                        strides=array([1])),
            )
            for i in range(len(scales))
        ]  # fmt: skip
    else:
        values = [all_reduce_maximum(emit, values[0], attributes)]
    return [
        emit.as_scale(value, positive=scale.positive, trials=scale.trials)
        for value, scale in zip(values, scales, strict=True)
    ]
