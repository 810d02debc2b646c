"""One element added to each row of zeros is a selection: of the same numbers, wherever the index is."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution import xla
from scalify_hlo.passes.normal_form import NormalForm
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.select_scatters import SelectScatters

Function = Callable[[Any, Any], Any]
N = 7  # elements of a row


def along(x: Any, i: Any) -> Any:
    return jnp.take_along_axis(x, i[..., None], -1)


def by_arange(x: Any, i: Any) -> Any:
    return x[jnp.arange(x.shape[0]), i]


def of_columns(x: Any, i: Any) -> Any:
    return x[i, jnp.arange(x.shape[1])]


def in_the_middle(x: Any, i: Any) -> Any:
    return x[jnp.arange(4)[:, None], i[:, None], jnp.arange(5)[None]]


def mapped(x: Any, i: Any) -> Any:
    return jax.vmap(lambda row, place: row[place])(x, i)


def first(x: Any, i: Any) -> Any:
    return x.at[jnp.arange(x.shape[0]), i].get(mode="promise_in_bounds")


def rows(x: Any, i: Any) -> Any:
    return x[i]


def two(x: Any, i: Any) -> Any:
    return jnp.take_along_axis(x, jnp.stack([i, i], -1), -1)


def swapped(x: Any, i: Any) -> Any:
    return x[jnp.arange(x.shape[0])[::-1], i]


def run(of: Function, x: Any, i: Any) -> tuple[Any, Any, str]:
    """The gradient of a function of what is picked, as JAX computes it and with selections; and the text of these."""
    gradient = jax.jit(jax.grad(lambda x, i: jnp.sum(jnp.sin(of(x, i)))))
    with make_context():
        module = ir.Module.parse(gradient.lower(x, i).as_text())
        Pipeline((NormalForm(), SelectScatters())).run(module, [])
        (found,) = xla.compile(module)([x, i])
        return np.asarray(gradient(x, i)), np.asarray(found), str(module)


@pytest.mark.parametrize("shift", [0, -N, 3, -100, 100])
@pytest.mark.parametrize(
    ("of", "shape", "index"),
    [
        (along, (3, 4, N), (3, 4)),
        (by_arange, (4, N), (4,)),
        (of_columns, (N, 4), (4,)),
        (in_the_middle, (4, N, 5), (4,)),
        (mapped, (4, N), (4,)),
        (first, (4, N), (4,)),
    ],
)
def test_gradients_of_picked_elements_are_selections(
    of: Function, shape: tuple[int, ...], index: tuple[int, ...], shift: int
) -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=shape).astype(np.float32)
    i = (generator.integers(0, N, index) + shift).astype(np.int32)
    expected, found, text = run(of, x, i)
    assert "stablehlo.scatter" not in text and "stablehlo.select" in text
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("of", [rows, two, swapped])
def test_what_is_no_row_of_its_own_stays_a_scatter(of: Function) -> None:
    generator = np.random.default_rng(0)
    x, i = generator.normal(size=(N, N)).astype(np.float32), generator.integers(0, N, (N,)).astype(np.int32)
    expected, found, text = run(of, x, i)
    assert "stablehlo.scatter" in text
    np.testing.assert_array_equal(found, expected)


def loss(weights: Any, x: Any, labels: Any) -> Any:
    scores = jax.nn.log_softmax(x @ weights)
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], 1))


@pytest.mark.parametrize("precision", [None, "fp16", "fp8"])
def test_both_doors_select(precision: str | None) -> None:
    weights, x, labels = jnp.ones((32, 64)), jnp.ones((16, 32)), jnp.zeros((16,), jnp.int32)
    gradient = jax.grad(loss)
    exported = scalify_hlo.scalify_exported(
        jax.export.export(jax.jit(gradient))(weights, x, labels), precision=precision
    )
    decorated = jax.jit(scalify_hlo.scalify(gradient, precision=precision))
    for text in (
        exported.mlir_module(),
        decorated.lower(*map(scalify_hlo.as_scaled_array, (weights, x)), labels).as_text(),
    ):
        assert "stablehlo.scatter" not in text
