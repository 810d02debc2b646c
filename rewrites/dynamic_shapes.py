"""Dynamic shapes: operations that set or ask for sizes. The others follow their static relatives."""

from scalify_hlo.oprewrite import OpRewrite
from scalify_hlo.registry import never_scaled, rule


# what is cut off does not change what is left
@rule("set_dimension_size", family="homogeneous", law="f(s x) = s f(x)", scale="s")
def set_dimension_size(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.result(x.scale, x.moments, indifferent=x.indifferent)


# a constant of the operand's shape
@rule("chlo.constant_like", family="predicate", law="the shape does not depend on the elements", scale="none",
      shaped=True)  # fmt: skip
def constant_like(r: OpRewrite) -> None:
    del r


never_scaled("dynamic_iota", reason="its operand is a shape")
