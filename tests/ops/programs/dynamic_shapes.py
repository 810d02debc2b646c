"""Operations whose shape is an operand; here the operands are constants, as after shape refinement."""

from tests.ops.program import Program

PROGRAMS = (
    Program(
        "stablehlo.dynamic_broadcast_in_dim",
        "3xT, 2xi64 -> 2x3xT",
        "broadcast_dimensions = array<i64: 1>",
        body="""
    %shape = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %r = stablehlo.dynamic_broadcast_in_dim %0, %shape, dims = [1] : (tensor<3xT>, tensor<2xi64>) -> tensor<2x3xT>
    return %r : tensor<2x3xT>""",
    ),
)
