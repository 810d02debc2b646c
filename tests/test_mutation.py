"""Mutants are programs with one fault each, tests that reach one are found, and one that none catches is told."""

import dataclasses
import difflib
import pathlib
import sys

import pytest

from tests.mutation import (
    _CLOSEST,
    _FOLDERS,
    _SNAPSHOTS,
    ROOT,
    closest,
    in_a_function,
    mutants,
    order,
    reach,
    table,
    verdict,
)
from tests.mutation_plugin import Finder, faulty


@pytest.mark.parametrize("file", ["rewrites/control_flow.py", "scalify_hlo/size/moments.py"])
def test_every_mutant_is_a_program_that_differs_in_one_place(file: str) -> None:
    found = mutants(file)
    assert len(found) > 30
    text = (ROOT / file).read_text()
    for mutant in found[::7]:
        compile(mutant.source(), file, "exec")
        changed = [line for line in difflib.ndiff(text.splitlines(), mutant.source().splitlines()) if line[0] in "-+"]
        assert changed, mutant


def test_tests_of_every_file() -> None:
    assert all(pathlib.Path(ROOT / test).is_file() for tests in _CLOSEST.values() for test in tests)
    assert all(pathlib.Path(ROOT / test).exists() for test in _SNAPSHOTS)
    assert all(closest(f"{folder}/any.py") for folder in _FOLDERS)
    assert closest("rewrites/additive.py") == _CLOSEST["rewrites"]
    assert closest("rewrites/collectives.py") == _CLOSEST["rewrites/collectives.py"]


def test_a_fault_is_reached_and_caught_or_told() -> None:
    """With the processes that run for each, on one file of tests. What is no fault survives."""
    tests = ["tests/module/test_clips.py"]
    every = mutants("scalify_hlo/module/clips.py")
    fault = next(m for m in every if in_a_function(m) and m.old.startswith("not "))
    (reached,) = reach([fault], tests)
    assert reached and all(name.startswith(tests[0]) and seconds > 0 for name, seconds in reached)
    result = verdict(fault, reached, 60)
    assert result["outcome"] == "caught" and str(result["by"]).startswith(tests[0])
    assert verdict(fault, [], 60)["outcome"] == "unreached"
    same = dataclasses.replace(fault, new=fault.old)
    assert verdict(same, reached, 60)["outcome"] == "survives"


def test_a_fault_in_a_package_s_own_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finder went by the name of the file, which is no module's name there: such mutants were none."""
    package = tmp_path / "a_package_of_one_file"
    package.mkdir()
    (package / "__init__.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    code = {package / "__init__.py": lambda path: compile("value = 2\n", path, "exec")}
    monkeypatch.setattr(sys, "meta_path", [Finder(code), *sys.meta_path])
    import a_package_of_one_file  # type: ignore[import-not-found]

    assert a_package_of_one_file.value == 2


def test_quick_tests_of_every_file_come_first() -> None:
    reached = [("a.py::1", 3.0), ("a.py::2", 0.1), ("b.py::1", 1.0), ("b.py::2", 2.0), ("c.py::1", 50.0)]
    assert order(reached, 60) == (["a.py::2", "b.py::1"], ["c.py::1", "b.py::2", "a.py::1"])
    assert order(reached, 5) == (["a.py::2", "b.py::1", "b.py::2"], [])
    assert order(reached, 10) == (["a.py::2", "b.py::1", "b.py::2"], ["a.py::1"])
    assert order([("c.py::1", 50.0)], 10) == (["c.py::1"], [])
    assert order([], 60) == ([], [])


def test_the_table_counts_by_folder() -> None:
    results = [{"file": "rewrites/loops.py", "outcome": each} for each in ("caught", "caught", "survives", "unreached")]
    results.append({"file": "scalify_hlo/size/state.py", "outcome": "caught"})
    lines = [line.split() for line in table(results)]
    assert lines == [
        ["rewrites", "2", "of", "4", "50.0%"], ["scalify_hlo/size", "1", "of", "1", "100.0%"],
        ["all", "3", "of", "5", "60.0%"],
    ]  # fmt: skip


def test_a_finder_leaves_other_modules_alone() -> None:
    finder = faulty(mutants("rewrites/control_flow.py")[0])
    assert finder.find_spec("calendar", None) is None and finder.find_spec("a.control_flow", []) is None
