"""What a served module multiplies its weights by, on sample inputs: x^T x.

Only of weights that products and convolutions alone read, and not in loops or branches.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from scalify_hlo.analysis.calls import defining_op, terminator
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array, is_float_array
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.module.carriers import carries
from scalify_hlo.module.function_types import replace_terminator, retype
from scalify_hlo.module.identity import composite_name
from scalify_hlo.passes.block_dots import COMPOSITE
from scalify_hlo.passes.private_functions import inline_functions
from scalify_hlo.serving.compensation import Readings
from scalify_hlo.serving.packing import as_data, cache_arguments, own_arguments, pack, pinned_arguments
from scalify_hlo.serving.patches import Patches
from scalify_hlo.serving.tensors import Batches, platform_index

_MOVES = ("stablehlo.convert", "stablehlo.reshape", "stablehlo.transpose")


def sampled_readings(
    module: ir.Module, weights: Mapping[str, Array], files: Sequence[str], where: str = "weights"
) -> dict[int, Readings]:
    """What the weights of a pinned module are multiplied by on batches in files, rounded to the nearest themselves.

    weights, where: as of `pack`. files: each has the arguments that no weight is, as values.
    Raises ScalifyError as `pack`, for files that do not fit, and for batches with NaN elements.
    """
    arguments, pinned, own = entry_signature(module).arguments, pinned_arguments(module), own_arguments(module)
    tensors = pack(module, weights, where).tensors
    packed = {i: tensors[spec.name] for i, spec in enumerate(arguments) if spec.name in tensors}
    caches = cache_arguments(module) - packed.keys()
    # Batches are told of the original's arguments: the scales of blocks are packed with the elements.
    specs = [dataclasses.replace(arguments[i], element_type="f32") if i in caches else arguments[i] for i in own]
    packed |= platform_index(module)
    known = {k: packed[i] for k, i in enumerate(own) if i in packed}

    def inputs() -> Iterator[list[Array]]:
        for arrays in Batches(specs, [], files, known):
            for k, (spec, array) in enumerate(zip(specs, arrays, strict=True)):
                if k not in known and is_float_array(array) and np.isnan(array.astype(np.float32, copy=False)).any():
                    raise ScalifyError(f"argument '{spec.name}' of a batch has NaN elements: nothing is known from it")
            given = dict(zip(own, arrays, strict=True)) | packed
            given |= {i: as_data(given[i], pinned[i], arguments[i]) for i in caches}
            yield [given[i] for i in range(len(arguments))]

    return readings(module, pinned.keys() - cache_arguments(module), inputs())


def readings(module: ir.Module, weights: Iterable[int], batches: Iterable[Sequence[Array]]) -> dict[int, Readings]:
    """What those of the weights are multiplied by, over batches, that nothing but products and convolutions read.

    module: a pinned one, which is not changed. weights: indices of its arguments. batches: all its arguments each, as
    it takes them. Raises ScalifyError where the module cannot be run.
    """
    measured = clone(module)
    with measured.context, ir.Location.unknown(measured.context):
        inline_functions(measured)
        main = public_function(measured)
        block = main.regions[0].blocks[0]
        found = {i: uses for i in weights if (uses := _products(block.arguments[i], main))}
        sides = [side for uses in found.values() for side in uses]
        leaving = terminator(block)
        before = len(leaving.operands)
        replace_terminator(leaving, [*leaving.operands, *(value for side in sides for value in side.others)])
        retype(main)
    run = xla.compile(measured)
    moments: dict[int, Array] = {}
    rows: dict[int, int] = {}
    for arrays in batches:
        results = iter(run(list(arrays))[before:])
        for i, uses in found.items():
            for side in uses:
                x = side.rows(*(np.asarray(next(results), np.float64) for _ in side.others))
                moments[i] = moments.get(i, np.zeros(())) + x.transpose(0, 2, 1) @ x
                rows[i] = rows.get(i, 0) + x.shape[1]
    return {i: Readings(uses[0].places, moments[i], rows[i]) for i, uses in found.items() if i in moments}


@dataclasses.dataclass(frozen=True)
class _Side:
    """A weight in one product. others: the other operand, or its elements and the scales of their blocks. rows: makes
    it [batch, rows, contracted]."""

    places: Array
    others: tuple[ir.Value, ...]
    rows: Callable[..., Array]


def _as_matrices(x: Array, batching: Sequence[int], contracting: Sequence[int]) -> Array:
    """An operand of a product as [batch, contracted, free]."""
    free = [d for d in range(x.ndim) if d not in batching and d not in contracting]
    sizes = [math.prod(x.shape[d] for d in dims) for dims in (batching, contracting, free)]
    return x.transpose(*batching, *contracting, *free).reshape(sizes)


def _products(weight: ir.Value, main: ir.Operation) -> list[_Side]:
    """The products that read a weight; none if anything else does, or products that do not read it alike."""
    found: list[_Side] = []
    for op, k in _readers(weight):
        side = _side(op, k, _places(op.operands[k], weight)) if op.parent.operation == main else None
        if side is None:
            return []
        found.append(side)
    alike = all(np.array_equal(side.places, found[0].places) for side in found)
    return found if alike else []


def _side(op: ir.Operation, k: int, places: Array) -> _Side | None:
    """A product or convolution that has a weight as operand k. places: of the operand in the weight. Else None."""
    if op.name == "stablehlo.convolution":
        patches = Patches(op)
        return _Side(patches.kernel(places), (op.operands[0],), patches.rows) if k == 1 and patches.is_plain else None
    if composite_name(op) == COMPOSITE:
        # Operands are x [rows, contracted], y [rows, contracted], and the scales of both in the same order.
        return _Side(places.T[None], (op.operands[1 - k], op.operands[3 - k]), _blocks) if k < 2 else None
    if op.name != "stablehlo.dot_general":
        return None
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    sides = (
        (numbers.lhs_batching_dimensions, numbers.lhs_contracting_dimensions),
        (numbers.rhs_batching_dimensions, numbers.rhs_contracting_dimensions),
    )
    dims = tuple(sides[1 - k][0]), tuple(sides[1 - k][1])

    def rows(x: Array) -> Array:
        return _as_matrices(x, *dims).transpose(0, 2, 1)

    return _Side(_as_matrices(places, *sides[k]), (op.operands[1 - k],), rows)


def _blocks(elements: Array, scales: Array) -> Array:
    """[rows, contracted] and the scales of blocks of a row, of any size, as [1, rows, contracted]."""
    return (elements * np.repeat(scales, elements.shape[1] // scales.shape[1], 1))[None]


def _readers(value: ir.Value) -> Iterator[tuple[ir.Operation, int]]:
    """The operations that read a value, behind what only moves and converts it, and as which operand."""
    for use in value.uses:
        op = use.owner.operation
        if op.name in _MOVES or carries(op):
            yield from _readers(op.results[use.operand_number])
        else:
            yield op, use.operand_number


def _places(value: ir.Value, weight: ir.Value) -> Array:
    """Where in a weight, flattened, each element of what was made of it by moves comes from."""
    shape = tuple(ir.RankedTensorType(value.type).shape)
    op = None if value == weight else defining_op(value)
    if op is None:
        return np.arange(math.prod(shape)).reshape(shape)
    before = _places(op.operands[ir.OpResult(value).result_number], weight)
    if op.name == "stablehlo.transpose":
        return before.transpose(list(ir.DenseI64ArrayAttr(op.attributes["permutation"])))
    return before.reshape(shape)
