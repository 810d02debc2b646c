"""The layers: equal to jax.nn outside the transform, right and in range inside it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo import ScaledArray, nn

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 64))
COTANGENT = RNG.standard_normal((4, 64))


def reference_layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def reference_rms_norm(x):
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


# Function, its reference, and how far beyond f16 its argument may lie.
LAYERS = {
    "gelu": (nn.gelu, jax.nn.gelu),
    "gelu_erf": (lambda x: nn.gelu(x, approximate=False), lambda x: jax.nn.gelu(x, approximate=False)),
    "layer_norm": (nn.layer_norm, reference_layer_norm),
    "log_softmax": (nn.log_softmax, jax.nn.log_softmax),
    "logsumexp": (nn.logsumexp, lambda x: jax.nn.logsumexp(x, -1)),
    "relu": (nn.relu, jax.nn.relu),
    "rms_norm": (nn.rms_norm, reference_rms_norm),
    "silu": (nn.silu, jax.nn.silu),
    "softmax": (nn.softmax, jax.nn.softmax),
    "softplus": (nn.softplus, jax.nn.softplus),
}
NAMES = sorted(LAYERS)


def gradient_of(function, cotangent):
    return jax.grad(lambda x: jnp.sum(function(x) * cotangent))


def cotangent_of(function, x):
    shape = jax.eval_shape(function, x)
    return COTANGENT.reshape(-1)[: shape.size].reshape(shape.shape).astype(shape.dtype)


def scaled(x, scale):
    return ScaledArray(x / np.asarray(scale, x.dtype), np.float32(scale))


# --- outside the transform --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("magnitude", [0.01, 1, 50])
def test_as_jax_nn(name, magnitude):
    function, reference = LAYERS[name]
    x = np.float32(X * magnitude)
    np.testing.assert_allclose(function(x), reference(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(function))(x), reference(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_derivative_as_jax_nn(name):
    function, reference = LAYERS[name]
    x = np.float32(X * 3)
    cotangent = cotangent_of(reference, x)
    expected = gradient_of(reference, cotangent)(x)
    np.testing.assert_allclose(gradient_of(function, cotangent)(x), expected, rtol=1e-4, atol=2e-6)
    tangent = jax.jvp(function, (x,), (np.float32(COTANGENT),))[1]
    expected = jax.jvp(reference, (x,), (np.float32(COTANGENT),))[1]
    np.testing.assert_allclose(tangent, expected, rtol=1e-4, atol=4e-6)


def test_derivatives_at_the_ends():
    ends = np.float32([-np.inf, -1e30, -200, 0, 200, 1e30])
    for function in (nn.gelu, LAYERS["gelu_erf"][0], nn.silu):
        slopes = jax.vmap(jax.grad(function))(ends)
        np.testing.assert_allclose(slopes, [0, 0, 0, 0.5, 1, 1], atol=1e-30)
    np.testing.assert_allclose(jax.vmap(jax.grad(nn.softplus))(ends), [0, 0, 0, 0.5, 1, 1], atol=1e-30)


# --- inside the transform ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**40])
def test_inside_f32(name, scale):
    """X is of order 1 and has the given, well or ill fitting, scale."""
    function, reference = LAYERS[name]
    x = np.float32(X)
    expected = jax.jit(function)(x)
    result = sc.scalify(function)(scaled(x, scale))
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5, atol=2e-6)
    cotangent = cotangent_of(reference, x)
    gradient = sc.scalify(gradient_of(function, cotangent))(scaled(x, scale))
    expected = gradient_of(function, cotangent)(x)
    np.testing.assert_allclose(np.asarray(gradient), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["gelu", "gelu_erf", "relu", "silu", "softplus"])
@pytest.mark.parametrize("exponent", [-40, -18, 18, 40])
def test_activations_inside_f16_out_of_its_range(name, exponent):
    """Values that no f16 holds: data of order 1 in f16, result compared with f64."""
    function, reference = LAYERS[name]
    data = np.float16(X)
    result = sc.scalify(function)(ScaledArray(data, np.float32(2.0**exponent)))
    with jax.enable_x64(True):
        expected = np.asarray(reference(data.astype(np.float64) * 2.0**exponent))
    # The scale is kept where the function vanishes with x, else not below 1.
    if name != "softplus":
        assert float(result.scale) == 2.0**exponent
    # An f16 product, rounded once; what is far smaller than the scale may be lost.
    smallest = 2.0**-24 * float(result.scale)
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=2.0**-9, atol=smallest)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "softmax"])
def test_scale_of_the_result_is_known(name):
    function, _ = LAYERS[name]
    expected = 0.125 if name == "softmax" else 1.0
    for scale in (2.0**-30, 1.0, 2.0**30):
        x = ScaledArray(np.float16(X), np.float32(scale))
        assert float(sc.scalify(function)(x).scale) == expected


def test_softmax_of_large_logits():
    logits = ScaledArray(np.float16([[1, 0.5, -1]]), np.float32(2.0**20))
    result = sc.scalify(nn.softmax)(logits)
    np.testing.assert_array_equal(np.asarray(result), [[1, 0, 0]])


NORMALISATIONS = ["layer_norm", "log_softmax", "logsumexp", "rms_norm", "softmax"]


def in_f64(function, *arguments):
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, function(*(np.asarray(a, np.float64) for a in arguments)))


@pytest.mark.parametrize("name", NORMALISATIONS)
@pytest.mark.parametrize("exponent", [-12, 0, 20, 60])
def test_normalisations_inside_f16_out_of_its_range(name, exponent):
    """Arguments up to 2^60, of which f16 data of order 1 are the mantissas; epsilons and exponentials see the value."""
    function, reference = LAYERS[name]
    x = ScaledArray(np.float16(X), np.float32(2.0**exponent))
    result = sc.scalify(function)(x)
    assert result.dtype == np.float16
    expected = in_f64(reference, np.asarray(x, np.float64))
    largest = np.max(np.abs(expected))
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=2.0**-9, atol=2.0**-11 * largest)


@pytest.mark.parametrize("name", NORMALISATIONS)
@pytest.mark.parametrize("exponent", [0, 20])
def test_derivatives_of_normalisations_inside_f16(name, exponent):
    """Gradients of 2^-30, which no f16 holds, through normalisations of values that f16 does not hold either."""
    function, reference = LAYERS[name]
    x = ScaledArray(np.float16(X), np.float32(2.0**exponent))
    g = ScaledArray(np.float16(cotangent_of(reference, x.data)), np.float32(2.0**-30))

    def pullback(f):
        return lambda x, g: jax.grad(lambda x: jnp.sum(f(x) * g))(x)

    result = sc.scalify(pullback(function))(x, g)
    expected = in_f64(pullback(reference), np.asarray(x, np.float64), np.asarray(g, np.float64))
    largest = np.max(np.abs(expected))
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=0.01, atol=0.01 * largest)


def test_gradient_keeps_its_scale_through_activations():
    """A gradient of 2^-30 that passes f16 activations."""
    for function in (nn.gelu, nn.silu, nn.relu):

        def loss(x, g, function=function):
            return jnp.sum(function(x) * g)

        x, g = np.float16(X), ScaledArray(np.float16(COTANGENT), np.float32(2.0**-30))
        gradient = sc.scalify(jax.grad(loss))(ScaledArray(x, np.float32(1)), g)
        with jax.enable_x64(True):
            expected = jax.grad(loss)(x.astype(np.float64), np.float16(COTANGENT).astype(np.float64) * 2.0**-30)
        assert 2.0**-32 <= float(gradient.scale) <= 2.0**-28
        np.testing.assert_allclose(np.asarray(gradient, np.float64), expected, rtol=0.01, atol=2.0**-42)


# --- softmax ----------------------------------------------------------------------------------------------------


def test_masked_softmax():
    x = np.float32(X)
    mask = RNG.random(x.shape) < 0.7
    expected = jax.nn.softmax(np.where(mask, x, -np.inf))
    np.testing.assert_allclose(nn.softmax(x, where=mask), expected, rtol=1e-6, atol=1e-7)
    inside = sc.scalify(lambda x, m: nn.softmax(x, where=m))(scaled(x, 4), mask)
    np.testing.assert_allclose(np.asarray(inside), expected, rtol=1e-6, atol=1e-7)


def test_row_without_elements():
    x, mask = np.float32(X), np.zeros((4, 64), bool)
    np.testing.assert_array_equal(nn.softmax(x, where=mask), 0)
    gradient = jax.grad(lambda x: nn.softmax(x, where=mask).sum())(x)
    np.testing.assert_array_equal(gradient, 0)
    np.testing.assert_array_equal(nn.logsumexp(np.full((1, 3), -np.inf, np.float32)), [-np.inf])


def test_softmax_with_symbolic_shape():
    """The scale of the result depends on a dimension that is known when the file is run."""
    (count,) = jax.export.symbolic_shape("count")
    exported = jax.export.export(jax.jit(nn.softmax))(jax.ShapeDtypeStruct((3, count), np.float32))
    function = sc.scalify_exported(exported)
    for size, scale in ((1, 1.0), (15, 0.25), (16, 0.25), (17, 0.125), (64, 0.125), (256, 0.0625)):
        x = np.float32(np.resize(X, (3, size)))
        result = function.call(scaled(x, 4))
        assert float(result.scale) == scale
        np.testing.assert_allclose(np.asarray(result), jax.nn.softmax(x), rtol=1e-5, atol=1e-7)


def test_axes():
    x = np.float32(X)
    np.testing.assert_allclose(nn.softmax(x, axis=0), jax.nn.softmax(x, axis=0), rtol=1e-6)
    np.testing.assert_allclose(nn.logsumexp(x, axis=0, keepdims=True), jax.nn.logsumexp(x, 0, keepdims=True), rtol=1e-6)


# --- normalisation ----------------------------------------------------------------------------------------------


def test_affine_layer_norm():
    x, weight, bias = np.float32(X), np.float32(RNG.random(64)), np.float32(RNG.random(64))
    expected = reference_layer_norm(x) * weight + bias
    np.testing.assert_allclose(nn.layer_norm(x, weight, bias), expected, rtol=1e-5, atol=1e-5)
    first = nn.layer_norm(x.T, weight, bias, axis=0)
    np.testing.assert_allclose(first, expected.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("epsilon_in", "size"), [("value", 0.0), ("data", 1.0)])
def test_epsilon_of_tiny_arrays(epsilon_in, size):
    """The paper's approximation normalises arrays of any magnitude; the function as written sends them to 0."""
    x = ScaledArray(np.float16(X), np.float32(2.0**-40))
    result = sc.scalify(lambda x: nn.layer_norm(x, epsilon_in=epsilon_in))(x)
    np.testing.assert_allclose(np.std(np.asarray(result, np.float32)), size, atol=0.01)


def test_layer_norm_rescales_gradient():
    """The gradient's data have unit size whatever the scale of the gradient was (paper, Algorithm 6)."""

    def loss(x, g):
        return jnp.sum(nn.layer_norm(x, rescale_gradient="l2") * g)

    x = ScaledArray(np.float16(X), np.float32(1))
    # The data of the incoming gradient are far too small for f16's precision, its scale is off by 2^10.
    g = ScaledArray(np.float16(COTANGENT * 2.0**-10), np.float32(2.0**-20))
    gradient = sc.scalify(jax.grad(loss))(x, g)
    assert 1 <= np.sqrt(np.mean(np.square(gradient.data.astype(np.float32)))) < 2
    plain = jax.grad(loss)(np.float32(X), np.float32(COTANGENT))
    unscaled = jax.grad(lambda x: jnp.sum(nn.layer_norm(x) * np.float32(COTANGENT)))(np.float32(X))
    np.testing.assert_array_equal(plain, unscaled)


# --- attention --------------------------------------------------------------------------------------------------


def attention_arguments(queries=6, keys=8, heads=4, groups=4, size=16):
    shapes = [(2, queries, heads, size), (2, keys, groups, size), (2, keys, groups, size)]
    return [np.float32(RNG.standard_normal(shape)) for shape in shapes]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("groups", [4, 2, 1])
def test_attention_as_jax_nn(causal, groups):
    q, k, v = attention_arguments(groups=groups)
    expected = jax.nn.dot_product_attention(q, k, v, is_causal=causal)
    np.testing.assert_allclose(nn.dot_product_attention(q, k, v, is_causal=causal), expected, rtol=1e-4, atol=1e-5)


def test_attention_with_mask():
    q, k, v = attention_arguments()
    mask = RNG.random((2, 1, 6, 8)) < 0.7
    expected = jax.nn.dot_product_attention(q, k, v, mask=mask)
    np.testing.assert_allclose(nn.dot_product_attention(q, k, v, mask=mask), expected, rtol=1e-4, atol=1e-5)


def test_attention_inside():
    q, k, v = attention_arguments(queries=64, keys=64)

    def function(q, k, v):
        return nn.dot_product_attention(q, k, v, is_causal=True)

    def arguments(dtype):
        return [ScaledArray(x.astype(dtype), np.float32(s)) for x, s in ((q, 4.0), (k, 0.25), (v, 2.0**30))]

    result = sc.scalify(function)(*arguments(np.float16))
    # An average of values has the scale of the values.
    assert 2.0**29 <= float(result.scale) <= 2.0**31
    expected = function(q, k, v)
    np.testing.assert_allclose(np.asarray(result, np.float32) * 2.0**-30, expected, rtol=0.02, atol=0.01)
    scaled_gradient = sc.scalify(jax.grad(lambda *a: jnp.sum(function(*a) * a[0]), argnums=(0, 1, 2)))
    expected = jax.grad(lambda *a: jnp.sum(function(*a) * a[0]), argnums=(0, 1, 2))(4 * q, k / 4, v)
    for g, e, s in zip(scaled_gradient(*arguments(np.float32)), expected, (2.0**30, 2.0**30, 1.0), strict=True):
        np.testing.assert_allclose(np.asarray(g) / s, e, rtol=1e-3, atol=1e-4)


def test_attention_inside_f16_out_of_its_range():
    """Queries and keys of 2^12 each: products of 2^28, of which f16 holds none, then weights of 0 and 1."""
    q, k, v = (np.float16(x) for x in attention_arguments(queries=16, keys=16))
    arguments = [ScaledArray(x, np.float32(2.0**e)) for x, e in ((q, 12), (k, 12), (v, -40))]
    result = sc.scalify(nn.dot_product_attention)(*arguments)
    assert result.dtype == np.float16 and np.all(np.isfinite(result.data))
    expected = in_f64(jax.nn.dot_product_attention, *(np.asarray(a, np.float64) for a in arguments))
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=0.01, atol=2.0**-50)


def test_attention_refuses_heads_that_do_not_divide():
    q, k, v = attention_arguments(heads=4, groups=3)
    with pytest.raises(ValueError, match="4 query heads are no multiple of 3 key heads"):
        nn.dot_product_attention(q, k, v)


# --- recurrence -------------------------------------------------------------------------------------------------


def loop_recurrence(a, b, initial=None):
    h, states = np.zeros(b.shape[1:]) if initial is None else initial, []
    for gate, entry in zip(a, b, strict=True):
        h = gate * h + entry
        states.append(h)
    return np.stack(states)


GATES, INPUTS = RNG.random((12, 5)).astype(np.float32), RNG.standard_normal((12, 5)).astype(np.float32)


def test_recurrence():
    initial = np.float32(RNG.standard_normal(5))
    expected = loop_recurrence(GATES, INPUTS)
    np.testing.assert_allclose(nn.linear_recurrence(GATES, INPUTS), expected, rtol=1e-4, atol=1e-6)
    result = nn.linear_recurrence(GATES, INPUTS, initial)
    np.testing.assert_allclose(result, loop_recurrence(GATES, INPUTS, initial), rtol=1e-4, atol=1e-6)
    backwards = nn.linear_recurrence(GATES, INPUTS, initial, reverse=True)
    expected = loop_recurrence(GATES[::-1], INPUTS[::-1], initial)[::-1]
    np.testing.assert_allclose(backwards, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(nn.linear_recurrence(GATES.T, INPUTS.T, initial, axis=1), result.T, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_recurrence_gradient(reverse):
    def direct(a, b, initial):
        def step(h, ab):
            h = ab[0] * h + ab[1]
            return h, h

        return jnp.sum(jax.lax.scan(step, initial, (a, b), reverse=reverse)[1] ** 2)

    def parallel(a, b, initial):
        return jnp.sum(nn.linear_recurrence(a, b, initial, reverse=reverse) ** 2)

    arguments = GATES, INPUTS, np.float32(RNG.standard_normal(5))
    for g, e in zip(*(jax.grad(f, argnums=(0, 1, 2))(*arguments) for f in (parallel, direct)), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("exponent", [-40, 0, 40])
def test_recurrence_inside_f16_out_of_its_range(exponent):
    """64 steps that would add up beyond f16's range, at the scale of the inputs."""
    gates = np.full((64, 3), 0.99, np.float16)
    inputs = np.float16(1 + RNG.random((64, 3)))
    pair = ScaledArray(inputs, np.float32(2.0**exponent))
    result = sc.scalify(nn.linear_recurrence)(ScaledArray(gates, np.float32(1)), pair)
    expected = loop_recurrence(gates.astype(float), np.asarray(pair, np.float64))
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=2.0**-9)


def test_recurrence_inside():
    gates, inputs = ScaledArray(np.float16(GATES), np.float32(1)), ScaledArray(np.float16(INPUTS), np.float32(2.0**-30))
    result = sc.scalify(nn.linear_recurrence)(gates, inputs)
    assert float(result.scale) == 2.0**-30
    expected = loop_recurrence(np.float16(GATES).astype(float), np.float16(INPUTS).astype(float) * 2.0**-30)
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=0.01, atol=2.0**-40)
    gradients = sc.scalify(jax.grad(lambda a, b: jnp.sum(nn.linear_recurrence(a, b)), argnums=(0, 1)))(gates, inputs)
    expected = jax.grad(lambda a, b: jnp.sum(nn.linear_recurrence(a, b)), argnums=(0, 1))(GATES, INPUTS)
    np.testing.assert_allclose(np.asarray(gradients[1], np.float32), expected[1], rtol=0.01)
    np.testing.assert_allclose(np.asarray(gradients[0], np.float64) * 2.0**30, expected[0], rtol=0.02, atol=0.01)


def test_selective_scan():
    steps, width, states = 10, 3, 4
    u, b, c = (np.float32(RNG.standard_normal((2, steps, n))) for n in (width, states, states))
    delta = np.float32(RNG.random((2, steps, width)))
    a, d = -np.float32(RNG.random((width, states))), np.float32(RNG.standard_normal(width))

    def direct(u, delta, a, b, c, d):
        def step(h, inputs):
            u, delta, b, c = inputs
            h = jnp.exp(delta[:, None] * a) * h + (delta * u)[:, None] * b
            return h, h @ c + d * u

        return jax.lax.scan(step, jnp.zeros((width, states)), (u, delta, b, c))[1]

    expected = jax.jit(jax.vmap(direct, in_axes=(0, 0, None, 0, 0, None)))(u, delta, a, b, c, d)
    np.testing.assert_allclose(nn.selective_scan(u, delta, a, b, c, d), expected, rtol=1e-4, atol=1e-5)
    scales = 2.0**20, 0.5, 1.0, 2.0**-10, 1.0, 2.0
    arguments = [scaled(x, s) for x, s in zip((u, delta, a, b, c, d), scales, strict=True)]
    inside = sc.scalify(nn.selective_scan)(*arguments)
    np.testing.assert_allclose(np.asarray(inside), expected, rtol=1e-4, atol=1e-5)
    # The same in f16, with inputs and step sizes whose products f16 does not hold.
    narrow = [ScaledArray(np.float16(x), np.float32(s)) for x, s in zip((u, delta, a, b, c, d), scales, strict=True)]
    result = sc.scalify(nn.selective_scan)(*narrow)
    assert result.dtype == np.float16
    exact = jax.vmap(direct, in_axes=(0, 0, None, 0, 0, None))(*(np.asarray(x, np.float32) for x in narrow))
    largest = np.max(np.abs(exact))
    np.testing.assert_allclose(np.asarray(result, np.float32), exact, rtol=0.01, atol=0.002 * largest)
