"""Weights in FP8 past loops and movements, with a scale for each channel where the product allows it."""

import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.analysis.channels import channel_dimensions
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.scales_file import channel_scales, read_scales, split_scales
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.serving.calibration import Calibration
from scalify_hlo.serving.exported import pin_exported
from scalify_hlo.serving.packing import pack, unpack

RNG = np.random.default_rng(0)
D = 16
# Channels from 2^-20 to 1: with one scale, most of them would be zero in E4M3.
SPREAD = 2.0 ** -np.linspace(0, 20, D)


def normal(*shape: int) -> np.ndarray:
    return np.asarray(RNG.standard_normal(shape), np.float32)


def dense(w: dict[str, Any], x: jax.Array) -> jax.Array:
    h = (x @ w["a"]) / jnp.asarray(SPREAD, jnp.float32)
    return jnp.tanh(h @ w["b"].T) @ w["c"]


def layers(w: dict[str, Any], x: jax.Array) -> jax.Array:
    def layer(h: jax.Array, a: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh((h @ a) / jnp.asarray(SPREAD, jnp.float32)), None

    return jax.lax.scan(layer, x, w["a"])[0] @ w["c"]


def convolution(w: dict[str, Any], x: jax.Array) -> jax.Array:
    image = x.reshape(1, 8, 4, 4)
    y = jax.lax.conv_general_dilated(image, w["a"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return (y / jnp.asarray(SPREAD, jnp.float32)).reshape(-1, D) @ w["c"]


def tied(w: dict[str, Any], x: jax.Array) -> jax.Array:
    rows = jnp.asarray(w["a"])[jnp.asarray([3, 1, 4, 5])]
    return jnp.tanh(rows / jnp.asarray(SPREAD, jnp.float32)[jnp.asarray([3, 1, 4, 5]), None]) @ w["a"].T + x[:4]


PROGRAMS: dict[str, tuple[Callable[..., Any], dict[str, np.ndarray]]] = {
    "dense": (dense, {"a": normal(D, D) * SPREAD, "b": normal(D, D) / 4, "c": normal(D, D)}),
    "layers": (layers, {"a": normal(3, D, D) * SPREAD / 4, "c": normal(D, D)}),
    "convolution": (convolution, {"a": normal(3, 3, 4, D) * SPREAD, "c": normal(D, D)}),
    "tied": (tied, {"a": normal(D, D) * SPREAD[:, None]}),
}


def served(name: str, path: pathlib.Path, channels: Any = "auto", frozen: bool = False) -> tuple[Any, ...]:
    """A program, the pinned module, its scales and the results of both."""
    function, w = PROGRAMS[name]
    w = {key: np.float32(value) for key, value in w.items()}
    x = normal(8, D)
    if frozen:
        exported = jax.export.export(jax.jit(lambda x: function(w, x)))(x)
    else:
        exported = jax.export.export(jax.jit(function))(w, x)
    module = ir.Module.parse(exported.mlir_module(), context=make_context())
    arrays = [x] if frozen else [*w.values(), x]
    calibration = Calibration(module, "fp8", channels=channels)
    calibration.arguments([arrays])
    calibration.operands([arrays])
    (path / "scales.json").write_bytes(calibration.scales.to_json())
    precision_pipeline("fp8", pin_scales=str(path / "scales.json")).run(module, [])
    weights = {} if frozen else pack(module, {f"w['{key}']": value for key, value in w.items()}).tensors
    names = [spec.name for spec in entry_signature(module).arguments]
    got = xla.compile(module)([weights.get(name, x) for name in names])[0]
    want = np.asarray(function(w, x))
    return module, read_scales(str(path / "scales.json")), got, want


def error(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_channels_that_are_far_apart_have_scales_of_their_own(name: str, frozen: bool, tmp_path: pathlib.Path) -> None:
    module, scales, got, want = served(name, tmp_path, frozen=frozen)
    assert error(got, want) < 0.12
    text = str(module)
    if not frozen:
        shape = {"dense": (1, D), "layers": (3, 1, D), "convolution": (1, 1, 1, D), "tied": (D, 1)}[name]
        assert scales.arguments["w['a']"].shape == shape
        assert scales.arguments["w['c']" if name != "tied" else "x"].shape == ()
        assert error(served(name, tmp_path, channels="none")[2], want) > 0.12
    products = [line for line in text.splitlines() if "dot_general" in line]
    linear = 2 if name == "dense" else 1 if name == "layers" else 0
    assert sum(len(re.findall(r"xf8E4M3FN>", line)) == 2 for line in products) == linear


def test_weights_of_layers_go_through_the_loop_in_fp8(tmp_path: pathlib.Path) -> None:
    module, *_ = served("layers", tmp_path, channels="none")
    text = str(module)
    (loop,) = [line for line in text.splitlines() if "stablehlo.while" in line]
    assert "xf8E4M3FN" in re.sub(r"\s", "", text[text.index("stablehlo.while") :].split("cond")[0])
    assert "3x16x16xf16" not in text and loop
    # The layer's weight is sliced and multiplied as it is: what is converted to FP8 is the activation alone.
    converts = [line for line in text.splitlines() if "stablehlo.convert" in line and "-> tensor<" in line]
    assert [line for line in converts if line.rstrip().endswith("xf8E4M3FN>")] == [
        line for line in converts if "tensor<8x16xf16>) -> tensor<8x16xf8E4M3FN>" in line
    ]


def test_channels_of_one_size_share_a_scale() -> None:
    values = normal(64, 32)
    assert channel_scales(values, (1,), "auto") is None
    assert channel_scales(values, (), "all") is None
    assert channel_scales(np.zeros((4, 4)), (1,), "all") is None
    found = channel_scales(values * 2.0 ** np.arange(32), (1,), "auto")
    assert found is not None and found.shape == (1, 32)
    np.testing.assert_array_equal(np.log2(found[0]), np.arange(32) + np.log2(found[0, 0]))
    whole, factors = split_scales(found)
    np.testing.assert_array_equal(whole * factors, found)


def test_an_outlier_in_a_channel_stays_in_range() -> None:
    values = np.ones((1000, 2), np.float32)
    values[0, 0] = 2.0**14
    found = channel_scales(values, (1,), "all")
    assert found is not None and 2.0**14 / found[0, 0] <= 448 and found[0, 1] == 1


def test_dimensions_that_a_product_contracts_have_one_scale(tmp_path: pathlib.Path) -> None:
    function, w = PROGRAMS["dense"]
    exported = jax.export.export(jax.jit(function))({key: np.float32(v) for key, v in w.items()}, normal(8, D))
    module = ir.Module.parse(exported.mlir_module(), context=make_context())
    with module.context, ir.Location.unknown():
        found = channel_dimensions(module, "main", lambda product: not product.is_head)
    assert {i: found[i] for i in range(len(w))} == {0: (1,), 1: (0,), 2: (1,)}
    scales = {f"w['{name}']": 1.0 for name in w} | {"x": 1.0, "w['b']": [[2.0**-i for i in range(D)]]}
    path = tmp_path / "scales.json"
    path.write_text(json.dumps({"format": "scalify-scales", "version": 1, "arguments": scales}))
    with pytest.raises(ScalifyError, match=r"'w\['b'\]' differ along dimension 1, which a product contracts; scales"):
        precision_pipeline("fp8", pin_scales=str(path)).run(module, [])


def test_arguments_without_names_are_pinned(tmp_path: pathlib.Path) -> None:
    """Programs that were stored without source positions have none."""
    function, w = PROGRAMS["dense"]
    exported = jax.export.export(jax.jit(function))({key: np.float32(v) for key, v in w.items()}, normal(8, D))
    text = ir.Module.parse(exported.mlir_module(), context=make_context()).operation.get_asm(enable_debug_info=False)
    module = ir.Module.parse(text, context=make_context())
    arrays = [*(np.float32(value) for value in w.values()), normal(8, D)]
    calibration = Calibration(module, "fp8")
    calibration.arguments([arrays])
    (tmp_path / "scales.json").write_bytes(calibration.scales.to_json())
    precision_pipeline("fp8", pin_scales=str(tmp_path / "scales.json")).run(module, [])
    arguments = entry_signature(module).arguments
    assert [spec.name for spec in arguments] == ["arg0", "arg1", "arg2", "arg3"]
    assert [spec.element_type for spec in arguments] == ["f8E4M3FN"] * 3 + ["f32"]


def test_weights_are_handed_over_as_products_read_them(tmp_path: pathlib.Path) -> None:
    """`x @ w` from the transpose of w: the same results, from packed weights and back."""
    _, _, plain, _ = served("dense", tmp_path)
    function, w = PROGRAMS["dense"]
    w = {key: np.float32(value) for key, value in w.items()}
    exported = jax.export.export(jax.jit(function))(w, normal(8, D))
    turned = pin_exported(exported, str(tmp_path / "scales.json"), precision="fp8", transpose_weights=True)
    module = ir.Module.parse(turned.mlir_module(), context=make_context())
    packed = pack(module, {f"w['{key}']": value for key, value in w.items()})
    # b is used as its transpose already, and c is the head, whose product is in f16.
    assert packed.transposed == {"w['a']"}
    x = np.float32(np.random.default_rng(7).standard_normal((8, D)))
    got = turned.call({key: packed.tensors[f"w['{key}']"] for key in w}, x)
    assert error(np.asarray(got), np.asarray(function(w, x))) < 0.12 and plain.shape == got.shape
    back = unpack(packed.tensors, packed.metadata)["w['a']"]
    assert np.abs(back - w["a"]).max() <= 2.0**-4 * np.abs(w["a"]).max()
    assert error(back[:, -1], w["a"][:, -1]) < 0.05  # each column by its own scale
