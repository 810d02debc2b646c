"""StableHLO in, the same program over (data, scale) pairs out."""

import io
from typing import TypeVar

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.in_place import scalify_in_place
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.precision import PrecisionPolicy

ModuleLike = TypeVar("ModuleLike", str, bytes, ir.Module)


def rewrite_module(
    module: ModuleLike,
    options: ScalifyOptions = ScalifyOptions(),
    *,
    precision: PrecisionPolicy | str | None = None,
    remarks: list[Diagnostic] | None = None,
) -> ModuleLike:
    """Rewrite a StableHLO module so that each scaled float tensor is carried as data * scale.

    module: MLIR text, MLIR bytecode, or an `ir.Module`, which is rewritten in place and returned.
    precision: what it is to be computed and stored in, as in `scalify`: "fp8", "fp16-state moments=f16", ...; None: the
        types that it has, and `scalify` alone of the passes.
    remarks: receives what was computed on recombined values for want of a rule, and what a precision has chosen.

    Returns the same kind as was given. Raises ScalifyError with every reason found when the module cannot be
    rewritten (text and bytes that do not parse included), and for an unknown precision.
    """
    if isinstance(module, ir.Module):
        _rewrite(module, options, precision, remarks)
        return module
    with make_context(), ir.Location.unknown():
        try:
            parsed = ir.Module.parse(module)
        except ir.MLIRError as error:
            raise ScalifyError(f"not a StableHLO module: {str(error).splitlines()[-1]}") from None
        _rewrite(parsed, options, precision, remarks)
        if isinstance(module, bytes):
            buffer = io.BytesIO()
            parsed.operation.write_bytecode(buffer)
            return buffer.getvalue()
        return parsed.operation.get_asm(enable_debug_info=False)


def _rewrite(
    module: ir.Module,
    options: ScalifyOptions,
    precision: PrecisionPolicy | str | None,
    remarks: list[Diagnostic] | None,
) -> None:
    if precision is None:
        scalify_in_place(module, options, remarks)
    else:
        precision_pipeline(precision, options).run(module, [] if remarks is None else remarks)
