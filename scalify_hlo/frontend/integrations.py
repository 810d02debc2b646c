"""What other libraries have to be told about ScaledArray."""

from __future__ import annotations

import importlib
import sys
from typing import Any, cast

import numpy as np

from scalify_hlo.frontend.scaled_array import ScaledArray
from scalify_hlo.frontend.splitting import is_float_array, split


def register_flax_serialization() -> None:
    """Let `flax.serialization` save and restore ScaledArrays, as dictionaries of data and scale.

    Checkpoints of plain arrays are restored into ScaledArrays too.

    Done by itself when this package is imported after flax, and by `as_scaled_array`; may be called at any time, any
    number of times.
    """
    serialization: Any = importlib.import_module("flax.serialization")
    serialization.register_serialization_state(ScaledArray, _to_state, _from_state, override=True)
    _told.append("flax")


def _to_state(x: ScaledArray) -> dict[str, Any]:
    return {"data": x.data, "scale": x.scale}


def _from_state(x: ScaledArray, state: Any) -> ScaledArray:
    if isinstance(state, dict):
        pair: dict[str, Any] = cast("dict[str, Any]", state)
        return ScaledArray(pair["data"], pair["scale"])
    # A checkpoint written without scales: in the types of what it is restored into.
    if not is_float_array(state):
        raise ValueError(f"a ScaledArray is restored from data and scale, or from an array of floats, not {state!r}")
    return split(state, scale_dtype=np.dtype(x.scale.dtype)).astype(x.data.dtype)


def tell_loaded_libraries() -> None:
    """Register with flax where it has been imported."""
    if "flax.serialization" in sys.modules and not _told:
        register_flax_serialization()


_told: list[str] = []
tell_loaded_libraries()
