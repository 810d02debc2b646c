"""What a first call of `scalify` says of mistakes, and what it takes that looks like one."""

import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

X = np.float32([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sc.scalify(3), "scalify: 3 is no function"),
        (lambda: sc.scalify(jnp.sin, options={"rules": "paper"}), "options is a ScalifyOptions"),
        (lambda: sc.scalify(jnp.sin, precision=8), "a precision is a preset's name, such as 'fp8'"),  # pyright: ignore
    ],
)
def test_arguments_of_scalify(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((TypeError, sc.ScalifyError), match=words):
        call()


def test_errors_of_jax_name_the_function_and_its_argument() -> None:
    def chooses(params: Any, x: Any) -> Any:
        return x if params["w"].sum() > 0 else -x

    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        sc.scalify(chooses)(*sc.as_scaled_array(({"w": X}, X)))
    text = str(caught.value)
    assert f"chooses at {pathlib.Path(__file__)}" in text and "argument params['w']" in text


def test_the_repr_names_the_function() -> None:
    assert repr(sc.scalify(jnp.vdot, precision="fp8")) == "<scalified vdot>"


def test_integers_need_no_scales() -> None:
    assert sc.scalify(lambda i: 2 * i, precision="fp8")(np.arange(3)).tolist() == [0, 2, 4]
    key = jax.random.key(0)
    drawn = sc.scalify(lambda k: jax.random.normal(k, (3,)), precision="fp16")(key)
    assert np.array_equal(drawn, jax.random.normal(key, (3,)))
    with pytest.raises(sc.ScalifyError, match="no argument is a ScaledArray"):
        sc.scalify(lambda i: jnp.asarray(X)[i] @ X, precision="fp8")(
            np.arange(2)
        )  # a frozen model has floats of its own


def test_a_precision_within_another_function() -> None:
    inner = sc.scalify(lambda x: x @ x, precision="fp16")
    with pytest.raises(sc.ScalifyError, match="give that one the precision"):
        sc.scalify(lambda x: inner(x) + 1)(sc.as_scaled_array(X))


def test_plain_state_becomes_scaled_by_stored() -> None:
    def step(w: Any, x: Any, key: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
        return w - 0.1 * gradient, loss, jax.random.split(key)[0]

    scaled = sc.scalify(step, precision="fp8")
    key = jax.random.key(0)
    w, x, key = scaled.stored(X, X, key)
    assert isinstance(w, sc.ScaledArray) and w.dtype == np.float16 and not isinstance(x, sc.ScaledArray)
    assert np.allclose(np.asarray(scaled(w, x, key)[0]), step(X, X, key)[0], rtol=0.05, atol=0.05)


def test_shapes_are_stored_as_shapes() -> None:
    shapes = jax.eval_shape(lambda: {"w": jnp.ones((2, 2)), "step": jnp.int32(0)})

    def step(state: Any) -> Any:
        gradient = jax.grad(lambda w: jnp.sum((X @ w) ** 2))(state["w"])
        return {"w": state["w"] - 0.1 * gradient, "step": state["step"] + 1}

    (state,) = sc.scalify(step, precision="fp16-state").stored(shapes)
    assert (state["w"].data.dtype, state["w"].scale.dtype, state["w"].shape) == (jnp.float16, jnp.float32, (2, 2))
    assert state["step"] == shapes["step"]


def test_texts_that_change_are_warned_of() -> None:
    @sc.scalify
    def step(batch: Any) -> Any:
        return batch["x"] * 2

    x = sc.as_scaled_array(np.ones(3, np.float32))
    for _ in range(2):  # a few texts choose among programs
        for name in ("train", "test", "validation"):
            step({"x": x, "name": name})
    with pytest.warns(
        UserWarning, match=r"compiled for 4 different texts at \[0\]\['name'\].*the last of them 'b.jpg'"
    ):
        step({"x": x, "name": "b.jpg"})
    step({"x": x, "name": "c.jpg"})  # once
