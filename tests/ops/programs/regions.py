"""Operations with a region: their law follows from what the region computes."""

from tests.ops.program import Program, reducer

_ADD, _MAX, _MIN, _MULTIPLY = (reducer(op) for op in ("add", "maximum", "minimum", "multiply"))
_AND = reducer("and", "i1")
_SECOND = "{ ^bb0(%a: tensor<T>, %b: tensor<T>): stablehlo.return %b : tensor<T> }"
_GREATER = (
    "{ ^bb0(%a: tensor<T>, %b: tensor<T>): "
    "%c = stablehlo.compare GT, %a, %b : (tensor<T>, tensor<T>) -> tensor<i1> stablehlo.return %c : tensor<i1> }"
)
_ARGMAX = """{ ^bb0(%a: tensor<T>, %i: tensor<i32>, %b: tensor<T>, %j: tensor<i32>):
      %greater = stablehlo.compare GT, %a, %b : (tensor<T>, tensor<T>) -> tensor<i1>
      %value = stablehlo.select %greater, %a, %b : tensor<i1>, tensor<T>
      %index = stablehlo.select %greater, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %value, %index : tensor<T>, tensor<i32> }"""
_LOGSUMEXP = """{ ^bb0(%a: tensor<T>, %b: tensor<T>):
      %s = stablehlo.exponential %a : tensor<T>
      %t = stablehlo.exponential %b : tensor<T>
      %u = stablehlo.add %s, %t : tensor<T>
      %v = stablehlo.log %u : tensor<T>
      stablehlo.return %v : tensor<T> }"""
_SORT_PAIRS = """{ ^bb0(%a: tensor<T>, %b: tensor<T>, %i: tensor<i32>, %j: tensor<i32>):
      %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<T>, tensor<T>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }"""
_SORT_BY_SINE = """{ ^bb0(%a: tensor<T>, %b: tensor<T>):
      %s = stablehlo.sine %a : tensor<T>
      %t = stablehlo.sine %b : tensor<T>
      %c = stablehlo.compare LT, %s, %t : (tensor<T>, tensor<T>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }"""
_ROWS = "dimensions = array<i64: 1>"
_WINDOW = "window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>"
_SCATTER = (
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = {}"
)
_POOL = "window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>"

PROGRAMS = (
    # a sum
    Program("stablehlo.reduce", "3x6xT, T=0.0 -> 3xT", _ROWS, _ADD, condition="add"),
    Program("stablehlo.reduce", "3x6xT, T -> 3xT", _ROWS, _ADD, condition="add to an initial value"),
    Program("stablehlo.reduce", "3x6xT, T=0.0 -> T", "dimensions = array<i64: 0, 1>", _ADD, condition="add all"),
    Program("stablehlo.reduce", "3x6xT, T=-inf -> 3xT", _ROWS, _MAX, condition="maximum"),
    Program("stablehlo.reduce", "3x6xT, T=inf -> 3xT", _ROWS, _MIN, condition="minimum"),
    Program("stablehlo.reduce", "3x6xT, T=0.0 -> 3xT", _ROWS, _SECOND, condition="last"),
    Program("stablehlo.reduce", "3x6xT, T=1.0 -> 3xT", _ROWS, _MULTIPLY, condition="multiply", range=False),
    Program(
        "stablehlo.reduce",
        "3x3xT, T=1.0 -> 3xT",
        _ROWS,
        _MULTIPLY,
        condition="multiply few",
        draw="positive",
        range=("up", "down"),
    ),
    Program("stablehlo.reduce", "3x6xi1, i1=true -> 3xi1", _ROWS, _AND, condition="and of booleans"),
    Program(
        "stablehlo.reduce",
        "3x6xT, 3x6xi32, T=-inf, i32=0 -> 3xT, 3xi32",
        _ROWS,
        _ARGMAX,
        condition="argmax",
    ),
    Program("stablehlo.reduce", "3x6xT, T=-inf -> 3xT", _ROWS, _LOGSUMEXP, condition="logsumexp", range=False),
    # a sum over each window
    Program("stablehlo.reduce_window", "3x6xT, T=0.0 -> 3x3xT", _WINDOW, _ADD, condition="add"),
    Program("stablehlo.reduce_window", "3x6xT, T=-inf -> 3x3xT", _WINDOW, _MAX, condition="maximum"),
    Program(
        "stablehlo.reduce_window",
        "6xT, T=0.0 -> 6xT",
        "window_dimensions = array<i64: 6>, padding = dense<[[5, 0]]> : tensor<1x2xi64>",
        _ADD,
        condition="cumulative sum",
    ),
    Program("stablehlo.reduce_window", "3x6xT, T=1.0 -> 3x3xT", _WINDOW, _MULTIPLY, condition="multiply"),
    Program("stablehlo.scatter", "5x3xT, 4x1xi32, 4x3xT -> 5x3xT", _SCATTER.format("false"), _ADD, condition="add"),
    Program("stablehlo.scatter", "5x3xT, 4x1xi32, 4x3xT -> 5x3xT", _SCATTER.format("false"), _MAX, condition="maximum"),
    Program(
        "stablehlo.scatter", "5x3xT, 4x1xi32, 4x3xT -> 5x3xT", _SCATTER.format("false"), _SECOND, condition="update"
    ),
    Program(
        "stablehlo.scatter",
        "5x3xT=0.0, 4x1xi32, 4x3xT -> 5x3xT",
        _SCATTER.format("false"),
        _ADD,
        condition="add to zeros",
    ),
    Program(
        "stablehlo.scatter",
        "5x3xT, 4x1xi32, 4x3xT -> 5x3xT",
        _SCATTER.format("false"),
        _MULTIPLY,
        condition="multiply",
        range=False,
    ),
    Program(
        "stablehlo.select_and_scatter",
        "3x6xT, 3x3xT, T=0.0 -> 3x6xT",
        _POOL,
        f"{_GREATER.replace('GT', 'GE')}, {_ADD}",
    ),
    Program("stablehlo.sort", "3x6xT -> 3x6xT", "dimension = 1 : i64, is_stable = true", _GREATER),
    Program(
        "stablehlo.sort",
        "3x6xT, 3x6xi32 -> 3x6xT, 3x6xi32",
        "dimension = 1 : i64, is_stable = true",
        _SORT_PAIRS,
        condition="with a payload",
    ),
    Program(
        "stablehlo.sort",
        "3x6xT -> 3x6xT",
        "dimension = 1 : i64, is_stable = true",
        _SORT_BY_SINE,
        condition="by magnitude",
        range=False,
    ),
    Program(
        "chlo.scan",
        "6x3xT, 3xT -> 6x3xT, 3xT",
        "dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>",
        "{ ^bb0(%a: tensor<3xT>, %b: tensor<3xT>): %c = stablehlo.add %a, %b : tensor<3xT> "
        "stablehlo.return %c, %c : tensor<3xT>, tensor<3xT> }",
        interpreted=False,
    ),
    Program(
        "stablehlo.map",
        "3x4xT, 3x4xT -> 3x4xT",
        "dimensions = array<i64: 0, 1>",
        "{ ^bb0(%a: tensor<T>, %b: tensor<T>): %c = stablehlo.multiply %a, %b : tensor<T> "
        "%h = stablehlo.constant dense<0.5> : tensor<T> %d = stablehlo.add %c, %h : tensor<T> "
        "stablehlo.return %d : tensor<T> }",
    ),
)
