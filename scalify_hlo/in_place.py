"""The engine's entry: a StableHLO module becomes the same module over (data, scale) pairs."""

import dataclasses

from scalify_hlo.analysis.narrow_values import mark_wide, unmark_wide
from scalify_hlo.analysis.quantised_values import mark_casts_of_values, unmark_casts_of_values, was_retyped
from scalify_hlo.analysis.single_iterations import unroll_single_iterations
from scalify_hlo.bindings import ir
from scalify_hlo.emit.merged_factors import merge_factors
from scalify_hlo.emit.packed_scales import gather_scales_of_arguments
from scalify_hlo.emit.scatter_factors import factors_of_program, move_factors_to_updates
from scalify_hlo.emit.stamps import put_purpose
from scalify_hlo.emit.wide_products import widen_products
from scalify_hlo.engine.facts import FactFinder
from scalify_hlo.engine.functions import FunctionTable
from scalify_hlo.engine.inlining import inline_calls
from scalify_hlo.engine.normal_form import write_as_products
from scalify_hlo.engine.preconditions import check_preconditions
from scalify_hlo.engine.rewriter import Rewriter
from scalify_hlo.engine.selection import is_rewritten, select_arguments
from scalify_hlo.engine.signature import (
    add_scale_arguments,
    add_scale_results,
    arguments_of_role,
    drop_numbered,
    name_results,
    other_public_functions,
    public_function,
)
from scalify_hlo.engine.statistics_in_f32 import widen_statistics
from scalify_hlo.engine.survey import Survey
from scalify_hlo.errors import Diagnostic, describe_location
from scalify_hlo.io.depth import deep_programs, without_collection
from scalify_hlo.module.carriers import fold_layouts, unfold_layouts
from scalify_hlo.module.chlo_composites import to_composites, to_operations
from scalify_hlo.module.clips import write_as_clamps
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import settle_constants
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.size.affine import AffineForms
from scalify_hlo.size.state import find_pairs, mark_state, unmark_state
from scalify_hlo.types import forget_types


def scalify_in_place(
    module: ir.Module,
    options: ScalifyOptions = ScalifyOptions(),
    remarks: list[Diagnostic] | None = None,
) -> None:
    """What the `scalify` pass does to a module. Raises ScalifyError; the module is then no longer to be used."""
    if options.rules == "paper":
        options = dataclasses.replace(options, slack=0.0)
    try:
        with without_collection(), deep_programs():
            _rewrite(module, options, remarks)
    finally:
        forget_types()


def _rewrite(module: ir.Module, options: ScalifyOptions, remarks: list[Diagnostic] | None) -> None:
    with module.context, ir.Location.unknown():
        check_preconditions(module)
        retyped = was_retyped(module)
        function = public_function(module)
        selection = select_arguments(function, options)
        if is_rewritten(function):
            if remarks is not None:
                what = "this program carries data * scale already: it is left as it is"
                remarks.append(Diagnostic(what, describe_location(function.location), "remark"))
            return
        if remarks is not None:
            for other in other_public_functions(module, function):
                what = f"public function @{symbol_name(other)} is left as it is: the module is called through @main"
                remarks.append(Diagnostic(what, describe_location(other.location), "remark"))
        erase_dead(module)  # what nobody reads says nothing of sizes and types
        survey = Survey().walk(module.operation)
        table = FunctionTable(module, options, narrow=survey.narrow)
        if not any(selection.scaled) and not table.contains_marker(function):
            return
        settle_constants(survey.regions)
        write_as_products(survey.squares)
        unroll_single_iterations(survey.once)
        has_composites = to_operations(survey.chlo_functions)
        has_layouts = fold_layouts(module)
        inline_calls(module)
        casts = False
        if survey.casts:
            arguments = zip(function.regions[0].blocks[0].arguments, selection.scaled, strict=True)
            unscaled = {argument for argument, scaled in arguments if not scaled}
            casts = mark_casts_of_values(module, unscaled, retyped=retyped)
        if survey.minima:
            write_as_clamps(module)
        if options.statistics == "f32" and survey.narrow:
            widen_statistics(module)
        # Of the functions that are left.
        mixed = survey.narrow and mark_wide(module)
        table = FunctionTable(module, options, narrow=survey.narrow, has_layouts=has_layouts)
        table.several_devices |= survey.several_devices
        rewriter = Rewriter(function, options, table)
        add_scale_arguments(rewriter, selection, options)
        forms = None
        if options.rules != "paper" or options.mark_state:
            forms = AffineForms(FactFinder(table.called, numbers_only=True).number, table.called)
            pairs = find_pairs(module, function, forms)
            if options.mark_state:
                name_results(function, pairs)
            if options.rules == "paper":
                forms = None
            else:
                mark_state(forms, function, pairs)
        own_factors = factors_of_program(module) if survey.scatters else set[int]()
        terminator = rewriter.block(function.regions[0].blocks[0], forms)
        rewriter.emit.ip, rewriter.emit.location = ir.InsertionPoint(terminator), terminator.location
        if options.mark_tensors:
            rewriter.mark_arguments()
        before = len(rewriter.emit.scope.emitted)
        add_scale_results(rewriter, terminator, options)
        dropped = drop_numbered(module)
        if remarks is not None and dropped:
            what = f"{', '.join(dropped)} of the module: removed, arguments and results have other numbers now"
            remarks.append(Diagnostic(what, describe_location(function.location), "remark"))
        if options.print_rules:
            put_purpose(rewriter.emit.scope.emitted[before:], "results")
        rewriter.finish()
        if remarks is not None:
            remarks.extend(table.remarks)
        rewriter.raise_errors()
        if options.vector_scales:
            gather_scales_of_arguments(function, arguments_of_role(function, "scale"))
        table.remove_unused()
        if survey.scatters:
            move_factors_to_updates(module, own_factors)
        if survey.narrow:
            widen_products(module)
        merge_factors(module)
        if has_layouts:
            unfold_layouts(module)
        if casts:
            unmark_casts_of_values(module)
        unmark_state(module, loops=survey.loops, named=options.mark_state)
        if mixed:
            unmark_wide(module)
        erase_dead(module)
        if has_composites:
            to_composites(module)
