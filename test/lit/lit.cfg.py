"""lit: the FileCheck tests. `pytest tests/test_lit.py` runs them, and so does `lit test/lit`.

The commands in RUN lines are those of the Python that runs lit, with this checkout's package.
"""

import importlib
import os
import pathlib
import shlex
import sys

import lit.formats
from jaxlib.mlir.dialects import stablehlo

ROOT = pathlib.Path(__file__).resolve().parents[2]


config.name = "scalify_hlo"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(ROOT / "test" / "lit")
config.test_exec_root = lit_config.params.get("exec_root", config.test_source_root)
config.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
if hasattr(stablehlo, "CollectiveReduceOp"):  # from jaxlib 0.12 on
    config.available_features.add("collective_reduce")
config.environment["JAX_PLATFORMS"] = "cpu"
commands = {
    "scalify-opt": ("scalify_hlo.tools.scalify_opt",),
    "scalify-check": ("scalify_hlo.tools.scalify_check",),
    "FileCheck": ("filecheck.main", "--enable-var-scope"),
}
if hasattr(os, "fork"):
    sys.path.insert(0, config.test_source_root)
    server = importlib.import_module("forked").Server([module for module, *_ in commands.values()], str(ROOT))
    sys.path.pop(0)
for command, words in commands.items():
    module, *arguments = words
    own_process = [sys.executable, "-c", f"from {module} import main; main()", *arguments]
    words = server.command(*words) if hasattr(os, "fork") else own_process
    # Not inside a path or a longer name.
    config.substitutions.append((rf"(?<![\w./-]){command}(?![\w.-])", shlex.join(words)))
