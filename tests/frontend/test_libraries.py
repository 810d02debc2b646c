"""Algorithm 1 with models and optimizers of other libraries, as they are; checkpoints of the training state."""

import dataclasses
import functools
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

optax = pytest.importorskip("optax", reason="optax is not installed")

STEPS = 30
# f16 has neither 1e-8 nor 1e-30: epsilons of the usual size would be 0 in an f16 program, with or without scaling.
EPSILON = 2.0**-16
OPTIMIZERS = {
    "adafactor": lambda: optax.adafactor(0.1, min_dim_size_to_factor=8, eps=2.0**-24),
    "adam": lambda: optax.adam(1e-2, eps=EPSILON),
    "adamw": lambda: optax.adamw(1e-2, eps=EPSILON, weight_decay=1e-3),
    "lion": lambda: optax.lion(1e-3),
    "sgd": lambda: optax.sgd(0.1, momentum=0.9),
}
TEACHER = np.random.default_rng(7).standard_normal((16, 4))


def batch(step):
    x = np.random.default_rng(step).standard_normal((64, 16))
    return np.float32(x), np.float32(np.tanh(x @ TEACHER))


def mlp_params():
    rng = np.random.default_rng(0)
    return {
        "w1": np.float32(rng.standard_normal((16, 64)) / 4), "b1": np.zeros(64, np.float32),
        "w2": np.float32(rng.standard_normal((64, 4)) / 8), "b2": np.zeros(4, np.float32),
    }  # fmt: skip


def mlp(params, x):
    return jax.nn.gelu(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


@dataclasses.dataclass
class Training:
    """A model, its optimizer, and the step that is transformed."""

    apply: object
    params: object
    optimizer: object
    rescale_gradients: bool = False

    def state(self):
        return {"params": self.params, "optimizer": self.optimizer.init(self.params)}

    def step(self, state, x, y):
        def loss(params):
            return jnp.mean((self.apply(params, x) - y) ** 2)

        value, gradients = jax.value_and_grad(loss)(state["params"])
        if self.rescale_gradients:
            gradients = sc.ops.dynamic_rescale_l2(gradients)
        updates, optimizer = self.optimizer.update(gradients, state["optimizer"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "optimizer": optimizer}, value

    def unscaled_losses(self, steps=STEPS):
        state, step, losses = self.state(), jax.jit(self.step), []
        for i in range(steps):
            state, value = step(state, *batch(i))
            losses.append(float(value))
        return np.array(losses)

    def scaled_losses(self, dtype, steps=STEPS):
        """Losses of the transformed loop, all state, data and gradients in `dtype`."""
        state = sc.tree.astype(sc.as_scaled_array(self.state()), dtype, floating_only=True)
        step, losses = sc.scalify(self.step), []
        for i in range(steps):
            x, y = sc.tree.astype(sc.as_scaled_array(batch(i)), dtype)
            state, value = step(state, x, y)
            losses.append(float(np.asarray(value, np.float32)))
        floats = [v for v in sc.tree.leaves(state) if jnp.issubdtype(v.dtype, jnp.floating)]
        assert {v.dtype for v in floats} == {np.dtype(dtype)}
        # Adafactor makes placeholders anew in each step, which depend on nothing and are plain.
        assert all(isinstance(v, sc.ScaledArray) or not np.any(v) for v in floats)
        assert all(np.all(np.isfinite(np.asarray(getattr(v, "data", v), np.float32))) for v in floats)
        return np.array(losses)


# Relative distance of losses from those of f32 without scales.
TOLERANCES = {np.float32: 1e-3, np.float16: 0.03}


def check(training, dtypes=(np.float32, np.float16)):
    """f32 with scales trains as f32 without; f16 with scales follows it without loss scaling."""
    expected = training.unscaled_losses()
    assert expected[-5:].mean() < 0.8 * expected[0]
    for dtype in dtypes:
        np.testing.assert_allclose(training.scaled_losses(dtype), expected, rtol=TOLERANCES[dtype])


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_optax(name):
    dtypes = (np.float32,) if name == "adafactor" else (np.float32, np.float16)
    check(Training(mlp, mlp_params(), OPTIMIZERS[name]()), dtypes)


def test_adafactor_in_f16():
    check(Training(mlp, mlp_params(), OPTIMIZERS["adafactor"](), rescale_gradients=True), (np.float16,))


def test_adafactor_in_f16_by_static_rules():
    check(Training(mlp, mlp_params(), OPTIMIZERS["adafactor"]()), (np.float16,))


def test_equinox():
    equinox = pytest.importorskip("equinox", reason="equinox is not installed")
    model = equinox.nn.MLP(16, 4, 64, 1, activation=jax.nn.gelu, key=jax.random.key(0))
    params, static = equinox.partition(model, equinox.is_inexact_array)

    def apply(params, x):
        return jax.vmap(equinox.combine(params, static))(x)

    check(Training(apply, params, OPTIMIZERS["adam"]()))


def test_flax_linen():
    nn = pytest.importorskip("flax.linen", reason="flax is not installed")

    class MLP(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(4)(nn.LayerNorm()(nn.gelu(nn.Dense(64)(x))))

    model = MLP()
    check(Training(model.apply, model.init(jax.random.key(0), batch(0)[0]), OPTIMIZERS["adam"]()))


def test_flax_nnx():
    nnx = pytest.importorskip("flax.nnx", reason="flax is not installed")

    class MLP(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(16, 64, rngs=rngs)
            self.second = nnx.Linear(64, 4, rngs=rngs)

        def __call__(self, x):
            return self.second(nnx.gelu(self.first(x)))

    graph, params = nnx.split(MLP(nnx.Rngs(0)))

    def apply(params, x):
        return nnx.merge(graph, params)(x)

    check(Training(apply, params, OPTIMIZERS["adam"]()))


def test_memory_of_the_state():
    """f16 state is half of f32's, plus four bytes for each scale."""
    training = Training(mlp, mlp_params(), OPTIMIZERS["adam"]())
    full = training.state()
    half = sc.tree.astype(sc.as_scaled_array(full), np.float16, floating_only=True)
    count = sum(isinstance(leaf, sc.ScaledArray) for leaf in sc.tree.leaves(half))
    counters = 4  # Adam's step counter
    assert sc.tree.nbytes(half) == (sc.tree.nbytes(full) - counters) // 2 + counters + 4 * count


# --- checkpoints ------------------------------------------------------------------------------------------------


def trained_state(training, steps):
    state = sc.tree.astype(sc.as_scaled_array(training.state()), np.float16, floating_only=True)
    state = jax.tree.map(jnp.asarray, state)
    return advance(training, state, 0, steps)


def advance(training, state, first, count):
    step = sc.scalify(training.step)
    for i in range(first, first + count):
        state, _ = step(state, *sc.tree.astype(sc.as_scaled_array(batch(i)), np.float16))
    return state


def identical(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert x.dtype == y.dtype
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


@pytest.fixture
def training():
    return Training(mlp, mlp_params(), OPTIMIZERS["adam"]())


def test_flax_may_be_imported_after_this_package():
    pytest.importorskip("flax.serialization", reason="flax is not installed")
    program = """
import numpy as np, scalify_hlo as sc
from flax import serialization
state = {"w": sc.as_scaled_array(np.float32([3, 4]))}
restored = serialization.from_bytes(state, serialization.to_bytes(state))
assert np.asarray(restored["w"]).tolist() == [3, 4]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_flax_checkpoint_resumes_bit_identically(training):
    serialization = pytest.importorskip("flax.serialization", reason="flax is not installed")
    sc.register_flax_serialization()
    state = trained_state(training, 3)
    restored = serialization.from_bytes(jax.tree.map(jnp.zeros_like, state), serialization.to_bytes(state))
    identical(restored, state)
    identical(advance(training, restored, 3, 3), advance(training, state, 3, 3))


def test_flax_restores_a_checkpoint_without_scales():
    serialization = pytest.importorskip("flax.serialization", reason="flax is not installed")
    sc.register_flax_serialization()
    plain = {"w": np.float32([[8, 16], [24, 32]]), "step": np.int32(3)}
    target = sc.tree.astype(sc.as_scaled_array(plain), np.float16)
    restored = serialization.from_bytes(target, serialization.to_bytes(plain))
    assert restored["w"].dtype == np.float16
    assert restored["w"].scale == sc.as_scaled_array(plain)["w"].scale
    np.testing.assert_array_equal(sc.asarray(restored["w"]), plain["w"])
    with pytest.raises(ValueError, match="from data and scale, or from an array of floats"):
        serialization.from_bytes(target, serialization.to_bytes({"w": np.int32([1]), "step": np.int32(3)}))


def test_orbax_checkpoint_resumes_bit_identically(training, tmp_path):
    checkpoint = pytest.importorskip("orbax.checkpoint", reason="orbax is not installed")
    state = trained_state(training, 3)
    with checkpoint.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "state", state)
        checkpointer.wait_until_finished()
        abstract = jax.tree.map(functools.partial(checkpoint.utils.to_shape_dtype_struct), state)
        restored = checkpointer.restore(tmp_path / "state", abstract)
    identical(restored, state)
    identical(advance(training, restored, 3, 3), advance(training, state, 3, 3))


@pytest.mark.parametrize("precision", [None, "fp8"])
def test_equinox_modules_with_bools(precision: str | None):
    """`inference` of Dropout and BatchNorm, and a field of one's own, by which the module decides as it is traced."""
    equinox = pytest.importorskip("equinox", reason="equinox is not installed")

    class Net(equinox.Module):
        first: Any
        norm: Any
        dropout: Any
        last: Any
        shifted: bool

        def __init__(self, key: jax.Array):
            a, b = jax.random.split(key)
            self.first, self.last = equinox.nn.Linear(16, 64, key=a), equinox.nn.Linear(64, 4, key=b)
            self.norm, self.dropout = equinox.nn.BatchNorm(64, "batch", mode="batch"), equinox.nn.Dropout(0.1)
            self.shifted = True

        def __call__(self, x: jax.Array, state: Any, key: jax.Array) -> tuple[jax.Array, Any]:
            x, state = self.norm(self.first(x), state)
            x = jax.nn.gelu(self.dropout(x, key=key))
            return self.last(x + 0.1 if self.shifted else x), state

    @equinox.filter_jit
    def step(model: Any, state: Any, x: jax.Array, y: jax.Array, key: jax.Array) -> tuple[Any, Any, jax.Array]:
        def loss(model: Any) -> tuple[jax.Array, Any]:
            batched = jax.vmap(model, axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))
            found, new = batched(x, state, jax.random.split(key, len(x)))
            return jnp.mean((found - y) ** 2), new

        (value, new), gradient = equinox.filter_value_and_grad(loss, has_aux=True)(model)
        return equinox.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, gradient)), new, value

    def trained(step: Any, *state: Any) -> tuple[Any, list[float]]:
        losses: list[float] = []
        for i in range(6):
            x = np.random.default_rng(i).standard_normal((32, 16)).astype(np.float32)
            batch = x, np.sin(x[:, :4])
            *state, loss = step(*state, *(sc.as_scaled_array(batch) if scaled else batch), jax.random.key(i))
            losses.append(float(loss))
        return state[0], losses

    scaled = False
    start = equinox.nn.make_with_state(Net)(jax.random.key(0))
    _, expected = trained(step, *start)
    scaled = True
    model, losses = trained(sc.scalify(step, precision=precision), *sc.as_scaled_array(start))
    np.testing.assert_allclose(losses, expected, rtol=1e-4 if precision is None else 0.05)
    assert model.shifted is True and model.dropout.inference is False
