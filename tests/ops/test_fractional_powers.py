"""(s x)^p = s^p x^p for any p: a power of a narrow value has a scale near s^p, not 1."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_POWERS = [1.5, 2.5, -1.25, 0.3, -0.7, 1 / 3]


@pytest.mark.parametrize("power", _POWERS)
@pytest.mark.parametrize("exponent", [-20, -13, 0, 9, 17])
def test_powers_of_f16_whose_values_f16_has_not(power: float, exponent: int) -> None:
    data = np.float16([0.75, 1.0, 1.5, 2.25])
    x = sc.scaled_array(data, 2.0**exponent)
    y = jax.jit(sc.scalify(lambda x: x**power))(x)
    found = np.asarray(y.data, np.float64) * float(y.scale)
    wanted = (data.astype(np.float64) * 2.0**exponent) ** float(np.float16(power))
    np.testing.assert_allclose(found, wanted, rtol=2**-10)


@pytest.mark.parametrize("power", [1.5, -1.25])
@pytest.mark.parametrize("size", [1e-6, 1e4])
def test_losses_of_powers(power: float, size: float) -> None:
    rng = np.random.default_rng(0)
    w = np.eye(24, dtype=np.float32) + np.abs(0.1 * np.float32(rng.standard_normal((24, 24))))
    x = (np.abs(rng.standard_normal((16, 24))) + 0.1).astype(np.float32) * np.float32(size)

    def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** power @ (w * 0.1)))(w)
        return gradient, loss

    wanted, loss = step(w, x)
    gradient, found = sc.scalify(step, precision="fp16")(*sc.as_scaled_array((w, x)))
    assert abs(float(np.asarray(found)) / float(loss) - 1) < 2e-3
    assert np.linalg.norm(np.asarray(gradient) - wanted) < 2e-3 * np.linalg.norm(wanted)


def test_powers_of_zeros() -> None:
    found = jax.jit(sc.scalify(lambda x: x**1.5))(sc.as_scaled_array(np.zeros(3, np.float16)))
    np.testing.assert_array_equal(sc.asarray(found, np.float32), 0)
