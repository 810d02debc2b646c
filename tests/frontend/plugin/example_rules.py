"""A plugin for scalify_hlo: rules for a custom call and a composite of a third party, and another one for an operation.

Its distribution names this module in the entry point group `scalify_hlo.rules`; importing it registers the rules.
"""

from scalify_hlo.rewrites.custom_calls import custom_call
from scalify_hlo.rewrites.nonlinear import on_values

from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.registry import marker, rule
from scalify_hlo.scale import Scale


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


# logistic(X) is 1/2 where X is 0
@rule("logistic", family="nonlinear", law="logistic(s x), computed on the value", scale="1/2", replace=True)
def logistic(r: OpRewrite) -> None:
    on_values(r, scales=[Scale(-1)])
