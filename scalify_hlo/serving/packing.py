"""Weights as a pinned module takes them: data in the types of its arguments, at the scales that it was pinned to."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import TRANSPOSED, attributes_of
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import ELEMENT_TYPES, Array, is_float
from scalify_hlo.execution.signature import TensorSpec, entry_signature
from scalify_hlo.module.block_numbers import LARGEST_ELEMENT, LARGEST_SCALE, from_blocks, in_blocks, spread
from scalify_hlo.passes.block_storage import BLOCK_SCALES, SUFFIX
from scalify_hlo.passes.cast import STATE
from scalify_hlo.passes.pin_scales import PINNED
from scalify_hlo.serving.compensation import Readings, nearest, rounded
from scalify_hlo.serving.half_bytes import stored_bytes
from scalify_hlo.serving.tensors import PACKED, SCALE_PREFIX, match, read_with_metadata
from scalify_hlo.types import is_scale_shape

_finfo: Any = ml_dtypes.finfo
# And `transposed.<name>` says that the array is the transpose of the weight.
TRANSPOSED_PREFIX = "transposed."
_TAKES = "the module takes it"
_PACK = "pack the weights for this module (scalify-pack)"


@dataclasses.dataclass(frozen=True)
class Packed:
    """Packed weights.

    tensors: by the argument's name; what is pinned in the argument's type, anything else as it was given. Of what is
    stored in blocks two: the elements, and their scales by the name of that argument.
    scales: of those that are pinned. saturated: how many elements of each were beyond the type's range.
    bytes_before, bytes_after: of all tensors; before in bf16, the usual form, where they are floats.
    transposed: names of matrices that the module takes transposed. given: how many arrays they were made of.
    """

    tensors: dict[str, Array]
    scales: dict[str, Array]
    saturated: dict[str, int]
    bytes_before: int
    bytes_after: int
    transposed: frozenset[str] = frozenset()
    given: int = 0

    @property
    def metadata(self) -> dict[str, str]:
        """What has to be stored beside the tensors so that `unpack` can give the values back."""
        scales = {SCALE_PREFIX + name: repr(np.asarray(scale).tolist()) for name, scale in self.scales.items()}
        return {PACKED: "true"} | scales | {TRANSPOSED_PREFIX + name: "true" for name in sorted(self.transposed)}


def pinned_arguments(module: ir.Module) -> dict[int, Array]:
    """Argument index -> the scale that a pinned module takes its data at."""
    return {i: _scale(own[PINNED]) for i, own in enumerate(_argument_attributes(module)) if PINNED in own}


def cache_arguments(module: ir.Module) -> set[int]:
    """Those of the pinned arguments that are caches: what the module has returned, and no weights."""
    attributes = _argument_attributes(module)
    return {i for i, own in enumerate(attributes) if STATE in own and ir.StringAttr(own[STATE]).value == "cache"}


def block_dimensions(module: ir.Module) -> dict[int, int]:
    """Index of an argument that is stored in blocks -> the dimension along which they lie. The scales are the next."""
    attributes = enumerate(_argument_attributes(module))
    return {i - 1: ir.IntegerAttr(own[BLOCK_SCALES]).value for i, own in attributes if BLOCK_SCALES in own}


def own_arguments(module: ir.Module) -> list[int]:
    """Indices of the arguments that stand for the original's, in its order: all but the scales of blocks."""
    return [i for i, own in enumerate(_argument_attributes(module)) if BLOCK_SCALES not in own]


def pinned_results(module: ir.Module) -> dict[int, Array]:
    """Result index -> the scale that a pinned module returns its data at."""
    main = public_function(module)
    attributes = attributes_of(main, "res_attrs", len(entry_signature(module, symbolic=True).results))
    return {i: _scale(own[PINNED]) for i, own in enumerate(attributes) if PINNED in own}


def _argument_attributes(module: ir.Module) -> list[dict[str, ir.Attribute]]:
    main = public_function(module)
    return attributes_of(main, "arg_attrs", len(main.regions[0].blocks[0].arguments))


def pack(
    module: ir.Module,
    weights: Mapping[str, Array],
    where: str = "weights",
    read: Mapping[int, Readings] | None = None,
) -> Packed:
    """The weights for `module`, a pinned one, by the names of its arguments.

    read: what some of its arguments are multiplied by: their errors make up for each other. Others are rounded to the
    nearest.

    Raises ScalifyError for arrays that belong to no argument or have another shape, and for pinned arguments that
    nothing is given for.
    """
    arguments = entry_signature(module, symbolic=True).arguments
    scales, blocks, own = pinned_arguments(module), block_dimensions(module), own_arguments(module)
    matched = match([arguments[i] for i in own], weights, where, others="any" if os.path.isdir(where) else "unneeded")
    found = {own[k]: name for k, name in matched.items()}
    turned = {i for i, own in enumerate(_argument_attributes(module)) if TRANSPOSED in own}
    problems = [
        Diagnostic(
            f"array '{name}' is {list(weights[name].shape)}, argument {arguments[i].name} a {arguments[i]}", where
        )
        for i, name in found.items()
        if weights[name].shape != (arguments[i].shape[::-1] if i in turned else arguments[i].shape)
    ]
    problems += [
        Diagnostic(f"array '{name}' is of {weights[name].dtype}, argument {arguments[i].name} a {arguments[i]}", where)
        for i, name in found.items()
        if not _is_real(weights[name]) and weights[name].dtype != arguments[i].dtype
    ]
    problems += [
        Diagnostic(f"no array for the weight '{arguments[i].name}'", where)
        for i in sorted(set(scales) - set(found) - cache_arguments(module))
    ]
    if problems:
        raise ScalifyError(problems)
    tensors: dict[str, Array] = {}
    saturated: dict[str, int] = {}
    before = 0
    for i, name in found.items():
        spec, value = arguments[i], np.asarray(weights[name])
        before += value.size * (2 if is_float(ELEMENT_TYPES.get(value.dtype, "")) else value.dtype.itemsize)
        if i in scales:
            data = value.astype(np.float64) / scales[i]
            data = data.T if i in turned else data
            largest = LARGEST_ELEMENT * LARGEST_SCALE if i in blocks else _largest(spec)
            beyond = int(np.sum(np.abs(data) > largest))
            if i in blocks:
                elements, own_scales = in_blocks(data, blocks[i])
                if read is not None and i in read:
                    factors = spread(own_scales.astype(np.float32), data.shape)
                    elements = rounded(data, read[i], spec.dtype, LARGEST_ELEMENT, factors)
                tensors[spec.name], tensors[arguments[i + 1].name] = elements, own_scales
            elif read is not None and i in read:
                tensors[spec.name] = rounded(data, read[i], spec.dtype, largest)
            else:
                tensors[spec.name] = np.ascontiguousarray(nearest(data, spec.dtype, largest))
            if beyond:
                saturated[spec.name] = beyond
        else:
            tensors[spec.name] = value.astype(spec.dtype)
    after = sum(map(stored_bytes, tensors.values())) + 4 * sum(np.size(scales[i]) for i in found if i in scales)
    used = {arguments[i].name: scale for i, scale in scales.items() if i in found}
    names = frozenset(arguments[i].name for i in turned & found.keys())
    return Packed(tensors, used, saturated, before, after, names, len(found))


def unpack(tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> dict[str, Array]:
    """The values of packed tensors in f32, by name. Raises ScalifyError where a scale is no number."""
    values: dict[str, Array] = {}
    for name, data in tensors.items():
        if name.removesuffix(SUFFIX) != name and SCALE_PREFIX + name.removesuffix(SUFFIX) in metadata:
            continue  # of the elements' blocks
        text = metadata.get(SCALE_PREFIX + name)
        if text is None:
            values[name] = data
            continue
        scale = _number(name, text)
        data = _of_blocks(name, data, tensors.get(name + SUFFIX))
        value = (data.T if TRANSPOSED_PREFIX + name in metadata else data).astype(np.float32)
        if not is_scale_shape(scale.shape, value.shape):
            what = f"the scale of '{name}' has the shape {list(scale.shape)}"
            raise ScalifyError(f"{what}, which is not one for data of {list(value.shape)}")
        values[name] = value * scale
    return values


def read_packed(module: ir.Module, path: str) -> dict[str, Array]:
    """The arrays of a file that was packed for `module`, or was not packed at all, by name.

    Raises ScalifyError for a file that cannot be read, and where it says of an array that it has another scale than the
    module takes it at, or lies otherwise: weights were trained on, calibrated and packed, and an older module kept.
    """
    tensors, metadata = read_with_metadata(path)
    if not tensors:
        raise ScalifyError(Diagnostic("the file holds no arrays", path))
    arguments, attributes = entry_signature(module, symbolic=True).arguments, _argument_attributes(module)
    problems: list[Diagnostic] = []
    for i, scale in pinned_arguments(module).items():
        name = arguments[i].name
        if SCALE_PREFIX + name not in metadata:
            continue
        own = np.asarray(_number(name, metadata[SCALE_PREFIX + name]))
        if own.shape != np.shape(scale) or not np.array_equal(own, np.asarray(scale, np.float32)):
            what = f"array '{name}' is packed at the scale {_brief(own)}, {_TAKES} at {_brief(scale)}; {_PACK}"
            problems.append(Diagnostic(what, path))
        turned = TRANSPOSED_PREFIX + name in metadata
        if turned != (TRANSPOSED in attributes[i]):
            lies = "transposed, {} as it is" if turned else "as it is, {} transposed"
            problems.append(Diagnostic(f"array '{name}' is packed {lies.format(_TAKES)}; {_PACK}", path))
    if problems:
        raise ScalifyError(problems)
    return tensors


def _brief(scale: Array) -> str:
    first = f"{float(np.ravel(scale)[0]):.6g}"
    return f"{first}, ... of the shape {list(np.shape(scale))}" if np.ndim(scale) else first


def _of_blocks(name: str, data: Array, scales: Array | None) -> Array:
    """Elements times the scales of their blocks, if they have some. Raises ScalifyError where these do not fit."""
    if scales is None:
        return data
    try:
        return from_blocks(data, scales)
    except ValueError as error:
        raise ScalifyError(f"'{name}': {error}") from None


def _is_real(array: Array) -> bool:
    """Whether an array's elements are numbers without an imaginary part, which any type of numbers is made of."""
    return array.dtype in ELEMENT_TYPES and array.dtype.kind != "c"


def as_data(value: Array, scale: Array, spec: TensorSpec) -> Array:
    """value / scale, clamped to the range of the argument's type and rounded to the nearest."""
    return nearest(value.astype(np.float64) / scale, spec.dtype, _largest(spec))


def _largest(spec: TensorSpec) -> float:
    return float(_finfo(spec.dtype).max)


def _scale(attribute: ir.Attribute) -> Array:
    if isinstance(attribute, ir.DenseElementsAttr):
        return np.asarray(attribute)
    return np.asarray(ir.FloatAttr(attribute).value, np.float32)


def _number(name: str, text: str) -> Array:
    """The scale of an array as its file's metadata says it, f32. Raises ScalifyError where that is no number."""
    try:
        scale = np.asarray(_parsed(text), np.float32)
    except (ValueError, TypeError, OverflowError, RecursionError):
        scale = np.asarray(np.nan, np.float32)
    if not np.isfinite(scale).all():  # null is NaN to NumPy
        raise ScalifyError(f"the scale of '{name}' in the file's metadata is no number: {text[:40]}")
    return scale


def _parsed(text: str) -> Sequence[float] | float:
    import json

    return json.loads(text)
