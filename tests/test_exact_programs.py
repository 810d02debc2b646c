"""Programs that must give what they give unscaled, bit for bit or nearly, found by another generator of programs.

Integers between floats, numbers of f64 that no f32 holds, guards of the smallest normal number, counts of 0.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import scalify_hlo as sc

_Function = Callable[..., Any]


def _check(fun: _Function, arguments: tuple[Any, ...], scales: tuple[float, ...], *, rtol: float = 0.0) -> None:
    """Whether a function of arguments that are divided by scales gives what it gives of the arguments."""
    wanted = fun(*arguments)
    scaled = (sc.ScaledArray(x / x.dtype.type(s), np.float32(s)) for x, s in zip(arguments, scales, strict=True))
    found = sc.scalify(fun)(*scaled)
    for a, b in zip(*(jax.tree.leaves(sc.asarray(tree)) for tree in (found, wanted)), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=0)


def quantised(x: Any) -> Any:
    """To 8 bits, with a step that is chosen by how large the numbers are."""
    k = jnp.where(jnp.max(jnp.abs(x)) < 1.0, 64.0, 8.0)
    return (x * k).astype(jnp.int8).astype(x.dtype) / k


def counted(x: Any) -> Any:
    """By integers that are multiples of one another, and quotients of them."""
    p = jnp.max(x) > 1
    n = jnp.where(p, 3, 1)
    return x * (7 // n).astype(x.dtype) * jnp.where(p, 3.0, 1.0)


# int(2^a x) is not 2^a int(x): what is chosen by a size shows
@pytest.mark.parametrize("scale", [1 / 16, 4.0, 8.0])
@pytest.mark.parametrize("fun", [quantised, counted])
def test_a_choice_that_shows_in_integers(fun: _Function, scale: float) -> None:
    _check(fun, (np.float32([0.1, 0.22, 0.9, 1.3, 2.7, 3.3]),), (scale,))


@pytest.mark.parametrize("scale", [1 / 16, 8.0])
def test_factors_of_a_choice_in_f64(scale: float) -> None:
    def fun(x: Any) -> Any:
        p = x > 1
        return jnp.where(p, 2 * x, x) * jnp.where(p, 0.5 * (1 + 3e-6), 1.0)

    with jax.enable_x64(True):
        _check(fun, (np.float64([0.1, 0.9, 1.3, 2.7]),), (scale,), rtol=1e-14)


# int(1.9) = 1, not 1.9
@pytest.mark.parametrize(
    "fun",
    [lambda x, n: x / n, lambda x, n: x * lax.rsqrt(n), lambda x, n: x + jnp.log(n)],
    ids=["divide", "rsqrt", "log"],
)
def test_a_divisor_with_an_integer_in_it(fun: _Function) -> None:
    def of_integer(x: Any, y: Any) -> Any:
        return fun(x, (jnp.abs(y) + 1.9).astype(jnp.int32).astype(x.dtype) + y * y)

    arguments = np.float16([0.1, 0.25, 0.9, 1.3]), np.float16([0.01, 0.02, 0.05, 0.1])
    _check(of_integer, arguments, (1.0, 1.0), rtol=2e-3)


@pytest.mark.parametrize(
    "fun",
    [
        lambda a: a * 2.0**150,
        lambda a: a * 2.0**-200 * 2.0**190,
        lambda a: a / 2.0**-150,
        lambda a: a * 2.0**-50 * 2.0**-50 * 2.0**-50,
        lambda a: a * 1e45,
        lambda a: jnp.full((3,), 1e250) * a + 1e240,
        lambda a: (jnp.full((3,), 1e-250) * a) ** 2 + 1e-290,
    ],
)
def test_numbers_of_f64_that_no_scale_holds(fun: _Function) -> None:
    with jax.enable_x64(True):
        _check(fun, (np.float64([1, -2, 0.5]),), (1.0,), rtol=1e-12)
        _check(fun, (np.float64([1, -2, 0.5]),), (64.0,), rtol=1e-12)


# tiny / 4 is subnormal, which XLA takes for 0: 0 / 0
@pytest.mark.parametrize("scale", [2.0**-126, 2.0**-10, 1.0, 4.0, 2.0**60])
@pytest.mark.parametrize("element", ["float32", "float64"])
@pytest.mark.parametrize(
    "fun",
    [
        lambda x, tiny: x / (jnp.abs(x) + tiny),
        lambda x, tiny: x / jnp.maximum(jnp.linalg.norm(x), tiny),
        lambda x, tiny: x / jnp.where(x == 0, tiny, x),
        lambda x, tiny: x * lax.rsqrt(x * x + tiny),
    ],
    ids=["sum", "norm", "choice", "root"],
)
def test_the_smallest_normal_number_keeps_a_divisor_from_zero(fun: _Function, element: str, scale: float) -> None:
    with jax.enable_x64(True):
        tiny = float(np.finfo(element).tiny)
        _check(lambda x: fun(x, x.dtype.type(tiny)), (np.zeros(3, element),), (scale,))
        if 2.0**-60 < scale < 2.0**60:  # beyond, squares of data leave f32's range
            _check(lambda x: fun(x, x.dtype.type(tiny)), (np.array([0, 1, -2], element),), (scale,), rtol=1e-6)


# 0 / 0 is NaN where nothing is scattered to, 0 * inf likewise
@pytest.mark.parametrize("number", [0.0, np.inf, np.nan, 3.0])
@pytest.mark.parametrize("fun", [lambda z, c: z / c, lambda z, c: z * c], ids=["divide", "multiply"])
@pytest.mark.parametrize("scatter", ["add", "set"])
def test_a_factor_of_what_is_scattered(scatter: str, fun: _Function, number: float) -> None:
    def of_scatter(u: Any, c: Any) -> Any:
        zeros = jnp.zeros(4, u.dtype).at[np.array([0, 2])]
        return fun(zeros.add(u) if scatter == "add" else zeros.set(u), c)

    _check(of_scatter, (np.float32([1, 2]), np.float32(number)), (1.0, 1.0), rtol=1e-6)
    _check(lambda u: of_scatter(u, np.float32(number)), (np.float32([1, 2]),), (4.0,), rtol=1e-6)


@pytest.mark.parametrize("precision", ["fp16", "bf16", "fp8"])
def test_gradients_of_one_row_that_is_read_often(precision: Any) -> None:
    columns = np.array([1, 2, 0, 1], np.int32)

    def step(w: Any, v: Any, x: Any) -> Any:
        def loss(w: Any, v: Any) -> Any:
            read = w[jnp.array([0]), columns] * jnp.array([1.0, 2.0, 4.0, 8.0])
            return jnp.sum(jnp.tanh(x @ v)) + jnp.sum(read)

        value, (g, h) = jax.value_and_grad(loss, (0, 1))(w, v)
        return w - g, v - 0.1 * h, value

    arguments = np.zeros((4, 3), np.float32), np.eye(16, dtype=np.float32), np.ones((16, 16), np.float32)
    found = sc.scalify(step, precision=precision)(*sc.as_scaled_array(arguments))
    np.testing.assert_array_equal(np.asarray(sc.asarray(found[0])), step(*arguments)[0])


@pytest.mark.parametrize("scale", [1.0, 64.0])
def test_a_product_of_nothing_is_its_initial_value(scale: float) -> None:
    def fun(x: Any, c: Any) -> Any:
        return lax.reduce(jnp.zeros((3, 0)), c, lax.mul, (1,)) * x

    _check(fun, (np.float32([1, 2, 3]), np.float32(3)), (1.0, scale))


def test_what_is_compared_with_a_number_that_its_type_cannot_hold() -> None:
    def fun(x: Any) -> Any:
        nothing = lax.convert_element_type(lax.full((3,), 1e-9, jnp.float32), jnp.float16)
        return x >= nothing, jnp.where(x == nothing, 7, x)

    _check(fun, (np.float16([0, -1, 1]),), (1.0,))
    _check(fun, (np.float16([0, -1, 1]),), (16.0,))


_FEW = np.array([0, 2])


# min(x, c) of an x that is at least 0 has the scale c at most, and -100 / 2^-10 is -inf in f16
@pytest.mark.parametrize(
    "fun",
    [
        lambda a, _: jnp.abs(a) - 100,
        lambda a, u: jnp.abs(a) - jnp.abs(u),
        lambda a, _: jnp.abs(a) + -100,
        lambda a, u: jnp.sum(a * a) / 50 - jnp.sum(jnp.abs(u)),
        lambda a, u: jnp.minimum(jnp.abs(a), u),
        lambda a, _: jnp.where(a > 1, jnp.abs(a), -100),
        lambda a, _: jnp.clip(jnp.abs(a), -200, -90),
        lambda a, u: lax.clamp(u[0], jnp.abs(a), u[1]),
        lambda a, u: jnp.abs(a).at[_FEW].set(u[:2]),
        lambda a, u: jnp.abs(a).at[_FEW].min(u[:2]),
        lambda a, u: lax.reduce(jnp.abs(a), u[0], lax.min, (0,)),
        lambda a, u: lax.reduce(jnp.abs(a), u[0] * 3, lax.add, (0,)),
        lambda a, u: lax.reduce_window(jnp.abs(a), u[0], lax.min, (2,), (1,), "VALID"),
        lambda a, u: lax.rem(u, 1 + jnp.abs(a) * 4),
    ],
)
def test_what_may_be_negative_beside_what_is_not(fun: _Function) -> None:
    arguments = np.float16([1, 70, 3, 0.5]), np.float16([-100, -50, 20, 3])
    _check(lambda a, u: jnp.minimum(fun(a, u), jnp.float16(1e-3)), arguments, (1.0, 1.0), rtol=4e-3)
