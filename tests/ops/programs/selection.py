"""The members of the result come from several operands, which are brought to one scale."""

from tests.ops.program import Program

_GREATER = "comparison_direction = #stablehlo<comparison_direction GT>"

PROGRAMS = (
    Program("stablehlo.clamp", "3x4xT, 3x4xT, 3x4xT -> 3x4xT"),
    Program("stablehlo.clamp", "T, 3x4xT, T -> 3x4xT", condition="between scalars"),
    Program("stablehlo.clamp", "3x4xT=-0.5, 3x4xT, 3x4xT=0.5 -> 3x4xT", condition="between constants"),
    Program("stablehlo.concatenate", "2x3xT, 4x3xT, 1x3xT -> 7x3xT", "dimension = 0 : i64"),
    Program("stablehlo.dynamic_update_slice", "4x6xT, 2x3xT, i32, i32 -> 4x6xT"),
    Program("stablehlo.dynamic_update_slice", "4x6xT, 1x6xT, i32, i32=0 -> 4x6xT", condition="one row"),
    Program("stablehlo.maximum", "3x4xT, 3x4xT -> 3x4xT"),
    Program("stablehlo.maximum", "3x4xT, 3x4xT=0.0 -> 3x4xT", condition="with zero"),
    Program("stablehlo.minimum", "3x4xT, 3x4xT -> 3x4xT"),
    Program(
        "stablehlo.pad",
        "3x4xT, T -> 6x6xT",
        "edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 0, 2>, "
        "interior_padding = array<i64: 1, 0>",
    ),
    Program("stablehlo.select", "3x4xi1, 3x4xT, 3x4xT -> 3x4xT"),
    Program("stablehlo.select", "3x4xi1, 3x4xT, 3x4xT=0.0 -> 3x4xT", condition="of zero"),
    Program("stablehlo.select", "3x4xi1, 3x4xT, 3x4xT=0.75 -> 3x4xT", condition="of a constant"),
    Program("stablehlo.select", "i1, 3x4xT, 3x4xT -> 3x4xT", condition="by a scalar"),
    Program(
        "stablehlo.select",
        "3x4xi1, 3x4xT, 3x4xT=-1.0E+9 -> 3x4xT",
        condition="of a mask",
        elements=("f32", "f64"),
    ),
)
