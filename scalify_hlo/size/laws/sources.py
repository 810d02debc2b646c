"""What is made of nothing: constants, positions, random numbers; and conversions of what has a number."""

import math

from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import moments_of_iota, read_dense, rounded
from scalify_hlo.size.algebra import Size, of_number
from scalify_hlo.size.moments import Moments, of_integers
from scalify_hlo.size.view import View, law
from scalify_hlo.types import tensor_info


@law("constant", "chlo.constant")
def constant(v: View) -> Size:
    found = read_dense(v.op)
    if found.splat is not None:
        return of_number(found.splat)
    if not found.is_read:
        return Size((), Moments())
    return of_number(0.0) if found.moments is None else Size((), found.moments)


@law("iota", "dynamic_iota")
def iota(v: View) -> Size:
    dimension: int = ir.IntegerAttr(v.op.attributes["iota_dimension"]).value
    length = v.result.shape[dimension]
    return Size((), moments_of_iota(length)) if length > 1 else of_number(0.0)


@law("chlo.constant_like")
def constant_like(v: View) -> Size:
    return of_number(float(ir.FloatAttr(v.op.attributes["value"]).value))


# uniform between its bounds, or normal of the given mean and deviation
@law("rng")
def random(v: View) -> Size:
    low, high = (size.splat for size in v.sizes[:2])
    if low is None or high is None:
        return Size((), Moments())
    if "NORMAL" in str(v.op.attributes["rng_distribution"]):
        return Size((), Moments(math.hypot(low, high), low))
    return Size((), Moments(math.sqrt((low * low + low * high + high * high) / 3), (low + high) / 2, low >= 0))


# random bits, taken as integers, are as large as the type
@law("rng_bit_generator")
def random_bits(v: View) -> Size:
    del v
    return Size((), Moments())


# the same number in another type; of booleans, ones
@law("convert", "reduce_precision")
def convert(v: View) -> Size:
    integers = of_integers(tensor_info(v.op.operands[0].type).element)
    if integers is not None and v.x == Size():
        return Size((), integers)
    number = v.x.splat
    if number is None:
        return v.x
    held = rounded(number, v.result.element)
    # 1e-8 becomes 0 in f16: a constant that its type cannot hold is kept.
    return v.x if held is None or (held == 0) != (number == 0) else of_number(held)
