"""Values that f16 cannot store as they are read: far starts of running maxima, arguments of logarithms, written-out
functions.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


def _normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Of a generator of its own: the numbers are the same whatever ran before."""
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(np.float32)


def _attention_by_blocks(start: float) -> Callable[..., jax.Array]:
    """Keys and values block by block: the largest score so far, the denominator, the sum."""

    def attention(q: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
        def block(carried: tuple[jax.Array, ...], kv: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
            largest, denominator, total = carried
            scores = q @ kv[0].T
            found = jnp.maximum(largest, scores.max(-1))
            weights, before = jnp.exp(scores - found[:, None]), jnp.exp(largest - found)
            return (found, denominator * before + weights.sum(-1), total * before[:, None] + weights @ kv[1]), None

        n = q.shape[0]
        zeros = jnp.zeros((n, values.shape[-1]))
        (_, denominator, total), _ = jax.lax.scan(block, (jnp.full(n, start), jnp.zeros(n), zeros), (keys, values))
        return total / denominator[:, None]

    return attention


def _decaying_average(start: float) -> Callable[..., jax.Array]:
    """RWKV's recurrence: numerator, denominator and the largest exponent so far."""

    def average(decay: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        def body(carried: tuple[jax.Array, ...], kv: tuple[jax.Array, jax.Array]) -> tuple[Any, jax.Array]:
            a, b, largest = carried
            found = jnp.maximum(largest, kv[0])
            old, new = jnp.exp(largest - found), jnp.exp(kv[0] - found)
            result = (old * a + new * kv[1]) / (old * b + new)
            found = jnp.maximum(largest + decay, kv[0])
            old, new = jnp.exp(largest + decay - found), jnp.exp(kv[0] - found)
            return (old * a + new * kv[1], old * b + new, found), result

        zeros = jnp.zeros(k.shape[1:])
        return jax.lax.scan(body, (zeros, zeros, jnp.full(k.shape[1:], start)), (k, v))[1]

    return average


def _check(fun: Callable[..., jax.Array], arguments: tuple[np.ndarray, ...], precision: str) -> None:
    expected = np.asarray(jax.jit(fun)(*arguments))
    found = np.asarray(sc.scalify(fun, precision=precision)(*sc.as_scaled_array(arguments)))
    assert np.linalg.norm(found - expected) <= 4e-3 * np.linalg.norm(expected)


@pytest.mark.parametrize("start", [float(np.finfo(np.float32).min), -1e30, -1e9, -np.inf])
def test_running_maximum_that_starts_far_below(start: float) -> None:
    _check(_attention_by_blocks(start), (_normal(8, 16), _normal(3, 8, 16), _normal(3, 8, 16, seed=1)), "fp16")
    if start > -np.inf:  # -inf - -inf is NaN in f32 too
        _check(_decaying_average(start), (-np.exp(_normal(12)), _normal(8, 12), _normal(8, 12, seed=1)), "fp16")


@pytest.mark.parametrize(
    "fun",
    [
        jax.scipy.stats.norm.logcdf,
        lambda x: jnp.log(jnp.exp(-3 * jnp.abs(x)) + 1e-12),
        lambda x: jnp.log(jnp.abs(jnp.prod(x[..., :4] * 0.05, axis=-1)) + 1e-30),
        lambda x: jnp.log(jnp.where(x > 0, jnp.exp(-5 * jnp.abs(x)), 1.0)),
        lambda x: jnp.log(jax.nn.softmax(8 * x)[jnp.arange(8), jnp.arange(8)]),
        lambda x: jnp.log(jnp.concatenate([jnp.exp(-1.25 * x * x), jnp.ones((8, 3))], 1)),
        lambda x: jnp.log(jax.lax.cond(x[0, 0] < 99, jnp.exp, jnp.cosh, -5 * jnp.abs(x))),
        lambda x: jnp.log(jax.scipy.special.erfc(x / 4)),
        lambda x: jax.lax.erf_inv(jnp.tanh(x)),
        lambda x: jax.scipy.special.digamma(jnp.abs(x) + 0.5),
    ],
    ids=[
        "log of a distribution's tail",
        "log of exponentials",
        "log of a product",
        "log of a choice",
        "log of elements",
        "log of joined tensors",
        "log of a branch's result",
        "log of erfc",
        "erf_inv",
        "digamma",
    ],
)
@pytest.mark.parametrize("door", ["process", "exported"])
def test_logarithms_and_functions_written_out(fun: Callable[[jax.Array], jax.Array], door: str) -> None:
    def apply(w: jax.Array, x: jax.Array) -> jax.Array:
        return fun(x @ w)

    arguments = _normal(32, 32) / 8, np.clip(_normal(8, 32) * 3, -6, 6)
    if door == "process":
        _check(apply, arguments, "fp16")
        return
    exported = jax.export.export(jax.jit(apply))(*arguments)
    scaled = sc.scalify_exported(exported, precision="fp16")
    leaves = sc.as_scaled_array(arguments)
    expected = np.asarray(exported.call(*arguments))
    found = np.asarray(scaled.call(*leaves))
    assert np.linalg.norm(found - expected) <= 4e-3 * np.linalg.norm(expected)


def _distances(x: jax.Array, codes: jax.Array) -> jax.Array:
    """Squared distances of x [8, 16] to codes [64, 16], far smaller than the squares: as a VQ-VAE computes them."""
    return jnp.sum(x**2, 1, keepdims=True) - 2 * x @ codes.T + jnp.sum(codes**2, 1)


@pytest.mark.parametrize(
    "choose",
    [
        lambda d: jnp.argmin(d, 1),
        lambda d: jnp.argmax(jnp.stack([-d[:, ::2], -d[:, 1::2]]), 2),
        lambda d: jax.lax.top_k(-d, 4)[1],
        lambda d: jnp.argsort(d, 1)[:, :8],
        lambda d: jax.lax.sort((d, jnp.broadcast_to(jnp.arange(64.0), d.shape)), num_keys=1)[1][:, :8],
        lambda d: jax.lax.cond(d[0, 0] < 1e9, lambda d: d + 1, lambda d: d, d).argmin(1),
    ],
    ids=["argmin", "argmax of joined tensors", "top_k", "argsort", "floats by keys", "argmin of a branch's result"],
)
@pytest.mark.parametrize("precision", ["fp16", "fp8", "bf16"])
def test_an_index_is_chosen_by_digits_that_narrow_types_lose(
    choose: Callable[[jax.Array], jax.Array], precision: Any
) -> None:
    generator = np.random.default_rng(0)
    x = np.sign(generator.normal(size=(8, 16))).astype(np.float32)
    codes = np.round(generator.normal(size=(64, 16)) * 8).astype(np.float32) / 2**10  # exact in bf16

    def fun(x: jax.Array, codes: jax.Array) -> jax.Array:
        return choose(_distances(x, codes))

    expected = np.asarray(jax.jit(fun)(x, codes))
    found = np.asarray(sc.scalify(fun, precision=precision)(*sc.as_scaled_array((x, codes))))
    assert np.mean(found == expected) > 0.9


def _softmax(z: jax.Array) -> jax.Array:
    e = jnp.exp(z - jnp.max(z, -1, keepdims=True))
    return e / jnp.sum(e, -1, keepdims=True)


_LABELS = np.eye(16, dtype=np.float32)[np.arange(64) % 16]


_GUARDED: dict[str, Callable[[jax.Array], jax.Array]] = {
    "clipped": lambda z: -jnp.mean(_LABELS * jnp.log(jnp.clip(jax.nn.softmax(3 * z), 1e-7, 1.0))),
    "epsilon": lambda z: -jnp.mean(_LABELS * jnp.log(_softmax(3 * z) + 1e-7)),
    "focal": lambda z: -jnp.mean(_LABELS * (1 - jax.nn.softmax(3 * z)) ** 2 * jnp.log(jax.nn.softmax(3 * z) + 1e-8)),
    "inverse square": lambda z: jnp.mean(jnp.log1p(_LABELS / (z * z + 1e-3))),
}


@pytest.mark.parametrize("loss", _GUARDED.values(), ids=_GUARDED)
@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
def test_divisors_that_a_guard_keeps_from_zero(loss: Callable[[jax.Array], jax.Array], precision: Any) -> None:
    def step(w: jax.Array, v: jax.Array, x: jax.Array) -> Any:
        def of_weights(weights: Any) -> jax.Array:
            return loss(jnp.tanh(x @ weights[0]) @ weights[1])

        value, gradients = jax.value_and_grad(of_weights)((w, v))
        return w - gradients[0], v - gradients[1], value, gradients

    weights = _normal(32, 32) / 6, _normal(32, 16, seed=1) / 2, _normal(64, 32, seed=2)
    expected = jax.tree.leaves(jax.jit(step)(*weights)[3])
    scaled = sc.scalify(step, precision=precision)
    found = jax.tree.leaves(sc.asarray(scaled(*scaled.stored(*sc.as_scaled_array(weights)))[3]))
    for one, other in zip(found, expected, strict=True):
        assert np.linalg.norm(np.asarray(one) - np.asarray(other)) <= 1e-2 * np.linalg.norm(np.asarray(other))


def test_forces_between_near_points_in_a_scan() -> None:
    """The exponent of a gradient's power is computed outside of the loop, which collects that power: was NaN."""
    points, masses = np.random.default_rng(0).normal(size=(8, 4, 2)).astype(np.float32), np.ones(4, np.float32)

    def loss(masses: jax.Array, points: jax.Array) -> jax.Array:
        def move(points: jax.Array, _: None) -> tuple[jax.Array, None]:
            apart = points[:, None] - points[:, :, None]
            inverse = (jnp.sum(apart * apart, -1) + 1e-2) ** -1.5
            return points + 1e-3 * jnp.einsum("bijd,bij,j->bid", apart, inverse, masses), None

        return jnp.mean(jax.lax.scan(move, points, None, length=4)[0] ** 2)

    _check(jax.grad(loss), (masses, points), "fp16")
    _check(jax.grad(loss, 1), (masses, points), "fp16")


def _hyperbolic_distance(x: jax.Array, y: jax.Array) -> jax.Array:
    """Of points next to the rim of the Poincare ball."""
    u, v = (0.9999 * z / jnp.linalg.norm(jax.lax.stop_gradient(z), axis=-1, keepdims=True) for z in (x, y))
    inside = (1 - jnp.sum(u * u, -1)) * (1 - jnp.sum(v * v, -1))
    return jnp.mean(jnp.arccosh(1 + 2 * jnp.sum((u - v) ** 2, -1) / inside))


def _distance_of_neighbours(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean(jnp.arccosh(1 + 1e-4 * jnp.sum((x - y)[:, :5] ** 2, -1)))


def _lorentz_factor(x: jax.Array, y: jax.Array) -> jax.Array:
    """Energies of what is as fast as 0.9999 of light."""
    v = 0.9999 * x / jnp.linalg.norm(jax.lax.stop_gradient(x), axis=-1, keepdims=True)
    return jnp.mean(y[:, 0] / jnp.sqrt(1 - jnp.sum(v * v, -1)))


def _stereographic(x: jax.Array, y: jax.Array) -> jax.Array:
    """From a sphere to a plane, of points next to the pole."""
    z = 1 - 1e-4 * y[:, :1] ** 2
    return jnp.mean(jnp.log1p((x / (1 - z)) ** 2))


def _survival(x: jax.Array, y: jax.Array) -> jax.Array:
    """log(1 - p) of probabilities next to 1."""
    p = 1 - 1e-4 * (x * x + 0.1)
    return jnp.mean(y * jnp.log1p(-p))


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize(
    "fun", [_hyperbolic_distance, _distance_of_neighbours, _lorentz_factor, _stereographic, _survival]
)
def test_differences_from_a_constant_that_make_a_divisor_vanish(fun: Callable[..., jax.Array], precision: str) -> None:
    """All were infinite or NaN in `bf16`, and all but the second and the last in `fp16`."""
    x, y = _normal(32, 8, seed=4), _normal(32, 8, seed=5)
    expected = jax.jit(jax.grad(fun))(x, y)
    found = sc.scalify(jax.grad(fun), precision=precision)(*sc.as_scaled_array((x, y)))
    assert np.linalg.norm(np.asarray(found) - expected) < (2e-3 if precision == "fp16" else 1e-2) * np.linalg.norm(
        expected
    )


@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp8"])
@pytest.mark.parametrize(
    "function",
    [
        lambda z, b: z * jax.nn.relu(jnp.abs(z) + b) / (jnp.abs(z) + 1e-5),  # modReLU
        lambda z, b: jnp.tanh(jnp.abs(jnp.fft.fft(z)) * b),
        lambda z, b: jnp.where(jnp.abs(z) > 1, jnp.abs(z) - b, b * b),
    ],
)
def test_magnitudes_of_complex_numbers_beside_narrow_values(function: Callable[..., jax.Array], precision: str) -> None:
    """The magnitude is f32 whatever it is added to: such programs were refused."""
    x, b = _normal(8, 16), np.full((8, 16), 0.3, np.float32)
    gradient = jax.grad(lambda b, x: jnp.sum(jnp.abs(function(jax.lax.complex(x, -x), jnp.tanh(b) * b)) ** 2))
    found, expected = np.asarray(sc.scalify(gradient, precision=precision)(*sc.as_scaled_array((b, x)))), gradient(b, x)
    np.testing.assert_allclose(found, expected, rtol=4e-2, atol=4e-2 * np.abs(expected).max())
