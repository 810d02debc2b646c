"""Arrays of E2M1 in files: two elements in a byte, the first in its lower half, and their shape in the metadata."""

import json
import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import NUMPY_DTYPES, Array
from scalify_hlo.module.block_numbers import ELEMENT

# Metadata of a file: the shape of what the bytes of an array are the elements of.
PREFIX = f"{ELEMENT}."
_DTYPE = NUMPY_DTYPES[ELEMENT]


def stored_bytes(array: Array) -> int:
    """Bytes that an array takes in a file and on a GPU: two E2M1 elements share one."""
    return -(-array.size // 2) if array.dtype == _DTYPE else array.nbytes


def to_bytes(tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> tuple[dict[str, Array], dict[str, str]]:
    """Arrays of which those of E2M1 are vectors of bytes, and metadata that says so."""
    stored, text = dict(tensors), dict(metadata)
    for name, array in tensors.items():
        if array.dtype == _DTYPE:
            codes = np.append(array.view(np.uint8).ravel(), np.zeros(array.size % 2, np.uint8))
            stored[name] = codes[::2] | codes[1::2] << np.uint8(4)
            text[PREFIX + name] = json.dumps(list(array.shape))
    return stored, text


def from_bytes(
    tensors: Mapping[str, Array], metadata: Mapping[str, str], path: str
) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays and metadata that `to_bytes` was given. Raises ScalifyError, which names `path`, for damaged ones."""
    arrays = dict(tensors)
    for key in [key for key in metadata if key.startswith(PREFIX)]:
        name = key.removeprefix(PREFIX)
        shape, data = _shape(metadata[key]), tensors.get(name)
        if shape is None or data is None or data.dtype != np.uint8 or data.size != -(-math.prod(shape) // 2):
            what = f"{ELEMENT} of the shape {metadata[key][:40]}"
            message = f"the metadata say '{name}' is {what}, which its bytes are not"
            raise ScalifyError(Diagnostic(message, path))
        codes = np.stack([data & 15, data >> 4], -1).ravel()[: math.prod(shape)]
        arrays[name] = codes.astype(np.uint8).view(_DTYPE).reshape(shape)
    return arrays, {key: text for key, text in metadata.items() if not key.startswith(PREFIX)}


def _shape(text: str) -> list[int] | None:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    sizes = cast(list[Any], found)
    return sizes if all(type(n) is int and n >= 0 for n in sizes) else None
