"""flax nnx objects that have a variable at two places: tied embeddings, layers that are used twice."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

nnx = pytest.importorskip("flax.nnx", reason="flax is not installed")
optax = pytest.importorskip("optax", reason="optax is not installed")

X = np.float32(np.random.default_rng(0).standard_normal((16, 8)))


class Tied(nnx.Module):
    """Two layers with one kernel, or one layer twice."""

    def __init__(self, whole: bool):
        self.first = nnx.Linear(8, 8, rngs=nnx.Rngs(0))
        self.second = self.first
        if not whole:
            self.second = nnx.Linear(8, 8, rngs=nnx.Rngs(1))
            self.second.kernel = self.first.kernel

    def __call__(self, x):
        return self.second(jnp.tanh(self.first(x)))


def _loss(model, x):
    return jnp.mean((model(x) - 1) ** 2)


def step(model, x):
    value, gradients = nnx.value_and_grad(_loss)(model, x)
    nnx.update(model, jax.tree.map(lambda p, g: p - 0.5 * g, nnx.state(model, nnx.Param), gradients))
    return value


@pytest.mark.parametrize("precision", [None, "fp16", "fp8-fp16-state"])
@pytest.mark.parametrize("whole", [True, False])
def test_gradients_of_both_places_are_added(whole: bool, precision: str | None) -> None:
    """Taken apart as a tree each place had a variable of its own: losses .940, .605 for .766, .444."""
    model, plain = sc.as_scaled_array(Tied(whole)), Tied(whole)
    assert model.first.kernel is model.second.kernel
    scaled, wanted = sc.scalify(step, precision=precision), nnx.jit(step)
    for _ in range(4):
        value, expected = scaled(model, sc.as_scaled_array(X)), wanted(plain, X)
        tolerance = 1e-5 if precision is None else 0.01 if precision == "fp16" else 0.1
        np.testing.assert_allclose(float(value), float(expected), rtol=tolerance)
    assert model.first.kernel is model.second.kernel
    back = sc.asarray(model)
    assert back.first.kernel is back.second.kernel
    np.testing.assert_allclose(back.first.kernel[...], plain.first.kernel[...], rtol=tolerance, atol=tolerance)


def test_with_an_optimiser_and_as_a_result() -> None:
    """A model inside of a dictionary, an optimiser beside it, and a function that returns the model."""

    def train(batch, optimiser):
        model = batch["model"]
        value, gradients = nnx.value_and_grad(_loss)(model, batch["x"])
        optimiser.update(model, gradients)
        return model, value

    def run(function, model, optimiser, x):
        losses = []
        for _ in range(3):
            model, value = function({"model": model, "x": x}, optimiser)
            losses.append(float(value))
        return model, losses

    def made():
        model = Tied(True)
        return model, nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

    _, expected = run(train, *made(), X)
    model, optimiser = made()
    model, losses = run(
        sc.scalify(train), sc.as_scaled_array(model), sc.as_scaled_array(optimiser), sc.as_scaled_array(X)
    )
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert model.first.kernel is model.second.kernel


def test_what_is_asked_of_a_function() -> None:
    """Shapes, the lowered program, and state in the types of a precision."""
    model = sc.as_scaled_array(Tied(True))
    scaled = sc.scalify(step, precision="fp16-state")
    given = scaled.stored(model, sc.as_scaled_array(X))
    assert given[0].first.kernel is given[0].second.kernel
    assert given[0].first.kernel[...].dtype == np.float16
    assert scaled.eval_shape(*given).shape == ()
    assert "dot_general" in scaled.lower(*given).as_text()
    assert np.isfinite(float(scaled(*given)))
