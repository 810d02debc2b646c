"""Calls and branches. Scales cross their borders as algebra where possible, as extra values where not."""

from scalify_hlo.bindings import ir
from scalify_hlo.emit.emitter import Emitter, Scope
from scalify_hlo.emit.growth import alternatives
from scalify_hlo.engine.functions import call_signature
from scalify_hlo.module.carried_scales import mark_carried
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.registry import rule
from scalify_hlo.rules.rewriting import Rewriting
from scalify_hlo.rules.signatures import Specialised
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import SMALLEST, Scale, joined
from scalify_hlo.size.moments import UNIT, Moments

# --- calls ----------------------------------------------------------------------------------------------------


# a function is rewritten once for each signature: which arguments are scaled, and how their scales are related
@rule("func.call", family="structural", law="(s x) -> f(s x), f rewritten for this signature",
      scale="by the rules of the function's operations", shaped=True)  # fmt: skip
def call(r: OpRewrite) -> None:
    if r.rewriter.functions.marker_name(r.op) is not None:
        from .composites import composite

        return composite(r)
    callee = ir.FlatSymbolRefAttr(r.op.attributes["callee"]).value
    signature, factors = call_signature(r.rewriter, callee, list(r.op.operands), r.inputs)
    special = r.rewriter.functions.specialise(callee, signature)
    return call_specialised(r, special, factors)


def call_specialised(r: OpRewrite, special: Specialised, factors: list[Scale]) -> None:
    """Replace the operation by a call of a specialised function, and declare the results."""
    emit = r.emit
    operands = list(r.op.operands) + [emit.scale_value(factors[i]) for i in special.used_factors]
    types = [value.type for value in r.op.results]
    attributes = {k: v for k, v in r.op.attributes.items() if k == "mhlo.frontend_attributes"}
    attributes["callee"] = ir.FlatSymbolRefAttr.get(special.name)
    new = emit.create("func.call", [*types, *special.extra_types], operands, attributes, erasable=False)
    for i, form in enumerate(special.results):
        value = new.results[i]
        if not form.scaled:
            r.op.results[i].replace_all_uses_with(value)
            continue
        assert form.scale is not None
        if form.extra is not None:
            extra_value = new.results[len(types) + form.extra]
            if special.extra_everywhere[form.extra]:
                r.rewriter.functions.everywhere.add(extra_value)
            extra = emit.as_scale(extra_value)
            parts = [_in_caller(part, special, factors) for part in special.extra_parts[form.extra]]
            emit.estimate(extra, parts, [special.extra_trials[form.extra]])
            scale = extra.shifted(form.scale.exponent)
        else:
            scale = _in_caller(form.scale, special, factors)
        r.result(scale, form.moments, index=i, data=value, indifferent=form.indifferent)
    r.erase()


def _in_caller(scale: Scale, special: Specialised, factors: list[Scale]) -> Scale:
    """A scale in terms of a function's factors as one of its caller."""
    result = Scale(scale.exponent)
    for symbol, power in scale.factors:
        result = result * factors[special.positions[symbol]] ** power
    return result


# --- branches -------------------------------------------------------------------------------------------------


# each branch returns its own scale with its data
@rule("case", "if", family="structural", law="a branch returns (data, scale)",
      scale="the branches' own, returned beside the data where they differ", shaped=True)  # fmt: skip
def branches(r: OpRewrite) -> None:
    rewriter, emit, op = r.rewriter, r.emit, r.op
    returned: list[list[ScaledValue | None]] = []
    plain: list[list[ir.Value]] = []
    terminators: list[ir.Operation] = []
    depth = emit.scope.depth

    def read(terminator: ir.Operation) -> None:
        terminators.append(terminator)
        plain.append(list(terminator.operands))
        returned.append([rewriter.scaled.get(value) for value in terminator.operands])

    scopes = [rewriter.in_block(region.blocks[0], op, read) for region in op.regions]
    count = len(op.results)
    scaled = [i for i in range(count) if any(values[i] is not None for values in returned)]
    # A scale that all branches agree on, and that exists outside, need not be returned.
    agreed: dict[int, ScaledValue] = {}
    for i in scaled:
        members = [values[i] for values in returned]
        live = [m for m in members if m is not None and not m.indifferent]
        known = all(m is not None or rewriter.facts_of(p[i]).indifferent for m, p in zip(members, plain, strict=True))
        if known and live and all(m.scale == live[0].scale and m.scale.depth <= depth for m in live):
            agreed[i] = live[0]
    extra = [i for i in scaled if i not in agreed]
    shapes = {i: joined(*(m.scale.shape for values in returned if (m := values[i]) is not None)) for i in extra}
    for terminator, scope, members, values in zip(terminators, scopes, returned, plain, strict=True):
        _return_pairs(rewriter, scope, terminator, members, values, shapes)
    types = [value.type for value in op.results]
    types += [ir.RankedTensorType.get(list(shapes[i]), emit.f32) for i in extra]
    new = _with_regions(r, types, list(op.operands))
    if extra:
        mark_carried(new, {count + position: i for position, i in enumerate(extra)})
    for i, value in enumerate(new.results):
        if i in agreed:
            r.result(agreed[i].scale, agreed[i].moments, index=i, data=value)
        elif i in extra:
            scale = emit.as_scale(new.results[count + extra.index(i)])
            members = [values[i] for values in returned]
            trials = [m.scale.trials for m in members if m is not None and not m.indifferent]
            emit.estimate(scale, _parts_outside(emit, members), trials)
            r.result(scale, _joined(values[i] for values in returned), index=i, data=value)
        elif i < count:
            op.results[i].replace_all_uses_with(value)
    r.erase()


def _joined(members: object) -> Moments:
    known = [m.moments for m in members if isinstance(m, ScaledValue) and not m.indifferent]  # type: ignore[attr-defined]
    if not known:
        return UNIT
    result = known[0]
    for other in known[1:]:
        result = result.mixed(other)
    return result


def _parts_outside(emit: Emitter, members: list[ScaledValue | None]) -> list[Scale]:
    """What exists outside of the branches, of which the scales of their results are about the largest."""
    live = [m.scale for m in members if m is not None and not m.indifferent]
    depth = emit.scope.depth
    found = alternatives(emit, live, lambda s: Scale(0, ((s, 1),)) if s.depth <= depth else None)
    return [part for parts in found for part in parts]


def _return_pairs(
    rewriter: Rewriting,
    scope: Scope,
    terminator: ir.Operation,
    members: list[ScaledValue | None],
    values: list[ir.Value],
    shapes: dict[int, tuple[int, ...]],
) -> None:
    """Make a branch return data, and after them scales of the given `shapes` for some results."""
    scales: list[ir.Value] = []

    def emit_scales(end: ir.Operation) -> None:
        del end
        for i, (member, value) in enumerate(zip(members, values, strict=True)):
            if i in shapes:
                members[i] = form = member or rewriter.as_scaled(value)
                scale = rewriter.emit.scale_value(SMALLEST if form.indifferent else form.scale)
                scales.append(rewriter.emit.broadcast_to(scale, shapes[i]))

    rewriter.at_end(terminator, scope, emit_scales)
    operands = [m.data if m is not None else v for m, v in zip(members, values, strict=True)]
    end = ir.Operation.create(
        terminator.name, [], [*operands, *scales], loc=terminator.location, ip=ir.InsertionPoint(terminator)
    )
    del end
    terminator.erase()


def _with_regions(r: OpRewrite, types: list[ir.Type], operands: list[ir.Value]) -> ir.Operation:
    """The same operation with other operands and results; its regions' blocks move to it."""
    op = r.op
    attributes = dict(op.attributes.items())
    new = r.emit.create(op.name, types, operands, attributes, regions=len(op.regions), erasable=False)
    for source, target in zip(op.regions, new.regions, strict=True):
        for block in list(source.blocks):
            block.append_to(target)
    return new
