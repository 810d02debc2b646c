"""docs/operators.md is what the registry says."""

import pathlib
import re

from scalify_hlo.tools.operators import operator_table

from scalify_hlo.bindings import chlo, stablehlo
from scalify_hlo.rules.registry import refusals, rules, unscaled_operations
from tests.ops.test_completeness import NEWER, operations_of

_DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operators.md"


def test_the_document_is_up_to_date() -> None:
    assert _DOCUMENT.read_text() == operator_table(), (
        "docs/operators.md is stale: run python -m scalify_hlo.tools.operators -o docs/operators.md"
    )


def test_every_operation_has_one_line() -> None:
    listed = re.findall(r"^\| `([\w.-]+)` \|", operator_table().partition("## Homogeneous")[2], re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == {*rules(), *refusals(), *unscaled_operations()}
    assert operations_of(stablehlo) | operations_of(chlo) <= set(listed)


def test_the_counts_add_up() -> None:
    """Every operation of stablehlo is counted once."""
    row = re.search(r"^\| `stablehlo` \|(.*)\|$", operator_table(), re.MULTILINE)
    assert row
    *counts, total = map(int, row.group(1).split("|"))
    assert sum(counts) == total == len(operations_of(stablehlo) | set(NEWER))
