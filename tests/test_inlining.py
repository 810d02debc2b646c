"""Which private functions are put where they are called, and that the program computes the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.analysis.calls import callee_name, walk
from scalify_hlo.bindings import ir
from scalify_hlo.engine.normal_form import to_normal_form
from scalify_hlo.execution import xla
from scalify_hlo.execution.modules import as_module
from tests.same_program import assert_same


def _program(length: int, calls: int) -> str:
    """A function of `length` operations, called `calls` times."""
    body = "\n".join(f"%{i + 1} = stablehlo.negate %{i} : tensor<4xf32>" for i in range(length))
    chain = "\n".join(f"%{i + 1} = call @f(%{i}) : (tensor<4xf32>) -> tensor<4xf32>" for i in range(calls))
    return f"""
    func.func public @main(%0: tensor<4xf32>) -> tensor<4xf32> {{
      {chain}
      return %{calls} : tensor<4xf32>
    }}
    func.func private @f(%0: tensor<4xf32>) -> tensor<4xf32> {{
      {body}
      return %{length} : tensor<4xf32>
    }}"""


def _calls(text: str) -> int:
    """How many calls the normal form has."""
    module = as_module(text)
    with module.context, ir.Location.unknown():
        to_normal_form(module)
    assert module.operation.verify()
    calls = [op for op in walk(module.operation) if callee_name(op)]
    assert len(list(module.body.operations)) == (2 if calls else 1)
    return len(calls)


@pytest.mark.parametrize(("length", "calls", "left"), [(40, 3, 0), (200, 1, 0), (200, 3, 3)])
def test_functions_that_are_small_or_called_once_are_inlined(length: int, calls: int, left: int) -> None:
    assert _calls(_program(length, calls)) == left


def test_functions_of_functions_compute_the_same_where_they_are_called() -> None:
    @jax.jit
    def inner(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.where(x > y, x * y, jnp.clip(x, -1.0, y * y))

    @jax.jit
    def outer(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return inner(x, 2 * x), inner(jnp.sin(x), x)

    def step(x: jax.Array) -> jax.Array:
        a, b = outer(x)
        c, d = outer(a)
        return jax.lax.fori_loop(0, 3, lambda _, y: inner(y, b) + d, c)

    x = np.linspace(-2, 2, 32, dtype=np.float32).reshape(4, 8)
    text = jax.export.export(jax.jit(step))(jax.ShapeDtypeStruct(x.shape, x.dtype)).mlir_module()
    module = as_module(text)
    with module.context, ir.Location.unknown():
        to_normal_form(module)
    assert module.operation.verify()
    assert _calls(text) == 0
    ours, theirs = (xla.compile(each)([x])[0] for each in (module, as_module(text)))
    np.testing.assert_array_equal(ours, theirs)
    assert_same(step, x)
