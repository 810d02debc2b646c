"""Settings of the tests: those that have to be made before JAX is imported, and what tests of a process share."""

import importlib.metadata
import os

# Most of the tests' time XLA compiles kernels that run once: LLVM need not optimise them, and MLIR need not emit them.
_flags = "--xla_backend_optimization_level=0"
if importlib.metadata.version("jaxlib").startswith("0.10."):  # later ones end the process on a flag that is gone
    _flags += " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
os.environ.setdefault("XLA_FLAGS", _flags)


def pytest_collection_finish() -> None:
    from tests.shared_work import share

    share()
