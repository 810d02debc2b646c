"""Scales with a shape, in every family: results keep it along the dimensions whose elements do not meet.

Each program of the table runs with one scale for each index of the first dimension, of the last one, and of all of
them; the scales differ. KEPT says which scales come out.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.inputs import Split, recombine
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.modules import to_bytecode
from scalify_hlo.execution.promote import promote_array, promote_to_f64
from scalify_hlo.execution.signature import entry_signature, pair_arguments
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rewrite import rewrite_module
from tests.ops.program import Program
from tests.ops.programs import PROGRAMS
from tests.ops.test_rules import evaluator, is_exact, range_variants
from tests.support import Rewritten, close, f16_tolerance, parse, run_on_xla, same_bits

DIMENSIONS = ("first", "last", "all")
_ELEMENTWISE = ("3x1", "1x4", "3x4")
# Not of a padded or summed last dimension.
_ROWS = ("3x1", "", "3x1")
# What is broadcast comes with a scale along its own dimension.
_BROADCAST = ("3x4", "1x4", "3x4")

# Programs whose results have scales of these shapes; all others have scales of rank 0.
KEPT: dict[str, tuple[str, str, str]] = {
    **dict.fromkeys(
        (
            "abs", "convert_to_f32", "convert_to_f16", "convert_to_bf16", "negate", "reduce_precision", "reverse",
            "cbrt", "divide", "divide_by_a_constant", "divide_by_a_power_of_two", "divide_of_one", "multiply",
            "multiply_by_a_constant", "multiply_by_a_power_of_two", "multiply_by_itself", "chlo.square", "power_square",
            "power_cube", "power_reciprocal", "power_square_root", "rsqrt", "sqrt", "add", "add_of_itself",
            "add_of_a_constant", "add_of_a_guard", "add_of_a_large_constant", "remainder", "subtract",
            "subtract_from_one", "clamp", "clamp_between_constants", "maximum", "maximum_with_zero", "minimum",
            "select", "select_of_zero", "select_of_a_constant", "select_by_a_scalar", "select_of_a_mask", "map",
            "func.call", "func.call_repeated", "case", "case_second_branch", "if", "if_of_zeros", "composite", "tuple",
            "real_after_negate", "add_of_complex_numbers", "multiply_of_complex_numbers", "chlo.conj",
            "abs_of_complex_numbers", "all_reduce", "all_reduce_maximum", "collective_permute",
            "chlo.broadcast_multiply_by_a_scalar",
        ),
        _ELEMENTWISE,
    ),
    **dict.fromkeys(
        ("while_keeping_its_scale", "while_accumulating", "while_exchanging", "while_from_zeros"),
        ("3x1,3x1", "1x4,1x4", "3x4,3x4"),
    ),
    # tanh gives scale 1
    "while_swapping": (",3x1", ",1x4", ",3x4"),
    **dict.fromkeys(
        (
            "chlo.broadcast_add", "chlo.broadcast_divide", "chlo.broadcast_maximum", "chlo.broadcast_minimum",
            "chlo.broadcast_multiply", "chlo.broadcast_remainder", "chlo.broadcast_select", "chlo.broadcast_subtract",
        ),
        _BROADCAST,
    ),
    **dict.fromkeys(
        (
            "sort", "sort_with_a_payload", "reduce_window_add", "reduce_window_maximum", "select_and_scatter",
            "chlo.top_k",
        ),
        _ROWS,
    ),
    **dict.fromkeys(("reduce_add", "reduce_maximum", "reduce_minimum", "reduce_last", "reduce_argmax"), ("3", "", "3")),
    # data movement: a scale moves like its data
    "broadcast_in_dim": ("1x3", "1x3", "1x3"),
    "dynamic_slice": ("2x1", "1x3", "2x3"),
    "gather": ("4x1", "1x3", "4x3"),
    "optimization_barrier": ("3x1,2", "1x4,2", "3x4,2"),
    "reshape": ("", "", "2x6"),  # 3x4 to 2x6: no row survives
    "slice": ("2x1", "1x2", "2x2"),
    "transpose": ("1x3", "4x1", "4x3"),
    # contracted dimensions are brought to one scale
    "dot": ("3x1", "1x2", "3x2"),
    "dot_general": ("3x1", "1x2", "3x2"),
    "dot_general_of_a_batch": ("2x1x1", "", "2x3x4"),
    "dot_general_outer_product": ("3x2", "3x2", "3x2"),
    "convolution": ("2x1x1", "1x1x4", "2x1x4"),
    "convolution_of_feature_groups": ("2x1x1", "1x1x4", "2x1x4"),
    "dynamic_conv": ("2x1x1", "1x1x4", "2x1x4"),
    "triangular_solve": ("", "1x2", "1x2"),
    "triangular_solve_of_a_unit_diagonal": ("", "1x2", "1x2"),
    # one scale for what is put together
    "all_gather": ("", "1x4", "1x4"),
    "concatenate": ("", "1x3", "1x3"),
    "dynamic_update_slice_one_row": ("4x1", "1x6", "4x6"),
    "reduce_scatter": ("", "1x4", "1x4"),
    **dict.fromkeys(("scatter_add", "scatter_maximum", "scatter_update", "scatter_add_to_zeros"), ("", "1x3", "1x3")),
}  # fmt: skip

_RUNNABLE = [p for p in PROGRAMS if not p.not_run and any(o.is_float and "x" in o.type for o in p.operands)]


def _options(program: Program, element: str, dimensions: str) -> ScalifyOptions:
    arguments = entry_signature(parse(program.text(element))).arguments
    terms: list[str] = []
    for i, spec in enumerate(arguments):
        if spec.is_float and spec.shape:
            every = "+".join(map(str, range(len(spec.shape))))
            terms.append(f"{i}={ {'first': '0', 'last': '-1', 'all': every}[dimensions] }".replace(" ", ""))
    return ScalifyOptions(scale_dims=",".join(terms), result_scales="shaped")


def _scales(rewritten: Rewritten, first: int, last: int) -> list[Array | None]:
    """A power of two from 2^first to 2^last for each number that a scale has."""
    generator = np.random.default_rng(0)
    scales: list[Array | None] = []
    for pairing in pair_arguments(rewritten.original, rewritten.signature):
        if pairing.scale is None:
            scales.append(None)
            continue
        exponents = generator.integers(first, last + 1, rewritten.signature.arguments[pairing.scale].shape)
        scales.append(np.asarray(np.ldexp(1.0, exponents), np.float32))
    return scales


def _shapes(results: list[Split]) -> str:
    return ",".join("x".join(map(str, r.scale.shape)) for r in results if r.scale is not None)


@pytest.mark.parametrize("program", _RUNNABLE, ids=lambda p: p.name)
def test_values_and_shapes(program: Program) -> None:
    """Promises P1, P2 and P5, and the shapes of KEPT."""
    text, arrays = program.text("f32"), program.inputs("f32")
    expected = evaluator(program)(text, arrays)
    kept: list[str] = []
    for dimensions in DIMENSIONS:
        rewritten = Rewritten.of(text, _options(program, "f32", dimensions))
        splits = [
            Split(a, None) if s is None else Split((a / s).astype(a.dtype), s)
            for a, s in zip(arrays, _scales(rewritten, -6, 6), strict=True)
        ]
        got = rewritten.run(splits, evaluator(program))
        for spec, pair, want in zip(rewritten.original.results, got, expected, strict=True):
            value = recombine(pair.data, pair.scale).astype(spec.dtype)
            agree = same_bits(value, want) if is_exact(program) else close(value, want, spec, 4.0)
            assert agree.all(), f"{value}, expected {want}\n{rewritten.text}"
            if pair.scale is not None:
                assert (np.frexp(pair.scale)[0] == 0.5).all(), f"{pair.scale}\n{rewritten.text}"
        kept.append(_shapes(got))
    floats = sum(entry.is_float for entry in entry_signature(parse(text)).results)
    assert tuple(kept) == KEPT.get(program.name, (",".join([""] * floats),) * 3)


@pytest.mark.parametrize(
    "program", [p for p in _RUNNABLE if "f16" in p.elements and "up" in range_variants(p)], ids=lambda p: p.name
)
def test_f16_results_exist_where_values_are_out_of_its_range(program: Program) -> None:
    """Promise P3 with scales of 2^22 to 2^26."""
    text, arrays = program.text("f16"), program.inputs("f16")
    evaluate = evaluator(program)
    rewritten = Rewritten.of(text, _options(program, "f16", "all"))
    ideal = to_bytecode(promote_to_f64(parse(text)))
    scales = _scales(rewritten, 22, 26)
    splits = [Split(a, s) for a, s in zip(arrays, scales, strict=True)]
    wanted = evaluate(ideal, [promote_array(recombine(s.data, s.scale)) for s in splits])
    near_one = evaluate(ideal, [promote_array(array) for array in arrays])
    tolerances = [f16_tolerance(got, want) for got, want in zip(evaluate(text, arrays), near_one, strict=True)]
    results = rewritten.run(splits, evaluate)
    for spec, pair, want, tolerance in zip(rewritten.original.results, results, wanted, tolerances, strict=True):
        value = recombine(pair.data, pair.scale)
        agree = close(value, want, spec, tolerance, small=0.25) if spec.is_float else value == want
        assert agree.all(), f"{value}, expected {want}\n{rewritten.text}"


def _stacked(x: Any, y: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        return jnp.maximum(h * 0.5 + row, y), h

    return jax.lax.scan(step, x, jnp.stack([x, y, x - y]))


def _picked(x: Any, y: Any) -> Any:
    """Each row from a step of its own: the carried value then has a scale for each row."""
    rows = jnp.arange(3)
    last = _stacked(x, y)[1][rows[::-1], rows]
    return _stacked(last, y)


@pytest.mark.parametrize("function", [_stacked, _picked])
@pytest.mark.parametrize("dims", ["", "0=0", "0=0,1=1", "0=0+1"])
def test_stacks_of_values_whose_scale_has_a_shape(function: Any, dims: str) -> None:
    x, y = (np.random.default_rng(seed).standard_normal((3, 4)).astype(np.float32) for seed in (0, 1))
    text = str(jax.jit(function).lower(x, y).compiler_ir("stablehlo"))
    rewritten = Rewritten.of(text, ScalifyOptions(scale_dims=dims, result_scales="shaped"))
    splits = [Split((a / s).astype(np.float32), s) for a, s in zip((x, y), _scales(rewritten, -6, 6), strict=True)]
    for pair, want in zip(rewritten.run(splits), interpret(text, [x, y]), strict=True):
        value = recombine(pair.data, pair.scale).astype(np.float32)
        assert same_bits(value, want).all(), f"{value}, expected {want}\n{rewritten.text}"


def test_a_sharding_keeps_the_scale() -> None:
    rewritten = rewrite_module(
        """
sdy.mesh @mesh = <["a"=2]>
func.func public @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"a"}, {}]> : tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}""",
        ScalifyOptions(scale_dims="0=0", result_scales="shaped"),
    )
    assert "return %0, %arg1 : tensor<4x2xf32>, tensor<4x1xf32>" in rewritten


def test_a_product_of_zeros_whose_scale_has_a_shape() -> None:
    """The scale of zeros was that of an operand, 2x1 for a result of two elements."""
    text = """
func.func public @main(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<2x3xf32>
  %0 = stablehlo.multiply %x, %z : tensor<2x3xf32>
  %1 = stablehlo.dot_general %0, %0, batching_dims = [0] x [0], contracting_dims = [1] x [1]
    : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""
    rewritten = Rewritten.of(text, ScalifyOptions(scale_dims="0=0", result_scales="shaped"))
    (result,) = rewritten.run([Split(np.ones((2, 3), np.float32), np.asarray([[2.0], [8.0]], np.float32))])
    assert not result.data.any()
    assert result.scale is not None
    assert np.isfinite(result.scale).all()


def test_a_loop_before_any_scale_without_a_shape() -> None:
    """The first scale without one was that of the loop's condition, and what followed the loop was computed of it."""
    text = """
func.func public @main(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %p = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1]
    : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %p, %b = %p) : tensor<i32>, tensor<2x2xf32>, tensor<2x2xf32>
  cond {
    %go = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %c = stablehlo.constant dense<0.9> : tensor<2x2xf32>
    stablehlo.return %j, %c, %a : tensor<i32>, tensor<2x2xf32>, tensor<2x2xf32>
  }
  %decay = stablehlo.constant dense<0.9> : tensor<2x2xf32>
  %rest = stablehlo.constant dense<0.1> : tensor<2x2xf32>
  %0 = stablehlo.multiply %r#1, %decay : tensor<2x2xf32>
  %1 = stablehlo.multiply %rest, %p : tensor<2x2xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}"""
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    rewritten = Rewritten.of(text, ScalifyOptions(scale_dims="0=0"))
    scale = np.asarray([[4.0], [0.5]], np.float32)
    (result,) = rewritten.run([Split(x / scale, scale)])
    assert same_bits(recombine(result.data, result.scale).astype(np.float32), interpret(text, [x])[0]).all()


@pytest.mark.parametrize("dims", ["all=-1", "all=0", "all=0+1"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x * y + y,
        lambda x, y: x.at[1].add(y[0]),
        lambda x, y: jnp.concatenate([x, y]).sum(0),
        lambda x, y: x @ y.T,
        lambda x, y: jnp.maximum(x / y, x).T.reshape(-1),
    ],
)
def test_a_scaled_dimension_without_elements(function: Any, dims: str) -> None:
    """Its scale has no elements either; shapes 1 and 0 were joined to 1, and the scatter ended in an internal error."""
    empty = jax.ShapeDtypeStruct((3, 0), jnp.float16)
    text = jax.jit(function, keep_unused=True).lower(empty, empty).as_text()
    rewritten = Rewritten.of(text, ScalifyOptions(scale_dims=dims))
    zeros = np.zeros((3, 0), np.float16)
    shapes = [argument.shape for argument in rewritten.signature.arguments[1::2]]
    got = rewritten.run([Split(zeros, np.ones(shape, np.float32)) for shape in shapes], run_on_xla)
    for pair, want in zip(got, run_on_xla(text, [zeros, zeros]), strict=True):
        np.testing.assert_array_equal(recombine(pair.data, pair.scale), want)
