"""Weights rounded to FP8, or E2M1, such that their errors make up for each other in the products that read them.

Rounding each element of w to the nearest leaves x (w' - w) in the product x w. Once one row of w is rounded, those that
are not yet rounded take over what of its error they can, for the x that samples show, and are rounded in their turn:

# min |x (w' - w)|, a row at a time: w[j] -= U[k, j] / U[k, k] * (w[k] - w'[k]) for all j > k, U^T U = (x^T x)^-1

(Frantar et al., GPTQ, 2022, after Hassibi and Stork, 1993.) Few samples show directions that the inputs do not have:
the moments are brought as far to those of inputs without any as they are expected to be wrong (Chen et al., "Shrinkage
algorithms for MMSE covariance estimation", 2010, the oracle approximating estimator).
"""

import dataclasses
import math
from typing import Any

import numpy as np

from scalify_hlo.execution.element_types import Array

# The least part of the mean square of x that each of its elements is taken to have in no direction: what samples do not
# show is not free, and moments of few directions have no inverse.
_LEAST = 0.01
# Rows whose errors are handed on together, as a matrix product, to those behind them.
_BLOCK = 128


@dataclasses.dataclass(frozen=True)
class Readings:
    """What a weight is multiplied by.

    places: [batch, contracted, free], where in the weight, flattened, each element of its products' operand comes from.
    moments: [batch, contracted, contracted], x^T x over all samples. rows: how many rows x has, of each batch.
    """

    places: Array
    moments: Array
    rows: int


def nearest(data: Array, dtype: "np.dtype[Any]", largest: float) -> Array:
    """An array clamped to the largest number of a type and rounded to it."""
    return np.clip(data, -largest, largest).astype(dtype)


def rounded(value: Array, read: Readings, dtype: "np.dtype[Any]", largest: float, scales: Array | None = None) -> Array:
    """As `nearest`, such that errors make up for each other in what reads the array.

    scales: of the array's shape, by what each rounded element is multiplied where it is read, as those of blocks.
    """
    result = np.empty(value.size, np.float64)
    flat = value.astype(np.float64).ravel()
    units = np.ones(value.size) if scales is None else scales.astype(np.float64).ravel()
    for places, moments in zip(read.places, read.moments, strict=True):
        result[places] = _by_rows(flat[places], units[places], _shrunk(moments, read.rows), dtype, largest)
    return (result / units).reshape(value.shape).astype(dtype)


def _by_rows(w: Array, units: Array, moments: Array, dtype: "np.dtype[Any]", largest: float) -> Array:
    """[contracted, free], rounded to multiples of units row by row: those first that are multiplied by most."""
    if not np.trace(moments) > 0:
        return nearest(w / units, dtype, largest).astype(np.float64) * units
    order = np.argsort(-np.diag(moments), kind="stable")
    w, units = w[order], units[order]
    inverse = np.linalg.inv(moments[np.ix_(order, order)])
    upper = np.linalg.cholesky(inverse).T
    found = np.empty_like(w)
    for start in range(0, len(w), _BLOCK):
        end = min(start + _BLOCK, len(w))
        errors = np.empty((end - start, w.shape[1]))
        for k in range(start, end):
            found[k] = nearest(w[k] / units[k], dtype, largest).astype(np.float64) * units[k]
            errors[k - start] = (w[k] - found[k]) / upper[k, k]
            w[k + 1 : end] -= np.outer(upper[k, k + 1 : end], errors[k - start])
        w[end:] -= upper[start:end, end:].T @ errors
    back = np.empty_like(found)
    back[order] = found
    return back


# (1 - r) S + r tr(S)/p I,  r = ((1 - 2/p) tr(S^2) + tr(S)^2) / ((n + 1 - 2/p) (tr(S^2) - tr(S)^2/p))
def _shrunk(moments: Array, rows: int) -> Array:
    """Moments of `rows` samples, as they are expected to be of more; zeros where they are not finite."""
    size = len(moments)
    total, squares = float(np.trace(moments)), float(np.sum(moments * moments))
    if not (math.isfinite(squares) and total > 0):
        return np.zeros_like(moments)
    wrong = (1 - 2 / size) * squares + total**2
    spread = (rows + 1 - 2 / size) * (squares - total**2 / size)
    share = max(_LEAST, wrong / spread if wrong < spread else 1.0)
    return (1 - share) * moments + share * total / size * np.eye(size)
