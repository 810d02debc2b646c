"""Numbers that a loop writes into stacks, one of each in an iteration, are rows of one stack.

# while (a[i], b[i]) <- (s, t) is while c[i, :] <- (s, t); a = c[:, 0], b = c[:, 1]

`lax.scan` stacks what each iteration returns, and what its derivative reads of it; beside a tensor whose scale an
iteration chooses stands a stack of these scales. Each stack is a kernel in every iteration, which writes four bytes.
What reads one number of a stack, the loop of the derivative in every iteration, reads it from the row.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from scalify_hlo.analysis.calls import defining_op, hands_on, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.function_types import replace_terminator
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.replaced_operations import hand_over, in_place_of
from scalify_hlo.types import tensor_info

# A stack that is read whole is a kernel behind the loop: with fewer iterations nothing is gained.
_FEWEST_ITERATIONS = 3
_LOOP = "stablehlo.while"


def join_stacks(loops: Iterable[ir.Operation]) -> int:
    """Join the stacks of numbers of the first of some loops that has any; returns how many there were.

    Replaces that loop, and those that carry one of these stacks as it is.
    """
    for loop in loops:
        stacks = next(_stacks_of_numbers(loop), None)
        if stacks is not None:
            _join(loop, stacks)
            return len(stacks)
    return 0


def _stacks_of_numbers(loop: ir.Operation) -> Iterator[list[int]]:
    """Positions of carried stacks of f32 numbers that one iteration writes at the same place, two at least.

    A stack is tensor<n x f32>, or has dimensions of 1 besides the first; it is read by its update alone.
    """
    condition, body = (region.blocks[0] for region in loop.regions)
    found: dict[tuple[int, ir.Value], list[int]] = defaultdict(list)
    for i, returned in enumerate(terminator(body).operands):
        info = tensor_info(returned.type)
        if info.element != "f32" or not info.rank or math.prod(info.shape[1:]) != 1:
            continue
        if info.shape[0] < _FEWEST_ITERATIONS or next(condition.arguments[i].uses, None) is not None:
            continue
        update = _update(body.arguments[i], returned)
        if update is not None:
            found[info.shape[0], update.operands[2]].append(i)
    return (positions for positions in found.values() if len(positions) > 1)


def _update(stack: ir.Value, returned: ir.Value) -> ir.Operation | None:
    """The dynamic_update_slice that writes one number into a stack, if that is all that is done with it."""
    op = defining_op(returned)
    if op is None or op.name != "stablehlo.dynamic_update_slice" or op.operands[0] != stack:
        return None
    is_number = math.prod(tensor_info(op.operands[1].type).shape) == 1
    return op if is_number and len(list(stack.uses)) == len(list(returned.uses)) == 1 else None


def _join(loop: ir.Operation, stacks: list[int]) -> None:
    """Replace a loop by one whose last carried value is some of its stacks."""
    for i in stacks:
        _read_from_outside(loop.results[i])
    others = [i for i in range(len(loop.operands)) if i not in set(stacks)]
    with ir.InsertionPoint(loop), loop.location:
        rows = tensor_info(loop.results[stacks[0]].type).shape[0]
        entry = _columns([_shaped(loop.operands[i], (rows, 1)) for i in stacks])
    joined = in_place_of(loop, [*(loop.operands[i] for i in others), entry], others, [entry.type])
    _, carried = (region.blocks[0].add_argument(entry.type, loop.location) for region in joined.regions)
    last = terminator(joined.regions[1].blocks[0])
    updates = [op for i in stacks if (op := defining_op(last.operands[i])) is not None]
    with ir.InsertionPoint(last), loop.location:
        index = updates[0].operands[2]
        row, zero = _columns([_shaped(op.operands[1], (1, 1)) for op in updates]), emit.integer_splat(index.type, 0)
        written = emit.op("dynamic_update_slice", entry.type, carried, row, index, zero)
    replace_terminator(last, [*(last.operands[i] for i in others), written])
    for op in updates:
        op.erase()
    for region in joined.regions:
        for i in reversed(stacks):
            region.blocks[0].erase_argument(i)
    with ir.InsertionPoint.after(joined), loop.location:
        for column, i in enumerate(stacks):
            _read_column(joined.results[len(others)], column, loop.results[i])
    hand_over(loop, joined, others)


def _read_from_outside(stack: ir.Value) -> None:
    """Let loops that carry a stack as it is read it where it was made: then they can read a row of the joined one."""
    while (found := next(_carried_as_it_is(stack), None)) is not None:
        loop, i = found
        others = [each for each in range(len(loop.operands)) if each != i]
        joined = in_place_of(loop, [loop.operands[each] for each in others], others)
        last = terminator(joined.regions[1].blocks[0])
        replace_terminator(last, [last.operands[each] for each in others])
        for region in joined.regions:
            region.blocks[0].arguments[i].replace_all_uses_with(stack)
            region.blocks[0].erase_argument(i)
        loop.results[i].replace_all_uses_with(stack)
        hand_over(loop, joined, others)


def _carried_as_it_is(stack: ir.Value) -> Iterator[tuple[ir.Operation, int]]:
    """Loops, and where each carries a stack that it does not change."""
    for use in stack.uses:
        op = use.owner.operation
        if op.name == _LOOP and hands_on(op, use.operand_number):
            yield op, use.operand_number


def _read_column(joined: ir.Value, column: int, stack: ir.Value) -> None:
    """Let what reads a stack read the joined one: one number of its row where it read one, else a column."""
    for use in list(stack.uses):
        op = use.owner.operation
        number = op.results[0].type if op.name == "stablehlo.dynamic_slice" else None
        if number is not None and math.prod(tensor_info(number).shape) == 1:
            with ir.InsertionPoint(op), op.location:
                row = _row(joined, op.operands[1])
                op.results[0].replace_all_uses_with(_slice(row, column, number))
            op.erase()
    if next(stack.uses, None) is not None:
        stack.replace_all_uses_with(_slice(joined, column, stack.type))


def _row(joined: ir.Value, index: ir.Value) -> ir.Value:
    """tensor<1 x k x f32>: a row of a joined stack."""
    width, zero = tensor_info(joined.type).shape[1], emit.integer_splat(index.type, 0)
    sizes = ir.DenseI64ArrayAttr.get([1, width])
    return emit.op("dynamic_slice", emit.tensor_type((1, width), "f32"), joined, index, zero, slice_sizes=sizes)


def _slice(joined: ir.Value, column: int, type_: ir.Type) -> ir.Value:
    """A column of a joined stack, or a number of a row, as a type of as many numbers."""
    array, rows = ir.DenseI64ArrayAttr.get, tensor_info(joined.type).shape[0]
    bounds = {"start_indices": array([0, column]), "limit_indices": array([rows, column + 1]), "strides": array([1, 1])}
    return emit.op("reshape", type_, emit.op("slice", emit.tensor_type((rows, 1), "f32"), joined, **bounds))


def _shaped(value: ir.Value, shape: tuple[int, ...]) -> ir.Value:
    return (
        value if tensor_info(value.type).shape == shape else emit.op("reshape", emit.tensor_type(shape, "f32"), value)
    )


def _columns(parts: list[ir.Value]) -> ir.Value:
    """Columns side by side."""
    rows = tensor_info(parts[0].type).shape[0]
    dimension = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)
    return emit.op("concatenate", emit.tensor_type((rows, len(parts)), "f32"), *parts, dimension=dimension)
