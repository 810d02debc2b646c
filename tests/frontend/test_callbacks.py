"""Functions of the host see values, not data: in f16 programs as f32, which holds them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

X = sc.scaled_array(np.float16([1.5, -2]), 2.0**20)
VALUES = [1.5 * 2**20, -(2.0**21)]


@pytest.mark.parametrize("ordered", [False, True])
def test_debug_print(ordered: bool, capsys: pytest.CaptureFixture[str]):
    sc.scalify(lambda x: (jax.debug.print("x {}", x[0], ordered=ordered), x)[1])(X)
    jax.effects_barrier()
    assert capsys.readouterr().out == "x 1572864.0\n"


@pytest.mark.parametrize("ordered", [False, True])
def test_io_callback_in_a_loop(ordered: bool):
    seen: list[list[float]] = []

    def loop(x):
        def body(carry, _):
            jax.experimental.io_callback(lambda v: seen.append(np.asarray(v).tolist()), None, carry, ordered=ordered)
            return carry + carry, None

        return jax.lax.scan(body, x, None, length=2)[0]

    sc.scalify(loop)(X)
    jax.effects_barrier()
    assert sorted(seen) == sorted([VALUES, [2 * v for v in VALUES]])


def test_pure_callback_on_a_wider_type():
    """A host function that returns something sees the program's own types; in f32 it sees the values."""
    f = sc.scalify(lambda x: jax.pure_callback(np.abs, jax.ShapeDtypeStruct((2,), np.float32), x.astype(jnp.float32)))
    assert np.asarray(f(X)).tolist() == [abs(v) for v in VALUES]


def test_bf16_products_on_the_cpu():
    """XLA:CPU lacks some bf16 products with f32 results; those of attention among them."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 16, 4, 8)).astype(np.float32), np.eye(8, dtype=np.float32)

    def step(w, x):
        def loss(w):
            q = x @ w
            scores = jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", q, q))
            return jnp.mean(jnp.einsum("bhts,bshk->bthk", scores, q) ** 2)

        value, gradient = jax.value_and_grad(loss)(w)
        return w - 0.1 * gradient, value

    want = jax.jit(step)(w, x)[1]
    np.testing.assert_allclose(float(sc.scalify(step, precision="bf16")(*sc.as_scaled_array((w, x)))[1]), want, 2**-7)
    np.testing.assert_allclose(sc.scalify(step, precision="bf16")(w, x)[1], want, 2**-7)


def test_rewriting_is_logged(caplog: pytest.LogCaptureFixture):
    with caplog.at_level("INFO", logger="scalify_hlo"):
        sc.scalify(lambda unusual: unusual * 3)(X)
    assert any("rewritten for precision as written in" in record.getMessage() for record in caplog.records)


def test_rewriting_is_told_with_compilations(caplog: pytest.LogCaptureFixture):
    """At the level at which loggers show messages that nobody has set up."""
    sc.scalify(lambda unusual: unusual * 5)(X)
    assert not [each for each in caplog.records if each.name == "scalify_hlo"]
    with jax.log_compiles():
        sc.scalify(lambda unusual: unusual * 6)(X)
    assert any(each.name == "scalify_hlo" and "rewritten" in each.getMessage() for each in caplog.records)
