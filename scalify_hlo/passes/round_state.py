"""`scalify-round-state`: parameters that are stored in 16 bits are rounded at random, by what they are between.

# E[round(w - u)] = w - u, where round(x) is a or a + d, the latter as often as x is nearer to it: (x - a) / d

Rounding to the nearest leaves a weight where it is for as long as its updates are below half of its last digit, however
many there are: an Adam of rate 1e-5 moves no weight above 0.03 in f16, and a bias of 50,000 moves by 32 or not at all.
So one update in many moves it by a whole digit, and all together by what they add up to.

The random bits are a hash of what is rounded and of the gradient that the update was computed of, element by element:
the same step on the same data gives the same state, on one device and on many, and no generator goes from step to step.
"""

import collections
import dataclasses
from typing import ClassVar

from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator
from scalify_hlo.analysis.update_sources import ELEMENTWISE
from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import attributes_of
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import carries, is_in_parts, layouts_folded
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.cast import STATE
from scalify_hlo.types import FLOAT_RANGE, tensor_info

_CONVERT = "stablehlo.convert"
_ELEMENTWISE = ELEMENTWISE | {_CONVERT}
_REPEATED = ("stablehlo.constant", "stablehlo.broadcast_in_dim")
# Odd numbers whose multiples are spread over all bits: Knuth's multiplicative hash, and a finaliser of MurmurHash3.
_SPREAD, _MIX = 0x9E3779B1, 0x85EBCA6B
# How many operations are looked back at from a parameter for what its update is computed of.
_FAR = 64


@dataclasses.dataclass(frozen=True)
class RoundState(Pass):
    """Round parameters that are stored in 16 bits up or down at random, such that their mean is what was computed."""

    name: ClassVar[str] = "scalify-round-state"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Rewrites the module in place and says how many parameters there were."""
        with module.context, ir.Location.unknown(module.context), layouts_folded(module):
            main = public_function(module)
            last = terminator(main.regions[0].blocks[0])
            calls = CallGraph(module)
            count = 0
            for value, own in zip(last.operands, attributes_of(main, "res_attrs", len(last.operands)), strict=True):
                info = tensor_info(value.type) if STATE in own else None
                if info is not None and info.is_static and info.element in ("f16", "bf16"):
                    rounding = _rounding(value, calls)
                    if rounding is not None:
                        _round_at_random(rounding)
                        count += 1
        if count:
            remarks.append(Diagnostic(f"{self.name}: {count} parameters are rounded at random", "", "remark"))


def _rounding(value: ir.Value, calls: CallGraph) -> ir.Operation | None:
    """The conversion from f32 that a result is given by, or that a function that is called gives."""
    while (op := defining_op(value)) is not None:
        body = calls.callee_body(op) if op.name == "func.call" else None
        if op.name == _CONVERT:
            return op if tensor_info(op.operands[0].type).element == "f32" else None
        if body is not None:
            value = terminator(body).operands[ir.OpResult(value).result_number]
        elif carries(op):
            value = op.operands[ir.OpResult(value).result_number]
        else:
            return None
    return None


def _round_at_random(op: ir.Operation) -> None:
    """Let a conversion from f32 convert a number that the type has, on either side of its operand.

    # trunc(bits(x) + r) for 0 <= r < 2^n, n being the bits that the type has not: f32's bits are in the order of |x|
    """
    x = op.operands[0]
    unsigned = emit.with_element(x.type, "ui32")
    dropped = FLOAT_RANGE["f32"][2] - FLOAT_RANGE[tensor_info(op.results[0].type).element][2]

    def apply(name: str, value: ir.Value, other: ir.Value | int) -> ir.Value:
        return emit.op(name, unsigned, value, emit.integer_splat(unsigned, other) if isinstance(other, int) else other)

    with ir.InsertionPoint(op), op.location:
        bits = emit.op("bitcast_convert", unsigned, x)
        source = emit.op("bitcast_convert", unsigned, emit.convert(_changing(x), "f32"))
        mixed = apply("multiply", apply("xor", bits, apply("multiply", source, _SPREAD)), _MIX)
        noise = apply("shift_right_logical", mixed, 32 - dropped)
        kept = apply("and", apply("add", bits, noise), 0xFFFFFFFF ^ ((1 << dropped) - 1))
        op.operands[0] = emit.op("bitcast_convert", x.type, kept)


def _changing(x: ir.Value) -> ir.Value:
    """What a new parameter is computed of that is another one in each step, of its shape: a gradient; else itself."""
    shape = tensor_info(x.type).shape
    pending, seen = collections.deque([x]), {x}
    given = x  # to a step that has gradients or averages from outside
    for _ in range(_FAR):
        if not pending:
            break
        value = pending.popleft()
        op = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if op is not None and (op.name in _ELEMENTWISE or carries(op)):
            for operand in op.operands:
                if operand not in seen:
                    seen.add(operand)
                    pending.append(operand)
            continue
        info = tensor_info(value.type)
        if not info.is_float or info.shape != shape:
            continue
        if op is None:
            given = value if given == x and info.element == "f32" else given
        elif op.name not in _REPEATED and not is_in_parts(value):
            return value
    return given
