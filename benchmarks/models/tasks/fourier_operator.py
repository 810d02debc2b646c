"""A Fourier neural operator: from a function on a circle to another one, by products of its lowest frequencies.

JAX alone; Adam. The loss is the relative error of each function.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

POINTS, WIDTH, MODES, LAYERS, BATCH = 32, 12, 6, 2, 16


def batch(seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of four waves, f32 [BATCH, POINTS], and what is to come out: shifted, added to, bent."""
    generator = np.random.default_rng((seed, step))
    sizes = generator.normal(size=(2, BATCH, 4)) / np.arange(1, 5)
    phases = 2 * np.pi * np.arange(1, 5)[:, None] * np.arange(POINTS) / POINTS
    u = sizes[0] @ np.sin(phases) + sizes[1] @ np.cos(phases)
    return u.astype(np.float32), np.tanh(np.roll(u, 3, axis=1) + 0.2 * u).astype(np.float32)


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "in": draw(generator, 2, WIDTH),
        "layers": [
            {
                "real": (generator.normal(size=(MODES, WIDTH, WIDTH)) / WIDTH).astype(np.float32),
                "imaginary": (generator.normal(size=(MODES, WIDTH, WIDTH)) / WIDTH).astype(np.float32),
                "local": draw(generator, WIDTH, WIDTH),
                "bias": np.zeros(WIDTH, np.float32),
            }
            for _ in range(LAYERS)
        ],
        "out": draw(generator, WIDTH, 1),
    }
    optimizer = optax.adam(1e-2)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        u, target = batch
        place = jnp.broadcast_to(jnp.linspace(0, 1, POINTS), u.shape)
        x = jnp.stack([u, place], axis=-1) @ parameters["in"]
        for layer in parameters["layers"]:
            waves = jnp.fft.rfft(x, axis=1)[:, :MODES]
            weights = jax.lax.complex(layer["real"], layer["imaginary"])
            filtered = jnp.fft.irfft(jnp.einsum("bmi,mio->bmo", waves, weights), n=POINTS, axis=1)
            x = jax.nn.gelu(filtered + x @ layer["local"] + layer["bias"])
        error = (x @ parameters["out"])[..., 0] - target
        return jnp.mean(jnp.linalg.norm(error, axis=1) / jnp.linalg.norm(target, axis=1))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: batch(seed, i))
