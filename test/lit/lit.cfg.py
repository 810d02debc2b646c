"""lit: the FileCheck tests. `pytest tests/test_lit.py` runs them, and so does `lit test/lit`.

The commands in RUN lines are those of the Python that runs lit, with this checkout's package.
"""

import os
import pathlib
import shlex
import sys

import lit.formats
from jaxlib.mlir.dialects import stablehlo

ROOT = pathlib.Path(__file__).resolve().parents[2]


def python_module(name: str) -> str:
    return f"{shlex.quote(sys.executable)} -m {name}"


config.name = "scalify_hlo"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(ROOT / "test" / "lit")
config.test_exec_root = lit_config.params.get("exec_root", config.test_source_root)
config.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
if hasattr(stablehlo, "CollectiveReduceOp"):  # from jaxlib 0.12 on
    config.available_features.add("collective_reduce")
config.environment["JAX_PLATFORMS"] = "cpu"
for command, module in {
    "scalify-opt": "scalify_hlo.tools.scalify_opt",
    "scalify-check": "scalify_hlo.tools.scalify_check",
    "FileCheck": "filecheck --enable-var-scope",
}.items():
    # Not inside a path or a longer name.
    config.substitutions.append((rf"(?<![\w./-]){command}(?![\w.-])", python_module(module)))
