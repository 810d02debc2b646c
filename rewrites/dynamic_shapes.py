"""Dynamic shapes: operations that set or ask for sizes, and JAX's custom calls for windows and selections whose sizes
are operands. The other dynamic operations follow their static relatives.
"""

from scalify_hlo.bindings import ir
from scalify_hlo.emit.widening import widened_function
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.registry import never_scaled, rule
from scalify_hlo.rules.shapes import to_rank_0
from scalify_hlo.scale import ONE
from scalify_hlo.types import tensor_info

from .custom_calls import custom_call


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


# the largest of s x are s times the largest of x
@custom_call("stablehlo.dynamic_top_k", "stablehlo.dynamic_approx_top_k")
def dynamic_top_k(r: OpRewrite) -> None:
    x = to_rank_0(r.rewriter, r.scaled(0))
    r.set_operand(0, x.data)
    r.result(x.scale, x.moments, indifferent=x.indifferent)


# sums of windows of unknown size keep the scale; so do maxima; other reducers see values
@custom_call("stablehlo.dynamic_reduce_window")
def dynamic_reduce_window(r: OpRewrite) -> None:
    attribute = r.op.attributes["called_computations"]
    callee = ir.FlatSymbolRefAttr(ir.ArrayAttr(attribute)[0]).value
    kind = body_kind(r.rewriter.functions.by_name[callee])
    count = len(r.op.results)
    keeps_scale = count == 1 and kind in ("add", "maximum", "minimum")
    scales = [ONE] * count
    if keeps_scale:
        members = [to_rank_0(r.rewriter, r.scaled(i)) for i in (0, 1)]
        scales = [r.common_scale(members)]
        for i, member in enumerate(members):
            r.set_operand(i, r.bring(member, scales[0]))
    else:
        for i, x in enumerate(r.inputs):
            if x is not None:
                r.set_operand(i, r.plain(i))
    narrow = any(r.result_info(i).is_narrow for i in range(count))
    if not narrow or (keeps_scale and kind != "add"):
        for i in range(count):
            if r.result_info(i).carries_scale:
                r.result(scales[i], index=i)
        return
    operands = [r.emit.convert(v, "f32") if tensor_info(v.type).is_narrow else v for v in r.op.operands]
    types = [r.emit.tensor_type(v.type, "f32") if tensor_info(v.type).is_narrow else v.type for v in r.op.results]
    wide = r.rebuilt(operands, types)
    name = widened_function(r.emit, r.rewriter.functions, callee)
    wide.attributes["called_computations"] = ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(name)])
    for i, value in enumerate(wide.results):
        if r.result_info(i).carries_scale:
            r.result(scales[i], index=i, data=r.emit.convert(value, r.result_info(i).element))
        else:
            r.op.results[i].replace_all_uses_with(value)
