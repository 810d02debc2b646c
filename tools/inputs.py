"""Inputs of a program from an .npz file."""

import io
import zipfile
from collections.abc import Sequence

import numpy as np

from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.signature import TensorSpec
from scalify_hlo.io.files import read_input


def load_inputs(path: str, arguments: Sequence[TensorSpec]) -> list[Array]:
    """The arrays of an .npz file, in the order of the arguments. Raises ScalifyError, naming every one that misses.

    An array's key is the argument's name, its index ("0"), "arg0" or what `numpy.savez` calls unnamed arrays ("arr_0").
    Types that NumPy does not know (bf16, the f8 types) lie in such files as raw bytes.
    """
    data = read_input(path)
    if not data.startswith(b"PK"):
        raise ScalifyError(Diagnostic("this is no .npz file; numpy.savez writes one", path))
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            stored = {key: file[key] for key in file.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise ScalifyError(Diagnostic(f"cannot read these inputs as an .npz file: {error}", path)) from None
    arrays: list[Array] = []
    problems: list[Diagnostic] = []
    for i, spec in enumerate(arguments):
        key = next((k for k in (spec.name, str(i), f"arg{i}", f"arr_{i}") if k in stored), None)
        if key is None:
            problems.append(Diagnostic(f"no array for argument {i}; call it '{spec.name}' or '{i}'", path))
            continue
        array = stored.pop(key)
        raw = array.dtype.kind == "V" and array.dtype.itemsize == spec.dtype.itemsize
        arrays.append(array.view(spec.dtype) if raw else array)
    problems += [Diagnostic(f"array '{key}' belongs to no argument", path) for key in stored]
    if problems:
        raise ScalifyError(problems)
    return arrays
