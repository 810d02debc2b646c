"""What a reader of a program would strike out of it: arithmetic of scales that changes nothing."""

import dataclasses
import math

from scalify_hlo.analysis.calls import defining_op, only_reader, terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.constants import constant_behind, splat_number
from scalify_hlo.types import tensor_info

_MULTIPLY, _DIVIDE, _MAXIMUM, _MINIMUM = (f"stablehlo.{name}" for name in ("multiply", "divide", "maximum", "minimum"))
_MOVES = ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose", "stablehlo.slice")
# Linear in their first operand: a number that multiplies it multiplies the result.
_LINEAR = (*_MOVES, "stablehlo.negate", "stablehlo.reduce", "stablehlo.reverse")


@dataclasses.dataclass(frozen=True)
class Redundancy:
    """One thing too many. `kind`: what it is an instance of; `text`: the operation that could go."""

    kind: str
    text: str


def redundancies(module: ir.Module) -> list[Redundancy]:
    """All that is found in a module, whose context has to be entered.

    - "extremum": `max(2, min(1, s))`, `max(s, min(s, t))`: one side is known to decide.
    - "one": a product with 1, a quotient by 1.
    - "inverse": `(x / s) * s`, `(x * s) / s`, of one scale or constant.
    - "pair": two powers of two on the same data, with nothing but moves between them, in one type.
    - "around": a power of two before a sum and its inverse behind it.
    - "stack": a loop writes a number that does not change into the slices of a f32 buffer of one number for each, that
      starts as a constant.
    """
    found: list[Redundancy] = []
    for op in walk(module.operation):
        kind = _kind(op)
        if kind is not None:
            found.append(Redundancy(kind, str(op).split("\n")[0][:300]))
    return found


def _kind(op: ir.Operation) -> str | None:
    if op.name in (_MAXIMUM, _MINIMUM):
        return "extremum" if _is_idle(op) else None
    if op.name == "stablehlo.while":
        return "stack" if _constant_stacks(op) else None
    if op.name not in (_MULTIPLY, _DIVIDE) or not tensor_info(op.results[0].type).is_float:
        return None
    for index in (1,) if op.name == _DIVIDE else (0, 1):
        number = _number(op.operands[index])
        if number == 1:
            return "one"
        data = op.operands[1 - index]
        if constant_behind(data) is not None:
            continue  # of constants, which compilers fold
        factor = _same(op.operands[index])
        inner = defining_op(data)
        if inner is not None and {op.name, inner.name} == {_MULTIPLY, _DIVIDE} and factor is not None:
            others = [inner.operands[1]] if inner.name == _DIVIDE else list(inner.operands)
            numbers = [same for each in others if (same := _same(each)) is not None]
            if factor in numbers:
                return "inverse"
        if number is not None and _is_power_of_two(number):
            between = _factor_behind(data, moves_only=True)
            if between is not None:
                return "pair"
            before = _factor_behind(data, moves_only=False)
            if before is not None and before * (number if op.name == _MULTIPLY else 1 / number) == 1:
                return "around"
    return None


def _number(value: ir.Value) -> float | None:
    constant = constant_behind(value)
    number = None if constant is None or not tensor_info(value.type).is_float else splat_number(constant)
    return None if number is None else float(number)


def _is_power_of_two(number: float) -> bool:
    return 0 < number < math.inf and math.frexp(number)[0] == 0.5


def _same(value: ir.Value) -> ir.Value | None:
    """The rank-0 value that is repeated; None for tensors of several numbers."""
    while tensor_info(value.type).rank:
        op = defining_op(value)
        if op is None or op.name not in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
            return None
        value = op.operands[0]
    return value


def _factor_behind(value: ir.Value, *, moves_only: bool) -> float | None:
    """The power of two that data were multiplied by before they were moved (and summed), for one reader in one type."""
    element = tensor_info(value.type).element
    sums = False
    while only_reader(value) is not None:
        op = defining_op(value)
        if op is None or tensor_info(value.type).element != element:
            return None
        if op.name in (_MULTIPLY, _DIVIDE):
            for index in (1,) if op.name == _DIVIDE else (0, 1):
                number = _number(op.operands[index])
                if constant_behind(op.operands[1 - index]) is None and number is not None and _is_power_of_two(number):
                    return (number if op.name == _MULTIPLY else 1 / number) if moves_only or sums else None
            return None
        if op.name == "stablehlo.reduce":
            if moves_only or len(op.operands) != 2 or body_kind(op) != "add":
                return None
            sums = True
        elif op.name not in (_MOVES if moves_only else _LINEAR):
            return None
        value = op.operands[0]
    return None


def _is_idle(op: ir.Operation) -> bool:
    """Whether one operand of a maximum or minimum is known to be the result."""
    a, b = op.operands
    if a == b:
        return True
    (low_a, high_a), (low_b, high_b) = _bounds(a), _bounds(b)
    if high_a <= low_b or high_b <= low_a:
        return True
    for one, other in ((a, b), (b, a)):
        inner = defining_op(other)
        if inner is not None and inner.name in (_MAXIMUM, _MINIMUM) and one in list(inner.operands):
            return True
    return False


def _bounds(value: ir.Value) -> tuple[float, float]:
    number = _number(value)
    if number is not None:
        return number, number
    op = defining_op(value)
    if op is None or op.name not in (_MAXIMUM, _MINIMUM, _MULTIPLY, "stablehlo.broadcast_in_dim"):
        return -math.inf, math.inf
    if op.name == "stablehlo.broadcast_in_dim":
        return _bounds(op.operands[0])
    if op.name == _MULTIPLY:
        for index in (0, 1):
            factor = _number(op.operands[index])
            if factor is not None and 0 < factor < math.inf:
                low, high = _bounds(op.operands[1 - index])
                return low * factor, high * factor
        return -math.inf, math.inf
    choose = max if op.name == _MAXIMUM else min
    pairs = [_bounds(operand) for operand in op.operands]
    return choose(low for low, _ in pairs), choose(high for _, high in pairs)


def _constant_stacks(op: ir.Operation) -> bool:
    """Whether a loop writes the same number into each slice of a buffer of numbers."""
    body = op.regions[0 if len(op.regions) == 1 else 1].blocks[0]
    last = terminator(body)
    for entering, argument, returned in zip(op.operands, body.arguments, last.operands, strict=True):
        if constant_behind(entering) is None:
            continue  # which slices have been written is what the buffer tells
        info, write = tensor_info(argument.type), defining_op(returned)
        if write is None or write.name != "stablehlo.dynamic_update_slice" or write.operands[0] != argument:
            continue
        if info.element == "f32" and tensor_info(write.operands[1].type).size == 1 and info.size > 1:
            update = _same(write.operands[1])
            if update is None:
                update = write.operands[1]
            if _is_invariant(update, body, last):
                return True
    return False


def _is_invariant(value: ir.Value, body: ir.Block, last: ir.Operation) -> bool:
    if _number(value) is not None:
        return True
    op = defining_op(value)
    if op is None:
        index = next((i for i, a in enumerate(body.arguments) if a == value), None)
        return index is None or last.operands[index] == value
    if op.block != body:
        return True
    return not op.regions and all(_is_invariant(each, body, last) for each in op.operands)
