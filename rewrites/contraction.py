"""Contractions: sums of K products. The scale grows by sqrt(K), as if they were independent, or more (`growth`)."""

import math

from scalify_hlo import budget
from scalify_hlo.bindings import chlo, ir, stablehlo
from scalify_hlo.emit.narrow_products import noted_product
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.registry import rule
from scalify_hlo.rules.shapes import placed, uniform_along
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import Scale, round_log2
from scalify_hlo.size.moments import Moments


def contract(r: OpRewrite, x: ScaledValue, y: ScaledValue, scale: Scale, count: int) -> None:
    """Declare the result of a contraction whose operands' data are in place and whose scales' product is `scale`.

    In types narrower than f32 the products, if they are more than a few, are accumulated in f32 and multiplied by the
    power of two before they are rounded, so that 2^-k never comes after an overflow; what is rounded to bf16, which
    cannot overflow, is rounded first, with the same bits (see scalify_hlo.emit.narrow_products).
    """
    moments = r.expected(x, y)
    if x.indifferent or y.indifferent:
        other = y.scale if x.indifferent else x.scale
        # The dimensions of an operand are not those of the result; `scale` has these.
        return r.result(scale if other.shape else other, moments, indifferent=True)
    result = r.op.results[0]
    if len(scale.factors) > 1:
        # One value for the product, from which all that follows is computed.
        scale = r.emit.single(Scale(0, scale.factors)).shifted(scale.exponent)
    # Mean magnitude, as the root mean square of what is not zero: of one-hot rows each sum has one term.
    size = x.moments.rms * y.moments.rms * math.sqrt(x.moments.share * y.moments.share)
    if not r.result_info().is_narrow:
        if r.rewriter.narrow:
            r.rewriter.products.append(noted_product(r.op))
        return r.settled(scale, moments, slack=r.rewriter.slack)
    exponent = growth(r, size, moments, count)
    smaller = min((0, 1), key=lambda i: r.info(i).size)
    if as_written(r, smaller, count, exponent, scale, moments):
        return None
    wide = r.rebuilt(list(r.op.operands), [r.emit.tensor_type(result.type, "f32")]).results[0]
    r.rewriter.products.append(noted_product(wide.owner.operation))
    return r.accumulated(wide, exponent, scale, moments)


# x . y 2^-k = (x 2^-k) . y
def as_written(r: OpRewrite, index: int, count: int, exponent: float, scale: Scale, moments: Moments) -> bool:
    """Declare a sum of few terms in f16, which is formed in f16 as the program has it; whether it is one.

    Its terms are made 2^exponent smaller by operand `index`, so that no partial sum is larger than what comes of it.
    """
    if not 0 <= exponent <= math.log2(budget.FEW_TERMS) or count > budget.FEW_TERMS:
        return False
    if {r.result_info().element, r.info(index).element} != {"f16"}:
        return False
    known = r.known(0, scale, moments)
    if known is not moments:
        return False
    if exponent:
        r.because("budget")
    r.set_operand(index, r.emit.rescale(r.operand(index), Scale(-exponent)))
    r.result(scale.shifted(exponent), moments.shifted(-exponent))
    return True


def growth(r: OpRewrite, term: float, total: Moments, count: int) -> float:
    """log2 by which the scale of a sum of `count` terms in a narrow type is larger than that of a term.

    term: the terms' root mean square; total: moments of the sum, if they are independent.

    # sqrt(N) < N^(3/4) < N

    Terms start or become aligned: the bias gradients of all tokens at the start of training, activations and the
    weights that learn from them later. Their sum is then as large as N. Half-way between sqrt(N) and N it is never
    further than N^(1/4) from unit scaling.
    """
    log2 = total.log2
    if not r.rewriter.paper and term > 0:
        log2 += max(0.0, (math.log2(count * term) - log2) * budget.ALIGNMENT)
    return round_log2(log2, r.rewriter.options.rounding)


# (s x) . (t y) = (s t) (x . y), grown by sqrt(K) to K^(3/4)
@rule("dot_general", "dot", family="contraction", law="(s x) . (t y) = (s t 2^k) (x . y 2^-k)",
      scale="s t 2^k, k = floor(log2 sqrt(K)) for K contracted elements, K^(3/4) in f16 and f8",
      shaped=True)  # fmt: skip
def dot_general(r: OpRewrite) -> None:
    left, right, batch_left, batch_right = _dot_dimensions(r)
    x = uniform_along(r.rewriter, r.scaled(0), left)
    y = uniform_along(r.rewriter, r.scaled(1), right)
    r.set_operand(0, x.data)
    r.set_operand(1, y.data)
    count = 1
    for d in left:
        count *= max(r.info(0).shape[d], 1)
    # Result dimensions: batch, then what is left of the left side, then of the right side.
    rank = r.result_info().rank
    free_left = [d for d in range(r.info(0).rank) if d not in left and d not in batch_left]
    free_right = [d for d in range(r.info(1).rank) if d not in right and d not in batch_right]
    scale_x = placed(r.emit, x.scale, [*batch_left, *free_left], list(range(len(batch_left) + len(free_left))), rank)
    offset = len(batch_left) + len(free_left)
    where = [*range(len(batch_right)), *range(offset, offset + len(free_right))]
    scale_y = placed(r.emit, y.scale, [*batch_right, *free_right], where, rank)
    contract(r, x, y, scale_x * scale_y, max(count, 1))


def _dot_dimensions(r: OpRewrite) -> tuple[list[int], list[int], list[int], list[int]]:
    if r.name == "stablehlo.dot":
        return [r.info(0).rank - 1], [0], [], []
    numbers = stablehlo.DotDimensionNumbers(r.op.attributes["dot_dimension_numbers"])
    return (
        list(numbers.lhs_contracting_dimensions),
        list(numbers.rhs_contracting_dimensions),
        list(numbers.lhs_batching_dimensions),
        list(numbers.rhs_batching_dimensions),
    )


# every group is a contraction with its own right side
@rule("chlo.ragged_dot", family="contraction", law="(s x) . (t y) = (s t 2^k) (x . y 2^-k)",
      scale="as dot_general, K of a group of average size where the groups divide K")  # fmt: skip
def ragged_dot(r: OpRewrite) -> None:
    numbers = chlo.RaggedDotDimensionNumbers(r.op.attributes["ragged_dot_dimension_numbers"])
    contracting = [int(d) for d in numbers.lhs_contracting_dimensions]
    count = 1
    for d in contracting:
        count *= max(r.info(0).shape[d], 1)
    if set(numbers.lhs_ragged_dimensions) & set(contracting):
        count //= max(r.info(2).shape[-1], 1)
    x, y = r.scaled(0), r.scaled(1)
    r.set_operand(0, x.data)
    r.set_operand(1, y.data)
    contract(r, x, y, x.scale * y.scale, max(count, 1))


# a convolution is a contraction over the kernel window and the input features
@rule("convolution", "dynamic_conv", family="contraction", law="(s x) * (t y) = (s t 2^k) (x * y 2^-k)",
      scale="s t 2^k, k = floor(log2 sqrt(window size * input features per group))",
      note="padding is not counted", shaped=True)  # fmt: skip
def convolution(r: OpRewrite) -> None:
    numbers = stablehlo.ConvDimensionNumbers(r.op.attributes["dimension_numbers"])
    batch, outputs = int(numbers.input_batch_dimension), int(numbers.kernel_output_feature_dimension)
    # With several groups the batch is contracted too.
    grouped = "batch_group_count" in r.op.attributes and ir.IntegerAttr(r.op.attributes["batch_group_count"]).value != 1
    rank = r.info(0).rank
    x = uniform_along(r.rewriter, r.scaled(0), [d for d in range(rank) if d != batch or grouped])
    y = uniform_along(r.rewriter, r.scaled(1), [d for d in range(rank) if d != outputs])
    r.set_operand(0, x.data)
    r.set_operand(1, y.data)
    scale_x = placed(r.emit, x.scale, [batch], [int(numbers.output_batch_dimension)], rank)
    scale_y = placed(r.emit, y.scale, [outputs], [int(numbers.output_feature_dimension)], rank)
    kernel = r.info(1)
    contract(r, x, y, scale_x * scale_y, max(kernel.size // max(kernel.shape[outputs], 1), 1))


def _equation(r: OpRewrite) -> tuple[str, str]:
    """The letters of the operands, and of the result. MLIR's verifier takes any text for an equation."""
    text = ir.StringAttr(r.op.attributes["einsum_config"]).value
    operands, arrow, result = text.replace(" ", "").partition("->")
    if not arrow or operands.count(",") != len(r.inputs) - 1:
        raise UnsupportedError(f"einsum_config '{text}' is no equation of {len(r.inputs)} operands ('ab,bc->ac')")
    return operands, result


# an einsum of two operands contracts the letters that the result lacks
@rule("einsum", family="contraction", law="(s x) . (t y) = (s t 2^k) (x . y 2^-k)", scale="as dot_general")
def einsum(r: OpRewrite) -> None:
    inputs, result = _equation(r)
    names = inputs.split(",")
    sizes = {letter: n for i, term in enumerate(names) for letter, n in zip(term, r.info(i).shape, strict=False)}
    count = 1
    for letter, n in sizes.items():
        if letter not in result:
            count *= max(n, 1)
    x, y = r.scaled(0), r.scaled(1)
    # XLA writes an einsum out as products in the result's type: f32 where that is narrow, operands and all.
    narrow = r.result_info().is_narrow
    for i, member in enumerate((x, y)):
        r.set_operand(i, r.emit.convert(member.data, "f32") if narrow else member.data)
    contract(r, x, y, x.scale * y.scale, count)


# a sum over the letters that the result lacks
@rule("unary_einsum", family="accumulation", law="sum(s x) = (s 2^k) (sum(x) 2^-k)", scale="as reduce with add")
def unary_einsum(r: OpRewrite) -> None:
    names, result = _equation(r)
    count = 1
    for letter, n in zip(names, r.info(0).shape, strict=False):
        if letter not in result:
            count *= max(n, 1)
    x = r.scaled(0)
    moments = r.expected(x)
    if not r.result_info().is_narrow:
        return r.settled(x.scale, moments, slack=r.rewriter.slack)
    type_ = r.emit.tensor_type(r.op.results[0].type, "f32")
    wide = r.rebuilt([r.emit.convert(x.data, "f32")], [type_]).results[0]
    return r.accumulated(wide, growth(r, x.moments.rms, moments, count), x.scale, moments)


def _mixed_by_fft(r: OpRewrite, index: int) -> list[int]:
    rank = r.info(index).rank
    return list(range(rank - len(r.attribute_ints("fft_length")), rank))


# the transform of s x is s times the transform of x; its elements are sums of N
@rule("fft", family="contraction", law="fft(s x) = s fft(x)", scale="s 2^k, k = floor(log2 sqrt(N)); 1/sqrt(N) inverse",
      mixes=_mixed_by_fft)  # fmt: skip
def fft(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.settled(x.scale, r.expected(x), slack=r.rewriter.slack)
