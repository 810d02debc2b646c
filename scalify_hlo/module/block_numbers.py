"""Numbers in NVFP4: an E2M1 element each, and an E4M3 scale for each 16 of them along one dimension."""

from typing import Any

import numpy as np

from scalify_hlo.execution.element_types import NUMPY_DTYPES, Array

ELEMENT, SCALE = "f4E2M1FN", "f8E4M3FN"
# Elements that share a scale, and the largest of them.
BLOCK, LARGEST_ELEMENT = 16, 6.0
# How far the code of a scale is looked for below and above that by which the largest element is E2M1's largest. One
# code is an eighth of an octave to a sixteenth of one: at one more code the largest element of a block saturates, at
# five more it is 4, and those in between fall on a finer part of the grid.
_BELOW, _ABOVE = 3, 5
# The scales that are not zero, and the codes that they are of.
SMALLEST_SCALE, LARGEST_SCALE = 2.0**-9, 448.0
_FIRST, _LAST = 1, 126


def in_blocks(data: Array, dimension: int) -> tuple[Array, Array]:
    """Numbers as E2M1 elements of the same shape and E4M3 scales, one for each 16 along a dimension.

    Each scale is the one of nine by which the squared error of its block is least. data: real; NaN is 0.
    """
    wide = np.moveaxis(np.nan_to_num(np.asarray(data, np.float32)), dimension, -1)
    blocks = wide.reshape(*wide.shape[:-1], -1, BLOCK)
    amax = np.minimum(np.abs(blocks).max(-1, keepdims=True), LARGEST_SCALE * LARGEST_ELEMENT)
    natural = (amax / LARGEST_ELEMENT).astype(NUMPY_DTYPES[SCALE]).view(np.uint8).astype(np.int16)
    best: Array | None = None
    error: Array = np.zeros(())
    for step in sorted(range(-_BELOW, _ABOVE + 1), key=abs):
        codes = np.clip(natural + step, _FIRST, _LAST).astype(np.uint8)
        scales = codes.view(NUMPY_DTYPES[SCALE]).astype(np.float32)
        own = np.sum((_rounded(blocks, scales).astype(np.float32) * scales - blocks) ** 2, -1, keepdims=True)
        is_better = own < error if best is not None else np.ones_like(own, np.bool_)
        best, error = (codes if best is None else np.where(is_better, codes, best)), np.where(is_better, own, error)
    assert best is not None
    scales = np.ascontiguousarray(best).view(NUMPY_DTYPES[SCALE])
    elements = _rounded(blocks, scales.astype(np.float32)).reshape(wide.shape)
    return (
        np.ascontiguousarray(np.moveaxis(elements, -1, dimension)),
        np.ascontiguousarray(np.moveaxis(scales[..., 0], -1, dimension)),
    )


def from_blocks(elements: Array, scales: Array) -> Array:
    """What elements and scales of `in_blocks` stand for, in f32, exactly. Raises ValueError where shapes do not fit."""
    data = np.asarray(elements).astype(np.float32)
    return data * spread(np.asarray(scales).astype(np.float32), data.shape)


def spread(scales: Array, shape: tuple[int, ...]) -> Array:
    """The scale of each element of a shape. Raises ValueError where the scales are none of 16 along one dimension."""
    blocked = [d for d, (n, full) in enumerate(zip(scales.shape, shape, strict=False)) if n != full]
    if scales.ndim != len(shape) or len(blocked) != 1 or scales.shape[blocked[0]] * BLOCK != shape[blocked[0]]:
        raise ValueError(f"scales of the shape {list(scales.shape)} are none for blocks of {list(shape)}")
    return np.repeat(scales, BLOCK, blocked[0])


def _rounded(blocks: Array, scales: Array) -> Array:
    data: Any = np.clip(blocks / scales, -LARGEST_ELEMENT, LARGEST_ELEMENT)
    return data.astype(NUMPY_DTYPES[ELEMENT])
