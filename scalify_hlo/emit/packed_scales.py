"""Scales in few kernels: results of reductions, and elements of vectors.

A GPU launches a kernel for each result of rank 0 that it computes, and another for each that is a copy: a hundred of
them in a step with a hundred tensors of state, which compute one number each; XLA:CPU compiles each of them. What has
several results in XLA is a reduction of several operands: of each scale beside minus infinity the larger one, which is
the same number whatever its sign, from one kernel for all, into which XLA fuses what they are computed from.

That is for as many as XLA fuses. More are put into a vector first, and the reductions read its elements. The barrier
behind it keeps XLA from seeing each number through the vector: a scale does not have to exist because it is a result.

What data are multiplied by is computed from one vector of the arguments' scales, in reductions again: each number is a
buffer of its own, so that kernels of equal layers are equal, and compiled once. A slice of a vector XLA puts into the
kernel that reads it, with its place: of 1,398 kernels of an FP8 step of eight layers 869 were unlike, and without their
places 161 (compiled on an H100). What stands behind the last product, the updates, reads vectors: XLA makes one kernel
of those of different layers, unless two of them read one argument (horizontal_loop_fusion.cc). In a small program one
vector is all there is, which takes a kernel or two less.

XLA:CPU makes a kernel of each number that enters a vector, and another of each that leaves it; and it compiles kernels
that differ in nothing but their operands once. So there all of them are results of a call: `scalify-cpu-scales`.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind, splat, splat_number
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

# Fewer results are not worth two kernels, nor fewer scales of arguments the one that they are computed in.
FEWEST = 4
FEWEST_ARGUMENTS = 8
# Of more operands and results XLA computes each operand in a kernel of its own: it bounds those of a fusion.
_MOST = 24
# The same where all operands are elements of one vector.
_MOST_OF_VECTOR = 48
# What packs numbers, or returns them.
_PACKING = frozenset({"stablehlo.reshape", "func.return"})
_PRODUCTS = (
    names(Trait.CONTRACTS) | names(Trait.CALLS) | {"stablehlo.while", "stablehlo.scatter", "stablehlo.custom_call"}
)
_ARITHMETIC = frozenset(
    f"stablehlo.{name}"
    for name in ("multiply", "divide", "maximum", "minimum", "clamp", "reduce_precision", "convert", "select")
)
# Answers about scales, that a choice between two of them waits for.
_PREDICATES = frozenset({"stablehlo.compare"})
_FOLLOWING = _ARITHMETIC | _PREDICATES


def packed(scales: Sequence[ir.Value]) -> list[ir.Value]:
    """The same f32 numbers of rank 0, results of reductions; at the insertion point.

    They are as they were if there are fewer than FEWEST.
    """
    if len(scales) < FEWEST:
        return list(scales)
    if len(scales) <= _MOST:
        return reduced(scales)
    return reduced(list(elements_of(held(scales), range(len(scales)))), _MOST_OF_VECTOR)


def reduced(scales: Sequence[ir.Value], most: int = _MOST) -> list[ir.Value]:
    """The same f32 numbers of rank 0, as results of as few reductions as XLA fuses whole; at the insertion point.

    most: results of one reduction.

    # max(x, -inf) = x
    """
    count = math.ceil(len(scales) / most)
    size = math.ceil(len(scales) / count)
    return [result for start in range(0, len(scales), size) for result in _reduced(scales[start : start + size])]


def _reduced(scales: Sequence[ir.Value]) -> list[ir.Value]:
    scalar, n = scales[0].type, len(scales)
    element = ir.RankedTensorType(scalar).element_type
    array = ir.DenseI64ArrayAttr.get
    start = splat(scalar, -math.inf)
    one, two = (ir.RankedTensorType.get([size], element) for size in (1, 2))
    # A broadcast would do, but XLA:CPU fuses no division into what reads its result twice.
    edges = {"edge_padding_low": array([0]), "edge_padding_high": array([1]), "interior_padding": array([0])}
    beside: list[ir.Value] = []
    for scale in scales:
        alone = ir.Operation.create("stablehlo.reshape", [one], [scale]).results[0]
        beside.append(ir.Operation.create("stablehlo.pad", [two], [alone, start], edges).results[0])
    operands = [*beside, *[start] * n]
    op = ir.Operation.create("stablehlo.reduce", [scalar] * n, operands, {"dimensions": array([0])}, regions=1)
    block = op.regions[0].blocks.append(*[scalar] * (2 * n))
    with ir.InsertionPoint(block):
        pairs = ([block.arguments[i], block.arguments[n + i]] for i in range(n))
        larger = [ir.Operation.create("stablehlo.maximum", [scalar], pair).results[0] for pair in pairs]
        ir.Operation.create("stablehlo.return", [], larger)
    return list(op.results)


def source_of(scale: ir.Value) -> ir.Value:
    """The number that `packed` was given, of one that it gave; any other is its own."""
    op = defining_op(scale)
    if op is None or op.name != "stablehlo.reduce":
        return scale
    numbers = numbers_of_reduction(op)
    if not numbers:
        return scale
    number = numbers[list(op.results).index(scale)]
    element = defining_op(number)
    slice_ = defining_op(element.operands[0]) if element is not None and element.name == "stablehlo.reshape" else None
    place = None if slice_ is None else place_in_vector(slice_)
    barrier = None if slice_ is None or place is None else defining_op(slice_.operands[0])
    if barrier is None or barrier.name != "stablehlo.optimization_barrier":
        return number
    together = numbers_of_vector(barrier)
    return together[place or 0] if together else number


def numbers_of_reduction(reduction: ir.Operation) -> list[ir.Value]:
    """The numbers whose maxima with minus infinity are the results of `reduced`; empty for any other reduction."""
    count = len(reduction.results)
    body = [op.operation.name for op in reduction.regions[0].blocks[0].operations]
    if body != ["stablehlo.maximum"] * count + ["stablehlo.return"]:
        return []
    numbers = [_beside_infinity(operand) for operand in reduction.operands[:count]]
    found = [number for number in numbers if number is not None]
    return found if len(found) == count else []


def _beside_infinity(operand: ir.Value) -> ir.Value | None:
    """The number s of a vector (s, -inf); None if it is anything else."""
    pad = defining_op(operand)
    if pad is None or pad.name != "stablehlo.pad" or tensor_info(operand.type).shape != (2,):
        return None
    alone, padding = defining_op(pad.operands[0]), constant_behind(pad.operands[1])
    if padding is None or splat_number(padding) != -math.inf or alone is None or alone.name != "stablehlo.reshape":
        return None
    return alone.operands[0] if is_packable(alone.operands[0]) else None


def numbers_of_vector(barrier: ir.Operation) -> list[ir.Value]:
    """What a barrier's vector is put together from, if it is single f32 numbers."""
    joined = defining_op(barrier.operands[0]) if len(barrier.operands) == 1 else None
    return [] if joined is None or joined.name != "stablehlo.concatenate" else numbers_of_concatenation(joined)


def numbers_of_concatenation(joined: ir.Operation) -> list[ir.Value]:
    """What a vector is put together from, if it is single f32 numbers."""
    members = [defining_op(each) for each in joined.operands]
    if any(each is None or each.name != "stablehlo.reshape" for each in members):
        return []
    numbers = [each.operands[0] for each in members if each is not None]
    return numbers if all(is_packable(each) for each in numbers) else []


def place_in_vector(reader: ir.Operation) -> int | None:
    """Which element of a vector a slice takes, if nothing but numbers of rank 0 is made of it."""
    if reader.name != "stablehlo.slice":
        return None
    uses = [use.owner.operation for use in reader.results[0].uses]
    if any(each.name != "stablehlo.reshape" or not is_packable(each.results[0]) for each in uses):
        return None
    start, limit = (list(ir.DenseI64ArrayAttr(reader.attributes[f"{end}_indices"])) for end in ("start", "limit"))
    return start[0] if len(start) == 1 and limit[0] == start[0] + 1 else None


def vector_of(scales: Sequence[ir.Value]) -> ir.Value:
    """Scales of rank 0 as one tensor<n x f32>."""
    element = ir.RankedTensorType(scales[0].type).element_type
    one, all_ = (ir.RankedTensorType.get([n], element) for n in (1, len(scales)))
    members = [ir.Operation.create("stablehlo.reshape", [one], [scale]).results[0] for scale in scales]
    attributes = {"dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)}
    return ir.Operation.create("stablehlo.concatenate", [all_], members, attributes).results[0]


def held(scales: Sequence[ir.Value]) -> ir.Value:
    """Scales of rank 0 as one tensor<n x f32>, through which XLA does not see what each is computed from."""
    return behind_barrier(vector_of(scales))


def behind_barrier(vector: ir.Value) -> ir.Value:
    """A tensor<n x f32> through which XLA does not see what its elements are computed from."""
    return ir.Operation.create("stablehlo.optimization_barrier", [vector.type], [vector]).results[0]


def element_of(vector: ir.Value, index: int) -> ir.Value:
    """Number `index` of a tensor<n x f32>, of rank 0."""
    return next(elements_of(vector, (index,)))


def elements_of(vector: ir.Value, indices: Iterable[int]) -> Iterator[ir.Value]:
    """Numbers of a tensor<n x f32>, each of rank 0, and emitted when it is asked for."""
    element = ir.RankedTensorType(vector.type).element_type
    scalar, one = (ir.RankedTensorType.get(shape, element) for shape in ([], [1]))
    create, array = ir.Operation.create, ir.DenseI64ArrayAttr.get
    strides = array([1])
    for index in indices:
        bounds = {"start_indices": array([index]), "limit_indices": array([index + 1]), "strides": strides}
        slice_ = create("stablehlo.slice", [one], [vector], bounds).results[0]
        yield create("stablehlo.reshape", [scalar], [slice_]).results[0]


def is_packable(scale: ir.Value) -> bool:
    """Whether a scale is one f32 number."""
    info = tensor_info(scale.type)
    return info.element == "f32" and info.rank == 0


def gather_scales_of_arguments(function: ir.Operation, scales: Collection[ir.Value]) -> None:
    """Compute all numbers that follow from the function's rank-0 arguments alone at its start, in few kernels.

    scales: those of the arguments that are scales, and no numbers of the program.

    Otherwise XLA repeats the arithmetic that leads to a scale in every kernel that reads it, for want of anything that
    says it is worth a kernel: three of four instructions in a step of Adam, and most of the time it takes to compile.
    Computed there, from a vector of the arguments, a scale is one number in memory. Nothing waits for it that did not
    wait for the arguments; scales that follow from statistics of data are left where they are.
    """
    block = function.regions[0].blocks[0]
    before = next(op.operation for op in block.operations)
    floors = _floors_in_vector(block, scales)
    rank_0 = [argument for argument in block.arguments if tensor_info(argument.type).rank == 0]
    known: set[ir.Value] = {*rank_0, *floors}
    of_scales = {*known.intersection(scales), *floors}
    constants: dict[ir.Value, ir.Operation] = {}
    arithmetic: list[ir.Operation] = []
    divisions: list[ir.Operation] = []
    first: ir.Operation | None = None
    product: ir.Operation | None = None
    for operation in itertools.dropwhile(lambda each: each.operation != before, block.operations):
        op = operation.operation
        name = op.name
        if name in _PRODUCTS:
            product = op
        if name == "stablehlo.constant":
            if is_packable(value := op.results[0]):
                constants[value] = op
            continue
        if name in _FOLLOWING:
            operands = list(op.operands)
            if _follow(operands, known, constants) and (name in _PREDICATES or is_packable(op.results[0])):
                value = op.results[0]
                known.add(value)
                if _follow(operands, of_scales, constants):
                    of_scales.add(value)
                arithmetic.append(op)
                continue
            if name == "stablehlo.divide":
                divisions.append(op)
        elif name == "stablehlo.while":
            divisions += [each for each in walk(op) if each.name == "stablehlo.divide"]
        if first is None:
            first = op
    ours = set(arithmetic)
    if first is None or len(_read(arithmetic, ours, FEWEST_ARGUMENTS)) < FEWEST_ARGUMENTS:
        return
    inverses = _multiply_by_inverses(divisions, of_scales, first)
    arithmetic += inverses
    ours.update(inverses)
    read = _read(arithmetic, ours)
    for op in arithmetic:
        for operand in op.operands:
            constant = constants.pop(operand, None)
            if constant is not None:
                constant.move_before(first)
        op.move_before(first)
    with ir.InsertionPoint(first), first.location:
        few = len(read) <= 2 * _MOST_OF_VECTOR  # of a small program: one vector is fewer kernels
        numbers = list(elements_of(held(read), range(len(read)))) if few else reduced(read, _MOST_OF_VECTOR)
        for scale, number in zip(read, numbers, strict=True):
            for use in list(scale.uses):
                reader = use.owner.operation
                if _reads_data(reader, ours):
                    reader.operands[use.operand_number] = number
        if few:
            return
        _read_from_vector(numbers, lambda reader: _is_behind(reader, product))
    with ir.InsertionPoint.at_block_begin(block), first.location:
        of_arguments = [argument for argument in rank_0 if is_packable(argument)]
        _read_from_vector(of_arguments, lambda reader: _is_number(reader) or _is_behind(reader, product))


def _floors_in_vector(block: ir.Block, scales: Collection[ir.Value]) -> list[ir.Value]:
    """Scales of arguments that are kept above a number, of one vector that is; none if they are few.

    One by one they are arithmetic in each kernel that reads them.

    # max(s, c)_i = max(s_i, c)
    """
    floors: list[ir.Operation] = []
    number: float | None = None
    for argument in block.arguments:
        if argument not in scales or not is_packable(argument):
            continue
        readers = [use.owner.operation for use in argument.uses]
        if len(readers) != 1 or readers[0].name != "stablehlo.maximum" or readers[0].block != block:
            continue
        other = next((x for x in readers[0].operands if x != argument), None)
        constant = None if other is None else constant_behind(other)
        found = None if constant is None else splat_number(constant)
        if found is not None and number in (None, found):
            number = found
            floors.append(readers[0])
    if number is None or len(floors) < FEWEST_ARGUMENTS:
        return []
    with ir.InsertionPoint.at_block_begin(block), floors[0].location:
        numbers = [next(x for x in op.operands if isinstance(x, ir.BlockArgument)) for op in floors]
        vector = vector_of(numbers)
        kept = ir.Operation.create("stablehlo.maximum", [vector.type], [vector, splat(vector.type, number)])
        elements = list(elements_of(behind_barrier(kept.results[0]), range(len(floors))))
    for op, element in zip(floors, elements, strict=True):
        op.results[0].replace_all_uses_with(element)
        op.erase()
    return elements


def _read_from_vector(numbers: Sequence[ir.Value], reads: Callable[[ir.Operation], bool]) -> None:
    """Let some readers of numbers read them from a vector, which is put together at the insertion point."""
    found: list[tuple[ir.Value, list[tuple[ir.Operation, int]]]] = []
    for number in numbers:
        uses = [(use.owner.operation, use.operand_number) for use in number.uses]
        chosen = [(op, i) for op, i in uses if op.name not in _PACKING and reads(op)]
        if chosen:
            found.append((number, chosen))
    if not found:
        return
    elements = elements_of(held([number for number, _ in found]), range(len(found)))
    for (_, uses), element in zip(found, elements, strict=True):
        for op, i in uses:
            op.operands[i] = element


def _is_behind(reader: ir.Operation, product: ir.Operation | None) -> bool:
    """Whether an operation stands behind the last product of the function, as updates of state do."""
    return product is None or (reader.block == product.block and product.is_before_in_block(reader))


def _is_number(op: ir.Operation) -> bool:
    return len(op.results) == 1 and is_packable(op.results[0])


def _read(arithmetic: Sequence[ir.Operation], ours: set[ir.Operation], most: int | None = None) -> list[ir.Value]:
    """The scales that data are computed with; the first few of them are enough if `most` is given."""
    found: list[ir.Value] = []
    for op in arithmetic:
        if len(found) == most:
            break
        scale = op.results[0]
        for use in scale.uses if is_packable(scale) else ():
            if _reads_data(use.owner.operation, ours):
                found.append(scale)
                break
    return found


def _multiply_by_inverses(
    divisions: Sequence[ir.Operation], scales: set[ir.Value], first: ir.Operation
) -> list[ir.Operation]:
    """Multiply by 1 / scale what is divided by a known scale; the divisions of 1, which stand before `first`.

    XLA does the same, with an operation on one number for each scale, and XLA:CPU makes a kernel of each. A number of
    the program stays a divisor: it need not be a power of two.

    # x / s = x * (1 / s), s a power of two
    """
    inverses: dict[ir.Value, ir.Operation] = {}
    one: ir.Value | None = None
    for op in divisions:
        spread = op.operands[1].owner
        if isinstance(spread, ir.Block) or spread.name != "stablehlo.broadcast_in_dim":
            continue
        scale = spread.operands[0]
        if scale not in scales or not is_packable(scale):
            continue
        if scale not in inverses:
            with ir.InsertionPoint(first), first.location:
                one = one or splat(scale.type, 1.0)
                inverses[scale] = ir.Operation.create("stablehlo.divide", [scale.type], [one, scale])
        with ir.InsertionPoint(op):
            attributes = dict(spread.attributes.items())
            factor = ir.Operation.create(
                spread.name, [op.operands[1].type], [inverses[scale].results[0]], attributes, loc=spread.location
            )
            attributes = dict(op.attributes.items())
            operands, types = [op.operands[0], factor.results[0]], [op.results[0].type]
            product = ir.Operation.create("stablehlo.multiply", types, operands, attributes, loc=op.location)
        op.results[0].replace_all_uses_with(product.results[0])
        op.erase()
    return list(inverses.values())


def _follow(operands: Sequence[ir.Value], known: set[ir.Value], constants: dict[ir.Value, ir.Operation]) -> bool:
    """Whether operands are known scales and constants, and not constants alone."""
    follows = False
    for operand in operands:
        if operand in known:
            follows = True
        elif operand not in constants:
            return False
    return follows


def _reads_data(reader: ir.Operation, arithmetic: set[ir.Operation]) -> bool:
    """Whether a reader of a scale is no arithmetic of scales itself, nor what packs or returns them."""
    return reader not in arithmetic and reader.name not in _PACKING
