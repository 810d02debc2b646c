"""Deep networks without normalisation or residual streams: what each layer's estimate leaves out adds up.

Weights are of many sizes between two powers of two, so that their scales, which are rounded down, are too small by a
third of an octave on average, in every layer.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

# Layers: of depth, width, and how large a layer's weights are, over one that keeps the size of what it is given.
DEEP = {
    "tanh, orthogonal": (jnp.tanh, 24, 64, 0.0),
    "tanh": (jnp.tanh, 16, 100, 1.0),
    "sine": (jnp.sin, 24, 64, 1.0),
    "arc tangent": (jnp.arctan, 12, 100, 1.0),
    "soft sign": (jax.nn.soft_sign, 12, 64, 1.0),
    "inverse root": (lambda x: x / jnp.sqrt(1 + x * x), 12, 100, 1.0),
    "gelu": (jax.nn.gelu, 24, 64, 1.4),
    "linear, orthogonal": (lambda x: x, 32, 64, 0.0),
    "error function": (jax.scipy.special.erf, 24, 100, 1.0),
}


def weights(depth: int, width: int, gain: float) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    drawn = [rng.standard_normal((width, width)) for _ in range(depth)]
    if gain:
        return [np.float32(gain * each / width**0.5) for each in drawn]
    return [np.float32(0.98 * np.linalg.qr(each)[0]) for each in drawn]


def errors(step: Callable[..., Any], *arguments: Any, precision: str) -> np.ndarray:
    """Of all results, relative to their norms in f32."""
    given = sc.as_scaled_array(arguments)
    returned = sc.scalify(functools.partial(step), precision=precision)(*given)
    found = [np.asarray(each, np.float64) for each in sc.tree.leaves(returned)]
    wanted = [np.float64(each) for each in jax.tree.leaves(jax.jit(step)(*arguments))]
    return np.array([np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(found, wanted, strict=True)])


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
def test_a_deep_chain_keeps_its_sizes(name: str, precision: str):
    """Before this all gradients of the first layers were wrong by 30 to 100 %, that of the loss by up to 1000 times."""
    function, depth, width, gain = DEEP[name]

    def step(matrices: Any, x: jax.Array) -> Any:
        def loss(matrices: Any) -> jax.Array:
            y = x
            for each in matrices:
                y = function(y @ each)
            return jnp.mean(y**2)

        return jax.value_and_grad(loss)(matrices)

    x = np.float32(np.random.default_rng(1).standard_normal((32, width)))
    assert errors(step, weights(depth, width, gain), x, precision=precision).max() < 0.03


@pytest.mark.parametrize(
    "function",
    [lambda h: 1 / (1 + h * h), lambda h: 1 / (1 + h * h) ** 1.5, lambda h: h**3 / (1 + h * h),
     lambda h: h / (1 + h * h), lambda h: jax.lax.rsqrt(1 + h * h)],
    ids=["Cauchy", "Student", "cubic over square", "first over square", "inverse root"],
)  # fmt: skip
@pytest.mark.parametrize("exponent", [0, 2, 4])
def test_quotients_by_what_is_bounded_from_below(function: Callable[[Any], Any], exponent: int):
    """d(1 / Y) = -dY / Y^2 of Y = 1 + h^2: elements with an h near 0 are 2^8 to 2^16 larger than the others.

    Before this gradients of the first two were wrong by 95 to 100 %.
    """
    rng = np.random.default_rng(0)
    first, second, last = [*weights(2, 32, 1.0), np.float32(rng.standard_normal((32, 8)) / 6)]
    x, y = np.float32(rng.standard_normal((16, 32)) * 2**exponent), np.float32(rng.standard_normal((16, 8)))

    def step(parameters: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss(p: Any) -> jax.Array:
            return jnp.mean((function(function(x @ p[0]) @ p[1]) @ p[2] - y) ** 2)

        return jax.grad(loss)(parameters)

    assert errors(step, (first, second, last), x, y, precision="fp16").max() < 0.02
