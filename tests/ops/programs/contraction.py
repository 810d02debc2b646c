"""Sums of products: the scale grows by the root of their number."""

from tests.ops.program import Program

_DOT = "dot_dimension_numbers = #stablehlo.dot<{}>"
_CONVOLUTION = (
    "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = {} : i64, "
    "feature_group_count = {} : i64"
)
NOWHERE = "neither the interpreter nor XLA:CPU runs it"

PROGRAMS = (
    Program(
        "stablehlo.dot_general",
        "3x8xT, 8x2xT -> 3x2xT",
        _DOT.format("lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]"),
    ),
    Program(
        "stablehlo.dot_general",
        "2x3x8xT, 2x4x8xT -> 2x3x4xT",
        _DOT.format(
            "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
            "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]"
        ),
        condition="of a batch",
    ),
    Program("stablehlo.dot_general", "3xT, 2xT -> 3x2xT", _DOT.format(""), condition="outer product"),
    Program(
        "chlo.ragged_dot",
        "6x8xT, 2x8x3xT, 2xi32 -> 6x3xT",
        "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], "
        "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>",
        not_run=NOWHERE,
    ),
    Program("stablehlo.dot", "3x8xT, 8x2xT -> 3x2xT"),
    Program("stablehlo.einsum", "3x8xT, 8x2xT -> 3x2xT", 'einsum_config = "ab,bc->ac"', interpreted=False),
    Program("stablehlo.unary_einsum", "3x8xT -> 3xT", 'einsum_config = "ab->a"', not_run=NOWHERE),
    Program("stablehlo.convolution", "2x6x3xT, 2x3x4xT -> 2x5x4xT", _CONVOLUTION.format(1, 1)),
    Program(
        "stablehlo.convolution",
        "2x6x4xT, 2x2x4xT -> 2x5x4xT",
        _CONVOLUTION.format(1, 2),
        condition="of feature groups",
    ),
    Program(
        "stablehlo.fft",
        "8xT -> 5xcomplex<T>",
        "fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>",
        condition="of reals",
        interpreted=False,
        elements=("f32", "f64"),
    ),
)
