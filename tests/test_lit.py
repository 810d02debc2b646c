"""Runs the FileCheck tests of test/lit, and checks that each of them can fail."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

LIT = pathlib.Path(__file__).parents[1] / "test" / "lit"
FILES = sorted(LIT.rglob("*.mlir"))
RUN_LIT = [sys.executable, "-c", "from lit.main import main; main()"]
FOLDERS = sorted({path.parent for path in FILES})


def relative(path: pathlib.Path) -> str:
    return str(path.relative_to(LIT))


@pytest.mark.parametrize("folder", FOLDERS, ids=relative)
def test_folder(folder: pathlib.Path, tmp_path: pathlib.Path):
    """All files of one folder, in one run of lit."""
    files = [str(path) for path in FILES if path.parent == folder]
    report = tmp_path / "report.json"
    command = [*RUN_LIT, "--output", str(report), "-D", f"exec_root={tmp_path}", "-v", *files]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    results = json.loads(report.read_text())["tests"]
    assert [each["name"] for each in results if each["code"] not in ("PASS", "UNSUPPORTED")] == []
    assert len(results) == len(files)


def run_lines(text: str) -> list[str]:
    """The commands of a file's RUN lines, continuation lines joined."""
    commands = re.findall(r"^// RUN: (.*)$", text, re.MULTILINE)
    return re.sub(r"\\\n\s*", "", "\n".join(commands)).splitlines()


def prefixes(commands: list[str]) -> set[str]:
    """The check prefixes that the commands use."""
    chosen = (re.findall(r"--check-prefix[ =](\S+)", command) or ["CHECK"] for command in commands)
    return {prefix for group in chosen for prefix in group}


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_hygiene(path: pathlib.Path):
    """The RUN lines reach FileCheck on the file itself, and there is something to check, robustly."""
    text = path.read_text()
    commands = run_lines(text)
    assert commands, "no RUN line"
    for command in commands:
        checked = re.search(r"\| FileCheck [^|]*%s", command)
        verified = "--verify-diagnostics" in command
        assert checked or verified, f"this RUN line reaches neither FileCheck nor --verify-diagnostics: {command}"
        assert "%s" in command.partition("|")[0], f"this RUN line does not read the file: {command}"
    checking = [command for command in commands if "FileCheck" in command]
    used = prefixes(checking)
    written = set(re.findall(r"^\s*// (\w+)(?:-[A-Z]+)?:", text, re.MULTILINE)) - {"RUN", "REQUIRES", "TODO", "NOTE"}
    if checking:
        assert used == written & (used | {word for word in written if word.isupper()}), (
            "check prefixes differ from RUN's"
        )
        for prefix in used:
            assert f"// {prefix}-LABEL:" in text, f"no {prefix}-LABEL"
    if any("--verify-diagnostics" in command for command in commands):
        assert re.search(r"expected-(error|warning|remark)", text), "nothing is expected"
    checks = [line for line in text.splitlines() if re.match(rf"\s*// (?:{'|'.join(used)})[A-Z-]*:", line)]
    for line in checks:
        assert not re.search(r"%\d|%arg\d|%cst", line), f"a printed value name; capture it instead: {line}"


def lit_on(program: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """lit, with this project's settings, on a file elsewhere."""
    (program.parent / "lit.cfg.py").write_text(
        f"lit_config.load_config(config, {str(LIT / 'lit.cfg.py')!r})\n"
        f"config.test_source_root = config.test_exec_root = {str(program.parent)!r}\n"
    )
    return subprocess.run([*RUN_LIT, "-v", str(program)], capture_output=True, text=True, check=False)


def test_a_wrong_check_fails(tmp_path: pathlib.Path):
    """The set-up itself can fail: a check that does not hold makes lit fail."""
    wrong = tmp_path / "wrong.mlir"
    wrong.write_text(
        "// RUN: scalify-opt %s | FileCheck %s\n// CHECK-LABEL: @main\n// CHECK: stablehlo.tanh\n"
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}\n"
    )
    finished = lit_on(wrong)
    assert finished.returncode == 1
    assert "stablehlo.tanh" in finished.stdout


def test_commands_end_as_their_own_processes_would(tmp_path: pathlib.Path):
    """What lit runs in forks of one process: standard streams, messages, and exit statuses."""
    failing = tmp_path / "failing.mlir"
    failing.write_text(
        f"// RUN: not scalify-opt {tmp_path / 'missing.mlir'} 2>&1 | FileCheck %s\n"
        "// RUN: scalify-opt < %s | FileCheck --check-prefix=OUT %s\n"
        "// RUN: scalify-opt --no-such-option %s\n"
        "// CHECK: missing.mlir:1:1: error:\n// OUT-LABEL: func.func public @main\n"
        "func.func public @main() {\n  return\n}\n"
    )
    finished = lit_on(failing)
    assert finished.returncode == 1
    assert finished.stdout.count("command failed") == 1, finished.stdout
    assert "command failed with exit status: 2" in finished.stdout
    assert "No such option" in finished.stdout
