"""The engine's entry: a StableHLO module in, the same module over (data, scale) pairs out."""

import contextlib
import dataclasses
import gc
import io
from collections.abc import Generator
from typing import TypeVar

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.functions import FunctionTable
from scalify_hlo.inlining import inline_loop_bodies
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rewriter import Rewriter
from scalify_hlo.selection import select_arguments
from scalify_hlo.signature import add_scale_arguments, add_scale_results, public_function
from scalify_hlo.statistics_in_f32 import widen_statistics
from scalify_hlo.survey import Survey
from scalify_hlo.types import forget_types

ModuleLike = TypeVar("ModuleLike", str, bytes, ir.Module)


def rewrite_module(
    module: ModuleLike, options: ScalifyOptions = ScalifyOptions(), *, remarks: list[Diagnostic] | None = None
) -> ModuleLike:
    """Rewrite a StableHLO module so that each scaled float tensor is carried as data * scale.

    module: MLIR text, MLIR bytecode, or an `ir.Module`, which is rewritten in place and returned.
    remarks: receives what was computed on recombined values for want of a rule.

    Returns the same kind as was given. Raises ScalifyError with every reason found when the module cannot be
    rewritten (text and bytes that do not parse included).
    """
    if isinstance(module, ir.Module):
        scalify_in_place(module, options, remarks)
        return module
    with make_context(), ir.Location.unknown():
        try:
            parsed = ir.Module.parse(module)
        except ir.MLIRError as error:
            raise ScalifyError(f"not a StableHLO module: {str(error).splitlines()[-1]}") from None
        scalify_in_place(parsed, options, remarks)
        if isinstance(module, bytes):
            buffer = io.BytesIO()
            parsed.operation.write_bytecode(buffer)
            return buffer.getvalue()
        return parsed.operation.get_asm(enable_debug_info=False)


def scalify_in_place(
    module: ir.Module,
    options: ScalifyOptions = ScalifyOptions(),
    remarks: list[Diagnostic] | None = None,
) -> None:
    """What the `scalify` pass does to a module. Raises ScalifyError; the module is then no longer to be used."""
    if options.rules == "paper":
        options = dataclasses.replace(options, slack=0.0)
    try:
        with _without_collection():
            _rewrite(module, options, remarks)
    finally:
        forget_types()


@contextlib.contextmanager
def _without_collection() -> Generator[None]:
    """No cyclic garbage collection: it would go through all of JAX's objects several times, and finds nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _rewrite(module: ir.Module, options: ScalifyOptions, remarks: list[Diagnostic] | None) -> None:
    with module.context, ir.Location.unknown():
        function = public_function(module)
        selection = select_arguments(function, options)
        survey = Survey().walk(module.operation)
        table = FunctionTable(module, options, narrow=survey.narrow)
        if not any(selection.scaled) and not table.contains_marker(function):
            return
        inline_loop_bodies(module, survey)
        if options.statistics == "f32" and survey.narrow:
            widen_statistics(module)
        table = FunctionTable(module, options, narrow=survey.narrow)  # of the functions that are left
        rewriter = Rewriter(function, options, table)
        add_scale_arguments(rewriter, selection, options)
        terminator = rewriter.block(function.regions[0].blocks[0])
        rewriter.emit.ip, rewriter.emit.location = ir.InsertionPoint(terminator), terminator.location
        if options.mark_tensors:
            rewriter.mark_arguments()
        add_scale_results(rewriter, terminator, options)
        rewriter.finish()
        if remarks is not None:
            remarks.extend(table.remarks)
        rewriter.raise_errors()
        table.remove_unused()
