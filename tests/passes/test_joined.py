"""Tensors that are joined to one vector and taken out of it: `rescaling=joined`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.ode import odeint
from jax.flatten_util import ravel_pytree

import scalify_hlo as sc
from scalify_hlo.analysis.calls import CallGraph
from scalify_hlo.analysis.joined import taken_apart
from scalify_hlo.bindings import ir, make_context

Weights = dict[str, jax.Array]


def _weights() -> tuple[Weights, np.ndarray]:
    generator = np.random.default_rng(0)
    shapes = {"a": (6, 32), "b": (32,), "c": (32, 6)}
    weights = {k: np.float32(generator.normal(size=s) / np.sqrt(s[0])) for k, s in shapes.items()}
    return weights, np.float32(generator.normal(size=(64, 6)))  # type: ignore[return-value]


def _errors(found: Weights, expected: Weights) -> dict[str, float]:
    plain = sc.asarray(found, np.float32)
    return {k: float(np.linalg.norm(plain[k] - v) / np.linalg.norm(v)) for k, v in expected.items()}


@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
def test_gradients_by_the_adjoint_of_a_solver(precision: str) -> None:
    """The solver of the adjoint sees states, their gradients, which are 2^9 times smaller, and those of the weights as
    one vector."""

    def gradients(w: Weights, x: jax.Array) -> Weights:
        def slope(h: jax.Array, _: jax.Array, w: Weights) -> jax.Array:
            return jnp.tanh(h @ w["a"] + w["b"]) @ w["c"]

        def loss(w: Weights) -> jax.Array:
            times = jnp.array([0.0, 1.0])
            return jnp.mean((odeint(slope, x, times, w, rtol=1e-3, atol=1e-3)[-1] - 1) ** 2)

        return jax.grad(loss)(w)

    weights, x = _weights()
    found = sc.scalify(gradients, precision=precision)(*sc.as_scaled_array((weights, x)))  # type: ignore[arg-type]
    errors = _errors(found, jax.jit(gradients)(weights, x))
    assert max(errors.values()) < 0.03, errors


def test_weights_that_a_loop_carries_as_one_vector() -> None:
    def change(w: Weights, x: jax.Array) -> Weights:
        flat, unravel = ravel_pytree(w)

        def loss(p: Weights) -> jax.Array:
            return jnp.mean((jnp.tanh(x @ p["a"] + p["b"]) @ p["c"] - x) ** 2)

        def body(_: int, carried: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            flat, average = carried
            average = 0.9 * average + ravel_pytree(jax.grad(loss)(unravel(flat)))[0]
            return flat - 0.1 * average, average

        flat, _ = jax.lax.fori_loop(0, 10, body, (flat, jnp.zeros_like(flat)))
        return {"c": unravel(flat)["c"] - w["c"]}

    weights, x = _weights()
    weights, x = {"a": 100 * weights["a"], "b": weights["b"], "c": weights["c"] / 1000}, x / 100
    found = sc.scalify(change, precision="fp16")(*sc.as_scaled_array((weights, x)))
    errors = _errors(found, jax.jit(change)(weights, x))
    assert max(errors.values()) < 3e-3, errors


def _taken(*pieces: str) -> list[str]:
    """Which of these slices of a sum with tensors of 6, 1 and 4 elements, joined, is one of them."""
    lines = "\n".join(
        f"  %s{i} = stablehlo.slice %z [{piece}] : (tensor<11xf32>) -> tensor<{_size(piece)}xf32>"
        for i, piece in enumerate(pieces)
    )
    text = f"""
    func.func @main(%a: tensor<6xf32>, %b: tensor<1xf32>, %c: tensor<4xf32>, %y: tensor<11xf32>) -> tensor<11xf32> {{
      %x = stablehlo.concatenate %a, %b, %c, dim = 0
          : (tensor<6xf32>, tensor<1xf32>, tensor<4xf32>) -> tensor<11xf32>
      %z = stablehlo.add %x, %y : tensor<11xf32>
      {lines}
      return %z : tensor<11xf32>
    }}"""
    with make_context():
        module = ir.Module.parse(text)
        found = taken_apart(CallGraph(module))
        return [piece for i, piece in enumerate(pieces) if any(f"[{piece}]" in str(value.owner) for value in found)]


def _size(piece: str) -> int:
    begin, end = map(int, piece.split(":"))
    return end - begin


def test_parts_are_known_by_their_places() -> None:
    assert _taken("0:6", "7:11") == ["0:6", "7:11"]
    assert _taken("6:7", "0:7", "1:7", "0:11") == []  # one number, two tensors, none, all
