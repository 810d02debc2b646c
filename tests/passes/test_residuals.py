"""`scalify-cast`: loops that end by a residual take as many iterations as in f32."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import scalify_hlo as sc
from scalify_hlo import budget

GENERATOR = np.random.default_rng(0)
X, Y = np.float32(GENERATOR.standard_normal((2, 48, 8)))
W = np.float32(GENERATOR.standard_normal((8, 8)) * 0.2)
MOST = 300


def fixed_point(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A deep equilibrium layer, whose condition computes the residual."""

    def again(carried: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        _, z, count = carried
        return z, jnp.tanh(z @ w + x), count + 1

    def is_far(carried: tuple[jax.Array, ...]) -> jax.Array:
        before, now, count = carried
        return (jnp.linalg.norm(now - before) > 1e-5 * jnp.linalg.norm(now)) & (count < MOST)

    _, z, count = lax.stop_gradient(lax.while_loop(is_far, again, (jnp.zeros_like(x), jnp.tanh(x), 0)))
    return jnp.tanh(z @ w + x), count


def transport(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Sinkhorn's iteration between two clouds of points until the potentials stay."""
    cost = jnp.sum(((x @ w)[:, None, :2] - Y[None, :, :2]) ** 2, -1)

    def again(carried: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        f, g, _, count = carried
        new = -0.1 * jax.nn.logsumexp((g - cost) / 0.1, 1)
        g = -0.1 * jax.nn.logsumexp((new[:, None] - cost) / 0.1, 0)
        return new, g, jnp.max(jnp.abs(new - f)), count + 1

    start = jnp.zeros(len(x)), jnp.zeros(len(Y)), jnp.float32(1), 0
    f, g, _, count = lax.while_loop(lambda c: (c[2] > 1e-4) & (c[3] < MOST), again, start)
    plan = lax.stop_gradient(jnp.exp((f[:, None] + g - cost) / 0.1))
    return jnp.sum(plan * cost) / len(x), count


def relaxations(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Each row until its own residual is small, which a flag tells that the loop carries."""

    def solved(row: jax.Array) -> tuple[jax.Array, jax.Array]:
        def again(carried: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            z, _, count = carried
            residual = z - 0.9 * jnp.tanh(w @ z) - row
            return z - 0.5 * residual, jnp.sum(residual**2) < 1e-10, count + 1

        start = jnp.zeros_like(row), jnp.bool_(False), 0
        z, _, count = lax.stop_gradient(lax.while_loop(lambda c: ~c[1] & (c[2] < MOST), again, start))
        return row + 0.9 * jnp.tanh(w @ z), count

    z, counts = jax.vmap(solved)(x)
    return z, jnp.max(counts)


@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp8"])
@pytest.mark.parametrize("iterated", [fixed_point, transport, relaxations])
def test_loops_end_after_as_many_iterations_as_in_f32(
    iterated: Callable[..., Any], precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With weights that are stored in 16 bits. The first and the last never end if what they carry is; in the other one
    it is not."""

    def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(w: jax.Array) -> tuple[jax.Array, jax.Array]:
            result, count = iterated(w, x)
            return jnp.mean(result**2), count

        gradient, count = jax.grad(loss, has_aux=True)(w)
        return w - 0.01 * gradient, count

    wanted, count = jax.jit(step)(W, X)

    def run() -> tuple[Any, int]:
        anew = functools.partial(step)  # a function is compiled once
        found, taken = sc.scalify(anew, precision=precision)(*sc.as_scaled_array((W, X)))
        return np.asarray(found), int(np.asarray(taken))

    found, taken = run()
    assert abs(taken - int(count)) <= 3 < count < MOST / 2
    assert np.linalg.norm(found - wanted) < 0.01 * np.linalg.norm(wanted)
    monkeypatch.setattr(budget, "TOLERANCE", 0.0)
    assert (abs(run()[1] - int(count)) > 3) == (iterated is not transport)
