"""The calibration report measures what the rewritten program computes."""

import dataclasses
import json
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import calibration
from benchmarks.calibration_measure import Tensor, measure
from benchmarks.models.catalogue import MODELS
from benchmarks.models.training import Model


def _loss(parameters: dict[str, jax.Array], batch: jax.Array) -> jax.Array:
    with jax.named_scope("block_0"):
        return jnp.mean(jnp.square(batch @ parameters["w"]))


def _linear() -> Model:
    generator = np.random.default_rng(0)
    weights = (32 * generator.normal(size=(16, 4))).astype(np.float32)
    return Model("linear", {"w": weights}, _loss, generator.normal(size=(64, 16)).astype(np.float32))


def _named(tensors: tuple[Tensor, ...], operation: str, direction: str) -> Tensor:
    return next(t for t in tensors if t.operation == operation and t.direction == direction)


def test_data_and_scales_are_those_of_the_program() -> None:
    found = measure(_linear(), "f32", "rms")
    product = _named(found.tensors, "dot_general", "forward")
    assert (product.layer, product.family, product.elements) == (0, "contraction", 256)
    # RMS of the product: 32 sqrt(16) = 2^7
    assert product.log2_rms is not None and product.log2_scale is not None and product.log2_true is not None
    assert product.log2_rms + product.log2_scale == pytest.approx(product.log2_true, abs=0.01)
    assert product.log2_true == pytest.approx(7, abs=0.3)
    assert max(t.error for t in found.tensors if t.error is not None) < 1e-5
    assert found.loss == pytest.approx(found.true_loss, rel=1e-6)


@pytest.mark.parametrize(("scales", "expected"), [("rms", 0.0), ("one", 5.0)])
def test_parameters_enter_at_the_scales_asked_for(scales: calibration.Scales, expected: float) -> None:
    found = measure(_linear(), "f32", scales)
    weights = next(t for t in found.tensors if t.direction == "argument" and "parameters" in t.name)
    assert weights.log2_rms == pytest.approx(expected, abs=0.6)
    assert weights.log2_true == pytest.approx(5, abs=0.2)


def test_an_overflow_of_the_data_is_counted() -> None:
    model = _linear()
    big = {"w": model.parameters["w"] * np.float32(2.0**8)}
    lost = measure(Model("linear", big, _loss, model.batch), "f16", "one").tensors
    assert any(t.overflows for t in lost)
    kept = measure(Model("linear", big, _loss, model.batch), "f16", "rms").tensors
    assert not any(t.overflows for t in kept if t.direction == "forward")


def test_optimiser_state_is_carried_as_pairs_over_steps() -> None:
    found = measure(_linear(), "f32", "rms", steps=3)
    moments = [t for t in found.tensors if t.direction == "argument" and "moment" in t.name]
    assert len(moments) == 2
    assert all(t.log2_rms is not None for t in moments)
    assert found.loss == pytest.approx(found.true_loss, rel=1e-5)


def test_slopes_follow_the_depth() -> None:
    base = next(t for t in measure(_linear(), "f32", "rms").tensors if t.layer == 0)
    deep = [dataclasses.replace(base, layer=i, log2_rms=0.5 * i) for i in range(4)]
    (slope,) = calibration.slopes(deep)
    assert (slope.slope, slope.first, slope.last) == (0.5, 0.0, 1.5)
    other = [dataclasses.replace(t, place="elsewhere", log2_rms=7.0) for t in deep]
    assert calibration.pooled_slope([*deep, *other], base.direction) == 0.25


@pytest.mark.parametrize("name", ["llama", "lstm", "resnet", "vit"])
def test_models_run_in_both_types(name: str) -> None:
    sizes = {"lstm": {"context": 8}, "resnet": {"size": 8, "width": 4}}.get(name, {"width": 16})
    model = MODELS[name](1, batch=2, **sizes)
    values = [
        float(model.loss(jax.tree.map(lambda x, kind=kind: jnp.asarray(x, kind), model.parameters),
                         jax.tree.map(lambda x, kind=kind: jnp.asarray(x, kind if x.dtype == np.float32 else x.dtype),
                                      model.batch)))
        for kind in (jnp.float32, jnp.float16)
    ]  # fmt: skip
    assert all(math.isfinite(value) for value in values)
    assert values[0] == pytest.approx(values[1], rel=0.02)


def test_command_writes_tables_and_numbers(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(calibration.MODELS, "vit", lambda _layers: _linear())
    out = tmp_path / "numbers.json"
    result = CliRunner().invoke(calibration.main, ["--model", "vit", "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "| contraction" in result.output
    assert "within 2^±8" in result.output
    numbers = json.loads(out.read_text())
    assert numbers["settings"]["model"] == "vit"
    assert numbers["all"]["within"] <= 1


def _residual(parameters: dict[str, jax.Array], batch: jax.Array) -> jax.Array:
    """A stream of size 1 to which every block adds an eighth of its centred self."""
    x = batch
    for i in range(12):
        with jax.named_scope(f"block_{i}"):
            x = x + (x - jnp.mean(x, axis=-1, keepdims=True)) @ parameters["w"][i]
    return jnp.mean(jnp.square(x))


# With all scales 1 the weights are 2^5 smaller than their scales say: f16 takes the maximum of the scales as they are.
@pytest.mark.parametrize(("dtype", "scales"), [("f16", "rms"), ("f32", "rms"), ("f32", "one")])
def test_a_residual_stream_keeps_its_size_at_any_depth(dtype: str, scales: calibration.Scales) -> None:
    generator = np.random.default_rng(0)
    weights = (generator.normal(size=(12, 16, 16)) / 32).astype(np.float32)
    batch = generator.normal(size=(64, 16)).astype(np.float32)
    found = measure(Model("residual", {"w": weights}, _residual, batch), dtype, scales).tensors
    for direction in ("forward", "backward"):
        stream = [t.log2_rms for t in found if t.operation == "add" and t.direction == direction and t.elements == 1024]
        assert len(stream) >= 11
        assert max(stream) - min(stream) < 2


def _normalised(parameters: dict[str, jax.Array], batch: jax.Array) -> jax.Array:
    """A stream that starts small, to which every block adds a tensor of size 1: it grows by 2^4, 1, 1/2, ..."""
    x = batch @ parameters["in"]
    for i in range(12):
        with jax.named_scope(f"block_{i}"):
            deviation = jnp.sqrt(jnp.mean(jnp.square(x.astype(jnp.float32)), axis=-1, keepdims=True) + 1e-6)
            x = x + (x / deviation.astype(x.dtype)) @ parameters["w"][i]
    return jnp.mean(x @ parameters["out"])


def test_the_cotangent_of_a_stream_grows_as_the_stream_shrinks() -> None:
    generator = np.random.default_rng(0)
    weights = (generator.normal(size=(12, 16, 16)) / 4).astype(np.float32)
    batch = generator.normal(size=(64, 16)).astype(np.float32)
    first = (generator.normal(size=(16, 16)) / 64).astype(np.float32)
    out = generator.normal(size=16).astype(np.float32)
    found = measure(
        Model("normalised", {"in": first, "w": weights, "out": out}, _normalised, batch), "f16", "rms"
    ).tensors
    sums = [t for t in found if t.operation == "add" and t.direction == "backward" and t.elements == 1024]
    sizes = [t.log2_rms for t in sums if t.log2_rms is not None]
    values = [t.log2_true for t in sums if t.log2_true is not None]
    assert len(sizes) >= 12
    assert max(values) - min(values) > 5
    assert max(sizes) - min(sizes) < 3


def _from_zeros(parameters: dict[str, jax.Array], batch: jax.Array) -> jax.Array:
    """A stream of zeros whose blocks normalise a linear function of it, and a term that is not small after them."""

    def normalised(x: jax.Array) -> jax.Array:
        return x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)

    x = parameters["in"]
    for inner, outer in zip(parameters["inner"], parameters["outer"], strict=True):
        x = x + normalised(x @ inner) @ outer
    x = normalised((x + parameters["late"]) @ parameters["last"])
    return jnp.mean(jnp.sin(x @ parameters["out"] + batch))


def test_the_cotangent_of_a_stream_of_zeros_grows_by_no_more_than_the_epsilon_allows() -> None:
    generator = np.random.default_rng(0)
    shapes = {"inner": (2, 16, 16), "outer": (2, 16, 16), "late": (64, 16), "last": (16, 16), "out": (16,)}
    parameters = {name: generator.normal(size=shape).astype(np.float32) / 4 for name, shape in shapes.items()}
    parameters["in"] = np.zeros((64, 16), np.float32)
    batch = generator.normal(size=64).astype(np.float32)
    found = measure(Model("zeros", parameters, _from_zeros, batch), "f16", "rms").tensors
    # Each of the two blocks makes it 1/sqrt(1e-6) = 2^10 larger. Relative to zeros it would be 2^126.
    assert max(t.log2_scale for t in found if t.log2_scale is not None) < 30


def test_a_tensor_of_rounding_errors_counts_as_noise() -> None:
    tensors = measure(_linear(), "f32", "rms").tensors
    wrong = dataclasses.replace(tensors[-1], log2_rms=-20.0, error=1e6)
    assert calibration.summary([*tensors, wrong]) == dataclasses.replace(calibration.summary(tensors), noise=1)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_gpt2_stays_near_unit_size(dtype: str) -> None:
    """Forward, backward and Adam: 92 % of the f32 tensors, 95 % of the f16 ones were within 2^-8..2^8 once."""
    found = calibration.summary(measure(MODELS["gpt2"](2), dtype, "rms").tensors)
    assert found.within >= calibration.SHARE
    assert found.overflow == found.underflow == 0
