"""Columns of a tensor that constants of unlike sizes are added to or multiplied with, taken out one by one.

# x_i = slice(a + b y, i), a and b constant: in units of its own, while the tensor has the scale of the largest column

A network gives the parameters of a model each within bounds of its own, a capacity of 50 to 500 and a rate of 0.01 to
0.2. At the scale of the capacity, what is multiplied by the rate again and again leaves the range of f32 or of f16.

# dy = b concatenate(dx_i): where x_i is small its gradient is large, and b times it is like the others

Once the columns have scales of their own the gradients have too, and the product with b is of no known size again.
"""

from collections.abc import Iterator

import numpy as np

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, defining_op, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import CONSTANT, dense_value
from scalify_hlo.module.traits import Trait, has, of
from scalify_hlo.types import tensor_info

# How many operations are looked back at from a slice.
_STEPS = 16


def unlike_columns(calls: CallGraph) -> list[ir.Value]:
    """The results of slices that take one column out of a tensor whose columns are in unlike units, and products of
    joined columns with the constants."""
    operations = [op for function in calls.functions.values() for op in walk(function)]
    known: dict[tuple[ir.Value, int], bool] = {}
    found: list[ir.Value] = []

    def is_unlike(value: ir.Value, dim: int) -> bool:
        if (value, dim) not in known:
            known[value, dim] = _is_unlike(value, dim)
        return known[value, dim]

    for op in operations:
        if op.name == "stablehlo.slice" and tensor_info(op.results[0].type).is_float:
            (table,) = op.operands
            before, after = tensor_info(table.type).shape, tensor_info(op.results[0].type).shape
            if any(count == 1 < before[i] and is_unlike(table, i) for i, count in enumerate(after)):
                found.append(op.results[0])
    if found:
        found += [op.results[0] for op in operations if op.name == "stablehlo.multiply" and _joins(op)]
    return found


def _joins(product: ir.Operation) -> bool:
    """Whether columns that are joined are multiplied by unlike constants."""
    x, y = product.operands
    for factor, other in ((x, y), (y, x)):
        if _is_constant(factor):
            for dim in range(tensor_info(factor.type).rank):
                if _is_unlike(factor, dim) and _is_joined(other, dim):
                    return True
    return False


def _is_constant(value: ir.Value) -> bool:
    """Whether a value is computed of constants alone, in a few operations."""
    pending, left = [value], _STEPS
    while pending and left:
        left -= 1
        op = defining_op(pending.pop())
        if op is None or len(op.regions):
            return False
        pending += op.operands
    return not pending


def _is_unlike(value: ir.Value, dim: int) -> bool:
    """Whether constants of which the elements along a dimension are unlike enter a tensor linearly."""
    return any(op.name == CONSTANT and _differ(op, own) for op, own in _behind(value, dim))


def _is_joined(value: ir.Value, dim: int) -> bool:
    """Whether a value is a sum or selection of what is put together along a dimension: jax pads and adds slices."""
    return any(_assembles(op, own) for op, own in _behind(value, dim))


def _assembles(op: ir.Operation, dim: int) -> bool:
    if op.name == "stablehlo.concatenate":
        return int(ir.IntegerAttr(op.attributes["dimension"]).value) == dim
    if op.name == "stablehlo.pad":
        return tensor_info(op.operands[0].type).shape[dim] < tensor_info(op.results[0].type).shape[dim]
    return False


def _behind(value: ir.Value, dim: int) -> Iterator[tuple[ir.Operation, int]]:
    """The nearest operations that a value is linear in, each with the dimension that becomes one of the value."""
    pending, left = [(value, dim)], _STEPS
    while pending and left:
        left -= 1
        value, dim = pending.pop()
        op = defining_op(value)
        if op is not None:
            yield op, dim
            pending += _before(op, dim)


def _before(op: ir.Operation, dim: int) -> Iterator[tuple[ir.Value, int]]:
    """The operands that a result is linear in, each with the dimension that becomes one of the result."""
    if op.name == "stablehlo.broadcast_in_dim":
        dims = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
        if dim in dims:
            yield op.operands[0], dims.index(dim)
    elif op.name == "stablehlo.transpose":
        yield op.operands[0], list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))[dim]
    elif has(op.name, Trait.CARRIES) or (has(op.name, Trait.ELEMENTWISE) and of(op.name).linear):
        shape = tensor_info(op.results[0].type).shape
        yield from ((operand, dim) for operand in op.operands if tensor_info(operand.type).shape == shape)


def _differ(constant: ir.Operation, dim: int) -> bool:
    """Whether the largest magnitudes along a dimension, without zeros, are far apart."""
    dense, info = dense_value(constant), tensor_info(constant.results[0].type)
    if dense is None or dense.is_splat or info.element != "f32":
        return False
    others = tuple(i for i in range(info.rank) if i != dim)
    sizes = np.abs(np.asarray(dense)).max(others, initial=0.0)
    sizes = sizes[(sizes > 0) & np.isfinite(sizes)]
    return len(sizes) > 1 and bool(sizes.max() > budget.UNLIKE * sizes.min())
