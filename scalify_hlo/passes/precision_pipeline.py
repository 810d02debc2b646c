"""Which passes a precision stands for, around `scalify`."""

import dataclasses
from collections.abc import Sequence
from typing import Literal

from scalify_hlo.aot.targets import target
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.io.scales_file import read_scales
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.auto_rescale import OF_VALUES, AutoRescale
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.block_dots import BlockDots
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.fp8_results import FP8Results
from scalify_hlo.passes.frozen_weights import EmbedWeights, LiftWeights
from scalify_hlo.passes.held_sums import HoldSums
from scalify_hlo.passes.joined_carries import JoinCarried
from scalify_hlo.passes.joined_statistics import JoinStatistics
from scalify_hlo.passes.narrow_gathers import NarrowGathers
from scalify_hlo.passes.narrow_results import NarrowResults
from scalify_hlo.passes.normal_form import NormalForm
from scalify_hlo.passes.option_text import parse_options
from scalify_hlo.passes.pack_scales import PackScales
from scalify_hlo.passes.partial_sums import PartialSums
from scalify_hlo.passes.pin_scales import PinScales
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.round_state import RoundState
from scalify_hlo.passes.samples import Samples
from scalify_hlo.passes.saturate import Saturate
from scalify_hlo.passes.scalify import Scalify
from scalify_hlo.passes.select_scatters import SelectScatters
from scalify_hlo.passes.state_rescale import StateRescale
from scalify_hlo.passes.store_weights import StoreWeights
from scalify_hlo.precision import PRESETS, TYPED, PrecisionPolicy, Preset, policy

# A policy; or text: a preset's name, followed by what is to be different, such as "fp8 moments=f16".
Precision = PrecisionPolicy | str


def parse_precision(precision: Precision) -> PrecisionPolicy:
    """The policy that a text stands for; a policy is returned as it is.

    Raises ScalifyError for an unknown preset, option, type or GPU.
    """
    if isinstance(precision, PrecisionPolicy):
        chosen = precision
    elif not isinstance(precision, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ScalifyError(f"a precision is a preset's name, such as 'fp8', or a PrecisionPolicy, not {precision!r}")
    else:
        name, _, options = precision.strip().partition(" ")
        preset = policy(name)
        try:
            chosen = parse_options(preset, options)
        except ScalifyError as error:
            where = f"precision '{precision}'"
            raise ScalifyError([Diagnostic(f"{where}: {each.message}") for each in error.diagnostics]) from None
    return _for_target(chosen)


def passes_around_scalify(precision: Precision, *, pinned: bool = False) -> tuple[tuple[Pass, ...], tuple[Pass, ...]]:
    """The passes to run before and after `scalify` for a training step written in f32.

    pinned: scales will be pinned; what a program without a backward pass has weights for is computed with alone, so
    they are stored in the type of `compute`.

    Raises ScalifyError for an unknown preset, option, type or GPU.
    """
    chosen = parse_precision(precision)
    compute = "f16" if chosen.compute == "f16" else ""
    places = (*chosen.rescaling, *(OF_VALUES if compute else ()))
    # E5M2 has two digits to lose; in f16 no iteration waits for a statistic.
    rescale = (AutoRescale(places=places, logits_in_loops=chosen.fp8_products, compute=compute),) if places else ()
    kinds, every = chosen.measured_state
    state = (StateRescale(kinds=kinds, every=every),) if kinds else ()
    cast = _cast(chosen)
    if pinned:
        cast = dataclasses.replace(cast, weights=chosen.compute)
    return (NormalForm(), *rescale, *state, cast), (_fp8_dots(chosen),) if chosen.fp8_products else ()


def passes_with_frozen_weights(precision: Precision | None) -> tuple[tuple[Pass, ...], tuple[Pass, ...]]:
    """The passes around `scalify` for a function whose arguments stay what they are: of a program without a backward
    pass its constants are stored in FP8. Raises ScalifyError as `passes_around_scalify`.
    """
    if precision is None:
        return (), ()
    before, after = passes_around_scalify(precision)
    serving = tuple(
        dataclasses.replace(p, arguments=False) if isinstance(p, StoreWeights) else p
        for p in passes_for_serving(precision)
    )
    return ((LiftWeights(scaled=True), *before) if serving else before), (*after, *serving)


def without_weights(passes: tuple[Pass, ...], inputs: Sequence[str]) -> tuple[Pass, ...]:
    """The passes with arguments that are known to be no weights."""
    return tuple(dataclasses.replace(p, inputs=tuple(inputs)) if isinstance(p, Cast) else p for p in passes)


def passes_for_serving(precision: Precision) -> tuple[Pass, ...]:
    """The passes to run last on a whole module: a program without a backward pass stores its weights in FP8."""
    chosen = parse_precision(precision)
    embed = EmbedWeights(exact=chosen.blocks == "nvfp4")
    return (StoreWeights(format=_weight_format(chosen)), embed) if chosen.fp8_products else ()


def passes_for_devices(precision: Precision | None) -> tuple[Pass, ...]:
    """The passes to run after all others, which depend on whether the module is partitioned over devices."""
    chosen = None if precision is None else parse_precision(precision)
    if chosen is None:
        return (NarrowGathers(), PartialSums(), SelectScatters(), Samples(), HoldSums(), JoinCarried())
    sums = chosen.reductions or chosen.compute
    gradients = "" if sums == "f32" else sums
    gathers = chosen.gathers or chosen.compute
    passes = (
        NarrowGathers(gathers=chosen.gathers, parameters="" if gathers == "f32" else gathers),
        PartialSums(reductions=chosen.reductions, gradients=gradients),
    )
    narrow = {"f16": (NarrowResults(), Saturate()), "bf16": (NarrowResults(),)}.get(chosen.compute, ())
    if chosen.rounding == "stochastic" and chosen.parameters in ("f16", "bf16") and chosen.update == "f32":
        narrow = (RoundState(), *narrow)
    if not chosen.fp8_products:
        return (*passes, *narrow, SelectScatters(), Samples(), JoinStatistics(), HoldSums(), JoinCarried())
    return (
        *passes,
        *((BlockDots(format=chosen.blocks, target=chosen.target),) if chosen.blocks else ()),
        FP8Results(),
        *narrow,
        SelectScatters(),
        Samples(),
        JoinStatistics(),
        HoldSums(),
        JoinCarried(),
    )


def precision_pipeline(
    precision: Precision | None,
    options: ScalifyOptions = ScalifyOptions(),
    pin_scales: str = "",
    guard: bool = False,
    transpose_weights: bool = False,
    pack_scales: bool = False,
) -> Pipeline:
    """`scalify` with the passes of a precision, if any, around it. Raises ScalifyError as `passes_around_scalify`.

    pin_scales: a file of scales, which the module is specialised to at the end; "" for none. guard: with a result that
    counts what is beyond them. transpose_weights: take matrices as FP8 products read them. pack_scales: take and return
    the scales of state as one vector.
    """
    before, after = passes_around_scalify(precision, pinned=bool(pin_scales)) if precision is not None else ((), ())
    serving = passes_for_serving(precision) if precision is not None else ()
    if pin_scales:
        _check_precision(precision, pin_scales)
        # What the calibration measured is not measured again at run time.
        before = tuple(
            dataclasses.replace(p, calibration=pin_scales) if isinstance(p, AutoRescale) else p for p in before
        )
        file = read_scales(pin_scales)
        before = without_weights(before, [name for each in (file, *file.others) for name in each.inputs])
        after = tuple(
            dataclasses.replace(p, calibration=pin_scales, scaling="none") if isinstance(p, FP8Dots) else p
            for p in after
        )
        serving = tuple(
            dataclasses.replace(p, calibration=pin_scales, transposed=transpose_weights)
            if isinstance(p, StoreWeights)
            else p
            for p in serving
        )
        serving = (*serving, PinScales(file=pin_scales, guard=guard))
    lifting = (LiftWeights(),) if any(isinstance(each, EmbedWeights) for each in serving) else ()
    last = passes_for_devices(precision)
    if pin_scales:  # factors are constants then, which stop no library call from adding what is added to its product
        last = tuple(each for each in last if not isinstance(each, HoldSums))
    if pack_scales:
        options, last = dataclasses.replace(options, mark_state=True), (*last, PackScales())
    return Pipeline((*lifting, *before, Scalify(**vars(options)), *after, *serving, *last))


def _check_precision(precision: Precision | None, path: str) -> None:
    """Refuse scales that were calibrated for products and types that the module will not have."""
    known = read_scales(path).precision
    try:
        theirs = parse_precision(known) if known else None
    except ScalifyError:  # a policy, or of another version
        return
    mine = parse_precision(precision) if precision is not None else PRESETS["f32"]
    if theirs is not None and (theirs.compute, theirs.fp8_products) != (mine.compute, mine.fp8_products):
        message = f"these scales were calibrated for --precision='{known}', not '{precision or 'f32'}': calibrate again"
        raise ScalifyError(Diagnostic(message, path))


def _for_target(chosen: PrecisionPolicy) -> PrecisionPolicy:
    """The policy with FP8 formats that its GPU has."""
    if not chosen.target:
        return chosen
    gpu = target(chosen.target)
    if gpu.fp8 is None and (chosen.fp8_products or chosen.gradients.startswith("f8")):
        raise ScalifyError(f"{gpu.description} has no FP8 matrix units: choose fp16-state or another target")
    if gpu.fp8 == "fnuz" and chosen.gradients in ("f8E4M3FN", "f8E5M2"):
        chosen = dataclasses.replace(chosen, gradients=chosen.gradients.removesuffix("FN") + "FNUZ")
    return chosen


def _cast(chosen: PrecisionPolicy) -> Cast:
    """The cast pass with the types of a policy: by the name of its preset where it is one."""
    same: list[Preset] = [
        name for name in PRESETS if all(getattr(PRESETS[name], t) == getattr(chosen, t) for t in TYPED)
    ]
    named = Cast(
        precision=same[0] if same else "f32",
        parameter_names=chosen.parameter_names,
        moment_names=chosen.moment_names,
        keep=chosen.keep,
    )
    return named if same else dataclasses.replace(named, **{name: getattr(chosen, name) for name in TYPED})


def _fp8_dots(chosen: PrecisionPolicy) -> FP8Dots:
    return FP8Dots(formats=_formats(chosen), target=chosen.target, scaling="uncertain")


def _weight_format(chosen: PrecisionPolicy) -> Literal["f8E4M3FN", "f8E4M3FNUZ"]:
    return "f8E4M3FNUZ" if _formats(chosen) == "fnuz" else "f8E4M3FN"


def _formats(chosen: PrecisionPolicy) -> Literal["ocp", "fnuz"]:
    return (target(chosen.target).fp8 if chosen.target else None) or "ocp"
