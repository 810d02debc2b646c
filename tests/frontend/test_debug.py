"""scalify_hlo.debug: the first tensor that leaves its range, and the estimate that was wrong."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_RNG = np.random.default_rng(0)
W = _RNG.standard_normal((8, 16)).astype(np.float32)
X = _RNG.standard_normal((4, 8)).astype(np.float32)


def _powers(w, x):
    """exp is estimated at unit size, and every square doubles the error."""
    z = jnp.exp(3 * jnp.tanh(x @ w))
    for _ in range(4):
        z = z * z
    return jnp.mean(z)


def test_overflow_and_where_it_began():
    found = sc.debug(sc.scalify(_powers), *sc.as_scaled_array((W.astype(np.float16), X.astype(np.float16))))
    assert found.failure == "overflow"
    assert found.tensor.operation == "stablehlo.multiply"
    assert found.tensor.element == "f16"
    assert found.chain[0].operation == "exponential"
    assert abs(found.chain[0].surprise) > abs(found.chain[0].gap) / 2
    gaps = [each.gap for each in found.chain]
    assert gaps == sorted(gaps)  # each square doubles it
    assert "test_debug.py" in found.chain[0].source
    text = str(found)
    assert "first tensor to leave its range" in text
    assert "exponential" in text.splitlines()[2]


def test_state_that_has_drifted():
    w, x = sc.as_scaled_array((W, X))
    drifted = sc.ScaledArray(w.data * np.float32(2.0**14), w.scale)
    found = sc.debug(lambda w, x: jnp.mean(jnp.square(x @ w)), drifted, x, precision="fp16")
    assert found.failure == "overflow"
    assert (found.chain[0].operation, found.chain[0].name.split(" ")[0]) == ("argument", "w")
    assert found.chain[0].gap == pytest.approx(14, abs=1)
    assert "rescale_state" in str(found)


def _data(log2):
    """f16 data of 2^log2 that are said to be of unit size."""
    return sc.ScaledArray(np.full((4, 8), 2.0**log2, np.float16), np.float32(1))


def test_overflow_is_named_before_underflow():
    found = sc.debug(lambda a, b: (a * a, b * b), _data(-13), _data(9))
    assert (found.failure, found.tensor.operation) == ("overflow", "stablehlo.multiply")
    assert found.chain[0].name.split(" ")[0] == "b"


def test_underflow_is_named_where_it_is_the_cause():
    # 2^-14 / 2^-26 has room in f16, but the divisor has become zero.
    found = sc.debug(lambda a, b: (a * a) / (b * b), _data(-7), _data(-13))
    assert (found.failure, found.tensor.operation) == ("underflow", "stablehlo.multiply")
    assert found.chain[0].name.split(" ")[0] == "b"


def test_a_program_that_is_not_finite_itself():
    found = sc.debug(sc.scalify(lambda x: jnp.sum(jnp.log(x - x))), sc.as_scaled_array(X))
    assert found.failure == "not finite in f64 either"
    assert found.tensor.operation == "stablehlo.log"
    assert "not to blame" in str(found)


def test_a_healthy_step():
    def step(w, key, x):
        def loss(w):
            return jnp.mean((x @ w + 0.01 * jax.random.normal(key, (4, 16))) ** 2)

        value, gradient = jax.value_and_grad(loss)(w)
        return w - 0.1 * gradient, value

    w, x = sc.as_scaled_array((W, X))
    found = sc.debug(sc.scalify(step, precision="fp16"), w, jax.random.key(0), x)
    assert (found.failure, found.tensor) == ("", None)
    assert "no tensor leaves the range" in str(found)
