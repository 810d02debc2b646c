"""Operations whose shape is an operand; here the operands are constants, as after shape refinement."""

from tests.ops.program import Program


def _constants(**values: str) -> str:
    """Constants for the shape operands: name = "[1, 2]"."""
    lines: list[str] = []
    for name, value in values.items():
        lines.append(f"%{name} = stablehlo.constant dense<{value}> : tensor<{value.count(',') + 1}xi64>")
    return "\n".join(lines) + "\n"


PROGRAMS = (
    Program("chlo.constant_like", "3x4xT -> 3x4xT", "value = 2.0 : f32", elements=("f32",)),
    Program(
        "stablehlo.dynamic_broadcast_in_dim",
        "3xT -> 2x3xT",
        body=_constants(shape="[2, 3]")
        + """
    %r = stablehlo.dynamic_broadcast_in_dim %0, %shape, dims = [1] : (tensor<3xT>, tensor<2xi64>) -> tensor<2x3xT>
    return %r : tensor<2x3xT>""",
    ),
    Program(
        "stablehlo.dynamic_conv",
        "2x6x3xT, 2x3x4xT -> 2x5x4xT",
        body="""
    %p = stablehlo.constant dense<0> : tensor<1x2xi64>
    %r = "stablehlo.dynamic_conv"(%0, %1, %p) {
      dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64,
      feature_group_count = 1 : i64
    } : (tensor<2x6x3xT>, tensor<2x3x4xT>, tensor<1x2xi64>) -> tensor<2x5x4xT>
    return %r : tensor<2x5x4xT>""",
    ),
    Program(
        "stablehlo.dynamic_gather",
        "5x3xT, 4x1xi32 -> 4x3xT",
        body=_constants(sizes="[1, 3]")
        + """
    %r = "stablehlo.dynamic_gather"(%0, %1, %sizes) {
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
                                            index_vector_dim = 1>
    } : (tensor<5x3xT>, tensor<4x1xi32>, tensor<2xi64>) -> tensor<4x3xT>
    return %r : tensor<4x3xT>""",
    ),
    Program(
        "stablehlo.dynamic_pad",
        "3xT, T -> 7xT",
        body=_constants(low="[1]", high="[1]", interior="[1]")
        + """
    %r = stablehlo.dynamic_pad %0, %1, %low, %high, %interior
      : (tensor<3xT>, tensor<T>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<7xT>
    return %r : tensor<7xT>""",
    ),
    Program(
        "stablehlo.dynamic_reshape",
        "3x4xT -> 2x6xT",
        body=_constants(shape="[2, 6]")
        + """
    %r = stablehlo.dynamic_reshape %0, %shape : (tensor<3x4xT>, tensor<2xi64>) -> tensor<2x6xT>
    return %r : tensor<2x6xT>""",
    ),
    Program(
        "stablehlo.real_dynamic_slice",
        "6xT -> 2xT",
        interpreted=False,
        body=_constants(start="[1]", limit="[5]", stride="[2]")
        + """
    %r = stablehlo.real_dynamic_slice %0, %start, %limit, %stride
      : (tensor<6xT>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xT>
    return %r : tensor<2xT>""",
    ),
    Program(
        "stablehlo.set_dimension_size",
        "3x4xT, i32=2 -> 3x?xT",
        "dimension = 1 : i64",
        not_run="its result has a dynamic shape",
    ),
)
