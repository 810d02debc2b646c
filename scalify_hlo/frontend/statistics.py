"""Magnitude of the elements of an array: root mean square, mean absolute value, largest absolute value.

All in f32, of any float array, traced or not. Where the statistic itself leaves f32's range (squares of 1e20), the
largest absolute value stands in for it: a scale needs the magnitude, not its last digit.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from scalify_hlo.io.choices import check_choice

Statistic = Literal["rms", "l1", "max"]


def magnitude(x: Any, statistic: Statistic = "rms", axes: tuple[int, ...] | None = None) -> Any:
    """The chosen statistic of |x| in f32; 0 for an empty array or one of zeros, inf or NaN if x has any.

    x: float array of any shape; f64 is reduced in f64.
    statistic: "rms" sqrt(mean(x^2)), "l1" mean(|x|), "max" max(|x|).
    axes: reduced and kept with size 1; None reduces all to rank 0.
    Raises ValueError for another statistic.
    """
    check_choice(statistic, Statistic, "statistic")
    xp = np if isinstance(x, (np.ndarray, np.generic)) else jnp
    if x.size == 0:
        return xp.zeros((), np.float32)
    size = abs(x.astype(np.float64 if x.dtype == np.float64 else np.float32))
    keep = axes is not None
    largest = xp.max(size, axis=axes, keepdims=keep)
    if statistic == "max":
        return largest.astype(np.float32)
    with np.errstate(over="ignore", under="ignore"):
        mean = xp.mean(size if statistic == "l1" else size * size, axis=axes, keepdims=keep)
        mean = mean if statistic == "l1" else xp.sqrt(mean)
        usable = xp.isfinite(mean) & (mean > 0)
        return xp.where(usable, mean, largest).astype(np.float32)
