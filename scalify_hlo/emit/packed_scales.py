"""Scales that leave a function are brought together in one vector, from which each is then taken.

A GPU launches a kernel for each result of rank 0 that it computes, and another for each that is a copy: a hundred of
them in a step with a hundred tensors of state, which compute one number each. In one vector they are one kernel. Taken
out of it again they would be a hundred; but XLA makes one kernel of unrelated elementwise operations that only leave
the program, if none reads an argument (xla/service/gpu/transforms/horizontal_loop_fusion.cc). So each is taken by its
slice and an operation that changes nothing, max(scale, smallest normal number), which XLA does not know to change
nothing.

The barrier keeps XLA from seeing each slice's number through the vector. What computes the numbers is then free to
become part of the kernels that read them: a scale no longer has to exist because it is a result.
"""

from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.scale import SMALLEST_EXPONENT
from scalify_hlo.types import tensor_info

# Fewer results are not worth two kernels, nor fewer scales of arguments the one that they are computed in.
FEWEST = 4
FEWEST_ARGUMENTS = 8
_ARITHMETIC = frozenset(
    f"stablehlo.{name}"
    for name in ("multiply", "divide", "maximum", "minimum", "clamp", "reduce_precision", "convert", "select")
)
# Answers about scales, that a choice between two of them waits for.
_PREDICATES = frozenset({"stablehlo.compare"})


def packed(scales: Sequence[ir.Value]) -> list[ir.Value]:
    """The same f32 scales of rank 0, by way of one vector; emitted at the current insertion point.

    They are as they were if there are fewer than FEWEST.
    """
    if len(scales) < FEWEST:
        return list(scales)
    vector = vector_of(scales)
    vector = ir.Operation.create("stablehlo.optimization_barrier", [vector.type], [vector]).results[0]
    scalar = scales[0].type
    number = ir.FloatAttr.get(ir.RankedTensorType(scalar).element_type, 2.0**SMALLEST_EXPONENT)
    smallest = ir.Operation.create(
        "stablehlo.constant", [scalar], [], {"value": ir.DenseElementsAttr.get_splat(scalar, number)}
    ).results[0]
    results: list[ir.Value] = []
    for i in range(len(scales)):
        element = element_of(vector, i)
        results.append(ir.Operation.create("stablehlo.maximum", [scalar], [element, smallest]).results[0])
    return results


def vector_of(scales: Sequence[ir.Value]) -> ir.Value:
    """Scales of rank 0 as one tensor<n x f32>."""
    element = ir.RankedTensorType(scales[0].type).element_type
    one, all_ = (ir.RankedTensorType.get([n], element) for n in (1, len(scales)))
    members = [ir.Operation.create("stablehlo.reshape", [one], [scale]).results[0] for scale in scales]
    attributes = {"dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)}
    return ir.Operation.create("stablehlo.concatenate", [all_], members, attributes).results[0]


def element_of(vector: ir.Value, index: int) -> ir.Value:
    """Number `index` of a tensor<n x f32>, of rank 0."""
    element = ir.RankedTensorType(vector.type).element_type
    bounds = {"start_indices": index, "limit_indices": index + 1, "strides": 1}
    attributes = {name: ir.DenseI64ArrayAttr.get([n]) for name, n in bounds.items()}
    slice_ = ir.Operation.create("stablehlo.slice", [ir.RankedTensorType.get([1], element)], [vector], attributes)
    return ir.Operation.create(
        "stablehlo.reshape", [ir.RankedTensorType.get([], element)], [slice_.results[0]]
    ).results[0]


def is_packable(scale: ir.Value) -> bool:
    """Whether a scale is one f32 number."""
    info = tensor_info(scale.type)
    return info.element == "f32" and info.rank == 0


def gather_scales_of_arguments(function: ir.Operation) -> None:
    """Compute all scales that follow from the function's rank-0 arguments alone at its start, in one vector.

    Otherwise XLA repeats the arithmetic that leads to a scale in every kernel that reads it, for want of anything that
    says it is worth a kernel: three of four instructions in a step of Adam, and most of the time it takes to compile.
    Read from the vector a scale is one number in memory. Nothing waits for it that did not wait for the arguments;
    scales that follow from statistics of data are left where they are.
    """
    block = function.regions[0].blocks[0]
    known: set[ir.Value] = {argument for argument in block.arguments if tensor_info(argument.type).rank == 0}
    constants: dict[ir.Value, ir.Operation] = {}
    arithmetic: list[ir.Operation] = []
    ours: set[ir.Operation] = set()
    first: ir.Operation | None = None
    for operation in block.operations:
        op = operation.operation
        name = op.name
        if name == "stablehlo.constant":
            if is_packable(op.results[0]):
                constants[op.results[0]] = op
            continue
        of_scales = name in _ARITHMETIC and is_packable(op.results[0])
        if (of_scales or name in _PREDICATES) and _follows(op, known, constants):
            known.add(op.results[0])
            arithmetic.append(op)
            ours.add(op)
        elif first is None:
            first = op
    read = [
        op.results[0]
        for op in arithmetic
        if is_packable(op.results[0]) and any(_reads_data(use.owner.operation, ours) for use in op.results[0].uses)
    ]
    if first is None or len(read) < FEWEST_ARGUMENTS:
        return
    for op in arithmetic:
        for operand in op.operands:
            constant = constants.pop(operand, None)
            if constant is not None:
                constant.move_before(first)
        op.move_before(first)
    with ir.InsertionPoint(first), first.location:
        vector = vector_of(read)
        vector = ir.Operation.create("stablehlo.optimization_barrier", [vector.type], [vector]).results[0]
        elements = [element_of(vector, i) for i in range(len(read))]
    for scale, element in zip(read, elements, strict=True):
        for use in list(scale.uses):
            reader = use.owner.operation
            if _reads_data(reader, ours):
                reader.operands[use.operand_number] = element


def _follows(op: ir.Operation, known: set[ir.Value], constants: dict[ir.Value, ir.Operation]) -> bool:
    """Whether an operation computes from known scales and constants, and not from constants alone."""
    operands = list(op.operands)
    return any(v in known for v in operands) and all(v in known or v in constants for v in operands)


def _reads_data(reader: ir.Operation, arithmetic: set[ir.Operation]) -> bool:
    """Whether a reader of a scale is no arithmetic of scales itself, nor what packs or returns them."""
    return reader not in arithmetic and reader.name not in ("stablehlo.reshape", "func.return")
