"""Complex constants have sizes as real ones have: the spectrum of a long convolution is divided by its length."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.module.constants import Constant, read_dense

ROUNDED = {"xla_allow_excess_precision": False}
GENERATOR = np.random.default_rng(0)
FILTER = np.complex64(GENERATOR.normal(size=(33, 1)) + 1j * GENERATOR.normal(size=(33, 1)))
SIGNAL = np.float32(1e-6 * GENERATOR.normal(size=(4, 64, 8)))
MIXING = np.float32(GENERATOR.normal(size=(8, 8)))


def spectrum(x: Any) -> Any:
    return jnp.fft.rfft(x, axis=1)


def signal(z: Any, length: int = 64) -> Any:
    return jnp.fft.irfft(z, length, axis=1)


MODELS: dict[str, Callable[[Any], Any]] = {
    "divided by the length": lambda x: signal(spectrum(x) / 64) * 64,
    "times a filter": lambda x: signal(spectrum(x) * (FILTER * 1e-4)) * 1e4,
    "times an imaginary number": lambda x: signal(1j * spectrum(x) * 1e-3) * 1e3,
    "masked": lambda x: signal(jnp.where(jnp.arange(33)[:, None] < 20, spectrum(x), 0.0)),
    "padded": lambda x: signal(spectrum(x), 128),
}


@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_a_filter_are_those_of_f32(name: str) -> None:
    model = MODELS[name]

    def loss(x: Any, w: Any) -> Any:
        h = model(x)
        h = model(h[:, :64]) if name != "padded" else h
        return jnp.mean(jnp.tanh(1e6 * h @ w) ** 2)

    gradient = jax.grad(loss, (0, 1))
    expected = jax.jit(gradient)(SIGNAL, MIXING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaled = jax.jit(scalify_hlo.scalify(gradient, precision="fp16"), compiler_options=ROUNDED)
        got = scaled(*scalify_hlo.as_scaled_array((SIGNAL, MIXING)))
    for a, b in zip(got, expected, strict=True):
        error = np.linalg.norm(np.asarray(a).astype(np.float64) - b) / np.linalg.norm(b)
        assert error < 3e-3


def read(numbers: str, type_: str) -> Constant:
    text = f"func.func @main() -> {type_} {{ %0 = stablehlo.constant {numbers} : {type_} return %0 : {type_} }}"
    with make_context():
        module = ir.Module.parse(text)
        return read_dense(module.body.operations[0].regions[0].blocks[0].operations[0].operation)


@pytest.mark.parametrize(
    ("numbers", "splat"),
    [("(128.0, 0.0)", 128.0), ("(-2.0, 0.0)", -2.0), ("(0.0, 0.0)", 0.0), ("(0x7F800000, 0.0)", np.inf),
     ("(0.0, 0xFF800000)", -np.inf)],
)  # fmt: skip
def test_a_complex_number_on_the_real_axis_is_that_number(numbers: str, splat: float) -> None:
    assert read(f"dense<{numbers}>", "tensor<3xcomplex<f32>>") == Constant(splat)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_the_size_of_complex_numbers_is_that_of_their_magnitudes(element: str) -> None:
    few = read("dense<[(3.0, 4.0), (0.0, 5.0)]>", f"tensor<2xcomplex<{element}>>")
    one = read("dense<(0.0, 1.0)>", f"tensor<complex<{element}>>")
    many = np.full(300, 3 + 4j, np.complex64 if element == "f32" else np.complex128)
    many[0] = 5j
    hexadecimal = read(f'dense<"0x{many.tobytes().hex()}">', f"tensor<300xcomplex<{element}>>")
    for found, size in ((few, 5.0), (one, 1.0), (hexadecimal, 5.0)):
        assert found.splat is None and found.moments is not None
        assert found.moments.rms == pytest.approx(size)
        assert not found.moments.nonnegative


def test_complex_zeros_fit_any_scale() -> None:
    zeros = read("dense<[(0.0, 0.0), (0.0, 0.0)]>", "tensor<2xcomplex<f32>>")
    assert zeros == Constant(0.0) or (zeros.is_read and zeros.moments is None)


def test_a_step_with_many_complex_numbers() -> None:
    """Of a constant that is printed in generic form the text goes on behind its type."""
    generator = np.random.default_rng(0)
    kernel = np.complex64(1j * generator.standard_normal((3, 4, 4, 4)))
    y = np.float32(generator.standard_normal(kernel.shape))

    def step(p: Any, y: Any) -> Any:
        value, g = jax.value_and_grad(lambda p: jnp.mean((jnp.real(jnp.fft.ifft(kernel * jnp.fft.fft(p))) - y) ** 2))(p)
        return p - 0.1 * g, value

    p = np.ones(kernel.shape, np.float32)
    new, value = scalify_hlo.scalify(step, precision="fp16")(*scalify_hlo.as_scaled_array((p, y)))
    wanted, expected = jax.jit(step)(p, y)
    assert abs(float(value) - float(expected)) < 1e-3
    np.testing.assert_allclose(np.asarray(new), wanted, atol=1e-3)
