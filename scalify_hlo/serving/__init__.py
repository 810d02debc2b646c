"""Serving: a forward program with its weights in FP8 and scales that cost nothing at run time.

calibrate (`calibration`) measures tensors on sample inputs and chooses scales; the pass `scalify-pin-scales` builds
them into the module; pack (`packing`) stores the weights as the pinned module takes them; compare (`comparison`) says
what was lost. `tensors` reads and writes the files of arrays.
"""

import importlib
from typing import Any

__all__ = ["packed_arguments", "pin_exported"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in __all__:  # on first use: the command line tools need neither these nor JAX
        return getattr(importlib.import_module(f"{__name__}.exported"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
