"""Three small models of different kinds for optimisers to be tried on: `python -m experiments optimisers`.

Each is (parameters, loss of parameters and batch, batch of a step).
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx

from benchmarks.models.tasks.problem import SyntheticText, Tree, cross_entropy, draw

Model = tuple[Tree, Callable[[Tree, Tree], jax.Array], Callable[[int], Tree]]

COLUMNS, HIDDEN, ROWS = 10, 32, 64
_MEASURED = (10.0 ** np.linspace(-2, 3, COLUMNS)).astype(np.float32)
_TRUE = np.random.default_rng(11).normal(size=(COLUMNS, 6)) / np.sqrt(COLUMNS)

SIDE, CLASSES, IMAGES = 12, 4, 48
_SHAPES = np.random.default_rng(12).normal(size=(CLASSES, 5, 5, 3))

TOKENS, CONTEXT, SEQUENCES, STATE = 16, 24, 16, 40


def regression(seed: int) -> Model:
    """flax.nnx: columns in their own units, an answer in hundreds, standardised by constants within the model."""
    keys = nnx.Rngs(seed)
    model = nnx.Sequential(
        nnx.Linear(COLUMNS, HIDDEN, rngs=keys), nnx.gelu, nnx.Linear(HIDDEN, HIDDEN, rngs=keys), nnx.gelu,
        nnx.Linear(HIDDEN, 1, rngs=keys),
    )  # fmt: skip
    graph, parameters = nnx.split(model)

    def loss(parameters: Tree, batch: Tree) -> jax.Array:
        x = (batch["x"] - 2 * _MEASURED) / _MEASURED
        predicted = 300 * nnx.merge(graph, parameters)(x)[:, 0]
        return jnp.mean(jnp.square(predicted - batch["y"])) / jnp.mean(jnp.square(batch["y"]))

    def batch(step: int) -> Tree:
        generator = np.random.default_rng((seed, step))
        x = generator.normal(size=(ROWS, COLUMNS))
        y = np.sum(np.sin(1.5 * x @ _TRUE), axis=1) + 0.1 * generator.normal(size=ROWS)
        return {"x": (x * _MEASURED + 2 * _MEASURED).astype(np.float32), "y": (300 * y).astype(np.float32)}

    return parameters, loss, batch


class Convolutions(linen.Module):
    """Two convolutions with group normalisation, a pooled head."""

    @linen.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for width in (8, 16):
            x = linen.Conv(width, (3, 3), strides=2)(x)
            x = jax.nn.relu(linen.GroupNorm(num_groups=4)(x))
        return linen.Dense(CLASSES)(jnp.mean(x, axis=(1, 2)))


def images(seed: int) -> Model:
    """flax.linen: which of four textures is in an image."""
    model = Convolutions()

    def loss(parameters: Tree, batch: Tree) -> jax.Array:
        return cross_entropy(model.apply({"params": parameters}, batch["x"]), batch["y"])

    def batch(step: int) -> Tree:
        generator = np.random.default_rng((seed, step))
        y = generator.integers(0, CLASSES, IMAGES).astype(np.int32)
        tiled = np.tile(_SHAPES, (1, 3, 3, 1))[:, :SIDE, :SIDE]
        x = tiled[y] + 1.5 * generator.normal(size=(IMAGES, SIDE, SIDE, 3))
        return {"x": x.astype(np.float32), "y": y}

    return model.init(jax.random.key(seed), batch(0)["x"])["params"], loss, batch


def recurrence(seed: int) -> Model:
    """jax: a GRU over tokens, by `lax.scan`."""
    generator = np.random.default_rng((seed, 1))
    parameters = {
        "embedding": (generator.normal(size=(TOKENS, STATE)) / 2).astype(np.float32),
        "gates": {"w": draw(generator, 2 * STATE, 2 * STATE), "b": np.zeros(2 * STATE, np.float32)},
        "candidate": {"w": draw(generator, 2 * STATE, STATE), "b": np.zeros(STATE, np.float32)},
        "head": draw(generator, STATE, TOKENS),
    }
    text = SyntheticText(TOKENS)

    def cell(parameters: Tree, h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        gates = jnp.concatenate([x, h], axis=-1) @ parameters["gates"]["w"] + parameters["gates"]["b"]
        reset, update = jnp.split(jax.nn.sigmoid(gates), 2, axis=-1)
        inner = jnp.concatenate([x, reset * h], axis=-1) @ parameters["candidate"]["w"] + parameters["candidate"]["b"]
        h = (1 - update) * h + update * jnp.tanh(inner)
        return h, h

    def loss(parameters: Tree, tokens: Tree) -> jax.Array:
        x = jnp.swapaxes(parameters["embedding"][tokens[:, :-1]], 0, 1)
        start = jnp.zeros((tokens.shape[0], STATE))
        _, states = jax.lax.scan(lambda h, x: cell(parameters, h, x), start, x)
        return cross_entropy(jnp.swapaxes(states, 0, 1) @ parameters["head"], tokens[:, 1:])

    return parameters, loss, lambda step: text.batch(seed, step, SEQUENCES, CONTEXT)


MODELS: dict[str, Callable[[int], Model]] = {"regression": regression, "images": images, "recurrence": recurrence}
