"""A neural cellular automaton (Mordvintsev et al., 2020) that grows a picture from four cells: one rule for every cell.

JAX alone; gradients through 8 random steps in a scan, their norm clipped; Adam.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

SIZE, CHANNELS, WIDTH, STEPS, BATCH = 12, 12, 48, 8, 4
_SMOOTH, _SLOPE = np.array([1, 2, 1]), np.array([-1, 0, 1])
_FILTERS = np.stack([np.outer([0, 1, 0], [0, 1, 0]), np.outer(_SMOOTH, _SLOPE) / 8, np.outer(_SLOPE, _SMOOTH) / 8], -1)


def picture() -> np.ndarray:
    """Red, green, blue and opacity of a ring, f32 [SIZE, SIZE, 4]."""
    y, x = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    inside = np.abs(radius - 3.5) < 1.3
    colours = 0.5 + 0.5 * np.cos(angle[..., None] + np.array([0, 2, 4]))
    return (np.concatenate([colours, np.ones((SIZE, SIZE, 1))], -1) * inside[..., None]).astype(np.float32)


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "see": draw(generator, 3 * CHANNELS, WIDTH),
        "bias": np.zeros(WIDTH, np.float32),
        "act": np.zeros((WIDTH, CHANNELS), np.float32),
    }
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))
    filters = np.repeat(_FILTERS[:, :, None, :], CHANNELS, 2).reshape(3, 3, 1, 3 * CHANNELS).astype(np.float32)
    target = picture()

    def grow(parameters: Tree, cells: jax.Array, key: jax.Array) -> jax.Array:
        """Cells [B, SIZE, SIZE, CHANNELS] after a step in which half of those that live change."""
        seen = jax.lax.conv_general_dilated(
            cells, filters, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=CHANNELS
        )
        change = jax.nn.relu(seen @ parameters["see"] + parameters["bias"]) @ parameters["act"]
        cells = cells + change * jax.random.bernoulli(key, 0.5, (*cells.shape[:3], 1))
        alive = jax.lax.reduce_window(cells[..., 3:4], -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") > 0.1
        return cells * alive

    def loss_fn(parameters: Tree, key: jax.Array) -> jax.Array:
        first = (
            jnp.zeros((BATCH, SIZE, SIZE, CHANNELS))
            .at[:, SIZE // 2 - 1 : SIZE // 2 + 1, SIZE // 2 - 1 : SIZE // 2 + 1, 3:]
            .set(1.0)
        )
        keys = jax.random.split(key, STEPS)
        cells = jax.lax.scan(lambda cells, key: (grow(parameters, cells, key), None), first, keys)[0]
        return jnp.mean(jnp.square(cells[..., :4] - target)) / np.mean(np.square(target))

    def step(state: Tree, key: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, key)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    def key(i: int) -> np.ndarray:
        return np.asarray([seed, i], np.uint32)

    return Problem(step, (parameters, optimizer.init(parameters)), key)
