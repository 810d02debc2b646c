"""Weights whose rounding errors make up for each other in the products that read them."""

import pathlib
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from scalify_hlo.tools import calibrate, compare, pack, scalify_opt

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, make_context, stablehlo
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.modules import clone
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.serving.calibration import Calibration
from scalify_hlo.serving.compensation import Readings, nearest, rounded
from scalify_hlo.serving.packing import pack as packed_weights
from scalify_hlo.serving.packing import pinned_arguments, unpack
from scalify_hlo.serving.patches import Patches
from scalify_hlo.serving.product_inputs import readings
from scalify_hlo.serving.tensors import read_with_metadata

RNG = np.random.default_rng(0)
E4M3 = np.dtype(jnp.float8_e4m3fn)
D, ROWS, CLASSES = 32, 256, 16


def normal(*shape: int) -> Array:
    return np.asarray(RNG.standard_normal(shape), np.float32)


def correlated(rows: int, mix: Array) -> Array:
    """Rows of unit size, most of which lies in a few directions."""
    return (normal(rows, len(mix)) @ mix + 0.3 * normal(rows, mix.shape[1])).astype(np.float32)


MIX = normal(4, D) / 2


def of_product(x: Array, shape: tuple[int, int]) -> Readings:
    return Readings(np.arange(np.prod(shape)).reshape(1, *shape), (x.T @ x)[None].astype(np.float64), len(x))


def test_the_error_of_a_product_is_less_on_samples_that_rounding_has_not_seen() -> None:
    w = normal(D, 8)
    seen, new = (correlated(ROWS, MIX).astype(np.float64) for _ in range(2))

    def error(data: Array) -> float:
        return float(np.linalg.norm(new @ (data.astype(np.float64) - w)) / np.linalg.norm(new @ w))

    made_up, plain = rounded(w, of_product(seen, w.shape), E4M3, 448.0), nearest(w, E4M3, 448.0)
    assert made_up.dtype == plain.dtype == E4M3
    assert error(made_up) < 0.6 * error(plain)
    # Each element is still one of the two or three next to what it was.
    assert np.abs(made_up.astype(np.float64) - w).max() < 0.5


def test_more_rows_than_a_block_and_rows_that_nothing_is_multiplied_by() -> None:
    w = normal(300, 4)
    x = correlated(400, normal(8, 300))
    x[:, 100:] = 0
    data = rounded(w, of_product(x, w.shape), E4M3, 448.0)
    np.testing.assert_array_equal(data[100:], nearest(w, E4M3, 448.0)[100:])
    errors = [np.linalg.norm(x @ (each.astype(np.float64) - w)) for each in (data, nearest(w, E4M3, 448.0))]
    assert errors[0] < 0.7 * errors[1]


def test_zeros_and_what_is_beyond_the_range() -> None:
    w = normal(D, 4)
    w[3, 2] = 1e5
    for x in (np.zeros((8, D)), np.full((8, D), np.inf), correlated(ROWS, MIX)):
        data = rounded(w, of_product(x, w.shape), E4M3, 448.0).astype(np.float64)
        assert np.isfinite(data).all() and data[3, 2] == 448


PARAMS: dict[str, Array] = {
    "embedding": normal(CLASSES, D),
    "experts": normal(3, D, D) / D**0.5,
    "heads": normal(D, D) / D**0.5,
    "layers": normal(2, D, D) / D**0.5,
    "out": normal(CLASSES, D) / D**0.5,
}


def model(p: Any, tokens: jax.Array, x: jax.Array) -> jax.Array:
    """Rows of a table, products with a batch dimension, reshaped and transposed weights, and a loop."""
    h = x + p["embedding"][tokens]
    h = jnp.einsum("erd,edf->erf", h.reshape(3, -1, D), p["experts"]).reshape(-1, D)
    h = jnp.tanh(jnp.einsum("rd,dhk->rhk", h, p["heads"].reshape(D, 4, D // 4)).reshape(-1, D))
    h, _ = jax.lax.scan(lambda h, w: (h + jnp.tanh(h @ w), None), h, p["layers"])
    return h @ p["out"].T


def batch(rows: int = 96) -> tuple[Array, Array]:
    return RNG.integers(0, CLASSES, rows).astype(np.int32), correlated(rows, MIX)


def test_which_weights_are_read_by_products_alone_and_where(tmp_path: pathlib.Path) -> None:
    tokens, x = batch()
    text = jax.export.export(jax.jit(model))(PARAMS, tokens, x).mlir_module()
    original = ir.Module.parse(text, context=make_context())
    arrays = [*jax.tree.leaves(PARAMS), tokens, x]
    calibration = Calibration(original, "fp8")
    calibration.arguments([arrays])
    calibration.operands([arrays])
    (tmp_path / "scales.json").write_bytes(calibration.scales.to_json())
    served = clone(original)
    precision_pipeline("fp8", pin_scales=str(tmp_path / "scales.json")).run(served, [])
    names = [f"p['{name}']" for name in sorted(PARAMS)]
    packed = packed_weights(served, dict(zip(names, arrays, strict=False)))
    before = str(served)
    found = readings(served, pinned_arguments(served), [[*(packed.tensors[name] for name in names), tokens, x]])
    assert str(served) == before
    read = {sorted(PARAMS)[i]: each for i, each in found.items()}
    assert read.keys() == {"experts", "heads", "out"}
    assert read["experts"].moments.shape == (3, D, D)
    assert read["out"].places.shape == (1, D, CLASSES)
    np.testing.assert_array_equal(read["out"].places[0], np.arange(CLASSES * D).reshape(CLASSES, D).T)
    np.testing.assert_array_equal(np.sort(read["heads"].places.ravel()), np.arange(D * D))
    # What the experts are multiplied by, up to the operand's scale and FP8.
    first = (x + PARAMS["embedding"][tokens])[: len(x) // 3].astype(np.float64)
    moments = first.T @ first
    measured = read["experts"].moments[0]
    factor = np.trace(moments) / np.trace(measured)
    assert np.linalg.norm(measured * factor - moments) < 0.05 * np.linalg.norm(moments)


def test_packed_by_samples_the_served_module_is_closer(tmp_path: pathlib.Path) -> None:
    def run(command: Any, *arguments: object) -> str:
        done = CliRunner().invoke(command, [str(each) for each in arguments])
        assert done.exit_code == 0, done.output
        return done.output

    def mlp(p: Any, x: jax.Array) -> jax.Array:
        return jnp.tanh(jnp.tanh(x @ p["a"]) @ p["b"]) @ p["c"]

    weights = {name: normal(D, D) / D**0.5 for name in "abc"}
    text = jax.export.export(jax.jit(mlp))(weights, correlated(ROWS, MIX)).mlir_module()
    (tmp_path / "model.mlir").write_text(text)
    np.savez(tmp_path / "weights.npz", **weights)  # type: ignore[arg-type]
    for folder in ("seen", "new"):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / "0.npz", x=correlated(ROWS, MIX))
    model_path, served, scales = (tmp_path / name for name in ("model.mlir", "served.mlir", "scales.json"))
    shared = ("--weights", tmp_path / "weights.npz")
    run(calibrate.main, model_path, "--precision=fp8", *shared, "--inputs", tmp_path / "seen", "-o", scales)
    run(scalify_opt.main, model_path, "--precision=fp8", f"--pin-scales={scales}", "-o", served)
    errors: dict[str, float] = {}
    for form, options in (("plain", ()), ("made up", ("--inputs", tmp_path / "seen"))):
        output = tmp_path / f"{form}.npz"
        said = run(pack.main, served, tmp_path / "weights.npz", *options, "-o", output)
        assert ("3 of 3 weights are rounded by what they are multiplied by" in said) == (form == "made up")
        table = run(
            compare.main, model_path, served, *shared, "--inputs", tmp_path / "new", "--packed", output
        )  # fmt: skip
        found = re.search(r"served +([\d.e+-]+)", table)
        assert found is not None, table
        errors[form] = float(found[1])
        values = unpack(*read_with_metadata(str(output)))
        for name, value in weights.items():
            near = values[f"p['{name}']"] - value
            assert np.linalg.norm(near) < 0.08 * np.linalg.norm(value)
    assert errors["made up"] < 0.85 * errors["plain"]


def test_samples_that_do_not_fit_are_refused_in_a_line(tmp_path: pathlib.Path) -> None:
    text = jax.export.export(jax.jit(lambda p, x: x @ p["w"]))({"w": normal(D, D)}, normal(8, D)).mlir_module()
    (tmp_path / "model.mlir").write_text(text)
    np.savez(tmp_path / "weights.npz", w=normal(D, D))
    np.savez(tmp_path / "good.npz", x=normal(8, D))
    np.savez(tmp_path / "bad.npz", x=normal(8, D + 1))
    np.savez(tmp_path / "other.npz", y=normal(8, D))

    def run(command: Any, *arguments: object) -> Any:
        return CliRunner().invoke(command, [str(each) for each in arguments])

    shared = ("--weights", tmp_path / "weights.npz", "--inputs", tmp_path / "good.npz")
    scales, served = tmp_path / "scales.json", tmp_path / "served.mlir"
    model_path, weights_path = tmp_path / "model.mlir", tmp_path / "weights.npz"
    assert run(calibrate.main, model_path, "--precision=fp8", *shared, "-o", scales).exit_code == 0
    assert run(scalify_opt.main, model_path, "--precision=fp8", f"--pin-scales={scales}", "-o", served).exit_code == 0
    for name, message in (
        ("bad", "argument 1 (x) is a"),
        ("other", "belongs to no argument"),
        ("none", "No such file"),
    ):
        output = tmp_path / "packed.npz"
        done = run(pack.main, served, weights_path, "--inputs", tmp_path / f"{name}.npz", "-o", output)
        assert done.exit_code == 1 and message in done.output, done.output
        assert len(done.output.splitlines()) == 1 and not output.exists()
    run(pack.main, served, weights_path, "-o", tmp_path / "packed.npz")
    both = run(pack.main, served, weights_path, "--unpack", "--inputs", tmp_path / "good.npz", "-o", "w.npz")
    assert both.exit_code == 2 and "give one of the two" in both.output
    wrong = run(compare.main, model_path, model_path, *shared, "--packed", tmp_path / "packed.npz")
    assert wrong.exit_code == 1 and "float8_e4m3fn" in wrong.output, wrong.output


@pytest.mark.parametrize(
    ("groups", "options", "dims"),
    [
        (1, {"window_strides": (2, 1), "padding": ((1, 2), (0, 1))}, ("NHWC", "HWIO", "NHWC")),
        (4, {"window_strides": (1, 1), "padding": "SAME", "rhs_dilation": (1, 2)}, ("NCHW", "OIHW", "NCHW")),
        (2, {"window_strides": (1, 1), "padding": ((0, 0), (1, 0)), "lhs_dilation": (2, 1)}, ("HWNC", "IOWH", "NHWC")),
    ],
)
def test_a_convolution_is_the_product_of_its_patches(
    groups: int, options: dict[str, Any], dims: tuple[str, ...]
) -> None:
    sizes = {"N": 2, "C": 8, "H": 6, "W": 7, "I": 8 // groups, "O": 12}
    x = normal(*(sizes[d] for d in dims[0]))
    w = normal(*({**sizes, "H": 3, "W": 2}[d] for d in dims[1]))

    def convolve(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(x, w, dimension_numbers=dims, feature_group_count=groups, **options)

    module = ir.Module.parse(jax.export.export(jax.jit(convolve))(x, w).mlir_module(), context=make_context())
    op = next(each for each in walk(module.operation) if each.name == "stablehlo.convolution")
    patches = Patches(op)
    assert patches.is_plain
    found = patches.rows(x) @ patches.kernel(w).astype(np.float64)  # [groups, patches, features of a group]
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    order = numbers.output_batch_dimension, *numbers.output_spatial_dimensions, numbers.output_feature_dimension
    out = np.asarray(convolve(x, w)).transpose(order)
    np.testing.assert_allclose(found.transpose(1, 0, 2).reshape(out.shape), out, rtol=1e-5, atol=1e-5)
