"""Mutants are programs with one fault each, and the tests closest to their files exist."""

import difflib
import pathlib

import pytest

from tests.mutation import _CLOSEST, _FOLDERS, ROOT, closest, mutants


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
    assert all(closest(f"{folder}/any.py") for folder in _FOLDERS)
    assert closest("rewrites/additive.py") == _CLOSEST["rewrites"]
    assert closest("rewrites/collectives.py") == _CLOSEST["rewrites/collectives.py"]
