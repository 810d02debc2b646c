"""Small StableHLO building blocks. All need a current insertion point and location."""

from collections.abc import Iterable, Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import splat as splat
from scalify_hlo.module.shapes import sizes
from scalify_hlo.types import tensor_info


def op(name: str, type_: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    """`stablehlo.<name>` with one result."""
    return ir.Operation.create(f"stablehlo.{name}", [type_], operands, attributes).results[0]


def tensor_type(shape: Iterable[int], element: str) -> ir.Type:
    """tensor<shape x element>."""
    return ir.RankedTensorType.get(list(shape), ir.Type.parse(element))


def with_element(type_: ir.Type, element: str) -> ir.Type:
    """A tensor type with another element type."""
    tensor = ir.RankedTensorType(type_)
    return ir.RankedTensorType.get(tensor.shape, ir.Type.parse(element), tensor.encoding)


def convert(value: ir.Value, element: str) -> ir.Value:
    """`value` in an element type; itself where it has it."""
    if tensor_info(value.type).element == element:
        return value
    return op("convert", with_element(value.type, element), value)


def wide(value: ir.Value) -> ir.Value:
    """`value` in f32, or in f64 where it is that."""
    return value if tensor_info(value.type).element == "f64" else convert(value, "f32")


def integer_splat(type_: ir.Type, number: int) -> ir.Value:
    """An integer constant whose elements are all `number`."""
    attribute = ir.IntegerAttr.get(ir.RankedTensorType(type_).element_type, number)
    return op("constant", type_, value=ir.DenseElementsAttr.get_splat(type_, attribute))


def times(value: ir.Value, number: float) -> ir.Value:
    """A float tensor times a number of its type; itself for 1."""
    return value if number == 1 else op("multiply", value.type, value, filled(value, number))


def filled(like: ir.Value, number: float) -> ir.Value:
    """A float number at the type of another value, whose sizes may be symbolic."""
    info = tensor_info(like.type)
    if info.is_static:
        return splat(like.type, number)
    return broadcast(splat(tensor_type((), info.element), number), like)


def broadcast(value: ir.Value, like: ir.Value) -> ir.Value:
    """A tensor of rank 0, or of the rank of another with each dimension 1 or full, at the shape of that one."""
    info = tensor_info(value.type)
    type_, dimensions = with_element(like.type, info.element), ir.DenseI64ArrayAttr.get(list(range(info.rank)))
    if tensor_info(like.type).is_static:
        return op("broadcast_in_dim", type_, value, broadcast_dimensions=dimensions)
    return op("dynamic_broadcast_in_dim", type_, value, sizes(op, like), broadcast_dimensions=dimensions)


def compare(a: ir.Value, b: ir.Value, direction: str, kind: str = "FLOAT") -> ir.Value:
    """tensor<i1>: a `direction` b, elementwise."""
    return op(
        "compare", with_element(a.type, "i1"), a, b,
        comparison_direction=ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>"),
        compare_type=ir.Attribute.parse(f"#stablehlo<comparison_type {kind}>"),
    )  # fmt: skip


def reduce(x: ir.Value, name: str, initial: float, dimensions: Iterable[int] | None = None) -> ir.Value:
    """A float tensor reduced by `stablehlo.<name>` along some dimensions, by default all."""
    return reduce_together([(x, name, initial)], dimensions)[0]


def reduce_together(
    parts: Sequence[tuple[ir.Value, str, float]], dimensions: Iterable[int] | None = None
) -> list[ir.Value]:
    """Float tensors of one type, each reduced by its `stablehlo.<name>` from its initial value, in one operation."""
    type_ = parts[0][0].type
    info = tensor_info(type_)
    dims = list(range(info.rank)) if dimensions is None else list(dimensions)
    if not dims:
        return [x for x, _, _ in parts]
    scalar = tensor_type((), info.element)
    kept = tensor_type([n for d, n in enumerate(info.shape) if d not in dims], info.element)
    attributes = {"dimensions": ir.DenseI64ArrayAttr.get(dims)}
    operands = [x for x, _, _ in parts] + [splat(scalar, initial) for _, _, initial in parts]
    reduction = ir.Operation.create("stablehlo.reduce", [kept] * len(parts), operands, attributes, regions=1)
    count = len(parts)
    block = ir.Block.create_at_start(reduction.regions[0], [scalar] * 2 * count, [ir.Location.current] * 2 * count)
    with ir.InsertionPoint(block):
        pairs = zip(block.arguments[:count], block.arguments[count:], parts, strict=True)
        ir.Operation.create("stablehlo.return", [], [op(name, scalar, a, b) for a, b, (_, name, _) in pairs])
    return list(reduction.results)


def slice_(value: ir.Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> ir.Value:
    """Of each dimension every so many elements, from one on and before another."""
    shape = [-(-(limit - start) // stride) for start, limit, stride in zip(starts, limits, strides, strict=True)]
    array = ir.DenseI64ArrayAttr.get
    return op(
        "slice", tensor_type(shape, tensor_info(value.type).element), value,
        start_indices=array(list(starts)), limit_indices=array(list(limits)), strides=array(list(strides)),
    )  # fmt: skip


def concatenate(parts: list[ir.Value]) -> ir.Value:
    """Tensors joined along their first dimension; one alone is itself."""
    if len(parts) == 1:
        return parts[0]
    info = tensor_info(parts[0].type)
    rows = sum(tensor_info(part.type).shape[0] for part in parts)
    dimension = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
    return op("concatenate", tensor_type((rows, *info.shape[1:]), info.element), *parts, dimension=dimension)


class LeadingNumbers:
    """Constants of rank 0 at the start of blocks, one for each number of a type."""

    def __init__(self) -> None:
        self._known: dict[tuple[ir.Block, ir.Type, float], ir.Value] = {}

    def of(self, block: ir.Block, element: str, number: float) -> ir.Value:
        """A float number of an element type that all operations of a block can read."""
        scalar = tensor_type((), element)
        key = (block, scalar, number)
        if key not in self._known:
            with ir.InsertionPoint.at_block_begin(block):
                self._known[key] = splat(scalar, number)
        return self._known[key]
