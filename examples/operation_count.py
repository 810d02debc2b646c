"""Counting the operations of a StableHLO module, and what a rewrite has added to it."""

import collections
import dataclasses
from typing import Any

from scalify_hlo.bindings import ir
from scalify_hlo.execution.modules import as_module, operations

_NOT_COUNTED = frozenset({"func.func", "func.return", "stablehlo.return"})
# Operations whose regions say how two elements combine: no scale is computed there.
_COMBINING = ("all_reduce", "map", "reduce", "reduce_scatter", "reduce_window", "scatter", "select_and_scatter", "sort")
_WITH_COMBINERS = frozenset(f"stablehlo.{name}" for name in _COMBINING)


@dataclasses.dataclass(frozen=True)
class OperationCount:
    """Static counts: the body of a private function or of a loop counts once.

    total: operations, constants included, without functions and terminators.
    constants: of these, constants.
    scalars: of these, operations (not constants, not the combiners of reductions) all of whose results are rank-0 f32:
        in a rewritten module the original's own scalars and the arithmetic of scales.
    """

    total: int
    constants: int
    scalars: int


def count_operations(module: str | bytes | ir.Module) -> OperationCount:
    """Count the operations of a module (text, bytecode or `ir.Module`). Raises ir.MLIRError when it does not parse."""
    parsed = as_module(module)  # bound to a name: the operations do not keep their module alive
    found = [op for op in operations(parsed) if op.name not in _NOT_COUNTED]
    names = collections.Counter(op.name for op in found)
    scalars = sum(
        op.name != "stablehlo.constant" and _is_scalar(op) and op.parent.name not in _WITH_COMBINERS for op in found
    )
    return OperationCount(len(found), names["stablehlo.constant"], scalars)


def _is_scalar(op: Any) -> bool:
    return len(op.results) > 0 and all(str(result.type) == "tensor<f32>" for result in op.results)
