"""Faults put into rules and engine one by one: `python -m tests.mutation --sample 100 --seed 3 --results FILE`.

A mutant is a file with one small fault: a comparison, a sign or a condition turned round, a number one larger, a part
of a condition left out. First the tests run once with a probe in the place of each fault that was drawn, which tells
which tests reach it (--reached keeps that for another run); then, for each mutant, the tests that reach it, the
quickest of each file first, until one fails or --seconds of them have passed without a complaint. A mutant that they
pass, or that none reaches, is a survivor, which is printed with its line. Tests that compare texts, and snapshots, are
not among them (_SNAPSHOTS), so what is caught is caught by a number or by the structure of a program.

With --results, a line of JSON for each mutant, a run that was cut off goes on where it was. The exit status is 1 if a
smaller part than --least is caught. Without files: all of rewrites/, and of scalify_hlo/ what decides about a program
(_FOLDERS). With --near, only the tests closest to the files of the mutants: minutes in the place of an hour.
"""

import ast
import collections
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

import click

from tests.mutation_plugin import FAULT, ROOT, WATCHED, Mutant, offsets

# Of the tests that reach a line, so many seconds' worth run first.
_FIRST = 5.0
# Texts and counts, not numbers or the structure of what a program computes; and what starts processes of its own, which
# see no fault.
_SNAPSHOTS = (
    "tests/test_lit.py", "tests/ops/test_write_filecheck.py", "tests/ops/test_operator_table.py",
    "tests/test_python_calls.py", "tests/test_example_text.py", "tests/test_architecture.py", "tests/test_mutation.py",
    "tests/test_demo_and_benchmarks.py", "tests/test_experiments.py", "tests/test_gpu_benchmark.py",
    "tests/test_device_examples.py", "tests/packaging", "tests/aot", "tests/fuzz/test_inputs.py",
    "tests/fuzz/test_files.py", "tests/libraries",
)  # fmt: skip
_OPS = ["tests/ops/test_growth.py", "tests/ops/test_branches_and_bounds.py", "tests/ops/test_rules.py",
        "tests/ops/test_regressions.py", "tests/ops/test_found_by_faults.py", "tests/size/test_moments.py",
        "tests/fuzz/test_findings.py"]  # fmt: skip
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
    "scalify_hlo/recognition": [
        *_tests_in("tests/recognition"),
        "tests/size/test_moments.py",
        "tests/fuzz/test_findings.py",
    ],
    "scalify_hlo/size": _tests_in("tests/size"),
    "scalify_hlo/module/dead_code.py": ["tests/module/test_dead_code.py"],
}
_TURNED: dict[type[ast.AST], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
}  # fmt: skip


def mutants(file: str) -> list[Mutant]:
    """Every mutant of a file, in the order of the file."""
    data = (ROOT / file).read_bytes()
    found: list[Mutant] = []
    tree = ast.parse(data)
    place = offsets(data)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            start, end = place(node)
            old = data[start:end].decode()
            found += [Mutant(file, start, end, node.lineno, old, new) for new in _faults(node)]
    return sorted(found, key=lambda m: (m.start, m.new))


def in_a_function(mutant: Mutant) -> bool:
    """Whether a fault is in what a function computes, not in what a module does when it is imported."""
    data = (ROOT / mutant.file).read_bytes()
    place = offsets(data)
    functions = (node for node in ast.walk(ast.parse(data)) if isinstance(node, ast.FunctionDef | ast.Lambda))
    bodies = (node.body if isinstance(node.body, list) else [node.body] for node in functions)
    for node in itertools.chain.from_iterable(ast.walk(part) for body in bodies for part in body):
        if isinstance(node, ast.expr) and place(node) == (mutant.start, mutant.end):
            return True
    return False


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


def reach(drawn: Sequence[Mutant], tests: Sequence[str]) -> list[list[tuple[str, float]]]:
    """For each mutant the tests that reach it, with their seconds. The tests run once."""
    with tempfile.TemporaryDirectory() as folder:
        watched = pathlib.Path(folder) / "watched.json"
        watched.write_text(json.dumps([vars(mutant) for mutant in drawn]))
        command = [*_PYTEST, "-n2", "--dist=worksteal", *(f"--ignore={each}" for each in _SNAPSHOTS), *tests]
        environment = {**os.environ, WATCHED: str(watched)}
        subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False)
        found: list[list[tuple[str, float]]] = [[] for _ in drawn]
        for part in pathlib.Path(folder).glob("watched.json.reached.*"):
            for k, named in json.loads(part.read_text()).items():
                found[int(k)] += [(name, seconds) for name, seconds in named if name]
        return found


def order(reached: Sequence[tuple[str, float]], seconds: float) -> tuple[list[str], list[str]]:
    """The tests that run first, and those that run after them: the quickest of each file, then the next of each."""
    files: dict[str, list[tuple[float, str]]] = collections.defaultdict(list)
    for name, needed in reached:
        files[name.partition("::")[0]].append((needed, name))
    rounds = itertools.zip_longest(*(sorted(each) for each in files.values()))
    first: list[str] = []
    later: list[str] = []
    used = 0.0
    for needed, name in (each for each_round in rounds for each in sorted(filter(None, each_round))):
        if used + needed <= seconds or not first:
            (first if used + needed <= _FIRST or not first else later).append(name)
            used += needed
    return first, later


_PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "tests.mutation_plugin", "-p", "no:cacheprovider")


def verdict(mutant: Mutant, reached: Sequence[tuple[str, float]], seconds: float) -> dict[str, object]:
    """What becomes of a mutant: the name of the test that catches it, or that none does."""
    begin = time.monotonic()
    # Of what a module does when it is imported the probe tells who imports it first.
    groups = order(reached, seconds) if in_a_function(mutant) else [closest(mutant.file)]
    batches = [tests for tests in groups if tests]
    caught = next(filter(None, (_failure(mutant, tests, seconds) for tests in batches)), None)
    outcome = "caught" if caught else "survives" if batches else "unreached"
    return {
        "mutant": str(mutant), "file": mutant.file, "outcome": outcome, "by": caught, "ran": sum(map(len, batches)),
        "reach": len(reached), "seconds": round(time.monotonic() - begin, 1),
    }  # fmt: skip


def _failure(mutant: Mutant, tests: Sequence[str], seconds: float) -> str | None:
    """The test that fails with a mutant, if one does. A run that hangs, or does not come to tests, is a failure too."""
    fault = "\n".join([mutant.file, str(mutant.start), str(mutant.end), mutant.new])
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.write("\n".join(tests))
        names.flush()
        try:
            finished = subprocess.run(
                [*_PYTEST, "-x", f"@{names.name}"], cwd=ROOT, env={**os.environ, FAULT: fault},
                timeout=120 + 4 * seconds, capture_output=True, text=True, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "does not end"
    if finished.returncode == 0:
        return None
    told = re.search(r"^(?:FAILED|ERROR) (\S+)", finished.stdout, re.MULTILINE)
    return told.group(1) if told else f"exit status {finished.returncode}"


def table(results: Sequence[dict[str, object]]) -> Iterator[str]:
    """How many are caught in each folder, and in all."""
    for folder in (*_FOLDERS, ""):
        of_folder = [each for each in results if str(each["file"]).startswith(folder)]
        caught = sum(each["outcome"] == "caught" for each in of_folder)
        if of_folder:
            yield f"{folder or 'all':26} {caught:4} of {len(of_folder):4}  {caught / len(of_folder):7.1%}"


@click.command(help=__doc__)
@click.argument("files", nargs=-1)
@click.option("--sample", default=20, help="How many mutants, drawn from those of all files.")
@click.option("--seed", default=0, help="Of the sample.")
@click.option("--lines", default="", help="Of these lines alone: FIRST-LAST.")
@click.option("--near", is_flag=True, help="Only the tests closest to the files of the mutants.")
@click.option("--seconds", default=60.0, show_default=True, help="Of the tests that reach a mutant.")
@click.option("--least", default=1.0, show_default=True, help="The part that is to be caught.")
@click.option("--reached", type=click.Path(path_type=pathlib.Path), help="Keeps which tests reach which mutants.")
@click.option("--results", type=click.Path(path_type=pathlib.Path), help="A line of JSON for each mutant; goes on.")
def main(
    files: tuple[str, ...], sample: int, seed: int, lines: str, near: bool, seconds: float, least: float,
    reached: pathlib.Path | None, results: pathlib.Path | None,
) -> None:  # fmt: skip
    chosen = files or [str(p.relative_to(ROOT)) for folder in _FOLDERS for p in sorted((ROOT / folder).rglob("*.py"))]
    every = [mutant for file in chosen for mutant in mutants(file)]
    if lines:
        first, last = map(int, lines.split("-"))
        every = [mutant for mutant in every if first <= mutant.line <= last]
    drawn = random.Random(seed).sample(every, min(sample, len(every)))
    tests = sorted({test for mutant in drawn for test in closest(mutant.file)}) if near else ["tests"]
    known = json.loads(reached.read_text()) if reached and reached.exists() else reach(drawn, tests)
    if reached:
        reached.write_text(json.dumps(known))
    told = {}
    if results and results.exists():
        told = {each["mutant"]: each for each in map(json.loads, results.read_text().splitlines())}
    for mutant, tests_of_it in zip(drawn, known, strict=True):
        if str(mutant) not in told:
            told[str(mutant)] = verdict(mutant, tests_of_it, seconds)
            if results:
                with results.open("a") as stream:
                    stream.write(json.dumps(told[str(mutant)]) + "\n")
    outcomes = [told[str(mutant)] for mutant in drawn]
    for each in outcomes:
        if each["outcome"] != "caught":
            click.echo(f"{each['outcome']}: {each['mutant']} ({each['ran']} of {each['reach']} tests)")
    caught = sum(each["outcome"] == "caught" for each in outcomes)
    click.echo("\n".join(table(outcomes)))
    click.echo(f"{caught} of {len(drawn)} mutants are caught (of {len(every)}; seed {seed})")
    sys.exit(1 if caught < least * len(drawn) else 0)


if __name__ == "__main__":
    main()
