"""`scalify-fp8-dots`: which products become FP8, in which formats, and what they compute."""

import collections
import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from tests.training_programs import Style, train_step_text

LINEAR_LAYERS = 12  # six in each of two blocks; the head is the thirteenth


def convert(text: str, options: FP8Dots | None = None) -> tuple[str, list[Diagnostic]]:
    remarks: list[Diagnostic] = []
    with make_context():
        module = ir.Module.parse(text)
        (options or FP8Dots()).apply(module, remarks)
        module.operation.verify()
        return module.operation.get_asm(), remarks


def formats(text: str) -> collections.Counter[tuple[str, str]]:
    """How many products there are of each pair of FP8 operand types, E5M2 first: either operand is the left one."""
    found = re.findall(r"dot_general .*: \(tensor<[\dx]*x(f8\w+)>, tensor<[\dx]*x(f8\w+)>\)", text)
    return collections.Counter((max(pair), min(pair)) for pair in found)


DOT = """
func.func @main(%x: tensor<16x32xTYPE>, %w: tensor<32x48xTYPE>) -> tensor<16x48xTYPE> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<16x32xTYPE>, tensor<32x48xTYPE>) -> tensor<16x48xTYPE>
  return %y : tensor<16x48xTYPE>
}"""
HEAD_TOO = FP8Dots(head=True)


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize("style", ["unrolled", "remat"])
def test_linear_layers_become_e4m3_forward_and_e5m2_for_gradients(style: Style, names: bool) -> None:
    text, _ = convert(train_step_text(style, names=names))
    found = formats(text)
    assert set(found) == {("f8E4M3FN", "f8E4M3FN"), ("f8E5M2", "f8E4M3FN")}
    assert found["f8E5M2", "f8E4M3FN"] == 2 * LINEAR_LAYERS
    if style == "unrolled":
        assert found["f8E4M3FN", "f8E4M3FN"] == LINEAR_LAYERS


def test_products_inside_a_scan_are_converted_once_per_body() -> None:
    text, _ = convert(train_step_text("scan"))
    assert formats(text) == {("f8E4M3FN", "f8E4M3FN"): 6, ("f8E5M2", "f8E4M3FN"): 12}


def test_an_activation_is_quantised_once_for_all_its_readers() -> None:
    text, _ = convert(train_step_text())
    # Per block: 4 inputs (of q/k/v, o, w1, w2), 6 weights, and 6 gradients of results.
    assert len(re.findall(r"stablehlo.convert .*xf8", text)) == 2 * (4 + 6 + 6)


@pytest.mark.parametrize("element", ["f32", "bf16", "f16"])
def test_operands_saturate_and_the_sum_is_wide(element: str) -> None:
    text, _ = convert(DOT.replace("TYPE", element), HEAD_TOO)
    dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}[element]
    generator = np.random.default_rng(0)
    x = generator.normal(size=(16, 32)).astype(dtype)
    w = generator.normal(size=(32, 48)).astype(dtype)
    x[0, 0], x[1, 1], w[2, 2] = 3e4, -3e4, 1000  # beyond E4M3's 448
    (result,) = xla.compile(text)([x, w])
    wide = [np.clip(a.astype(np.float32), -448, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float64) for a in (x, w)]
    expected = wide[0] @ wide[1]
    assert np.isfinite(result.astype(np.float32)).all()
    epsilon = float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(result.astype(np.float64), expected, rtol=epsilon, atol=1e-4 * epsilon / 2**-23)


def test_fnuz_formats() -> None:
    text, _ = convert(train_step_text(), FP8Dots(formats="fnuz"))
    assert set(formats(text)) == {("f8E4M3FNUZ", "f8E4M3FNUZ"), ("f8E5M2FNUZ", "f8E4M3FNUZ")}
    assert "dense<2.400000e+02>" in text and "dense<4.480000e+02>" not in text


def test_gradients_can_be_e4m3() -> None:
    text, _ = convert(train_step_text(), FP8Dots(gradients="e4m3"))
    assert set(formats(text)) == {("f8E4M3FN", "f8E4M3FN")}


def test_gradient_products_ask_for_full_accumulation() -> None:
    text, _ = convert(train_step_text())
    for line in text.splitlines():
        if "dot_general" in line and "xf8" in line:
            assert ("HIGHEST, HIGHEST" in line) is ("f8E5M2>" in line), line


def test_head_and_attention_are_left_unless_asked_for() -> None:
    text, remarks = convert(train_step_text())
    left = [r for r in remarks if "left in f32" in r.message]
    assert collections.Counter(r.message.split(": ")[1] for r in left) == {
        "head (convert with head=true)": 3,
        "has batch dimensions (convert with batched=true)": 12,
    }
    text, _ = convert(train_step_text(), FP8Dots(head=True, batched=True))
    assert sum(formats(text).values()) == 3 * (LINEAR_LAYERS + 1) + 12


def test_exclusion_by_the_name_of_the_weight_covers_the_layer_s_gradients() -> None:
    text, remarks = convert(train_step_text(), FP8Dots(exclude=("params.blocks.1.w1",)))
    assert sum(formats(text).values()) == 3 * (LINEAR_LAYERS - 1)
    assert sum("excluded by name" in r.message for r in remarks if r.detail) == 3


def test_inclusion_by_name_stack() -> None:
    text, _ = convert(train_step_text(), FP8Dots(include=("*transpose(*",)))
    assert set(formats(text)) == {("f8E5M2", "f8E4M3FN")}


def test_every_product_is_reported_with_its_source() -> None:
    _, remarks = convert(train_step_text())
    products = [r for r in remarks if r.location]
    assert len(products) == 3 * (LINEAR_LAYERS + 1) + 12
    assert all(re.search(r"training_programs\.py:\d+:\d+ \[jit", r.location) for r in products)
    assert any("E5M2 x E4M3, gradient of the weight of params['blocks'][0]['w1']" in r.message for r in products)
    told = "36 matrix products converted to FP8, 15 left (12: has batch dimensions, 3: head)"
    assert remarks[-1].message == f"scalify-fp8-dots: {told}"


def test_matrix_times_vector_is_left() -> None:
    text = DOT.replace("TYPE", "f32").replace("16x", "1x")
    converted, remarks = convert(text, HEAD_TOO)
    assert "f8" not in converted and "matrix times vector" in remarks[0].message


def _step_of_sizes(rows: int, inputs: int, outputs: int) -> str:
    """A step with one linear layer of these sizes behind which there is a head; names as JAX gives them."""

    def loss(w: jax.Array, v: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.mean(jax.nn.logsumexp(jnp.tanh(x @ w) @ v, axis=1))

    arguments = jnp.ones((inputs, outputs)), jnp.ones((outputs, 64)), jnp.ones((rows, inputs))
    return jax.jit(jax.grad(loss, (0, 1, 2))).lower(*arguments).as_text(debug_info=True)


@pytest.mark.parametrize(
    ("sizes", "converted"),
    [
        ((64, 64, 64), 3),
        ((64, 64, 9), 3),
        ((64, 9, 64), 3),
        ((64, 64, 8), 0),  # outputs of few columns
        ((64, 2, 64), 0),  # coordinates
        ((8, 64, 64), 0),  # few rows
        ((24, 64, 64), 3),  # 32 rows, where f16 has 24
        ((24, 24, 24), 0),  # (32 / 24)^3 of the work, more than twice
    ],
)
def test_products_are_left_where_padding_takes_what_fp8_gains(sizes: tuple[int, int, int], converted: int) -> None:
    text, remarks = convert(_step_of_sizes(*sizes))
    assert sum(formats(text).values()) == converted
    assert sum("padding takes what FP8 gains" in r.message for r in remarks if r.detail) == 3 - converted
    assert sum(formats(convert(_step_of_sizes(*sizes), FP8Dots(small=True))[0]).values()) == 3


def test_few_rows_gain_from_weights_that_are_stored_in_fp8() -> None:
    """Decoding a few sequences: a program without a backward pass reads more weights than activations."""

    def decode(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
        return jnp.tanh(x @ w) @ v

    for inputs, converted in ((64, 1), (2, 0)):
        arguments = jnp.ones((4, inputs)), jnp.ones((inputs, 64)), jnp.ones((64, 64))
        text = jax.jit(decode).lower(*arguments).as_text(debug_info=True)
        assert sum(formats(convert(text)[0]).values()) == converted


def test_f64_products_are_left() -> None:
    converted, remarks = convert(DOT.replace("TYPE", "f64"), HEAD_TOO)
    assert "f8" not in converted and "have no FP8 form" in remarks[0].message


def test_a_second_run_changes_nothing() -> None:
    once, _ = convert(train_step_text())
    twice, _ = convert(once)
    assert formats(once) == formats(twice)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (FP8Dots(formats="ieee"), "unknown FP8 formats 'ieee'; known are ocp, fnuz"),  # type: ignore[arg-type]
        (FP8Dots(gradients="e3m4"), "unknown gradient format 'e3m4'; known are e5m2, e4m3"),  # type: ignore[arg-type]
        (FP8Dots(target="a100"), "has no FP8 matrix units"),
        (FP8Dots(target="h100", formats="fnuz"), "NVIDIA H100 80GB HBM3 has no fnuz FP8 formats: use formats=ocp"),
        (FP8Dots(target="h1000"), "unknown GPU 'h1000'; known are h100, h200"),
        (FP8Dots(include=("*no_such*",)), "include pattern '*no_such*' matches no matrix product"),
    ],
)
def test_mistakes_get_one_line(options: FP8Dots, message: str) -> None:
    with pytest.raises(ScalifyError) as error:
        convert(train_step_text(), options)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_an_exclude_pattern_without_a_match_is_a_warning() -> None:
    _, remarks = convert(train_step_text(), FP8Dots(exclude=("*router*",)))
    assert any(r.severity == "warning" and "*router*" in r.message for r in remarks)


@pytest.mark.parametrize("exponent", [-40, 0, 30])
def test_current_scaling_brings_any_size_into_range(exponent: int) -> None:
    options = FP8Dots(head=True, scaling="current")
    text, _ = convert(DOT.replace("TYPE", "f32"), options)
    generator = np.random.default_rng(1)
    x = (generator.normal(size=(16, 32)) * 2.0**exponent).astype(np.float32)
    w = generator.normal(size=(32, 48)).astype(np.float32)
    (result,) = xla.compile(text)([x, w])
    wide = []
    for a in (x, w):
        scale = 2.0 ** np.floor(np.log2(448 / np.abs(a).max()))
        wide.append((a * scale).astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float64) / scale)
    np.testing.assert_allclose(result, wide[0] @ wide[1], rtol=1e-6, atol=1e-5 * 2.0**exponent)


def test_current_scaling_of_zeros_is_zero() -> None:
    text, _ = convert(DOT.replace("TYPE", "f16"), FP8Dots(head=True, scaling="current"))
    (result,) = xla.compile(text)([np.zeros((16, 32), np.float16), np.ones((32, 48), np.float16)])
    assert result.dtype == np.float16 and not result.any()


def test_a_product_by_which_an_index_is_chosen_stays_in_16_bits() -> None:
    def loss(p: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        h = jnp.tanh((x - 1) @ p["a"])
        chosen = p["codes"][jnp.argmin(jnp.sum(p["codes"] ** 2, 1) - 2 * h @ p["codes"].T, 1)]
        quantised = h + jax.lax.stop_gradient(chosen - h)
        return jnp.mean((jnp.tanh(quantised @ p["b"]) @ p["c"] - x) ** 2) + jnp.mean((chosen - h) ** 2)

    def step(p: dict[str, jax.Array], x: jax.Array) -> dict[str, jax.Array]:
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(loss)(p, x))

    parameters = {"a": (64, 32), "codes": (96, 32), "b": (32, 64), "c": (64, 64)}
    specs = {name: jax.ShapeDtypeStruct(shape, "float32") for name, shape in parameters.items()}
    text = jax.jit(step).lower(specs, jax.ShapeDtypeStruct((16, 64), "float32")).as_text(debug_info=True)
    remarks: list[Diagnostic] = []
    with make_context():
        module = ir.Module.parse(text)
        precision_pipeline("fp8", ScalifyOptions()).run(module, remarks)
    told = collections.Counter(remark.message.split(",")[0] for remark in remarks)
    assert told["FP8 E4M3 x E4M3"] == 2  # a and b
    assert told["left in f16: kept by scalify-cast: the optimiser's"] == 1
