"""Gaussian splatting (Kerbl et al., 2023): 3D Gaussians are projected, sorted by depth and blended.

JAX alone; Adam with a rate for each kind of parameter.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

COUNT, PIXELS, FOCAL, VIEWS, AWAY = 40, 16, 20.0, 4, 4.0
RATES = {"centre": 2e-2, "size": 2e-2, "turn": 1e-2, "opacity": 5e-2, "colour": 5e-2}
GRID = np.stack(np.meshgrid(np.arange(PIXELS), np.arange(PIXELS), indexing="ij"), -1).reshape(-1, 2) + 0.5


def scene(generator: np.random.Generator, spread: float) -> dict[str, np.ndarray]:
    """Gaussians around the origin: logarithms of their axes, quaternions, logits of opacity and colours."""
    parameters = {
        "centre": spread * generator.normal(size=(COUNT, 3)), "size": np.full((COUNT, 3), -1.6),
        "turn": np.tile([1.0, 0.0, 0.0, 0.0], (COUNT, 1)), "opacity": np.full(COUNT, -1.0),
        "colour": 0.3 * generator.normal(size=(COUNT, 3)),
    }  # fmt: skip
    return {name: value.astype(np.float32) for name, value in parameters.items()}


def rotation(quaternions: jax.Array) -> jax.Array:
    """[N, 3, 3] of [N, 4]."""
    w, x, y, z = (quaternions / jnp.linalg.norm(quaternions, axis=-1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


def render(p: Tree, camera: jax.Array) -> jax.Array:
    """The colours [PIXELS^2, 3] that a camera, a rotation beside a translation [3, 4], sees."""
    turn = camera[:, :3]
    x, y, z = (p["centre"] @ turn.T + camera[:, 3]).T
    centre = FOCAL * jnp.stack([x, y], -1) / z[:, None] + PIXELS / 2
    axes = rotation(p["turn"]) * jnp.exp(p["size"])[:, None]
    covariance = turn @ (axes @ axes.swapaxes(1, 2)) @ turn.T
    zero = jnp.zeros_like(z)
    projection = jnp.stack(
        [jnp.stack([FOCAL / z, zero, -FOCAL * x / z**2], -1), jnp.stack([zero, FOCAL / z, -FOCAL * y / z**2], -1)], -2
    )
    flat = projection @ covariance @ projection.swapaxes(1, 2) + 0.3 * jnp.eye(2)
    a, b, c = flat[:, 0, 0], flat[:, 0, 1], flat[:, 1, 1]
    dx, dy = jnp.moveaxis(GRID.astype(np.float32)[:, None] - centre, -1, 0)
    power = -(c * dx**2 - 2 * b * dx * dy + a * dy**2) / (2 * (a * c - b**2))
    alpha = jnp.minimum(0.99, jax.nn.sigmoid(p["opacity"]) * jnp.exp(jnp.minimum(power, 0.0)))
    order = jnp.argsort(z)
    alpha = jnp.where(alpha < 1 / 255, 0.0, alpha)[:, order]
    passes = jnp.cumprod(1 - alpha, 1)
    weights = alpha * jnp.concatenate([jnp.ones_like(passes[:, :1]), passes[:, :-1]], 1)
    return weights @ jax.nn.sigmoid(p["colour"])[order]


def make(seed: int) -> Problem:
    parameters = scene(np.random.default_rng(seed), 0.7)
    optimizer = optax.partition(
        {name: optax.adam(rate) for name, rate in RATES.items()}, {name: name for name in RATES}
    )
    target = scene(np.random.default_rng(9), 0.5)
    target["opacity"] += 3
    target["colour"] *= 8
    images = jax.jit(jax.vmap(lambda camera: render(target, camera)))

    def loss_fn(p: Tree, cameras: jax.Array, seen: jax.Array) -> jax.Array:
        return 8 * jnp.mean(jnp.abs(jax.vmap(lambda camera: render(p, camera))(cameras) - seen))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        p, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(p, *batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(p, updates), opt_state), loss

    def batch(i: int) -> Tree:
        angles = np.random.default_rng((seed, i)).uniform(0, 2 * np.pi, VIEWS)
        cos, sin, zero, one = np.cos(angles), np.sin(angles), np.zeros(VIEWS), np.ones(VIEWS)
        rows = [[cos, zero, sin, zero], [zero, one, zero, zero], [-sin, zero, cos, AWAY * one]]
        cameras = np.moveaxis(np.array(rows), -1, 0).astype(np.float32)
        return cameras, np.asarray(images(cameras))

    return Problem(step, (parameters, optimizer.init(parameters)), batch)
