"""Functions of one tensor, element by element, evaluated at some points: what they compute, however it is written."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scalify_hlo.bindings import ir
from scalify_hlo.module.comparisons import direction_of
from scalify_hlo.recognition.graph import Graph

Samples = NDArray[np.float64]
Function = Callable[..., Any]

# Beyond, gates are 0 and 1.
POINTS: Samples = np.linspace(-5.0, 5.0, 21)
# More operations than this are not looked at; erfc is written with 67.
_MOST = 96
_error_function = np.vectorize(math.erf, otypes=[float])
_COMPARE: dict[str, Function] = {
    "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
}  # fmt: skip


def _erf(x: Samples) -> Samples:
    return _error_function(x)


def _erfc(x: Samples) -> Samples:
    return 1 - _erf(x)


def _logistic(x: Samples) -> Samples:
    return 1 / (1 + np.exp(-x))


def _same(x: Samples) -> Samples:
    return x


_FUNCTIONS: dict[str, Function] = {
    "stablehlo.abs": np.abs,
    "stablehlo.add": np.add,
    "stablehlo.convert": _same,
    "stablehlo.divide": np.divide,
    "stablehlo.exponential": np.exp,
    "stablehlo.logistic": _logistic,
    "stablehlo.maximum": np.maximum,
    "stablehlo.minimum": np.minimum,
    "stablehlo.multiply": np.multiply,
    "stablehlo.negate": np.negative,
    "stablehlo.power": np.power,
    "stablehlo.select": np.where,
    "stablehlo.subtract": np.subtract,
    "stablehlo.tanh": np.tanh,
    "chlo.erf": _erf,
    "chlo.erfc": _erfc,
    "chlo.square": np.square,
}
POINTWISE = frozenset(_FUNCTIONS)


def gelu(x: Samples, *, by_tanh: bool) -> Samples:
    """x times the Gaussian distribution function, or its approximation by tanh."""
    if by_tanh:
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + _erf(x / math.sqrt(2)))


def evaluate(value: ir.Value, at: ir.Value, graph: Graph) -> tuple[Samples, list[ir.Value]] | None:
    """(what `value` is where the elements of `at` are POINTS, the values between); None if that is not known."""
    evaluation = _Evaluation(at, graph)
    with np.errstate(all="ignore"):
        found = evaluation.of(value)
    return None if found is None else (found, [inner for inner in evaluation.known if inner != at])


class _Evaluation:
    """What values are where the elements of `at` are POINTS, those of operations that have been looked at."""

    def __init__(self, at: ir.Value, graph: Graph):
        self.graph = graph
        self.known: dict[ir.Value, Samples] = {at: POINTS}
        self.looked_at = 0

    def of(self, value: ir.Value) -> Samples | None:
        """What a value is; None if that is not known."""
        if value in self.known:
            return self.known[value]
        number = self.graph.constant(value)
        if number is not None:
            return np.full_like(POINTS, number)
        self.looked_at += 1
        node = self.graph.node(value)
        if node is None or self.looked_at > _MOST:
            return None
        operands: list[Samples] = []
        for operand in node.operands:
            found = self.of(operand)
            if found is None:
                return None
            operands.append(found)
        if node.name == "stablehlo.compare":
            direction = direction_of(node.op)
            function = _COMPARE.get(direction)
        else:
            function = _FUNCTIONS.get(node.name)
        if function is not None:
            self.known[value] = function(*operands)
        return self.known.get(value)
