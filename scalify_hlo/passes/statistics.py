"""Emission of the statistics of a tensor; see `scalify_hlo.health_layout` for what stands where."""

from typing import NamedTuple

from scalify_hlo.bindings import ir
from scalify_hlo.health_layout import BINS, FIRST_EXPONENT
from scalify_hlo.types import FLOAT_RANGE, LARGEST, tensor_info


class Statistics(NamedTuple):
    """What adds up over iterations (counts, histogram), and what has a maximum (amax, scale); both f32 vectors."""

    sums: ir.Value
    maxima: ir.Value


def statistics(data: ir.Value, scale: ir.Value | None, element: str) -> Statistics:
    """Statistics of `data` at the insertion point; under- and overflow are those of the type `element`."""
    high, low, _ = FLOAT_RANGE[element]
    x = _op("abs", data.type, data)
    if tensor_info(data.type).element != "f32":
        x = _convert(x, "f32")
    limit = LARGEST.get(element, 2.0**high * (2 - 2.0 ** -FLOAT_RANGE[element][2]))
    zero = _compare(x, 0.0, "EQ")
    # Written so that NaN counts as an overflow.
    fits = _compare(x, limit, "LE")
    small = _compare(x, 2.0**low, "LT")
    counts = [
        float(tensor_info(data.type).size),
        _sum(_op("multiply", x.type, x, x)),
        _count(zero),
        _count(_op("and", small.type, small, _op("not", zero.type, zero))),
        _count(_op("not", fits.type, fits)),
    ]
    sums = _concatenated([*map(_vector, counts), _histogram(x, zero)])
    return Statistics(sums, _concatenated([_vector(_maximum(x)), _vector(1.0 if scale is None else _largest(scale))]))


def nothing(like: Statistics) -> Statistics:
    """The statistics of no tensor."""
    return Statistics(*(_splat(value.type, 0.0) for value in like))


def combine(a: Statistics, b: Statistics) -> Statistics:
    """The statistics of two tensors together."""
    return Statistics(_op("add", a.sums.type, a.sums, b.sums), _op("maximum", a.maxima.type, a.maxima, b.maxima))


def _histogram(x: ir.Value, zero: ir.Value) -> ir.Value:
    """f32[BINS]: how many elements have each exponent. Zeros are in no bin; infinity and NaN are in the last."""
    i32 = ir.IntegerType.get_signless(32)
    shape = list(tensor_info(x.type).shape)
    whole = ir.RankedTensorType.get(shape, i32)
    # Subnormals of f32 get exponent -127, below the first bin.
    bits = _op("bitcast_convert", whole, x)
    shifted = _op("shift_right_logical", whole, bits, _integer(whole, 23))
    first = _op("subtract", whole, shifted, _integer(whole, 127 + FIRST_EXPONENT))
    scalar = ir.RankedTensorType.get([], i32)
    bins = _op("clamp", whole, _integer(scalar, 0), first, _integer(scalar, BINS - 1))
    bins = _op("select", whole, zero, _integer(whole, -1), bins)
    size = tensor_info(x.type).size
    flat = _op("reshape", ir.RankedTensorType.get([size], i32), bins)
    table = ir.RankedTensorType.get([size, BINS], i32)
    dims = ir.DenseI64ArrayAttr.get([0])
    columns = _op("iota", table, iota_dimension=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1))
    hit = _compare_values(_op("broadcast_in_dim", table, flat, broadcast_dimensions=dims), columns, "EQ", "SIGNED")
    ones = _convert(hit, "f32")
    return _reduce(ones, "add", 0.0, [0])


def _sum(x: ir.Value) -> ir.Value:
    return _reduce(x, "add", 0.0, range(tensor_info(x.type).rank))


def _count(predicate: ir.Value) -> ir.Value:
    return _sum(_convert(predicate, "f32"))


def _maximum(x: ir.Value) -> ir.Value:
    return _reduce(x, "maximum", 0.0, range(tensor_info(x.type).rank))


def _largest(scale: ir.Value) -> ir.Value:
    wide = scale if tensor_info(scale.type).element == "f32" else _convert(scale, "f32")
    return wide if tensor_info(scale.type).rank == 0 else _maximum(wide)


def _reduce(x: ir.Value, name: str, initial: float, dimensions: "range | list[int]") -> ir.Value:
    dims = list(dimensions)
    if not dims:
        return x
    shape = [n for d, n in enumerate(tensor_info(x.type).shape) if d not in dims]
    scalar = ir.RankedTensorType.get([], ir.F32Type.get())
    reduce = ir.Operation.create(
        "stablehlo.reduce", [ir.RankedTensorType.get(shape, ir.F32Type.get())], [x, _splat(scalar, initial)],
        {"dimensions": ir.DenseI64ArrayAttr.get(dims)}, regions=1,
    )  # fmt: skip
    location = ir.Location.current
    block = ir.Block.create_at_start(reduce.regions[0], [scalar, scalar], [location, location])
    with ir.InsertionPoint(block):
        ir.Operation.create("stablehlo.return", [], [_op(name, scalar, *block.arguments)])
    return reduce.results[0]


def _vector(value: "ir.Value | float") -> ir.Value:
    type_ = ir.RankedTensorType.get([1], ir.F32Type.get())
    return _op("reshape", type_, value) if isinstance(value, ir.Value) else _splat(type_, value)


def _concatenated(parts: list[ir.Value]) -> ir.Value:
    size = sum(tensor_info(part.type).size for part in parts)
    dimension = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
    return _op("concatenate", ir.RankedTensorType.get([size], ir.F32Type.get()), *parts, dimension=dimension)


def _compare(x: ir.Value, bound: float, direction: str) -> ir.Value:
    return _compare_values(x, _splat(x.type, bound), direction, "FLOAT")


def _compare_values(a: ir.Value, b: ir.Value, direction: str, kind: str) -> ir.Value:
    type_ = ir.RankedTensorType.get(list(tensor_info(a.type).shape), ir.IntegerType.get_signless(1))
    return _op(
        "compare", type_, a, b,
        comparison_direction=ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>"),
        compare_type=ir.Attribute.parse(f"#stablehlo<comparison_type {kind}>"),
    )  # fmt: skip


def _convert(value: ir.Value, element: str) -> ir.Value:
    tensor = ir.RankedTensorType(value.type)
    return _op("convert", ir.RankedTensorType.get(tensor.shape, ir.Type.parse(element), tensor.encoding), value)


def _splat(type_: ir.Type, number: float) -> ir.Value:
    attribute = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(ir.RankedTensorType(type_).element_type, number))
    return _op("constant", type_, value=attribute)


def _integer(type_: ir.Type, number: int) -> ir.Value:
    element = ir.RankedTensorType(type_).element_type
    return _op("constant", type_, value=ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(element, number)))


def _op(name: str, type_: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    return ir.Operation.create(f"stablehlo.{name}", [type_], operands, attributes).results[0]
