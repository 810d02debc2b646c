"""The only module that imports JAX's and jaxlib's private MLIR bindings.

Everything else in the package takes `ir`, the dialects and the pass manager from here, so that a
change of the private API between jaxlib versions is mended in one place. Only jaxlib is imported, not
`jax`: the command line starts in a quarter of the time.
"""

import functools
import importlib.util
import os
from collections.abc import Sequence
from typing import Any, cast

# As `import jax` does: XLA's own log begins with warnings. It reads this when it is loaded, so it comes first.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib.mlir import ir, passmanager
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, func, mhlo, mpmd, sdy, stablehlo

__all__ = [
    "chlo",
    "context_exists",
    "exported_module",
    "func",
    "gives_no_places",
    "gpu_compile_only_devices",
    "ir",
    "make_context",
    "passmanager",
    "register_inliner",
    "sharding_from_hlo",
    "stablehlo",
    "without_references",
    "xla_client",
]


class _Context(ir.Context):
    """A context without the dialects that `ir.Context` loads by itself (all that are linked into jaxlib)."""

    def __init__(self) -> None:
        super(ir.Context, self).__init__()


@functools.cache
def _process_wide() -> tuple[ir.DialectRegistry, ir.ThreadPool]:
    """What every context shares. Registers StableHLO's passes with the process on the first call."""
    stablehlo.register_stablehlo_passes()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    return registry, ir.ThreadPool()


def context_exists() -> bool:
    """Whether this process has made an MLIR context, whose threads a forked child would lack."""
    return _process_wide.cache_info().currsize > 0


def make_context() -> ir.Context:
    """A new context with every dialect that JAX uses (stablehlo, chlo, func, sdy, mhlo, ...).

    MLIR loads the others (arith, vhlo, ...) when a program has operations of them: to load all of them at once takes
    ten times as long as the rest of rewriting a small program.

    The same as JAX's own `make_ir_context`, which from jax 0.12 hands one context to several callers: a
    diagnostic handler or a threading mode set on ours must not reach another user's.
    """
    registry, thread_pool = _process_wide()
    context = _Context()
    context.append_dialect_registry(registry)
    context.set_thread_pool(thread_pool)
    context.get_dialect_descriptor("func")  # loads it
    for dialect in (sdy, mpmd, chlo, stablehlo):
        dialect.register_dialect(context)
    mhlo.register_mhlo_dialect(context)
    return context


def xla_client() -> Any:
    """XLA's client bindings (compile options, device lists), imported only when a module is to be compiled."""
    from jaxlib import xla_client as client

    return client


def sharding_from_hlo(devices: Sequence[Any], sharding: Any) -> Any:
    """The JAX sharding over `devices` that an executable's `HloSharding` or `OpSharding` stands for."""
    from jax._src.sharding_impls import GSPMDSharding

    return GSPMDSharding(tuple(devices), sharding)


def exported_module(serialised: bytes) -> bytes:
    """The portable artifact inside the bytes of `jax.export.Exported.serialize()`.

    Raises whatever the FlatBuffer reader meets when the bytes are damaged.
    """
    from jax._src.export import serialization_generated

    root: Any = cast(Any, serialization_generated).Exported.GetRootAs(serialised, 0)
    return root.MlirModuleSerializedAsNumpy().tobytes()


def register_inliner(context: ir.Context) -> None:
    """Let the `inline` pass inline `func.call`; without this it leaves all calls alone."""
    from jaxlib.mlir._mlir_libs import _mosaic_gpu_ext

    _mosaic_gpu_ext.register_inliner_extensions(context)


def gpu_compile_only_devices(config: str, topology: str) -> Sequence[Any]:
    """Devices of NVIDIA GPUs that need not be there; one's `client.compile` gives executables that cannot run here.

    config: `GpuTargetConfigProto` as text. topology: "1x1x1" is one GPU. The plugin comes with jax-cuda12-pjrt;
    JAX loads it where it is set to use CPUs only, and otherwise refuses it for want of CUDA.
    """
    import jax
    from jaxlib import _jax, xla_client

    jax.devices("cpu")  # lets JAX load its plugins first: it cannot once we have
    options = {"target_config": config, "topology": topology}
    if xla_client.pjrt_plugin_loaded("cuda"):
        return _jax.get_default_c_api_topology("cuda", "", options)._make_compile_only_devices()
    package = importlib.util.find_spec("jax_plugins.xla_cuda12")
    assert package is not None and package.submodule_search_locations, "jax-cuda12-pjrt is installed"
    library = os.path.join(package.submodule_search_locations[0], "xla_cuda_plugin.so")
    plugin = xla_client.load_pjrt_plugin_dynamically("cuda", library)
    return xla_client.make_c_api_device_topology(plugin, "", **options)._make_compile_only_devices()


def is_per_device() -> bool:
    """Whether what is being traced runs on each device, or for each member of a named axis: shard_map, pmap."""
    from jax._src import core

    return bool(cast(Any, core).get_axis_env().axis_sizes)


def gives_no_places(folder: str) -> None:
    """Let the places of operations that JAX records be of the code that calls what is in a folder."""
    from jax._src import source_info_util

    source_info_util.register_exclusion(os.path.join(folder, ""))


def without_references(jaxpr: Any) -> Any:
    """A closed jaxpr without the references that are made in it: each read is of the value last written."""
    from jax._src import core
    from jax._src.state.discharge import discharge_state

    if cast(Any, core).internal_mutable_array_effect not in jaxpr.effects:
        return jaxpr
    return discharge_state(jaxpr)
