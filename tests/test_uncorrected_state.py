"""State that no gradient corrects, and moments that a branch gives: what is lost of it in f16 stays lost."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import scalify_hlo as sc

rng = np.random.default_rng(3)


def draw(*shape: int):
    return np.float32(rng.standard_normal(shape) / np.sqrt(shape[0]))


PARAMETERS = {"w": draw(3, 32), "v": draw(32, 32), "c": draw(32, 1)}
OPTIMISER = optax.adam(1e-3)


def forward(parameters, x):
    return jnp.tanh(jax.nn.gelu(jax.nn.gelu(x @ parameters["w"]) @ parameters["v"]) @ parameters["c"])[:, 0]


def step(parameters, optimiser, world, x):
    """A policy is learnt, moves positions, and is paid; a mean over the batch is kept."""

    def loss(p):
        seen = jnp.stack([(world["position"] - 950) / 50, world["mean"] + x, x], 1)
        action = forward(p, seen)
        return jnp.mean((action - jnp.tanh(x)) ** 2), (action, jnp.mean(3 + action**2))

    (value, (action, mean)), gradients = jax.value_and_grad(loss, has_aux=True)(parameters)
    updates, optimiser = OPTIMISER.update(gradients, optimiser, parameters)
    world = {
        "position": world["position"] + 0.01 + 1e-3 * action,
        "pay": world["pay"] + jnp.abs(action) + 1,
        "mean": 0.995 * world["mean"] + 0.005 * mean,
    }
    return optax.apply_updates(parameters, updates), optimiser, world, value


@pytest.mark.parametrize("precision", ["fp16-state", "fp8-fp16-state"])
def test_what_a_forward_pass_adds_up_is_f32(precision: str):
    """Positions near 1000 that move by .01 a step, sums of pay from 4096 on, running means: f16 left them there."""
    world = {
        "position": np.linspace(900, 1000, 16, dtype=np.float32),
        "pay": np.full(16, 4096, np.float32),
        "mean": np.full(16, 2.9, np.float32),
    }
    wanted = (PARAMETERS, OPTIMISER.init(PARAMETERS), world)
    found, plain, scaled = sc.as_scaled_array(wanted), jax.jit(step), sc.scalify(step, precision=precision)
    for _ in range(40):
        x = np.float32(rng.standard_normal(16))
        *wanted, _ = plain(*wanted, x)
        *found, _ = scaled(*found, sc.as_scaled_array(x))
    for name, begun in world.items():
        assert found[2][name].dtype == np.float32
        way = np.abs(wanted[2][name] - begun).max()
        assert np.abs(np.asarray(found[2][name]) - wanted[2][name]).max() < 0.02 * way
    assert found[0]["v"].dtype == np.float16


def test_moments_of_accumulated_gradients():
    """optax.MultiSteps is a branch: the second moment that it gave was measured in f16 before it had a scale, as 0."""
    optimiser = optax.MultiSteps(optax.adam(5e-3), 3)
    model = eqx.nn.MLP(16, 8, 64, 2, activation=jax.nn.gelu, key=jax.random.key(0))
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    teacher = rng.standard_normal((16, 8))

    def train(p, state, x, y):
        value, gradients = jax.value_and_grad(lambda p: jnp.mean((jax.vmap(eqx.combine(p, static))(x) - y) ** 2))(p)
        updates, state = optimiser.update(gradients, state, p)
        return optax.apply_updates(p, updates), state, value

    wanted = (parameters, optimiser.init(parameters))
    found, plain, scaled = sc.as_scaled_array(wanted), jax.jit(train), sc.scalify(train, precision="fp8-fp16-state")
    for _ in range(12):
        x = np.float32(rng.standard_normal((32, 16)))
        y = np.float32(np.sin(x @ teacher / 2))
        *wanted, value = plain(*wanted, x, y)
        *found, loss = scaled(*found, *sc.as_scaled_array((x, y)))
        assert abs(float(loss) - float(value)) < 0.02 * float(value)
    moments = jax.tree.leaves(wanted[1].inner_opt_state[0].nu)
    for moment, of_f32 in zip(sc.tree.leaves(found[1].inner_opt_state[0].nu), moments, strict=True):
        assert np.linalg.norm(np.asarray(moment, np.float64) - of_f32) < 0.2 * np.linalg.norm(of_f32)


def test_statistics_of_scanned_layers_are_f32():
    """A scan has regions, as an update in a branch has; its operations are a forward pass by name all the same."""

    def train(p, state, means, x, y):
        def loss(p):
            def layer(h, weight):
                z = h @ weight
                return jax.nn.relu(z - z.mean(0)) + h, z.mean(0)

            h, found = jax.lax.scan(layer, x, p["w"])
            return jnp.mean(((h @ p["o"])[:, 0] - y) ** 2), 0.999 * means + 0.001 * found

        (value, means), gradients = jax.value_and_grad(loss, has_aux=True)(p)
        updates, state = OPTIMISER.update(gradients, state, p)
        return optax.apply_updates(p, updates), state, means, value

    parameters = {"w": np.stack([draw(16, 16) for _ in range(3)]), "o": draw(16, 1)}
    given = (parameters, OPTIMISER.init(parameters), np.full((3, 16), 0.1, np.float32), draw(8, 16), draw(8))
    found = sc.scalify(train, precision="fp8-fp16-state")(*sc.as_scaled_array(given))
    assert found[0]["w"].dtype == np.float16
    assert found[2].dtype == np.float32
