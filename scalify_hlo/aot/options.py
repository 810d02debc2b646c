"""Options of `scalify-fp8-lint` and `scalify-cost`."""

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class LintOptions:
    """How a module is compiled and judged. Every field has a `--flag` of the same name."""

    # The GPU to compile for.
    target: Literal["h100", "h200", "l40s", "b200", "a100"] = "h200"
    # Who multiplies matrices. Without a GPU to tune on, "triton" sends nearly every product to Triton.
    gemm: Literal["cublas", "triton"] = "cublas"
    # Exit with status 1 unless these products are FP8 GEMMs: those with an FP8 operand ("converted"), those of
    # linear layers but embedding and head ("linear"), or all.
    require: Literal["none", "converted", "linear", "all"] = "none"
    # Exit with status 1 where a collective moves tensors of floats in more bits than this type has; those of at most
    # 1 KiB are let pass, which are statistics and scales.
    forbid_wide_collectives: Literal["none", "f32", "f16", "f8"] = "none"


@dataclasses.dataclass(frozen=True)
class CostOptions:
    """What is compared, and for which machine. Every field has a `--flag` of the same name."""

    # The GPU to compile for, or this machine's processor.
    target: Literal["h200", "b200", "a100", "h100", "l40s", "cpu"] = "h200"
    # What the rewritten program is compared with: the program as it is, or converted to bf16 without scales.
    baseline: Literal["original", "bf16"] = "original"
    # Count INPUT alone, as it is: a program that is rewritten already, or is not to be.
    only: bool = False
