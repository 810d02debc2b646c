"""Decompositions, solves and normalisations."""

from tests.ops.program import Program

_SOLVE = "left_side = true, lower = true, unit_diagonal = {}, transpose_a = #stablehlo<transpose NO_TRANSPOSE>"
_NORM = "epsilon = 1.0E-3 : f32, feature_index = 1 : i64"
# A symmetric positive definite matrix from any: x x^T + 4.
_CHOLESKY = """
    %x = stablehlo.dot_general %0, %0, contracting_dims = [1] x [1] : (tensor<3x3xT>, tensor<3x3xT>) -> tensor<3x3xT>
    %i = stablehlo.constant dense<[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]> : tensor<3x3xT>
    %y = stablehlo.add %x, %i : tensor<3x3xT>
    %r = "stablehlo.cholesky"(%y) {lower = true} : (tensor<3x3xT>) -> tensor<3x3xT>
    return %r : tensor<3x3xT>"""

PROGRAMS = (
    Program(
        "stablehlo.cholesky", "3x3xT -> 3x3xT", body=_CHOLESKY, interpreted=False, range=False, elements=("f32", "f64")
    ),
    Program(
        "stablehlo.triangular_solve",
        "3x3xT, 3x2xT -> 3x2xT",
        _SOLVE.format("false"),
        draw="positive",
        interpreted=False,
        elements=("f32", "f64"),
    ),
    Program(
        "stablehlo.triangular_solve",
        "3x3xT, 3x2xT -> 3x2xT",
        _SOLVE.format("true"),
        condition="of a unit diagonal",
        interpreted=False,
        elements=("f32", "f64"),
    ),
    Program(
        "stablehlo.batch_norm_training",
        "4x3xT, 3xT, 3xT -> 4x3xT, 3xT, 3xT",
        _NORM,
        interpreted=False,
        elements=("f32",),
    ),
    Program(
        "stablehlo.batch_norm_inference",
        "4x3xT, 3xT, 3xT, 3xT, 3xT -> 4x3xT",
        _NORM,
        draw="positive",
        interpreted=False,
        elements=("f32",),
    ),
    Program(
        "stablehlo.batch_norm_grad",
        "4x3xT, 3xT, 3xT, 3xT, 4x3xT -> 4x3xT, 3xT, 3xT",
        _NORM,
        draw="positive",
        interpreted=False,
        elements=("f32",),
    ),
)
