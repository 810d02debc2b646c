"""Faults put into rules and engine one by one: `python -m tests.mutation --sample 20 --seed 3 rewrites/loops.py`.

A mutant is a file with one small fault: a comparison, a sign or a condition turned round, a number one larger, a part
of a condition left out. The tests closest to the file run with it (a finder of modules gives it to them: no file
changes), and a mutant that they pass is a survivor, which is printed with its line. Snapshots are not among them.
The exit status is 1 if there are survivors. Without files: all of rewrites/, and of scalify_hlo/ what decides about a
program (_FOLDERS).

With --reached FILE some of the tests that reach a mutant's line run first, the others only if those pass. Which
tests reach which line is recorded in that file when it does not exist: that takes as long as all tests twice.
"""

import ast
import dataclasses
import importlib.abc
import importlib.machinery
import json
import os
import pathlib
import random
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import click
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
_VARIABLE = "SCALIFY_MUTANT"
_RECORD = "SCALIFY_REACHED"
_SECONDS = 300
# How many of the tests that reach a line run first.
_FIRST = 40
_OPS = ["tests/ops/test_growth.py", "tests/ops/test_branches_and_bounds.py", "tests/ops/test_rules.py",
        "tests/ops/test_regressions.py", "tests/fuzz/test_findings.py"]  # fmt: skip
_FOLDERS = (
    "rewrites", "scalify_hlo/analysis", "scalify_hlo/emit", "scalify_hlo/engine", "scalify_hlo/passes",
    "scalify_hlo/recognition", "scalify_hlo/size",
)  # fmt: skip
_LOOPS = ["tests/test_loops.py", "tests/test_settled_loops.py", "tests/test_state_in_loops.py", *_OPS]


def _tests_in(folder: str) -> list[str]:
    return sorted(str(p.relative_to(ROOT)) for p in ROOT.glob(f"{folder}/test_*.py"))


# The folder or file -> the tests closest to it; the longest name that fits decides.
_CLOSEST = {
    "rewrites": _OPS,
    "rewrites/composites.py": [*_OPS, "tests/frontend/test_primitives.py", "tests/frontend/test_custom_scale.py"],
    "rewrites/collectives.py": ["tests/ops/test_devices.py", "tests/ops/test_kept_scales.py"],
    "rewrites/loops.py": _LOOPS,
    "rewrites/carried_values.py": _LOOPS,
    "rewrites/control_flow.py": ["tests/ops/test_branches_and_bounds.py", "tests/ops/test_zero_scales.py"],
    "scalify_hlo/engine": _OPS,
    "scalify_hlo/analysis": [*_tests_in("tests/analysis"), *_OPS],
    "scalify_hlo/emit": [*_OPS, "tests/ops/test_zero_scales.py"],
    "scalify_hlo/passes": _tests_in("tests/passes"),
    "scalify_hlo/recognition": [*_tests_in("tests/recognition"), "tests/fuzz/test_findings.py"],
    "scalify_hlo/size": _tests_in("tests/size"),
    "scalify_hlo/module/dead_code.py": ["tests/module/test_dead_code.py"],
}
_TURNED: dict[type[ast.AST], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A fault: `old`, at these offsets of a file, replaced by `new`."""

    file: str
    start: int
    end: int
    line: int
    old: str
    new: str

    def source(self) -> str:
        text = (ROOT / self.file).read_bytes()
        return (text[: self.start] + self.new.encode() + text[self.end :]).decode()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' '.join(self.old.split())}  ->  {' '.join(self.new.split())}"


def mutants(file: str) -> list[Mutant]:
    """Every mutant of a file, in the order of the file."""
    data = (ROOT / file).read_bytes()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Mutant] = []
    for node in ast.walk(ast.parse(data)):
        if isinstance(node, ast.expr):
            assert node.end_lineno is not None and node.end_col_offset is not None
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            old = data[start:end].decode()
            found += [Mutant(file, start, end, node.lineno, old, new) for new in _faults(node)]
    return sorted(found, key=lambda m: (m.start, m.new))


def _faults(node: ast.expr) -> Iterator[str]:
    """What to put in the place of an expression, in brackets."""
    text = ast.unparse
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _TURNED:
            yield f"({text(left)} {_TURNED[type(operator)]} {text(right)})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _TURNED:
            yield f"({text(left)} {_TURNED[type(operator)]} {text(right)})"
        case ast.BoolOp(values=values):
            for i in range(len(values)):
                rest = [*values[:i], *values[i + 1 :]]
                yield f"({text(ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0])})"
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield f"({text(operand)})"
        case ast.IfExp(body=body, orelse=otherwise):
            yield f"({text(body)})"
            yield f"({text(otherwise)})"
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            yield f"{number + 1!r}"
        case _:
            pass


def closest(file: str) -> list[str]:
    """The tests of a file."""
    return _CLOSEST[max((name for name in _CLOSEST if file.startswith(name)), key=len)]


def survives(mutant: Mutant, reached: "Reached | None" = None) -> bool:
    """Whether the tests closest to a mutant's file pass with it. One that hangs does not survive."""
    near = reached.tests(mutant) if reached else []
    return (not near or _passes(mutant, near)) and _passes(mutant, closest(mutant.file))


def _passes(mutant: Mutant, tests: list[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "tests.mutation", "-p", "no:cacheprovider"]
    fault = "\n".join([mutant.file, str(mutant.start), str(mutant.end), mutant.new])
    try:
        finished = subprocess.run(
            [*command, *tests], cwd=ROOT, env={**os.environ, _VARIABLE: fault}, timeout=_SECONDS * len(tests),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return finished.returncode == 0


class Reached:
    """Which tests reach which lines: file -> line -> numbers of tests, recorded by a plugin of pytest."""

    def __init__(self, path: pathlib.Path):
        known = json.loads(path.read_text())
        self._names: list[str] = known["tests"]
        self._lines: dict[str, dict[str, list[int]]] = known["lines"]

    @staticmethod
    def of(path: pathlib.Path, tests: list[str]) -> "Reached":
        """What the file says; it is made first if there is none."""
        if not path.exists():
            command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutation", "-p", "no:cacheprovider", *tests]
            subprocess.run(command, cwd=ROOT, env={**os.environ, _RECORD: str(path.absolute())}, check=False)
        return Reached(path)

    def tests(self, mutant: Mutant) -> list[str]:
        """Tests that reach a mutant's line, of all that do as many as run first; none where that is not known."""
        found = self._lines.get(mutant.file, {}).get(str(mutant.line), [])
        drawn = random.Random(mutant.start).sample(found, min(_FIRST, len(found)))
        return [self._names[i] for i in drawn]


class _Recorder:
    """A plugin that notes the lines of the project that each test reaches."""

    def __init__(self, path: str):
        self._path = path
        self._tests: list[str] = []
        self._lines: dict[str, dict[int, list[int]]] = {}
        self._files: dict[str, str | None] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._tests.append(item.nodeid)
        sys.settrace(self._called)
        try:
            return (yield)
        finally:
            sys.settrace(None)

    def pytest_sessionfinish(self) -> None:
        pathlib.Path(self._path).write_text(json.dumps({"tests": self._tests, "lines": self._lines}))

    def _called(self, frame: types.FrameType, event: str, argument: object) -> Any:
        del event, argument
        name = frame.f_code.co_filename
        if name not in self._files:
            local = name.startswith(tuple(f"{ROOT}/{folder}/" for folder in ("rewrites", "scalify_hlo")))
            self._files[name] = str(pathlib.Path(name).relative_to(ROOT)) if local else None
        return self._reached if self._files[name] else None

    def _reached(self, frame: types.FrameType, event: str, argument: object) -> Any:
        del argument
        if event == "line":
            lines = self._lines.setdefault(self._files[frame.f_code.co_filename] or "", {})
            tests = lines.setdefault(frame.f_lineno, [])
            if not tests or tests[-1] != len(self._tests) - 1:
                tests.append(len(self._tests) - 1)
        return self._reached


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, mutant: Mutant):
        super().__init__(name, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> types.CodeType:  # not the compiled file beside the source
        del fullname
        return compile(self._mutant.source(), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    """Gives the mutant for its file."""

    def __init__(self, mutant: Mutant):
        self._mutant, self._path = mutant, ROOT / mutant.file

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.rpartition(".")[2] != self._path.stem:
            return None
        for finder in sys.meta_path:
            found = None if finder is self else finder.find_spec(fullname, path, target)
            if found is not None:
                if found.origin and pathlib.Path(found.origin).resolve() == self._path:
                    found.loader = _Loader(fullname, found.origin, self._mutant)
                return found
        return None


if _VARIABLE in os.environ:  # a plugin of pytest
    _file, _start, _end, _new = os.environ[_VARIABLE].split("\n", 3)
    sys.meta_path.insert(0, _Finder(Mutant(_file, int(_start), int(_end), 0, "", _new)))


def pytest_configure(config: pytest.Config) -> None:
    """The recorder, where it is asked for."""
    if _RECORD in os.environ:
        config.pluginmanager.register(_Recorder(os.environ[_RECORD]))


@click.command(help=__doc__)
@click.argument("files", nargs=-1)
@click.option("--sample", default=20, help="How many mutants, drawn from those of all files.")
@click.option("--seed", default=0, help="Of the sample.")
@click.option("--lines", default="", help="Of these lines alone: FIRST-LAST.")
@click.option("--reached", type=click.Path(path_type=pathlib.Path), help="Which tests reach which lines; see above.")
def main(files: tuple[str, ...], sample: int, seed: int, lines: str, reached: pathlib.Path | None) -> None:
    chosen = files or [str(p.relative_to(ROOT)) for folder in _FOLDERS for p in sorted((ROOT / folder).rglob("*.py"))]
    every = [mutant for file in chosen for mutant in mutants(file)]
    if lines:
        first, last = map(int, lines.split("-"))
        every = [mutant for mutant in every if first <= mutant.line <= last]
    drawn = random.Random(seed).sample(every, min(sample, len(every)))
    tests = sorted({test for mutant in drawn for test in closest(mutant.file)})
    known = Reached.of(reached, tests) if reached else None
    survivors = 0
    for mutant in drawn:
        if survives(mutant, known):
            survivors += 1
            click.echo(f"survives: {mutant}")
    click.echo(f"{len(drawn) - survivors} of {len(drawn)} mutants are caught (of {len(every)}; seed {seed})")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
