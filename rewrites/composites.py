"""Composites: the markers by which a program controls its scales, and named operations with a decomposition.

A marker is `stablehlo.composite "scalify.<name>"`, or, where shapes are dynamic, a call of a private function with
the attribute `scalify.composite = "scalify.<name>"`; its decomposition is its meaning without scales (paper,
section 3.1: no-op outside the transform).
"""

from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir
from scalify_hlo.engine.functions import call_signature
from scalify_hlo.engine.selection import BY_POWER, SATURATES
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.plain import unscaled
from scalify_hlo.rules.registry import MARKERS, marker, rule
from scalify_hlo.rules.shapes import to_rank_0
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, SMALLEST, Scale
from scalify_hlo.size.moments import UNIT
from scalify_hlo.types import LARGEST_F16, tensor_info

from .control_flow import call_specialised

# Composites that are homogeneous whatever their decomposition does: kept as they are, on data.
_HOMOGENEOUS = {"chlo.top_k", "mhlo.topk"}
_CUSTOM_SCALE = "scalify.custom_scale."
_SCALED_RULE = "scalify.scaled_rule"


@rule("composite", family="structural", law="a marker: see docs; else f(s x) by the decomposition f",
      scale="by the rules of the decomposition's operations", shaped=True)  # fmt: skip
def composite(r: OpRewrite) -> None:
    name = r.rewriter.functions.marker_name(r.op) or ir.StringAttr(r.op.attributes["name"]).value
    apply = MARKERS.get(name)
    if name.startswith(_CUSTOM_SCALE):
        return custom_scale(r)
    if apply is not None:
        return apply(r)
    if name in _HOMOGENEOUS:
        x = to_rank_0(r.rewriter, r.scaled(0))
        r.set_operand(0, x.data)
        return r.result(x.scale, x.moments, indifferent=x.indifferent)
    if r.op.name == "func.call":
        raise UnsupportedError(f"unknown marker '{name}'")
    if all(x is None for x in r.inputs):
        return None
    callee = ir.FlatSymbolRefAttr(r.op.attributes["decomposition"]).value
    signature, factors = call_signature(r.rewriter, callee, list(r.op.operands), r.inputs)
    return call_specialised(r, r.rewriter.functions.specialise(callee, signature), factors)


# X = data * scale  ->  X = (data * scale/t) * t
@marker("scalify.set_scaling")
def set_scaling(r: OpRewrite) -> None:
    index = len(r.inputs) - 2
    x = r.scaled(index)
    value = r.operand(index + 1)
    scale_input = r.inputs[index + 1]
    if scale_input is not None:
        value = unscaled(r.rewriter, scale_input)
    own = r.op.attributes.get("composite_attributes")
    facts = r.rewriter.facts_of(r.operand(index + 1)) if scale_input is None else None
    if facts is not None and facts.splat is not None and facts.splat > 0 and not tensor_info(value.type).shape:
        from .multiplicative import power_of_two

        exponent = power_of_two(facts.splat)
        scale = Scale(exponent) if exponent is not None else _of_any_number(r, value)
    elif own is not None and BY_POWER in own:
        scale = r.emit.as_scale(r.emit.convert(value, "f32"))
    else:
        scale = _of_any_number(r, value)
    data = r.bring(x, scale)
    if own is not None and SATURATES in own and tensor_info(data.type).element == "f16":
        least, most = (r.emit.splat(data, number) for number in (-LARGEST_F16, LARGEST_F16))
        data = r.emit.op("clamp", data.type, least, data, most)
    r.result(scale, UNIT, data=data, indifferent=x.indifferent)
    r.erase()


def _of_any_number(r: OpRewrite, value: ir.Value) -> Scale:
    """A scale that the program computes, which need be no power of two."""
    r.rewriter.functions.any_number = True
    return r.emit.as_scale(r.emit.convert(value, "f32"))


# (data, scale) of a scaled value, (X, 1) of a plain one
@marker("scalify.get_data_and_scale")
def get_data_and_scale(r: OpRewrite) -> None:
    x = r.inputs[-1]
    if x is None:
        return
    if not tensor_info(r.op.results[1].type).shape:
        x = to_rank_0(r.rewriter, x)
    # A value of its own while it is rewritten: x.data may itself stand for X.
    data = r.emit.op("convert", x.data.type, x.data)
    r.rewriter.copies.append(data.owner.operation)
    r.op.results[0].replace_all_uses_with(data)
    scale = SMALLEST if x.indifferent and x.scale == ONE else x.scale
    value = r.emit.scale_value(scale)
    target = r.op.results[1]
    if scale == ONE:
        _leave_out_factor(target)
    target.replace_all_uses_with(r.emit.convert(value, tensor_info(target.type).element))
    r.erase()


# 1 x = x
def _leave_out_factor(one: ir.Value) -> None:
    """Let products of numbers with a scale that is 1 be the other factor."""
    for use in list(one.uses):
        op = use.owner.operation
        other = op.operands[1 - use.operand_number] if op.name == "stablehlo.multiply" else one
        if other != one and other.type == one.type:
            op.results[0].replace_all_uses_with(other)


# from here on the value is plain
@marker("scalify.stop_scaling")
def stop_scaling(r: OpRewrite) -> None:
    x = r.inputs[-1]
    if x is None:
        return
    element = tensor_info(r.op.results[0].type).element
    r.op.results[0].replace_all_uses_with(unscaled(r.rewriter, x, element=element))
    r.erase()


# --- custom_scale ---------------------------------------------------------------------------------------------


def custom_scale(r: OpRewrite) -> None:
    """Apply the rule that travels with the marker: a function over (data, scale) pairs (paper, section 3.2.1)."""
    if all(x is None for x in r.inputs):
        return
    functions = r.rewriter.functions
    body = functions.by_name[functions.callee(r.op) or ""]
    scaled_rule = _find_rule(r, body)
    results = _plain_results(r, body)
    operands: list[ir.Value] = []
    scale_of: dict[int, Scale] = {}  # position among the rule's arguments -> scale
    forms: list[ScaledValue] = []
    for i, operand in enumerate(r.op.operands):
        if not tensor_info(operand.type).is_float:
            operands.append(operand)
            continue
        form = to_rank_0(r.rewriter, r.scaled(i))
        forms.append(form)
        scale = SMALLEST if form.indifferent else form.scale
        scale_of[len(operands) + 1] = scale
        operands += [form.data, r.emit.scale_value(scale)]
    rule_block = scaled_rule.regions[0].blocks[0]
    returned = list(terminator(rule_block).operands)
    name = ir.FlatSymbolRefAttr.get(symbol_name(scaled_rule))
    called = r.emit.create("func.call", [value.type for value in returned], operands, {"callee": name}, erasable=False)
    position = 0
    for i in range(results):
        value = called.results[position]
        if not tensor_info(r.op.results[i].type).is_float:
            r.op.results[i].replace_all_uses_with(value)
            position += 1
            continue
        scale = _symbolic(r, returned[position + 1], rule_block, scale_of, called.results[position + 1])
        r.result(scale, UNIT, index=i, data=value)
        position += 2
    r.erase()


def _find_rule(r: OpRewrite, body: ir.Operation) -> ir.Operation:
    functions = r.rewriter.functions
    for inner in body.regions[0].blocks[0].operations:
        if functions.marker_name(inner.operation) == _SCALED_RULE:
            return functions.by_name[functions.callee(inner.operation) or ""]
    raise UnsupportedError("a custom_scale marker without its rule; its decomposition must use 'scalify.scaled_rule'")


def _plain_results(r: OpRewrite, body: ir.Operation) -> int:
    for attributes in (r.op.attributes.get("composite_attributes"), body.attributes):
        for key in ("plain_results", "scalify.plain_results"):
            if attributes is not None and key in attributes:
                return int(ir.IntegerAttr(attributes[key]).value)
    raise UnsupportedError("a custom_scale marker without the attribute 'plain_results'")


def _symbolic(r: OpRewrite, returned: ir.Value, block: ir.Block, scale_of: dict[int, Scale], value: ir.Value) -> Scale:
    """The scale that a rule returns: by algebra where it returns an argument or a constant, else as a value."""
    if isinstance(returned.owner, ir.Block):
        for position, argument in enumerate(block.arguments):
            if argument == returned and position in scale_of:
                return scale_of[position]
    facts = r.rewriter.functions.facts_of(returned)
    if facts.splat is not None and facts.splat > 0:
        from .multiplicative import power_of_two

        exponent = power_of_two(facts.splat)
        if exponent is not None:
            return Scale(exponent)
    return _of_any_number(r, value)
