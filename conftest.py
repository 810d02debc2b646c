"""Settings of the tests that have to be made before JAX is imported."""

import os

# Most of the tests' time XLA compiles kernels that run once: LLVM need not optimise them, and MLIR need not emit them.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
)
