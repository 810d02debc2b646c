"""Choices by the size of a tensor that make no difference: made by the data, whatever the scale, in any spelling."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.engine.normal_form import to_normal_form
from scalify_hlo.execution.modules import as_module
from scalify_hlo.recognition.free_choices import FreeChoice, find_free_choices

Array = jax.Array
Function = Callable[..., Any]


def _reduced(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """(k x, k y, 1/k) for f32, as jnp.hypot has them from jax 0.12 on, of any jax."""
    size = jnp.maximum(jnp.abs(x), jnp.abs(y))
    large, small = size >= 2.0**63, size <= 2.0**-12
    u = jnp.where(large, x * 2.0**-75, jnp.where(small, x * 2.0**75, x))
    v = jnp.where(large, y * 2.0**-75, jnp.where(small, y * 2.0**75, y))
    return u, v, jnp.where(large, 2.0**75, jnp.where(small, 2.0**-75, 1.0))


@jax.custom_jvp
def hypot(x: Array, y: Array) -> Array:
    """sqrt(x^2 + y^2)."""
    u, v, undo = _reduced(x, y)
    return jnp.sqrt(u * u + v * v) * undo


@hypot.defjvp
def _(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    u, v, undo = _reduced(*primals)
    magnitude = jnp.sqrt(u * u + v * v)
    return magnitude * undo, u / magnitude * tangents[0] + v / magnitude * tangents[1]


def distance(w: Array, x: Array, y: Array) -> Array:
    """A kernel of distances in the plane."""
    d = hypot(jnp.tanh(x @ w), y)
    return jnp.mean(d * jnp.exp(-d))


def library_distance(w: Array, x: Array, y: Array) -> Array:
    """The same by the library."""
    d = jnp.hypot(jnp.tanh(x @ w), y)
    return jnp.mean(d * jnp.exp(-d))


def fourier_operator(w: Array, x: Array, y: Array) -> Array:
    """A Fourier neural operator: modes are gated by their magnitude."""
    for _ in range(2):
        modes = jnp.fft.fft(x, axis=-1)
        magnitude = jnp.abs(modes)
        modes = modes * jax.nn.relu(magnitude - 0.3) / (magnitude + 1e-3)
        x = jnp.tanh(jnp.fft.ifft(modes, axis=-1).real @ w) + x
    return jnp.mean(jnp.abs(jnp.fft.fft(x)) * y)


def normalised(w: Array, x: Array, y: Array) -> Array:
    """Rows divided by their norm, and its logarithm; tiny rows are multiplied by 10^12 first, no power of two."""
    h = x @ w
    tiny = jnp.max(jnp.abs(h), axis=-1, keepdims=True) < 1e-10
    rows = jnp.where(tiny, h * 1e12, h)
    norm = jnp.sqrt(jnp.sum(rows * rows, -1, keepdims=True)) * jnp.where(tiny, 1e-12, 1.0)
    return jnp.mean(h / norm * y) + jnp.mean(jnp.log(norm))


def factored(w: Array, x: Array, y: Array) -> Array:
    """The same with the factor chosen first, of one row or all."""
    h = x @ w
    size = jnp.max(jnp.abs(h), axis=-1, keepdims=True)
    k = jnp.where(size > 2.0**60, 2.0**-70, jnp.where(size < 2.0**-60, 2.0**70, 1.0))
    norm = jnp.sqrt(jnp.sum((h * k) ** 2, -1, keepdims=True))
    return jnp.mean(h * k / norm * y) + jnp.mean(jnp.log(norm / k))


def _inputs(size: float = 1.0) -> tuple[np.ndarray, ...]:
    draw = np.random.default_rng(3).normal
    w, x, y = (draw(size=shape).astype(np.float32) for shape in ((16, 16), (8, 16), (8, 16)))
    x[1] *= 2.0**-9  # beside the others: the squares are below the smallest normal number of f16
    y[1] *= 2.0**-9
    return w / 4, x * np.float32(size), y * np.float32(size)


def _choices(function: Function, *arguments: Any) -> list[FreeChoice]:
    module = as_module(jax.jit(function).lower(*arguments).as_text())
    to_normal_form(module)
    blocks = [each.regions[0].blocks[0] for each in module.body.operations]
    return [found for block in blocks for found in find_free_choices([op.operation for op in block.operations])]


@pytest.mark.parametrize("precision", [None, "bf16", "fp16", "fp8"])
@pytest.mark.parametrize(
    ("function", "size"),
    [
        (distance, 1), (distance, 2.0**-30),
        (library_distance, 1), (library_distance, 2.0**-30),
        (fourier_operator, 1),
        (normalised, 1), (normalised, 2.0**-40),
        (factored, 1), (factored, 2.0**-70),
    ],
)  # fmt: skip
def test_gradients(function: Function, size: float, precision: str | None) -> None:
    """Those of a distance and of the operator were infinite or 0 in presets that compute in f16."""
    if function is library_distance and not _choices(jnp.hypot, np.ones(4, np.float32), np.ones(4, np.float32)):
        pytest.skip("written with a quotient by the maximum, whose gradient has the maximum's inverse square")
    inputs = _inputs(size)
    gradient = jax.grad(function)
    expected = np.asarray(gradient(*inputs), np.float64)
    found = sc.scalify(gradient, precision=precision)(*sc.as_scaled_array(inputs))
    found = np.asarray(found.data, np.float64) * float(found.scale)
    tolerance = {None: 2e-6, "bf16": 2e-2}.get(precision, 5e-3)
    assert np.linalg.norm(found - expected) <= tolerance * np.linalg.norm(expected)


@pytest.mark.parametrize("exponent", [-100, -40, 0, 40, 100])
def test_the_scale_of_a_magnitude_is_that_of_the_larger_part(exponent: int) -> None:
    # |(s x, t y)| = m |(x s/m, y t/m)|
    x = np.array([3.0, 1e-7, 2.0, 1e-30, 0.0], np.float32)
    y = np.array([4.0, 1e-7, 1e-6, 1e-30, 1.0], np.float32)
    s, t = np.float32(2.0**exponent), np.float32(2.0 ** (exponent + 3))
    found = sc.scalify(hypot)(sc.ScaledArray(x, s), sc.ScaledArray(y, t))
    assert float(found.scale) == t
    np.testing.assert_allclose(np.asarray(found.data), np.hypot(x.astype(np.float64) / 8, y), rtol=1e-6)


def _spelled(x: Array, end: Function, far: float = 2.0**40) -> Array:
    """end(k x, 1/k) for a k that is chosen by |x|."""
    tiny = jnp.abs(x) < 1e-3
    return end(jnp.where(tiny, x * far, x), jnp.where(tiny, 1 / far, 1.0))


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: hypot(x, 2 * x), 1),
        (lambda x: hypot(x, x[::-1])[::-1], 1),
        (lambda x: jnp.sum(hypot(x, x)) * hypot(x, x), 2),
        (lambda x: _spelled(x, lambda u, k: jnp.sqrt(u * u) * k), 1),
        (lambda x: _spelled(x, lambda u, k: u / jnp.sum(jnp.abs(u * k) / k)), 0),  # of all elements: k differs
        (lambda x: _spelled(x, lambda u, k: u * u * k), 0),  # k x^2
        (lambda x: _spelled(x, lambda u, k: u * u * k * k), 1),
        (lambda x: _spelled(x, lambda u, k: jnp.cbrt(u * u * u) * k - x), 1),
        (lambda x: _spelled(x, lambda u, k: jnp.sin(u) * k), 0),
        (lambda x: _spelled(x, lambda u, k: jnp.sin(u * k)), 1),
        (lambda x: _spelled(x, lambda u, k: (u + 1) * k), 0),
        (lambda x: _spelled(x, lambda u, k: (u + 1 / k) * k), 1),
        (lambda x: _spelled(x, lambda u, k: (u * k, k)), 0),  # k itself is returned
        (lambda x: _spelled(x, lambda u, k: u * k, far=1e10), 1),
        (lambda x: _spelled(x, lambda u, k: u * (1.001 * k)), 1),
        (lambda x: _spelled(x, lambda u, k: u * k ** 1.5), 0),
        (lambda x: _spelled(x, lambda u, k: jnp.sum(u) * k), 0),  # k is one for each element
        (lambda x: _spelled(x, lambda u, k: u[::-1] * k[::-1]), 0),
        (lambda x: _spelled(x, lambda u, k: u[:, None] * k[None]), 0),
        (lambda x: _spelled(x, lambda u, k: jnp.sum(u[:, None] * jnp.ones(3), 1) * k), 1),
        (lambda x: _spelled(x, lambda u, k: -u * k), 1),
        (lambda x: _spelled(x, lambda u, k: jnp.maximum(u, 0) * k), 1),
        (lambda x: _spelled(x, lambda u, k: jnp.maximum(u, 1) * k), 0),
        (lambda x: jnp.where(jnp.abs(x) < 1e-3, jnp.sin(x), x), 0),
        (lambda x: jnp.where(jnp.abs(x) < 1e-3, jnp.sqrt((x * 1e9) ** 2) * 1e-9, jnp.sqrt(x * x)), 0),  # another sqrt
        (jax.grad(lambda x: jnp.sum(jnp.sin(_spelled(x, lambda u, k: jnp.sqrt(u * u) * k)))), 1),
    ],
)  # fmt: skip
def test_what_is_one(function: Function, count: int) -> None:
    assert len(_choices(function, np.ones(4, np.float32))) == count


def test_what_belongs_to_one() -> None:
    (found,) = _choices(hypot, np.ones(4, np.float32), np.ones(4, np.float32))
    assert [len(each) for each in (found.predicates, found.pieces, found.choices)] == [2, 4, 4]
    assert found.sized == found.pieces | found.choices
