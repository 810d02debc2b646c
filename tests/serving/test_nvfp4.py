"""NVFP4: products of E2M1 operands with an E4M3 scale for each 16 elements, and weights that are stored so."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from scalify_hlo.tools import compare as compare_tool
from scalify_hlo.tools import pack as pack_tool

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.module.block_numbers import from_blocks, in_blocks
from scalify_hlo.passes.block_dots import BlockDots
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.serving.calibration import Calibration
from scalify_hlo.serving.comparison import compare
from scalify_hlo.serving.exported import packed_arguments, pin_exported
from scalify_hlo.serving.keep_wide import Switched
from scalify_hlo.serving.packing import pack, unpack
from scalify_hlo.serving.product_inputs import sampled_readings
from scalify_hlo.serving.tensors import read_with_metadata, tensor_bytes
from tests.serving.block_programs import ROWS, D, model, one_product
from tests.training_programs import train_step_text

RNG = np.random.default_rng(0)
NAMES = ["p['a']", "p['b']", "p['c']", "p['head']"]


def normal(*shape: int) -> Array:
    return np.asarray(RNG.standard_normal(shape) / shape[-2] ** 0.5, np.float32)


PARAMS = {"a": normal(D, 2 * D), "b": normal(2 * D, D), "c": normal(D, D), "head": normal(D, D)}
X = np.asarray(RNG.standard_normal((ROWS, D)), np.float32)


def text_of(function: Callable[..., Any], *arguments: Any) -> str:
    return jax.export.export(jax.jit(function))(*arguments).mlir_module()


def served(
    text: str, arrays: list[Array], folder: pathlib.Path, precision: str = "nvfp4", **pinned: Any
) -> tuple[ir.Module, list[str]]:
    """The pinned module, and what the pass said."""
    module = ir.Module.parse(text, context=make_context())
    calibration = Calibration(module, precision)
    calibration.arguments([arrays])
    calibration.operands([arrays])
    (folder / "scales.json").write_bytes(calibration.scales.to_json())
    remarks: list[Diagnostic] = []
    precision_pipeline(precision, pin_scales=str(folder / "scales.json"), **pinned).run(module, remarks)
    return module, [each.message for each in remarks if each.message.startswith("scalify-block-dots")]


def error(text: str, module: ir.Module, arrays: list[Array]) -> float:
    original = ir.Module.parse(text, context=make_context())
    return next(each.error for each in compare(original, module, [arrays]) if each.form == "served")


def inputs() -> list[Array]:
    return [*jax.tree.leaves(PARAMS), X]


# --- numbers --------------------------------------------------------------------------------------------------------


def test_blocks_have_the_scale_of_least_error() -> None:
    x = np.asarray(RNG.standard_normal((64, 48)), np.float32)
    elements, scales = in_blocks(x, 1)
    assert (elements.dtype, elements.shape) == (ml_dtypes.float4_e2m1fn, (64, 48))
    assert (scales.dtype, scales.shape) == (ml_dtypes.float8_e4m3fn, (64, 3))
    found = np.linalg.norm(from_blocks(elements, scales) - x) / np.linalg.norm(x)
    # By a sixth of the largest element, which is what the format says of activations, it is 0.095.
    assert found < 0.085
    for along, turned in zip(in_blocks(x.T, 0), (elements.T, scales.T), strict=True):
        assert np.array_equal(along.view(np.uint8), np.ascontiguousarray(turned).view(np.uint8))


@pytest.mark.parametrize("size", [0.0, 2.0**-14, 1.0, 5000.0])
def test_blocks_of_any_size_stay_finite(size: float) -> None:
    x = np.full((2, 16), size, np.float32)
    x[1] *= -1
    value = from_blocks(*in_blocks(x, 1))
    assert np.isfinite(value).all() and np.array_equal(np.sign(value[0]), -np.sign(value[1]))
    if 2.0**-9 < size < 2688:
        np.testing.assert_allclose(value, x, rtol=2.0**-4)


def test_scales_of_another_shape_are_refused() -> None:
    elements, scales = in_blocks(np.ones((4, 32), np.float32), 1)
    for wrong in (scales[:, :1], scales.T, scales[0]):
        with pytest.raises(ValueError, match="none for blocks"):
            from_blocks(elements, wrong)


WEIGHT = '{scalify.name = "w", scalify.scale = 1.0 : f32, scalify.state = "weight"}'


def test_what_is_rounded_is_the_format() -> None:
    """One product, beside the same arithmetic in NumPy: equal but for the order of the sum."""
    product = ir.Module.parse(one_product(WEIGHT), context=make_context())
    BlockDots(format="nvfp4").apply(product, [])
    x, w = X.astype(np.float16), normal(D, D)
    x[0], x[1, 0], x[2, 20] = 0, np.inf, 3000  # zeros, and blocks that saturate
    elements, scales = in_blocks(w, 0)
    got = xla.compile(product)([x, elements, scales])[0]
    blocks = x.astype(np.float32).reshape(ROWS, D // 16, 16)
    sixth = np.minimum(np.abs(blocks), 65504).max(-1, keepdims=True) * np.float32(1 / 6)
    own = np.clip(sixth, 2.0**-9, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    data = np.clip(blocks * (np.float32(1) / own), -6, 6).astype(ml_dtypes.float4_e2m1fn)
    rounded = (data.astype(np.float32) * own).reshape(ROWS, D)
    exact = from_blocks(elements, scales)
    assert np.isfinite(got).all() and (got[0] == 0).all()
    np.testing.assert_array_less(np.abs(got - rounded @ exact), 1e-6 * (np.abs(rounded) @ np.abs(exact)) + 1e-30)


# --- programs -------------------------------------------------------------------------------------------------------


def scanned(p: Any, x: jax.Array) -> jax.Array:
    def layer(h: jax.Array, w: Any) -> tuple[jax.Array, None]:
        return jax.nn.relu(h @ w["up"]) @ w["down"] + h, None

    return jax.lax.scan(layer, x, p["layers"])[0] @ p["head"]


def heads(p: Any, x: jax.Array) -> jax.Array:
    q = jnp.tanh(jnp.einsum("btd,dhk->bthk", x.reshape(2, 8, D), p["q"]))
    return jnp.tanh(jnp.einsum("bthk,hkd->btd", q, p["o"])) @ p["head"]


def repeated(p: Any, x: jax.Array) -> jax.Array:
    def layer(_: jax.Array, h: jax.Array) -> jax.Array:
        return jnp.tanh(h @ p["w"])

    return jax.lax.fori_loop(0, 3, layer, x) @ p["head"]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("function", "params", "weights"),
    [
        (model, PARAMS, 3),
        (scanned, {"layers": {"up": normal(4, D, 2 * D), "down": normal(4, 2 * D, D)}, "head": normal(D, D)}, 2),
        (heads, {"q": normal(D, 4, 32), "o": normal(4, 32, D) / 2, "head": normal(D, D)}, 2),
        (repeated, {"w": normal(D, D), "head": normal(D, D)}, 1),
    ],
    ids=["layers", "scanned layers", "heads", "a loop"],
)
def test_weights_are_stored_in_blocks_wherever_products_read_them(
    function: Callable[..., Any], params: Any, weights: int, transposed: bool, tmp_path: pathlib.Path
) -> None:
    arrays = [*jax.tree.leaves(params), X]
    text = text_of(function, params, X)
    module, said = served(text, arrays, tmp_path, transpose_weights=transposed)
    assert f"scalify-block-dots: {weights} weights in f4E2M1FN" in said
    assert sum(spec.element_type == "f4E2M1FN" for spec in entry_signature(module).arguments) == weights
    assert error(text, module, arrays) < 0.3


def test_a_weight_that_something_else_reads_stays_in_fp8_with_its_products(tmp_path: pathlib.Path) -> None:
    """The transpose of a matrix is contracted along its other dimension, and a gather takes rows of another."""

    def tied(p: Any, tokens: jax.Array) -> jax.Array:
        h = jnp.tanh(p["rows"][tokens] @ p["both"])
        return jnp.tanh(jnp.tanh(jnp.tanh(h @ p["both"].T) @ p["rows"]) @ p["w"]) @ p["head"]

    params = {"rows": normal(D, D), "both": normal(D, D), "w": normal(D, D), "head": normal(D, D)}
    arrays = [*jax.tree.leaves(params), np.arange(ROWS, dtype=np.int32)]
    module, said = served(text_of(tied, params, arrays[-1]), arrays, tmp_path)
    assert "1 products with a scale for each 16 elements, 3 left in fp8: a weight of theirs" in said[0]
    kinds = {spec.name: spec.element_type for spec in entry_signature(module).arguments}
    assert (kinds["p['w']"], kinds["p['both']"], kinds["p['rows']"]) == ("f4E2M1FN", "f8E4M3FN", "f8E4M3FN")


def test_what_contracts_no_blocks_stays_in_fp8(tmp_path: pathlib.Path) -> None:
    def layers(p: Any, x: jax.Array) -> jax.Array:
        return jnp.tanh(jnp.tanh(x @ p["a"]) @ p["b"]) @ p["head"]

    params = {"a": normal(24, D), "b": normal(D, D), "head": normal(D, D)}
    text = text_of(layers, params, X[:, :24])
    _, said = served(text, [*jax.tree.leaves(params), X[:, :24]], tmp_path)
    assert said[0].endswith("1 products with a scale for each 16 elements, 1 left in fp8: what they contract is no "
                            "multiple of 16")  # fmt: skip


def test_frozen_weights_are_rounded_once(tmp_path: pathlib.Path) -> None:
    """From what they are in f32, and not from E4M3: as weights that are packed."""
    frozen = text_of(lambda x: model(jax.tree.map(jnp.asarray, PARAMS), x), X)
    module, said = served(frozen, [X], tmp_path)
    assert "scalify-block-dots: 3 weights in f4E2M1FN" in said and "scalify.exact" not in str(module)
    given, _ = served(text_of(model, PARAMS, X), inputs(), tmp_path)
    assert error(frozen, module, [X]) == pytest.approx(error(text_of(model, PARAMS, X), given, inputs()), rel=0.05)


def test_without_pinned_scales_weights_are_rounded_in_each_call() -> None:
    module = ir.Module.parse(text_of(model, PARAMS, X), context=make_context())
    precision_pipeline("nvfp4").run(module, [])
    assert str(module).count('stablehlo.composite "xla.scaled_dot"') == 3
    assert not any(spec.element_type == "f4E2M1FN" for spec in entry_signature(module).arguments)


def test_scales_of_fp8_serve_it_too(tmp_path: pathlib.Path) -> None:
    text = text_of(model, PARAMS, X)
    narrow, _ = served(text, inputs(), tmp_path, "fp8")
    module = ir.Module.parse(text, context=make_context())
    precision_pipeline("nvfp4", pin_scales=str(tmp_path / "scales.json")).run(module, [])
    assert error(text, narrow, inputs()) < 0.08 < error(text, module, inputs()) < 0.25


def test_training_steps_other_gpus_and_devices_are_refused() -> None:
    module = ir.Module.parse(train_step_text(), context=make_context())
    with pytest.raises(ScalifyError, match="NVFP4 is for programs without a backward pass"):
        precision_pipeline("nvfp4").run(module, [])
    module = ir.Module.parse(text_of(model, PARAMS, X), context=make_context())
    with pytest.raises(ScalifyError, match="NVIDIA H200 has no block-scaled matrix units"):
        precision_pipeline("nvfp4 target=h200").run(module, [])
    with pytest.raises(ScalifyError, match="unknown format 'mxfp4'; known are mxfp8, nvfp4"):
        BlockDots(format="mxfp4").apply(module, [])  # type: ignore[arg-type]
    partitioned = text_of(model, PARAMS, X).replace("mhlo.num_partitions = 1", "mhlo.num_partitions = 2")
    module = ir.Module.parse(partitioned, context=make_context())
    remarks: list[Diagnostic] = []
    precision_pipeline("nvfp4").run(module, remarks)
    assert any(each.severity == "warning" and "cannot partition block-scaled" in each.message for each in remarks)
    assert "f4E2M1FN" not in str(module)


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_packed_files_take_half_a_byte_an_element_and_a_sixteenth(ending: str, tmp_path: pathlib.Path) -> None:
    if ending == "safetensors":
        pytest.importorskip("safetensors")
    module, _ = served(text_of(model, PARAMS, X), inputs(), tmp_path)
    packed = pack(module, dict(zip(NAMES, inputs(), strict=False)))
    blocks = sum(PARAMS[name].size for name in "abc")
    assert packed.bytes_after == blocks // 2 + blocks // 16 + PARAMS["head"].size + 4 * 4
    path = tmp_path / f"packed.{ending}"
    path.write_bytes(tensor_bytes(packed.tensors, packed.metadata, str(path)))
    tensors, metadata = read_with_metadata(str(path))
    assert all(np.array_equal(tensors[name].view(np.uint8), packed.tensors[name].view(np.uint8)) for name in tensors)
    values = unpack(tensors, metadata)
    assert values.keys() == set(NAMES)
    for name, exact in zip(NAMES, inputs(), strict=False):
        assert values[name].dtype == np.float32
        assert np.linalg.norm(values[name] - exact) / np.linalg.norm(exact) < (0.03 if "head" in name else 0.085)


def test_transposed_weights_unpack_as_they_were(tmp_path: pathlib.Path) -> None:
    module, _ = served(text_of(model, PARAMS, X), inputs(), tmp_path, transpose_weights=True)
    packed = pack(module, dict(zip(NAMES, inputs(), strict=False)))
    assert packed.tensors["p['a']"].shape == (2 * D, D) and packed.tensors["p['a'].block_scales"].shape == (2 * D, 4)
    found = unpack(packed.tensors, packed.metadata)["p['a']"]
    assert np.linalg.norm(found - PARAMS["a"]) / np.linalg.norm(PARAMS["a"]) < 0.085


def test_damaged_files_are_refused(tmp_path: pathlib.Path) -> None:
    module, _ = served(text_of(model, PARAMS, X), inputs(), tmp_path)
    packed = pack(module, dict(zip(NAMES, inputs(), strict=False)))
    short = {**packed.tensors, "p['a'].block_scales": packed.tensors["p['a'].block_scales"][:1]}
    with pytest.raises(ScalifyError, match="none for blocks of"):
        unpack(short, packed.metadata)
    path = str(tmp_path / "packed.npz")
    for shape in ("[64, 129]", "[-64, 128]", "64", "nonsense", '["a"]'):
        text = {**packed.metadata, "f4E2M1FN.p['a']": shape}
        raw = {**packed.tensors, "p['a']": np.zeros(D * D, np.uint8)}
        (tmp_path / "packed.npz").write_bytes(tensor_bytes(raw, text, path))
        with pytest.raises(ScalifyError, match="which its bytes are not"):
            read_with_metadata(path)


def test_an_exported_function_takes_elements_and_scales_in_the_place_of_a_weight(tmp_path: pathlib.Path) -> None:
    module, _ = served(text_of(model, PARAMS, X), inputs(), tmp_path)
    packed = pack(module, dict(zip(NAMES, inputs(), strict=False)))
    path = tmp_path / "packed.npz"
    path.write_bytes(tensor_bytes(packed.tensors, packed.metadata, str(path)))
    whole = jax.export.export(jax.jit(model))(PARAMS, X)
    pinned = pin_exported(whole, str(tmp_path / "scales.json"), precision="nvfp4")
    loaded = jax.export.deserialize(pinned.serialize())
    params, _ = packed_arguments(loaded, str(path))
    assert [each.dtype.name for each in params["a"]] == ["float4_e2m1fn", "float8_e4m3fn"]
    got, want = np.asarray(loaded.call(params, X)), np.asarray(model(PARAMS, jnp.asarray(X)))
    assert np.linalg.norm(got - want) / np.linalg.norm(want) < 0.25
    assert np.array_equal(got, xla.compile(module)([*jax.tree.leaves(params), X])[0])


@pytest.mark.parametrize("precision", ["fp8", "nvfp4"])
def test_an_export_for_several_platforms_is_given_its_weights(precision: str, tmp_path: pathlib.Path) -> None:
    """Its module takes the platform's index first, which is no input: each array went to the input before its own."""

    def with_an_unused_input(p: Any, unused: jax.Array, x: jax.Array) -> jax.Array:  # noqa: ARG001
        return model(p, x)

    module, _ = served(text_of(model, PARAMS, X), inputs(), tmp_path, precision)
    packed = pack(module, dict(zip(NAMES, inputs(), strict=False)))
    path = tmp_path / "packed.npz"
    path.write_bytes(tensor_bytes(packed.tensors, packed.metadata, str(path)))
    both = jax.export.export(jax.jit(with_an_unused_input), platforms=["cpu", "cuda"])
    pinned = pin_exported(both(PARAMS, X, X), str(tmp_path / "scales.json"), precision=precision)
    params = packed_arguments(pinned, str(path))[0]
    got, want = np.asarray(pinned.call(params, X, X)), np.asarray(model(PARAMS, jnp.asarray(X)))
    assert np.linalg.norm(got - want) / np.linalg.norm(want) < 0.25


def test_the_tools_pack_unpack_and_compare_it(tmp_path: pathlib.Path) -> None:
    text = text_of(model, PARAMS, X)
    module, _ = served(text, inputs(), tmp_path)
    original, pinned = tmp_path / "model.mlir", tmp_path / "served.mlir"
    original.write_text(text)
    pinned.write_text(str(module))
    (tmp_path / "weights.npz").write_bytes(
        tensor_bytes({f"p.{name}": value for name, value in PARAMS.items()}, {}, "weights.npz")
    )
    (tmp_path / "batch.npz").write_bytes(tensor_bytes({"x": X}, {}, "batch.npz"))
    run: Any = CliRunner().invoke
    weights, packed = str(tmp_path / "weights.npz"), str(tmp_path / "packed.npz")
    done = run(pack_tool.main, [str(pinned), weights, "-o", packed])
    assert done.exit_code == 0 and "4 tensors:" in done.output and "left out" not in done.output, done.output
    done = run(pack_tool.main, [str(pinned), packed, "-o", str(tmp_path / "values.npz"), "--unpack"])
    assert done.exit_code == 0 and "4 tensors in f32" in done.output, done.output
    batch = str(tmp_path / "batch.npz")
    done = run(compare_tool.main, [
        str(original), str(pinned), "--weights", weights, "--inputs", batch, "--packed", packed,
        "--scales", str(tmp_path / "scales.json"),
    ])  # fmt: skip
    assert done.exit_code == 0 and "served" in done.output and "p['a']" in done.output, done.output
    assert json.loads((tmp_path / "scales.json").read_text())["precision"] == "nvfp4"


def test_modules_keep_their_meaning_as_text(tmp_path: pathlib.Path) -> None:
    module, _ = served(text_of(model, PARAMS, X), inputs(), tmp_path)
    packed = pack(module, dict(zip(NAMES, inputs(), strict=False)))
    again = ir.Module.parse(str(module), context=make_context())
    arrays = [packed.tensors.get(spec.name, X) for spec in entry_signature(again).arguments]
    assert np.array_equal(xla.compile(again)(arrays)[0], xla.compile(clone(module))(arrays)[0])


@pytest.mark.parametrize("precision", ["nvfp4", "mxfp8"])
def test_errors_of_elements_make_up_for_each_other_in_what_reads_them(precision: str, tmp_path: pathlib.Path) -> None:
    """On inputs that rounding has seen, given by their index, and on others: block scales stay those of the nearest."""
    mix = normal(8, D)
    batches = [np.asarray(RNG.standard_normal((256, 8)) @ mix + 0.3 * normal(256, D), np.float32) for _ in range(2)]
    text = text_of(model, PARAMS, batches[0])
    weights = [*jax.tree.leaves(PARAMS)]
    module, _ = served(text, [*weights, batches[0]], tmp_path, precision)
    (tmp_path / "0.npz").write_bytes(tensor_bytes({"4": batches[0]}, {}, "0.npz"))
    named = dict(zip(NAMES, weights, strict=True))
    read = sampled_readings(module, named, [str(tmp_path / "0.npz")])
    assert len(read) == 4
    plain, made_up = pack(module, named).tensors, pack(module, named, read=read).tensors
    for name in (name for name in plain if name.endswith(".block_scales")):
        assert np.array_equal(plain[name].view(np.uint8), made_up[name].view(np.uint8))
    original = ir.Module.parse(text, context=make_context())
    for x in batches:
        errors = [
            next(
                each.error
                for each in compare(original, module, [[*weights, x]], packed=packed)
                if each.form == "served"
            )
            for packed in (plain, made_up)
        ]
        assert errors[1] < 0.92 * errors[0], errors


@pytest.mark.parametrize(("precision", "most"), [("fp8", 1.1), ("mxfp8", 1.1), ("nvfp4", 1.25)])
def test_what_stays_wide_is_chosen_by_the_rounding_of_the_precision(
    precision: str, most: float, tmp_path: pathlib.Path
) -> None:
    """The switches round as the served module does; weights in blocks by a sixth of the largest, which errs more."""
    x = np.asarray(RNG.standard_normal((256, D)), np.float32)
    arrays = [*jax.tree.leaves(PARAMS), x]
    text = text_of(model, PARAMS, x)
    module, _ = served(text, arrays, tmp_path, precision)
    calibration = Calibration(ir.Module.parse(text, context=make_context()), precision)
    calibration.arguments([arrays])
    calibration.operands([arrays])
    program = Switched(calibration)
    (got,), want = program(arrays, np.ones(len(program.units), np.bool_)), np.asarray(model(PARAMS, jnp.asarray(x)))
    estimated = np.linalg.norm(got - want) / np.linalg.norm(want)
    assert 1 / 1.1 < estimated / error(text, module, arrays) < most
