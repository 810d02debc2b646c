"""PPO (Schulman et al., 2017) on a point mass: rollout, advantages and epochs of updates, all scans in one step.

flax.linen, Adam with clipped gradients, typed random keys. The loss is the mean cost per step of the rollout.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

ENVIRONMENTS, TIME, EPOCHS, MINIBATCHES, DISCOUNT, TRACE = 32, 16, 2, 2, 0.95, 0.9


class ActorCritic(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        def network(size: int, gain: float) -> nn.Sequential:
            hidden = [nn.Dense(32, kernel_init=nn.initializers.orthogonal(np.sqrt(2))) for _ in range(2)]
            last = nn.Dense(size, kernel_init=nn.initializers.orthogonal(gain))
            return nn.Sequential([hidden[0], nn.tanh, hidden[1], nn.tanh, last])

        log_deviation = self.param("log_deviation", nn.initializers.zeros, (2,))
        return network(2, 0.01)(x), log_deviation, network(1, 1.0)(x)[..., 0]


def log_probability(mean: jax.Array, log_deviation: jax.Array, action: jax.Array) -> jax.Array:
    return jnp.sum(jax.scipy.stats.norm.logpdf(action, mean, jnp.exp(log_deviation)), axis=-1)


def move(position: jax.Array, velocity: jax.Array, action: jax.Array) -> Any:
    """A point that is pushed; the reward is higher near the origin and for small pushes."""
    velocity = 0.8 * velocity + 0.2 * jnp.clip(action, -2, 2)
    position = position + 0.5 * velocity
    reward = -jnp.sum(position**2, axis=-1) - 0.05 * jnp.sum(action**2, axis=-1)
    return position, velocity, reward


def make(seed: int) -> Problem:
    model = ActorCritic()
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(4e-3, eps=1e-5))
    parameters = jax.jit(model.init)(jax.random.key(seed), jnp.zeros((1, 4)))

    def rollout(parameters: Tree, start: jax.Array, key: jax.Array) -> tuple[Tree, jax.Array]:
        def act(carry: Any, key: jax.Array) -> Any:
            position, velocity = carry
            observation = jnp.concatenate([position, velocity], axis=-1)
            mean, log_deviation, value = model.apply(parameters, observation)
            action = mean + jnp.exp(log_deviation) * jax.random.normal(key, mean.shape)
            position, velocity, reward = move(position, velocity, action)
            logged = log_probability(mean, log_deviation, action)
            seen = {"observation": observation, "action": action, "logged": logged, "value": value, "reward": reward}
            return (position, velocity), seen

        (position, velocity), seen = jax.lax.scan(act, (start, jnp.zeros_like(start)), jax.random.split(key, TIME))
        return seen, model.apply(parameters, jnp.concatenate([position, velocity], axis=-1))[2]

    def advantages(seen: Tree, last: jax.Array) -> jax.Array:
        def back(carry: Any, at: Any) -> Any:
            advantage, following = carry
            value, reward = at
            advantage = reward + DISCOUNT * following - value + DISCOUNT * TRACE * advantage
            return (advantage, value), advantage

        values = (seen["value"], seen["reward"])
        return jax.lax.scan(back, (jnp.zeros_like(last), last), values, reverse=True)[1]

    def loss_fn(parameters: Tree, seen: Tree) -> jax.Array:
        mean, log_deviation, value = model.apply(parameters, seen["observation"])
        ratio = jnp.exp(log_probability(mean, log_deviation, seen["action"]) - seen["logged"])
        advantage = seen["advantage"]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy = -jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()
        clipped = seen["value"] + jnp.clip(value - seen["value"], -0.5, 0.5)
        errors = jnp.maximum(jnp.square(value - seen["target"]), jnp.square(clipped - seen["target"]))
        return policy + 0.25 * errors.mean() - 1e-3 * jnp.sum(log_deviation)

    def step(state: Tree, start: jax.Array) -> tuple[Tree, jax.Array]:
        key, acting, shuffling = jax.random.split(state["key"], 3)
        seen, last = rollout(state["params"], start, acting)
        seen["advantage"] = advantages(seen, last)
        seen["target"] = seen["advantage"] + seen["value"]
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), seen)

        def epoch(carry: Any, key: jax.Array) -> Any:
            order = jax.random.permutation(key, TIME * ENVIRONMENTS).reshape(MINIBATCHES, -1)

            def update(carry: Any, rows: jax.Array) -> Any:
                parameters, opt_state = carry
                gradients = jax.grad(loss_fn)(parameters, jax.tree.map(lambda x: x[rows], flat))
                updates, opt_state = optimizer.update(gradients, opt_state)
                return (optax.apply_updates(parameters, updates), opt_state), None

            return jax.lax.scan(update, carry, order)

        carry = (state["params"], state["opt_state"])
        (parameters, opt_state), _ = jax.lax.scan(epoch, carry, jax.random.split(shuffling, EPOCHS))
        return {"params": parameters, "opt_state": opt_state, "key": key}, -seen["reward"].mean()

    state = {"params": parameters, "opt_state": optimizer.init(parameters), "key": jax.random.key(seed + 100)}

    def starts(i: int) -> np.ndarray:
        return np.random.default_rng((seed, i)).normal(size=(ENVIRONMENTS, 2)).astype(np.float32)

    return Problem(step, state, starts)
