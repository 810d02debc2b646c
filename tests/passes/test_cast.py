"""`scalify-cast`: which values get which types, and that the step still trains."""

import collections
import re
from typing import Any

import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.inputs import draw_inputs
from scalify_hlo.execution.signature import Signature, entry_signature
from scalify_hlo.passes.auto_rescale import OF_VALUES, AutoRescale
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.normal_form import NormalForm
from scalify_hlo.passes.precision_pipeline import passes_around_scalify
from scalify_hlo.passes.state_rescale import StateRescale
from scalify_hlo.precision import PRESETS, PrecisionPolicy, policy
from tests.training_programs import Style, forward_text, train_step_text


def cast(text: str, options: Cast | None = None) -> tuple[str, list[Diagnostic]]:
    remarks: list[Diagnostic] = []
    with make_context():
        module = ir.Module.parse(text)
        (options or Cast()).apply(module, remarks)
        module.operation.verify()
        return module.operation.get_asm(enable_debug_info=True), remarks


def signature(text: str) -> Signature:
    with make_context():
        return entry_signature(ir.Module.parse(text))


def main(arguments: str, body: str, results: str) -> str:
    return f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}"


# --- state --------------------------------------------------------------------------------------------------------

STATE_TYPES = {
    "fp16": ("f32", "f32"),
    "fp16-state": ("f16", "f32"),
    "fp8": ("f16", "f32"),
    "fp8-fp16-state": ("f16", "f16"),
    "bf16": ("f32", "f32"),
    "f32": ("f32", "f32"),
}


def test_f64_is_left_as_it_is_and_said_so() -> None:
    text = train_step_text().replace("f32", "f64")
    found, remarks = cast(text, Cast(precision="fp16"))
    assert {spec.element_type for spec in signature(found).arguments} == {"f64", "i32"}
    (told,) = [remark for remark in remarks if "f64" in remark.message]
    assert "arguments are f64, which a precision leaves as it is: give them as f32" in told.message


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("precision", STATE_TYPES)
def test_state_has_the_types_of_the_paper_s_table(precision: Any, names: bool) -> None:
    text, _ = cast(train_step_text(names=names), Cast(precision=precision))
    arguments = [spec.element_type for spec in signature(text).arguments]
    results = [spec.element_type for spec in signature(text).results]
    parameters, moments = STATE_TYPES[precision]
    count = (len(arguments) - 2) // 3  # tokens and learning rate are no state
    assert arguments[: 3 * count] == [parameters] * count + [moments] * 2 * count
    assert arguments[3 * count :] == ["i32", "f32"]
    assert results == [*arguments[: 3 * count], "f32"]


@pytest.mark.parametrize("style", ["unrolled", "remat", "scan"])
def test_products_have_operands_of_the_compute_type_and_accumulate_in_f32(style: Style) -> None:
    text, _ = cast(train_step_text(style))
    types = collections.Counter(
        re.findall(r"dot_general .*: \(tensor<[\dx]*x(\w+)>, tensor<[\dx]*x(\w+)>\) -> tensor<[\dx]*x(\w+)>", text)
    )
    assert set(types) == {("f16", "f16", "f32")} and types.total() >= 10


def test_accumulation_type_is_an_option() -> None:
    text, _ = cast(train_step_text(), Cast(precision="bf16", accumulation="bf16"))
    assert re.search(r"dot_general .*xbf16>\) -> tensor<[\dx]*xbf16>", text)
    assert not re.search(r"dot_general .* -> tensor<[\dx]*xf32>", text)


@pytest.mark.parametrize(("precision", "element"), [("fp16", "f16"), ("fp8", "f8E5M2")])
def test_gradients_go_through_their_own_type(precision: Any, element: str) -> None:
    text, _ = cast(train_step_text(), Cast(precision=precision))
    # Every parameter's gradient is read in f32 by the optimiser, from its own type.
    found = re.findall(rf"convert .*: \(tensor<[\dx]+x{element}>\) -> tensor<([\dx]+)xf32>", text)
    parameters = [spec for spec in signature(text).arguments if spec.name.startswith("params")]
    if precision == "fp8":  # where a product of a layer gives it
        parameters = [spec for spec in parameters if not re.search(r"'(g1|g2|embedding)'", spec.name)]
        assert not any(len(shape.split("x")) == 1 for shape in found)
    shapes = collections.Counter("x".join(map(str, spec.shape)) for spec in parameters)
    assert not shapes - collections.Counter(found)


def test_the_optimiser_computes_in_f32_with_its_own_epsilon() -> None:
    text, _ = cast(train_step_text(), Cast(precision="fp8-fp16-state"))
    assert "dense<9.99999993E-9> : tensor<f32>" in text
    assert not re.search(r"stablehlo.sqrt .*xf16>", text)


def test_parameters_and_moments_can_be_named() -> None:
    options = Cast(precision="f32", moments="f16", moment_names=("mu*",), parameters="bf16", parameter_names=("nu*",))
    types = {
        spec.name.split("[")[0]: spec.element_type for spec in signature(cast(train_step_text(), options)[0]).arguments
    }
    assert types["mu"] == "f16" and types["nu"] == "bf16"


def test_arguments_are_marked_as_what_they_were_taken_for() -> None:
    text, _ = cast(train_step_text())
    kinds = collections.Counter(re.findall(r'scalify.state = "(\w+)"', text))
    assert kinds == {"moment": 36, "parameter": 18 + 18}  # and new parameters among the results


def test_shared_functions_are_copied_only_where_types_differ() -> None:
    text, _ = cast(train_step_text())
    assert text.count("func.func private") <= 2 * train_step_text().count("func.func private")


# --- numbers ------------------------------------------------------------------------------------------------------


def results_of(text: str) -> list[np.ndarray[Any, Any]]:
    spec = signature(text)
    arrays = draw_inputs(signature(train_step_text()))
    arrays = [np.abs(a) if s.name.startswith("nu") else a for a, s in zip(arrays, spec.arguments, strict=True)]
    arrays[-1] = np.float32(1e-3)
    given = [np.asarray(a).astype(s.dtype) for a, s in zip(arrays, spec.arguments, strict=True)]
    return [np.asarray(r).astype(np.float64) for r in xla.compile(text)(given)]


@pytest.mark.parametrize(("precision", "tolerance"), [("f32", 0.0), ("bf16", 0.02), ("fp16", 0.003)])
def test_the_step_computes_the_same_to_the_precision_of_its_type(precision: Any, tolerance: float) -> None:
    exact = results_of(train_step_text())
    narrow = results_of(cast(train_step_text(), Cast(precision=precision))[0])
    for a, b in zip(exact, narrow, strict=True):
        if tolerance == 0:
            np.testing.assert_array_equal(a, b)
        else:
            assert np.linalg.norm(a - b) <= tolerance * np.linalg.norm(a) + 1e-12


def test_a_mask_of_minus_1e9_stays_out_of_the_narrow_type() -> None:
    text = main(
        "%x: tensor<4x8xf32>, %m: tensor<4x8xi1>",
        """
        %c = stablehlo.constant dense<-1.0e9> : tensor<f32>
        %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
        %s = stablehlo.select %m, %x, %b : tensor<4x8xi1>, tensor<4x8xf32>
        %r = stablehlo.reduce(%s init: %z) applies stablehlo.maximum across dimensions = [1]
           : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
        %t = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
        %d = stablehlo.subtract %s, %t : tensor<4x8xf32>
        %e = stablehlo.exponential %d : tensor<4x8xf32>
        %y = stablehlo.dot_general %e, %x, contracting_dims = [1] x [1]
           : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
        return %y : tensor<4x4xf32>""",
        "tensor<4x4xf32>",
    )
    narrow, _ = cast(text)
    assert not re.search(r"(select|maximum|subtract|exponential) .*xf16", narrow)
    assert re.search(r"exponential %(\d+).*\n.*convert .*xf16", narrow)


def test_small_constants_are_not_rounded_to_zero() -> None:
    text = main(
        "%x: tensor<2x8xf32>",
        """
        %c = stablehlo.constant dense<1.0e-8> : tensor<2x8xf32>
        %y = stablehlo.add %x, %c : tensor<2x8xf32>
        return %y : tensor<2x8xf32>""",
        "tensor<2x8xf32>",
    )
    narrow, _ = cast(text)
    assert "dense<9.99999993E-9> : tensor<2x8xf32>" in narrow and re.search(r"add .*tensor<2x8xf32>", narrow)


NORMALISED = """
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %q = stablehlo.multiply %x, %x : tensor<4x64xf32>
        %v = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [1]
           : (tensor<4x64xf32>, tensor<f32>) -> tensor<4xf32>
        %r = stablehlo.rsqrt %v : tensor<4xf32>
        %b = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<4xf32>) -> tensor<4x64xf32>
        %n = stablehlo.multiply %x, %b : tensor<4x64xf32>
        %y = stablehlo.negate %n : tensor<4x64xf32>"""


def test_statistics_stay_wide() -> None:
    body = f"{NORMALISED}\n        return %y, %n : tensor<4x64xf32>, tensor<4x64xf32>"
    narrow, _ = cast(main("%x: tensor<4x64xf32>", body, "tensor<4x64xf32>, tensor<4x64xf32>"))
    assert re.search(r"rsqrt .*tensor<4xf32>", narrow)


def test_what_no_kernel_but_its_own_reads_is_not_stored() -> None:
    product = """
        %d = stablehlo.dot_general %y, %x, contracting_dims = [1] x [1]
           : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x4xf32>"""
    body = f"{NORMALISED}{product}\n        return %d : tensor<4x4xf32>"
    narrow, _ = cast(main("%x: tensor<4x64xf32>", body, "tensor<4x4xf32>"))
    # f16 is for what the product reads.
    assert re.search(r"negate .*tensor<4x64xf32>", narrow)
    assert len(re.findall(r"convert .*\(tensor<4x64xf32>\) -> tensor<4x64xf16>", narrow)) == 2


def test_gradients_summed_over_iterations_are_summed_in_f32() -> None:
    text = main(
        "%x: tensor<8x4xf32>, %n: tensor<i32>",
        """
        %z = stablehlo.constant dense<0.0> : tensor<4x4xf32>
        %0 = stablehlo.constant dense<0> : tensor<i32>
        %1 = stablehlo.constant dense<1> : tensor<i32>
        %r:2 = stablehlo.while(%i = %0, %sum = %z) : tensor<i32>, tensor<4x4xf32>
        cond {
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %g = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0]
             : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
          %s = stablehlo.add %sum, %g : tensor<4x4xf32>
          %j = stablehlo.add %i, %1 : tensor<i32>
          stablehlo.return %j, %s : tensor<i32>, tensor<4x4xf32>
        }
        return %r#1 : tensor<4x4xf32>""",
        "tensor<4x4xf32>",
    )
    narrow, _ = cast(text)
    assert re.search(r"add .*: tensor<4x4xf32>", narrow) and re.search(
        r"dot_general .*xf16>\) -> tensor<4x4xf32>", narrow
    )


def test_types_that_the_caller_has_decided_are_kept() -> None:
    """What the pass finds itself is not asked for them: the caller has found it in another form of the program."""
    state = 'tensor<8xf32> {scalify.stored = "%s"}'
    body = """  %two = stablehlo.constant dense<2.0> : tensor<8xf32>
  %y = stablehlo.multiply %x, %two : tensor<8xf32>
  %z = stablehlo.tanh %y : tensor<8xf32>
  return %y, %z : tensor<8xf32>, tensor<8xf32>"""
    text, _ = cast(main(f"%x: {state % 'f16'}", body, f"{state % 'bf16'}, tensor<8xf32>"))
    assert [spec.element_type for spec in signature(text).arguments] == ["f16"]
    assert [spec.element_type for spec in signature(text).results] == ["bf16", "f32"]
    assert "scalify.stored" not in text


def test_operations_can_be_kept_in_f32_by_name() -> None:
    plain, _ = cast(train_step_text())
    kept, _ = cast(train_step_text(), Cast(keep=("*log_softmax*",)))
    assert kept.count("xf16") < plain.count("xf16")


def test_bf16_needs_no_wide_masks_but_follows_the_same_rules() -> None:
    text, _ = cast(train_step_text(), Cast(precision="bf16"))
    assert "xbf16" in text and "xf16" not in text


# --- policies -----------------------------------------------------------------------------------------------------


def test_presets_are_the_rows_of_the_paper_s_table() -> None:
    rows = {name: (p.parameters, p.gradients, p.moments, p.fp8_products) for name, p in PRESETS.items()}
    assert rows["fp16"] == ("f32", "f16", "f32", False)
    assert rows["fp16-state"] == ("f16", "f16", "f32", False)
    assert rows["fp8"] == ("f16", "f8E5M2", "f32", True)
    assert rows["fp8-fp16-state"] == ("f16", "f8E5M2", "f16", True)


def test_types_may_be_spelt_as_jax_spells_them() -> None:
    assert PrecisionPolicy(compute="float16", gradients="float8_e5m2") == PrecisionPolicy("f16", gradients="f8E5M2")


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        (Cast(precision="fp4"), train_step_text(), "unknown precision 'fp4'; known are f32, bf16, fp16"),  # type: ignore[arg-type]
        (Cast(compute="f12"), train_step_text(), "unknown type 'f12' for compute; known are f32, bf16, f16"),
        (Cast(compute="f8E5M2"), train_step_text(), "compute cannot be f8E5M2; it can be f32, bf16, f16"),
        (
            Cast(parameter_names=("weights*",)),
            train_step_text(),
            "'weights*' of parameter-names (or --weights) matches no argument",
        ),
        (Cast(moment_names=("tokens",)), train_step_text(), "'tokens' of moment-names matches no float argument"),
        (Cast(keep=("*layer_norm*",)), train_step_text(), "keep '*layer_norm*' matches no operation"),
    ],
)
def test_mistakes_get_one_line(options: Cast, text: str, message: str) -> None:
    with pytest.raises(ScalifyError) as error:
        cast(text, options)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_forward_pass_can_be_computed_in_f16() -> None:
    text, _ = cast(forward_text())
    assert re.search(r"dot_general .*xf16", text)


@pytest.mark.parametrize("precision", ["fp16", "bf16", "fp8", "f32"])
@pytest.mark.parametrize("element", ["f16", "bf16", "f64"])
def test_a_product_that_asks_for_a_type_gives_it(precision: Any, element: str) -> None:
    """`preferred_element_type`: the program's result had become f32."""
    body = f"""  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8x{element}>
  %1 = stablehlo.tanh %0 : tensor<8x8x{element}>
  return %1 : tensor<8x8x{element}>"""  # noqa: E501
    text = main("%x: tensor<8x16xf32>, %w: tensor<16x8xf32>", body, f"tensor<8x8x{element}>")
    (result,) = signature(cast(text, Cast(precision))[0]).results
    assert result.element_type == element


def test_overrides_replace_the_preset_s_types() -> None:
    assert policy("fp16", moments="bf16") == PrecisionPolicy("f16", "f32", "f16", "bf16", rescaling=("logits",))


def test_a_precision_stands_for_passes_around_scalify() -> None:
    assert passes_around_scalify("fp16") == (
        (
            NormalForm(),
            AutoRescale(places=("logits", *OF_VALUES), logits_in_loops=False, compute="f16"),
            StateRescale(kinds=("parameters",)),
            Cast(precision="fp16"),
        ),
        (),
    )
    before, after = passes_around_scalify("fp8-fp16-state")
    assert before == (
        NormalForm(),
        AutoRescale(places=("logits", "gradients", *OF_VALUES), compute="f16"),
        StateRescale(),
        Cast(precision="fp8-fp16-state"),
    )
    assert after == (FP8Dots(scaling="uncertain"),)
    with pytest.raises(ScalifyError, match="unknown precision 'fp9'"):
        passes_around_scalify("fp9")  # type: ignore[arg-type]


def test_markers_of_one_shape_may_get_several_types() -> None:
    """One argument is stored in f16, another value is a sum that stays in f32: their rescaling shares no function."""
    text = main(
        "%x: tensor<16x16xf32>, %y: tensor<16x16x16xf32>, %s: tensor<f32>",
        """
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %a = stablehlo.optimization_barrier %x : tensor<16x16xf32>
        %v = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0]
           : (tensor<16x16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
        %0 = stablehlo.composite "scalify.set_scaling" %a, %s {decomposition = @set_scaling}
           : (tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
        %1 = stablehlo.composite "scalify.set_scaling" %v, %s {decomposition = @set_scaling}
           : (tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
        return %0, %1 : tensor<16x16xf32>, tensor<16x16xf32>""",
        "tensor<16x16xf32>, tensor<16x16xf32>",
    )
    narrow, _ = cast(
        text
        + """
    func.func private @set_scaling(%x: tensor<16x16xf32>, %s: tensor<f32>) -> tensor<16x16xf32> {
      return %x : tensor<16x16xf32>
    }"""
    )
    assert len(re.findall(r"func.func private @set_scaling", narrow)) == 2


@pytest.mark.parametrize(("columns", "rounded"), [(4, False), (64, True)])
def test_what_is_computed_of_few_numbers_a_row_stays_in_f32(columns: int, rounded: bool) -> None:
    """A rate or an action's value is a term of the loss, and f16 saves nothing by it: also in functions."""
    result = f"tensor<64x{columns}xf32>"
    function = f"""func.func private @f(%y: {result}) -> {result} {{
  %1 = stablehlo.abs %y : {result}
  return %1 : {result}
}}"""
    body = f"""  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x{columns}xf32>) -> {result}
  %1 = stablehlo.abs %0 : {result}
  %2 = call @f(%1) : ({result}) -> {result}
  %3 = call @f(%0) : ({result}) -> {result}
  %4 = stablehlo.add %2, %3 : {result}
  return %4 : {result}"""
    arguments = f"%x: tensor<64x64xf32>, %w: tensor<64x{columns}xf32>"
    text, _ = cast(f"module {{\n{main(arguments, body, result)}\n{function}\n}}", Cast(precision="fp16"))
    # The weights have the shape of the product's result, and the inputs too if that is rounded.
    assert text.count(f"(tensor<64x{columns}xf32>) -> tensor<64x{columns}xf16>") == (3 if rounded else 1), text


def test_a_product_is_rescaled_before_it_is_rounded() -> None:
    """Rounded first, it would be infinite in f16 where it is rescaled for that reason."""
    kind = "tensor<16x16xf32>"
    text = main(f"%x: {kind}, %y: {kind}, %s: tensor<f32>", f"""
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {kind}
  %1 = stablehlo.composite "scalify.set_scaling" %0, %s {{decomposition = @set_scaling}}
    : ({kind}, tensor<f32>) -> {kind}
  %2 = stablehlo.abs %1 : {kind}
  return %2 : {kind}""", kind)  # fmt: skip
    narrow, _ = cast(f"""{text}
func.func private @set_scaling(%x: {kind}, %s: tensor<f32>) -> {kind} {{
  return %x : {kind}
}}""", Cast(precision="fp16"))  # fmt: skip
    assert re.findall(r'composite "scalify.set_scaling".*: \(tensor<16x16x(f\d+)>, tensor<f32>\)', narrow) == ["f32"]
    assert re.search(
        r"= stablehlo.convert %(\d+) : \(tensor<16x16xf32>\) -> tensor<16x16xf16>.*\n.*convert.*\n.*abs", narrow
    )
