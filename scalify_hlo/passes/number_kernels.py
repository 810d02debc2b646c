"""Arithmetic on numbers in few kernels of XLA:CPU: the bodies of reductions.

XLA:CPU makes a kernel of each number that several kernels read, and repeats what a number is computed from in every
kernel that reads it: a step with a hundred tensors of state has some eighty kernels that compute one number each, every
one of them compiled by itself. What it compiles as one function whatever is in it is the body of a reduction, which may
have any number of operands and results. So numbers enter as the reduction's initial values, and its body computes what
there is to compute from them. Of two tuples it takes the one that is further: its elements, of which nothing is read,
are at stage 0, what enters is at stage 1, and what is computed of that at stage 2. So it does not matter in which order
the reduction takes its elements, nor how often it starts.

# reduce([0, 0], init=(1, s), body=((i, a), (j, b)) -> max(i, j) = 1 ? (2, f(a or b)) : a or b) = (2, f(s))
"""

import math
from collections.abc import Iterable, Sequence

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import CONSTANT, constant_behind, splat
from scalify_hlo.passes import emission as emit
from scalify_hlo.types import tensor_info

# Fewer numbers that are read are not worth a kernel of their own.
FEWEST = 4
# Results of one reduction: LLVM tells the buffer of each from all others. For 245 scales reductions of 16, 32, 64 and
# 128 take 1.6, 1.0, 0.8 and 0.65 s to compile, one of all as long as two of 128.
_MOST = 128
_NAMES = (
    "abs add and clamp compare convert divide maximum minimum multiply negate not or power reduce_precision rsqrt "
    "select sqrt subtract"
)
_ARITHMETIC = frozenset(f"stablehlo.{name}" for name in _NAMES.split())


def gather_numbers(block: ir.Block) -> None:
    """Compute in few kernels which numbers follow from those that a block is given, and which only leave it.

    Numbers are f32 values of rank 0: scales for the most part. For blocks of functions: the few numbers of one
    iteration of a loop are no kernels without it (diffrax's step had 700 kernels for 691).
    """
    operations = [each.operation for each in block.operations]
    computed: set[ir.Value] = set()  # by the operations that stay where they are
    known: list[ir.Operation] = []
    first: ir.Operation | None = None
    for op in operations:
        if op.name == CONSTANT:
            continue
        if _is_arithmetic(op) and not any(operand in computed for operand in op.operands):
            known.append(op)
        else:
            first = first or op
            computed.update(op.results)
    if first is not None:
        _compute_before(first, known)
    end = operations[-1]
    leaving: dict[ir.Operation, None] = {}
    for each in reversed(list(block.operations)):
        op = each.operation
        users = [use.owner.operation for result in op.results for use in result.uses]
        if _is_arithmetic(op) and all(user == end or user in leaving for user in users):
            leaving[op] = None
    _compute_before(end, list(leaving)[::-1])


def _compute_before(place: ir.Operation, arithmetic: Sequence[ir.Operation]) -> None:
    """Compute numbers in reductions in front of an operation, unless they are few."""
    ours = _closed(arithmetic)
    results = [op.results[0] for op in ours if _users(op) - ours.keys()]
    if len(results) < FEWEST:
        return
    count = math.ceil(len(results) / _MOST)
    size = math.ceil(len(results) / count)
    with ir.InsertionPoint(place), ir.Location.unknown():
        for start in range(0, len(results), size):
            part = results[start : start + size]
            for old, new in zip(part, _reduction(part, ours), strict=True):
                for use in list(old.uses):
                    reader = use.owner.operation
                    if reader not in ours:
                        reader.operands[use.operand_number] = new
    for op in reversed(ours):
        op.erase()


def _closed(arithmetic: Sequence[ir.Operation]) -> dict[ir.Operation, None]:
    """Those of some operations of which predicates neither come from elsewhere nor are read elsewhere."""
    ours = dict.fromkeys(arithmetic)
    while True:
        kept = dict.fromkeys(
            op
            for op in ours
            if (_is_f32(op.results[0]) or not _users(op) - ours.keys())
            and all(_is_f32(v) or constant_behind(v) is not None or defining_op(v) in ours for v in op.operands)
        )
        if len(kept) == len(ours):
            return kept
        ours = kept


def _reduction(results: Sequence[ir.Value], ours: Iterable[ir.Operation]) -> list[ir.Value]:
    """The same numbers as results of a reduction that computes what they need of some operations."""
    needed: set[ir.Value] = set(results)
    steps: list[ir.Operation] = []
    for op in reversed(list(ours)):
        if op.results[0] in needed:
            steps.append(op)
            needed.update(op.operands)
    mine = set(steps)
    read = dict.fromkeys(operand for op in reversed(steps) for operand in op.operands)
    given = [value for value in read if constant_behind(value) is None and defining_op(value) not in mine]
    scalar = results[0].type
    n = max(len(given), len(results)) + 1
    zero, one = splat(scalar, 0.0), splat(scalar, 1.0)
    nothing = splat(emit.tensor_type((2,), "f32"), 0.0)
    operands = [*[nothing] * n, *given, *[zero] * (n - 1 - len(given)), one]
    dimensions = {"dimensions": ir.DenseI64ArrayAttr.get([0])}
    reduction = ir.Operation.create("stablehlo.reduce", [scalar] * n, operands, dimensions, regions=1)
    body = reduction.regions[0].blocks.append(*[scalar] * (2 * n))
    with ir.InsertionPoint(body):
        mine_stage, other_stage = body.arguments[n - 1], body.arguments[2 * n - 1]
        stage = emit.op("maximum", scalar, mine_stage, other_stage)
        is_mine = emit.compare(mine_stage, other_stage, "GE")
        entered = [emit.op("select", scalar, is_mine, body.arguments[i], body.arguments[n + i]) for i in range(n - 1)]
        inner = dict(zip(given, entered, strict=False))
        for op in reversed(steps):
            for operand in op.operands:
                constant = constant_behind(operand)
                if operand not in inner and constant is not None:
                    inner[operand] = constant.clone().results[0]
            clone = op.clone()
            for i, operand in enumerate(op.operands):
                clone.operands[i] = inner[operand]
            inner[op.results[0]] = clone.results[0]
        is_given = emit.compare(stage, splat(scalar, 1.0), "EQ")
        new = [emit.op("select", scalar, is_given, inner[result], entered[i]) for i, result in enumerate(results)]
        further = emit.op("minimum", scalar, emit.times(stage, 2.0), splat(scalar, 2.0))
        ir.Operation.create("stablehlo.return", [], [*new, *entered[len(new) :], further])
    return list(reduction.results)[: len(results)]


def _users(op: ir.Operation) -> set[ir.Operation]:
    return {use.owner.operation for result in op.results for use in result.uses}


def _is_f32(value: ir.Value) -> bool:
    info = tensor_info(value.type)
    return info.rank == 0 and info.element == "f32"


def _is_arithmetic(op: ir.Operation) -> bool:
    scalars = (tensor_info(value.type) for value in (*op.operands, *op.results))
    return op.name in _ARITHMETIC and all(info.rank == 0 and info.element in ("f32", "i1") for info in scalars)
