"""Tuples: a scaled element keeps its own scale, which is found again where the element is taken out."""

from scalify_hlo.bindings import ir
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.registry import never_scaled, rule

_ELEMENT = "stablehlo.get_tuple_element"


# get_tuple_element(tuple(s x, t y), 0) = s x
@rule("tuple", family="structural", law="get_tuple_element(tuple(s x, t y), 0) = s x", scale="the element's",
      shaped=True, note="a tuple that is used whole holds values")  # fmt: skip
def tuple_(r: OpRewrite) -> None:
    users = [use.owner.operation for use in r.op.results[0].uses]
    if any(user.name != _ELEMENT for user in users):
        # A tuple cannot carry scales: its user sees the values.
        if any(x is not None and r.info(i).is_narrow for i, x in enumerate(r.inputs)):
            raise UnsupportedError("a tuple with scaled elements of a narrow type is used as a whole")
        return r.through_plain()
    for user in users:
        index = int(ir.IntegerAttr(user.attributes["index"]).value)
        element = r.inputs[index]
        if element is None:
            user.results[0].replace_all_uses_with(r.operand(index))
        else:
            r.rewriter.define(user.results[0], element)
        r.rewriter.dead.append(user)
    return r.erase()


never_scaled("get_tuple_element", reason="taken apart with the tuple that it refers to")
