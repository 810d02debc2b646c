"""The table of operation traits has every operation of the dialects, and says of them what is so."""

import functools
import pathlib
import re
from fractions import Fraction

import pytest

from scalify_hlo.bindings import chlo, ir, make_context, stablehlo
from scalify_hlo.module import traits
from scalify_hlo.module.traits import TABLE, Trait
from scalify_hlo.rules.registry import rules
from tests.ops.test_completeness import NEWER, operations_of

_ROOT = pathlib.Path(__file__).resolve().parents[2]


@functools.cache
def _all_operations() -> set[str]:
    return operations_of(stablehlo) | operations_of(chlo) | set(NEWER)


def test_every_operation_has_a_row_and_every_row_an_operation() -> None:
    assert _all_operations() - set(TABLE) == set()
    others = {name for name in set(TABLE) - _all_operations() if not name.startswith(("func.", "sdy."))}
    assert others == set()


def test_unknown_operations_have_no_traits() -> None:
    assert traits.of("tosa.add").traits == Trait.NONE
    assert not traits.has("tosa.add", Trait.ELEMENTWISE)


def test_names_takes_any_and_leaves_out() -> None:
    moves = traits.names(Trait.MOVES, without=Trait.COLLECTIVE)
    assert {"stablehlo.reshape", "stablehlo.gather"} <= moves
    assert "stablehlo.all_gather" not in moves
    assert "stablehlo.add" not in moves


# Traits that are parts of others, or contradict each other.
_WITHIN = [
    (Trait.RESHAPES, Trait.MOVES),
    (Trait.CONSTANT, Trait.FUNCTION),
    (Trait.SPECIAL, Trait.ELEMENTWISE),
    (Trait.BITWISE, Trait.ELEMENTWISE),
]
_APART = [
    (Trait.FUNCTION, Trait.COLLECTIVE),
    (Trait.FUNCTION, Trait.CAPTURES),
    (Trait.MOVES, Trait.ASSEMBLES),
    (Trait.MOVES, Trait.ELEMENTWISE),
    (Trait.SPECIAL, Trait.JOINT),
]


@pytest.mark.parametrize(("part", "whole"), _WITHIN)
def test_traits_within_others(part: Trait, whole: Trait) -> None:
    assert traits.names(part) <= traits.names(whole)


@pytest.mark.parametrize(("one", "other"), _APART)
def test_traits_that_exclude_each_other(one: Trait, other: Trait) -> None:
    assert not traits.names(one) & traits.names(other)


@pytest.mark.parametrize("op", sorted(name for name, row in TABLE.items() if row.degrees is not None))
def test_a_homogeneous_operation_is_no_special_function(op: str) -> None:
    row = TABLE[op]
    assert not row.traits & (Trait.SPECIAL | Trait.JOINT)
    for group in row.linear:
        for index in group:
            assert index >= len(row.degrees or ()) or (row.degrees or ())[index] == Fraction(1)


# What the rules say and what the traits say is the same fact.
@pytest.mark.parametrize("op", sorted(rules()))
def test_the_families_of_rules_agree_with_the_traits(op: str) -> None:
    rule, row = rules()[op], traits.of(op)
    match rule.family:
        case "homogeneous":
            one = row.degrees is not None and row.degrees[0] == 1
            assert one or row.traits & (Trait.CARRIES | Trait.MOVES | Trait.BODY)
        case "nonlinear":
            assert row.degrees is None and (row.traits & Trait.SPECIAL or "batch_norm" in op)
        case "contraction":
            assert row.traits & (Trait.CONTRACTS | Trait.REDUCES)
        case "additive":
            assert row.traits & Trait.JOINT
        case "multiplicative":
            assert row.degrees is not None or "power" in op
        case _:
            pass


def test_what_carries_a_value() -> None:
    text = """
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
      %0:2 = stablehlo.optimization_barrier %x, %y : tensor<4xf32>, tensor<4xf32>
      %1 = stablehlo.convert %0#1 : (tensor<4xf32>) -> tensor<4xf16>
      %2 = stablehlo.custom_call @Sharding(%1) : (tensor<4xf16>) -> tensor<4xf16>
      %3 = stablehlo.custom_call @other(%2) : (tensor<4xf16>) -> tensor<4xf16>
      return %y : tensor<4xf32>
    }"""
    with make_context():
        module = ir.Module.parse(text)
    block = module.body.operations[0].regions[0].blocks[0]
    ops = [op.operation for op in block.operations]
    assert traits.carried(ops[0], 1) == block.arguments[1]
    assert traits.carried(ops[1]) == ops[0].results[1]
    assert traits.carried(ops[2]) == ops[1].results[0]
    assert traits.carried(ops[3]) is None


def test_no_other_file_keeps_a_list_of_elementwise_operations_or_data_movements() -> None:
    """A set of operation names that starts like one that the table has is a second place for the same fact."""
    pattern = re.compile(r'frozenset\(\s*f"(stablehlo|chlo)\.\{')
    kept = {
        str(path.relative_to(_ROOT))
        for folder in ("scalify_hlo", "rewrites")
        for path in (_ROOT / folder).rglob("*.py")
        if pattern.search(path.read_text())
    }
    # Choices of their own, of no property of the operations: what is emitted, shown, widened, displaced or formed anew,
    # what leads to the end of a loop.
    assert kept <= {
        "scalify_hlo/emit/packed_scales.py", "scalify_hlo/passes/cast.py", "scalify_hlo/passes/instrument.py",
        "scalify_hlo/passes/precision_kinds.py", "scalify_hlo/rules/mirror.py",
        "scalify_hlo/engine/statistics_in_f32.py", "scalify_hlo/analysis/caches.py",
        "scalify_hlo/passes/narrow_storage.py", "scalify_hlo/size/size_errors.py",
        "scalify_hlo/analysis/intervals.py", "scalify_hlo/analysis/residuals.py",
        "scalify_hlo/analysis/product_chains.py",
    }  # fmt: skip
