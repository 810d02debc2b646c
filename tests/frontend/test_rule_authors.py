"""What the author of a scale rule gets wrong is said by name, not by wrong values."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scalify_hlo.rewrites import custom_calls
from scalify_hlo.rewrites.custom_calls import custom_call
from scalify_hlo.rewrites.multiplicative import take_root

import scalify_hlo as sc
from scalify_hlo.rules import registry
from scalify_hlo.rules.foreign_rules import UnknownOperationError
from scalify_hlo.scale import Scale


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the table of rules, which the test may change."""
    monkeypatch.setattr(registry, "_rules", dict(registry.rules()))


def _replaced(op: str, function, family="additive"):
    return registry.rule(op, family=family, law="x", scale="x", replace=True)(function)


def _nothing(r):
    del r


def test_rule_that_returns_a_plain_array():
    @sc.custom_scale
    def twice(x):
        return x * 2

    @twice.defscale
    def _(x):
        return x.data * 2

    x = sc.scaled_array(np.float16([1, 3]), 8.0)
    with pytest.raises(TypeError, match="scale rule of 'twice' returns a plain array"):
        sc.scalify(twice)(x)
    with pytest.raises(TypeError, match="scale rule of 'twice' returns a plain array"):
        twice(x)


def test_rule_with_other_parameters():
    @sc.custom_scale
    def shifted(x, *, by):
        return x + by

    with pytest.raises(TypeError, match="must take the arguments of the function"):
        shifted.defscale(lambda x: x)
    with pytest.raises(TypeError, match="must take the arguments of the function"):
        shifted.defscale(lambda x, y, *, by: x + y + by)
    shifted.defscale(lambda x, *, by: sc.ScaledArray(x.data + by, x.scale))


@pytest.mark.usefixtures("table")
def test_rule_for_an_operation_that_does_not_exist():
    with pytest.raises(UnknownOperationError, match=r"'stablehlo\.mulitply'.*stablehlo\.multiply"):
        _replaced("mulitply", _nothing)
    assert "stablehlo.mulitply" not in registry.rules()
    # Operations of dialects that this package does not know are taken.
    _replaced("mine.operation", _nothing)


@pytest.mark.usefixtures("table")
def test_rule_that_declares_no_result():
    def forgets(r):
        r.set_operand(0, r.scaled(0).data)
        r.set_operand(1, r.scaled(1).data)

    _replaced("multiply", forgets)
    x = sc.scaled_array(np.float32([1, 3]), 8.0)
    with pytest.raises(sc.ScalifyError, match=r"rule of stablehlo\.multiply \(.*\) declares no scale for float result"):
        sc.scalify(lambda x: x * x)(x)


@pytest.mark.usefixtures("table")
def test_rule_of_a_predicate_needs_no_scale():
    _replaced("sign", lambda r: r.set_operand(0, r.scaled(0).data), family="predicate")
    x = sc.scaled_array(np.float32([-1, 3]), 8.0)
    np.testing.assert_array_equal(np.asarray(sc.scalify(jnp.sign)(x)), [-1, 1])


@pytest.mark.usefixtures("table")
def test_rule_that_raises():
    def raises(r):
        raise KeyError("boom", r.name)

    _replaced("add", raises)
    with pytest.raises(sc.ScalifyError, match=r"rule of stablehlo\.add \(.*\) raised KeyError: .*boom") as caught:
        sc.scalify(lambda x: x + x)(sc.scaled_array(np.float32([1, 3]), 8.0))
    assert caught.value.diagnostics[0].location


@pytest.mark.usefixtures("table")
def test_rule_that_declares_a_number():
    def doubles(r):
        r.set_operand(0, r.scaled(0).data)
        r.set_operand(1, r.scaled(1).data)
        r.result(2.0)

    _replaced("add", doubles)
    with pytest.raises(sc.ScalifyError, match=r"r\.result takes a Scale: .* r\.scaled\(0\)\.scale.*; this is 2\.0"):
        sc.scalify(lambda x: x + x)(sc.scaled_array(np.float32([1, 3]), 8.0))


@pytest.mark.usefixtures("table")
def test_two_rules_for_a_composite_are_named_with_their_places(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(registry.MARKERS, "test.marker", registry.MARKERS["scalify.stop_scaling"])
    with pytest.raises(registry.DuplicateRuleError, match=r"rewrites\.composites:\d+ and .*test_rule_authors:\d+"):
        registry.marker("test.marker")(_nothing)


def test_custom_call_rule_is_checked_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(registry.TARGETS, "test.call", None)

    @custom_call("test.call")
    def forgets(r):
        r.set_operand(0, r.scaled(0).data)

    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = stablehlo.custom_call @test.call(%x) : (tensor<3xf32>) -> tensor<3xf32>
      return %0 : tensor<3xf32>
    }"""
    with pytest.raises(sc.ScalifyError, match="declares no scale"):
        sc.rewrite_module(text)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: x.scale**0.5, r"power of 0\.5: powers are integers; scale\.rooted\(n\) is a pair"),
        (lambda x: x.scale * 2, r"a scale times 2: write scale\.shifted\(k\)"),
        (lambda x: 2 * x.scale, r"2 times a scale: write scale\.shifted\(k\)"),
        (lambda x: x.scale / 2, r"a scale over 2: write scale\.shifted\(-k\)"),
        (lambda x: 1 / x.scale, r"1 over a scale: write \(scale\*\*-1\)\.shifted\(k\)"),
        (lambda x: x.data * x.scale, r"a \w+ times a scale: .* r\.bring\(x, scale\)"),
        (lambda x: x.scale * x.data, r"a scale times a \w+: .* r\.bring\(x, scale\)"),
        (lambda x: x.scale + x.scale, r"scales cannot be added: .* r\.aligned"),
        (lambda x: 1 - x.scale, r"scales cannot be added: .* r\.aligned"),
        (lambda x: max(x.scale, x.scale), r"scales cannot be compared.* r\.maximum"),
        (lambda x: x.scale if x.scale < 1 else None, r"scales cannot be compared.* r\.maximum"),
        (lambda x: x.scale.rooted(2), r"this is a tuple\. scale\.rooted\(n\) is one: a root, and what is left"),
        (lambda x: x, r"r\.result takes a Scale: .*; this is a ScaledValue\n"),
        (lambda x: x.scale.shifted(0.5), r"declares 2\^0\.5 in the scale of result 0: .* an integer k"),
    ],
)
@pytest.mark.usefixtures("table")
def test_a_rule_that_computes_with_a_scale_as_with_a_number(wrong, message):
    def halves(r):
        r.set_operand(0, r.scaled(0).data)
        r.result(wrong(r.scaled(0)))

    _replaced("negate", halves)
    with pytest.raises(
        sc.ScalifyError, match=rf"scale rule of stablehlo\.negate \(.*test_rule_authors:\d+\).*{message}"
    ):
        sc.scalify(lambda x: -x)(sc.scaled_array(np.float32([1, 3]), 8.0))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda r: r.scaled(5),
        lambda r: r.plain(2),
        lambda r: r.set_operand(3, r.scaled(0).data),
        lambda r: r.result(r.scaled(0).scale, index=2),
    ],
)
@pytest.mark.usefixtures("table")
def test_an_index_out_of_range_is_told_with_how_many_there_are(wrong):
    _replaced("add", wrong)
    with pytest.raises(sc.ScalifyError, match=r"IndexError: .*It has 2 operands and 1 result, from 0 on"):
        sc.scalify(lambda x: x + x)(sc.scaled_array(np.float32([1, 3]), 8.0))


@pytest.mark.usefixtures("table")
def test_operands_counted_from_the_end_are_asked_for():
    def rule(r):
        r.set_operand(0, r.scaled(-1).data)
        r.result(r.scaled(-1).scale)

    _replaced("negate", rule)
    x = sc.scaled_array(np.float32([1, 3]), 8.0)
    np.testing.assert_array_equal(np.asarray(sc.scalify(lambda x: -x)(x)), [-8, -24])


@pytest.mark.usefixtures("table")
def test_an_operand_that_is_no_value():
    _replaced("negate", lambda r: r.set_operand(0, 3.0))
    with pytest.raises(sc.ScalifyError, match=r"set_operand takes a value of the program, such as .*, not 3\.0\n"):
        sc.scalify(lambda x: -x)(sc.scaled_array(np.float32([1, 3]), 8.0))


@pytest.mark.usefixtures("targets")
def test_scales_of_no_power_of_two_are_taken_where_they_are_wanted():
    custom_call("test.root")(lambda r: (r.set_operand(0, r.scaled(0).data), r.result(r.scaled(0).scale.shifted(0.5))))
    text = sc.rewrite_module(_call("test.root"), sc.ScalifyOptions(rounding="none"))
    assert "1.41421" in text


def _call(target: str, result: str = "f32") -> str:
    return f"""func.func @main(%x: tensor<3xf32>) -> tensor<3x{result}> {{
      %0 = stablehlo.custom_call @{target}(%x) : (tensor<3xf32>) -> tensor<3x{result}>
      return %0 : tensor<3x{result}>
    }}"""


@pytest.mark.usefixtures("targets")
def test_an_integer_result_has_no_scale():
    custom_call("test.count")(_as_the_docs_have_it)
    message = r"custom call 'test\.count' \(.*\) declares a scale for result 0, of i32, which carries none"
    with pytest.raises(sc.ScalifyError, match=message):
        sc.rewrite_module(_call("test.count", "i32"))


@pytest.mark.usefixtures("composites")
def test_errors_name_the_composite_and_no_file_of_this_package():
    registry.marker("example.same")(lambda r: r.set_operand(0, r.scaled(0).data))
    same = jax.lax.composite(lambda x: x + 0, name="example.same")
    with pytest.raises(sc.ScalifyError, match=r"rule of composite 'example\.same' \(.*\) declares no scale") as caught:
        sc.scalify(same)(sc.scaled_array(np.float32([1, 3]), 8.0))
    assert "scalify_hlo/frontend" not in caught.value.diagnostics[0].location


def test_registrations_of_what_a_call_does_not_run():
    def generator(r):
        yield r

    async def coroutine(r):
        del r

    for register in (custom_call("test.none"), registry.marker("test.none")):
        with pytest.raises(TypeError, match="generator is a generator"):
            register(generator)
        with pytest.raises(TypeError, match="coroutine is a coroutine"):
            register(coroutine)


def test_registrations_that_say_nothing():
    with pytest.raises(TypeError, match="says of nothing that it has a rule"):
        custom_call()
    with pytest.raises(TypeError, match=r"@custom_call takes names.*not 3"):
        custom_call(3)
    with pytest.raises(TypeError, match="@marker is for a function"):
        registry.marker("test.none")(3)
    with pytest.raises(
        registry.DuplicateRuleError, match=r"custom call 'Sharding': .*custom_calls:\d+ and .*authors:\d+"
    ):
        custom_call("Sharding")(_nothing)
    with pytest.raises(ValueError, match="unknown family 'bogus'; known are homogeneous"):
        registry.rule("sine", family="bogus", law="", scale="s", replace=True)


@pytest.mark.parametrize("scale", [np.float32(-1), 0.0, np.inf])
def test_a_scale_that_can_be_none(scale):
    @sc.custom_scale
    def h(x):
        return x + 1

    h.defscale(lambda x: sc.ScaledArray(x.data, scale))
    with pytest.raises((ValueError, sc.ScalifyError), match="scales are positive and finite"):
        sc.scalify(h)(sc.scaled_array(np.float32([1, 2]), 4.0))


@pytest.mark.parametrize(
    "scale",
    [
        lambda s: -s,
        lambda s: s * 0,
        lambda s: s / 0,
        lambda _: jnp.float32(-2),
        lambda s: jnp.where(s > 0, -1.0, s),
    ],
)
def test_a_scale_computed_of_scales_that_can_be_none(scale):
    """It was taken for the smallest there is, so that the result was 0, or was infinite, without a word."""

    @sc.custom_scale
    def h(x):
        return -x

    h.defscale(lambda x: sc.ScaledArray(x.data, scale(x.scale)))
    x = sc.scaled_array(np.float32([1, 2]), 4.0)
    for call in (h, sc.scalify(h)):
        with pytest.raises(ValueError, match=r"scale rule of 'h' returns the scale .*positive and finite"):
            call(x)


def test_a_scale_computed_of_data_is_not_judged_before_it_is_known():
    """Of data 1, which scalars are no more likely to be than others, log2 is 0."""

    @sc.custom_scale
    def h(x):
        return x * 2

    h.defscale(lambda x: sc.ScaledArray(x.data * 2 / jnp.log2(x.data), x.scale * jnp.log2(x.data)))
    assert float(sc.scalify(h)(sc.scaled_array(np.float32(4), 8.0))) == 64


def test_a_scale_in_a_type_of_too_little_range():
    @sc.custom_scale
    def h(x):
        return x + 0

    h.defscale(lambda x: sc.ScaledArray(x.data, x.scale.astype(jnp.float16)))
    x = sc.scaled_array(np.float32([1, 2]), 2.0**20)
    for call in (h, sc.scalify(h)):
        with pytest.raises(TypeError, match="returns a scale in float16, whose range is too small"):
            call(x)


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the table of custom calls, which the test may change."""
    monkeypatch.setattr(custom_calls, "TARGETS", dict(custom_calls.TARGETS))


@pytest.fixture
def composites() -> Iterator[None]:
    """The table of composites, as it was after the test."""
    before = dict(registry.MARKERS)
    yield
    registry.MARKERS.clear()
    registry.MARKERS.update(before)


def _as_the_docs_have_it(r):
    x = r.scaled(0)
    r.set_operand(0, x.data)
    r.result(x.scale)


@pytest.mark.usefixtures("composites")
def test_a_rule_of_one_scale_is_given_one_scale():
    """Of a rule that turns rows around, and hands on their scales as they were, each row had another's."""
    registry.marker("example.flip")(_as_the_docs_have_it)
    flip = jax.lax.composite(lambda x: x[::-1], name="example.flip")
    x = sc.ScaledArray(np.ones((2, 3), np.float32), np.float32([[1], [1024]]))
    np.testing.assert_array_equal(np.asarray(sc.scalify(flip)(x)), np.asarray(x)[::-1])


@pytest.mark.usefixtures("composites")
def test_a_rule_of_a_sum_brings_its_operands_to_one_scale():
    registry.marker("example.blend")(lambda r: r.result(r.aligned([0, 1])))
    blend = jax.lax.composite(lambda x, y: x * 0.25 + y * 0.75, name="example.blend")
    x, y = (sc.scaled_array(np.float32([1, 2]), scale) for scale in (4.0, 1024.0))
    np.testing.assert_array_equal(np.asarray(sc.scalify(blend)(x, y)), np.asarray(x) * 0.25 + np.asarray(y) * 0.75)


@pytest.mark.parametrize("scale", [2.0**10, 2.0**-7])
@pytest.mark.parametrize("law", ["rooted", "take_root"])
@pytest.mark.usefixtures("composites")
def test_rules_of_a_root_as_the_docs_have_them(law: str, scale: float):
    def rooted(r):
        x = r.scaled(0)
        root, rest = x.scale.rooted(2)
        r.set_operand(0, r.emit.rescale(x.data, rest))
        r.result(root)

    registry.marker("example.root")(rooted if law == "rooted" else lambda r: take_root(r, 2, 1))
    root = jax.lax.composite(lambda x: jnp.sqrt(jnp.abs(x)), name="example.root")
    x = sc.scaled_array(np.float32([1, 4]), scale)
    y = sc.scalify(lambda x: root(x * x))(x)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    assert float(y.scale) == scale
    np.testing.assert_allclose(np.asarray(sc.scalify(root)(x)), np.sqrt(np.asarray(x)), rtol=1e-6)


@pytest.mark.usefixtures("targets")
def test_a_rule_of_an_operation_on_values_as_the_docs_have_it():
    custom_call("test.exp")(lambda r: (r.set_operand(0, r.plain(0, "f16")), r.result(Scale(0))))
    assert "@test.exp(%" in sc.rewrite_module(_call("test.exp").replace("f32", "f16"))


@pytest.mark.usefixtures("targets")
def test_the_size_of_data_that_a_rule_declares():
    def rule(r):
        x = r.scaled(0)
        r.set_operand(0, x.data)
        r.settled(x.scale, x.moments.summed(256))

    custom_call("test.sum")(rule)
    assert "dense<1.600000e+01> : tensor<f32>" in sc.rewrite_module(_call("test.sum").replace("f32", "f16"))


@pytest.mark.usefixtures("composites")
def test_the_rule_of_a_composite_can_be_replaced():
    for power in (1, 2):
        registry.marker("example.own", replace=power > 1)(
            lambda r, power=power: (r.set_operand(0, r.scaled(0).data), r.result(r.scaled(0).scale ** power))
        )
    own = jax.lax.composite(lambda x: x * x, name="example.own")
    assert float(sc.scalify(own)(sc.scaled_array(np.float32([1, 2]), 4.0)).scale) == 16


@pytest.mark.usefixtures("composites")
def test_a_rule_may_take_scales_with_a_shape():
    seen = []

    def rule(r):
        seen.append(r.scaled(0).scale.shape)
        _as_the_docs_have_it(r)

    registry.marker("example.same", shaped=True)(rule)
    same = jax.lax.composite(lambda x: x + 0, name="example.same")
    sc.scalify(same)(sc.ScaledArray(np.ones((2, 3), np.float32), np.float32([[1], [1024]])))
    assert (2, 1) in seen


@pytest.mark.usefixtures("composites")
def test_a_rule_that_forgets_an_operand():
    registry.marker("example.product")(_as_the_docs_have_it)
    product = jax.lax.composite(lambda x, y: x * y, name="example.product")
    x, y = (sc.scaled_array(np.float32([1, 2]), scale) for scale in (4.0, 1024.0))
    with pytest.raises(sc.ScalifyError, match=r"asks nothing of operand 1, which has a scale.*r\.scaled\(1\)"):
        sc.scalify(product)(x, y)


@pytest.mark.parametrize("captures", ["function", "rule"])
def test_a_captured_value_is_refused_in_words(captures: str):
    def model(x, k):
        @sc.custom_scale
        def times(x):
            return x * (k if captures == "function" else 2)

        @times.defscale
        def _(x):
            return sc.ScaledArray(x.data * (k if captures == "rule" else 2), x.scale)

        return times(x)

    x = sc.scaled_array(np.float32([1, 2]), 4.0)
    np.testing.assert_array_equal(np.asarray(model(x, 2)), [8, 16])
    for call, given in ((jax.jit(model), x.data), (sc.scalify(model), x)):
        with pytest.raises(TypeError, match=rf"the .*{captures}.* takes a value from around it.*by position"):
            call(given, jnp.float32(2))
