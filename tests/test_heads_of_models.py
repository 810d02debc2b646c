"""The last layer of a model is the last product with a weight: a chain of rotations or a resized image is none.

The gradient that enters it is measured where its size is a product of more estimates than f16 bears.
"""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.analysis.products import matrix_products
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.private_functions import unshare

# Denavit and Hartenberg: lengths and offsets of an arm's links, in mm.
LINKS = [(0.0, 1.57, 400.0), (455.0, 0.0, 0.0), (35.0, 1.57, 0.0), (0.0, -1.57, 420.0), (0.0, 1.57, 0.0)]


def arm(q: Any) -> Any:
    """Where the hand of an arm is, of its angles: a chain of products of 4 by 4."""

    def one(q: Any) -> Any:
        pose: Any = jnp.eye(4)
        for i, (length, twist, offset) in enumerate(LINKS):
            c, s, ct, st = jnp.cos(q[i]), jnp.sin(q[i]), np.cos(twist), np.sin(twist)
            rows = [
                [c, -s * ct, s * st, length * c],
                [s, c * ct, -c * st, length * s],
                [0, st, ct, offset],
                [0, 0, 0, 1],
            ]
            pose = pose @ jnp.array(rows)
        return pose[:3, 3] / 100

    return jax.vmap(one)(q)


def resized(q: Any) -> Any:
    """A curve through five points."""
    return jax.nn.softplus(4 * jax.image.resize(jax.nn.sigmoid(q), (q.shape[0], 256), "linear")) ** 2


def smoothed(q: Any) -> Any:
    """Differences of higher order, by a table: 2^-20 of the values."""
    kernel = np.linalg.matrix_power(np.float32(np.eye(5) - 0.99 * np.ones((5, 5)) / 5), 3)
    return jnp.exp(jnp.tanh(q) @ kernel) ** 3


MODELS: dict[str, Callable[[Any], Any]] = {"arm": arm, "resized": resized, "smoothed": smoothed}


def _parts(name: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    sizes = (12, 64, 64, 5)
    weights = [np.float32(rng.standard_normal(shape) / np.sqrt(shape[0])) for shape in itertools.pairwise(sizes)]
    x = np.float32(rng.standard_normal((64, 12)))
    y = np.asarray(MODELS[name](np.float32(rng.uniform(-1, 1, (64, 5)))))

    def step(weights: Any, x: Any, y: Any) -> Any:
        def loss(weights: Any) -> Any:
            h = x
            for w in weights[:-1]:
                h = jax.nn.gelu(h @ w)
            return jnp.mean((MODELS[name](h @ weights[-1]) - y) ** 2)

        gradient = jax.grad(loss)(weights)
        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradient), gradient

    return step, weights, (x, y)


@pytest.mark.parametrize(("precision", "most"), [("fp16", 1e-2), ("fp8", 0.3)])
@pytest.mark.parametrize("name", MODELS)
def test_gradients(name: str, precision: Any, most: float) -> None:
    step, weights, given = _parts(name)
    expected = jax.jit(step)(weights, *given)[1]
    found = sc.scalify(step, precision=precision)(*sc.as_scaled_array((weights, *given)))[1]
    for each, gradient in zip(sc.tree.leaves(found), expected, strict=True):
        assert np.linalg.norm(np.asarray(each, np.float64) - gradient) <= most * np.linalg.norm(gradient)


@pytest.mark.parametrize("name", MODELS)
def test_the_last_layer_is_the_head(name: str) -> None:
    step, weights, given = _parts(name)
    with make_context():
        module = ir.Module.parse(jax.jit(step).lower(weights, *given).as_text(debug_info=True))
        unshare(module)
        heads = [product for product in matrix_products(module) if product.is_head and product.kind == "forward"]
        assert [list(ir.RankedTensorType(head.op.operands[1].type).shape) for head in heads][:1] == [[64, 5]]
