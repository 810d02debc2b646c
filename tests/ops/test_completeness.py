"""Every operation of stablehlo and chlo has a rule, a refusal or a place in the list of those that no scale reaches;
every rule has a numeric and a FileCheck test.
"""

import functools
import pathlib
import re

import pytest

from scalify_hlo.bindings import chlo, stablehlo
from scalify_hlo.rules.registry import refusals, rules, unscaled_operations
from tests.ops.programs import PROGRAMS

_LIT = pathlib.Path(__file__).resolve().parents[2] / "test" / "lit" / "rewrites"
# Dialects that have a few operations with rules, not all of theirs.
_OTHER_DIALECTS = ("func.", "sdy.")


def operations_of(dialect: object) -> set[str]:
    """Names of all operations of a dialect, from the generated classes."""
    found = {getattr(each, "OPERATION_NAME", "") for each in vars(dialect).values() if isinstance(each, type)}
    return found - {""}


# Operations that not all supported jaxlibs have; the first that has each.
NEWER = {"stablehlo.collective_reduce": "0.12"}


@functools.cache
def all_operations() -> set[str]:
    return operations_of(stablehlo) | operations_of(chlo) | set(NEWER)


def test_the_dialects_are_enumerated() -> None:
    assert len(operations_of(stablehlo)) >= 117
    assert len(operations_of(chlo)) >= 50


@pytest.mark.parametrize("op", sorted(all_operations()))
def test_every_operation_is_ruled_refused_or_listed(op: str) -> None:
    places = [table for table in (rules(), refusals(), unscaled_operations()) if op in table]
    assert places, f"'{op}' has no rule (scalify_hlo.rules.registry.rule), no refusal and is not listed as never scaled"
    assert len(places) == 1, f"'{op}' is in more than one table"


def test_the_tables_name_operations_that_exist() -> None:
    named = {*rules(), *refusals(), *unscaled_operations()}
    assert {op for op in named - all_operations() if not op.startswith(_OTHER_DIALECTS)} == set()


def test_every_refusal_and_every_exception_gives_a_reason() -> None:
    for each in (*refusals().values(), *unscaled_operations().values()):
        assert each.reason, each.op
    for rule in rules().values():
        assert rule.law, rule.op
        assert rule.scale, rule.op
        assert rule.exact or rule.note, f"{rule.op} is not exact; its note must say why"


@pytest.mark.parametrize("op", sorted(rules()))
def test_every_rule_has_a_numeric_test(op: str) -> None:
    if op in NEWER and op not in operations_of(stablehlo):
        pytest.skip(f"jaxlib has it from {NEWER[op]} on")
    assert any(program.op == op for program in PROGRAMS), f"add a row for '{op}' to tests/ops/programs/"


def test_names_of_programs_are_unique() -> None:
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names))


@functools.cache
def _checked_operations() -> set[str]:
    """Every operation in the inputs of the FileCheck tests."""
    found: set[str] = set()
    for path in sorted(_LIT.glob("*.mlir")):
        for line in path.read_text().splitlines():
            code = line.partition("//")[0]
            found.update(re.findall(r'"?((?:stablehlo|chlo|sdy|func)\.[\w-]+)"?', code))
            if re.search(r"= call @|^\s*call @", code):
                found.add("func.call")
    return found


@pytest.mark.parametrize("op", sorted(rules()))
def test_every_rule_has_a_filecheck_test(op: str) -> None:
    assert op in _checked_operations(), f"add a function for '{op}' to test/lit/rewrites/"
