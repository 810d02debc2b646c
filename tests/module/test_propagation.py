"""Shardings in texts that are not JAX's: on calls, loops and branches, with an entry of any name."""

import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.in_place import scalify_in_place
from scalify_hlo.module.propagation import propagate
from scalify_hlo.passes.precision_pipeline import precision_pipeline

ROWS = '#sdy.sharding_per_value<[<@mesh, [{"i"}, {}]>]>'
MODULE = """
sdy.mesh @mesh = <["i"=2]>
func.func @ENTRY(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}, %w: tensor<8x8xf32>)
    -> tensor<8x8xf32> {
  %0 = call @layer(%x, %w) {sdy.sharding = ROWS} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @layer(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
""".replace("ROWS", ROWS)
BRANCHES = """
sdy.mesh @mesh = <["i"=2]>
func.func @main(%x: tensor<8x8xf32>, %p: tensor<i1>) -> tensor<8x8xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.add %x, %x : tensor<8x8xf32>
    stablehlo.return %1 : tensor<8x8xf32>
  }, {
    %1 = stablehlo.multiply %x, %x : tensor<8x8xf32>
    stablehlo.return %1 : tensor<8x8xf32>
  }) {sdy.sharding = ROWS} : (tensor<i1>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
""".replace("ROWS", ROWS)
LOOP = """
sdy.mesh @mesh = <["i"=2]>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x8xf32>
      attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"i"}, {}]>]>}
  cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.multiply %y, %y : tensor<8x8xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}
"""

SORT = """
sdy.mesh @mesh = <["i"=2]>
func.func @main(%x: tensor<8x8xf32>, %k: tensor<8x8xi32>) -> tensor<8x8xf32> {
  %0:2 = "stablehlo.sort"(%k, %x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"i"}, {}]>, <@mesh, [{"i"}, {}]>]>}
      : (tensor<8x8xi32>, tensor<8x8xf32>) -> (tensor<8x8xi32>, tensor<8x8xf32>)
  return %0#1 : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize("entry", ["main", "forward"])
def test_entries_of_any_name(precision: str, entry: str) -> None:
    with make_context():
        module = ir.Module.parse(MODULE.replace("ENTRY", entry))
        precision_pipeline(precision).run(module, [])
        assert f"func.func @{entry}(" in str(module)
        assert "xf16>" in str(module)


def test_an_entry_is_found_under_its_name() -> None:
    with make_context():
        for entry in ("main", "forward"):
            assert propagate(ir.Module.parse(MODULE.replace("ENTRY", entry))) is not None
        two = MODULE.replace("ENTRY", "forward") + "func.func @other() {\n  return\n}\n"
        assert propagate(ir.Module.parse(two)) is None


@pytest.mark.parametrize("precision", [None, "fp16"])
@pytest.mark.parametrize(
    "text", [MODULE.replace("ENTRY", "main"), BRANCHES, LOOP, SORT], ids=["call", "if", "while", "sort"]
)
def test_shardings_of_what_is_rebuilt_become_constraints(
    text: str, precision: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    with make_context():
        module = ir.Module.parse(text)
        if precision is None:
            scalify_in_place(module)
        else:
            precision_pipeline(precision).run(module, [])
        assert module.operation.verify()
        assert "sdy.sharding_constraint" in str(module) and '<@mesh, [{"i"}, {}]>' in str(module)
    assert "sharding rule" not in capfd.readouterr().err
