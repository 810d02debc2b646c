"""Run an original and a rewritten module on the same inputs and compare what they return."""

import dataclasses
from collections.abc import Callable, Collection, Sequence

import numpy as np

from scalify_hlo.analysis.roots import under_roots
from scalify_hlo.analysis.update import trains
from scalify_hlo.bindings import ir
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.compare import Comparison, Tolerance, compare_results
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.inputs import (
    Draw,
    Split,
    draw_inputs,
    recombine,
    rewritten_arguments,
    split_scales,
    spread_scales,
)
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.options import CheckOptions
from scalify_hlo.execution.promote import promote_arrays, promote_to_f64
from scalify_hlo.execution.rounded import DIGITS, cast_program, neighbours, operand_digits, rounded_program
from scalify_hlo.execution.signature import (
    Pairing,
    Signature,
    check_arrays,
    entry_function,
    entry_signature,
    pair_arguments,
)
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.passes.pack_scales import unpack_scales
from scalify_hlo.precision import PrecisionPolicy

Run = Callable[[Sequence[Array]], list[Array]]
# How often the noise of a precision is drawn.
_NEIGHBOURS = 2


@dataclasses.dataclass(frozen=True)
class CheckReport:
    """comparison: result by result. notes: what the user should know about how it was made."""

    comparison: Comparison
    notes: tuple[str, ...] = ()


def check_modules(
    original: ir.Module,
    rewritten: ir.Module,
    inputs: Sequence[Array] | None = None,
    options: CheckOptions = CheckOptions(),
    *,
    precision: PrecisionPolicy | None = None,
) -> CheckReport:
    """Compare `rewritten` with `original`, and both with the original computed in f64; no module is changed.

    inputs: one array for each argument of `original`; drawn by `options.draw` from `options.seed` when None.
    precision: what `rewritten` was brought to; None where it has the types of `original`. It may keep floats in
        narrower types then: the inputs are rounded to these for both, and what the types lose whatever the scales are
        counts as noise (`scalify_hlo.execution.rounded`).

    Raises ScalifyError when an option is negative, when the signatures do not correspond, when the inputs do not fit,
    and when a module cannot be run; never because results differ: that is in the report.
    """
    for name in ("seed", "tolerance", "epsilons"):
        if not getattr(options, name) >= 0:
            raise ScalifyError(f"{name} is {getattr(options, name)}; it must not be negative")
    rewritten = _in_pairs(rewritten)
    signature, rewritten_signature = entry_signature(original), entry_signature(rewritten)
    pairings = pair_arguments(signature, rewritten_signature, narrowed=precision is not None)
    notes: list[str] = []
    run_original = _runner(original, options)
    if inputs is None:
        arrays, original_results, drawn_notes = _draw(
            run_original, signature, options, lambda: under_roots(original, entry_function(original).operation)
        )
        notes += drawn_notes
    else:
        arrays = [np.asarray(array) for array in inputs]
        check_arrays(signature.arguments, arrays)
        original_results = run_original(arrays)
    splits = split_scales(arrays, options.scales, options.seed)
    shapes = [() if p.scale is None else rewritten_signature.arguments[p.scale].shape for p in pairings]
    splits = spread_scales(splits, shapes, options.seed)
    if precision is not None:
        splits, arrays = _narrowed(splits, pairings, rewritten_signature, signature)
        original_results = run_original(arrays)
    try:
        ideal_results = _runner(promote_to_f64(original), options)(promote_arrays(arrays))
    except ScalifyError as error:
        ideal_results = None
        notes.append(f"the rounding noise is not known: {error.diagnostics[0].message}")
    rewritten_results = _runner(rewritten, options)(rewritten_arguments(splits, pairings, rewritten_signature))
    comparison = compare_results(
        signature,
        rewritten_signature,
        original_results,
        rewritten_results,
        ideal_results,
        Tolerance(options.tolerance, options.epsilons, 0.0 if precision is None else precision.stored_epsilon),
        [] if precision is None or ideal_results is None else _rounded_results(original, precision, arrays, options),
    )
    return CheckReport(comparison, tuple(notes))


def _rounded_results(
    original: ir.Module, precision: PrecisionPolicy, arrays: Sequence[Array], options: CheckOptions
) -> list[list[Array]]:
    """What the program gives with its narrow values rounded as in the types of a precision, on these inputs and on some
    that are not to be told from them in its types."""
    cast = cast_program(original, precision)
    digits = operand_digits(precision, trains=trains(original, symbol_name(public_function(original))))
    run = _runner(rounded_program(cast, digits), options)
    eps = 2.0 ** -DIGITS["f16"]
    return [run(promote_arrays(arrays if seed == 0 else neighbours(arrays, seed, eps))) for seed in range(_NEIGHBOURS)]


def _in_pairs(rewritten: ir.Module) -> ir.Module:
    """The module with its scales beside their data, where `scalify-pack-scales` made vectors of them."""
    if all(spec.role != "scales" for spec in entry_signature(rewritten).arguments):
        return rewritten
    copy = clone(rewritten)
    unpack_scales(copy)
    return copy


def _narrowed(
    splits: Sequence[Split], pairings: Sequence[Pairing], rewritten: Signature, original: Signature
) -> tuple[list[Split], list[Array]]:
    """The pairs with data in the types of the rewritten module, and the values they then stand for."""
    narrow: list[Split] = []
    for split, pairing in zip(splits, pairings, strict=True):
        spec = rewritten.arguments[pairing.data]
        narrow.append(Split(split.data.astype(spec.dtype), split.scale))
    values = [
        np.asarray(recombine(split.data, split.scale)).astype(spec.dtype)
        for split, spec in zip(narrow, original.arguments, strict=True)
    ]
    return narrow, values


def _runner(module: ir.Module, options: CheckOptions) -> Run:
    if options.backend == "interpreter":
        return lambda arrays: interpret(module, arrays)
    return xla.compile(module, excess_precision=options.excess_precision)


def _draw(
    run: Run, signature: Signature, options: CheckOptions, rooted: Callable[[], Collection[int]]
) -> tuple[list[Array], list[Array], list[str]]:
    """Inputs, the original's results for them, and notes. rooted: of which arguments roots or logarithms are taken."""
    draw: Draw = "normal" if options.draw == "auto" else options.draw
    arrays = draw_inputs(signature, options.seed, draw)
    results = run(arrays)
    if options.draw != "auto" or not _results_with_nan(results):
        return arrays, results, []
    indices = rooted()
    names = ", ".join(signature.arguments[i].name for i in sorted(indices)[:3]) + (", ..." if len(indices) > 3 else "")
    # Of all arguments only where that does not do: sums of positive numbers are larger than those of a real run.
    some = f"those that roots or logarithms are taken of ({names}) were drawn positive"
    tries: list[tuple[Draw, Collection[int], str]] = [("normal", indices, some)] if indices else []
    tries.append(("positive", (), "positive ones were drawn"))
    best, note = _results_with_nan(results), "the original returns NaN for the inputs drawn; give better ones"
    for draw, positive, what in tries:
        others = draw_inputs(signature, options.seed, draw, positive)
        other_results = run(others)
        if _results_with_nan(other_results) < best:
            arrays, results, best = others, other_results, _results_with_nan(other_results)
            note = f"normal inputs make the original return NaN: {what}"
        if not best:
            break
    return arrays, results, [note]


def _results_with_nan(results: Sequence[Array]) -> int:
    return sum(bool(np.isnan(r.astype(np.complex128)).any()) for r in results if r.dtype.kind not in "iub")
