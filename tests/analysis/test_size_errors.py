"""Of how many estimates a size is a product: degrees follow from operations, and normalisations have degree 0."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.analysis.calls import terminator
from scalify_hlo.analysis.products import matrix_products
from scalify_hlo.bindings import ir, make_context, passmanager
from scalify_hlo.errors import Diagnostic
from scalify_hlo.execution import xla
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.size.size_errors import SizeErrors

X = jax.ShapeDtypeStruct((8, 32), np.float32)
W = jax.ShapeDtypeStruct((32, 32), np.float32)


def errors(function: Callable[..., Any]) -> float:
    """Of the result of a function of an activation and a weight."""
    text = jax.jit(function).lower(X, W).as_text()
    with make_context():
        module = ir.Module.parse(text)
        (main,) = (op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        return SizeErrors(module).of(terminator(main.regions[0].blocks[0]).operands[0])


def rms_norm(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def layer_norm(x: jax.Array) -> jax.Array:
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-6)


def repeated(x: jax.Array, w: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 3, lambda _, y: jnp.maximum(y @ w, 0), x)


def by_trace(w: jax.Array) -> jax.Array:
    covariance = w.T @ w
    return covariance / jnp.sum(jax.lax.select(jnp.eye(32, dtype=bool), covariance, jnp.zeros_like(w)))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, w: 2 * x + w[:8], 0),
        (lambda x, w: x @ w, 1),
        (lambda x, w: jax.nn.silu(x @ w), 1),  # a function that is called
        (lambda x, w: jax.nn.gelu(x @ w), 1),
        (lambda x, w: jnp.square(jax.nn.relu(x @ w)), 2),
        (lambda x, w: jnp.tanh((x @ w) * (x @ w)), 0),
        (lambda x, w: jax.nn.softmax(x @ w), 0),
        (lambda x, w: rms_norm(x @ w), 0),
        (lambda x, w: layer_norm(x + x @ w), 0),
        (lambda x, w: (x @ w) / jnp.max(jnp.abs(x @ w)), 2),  # computed twice: they are not known to be one
        (lambda x, w: x @ w @ w @ w, 3),
        (lambda x, w: x + x @ w @ w, 2),
        (lambda x, w: (x @ w) * (x @ w.T) * jax.nn.silu(x @ (w + 1)), 3),
        (lambda x, w: rms_norm(repeated(x, w)), 0),
        (lambda x, w: x[0] * by_trace(w), 1),  # a covariance's variances are larger than the rest of it
    ],
)
def test_degrees(function: Callable[..., Any], expected: float) -> None:
    assert errors(function) == pytest.approx(expected)


def test_what_a_loop_multiplies_has_an_error_of_its_own() -> None:
    assert errors(repeated) >= 2


# --- what high powers are taken of ----------------------------------------------------------------------------------


def powers(function: Callable[..., Any], *shapes: jax.ShapeDtypeStruct) -> list[str]:
    """The operations whose results are measured since a power of them higher than the second enters a product."""
    with make_context():
        module = ir.Module.parse(jax.jit(function).lower(*(shapes or (X, W))).as_text())
        products = {p.op for p in matrix_products(module)}
        return [value.owner.operation.name for value in SizeErrors(module, dict.fromkeys(products, math.inf), 2).powers]


def spline(x: jax.Array, w: jax.Array) -> jax.Array:
    """One basis function, cubic, of de Boor's recursion, and what is made of it."""
    h = x @ w
    basis = (h > 0).astype(h.dtype) * (1 - h)
    basis = h * basis + (2 - h) * basis
    return (h * basis + (3 - h) * basis) @ w


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, w: jnp.mean(jax.nn.relu(x @ w) ** 4, axis=0, keepdims=True) @ w, ["stablehlo.dot_general"]),
        (spline, ["stablehlo.dot_general"]),
        (lambda x, w: (jnp.exp(x @ w) ** 3) @ w, ["stablehlo.exponential"]),
        (lambda x, w: ((x @ w) ** 4) @ w * jnp.mean((x @ w.T) ** 8) @ w, ["stablehlo.dot_general"] * 2),
        (lambda x, w: x**4 @ w, []),  # an argument's scale is right
        (lambda x, w: (x @ w) ** 4, []),  # enters no product
        (lambda x, w: jnp.square(jax.nn.relu(x @ w)) @ w, []),
        (lambda x, w: jax.nn.gelu(x @ w) @ w, []),  # tanh of a cube is bounded
        (lambda x, w: rms_norm((x @ w) ** 4) @ w, []),
        (lambda x, w: ((x @ w) * (x @ w.T) * (x @ (w + 1))) @ w, []),  # three errors, which may cancel
    ],
)
def test_a_value_of_which_high_powers_enter_products_is_measured(
    function: Callable[..., Any], expected: list[str]
) -> None:
    assert powers(function) == expected


# --- what they are for: FP8 operands that are products of many estimates --------------------------------------------


def deep(x: jax.Array, w: jax.Array) -> jax.Array:
    for _ in range(5):
        x = jax.nn.relu(x @ (w - 0.06))
    return x


def gated(x: jax.Array, w: jax.Array) -> jax.Array:
    return (x @ w) * (x @ w[::-1]) * (x @ w.T) * (x @ w[:, ::-1]) * (x @ (w + w.T)) * (x @ w)


def linear_attention(x: jax.Array, w: jax.Array) -> jax.Array:
    return (x @ w) @ ((x @ w.T).T @ (x @ w[::-1]))


@pytest.mark.parametrize("block", [deep, gated, linear_attention])
def test_fp8_operands_do_not_saturate_where_estimates_multiply(block: Callable[..., jax.Array]) -> None:
    """Correlated weights, as training makes them: each product is some 2^2 larger than its estimate."""
    generator = np.random.default_rng(0)

    def numbers(*shape: int) -> np.ndarray:
        return (np.abs(generator.normal(size=shape)) / np.sqrt(32)).astype(np.float32)

    def predicted(x: jax.Array, w: jax.Array, layer: jax.Array, head: jax.Array) -> jax.Array:
        return rms_norm(block(x, w) @ layer) @ head

    columns = (2 ** generator.uniform(-1.5, 1.5, 32)).astype(np.float32)
    arguments = numbers(8, 32), numbers(32, 32) * columns, numbers(32, 32) - np.float32(0.14), numbers(32, 32)
    expected = np.asarray(predicted(*(jnp.asarray(x) for x in arguments)))

    def step(x: jax.Array, w: jax.Array, layer: jax.Array, head: jax.Array) -> jax.Array:
        return jax.vjp(predicted, x, w, layer, head)[0]

    found = sc.asarray(sc.scalify(step, precision="fp8")(*sc.as_scaled_array(arguments)))
    error = np.sqrt(np.mean((np.asarray(found, np.float32) - expected) ** 2) / np.mean(expected**2))
    assert error < 0.2


def test_an_infinite_element_of_a_measured_operand_saturates_alone() -> None:
    with make_context():
        module = ir.Module.parse(jax.jit(jnp.dot).lower(X, W).as_text().replace("f32", "f16"))
        FP8Dots(scaling="current", head=True).apply(module, [])
        text = module.operation.get_asm()
    x = np.full((8, 32), 1024, np.float16)
    x[0, 0] = np.inf
    (result,) = xla.compile(text)([x, np.full((32, 32), 2**-10, np.float16)])
    np.testing.assert_array_equal(result[1:], 32)
    assert np.isfinite(result).all()


@pytest.mark.parametrize(("block", "measured"), [(gated, ["lhs"]), (lambda x, w: rms_norm(x @ w), [])])
def test_operands_that_are_measured_are_told(block: Callable[..., jax.Array], measured: list[str]) -> None:
    def predicted(x: jax.Array, w: jax.Array, layer: jax.Array, head: jax.Array) -> jax.Array:
        return rms_norm(block(x, w) @ layer) @ head

    remarks: list[Diagnostic] = []
    with make_context():
        module = ir.Module.parse(jax.jit(predicted).lower(X, W, W, W).as_text().replace("f32", "f16"))
        FP8Dots(scaling="uncertain").apply(module, remarks)
    told = [r.message for r in remarks if "is scaled by its largest element" in r.message]
    assert [message.split("; ")[1].split(" ")[0] for message in told] == measured
    assert all("6 estimates that no normalisation bounds" in message for message in told)


def test_a_function_that_is_written_out_is_as_large_as_what_it_is_of() -> None:
    """erfc of an exported gelu, in pieces: the degrees of its polynomials counted, to nine estimates for one of 2."""
    with make_context():
        gelu = jax.jit(lambda x, w: jax.nn.gelu(x @ w, approximate=False))
        module = ir.Module.parse(gelu.lower(X, W).as_text())
        # As jax.export writes it before jax 0.12, which exports a composite.
        passmanager.PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))").run(module.operation)
        assert "chlo" not in str(module)
        block = module.body.operations[0].regions[0].blocks[0]
        assert SizeErrors(module).of(terminator(block).operands[0]) == 2
