"""Learning without labels from two views of an image: a target that is an average of the network's weights (BYOL, Grill
et al., 2020), with which predictions correlate feature by feature (Barlow twins, Zbontar et al., 2021).

flax.linen; MLP-mixer (Tolstikhin et al., 2021), LAMB, the mean of two half batches.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

SIZE, PATCH, WIDTH, TOKENS_WIDTH, LAYERS, BATCH = 12, 3, 32, 24, 2, 32


class Mixer(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Projections [B, WIDTH] of images [B, SIZE, SIZE, 1]."""
        x = nn.Conv(WIDTH, (PATCH, PATCH), (PATCH, PATCH))(x).reshape(len(x), -1, WIDTH)
        for _ in range(LAYERS):
            y = jnp.swapaxes(nn.LayerNorm()(x), 1, 2)
            y = nn.Dense(x.shape[1])(nn.gelu(nn.Dense(TOKENS_WIDTH)(y)))
            x = x + jnp.swapaxes(y, 1, 2)
            x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x))))
        return nn.Dense(WIDTH)(nn.LayerNorm()(x).mean(1))


class Predictor(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(WIDTH)(nn.relu(nn.LayerNorm()(nn.Dense(2 * WIDTH)(x))))


def views(seed: int, step: int) -> np.ndarray:
    """f32 [2, 2, BATCH / 2, SIZE, SIZE, 1]: halves of a batch, two views of each image: shifted, brighter, noisy."""
    generator = np.random.default_rng((seed, step))
    grid = np.arange(SIZE) / SIZE * 2 * np.pi
    number = generator.integers(1, 4, (2, 2, BATCH // 2)) + np.zeros((2, 1, 1), int)
    number[:, 1] = number[:, 0]  # of waves: what both views of an image have in common
    shift = generator.random((2, 2, BATCH // 2, 2)) * 2 * np.pi
    waves = [np.sin(number[..., None] * grid + shift[..., i : i + 1]) for i in range(2)]
    images = waves[0][..., None] * waves[1][..., None, :] * (0.5 + generator.random((2, 2, BATCH // 2, 1, 1)))
    return (images + 0.2 * generator.normal(size=images.shape))[..., None].astype(np.float32)


def make(seed: int) -> Problem:
    mixer, predictor = Mixer(), Predictor()
    keys = jax.random.split(jax.random.PRNGKey(seed))
    parameters = {
        "mixer": mixer.init(keys[0], np.zeros((1, SIZE, SIZE, 1), np.float32)),
        "predictor": predictor.init(keys[1], np.zeros((1, WIDTH), np.float32)),
    }
    optimizer = optax.lamb(optax.linear_schedule(0.02, 0.002, 200))

    def redundancy(a: jax.Array, b: jax.Array) -> jax.Array:
        """How far the correlations of features over the batch are from the identity: 1 for none."""
        a, b = ((x - x.mean(0)) / (x.std(0) + 1e-3) for x in (a, b))
        correlation = a.T @ b / len(a)
        wrong = jnp.square(correlation - jnp.eye(WIDTH))
        return (jnp.trace(wrong) + 0.02 * (wrong.sum() - jnp.trace(wrong))) / WIDTH

    def loss_fn(parameters: Tree, target: Tree, pair: jax.Array) -> jax.Array:
        online = [predictor.apply(parameters["predictor"], mixer.apply(parameters["mixer"], x)) for x in pair]
        wanted = [jax.lax.stop_gradient(mixer.apply(target, x)) for x in pair]
        return redundancy(online[0], wanted[1]) + redundancy(online[1], wanted[0])

    def step(state: Tree, batch: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, target, opt_state = state

        def add(total: Tree, pair: jax.Array) -> tuple[Tree, None]:
            found = jax.value_and_grad(loss_fn)(parameters, target, pair)
            return jax.tree.map(lambda t, x: t + x / len(batch), total, found), None

        zeros = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, parameters))
        (loss, gradients), _ = jax.lax.scan(add, zeros, batch)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        parameters = optax.apply_updates(parameters, updates)
        target = optax.incremental_update(parameters["mixer"], target, 0.05)
        return (parameters, target, opt_state), loss

    target = jax.tree.map(jnp.copy, parameters["mixer"])
    return Problem(step, (parameters, target, optimizer.init(parameters)), lambda i: views(seed, i))
