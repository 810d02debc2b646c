"""scalify(fun): structures, options of jit, nesting in JAX's transformations, errors."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import scalify_hlo as sc
from scalify_hlo import ScaledArray
from scalify_hlo.frontend.scaled_array import check_scale_shape

RNG = np.random.default_rng(0)
X = np.float32([[1, -2, 3], [4, 5, -6]])


def scaled(x=X, scale=4.0):
    return ScaledArray(np.asarray(x) / np.asarray(scale, x.dtype), np.float32(scale))


def same(actual, expected):
    jax.tree.map(lambda a, e: np.testing.assert_array_equal(np.asarray(a), e), actual, expected,
                 is_leaf=lambda v: isinstance(v, ScaledArray))  # fmt: skip


# --- what is scaled ---------------------------------------------------------------------------------------------


def test_complete_training_step():
    """Three lines of a training loop: see the tree go through and the numbers stay."""

    def loss(params, x, y):
        hidden = jnp.tanh(x @ params["w"] + params["b"])
        return jnp.mean((hidden - y) ** 2)

    def step(state, x, y):
        value, grads = jax.value_and_grad(loss)(state["params"], x, y)
        params = jax.tree.map(lambda p, g: p - 0.5 * g, state["params"], grads)
        return {"params": params, "count": state["count"] + 1}, value

    state = {
        "params": {"w": np.float32(RNG.standard_normal((3, 4))), "b": np.zeros(4, np.float32)},
        "count": np.int32(0),
    }
    y = np.float32(RNG.standard_normal((2, 4)))
    expected_state, expected_value = step(state, X, y)
    new_state, value = sc.scalify(step)(sc.as_scaled_array(state), sc.as_scaled_array(X), sc.as_scaled_array(y))
    assert isinstance(new_state["params"]["w"], ScaledArray) and isinstance(new_state["count"], jax.Array)
    np.testing.assert_allclose(np.asarray(value), expected_value, rtol=1e-6)
    for name in ("w", "b"):
        actual = np.asarray(new_state["params"][name])
        np.testing.assert_allclose(actual, expected_state["params"][name], rtol=1e-5, atol=1e-7)


def test_dependence_through_control_flow():
    def function(x, y):
        scanned, stacked = jax.lax.scan(lambda c, row: (c + row, y), jnp.zeros(3, jnp.float32), x)
        looped = jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[2], c[1]), (0, y, x))
        branch = jax.lax.cond(y[0, 0] > 0, lambda a, b: (a, b), lambda a, b: (a * 2, b), x, y)
        nested = jax.jit(lambda a, b: (b, a))(x, y)
        return scanned, stacked, looped[1:], branch, nested, jax.checkpoint(lambda b: b * 2)(y)

    result = sc.scalify(function)(scaled(), X)
    kinds = [isinstance(leaf, ScaledArray) for leaf in sc.tree.leaves(result)]
    # Carried values of the loop change places, so both are scaled.
    assert kinds == [True, False, True, True, True, False, False, True, False]
    same(result, function(X, X))


def test_leaves_that_are_not_scaled_stay_plain():
    def function(x, y, key):
        return x * 2, y * 2, jnp.argmax(x), x > 0, key, jnp.where(x > 0, y, 0.0)

    result = sc.scalify(function)(scaled(), X, jax.random.key(0))
    assert [type(leaf).__name__ for leaf in result[:1]] == ["ScaledArray"]
    assert not any(isinstance(leaf, ScaledArray) for leaf in result[1:])
    same(result[:4], (2 * X, 2 * X, 4, X > 0))


def test_nothing_scaled_changes_nothing():
    def function(x):
        return jnp.tanh(x) @ x.T

    plain = sc.scalify(function).lower(X).as_text()
    assert plain == jax.jit(function).lower(X).as_text()


def test_scaled_by_set_scaling_alone():
    y, z = sc.scalify(lambda x: (sc.set_scaling(x, 4.0), x * 2))(X)
    assert isinstance(y, ScaledArray) and isinstance(z, jax.Array)


def test_narrow_results_are_pairs():
    y = sc.scalify(lambda x: x.astype(jnp.float8_e4m3fn))(scaled(scale=2.0**30))
    assert (y.dtype, float(y.scale)) == (jnp.float8_e4m3fn, 2.0**30)


def test_scale_types_of_results():
    e8m0 = sc.as_scaled_array(X, scale_dtype=jnp.float8_e8m0fnu)
    assert sc.scalify(lambda x: x * 2)(e8m0).scale.dtype == jnp.float8_e8m0fnu
    assert sc.scalify(lambda x, y: x * y)(e8m0, scaled()).scale.dtype == np.float32


def test_broadcast_scale():
    x = ScaledArray(X, np.float32([[1], [4]]))
    same(sc.scalify(lambda x: x * 2)(x), X * [[2], [8]])
    same(sc.scalify(lambda x: x.sum(axis=0))(x), (X * [[1], [4]]).sum(axis=0))


# --- options of jit ---------------------------------------------------------------------------------------------


def test_decorator_with_arguments():
    @sc.scalify(static_argnames="power")
    def function(x, *, power):
        """The docstring."""
        return x**power

    assert (function.__name__, function.__doc__) == ("function", "The docstring.")
    same(function(scaled(), power=2), X**2)


def test_donation():
    x = jax.tree.map(jnp.asarray, scaled())
    y = sc.scalify(lambda x: x * 2, donate_argnums=0)(x)
    assert x.data.is_deleted()
    same(y, 2 * X)


def test_keyword_arguments():
    function = sc.scalify(lambda x, *, y, z=None: x + y if z is None else x + z)
    same(function(scaled(), y=scaled(scale=1.0)), 2 * X)
    same(function(scaled(), y=X, z=scaled()), 2 * X)


def test_method():
    class Model:
        factor = 3

        @functools.partial(sc.scalify, static_argnums=0)
        def apply(self, x):
            return x * self.factor

    same(Model().apply(scaled()), 3 * X)


def test_names_of_arguments_in_errors():
    with pytest.raises(ValueError, match=r"argument state\['w'\]: a scale of shape \(3,\) does not belong"):
        sc.scalify(lambda state: state["w"])({"w": ScaledArray(X, np.ones(3, np.float32))})
    with pytest.raises(TypeError, match=r"argument rest\[1\] is a ScaledArray of type int32"):
        sc.scalify(lambda *rest: rest)(X, ScaledArray(np.arange(3, dtype=np.int32), np.float32(1)))


def test_repeated_calls_trace_once():
    count = 0

    @sc.scalify
    def function(x, y):
        nonlocal count
        count += 1
        return x + y

    for _ in range(3):
        function(scaled(), X)
    assert count == 1
    function(scaled(), scaled())
    assert count == 2
    function(jax.tree.map(jnp.asarray, scaled()), X)
    assert count == 2


def test_rounding_of_a_config():
    # A contraction of eight elements in f16 grows by 8^(3/4) = 4.8: 4 or 8.
    x, y = (scaled(np.float16(RNG.standard_normal((8, 8))), 1.0) for _ in range(2))
    function = sc.scalify(lambda x, y: x @ y)
    scales = []
    for mode in (sc.Pow2RoundMode.DOWN, sc.Pow2RoundMode.UP):
        with sc.ScalifyConfig(rounding_mode=mode):
            scales.append(float(function(x, y).scale))
    assert scales == [4, 8]
    with sc.ScalifyConfig(rounding_mode=sc.Pow2RoundMode.UP):
        explicit = sc.scalify(lambda x, y: x @ y, options=sc.ScalifyOptions(rounding="down"))
        assert float(explicit(x, y).scale) == 4


def test_config_is_checked():
    with pytest.raises(ValueError, match="scales are float32"):
        sc.ScalifyConfig(scale_dtype=np.float16)
    with pytest.raises(NotImplementedError, match="stochastic"):
        sc.ScalifyConfig(rounding_mode=sc.Pow2RoundMode.STOCHASTIC)
    assert sc.core.get_scalify_config() == sc.ScalifyConfig()


def test_static_arguments():
    function = sc.scalify(lambda x, mode, n: x * n if mode == "times" else x, static_argnums=(1, 2))
    same(function(scaled(), "times", 3), 3 * X)
    same(function(scaled(), "not", 3), X)


def test_wrapped_jit_and_partial():
    same(sc.scalify(jax.jit(lambda x: x * 2))(scaled()), 2 * X)
    same(sc.scalify(functools.partial(lambda x, n: x * n, n=3))(scaled()), 3 * X)


# --- inside other transformations -------------------------------------------------------------------------------


def double(x):
    return x * 2


def test_disabled_jit():
    with jax.disable_jit():
        same(sc.scalify(double)(scaled()), 2 * X)


def test_export():
    exported = jax.export.export(sc.scalify(double).jitted, platforms=["cpu", "cuda"])(scaled())
    loaded = jax.export.deserialize(exported.serialize())
    same(loaded.call(scaled()), 2 * X)


def test_export_with_symbolic_shapes():
    shape = jax.export.symbolic_shape("a, b")
    pair = ScaledArray(jax.ShapeDtypeStruct(shape, jnp.float32), jax.ShapeDtypeStruct((), jnp.float32))
    exported = jax.export.export(sc.scalify(lambda x: x @ x.T).jitted)(pair)
    same(exported.call(scaled()), X @ X.T)


def test_eval_shape():
    shape = sc.scalify(lambda x: (x @ x.T, jnp.argmax(x))).eval_shape(scaled())
    assert (shape[0].shape, shape[0].dtype, shape[0].scale.shape, shape[1].dtype) == ((2, 2), np.float32, (), np.int32)


def test_grad_from_outside_says_what_to_do():
    function = sc.scalify(double)
    with pytest.raises(NotImplementedError, match=r"scalify\(jax.grad\(double\)\)"):
        jax.grad(lambda x: function(x).data.sum())(scaled())


def test_jit_around_it():
    @jax.jit
    def outer(x, y):
        # y is traced by the outer jit, and closed over.
        return sc.scalify(lambda v: v * y + 1)(x)

    same(outer(scaled(), np.float32(3)), 3 * X + 1)


def test_loop_around_it():
    def run(x):
        return jax.lax.fori_loop(0, 3, lambda _, v: sc.scalify(double)(v), jax.tree.map(jnp.asarray, x))

    same(jax.jit(run)(scaled()), 8 * X)


def test_nested_in_itself():
    inner = sc.scalify(double)

    def outer(x):
        # Plain arrays inside: the inner one is what it wraps. Pairs made by hand: it transforms.
        pair = inner(ScaledArray(*sc.get_data_and_scale(x)))
        return inner(x) + pair.to_array()

    same(sc.scalify(outer)(scaled()), 4 * X)


def test_vmap_around_it():
    function = sc.scalify(lambda x: jnp.sum(x * 2))
    axes = ScaledArray(0, None)
    y = jax.vmap(function, in_axes=(axes,), out_axes=axes)(scaled())
    same(y, 2 * X.sum(axis=1))


def test_vmap_around_it_with_a_scale_each():
    x = ScaledArray(X, np.float32([1, 4]))
    y = jax.vmap(sc.scalify(double), out_axes=ScaledArray(0, None))(x)
    same(y, X * [[2], [8]])


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_shardings(kind):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(kind,))
    with jax.set_mesh(mesh):
        sharding = NamedSharding(mesh, PartitionSpec("i"))
        x = ScaledArray(jax.device_put(scaled().data, sharding), np.float32(4))
        same(sc.scalify(double)(x), 2 * X)
        if kind is AxisType.Auto:
            constrained = sc.scalify(lambda v: jax.lax.with_sharding_constraint(v * 2, sharding))
            assert "sharding_constraint" in constrained.lower(x).as_text()
            same(constrained(x), 2 * X)


def test_inside_shard_map():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Auto,))
    specs = ScaledArray(PartitionSpec("i"), PartitionSpec())
    mapped = jax.shard_map(sc.scalify(double), mesh=mesh, in_specs=(specs,), out_specs=specs, check_vma=False)
    same(jax.jit(mapped)(jax.tree.map(jnp.asarray, scaled())), 2 * X)


def test_side_effects(capfd):
    def function(x):
        jax.debug.print("plain {}", x[0, 0])
        jax.debug.print("ordered {}", x[0, 1], ordered=True)
        return x * 2

    same(jax.block_until_ready(sc.scalify(function)(scaled())), 2 * X)
    jax.effects_barrier()
    assert sorted(capfd.readouterr().out.split("\n")[:2]) == ["ordered -2.0", "plain 1.0"]


def test_functions_inside():
    def function(x):
        def loss(v):
            def body(carry, row):
                return carry + jax.nn.relu(row), jnp.sin(row)

            carry, rows = jax.lax.scan(jax.checkpoint(body), jnp.zeros(3, v.dtype), v)
            return jnp.sum(carry**2) + jnp.sum(jax.vmap(jnp.cumsum)(rows))

        return jax.value_and_grad(loss)(x)

    value, gradient = sc.scalify(function)(scaled())
    expected_value, expected_gradient = function(X)
    np.testing.assert_allclose(np.asarray(value), expected_value, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(gradient), expected_gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [
    lambda x: jnp.where(x <= 1e-3, 1e-3, jnp.sqrt(x)),
    lambda x: jax.lax.select(x <= 1e-3, jnp.full(x.shape, 1e-3, x.dtype), jnp.sqrt(x)),
    lambda x: jnp.where(jnp.sum(x) <= 1e-3, 1e-3, jnp.sqrt(jnp.sum(x * x))),
])  # fmt: skip
def test_guarded_roots(function):
    """Select between a constant and a root, as optimizers do: right in value, whatever the scale."""
    x = np.float32([1, 4, 9])
    for scale in (2.0**-9, 0.125, 2.0**20):
        np.testing.assert_allclose(np.asarray(sc.scalify(function)(scaled(x, scale))), function(x), rtol=1e-6)


# --- errors -----------------------------------------------------------------------------------------------------


def test_unsupported_operation_is_located(caplog):
    def function(x):
        return jax.ffi.ffi_call("unknown", jax.ShapeDtypeStruct(x.shape, x.dtype))(x * 2)

    with pytest.raises(sc.ScalifyError, match=r"test_transform.py:\d+.*no scale rule for custom call 'unknown'"):
        sc.scalify(function)(scaled())
    relaxed = sc.scalify(function, options=sc.ScalifyOptions(on_unsupported="unscale"))
    assert "custom_call @unknown" in relaxed.lower(scaled()).as_text()
    assert "computed on recombined values" in caplog.text


# --- scales with a shape: one for each layer or channel ---------------------------------------------------------

ROWS = ScaledArray(X, np.float32([[2.0**-20], [4]]))
COLUMNS = np.float32([[1, 2.0**10, 2.0**-10]])


def scale_shape(result):
    check_scale_shape(result.shape, result.scale.shape)
    return result.scale.shape


@pytest.mark.parametrize(("function", "shape"), [
    (lambda x: x * 2, (2, 1)),
    (lambda x: x + x * x, (2, 1)),
    (lambda x: x.T, (1, 2)),
    (lambda x: x.sum(axis=1), (2,)),
    (lambda x: x.sum(axis=0), ()),
    (lambda x: x @ jnp.ones((3, 4), x.dtype), (2, 1)),
    (lambda x: jax.lax.fori_loop(0, 3, lambda _, v: 1.5 * v, x), (2, 1)),
    (lambda x: jax.lax.scan(lambda c, v: (c, 2 * v), 0, x)[1], (2, 1)),
    (lambda x: jax.lax.cond(x[0, 0] > 0, jnp.negative, jnp.abs, x), (2, 1)),
    (jax.grad(lambda x: jnp.sum(x**2)), (2, 1)),
    (lambda x: sc.set_scaling(jnp.max(x) * jnp.ones((2, 3), x.dtype), COLUMNS), (1, 3)),
])  # fmt: skip
def test_results_keep_the_shape_of_scales(function, shape):
    result = sc.scalify(function)(ROWS)
    assert scale_shape(result) == shape
    same(result, function(np.asarray(ROWS)))


def test_shaped_scales_by_set_scaling_alone():
    assert scale_shape(sc.scalify(lambda x: sc.set_scaling(x, COLUMNS) * 2)(X)) == (1, 3)


def test_shape_of_scales_is_announced():
    assert sc.scalify(double).eval_shape(ROWS).scale.shape == (2, 1)


def test_state_with_a_scale_per_layer_is_carried():
    """Each layer of a stacked state stays at its own scale over steps, in f16, where one scale would lose the first."""
    state = ScaledArray(np.float16(X), np.float32([[2.0**-30], [1]]))
    step = sc.scalify(lambda p: p - p / 16)
    for _ in range(3):
        state = step(state)
    assert state.scale.tolist() == [[2.0**-30], [1]]
    expected = np.float16(X).astype(np.float64) * [[2.0**-30], [1]] * (15 / 16) ** 3
    np.testing.assert_allclose(np.asarray(state, np.float64), expected, rtol=2.0**-9)


def test_shaped_scales_in_loops_and_batches_around_it():
    function = sc.scalify(double)
    rows = jax.tree.map(jnp.asarray, ROWS)
    carried = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, v: function(v), x))(rows)
    assert scale_shape(carried) == (2, 1)
    same(carried, 8 * np.asarray(ROWS))
    stacked = ScaledArray(*(jnp.stack([v, 4 * v, v]) for v in (rows.data, rows.scale)))
    batched = jax.vmap(function)(stacked)
    assert batched.scale.shape == (3, 2, 1)
    same(batched, 2 * np.asarray(stacked))
    # Sums over what has a scale each within a member: one for each member, the same for all.
    sums = jax.vmap(sc.scalify(lambda x: x.sum(axis=0)), out_axes=ScaledArray(0, None))(stacked)
    assert scale_shape(sums) == ()
    same(sums, np.asarray(stacked).sum(axis=1))


def test_shaped_scales_with_effects(capfd):
    @sc.scalify
    def function(x):
        jax.debug.print("{}", x[1, 0], ordered=True)
        return x * 2

    assert scale_shape(function(ROWS)) == (2, 1)
    jax.effects_barrier()
    assert capfd.readouterr().out.strip() == str(np.asarray(ROWS)[1, 0])


def test_programs_that_jax_writes_out_before_it_lowers_them():
    """A solve by LU has primitives of that kind with jax 0.12."""
    a = np.eye(4, dtype=np.float32) * 3 + 0.1

    def function(a, b):
        return jnp.linalg.solve(a, b) + jax.grad(lambda a: jnp.linalg.slogdet(a)[1])(a)[0]

    expected = function(a, a[0])
    np.testing.assert_allclose(np.asarray(sc.scalify(function)(a, a[0])), expected, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(sc.scalify(function)(*sc.as_scaled_array((a, a[0])))), expected, rtol=1e-6)
