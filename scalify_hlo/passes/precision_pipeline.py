"""Which passes a precision stands for, around `scalify`."""

from scalify_hlo.passes.auto_rescale import AutoRescale
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.precision import Preset, policy


def passes_around_scalify(precision: Preset) -> tuple[tuple[Pass, ...], tuple[Pass, ...]]:
    """The passes to run before and after `scalify` for a training step written in f32, with default options.

    Raises ScalifyError for an unknown precision.
    """
    chosen = policy(precision)
    rescale = (AutoRescale(places=chosen.rescaling),) if chosen.rescaling else ()
    return (*rescale, Cast(precision=precision)), (FP8Dots(),) if chosen.fp8_products else ()
