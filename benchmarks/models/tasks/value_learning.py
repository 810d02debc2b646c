"""Q-learning (double, duelling) with a target network that is copied every 8 steps, and Huber's loss.

flax.linen; Adam behind a clipped global norm.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

WIDTH, ACTIONS, BATCH, DISCOUNT, PERIOD = 64, 3, 64, 0.95, 8


class Values(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.relu(nn.Dense(WIDTH)(nn.relu(nn.Dense(WIDTH)(x))))
        advantage = nn.Dense(ACTIONS)(x)
        return nn.Dense(1)(x) + advantage - advantage.mean(-1, keepdims=True)


def transitions(seed: int, step: int) -> tuple[np.ndarray, ...]:
    """States, actions, rewards, next states and ends of a damped system that an action pushes."""
    generator = np.random.default_rng((seed, step))
    state = generator.normal(size=(BATCH, 4))
    action = generator.integers(0, ACTIONS, BATCH)
    push = np.stack([action - 1, state[:, 0], -state[:, 1], state[:, 2] * (action == 2)], -1)
    after = 0.9 * state + 0.3 * push
    reward = 1 - (after[:, 0] ** 2 + 0.5 * np.abs(after[:, 1]))
    floats = (np.float32(each) for each in (reward, after, generator.random(BATCH) < 0.05))
    return np.float32(state), np.int32(action), *floats


def make(seed: int) -> Problem:
    network = Values()
    parameters = network.init(jax.random.PRNGKey(seed), np.zeros((1, 4), np.float32))
    optimizer = optax.chain(optax.clip_by_global_norm(10.0), optax.adam(2e-3))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, target, opt_state, count = state
        before, action, reward, after, ended = batch

        def loss_fn(parameters: Tree) -> jax.Array:
            best = jnp.argmax(network.apply(parameters, after), -1)
            value = jnp.take_along_axis(network.apply(target, after), best[:, None], -1)[:, 0]
            wanted = jax.lax.stop_gradient(reward + DISCOUNT * (1 - ended) * value)
            chosen = jnp.take_along_axis(network.apply(parameters, before), action[:, None], -1)[:, 0]
            return optax.huber_loss(chosen, wanted).mean()

        loss, gradients = jax.value_and_grad(loss_fn)(parameters)
        updates, opt_state = optimizer.update(gradients, opt_state)
        parameters = optax.apply_updates(parameters, updates)
        target = optax.periodic_update(parameters, target, count, PERIOD)
        return (parameters, target, opt_state, count + 1), loss

    target = jax.tree.map(jnp.copy, parameters)
    state = (parameters, target, optimizer.init(parameters), jnp.int32(0))
    return Problem(step, state, lambda i: transitions(seed, i))
