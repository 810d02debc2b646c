"""scalify(fun, precision=...): an f32 function computed and stored in other types."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo import ScaledArray, ScalifyError
from tests.training_programs import BATCH, LENGTH, VOCABULARY, parameters, train_step

RNG = np.random.default_rng(0)
PARAMETERS = parameters(lambda shape: np.float32(0.1 * RNG.standard_normal(shape)))
ZEROS = jax.tree.map(np.zeros_like, PARAMETERS)
TOKENS = np.int32(RNG.integers(0, VOCABULARY, (BATCH, LENGTH + 1)))
RATE = np.float32(1e-3)


def scaled_arguments() -> tuple[Any, ...]:
    return (*map(sc.as_scaled_array, (PARAMETERS, ZEROS, ZEROS)), TOKENS, RATE)


def dtypes(tree: Any) -> set[str]:
    leaves = jax.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, ScaledArray))
    return {str(leaf.dtype) for leaf in leaves}


@pytest.mark.parametrize(
    ("precision", "types"),
    [
        ("fp16", ("float32", "float32")),
        ("fp16-state", ("float16", "float32")),
        ("fp8-fp16-state", ("float16", "float16")),
    ],
)
def test_state_is_stored_as_the_policy_says(precision: str, types: tuple[str, str]) -> None:
    step = sc.scalify(train_step, precision=precision)
    parameters, mu, nu, loss = jax.eval_shape(step, *scaled_arguments())
    assert (dtypes(parameters), dtypes(mu), dtypes(nu)) == ({types[0]}, {types[1]}, {types[1]})
    assert isinstance(loss, ScaledArray) and loss.dtype == np.float32
    stored = step.stored(*scaled_arguments())
    given, returned = jax.tree.leaves(stored[:3]), jax.tree.leaves((parameters, mu, nu))
    assert [leaf.dtype for leaf in given] == [leaf.dtype for leaf in returned]


def test_the_new_state_is_taken_back_and_the_loss_is_that_of_f32() -> None:
    step = sc.scalify(train_step, precision="fp8-fp16-state")
    state, expected = step.stored(*scaled_arguments())[:3], (PARAMETERS, ZEROS, ZEROS)
    reference = jax.jit(train_step)
    for _ in range(2):
        *state, loss = step(*state, TOKENS, RATE)
        *expected, exact = reference(*expected, TOKENS, RATE)
        assert float(np.asarray(loss)) == pytest.approx(float(exact), abs=2e-3)


def test_a_policy_and_changes_to_a_preset() -> None:
    policy = sc.PrecisionPolicy(compute="bf16", parameters="bf16", gradients="bf16", moments="f32")
    for precision in (policy, "bf16 parameters=bf16"):
        new = jax.eval_shape(sc.scalify(train_step, precision=precision), *scaled_arguments())
        assert dtypes(new[0]) == {"bfloat16"} and dtypes(new[1]) == {"float32"}


def test_parameters_by_name() -> None:
    policy = sc.PrecisionPolicy(parameters="bf16", parameter_names=("nu*",))
    new = jax.eval_shape(sc.scalify(train_step, precision=policy), *scaled_arguments())
    assert dtypes(new[2]) == {"bfloat16"} and dtypes(new[1]) == {"float32"}


def test_bf16_needs_no_scales_and_f16_says_that_it_does() -> None:
    plain = (PARAMETERS, ZEROS, ZEROS, TOKENS, RATE)
    loss = sc.scalify(train_step, precision="bf16")(*plain)[-1]
    assert not isinstance(loss, ScaledArray) and float(loss) == pytest.approx(
        float(jax.jit(train_step)(*plain)[-1]), abs=0.02
    )
    with pytest.raises(ScalifyError, match=r"scalify\(train_step\): no argument is a ScaledArray") as error:
        sc.scalify(train_step, precision="fp16")(*plain)
    assert "\n" not in str(error.value)


def test_a_result_scaled_only_by_rescaled_gradients_is_multiplied_out() -> None:
    def step(w: jax.Array, x: jax.Array, factor: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(w: jax.Array) -> jax.Array:
            h = jnp.tanh(x @ w["a"])
            return jnp.mean(jnp.square((h + jnp.tanh(h @ w["b"])) @ w["c"]))

        return jax.tree.map(lambda p, g: p - 0.5 * g, w, jax.grad(loss)(w)), factor * 2

    w = {name: np.float32(RNG.standard_normal((16, 16)) / 4) for name in "abc"}
    x = np.float32(RNG.standard_normal((8, 16)))
    new, doubled = sc.scalify(step, precision="fp16 rescaling=gradients")(w, x, sc.as_scaled_array(np.float32(3)))
    exact, _ = step(w, x, jnp.float32(3))
    assert isinstance(doubled, ScaledArray) and float(np.asarray(doubled)) == 6
    for a, b in zip(jax.tree.leaves(new), jax.tree.leaves(exact), strict=True):
        assert not isinstance(a, ScaledArray)
        np.testing.assert_allclose(a, b, atol=4e-3)


def test_a_function_without_a_backward_pass_has_fp8_products_of_its_weights() -> None:
    def forward(w: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        return jnp.tanh(jnp.tanh(x @ w["a"]) @ w["b"]) @ w["c"]

    w = {name: np.float32(RNG.standard_normal((16, 16)) / 4) for name in "abc"}
    x = np.float32(RNG.standard_normal((8, 16)))
    served = sc.scalify(forward, precision="fp8")
    arguments = sc.as_scaled_array((w, x))
    np.testing.assert_allclose(np.asarray(served(*arguments)), forward(w, x), atol=0.25)
    products = [line for line in served.lower(*arguments).as_text().splitlines() if "dot_general" in line]
    assert [line.count("f8E4M3FN") for line in products] == [2, 2, 0]  # the last is the head


def test_under_vmap_and_scan() -> None:
    def step(w: jax.Array, m: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        m = 0.9 * m + jax.grad(lambda w: jnp.mean(jnp.square(x @ w)))(w)
        return w - 0.1 * m, m

    run = sc.scalify(step, precision="fp16 parameters=f16")
    w, m, x = np.eye(8, dtype=np.float32), np.zeros((8, 8), np.float32), np.float32(RNG.standard_normal((4, 8)))
    (w_, m_, _) = run.stored(sc.as_scaled_array(w), sc.as_scaled_array(m), x)
    assert (str(w_.dtype), str(m_.dtype)) == ("float16", "float32")
    new, _ = jax.lax.scan(lambda state, _: (run(*state, x), None), (w_, m_), length=2)
    expected = step(*step(w, m, x), x)
    np.testing.assert_allclose(np.asarray(new[0]), expected[0], atol=2e-3)
    batched = jax.vmap(run, in_axes=(None, None, 0))(w_, m_, np.stack([x, 2 * x]))
    assert batched[0].shape == (2, 8, 8) and str(batched[0].dtype) == "float16"


def test_squares_belong_to_the_optimiser_s_arithmetic() -> None:
    """JAX lowers them to CHLO, which an exported module no longer has."""

    def step(w: jax.Array, v: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        gradient = jax.grad(lambda w: jnp.mean(jnp.square(x @ w)))(w)
        v = 0.9 * v + 0.1 * jnp.square(gradient)
        return w - 0.01 * gradient / (jnp.sqrt(v) + 1e-8), v

    w, x = np.float32(RNG.standard_normal((8, 8))), np.float32(1e-3 * RNG.standard_normal((4, 8)))
    scaled = sc.as_scaled_array((w, np.zeros_like(w), x))
    text = sc.scalify(step, precision="fp16").lower(*scaled).as_text()
    assert not [line for line in text.splitlines() if "square" in line and "8x8xf16" in line]
    new, v = sc.scalify(step, precision="fp16")(*scaled)
    exact = jax.jit(step)(w, np.zeros_like(w), x)
    np.testing.assert_allclose(np.asarray(new), exact[0], atol=1e-3)
    np.testing.assert_allclose(np.asarray(v), exact[1], rtol=1e-2, atol=1e-3 * float(exact[1].max()))
