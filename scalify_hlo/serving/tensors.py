"""Files of named arrays: .npz, and .safetensors and orbax checkpoints where those libraries are installed.

Nothing is ever unpickled.
"""

import importlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import attributes_of
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import ELEMENT_TYPES, NUMPY_DTYPES, Array, is_float
from scalify_hlo.execution.signature import TensorSpec, entry_signature
from scalify_hlo.execution.sizes import with_sizes
from scalify_hlo.io.files import read_input
from scalify_hlo.io.globs import dotted
from scalify_hlo.io.npz_file import is_npz, npz_bytes, read_npz
from scalify_hlo.serving.checkpoints import read_checkpoint
from scalify_hlo.serving.half_bytes import from_bytes, to_bytes

# Which arrays of a file may belong to no argument; see `match`.
Others = Literal["none", "unneeded", "any"]
# safetensors' names of the types.
_SAFETENSORS = {
    "F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "F8_E4M3": "f8E4M3FN", "F8_E5M2": "f8E5M2",
    "F8_E8M0": "f8E8M0FNU", "I64": "i64", "I32": "i32", "I16": "i16", "I8": "i8", "U64": "ui64", "U32": "ui32",
    "U16": "ui16", "U8": "ui8", "BOOL": "i1",
}  # fmt: skip


# Metadata of a packed file: `scale.<name>` is the scale of an array, as a number or JSON-like nested list.
SCALE_PREFIX = "scale."
# Of a file that `scalify-pack` wrote.
PACKED = "packed"


def is_packed(metadata: Mapping[str, str]) -> bool:
    """Whether a file's arrays are weights divided by scales."""
    return PACKED in metadata or any(key.startswith(SCALE_PREFIX) for key in metadata)


def check_unpacked(metadata: Mapping[str, str], path: str) -> None:
    """Raises ScalifyError where a file has packed weights, which are taken for their values."""
    if is_packed(metadata):
        raise ScalifyError(
            Diagnostic("these weights are packed already; scalify-pack --unpack gives their values", path)
        )


def read_tensors(path: str) -> dict[str, Array]:
    """The arrays of an .npz or .safetensors file by name. Raises ScalifyError where it is neither, or damaged."""
    return read_with_metadata(path)[0]


def read_with_metadata(path: str) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays of a file or checkpoint, and the text that was stored with them. Raises ScalifyError."""
    if os.path.isdir(path):
        return read_checkpoint(path), {}
    data = read_input(path)
    if is_npz(data):
        return from_bytes(*read_npz(data, path), path)
    if path.endswith(".safetensors"):
        return from_bytes(*_read_safetensors(data, path), path)
    raise ScalifyError(
        Diagnostic("this is no .npz and no .safetensors file, and no folder of an orbax checkpoint", path)
    )


def tensor_bytes(tensors: Mapping[str, Array], metadata: Mapping[str, str], path: str) -> bytes:
    """The content of a file of these arrays, in the form that the path's ending says. Raises ScalifyError."""
    tensors, metadata = to_bytes(tensors, metadata)
    if path.endswith(".safetensors"):
        for array in tensors.values():
            if ELEMENT_TYPES.get(array.dtype) not in _SAFETENSORS.values():
                raise ScalifyError(Diagnostic(f"arrays of {array.dtype} go to a .npz file only", path))
        if not tensors:  # of which the library writes a header that it does not read
            header = json.dumps({"__metadata__": dict(metadata)}).encode()
            return len(header).to_bytes(8, "little") + header
        contiguous = {name: np.asarray(array, order="C") for name, array in tensors.items()}
        return bytes(_library("safetensors.numpy", path).save(contiguous, metadata=dict(metadata)))
    if path.endswith(".npz"):
        return npz_bytes(tensors, metadata)
    raise ScalifyError(Diagnostic("tensors are written to a .npz or a .safetensors file", path))


def input_files(paths: Sequence[str]) -> list[str]:
    """The files that paths stand for: themselves, and of folders the .npz and .safetensors files in them, sorted."""
    files: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            inside = sorted(name for name in os.listdir(path) if name.endswith((".npz", ".safetensors")))
            if not inside:
                raise ScalifyError(Diagnostic("there is no .npz or .safetensors file in this folder", path))
            files += [os.path.join(path, name) for name in inside]
        else:
            files.append(path)
    return files


def match(
    arguments: Sequence[TensorSpec], tensors: Mapping[str, Array], where: str, *, others: Others = "none"
) -> dict[int, str]:
    """Argument index -> name of the array for it.

    An array belongs to the argument of its name, as JAX writes it (`params['w'][0]`) or with dots (`params.w.0`); to
    the argument of its index (`0`, `arg0`, `arr_0`), unless that is its key in a tree that all arrays are of and whose
    shapes they have; or to the only one whose dotted name ends with it. Of several it
    belongs to the one that has the same in front of it as all other arrays' have: a file's arrays are of one tree.

    others: which arrays may belong to no argument, and are left out. "unneeded": those that are of the shape of no
    argument without an array, as what a tree holds that the program does not use. "any": all, as a checkpoint has
    (moments, counters).

    Raises ScalifyError naming every array that belongs to no argument or to more than one.
    """
    exact = _exact(arguments, tensors, first="name" if others != "none" else "index")
    near = {name: exact[name] or _ending(arguments, name) for name in tensors}
    front = _in_front(arguments, near)
    found: dict[int, str] = {}
    problems: list[Diagnostic] = []
    homeless: list[str] = []
    for name, several in near.items():
        own = [i for i in several if dotted(arguments[i].name) == front + dotted(name)] if front is not None else []
        places = own if len(several) > 1 and len(own) == 1 else several
        if len(places) == 1 and places[0] not in found:
            found[places[0]] = name
        elif len(places) > 1:
            if others == "any" and not exact[name]:
                continue
            names = ", ".join(arguments[i].name for i in places[:4])
            problems.append(Diagnostic(f"array '{name}' fits more than one argument: {names}", where))
        else:
            homeless.append(name)
    empty = {spec.shape for i, spec in enumerate(arguments) if i not in found}
    problems += [
        Diagnostic(f"array '{name}' belongs to no argument; {_near(arguments, tensors[name])}", where)
        for name in homeless
        if others == "none" or (others == "unneeded" and tensors[name].shape in empty)
    ]
    if problems:
        raise ScalifyError(problems)
    return found


def _exact(
    arguments: Sequence[TensorSpec], tensors: Mapping[str, Array], *, first: Literal["name", "index"]
) -> dict[str, list[int]]:
    """The arguments of each name or index.

    first: what names that are numbers are taken for where they may be both, indices of arguments and keys of a tree
    (`params['2']`) that all arrays of the file are in: whichever the arrays' shapes fit, if they do not fit both.
    """
    named = {name: _named(arguments, name) for name in tensors}
    numbers = {name: _numbered(arguments, name) for name in tensors}
    if any(numbers.values()):
        ends = {name: named[name] or _ending(arguments, name) for name in tensors}
        if all(map(len, ends.values())) and (front := _in_front(arguments, ends)) is not None:
            keys = {
                name: [i for i in several if dotted(arguments[i].name) == front + dotted(name)]
                for name, several in ends.items()
            }
            fits = [_fit(arguments, tensors, found) for found in (keys, numbers)]
            if fits[0] and (not fits[1] or first == "name"):
                return keys
    return {name: named[name] or numbers[name] for name in tensors}


def _named(arguments: Sequence[TensorSpec], name: str) -> list[int]:
    exact = [i for i, spec in enumerate(arguments) if name == spec.name]
    return exact or [i for i, spec in enumerate(arguments) if dotted(name) == dotted(spec.name)]


def _numbered(arguments: Sequence[TensorSpec], name: str) -> list[int]:
    return [i for i in range(len(arguments)) if name in (str(i), f"arg{i}", f"arr_{i}")]


def _fit(arguments: Sequence[TensorSpec], tensors: Mapping[str, Array], found: Mapping[str, list[int]]) -> bool:
    """Whether each array has one argument, of its shape."""
    return all(
        len(places) == 1 and _are_sizes(tensors[name].shape, arguments[places[0]].shape)
        for name, places in found.items()
    )


def _are_sizes(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    return len(shape) == len(wanted) and all(w in (-1, n) for w, n in zip(wanted, shape, strict=True))


def _ending(arguments: Sequence[TensorSpec], name: str) -> list[int]:
    """The arguments whose names end with a name."""
    ends = ("." + dotted(name), f"['{name}']")  # a key may have brackets itself
    return [i for i, spec in enumerate(arguments) if spec.name.endswith(ends) or dotted(spec.name).endswith(ends)]


def _in_front(arguments: Sequence[TensorSpec], near: Mapping[str, Sequence[int]]) -> str | None:
    """What stands before all arrays' names in the arguments' dotted ones; None where that is not one thing."""
    common: set[str] | None = None
    for name, places in near.items():
        plain = dotted(name)
        own = {dotted(arguments[i].name).removesuffix(plain) for i in places}
        if own:
            common = own if common is None else common & own
    return next(iter(common)) if common and len(common) == 1 else None


def _near(arguments: Sequence[TensorSpec], array: Array) -> str:
    """The names of arguments that an array may have been meant for."""
    same = [spec.name for spec in arguments if spec.shape == array.shape]
    names, what = (
        (same, f"of its shape, {list(array.shape)}, are") if same else ([s.name for s in arguments], "there are")
    )
    return f"{what} {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"


class Batches:
    """Inputs of a program, batch by batch: files that all batches share, and one file for each batch.

    Iterating gives one array for each argument; floats are converted to the argument's float type. Arrays that all
    batches share are the same objects each time. Raises ScalifyError for every array that is missing, misplaced, or of
    another shape or kind; for the shared ones when it is made.
    """

    def __init__(
        self,
        arguments: Sequence[TensorSpec],
        shared: Sequence[str],
        files: Sequence[str],
        known: Mapping[int, Array] | None = None,
    ):
        """shared: files that all batches share. known: arrays that they share, by argument, as they are."""
        self.files = list(files)
        # Of each argument the file that its last array came from, for messages.
        self.sources: dict[int, str] = {}
        self._arguments = arguments
        self._shared: dict[int, Array] = dict(known or {})
        self._tells_inputs = bool(shared)
        for path in shared:
            self._shared |= self._read(path, "unneeded")

    def __len__(self) -> int:
        return len(self.files)

    @property
    def inputs(self) -> list[int]:
        """The arguments that are no weights, where files that all batches share have those; else none are known."""
        if not self._tells_inputs or not self.files:
            return []
        return sorted(self._read(self.files[0]).keys() - self._shared.keys())

    def __iter__(self) -> Iterator[list[Array]]:
        return self.starting_at(0)

    def starting_at(self, first: int) -> Iterator[list[Array]]:
        """The batches from the one with this index."""
        for path in self.files[first:]:
            arrays = self._shared | self._read(path)
            missing = [
                Diagnostic(f"no array for argument {i}; call it '{spec.name}' or '{i}'", path)
                for i, spec in enumerate(self._arguments)
                if i not in arrays
            ]
            if missing:
                raise ScalifyError(missing)
            yield [arrays[i] for i in range(len(self._arguments))]

    def _read(self, path: str, others: Others = "none") -> dict[int, Array]:
        arrays = _arrays_of(self._arguments, path, others)
        self.sources |= dict.fromkeys(arrays, path)
        return arrays


def with_sizes_of(module: ir.Module, files: Sequence[str]) -> ir.Module:
    """The module; where it has symbolic sizes, a copy with the sizes of the first arrays in files for its arguments.

    Raises ScalifyError where an argument with symbolic sizes has no array, or one of other sizes.
    """
    specs = entry_signature(module, symbolic=True).arguments
    symbolic = {i: spec for i, spec in enumerate(specs) if -1 in spec.shape}
    if not symbolic:
        return module
    found: dict[int, tuple[int, ...]] = {}
    for path in files:
        tensors = read_tensors(path)
        for i, name in match(specs, tensors, path, others="any").items():
            if i not in symbolic or i in found:
                continue
            shape, wanted = tensors[name].shape, symbolic[i].shape
            if not _are_sizes(shape, wanted):
                what = f"array '{name}' has the shape {list(shape)}, argument {i} is a {symbolic[i]}"
                raise ScalifyError(Diagnostic(what, path))
            found[i] = shape
        if len(found) == len(symbolic):
            return with_sizes(module, found)
    missing = ", ".join(spec.name for i, spec in symbolic.items() if i not in found)
    raise ScalifyError(Diagnostic(f"no array for arguments with symbolic sizes: {missing}", files[0] if files else ""))


def platform_index(module: ir.Module) -> dict[int, Array]:
    """For the argument of an export for several platforms that says which it runs on: the first. No other argument."""
    main = public_function(module)
    attributes = attributes_of(main, "arg_attrs", len(main.regions[0].blocks[0].arguments))
    marks = {i: own["jax.global_constant"] for i, own in enumerate(attributes) if "jax.global_constant" in own}
    return {i: np.zeros((), np.int32) for i, mark in marks.items() if ir.StringAttr(mark).value == "_platform_index"}


def _arrays_of(arguments: Sequence[TensorSpec], path: str, others: Others = "none") -> dict[int, Array]:
    """The arrays of a file by argument. Raises ScalifyError."""
    tensors, metadata = read_with_metadata(path)
    check_unpacked(metadata, path)
    found = match(arguments, tensors, path, others="any" if os.path.isdir(path) else others)
    tensors |= {name: _as_type_of(tensors[name], arguments[i]) for i, name in found.items()}
    problems = [
        Diagnostic(
            f"array '{name}' is {tensors[name].dtype}{list(tensors[name].shape)}, but argument {i} "
            f"({arguments[i].name}) is a {arguments[i]}",
            path,
        )
        for i, name in found.items()
        if not _suits(tensors[name], arguments[i])
    ]
    if problems:
        raise ScalifyError(problems)
    return {i: tensors[name].astype(arguments[i].dtype) for i, name in found.items()}


def _as_type_of(array: Array, spec: TensorSpec) -> Array:
    """An array of bits, as `numpy.savez` writes those of FP8, in the type of its argument."""
    bits = array.dtype.kind == "V" and array.dtype not in ELEMENT_TYPES and array.dtype.itemsize == spec.dtype.itemsize
    return array.view(spec.dtype) if bits and spec.dtype.kind == "V" else array


def _suits(array: Array, spec: TensorSpec) -> bool:
    both_floats = is_float(ELEMENT_TYPES.get(array.dtype, "")) and spec.is_float
    both_integers = array.dtype.kind in "iu" and spec.dtype.kind in "iu"
    return array.shape == spec.shape and (array.dtype == spec.dtype or both_floats or both_integers)


# --- .safetensors -------------------------------------------------------------------------------------------------


def _library(name: str, path: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ScalifyError(Diagnostic("this needs the library safetensors: pip install safetensors", path)) from None


def _read_safetensors(data: bytes, path: str) -> tuple[dict[str, Array], dict[str, str]]:
    library = _library("safetensors", path)
    try:
        entries = library.deserialize(data)
        length = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
        tensors = {
            name: np.frombuffer(entry["data"], NUMPY_DTYPES[_SAFETENSORS[entry["dtype"]]]).reshape(entry["shape"])
            for name, entry in entries
        }
    except (library.SafetensorError, ValueError, KeyError) as error:
        raise ScalifyError(Diagnostic(f"cannot read this as a .safetensors file: {error}", path)) from None
    return tensors, metadata
