"""Moments of what is computed of independent tensors, against random numbers with and without a mean."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scalify_hlo.rewrites.nonlinear import _BOUNDED

from scalify_hlo.recognition.laws import GATED
from scalify_hlo.size.moments import Moments

_NUMBERS = 200_000
# Means and deviations.
_TENSORS = ((0.0, 1.0), (3.0, 0.5), (-0.25, 2.0), (0.125, 0.125))


def _drawn(mean: float, deviation: float, seed: int) -> np.ndarray:
    return mean + deviation * np.random.default_rng(seed).standard_normal(_NUMBERS)


def _moments(x: np.ndarray) -> Moments:
    return Moments(float(np.sqrt(np.mean(x * x))), float(np.mean(x)), bool((x >= 0).all()))


def _mixed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(np.arange(len(x)) % 2, x, y)


def _beside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A quarter of x, an eighth of y, zeros."""
    return np.concatenate([x[: len(x) // 4], y[: len(y) // 8], np.zeros(len(x) * 5 // 8)])


_COMPUTED: dict[str, tuple[Callable[[Moments, Moments], Moments], Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "-3 x": (lambda m, _: m.times(-3), lambda x, _: -3 * x),
    "x / 8": (lambda m, _: m.shifted(-3), lambda x, _: x / 8),
    "x^2": (lambda m, _: m.squared(), lambda x, _: x * x),
    "x y": (lambda m, n: m.product(n), lambda x, y: x * y),
    "x + y": (lambda m, n: m.plus(n), lambda x, y: x + y),
    "y - x": (lambda m, n: n.plus(m, -1), lambda x, y: y - x),
    "sum of 50": (lambda m, _: m.summed(50), lambda x, _: x.reshape(50, -1).sum(0)),
    "x or y": (lambda m, n: m.mixed(n), _mixed),
    "x, y and zeros": (lambda m, n: m.beside([n], [0.25, 0.125]), _beside),
}  # fmt: skip


@pytest.mark.parametrize("name", _COMPUTED)
def test_moments_of_random_numbers(name: str) -> None:
    law, compute = _COMPUTED[name]
    for i, first in enumerate(_TENSORS):
        second = _TENSORS[i - 1]
        x, y = _drawn(*first, seed=i), _drawn(*second, seed=10 + i)
        found, truth = law(_moments(x), _moments(y)), _moments(compute(x, y))
        assert found.rms == pytest.approx(truth.rms, rel=0.03), (first, second)
        assert found.mean == pytest.approx(truth.mean, abs=0.03 * truth.rms), (first, second)
        assert not found.nonnegative or truth.nonnegative


def test_what_is_known_of_single_elements() -> None:
    """The smallest magnitude, the sign, infinities and zeros of operands are those of the result, or unknown."""
    x = Moments(2.0, 1.5, True, least=0.5, share=0.25)
    y = Moments(4.0, 1.0, True, least=2.0, infinite=True)
    assert x.times(-2) == Moments(4.0, -3.0, False, least=1.0, share=0.25)
    assert x.product(y) == Moments(8.0, 1.5, True, least=1.0, infinite=True, share=0.25)
    assert x.squared().least == 0.25 and y.squared().infinite
    assert x.summed(3).share == 0.75 and x.summed(5).share == 1 and y.summed(2).infinite
    assert x.plus(y).nonnegative and x.plus(y).infinite and not x.plus(y, -1).nonnegative
    assert x.mixed(y).infinite and x.mixed(y).nonnegative and not x.mixed(y.times(-1)).nonnegative
    assert x.beside([y], [0.5, 0.25]).share == 0.375 and x.beside([y], [0.5, 0.25]).infinite
    assert x.absolute() == x and x.times(-1).absolute().nonnegative and y.absolute().infinite
    # Between 1/rms and 1/least, nearer to the latter.
    assert 1 / x.rms < x.reciprocal_rms < 1 / x.least and x.reciprocal_rms > (1 / x.rms * 1 / x.least) ** 0.5


@pytest.mark.parametrize(("name", "function"), [
    ("gelu", lambda x: jax.nn.gelu(x, approximate=False)), ("gelu", jax.nn.gelu), ("silu", jax.nn.silu),
])  # fmt: skip
def test_what_is_known_of_a_gate_is_that_of_a_unit_gaussian(name: str, function: Callable[..., jax.Array]) -> None:
    found = _moments(np.asarray(function(jnp.asarray(_drawn(0.0, 1.0, seed=3), jnp.float32)), np.float64))
    assert GATED[name].rms == pytest.approx(found.rms, rel=0.01)
    assert GATED[name].mean == pytest.approx(found.mean, abs=0.01)


@pytest.mark.parametrize("spread", [1.0, 3.0])
@pytest.mark.parametrize("name", _BOUNDED)
def test_what_is_known_of_a_bounded_function_holds_of_gaussians(name: str, spread: float) -> None:
    """Of sines and cosines phases of any size are taken, of the others about unit ones."""
    functions = {"logistic": jax.nn.sigmoid, "sine": jnp.sin, "cosine": jnp.cos, "tanh": jnp.tanh,
                 "erf": jax.scipy.special.erf, "erfc": jax.scipy.special.erfc}  # fmt: skip
    short = name.split(".")[1]
    spread = 3 * spread if short in ("sine", "cosine") else spread
    x = jnp.asarray(_drawn(0.0, spread, seed=3), jnp.float32)
    found = _moments(np.asarray(functions[short](x), np.float64))
    assert abs(np.log2(_BOUNDED[name].rms / found.rms)) < 0.5
    assert _BOUNDED[name].mean == pytest.approx(found.mean, abs=0.02)
    assert _BOUNDED[name].nonnegative == found.nonnegative
