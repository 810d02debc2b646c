"""What README.md shows is what the tools do."""

import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

import scalify_hlo
from scalify_hlo.bindings import ir, make_context

ROOT = pathlib.Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def block(name: str) -> str:
    """The code block behind `<!-- name -->`."""
    match = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert match, name
    return match[1]


def test_the_example_is_what_the_rewriter_gives():
    context = make_context()
    shown = ir.Module.parse(block("after"), context=context)
    given = ir.Module.parse(scalify_hlo.rewrite_module(block("before")), context=context)
    assert str(shown) == str(given)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"scalify_hlo\.(\w+)\(", README))))
def test_functions_that_are_named_exist(name: str):
    assert callable(getattr(scalify_hlo, name))


def test_make_targets_that_are_named_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"^make (\w+)", README, re.MULTILINE)):
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target


def test_flags_that_are_named_exist():
    from scalify_hlo.tools.scalify_opt import main

    from scalify_hlo.passes.textual import TEXTUAL_PASSES

    known = {flag for each in main.params for flag in each.opts} | {f"--{name}" for name in TEXTUAL_PASSES}
    known |= {"--scalify", "--help"}
    named = re.findall(r"--[a-z][a-z-]*", "\n".join(re.findall(r"scalify-opt.*|`--.*?`", README)))
    assert set(named) <= known


def test_the_training_loop_trains():
    program = block("training") + "\nprint(params['a'].dtype, state[0]['a'].data.dtype)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    loss, types = done.stdout.splitlines()
    # sin of a unit Gaussian has a mean square of 0.43: that is the loss of a model that has learned nothing.
    assert float(loss) < 0.38 and types == "float32 float16"


def test_commands_that_are_named_exist():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert set(re.findall(r"\bscalify-(?:opt|explain|check|cost|health|calibrate|pack|compare)\b", README)) <= set(
        scripts
    )


def test_files_that_are_linked_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
