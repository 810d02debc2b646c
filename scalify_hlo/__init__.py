"""Scalify for StableHLO: every floating-point tensor X is carried as X = data * scale.

Three doors to one engine (see README.md):

- `scalify-opt in.mlir -o out.mlir`, the command line;
- `rewrite_module`, text or `ir.Module` in and out;
- `scalify` and `scalify_exported`, for JAX functions and `jax.export` files.
"""

import importlib
import pathlib
import sys
from typing import Any

from jaxlib.version import __version__ as _jaxlib_version

from scalify_hlo.moved import find_moved
from scalify_hlo.versions import check_jaxlib

check_jaxlib(_jaxlib_version)
find_moved()

_ROOT = pathlib.Path(__file__).resolve().parent
if not (_ROOT / "rewrites").is_dir():
    # A bare checkout or an editable install: `rewrites/` and `tools/` lie beside the package.
    __path__.append(str(_ROOT.parent))

__version__ = "0.2.0"

# Public name -> module that defines it. Loaded on first use, so that importing the package is cheap.
_PUBLIC = {
    "ScalifyError": "scalify_hlo.errors",
    "ScalifyOptions": "scalify_hlo.options",
    "rewrite_module": "scalify_hlo.rewrite",
    "CustomScale": "scalify_hlo.frontend.custom_scale",
    "Pow2RoundMode": "scalify_hlo.frontend.powers_of_two",
    "PrecisionPolicy": "scalify_hlo.precision",
    "ScaledArray": "scalify_hlo.frontend.scaled_array",
    "ScalifyConfig": "scalify_hlo.frontend.config",
    "as_scaled_array": "scalify_hlo.frontend.conversion",
    "asarray": "scalify_hlo.frontend.conversion",
    "custom_scale": "scalify_hlo.frontend.custom_scale",
    "debug": "scalify_hlo.frontend.diagnosis",
    "debug_callback": "scalify_hlo.frontend.debug",
    "dynamic_rescale": "scalify_hlo.frontend.rescaling",
    "get_data": "scalify_hlo.frontend.primitives",
    "get_data_and_scale": "scalify_hlo.frontend.primitives",
    "pack_exported": "scalify_hlo.packed",
    "pack_scales": "scalify_hlo.packed",
    "rebalance_scale": "scalify_hlo.frontend.primitives",
    "register_flax_serialization": "scalify_hlo.frontend.integrations",
    "rescale_state": "scalify_hlo.frontend.rescaling",
    "scaled_array": "scalify_hlo.frontend.scaled_array",
    "scaled_shardings": "scalify_hlo.frontend.shardings",
    "scalify": "scalify_hlo.frontend.transform",
    "scalify_exported": "scalify_hlo.exported",
    "set_scaling": "scalify_hlo.frontend.primitives",
    "stop_scaling": "scalify_hlo.frontend.primitives",
    "unpack_scales": "scalify_hlo.packed",
}
# Namespaces of the front end, loaded on first use likewise.
_NAMESPACES = ("core", "health", "lax", "nn", "ops", "serving", "tree")

__all__ = ["__version__", *sorted(_PUBLIC), *_NAMESPACES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:
        return importlib.import_module(f"{__name__}.{name}")
    module = _PUBLIC.get(name)
    if module is None:
        raise importlib.import_module(f"{__name__}.frontend.jax_scalify_names").missing(__name__, name)
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC, *_NAMESPACES])


if "jax" in sys.modules:
    # Exported functions with ScaledArrays in their trees can be loaded then: the class must be known before. Where jax
    # has not been imported, as in the command line tools, neither is it here: that halves the time to start.
    importlib.import_module(f"{__name__}.frontend.integrations")
