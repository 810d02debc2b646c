"""What is divided by a norm, or by the root of any multiple of a mean square, and sums with a large constant."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo

Function = Callable[[jax.Array], jax.Array]
X = np.float32(np.random.default_rng(0).standard_normal((256, 64)))


def centred(x: jax.Array) -> jax.Array:
    return x - x.mean(0, keepdims=True)


NORMALISED: dict[str, Function] = {
    "norm": lambda x: x / jnp.linalg.norm(x, axis=0, keepdims=True),
    "inverse norm": lambda x: x * jax.lax.rsqrt(jnp.sum(x**2, 0, keepdims=True) + 1e-8),
    "demodulation": lambda x: x.reshape(4, 64, 64) * jax.lax.rsqrt(jnp.sum(x.reshape(4, 64, 64) ** 2, (0, 1)) + 1e-8),
    "cosine": lambda x: x / jnp.maximum(jnp.sqrt(jnp.sum(jnp.square(x), 1, keepdims=True)), 1e-6),
    "norm of what is centred": lambda x: centred(x) / jnp.linalg.norm(centred(x), axis=0),
    "times the root of its length": lambda x: 16 * x / jnp.linalg.norm(x, axis=0, keepdims=True),
    "mean": lambda x: x * jax.lax.rsqrt(jnp.mean(x**2, 0, keepdims=True) + 1e-6),
}


@pytest.mark.parametrize("name", NORMALISED)
def test_products_with_it_are_of_unit_size(name: str) -> None:
    """A product takes what its operands are estimated to be times the root of what it contracts over."""
    others = np.float16(np.random.default_rng(1).standard_normal((32, 256)))

    def product(x: jax.Array, y: jax.Array) -> jax.Array:
        return y @ NORMALISED[name](x).reshape(256, 64)

    found = scalify_hlo.scalify(product)(*scalify_hlo.as_scaled_array((np.float16(X), others)))
    size = np.log2(np.sqrt(np.mean(np.square(np.asarray(found.data, np.float64)))))
    assert abs(size) < 2, f"{name}: 2^{size:.1f}"


def test_a_mean_square_beside_a_constant() -> None:
    """v + 10, of pixels: as large as v. It was taken for a polynomial, 1 + x^2 where its terms balance."""

    def deviation(x: jax.Array) -> jax.Array:
        return jnp.sqrt(jnp.mean(x**2, 1) + 10.0)

    found = scalify_hlo.scalify(deviation)(scalify_hlo.as_scaled_array(X * 1000))
    assert 0.25 < np.mean(np.asarray(found.data)) < 4
