"""Which gradients are what products of linear layers give, and that the others do not become FP8."""

import re
from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo.precision import Preset

ROWS, WIDTH = 32, 24
Weights = dict[str, jax.Array]


def shapes_of_fp8(loss: Callable[[Weights, Any], jax.Array], weights: Weights, x: Any, precision: Preset) -> set[str]:
    """The names of the weights whose gradients, told by their shapes, reach the optimiser in E5M2."""

    def step(p: Weights, m: Weights, x: Any) -> tuple[Weights, Weights]:
        gradients = cast(Weights, jax.grad(loss)(p, x))
        m = {name: 0.9 * m[name] + 0.1 * gradients[name] for name in p}
        return {name: p[name] - 0.1 * m[name] for name in p}, m

    exported = jax.export.export(jax.jit(step))(weights, weights, x)
    text = scalify_hlo.scalify_exported(exported, precision=precision).mlir_module()
    found = re.findall(r"convert .*: \(tensor<([\dx]+)xf8E5M2>\) -> tensor<[\dx]+xf32>", text)
    return {name for name, value in weights.items() if "x".join(map(str, value.shape)) in found}


def normal(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)


def of_kinds(p: Weights, x: Any) -> jax.Array:
    """A layer, and what is none: a table, a bias, a gain, three axes for each row."""
    h = jnp.tanh(p["table"][x] @ p["layer"] + p["bias"]) * p["gain"]
    return jnp.mean(jnp.square(h)) + jnp.mean(jnp.sin((h[:, :3] * p["axes"]).sum(-1)))


def of_tied_weights(p: Weights, x: jax.Array) -> jax.Array:
    """A weight that two products read: its gradient is a sum of what two give. The first layer reads what is given."""
    h = jnp.tanh(x @ p["first"])
    return jnp.mean(jnp.square(jnp.tanh(jnp.tanh(h @ p["tied"]) @ p["tied"]) @ p["last"]))


KINDS: dict[str, tuple[Callable[[Weights, Any], jax.Array], dict[str, tuple[int, ...]], Any, set[str]]] = {
    "kinds": (
        of_kinds,
        {"table": (40, WIDTH), "layer": (WIDTH, 48), "bias": (48,), "gain": (1, 48), "axes": (ROWS, 3)},
        np.zeros(ROWS, np.int32),
        {"layer"},
    ),
    "tied": (
        of_tied_weights,
        {"first": (48, WIDTH), "tied": (WIDTH, WIDTH), "last": (WIDTH, 16)},
        normal(ROWS, 48),
        {"tied", "last"},
    ),
}


@pytest.mark.parametrize("precision", ["fp8", "fp8-fp16-state"])
@pytest.mark.parametrize("kind", KINDS)
def test_fp8_is_for_gradients_that_products_of_layers_give(kind: str, precision: Preset) -> None:
    loss, shapes, x, expected = KINDS[kind]
    weights = {name: normal(*shape) for name, shape in shapes.items()}
    assert shapes_of_fp8(loss, weights, x, precision) == expected


def _muon(g: jax.Array) -> jax.Array:
    g = g / jnp.linalg.norm(g)
    return 1.5 * g - 0.5 * g @ (g.T @ g)


def _shampoo(g: jax.Array) -> jax.Array:
    return jnp.linalg.solve(g @ g.T + jnp.eye(len(g)), g)


def _clipped(g: jax.Array) -> jax.Array:
    return g / jnp.maximum(jnp.linalg.norm(g), 1)


Update = Callable[[jax.Array], jax.Array]


@pytest.mark.parametrize(("update", "in_fp8"), [(_muon, False), (_shampoo, False), (_clipped, True)])
def test_gradients_that_an_optimiser_multiplies_are_no_fp8(update: Update, in_fp8: bool) -> None:
    """Small singular values of a gradient count as much as large ones there."""

    def step(w: jax.Array, m: jax.Array, v: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = jnp.tanh(x @ x.T @ x)  # what the step is given itself is no operand of FP8 products
        g = jax.grad(lambda w: jnp.mean(jnp.square(jnp.tanh(x @ w) @ v)))(w)
        m = 0.9 * m + g
        return w - 0.1 * jax.jit(update)(m), m

    w = normal(WIDTH, 48)
    exported = jax.export.export(jax.jit(step))(w, w, normal(48, 16), normal(ROWS, WIDTH))
    text = scalify_hlo.scalify_exported(exported, precision="fp8").mlir_module()
    assert (re.search(r"convert .*: \(tensor<24x48xf8E5M2>\) -> tensor<24x48xf32>", text) is not None) == in_fp8
