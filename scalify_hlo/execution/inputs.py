"""Seeded inputs for a module, and their (data, scale) pairs."""

import dataclasses
import math
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from scalify_hlo.execution.element_types import Array, is_complex, is_float, is_float_array
from scalify_hlo.execution.signature import Pairing, Signature, TensorSpec

Draw = Literal["normal", "positive"]
ScaleMode = Literal["rms", "one", "jitter"]

# The scale of a tensor of zeros: the smallest normal f32, so that it loses every maximum (design, section 3).
ZERO_EXPONENT = -126
LARGEST_EXPONENT = 127


@dataclasses.dataclass(frozen=True)
class Split:
    """A value as data * scale; scale is None for what has none (integers, booleans, complex numbers)."""

    data: Array
    scale: Array | None


def draw_inputs(
    signature: Signature, seed: int = 0, draw: Draw = "normal", positive: Collection[int] = ()
) -> list[Array]:
    """One array for each argument, of its shape and dtype.

    Floats (and the parts of complex numbers) are normal; from rank 2 up their standard deviation is one over the
    square root of the last but one dimension, as weights are initialised, so that products stay near unit size.
    With draw="positive" they are the absolute values, away from zero: for programs that take roots and logarithms. So
    are those arguments whose indices are in `positive`.
    Integers are in [1, 8) for scalars (step counters), in [0, 8) otherwise (indices, token ids); ui32 and ui64 of
    a last dimension 2 or 4 are random bits (keys); booleans are even odds.
    """
    return [
        _draw(spec, np.random.default_rng([seed, i]), "positive" if i in positive else draw)
        for i, spec in enumerate(signature.arguments)
    ]


def _draw(spec: TensorSpec, generator: np.random.Generator, draw: Draw) -> Array:
    if is_float(spec.element_type) or is_complex(spec.element_type):
        values = generator.standard_normal(spec.shape)
        if is_complex(spec.element_type):
            values = values + 1j * generator.standard_normal(spec.shape)
        if draw == "positive":
            values = 0.1 + np.abs(values)
        if len(spec.shape) >= 2:
            values = values / math.sqrt(max(spec.shape[-2], 1))
        return np.asarray(values).astype(spec.dtype)
    if spec.element_type == "i1":
        return np.asarray(generator.integers(0, 2, spec.shape)).astype(np.bool_)
    if spec.element_type in ("ui32", "ui64") and spec.shape and spec.shape[-1] in (2, 4):
        return generator.integers(0, 2 ** (8 * spec.dtype.itemsize), spec.shape, dtype=spec.dtype)
    largest = 2 if spec.element_type.endswith("i2") else 8
    return np.asarray(generator.integers(0 if spec.shape else 1, largest, spec.shape)).astype(spec.dtype)


def split_scales(arrays: Sequence[Array], mode: ScaleMode = "rms", seed: int = 0) -> list[Split]:
    """Each float array as (data, scale) with data * scale equal to it exactly; scale is a rank-0 f32 power of two.

    mode: "rms": near the array's root mean square, and never 1, so that a dropped scale shows; "jitter": the same,
        then up to 2^6 away in either direction, but no smaller than the smallest normal f32; "one": 1.

    Exponents are moved towards 0 until the division is exact. Arrays of zeros get the smallest normal f32.
    """
    generator = np.random.default_rng(seed)
    splits: list[Split] = []
    for array in map(np.asarray, arrays):
        if not is_float_array(array):
            splits.append(Split(array, None))
            continue
        exponent = 0 if mode == "one" else _rms_exponent(array)
        if mode == "jitter":
            jittered = exponent + int(generator.integers(-6, 7))
            exponent = min(max(jittered, ZERO_EXPONENT), LARGEST_EXPONENT)
        if mode != "one" and exponent == 0:
            exponent = 1 if generator.integers(0, 2) else -1
        splits.append(split_by_exponent(array, exponent))
    return splits


def spread_scales(splits: Sequence[Split], shapes: Sequence[tuple[int, ...]], seed: int = 0) -> list[Split]:
    """The same values with scales of the given shapes (() for one scale), whose numbers differ: up to 2^3 either way.

    So that numbers that are mixed up show. Where the data would not be exact then, a scale stays as it is.
    """
    generator = np.random.default_rng(seed)
    spread: list[Split] = []
    for split, shape in zip(splits, shapes, strict=True):
        if split.scale is None or not shape:
            spread.append(split)
            continue
        factors = np.ldexp(1.0, generator.integers(-3, 4, shape))
        scale = (split.scale * factors).astype(np.float32)
        values = recombine(split.data, split.scale)
        with np.errstate(over="ignore", under="ignore"):
            data = (split.data.astype(np.float64) / factors).astype(split.data.dtype)
        is_scale = np.isfinite(scale).all() and (scale >= np.finfo(np.float32).tiny).all()
        same = is_scale and np.array_equal(recombine(data, scale), values, equal_nan=True)
        spread.append(Split(data, scale) if same else split)
    return spread


def split_by_exponent(array: Array, exponent: int) -> Split:
    """(array / 2^e, 2^e) where e is `exponent`, or the nearest one on the way to 0 for which the data are exact."""
    values = array.astype(np.float64)
    step = -1 if exponent > 0 else 1
    data = array
    while exponent:
        with np.errstate(over="ignore", under="ignore"):
            data = np.asarray(np.ldexp(values, -exponent)).astype(array.dtype)
            if np.array_equal(np.ldexp(data.astype(np.float64), exponent), values, equal_nan=True):
                break
        exponent += step
    return Split(data if exponent else array, np.asarray(np.ldexp(1.0, exponent), np.float32))


def recombine(data: Array, scale: Array | None) -> Array:
    """data * scale in f64 (complex128 for complex data); the data themselves, unchanged, without a scale."""
    if scale is None:
        return data
    with np.errstate(over="ignore", invalid="ignore"):
        if data.dtype.kind != "c":
            return np.asarray(data.astype(np.float64) * scale.astype(np.float64))
        # part by part: numpy multiplies by scale + 0i, and infinity * 0 is NaN
        parts = recombine(np.real(data), scale), recombine(np.imag(data), scale)
        return np.stack(parts, axis=-1).view(np.complex128)[..., 0]


def rewritten_arguments(splits: Sequence[Split], pairings: Sequence[Pairing], rewritten: Signature) -> list[Array]:
    """The arrays a rewritten module takes: data and scale of the scaled arguments, whole values of the others."""
    arrays: list[Array] = [np.empty(0)] * len(rewritten.arguments)
    for split, pairing in zip(splits, pairings, strict=True):
        if pairing.scale is None:
            spec = rewritten.arguments[pairing.data]
            arrays[pairing.data] = recombine(split.data, split.scale).astype(spec.dtype)
        else:
            spec = rewritten.arguments[pairing.scale]
            scale = np.float32(1) if split.scale is None else split.scale
            arrays[pairing.data] = split.data
            arrays[pairing.scale] = np.broadcast_to(scale, spec.shape).astype(spec.dtype)
    return arrays


def _rms_exponent(array: Array) -> int:
    """log2 of the root mean square of what is finite, within the exponents that a scale in f32 can have."""
    values = array.astype(np.float64)
    values = values[np.isfinite(values)]
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return ZERO_EXPONENT if values.size else 0
    _, exponent = math.frexp(largest)  # out of the mean: squares of f64's own range leave it
    mean_square = float(np.mean(np.square(np.ldexp(values, -exponent))))
    return min(max(round(exponent + math.log2(mean_square) / 2), ZERO_EXPONENT), LARGEST_EXPONENT)
