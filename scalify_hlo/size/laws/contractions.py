"""Sums of products of two operands: K terms, independent of each other."""

import math

from scalify_hlo.bindings import chlo, ir, stablehlo
from scalify_hlo.size.algebra import Size, product
from scalify_hlo.size.laws.reductions import aligned_sum
from scalify_hlo.size.moments import Moments
from scalify_hlo.size.view import View, law


def contracted(v: View, count: float) -> Size:
    """# E[(sum_k x_k y_k)^2] = K var + K^2 mean^2"""
    x, y = v.x, v.y
    return Size(product(x.factors, y.factors), x.moments.product(y.moments).summed(max(count, 1)))


@law("dot_general", "dot")
def dot(v: View) -> Size:
    if v.name == "stablehlo.dot":
        return contracted(v, v.info(1).shape[0])
    numbers = stablehlo.DotDimensionNumbers(v.op.attributes["dot_dimension_numbers"])
    return contracted(v, math.prod(max(v.info(0).shape[int(d)], 1) for d in numbers.lhs_contracting_dimensions))


@law("chlo.ragged_dot")
def ragged_dot(v: View) -> Size:
    numbers = chlo.RaggedDotDimensionNumbers(v.op.attributes["ragged_dot_dimension_numbers"])
    contracting = [int(d) for d in numbers.lhs_contracting_dimensions]
    count = math.prod(max(v.info(0).shape[d], 1) for d in contracting)
    # A group of average size, where the groups divide what is contracted.
    divided = set(numbers.lhs_ragged_dimensions) & set(contracting)
    return contracted(v, count // max(v.info(2).shape[-1], 1) if divided else count)


# the window times the input features
@law("convolution", "dynamic_conv")
def convolution(v: View) -> Size:
    numbers = stablehlo.ConvDimensionNumbers(v.op.attributes["dimension_numbers"])
    kernel = v.info(1)
    return contracted(v, kernel.size / max(kernel.shape[int(numbers.kernel_output_feature_dimension)], 1))


@law("einsum")
def einsum(v: View) -> Size:
    return contracted(v, _summed_letters(v))


def _summed_letters(v: View) -> int:
    equation = ir.StringAttr(v.op.attributes["einsum_config"]).value.replace(" ", "")
    inputs, result = equation.split("->")
    sizes = {
        letter: n for i, term in enumerate(inputs.split(",")) for letter, n in zip(term, v.info(i).shape, strict=False)
    }
    return math.prod(max(n, 1) for letter, n in sizes.items() if letter not in result)


@law("unary_einsum")
def unary_einsum(v: View) -> Size:
    return v.x.with_moments(aligned_sum(v.x.moments, _summed_letters(v), v.alignment))


# a sum of N, divided by N if inverse
@law("fft")
def fft(v: View) -> Size:
    count = math.prod(v.ints("fft_length"))
    kind = str(v.op.attributes["fft_type"]).split("<")[-1].split(".")[-1].replace("type", "")
    return v.x.with_moments(Moments(count ** (-0.5 if "I" in kind.split("F")[0] else 0.5) * v.x.moments.rms))


# L L^T = x
@law("cholesky")
def cholesky(v: View) -> Size:
    return v.x**0.5


# a^-1 b, a's diagonal as large as a
@law("triangular_solve")
def solve(v: View) -> Size:
    return Size(product((v.x**-1).factors, v.y.factors), solved(v.x.moments, v.y.moments))


def solved(a: Moments, b: Moments) -> Moments:
    """Moments of a^-1 b, those of whose sizes are 1."""
    return Moments(b.rms / (a.rms or 1.0))
