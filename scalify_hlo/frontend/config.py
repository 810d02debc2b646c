"""ScalifyConfig: options for the transforms traced inside a `with` block (a name of jax-scalify)."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import contextvars
import dataclasses
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from scalify_hlo.frontend.powers_of_two import Pow2RoundMode, implemented
from scalify_hlo.frontend.scaled_array import SCALE_DTYPE


@dataclasses.dataclass(frozen=True)
class ScalifyConfig:
    """Options of `scalify` for the calls made in `with ScalifyConfig(...):`, where the call gives none itself.

    rounding_mode: how a computed scale becomes a power of two.
    scale_dtype: accepted for compatibility: inside a program scales are always f32. None or f32; anything else
        raises ValueError.
    """

    rounding_mode: Pow2RoundMode = Pow2RoundMode.DOWN
    scale_dtype: DTypeLike | None = None
    _tokens: list[contextvars.Token[Any]] = dataclasses.field(
        default_factory=list, init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        if self.scale_dtype is not None and np.dtype(self.scale_dtype) != SCALE_DTYPE:
            raise ValueError(
                f"scale_dtype={np.dtype(self.scale_dtype).name}: scales are float32 (f16 has too little range for them)"
            )
        object.__setattr__(self, "rounding_mode", implemented(Pow2RoundMode(self.rounding_mode)))

    def __enter__(self) -> Self:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *exception: object) -> None:
        _current.reset(self._tokens.pop())


_current: contextvars.ContextVar[ScalifyConfig | None] = contextvars.ContextVar("scalify_config", default=None)


def get_scalify_config() -> ScalifyConfig:
    """The configuration of the innermost `with` block, or the default one."""
    return _current.get() or ScalifyConfig()


# The configuration of the innermost `with` block, None outside of any.
active_config: Callable[[], ScalifyConfig | None] = _current.get
