"""Files of NumPy's arrays by name, with types that NumPy does not know and text beside them. Nothing is unpickled."""

import io
import json
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import ELEMENT_TYPES, NUMPY_DTYPES, Array

# NumPy writes types that it does not know as raw bytes; this entry says what they are.
_TYPES, _METADATA = "__types__", "__metadata__"


def is_npz(data: bytes) -> bool:
    """Whether these are the bytes of a zip archive, which an .npz file is."""
    return data.startswith((b"PK\x03\x04", b"PK\x05\x06"))  # the latter where there is no array in it


def read_npz(data: bytes, path: str) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays of an .npz file and the text beside them. Raises ScalifyError, which names `path`.

    Each compression has errors of its own, and so has what reads the text of an array's header.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            stored: dict[str, Any] = {key: file[key] for key in file.files}
    except Exception as error:  # noqa: BLE001
        raise ScalifyError(Diagnostic(f"cannot read this as an .npz file: {error}", path)) from None
    types, metadata = _texts(stored, _TYPES, path), _texts(stored, _METADATA, path)
    problems = [Diagnostic(f"'{name}' is no array", path) for name, found in stored.items() if isinstance(found, bytes)]
    arrays: dict[str, Array] = {name: found for name, found in stored.items() if not isinstance(found, bytes)}
    for name, array in arrays.items():
        if name in types:
            dtype = NUMPY_DTYPES.get(types[name])
            if dtype is None or array.dtype.itemsize != dtype.itemsize:
                problems.append(Diagnostic(f"array '{name}' is no '{types[name]}', as {_TYPES} says", path))
            else:
                arrays[name] = array.view(dtype)
        elif array.dtype == np.dtype("V2"):  # as `numpy.savez` writes bf16, whose name it does not know
            arrays[name] = array.view(NUMPY_DTYPES["bf16"])
    if problems:
        raise ScalifyError(problems)
    return arrays, metadata


def npz_bytes(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> bytes:
    """The content of an .npz file that `read_npz` reads. Raises ScalifyError for what no tensor is made of."""
    for name, array in arrays.items():
        if array.dtype not in ELEMENT_TYPES:
            raise ScalifyError(f"array '{name}' is of {array.dtype}: no tensor has such elements")
    raw = {name: _raw(array) for name, array in arrays.items()}
    types = {name: ELEMENT_TYPES[array.dtype] for name, array in arrays.items() if array.dtype.kind == "V"}
    stream = io.BytesIO()
    raw[_TYPES] = np.array(json.dumps(types))
    raw[_METADATA] = np.array(json.dumps(dict(metadata)))
    save: Any = np.savez  # newer versions take more than arrays by name
    save(stream, **raw)
    return stream.getvalue()


def _texts(stored: dict[str, Any], key: str, path: str) -> dict[str, str]:
    """The names and texts of an entry, which is taken out."""
    try:
        found: Any = json.loads(str(stored.pop(key, "{}")))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in cast(dict[str, Any], found).values()):
        raise ScalifyError(Diagnostic(f"the entry {key} is no JSON object of texts", path))
    return cast(dict[str, str], found)


def _raw(array: Array) -> Array:
    array = np.asarray(array, order="C")
    return array.view(f"V{array.dtype.itemsize}") if array.dtype.kind == "V" else array
