"""Rules of third parties: a distribution with an entry point in the group `scalify_hlo.rules`."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

PLUGIN = pathlib.Path(__file__).parent / "plugin" / "example_rules.py"
MODULE = """
func.func @main(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf16>) {
  %0 = stablehlo.custom_call @example.double(%x) : (tensor<4xf16>) -> tensor<4xf16>
  %1 = stablehlo.composite "example.square" %0 {decomposition = @square} : (tensor<4xf16>) -> tensor<4xf16>
  return %0, %1 : tensor<4xf16>, tensor<4xf16>
}
func.func private @square(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = stablehlo.multiply %x, %x : tensor<4xf16>
  return %0 : tensor<4xf16>
}
"""
PROGRAM = "import sys, scalify_hlo as sc; print(sc.rewrite_module(sys.stdin.read()))"


@pytest.fixture
def installed(tmp_path):
    """A directory laid out as pip lays out an installed distribution."""
    shutil.copy(PLUGIN, tmp_path)
    info = tmp_path / "example_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[scalify_hlo.rules]\nexample = example_rules\n")
    return tmp_path


def rewrite(*path, source=MODULE, command=("-c", PROGRAM)):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*map(str, path), *sys.path])}
    return subprocess.run([sys.executable, *command], input=source, text=True, capture_output=True,
                          env=environment, check=False)  # fmt: skip


def test_with_the_plugin(installed):
    done = rewrite(installed)
    assert done.returncode == 0, done.stderr
    # The scale goes through the one and is squared by the other; both see the data alone.
    assert "stablehlo.custom_call @example.double(%arg0)" in done.stdout
    assert 'stablehlo.composite "example.square" %0 {decomposition = @square}' in done.stdout
    assert "stablehlo.multiply %arg1, %arg1 : tensor<f32>" in done.stdout


def test_an_operation_with_the_rule_of_the_plugin(installed):
    logistic = """
func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = stablehlo.logistic %x : tensor<4xf16>
  return %0 : tensor<4xf16>
}
"""
    ours, theirs = rewrite(source=logistic), rewrite(installed, source=logistic)
    assert ours.returncode == theirs.returncode == 0
    assert "5.000000e-01" in theirs.stdout and "5.000000e-01" not in ours.stdout


def test_the_command_has_the_rules_of_the_plugin(installed):
    listed = rewrite(installed, command=["-m", "scalify_hlo.tools.scalify_opt", "--list-rules"]).stdout
    assert "1/2" in next(line for line in listed.splitlines() if "stablehlo.logistic" in line)
    done = rewrite(installed, command=["-m", "scalify_hlo.tools.scalify_opt", "-"])
    assert done.returncode == 0, done.stderr
    assert "stablehlo.custom_call @example.double(%arg0)" in done.stdout


def test_filecheck_as_the_docs_have_it(tmp_path):
    """The test in docs/extending.md passes, and fails for what the rule does not do."""
    pages = pathlib.Path(__file__).parents[2] / "docs" / "extending.md"
    source = re.search(r"^```mlir\n(.*?)^```", pages.read_text(), re.DOTALL | re.MULTILINE).group(1)
    command, rules, check = re.search(r"^// RUN: (\S+) %s (\S+) \| (\S+) %s$", source, re.MULTILINE).groups()
    assert (command, rules, check) == ("scalify-opt", "--load-rules=example_rules.py", "filecheck")
    rewritten = rewrite(
        command=["-m", "scalify_hlo.tools.scalify_opt", "-", f"--load-rules={PLUGIN}"], source=source
    ).stdout
    for text, code in ((source, 0), (source.replace("%arg1", "%arg0"), 1)):
        (tmp_path / "double.mlir").write_text(text)
        run = ["-c", "from filecheck.main import main; main()", str(tmp_path / "double.mlir")]
        assert rewrite(command=run, source=rewritten).returncode == code


def test_a_plugin_that_cannot_be_imported(installed):
    (installed / "example_rules.py").write_text("import nothing_of_that_name")
    done = rewrite(installed, command=["-m", "scalify_hlo.tools.scalify_opt", "-"])
    assert done.returncode != 0 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "plugin 'example' of example-rules (example_rules) cannot be loaded: ModuleNotFoundError" in line


OPT = ("-m", "scalify_hlo.tools.scalify_opt")


@pytest.mark.parametrize("source", ["example_rules.py", "example_rules"])
def test_rules_by_an_option(source):
    """A file, or a module that can be imported; before `--list-rules` too."""
    path, given = ([], PLUGIN) if source.endswith(".py") else ([PLUGIN.parent], source)
    done = rewrite(*path, command=[*OPT, "-", "--load-rules", str(given)])
    assert done.returncode == 0, done.stderr
    assert "stablehlo.custom_call @example.double(%arg0)" in done.stdout
    listed = rewrite(*path, command=[*OPT, "--load-rules", str(given), "--list-rules"]).stdout
    assert "example_rules.py:" in next(line for line in listed.splitlines() if "stablehlo.logistic" in line)


@pytest.mark.parametrize(
    ("text", "why"),
    [("1 +", "SyntaxError"), ("import nothing_of_that_name", "ModuleNotFoundError"), (None, "FileNotFoundError")],
)
def test_rules_by_an_option_that_cannot_be_loaded(tmp_path, text, why):
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    done = rewrite(command=[*OPT, "-", "--load-rules", str(file)])
    (line,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert done.returncode == 1 and f"the rules in {file} cannot be loaded: {why}" in line


def test_without_the_plugin():
    done = rewrite()
    assert done.returncode != 0
    assert "no scale rule for custom call 'example.double'" in done.stderr
