"""The options of the rewriter: one frozen dataclass, from which the command line's flags derive."""

import dataclasses
from typing import Literal

from scalify_hlo.errors import ScalifyError
from scalify_hlo.io.choices import check_choices

Rounding = Literal["down", "nearest", "up", "none"]
ScaledType = Literal[
    "f64", "f32", "f16", "bf16", "f8E5M2", "f8E5M2FNUZ", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E3M4",
    "complex<f32>", "complex<f64>",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class ScalifyOptions:
    """How a module is rewritten. Every field has a `--flag` of the same name in `scalify-opt`."""

    # Which float arguments of the public function are scaled: "all", "none", or a comma-separated list of
    # indices ("0,3-5") and globs on argument names ("params*"). The argument attributes `scalify.scaled` and
    # `scalify.plain` in the module override it.
    args: str = "all"
    # Element types whose arguments "all" takes.
    scaled_types: tuple[ScaledType, ...] = ("f64", "f32", "f16", "bf16")
    # Arguments with one scale for each index of some dimensions, as "params*=-1,x=0+2": indices, names or globs as in
    # `args`, or "all"; then dimensions, -1 the last. Where a glob, "all" or a range takes arguments without such a
    # dimension, these have one scale. The argument attribute `scalify.scale_shape` in the module overrides it.
    scale_dims: str = ""
    # Results are recombined, data * scale, instead of returned as pairs.
    plain_results: bool = False
    # Scales of results: "scalar": one for each result, the largest where it has several; "shaped": of the rank of the
    # result with each dimension 1 or full where it has one for each layer or channel, else rank 0. The result attribute
    # `scalify.scale_shape` in the module overrides it.
    result_scales: Literal["scalar", "shaped"] = "scalar"
    # Element type of the scale arguments and results. Inside the module scales are always f32.
    scale_dtype: Literal["f32", "e8m0"] = "f32"
    # How a computed scale is rounded to a power of two ("none" keeps it exact). Paper, section 3.2: down.
    rounding: Rounding = "down"
    # "default": compile-time knowledge of means and signs; "paper": every operand is taken to be Gaussian of
    # zero mean and unit second moment, and nothing else is known (paper, section 3.2). Implies slack=0.
    rules: Literal["default", "paper"] = "default"
    # What many operations stand for. "expansions": special functions that the front end has written out (erfc as a
    # piecewise polynomial of 45 operations) are computed on the value as one; "blocks": results of softmax, logsumexp,
    # normalisations, gelu, silu and their gradients have the size known of the block; "all": both; "none": operation by
    # operation.
    recognise: Literal["all", "blocks", "expansions", "none"] = "all"
    # In f16 programs, sums over a dimension and what is computed of them row by row (variances, their inverse
    # roots and these' derivatives), and the optimiser's arithmetic: in f32, or in the program's own types.
    statistics: Literal["f32", "own"] = "f32"
    # How far from unit scaling (log2 of the estimated RMS) the data of f32, bf16 and f64 tensors may come before they
    # are multiplied by a power of two. 0: never far, as in the paper, at the cost of an operation on the data and
    # one on the scale each time. Narrower types are always brought back.
    slack: float = 6.0
    # Scales that follow from the arguments alone are computed in one vector at the start, and those that leave are
    # brought together in one: a GPU launches a kernel for each number otherwise. Off: each scale by itself, to read.
    vector_scales: bool = True
    # An operation without a rule: refuse the module, or compute it on recombined values with a remark.
    on_unsupported: Literal["error", "unscale"] = "error"
    # Stamp the chosen rule, scale and its reason on every operation as `scalify.rule`, `scalify.scale` and
    # `scalify.reason` attributes.
    print_rules: bool = False
    # Leave on every argument that is state the number of the result that replaces it, as `scalify.next`, for
    # `--scalify-pack-scales` and for readers.
    mark_state: bool = False
    # Leave a mark behind every scaled tensor, for `--scalify-instrument`. A marked tensor's data are kept where the
    # program itself would need its value only.
    mark_tensors: bool = False

    def __post_init__(self) -> None:
        check_choices(self)
        if not self.slack >= 0.0:
            raise ScalifyError(f"slack={self.slack}: expected a number of at least 0")
