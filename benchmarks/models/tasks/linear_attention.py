"""An RWKV-like model (Peng et al., 2023): a scan over time with a running maximum; Lion with a schedule.

jax alone. The recurrence keeps numerator and denominator of a weighted mean relative to e^maximum, starting from -1e38.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, SyntheticText, Tree, cross_entropy, draw

VOCABULARY, WIDTH, CONTEXT, BATCH, LAYERS = 16, 32, 24, 16, 2


def initial_parameters(seed: int) -> Tree:
    generator = np.random.default_rng(seed)

    def layer() -> Tree:
        names = ("receptance", "key", "value", "output")
        time = {name: draw(generator, WIDTH, WIDTH) for name in names}
        channel = {
            "receptance": draw(generator, WIDTH, WIDTH), "key": draw(generator, WIDTH, 2 * WIDTH),
            "value": draw(generator, 2 * WIDTH, WIDTH),
        }  # fmt: skip
        mix = np.linspace(0.1, 0.9, WIDTH).astype(np.float32)
        return {
            "norms": [np.ones(WIDTH, np.float32), np.ones(WIDTH, np.float32)],
            "mix": mix,
            "decay": np.linspace(-3, 1, WIDTH).astype(np.float32),
            "bonus": np.full(WIDTH, 0.5, np.float32),
            "time": time,
            "channel": channel,
        }

    return {
        "embedding": (generator.normal(size=(VOCABULARY, WIDTH))).astype(np.float32),
        "layers": [layer() for _ in range(LAYERS)],
        "head": draw(generator, WIDTH, VOCABULARY),
    }


def weighted_key_values(decay: jax.Array, bonus: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
    """Means of values [T, D], weighted by e^(key - age * e^decay)."""
    rate = -jnp.exp(decay)

    def step(carry: Any, key_value: Any) -> Any:
        numerator, denominator, maximum = carry
        key, value = key_value
        top = jnp.maximum(maximum, bonus + key)
        old, new = jnp.exp(maximum - top), jnp.exp(bonus + key - top)
        result = (old * numerator + new * value) / (old * denominator + new)
        top = jnp.maximum(maximum + rate, key)
        old, new = jnp.exp(maximum + rate - top), jnp.exp(key - top)
        return (old * numerator + new * value, old * denominator + new, top), result

    zeros = jnp.zeros_like(values[0])
    return jax.lax.scan(step, (zeros, zeros, jnp.full_like(zeros, -1e38)), (keys, values))[1]


def rms_norm(x: jax.Array, gain: jax.Array) -> jax.Array:
    return gain * x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def logits(parameters: Tree, tokens: jax.Array) -> jax.Array:
    """[T, V] of tokens [T]."""
    x = parameters["embedding"][tokens]
    for layer in parameters["layers"]:
        y = rms_norm(x, layer["norms"][0])
        mixed = layer["mix"] * y + (1 - layer["mix"]) * jnp.pad(y, ((1, 0), (0, 0)))[:-1]
        time = layer["time"]
        read = weighted_key_values(layer["decay"], layer["bonus"], mixed @ time["key"], mixed @ time["value"])
        x = x + (jax.nn.sigmoid(mixed @ time["receptance"]) * read) @ time["output"]
        y, channel = rms_norm(x, layer["norms"][1]), layer["channel"]
        hidden = jnp.square(jax.nn.relu(y @ channel["key"]))
        x = x + jax.nn.sigmoid(y @ channel["receptance"]) * (hidden @ channel["value"])
    return x @ parameters["head"]


def make(seed: int) -> Problem:
    text, parameters = SyntheticText(VOCABULARY), initial_parameters(seed)
    schedule = optax.warmup_cosine_decay_schedule(0.0, 2e-3, 10, 400)
    optimizer = optax.lion(schedule, weight_decay=1e-2)

    def step(state: Tree, tokens: jax.Array) -> tuple[Tree, jax.Array]:
        def loss_fn(parameters: Tree) -> jax.Array:
            return cross_entropy(jax.vmap(lambda t: logits(parameters, t))(tokens[:, :-1]), tokens[:, 1:])

        loss, gradients = jax.value_and_grad(loss_fn)(state["params"])
        updates, opt_state = optimizer.update(gradients, state["opt_state"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt_state": opt_state}, loss

    state = {"params": parameters, "opt_state": optimizer.init(parameters)}
    return Problem(step, state, lambda i: text.batch(seed, i, BATCH, CONTEXT))
