"""`scalify-cast`: angles, what a bound keeps from 1, and what logarithms read of a transform are read as computed."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.held_values import is_next_to_1

GENERATOR = np.random.default_rng(0)


def _normal(*shape: int) -> np.ndarray:
    return GENERATOR.standard_normal(shape).astype(np.float32)


def _oscillators(x: jax.Array, w: jax.Array) -> jax.Array:
    """Harmonics of a frequency that changes over time: the phase is its sum, some hundred radians."""
    frequencies = 0.05 + 0.01 * x[:, :8]
    phases = jnp.cumsum(2 * jnp.pi * jnp.repeat(frequencies, 64, axis=1), axis=1)
    return jnp.sin(phases[..., None] * jnp.arange(1, 6)) * jnp.tanh(x @ w)[:, :1, None]


def _positions(x: jax.Array, w: jax.Array) -> jax.Array:
    """Sines and cosines of coordinates times powers of two (a radiance field's)."""
    angles = (x[..., None] * 2.0 ** jnp.arange(9) * jnp.pi).reshape(x.shape[0], -1)
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1) + (x @ w)[:, :1]


def _random_features(x: jax.Array, w: jax.Array) -> jax.Array:
    """Cosines of products with a fixed matrix that is part of the program."""
    table = 30 * np.random.default_rng(1).standard_normal((32, 64)).astype(np.float32)
    return jnp.cos(x @ table + 1.0) + (x @ w)[:, :1]


@pytest.mark.parametrize("program", [_oscillators, _positions, _random_features])
@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 5e-3), ("bf16", 3e-2)])
def test_sines_of_large_angles(program: Callable[..., jax.Array], precision: str, tolerance: float) -> None:
    """The errors were 0.1 to 1.5."""
    x, w = _normal(16, 32), _normal(32, 8) / 6
    found = sc.asarray(sc.scalify(program, precision=precision)(*sc.as_scaled_array((x, w))))  # pyright: ignore
    np.testing.assert_allclose(np.float32(found), program(x, w), atol=tolerance)


def test_logarithms_of_a_spectrum() -> None:
    """Of a tone most frequencies are what cancels: rounded to f16 it has noise in all of them."""
    n = 64
    angles = 2 * np.pi * np.outer(np.arange(n), np.arange(n // 2)) / n
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)).astype(np.float32)

    def spectrum(x: jax.Array, gain: jax.Array) -> jax.Array:
        y = x * window
        real, imaginary = y @ jnp.float32(np.cos(angles)), y @ jnp.float32(np.sin(angles))
        return gain * jnp.log(real**2 + imaginary**2 + 1e-8)

    tones = np.sin(np.outer(0.3 + 0.1 * np.arange(8), np.arange(n))).astype(np.float32)
    gain = np.ones(n // 2, np.float32)
    want = spectrum(tones, gain)
    found = sc.asarray(sc.scalify(spectrum, precision="fp16")(*sc.as_scaled_array((tones, gain))))
    np.testing.assert_allclose(np.float32(found), want, atol=0.02)


def _angle(c: jax.Array) -> jax.Array:
    return jnp.arccos(jnp.clip(c, -1 + 1e-6, 1 - 1e-6))


def _sine(c: jax.Array) -> jax.Array:
    return jnp.sqrt(1 - jnp.square(jnp.clip(c, -0.99999, 0.99999)))


def _rapidity(c: jax.Array) -> jax.Array:
    return jnp.arctanh(jnp.clip(c, -1 + 1e-5, 1 - 1e-5))


@pytest.mark.parametrize("function", [_angle, _sine, _rapidity])
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_what_a_bound_keeps_from_1_has_a_finite_gradient(function: Callable[..., jax.Array], precision: str) -> None:
    """The bound was 1 in f16: gradients were NaN."""

    def loss(w: jax.Array, x: jax.Array) -> jax.Array:
        y = x @ w
        return jnp.mean(function(y / jnp.linalg.norm(x, axis=-1, keepdims=True)))

    x = _normal(16, 8)
    w = np.linalg.qr(_normal(8, 8))[0].astype(np.float32)
    x[0] = 3 * w[:, 1]  # its cosine with one of them is 1
    gradient = jax.grad(loss)
    want = gradient(w, x)
    found = np.float32(sc.asarray(sc.scalify(gradient, precision=precision)(*sc.as_scaled_array((w, x)))))
    assert np.isfinite(found).all()
    others = [0, 2, 3, 4, 5, 6, 7]
    np.testing.assert_allclose(found[:, others], want[:, others], atol=0.05 * np.abs(want[:, others]).max())


def test_numbers_next_to_1() -> None:
    assert is_next_to_1(1 - 1e-6, "f16") and is_next_to_1(-1 + 1e-4, "f16") and is_next_to_1(1 - 2.0**-8, "bf16")
    assert not is_next_to_1(1.0, "f16") and not is_next_to_1(0.99, "f16") and not is_next_to_1(None, "f16")


def test_products_with_weights_stay_narrow_in_front_of_sines() -> None:
    with make_context():
        x, w = np.ones((16, 32), np.float32), np.ones((32, 32), np.float32)
        module = ir.Module.parse(jax.jit(lambda x, w: jnp.sin(30 * (x @ w))).lower(x, w).as_text())
        Cast().apply(module, [])
        text = module.operation.get_asm()
    assert "(tensor<16x32xf16>, tensor<32x32xf16>) -> tensor<16x32xf32>" in text
    sine = next(line for line in text.splitlines() if "stablehlo.sine" in line)
    assert "tensor<16x32xf32>" in sine
