"""Several devices: shardings, shard_map with collectives, exports for a mesh. In one process with four CPU devices."""

import textwrap

import pytest

from tests import four_devices

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, scalify_hlo as sc
from jax import export
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
assert jax.device_count() >= 4
mesh = jax.make_mesh((4,), ("i",), axis_types=(AxisType.Auto,), devices=jax.devices()[:4])
X = np.float32(np.random.default_rng(0).standard_normal((8, 16)))
W = np.float32(np.random.default_rng(1).standard_normal((16, 4)))
def pair(x, scale, spec):
    data = jax.device_put(x / np.float32(scale), NamedSharding(mesh, spec))
    return sc.ScaledArray(data, jax.device_put(np.float32(scale), NamedSharding(mesh, P())))
"""


def run(program, devices=4):
    four_devices.run(PRELUDE + textwrap.dedent(program), devices)


def test_sharded_arguments():
    run("""
    def step(w, x):
        gradient = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
        return w - 0.1 * gradient
    x, w = pair(X, 4, P("i")), pair(W, 0.5, P(None, "i"))
    expected = step(W, X)
    for function in (sc.scalify(step), jax.jit(sc.scalify(step))):
        y = function(w, x)
        np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-5, atol=1e-6)
    constrained = sc.scalify(lambda x: jax.lax.with_sharding_constraint(x * 3, NamedSharding(mesh, P(None, "i"))))
    y = constrained(x)
    assert y.data.sharding.spec == P(None, "i")
    np.testing.assert_allclose(np.asarray(y), 3 * X)
    """)


@pytest.mark.parametrize("check_vma", [False, True])
def test_shard_map_inside(check_vma):
    """Each device has the sum over all, whatever its own data are like."""
    run(f"""
    @sc.scalify
    def total(x):
        return jax.shard_map(
            lambda x: jax.lax.psum(jnp.sum(x * x, axis=0), "i"), mesh=mesh, in_specs=P("i"), out_specs=P(),
            check_vma={check_vma},
        )(x)
    y = total(pair(X, 4, P("i")))
    np.testing.assert_allclose(np.asarray(y), np.sum(X * X, axis=0), rtol=1e-5)
    """)


def test_inside_shard_map():
    run("""
    @sc.scalify
    def local(x):
        return jax.lax.psum(jnp.sum(x, axis=0), "i")
    inputs, outputs = sc.ScaledArray(P("i"), P()), sc.ScaledArray(P(), P())
    mapped = jax.shard_map(local, mesh=mesh, in_specs=(inputs,), out_specs=outputs, check_vma=False)
    y = jax.jit(mapped)(pair(X, 4, P("i")))
    np.testing.assert_allclose(np.asarray(y), np.sum(X, axis=0), rtol=1e-5, atol=1e-6)
    """)


def test_export_for_a_mesh():
    run("""
    sharding = NamedSharding(mesh, P("i"))
    function = jax.jit(lambda x: x * 2, in_shardings=sharding, out_shardings=sharding)
    exported = export.export(function)(jax.ShapeDtypeStruct(X.shape, X.dtype))
    scaled = export.deserialize(sc.scalify_exported(exported).serialize())
    assert scaled.nr_devices == 4
    y = jax.jit(scaled.call)(pair(X, 4, P("i")))
    assert y.data.sharding.spec == P("i")
    np.testing.assert_array_equal(np.asarray(y), 2 * X)
    """)


def test_packed_scales_are_on_all_devices():
    run("""
    def step(state, x, y):
        def loss(w):
            return jnp.mean((jnp.tanh(x @ w["in"]) @ w["out"] - y) ** 2)
        value, gradients = jax.value_and_grad(loss)(state["w"])
        moments = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], gradients)
        return {"w": jax.tree.map(lambda w, m: w - 0.1 * m, state["w"], moments), "m": moments}, value

    by_row = NamedSharding(mesh, P("i"))
    weights = {"in": np.ones((8, 16), np.float32), "out": np.ones((16, 4), np.float32)}
    state = jax.device_put({"w": weights, "m": jax.tree.map(np.zeros_like, weights)}, by_row)
    batch = jax.device_put((np.ones((8, 8), np.float32), np.ones((8, 4), np.float32)), by_row)
    scaled = sc.scalify_exported(jax.export.export(jax.jit(step))(state, *batch))
    packed = jax.export.deserialize(sc.pack_exported(scaled).serialize())
    pairs = sc.as_scaled_array((state, *batch))
    (state, *data), scales = sc.pack_scales(pairs)
    want, batch = pairs[0], pairs[1:]
    for _ in range(2):
        want, loss = jax.jit(scaled.call)(want, *batch)
        (state, same), scales = jax.jit(packed.call)(state, *data, scales)
        np.testing.assert_array_equal(np.asarray(same), np.asarray(loss))
    assert scales.sharding.is_fully_replicated and len(scales.sharding.device_set) == 4
    assert state["w"]["in"].sharding.is_equivalent_to(by_row, 2)
    """)


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_explicit_sharding_mode(precision):
    """JAX puts a sharding constraint behind every operation: the step is the one without a mesh."""
    run(f"""
    def step(w, v, x):
        def loss(w):
            h = x @ w
            h = (h - jnp.mean(h, -1, keepdims=True)) * jax.lax.rsqrt(jnp.var(h, -1, keepdims=True) + 1e-5)
            return jnp.mean(jnp.tanh(h) ** 2)
        g = jax.grad(loss)(w)
        v = 0.999 * v + 0.001 * g * g
        return w - 1e-3 * g / (jnp.sqrt(v) + 1e-8), v
    mesh = jax.make_mesh((4,), ("i",), axis_types=(AxisType.Explicit,))
    arrays = sc.as_scaled_array((W, np.float32(1e-6) * W**2, X))
    single = sc.scalify(step, precision={precision!r})
    arrays = single.stored(*arrays)
    expected = single(*arrays)
    with jax.set_mesh(mesh):
        put = lambda a, *spec: sc.ScaledArray(jax.device_put(a.data, NamedSharding(mesh, P(*spec))),
                                              jax.device_put(a.scale, NamedSharding(mesh, P())))
        w, v, x = put(arrays[0]), put(arrays[1]), put(arrays[2], "i")
        step_on_mesh = sc.scalify(step, precision={precision!r})
        assert [a.dtype for a in jax.tree.leaves(step_on_mesh.stored(w, v, x))] == [
            a.dtype for a in jax.tree.leaves(arrays)]
        got = step_on_mesh(w, v, x)
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype and float(a.scale) == float(b.scale)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-3, atol=1e-9)
    """)


SHARD_MAP = """
def local(p, m, x):
    def loss(p):
        return jnp.mean(jnp.square(x[:, :16] + jnp.tanh(jnp.tanh(x) @ p[0]) @ p[1]))
    value, g = jax.value_and_grad(loss)(p)
    g = jax.lax.pmean(g, "i")
    m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]
    return [a - 0.1 * b for a, b in zip(p, m)], m, jax.lax.pmean(value, "i")
p = [W @ W.T / 4, W @ W.T / 8]
m = [np.float32(1e-3) * a for a in p]
x = np.float32(np.random.default_rng(2).standard_normal((64, 16)))
def whole(p, m, x):
    specs = P(), P(), P("i")
    return jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=P(), check_vma=False)(p, m, x)
expected = jax.jit(whole)(p, m, x)
def check(got, tolerance):
    for a, b in zip(jax.tree.leaves(got, is_leaf=lambda a: isinstance(a, sc.ScaledArray)), jax.tree.leaves(expected)):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        assert np.sqrt(np.mean((a - b) ** 2)) <= tolerance * np.sqrt(np.mean(b**2)), (a, b)
"""
TOLERANCES = {"fp16": 2e-3, "fp8": 0.1}


@pytest.mark.parametrize("precision", TOLERANCES)
def test_a_preset_around_shard_map(precision):
    run(f"""{textwrap.indent(SHARD_MAP, "    ")}
    step = sc.scalify(whole, precision={precision!r})
    stored = step.stored(*sc.as_scaled_array((p, m, x)))
    assert stored[0][0].dtype == {"jnp.float16" if precision == "fp8" else "jnp.float32"}
    assert [leaf.dtype for leaf in jax.tree.leaves(step(*stored)[:2])] == [
        leaf.dtype for leaf in jax.tree.leaves(stored[:2])]
    check(step(*stored), {TOLERANCES[precision]})
    text = step.lower(*stored).as_text()
    assert ("f8E4M3FN" in text) == {precision == "fp8"}
    """)


@pytest.mark.parametrize("check_vma", [False, True])
@pytest.mark.parametrize("precision", TOLERANCES)
def test_a_preset_inside_shard_map(precision, check_vma):
    """No collective for scales, which enter equal, but for the statistics that rescale gradients."""
    run(f"""{textwrap.indent(SHARD_MAP, "    ")}
    both = lambda spec: sc.ScaledArray(spec, P())
    step = sc.scalify(local, precision={precision!r})
    state = [both(P())] * 2
    mapped = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(state, state, both(P("i"))),
                                   out_specs=(state, state, both(P())), check_vma={check_vma}))
    # With check_vma, JAX itself sums gradients of what is the same everywhere.
    plain = jax.shard_map(local, mesh=mesh, in_specs=(P(), P(), P("i")), out_specs=P(), check_vma={check_vma})
    expected = jax.jit(plain)(p, m, x)
    stored = sc.scalify(whole, precision={precision!r}).stored(*sc.as_scaled_array((p, m, x)))
    check(mapped(*stored), {TOLERANCES[precision]})
    """)


def test_scales_that_differ_leave_shard_map_as_their_maximum():
    """Whether they leave scalify inside of shard_map, or shard_map inside of scalify."""
    run("""
    rows = sc.ScaledArray((np.ones((4, 4)) * 2.0 ** np.arange(4)[:, None]).astype(np.float16), np.float32(1))
    local = sc.scalify(lambda x: sc.ops.dynamic_rescale_max(x) * 1.0)
    both = sc.ScaledArray(P("i"), P())
    for check_vma in (False, True):
        mapped = jax.shard_map(local, mesh=mesh, in_specs=(both,), out_specs=both, check_vma=check_vma)
        y = jax.jit(mapped)(rows)
        np.testing.assert_array_equal(np.asarray(y), np.asarray(rows))
        assert float(y.scale) == 8
        twice = jax.shard_map(lambda x: local(local(x)), mesh=mesh, in_specs=(both,), out_specs=both,
                              check_vma=check_vma)
        np.testing.assert_array_equal(np.asarray(jax.jit(twice)(rows)), np.asarray(rows))
    whole = sc.scalify(lambda x: jax.shard_map(lambda x: sc.ops.dynamic_rescale_max(x) * 1.0, mesh=mesh,
                                               in_specs=P("i"), out_specs=P("i"))(x))
    np.testing.assert_array_equal(np.asarray(whole(rows)), np.asarray(rows))
    """)


def test_no_collective_for_equal_scales():
    run("""
    count = lambda text: [text.count(f"stablehlo.{name}") for name in ("all_reduce", "collective_permute")]
    inner = jax.jit(lambda x: jnp.sum(x + 1.0, axis=0))
    def ring(x):
        def body(c, _):
            return (jax.lax.ppermute(c[0], "i", [(k, (k + 1) % 4) for k in range(4)]), c[1] + c[0]), None
        return jax.lax.scan(body, (x, x * 0.0), None, length=4)[0][1]
    programs = (
        (lambda x: jax.lax.psum(jnp.sum(x + 1.0, axis=0), "i"), P()),
        (lambda x: jax.lax.psum(inner(x), "i"), P()),
        (lambda x: jax.lax.psum(jax.lax.psum(x + 1.0, "i") + x, "i"), P()),
        (ring, P("i")),
    )
    for local, spec in programs:
        mapped = lambda x: jax.shard_map(local, mesh=mesh, in_specs=P("i"), out_specs=spec, check_vma=False)(x)
        original = count(jax.jit(mapped).lower(X).as_text())
        x = sc.as_scaled_array(X)
        assert count(sc.scalify(mapped).lower(x).as_text()) == original
        both = lambda spec: sc.ScaledArray(spec, P())
        for typed in (False, True):
            inside = jax.shard_map(sc.scalify(local), mesh=mesh, in_specs=(both(P("i")),), out_specs=both(spec),
                                   check_vma=typed)
            # From jax 0.12 on such a call is lowered as a function of its own: types alone tell of its arguments.
            if typed or tuple(map(int, jax.__version__.split(".")[:2])) < (0, 12):
                assert count(jax.jit(inside).lower(x).as_text()) == original
        np.testing.assert_allclose(np.asarray(jax.jit(inside)(x)), np.asarray(jax.jit(mapped)(X)), rtol=1e-5, atol=1e-5)
    """)


def test_shard_map_in_gspmd_form():
    run("""
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax.config.update("jax_use_shardy_partitioner", False)
        for local in (lambda x: x * x, lambda x: x + x * x, jax.nn.relu, lambda x: jax.lax.psum(x, "i")):
            mapped = lambda x: jax.shard_map(local, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False)(x)
            y = sc.scalify(mapped)(sc.as_scaled_array(X))
            np.testing.assert_allclose(np.asarray(y), np.asarray(jax.jit(mapped)(X)), rtol=1e-6, atol=1e-6)
    """)


def test_trees_of_shardings_fit_scaled_arrays():
    run("""
    tree = {"w": NamedSharding(mesh, P("i")), "b": NamedSharding(mesh, P())}
    state = sc.as_scaled_array({"w": np.ones((16, 4), np.float32), "b": np.ones(4, np.float32)})
    both = sc.scaled_shardings(tree, state)
    placed = jax.device_put(state, both)
    assert placed["w"].data.sharding.spec == P("i") and placed["w"].scale.sharding.spec == P()
    constrained = jax.jit(lambda s: jax.lax.with_sharding_constraint(s, both))(state)
    assert constrained["w"].data.sharding.spec == P("i")
    rows = sc.ScaledArray(np.ones((16, 4), np.float32), np.ones((16, 1), np.float32))
    assert sc.scaled_shardings(tree["w"], rows).scale.spec == P("i", None)
    columns = sc.ScaledArray(np.ones((16, 4), np.float32), np.ones((1, 4), np.float32))
    assert sc.scaled_shardings(P("i"), columns).scale == P(None, None)
    step = sc.scalify(lambda s, x: (jax.tree.map(lambda a: a * x, s), x + 1), in_shardings=(tree, None),
                      out_shardings=(tree, None))
    new, _ = step(state, np.float32(3))
    assert new["w"].data.sharding.spec == P("i") and new["w"].scale.sharding.is_fully_replicated
    np.testing.assert_array_equal(np.asarray(new["w"]), 3 * np.ones((16, 4)))
    assert 'sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>' in step.lower(state, np.float32(3)).as_text()
    """)


@pytest.mark.parametrize("count", [4, 8])
@pytest.mark.parametrize("collective", ["psum", "psum_scatter"])
def test_sums_over_devices_in_f16_cannot_overflow(collective, count):
    """All devices hold the largest number of one sign: without the division before the sum it would be infinite."""
    run(
        f"""
    mesh = jax.make_mesh(({count},), ("i",), axis_types=(AxisType.Auto,), devices=jax.devices()[:{count}])
    options = dict(scatter_dimension=0, tiled=True) if {collective!r} == "psum_scatter" else dict()
    local = lambda x: jax.lax.{collective}(x, "i", **options)
    mapped = lambda x: jax.shard_map(local, mesh=mesh, in_specs=P(), out_specs=P("i"), check_vma=False)(x)
    x = sc.ScaledArray(np.full((8, 4), 65504, np.float16), np.float32(2.0**-3))
    y = sc.scalify(mapped)(x)
    assert y.data.dtype == jnp.float16 and np.isfinite(np.asarray(y.data)).all()
    np.testing.assert_array_equal(np.asarray(y, np.float32), np.float32(65504 / 8 * {count}))
    """,
        devices=8,
    )


@pytest.mark.parametrize(("precision", "element"), [("fp16", "f16"), ("fp16 reductions=f32", "f32"), ("bf16", "bf16")])
def test_sums_over_devices_have_the_type_of_the_policy(precision, element):
    run(f"""{textwrap.indent(SHARD_MAP, "    ")}
    import re
    text = sc.scalify(whole, precision={precision!r}).lower(*sc.as_scaled_array((p, m, x))).as_text()
    found = re.findall(r"stablehlo.all_reduce.*?[}}][)] : [(]tensor<16x16x([a-z0-9]+)>", text, re.DOTALL)
    assert found == [{element!r}] * 2, found
    """)


@pytest.mark.parametrize(("precision", "element"), [("fp16", "f16"), ("fp16 gathers=f32", "f32"), ("bf16", "bf16")])
def test_what_is_gathered_has_the_type_of_the_policy(precision, element):
    run(f"""
    import re
    def local(w, x):
        def loss(w):
            h = jnp.tanh(x @ jax.lax.all_gather(w, "i", tiled=True))
            return jnp.mean(jax.lax.ppermute(h, "i", [(k, (k + 1) % 4) for k in range(4)]) ** 2)
        return w - jax.grad(loss)(w)
    whole = jax.shard_map(local, mesh=mesh, in_specs=(P("i"), P("i")), out_specs=P("i"), check_vma=False)
    w, x = (np.float32(np.random.default_rng(0).standard_normal((16, 16))) for _ in range(2))
    step = sc.scalify(whole, precision={precision!r})
    text = step.lower(*sc.as_scaled_array((w, x))).as_text()
    found = re.findall(r"stablehlo.(?:all_gather|collective_permute).*? : .*-> tensor<[0-9x]*([a-z0-9]+)>", text)
    assert len(found) == 3 and set(found) == {{ {element!r} }}, found
    got = step(*sc.as_scaled_array((w, x)))
    np.testing.assert_allclose(np.asarray(got), np.asarray(whole(w, x)), atol=2e-2)
    """)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_rows_of_a_table_that_is_cut_are_those_of_one_that_is_not(precision):
    run(f"""
    import re
    def step(p, tokens):
        loss = lambda p: jnp.mean(jnp.tanh(p["e"][tokens] @ p["w"]) ** 2)
        value, g = jax.value_and_grad(loss)(p)
        return jax.tree.map(lambda w, g: w - g, p, g), value
    rng = np.random.default_rng(0)
    p = {{"e": np.float32(rng.standard_normal((32, 16))), "w": np.float32(rng.standard_normal((16, 16)))}}
    tokens = np.arange(16, dtype=np.int32) * 5 % 32
    losses = []
    for spec in (P(), P("i")):
        cut = NamedSharding(mesh, spec)
        scaled = sc.as_scaled_array(p)
        scaled = jax.device_put(scaled, sc.scaled_shardings(cut, scaled))
        given = jax.device_put(tokens, NamedSharding(mesh, P("i")))
        narrow = sc.scalify(step, precision={precision!r})
        losses.append(np.asarray(narrow(scaled, given)[1]))
        wide = re.search(r"stablehlo.gather.*-> tensor<16x16xf32>", narrow.lower(scaled, given).as_text())
        assert bool(wide) == (spec == P())
    np.testing.assert_allclose(*losses, rtol=1e-6)
    """)


def test_a_scale_for_each_row_is_sharded_with_the_rows():
    run("""
    sharding = NamedSharding(mesh, P("i"))
    function = jax.jit(lambda x: x * 2, in_shardings=sharding, out_shardings=sharding)
    exported = export.export(function)(jax.ShapeDtypeStruct((16, 8), np.float32))
    rows = sc.scalify_exported(exported, scale_shapes=lambda name, aval: (16, 1))
    for avals, shardings in ((rows.in_avals, rows._in_named_shardings), (rows.out_avals, rows._out_named_shardings)):
        assert [a.shape for a in avals] == [(16, 8), (16, 1)]
        assert [s.spec[0] for s in shardings] == ["i", "i"]
    assert rows.mlir_module().count('[{"i"}, {}]>') == 4
    x = sc.ScaledArray(jax.device_put(np.ones((16, 8), np.float32), sharding),
                       jax.device_put(np.full((16, 1), 2, np.float32), sharding))
    y = jax.jit(export.deserialize(rows.serialize()).call)(x)
    np.testing.assert_array_equal(np.asarray(y), 4 * np.ones((16, 8)))
    """)


@pytest.mark.parametrize("precision", [None, "fp16"])
def test_pmap(precision):
    run(f"""
    import warnings
    warnings.simplefilter("ignore")
    local = lambda w, x: jax.lax.pmean(jnp.tanh(x @ w), "i")
    rows = np.float32(np.random.default_rng(3).standard_normal((4, 8, 16)))
    mapped = jax.pmap(local, axis_name="i", in_axes=(None, 0))
    y = sc.scalify(mapped, precision={precision!r})(*sc.as_scaled_array((W, rows)))
    np.testing.assert_allclose(np.asarray(y), np.asarray(mapped(W, rows)), atol={1e-6 if precision is None else 2e-3})
    """)


def test_shardings_that_do_not_fit_are_refused():
    """An axis that the mesh has not, a scale that the sharding cuts, a mesh of another size."""
    run("""
    import pytest
    x = sc.as_scaled_array(X)
    with pytest.raises(ValueError, match="j.*not found in mesh"):
        sc.scalify(lambda x: x * 2, in_shardings=(NamedSharding(mesh, P("j")),))(x)
    sharding = NamedSharding(mesh, P("i"))
    function = jax.jit(lambda x: x * 2, in_shardings=sharding, out_shardings=sharding)
    exported = export.export(function)(jax.ShapeDtypeStruct((8, 16), np.float32))
    with pytest.raises(sc.ScalifyError, match=r"scale of shape .2, 1. does not belong to data of shape .8, 16."):
        sc.scalify_exported(exported, scale_shapes=lambda name, aval: (2, 1))
    two = jax.make_mesh((2,), ("i",), axis_types=(AxisType.Auto,), devices=jax.devices()[:2])
    placed = jax.device_put(x, sc.scaled_shardings(NamedSharding(two, P("i")), x))
    with pytest.raises(ValueError, match="exported for 4 devices"):
        jax.jit(sc.scalify_exported(exported).call)(placed)
    message = r"^scalify: in_shardings.0..data: the mesh has 4 devices, and the array lies on 2 devices: .*$"
    with pytest.raises(ValueError, match=message):
        sc.scalify(lambda x: x * 2, in_shardings=(sharding,))(placed)
    for shape in ((2, 1), (8,)):
        wrong = {"w": sc.ScaledArray(np.ones((8, 16), np.float32), np.ones(shape, np.float32))}
        message = rf"^scalify: shardings: .'w'.: a scale of shape .{', '.join(map(str, shape))}.*does not belong to .*$"
        with pytest.raises(ValueError, match=message):
            sc.scaled_shardings(sharding, wrong)
    rows = sc.ScaledArray(np.ones((8, 16), np.float32), np.ones((8, 1), np.float32))
    with pytest.raises(ValueError, match="only valid for values of rank at least 3"):
        jax.device_put(rows, sc.scaled_shardings(NamedSharding(mesh, P("i", None, None)), rows))
    """)


def test_trees_of_shardings_that_do_not_fit_are_refused_in_one_line():
    run("""
    import pytest
    cut = NamedSharding(mesh, P("i"))
    p, x = sc.as_scaled_array(({"a": X, "b": X}, X))
    step = lambda p, x: jax.tree.map(lambda w: w - jnp.mean(x), p)
    cases = (
        (dict(in_shardings=({"a": cut}, cut)), r"in_shardings: nothing for the array at .0..'b'.: known are .*, .1."),
        (dict(in_shardings=(cut, cut, cut)), r"in_shardings.2.: there is no such array: known are .0..'a'., .*"),
        (dict(in_shardings=({"a": cut, "z": cut}, cut)), r"in_shardings.0..'z'.: there is no such array: .*"),
        (dict(out_shardings={"a": cut, "z": cut}), r"out_shardings.'z'.: there is no such array: .* .'a'., .'b'."),
        (dict(in_shardings=(cut, "i")), r"in_shardings.1.: 'i' is no sharding: .*"),
    )
    for given, message in cases:
        with pytest.raises(ValueError, match="^scalify: " + message + "$"):
            sc.scalify(step, **given)(p, x)
    with pytest.raises(ValueError, match="^scalify: shardings.'z'.: there is no such array: .*$"):
        sc.scaled_shardings({"a": cut, "b": cut, "z": cut}, p)
    """)


def test_shardings_are_seen_through_a_function_around():
    """Of a transformed function that is called inside of `jax.jit`; and two such calls are one function."""
    run("""
    def step(w, x):
        return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    x, w = pair(X, 1, P("i")), pair(W, 1, P())
    scaled = sc.scalify(step, precision="fp16")
    alone = scaled.lower(w, x).as_text()
    around = jax.jit(lambda w, x: scaled(scaled(w, x), x)).lower(w, x).as_text()
    assert alone.count("unreduced") and around.count("unreduced") >= alone.count("unreduced")
    square = sc.scalify(jnp.square)
    twice = jax.jit(lambda x, y: (square(x), square(y))).lower(x, x).as_text()
    assert twice.count("call @scalify_square(") == 2 and twice.count("private @scalify_square") == 1
    """)


def test_arrays_over_explicit_axes_in_a_precision_that_stores_f16():
    """What is stored in which type is found by lowering the step, which asked for a mesh that nobody had entered."""
    run("""
    mesh = jax.make_mesh((4,), ("i",), axis_types=(AxisType.Explicit,), devices=jax.devices()[:4])
    def step(w, x):
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
        return w - 0.1 * gradient, loss
    x, w = pair(X, 1, P("i")), pair(W, 1, P())
    expected = jax.jit(step)(W, X)
    for precision in ("fp16-state", "fp8-fp16-state"):
        scaled = sc.scalify(step, precision=precision)
        new, loss = scaled(*scaled.stored(w, x))
        assert new.dtype == np.float16
        np.testing.assert_allclose(np.asarray(loss), expected[1], rtol=2e-2)
    """)
