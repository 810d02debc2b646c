"""Additive, multiplicative and nonlinear operations, and predicates."""

from tests.ops.program import Program

_F32_UP = ("f32", "f64")

ADDITIVE = (
    Program("stablehlo.add", "3x4xT, 3x4xT -> 3x4xT"),
    Program(
        "stablehlo.add",
        "3x4xT -> 3x4xT",
        body="%r = stablehlo.add %0, %0 : tensor<3x4xT> return %r : tensor<3x4xT>",
        condition="of itself",
    ),
    Program("stablehlo.add", "3x4xT, 3x4xT=0.75 -> 3x4xT", condition="of a constant"),
    Program("stablehlo.add", "3x4xT, 3x4xT=9.765625E-4 -> 3x4xT", condition="of a guard"),
    Program("stablehlo.add", "3x4xT, 3x4xT=1000.0 -> 3x4xT", condition="of a large constant"),
    Program("stablehlo.remainder", "3x4xT, 3x4xT -> 3x4xT", draw="positive"),
    Program("stablehlo.subtract", "3x4xT, 3x4xT -> 3x4xT"),
    Program("stablehlo.subtract", "3x4xT=1.0, 3x4xT -> 3x4xT", condition="from one"),
)

MULTIPLICATIVE = (
    Program("stablehlo.cbrt", "3x4xT -> 3x4xT"),
    Program("stablehlo.divide", "3x4xT, 3x4xT -> 3x4xT", draw="positive"),
    Program("stablehlo.divide", "3x4xT, 3x4xT=3.0 -> 3x4xT", condition="by a constant"),
    Program("stablehlo.divide", "3x4xT, 3x4xT=4.0 -> 3x4xT", condition="by a power of two"),
    Program("stablehlo.divide", "3x4xT=1.0, 3x4xT -> 3x4xT", condition="of one", draw="positive"),
    Program("stablehlo.multiply", "3x4xT, 3x4xT -> 3x4xT"),
    Program("stablehlo.multiply", "3x4xT, 3x4xT=0.9 -> 3x4xT", condition="by a constant"),
    Program("stablehlo.multiply", "3x4xT, 3x4xT=0.25 -> 3x4xT", condition="by a power of two"),
    Program(
        "stablehlo.multiply",
        "3x4xT -> 3x4xT",
        body="%r = stablehlo.multiply %0, %0 : tensor<3x4xT> return %r : tensor<3x4xT>",
        condition="by itself",
    ),
    Program("chlo.square", "3x4xT -> 3x4xT"),
    Program("stablehlo.power", "3x4xT, 3x4xT=2.0 -> 3x4xT", condition="square"),
    Program("stablehlo.power", "3x4xT, 3x4xT=3.0 -> 3x4xT", condition="cube", range=("up", "down")),
    Program("stablehlo.power", "3x4xT, 3x4xT=-1.0 -> 3x4xT", condition="reciprocal", draw="positive"),
    Program("stablehlo.power", "3x4xT, 3x4xT=0.5 -> 3x4xT", condition="square root", draw="positive"),
    Program("stablehlo.power", "3x4xT, 3x4xT=7.0 -> 3x4xT", condition="seventh", range=False),
    Program(
        "stablehlo.power", "3x4xT, 3x4xT -> 3x4xT", condition="of a variable exponent", draw="positive", range=False
    ),
    Program("stablehlo.rsqrt", "3x4xT -> 3x4xT", draw="positive"),
    Program("stablehlo.sqrt", "3x4xT -> 3x4xT", draw="positive"),
)

# The result fits f16 although the operand does not; results of scale 1 are too small where operands are.
_LARGE = ("up", "far", "mixed")

NONLINEAR = (
    Program("stablehlo.atan2", "3x4xT, 3x4xT -> 3x4xT", range=True),
    Program("stablehlo.ceil", "3x4xT -> 3x4xT"),
    Program("stablehlo.cosine", "3x4xT -> 3x4xT"),
    Program("stablehlo.exponential", "3x4xT -> 3x4xT"),
    Program("stablehlo.exponential_minus_one", "3x4xT -> 3x4xT"),
    Program("stablehlo.floor", "3x4xT -> 3x4xT"),
    Program("stablehlo.log", "3x4xT -> 3x4xT", draw="positive", range=True),
    Program("stablehlo.log_plus_one", "3x4xT -> 3x4xT", draw="positive", range=_LARGE),
    Program("stablehlo.logistic", "3x4xT -> 3x4xT", range=True),
    Program("stablehlo.round_nearest_afz", "3x4xT -> 3x4xT"),
    Program("stablehlo.round_nearest_even", "3x4xT -> 3x4xT"),
    Program("stablehlo.sine", "3x4xT -> 3x4xT"),
    Program("stablehlo.tan", "3x4xT -> 3x4xT"),
    Program("stablehlo.tanh", "3x4xT -> 3x4xT", range=_LARGE),
    Program("chlo._asin_acos_kernel", "3x4xcomplex<T> -> 3x4xcomplex<T>", elements=_F32_UP),
    Program("chlo.acos", "3x4xT -> 3x4xT", draw="within_one"),
    Program("chlo.acosh", "3x4xT -> 3x4xT", draw="above_one"),
    Program("chlo.asin", "3x4xT -> 3x4xT", draw="within_one"),
    Program("chlo.asinh", "3x4xT -> 3x4xT"),
    Program("chlo.atan", "3x4xT -> 3x4xT", range=_LARGE),
    Program("chlo.atanh", "3x4xT -> 3x4xT", draw="within_one"),
    Program("chlo.bessel_i1e", "3x4xT -> 3x4xT"),
    Program("chlo.cosh", "3x4xT -> 3x4xT"),
    Program("chlo.digamma", "3x4xT -> 3x4xT", draw="positive"),
    Program("chlo.erf", "3x4xT -> 3x4xT", range=_LARGE),
    Program("chlo.erf_inv", "3x4xT -> 3x4xT", draw="within_one"),
    Program("chlo.erfc", "3x4xT -> 3x4xT"),
    Program("chlo.lgamma", "3x4xT -> 3x4xT", draw="positive"),
    Program("chlo.next_after", "3x4xT, 3x4xT -> 3x4xT"),
    Program("chlo.polygamma", "3x4xT, 3x4xT -> 3x4xT", draw="whole"),
    Program("chlo.sinh", "3x4xT -> 3x4xT"),
    Program("chlo.tan", "3x4xT -> 3x4xT"),
    Program("chlo.zeta", "3x4xT, 3x4xT -> 3x4xT", draw="above_one"),
)

_COMPARISONS = tuple(
    Program(
        "stablehlo.compare",
        "3x4xT, 3x4xT -> 3x4xi1",
        f"comparison_direction = #stablehlo<comparison_direction {direction}>",
        condition=direction.lower(),
    )
    for direction in ("EQ", "NE", "GE", "GT", "LE", "LT")
)
PREDICATES = (
    *_COMPARISONS,
    Program(
        "stablehlo.compare",
        "3x4xT, 3x4xT=0.5 -> 3x4xi1",
        "comparison_direction = #stablehlo<comparison_direction GT>",
        condition="with a constant",
    ),
    Program(
        "stablehlo.compare",
        "3x4xT, 3x4xT=0.0 -> 3x4xi1",
        "comparison_direction = #stablehlo<comparison_direction GT>",
        condition="with zero",
    ),
    Program("stablehlo.get_dimension_size", "3x4xT -> i32", "dimension = 1 : i64"),
    Program("stablehlo.is_finite", "3x4xT -> 3x4xi1"),
    Program("stablehlo.sign", "3x4xT -> 3x4xT"),
    Program("chlo.is_inf", "3x4xT -> 3x4xi1"),
    Program("chlo.is_neg_inf", "3x4xT -> 3x4xi1"),
    Program("chlo.is_pos_inf", "3x4xT -> 3x4xi1"),
)

_CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>"

OPAQUE = (
    Program("stablehlo.outfeed", "3x4xT, !stablehlo.token -> !stablehlo.token", not_run="needs a receiver"),
    Program(
        "stablehlo.send",
        "3x4xT, !stablehlo.token -> !stablehlo.token",
        _CHANNEL + ", is_host_transfer = true",
        not_run="needs a receiver",
    ),
    Program("stablehlo.bitcast_convert", "3x4xf32 -> 3x4xi32", elements=("f32",)),
    Program("stablehlo.bitcast_convert", "3x4xi32 -> 3x4xf32", condition="from integers", elements=("f32",)),
    Program(
        "stablehlo.rng",
        "T, T, 2xi64=4 -> 4x4xT",
        "rng_distribution = #stablehlo<rng_distribution UNIFORM>",
        not_run="draws numbers of its own",
    ),
    Program(
        "stablehlo.rng_bit_generator",
        "2xui64 -> 2xui64, 4xui32",
        "rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>",
        interpreted=False,
    ),
)
