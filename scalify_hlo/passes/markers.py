"""Markers that passes put into a program, and what they measure to choose a scale."""

import re

from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import BY_POWER
from scalify_hlo.module.fresh_names import fresh_name
from scalify_hlo.module.manual import collective_attributes, group_count
from scalify_hlo.passes import emission as emit
from scalify_hlo.types import tensor_info


def magnitude(x: ir.Value, statistic: str, groups: ir.Attribute | None = None, *, apart: bool = False) -> ir.Value:
    """f32 scalar: a statistic of all devices' data in per-device code.

    apart: in a reduction each, as is needed of tensors that lie on several devices: of a reduction with several results
    XLA's partitioner gathers what each device has, where it sums, or takes the largest, of one with one result.

    statistic: "l2" the root mean square; "max" the largest magnitude; "any" the root mean square, or the largest
    magnitude where the squares leave f32's range: of data beyond 2^-63..2^64.
    """
    size = max(tensor_info(x.type).size, 1) * (1 if groups is None else group_count(groups))
    parts: list[tuple[ir.Value, str, float]] = []
    if statistic != "max":
        parts.append((emit.op("multiply", x.type, x, x), "add", 0.0))
    if statistic != "l2":
        parts.append((emit.op("abs", x.type, x), "maximum", 0.0))
    together = [[part] for part in parts] if apart else [parts]
    numbers = [number for each in together for number in emit.reduce_together(each)]
    reduced = [_over_devices(number, name, groups) for number, (_, name, _) in zip(numbers, parts, strict=True)]
    if statistic == "max":
        return reduced[0]
    mean = emit.op("divide", reduced[0].type, reduced[0], emit.splat(reduced[0].type, float(size)))
    root = emit.op("sqrt", mean.type, mean)
    return root if statistic == "l2" else emit.op("select", root.type, _is_usable(root), root, reduced[1])


def _over_devices(number: ir.Value, name: str, groups: ir.Attribute | None) -> ir.Value:
    """A scalar combined over the devices that run the code: then they agree on a scale, and need not meet again."""
    if groups is None:
        return number
    reduce = ir.Operation.create(
        "stablehlo.all_reduce", [number.type], [number], collective_attributes(groups), regions=1
    )
    location = ir.Location.current
    body = reduce.regions[0].blocks.append(number.type, number.type, arg_locs=[location] * 2)
    with ir.InsertionPoint(body):
        ir.Operation.create("stablehlo.return", [], [emit.op(name, number.type, *body.arguments)])
    return reduce.results[0]


def power_of_two(x: ir.Value, otherwise: float = 1.0) -> ir.Value:
    """f32 numbers: the largest power of two not above each of x; `otherwise` where x is 0, infinite or NaN."""
    usable, power = usable_power(x)
    return emit.op("select", x.type, usable, power, emit.splat(x.type, otherwise))


def usable_power(x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Of f32 numbers, whether each is positive and finite, and the largest power of two not above it if so."""
    integer = emit.tensor_type(tensor_info(x.type).shape, "i32")
    bits = emit.op("bitcast_convert", integer, x)
    power = emit.op("bitcast_convert", x.type, emit.op("and", integer, bits, emit.integer_splat(integer, 0x7F800000)))
    return _is_usable(power), power


def _is_usable(x: ir.Value) -> ir.Value:
    """Whether f32 numbers are positive and finite."""
    predicate = emit.tensor_type(tensor_info(x.type).shape, "i1")
    positive = emit.compare(x, emit.splat(x.type, 0.0), "GT")
    return emit.op("and", predicate, positive, emit.op("is_finite", predicate, x))


def marker(
    module: ir.Module, name: str, operands: list[ir.Value], results: list[ir.Type], **attributes: ir.Attribute
) -> list[ir.Value]:
    """A marker composite, with attributes; without scales its meaning is the identity (and a scale of 1)."""
    symbol = _decomposition(module, name, [value.type for value in operands], results)
    own = {
        "name": ir.StringAttr.get(name),
        "decomposition": ir.FlatSymbolRefAttr.get(symbol),
        "composite_attributes": ir.DictAttr.get(attributes),
    }
    return list(ir.Operation.create("stablehlo.composite", results, operands, own).results)


def data_and_scale(module: ir.Module, value: ir.Value) -> list[ir.Value]:
    """The data and the scale, one f32 number, that a value will have."""
    return marker(module, "scalify.get_data_and_scale", [value], [value.type, emit.tensor_type((), "f32")])


def at_scale(module: ir.Module, value: ir.Value, scale: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    """A value at another scale, a power of two times the one that it has."""
    own = {BY_POWER: ir.UnitAttr.get(), **attributes}
    return marker(module, "scalify.set_scaling", [value, scale], [value.type], **own)[0]


def _decomposition(module: ir.Module, name: str, arguments: list[ir.Type], results: list[ir.Type]) -> str:
    """The private function that a marker of these types stands for: one for each kind and types."""
    symbols = ir.SymbolTable(module.operation)
    type_ = ir.TypeAttr.get(ir.FunctionType.get(arguments, results))
    stem = f"{name.replace('.', '_')}_{re.sub(r'[^0-9A-Za-z]+', '_', str(results[0]))}"
    if stem in symbols and symbols[stem].attributes["function_type"] == type_:
        return stem
    symbol = fresh_name(stem, symbols.__contains__) if stem in symbols else stem
    function = ir.Operation.create(
        "func.func",
        attributes={
            "sym_name": ir.StringAttr.get(symbol),
            "sym_visibility": ir.StringAttr.get("private"),
            "function_type": type_,
        },
        regions=1,
        ip=ir.InsertionPoint(module.body),
    )
    location = ir.Location.current
    block = ir.Block.create_at_start(function.regions[0], arguments, [location] * len(arguments))
    with ir.InsertionPoint(block):
        returned = [block.arguments[0], *(emit.splat(type_, 1.0) for type_ in results[1:])]
        ir.Operation.create("func.return", [], returned)
    return symbol
