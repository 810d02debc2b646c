"""Faults put into rules and engine one by one: `python -m tests.mutation --sample 20 --seed 3 rewrites/loops.py`.

A mutant is a file with one small fault: a comparison, a sign or a condition turned round, a number one larger, a part
of a condition left out. The tests closest to the file run with it (a finder of modules gives it to them: no file
changes), and a mutant that they pass is a survivor, which is printed with its line. Snapshots are not among them.
The exit status is 1 if there are survivors. Without files: all of rewrites/, scalify_hlo/engine and scalify_hlo/size.
"""

import ast
import dataclasses
import importlib.abc
import importlib.machinery
import os
import pathlib
import random
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence

import click

ROOT = pathlib.Path(__file__).resolve().parents[1]
_VARIABLE = "SCALIFY_MUTANT"
_SECONDS = 300
_OPS = ["tests/ops/test_branches_and_bounds.py", "tests/ops/test_rules.py", "tests/ops/test_regressions.py"]
# The folder or file -> the tests closest to it; the longest name that fits decides.
_CLOSEST = {
    "rewrites": _OPS,
    "rewrites/collectives.py": ["tests/ops/test_devices.py"],
    "rewrites/control_flow.py": ["tests/ops/test_branches_and_bounds.py", "tests/ops/test_zero_scales.py"],
    "scalify_hlo/engine": _OPS,
    "scalify_hlo/size": ["tests/size/test_laws.py", "tests/size/test_polynomials.py"],
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


def survives(mutant: Mutant) -> bool:
    """Whether the tests closest to a mutant's file pass with it. One that hangs does not survive."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "tests.mutation", "-p", "no:cacheprovider"]
    fault = "\n".join([mutant.file, str(mutant.start), str(mutant.end), mutant.new])
    try:
        finished = subprocess.run(
            [*command, *closest(mutant.file)], cwd=ROOT, env={**os.environ, _VARIABLE: fault}, timeout=_SECONDS,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return finished.returncode == 0


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


@click.command(help=__doc__)
@click.argument("files", nargs=-1)
@click.option("--sample", default=20, help="How many mutants, drawn from those of all files.")
@click.option("--seed", default=0, help="Of the sample.")
@click.option("--lines", default="", help="Of these lines alone: FIRST-LAST.")
def main(files: tuple[str, ...], sample: int, seed: int, lines: str) -> None:
    folders = ("rewrites", "scalify_hlo/engine", "scalify_hlo/size")
    chosen = files or [str(p.relative_to(ROOT)) for folder in folders for p in sorted((ROOT / folder).rglob("*.py"))]
    every = [mutant for file in chosen for mutant in mutants(file)]
    if lines:
        first, last = map(int, lines.split("-"))
        every = [mutant for mutant in every if first <= mutant.line <= last]
    drawn = random.Random(seed).sample(every, min(sample, len(every)))
    survivors = 0
    for mutant in drawn:
        if survives(mutant):
            survivors += 1
            click.echo(f"survives: {mutant}")
    click.echo(f"{len(drawn) - survivors} of {len(drawn)} mutants are caught (of {len(every)}; seed {seed})")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
