"""Polynomials of one tensor: sums of a tensor and of its product with something that is made of it.

    c x + b(x) x      Newton and Schulz's iteration, b = p(x x^T); Newton's for a reciprocal, 2 y - (d y) y
    c x + f(x)        where |f(x)| <= |x|, as of tanh and sine: a series in x, whose lowest term is x

The terms are no unlike tensors that meet: they balance where the program evaluates them, or it would not converge. An
estimate that takes the larger term multiplies its own error by the degree, once for each iteration. The sum is taken to
be as large as its term of lower degree; iterated, as the tensor itself: that is what it converges to.
"""

import dataclasses
import math
from collections.abc import Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.accumulation import iterations
from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import is_one_number, number_behind
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

_SUMS = frozenset({"stablehlo.add", "stablehlo.subtract"})
_MATRIX_PRODUCTS = frozenset({"stablehlo.dot_general", "stablehlo.dot"})
_PRODUCTS = _MATRIX_PRODUCTS | {"stablehlo.multiply"}
_MOVES = (
    names(Trait.CARRIES) | {"stablehlo.transpose", "stablehlo.reshape", "stablehlo.convert", "stablehlo.negate"}
) - {"stablehlo.custom_call"}
# f with |f(x)| <= |x|.
_BELOW = frozenset({"stablehlo.tanh", "stablehlo.sine", "chlo.atan", "chlo.asinh"})
_BARRIER = "stablehlo.optimization_barrier"  # has a result for each operand
# Operations that are looked back at from a factor for the tensor that it is made of.
_FAR = 40


@dataclasses.dataclass(frozen=True)
class PolynomialSum:
    """low: which operand has the term of lower degree. base: the tensor, where the sum is iterated; else None."""

    low: int
    base: ir.Value | None


def polynomial_sums(block: ir.Block, operations: Sequence[ir.Operation]) -> dict[ir.Value, PolynomialSum]:
    """Sums of a block, which has these operations, that are polynomials of one tensor.

    Those of elementwise products only where they are iterated: in a loop, or where a tensor is such a sum itself.
    """
    loop = block.owner.operation.name == "stablehlo.while"
    found: dict[ir.Value, PolynomialSum] = {}
    elementwise: dict[ir.Value, PolynomialSum] = {}
    for op in operations:
        if op.name not in _SUMS or not tensor_info(op.results[0].type).is_float:
            continue
        terms = [_multiples(operand) for operand in op.operands]
        for low in (0, 1):
            value = op.results[0]
            owner = terms[1 - low][-1].owner
            if (
                not isinstance(owner, ir.Block)
                and owner.name in _BELOW
                and _is_series(owner, terms, terms[low][-1], found)
            ):
                found[value] = PolynomialSum(low, None)
                break
            product, base = _product_with(terms[1 - low][-1], terms[low])
            if product is None or base is None:
                continue
            if (loop and isinstance(base, ir.BlockArgument)) or base in found or base in elementwise:
                found[value] = PolynomialSum(low, base)
                if base in elementwise:
                    found[base] = elementwise[base]
            elif product.name in _MATRIX_PRODUCTS:
                found[value] = PolynomialSum(low, None)
            else:
                elementwise[value] = PolynomialSum(low, None)
            break
    return found


def _multiples(value: ir.Value) -> list[ir.Value]:
    """A value and what it is a multiple of by a number, moved or converted at most; the last is the tensor itself."""
    chain = [value]
    while not isinstance(owner := value.owner, ir.Block):
        name = owner.name
        if name in _MOVES:
            value = owner.operands[ir.OpResult(value).result_number if name == _BARRIER else 0]
        elif name == "stablehlo.multiply" and (i := _number_in(owner.operation)) is not None:
            value = owner.operands[1 - i]
        else:
            break
        chain.append(value)
    return chain


def _number_in(op: ir.Operation) -> int | None:
    """Which operand of a product is one number for all elements."""
    x, y = op.operands
    return 0 if is_one_number(x) else 1 if is_one_number(y) else None


def _is_series(
    op: ir.OpView, terms: Sequence[list[ir.Value]], x: ir.Value, found: dict[ir.Value, PolynomialSum]
) -> bool:
    """Whether terms, of which one is of what an operation gives, are c x + d f(x) with |f(x)| <= |x|."""
    return x not in found and x in _moved(op.operands[0]) and _stays(x, terms)


def _stays(base: ir.Value, terms: Sequence[list[ir.Value]]) -> bool:
    """Whether c x + d f(x) is not iterated, or leaves an x with less room in its type where it was: (c + d)^n x.

    Otherwise a small x may grow until f bounds it, and is then as large as the bound.
    """
    if not isinstance(base.owner, ir.Block):
        return True
    loop = base.owner.owner.operation
    if loop.name != "stablehlo.while":
        return True
    count = iterations(loop, number_behind)
    growth = sum(math.prod(abs(_number(value) or 1) for value in term) for term in terms)
    return growth <= 1 or (count is not None and count * math.log2(growth) <= budget.LOOP_WINDOW)


def _number(value: ir.Value) -> float | None:
    """The number that a value is multiplied by, if it is."""
    op = defining_op(value)
    if op is None or op.name != "stablehlo.multiply":
        return None
    return next((n for n in map(number_behind, op.operands) if n is not None), None)


def _moved(value: ir.Value) -> list[ir.Value]:
    chain = [value]
    while (op := defining_op(value)) is not None and op.name in _MOVES and len(op.operands) == 1:
        value = op.operands[0]
        chain.append(value)
    return chain


def _product_with(value: ir.Value, multiples: list[ir.Value]) -> tuple[ir.Operation | None, ir.Value | None]:
    """The product that a value is, if a factor is one of `multiples` and the other is made of it too."""
    op = defining_op(value)
    if op is None or op.name not in _PRODUCTS:
        return None, None
    known = set(multiples)
    factors = [_multiples(operand) for operand in op.operands]
    for i in (0, 1):
        if not known.isdisjoint(factors[i]) and _is_made_of(factors[1 - i][-1], known):
            return op, multiples[-1]
    return None, None


def _is_made_of(value: ir.Value, bases: set[ir.Value]) -> bool:
    pending, seen = [value], {value}
    while pending and len(seen) < _FAR:
        current = pending.pop()
        if current in bases:
            return True
        op = defining_op(current)
        for operand in () if op is None else op.operands:
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return False
