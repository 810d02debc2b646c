"""Numbers and structure where no test had stood between a fault of tests/mutation.py and a wrong program."""

import numpy as np
import pytest
from scalify_hlo.rewrites.additive import larger

from scalify_hlo.analysis.calls import CallGraph, terminator
from scalify_hlo.analysis.origins import are_exponentials
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.emit.packed_scales import place_in_vector
from scalify_hlo.engine.facts import FactFinder
from scalify_hlo.engine.signature import public_function
from scalify_hlo.engine.statistics_in_f32 import widen_statistics
from scalify_hlo.errors import Diagnostic
from scalify_hlo.execution.inputs import Split
from scalify_hlo.passes.auto_rescale import _enters_branch, _is_of_scores
from scalify_hlo.passes.narrow_collectives import round_before_collectives
from scalify_hlo.passes.narrow_gathers import NarrowGathers
from scalify_hlo.size.analysis import SizeAnalysis
from scalify_hlo.size.laws.reductions import body_kind
from scalify_hlo.size.moments import Moments
from tests.support import Rewritten, check_range


def returned(module: ir.Module) -> ir.Value:
    """What a program of one function returns."""
    return terminator(module.body.operations[0].operation.regions[0].blocks[0]).operands[0]


@pytest.mark.parametrize(("kind", "start"), [("maximum", -2.0), ("minimum", 2.0)])
def test_a_window_of_padding_alone_is_the_number_that_it_starts_from(kind: str, start: float) -> None:
    """That number is no mask there: at the scale of small data it was the largest number that f16 has."""
    text = f"""
func.func public @main(%x: tensor<4x3xf16>) -> tensor<5x3xf16> {{
  %c = stablehlo.constant dense<{start}> : tensor<f16>
  %r = "stablehlo.reduce_window"(%x, %c) <{{window_dimensions = array<i64: 2, 1>,
      padding = dense<[[2, 0], [0, 0]]> : tensor<2x2xi64>}}> ({{
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %s = stablehlo.{kind} %a, %b : tensor<f16>
    stablehlo.return %s : tensor<f16>
  }}) : (tensor<4x3xf16>, tensor<f16>) -> tensor<5x3xf16>
  return %r : tensor<5x3xf16>
}}"""
    x = np.float16(np.random.default_rng(0).standard_normal((4, 3)))
    check_range(text, [x], {"down": (-24,), "up": (4,)})


@pytest.mark.parametrize(("number", "kind"), [("1.0e-9", "f16"), ("1.0e-9", "f8E4M3FN"), ("0.5", "i32")])
def test_a_constant_that_its_type_does_not_hold_is_as_large_as_it_was(number: str, kind: str) -> None:
    """f16's 0 would be no size at all."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(f"""func.func @main() -> tensor<4x{kind}> {{
  %c = stablehlo.constant dense<{number}> : tensor<4xf32>
  %r = stablehlo.convert %c : (tensor<4xf32>) -> tensor<4x{kind}>
  return %r : tensor<4x{kind}>
}}""")
        size = SizeAnalysis(module, public_function(module)).main.results[0]
    assert size.moments.rms == pytest.approx(float(number))


@pytest.mark.parametrize(("chosen", "found"), [("%e, %x", True), ("%x, %e", False)])
def test_exponentials_are_found_behind_the_choice_that_masks_them(chosen: str, found: bool) -> None:
    with make_context():
        module = ir.Module.parse(f"""func.func @main(%p: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf16> {{
  %e = stablehlo.exponential %x : tensor<4xf32>
  %s = stablehlo.select %p, {chosen} : tensor<4xi1>, tensor<4xf32>
  %r = stablehlo.convert %s : (tensor<4xf32>) -> tensor<4xf16>
  return %r : tensor<4xf16>
}}""")
        assert are_exponentials(returned(module)) == found


@pytest.mark.parametrize(("target", "kept"), [("f32", False), ("f64", True)])
def test_a_sum_that_is_rounded_to_f16_and_read_in_f32_is_that_of_f32(target: str, kept: bool) -> None:
    text = f"""func.func public @main(%x: tensor<4x64xf32>) -> tensor<4x{target}> {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
     : (tensor<4x64xf32>, tensor<f32>) -> tensor<4xf32>
  %n = stablehlo.convert %s : (tensor<4xf32>) -> tensor<4xf16>
  %r = stablehlo.convert %n : (tensor<4xf16>) -> tensor<4x{target}>
  return %r : tensor<4x{target}>
}}"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        widen_statistics(module)
        assert module.operation.verify()
        assert ("f16" in str(module)) == kept


@pytest.mark.parametrize(("shares", "rms"), [((0.5, 0.5), 5.0), ((0.25, 0.5), 5.0), ((0.75, 0.5), 4.0)])
def test_values_with_zeros_that_leave_room_for_each_other_are_both_there(
    shares: tuple[float, float], rms: float
) -> None:
    found = larger(Moments(3.0, share=shares[0]), Moments(4.0, share=shares[1]))
    assert found.rms == rms and found.share == min(sum(shares), 1.0)


@pytest.mark.parametrize(("chosen", "found"), [("%g, %z", True), ("%g, %h", False)])
def test_a_gradient_that_dropout_masks_enters_a_branch(chosen: str, found: bool) -> None:
    """The mask has the gradient's shape and is none. With two gradients it is not known which is the stream's."""
    with make_context():
        module = ir.Module.parse(f"""
func.func public @main(%p: tensor<4xi1>, %g: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
  %z = stablehlo.constant dense<0.0> : tensor<4xf32>
  %m = stablehlo.select %p, {chosen} : tensor<4xi1>, tensor<4xf32>
  %b = stablehlo.tanh %m : tensor<4xf32>
  %s = stablehlo.add %g, %b : tensor<4xf32>
  return %m, %s : tensor<4xf32>, tensor<4xf32>
}}""")
        assert _enters_branch(returned(module), CallGraph(module)) == found


@pytest.mark.parametrize(("cut", "said"), [('[{"i"}, {}]', ["1"]), ("[{}, {}]", [])])
def test_what_is_rounded_before_it_is_gathered_is_counted(cut: str, said: list[str]) -> None:
    with make_context():
        module = ir.Module.parse(f"""
module attributes {{mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32}} {{
  sdy.mesh @mesh = <["i"=4]>
  func.func public @main(%x: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, {cut}>}},
      %i: tensor<2x1xi32>) -> tensor<2x4xf16> {{
    %s = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}}>
      : (tensor<8x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
    %c = stablehlo.convert %s : (tensor<2x4xf32>) -> tensor<2x4xf16>
    return %c : tensor<2x4xf16>
  }}
}}""")
        remarks: list[Diagnostic] = []
        NarrowGathers().apply(module, remarks)
        assert [each.message.split()[1] for each in remarks] == said
        assert ("tensor<8x4xf16>" in str(module)) == bool(said)


@pytest.mark.parametrize(("number", "indifferent"), [
    ("(0.0, 0.0)", True), ("(0.0, -0.0)", True), ("(0x7F800000, 0.0)", True), ("(0.0, 0x7FC00000)", True),
    ("(0.0, 1.0)", False), ("(2.0, 0.0)", False),
])  # fmt: skip
def test_complex_zeros_and_infinities_fit_any_scale(number: str, indifferent: bool) -> None:
    with make_context():
        module = ir.Module.parse(f"""func.func @main() -> tensor<4xcomplex<f32>> {{
  %c = stablehlo.constant dense<{number}> : tensor<4xcomplex<f32>>
  return %c : tensor<4xcomplex<f32>>
}}""")
        assert FactFinder().of(returned(module)).indifferent == indifferent


def test_a_gradient_that_is_given_is_not_that_of_scores() -> None:
    with make_context():
        module = ir.Module.parse("""
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %t = stablehlo.tanh %x : tensor<4xf32>
  return %x, %t : tensor<4xf32>, tensor<4xf32>
}""")
        given, computed = terminator(module.body.operations[0].operation.regions[0].blocks[0]).operands
        assert not _is_of_scores(given) and _is_of_scores(computed)


@pytest.mark.parametrize(("more", "kind"), [("%r = stablehlo.abs %m : tensor<f32>", "other"), ("", "multiply")])
def test_a_reduction_by_several_operations_is_none_of_the_first(more: str, kind: str) -> None:
    """By its law a product of 64 elements is x^64."""
    with make_context():
        module = ir.Module.parse(f"""func.func @main(%x: tensor<64xf32>, %c: tensor<f32>) -> tensor<f32> {{
  %0 = stablehlo.reduce(%x init: %c) across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {{
    %m = stablehlo.multiply %a, %b : tensor<f32>
    {more}
    stablehlo.return {"%r" if more else "%m"} : tensor<f32>
  }}
  return %0 : tensor<f32>
}}""")
        assert body_kind(returned(module).owner.operation) == kind


def test_updates_of_zeros_by_a_function_of_values_have_the_scale_of_the_updates() -> None:
    """Zeros have none: small data were brought to scale 1, where they vanish in f16."""
    text = """
func.func public @main(%i: tensor<1x1xi32>, %u: tensor<1xf16>) -> tensor<6xf16> {
  %x = stablehlo.constant dense<0.0> : tensor<6xf16>
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %s = stablehlo.sine %b : tensor<f16>
    stablehlo.return %s : tensor<f16>
  }) : (tensor<6xf16>, tensor<1x1xi32>, tensor<1xf16>) -> tensor<6xf16>
  return %r : tensor<6xf16>
}"""
    check_range(text, [np.asarray([[2]], np.int32), np.float16([0.75])], {"down": (-36,), "one": (0,)})


LOOP = """
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %t = stablehlo.tanh %c : tensor<4xf32>
    %n = stablehlo.multiply %t, %y : tensor<4xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %n : tensor<i32>, tensor<4xf32>
  }
  %z = stablehlo.add %x, %r#1 : tensor<4xf32>
  return %z : tensor<4xf32>
}
"""


@pytest.mark.parametrize(("entering", "returned"), [(1.0, 256.0), (256.0, 1.0), (16.0, 16.0)])
def test_what_a_loop_returns_is_as_large_as_the_larger_of_what_enters_and_what_it_makes(
    entering: float, returned: float
) -> None:
    """It counted as what enters it: beside that, data of what it makes grew without bound."""
    split = [Split(np.ones(4, np.float32), np.float32(s)) for s in (entering, returned)]
    (result,) = Rewritten.of(LOOP).run(split)
    assert result.scale == max(entering, returned)


@pytest.mark.parametrize(("shape", "taken", "place"), [
    ("4", "[2:3]", 2), ("4", "[0:1]", 0), ("1x4", "[0:1, 2:3]", None), ("4x4", "[2:3, 0:1]", None),
])  # fmt: skip
def test_an_element_of_a_vector_has_a_place_in_it_and_one_of_a_matrix_has_none(
    shape: str, taken: str, place: int | None
) -> None:
    one = "1x1" if "x" in shape else "1"
    with make_context():
        module = ir.Module.parse(f"""func.func @main(%x: tensor<{shape}xf32>) -> tensor<f32> {{
  %0 = stablehlo.slice %x {taken} : (tensor<{shape}xf32>) -> tensor<{one}xf32>
  %1 = stablehlo.reshape %0 : (tensor<{one}xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}}""")
        assert place_in_vector(returned(module).owner.operands[0].owner) == place


@pytest.mark.parametrize(("left", "count"), [("%g", 1), ("%h", 0)])
def test_what_per_device_code_reads_unrounded_is_not_rounded_before_it_is_gathered(left: str, count: int) -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(f"""module attributes {{mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32}} {{
  sdy.mesh @mesh = <["i"=4]>
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf16> {{
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{{"i"}}]>] out_shardings=[<@mesh, [{{}}]>]
      manual_axes={{"i"}} (%r: tensor<2xf32>) {{
      %g = "stablehlo.all_gather"(%r) <{{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> :
        tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}>
        : (tensor<2xf32>) -> tensor<8xf32>
      {"%h = stablehlo.tanh %g : tensor<8xf32>" if left == "%h" else ""}
      sdy.return {left} : tensor<8xf32>
    }} : (tensor<8xf32>) -> tensor<8xf32>
    %c = stablehlo.convert %0 : (tensor<8xf32>) -> tensor<8xf16>
    return %c : tensor<8xf16>
  }}
}}""")
        assert round_before_collectives(module, "") == count
        assert module.operation.verify()
