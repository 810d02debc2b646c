"""New weights that are computed of the old ones in another shape or order are the optimiser's, and in f32."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import scalify_hlo as sc

RNG = np.random.default_rng(0)
PARAMETERS = {
    "a": np.asarray(RNG.standard_normal((32, 64)) / 6, np.float32),
    "b": np.asarray(RNG.standard_normal((64, 32)) / 8, np.float32),
}
X = np.asarray(RNG.standard_normal((128, 32)), np.float32)
Y = np.sin(X)
RATE = 1e-3  # f16 next to a weight of 0.1 has steps of 6e-5


def loss(p: Any, x: Any = X, y: Any = Y) -> Any:
    return jnp.mean((jax.nn.gelu(x @ p["a"]) @ p["b"] - y) ** 2)


def ravelled(p: Any) -> Any:
    flat, unravel = ravel_pytree(p)
    return unravel(flat - RATE * ravel_pytree(jax.grad(loss)(p))[0])


def transposed(p: Any) -> Any:
    return jax.tree.map(lambda w, g: (w.T - RATE * g.T).T, p, jax.grad(loss)(p))


def padded(p: Any) -> Any:
    wide = jax.tree.map(lambda w: jnp.pad(w, ((0, 0), (0, 8))), p)
    gradients = jax.grad(lambda q: loss(jax.tree.map(lambda w: w[:, :-8], q)))(wide)
    return jax.tree.map(lambda w, g: (w - RATE * g)[:, :-8], wide, gradients)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("step", [ravelled, transposed, padded])
def test_updates_are_not_rounded(step: Callable[[Any], Any], precision: Any) -> None:
    wanted = jax.jit(step)(PARAMETERS)
    new = sc.asarray(sc.scalify(step, precision=precision)(sc.as_scaled_array(PARAMETERS)), np.float32)
    for name, before in PARAMETERS.items():
        moved = np.linalg.norm(np.float64(wanted[name]) - before)
        assert np.linalg.norm(np.float64(new[name]) - wanted[name]) < 0.02 * moved


def per_example(p: Any) -> Any:
    """As for private training: the batch is a constant, the mean of the gradients no part of the backward pass."""
    gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(p, X[:, None], Y[:, None])
    return jax.tree.map(lambda w, g: w - RATE * g.mean(0), p, gradients)


def forward_over_rows(p: Any) -> Any:
    return jax.tree.map(lambda w, g: w - RATE * g, p, jax.jacrev(loss)(p))


@pytest.mark.parametrize("step", [per_example, forward_over_rows])
def test_what_gradients_are_averaged_to_is_no_statistic_of_inputs(step: Callable[[Any], Any]) -> None:
    """Such statistics stay in f32; parameters in `fp16-state` do not."""
    scaled = sc.scalify(step, precision="fp16-state")
    new = scaled(sc.as_scaled_array(PARAMETERS))
    assert {str(each.dtype) for each in new.values()} == {"float16"}
