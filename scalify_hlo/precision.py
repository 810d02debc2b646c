"""What precision a training step is computed and stored in."""

import dataclasses
from typing import Literal, get_args

from scalify_hlo.errors import ScalifyError
from scalify_hlo.types import FLOAT_RANGE

Preset = Literal["f32", "bf16", "fp16", "fp16-state", "fp8", "fp8-fp16-state", "mxfp8", "nvfp4"]
# Where `scalify-auto-rescale` measures gradients and values.
Place = Literal[
    "branches", "scores", "logits", "gradients",
    "products", "chains", "joined", "integers", "numbers", "differences", "exponentials",
]  # fmt: skip

# Types that a value may be stored or computed in, under the names people use.
_TYPES = {
    "f32": "f32", "float32": "f32", "fp32": "f32",
    "bf16": "bf16", "bfloat16": "bf16",
    "f16": "f16", "float16": "f16", "fp16": "f16",
    "e4m3": "f8E4M3FN", "f8e4m3fn": "f8E4M3FN", "float8_e4m3fn": "f8E4M3FN",
    "e5m2": "f8E5M2", "f8e5m2": "f8E5M2", "float8_e5m2": "f8E5M2",
    "f8e4m3fnuz": "f8E4M3FNUZ", "float8_e4m3fnuz": "f8E4M3FNUZ",
    "f8e5m2fnuz": "f8E5M2FNUZ", "float8_e5m2fnuz": "f8E5M2FNUZ",
}  # fmt: skip
_WIDE_ENOUGH = ("f32", "bf16", "f16")
# Fields of a policy that are types, and of these the ones that may be empty.
TYPED = (
    "compute", "parameters", "gradients", "moments", "accumulation", "reductions", "gathers", "update",
)  # fmt: skip
_OPTIONAL = ("reductions", "gathers")


def check_places(places: tuple[str, ...]) -> None:
    """Raise ScalifyError for a place where nothing is rescaled."""
    unknown = sorted(set(places) - set(get_args(Place)))
    if unknown:
        raise ScalifyError(f"unknown place '{unknown[0]}'; known are {', '.join(get_args(Place))}")


@dataclasses.dataclass(frozen=True)
class PrecisionPolicy:
    """Element types of a training step written in f32, and what `scalify` needs around it for them.

    A field's name with hyphens is its option in text: "fp8 moments=f16 parameter-names=params*".
    """

    # Activations, their gradients, and the operands of matrix products: f32, bf16 or f16.
    compute: str = "f16"
    # The master weights that go from step to step.
    parameters: str = "f32"
    # The parameters' gradients, between the backward pass and the optimiser; f8E4M3FN and f8E5M2 too, for those that
    # products of linear layers give: the others have `compute`'s type then.
    gradients: str = "f16"
    # What the optimiser carries from step to step besides the parameters.
    moments: str = "f32"
    # Results of matrix products and sums, before they are rounded to `compute`.
    accumulation: str = "f32"
    # Sums over devices that the program asks for (psum): f32, bf16 or f16; empty: `compute`.
    reductions: str = ""
    # What the program gathers from devices or sends to others (all_gather, ppermute): f32, bf16 or f16; empty: the type
    # in which it is stored, or FP8 where FP8 products alone read it. What the partitioner gathers to take parts of is
    # rounded before, if not to less.
    gathers: str = ""
    # The optimiser's own arithmetic.
    update: str = "f32"
    # How the master weights are rounded to 16 bits: "stochastic" (by `scalify-round-state`), so that updates below half
    # of their last digit count too, as often as they are large; or "nearest".
    rounding: Literal["stochastic", "nearest"] = "stochastic"
    # Whether matrix products get FP8 operands (by `scalify-fp8-dots`, after `scalify`).
    fp8_products: bool = False
    # How these products have scales for blocks of what they contract (by `scalify-block-dots`; forward programs only):
    # "mxfp8": E4M3 with a power of two for each 32 elements; "nvfp4": E2M1 with an E4M3 scale for each 16; "": not.
    blocks: Literal["", "mxfp8", "nvfp4"] = ""
    # Where `scalify-auto-rescale` rescales gradients dynamically: branches, scores, logits, gradients.
    rescaling: tuple[str, ...] = ()
    # When the scales of carried state follow what its data show (by `scalify-state-rescale`): "off"; "every-step";
    # "auto": in every step, state that is stored or read in a type of less range than f32; a number N: that, in one of
    # N steps, by an integer that the step counts with. Other state keeps its scale, which f32 and bf16 bear.
    state_rescale: str = "auto"
    # Arguments that are parameters: patterns with `*` and `?` on their names. Empty: found by data flow.
    parameter_names: tuple[str, ...] = ()
    # Arguments that are optimiser moments, likewise.
    moment_names: tuple[str, ...] = ()
    # Operations that stay in f32: patterns on their name stacks.
    keep: tuple[str, ...] = ()
    # A GPU (h100, mi300x, ...) whose FP8 formats are taken, and which must have some; empty: E4M3FN and E5M2.
    target: str = ""

    def __post_init__(self) -> None:
        for name in TYPED:
            given = getattr(self, name)
            if name in _OPTIONAL and not given:
                continue
            element = _TYPES.get(given.lower())
            if element is None:
                known = "f32, bf16, f16, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ"
                raise ScalifyError(f"unknown type '{given}' for {name}; known are {known}")
            if name != "gradients" and element not in _WIDE_ENOUGH:
                raise ScalifyError(f"{name} cannot be {element}; it can be {', '.join(_WIDE_ENOUGH)}")
            object.__setattr__(self, name, element)
        check_places(self.rescaling)
        if self.state_rescale not in ("auto", "off", "every-step") and self._period is None:
            raise ScalifyError(
                f"state-rescale cannot be '{self.state_rescale}'; it can be auto, off, every-step or a number of steps"
            )

    @property
    def _period(self) -> int | None:
        digits = self.state_rescale.isascii() and self.state_rescale.isdigit()
        return int(self.state_rescale) if digits and int(self.state_rescale) else None

    @property
    def measured_state(self) -> tuple[tuple[str, ...], int]:
        """Which state is measured to choose its scale, of parameters and moments, and in how many steps once."""
        if self.state_rescale == "off":
            return (), 1
        if self.state_rescale == "every-step":
            return ("parameters", "moments"), 1
        narrow = {"parameters": "f16" in (self.compute, self.parameters), "moments": self.moments == "f16"}
        return tuple(kind for kind, is_narrow in narrow.items() if is_narrow), self._period or 1

    @property
    def changes_state(self) -> bool:
        """Whether something that a training step carries or hands to its optimiser changes its type."""
        return (self.parameters, self.moments) != ("f32", "f32")

    @property
    def stores_bf16(self) -> bool:
        """Whether something that a training step carries is stored in bf16 though it is f32 in the program."""
        return "bf16" in (self.parameters, self.moments)

    @property
    def needs_scales(self) -> bool:
        """Whether values would leave the range of their types without scales: f16 and FP8."""
        types = (self.compute, self.parameters, self.gradients, self.moments)
        return self.fp8_products or any(name not in ("f32", "bf16") for name in types)

    @property
    def stored_epsilon(self) -> float:
        """Relative distance of neighbouring numbers in the coarsest type that arguments and results may have."""
        return max(2.0 ** -FLOAT_RANGE[name][2] for name in (self.compute, self.parameters, self.moments))

    @property
    def epsilon(self) -> float:
        """Relative distance of neighbouring numbers in the coarsest of the types."""
        types = {self.compute, self.parameters, self.gradients, self.moments, self.accumulation, self.update}
        return max(2.0 ** -FLOAT_RANGE[name][2] for name in (types | {"f8E5M2"} if self.fp8_products else types))


# The rows of the paper's table 3 (and bf16, the common baseline): #1 fp16, #2 fp16-state, #3 fp8, #4 fp8-fp16-state.
PRESETS: dict[Preset, PrecisionPolicy] = {
    "f32": PrecisionPolicy("f32", "f32", "f32", "f32"),
    "bf16": PrecisionPolicy("bf16", "f32", "bf16", "f32"),
    "fp16": PrecisionPolicy("f16", "f32", "f16", "f32", rescaling=("logits",)),
    "fp16-state": PrecisionPolicy("f16", "f16", "f16", "f32", rescaling=("logits",)),
    "fp8": PrecisionPolicy("f16", "f16", "f8E5M2", "f32", fp8_products=True, rescaling=("logits",)),
    "fp8-fp16-state": PrecisionPolicy(
        "f16", "f16", "f8E5M2", "f16", fp8_products=True, rescaling=("logits", "gradients")
    ),
    # Not of the paper: `fp8` for serving, with block scales.
    "mxfp8": PrecisionPolicy("f16", "f16", "f8E5M2", "f32", fp8_products=True, blocks="mxfp8", rescaling=("logits",)),
    "nvfp4": PrecisionPolicy("f16", "f16", "f8E5M2", "f32", fp8_products=True, blocks="nvfp4", rescaling=("logits",)),
}


def policy(preset: str, **overrides: str) -> PrecisionPolicy:
    """A preset with some of its types replaced; empty overrides count as none. Raises ScalifyError."""
    if preset not in PRESETS:
        raise ScalifyError(f"unknown precision '{preset}'; known are {', '.join(PRESETS)}")
    return dataclasses.replace(PRESETS[preset], **{name: value for name, value in overrides.items() if value})  # type: ignore[arg-type]
