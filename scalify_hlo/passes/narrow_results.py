"""`scalify-narrow-results`: products that are rounded to f16 next give that type themselves.

# round(2^-k (x . y)) = round((2^-k x) . y)

A product that is asked for f32 writes f32, and what comes next reads it, multiplies and rounds: of the logits and the
scores of attention, the largest values of a step, most of the bytes that it moves. As in `scalify-fp8-results` the
factor goes to an operand, for f16 may not hold x . y (promise P3): to a weight that is converted anyway, or to the
smaller one, and only if the result is not smaller still, as in a product of activations for a weight's gradient.
Libraries sum in f32 whatever the result's type.

Convolutions on GPUs give the type of their operands and no other: of one of f16 or bf16 that is asked for f32, XLA
widens both operands in kernels of their own and computes all of it in f32.

Numbers of f16 times 2^-k are exact but for what becomes subnormal, which is off by 2^-25 at most. Of data near 1 that
is 2^(k - 25) of their size, less than the rounding of the result while k is small.

Only in training steps, unless asked for, and on one device: served weights are read as they are stored, and parts that
devices sum are summed in f32, or as `scalify-partial-sums` chooses.
"""

import dataclasses
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.analysis.update import trains
from scalify_hlo.bindings import ir
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module import traits
from scalify_hlo.module.carriers import layouts_folded
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import is_partitioned
from scalify_hlo.module.traits import Trait
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.fp8_results import narrowed
from scalify_hlo.types import tensor_info

_CONVOLUTION = "stablehlo.convolution"
_PRODUCTS = frozenset({"stablehlo.dot_general", "stablehlo.dot", _CONVOLUTION})
_MOVES = traits.names(Trait.RESHAPES) | traits.names(Trait.CARRIES)
# log2 of the smallest factor: an operand near 1 is off by 2^-17 of its size, f16 rounds to 2^-11.
_LEAST = -8


@dataclasses.dataclass(frozen=True)
class NarrowResults(Pass):
    """Let products of f16 of a training step on one device give f16 themselves where they are rounded to it."""

    name: ClassVar[str] = "scalify-narrow-results"

    # In programs without a backward pass, too.
    serving: bool = False

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Rewrites products in place."""
        if is_partitioned(module):
            return
        products = [op for op in walk(module.operation) if op.name in _PRODUCTS and _is_narrow(op)]
        if not products or not (self.serving or _trains(module)):
            return
        with module.context, ir.Location.unknown(module.context), layouts_folded(module):
            count = sum(narrowed(op, _split) for op in products)
            if count:
                erase_dead(module)
        if count:
            remarks.append(Diagnostic(f"{self.name}: {count} products give their rounded results", "", "remark"))


def _trains(module: ir.Module) -> bool:
    return trains(module, symbol_name(public_function(module)))


def _is_narrow(op: ir.Operation) -> bool:
    operands = {tensor_info(operand.type).element for operand in op.operands}
    narrow = operands == {"f16"} or (operands == {"bf16"} and op.name == _CONVOLUTION)
    return narrow and tensor_info(op.results[0].type).element == "f32"


def _split(op: ir.Operation, exponent: int, target: str) -> tuple[int, int] | None:
    """log2 of the factors of both operands; None where neither can take it, or had better not."""
    lhs, rhs, result = (tensor_info(value.type) for value in (*op.operands, op.results[0]))
    if lhs.element != target or not lhs.is_static or not rhs.is_static:
        return None
    if not exponent:
        return (0, 0)
    if target != "f16" or exponent > 0:
        return None
    if exponent < _LEAST:
        # A gradient of a kernel is a sum over all positions of images: both operands are near 1, and take half each.
        half = exponent // 2
        return (half, exponent - half) if op.name == _CONVOLUTION and half >= _LEAST else None
    costs = [_cost(operand) for operand in op.operands]
    i = costs.index(min(costs))
    takes_kernel, size = costs[i]
    # cuDNN has no convolution of f16 that gives f32: XLA widens both operands of one before.
    if takes_kernel and size > result.size and op.name != _CONVOLUTION:
        return None
    return (0, exponent) if i else (exponent, 0)


def _cost(operand: ir.Value) -> tuple[bool, int]:
    """What the factor costs on this operand: whether it takes a kernel that was not there, and elements.

    What a program is given is converted in a kernel of its own, which takes the factor for nothing and serves all
    products that read it.
    """
    size, converts = tensor_info(operand.type).size, False
    while (op := defining_op(operand)) is not None and op.name in _MOVES:
        converts = converts or op.name == "stablehlo.convert"
        operand = op.operands[0]
    return (op is not None or not converts, size)
