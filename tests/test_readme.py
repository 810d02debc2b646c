"""What README.md shows is what the tools do."""

import pathlib
import re

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
