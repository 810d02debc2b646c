"""Programs as users of jax-scalify write them, with the import line changed: its six examples in small, its tutorial.

Data are synthetic: ten clusters, which each of the models learns in a few passes.
"""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import grad, jit, lax

import scalify_hlo as jsa

CLASSES, PIXELS, BATCH = 10, 48, 64
SCALE = np.float32
DOWN = jsa.Pow2RoundMode.DOWN


def dataset(count=640):
    rng = np.random.RandomState(0)
    centers, labels = rng.rand(CLASSES, PIXELS), rng.randint(0, CLASSES, count)
    images = np.clip(centers[labels] + 0.1 * rng.randn(count, PIXELS), 0, 1)
    return np.float32(images), np.eye(CLASSES, dtype=np.float32)[labels]


IMAGES, LABELS = dataset()


def batches(passes):
    rng = np.random.RandomState(1)
    for _ in range(passes):
        order = rng.permutation(len(IMAGES))
        for first in range(0, len(order), BATCH):
            chosen = order[first : first + BATCH]
            yield IMAGES[chosen], LABELS[chosen]


def init_random_params(scale, sizes=(PIXELS, 64, CLASSES)):
    """f64 arrays, as numpy makes them."""
    rng = np.random.RandomState(2)
    return [(scale * rng.randn(m, n), scale * rng.randn(n)) for m, n in itertools.pairwise(sizes)]


def logsumexp(a, axis=None, keepdims=False):
    """Without the test for infinite maxima, which jax-scalify cannot propagate scales through."""
    largest = lax.stop_gradient(jnp.max(a, axis=(axis,), keepdims=keepdims))
    return lax.add(lax.log(jnp.sum(lax.exp(lax.sub(a, largest)), axis=(axis,), keepdims=keepdims)), largest)


def cross_entropy(predict, params, batch):
    inputs, targets = batch
    return -jnp.mean(jnp.sum(predict(params, inputs) * targets, axis=1))


def accuracy(predict, params):
    """Of plain f32 parameters, outside of any transform."""
    predicted = jnp.argmax(predict(params, IMAGES), axis=1)
    return float(jnp.mean(predicted == jnp.argmax(LABELS, axis=1)))


def trained(update, params, scale, dtype=np.float16, passes=8):
    """Algorithm 1 in jax-scalify's words: state and batches cast to f16, the update in a `with` block."""
    params = jsa.tree.astype(jsa.as_scaled_array(params, scale=scale), dtype)
    for batch in batches(passes):
        scaled = jsa.tree.astype(jsa.as_scaled_array(batch, scale=SCALE(1)), dtype)
        with jsa.ScalifyConfig(rounding_mode=DOWN, scale_dtype=SCALE):
            params = update(params, scaled)
    assert {v.dtype for v in jsa.tree.leaves(params)} == {np.dtype(dtype)}
    return jsa.asarray(params, dtype=np.float32)


def sgd(predict, step_size, loss=cross_entropy):
    @jit
    @jsa.scalify
    def update(params, batch):
        gradients = grad(functools.partial(loss, predict))(params, batch)
        return [
            (w - step_size * dw, b - step_size * db)
            for (w, b), (dw, db) in zip(params, gradients, strict=True)
        ]  # fmt: skip

    return update


# --- MNIST from scratch, f16 ------------------------------------------------------------------------------------


def test_mnist_in_f16():
    def predict(params, inputs):
        for w, b in params[:-1]:
            inputs = jax.nn.relu(jnp.dot(inputs, w) + b)
        logits = jnp.dot(inputs, params[-1][0]) + params[-1][1]
        return logits - logsumexp(logits, axis=1, keepdims=True)

    def loss(predict, params, batch):
        inputs, targets = batch
        targets = jsa.lax.rebalance(targets, np.float32(1 / 8))
        return -jnp.mean(jnp.sum(predict(params, inputs) * targets, axis=1))

    params = init_random_params(0.2)
    assert accuracy(predict, params) < 0.5
    assert accuracy(predict, trained(sgd(predict, 0.2, loss), params, SCALE(0.2))) > 0.9


# --- MNIST from scratch, simulated FP8 --------------------------------------------------------------------------


@pytest.mark.parametrize(("forward", "backward"), [
    ("reduce_precision_on_forward", "reduce_precision_on_backward"), ("cast_ml_dtype", "cast_ml_dtype_grad"),
])  # fmt: skip
def test_mnist_in_fp8(forward, backward):
    e4m3, e5m2 = jnp.float8_e4m3fn, jnp.float8_e5m2

    def as_it_is(x, dtype):
        del dtype
        return x

    def predict(params, inputs, use_fp8=True):
        on_forward, on_backward = (getattr(jsa.ops, f) if use_fp8 else as_it_is for f in (forward, backward))
        for w, b in params[:-1]:
            outputs = jnp.dot(on_forward(inputs, e4m3), on_forward(w, e4m3))
            inputs = jnp.maximum(on_backward(outputs, e5m2) + b, 0)
        logits = jnp.dot(on_forward(inputs, e4m3), params[-1][0])
        logits = jsa.ops.dynamic_rescale_l2_grad(on_backward(logits, e5m2) + params[-1][1])
        return logits - logsumexp(logits, axis=1, keepdims=True)

    raw = trained(sgd(predict, 0.2), init_random_params(0.2), SCALE(0.2))
    assert accuracy(functools.partial(predict, use_fp8=False), raw) > 0.9


# --- MNIST with flax and optax ----------------------------------------------------------------------------------


def test_mnist_with_flax():
    nn = pytest.importorskip("flax.linen", reason="flax is not installed")
    optax = pytest.importorskip("optax", reason="optax is not installed")

    class MLP(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Dense(features=64, use_bias=True)(x))
            x = nn.Dense(features=CLASSES, use_bias=True)(x)
            return x - logsumexp(x, axis=1, keepdims=True)

    model, optimizer = MLP(), optax.adam(learning_rate=0.005, eps=2**-16)

    def update(state, optimizer_state, batch):
        gradients = grad(functools.partial(cross_entropy, model.apply))(state, batch)
        updates, optimizer_state = optimizer.update(gradients, optimizer_state, state)
        return optax.apply_updates(state, updates), optimizer_state

    state = model.init(jax.random.PRNGKey(42), np.zeros((BATCH, PIXELS), np.float16))
    optimizer_state = optimizer.init(state)
    state = jsa.tree.astype(jsa.as_scaled_array(state, scale=SCALE(1)), np.float16)
    optimizer_state = jsa.as_scaled_array(optimizer_state, scale=SCALE(0.0001))
    optimizer_state = jsa.tree.astype(optimizer_state, np.float16, floating_only=True)
    assert optimizer_state[0].count.dtype == np.int32
    step = jit(jsa.scalify(update))
    for batch in batches(8):
        batch = jsa.as_scaled_array(jsa.tree.astype(batch, np.float16), scale=SCALE(1))
        with jsa.ScalifyConfig(rounding_mode=DOWN, scale_dtype=SCALE):
            state, optimizer_state = step(state, optimizer_state, batch)
    assert accuracy(model.apply, jsa.asarray(state, dtype=np.float32)) > 0.9


# --- a convolutional network with a flax TrainState -------------------------------------------------------------


def test_train_state_of_a_cnn():
    nn = pytest.importorskip("flax.linen", reason="flax is not installed")
    optax = pytest.importorskip("optax", reason="optax is not installed")
    train_state = pytest.importorskip("flax.training.train_state", reason="flax is not installed")

    class CNN(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Conv(features=8, kernel_size=(3, 3))(x))
            x = nn.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
            return nn.Dense(features=CLASSES)(x.reshape((x.shape[0], -1)))

    @jit
    def apply_model(state, images, labels):
        def loss_of(params):
            logits = state.apply_fn({"params": params}, images)
            targets = jax.nn.one_hot(labels, CLASSES)
            return jnp.mean(optax.softmax_cross_entropy(logits=logits, labels=targets)), logits

        (value, logits), gradients = jax.value_and_grad(loss_of, has_aux=True)(state.params)
        return gradients, value, jnp.mean(jnp.argmax(logits, -1) == labels)

    @jit
    def update_model(state, gradients):
        return state.apply_gradients(grads=gradients)

    @jit
    @jsa.scalify
    def apply_and_update_model(state, images, labels):
        gradients, value, correct = apply_model(state, images, labels)
        return update_model(state, gradients), value, correct

    cnn = CNN()
    params = cnn.init(jax.random.PRNGKey(1), jnp.ones([1, 8, 6, 1]))["params"]
    state = train_state.TrainState.create(apply_fn=cnn.apply, params=params, tx=optax.sgd(0.1, 0.9))
    state = jsa.as_scaled_array(state)
    assert state.step == 0  # an integer is no ScaledArray
    for images, targets in batches(4):
        labels = np.argmax(targets, axis=1)
        images = jsa.as_scaled_array(images.reshape(-1, 8, 6, 1))
        state, value, correct = apply_and_update_model(state, images, labels)
    assert int(state.step) == 40
    assert np.isfinite(np.asarray(value)) and np.asarray(correct) > 0.5
    *_, correct = apply_model(jsa.asarray(state), IMAGES.reshape(-1, 8, 6, 1), np.argmax(LABELS, axis=1))
    assert correct > 0.8


# --- CIFAR from scratch, and with optax -------------------------------------------------------------------------


def cifar_predict(params, inputs):
    for w, b in params[:-1]:
        inputs = jnp.maximum(jnp.dot(inputs, w) + b, 0)
    logits = jnp.dot(inputs, params[-1][0]) + params[-1][1]
    logits = jsa.ops.dynamic_rescale_l2_grad(logits)
    return logits - logsumexp(logits, axis=1, keepdims=True)


def test_cifar_in_f16():
    """Parameters of scale 1: logits of the order of hundreds, and gradients that are large in the first steps."""
    params = init_random_params(1.0)
    raw = trained(sgd(cifar_predict, 1e-2), params, SCALE(1), passes=12)
    assert accuracy(cifar_predict, raw) > accuracy(cifar_predict, params) + 0.2
    data, scale = jsa.lax.get_data_scale(raw[0][0])  # of a plain array
    assert scale == 1 and data is not None


@pytest.mark.parametrize(("use_scalify", "dtype", "param_scale"), [
    (False, np.float32, 1.0), (True, np.float32, 1.0), (True, np.float16, 0.2),
])  # fmt: skip
def test_cifar_with_optax(use_scalify, dtype, param_scale):
    """In f32 the optimizer state may be plain at first though the parameters are scaled; in f16 it would underflow."""
    optax = pytest.importorskip("optax", reason="optax is not installed")
    scalify = jsa.scalify if use_scalify else lambda f: f
    params = jax.tree_util.tree_map(lambda v: v.astype(dtype), init_random_params(param_scale))
    optimizer = optax.adam(learning_rate=0.01, eps=1e-5)
    state = optimizer.init(params)
    if use_scalify:
        params = jsa.as_scaled_array(params, scale=SCALE(param_scale))
    if dtype == np.float16:
        state = jsa.as_scaled_array(state)
    params = jax.tree_util.tree_map(lambda v: v.astype(dtype), params, is_leaf=jsa.core.is_scaled_leaf)

    @jit
    @scalify
    def update(params, batch, state):
        gradients = grad(functools.partial(cross_entropy, cifar_predict))(params, batch)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state

    for batch in batches(8):
        if use_scalify:
            batch = jsa.as_scaled_array(batch, scale=SCALE(1))
        batch = jax.tree_util.tree_map(lambda v: v.astype(dtype), batch, is_leaf=jsa.core.is_scaled_leaf)
        with jsa.ScalifyConfig(rounding_mode=DOWN, scale_dtype=SCALE):
            params, state = update(params, batch, state)
    assert accuracy(cifar_predict, jsa.asarray(params, dtype=np.float32)) > 0.6


# --- the tutorial -----------------------------------------------------------------------------------------------


def test_tutorial():
    a = np.array([1, 2], np.float16)
    pair = jsa.as_scaled_array(a, scale=np.float32(0.5))
    assert isinstance(pair, jsa.ScaledArray)
    np.testing.assert_array_equal(np.asarray(pair), a)
    large = np.array([2, 4], np.float32) * 256**2
    narrow = jsa.as_scaled_array(large, scale=np.float32(256**2 * 2)).astype(np.float16)
    np.testing.assert_array_equal(np.asarray(narrow, dtype=np.float32), large)

    @jsa.scalify
    def fn(a, b):
        return a + b

    out = fn(a, np.array([3, 6], np.float16))
    assert isinstance(out, jax.Array) and out.tolist() == [4, 8]
    b = jsa.as_scaled_array(np.array([3, 6], np.float16), scale=np.float32(4))
    out = fn(jsa.as_scaled_array(a, scale=np.float32(2)), b)
    assert isinstance(out, jsa.ScaledArray)
    np.testing.assert_array_equal(np.asarray(out), [4, 8])
    with jsa.ScalifyConfig(rounding_mode=jsa.Pow2RoundMode.NONE):
        np.testing.assert_array_equal(np.asarray(fn(pair, b)), [4, 8])

    rng = np.random.RandomState(0)
    x, w = (np.float32(rng.randn(*shape) * scale) for shape, scale in (((16, 1024), 128), ((1024, 8), 64)))
    scaled = [jsa.as_scaled_array(v, scale=np.float32(s)).astype(np.float16) for v, s in ((x, 128), (w, 64))]
    product = jsa.scalify(lambda a, b: a @ b)(*scaled)
    assert 0.125 < np.std(np.float32(product.data)) < 2  # in f16 a sum of N terms leaves room for N^(1/4)
    np.testing.assert_allclose(np.asarray(product, dtype=np.float32), x @ w, rtol=0.01, atol=256)

    rescaled = jsa.ops.dynamic_rescale_l2(jsa.as_scaled_array(x, scale=np.float32(4)))
    assert rescaled.scale == 64
    np.testing.assert_array_equal(np.asarray(rescaled), x)
    # Outside of the transform rescaling does nothing.
    assert jsa.ops.dynamic_rescale_max(a) is a
