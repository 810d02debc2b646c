"""f(s x) = s f(x): data movement, signs, conversions between floats."""

from tests.ops.program import Program

LAYOUT = "says how a value is laid out over devices"

PROGRAMS = (
    Program("stablehlo.abs", "3x4xT -> 3x4xT"),
    Program("stablehlo.broadcast", "3xT -> 2x3xT", "broadcast_sizes = array<i64: 2>"),
    Program("stablehlo.broadcast_in_dim", "3xT -> 2x3xT", "broadcast_dimensions = array<i64: 1>"),
    Program("stablehlo.broadcast_in_dim", "T -> 2x3xT", "broadcast_dimensions = array<i64>", condition="of a scalar"),
    Program("stablehlo.convert", "3x4xT -> 3x4xf32", condition="to f32"),
    Program("stablehlo.convert", "3x4xT -> 3x4xf16", condition="to f16", elements=("f32", "f64", "bf16")),
    Program("stablehlo.convert", "3x4xT -> 3x4xbf16", condition="to bf16", elements=("f32", "f64", "f16")),
    Program("stablehlo.convert", "3x4xT -> 3x4xi32", condition="to integers", range=False),
    Program("stablehlo.convert", "3x4xT -> 3x4xi1", condition="to booleans"),
    Program("stablehlo.convert", "3x4xi32 -> 3x4xT", condition="of integers", range=False),
    Program("stablehlo.dynamic_slice", "4x6xT, i32, i32 -> 2x3xT", "slice_sizes = array<i64: 2, 3>"),
    Program(
        "stablehlo.gather",
        "5x3xT, 4x1xi32 -> 4x3xT",
        "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
        "index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>",
    ),
    Program("stablehlo.negate", "3x4xT -> 3x4xT"),
    Program("stablehlo.optimization_barrier", "3x4xT, 2xT, 3xi32 -> 3x4xT, 2xT, 3xi32"),
    Program(
        "stablehlo.reduce_precision",
        "3x4xT -> 3x4xT",
        "exponent_bits = 5 : i32, mantissa_bits = 3 : i32",
        elements=("f32", "f16"),
    ),
    Program("stablehlo.reshape", "3x4xT -> 2x6xT"),
    Program("stablehlo.reverse", "3x4xT -> 3x4xT", "dimensions = array<i64: 1>"),
    Program(
        "stablehlo.slice",
        "4x6xT -> 2x2xT",
        "start_indices = array<i64: 1, 0>, limit_indices = array<i64: 3, 5>, strides = array<i64: 1, 3>",
    ),
    Program(
        "stablehlo.torch_index_select",
        "4x3xT, 2xi32 -> 2x3xT",
        "dim = 0 : i64, batch_dims = 0 : i64",
        interpreted=False,
    ),
    Program("stablehlo.transpose", "3x4xT -> 4x3xT", "permutation = array<i64: 1, 0>"),
    Program("chlo.top_k", "3x6xT -> 3x2xT, 3x2xi32", "k = 2 : i64"),
    Program(
        "sdy.sharding_constraint",
        "3x4xT -> 3x4xT",
        "sharding = #sdy.sharding<@mesh, [{}, {}]>",
        functions="sdy.mesh @mesh = <[]>",
        not_run=LAYOUT,
    ),
    Program(
        "sdy.sharding_group",
        "3x4xT -> 3x4xT",
        body="sdy.sharding_group %0 group_id = 1 : tensor<3x4xT> return %0 : tensor<3x4xT>",
        not_run=LAYOUT,
    ),
    Program(
        "sdy.reshard",
        "3x4xT -> 3x4xT",
        "sharding = #sdy.sharding<@mesh, [{}, {}]>",
        functions="sdy.mesh @mesh = <[]>",
        not_run=LAYOUT,
    ),
    Program(
        "sdy.propagation_barrier",
        "3x4xT -> 3x4xT",
        "allowed_direction = 0 : i32",
        not_run=LAYOUT,
    ),
)
