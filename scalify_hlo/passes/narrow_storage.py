"""A tensor that is stored in FP8, read as such past whatever only moves it.

# move(convert(x)) = convert(move(x))

Movements, loops that carry the tensor unchanged and private functions that are called once take it in FP8, so that what
is kept in memory, and read in each iteration of a loop over layers, is one byte an element. An FP8 product reads it as
it is; any other reader converts what it takes.

The data may have a factor for each channel:

# x . (w * diag(c)) = (x . w) * diag(c)

which multiplies the result of an FP8 product, in f32, and what any other reader converts.
"""

import math
from collections.abc import Sequence

import numpy as np

from scalify_hlo.analysis.calls import CallGraph, callee_name, hands_on, terminator
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.execution.element_types import Array
from scalify_hlo.module.function_types import retype
from scalify_hlo.passes import emission as emit
from scalify_hlo.types import LARGEST, tensor_info

_MOVEMENTS = frozenset(
    f"stablehlo.{name}" for name in ("transpose", "reshape", "slice", "dynamic_slice", "broadcast_in_dim", "reverse")
)
# A constant, or a value of rank 1 and more where it depends on the iteration of a loop.
Factor = Array | ir.Value


class NarrowStorage:
    """Retypes tensors of a module and what reads them."""

    def __init__(self, module: ir.Module):
        self._calls = CallGraph(module)

    def store(self, value: ir.BlockArgument, element: str, factor: Array | None = None) -> None:
        """Let `value` be stored in `element`, its readers taking value * factor.

        factor: of the value's rank, each dimension 1 or full; where an FP8 product contracts a dimension it is 1.
        """
        wide = tensor_info(value.type).element
        value.set_type(emit.with_element(value.type, element))
        self._push(value, wide, factor)

    def _push(
        self, value: ir.Value, wide: str, factor: Factor | None, returned: tuple[ir.Operation, int] | None = None
    ) -> None:
        """Give the readers of `value`, which has its narrow type, what they expect.

        returned: a reader, and its operand, that takes the narrow value as it is.
        """
        element = tensor_info(value.type).element
        converted: dict[ir.Block, ir.Value] = {}
        while True:
            forms = (fp8_form(use.owner.operation, use.operand_number, element) for use in value.uses)
            form = next((each for each in forms if each is not None), None)
            if form is None:
                break
            clamp = form.operands[0].owner.operation
            form.results[0].replace_all_uses_with(value)  # clamp(w) converted to FP8: w is that already
            form.erase()
            clamp.erase()
        for reader, i in [(use.owner.operation, use.operand_number) for use in value.uses]:
            if (reader, i) == returned or self._moves(reader, i, value, wide, factor):
                continue
            if reader.name == "stablehlo.dot_general" and _is_narrow_product(reader):
                if factor is not None:
                    _scale_product(reader, i, factor)
                continue
            if reader.name == "stablehlo.convert" and factor is None:
                continue  # it converts from what it gets
            if reader.block not in converted:
                with _before_readers(value, reader.block), reader.location:
                    converted[reader.block] = _times(emit.convert(value, wide), factor)
            reader.operands[i] = converted[reader.block]

    def _moves(self, reader: ir.Operation, i: int, value: ir.Value, wide: str, factor: Factor | None) -> bool:
        """Retype a reader that only hands the value on, and what reads it; whether it was one."""
        name = reader.name
        if name in _MOVEMENTS and i == 0:
            moved = None
            if factor is not None:
                moved = _moved(reader, factor)
                if moved is None:
                    return False
            result = reader.results[0]
            result.set_type(emit.with_element(result.type, tensor_info(value.type).element))
            self._push(result, wide, moved)
            return True
        if name == "stablehlo.optimization_barrier" and len(reader.operands) == 1:
            reader.results[0].set_type(value.type)
            self._push(reader.results[0], wide, factor)
            return True
        if name == "stablehlo.while" and not isinstance(factor, ir.Value):
            return self._through_loop(reader, i, value, wide, factor)
        if name == "func.call" and not isinstance(factor, ir.Value):
            return self._through_call(reader, i, value, wide, factor)
        return False

    def _through_loop(self, loop: ir.Operation, i: int, value: ir.Value, wide: str, factor: Array | None) -> bool:
        condition, body = (region.blocks[0] for region in loop.regions)
        if not hands_on(loop, i):
            return False
        for own in (condition.arguments[i], body.arguments[i], loop.results[i]):
            own.set_type(value.type)
        self._push(condition.arguments[i], wide, factor)
        self._push(body.arguments[i], wide, factor, (terminator(body), i))
        self._push(loop.results[i], wide, factor)
        return True

    def _through_call(self, call: ir.Operation, i: int, value: ir.Value, wide: str, factor: Array | None) -> bool:
        name = callee_name(call)
        body = self._calls.callee_body(call)
        if body is None or name is None or len(self._calls.sites.get(name, [])) != 1 or name in self._calls.public:
            return False
        body.arguments[i].set_type(value.type)
        retype(self._calls.functions[name])
        self._push(body.arguments[i], wide, factor)
        return True


# --- FP8 forms and products ---------------------------------------------------------------------------------------


def fp8_form(clamp: ir.Operation, operand: int, element: str) -> ir.Operation | None:
    """The conversion to FP8 of what a clamp to that type's range gives, where that is all it is for."""
    if clamp.name != "stablehlo.clamp" or operand != 1 or element not in LARGEST:
        return None
    readers = [use.owner.operation for use in clamp.results[0].uses]
    if len(readers) != 1 or readers[0].name != "stablehlo.convert":
        return None
    return readers[0] if tensor_info(readers[0].results[0].type).element == element else None


def _is_narrow_product(op: ir.Operation) -> bool:
    """Whether both operands of a product are FP8, read as they are."""
    return all(tensor_info(operand.type).element.startswith("f8") for operand in op.operands)


def _scale_product(op: ir.Operation, side: int, factor: Factor) -> None:
    """Multiply the result by the factor of one operand: in f32, then in the type it had."""
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    batching: list[list[int]] = [list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)]
    contracting: list[list[int]] = [list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)]
    free = [
        [d for d in range(tensor_info(op.operands[s].type).rank) if d not in batching[s] + contracting[s]]
        for s in (0, 1)
    ]
    first = len(batching[0]) + (len(free[0]) if side else 0)
    places = {d: j for j, d in enumerate(batching[side])} | {d: first + j for j, d in enumerate(free[side])}
    shape = _shape(factor)
    assert not any(shape[int(d)] != 1 for d in contracting[side]), "factors along a contracted dimension"
    result = op.results[0]
    element = tensor_info(result.type).element
    readers = list(result.uses)
    result.set_type(emit.with_element(result.type, "f32"))
    with ir.InsertionPoint.after(op), op.location:
        kept = sorted(d for d in places if shape[d] != 1)
        vector = _emitted(factor, [shape[d] for d in kept])
        dims = ir.DenseI64ArrayAttr.get([places[d] for d in kept])
        factors = emit.op("broadcast_in_dim", result.type, vector, broadcast_dimensions=dims)
        scaled = emit.convert(emit.op("multiply", result.type, result, factors), element)
    for use in readers:
        use.owner.operation.operands[use.operand_number] = scaled


# --- factors ------------------------------------------------------------------------------------------------------


def _shape(factor: Factor) -> tuple[int, ...]:
    return tensor_info(factor.type).shape if isinstance(factor, ir.Value) else tuple(factor.shape)


def _emitted(factor: Factor, shape: Sequence[int]) -> ir.Value:
    """A factor as a value of as many elements; needs an insertion point."""
    type_ = emit.tensor_type(shape, "f32")
    if isinstance(factor, ir.Value):
        return factor if factor.type == type_ else emit.op("reshape", type_, factor)
    numbers = ir.DenseElementsAttr.get(np.ascontiguousarray(factor.reshape(list(shape)), np.float32), type=type_)
    return emit.op("constant", type_, value=numbers)


def _times(value: ir.Value, factor: Factor | None) -> ir.Value:
    """value * factor, in the value's type."""
    if factor is None:
        return value
    info = tensor_info(value.type)
    kept = [d for d, n in enumerate(_shape(factor)) if n != 1]
    vector = emit.convert(_emitted(factor, [_shape(factor)[d] for d in kept]), info.element)
    dims = ir.DenseI64ArrayAttr.get(kept)
    return emit.op(
        "multiply", value.type, value, emit.op("broadcast_in_dim", value.type, vector, broadcast_dimensions=dims)
    )


def _moved(op: ir.Operation, factor: Factor) -> Factor | None:
    """The factor of what a movement makes of value * factor; None where it has none of that form."""
    shape, result = _shape(factor), tensor_info(op.results[0].type).shape
    source = tensor_info(op.operands[0].type).shape
    match op.name.removeprefix("stablehlo."):
        case "transpose":
            permutation = _integers(op, "permutation")
            if not isinstance(factor, ir.Value):
                return factor.transpose(permutation)
            return _like(op, factor, [shape[d] for d in permutation])
        case "reshape":
            return _reshaped(op, factor, _groups_kept(source, result, shape))
        case "broadcast_in_dim":
            places = _integers(op, "broadcast_dimensions")
            if places != sorted(places):
                return None
            return _reshaped(op, factor, [shape[places.index(j)] if j in places else 1 for j in range(len(result))])
        case "slice" if not isinstance(factor, ir.Value):
            bounds = [_integers(op, name) for name in _BOUNDS]
            cut = tuple(
                slice(None) if n == 1 else slice(a, b, step) for n, a, b, step in zip(shape, *bounds, strict=True)
            )
            return factor[cut]
        case "dynamic_slice":
            sizes = _integers(op, "slice_sizes")
            if all(n == 1 or n == size for n, size in zip(shape, sizes, strict=True)):
                return factor  # whole, or one number, where it is cut
            # An index past the end of a dimension of one element is taken to be 0.
            with ir.InsertionPoint(op), op.location:
                source_factor = _emitted(factor, shape)
                sizes = [min(n, size) for n, size in zip(shape, sizes, strict=True)]
                return ir.Operation.create(
                    op.name, [emit.tensor_type(sizes, "f32")], [source_factor, *list(op.operands)[1:]],
                    {"slice_sizes": ir.DenseI64ArrayAttr.get(sizes)},
                ).results[0]  # fmt: skip
        case "reverse" if not isinstance(factor, ir.Value):
            return np.flip(factor, tuple(d for d in _integers(op, "dimensions") if shape[d] != 1))
        case _:
            return None


def _integers(op: ir.Operation, name: str) -> list[int]:
    return [int(n) for n in ir.DenseI64ArrayAttr(op.attributes[name])]


_BOUNDS = ("start_indices", "limit_indices", "strides")


def _like(op: ir.Operation, factor: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A copy of a movement for the factor."""
    with ir.InsertionPoint(op), op.location:
        return ir.Operation.create(
            op.name, [emit.tensor_type(shape, "f32")], [factor], dict(op.attributes.items())
        ).results[0]


def _reshaped(op: ir.Operation, factor: Factor, shape: Sequence[int] | None) -> Factor | None:
    if shape is None:
        return None
    if not isinstance(factor, ir.Value):
        return factor.reshape(list(shape))
    with ir.InsertionPoint(op), op.location:
        return _emitted(factor, shape)


def _groups_kept(source: Sequence[int], target: Sequence[int], shape: Sequence[int]) -> list[int] | None:
    """The shape of a factor past a reshape: in each group of dimensions of equal product it is whole or one number."""
    result = [1] * len(target)
    i = j = 0
    while i < len(source) or j < len(target):
        left, right = i, j
        i, j = i + 1, j + 1
        while math.prod(source[left:i]) != math.prod(target[right:j]):
            if math.prod(source[left:i]) < math.prod(target[right:j]):
                i += 1
            else:
                j += 1
        group = shape[left:i]
        if any(n != 1 for n in group):
            if list(group) != list(source[left:i]):
                return None
            result[right:j] = list(target[right:j])
    return result


# --- places -------------------------------------------------------------------------------------------------------


def _before_readers(value: ir.Value, block: ir.Block) -> ir.InsertionPoint:
    """Before the first operation of a block that reads a value."""
    first: ir.Operation | None = None
    for use in value.uses:
        op = use.owner.operation
        if op.block == block and (first is None or op.is_before_in_block(first)):
            first = op
    assert first is not None
    return ir.InsertionPoint(first)
