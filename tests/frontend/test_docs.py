"""The Python snippets of the documentation run, those of a page one after the other."""

import dataclasses
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest

import scalify_hlo as sc

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGES = ["frontend.md", "training.md", "extending.md", "precision.md"]
NOTEBOOKS = ["quickstart.ipynb"]


def run(program):
    """What a program prints that runs in a folder of its own."""
    command = [sys.executable, "-W", "error", "-c", program]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": str(DOCS.parent)}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_snippets(page):
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    run("\n".join(blocks))


def test_reference_is_up_to_date():
    done = subprocess.run([sys.executable, DOCS / "generate_api.py", "--check"], check=False)
    assert done.returncode == 0, "run: python docs/generate_api.py"


def test_what_the_readme_says_was_measured_is_in_the_result_files():
    done = subprocess.run([sys.executable, DOCS / "generate_measured.py", "--check"], check=False)
    assert done.returncode == 0, "run: python docs/generate_measured.py"


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_notebook(notebook):
    """Every cell runs and prints what is stored as its output."""
    content = json.loads((DOCS / notebook).read_text())
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    program = "\n".join(f"{''.join(cell['source'])}\nprint('\\x1e', end='')" for cell in cells)
    printed = run(program).split("\x1e")[:-1]
    stored = ["".join("".join(output["text"]) for output in cell["outputs"]) for cell in cells]
    assert printed == stored


@pytest.mark.parametrize("page", [*PAGES, "migration.md", "sharding.md"])
def test_links(page):
    for target in re.findall(r"\]\(([^)#]+)", (DOCS / page).read_text()):
        assert (DOCS / target).exists(), target


def test_reference_is_complete():
    """Every public name, and every option of the rewriting."""
    page = (DOCS / "api.md").read_text()
    documented = set(re.findall(r"^### (?:scalify_hlo\.)?([\w.]+)$|^`(?:scalify_hlo\.)?([\w.]+)`", page, re.MULTILINE))
    names = {first or second for first, second in documented}
    spaces = {name: value for name in sc.__all__ if inspect.ismodule(value := getattr(sc, name))}
    wanted = {name for name in sc.__all__ if name not in spaces and name != "__version__"}
    wanted |= {f"{space}.{name}" for space, module in spaces.items() for name in module.__all__}
    assert sorted(wanted - names) == []
    for field in dataclasses.fields(sc.ScalifyOptions):
        assert f"- `{field.name}`: " in page
