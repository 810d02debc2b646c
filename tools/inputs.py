"""Inputs of a program from an .npz file."""

from collections.abc import Sequence

from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.signature import TensorSpec
from scalify_hlo.io.files import read_input
from scalify_hlo.io.npz_file import is_npz, read_npz


def load_inputs(path: str, arguments: Sequence[TensorSpec]) -> list[Array]:
    """The arrays of an .npz file, in the order of the arguments. Raises ScalifyError, naming every one that misses.

    An array's key is the argument's name, its index ("0"), "arg0" or what `numpy.savez` calls unnamed arrays ("arr_0").
    Types that NumPy does not know (bf16, the f8 types) lie in such files as raw bytes.
    """
    data = read_input(path)
    if not is_npz(data):
        raise ScalifyError(Diagnostic("this is no .npz file; numpy.savez writes one", path))
    stored, _ = read_npz(data, path)
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
