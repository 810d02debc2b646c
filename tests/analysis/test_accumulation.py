"""Which carried values of a loop are sums over its iterations, and how many iterations there are."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from scalify_hlo.analysis.accumulation import is_accumulated, iterations
from scalify_hlo.analysis.calls import CallGraph, callee_name, walk
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.facts import FactFinder

X = jax.ShapeDtypeStruct((8, 4), jnp.float32)
ZEROS = jnp.zeros((4,), jnp.float32)


def looked_at(function: object) -> tuple[int | None, list[bool]]:
    """The iterations of the function's loop, and for each carried float whether it is accumulated."""
    text = jax.jit(function).lower(X).as_text()  # pyright: ignore[reportArgumentType]
    with make_context():
        module = ir.Module.parse(text)
        functions = CallGraph(module).functions

        def callee(op: ir.Operation) -> ir.Operation | None:
            return functions.get(callee_name(op) or "")

        (loop,) = [op for op in walk(module.operation) if op.name == "stablehlo.while"]
        facts = FactFinder(callee)
        carried = [i for i, value in enumerate(loop.operands) if str(value.type) == "tensor<4xf32>"]
        count = iterations(loop, lambda value: facts.of(value).splat)
        return count, [is_accumulated(loop, i, callee) for i in carried]


def test_a_sum_over_rows_is_accumulated() -> None:
    def total(x: jax.Array) -> jax.Array:
        return lax.scan(lambda c, row: (c + jnp.sin(row), None), ZEROS, x)[0]

    assert looked_at(total) == (8, [True])


def test_what_is_multiplied_or_used_is_not_accumulated() -> None:
    def step(c: tuple[jax.Array, jax.Array, jax.Array], row: jax.Array) -> tuple[tuple[jax.Array, ...], None]:
        a, b, total = c
        return (0.5 * a + row, b + a, total + jnp.sin(b)), None

    def states(x: jax.Array) -> tuple[jax.Array, ...]:
        return lax.scan(step, (ZEROS, ZEROS, ZEROS), x)[0]  # pyright: ignore[reportArgumentType]

    assert looked_at(states) == (8, [False, False, True])


@pytest.mark.parametrize(("first", "last", "count"), [(0, 5, 5), (3, 10, 7)])
def test_iterations_are_counted_between_constants(first: int, last: int, count: int) -> None:
    assert looked_at(lambda x: lax.fori_loop(first, last, lambda i, c: c + x[i], ZEROS)) == (count, [True])


def test_a_loop_that_data_end_has_no_known_number_of_iterations() -> None:
    def converge(x: jax.Array) -> jax.Array:
        return lax.while_loop(lambda c: c.sum() < 10, lambda c: c + x[0], ZEROS)

    assert looked_at(converge)[0] is None


def test_a_sum_in_a_wider_type_is_accumulated() -> None:
    def total(x: jax.Array) -> jax.Array:
        def step(c: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
            return (c.astype(jnp.float16) + row.astype(jnp.float16)).astype(jnp.float32), None

        return lax.scan(step, ZEROS, x)[0]

    assert looked_at(total) == (8, [True])


def test_a_sum_in_a_function_is_accumulated_whichever_result_it_is() -> None:
    @jax.jit
    def added(row: jax.Array, c: jax.Array) -> tuple[jax.Array, jax.Array]:
        return row.astype(jnp.float16), c + row.astype(jnp.float16)

    def total(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(c: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
            other, c = added(row, c.astype(jnp.float16))
            return c.astype(jnp.float32), other

        return lax.scan(step, ZEROS, x)

    assert looked_at(total) == (8, [True])
