"""Labels of a longer sequence without their places: convolutions over time and connectionist temporal classification.

flax.linen; Adam. The loss walks over time in logarithms, in which -1e5 stands for minus infinity.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

from benchmarks.models.tasks.problem import Problem, Tree

CLASSES, FEATURES, WIDTH, TIME, LABELS, BATCH = 6, 8, 24, 16, 4, 8
_SOUNDS = np.random.default_rng(4).normal(size=(CLASSES, FEATURES))


class Listener(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = nn.gelu(nn.Conv(WIDTH, (3,))(x))
        x = x + nn.gelu(nn.Conv(WIDTH, (3,))(nn.LayerNorm()(x)))
        return nn.Dense(CLASSES)(x)


def batch(seed: int, step: int) -> tuple[np.ndarray, ...]:
    """Sounds, f32 [BATCH, TIME, FEATURES]; labels, of which two to four count; which of them are padding, f32."""
    generator = np.random.default_rng((seed, step))
    labels = generator.integers(1, CLASSES, (BATCH, LABELS)).astype(np.int32)
    lengths = generator.integers(2, LABELS + 1, BATCH)
    is_padding = np.arange(LABELS) >= lengths[:, None]
    each = np.where(is_padding[..., None], 0, _SOUNDS[labels])
    silence = np.zeros_like(each)
    sounds = np.stack([silence, each, each, silence], axis=2).reshape(BATCH, TIME, FEATURES)
    sounds = sounds + 0.3 * generator.normal(size=sounds.shape)
    return sounds.astype(np.float32), labels, is_padding.astype(np.float32)


def make(seed: int) -> Problem:
    model = Listener()
    parameters = model.init(jax.random.PRNGKey(seed), batch(seed, 0)[0])
    optimizer = optax.adam(5e-3)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        sounds, labels, is_padding = batch
        logits = model.apply(parameters, sounds)
        return jnp.mean(optax.ctc_loss(logits, jnp.zeros(logits.shape[:2]), labels, is_padding))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: batch(seed, i))
