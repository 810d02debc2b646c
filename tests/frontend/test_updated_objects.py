"""Flax nnx: a step that updates its model and optimiser in place updates them under `scalify` too."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.errors import ScalifyError

nnx = pytest.importorskip("flax.nnx", reason="flax is not installed")
optax = pytest.importorskip("optax", reason="optax is not installed")


class Net(nnx.Module):
    """Dropout counts its random keys, batch normalisation its averages: state besides the parameters."""

    def __init__(self, rngs: Any) -> None:
        self.first = nnx.Linear(16, 32, rngs=rngs)
        self.norm = nnx.BatchNorm(32, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.last = nnx.Linear(32, 8, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.last(self.dropout(nnx.gelu(self.norm(self.first(x)))))


def step(model: Any, optimizer: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    value, gradients = nnx.value_and_grad(lambda model: jnp.mean((model(x) - y) ** 2))(model)
    optimizer.update(model, gradients)
    return value


def objects() -> tuple[Any, Any]:
    model = Net(nnx.Rngs(0))
    return model, nnx.Optimizer(model, optax.adamw(1e-2), wrt=nnx.Param)


def batch(i: int) -> tuple[Any, Any]:
    x = np.random.default_rng(i).standard_normal((32, 16)).astype(np.float32)
    return x, np.sin(x[:, :8])


def trained(step: Any, state: Any, *, scaled: bool) -> list[float]:
    data = (sc.as_scaled_array(batch(i)) if scaled else batch(i) for i in range(20))
    return [float(np.asarray(step(*state, *each))) for each in data]


@pytest.fixture(scope="module")
def expected() -> list[float]:
    return trained(nnx.jit(step), objects(), scaled=False)


@pytest.mark.parametrize("precision", [None, "fp16-state", "fp8"])
@pytest.mark.parametrize("transform", [nnx.jit, lambda fun: fun], ids=["nnx.jit", "plain"])
def test_a_step_that_updates_its_arguments_trains(transform: Any, precision: Any, expected: list[float]) -> None:
    state = sc.as_scaled_array(objects())
    losses = trained(sc.scalify(transform(step), precision=precision), state, scaled=True)
    np.testing.assert_allclose(losses, expected, rtol=1e-5 if precision is None else 0.05)
    kernel = state[0].first.kernel[...]
    assert isinstance(kernel, sc.ScaledArray) and kernel.dtype == (np.float32 if precision is None else np.float16)
    assert int(state[0].dropout.rngs.count[...]) == 20 and not np.all(np.asarray(state[0].norm.mean[...]) == 0)


@pytest.mark.parametrize("precision", [None, "fp8-fp16-state"])
@pytest.mark.parametrize("within", [lambda fun: fun, nnx.jit], ids=["scalify", "nnx.jit(scalify)"])
def test_a_partial_application_to_objects(within: Any, precision: Any, expected: list[float]) -> None:
    """`nnx.cached_partial` refuses functions that do not take what it remembers."""
    model, optimizer = sc.as_scaled_array(objects())
    applied = nnx.cached_partial(within(sc.scalify(step, precision=precision)), model, optimizer)
    losses = trained(applied, (), scaled=True)
    np.testing.assert_allclose(losses, expected, rtol=1e-5 if precision is None else 0.1)
    assert int(model.dropout.rngs.count[...]) == 20


def test_a_partial_application_to_tied_objects() -> None:
    def tied_step(model: Any, x: jax.Array) -> jax.Array:
        value, gradients = nnx.value_and_grad(lambda model: jnp.mean((model.b(jnp.tanh(model.a(x))) - 1) ** 2))(model)
        nnx.update(model, jax.tree.map(lambda w, g: w - 0.1 * g, nnx.state(model), gradients))
        return value

    def tied() -> Any:
        model = nnx.Dict(a=nnx.Linear(8, 8, rngs=nnx.Rngs(0)), b=nnx.Linear(8, 8, rngs=nnx.Rngs(1)))
        model.b.kernel = model.a.kernel
        return model

    x = np.float32(np.random.default_rng(0).standard_normal((4, 8)))
    plain, model = tied(), tied()
    applied = nnx.cached_partial(sc.scalify(tied_step), model)
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(applied(sc.as_scaled_array(x))), nnx.jit(tied_step)(plain, x), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(model.a.kernel[...]), plain.a.kernel[...], rtol=1e-5)


def test_state_without_scales_is_updated_too(expected: list[float]) -> None:
    np.testing.assert_allclose(trained(sc.scalify(step), objects(), scaled=False), expected, rtol=1e-5)


def test_state_is_stored_lowered_and_described_without_a_call() -> None:
    function = sc.scalify(step, precision="fp8")
    arguments = (*sc.as_scaled_array(objects()), *sc.as_scaled_array(batch(0)))
    model = function.stored(*arguments)[0]
    assert model.first.kernel[...].dtype == np.float16
    assert "xf16>, tensor<16x32xf16>" in function.lower(*arguments).as_text()
    assert function.eval_shape(*arguments).shape == ()
    assert arguments[0].first.kernel[...].dtype == np.float32  # nothing was called


def test_objects_that_are_returned_are_results() -> None:
    """As in a `jax.jit` function: what was given is as it was."""

    def functional(model: Any, optimizer: Any, x: jax.Array, y: jax.Array) -> Any:
        return step(model, optimizer, x, y), model, optimizer

    model, optimizer = sc.as_scaled_array(objects())
    before = np.asarray(model.first.kernel[...])
    _, new, _ = sc.scalify(functional)(model, optimizer, *sc.as_scaled_array(batch(0)))
    assert np.array_equal(np.asarray(model.first.kernel[...]), before)
    assert not np.array_equal(np.asarray(new.first.kernel[...]), before)


def test_objects_that_share_a_variable_are_refused() -> None:
    model, optimizer = objects()
    del optimizer

    def grow(model: Any, layer: Any) -> jax.Array:
        model.first.kernel[...] = layer.kernel[...] * 2
        return model.first.kernel[...].sum()

    with pytest.raises(ScalifyError, match="share a variable"):
        sc.scalify(grow)(model, model.first)


def test_gradients_that_are_not_returned_are_no_backward_pass() -> None:
    """A step of which only the loss is returned is a forward program, to the front end and to the passes alike."""
    w, (x, y) = np.float32(np.eye(16, 8)), batch(0)

    def loss(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        return jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)[0]

    found = sc.scalify(loss, precision="fp8")(*sc.as_scaled_array((w, x, y)))
    np.testing.assert_allclose(np.asarray(found), loss(w, x, y), rtol=0.05)


def test_metrics_and_an_evaluation_between_epochs() -> None:
    """flax's tutorial: metrics are updated in the steps, read and reset between epochs, in which a model is evaluated.

    The evaluation, which reads the model, gave f32 for its f16 weights; the reset raised a TypeError.
    """
    model, optimizer = sc.as_scaled_array(objects())
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))

    @nnx.jit
    def train(model: Any, optimizer: Any, metrics: Any, x: jax.Array, y: jax.Array) -> None:
        metrics.update(loss=step(model, optimizer, x, y))

    @nnx.jit
    def evaluate(model: Any, metrics: Any, x: jax.Array, y: jax.Array) -> None:
        model.eval()
        metrics.update(loss=jnp.mean((model(x) - y) ** 2))

    train, evaluate = (sc.scalify(each, precision="fp8") for each in (train, evaluate))
    losses: list[float] = []
    for _ in range(3):
        for i in range(5):
            train(model, optimizer, metrics, *sc.as_scaled_array(batch(i)))
        kinds = [x.dtype for x in jax.tree.leaves(nnx.state(model))]
        metrics.reset()
        evaluate(model, metrics, *sc.as_scaled_array(batch(9)))
        assert [x.dtype for x in jax.tree.leaves(nnx.state(model))] == kinds
        losses.append(float(metrics.compute()["loss"]))
        metrics.reset()
    assert losses[2] < losses[1] < losses[0]


def test_elements_of_variables_are_assigned() -> None:
    """The variable gets another array: what else holds the old one, a copy of the best state say, keeps it."""
    layer = sc.as_scaled_array(nnx.Linear(3, 4, rngs=nnx.Rngs(0)))
    before = layer.kernel[...]
    kept = np.asarray(before)
    layer.kernel[...] = np.full((3, 4), 3.0, np.float32)
    assert isinstance(layer.kernel[...], sc.ScaledArray) and np.all(np.asarray(layer.kernel[...]) == 3)
    layer.kernel[0] = jnp.zeros(4)
    layer.kernel[1, 2] = 5.0
    np.testing.assert_array_equal(np.asarray(layer.kernel[...]), [[0] * 4, [3, 3, 5, 3], [3] * 4])
    layer.bias[...] = 2.0
    np.testing.assert_array_equal(np.asarray(layer.bias[...]), [2] * 4)
    np.testing.assert_array_equal(np.asarray(before), kept)
    with pytest.raises(TypeError, match=r"not changed in place.*x\.at\[index\]\.set"):
        before[0] = 1.0
