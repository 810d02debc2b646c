"""The only module that imports JAX's and jaxlib's private MLIR bindings.

Everything else in the package takes `ir`, the dialects and the pass manager from here, so that a
change of the private API between jaxlib versions is mended in one place.
"""

from jax._src.interpreters import mlir as _jax_mlir
from jax._src.lib.mlir import ir, passmanager
from jax._src.lib.mlir.dialects import chlo, func
from jax._src.lib.mlir.dialects import hlo as stablehlo

__all__ = ["chlo", "func", "ir", "make_context", "passmanager", "stablehlo"]

_registered = False


def make_context() -> ir.Context:
    """A context with every dialect that JAX uses (stablehlo, chlo, func, sdy, mhlo, ...)."""
    global _registered
    if not _registered:
        stablehlo.register_stablehlo_passes()
        _registered = True
    return _jax_mlir.make_ir_context()
