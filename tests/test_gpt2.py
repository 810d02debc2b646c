"""A whole GPT-2 training step (forward, backward, Adam), exported, rewritten and run: it computes what it did."""

import dataclasses
import functools

import jax
import ml_dtypes
import numpy as np
import pytest

from examples import gpt2, text
from examples.operation_count import count_operations
from scalify_hlo import ScalifyOptions, rewrite_module
from scalify_hlo.errors import Diagnostic
from scalify_hlo.execution import xla
from scalify_hlo.execution.check import CheckReport, check_modules
from scalify_hlo.execution.modules import as_module
from scalify_hlo.execution.options import CheckOptions
from scalify_hlo.execution.xla import compile as compile_for_cpu
from scalify_hlo.passes.auto_rescale import AutoRescale
from scalify_hlo.passes.normal_form import NormalForm

TINY = gpt2.GPT2Config(layers=1, width=16, heads=2, context=8, vocabulary=32)
BATCH = 2


def exported_step(config: gpt2.GPT2Config) -> str:
    return jax.export.export(gpt2.make_train_step(config))(*gpt2.argument_shapes(config, BATCH)).mlir_module()


def arguments_after(steps: int, config: gpt2.GPT2Config) -> list[np.ndarray]:
    """The state after some steps of f32 training in `config.dtype`, a batch and the learning rate."""
    wide = dataclasses.replace(config, dtype="float32", norm_dtype=None)
    batches = np.random.default_rng(0).integers(0, config.vocabulary, (steps + 1, BATCH, config.context + 1), np.int32)
    step = gpt2.make_train_step(wide)
    state = gpt2.initial_state(wide)
    for tokens in batches[:-1]:
        state, _ = step(state, tokens, np.float32(1e-3))
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
    values = [leaf.astype(config.dtype) if leaf.dtype == np.float32 else leaf for leaf in leaves]
    return [*values, batches[-1], np.asarray(1e-3, config.dtype)]


@functools.cache
def checked(config: gpt2.GPT2Config, options: CheckOptions = CheckOptions()) -> CheckReport:
    """The rewritten step beside the original, on a state that has been trained for two steps."""
    before = exported_step(config)
    after = rewrite_module(before)
    return check_modules(as_module(before), as_module(after), arguments_after(2, config), options)


_ACTIVATIONS = ["gelu", "silu", "relu"]


# Dropout's random numbers take XLA most of a minute to compile: once is enough.
@pytest.mark.parametrize(("activation", "dropout"), [*((name, 0.0) for name in _ACTIVATIONS), ("gelu", 0.1)])
def test_f32_step_equals_original_within_its_rounding_noise(activation: str, dropout: float) -> None:
    layers = 1 if dropout else TINY.layers
    report = checked(dataclasses.replace(TINY, activation=activation, dropout=dropout, layers=layers))
    assert report.comparison.passed, report.comparison.table()


@pytest.mark.parametrize("activation", _ACTIVATIONS)
def test_f16_step_equals_original_within_its_rounding_noise(activation: str) -> None:
    """With layer normalisation in f32, where the original does not overflow and so has a rounding noise."""
    config = dataclasses.replace(TINY, activation=activation, dtype="float16", norm_dtype="float32")
    report = checked(config)
    assert report.comparison.passed, report.comparison.table()


# Their gradients have elements some thousand times smaller than the largest, whose squares vanish beside its square.
_VANISHING_LEAVES = ("['attention_in']['bias']", "['attention_in']['weight']", "['mlp_norm']['bias']")


def _f16_failures() -> list[str]:
    """Results that are not within 20 roundings (2%) of f64, RMS over RMS, whatever became of the original."""
    comparison = checked(dataclasses.replace(TINY, dtype="float16"), CheckOptions(epsilons=20)).comparison
    assert sum(result.saved for result in comparison.results) > 0  # layer norm's backward pass overflows
    return [result.name for result in comparison.failures()]


def test_f16_step_is_right_where_the_original_overflows() -> None:
    """All of it in f16; every gradient, both moments, the loss, and the parameters but those of `_VANISHING_LEAVES`."""
    wrong = _f16_failures()
    assert all("['parameters']" in name and name.endswith(_VANISHING_LEAVES) for name in wrong), wrong


@pytest.mark.xfail(reason="Adam's second moment vanishes where g^2 < 2^-24 of its scale: g < 2^-12", strict=True)
def test_f16_step_updates_every_parameter_right() -> None:
    assert not _f16_failures()


def test_untied_head() -> None:
    report = checked(dataclasses.replace(TINY, tied_head=False))
    assert report.comparison.passed, report.comparison.table()


@pytest.mark.parametrize("activation", ["gelu", "silu", "relu"])
def test_f32_step_has_the_same_bits_on_the_reference_interpreter(activation: str) -> None:
    config = dataclasses.replace(TINY, activation=activation)
    report = checked(config, CheckOptions(backend="interpreter"))
    inexact = [result for result in report.comparison.results if result.verdict != "exact"]
    assert not inexact, "\n".join(f"{result.name}: {result.error:.2e}" for result in inexact)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_every_gradient_of_the_optimiser_is_found(dtype: str) -> None:
    config = dataclasses.replace(TINY, dtype=dtype)
    remarks: list[Diagnostic] = []
    AutoRescale(places=("gradients",)).apply(as_module(exported_step(config)), remarks)
    parameters = len(jax.tree.leaves(gpt2.parameter_table(config)))
    assert f"{parameters} rescales ({parameters} gradients)" in remarks[-1].message


def test_scales_of_results_are_powers_of_two() -> None:
    for result in checked(TINY).comparison.results:
        if result.scale is not None:
            assert np.frexp(result.scale)[0] == 0.5, f"{result.name}: scale {result.scale}"


@pytest.mark.parametrize("layers", [2, 6])
def test_data_stay_near_one_at_any_depth(layers: int) -> None:
    """Static rules must not drift with depth: the paper's implementation reaches 2^43 per two layers.

    In f32 estimates may be 2^6 away, the default of --slack, and data 2^8, at any depth.
    """
    report = checked(dataclasses.replace(TINY, layers=layers))
    sizes = {r.name: np.log2(r.data_rms) for r in report.comparison.results if r.scale is not None and r.data_rms > 0}
    gradients = {name: size for name, size in sizes.items() if "first_moment" in name}
    assert len(gradients) > 6
    assert all(abs(size) <= 8 for size in gradients.values()), gradients


# jax 0.12 concatenates the gradients of q, k and v where jax before it summed them padded: estimates that are an octave
# elsewhere pass the slack more often, and 15.2% and 15.7% are reached: 208 of 1369 operations, and 733 of 4663.
@pytest.mark.xfail(jax.__version_info__ >= (0, 12), reason="15.7% of the program that jax 0.12 makes")
@pytest.mark.parametrize("layers", [2, 8])
def test_scale_arithmetic_is_at_most_15_percent_of_the_program(layers: int) -> None:
    before = exported_step(dataclasses.replace(TINY, layers=layers))
    # Bringing scales into vectors and out of them is no arithmetic, and two kernels (tests/aot/test_cost_counts.py).
    after = rewrite_module(before, ScalifyOptions(vector_scales=False))
    # Bodies of functions are written out where they are called before anything is counted, as XLA does it.
    module = as_module(before)
    NormalForm().apply(module, [])
    original, rewritten = count_operations(module), count_operations(after)
    assert rewritten.scalars - original.scalars <= 0.15 * original.total


@pytest.mark.parametrize("layers", [1, 3])
def test_kernels_of_the_rewritten_step_move_hardly_more_bytes(layers: int) -> None:
    """Nothing of full size is computed twice: the gradient through GELU was, three times, and Adam's moments."""
    before = exported_step(gpt2.GPT2Config(layers=layers, width=128, heads=2, context=64))
    original, rewritten = (xla.compile(as_module(text)).bytes_accessed for text in (before, rewrite_module(before)))
    assert rewritten <= 1.1 * original


def test_every_float_of_the_f16_program_is_f16() -> None:
    state, _, learning_rate = gpt2.argument_shapes(dataclasses.replace(TINY, dtype="float16"), BATCH)
    floats = {leaf.dtype for leaf in jax.tree.leaves((state, learning_rate)) if leaf.dtype != np.int32}
    assert floats == {np.dtype(np.float16)}


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_adam_epsilon_is_a_number_of_the_narrow_types(dtype: type) -> None:
    """The trap: 1e-8 is zero in f16 already when JAX exports it."""
    assert float(dtype(TINY.epsilon)) == TINY.epsilon
    assert float(np.float16(1e-8)) == 0


def test_first_loss_is_that_of_a_uniform_guess_and_training_lowers_it() -> None:
    config = gpt2.GPT2Config(layers=1, width=32, context=16)
    step = compile_for_cpu(exported_step(config))
    tokens = next(text.Corpus(np.arange(400).astype(np.uint8), "counting").batches(BATCH, config.context))
    *state, first = step([*map(np.asarray, jax.tree.leaves(gpt2.initial_state(config))), tokens, np.float32(1e-2)])
    assert abs(float(first) - np.log(config.vocabulary)) < 0.1
    for _ in range(20):
        *state, last = step([*state, tokens, np.float32(1e-2)])
    assert float(last) < float(first) / 2


def test_dropout_depends_on_the_step_and_not_on_the_type() -> None:
    config = dataclasses.replace(TINY, dropout=0.5, layers=1)
    tokens = np.zeros((BATCH, config.context + 1), np.int32)

    def first_loss(dtype: str, step: int) -> float:
        config_ = dataclasses.replace(config, dtype=dtype)
        state = {**gpt2.initial_state(config_), "step": np.int32(step)}
        return float(jax.jit(gpt2.make_train_step(config_))(state, tokens, np.asarray(0, dtype))[1])

    assert first_loss("float32", 0) != first_loss("float32", 1)
    assert first_loss("float16", 0) == pytest.approx(first_loss("float32", 0), abs=4e-3)


@pytest.mark.parametrize(
    "wrong", [{"width": 10, "heads": 4}, {"activation": "tanh"}, {"dropout": 1.0}], ids=lambda wrong: next(iter(wrong))
)
def test_impossible_configurations_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=str(next(iter(wrong.values())))):
        dataclasses.replace(TINY, **wrong)
