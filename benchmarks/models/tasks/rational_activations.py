"""Residual layers with rational activations (Pade units; Molina et al., 2019) and Student's likelihood of residuals.

JAX alone; Adam. Numerator and denominator are cubic polynomials with learned coefficients; log-gamma functions of a
learned number.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

FEATURES, WIDTH, LAYERS, BATCH = 5, 24, 3, 64
_SLOPES = np.random.default_rng(2).normal(size=FEATURES)
_NUMERATOR, _DENOMINATOR = np.float32([0.02, 0.5, 0.44, 0.06]), np.float32([0.0, 0.2, 0.04])


def batch(seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng((seed, step))
    x = generator.normal(size=(BATCH, FEATURES))
    return x.astype(np.float32), (np.sin(x @ _SLOPES) + 0.2 * generator.standard_t(2, BATCH)).astype(np.float32)


def rational(block: Tree, x: jax.Array) -> jax.Array:
    """P(x) / (1 + |Q(x)|)."""
    above = sum(block["above"][k] * x**k for k in range(4))
    below = sum(block["below"][k] * x ** (k + 1) for k in range(3))
    return above / (1 + jnp.abs(below))


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "in": draw(generator, FEATURES, WIDTH),
        "blocks": [
            {
                "in": draw(generator, WIDTH, WIDTH),
                "out": draw(generator, WIDTH, WIDTH),
                "above": _NUMERATOR.copy(),
                "below": _DENOMINATOR.copy(),
            }
            for _ in range(LAYERS)
        ],
        "head": draw(generator, WIDTH, 1),
        "freedom": np.ones(1, np.float32),
    }
    optimizer = optax.adam(3e-3)

    def loss_fn(parameters: Tree, x: jax.Array, y: jax.Array) -> jax.Array:
        h = x @ parameters["in"]
        for block in parameters["blocks"]:
            h = h + rational(block, h @ block["in"]) @ block["out"] / 2
        residual = (h @ parameters["head"])[:, 0] - y
        nu = 1 + jax.nn.softplus(parameters["freedom"][0])
        normaliser = jax.lax.lgamma(nu / 2) - jax.lax.lgamma((nu + 1) / 2) + jnp.log(nu * jnp.pi) / 2
        return jnp.mean((nu + 1) / 2 * jnp.log1p(residual**2 / nu)) + normaliser

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, *batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: batch(seed, i))
