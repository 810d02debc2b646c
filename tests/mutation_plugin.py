"""A plugin of pytest for tests/mutation.py: gives the tests a module with a fault, or notes which tests reach one.

No file changes: a finder of modules compiles another text in the place of a file's. The faults that are to be watched
or put in come in environment variables, so that processes of pytest-xdist have them too.
"""

import ast
import builtins
import dataclasses
import importlib.abc
import importlib.machinery
import json
import os
import pathlib
import sys
import time
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.four_devices import FAULT, PROBE, WATCHED

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What a run of an hour has found so far is there when it is ended.
_SECONDS_BETWEEN = 20.0


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


def offsets(data: bytes) -> Callable[[ast.expr], tuple[int, int]]:
    """Where expressions of a text begin and end, in bytes."""
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def of(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    return of


class _Probes(ast.NodeTransformer):
    """Puts `(probe(k), x)[1]` in the place of the expression x that mutant k changes."""

    def __init__(self, data: bytes, watched: dict[tuple[int, int], list[int]]):
        self._offsets, self._watched = offsets(data), watched

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        if not isinstance(node, ast.expr):
            return node
        for k in self._watched.get(self._offsets(node), ()):
            probe = ast.Call(ast.Name(PROBE, ast.Load()), [ast.Constant(k)], [])
            node = ast.Subscript(ast.Tuple([probe, node], ast.Load()), ast.Constant(1), ast.Load())
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.MatchValue:
        return node  # a pattern is no expression that could be computed


class Recorder:
    """Notes which of the watched mutants each test that passes reaches, and how long it takes.

    What is reached outside of tests, while modules are imported, has the name "".
    """

    def __init__(self, path: str):
        self._path = pathlib.Path(path)
        self._reached: set[int] = set()
        self._tests: dict[int, list[tuple[str, float]]] = {}
        self._written = time.monotonic()
        setattr(builtins, PROBE, self._reached.add)

    def _note(self, name: str, seconds: float) -> None:
        for k in self._reached:
            self._tests.setdefault(k, []).append((name, round(seconds, 3)))
        self._reached.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._note("", 0.0)
        self._passed, self._seconds = True, 0.0
        result = yield
        if self._passed:
            self._note(item.nodeid, self._seconds)
        self._reached.clear()
        if time.monotonic() - self._written > _SECONDS_BETWEEN:
            self._write()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._passed = self._passed and report.passed
        self._seconds += report.duration

    def pytest_sessionfinish(self) -> None:
        self._note("", 0.0)
        self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        name = os.environ.get("PYTEST_XDIST_WORKER", "main")
        self._path.with_name(f"{self._path.name}.{name}").write_text(json.dumps(self._tests))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: Callable[[str], types.CodeType]):
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> types.CodeType:  # not the compiled file beside the source
        del fullname
        return self._code(self.path)


class Finder(importlib.abc.MetaPathFinder):
    """Gives other code in the place of some files' own."""

    def __init__(self, code: dict[pathlib.Path, Callable[[str], types.CodeType]]):
        self._code = code
        self._names = {path.parent.name if path.stem == "__init__" else path.stem for path in code}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.rpartition(".")[2] not in self._names:
            return None
        for finder in sys.meta_path:
            found = None if finder is self else finder.find_spec(fullname, path, target)
            if found is not None:
                code = self._code.get(pathlib.Path(found.origin).resolve()) if found.origin else None
                if code is not None and found.origin:
                    found.loader = _Loader(fullname, found.origin, code)
                return found
        return None


def faulty(mutant: Mutant) -> Finder:
    """A finder that gives the mutant for its file."""
    return Finder({ROOT / mutant.file: lambda path: compile(mutant.source(), path, "exec")})


def watching(mutants: Sequence[Mutant]) -> Finder:
    """A finder that gives files in which a probe stands where each mutant's fault would be."""
    places: dict[str, dict[tuple[int, int], list[int]]] = {}
    for k, mutant in enumerate(mutants):
        places.setdefault(mutant.file, {}).setdefault((mutant.start, mutant.end), []).append(k)

    def probed(watched: dict[tuple[int, int], list[int]]) -> Callable[[str], types.CodeType]:
        def code(path: str) -> types.CodeType:
            data = pathlib.Path(path).read_bytes()
            tree = _Probes(data, watched).visit(ast.parse(data))
            return compile(ast.fix_missing_locations(tree), path, "exec")

        return code

    return Finder({ROOT / file: probed(watched) for file, watched in places.items()})


def pytest_configure(config: pytest.Config) -> None:
    """The recorder, where one is asked for; the process that only hands out tests runs none."""
    if WATCHED in os.environ and not getattr(config.option, "numprocesses", None):
        config.pluginmanager.register(Recorder(os.environ[WATCHED] + ".reached"))


def _install() -> None:
    if FAULT in os.environ:
        file, start, end, new = os.environ[FAULT].split("\n", 3)
        sys.meta_path.insert(0, faulty(Mutant(file, int(start), int(end), 0, "", new)))
    if WATCHED in os.environ:
        watched = json.loads(pathlib.Path(os.environ[WATCHED]).read_text())
        setattr(builtins, PROBE, lambda _: None)
        sys.meta_path.insert(0, watching([Mutant(**each) for each in watched]))


_install()
