"""Caches: arguments of which a result is the same tensor with some elements written over.

Such as the keys and values of the tokens that a decoder has seen.

What is between the two moves and writes elements, and computes nothing of them: `dynamic_update_slice`, `scatter` whose
body returns the update, `select` by positions, loops that carry the tensor, conversions, factors known at compile time.

# where(i == step, k, cache); not where(is_nan(x), 0, x), nor where(u < p, proposal, x)

What is chosen by anything else than positions is one of two tensors, element by element: a cache where both are.
"""

from collections.abc import Iterator

from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import number_behind
from scalify_hlo.types import tensor_info

MOVEMENTS = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast_in_dim", "dynamic_slice", "optimization_barrier", "reshape", "slice", "transpose")
)
# How many operations of a condition are looked at.
_FEW = 16
_OF_INTEGERS = ("stablehlo.convert", "stablehlo.add", "stablehlo.subtract")
# The calls that a value is computed within.
_Stack = tuple[ir.Operation, ...]


def find_caches(module: ir.Module, main: str) -> dict[int, int]:
    """Index of an argument of the function `main` -> the result that is the argument with elements written over."""
    return find_caches_of(CallGraph(module), main)


def find_caches_of(calls: CallGraph, main: str) -> dict[int, int]:
    """`find_caches` of a module whose calls are known."""
    body = calls.body(main)
    found: dict[int, int] = {}
    for i, value in enumerate(terminator(body).operands):
        info = tensor_info(value.type)
        if not info.is_float or not info.rank:
            continue
        argument, written = written_over(value, calls)
        if argument is not None and written and argument.owner == body and argument.type == value.type:
            found.setdefault(ir.BlockArgument(argument).arg_number, i)
    return found


def written_over(value: ir.Value, calls: CallGraph) -> tuple[ir.BlockArgument | None, bool]:
    """The function argument that a value is, moved and written over, and whether it is written at all."""
    seen: set[tuple[ir.Value, bool, _Stack]] = set()

    def search(value: ir.Value, written: bool, stack: _Stack) -> tuple[ir.BlockArgument | None, bool]:
        if (value, written, stack) in seen:
            return None, written
        seen.add((value, written, stack))
        op = defining_op(value)
        if op is None:
            return of_argument(ir.BlockArgument(value), written, stack)
        found: ir.BlockArgument | None = None
        by_place = op.name != "stablehlo.select" or _is_written_by_place(op, stack, calls)
        for source, writes, inner in _sources(op, ir.OpResult(value).result_number, calls):
            argument, was_written = search(source, written or (writes and by_place), (*stack, *inner))
            if argument is not None and was_written:
                return argument, True
            found = found or argument
        return found, written

    def of_argument(value: ir.BlockArgument, written: bool, stack: _Stack) -> tuple[ir.BlockArgument | None, bool]:
        if calls.function_of_block(value.owner) is not None:
            return search(stack[-1].operands[value.arg_number], written, stack[:-1]) if stack else (value, written)
        loop = value.owner.owner.operation
        if loop.name != "stablehlo.while":
            return None, written
        return search(loop.operands[value.arg_number], written, stack)

    return search(value, False, ())


def _sources(
    op: ir.Operation, result: int, calls: CallGraph
) -> Iterator[tuple[ir.Value, bool, tuple[ir.Operation, ...]]]:
    """What a result is moved or written from: the value, whether something is written, and the call that it is in."""
    if op.name == "func.call":
        body = calls.callee_body(op)
        if body is not None:
            yield terminator(body).operands[result], False, (op,)
    elif op.name == "stablehlo.while":
        yield terminator(op.regions[1].blocks[0]).operands[result], False, ()
    else:
        for i in carried_operands(op):
            yield op.operands[i], is_write(op), ()


def carried_operands(op: ir.Operation) -> list[int]:
    """The operands whose elements an operation moves into its result, computing nothing of them; none of another.

    Where a tensor is written, it comes first, then what is written.
    """
    if op.name in MOVEMENTS:
        return [0] if op.name != "stablehlo.optimization_barrier" or len(op.operands) == 1 else []
    match op.name:
        case "stablehlo.convert":
            return [0] if all(tensor_info(v.type).is_float for v in (op.operands[0], op.results[0])) else []
        case "stablehlo.multiply":
            factors = [constant_factor(operand) for operand in op.operands]
            return [i for i in (0, 1) if factors[1 - i] is not None and factors[i] is None]
        case "stablehlo.dynamic_update_slice":
            return [0, 1]
        case "stablehlo.scatter" if len(op.results) == 1 and _overwrites(op):
            return [0, 2]
        case "stablehlo.select":
            return [1, 2]
        case "stablehlo.concatenate":
            # [x_1, x_2 exp(s) + t] of [x_1, x_2] is a coupling; of a cache most elements stay
            size = tensor_info(op.results[0].type).size
            most = [i for i, v in enumerate(op.operands) if not size >= 0 or 2 * tensor_info(v.type).size > size]
            return [*most, *(i for i in range(len(op.operands)) if i not in most)] if most else []
        case _:
            return []


def is_write(op: ir.Operation) -> bool:
    """Whether an operation puts new elements beside those of its operand."""
    return len(carried_operands(op)) > 1


def _is_written_by_place(select: ir.Operation, stack: _Stack, calls: CallGraph) -> bool:
    """Whether positions tell where elements are that were computed, and not constants, such as zeros behind the end."""

    def before_moves(value: ir.Value, stack: _Stack) -> tuple[ir.Operation | None, _Stack]:
        while True:
            op = defining_op(value)
            if op is None and stack and calls.function_of_block(ir.BlockArgument(value).owner) is not None:
                value, stack = stack[-1].operands[ir.BlockArgument(value).arg_number], stack[:-1]
            elif op is not None and (op.name in MOVEMENTS or op.name in _OF_INTEGERS):
                value = op.operands[0]
            else:
                return op, stack

    condition, *values = select.operands
    for value in values:
        op, _ = before_moves(value, stack)
        if op is not None and op.name == "stablehlo.constant":
            return False
    pending = [(condition, stack)]
    for _ in range(_FEW):
        op, where = before_moves(*pending.pop())
        if op is not None and op.name == "stablehlo.compare":
            sides = [before_moves(operand, where)[0] for operand in op.operands]
            if any(side is not None and side.name == "stablehlo.iota" for side in sides):
                return not tensor_info(op.operands[0].type).is_float
        elif op is not None:
            pending += [(operand, where) for operand in op.operands]
        if not pending:
            break
    return False


def constant_factor(value: ir.Value) -> float | None:
    """The number that all elements of a constant are."""
    number = number_behind(value)
    return number if isinstance(number, float) else None


def _overwrites(scatter: ir.Operation) -> bool:
    block = scatter.regions[0].blocks[0]
    return terminator(block).operands[0] == block.arguments[1]
