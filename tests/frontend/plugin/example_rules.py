"""A plugin for scalify_hlo: rules for a custom call and for a composite of a third party.

Its distribution names this module in the entry point group `scalify_hlo.rules`; importing it registers the rules.
"""

from scalify_hlo.rewrites.custom_calls import custom_call

from scalify_hlo.oprewrite import OpRewrite
from scalify_hlo.registry import marker


# double(s x) = s double(x)
@custom_call("example.double")
def double(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.set_operand(0, x.data)
    r.result(x.scale)


# square(s x) = s^2 square(x)
@marker("example.square")
def square(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.set_operand(0, x.data)
    r.result(x.scale**2)
