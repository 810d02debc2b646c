"""Stacks of what a loop computes in f32 alone: they are in f32 too, as what is computed so outside of a loop is.

# y_t - m_t, y_t given, m_t few numbers that the loop carries: the stack of it is read by the gradient of y_t - m_t

What a training step is given stays f32 until it meets what the model computes, and so do numbers of a row and what a
loop carries in f32. What is computed of these is not rounded in an iteration, and a stack of it was: how large
differences of them are is not known, and f16 has nothing for what is 2^24 times smaller than is estimated.
"""

from collections.abc import Callable

from scalify_hlo.analysis.calls import stacked, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.identity import is_scale_marker
from scalify_hlo.passes import precision_kinds as kinds
from scalify_hlo.passes.retyped_operations import gives_few
from scalify_hlo.types import tensor_info

_COMPUTES = kinds.ELEMENTWISE | kinds.MOVEMENT | kinds.REDUCTIONS | {"stablehlo.convert", "stablehlo.constant"}


def stacks_in_f32(loop: ir.Operation, wide: set[int], is_stored_wide: Callable[[ir.Value], bool]) -> list[int]:
    """Which of the values that a loop carries are stacks of what it computes of values in f32 alone.

    wide: what it carries in f32 otherwise. is_stored_wide: of values from outside of it, whether they are in f32.
    """
    body = loop.regions[1].blocks[0]
    stacks = {i: stacked(body.arguments[i], last) for i, last in enumerate(terminator(body).operands)}
    written = {i: value for i, value in stacks.items() if value is not None and i not in wide}
    if not written:
        return []
    own = set(body.arguments)
    found = {body.arguments[i] for i in wide}

    def in_f32(value: ir.Value) -> bool:
        info = tensor_info(value.type)
        if not info.is_float or not info.rank or value in found:
            return True
        return value not in own and is_stored_wide(value)

    for operation in body.operations:
        op = operation.operation
        own.update(op.results)
        if (op.name in _COMPUTES or is_scale_marker(op) or gives_few(op)) and all(map(in_f32, op.operands)):
            found.update(op.results)
    return [i for i, value in written.items() if value in found]
