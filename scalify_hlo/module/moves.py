"""Constants, and operations that only move data, by NumPy: what makes no new number needs no compiler.

A training step that is run operation by operation has hundreds of distinct slices and constants, each of which XLA
would compile for longer than it runs; scales that are folded go through them too.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.execution.element_types import NUMPY_DTYPES, Array
from scalify_hlo.module.constants import splat_number
from scalify_hlo.types import tensor_info

# Takes the operands' values, returns the result's.
Move = Callable[[Sequence[Array]], Array]


def move(op: ir.Operation) -> Move | None:
    """What an operation does that gives elements of its operand in other places, or one number; None for any other."""
    make = _MOVES.get(op.name)
    if make is None or len(op.results) != 1:
        return None
    result = tensor_info(op.results[0].type)
    if not result.is_static or result.element not in NUMPY_DTYPES:
        return None
    return make(op, tuple(result.shape))


def _constant(op: ir.Operation, shape: tuple[int, ...]) -> Move | None:
    number = splat_number(op)
    if number is None or math.isnan(number):
        return None  # a NaN has bits of its own
    array = np.full(shape, number, NUMPY_DTYPES[tensor_info(op.results[0].type).element])
    return lambda _values: array


def _slice(op: ir.Operation, _shape: tuple[int, ...]) -> Move:
    bounds = (_numbers(op, name) for name in ("start_indices", "limit_indices", "strides"))
    at = tuple(slice(*each) for each in zip(*bounds, strict=True))
    return lambda values: values[0][at]


def _reshape(_op: ir.Operation, shape: tuple[int, ...]) -> Move:
    return lambda values: values[0].reshape(shape)


def _transpose(op: ir.Operation, _shape: tuple[int, ...]) -> Move:
    order = _numbers(op, "permutation")
    return lambda values: values[0].transpose(order)


def _broadcast(op: ir.Operation, shape: tuple[int, ...]) -> Move:
    at = _numbers(op, "broadcast_dimensions")
    source = tensor_info(op.operands[0].type).shape
    order = sorted(range(len(at)), key=at.__getitem__)
    aligned = [1] * len(shape)
    for dim, size in zip(at, source, strict=True):
        aligned[dim] = size
    return lambda values: np.broadcast_to(values[0].transpose(order).reshape(aligned), shape)


def _numbers(op: ir.Operation, name: str) -> list[int]:
    return list(ir.DenseI64ArrayAttr(op.attributes[name]))


_MOVES: dict[str, Callable[[ir.Operation, tuple[int, ...]], Move | None]] = {
    "stablehlo.constant": _constant,
    "stablehlo.slice": _slice,
    "stablehlo.reshape": _reshape,
    "stablehlo.transpose": _transpose,
    "stablehlo.broadcast_in_dim": _broadcast,
}
