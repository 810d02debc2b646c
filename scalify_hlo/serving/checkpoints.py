"""Checkpoints of orbax as named arrays, read by TensorStore.

A checkpoint is metadata in JSON and arrays in zarr. Nothing in it is executed, and orbax itself is not needed.
"""

import importlib
import json
import os
from typing import Any

import numpy as np

from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import ELEMENT_TYPES, Array
from scalify_hlo.io.files import read_input

# What orbax writes into the folder of a tree: its leaves by their paths, and how arrays are stored.
_METADATA = "_METADATA"
_ARRAYS = ("jax.Array", "np.ndarray", "scalar")


def read_checkpoint(path: str) -> dict[str, Array]:
    """The arrays of an orbax checkpoint: a tree's folder, or that of a step with one tree in it.

    Names are paths in the tree with dots (`params.Dense_0.kernel`); leaves that are no numeric arrays are left out.
    Raises ScalifyError where the folder holds no checkpoint, more than one, or a damaged one.
    """
    folder = _tree_folder(path)
    try:
        document = json.loads(read_input(os.path.join(folder, _METADATA)))
        names = [
            ".".join(str(key["key"]) for key in leaf["key_metadata"])
            for leaf in document["tree_metadata"].values()
            if leaf["value_metadata"]["value_type"] in _ARRAYS
        ]
        driver = "zarr3" if document.get("use_zarr3") else "zarr"
        packed = bool(document.get("use_ocdbt", True))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"this is not the metadata of an orbax checkpoint: {error!r:.80}"
        raise ScalifyError(Diagnostic(message, os.path.join(folder, _METADATA))) from None
    arrays = {name: _array(folder, name, driver, packed) for name in names}
    return {name: array for name, array in arrays.items() if array.dtype in ELEMENT_TYPES}


def _array(folder: str, name: str, driver: str, packed: bool) -> Array:
    try:
        tensorstore: Any = importlib.import_module("tensorstore")
    except ImportError:
        message = "this needs the library tensorstore: pip install orbax-checkpoint"
        raise ScalifyError(Diagnostic(message, folder)) from None
    base = f"file://{os.path.abspath(folder)}/"
    store = {"driver": "ocdbt", "base": base, "path": f"{name}/"} if packed else f"{base}{name}/"
    try:
        return np.asarray(tensorstore.open({"driver": driver, "kvstore": store}, read=True).result().read().result())
    except (ValueError, OSError, KeyError, IndexError, NotImplementedError) as error:
        reason = ": ".join(str(error).splitlines()[0].split(": ")[:2])[:160]
        raise ScalifyError(Diagnostic(f"cannot read '{name}' of this orbax checkpoint: {reason}", folder)) from None


def _tree_folder(path: str) -> str:
    """The folder with the metadata of a tree: the given one, or the only one in it."""
    if os.path.exists(os.path.join(path, _METADATA)):
        return path
    inside = sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
    trees = [name for name in inside if os.path.exists(os.path.join(path, name, _METADATA))]
    if len(trees) == 1:
        return os.path.join(path, trees[0])
    if trees:
        reason = f"this step has more than one tree: give the folder of one, such as {os.path.join(path, trees[0])}"
    elif any(name.isdigit() for name in inside):
        latest = max((name for name in inside if name.isdigit()), key=int)
        reason = f"this folder has steps: give that of one, such as {os.path.join(path, latest)}"
    else:
        reason = f"this folder is no orbax checkpoint: it has no {_METADATA}"
    raise ScalifyError(Diagnostic(reason, path))
