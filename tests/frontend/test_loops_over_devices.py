"""Scales in loops and branches of per-device code: a collective only where they differ between devices."""

import pytest

from tests.frontend.test_devices import run

COUNTED = """
import re
from jax import lax
def collectives(lowered):
    found = re.findall(" (all-reduce|all-gather|collective-permute|all-to-all)[(]", lowered.compile().as_text())
    return sorted(found)
def compare(f, values, specs, out, more=0, inside=0):
    plain = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=out, check_vma=False))
    whole = sc.scalify(jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=out, check_vma=False))
    floats = [np.issubdtype(v.dtype, np.floating) for v in values]
    given = [
        sc.ScaledArray(v / np.float32(2.0**k), np.float32(2.0**k)) if scaled else v
        for k, (v, scaled) in enumerate(zip(values, floats, strict=True), 3)
    ]
    wanted = collectives(plain.lower(*values))
    got = collectives(whole.lower(*given))
    assert len(got) == len(wanted) + more, (wanted, got)
    pairs = [sc.ScaledArray(spec, P()) if scaled else spec for spec, scaled in zip(specs, floats, strict=True)]
    results = jax.tree.map(lambda spec: sc.ScaledArray(spec, P()), out, is_leaf=lambda s: isinstance(s, P))
    inner = jax.jit(jax.shard_map(sc.scalify(f), mesh=mesh, in_specs=tuple(pairs), out_specs=results, check_vma=False))
    for function in (whole, inner):
        for x, y in zip(jax.tree.leaves(plain(*values)), sc.tree.leaves(function(*given)), strict=True):
            np.testing.assert_allclose(np.asarray(y), np.asarray(x), rtol=1e-5, atol=1e-6)
    again = collectives(inner.lower(*given))
    assert len(again) == len(wanted) + more + inside, (wanted, again)
r = np.random.default_rng(0)
A, v, u = (np.float32(r.standard_normal(shape)) for shape in ((16, 16), 16, (64, 3)))
"""

SAME = {
    "a stencil": """
    ring = [(i, (i + 1) % 4) for i in range(4)]
    def f(u):
        def iteration(_, u):
            left, right = lax.ppermute(u[-1:], "i", ring), lax.ppermute(u[:1], "i", [(b, a) for a, b in ring])
            around = jnp.concatenate([left, u, right])
            return u + 0.2 * (around[2:] - 2 * u + around[:-2])
        return lax.fori_loop(0, 5, iteration, u)
    compare(f, (u,), (P("i"),), P("i"))
    """,
    "power iteration": """
    def f(a, v):
        def iteration(v, _):
            w = lax.all_gather(a @ v, "i", tiled=True)
            return w / jnp.linalg.norm(w), None
        return lax.scan(iteration, v, length=4)[0]
    compare(f, (A @ A.T, v), (P("i"), P()), P())
    """,
    "conjugate gradients": """
    def f(a, b):
        dot = lambda u, v: lax.psum(u @ v, "i")
        def iteration(s):
            x, r, p, rs = s
            ap = a @ lax.all_gather(p, "i", tiled=True)
            alpha = rs / dot(p, ap)
            r = r - alpha * ap
            new = dot(r, r)
            return x + alpha * p, r, r + new / rs * p, new
        return lax.while_loop(lambda s: s[3] > 1e-3, iteration, (jnp.zeros_like(b), b, b, dot(b, b)))[0]
    compare(f, (A @ A.T + 9 * np.eye(16, dtype="f"), v), (P("i"), P("i")), P("i"))
    """,
    "a branch that all devices take": """
    def f(w, t, x):
        gradient = lax.pmean(jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w), "i")
        return lax.cond(t[0] % 2 == 0, lambda: w - 0.1 * gradient, lambda: w)
    compare(f, (A, np.zeros(1, np.int32), A), (P(), P(), P("i")), P(), inside=1)  # inside nobody knows that t is
    """,
}


@pytest.mark.parametrize("program", SAME.values(), ids=SAME.keys())
def test_a_scale_that_a_loop_carries_costs_no_collective(program):
    """While its body was rewritten nothing was known of what it returns, and a maximum was taken in every iteration."""
    run(COUNTED + program.replace("\n    ", "\n"))


def test_a_scale_that_is_measured_on_each_device_is_brought_to_the_largest():
    """It is the same on all devices before the loop only."""
    run(
        COUNTED
        + """
def f(v):
    i = lax.axis_index("i")
    def iteration(v, _):
        total = lax.psum(v, "i")
        return sc.ops.dynamic_rescale_max(jnp.sin(v) * jnp.exp2(4.0 * i)), total
    return lax.scan(iteration, v, length=4)[1]
compare(f, (v,), (P("i"),), P(), more=1)
"""
    )
