"""The documentation site: `make docs`."""

import importlib.metadata
import os
import pathlib
import sys

project = "scalify_hlo"
author = "The scalify_hlo authors"
copyright = "The scalify_hlo authors"  # noqa: A001 - Sphinx's name
release = importlib.metadata.version("scalify_hlo")

extensions = ["myst_nb", "sphinx.ext.intersphinx"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Links to files of the repository that are no pages stay what they are on the repository's host.
myst_all_links_external = False
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"  # what libraries warn of on the machine that builds
os.environ["JAX_PLATFORMS"] = "cpu"
# Commands in cells are those of this environment.
os.environ["PATH"] = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", "")])
# Nothing is looked up in other projects' inventories unless a page refers to one: builds need no network.
intersphinx_mapping: dict[str, tuple[str, None]] = {}

html_theme = "furo"
html_title = "scalify_hlo"
exclude_patterns = ["jupyter_execute", "_build", "_generated"]
suppress_warnings = ["misc.highlighting_failure"]  # MLIR has no lexer

sys.path.insert(0, str(pathlib.Path(__file__).parent))
__import__("generate_commands").write()
