"""LoRA (Hu et al., 2021): a frozen network with trained low-rank changes; jax alone, AdamW with a cosine schedule.

The second factor of each change starts at zero, and the frozen weights go through the step untouched. The data come
from the frozen network with other matrices of low rank added; the loss is relative to the variance of the targets.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

INPUT, WIDTH, OUTPUT, RANK, BATCH = 16, 64, 16, 4, 64
_SIZES = [(INPUT, WIDTH), (WIDTH, WIDTH), (WIDTH, OUTPUT)]
_LAYERS = [f"layer_{i}" for i in range(len(_SIZES))]


def frozen_parameters() -> Tree:
    generator = np.random.default_rng(11)
    return {
        name: {"kernel": draw(generator, *size), "bias": (0.1 * generator.normal(size=size[1])).astype(np.float32)}
        for name, size in zip(_LAYERS, _SIZES, strict=True)
    }


def apply(frozen: Tree, change: Tree, x: jax.Array) -> jax.Array:
    for name in _LAYERS:
        y = x @ frozen[name]["kernel"] + frozen[name]["bias"] + (2.0 * (x @ change[name]["a"])) @ change[name]["b"]
        x = jax.nn.gelu(y) if name != _LAYERS[-1] else y
    return x


def make(seed: int) -> Problem:
    frozen, generator, other = frozen_parameters(), np.random.default_rng(seed), np.random.default_rng(12)
    change, teacher = (
        {
            name: {"a": draw(drawn, rows, RANK), "b": np.zeros((RANK, columns), np.float32)}
            for name, (rows, columns) in zip(_LAYERS, _SIZES, strict=True)
        }
        for drawn in (generator, other)
    )
    for name, (_, columns) in zip(_LAYERS, _SIZES, strict=True):
        teacher[name]["b"] = (0.3 * other.normal(size=(RANK, columns))).astype(np.float32)
    optimizer = optax.adamw(optax.cosine_decay_schedule(1e-2, 400))
    target = jax.jit(lambda x: apply(frozen, teacher, x))

    def loss_fn(change: Tree, frozen: Tree, batch: Tree) -> jax.Array:
        error = apply(frozen, change, batch["x"]) - batch["y"]
        return jnp.mean(error**2) / jnp.var(batch["y"])

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        loss, gradients = jax.value_and_grad(loss_fn)(state["lora"], state["frozen"], batch)
        updates, opt_state = optimizer.update(gradients, state["opt_state"], state["lora"])
        return state | {"lora": optax.apply_updates(state["lora"], updates), "opt_state": opt_state}, loss

    def batch(i: int) -> Tree:
        x = np.random.default_rng((seed, i)).normal(size=(BATCH, INPUT)).astype(np.float32)
        return {"x": x, "y": np.asarray(target(x))}

    return Problem(step, {"frozen": frozen, "lora": change, "opt_state": optimizer.init(change)}, batch)
