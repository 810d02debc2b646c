"""What a training task is: a step that its users would write, a state and batches; and the data that tasks share."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Tree = Any  # any pytree of arrays: parameters, optimiser state, random keys, counts
Step = Callable[[Tree, Tree], tuple[Tree, jax.Array]]


@dataclasses.dataclass(frozen=True)
class Problem:
    """A task made from a seed.

    step: (state, batch) -> (state, rank-0 loss), in f32 and without any thought of other types; `jax.jit` compiles it.
    state: before the first step. Floats are f32.
    batch: the batch of a step, NumPy arrays; floats are f32. The same for the same number.
    """

    step: Step
    state: Tree
    batch: Callable[[int], Tree]


def draw(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Gaussian f32 weights of standard deviation 1/sqrt(product of all but the last size)."""
    return (generator.normal(size=shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean cross-entropy in nats of logits [..., V] and int32 labels [...]."""
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1))


class SyntheticText:
    """Sequences of tokens in which two earlier tokens decide the next one, but for some noise.

    A table drawn once (not from the seed of the task) gives the likely token after each pair; a token follows it with
    probability 0.85 and is uniform otherwise. The entropy rate is about 0.9 nats for 16 tokens.
    """

    def __init__(self, vocabulary: int = 16, length: int = 20_000):
        generator = np.random.default_rng(1234)
        table = generator.integers(0, vocabulary, (vocabulary, vocabulary))
        noise, random = generator.random(length) < 0.15, generator.integers(0, vocabulary, length)
        tokens = [0, 1]
        for i in range(length):
            tokens.append(int(random[i] if noise[i] else table[tokens[-1] % 4, tokens[-2]]))
        self.tokens = np.asarray(tokens, np.int32)

    def batch(self, seed: int, step: int, size: int, context: int) -> np.ndarray:
        """int32 [size, context + 1]: windows at random places."""
        starts = np.random.default_rng((seed, step)).integers(0, len(self.tokens) - context - 1, size)
        return np.stack([self.tokens[start : start + context + 1] for start in starts])
