"""The command as a program: entry points, help, listings, and that no flag goes untested."""

import dataclasses
import importlib.metadata
import io
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tomllib

import click
import pytest
from scalify_hlo.tools.scalify_opt import main

from scalify_hlo import __main__ as commands
from scalify_hlo.__main__ import COMMANDS
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes import PASSES
from scalify_hlo.passes.option_text import field_help
from scalify_hlo.passes.textual import TEXTUAL_PASSES
from tests.cli.conftest import PROGRAM, Run

MODULE = [sys.executable, "-m", "scalify_hlo.tools.scalify_opt"]


def test_module_form_reads_stdin_and_writes_stdout():
    finished = subprocess.run([*MODULE], input=PROGRAM.encode(), capture_output=True, check=True)
    assert b'scalify.role = "scale"' in finished.stdout
    assert finished.stderr == b""


def test_script_is_installed(program_file: pathlib.Path, tmp_path: pathlib.Path):
    script = shutil.which("scalify-opt", path=str(pathlib.Path(sys.executable).parent))
    if script is None:
        pytest.skip("the package is not installed, only importable")
    target = tmp_path / "out.mlir"
    subprocess.run([script, program_file, "-o", target], check=True)
    assert 'scalify.role = "scale"' in target.read_text()


def test_start_up_does_not_import_jax():
    """Importing jax takes longer than everything else that the command does to a usual program."""
    code = "import scalify_hlo.tools.scalify_opt, scalify_hlo.rewrite, sys; print('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"


def test_version(opt: Run):
    text = opt("--version").text
    jax, jaxlib = (importlib.metadata.version(name) for name in ("jax", "jaxlib"))
    assert re.fullmatch(rf"scalify_hlo \d+\.\d+\.\d+ \(jax {jax}, jaxlib {jaxlib}, StableHLO \d+\.\d+\.\d+\)\n", text)


def test_help_has_every_option_and_pass(opt: Run):
    text = " ".join(opt("--help").text.split())
    for field in dataclasses.fields(ScalifyOptions):
        assert f"--{field.name.replace('_', '-')}" in text
        assert field_help(ScalifyOptions)[field.name].split()[0] in text
    for name in [*PASSES, *TEXTUAL_PASSES]:
        assert f"--{name}" in text


def test_every_option_has_help():
    for cls in [ScalifyOptions, *PASSES.values()]:
        for field in dataclasses.fields(cls):
            assert field_help(cls).get(field.name), f"{cls.__name__}.{field.name} needs a comment above it"


def test_list_passes(opt: Run):
    text = opt("--list-passes").text
    for name, each in PASSES.items():
        assert re.search(rf"^  {name}$", text, re.MULTILINE)
        for field in dataclasses.fields(each):
            assert f"{field.name.replace('_', '-')}=" in text
    assert "  canonicalize\n" in text


def test_list_rules(opt: Run):

    from scalify_hlo.rules import registry

    lines = opt("--list-rules").text.splitlines()
    listed = {line.split()[0]: line for line in lines if line.strip()}
    for op, rule in registry.rules().items():
        assert rule.family in listed[op]
    for op in registry.refusals():
        assert op in listed
    assert "homogeneous" in listed["stablehlo.negate"]
    assert "rewrites/homogeneous.py:" in listed["stablehlo.negate"]
    for name in (*registry.MARKERS, *registry.TARGETS):
        assert re.search(r"\w+\.py:\d+$", listed[name])


def test_a_second_public_function_is_left_with_a_remark(opt: Run):
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
    func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }"""
    done = opt("-", stdin=text)
    assert "4:5: remark: public function @other is left as it is: the module is called through @main" in done.stderr
    assert "@other(%arg0: tensor<4xf32>) -> tensor<4xf32>" in done.text


def test_statistics_of_f16_programs_are_computed_in_f32_or_in_their_own_type(opt: Run):
    text = """func.func @main(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %wide = stablehlo.convert %x : (tensor<4x8xf16>) -> tensor<4x8xf32>
      %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
      %narrow = stablehlo.convert %sum : (tensor<4xf32>) -> tensor<4xf16>
      %root = stablehlo.rsqrt %narrow : tensor<4xf16>
      %all = stablehlo.broadcast_in_dim %root, dims = [0] : (tensor<4xf16>) -> tensor<4x8xf16>
      %y = stablehlo.multiply %x, %all : tensor<4x8xf16>
      return %y : tensor<4x8xf16>
    }"""
    element = {}
    for choice in ("f32", "own"):
        lines = opt("-", f"--statistics={choice}", stdin=text).text.splitlines()
        (root,) = [line for line in lines if "stablehlo.rsqrt" in line]
        element[choice] = root.split("x")[-1].rstrip("> ")
    assert element == {"f32": "f32", "own": "f16"}


def test_sizes_are_printed_beside_the_output(opt):
    """--print-sizes: one remark for each value of the input, with its place; the output is what it would be."""
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.sqrt %x : tensor<4xf32>
      return %y : tensor<4xf32>
    }"""
    shown = opt("-", "--print-sizes", stdin=text)
    size = "s0^0.5 rms=1 mean=0.798 nonnegative; 2^0.0 with all sources of size 1"
    assert f"2:12: remark: stablehlo.sqrt: {size}" in shown.stderr
    assert shown.text == opt("-", stdin=text).text


def test_scales_of_results_leave_in_one_kernel_or_each_by_itself(opt):
    arguments = ", ".join(f"%{name}: tensor<4xf32>" for name in "abcd")
    types = ", ".join(["tensor<4xf32>"] * 4)
    text = f"func.func @main({arguments}) -> ({types}) {{\n  return %a, %b, %c, %d : {types}\n}}"
    assert "stablehlo.reduce(" in opt("-", "--vector-scales", stdin=text).text
    assert "stablehlo.reduce(" not in opt("-", "--no-vector-scales", stdin=text).text


def test_no_flag_goes_untested():
    """Every flag occurs in a test of this folder."""
    tests = "\n".join(path.read_text() for path in pathlib.Path(__file__).parent.glob("*.py"))
    flags = [opt for each in main.params if isinstance(each, click.Option) for opt in each.opts + each.secondary_opts]
    flags.remove("--verify-each")  # the default; --no-verify-each is tested
    assert [flag for flag in flags if flag not in tests] == []


def test_names_of_weights_need_a_precision(opt: Run):
    """What they do with one: tests/serving/test_presets.py."""
    assert "give --precision as well" in opt("--weights=params*", stdin=PROGRAM).error_line()


def test_packed_scales(opt: Run):
    """What a program with them takes and returns: tests/passes/test_pack_scales.py."""
    assert 'scalify.role = "scales"' in opt("--pack-scales", stdin=PROGRAM).text
    assert 'scalify.role = "scales"' in opt("--pack-scales", "--precision=fp16", stdin=PROGRAM).text
    assert opt("--mark-state", stdin=PROGRAM).output == opt(stdin=PROGRAM).output  # no state
    assert "--pin-scales leaves no scales" in opt("--pack-scales", "--pin-scales=x.json", stdin=PROGRAM).error_line()
    for pipeline in ("--scalify", "--pass-pipeline=builtin.module(scalify)"):
        assert "--pack-scales adds a pass" in opt("--pack-scales", pipeline, stdin=PROGRAM).error_line()


def test_a_guard_needs_scales_to_guard(opt: Run):
    """What it does with them: tests/passes/test_guard.py."""
    assert "give --pin-scales=FILE as well" in opt("--guard", stdin=PROGRAM).error_line()


def completions(words: str) -> list[str]:
    """What bash offers for the last of the words."""
    environment = os.environ | {
        "_SCALIFY_OPT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1),
    }  # fmt: skip
    done = subprocess.run(MODULE, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_shells_complete_flags_passes_presets_and_files():
    assert "plain,--scalify-cast" in completions("scalify-opt --scalify-c")
    assert "plain,fp8" in completions("scalify-opt --precision fp")
    assert completions("scalify-opt in.ml")[0].startswith("file,")
    assert completions("scalify-opt -o out")[0].startswith("file,")


def test_python_m_runs_every_command(program_file: pathlib.Path):
    scripts = tomllib.loads((pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]
    started = {f"scalify-{name}": f"scalify_hlo.__main__:{name.replace('-', '_')}" for name in COMMANDS}
    assert started == scripts
    for name in COMMANDS:
        assert getattr(commands, name.replace("-", "_")).args == (name,)

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "scalify_hlo", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run("opt", program_file).stdout == run("scalify-opt", program_file).stdout != ""
    assert all(name in run().stdout for name in COMMANDS)
    wrong = run("otp")
    assert (wrong.returncode, wrong.stdout) == (2, "") and "there is no command 'otp'" in wrong.stderr


@pytest.mark.parametrize("module", ["scalify_hlo.tools", "scalify_hlo.bindings", "scalify_hlo.tools.scalify_opt"])
@pytest.mark.parametrize("start", ["from scalify_hlo.__main__ import opt; opt()", "runpy.run_module('scalify_hlo')"])
def test_an_interrupt_while_modules_are_imported(module: str, start: str):
    """It was Python's traceback in the first second, which is that of the imports."""
    code = f"""
import os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell starts in the background
class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = {["opt", "--version"] if "runpy" in start else ["--version"]}
{start.replace("')", "', run_name='__main__')")}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "scalify-opt: interrupted\n")


def test_interrupts_are_python_s_own_when_a_command_runs(monkeypatch: pytest.MonkeyPatch):
    """Which click, and the process that watches a command, know."""
    handlers: list[object] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(
        "scalify_hlo.tools.scalify_opt.main", lambda _: handlers.append(signal.getsignal(signal.SIGINT))
    )
    try:
        commands.run("opt", [])
    finally:
        signal.signal(signal.SIGINT, before)
    assert handlers == [signal.default_int_handler]


def test_python_m_is_quiet_where_nobody_reads():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "scalify_hlo"], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_summaries_of_passes_are_whole_sentences():
    """`--help` shows the first line of each."""
    from scalify_hlo.tools.listings import pass_flags_help

    assert [flag for flag, text in pass_flags_help() if not text.endswith(".")] == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_stages_are_told_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch):
    """What was quick leaves nothing on it."""
    from scalify_hlo.tools import progress

    for stream, seconds, shown in ((Terminal(), 2.0, "c: work ... 2.0 s\n"), (Terminal(), 0.5, progress._ERASE),
                                   (io.StringIO(), 2.0, "")):  # fmt: skip
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        clock = iter((0.0, seconds))
        monkeypatch.setattr(progress.time, "monotonic", lambda clock=clock: next(clock))
        assert progress.Stages("c").run("work", lambda: 3) == 3
        assert stream.getvalue().endswith(shown) and bool(stream.getvalue()) == bool(shown)


def test_transposed_weights_are_those_of_a_pinned_module(opt: Run):
    """What it does with them: tests/passes/test_store_weights.py."""
    assert "give --pin-scales=FILE" in opt("--transpose-weights", stdin=PROGRAM).error_line()
