"""The same program in f64.

A program's own rounding noise is the difference between its results and those of this one: inputs and constants keep
the values that the narrow program has, and everything in between is computed in f64.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.element_types import ELEMENT_TYPES, Array, is_complex, is_float_array
from scalify_hlo.execution.modules import clone, operations
from scalify_hlo.io.diagnostics import from_mlir_error
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.traits import IDENTITY_CALLS, Trait, names

# Operations that compute on the bits of their operands, or draw bits: run in their own types between two converts.
_KEPT_NARROW = names(Trait.BOUND_TO_TYPE) | {"stablehlo.rng"}

# LAPACK's and BLAS's letter for a single precision -> the one for double precision.
_PRECISION_LETTERS = {"s": "d", "c": "z"}


def promote_to_f64(module: ir.Module) -> ir.Module:
    """A copy of `module` in which every float tensor is f64 and every complex one complex<f64>.

    Constants keep their narrow values (they are converted in place). Bit casts, random draws and unknown custom calls
    run in their own types, with the functions that they call. `reduce_precision` and the algorithms of dots, which ask
    for less precision, are dropped.

    Raises ScalifyError when the result does not verify.
    """
    promoted = clone(module)
    with promoted.context, ir.Location.unknown():
        ops = _without_callees(operations(promoted))
        # Read before any type changes: what an operation kept narrow is to be fed.
        narrow = {i: [v.type for v in op.operands] for i, op in enumerate(ops) if _is_kept_narrow(op)}
        for i, op in enumerate(ops):
            _widen_regions(op)
            if i in narrow:
                _wrap_narrow(op, narrow[i])
            elif op.name.endswith(".constant"):
                _widen_constant(op)
            elif op.name == "stablehlo.reduce_precision":
                op.results[0].replace_all_uses_with(op.operands[0])
                op.erase()
            else:
                _widen(op)
        try:
            promoted.operation.verify()
        except ir.MLIRError as error:
            raise ScalifyError(from_mlir_error(error)) from None
    return promoted


def promote_arrays(arrays: Sequence[Array]) -> list[Array]:
    """The same values, floats as f64 and complex numbers as complex128."""
    return [promote_array(np.asarray(array)) for array in arrays]


def promote_array(array: Array) -> Array:
    if is_float_array(array):
        return array.astype(np.float64)
    if is_complex(ELEMENT_TYPES.get(array.dtype, "")):
        return array.astype(np.complex128)
    return array


def _wide(type_: Any) -> Any:
    """The f64 counterpart of a type; the type itself where there is nothing to widen."""
    if isinstance(type_, ir.RankedTensorType):
        element = type_.element_type
        if isinstance(element, ir.ComplexType):
            wide = ir.ComplexType.get(ir.F64Type.get())
        elif isinstance(element, ir.FloatType):
            wide = ir.F64Type.get()
        else:
            return type_
        return ir.RankedTensorType.get(list(type_.shape), wide, type_.encoding)
    if isinstance(type_, ir.TupleType):
        return ir.TupleType.get_tuple([_wide(type_.get_type(i)) for i in range(type_.num_types)])
    return type_


def _is_kept_narrow(op: Any) -> bool:
    if op.name not in _KEPT_NARROW:
        return False
    if op.name != "stablehlo.custom_call":
        return True
    target = op.attributes["call_target_name"].value
    return target not in IDENTITY_CALLS and _double_precision(target) is None


def _without_callees(ops: Sequence[Any]) -> list[Any]:
    """The operations but for those of functions that a custom call kept narrow calls: the comparison of a top-k."""
    called: set[str] = set()
    for op in ops:
        if op.name == "stablehlo.custom_call" and _is_kept_narrow(op) and "called_computations" in op.attributes:
            called |= {ir.FlatSymbolRefAttr(each).value for each in op.attributes["called_computations"]}
    kept: list[Any] = []
    inside = False
    for op in ops:
        if op.name == "func.func":
            inside = symbol_name(op) in called
        if not inside:
            kept.append(op)
    return kept


def _double_precision(target: str) -> str | None:
    """The double-precision kernel of a single-precision one: lapack_sgesdd_ffi -> lapack_dgesdd_ffi."""
    for library in ("lapack_", "blas_"):
        letter = target[len(library) : len(library) + 1]
        if target.startswith(library) and letter in (*_PRECISION_LETTERS, *_PRECISION_LETTERS.values()):
            return library + _PRECISION_LETTERS.get(letter, letter) + target[len(library) + 1 :]
    return None


def _widen_regions(op: Any) -> None:
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                argument.set_type(_wide(argument.type))


def _widen(op: Any) -> None:
    for result in op.results:
        result.set_type(_wide(result.type))
    if op.name == "func.func":
        old = op.attributes["function_type"].value
        new = ir.FunctionType.get([_wide(t) for t in old.inputs], [_wide(t) for t in old.results])
        op.attributes["function_type"] = ir.TypeAttr.get(new)
    elif op.name == "stablehlo.dot_general" and "algorithm" in op.attributes:
        del op.attributes["algorithm"]
    elif op.name == "stablehlo.custom_call":
        target = op.attributes["call_target_name"].value
        op.attributes["call_target_name"] = ir.StringAttr.get(_double_precision(target) or target)


def _widen_constant(op: Any) -> None:
    """Convert a constant where it stands: exact, and its attribute, which may be anything, is not touched."""
    constant = op.results[0]
    if _wide(constant.type) == constant.type:
        return
    with ir.InsertionPoint(op):
        narrow = op.clone()
        wide = stablehlo.convert(_wide(constant.type), narrow.results[0])
    constant.replace_all_uses_with(wide)
    op.erase()


def _wrap_narrow(op: Any, operand_types: Sequence[Any]) -> None:
    """Convert the operands back to the types that the operation had, and its results to f64."""
    with ir.InsertionPoint(op):
        for i, narrow in enumerate(operand_types):
            if op.operands[i].type != narrow:
                op.operands[i] = stablehlo.convert(narrow, op.operands[i])
        results = op.clone().results
        widened = [r if _wide(r.type) == r.type else stablehlo.convert(_wide(r.type), r) for r in results]
    for result, wide in zip(op.results, widened, strict=True):
        result.replace_all_uses_with(wide)
    op.erase()
