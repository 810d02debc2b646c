"""Scales that are quotients whose divisors, multiplied with each other, leave the range of f32."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.emit.scale_emitter import ScaleEmitter

QUOTIENTS: list[tuple[str, Callable[..., jax.Array], list[int], int]] = [
    ("x / a / a / b / b", lambda x, a, b: x / a / a / b / b, [-100, -29, -36], 30),
    ("x / (a b)", lambda x, a, b: x / (a * b), [-70, -70, -70], 70),
    ("1 / (a b)", lambda a, b: 1 / (a * b), [-70, -50], 120),
    ("x y / (a b c)", lambda x, y, a, b, c: x * y / (a * b * c), [-30, -40, -70, -70, -50], 120),
]


@pytest.mark.parametrize(("_", "quotient", "exponents", "expected"), QUOTIENTS, ids=[case[0] for case in QUOTIENTS])
def test_a_quotient_is_not_divided_again(
    _: str, quotient: Callable[..., jax.Array], exponents: list[int], expected: int
) -> None:
    """XLA makes x / a / b one quotient by a b, which is 0 in f32 where a and b are scales of 2^-80."""
    arrays = [
        sc.ScaledArray(jnp.ones(4, jnp.float16), jnp.asarray(2.0**exponent, jnp.float32)) for exponent in exponents
    ]
    result = jax.jit(sc.scalify(quotient))(*arrays)
    np.testing.assert_array_equal(np.float64(result.data) * np.float64(result.scale), np.full(4, 2.0**expected))


def test_a_quotient_that_is_a_result_too_is_not_divided_again() -> None:
    def quotients(x: jax.Array, y: jax.Array, a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        return x * y, x * y / a, x * y / a / b

    arrays = [
        sc.ScaledArray(jnp.ones(4, jnp.float16), jnp.asarray(2.0**exponent, jnp.float32))
        for exponent in (-50, -50, -75, -75)
    ]
    results = jax.jit(sc.scalify(quotients))(*arrays)
    values = [np.float64(each.data[0]) * np.float64(each.scale) for each in results]
    assert values == [2.0**-100, 2.0**-25, 2.0**50]


def test_a_power_times_a_constant_is_no_smaller_on_the_way() -> None:
    """(s^2) 2^45 would be 0 of s = 2^-65, where denormal numbers are flushed to 0."""
    with make_context(), ir.Location.unknown() as location:
        module = ir.Module.parse("func.func @f(%s: tensor<f32>) -> tensor<f32> { return %s : tensor<f32> }")
        block = module.body.operations[0].regions[0].blocks[0]
        emitter = ScaleEmitter(block, location, narrow=True)
        scale = emitter.as_scale(block.arguments[0], positive=True, least=-65)
        product = emitter.scale_value((scale**2).shifted(45)).owner
        factors = [operand for operand in product.operands if isinstance(operand, ir.OpResult)]
        assert product.name == "stablehlo.multiply"
        assert [factor.owner.operands[0] for factor in factors] == [block.arguments[0]]


def _normalised(p: dict[str, jax.Array], x: jax.Array, e: jax.Array) -> jax.Array:
    """Group norm, scale and shift of an embedding, SiLU, a last kernel of zeros: diffusion's networks begin so."""
    scale, shift = jnp.split((e @ p["embed"])[:, None], 2, -1)
    h = x @ p["first"] + p["bias"]
    z = h.reshape(*h.shape[:-1], 4, -1)
    variance = jnp.maximum((z**2).mean((1, 3), keepdims=True) - z.mean((1, 3), keepdims=True) ** 2, 0)
    z = (z - z.mean((1, 3), keepdims=True)) * (jax.lax.rsqrt(variance + 1e-6) * p["gain"].reshape(4, -1))
    return jnp.mean((jax.nn.silu((z.reshape(h.shape) + p["shift"]) * (1 + scale) + shift) @ p["last"] - x) ** 2)


@pytest.mark.parametrize("size", [1.0, 0.25])
def test_gradients_behind_a_kernel_of_zeros(size: float) -> None:
    """The quotient of two scales of zeros was infinite on the way, and the gradients of biases NaN."""
    r = np.random.default_rng(0)
    x, e, first, embed = (np.float32(r.standard_normal(shape)) for shape in ((8, 64, 4), (8, 32), (4, 16), (32, 32)))
    p = {"first": size * first / 6, "embed": embed / 6, "gain": np.ones(16, np.float32)}
    p |= {name: np.zeros(shape, np.float32) for name, shape in (("bias", 16), ("shift", 16), ("last", (16, 4)))}
    found = jax.jit(sc.scalify(jax.grad(_normalised), precision="fp16"))(*sc.as_scaled_array((p, x, e)))
    assert all(np.isfinite(np.asarray(value)).all() for value in found.values())
