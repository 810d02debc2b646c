"""Operations with regions on values: the same operation, and what its regions call, in f32 instead of f16 or f8."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import dense_value, splat_number
from scalify_hlo.module.function_types import retype
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.rewriting import Functions
from scalify_hlo.types import tensor_info

if TYPE_CHECKING:
    from scalify_hlo.emit.emitter import Emitter

_BOUND_TO_TYPE = names(Trait.BOUND_TO_TYPE)


def widened(r: OpRewrite) -> ir.Operation:
    """A copy of the operation before it, with f32 in place of every type narrower than f32 (f64 and bf16 stay).

    The old operation is to be erased. Raises UnsupportedError, with the copy gone, when a region holds an operation
    whose meaning depends on its element type.
    """
    copy = r.op.clone(ip=ir.InsertionPoint(r.op))
    try:
        _widen_operation(r.emit, r.rewriter.functions, copy)
    except UnsupportedError:
        copy.erase()
        raise
    r.erase()
    return copy


def _widen_operation(emit: "Emitter", functions: Functions, op: ir.Operation) -> None:
    """Retype one operation, its operands and its regions."""
    if op.name in _BOUND_TO_TYPE and any(_is_narrow(v) for v in [*op.operands, *op.results]):
        raise UnsupportedError(f"'{op.name}' inside a region that has to be computed in f32")
    for i, operand in enumerate(list(op.operands)):
        if _is_narrow(operand):  # defined outside of what is widened
            with emit.at(ir.InsertionPoint(op)):
                op.operands[i] = emit.convert(operand, "f32")
    if op.name in ("stablehlo.constant", "chlo.constant") and _is_narrow(op.results[0]):
        op.attributes["value"] = _widen_constant(emit, op)
    if op.name == "chlo.constant_like" and _is_narrow(op.results[0]):
        op.attributes["value"] = ir.FloatAttr.get(emit.f32, ir.FloatAttr(op.attributes["value"]).value)
    for name, key in (("func.call", "callee"), ("stablehlo.composite", "decomposition")):
        if op.name == name:
            callee = ir.FlatSymbolRefAttr(op.attributes[key]).value
            op.attributes[key] = ir.FlatSymbolRefAttr.get(widened_function(emit, functions, callee))
    _widen_values(emit, op.results)
    for region in op.regions:
        for block in region.blocks:
            _widen_values(emit, block.arguments)
            for inner in list(block.operations):
                _widen_operation(emit, functions, inner.operation)


def _is_narrow(value: ir.Value) -> bool:
    return tensor_info(value.type).is_narrow


def _widen_values(emit: "Emitter", values: Sequence[ir.Value]) -> None:
    for value in values:
        if _is_narrow(value):
            value.set_type(emit.tensor_type(value.type, "f32"))


def _widen_constant(emit: "Emitter", op: ir.Operation) -> ir.Attribute:
    """The value of a constant of a narrow type, as f32."""
    number, dense = splat_number(op), dense_value(op)
    type_ = emit.tensor_type(op.results[0].type, "f32")
    if number is not None:
        return ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(emit.f32, number))
    if tensor_info(op.results[0].type).element == "f16" and dense is not None:
        return ir.DenseElementsAttr.get(np.array(dense, np.float32), type=type_)
    raise UnsupportedError("a region that has to be computed in f32 holds a dense constant of a narrow type")


def widened_function(emit: "Emitter", functions: Functions, callee: str) -> str:
    """The name of a copy of a private function in f32; made on first use."""
    name = f"{callee}_in_f32"
    if name not in functions.by_name:
        clone = functions.by_name[callee].clone(ip=ir.InsertionPoint(functions.module.body))
        clone.attributes["sym_name"] = ir.StringAttr.get(name)
        functions.by_name[name] = clone
        for block in clone.regions[0].blocks:
            _widen_values(emit, block.arguments)
            for inner in list(block.operations):
                _widen_operation(emit, functions, inner.operation)
        retype(clone)
    return name
