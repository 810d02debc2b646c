"""The experiments run, at sizes too small to measure anything; and their recipes do what they are called after."""

import dataclasses
import json
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

from examples import text
from experiments import __main__ as command
from experiments import models, report, runs, train
from experiments.fp8_layers import HISTORY, CurrentScalingLayers, DelayedScalingLayers
from experiments.layers import Layers, PaperLayers
from experiments.models import Size
from experiments.optimiser import Schedule, adam, initial_state
from experiments.recipes import LOSS_SCALE, RECIPES, compiled_step, first_state
from experiments.train import Settings, diagnosis, rescales, run
from experiments.unit_layers import UnitScaledLayers
from scalify_hlo import as_scaled_array

TINY = Settings(
    layers=1, width=32, heads=2, groups=1, context=8, batch=2, steps=3, warm_up=1, evaluation_batches=1
)  # fmt: skip
ARGUMENTS = [f"--{field.name.replace('_', '-')}={getattr(TINY, field.name)}" for field in dataclasses.fields(TINY)]


@pytest.fixture(scope="module")
def corpora() -> tuple[text.Corpus, text.Corpus]:
    data = np.random.default_rng(0).integers(97, 101, 4000).astype(np.uint8)
    return text.Corpus(data, "four letters"), text.Corpus(data[::-1].copy(), "four letters, backwards")


@pytest.mark.parametrize(
    ("model", "row"), [("gpt2", "f16-loss-scaling"), ("llama", "fp8-delayed"), ("gpt2", "paper-4")]
)
def test_rows_follow_f32(model: Any, row: str, corpora: Any) -> None:
    exact, narrow = (run(TINY, model, each, 0, *corpora) for each in ("f32", row))
    assert narrow["failure"] is None
    # FP8's three bits of mantissa are worth a little more than f16's ten.
    np.testing.assert_allclose(narrow["losses"], exact["losses"], atol=5e-3 if row.startswith("f16") else 2e-2)
    assert narrow["held_out_loss"] == pytest.approx(exact["held_out_loss"], abs=0.05)
    if row == "paper-4":
        assert narrow["state_bytes"] < 0.55 * exact["state_bytes"]


def test_the_compiler_s_way_starts_where_f32_does(corpora: Any) -> None:
    size, recipe = TINY.size, RECIPES["compiler-4"]
    tokens = next(corpora[0].batches(TINY.batch, TINY.context, 0))
    state = first_state("llama", size, recipe, 0)
    _, loss = compiled_step("llama", size, recipe)(state, tokens, as_scaled_array(np.float32(1e-3)))
    exact = models.loss("llama", size, models.initial_parameters("llama", size, 0), tokens, Layers())
    assert float(np.asarray(loss)) == pytest.approx(float(exact), abs=5e-3)


def test_the_compiler_rescales_no_tensor_of_a_layer() -> None:
    assert [rescales(model, TINY, "compiler-3") for model in ("gpt2", "llama")] == [0, 0]  # type: ignore[arg-type]
    assert rescales("gpt2", TINY, "fp8-current") == 18
    assert rescales("gpt2", TINY, "compiler-1") == 0


# --- recipes ------------------------------------------------------------------------------------------------------


def test_an_overflow_halves_the_loss_scale_and_leaves_the_state() -> None:
    size, recipe = TINY.size, RECIPES["f16-loss-scaling"]
    step, state = compiled_step("gpt2", size, recipe), first_state("gpt2", size, recipe, 0)
    state["loss_scale"] = jnp.float32(2.0**40)
    tokens = np.zeros((2, size.context + 1), np.int32)
    new, loss = step(state, tokens, np.float32(1e-3))
    assert float(new["loss_scale"]) == 2.0**39 and np.isfinite(loss)
    for a, b in zip(jax.tree.leaves(new["parameters"]), jax.tree.leaves(state["parameters"]), strict=True):
        np.testing.assert_array_equal(a, b)
    newer, _ = step(new | {"loss_scale": jnp.float32(LOSS_SCALE)}, tokens, np.float32(1e-3))
    assert int(newer["step"]) == 1 and float(newer["loss_scale"]) == LOSS_SCALE


def test_fp8_products_are_near_and_their_gradients_too() -> None:
    generator = np.random.default_rng(0)
    x = jnp.asarray(1e-3 * generator.normal(size=(2, 8, 64)), jnp.bfloat16)
    weight = jnp.asarray(0.02 * generator.normal(size=(64, 16)), jnp.float32)

    def loss(x: Any, w: Any, layers: Layers) -> jax.Array:
        return jnp.sum(layers.linear(x, w, None).astype(jnp.float32) ** 2)

    exact = jax.grad(loss, (0, 1))(x.astype(jnp.float32), weight, Layers())
    found = jax.grad(loss, (0, 1))(x, weight, CurrentScalingLayers())
    for a, b in zip(found, exact, strict=True):
        error = np.linalg.norm(np.asarray(a, np.float32) - np.asarray(b)) / np.linalg.norm(np.asarray(b))
        assert 1e-3 < error < 0.1  # three and two bits of mantissa


def test_delayed_scaling_hands_back_new_histories() -> None:
    x, weight = jnp.full((1, 2, 4), 3, jnp.bfloat16), jnp.full((4, 4), -0.5)
    histories = jnp.zeros((1, 3, HISTORY)).at[0, :, 0].set(1)

    def loss(histories: jax.Array) -> jax.Array:
        return jnp.sum(DelayedScalingLayers(histories).linear(x, weight, None).astype(jnp.float32)) * 7

    new = np.asarray(jax.grad(loss)(histories))
    np.testing.assert_array_equal(new[0, :, 0], [3, 0.5, 7])
    np.testing.assert_array_equal(new[0, :, 1], [1, 1, 1])
    assert not new[0, :, 2:].any()


def test_the_paper_s_fp8_layers_multiply_fp8() -> None:
    size = Size(layers=1, width=32, heads=2, groups=1, context=8)
    parameters = models.initial_parameters("llama", size, 0)
    tokens = jnp.zeros((1, 9), jnp.int32)
    step = jax.jit(jax.grad(lambda p: models.loss("llama", size, p, tokens, PaperLayers(fp8=True))))
    lines = [line for line in step.lower(parameters).as_text().splitlines() if "dot_general" in line]
    fp8 = [line for line in lines if "xf8" in line]
    assert len(fp8) == 3 * 7 and all(line.count("xf8E") == 2 for line in fp8)


def test_unit_scaled_products_keep_unit_size() -> None:
    generator = np.random.default_rng(0)
    x, weight, gradient = (generator.normal(size=shape) for shape in ((2, 32, 64), (64, 256), (2, 32, 256)))
    narrow = jnp.asarray(x, jnp.float16), jnp.asarray(weight, jnp.float32)
    y, back = jax.vjp(UnitScaledLayers().product, *narrow)
    sizes = [float(jnp.std(a.astype(jnp.float32))) for a in (y, *back(jnp.asarray(gradient, jnp.float16)))]
    np.testing.assert_allclose(sizes, [4**-0.25, 4**0.25, 1], rtol=0.02)
    np.testing.assert_allclose(y, x @ weight / (64 * 256) ** 0.25, atol=0.25)


@pytest.mark.parametrize("model", ["gpt2", "llama"])
def test_unit_scaled_tensors_start_near_unit_size(model: Any) -> None:
    sizes: list[float] = []

    class Recorded(UnitScaledLayers):
        def linear(self, x: Any, weight: Any, bias: Any) -> Any:
            y = super().linear(x, weight, bias)
            sizes.extend(float(jnp.std(a.astype(jnp.float32))) for a in (x, weight, y))
            return y

    size, recipe = dataclasses.replace(Settings().size, layers=1), RECIPES["fp8-unit-scaling"]
    tokens = np.random.default_rng(0).integers(0, 256, (4, size.context + 1))
    parameters = first_state(model, size, recipe, 0)["parameters"]
    loss = models.loss(model, size, parameters, tokens, Recorded())
    assert len(sizes) == 3 * size.layers * (6 if model == "gpt2" else 7)
    assert min(sizes) > 0.25 and max(sizes) < 4
    wide = models.loss(model, size, parameters, tokens, UnitScaledLayers(narrow=False))
    assert float(loss) == pytest.approx(float(wide), abs=0.02)


def test_adam_is_adam() -> None:
    state = initial_state({"w": jnp.float32(1.0)})
    for gradient in (0.5, -0.25):
        state = adam(state, {"w": jnp.float32(gradient)}, jnp.float32(0.1))
    m, v = 0.9 * 0.05 - 0.025, 0.95 * 0.0125 + 0.05 * 0.0625
    second = 0.1 * (m / (1 - 0.9**2)) / (np.sqrt(v / (1 - 0.95**2)) + 1e-8)
    assert float(state["parameters"]["w"]) == pytest.approx(1 - 0.1 - second, rel=1e-5)


def test_rates_are_divided_by_deviations() -> None:
    parameters = {"w": jnp.float32(1.0), "b": jnp.float32(1.0)}
    state = adam(initial_state(parameters), parameters, jnp.float32(0.1), {"w": 0.25, "b": 1.0})
    assert float(state["parameters"]["w"]) == pytest.approx(0.6)
    assert float(state["parameters"]["b"]) == pytest.approx(0.9)


def test_the_schedule_rises_and_falls() -> None:
    rates = [Schedule(100, 1.0, 10).rate(i) for i in range(100)]
    assert rates[0] == 0.1 and max(rates) == rates[9] == 1 and rates[-1] == pytest.approx(0.1, abs=1e-3)


# --- the command --------------------------------------------------------------------------------------------------


def test_the_command_goes_on_where_it_was(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.txt").write_text("abcdefgh" * 500)
    out, picture = tmp_path / "out.json", tmp_path / "out.svg"
    options = [f"--text={tmp_path / 'text.txt'}", f"--out={out}", f"--picture={picture}", *ARGUMENTS]
    trained: list[tuple[str, int]] = []

    def fake(_settings: Settings, _model: Any, row: str, seed: int, *_: Any, diagnose: bool) -> Any:
        assert diagnose
        trained.append((row, seed))
        failure = {"step": 2, "loss": "nan", "first": [{"name": "block_0/add"}]} if row == "bf16" else None
        loss = None if failure else 2.0 + seed
        return {"losses": [3.0, 2.0], "final_loss": loss, "held_out_loss": loss, "failure": failure,
                "state_bytes": 100, "rescales": 0, "seconds": 1.0}  # fmt: skip

    monkeypatch.setattr(runs, "run", fake)
    pytest.importorskip("matplotlib")
    for rows in ("f32", "f32,bf16"):
        done = CliRunner().invoke(
            command.main, ["gpt2", f"--rows={rows}", "--seeds=0,1", *options], catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
    assert trained == [("f32", 0), ("f32", 1), ("bf16", 0), ("bf16", 1)]
    assert "| FP32 baseline #0 | 2.5000 ± 0.5000 | +0.0000 |" in done.output
    assert "seed 1: not finite in step 2: `block_0/add`" in done.output
    assert set(json.loads(out.read_text())["runs"]) == {"f32", "bf16"} and picture.read_text().startswith("<?xml")


def test_an_unknown_row_is_one_line() -> None:
    done = CliRunner().invoke(command.main, ["gpt2", "--rows=fp4"])
    assert done.exit_code == 2 and "unknown row 'fp4'; known are f32" in done.output


def test_a_row_that_breaks_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is infinite in f32 too, as a mask, is no break. Which f16 result overflows is up to XLA, so said here."""
    measured = train._measured

    def with_overflow(module: Any, precision: str, arrays: Any, include: Any) -> Any:
        masked, *tensors = measured(module, precision, arrays, include)
        if precision != "f32":
            k = next(k for k, tensor in enumerate(tensors) if "transpose" in tensor.name)
            tensors[k] = dataclasses.replace(tensors[k], overflow=0.5)
        return [dataclasses.replace(masked, overflow=0.5), *tensors]

    monkeypatch.setattr(train, "_measured", with_overflow)
    size, recipe = TINY.size, RECIPES["compiler-4"]
    state = first_state("gpt2", size, recipe, 0)
    tokens = np.zeros((2, size.context + 1), np.int32)
    found = diagnosis("gpt2", size, recipe, (state, tokens, as_scaled_array(np.float32(1e-3))), ("*dot_general*",))
    assert found["broken_tensors"] == 1 and found["watched_tensors"] > 10
    assert "dot_general" in found["first"][0]["name"] and found["first"][0]["overflow"] == 0.5
    assert report.failure_text("0", {"step": 1, **found}).startswith("seed 0: not finite in step 1: `")
