"""Opaque operations: nothing is known of what they do to the elements, so they see the values."""

from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.registry import never_scaled, refuse, rule
from scalify_hlo.size.moments import UNIT

from .nonlinear import on_values


# the bits of s x are not the bits of x
@rule("bitcast_convert", family="opaque", law="needs the value's own bits", scale="1", shaped=True,
      note="the value is formed in its own type, f16 included")  # fmt: skip
def bitcast_convert(r: OpRewrite) -> None:
    r.through_plain()


# bounds and moments of a random draw are values
@rule("rng", family="opaque", law="draws between values", scale="1; max(s, t) in f16 and f8", shaped=True)
def rng(r: OpRewrite) -> None:
    if not r.result_info().is_narrow:
        return on_values(r)
    return on_values(r, UNIT, [r.common_scale((r.scaled(0), r.scaled(1)))])


# the state is made of integers
@rule("rng_bit_generator", family="opaque", law="the state is no scaled float", scale="none", shaped=True)
def rng_bit_generator(r: OpRewrite) -> None:
    r.through_plain()


refuse("uniform_quantize", "uniform_dequantize", reason="quantised types carry scales of their own")
refuse("infeed", reason="values from outside come without a scale")
refuse("recv", reason="values from another device come without a scale")
refuse(
    "async_start",
    "async_done",
    reason="the collective that it starts is to be rewritten before it is made asynchronous",
)

never_scaled("constant", "iota", "chlo.constant", "partition_id", "replica_id", reason="it has no operand")
never_scaled("create_token", "after_all", reason="its operands are tokens")
never_scaled(
    "and", "or", "xor", "not", "popcnt", "count_leading_zeros", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", reason="its operands are integers or booleans",
)  # fmt: skip
never_scaled("return", reason="a terminator: rewritten with the operation that owns its region")
