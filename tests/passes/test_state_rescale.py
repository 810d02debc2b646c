"""`scalify-state-rescale`: scales of state follow what the data show, whatever they were or were guessed to be."""

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import scalify_hlo as sc
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.modules import as_module
from scalify_hlo.passes.state_rescale import StateRescale
from scalify_hlo.precision import policy

RNG = np.random.default_rng(0)
WEIGHTS = {"w": np.float32(RNG.standard_normal((96, 64)) / 8), "b": np.zeros(64, np.float32)}
INPUTS = np.float32(RNG.standard_normal((8, 96)))
OPTIMISER = optax.adam(optax.linear_schedule(1e-3, 1e-4, 50))


def step(state, x):
    def loss(p):
        return jnp.mean((jnp.tanh(x @ p["w"] + p["b"]) - jnp.sin(x[:, :64])) ** 2)

    value, gradients = jax.value_and_grad(loss)(state["p"])
    updates, optimiser = OPTIMISER.update(gradients, state["o"], state["p"])
    return {"p": optax.apply_updates(state["p"], updates), "o": optimiser}, value


def after(precision, steps, weights):
    state = {"p": weights, "o": sc.as_scaled_array(OPTIMISER.init(WEIGHTS))}
    transformed = sc.scalify(step, precision=precision)
    for _ in range(steps):
        state, value = transformed(state, sc.as_scaled_array(INPUTS))
    return state, float(np.asarray(value))


def log2_rms(x):
    return float(np.log2(np.sqrt(np.mean(np.square(np.asarray(x.data, np.float64))))))


@pytest.mark.parametrize(("rescale", "near"), [("auto", True), ("off", False)])
def test_a_wrong_scale_is_mended(rescale, near):
    """Weights at 2^-12 of unit size: measured, they are brought to it; only held, they stay."""
    wrong = {"w": sc.as_scaled_array(WEIGHTS["w"], np.float32(2.0**9)), "b": sc.as_scaled_array(WEIGHTS["b"])}
    state, value = after(f"fp16 state-rescale={rescale}", 1, wrong)
    assert np.isfinite(value)
    assert (abs(log2_rms(state["p"]["w"])) < 4.5) == near


def test_a_state_of_zeros_takes_the_size_of_its_first_update():
    """The rate of a schedule is known at run time only: the static estimate of the update was 2^10 too large."""
    state, _ = after("fp8-fp16-state", 2, sc.as_scaled_array(WEIGHTS))
    assert abs(log2_rms(state["p"]["b"])) < 4.5
    moments = [each for each in sc.tree.leaves(state["o"]) if isinstance(each, sc.ScaledArray)]
    assert len(moments) == 4
    assert all(-9 < log2_rms(each) < 1 for each in moments)


def test_zeros_keep_their_scale():
    """Moments that are 0 until several gradients are there had 2^4 times their scale in each step, up to infinity."""
    optimiser = optax.MultiSteps(optax.adam(1e-3), 8)

    def step(state, x):
        value, gradients = jax.value_and_grad(lambda p: jnp.mean((jnp.tanh(x @ p["w"] + p["b"]) - 1) ** 2))(state["p"])
        updates, kept = optimiser.update(gradients, state["o"], state["p"])
        return {"p": optax.apply_updates(state["p"], updates), "o": kept}, value

    transformed = sc.scalify(step, precision="fp8-fp16-state")
    state = sc.as_scaled_array({"p": WEIGHTS, "o": optimiser.init(WEIGHTS)})
    scales = []
    for _ in range(3):
        state, _ = transformed(state, sc.as_scaled_array(INPUTS))
        scales.append(
            [
                float(each.scale)
                for each in sc.tree.leaves(state["o"].inner_opt_state)
                if isinstance(each, sc.ScaledArray)
            ]
        )
    assert len(scales[0]) == 4
    assert scales[1] == scales[2]


def test_values_do_not_change():
    """A power of two moves from the data to the scale: in f32 the state is the same to the bit."""
    wrong = {"w": sc.as_scaled_array(WEIGHTS["w"], np.float32(2.0**9)), "b": sc.as_scaled_array(WEIGHTS["b"])}
    measured, held = (after(f"f32 state-rescale={mode}", 2, wrong)[0] for mode in ("every-step", "off"))
    for a, b in zip(sc.tree.leaves(measured), sc.tree.leaves(held), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_in_one_of_some_steps():
    """The step's own count says when: at 0 and at 3, so not in the second step."""
    wrong = {"w": sc.as_scaled_array(WEIGHTS["w"], np.float32(2.0**9)), "b": sc.as_scaled_array(WEIGHTS["b"])}
    transformed = sc.scalify(step, precision="fp16 state-rescale=3")
    state = {"p": wrong, "o": sc.as_scaled_array(OPTIMISER.init(WEIGHTS))}
    near = []
    for _ in range(4):
        state, _ = transformed(state, sc.as_scaled_array(INPUTS))
        near.append(abs(log2_rms(state["p"]["w"])) < 4.5)
        state["p"]["w"] = sc.as_scaled_array(np.asarray(state["p"]["w"]), np.float32(2.0**9))
    assert near == [True, False, False, True]


def test_parameters_between_moments_are_measured_together():
    """Groups were told apart by the hash of a terminator, which each moment before them had changed."""

    def step(r0, p0, r1, p1, r2, p2, x):
        def loss(parameters):
            return jnp.mean((jnp.tanh(x[:, :64] * parameters[0]) * parameters[1] + parameters[2]) ** 2)

        new = []
        for average, parameter, gradient in zip((r0, r1, r2), (p0, p1, p2), jax.grad(loss)((p0, p1, p2)), strict=True):
            average = 0.9 * average + 0.1 * gradient
            new += [average, parameter - 1e-2 * average]
        return new

    state = np.float32(RNG.standard_normal((6, 64)))
    exported = jax.export.export(jax.jit(step))(*state, INPUTS)
    module = as_module(exported.mlir_module())
    StateRescale().apply(module, [])
    assert str(module).count("stablehlo.concatenate") == 1


def test_options_are_checked():
    for wrong in ("sometimes", "0", "-1", "1.5"):
        with pytest.raises(ScalifyError, match="state-rescale cannot be"):
            policy("fp16", state_rescale=wrong)
    assert policy("bf16").measured_state == ((), 1)
    assert policy("fp16").measured_state == (("parameters",), 1)
    assert policy("fp8-fp16-state", state_rescale="10").measured_state == (("parameters", "moments"), 10)


@pytest.mark.parametrize("precision", ["fp16-state", "fp8-fp16-state"])
def test_steps_inside_a_scan_have_state(precision):
    """They were refused: the carried value was not followed through the function that is the loop's body."""

    def many(state, x):
        return jax.lax.scan(lambda state, _: step(state, x), state, None, length=2)

    state = sc.as_scaled_array({"p": WEIGHTS, "o": OPTIMISER.init(WEIGHTS)})
    transformed = sc.scalify(many, precision=precision)
    new, losses = transformed(state, sc.as_scaled_array(INPUTS))
    assert jax.tree.structure(new) == jax.tree.structure(state)
    assert new["p"]["w"].dtype == np.float16
    assert np.isfinite(np.asarray(losses)).all()
