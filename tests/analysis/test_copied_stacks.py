"""What a loop copies element by element is the tensor itself: the weights of layers that nnx.scan hands through."""

# jax is annotated in part only.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.normal_form import to_normal_form
from scalify_hlo.precision import Preset

W = np.float32(np.random.default_rng(0).normal(size=(3, 16, 16)) / 4)
X = np.float32(np.random.default_rng(1).normal(size=(8, 16)))


def _handed_through(w: Any, x: Any) -> Any:
    return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), w), x, w)


def _by_checkpoint(w: Any, x: Any) -> Any:
    return jax.lax.scan(jax.checkpoint(lambda h, w: (jnp.tanh(h @ w), w)), x, w)


def _changed(w: Any, x: Any) -> Any:
    return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), 2 * w), x, w)


def _of_what_changes(w: Any, x: Any) -> Any:
    def body(i: Any, carried: Any) -> Any:
        source, copy, h = carried
        copy = jax.lax.dynamic_update_index_in_dim(copy, source[i], i, 0)
        return source * 2, copy, jnp.tanh(h @ source[i])

    _, copy, h = jax.lax.fori_loop(0, 3, body, (w, jnp.zeros_like(w), x))
    return h, copy


def _from_the_second(w: Any, x: Any) -> Any:
    def body(i: Any, carried: Any) -> Any:
        copy, h = carried
        return jax.lax.dynamic_update_index_in_dim(copy, w[i], i, 0), jnp.tanh(h @ w[i])

    copy, h = jax.lax.fori_loop(1, 3, body, (jnp.zeros_like(w), x))
    return h, copy


@pytest.mark.parametrize(
    ("function", "is_copy"),
    [
        (_handed_through, True),
        (_by_checkpoint, True),
        (_changed, False),
        (_of_what_changes, False),
        (_from_the_second, False),
    ],
)
def test_which_results_are_copies(function: Callable[..., Any], is_copy: bool) -> None:
    with make_context():
        module = ir.Module.parse(jax.export.export(jax.jit(function))(W, X).mlir_module())
        to_normal_form(module)
        module.operation.verify()
        (main,) = (op for op in module.body.operations if op.operation.name == "func.func")
        end = list(main.operation.regions[0].blocks[0].operations)[-1]
        assert isinstance(end.operands[1].owner, ir.Block) == is_copy
    state, batch = scalify_hlo.as_scaled_array((W, X))
    found = scalify_hlo.asarray(scalify_hlo.scalify(function)(state, batch))
    for got, exact in zip(found, jax.jit(function)(W, X), strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("precision", ["fp16-state", "fp8", "fp8-fp16-state"])
def test_weights_that_a_loop_hands_through_are_state(precision: Preset) -> None:
    def step(w: Any, x: Any) -> Any:
        def loss(w: Any) -> Any:
            h, through = _by_checkpoint(w, x)
            return jnp.mean((h - jnp.sin(x)) ** 2), through

        (value, through), gradient = jax.value_and_grad(loss, has_aux=True)(w)
        return through - 0.1 * gradient, value

    new, _ = scalify_hlo.scalify(step, precision=precision)(*scalify_hlo.as_scaled_array((W, X)))
    assert new.data.dtype == np.float16
