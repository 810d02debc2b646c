"""Operations between devices. Scales are brought to their maximum across devices before anything is summed."""

from scalify_hlo.oprewrite import OpRewrite
from scalify_hlo.registry import rule


# how a value is laid out over devices does not change it
@rule("sdy.sharding_constraint", "sdy.reshard", "sdy.propagation_barrier", family="homogeneous", law="f(s x) = s f(x)",
      scale="s")  # fmt: skip
def layout(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.result(x.scale, x.moments, indifferent=x.indifferent)
