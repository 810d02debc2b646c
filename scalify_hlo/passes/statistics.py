"""Emission of the statistics of a tensor; see `scalify_hlo.reports.health_layout` for what stands where."""

import math
from typing import NamedTuple

from scalify_hlo.bindings import ir
from scalify_hlo.passes import emission as emit
from scalify_hlo.reports.health_layout import BINS, FIRST_EXPONENT
from scalify_hlo.types import COMPLEX, FLOAT_RANGE, LARGEST, tensor_info

# Statistics are taken in f32: larger f64 numbers are infinite there.
LARGEST_F32 = 2.0**127 * (2 - 2.0**-23)


class Statistics(NamedTuple):
    """What adds up over iterations (counts, histogram), and what has a maximum (amax, scale); both f32 vectors."""

    sums: ir.Value
    maxima: ir.Value


def statistics(data: ir.Value, scale: ir.Value | None, element: str, *, histogram: bool = True) -> Statistics:
    """Statistics of `data` at the insertion point; under- and overflow are those of the type `element`.

    Those of complex data are of their absolute values, in the type of their parts.
    histogram: count exponents; without, the histogram is all zeros.
    """
    high, low, mantissa = FLOAT_RANGE[COMPLEX.get(element, element)]
    info = tensor_info(data.type)
    x = emit.convert(emit.op("abs", emit.tensor_type(info.shape, info.real), data), "f32")
    limit = min(LARGEST.get(element, 2.0**high * (2 - 2.0**-mantissa)), LARGEST_F32)
    zero = _compare(x, 0.0, "EQ")
    small = _compare(x, 2.0**low, "LT")
    fits = _compare(x, limit, "LE")  # false for NaN, which counts as an overflow
    counted = [
        zero,
        emit.op("and", small.type, small, emit.op("not", zero.type, zero)),
        emit.op("not", fits.type, fits),
    ]
    squares, *counts, amax = emit.reduce_together(
        [
            (emit.op("multiply", x.type, x, x), "add", 0.0),
            *((emit.convert(predicate, "f32"), "add", 0.0) for predicate in counted),
            (x, "maximum", 0.0),
        ]
    )
    counts = [_scalar(float(tensor_info(data.type).size)), squares, *counts]
    maxima = [amax, _scalar(1.0) if scale is None else _largest(scale)]
    bins = _histogram(x, zero) if histogram else emit.splat(emit.tensor_type((BINS,), "f32"), 0.0)
    sums = emit.concatenate([*map(_as_vector, counts), bins])
    return Statistics(sums, emit.concatenate([*map(_as_vector, maxima)]))


def nothing(like: Statistics) -> Statistics:
    """The statistics of no tensor."""
    return Statistics(*(emit.splat(value.type, 0.0) for value in like))


def combine(a: Statistics, b: Statistics) -> Statistics:
    """The statistics of two tensors together."""
    return Statistics(
        emit.op("add", a.sums.type, a.sums, b.sums), emit.op("maximum", a.maxima.type, a.maxima, b.maxima)
    )


def _histogram(x: ir.Value, zero: ir.Value) -> ir.Value:
    """f32[BINS]: how many elements have each exponent. Zeros are in no bin; infinity and NaN are in the last."""
    info = tensor_info(x.type)
    whole = emit.tensor_type(info.shape, "i32")
    # Subnormals of f32 get exponent -127, below the first bin.
    bits = emit.op("bitcast_convert", whole, x)
    exponents = emit.op("shift_right_logical", whole, bits, emit.integer_splat(whole, 23))
    shifted = emit.op("subtract", whole, exponents, emit.integer_splat(whole, 127 + FIRST_EXPONENT))
    scalar = emit.tensor_type((), "i32")
    ends = emit.integer_splat(scalar, 0), emit.integer_splat(scalar, BINS - 1)
    bins = emit.op(
        "select", whole, zero, emit.integer_splat(whole, -1), emit.op("clamp", whole, ends[0], shifted, ends[1])
    )
    elements = math.prod(info.shape)
    flat = emit.op("reshape", emit.tensor_type((elements,), "i32"), bins)
    table = emit.tensor_type((elements, BINS), "i32")
    rows = emit.op("broadcast_in_dim", table, flat, broadcast_dimensions=ir.DenseI64ArrayAttr.get([0]))
    columns = emit.op("iota", table, iota_dimension=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1))
    return emit.reduce(emit.convert(emit.compare(rows, columns, "EQ", "SIGNED"), "f32"), "add", 0.0, [0])


def _largest(scale: ir.Value) -> ir.Value:
    return emit.reduce(emit.convert(scale, "f32"), "maximum", 0.0)


def _compare(x: ir.Value, bound: float, direction: str) -> ir.Value:
    return emit.compare(x, emit.splat(x.type, bound), direction)


def _scalar(number: float) -> ir.Value:
    return emit.splat(emit.tensor_type((), "f32"), number)


def _as_vector(scalar: ir.Value) -> ir.Value:
    return emit.op("reshape", emit.tensor_type((1,), "f32"), scalar)
