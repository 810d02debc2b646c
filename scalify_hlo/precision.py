"""What precision a training step is computed and stored in."""

import dataclasses
from typing import Literal

from scalify_hlo.errors import ScalifyError

Preset = Literal["f32", "bf16", "fp16", "fp16-state", "fp8", "fp8-fp16-state"]

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


@dataclasses.dataclass(frozen=True)
class PrecisionPolicy:
    """Element types of a training step written in f32. Types are f32, bf16, f16, and for gradients f8E4M3FN, f8E5M2.

    compute: activations, their gradients, and the operands of matrix products.
    parameters: the master weights that go from step to step.
    gradients: parameters' gradients, between the backward pass and the optimiser.
    moments: what the optimiser carries from step to step besides the parameters.
    accumulation: results of matrix products and sums, before they are rounded to `compute`.
    update: the optimiser's own arithmetic.
    fp8_products: whether matrix products are to be given FP8 operands (by `scalify-fp8-dots`, after `scalify`).
    rescaling: where `scalify-auto-rescale` is to rescale gradients dynamically.
    """

    compute: str = "f16"
    parameters: str = "f32"
    gradients: str = "f16"
    moments: str = "f32"
    accumulation: str = "f32"
    update: str = "f32"
    fp8_products: bool = False
    rescaling: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("compute", "parameters", "gradients", "moments", "accumulation", "update"):
            given = getattr(self, name)
            element = _TYPES.get(given.lower())
            if element is None:
                known = "f32, bf16, f16, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ"
                raise ScalifyError(f"unknown type '{given}' for {name}; known are {known}")
            if name != "gradients" and element not in _WIDE_ENOUGH:
                raise ScalifyError(f"{name} cannot be {element}; it can be {', '.join(_WIDE_ENOUGH)}")
            object.__setattr__(self, name, element)

    @property
    def changes_state(self) -> bool:
        """Whether something that a training step carries or hands to its optimiser changes its type."""
        return (self.parameters, self.moments) != ("f32", "f32")


# The rows of the paper's table 3 (and bf16, the common baseline): #1 fp16, #2 fp16-state, #3 fp8, #4 fp8-fp16-state.
PRESETS: dict[Preset, PrecisionPolicy] = {
    "f32": PrecisionPolicy("f32", "f32", "f32", "f32"),
    "bf16": PrecisionPolicy("bf16", "f32", "bf16", "f32"),
    "fp16": PrecisionPolicy("f16", "f32", "f16", "f32"),
    "fp16-state": PrecisionPolicy("f16", "f16", "f16", "f32", rescaling=("branches",)),
    "fp8": PrecisionPolicy("f16", "f16", "f8E5M2", "f32", fp8_products=True, rescaling=("branches", "logits")),
    "fp8-fp16-state": PrecisionPolicy(
        "f16", "f16", "f8E5M2", "f16", fp8_products=True, rescaling=("branches", "logits", "gradients")
    ),
}


def policy(preset: str, **overrides: str) -> PrecisionPolicy:
    """A preset with some of its types replaced; empty overrides count as none. Raises ScalifyError."""
    if preset not in PRESETS:
        raise ScalifyError(f"unknown precision '{preset}'; known are {', '.join(PRESETS)}")
    return dataclasses.replace(PRESETS[preset], **{name: value for name, value in overrides.items() if value})  # type: ignore[arg-type]
