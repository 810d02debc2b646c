"""A step over several devices moves what its export moves, whichever door it came through."""

import pytest

from tests.frontend.test_devices import run


@pytest.mark.parametrize("precision", ["fp16", "fp16-state", "fp8", "fp8-fp16-state"])
def test_a_step_gathers_no_weights(precision: str):
    """Megatron: weights cut by columns and by rows. For a table with samples of all weights they were gathered, because
    the module did not say that it is partitioned."""
    run(f"""
    import re
    ns = lambda *spec: NamedSharding(mesh, P(*spec))
    normal = lambda seed: np.float32(np.random.default_rng(seed).standard_normal((64, 64)) / 8)
    weights, x = {{"a": normal(0), "b": normal(1), "c": normal(2)}}, normal(3)
    def step(p, x):
        def loss(p):
            return jnp.mean((jax.nn.gelu(jax.nn.gelu(x @ p["a"]) @ p["b"]) @ p["c"] - jnp.sin(x)) ** 2)
        value, gradients = jax.value_and_grad(loss)(p)
        return jax.tree.map(lambda v, g: v - 0.1 * g, p, gradients), value
    specs = {{"a": ns(None, "i"), "b": ns("i"), "c": ns()}}
    def moved(lowered):
        pattern = r"= [^=]*?\\w\\d+\\[([\\d,]*)\\][^=]*? (all-\\w+|collective-permute)\\("
        found = re.findall(pattern, lowered.compile().as_text())
        return [kind for _, kind in found], sum(int(np.prod([int(n) for n in d.split(",") if n])) for d, _ in found)
    kinds, elements = moved(jax.jit(step, in_shardings=(specs, ns()), out_shardings=(specs, ns())).lower(weights, x))
    scaled = sc.scalify(step, precision={precision!r}, in_shardings=(specs, ns()), out_shardings=(specs, ns()))
    given = scaled.stored(*sc.as_scaled_array((weights, x)))
    got, most = moved(scaled.lower(*given))
    assert set(kinds) == set(got) == {{"all-reduce"}}, (kinds, got)
    assert most <= elements + 16, (elements, most)
    (new, value), (wanted, expected) = scaled(*given), step(weights, x)
    np.testing.assert_allclose(np.asarray(value), expected, rtol=0.1 if "fp8" in {precision!r} else 5e-3)
    assert new["a"].data.sharding.spec == P(None, "i")
    """)


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("precision", ["fp16-state", "fp8"])
def test_state_is_stored_alike_inside_and_outside_of_shard_map(precision: str, check: bool):
    """A mean over devices of a gradient is one: its parameters were taken for statistics, and stayed f32."""
    run(f"""
    def step(w, x):
        local = jax.lax.pcast(w, ("i",), to="varying") if {check} else w
        gradient = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - 0.1) ** 2))(local)
        return w - 0.1 * jax.lax.pmean(gradient, "i")
    w, x = sc.as_scaled_array((W, X))
    scaled = sc.scalify(step, precision={precision!r})
    pair = sc.ScaledArray(P("i"), P())
    inside = jax.jit(jax.shard_map(scaled, mesh=mesh, in_specs=(P(), pair), out_specs=P(), check_vma={check}))
    outside = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("i")), out_specs=P(), check_vma={check})
    outside = sc.scalify(outside, precision={precision!r})
    assert inside(w, x).dtype == outside(w, x).dtype == np.float16
    """)
