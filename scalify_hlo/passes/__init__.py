"""Passes over StableHLO modules, and pipelines that mix them with MLIR's own.

Every pass of this package is listed here; `scalify-opt --list-passes` reads the table.
"""

from scalify_hlo.passes.auto_rescale import AutoRescale
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.block_dots import BlockDots
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.cpu_scales import CPUScales
from scalify_hlo.passes.fold_scales import FoldScales
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.fp8_results import FP8Results
from scalify_hlo.passes.frozen_weights import EmbedWeights, LiftWeights
from scalify_hlo.passes.held_sums import HoldSums
from scalify_hlo.passes.instrument import Instrument
from scalify_hlo.passes.joined_carries import JoinCarried
from scalify_hlo.passes.joined_statistics import JoinStatistics
from scalify_hlo.passes.narrow_gathers import NarrowGathers
from scalify_hlo.passes.narrow_results import NarrowResults
from scalify_hlo.passes.normal_form import NormalForm
from scalify_hlo.passes.pack_scales import PackScales
from scalify_hlo.passes.partial_sums import PartialSums
from scalify_hlo.passes.pin_scales import PinScales
from scalify_hlo.passes.round_state import RoundState
from scalify_hlo.passes.samples import Samples
from scalify_hlo.passes.saturate import Saturate
from scalify_hlo.passes.scalify import Scalify
from scalify_hlo.passes.select_scatters import SelectScatters
from scalify_hlo.passes.size import Sizes
from scalify_hlo.passes.state_rescale import StateRescale
from scalify_hlo.passes.store_weights import StoreWeights
from scalify_hlo.passes.widen_dots import WidenDots

__all__ = [
    "PASSES",
    "AutoRescale",
    "BlockDots",
    "CPUScales",
    "Cast",
    "EmbedWeights",
    "FP8Dots",
    "FP8Results",
    "FoldScales",
    "HoldSums",
    "Instrument",
    "JoinCarried",
    "JoinStatistics",
    "LiftWeights",
    "NarrowGathers",
    "NarrowResults",
    "NormalForm",
    "PackScales",
    "PartialSums",
    "Pass",
    "PinScales",
    "RoundState",
    "Samples",
    "Saturate",
    "Scalify",
    "SelectScatters",
    "Sizes",
    "StateRescale",
    "StoreWeights",
    "WidenDots",
]

PASSES: dict[str, type[Pass]] = {
    each.name: each
    for each in (
        LiftWeights,
        NormalForm,
        AutoRescale,
        StateRescale,
        Cast,
        Scalify,
        FP8Dots,
        StoreWeights,
        EmbedWeights,
        PinScales,
        NarrowGathers,
        PartialSums,
        BlockDots,
        FP8Results,
        NarrowResults,
        RoundState,
        Saturate,
        SelectScatters,
        Samples,
        HoldSums,
        JoinCarried,
        JoinStatistics,
        PackScales,
        FoldScales,
        WidenDots,
        CPUScales,
        Instrument,
        Sizes,
    )
}
