"""`scalify-instrument` and the report on what it measures."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.emit.marks import ScaledTensor, mark_tensors
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import NUMPY_DTYPES
from scalify_hlo.execution.measure import measure
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.instrument import Instrument, marks
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.reports.health import TensorHealth, read_health, summary, table
from scalify_hlo.reports.health_html import report_html
from scalify_hlo.reports.health_layout import BINS, FIRST_EXPONENT

Array = np.ndarray[Any, Any]


def run(text: str, arrays: list[Array], options: Instrument | None = None) -> tuple[list[TensorHealth], list[Array]]:
    with make_context():
        module = ir.Module.parse(text)
        (options or Instrument()).apply(module, [])
        module.operation.verify()
        results = xla.compile(module)(arrays)
        return read_health(module, results), results[:-2]


def negated(element: str, size: int) -> str:
    return f"""
    func.func @main(%x: tensor<{size}x{element}>) -> tensor<{size}x{element}> {{
      %y = stablehlo.negate %x : tensor<{size}x{element}>
      return %y : tensor<{size}x{element}>
    }}"""


def expected(x: Array, smallest: float, largest: float) -> tuple[float, ...]:
    wide = np.abs(x.astype(np.float64))
    with np.errstate(invalid="ignore"):
        return (
            float(np.mean(wide**2)),
            float(np.mean(wide == 0)),
            float(np.mean((wide > 0) & (wide < smallest))),
            float(np.mean(~(wide <= largest))),
        )


@pytest.mark.parametrize(
    ("element", "dtype", "smallest", "largest"),
    [
        ("f16", np.float16, 2.0**-14, 65504.0),
        ("bf16", ml_dtypes.bfloat16, 2.0**-126, 3.3895e38),
        ("f32", np.float32, 2.0**-126, 3.4e38),
    ],
)  # fmt: skip
def test_statistics_are_those_of_numpy(element: str, dtype: Any, smallest: float, largest: float) -> None:
    x = np.random.default_rng(0).normal(size=256)
    x = (x * 2.0 ** np.linspace(-20, 4, 256)).astype(dtype)
    x[:5] = 0
    ((health,), _) = [run(negated(element, 256), [x])][0]
    mean_square, zeros, underflow, overflow = expected(x, smallest, largest)
    assert health.mean_square == pytest.approx(mean_square, rel=1e-5)
    assert (health.zeros, health.underflow, health.overflow) == (zeros, underflow, overflow)
    assert health.amax == float(np.max(np.abs(x.astype(np.float64)))) and health.elements == 256 and health.scale == 1


def test_complex_tensors_are_counted_by_their_absolute_values() -> None:
    """A spectrum ended `scalify-health` and `sc.debug` with a KeyError."""
    text = """
    func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xcomplex<f32>> {
      %z = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
      %w = stablehlo.multiply %z, %z : tensor<4xcomplex<f32>>
      return %w : tensor<4xcomplex<f32>>
    }"""
    one = np.float32(1)
    health = marked_and_scaled(text, [np.float32([3, 0, 0, 2]), one, np.float32([4, 0, 1, 0]), one])
    square = next(each for each in health if each.name == "stablehlo.multiply")
    assert (square.amax, square.mean_square, square.zeros) == (25, (25**2 + 1 + 4**2) / 4, 1 / 4)


def test_histogram_counts_exponents() -> None:
    x = np.array([0, 1, 1.5, -2, 3, 0.25, 2.0**-60, 2.0**60, np.inf, np.nan], np.float32)
    ((health,), _) = [run(negated("f32", 10), [x])][0]
    counts = {i + FIRST_EXPONENT: n for i, n in enumerate(health.histogram) if n}
    assert counts == {0: 2, 1: 2, -2: 1, FIRST_EXPONENT: 1, FIRST_EXPONENT + BINS - 1: 3}
    assert health.overflow == 0.2 and health.zeros == 0.1


def test_exponents_need_not_be_counted() -> None:
    x = np.array([1, 2, 0, 4], np.float32)
    ((health,), _) = [run(negated("f32", 4), [x], Instrument(histogram=False))][0]
    assert not any(health.histogram) and health.amax == 4 and health.zeros == 0.25


def test_under_and_overflow_as_of_another_format() -> None:
    x = np.array([0.001, 0.01, 1, 448, 449, -1000, 0, 2.0**-6], np.float32)
    ((health,), _) = [run(negated("f32", 8), [x], Instrument(format="f8E4M3FN"))][0]
    assert (health.underflow, health.overflow, health.zeros) == (2 / 8, 2 / 8, 1 / 8)


def test_the_results_of_the_program_stay() -> None:
    x = np.arange(4, dtype=np.float32)
    (_, results) = run(negated("f32", 4), [x])
    np.testing.assert_array_equal(results[0], -x)


PAIRS = """
func.func @main(%d: tensor<8xf16>, %s: tensor<f32>) -> (tensor<8xf16>, tensor<f32>) {
  %e = stablehlo.negate %d : tensor<8xf16>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %t = stablehlo.multiply %s, %two : tensor<f32>
  return %e, %t : tensor<8xf16>, tensor<f32>
}"""


def test_marked_pairs_are_watched_with_their_scales() -> None:
    remarks: list[Diagnostic] = []
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(PAIRS)
        negate, _, multiply = list(module.body.operations[0].regions[0].blocks[0].operations)[:3]
        mark_tensors([ScaledTensor("layer/negate", negate.results[0], multiply.results[0])])
        assert len(marks(module)) == 1
        Instrument().apply(module, remarks)
        module.operation.verify()
        results = xla.compile(module)([np.full(8, 3, np.float16), np.float32(2.0**-20)])
        (health,) = read_health(module, results)
    assert (health.name, health.scale, health.mean_square) == ("layer/negate", 2.0**-19, 9.0)
    assert remarks[-1].message == "scalify-instrument: 1 tensors are watched"


LOOP = """
func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.add %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %which: tensor<i32>) -> tensor<4xf32> {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %3 = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %0, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %d = func.call @double(%y) : (tensor<4xf32>) -> tensor<4xf32>
    %j = stablehlo.add %i, %1 : tensor<i32>
    stablehlo.return %j, %d : tensor<i32>, tensor<4xf32>
  }
  %z = "stablehlo.case"(%which) ({
    %a = stablehlo.negate %r#1 : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    %b = stablehlo.abs %r#1 : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}"""


def test_loops_accumulate_and_branches_count_where_taken() -> None:
    healths, results = run(LOOP, [np.ones(4, np.float32), np.int32(1)])
    np.testing.assert_array_equal(results[0], np.full(4, 8))
    by_name = {health.name: health for health in healths}
    double = by_name["stablehlo.add"]  # 2, 4 and 8
    assert double.elements == 12 and double.mean_square == pytest.approx((4 + 16 + 64) / 3) and double.amax == 8
    assert by_name["stablehlo.negate"].elements == 0 and by_name["stablehlo.abs"].elements == 4


def marked_and_scaled(text: str, arrays: list[Array]) -> list[TensorHealth]:
    """Rewritten with marks, instrumented and run."""
    with make_context():
        module = ir.Module.parse(text)
        precision_pipeline(None, ScalifyOptions(mark_tensors=True)).run(module, [])
        Instrument(histogram=False).apply(module, [])
        module.operation.verify()
        return read_health(module, xla.compile(module)(arrays))


def test_tensors_of_a_rewritten_module_are_watched_with_their_scales() -> None:
    x, w = np.full((4, 16), 3, np.float16), np.full((16, 2), 0.5, np.float16)
    text = """
    func.func @main(%x: tensor<4x16xf16>, %w: tensor<16x2xf16>, %s: tensor<f16>) -> (tensor<2x4xf16>, tensor<f16>) {
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
         : (tensor<4x16xf16>, tensor<16x2xf16>) -> tensor<4x2xf16>
      %z = stablehlo.transpose %y, dims = [1, 0] : (tensor<4x2xf16>) -> tensor<2x4xf16>
      return %z, %s : tensor<2x4xf16>, tensor<f16>
    }"""
    one = np.float32(1)
    health = marked_and_scaled(text, [x, np.float32(2.0**-20), w, np.float32(2.0**-12), np.float16(1), one])
    # Neither the scalar nor the transposed product.
    argument, _, product = sorted(health, key=lambda each: (each.name, each.scale))
    assert [argument.name, product.name] == ["argument", "stablehlo.dot_general"]
    assert (argument.mean_square, argument.scale) == (9, 2.0**-20)
    assert product.amax * product.scale == 16 * 1.5 * 2.0**-32
    assert 2.0**-3 < product.amax < 2.0**5 and product.overflow == 0


def test_marks_go_through_loops_branches_and_calls() -> None:
    health = marked_and_scaled(LOOP, [np.ones(4, np.float32), np.float32(2.0**-10), np.int32(1)])
    by_name = {each.name: each for each in health}
    double, negated_, absolute = (by_name[f"stablehlo.{name}"] for name in ("add", "negate", "abs"))
    assert double.elements == 12 and negated_.elements == 0 and absolute.elements == 4
    assert absolute.amax * absolute.scale == 8 * 2.0**-10


def test_fp8_forms_are_watched() -> None:
    text = """
    func.func @main(%d: tensor<8xf16>, %s: tensor<f32>) -> tensor<8xf8E4M3FN> {
      %low = stablehlo.constant dense<-448.0> : tensor<f16>
      %high = stablehlo.constant dense<448.0> : tensor<f16>
      %c = stablehlo.clamp %low, %d, %high : (tensor<f16>, tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
      %q = stablehlo.convert %c : (tensor<8xf16>) -> tensor<8xf8E4M3FN>
      return %q : tensor<8xf8E4M3FN>
    }"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        block = module.body.operations[0].regions[0].blocks[0]
        mark_tensors([ScaledTensor("x", block.arguments[0], block.arguments[1])])
        Instrument(histogram=False).apply(module, [])
        results = xla.compile(module)([np.float16([1, 2, 4, 600, 0, 2.0**-8, 1, 1]), np.float32(4)])
        by_name = {health.name: health for health in read_health(module, results)}
    assert set(by_name) == {"x", "x as f8E4M3FN"}
    assert by_name["x as f8E4M3FN"].amax == 448 and by_name["x as f8E4M3FN"].underflow == 1 / 8
    assert by_name["x as f8E4M3FN"].scale == 4 and by_name["x"].underflow == 0


def test_tensors_are_chosen_by_name() -> None:
    healths, _ = run(
        LOOP, [np.ones(4, np.float32), np.int32(0)], Instrument(include=("*add", "*abs"), exclude=("*abs",))
    )
    assert [health.name for health in healths] == ["stablehlo.add"]


def test_measure_draws_the_same_values_for_pairs() -> None:
    with make_context():
        (plain,) = measure(ir.Module.parse(negated("f32", 64)), seed=3)
        paired = """
        func.func @main(%d: tensor<64xf32> {scalify.role = "data"}, %s: tensor<f32> {scalify.role = "scale"})
            -> (tensor<64xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
          %y = stablehlo.negate %d : tensor<64xf32>
          return %y, %s : tensor<64xf32>, tensor<f32>
        }"""
        (scaled,) = measure(ir.Module.parse(paired), seed=3)
    exponent = math.log2(scaled.amax / plain.amax)
    assert exponent == round(exponent) != 0


def test_report_shows_every_tensor_before_and_after() -> None:
    x = np.ones(4, np.float32)
    after, _ = run(LOOP, [x, np.int32(0)])
    before, _ = run(LOOP, [x * 2.0**-30, np.int32(0)])
    text = table(after)
    assert text.splitlines()[0].split() == [
        "tensor",
        "type",
        "elements",
        "rms",
        "amax",
        "scale",
        "zeros",
        "underflow",
        "overflow",
    ]
    assert len(text.splitlines()) == len(after) + 1
    assert summary(after).startswith(f"{len(after)} tensors: 0 out of range")
    page = report_html(after, before, title="a <loop>")
    assert "a &lt;loop&gt;" in page and page.count("<tr") == len(after) + 1
    assert 'class="before"' in page and 'class="after"' in page
    assert 'class="before"' not in report_html(after)


@pytest.mark.parametrize("factors", [1, 4])
@pytest.mark.parametrize(("element", "low"), [("f8E4M3FN", -6), ("f8E5M2", -14), ("f16", -14)])
def test_data_are_bad_where_the_lower_end_of_a_type_adds_to_the_error_of_rounding(
    element: str, low: int, factors: int
) -> None:
    """Products of four Gaussians have tails of which a fifth is below E4M3's normal numbers at unit size: no loss."""
    x = np.random.default_rng(0).standard_normal((factors, 2**14)).prod(0).astype(np.float32)
    x /= np.float32(np.sqrt(np.mean(np.square(x))))

    def error(data: np.ndarray[Any, Any]) -> float:
        rounded = data.astype(NUMPY_DTYPES[element]).astype(np.float32)
        return float(np.sqrt(np.mean(np.square(rounded - data)) / np.mean(np.square(data))))

    for power in (0, low + 3, low + 2, low, low - 2):
        data = x * np.float32(2.0**power)
        with make_context():
            module = ir.Module.parse(negated("f32", x.size))
            (found,) = measure(module, Instrument(format=element, histogram=False), values=[data])
        assert (found.verdict == "bad") == (error(data) > 1.05 * error(x)), (power, found)
        assert (found.element, found.format) == ("f32", element)


@pytest.mark.parametrize("element", ["bf16", "f32"])
def test_types_of_much_range_lose_nothing(element: str) -> None:
    assert TensorHealth("", 1, 2.0**-80, 1, 0, 0.01, 0, 1, (), "", element, element).verdict == "good"


def test_verdicts() -> None:
    def of(element: str, exponent: float, overflow: float = 0.0) -> str:
        return TensorHealth("", 1, 4.0**exponent, 1, 0, 0, overflow, 1, (), "", element, element).verdict

    assert [of("f16", e) for e in (-9, -7, 0, 7, 9)] == ["far", "good", "good", "good", "far"]
    assert [of("f32", e) for e in (-60, 60)] == ["good", "good"]
    assert of("f32", 0, overflow=0.1) == "bad"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Instrument(format="f9"), "unknown format 'f9'; known are f32, bf16, f16"),
        (Instrument(include=("*attention*",)), "no tensor is called *attention*; names are stablehlo.negate"),
    ],
)
def test_mistakes_get_one_line(options: Instrument, message: str) -> None:
    with make_context(), pytest.raises(ScalifyError) as error:
        options.apply(ir.Module.parse(negated("f32", 4)), [])
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_module_without_statistics_has_no_report() -> None:
    with make_context(), pytest.raises(ScalifyError, match="run the pass scalify-instrument first"):
        read_health(ir.Module.parse(negated("f32", 4)), [])


def test_a_function_that_nothing_calls_has_nothing_to_watch() -> None:
    text = """
    func.func public @main(%i: tensor<2xi32>) -> tensor<2xi32> { return %i : tensor<2xi32> }
    func.func private @unused(%a: tensor<2xf16>) -> tensor<2xf16> {
      %0 = stablehlo.multiply %a, %a : tensor<2xf16>
      return %0 : tensor<2xf16>
    }"""
    nothing = pytest.raises(ScalifyError, match="the public function computes no tensor")
    with make_context(), ir.Location.unknown(), nothing:
        Instrument().apply(ir.Module.parse(text), [])
