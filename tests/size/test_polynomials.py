"""Polynomials of one tensor, iterated: the size of a sum is that of the tensor, however many times."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo.execution.modules import as_module
from scalify_hlo.size.polynomials import polynomial_sums

_C = (3.4445, -4.7750, 2.0315)


def _polynomial(x: jax.Array) -> jax.Array:
    a = x @ x.T
    return _C[0] * x + (_C[1] * a + _C[2] * a @ a) @ x


def _written_out(g: jax.Array) -> jax.Array:
    x = g / (jnp.linalg.norm(g) + 1e-6)
    for _ in range(5):
        x = _polynomial(x)
    return x


def _in_a_loop(g: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 5, lambda _, x: _polynomial(x), g / (jnp.linalg.norm(g) + 1e-6))


def _transposed(g: jax.Array) -> jax.Array:
    """The same from the other side, as it is done where there are more rows than columns."""
    x = g.T / (jnp.linalg.norm(g) + 1e-6)
    for _ in range(5):
        a = x.T @ x
        x = x @ (a @ a * _C[2] + a * _C[1]) + _C[0] * x
    return x.T


def _reciprocal(g: jax.Array) -> jax.Array:
    """Newton's, of the diagonal of g g^T, normalised."""
    d = jnp.sum(g * g, axis=1) / jnp.max(jnp.sum(g * g, axis=1))
    y = jnp.ones_like(d)
    for _ in range(7):
        y = 2 * y - (d * y) * y
    return y


@pytest.mark.parametrize("size", [1.0, 2.0**-13, 2.0**14])
@pytest.mark.parametrize("iteration", [_written_out, _in_a_loop, _transposed, _reciprocal])
def test_iterations_that_converge_do_so_in_f16(iteration: Callable[[jax.Array], jax.Array], size: float) -> None:
    g = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float32)
    # g^2 is beyond f16 at either end.
    result = scalify_hlo.scalify(iteration)(scalify_hlo.as_scaled_array(size * g).astype(np.float16))
    with np.errstate(over="ignore"):
        largest = np.abs(np.asarray(result.data, np.float32)).max()
    expected = np.asarray(iteration(jnp.asarray(g)))
    np.testing.assert_allclose(np.asarray(result, np.float32), expected, rtol=0, atol=2e-2 * np.abs(expected).max())
    assert 2**-4 < largest < 2**7


@pytest.mark.parametrize(("held", "found"), [("%y, %x", 0), ("%x, %y", 1)])
def test_the_results_of_a_barrier_are_its_operands_one_by_one(held: str, found: int) -> None:
    """Each of them was taken for the first operand: 2 y + (d x) x counted as a polynomial of y, or (d y) y did not."""
    text = f"""
      func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %d: tensor<4x4xf32>) -> tensor<4x4xf32> {{
        %two = stablehlo.constant dense<2.0> : tensor<4x4xf32>
        %0:2 = stablehlo.optimization_barrier {held} : tensor<4x4xf32>, tensor<4x4xf32>
        %1 = stablehlo.multiply %two, %y : tensor<4x4xf32>
        %2 = stablehlo.dot %d, %0#1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        %3 = stablehlo.dot %2, %0#1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        %4 = stablehlo.add %1, %3 : tensor<4x4xf32>
        return %4 : tensor<4x4xf32>
      }}"""
    module = as_module(text)
    block = module.body.operations[0].regions[0].blocks[0]
    assert len(polynomial_sums(block, [each.operation for each in block.operations])) == found
