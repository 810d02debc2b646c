"""Small services on `ir.Module` that running and comparing share."""

from typing import Any

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.io.diagnostics import from_mlir_error
from scalify_hlo.io.serialization import to_bytecode

__all__ = ["as_module", "clone", "operations", "to_bytecode"]


def as_module(module: str | bytes | ir.Module) -> ir.Module:
    """The module itself, or the parsed text or bytecode in a context of its own. Raises ScalifyError."""
    if isinstance(module, ir.Module):
        return module
    try:
        return ir.Module.parse(module, context=make_context())
    except ir.MLIRError as error:
        raise ScalifyError(from_mlir_error(error)) from None


def clone(module: ir.Module) -> ir.Module:
    """A copy in the same context."""
    return ir.Module.parse(to_bytecode(module), context=module.context)


def operations(module: ir.Module) -> list[Any]:
    """Every operation inside the module, outermost first; valid only as long as the caller keeps the module."""
    found: list[Any] = []

    def visit(op: Any) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found[1:]
