"""Products cut along their contracting dimensions: the sums over devices, on eight virtual CPU devices."""

import textwrap

import pytest

from tests.frontend.test_devices import run

PROGRAM = """
mesh = jax.make_mesh((2, 2), ("d", "t"), axis_types=(AxisType.Auto,) * 2)
ns = lambda *spec: NamedSharding(mesh, P(*spec))
rng = np.random.default_rng(0)
normal = lambda *shape: np.float32(rng.standard_normal(shape))
def step(w, x):
    def loss(w):
        h = jnp.tanh(x @ w["a"] + x @ w["b"])  # the gradient of a layer before would sum two products
        h = jax.lax.with_sharding_constraint(h, ns("d", "t"))
        y = x + h @ w["c"]
        y = jax.lax.with_sharding_constraint(y, ns("d"))
        return jnp.mean((y @ w["e"]) ** 2)
    value, g = jax.value_and_grad(loss)(w)
    return jax.tree.map(lambda w, g: w - 0.125 * g, w, g), value
w = {"a": normal(32, 64) / 8, "b": normal(32, 64) / 8, "c": normal(64, 32) / 8, "e": normal(32, 16) / 8}
x = normal(64, 32)
specs = {"a": ns(None, "t"), "b": ns(None, "t"), "c": ns("t"), "e": ns("d")}
"""


@pytest.mark.parametrize(("precision", "tolerance"), [(None, 1e-5), ("fp16", 2e-3), ("bf16", 1e-2), ("fp8", 0.1)])
def test_the_step_is_the_one_of_a_single_device(precision, tolerance):
    """Tensor and data parallel at once, one weight sharded as its gradient is to be."""
    run(f"""{textwrap.indent(PROGRAM, "    ")}
    single = sc.scalify(step, precision={precision!r})
    state = single.stored(sc.as_scaled_array(w), sc.as_scaled_array(x))[0]
    expected, value = single(state, sc.as_scaled_array(x))
    sharded = sc.scalify(step, precision={precision!r}, in_shardings=(specs, ns("d")), out_shardings=(specs, ns()))
    text = sharded.lower(state, sc.as_scaled_array(x)).as_text()
    assert text.count("unreduced") >= 3, text.count("unreduced")
    got, again = sharded(state, sc.as_scaled_array(x))
    np.testing.assert_allclose(np.asarray(again), np.asarray(value), rtol={tolerance})
    for name in w:
        change = np.asarray(expected[name], np.float64) - w[name]
        error = np.asarray(got[name], np.float64) - np.asarray(expected[name], np.float64)
        assert got[name].dtype == expected[name].dtype
        assert np.sqrt(np.mean(error**2)) <= {tolerance} * np.sqrt(np.mean(change**2)), name
    """)


def test_what_is_not_partitioned_is_left_alone():
    run("""
    product = sc.scalify(lambda x, y: x @ y, precision="fp16")
    x, y = sc.as_scaled_array(np.ones((8, 16), np.float32)), sc.as_scaled_array(np.ones((16, 8), np.float32))
    assert "sdy." not in product.lower(x, y).as_text()
    """)


def test_an_export_keeps_its_sums():
    """Exported after it was rewritten, and rewritten after it was exported."""
    run("""
    ns = lambda *spec: NamedSharding(mesh, P(*spec))
    function = lambda x, w: jnp.tanh(x @ w + (x * x) @ w)
    x, w = np.float32(np.random.default_rng(1).standard_normal((8, 32))), np.ones((32, 4), np.float32) / 32
    pairs = sc.as_scaled_array((x, w))
    both = ns(None, "i"), ns("i")
    step = sc.scalify(function, in_shardings=both, out_shardings=ns())
    placed = jax.device_put(pairs, sc.scaled_shardings(both, pairs))
    plain = export.export(jax.jit(function, in_shardings=both, out_shardings=ns()))(x, w)
    for exported in (export.export(step._jitted()._jitted(pairs, {}))(*pairs), sc.scalify_exported(plain)):
        assert exported.mlir_module().count("unreduced") >= 3
        y = jax.jit(export.deserialize(exported.serialize()).call)(*placed)
        np.testing.assert_allclose(np.asarray(y), function(x, w), rtol=1e-5, atol=1e-6)
    """)


@pytest.mark.parametrize("size", ["1", "2.0**20"])
def test_parts_are_divided_once(size):
    """What is rounded to f16 twice on its way, or added to what is, is divided by the number of devices once."""
    run(f"""
    rng = np.random.default_rng(0)
    normal = lambda *shape: np.float32(rng.standard_normal(shape))
    x, h, w, v = normal(16, 64) * {size}, normal(16, 128), normal(128, 64) / 8, normal(128, 64)
    cut, whole = NamedSharding(mesh, P("i")), NamedSharding(mesh, P())
    programs = (
        lambda x, h, w, v: x + h @ w,
        lambda x, h, w, v: x * 3 - (h @ w) * 0.3,
        lambda x, h, w, v: x + (h @ w * 5 + h @ v),
        lambda x, h, w, v: (x + h @ w) + h @ v,
        lambda x, h, w, v: x + 3 * (0.1 * (h @ w) + 7 * (h @ v)) + h @ w,
    )
    for program in programs:
        for precision in ("fp16", "fp16 reductions=f32"):
            step = sc.scalify(program, precision=precision, in_shardings=(whole, whole, cut, cut))
            arguments = sc.as_scaled_array((x, h, w, v))
            assert "unreduced" in step.lower(*arguments).as_text()
            got, expected = np.asarray(step(*arguments), np.float32), np.asarray(program(x, h, w, v))
            assert np.abs(got - expected).max() <= 4e-3 * np.abs(expected).max()
    """)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 2e-3), ("fp8", 2e-2)])
def test_gradients_of_embeddings_and_biases(precision, tolerance):
    """Scatters and reductions over rows that are cut: summed where they are rounded, as on one device."""
    run(f"""
    rng = np.random.default_rng(0)
    normal = lambda *shape: np.float32(rng.standard_normal(shape))
    def step(p, tokens):
        def loss(p):
            h = jnp.tanh(p["e"][tokens] @ p["w"] + p["b"])
            return jnp.mean(h**2)
        # Steps of many digits of what f16 stores: of one, a digit that is rounded the other way is all of the change.
        return jax.tree.map(lambda a, g: a - 256 * g, p, jax.grad(loss)(p))
    p = {{"e": normal(64, 32), "w": normal(32, 16) / 5, "b": normal(16)}}
    tokens = rng.integers(0, 64, 256).astype(np.int32)
    single = sc.scalify(step, precision={precision!r})
    state, _ = single.stored(sc.as_scaled_array(p), tokens)
    expected = single(state, tokens)
    for spec in (P(), P("i")):  # data parallel, ZeRO-3
        specs = dict.fromkeys(p, NamedSharding(mesh, spec))
        sharded = sc.scalify(step, precision={precision!r}, in_shardings=(specs, NamedSharding(mesh, P("i"))),
                             out_shardings=specs)
        if spec == P():
            text = sharded.lower(state, tokens).as_text()
            for shape in ("64x32", "16"):
                assert 'unreduced={{"i"}}> : tensor<' + shape + 'xf16>' in text
        got = sharded(state, tokens)
        for name in p:
            change = np.asarray(expected[name], np.float64) - p[name]
            error = np.asarray(got[name], np.float64) - np.asarray(expected[name], np.float64)
            assert np.sqrt(np.mean(error**2)) <= {tolerance} * np.sqrt(np.mean(change**2)), name
    """)


@pytest.mark.parametrize("size", ["1", "2.0**-30", "2.0**30"])
def test_gradients_that_are_not_rounded_are_rounded_for_their_sum(size):
    """A bias, a weight that two layers use, and one that a loop adds up; `reductions=f32` leaves them wide."""
    run(f"""
    rng = np.random.default_rng(0)
    normal = lambda *shape: np.float32(rng.standard_normal(shape))
    def step(p, x):
        def loss(p):
            h = jnp.tanh(jnp.tanh(x @ p["w"] + p["b"]) @ p["w"])
            body = lambda c, _: (jnp.tanh(c * jnp.exp(p["a"])), None)
            return {size} * jnp.mean((jax.lax.scan(body, h, length=3)[0]) ** 2)
        return jax.grad(loss)(p)
    p = {{"w": normal(32, 32) / 5, "b": normal(32), "a": normal(4, 8) / 9}}
    p["a"] = p["a"].reshape(32)
    x = normal(256, 32)
    expected = jax.jit(step)(p, x)
    for precision, element in (("fp16", "f16"), ("bf16", "bf16"), ("fp16 reductions=f32", "f32")):
        cut, whole = NamedSharding(mesh, P("i")), NamedSharding(mesh, P())
        sharded = sc.scalify(step, precision=precision, in_shardings=(whole, cut), out_shardings=whole)
        arguments = sc.as_scaled_array((p, x))
        text = sharded.lower(*arguments).as_text()
        assert ('unreduced={{"i"}}> : tensor<32x' + element + '>' in text) == (element != "f32"), precision
        got = sharded(*arguments)
        for name in p:
            want = np.asarray(expected[name], np.float64)
            error = np.asarray(got[name], np.float64) - want
            assert np.sqrt(np.mean(error**2)) <= 2e-2 * np.sqrt(np.mean(want**2)), (precision, name)
    """)


def test_parts_that_f16_has_not_are_held_at_its_largest_number():
    """What becomes FP8 is summed in f16: sums that FP8 has are right, and larger ones are its largest number."""
    run("""
    from scalify_hlo.bindings import ir
    from scalify_hlo.passes.partial_sums import PartialSums
    from scalify_hlo.bindings import make_context
    from scalify_hlo.execution import xla
    text = '''
    module @step attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
      sdy.mesh @mesh = <["i"=4]>
      func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}) -> tensor<4xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %low = stablehlo.constant dense<-57344.0> : tensor<f32>
        %high = stablehlo.constant dense<57344.0> : tensor<f32>
        %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
            : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
        %held = stablehlo.clamp %low, %sum, %high : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
        %f8 = stablehlo.convert %held : (tensor<4xf32>) -> tensor<4xf8E5M2>
        %y = stablehlo.convert %f8 : (tensor<4xf8E5M2>) -> tensor<4xf32>
        return %y : tensor<4xf32>
      }
    }'''
    big = np.float32(2.0**18)  # f16 has up to 2**16, of which 4 devices sum 2**18
    x = np.zeros((8, 4), np.float32)
    x[0], x[2], x[4], x[6] = [big, big, 1, -big], [3 - big, 0, 2, 0], [0, -big, 3, 0], [0, 0.25, 4, 0]
    with make_context():
        module = ir.Module.parse(text)
        PartialSums().apply(module, [])
        assert "tensor<4xf16>" in str(module)
        (y,) = xla.compile(module)([x])
    np.testing.assert_array_equal(y[1:], [0.25, 10, -57344])
    np.testing.assert_allclose(y[0], 0, atol=128)  # f16's distance of numbers at 2**16, four times
    """)
