"""`scalify-pack-scales`: scales as elements of vectors, the same numbers."""

import dataclasses

import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.check import check_modules
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.scales_file import ScalesFile
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.cpu_scales import CPUScales
from scalify_hlo.passes.pack_scales import PackScales, unpack_scales
from scalify_hlo.passes.pin_scales import pin_scales
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from tests.training_programs import train_step_text

# An average, a sum that it is taken from, a result that replaces nothing.
STEP = """
func.func @main(%w: tensor<4x4xf32>, %m: tensor<4x4xf32>, %x: tensor<2x4xf32>)
    -> (tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) {
  %keep = stablehlo.constant dense<9.000000e-01> : tensor<4x4xf32>
  %take = stablehlo.constant dense<1.000000e-01> : tensor<4x4xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0]
     : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %old = stablehlo.multiply %m, %keep : tensor<4x4xf32>
  %new = stablehlo.multiply %g, %take : tensor<4x4xf32>
  %m1 = stablehlo.add %old, %new : tensor<4x4xf32>
  %w1 = stablehlo.subtract %w, %m1 : tensor<4x4xf32>
  return %m1, %y, %w1 : tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>
}"""
FORWARD = """
func.func @main(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}"""


def rewritten(text: str, precision: str | None = None, *, pack: bool, options: ScalifyOptions = ScalifyOptions()):
    module = ir.Module.parse(text, context=make_context())
    precision_pipeline(precision, options, pack_scales=pack).run(module, [])
    return module


def elements(module: ir.Module) -> tuple[list[str], list[str]]:
    """The roles of arguments and results."""
    signature = entry_signature(module)
    return [spec.role for spec in signature.arguments], [spec.role for spec in signature.results]


def test_vectors_in_the_place_of_numbers() -> None:
    module = rewritten(STEP, pack=True)
    arguments, results = elements(module)
    assert arguments == ["data", "data", "data", "scales"]
    assert results == ["data", "data", "scale", "data", "scales"]
    assert [str(spec) for spec in entry_signature(module).arguments][-1] == "tensor<3xf32>"


@pytest.mark.parametrize("cpu", [False, True])
def test_the_next_call_takes_what_this_one_returned(cpu: bool) -> None:
    """Three steps, every number as in the program with pairs: the vector is handed on as it is."""
    pairs, vector = rewritten(STEP, pack=False), rewritten(STEP, pack=True)
    if cpu:
        CPUScales().apply(vector, [])
    rng = np.random.default_rng(0)
    w, m, x = (rng.standard_normal(shape).astype(np.float32) for shape in ((4, 4), (4, 4), (2, 4)))
    scales = np.asarray([2.0**-3, 2.0**5, 2.0**20], np.float32)
    apart, together = xla.compile(pairs), xla.compile(vector)
    w1, m1, one = w, m, scales
    w2, m2, each = w, m, list(scales)
    for _ in range(3):
        m1, y1, y1_scale, w1, one = together([w1, m1, x, one])
        m2, m2_scale, y2, y2_scale, w2, w2_scale = apart([w2, each[0], m2, each[1], x, each[2]])
        each = [w2_scale, m2_scale, each[2]]
        for got, want in ((m1, m2), (w1, w2), (y1, y2), (y1_scale, y2_scale), (one, np.stack(each))):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("precision", [None, "fp16-state", "fp8"])
def test_a_training_step(precision: str | None) -> None:
    """All state of a transformer's Adam is in the vector, in each precision; unpacked it is the program it was."""
    text = train_step_text()
    packed, plain = rewritten(text, precision, pack=True), rewritten(text, precision, pack=False)
    arguments, results = elements(packed)
    assert arguments.count("scales") == results.count("scales") == 1
    assert "scale" not in arguments
    assert results.count("scale") == 1  # the loss's
    unpack_scales(packed)
    assert elements(packed) == elements(plain)
    assert packed.operation.verify()


def test_what_replaces_nothing_keeps_its_scale() -> None:
    module = rewritten(FORWARD, pack=True)
    assert elements(module) == (["data", "data", "scales"], ["data", "scale"])
    original = ir.Module.parse(FORWARD, context=make_context())
    assert check_modules(original, module).comparison.passed


def test_donation_follows_the_results() -> None:
    text = STEP.replace("%m: tensor<4x4xf32>", "%m: tensor<4x4xf32> {tf.aliasing_output = 0 : i32}").replace(
        "%w: tensor<4x4xf32>", "%w: tensor<4x4xf32> {tf.aliasing_output = 2 : i32}"
    )
    for mark in (True, False):  # marks are not needed where arguments are donated
        module = rewritten(text, pack=False, options=ScalifyOptions(mark_state=mark))
        PackScales().apply(module, [])
        assert elements(module)[1] == ["data", "data", "scale", "data", "scales"]
        assert "scalify.scale_element = 0 : i32, tf.aliasing_output = 3 : i32" in str(module)
        assert "scalify.scale_element = 1 : i32, tf.aliasing_output = 0 : i32" in str(module)
        assert "scalify.next" not in str(module)


def test_other_scales_stay_pairs() -> None:
    """Scales of channels, and E8M0 scales, are no elements of an f32 vector."""
    by_channel = rewritten(STEP, pack=True, options=ScalifyOptions(scale_dims="0=1", result_scales="shaped"))
    assert elements(by_channel)[0] == ["data", "scale", "data", "data", "scales"]
    assert [str(spec) for spec in entry_signature(by_channel).arguments][-1] == "tensor<2xf32>"
    e8m0 = rewritten(STEP, pack=True, options=ScalifyOptions(scale_dtype="e8m0"))
    assert "scales" not in elements(e8m0)[0]


def test_the_vector_is_on_all_devices() -> None:
    for attribute, want in (
        ('{mhlo.sharding = "{devices=[2,1]<=[2]}"}', 'mhlo.sharding = "{replicated}"'),
        ('{sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}', "sdy.sharding = #sdy.sharding<@mesh, [{}]>"),
    ):
        mesh = 'sdy.mesh @mesh = <["a"=2]>\n' if "sdy" in attribute else ""
        module = rewritten(mesh + STEP.replace("%w: tensor<4x4xf32>", f"%w: tensor<4x4xf32> {attribute}"), pack=True)
        vector = next(line for line in str(module).splitlines() if "@main" in line).split("tensor<3xf32>")[1]
        assert want in vector
        assert 'scalify.role = "scales"' in vector


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("scalify.scale_element = 1 : i32", "scalify.scale_element = 7 : i32", "must name an element of the vector"),
        ("scalify.scale_element = 1 : i32", "scalify.scale_element = 0 : i32", "must name an element of the vector"),
        ("scalify.scale_element = 1 : i32", 'scalify.scale_element = "a"', "must name an element of the vector"),
        ('tensor<2x4xf32> {scalify.role = "data", scalify.scale_element = 2 : i32}',
         'tensor<2x4xf32> {scalify.role = "scales"}', "elements of one vector.*: here are 2"),
    ],
)  # fmt: skip
def test_attributes_that_do_not_fit(old: str, new: str, message: str) -> None:
    text = str(rewritten(STEP, pack=True))
    assert old in text
    module = ir.Module.parse(text.replace(old, new, 1), context=make_context())
    with pytest.raises(ScalifyError, match=message):
        unpack_scales(module)


@pytest.mark.parametrize("kind", ["2x1xf32", "f32", "2xf16", "?xf32"])
def test_a_vector_of_another_form_is_refused(kind: str) -> None:
    text = f"""func.func public @main(%x: tensor<4xf32> {{scalify.role = "data", scalify.scale_element = 0 : i32}},
    %s: tensor<{kind}> {{scalify.role = "scales"}}) -> tensor<4xf32> {{
  return %x : tensor<4xf32>
}}"""
    module = ir.Module.parse(text, context=make_context())
    with pytest.raises(ScalifyError, match="argument 1, a vector of scales, is no tensor<n x f32>"):
        unpack_scales(module)


def test_pinning_takes_packed_programs() -> None:
    module = rewritten(FORWARD, pack=True)
    pin_scales(module, ScalesFile(arguments={"arg0": np.float32(2.0), "arg1": np.float32(4.0)}))
    assert elements(module) == (["", ""], [""])


def test_pairs_are_asked_for_where_they_are_needed() -> None:
    from scalify_hlo.execution.signature import pair_arguments

    original = entry_signature(ir.Module.parse(FORWARD, context=make_context()))
    with pytest.raises(ScalifyError, match="vector of scales: give the program without scalify-pack-scales"):
        pair_arguments(original, entry_signature(rewritten(FORWARD, pack=True)))


def test_paper_rules_find_the_state_too() -> None:
    module = rewritten(STEP, pack=True, options=dataclasses.replace(ScalifyOptions(), rules="paper"))
    assert elements(module)[1].count("scales") == 1
