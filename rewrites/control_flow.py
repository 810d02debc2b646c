"""Calls, loops and branches. Scales cross their borders as algebra where possible, as extra values where not."""

import dataclasses

from scalify_hlo.bindings import ir
from scalify_hlo.emitter import Scope
from scalify_hlo.functions import Specialised, call_signature
from scalify_hlo.moments import UNIT, Moments
from scalify_hlo.oprewrite import OpRewrite, Unsupported
from scalify_hlo.registry import rule
from scalify_hlo.rewriter import Rewriter
from scalify_hlo.scale import SMALLEST, Scale
from scalify_hlo.shapes import to_rank_0
from scalify_hlo.types import tensor_info
from scalify_hlo.values import ScaledValue

# --- calls ----------------------------------------------------------------------------------------------------


# a function is rewritten once for each signature: which arguments are scaled, and how their scales are related
@rule("func.call", family="structural", law="(s x) -> f(s x), f rewritten for this signature",
      scale="by the rules of the function's operations", shaped=True)  # fmt: skip
def call(r: OpRewrite) -> None:
    if r.rewriter.functions.marker_name(r.op) is not None:
        from scalify_hlo.rewrites.composites import composite

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
            scale = extra.shifted(form.scale.exponent)
        else:
            scale = Scale(form.scale.exponent)
            for symbol, power in form.scale.factors:
                scale = scale * factors[special.symbols.index(symbol)] ** power
        r.result(scale, form.moments, index=i, data=value, indifferent=form.indifferent)
    r.erase()


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
    for terminator, scope, members, values in zip(terminators, scopes, returned, plain, strict=True):
        _return_pairs(rewriter, scope, terminator, members, values, extra)
    types = [value.type for value in op.results] + [emit.scalar] * len(extra)
    new = _with_regions(r, types, list(op.operands))
    for i, value in enumerate(new.results):
        if i in agreed:
            r.result(agreed[i].scale, agreed[i].moments, index=i, data=value)
        elif i in extra:
            scale = emit.as_scale(new.results[count + extra.index(i)])
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


def _return_pairs(
    rewriter: Rewriter,
    scope: Scope,
    terminator: ir.Operation,
    members: list[ScaledValue | None],
    values: list[ir.Value],
    extra: list[int],
) -> None:
    """Make a branch return data, and the scales of the results `extra` after them."""
    scales: list[ir.Value] = []

    def emit_scales(end: ir.Operation) -> None:
        del end
        for i, (member, value) in enumerate(zip(members, values, strict=True)):
            if i in extra:
                form = to_rank_0(rewriter, member or rewriter.as_scaled(value))
                members[i] = form
                zero = form.indifferent
                scales.append(rewriter.emit.scale_value(SMALLEST if zero else form.scale))

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


# --- loops ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Carried:
    """What is assumed of one value carried by a loop.

    kind: "plain"; "invariant" (the scale that it enters with holds in every iteration); "carried" (its scale is
    carried beside it, of `shape`).
    """

    kind: str
    shape: tuple[int, ...] = ()


# which carried values are scaled, and which scales change, is the least fixpoint over the body
@rule("while", family="structural", law="carries (data, scale) where the scale changes between iterations",
      scale="carried; loop-invariant where the body keeps it", shaped=True)  # fmt: skip
def while_(r: OpRewrite) -> None:
    state = [Carried("plain" if x is None else "invariant") for x in r.inputs]
    entries: list[ScaledValue | None] = list(r.inputs)
    for _ in range(4 * len(state) + 4):
        loop = _Loop(r, state, entries)
        following = loop.rewrite()
        if following == state:
            loop.accept()
            return
        loop.discard()
        state = following
    raise Unsupported("the scales carried by this loop do not settle")


class _Loop:
    """One attempt at rewriting a loop, under an assumption about its carried values."""

    def __init__(self, r: OpRewrite, state: list[Carried], entries: list[ScaledValue | None]):
        self.r = r
        self.state = state
        self.attempt = r.rewriter.attempt()
        self.entry = [self._entry(i, kind, entries[i]) for i, kind in enumerate(state)]
        self.op, self.scales = self._build()

    def _entry(self, index: int, assumed: Carried, value: ScaledValue | None) -> ScaledValue | None:
        """The value that enters the loop, in the form that the assumption asks for."""
        if assumed.kind == "plain":
            return None
        rewriter = self.r.rewriter
        value = value or rewriter.as_scaled(self.r.op.operands[index])
        if assumed.kind == "invariant":
            return value
        if value.indifferent:
            return ScaledValue(value.data, SMALLEST, UNIT)
        return to_rank_0(rewriter, value) if not assumed.shape else value

    def _build(self) -> tuple[ir.Operation, dict[int, Scale]]:
        """The new loop around a copy of the old one's regions, with block arguments for carried scales."""
        r, emit = self.r, self.r.emit
        operands = [r.op.operands[i] if e is None else e.data for i, e in enumerate(self.entry)]
        initial: dict[int, ir.Value] = {}
        for i, assumed in enumerate(self.state):
            entry = self.entry[i]
            if assumed.kind == "carried" and entry is not None:
                initial[i] = emit.broadcast_to(emit.scale_value(entry.scale), assumed.shape) if assumed.shape else (
                    emit.scale_value(entry.scale))  # fmt: skip
        types = [value.type for value in [*operands, *initial.values()]]
        attributes = dict(r.op.attributes.items())
        copy = r.op.clone(ip=ir.InsertionPoint(r.op))
        new = emit.create(
            "stablehlo.while", types, [*operands, *initial.values()], attributes, regions=2, erasable=False
        )
        scales: dict[int, Scale] = {}
        for source, target in zip(copy.regions, new.regions, strict=True):
            block = source.blocks[0]
            block.append_to(target)
            block = target.blocks[0]  # the same one, as part of the new operation
            arguments = list(block.arguments)
            for i, value in initial.items():
                argument = block.add_argument(value.type, r.op.location)
                symbol = emit.as_scale(argument, depth=emit.scope.depth + 1, positive=True)
                if target == new.regions[1]:
                    scales[i] = symbol
                r.rewriter.define(arguments[i], ScaledValue(arguments[i], symbol))
            for i, entry in enumerate(self.entry):
                if entry is not None and i not in initial:
                    r.rewriter.define(arguments[i], dataclasses.replace(entry, data=arguments[i], moments=UNIT))
                if entry is not None:
                    r.rewriter.mark_carried(arguments[i])
        copy.erase()
        return new, scales

    def rewrite(self) -> list[Carried]:
        """Rewrite both regions; returns what the body says of the carried values."""
        rewriter, op = self.r.rewriter, self.op
        rewriter.in_block(op.regions[0].blocks[0], op, lambda end: None)
        following: list[Carried] = []

        def read(terminator: ir.Operation) -> None:
            values = list(terminator.operands)
            for i, value in enumerate(values):
                following.append(self._next(i, rewriter.scaled.get(value), value))
            if following == self.state:
                self._close(terminator, values)

        rewriter.in_block(op.regions[1].blocks[0], op, read)
        return following

    def _next(self, index: int, returned: ScaledValue | None, value: ir.Value) -> Carried:
        """The assumption about a carried value after one more look at the body."""
        assumed, entry = self.state[index], self.entry[index]
        if assumed.kind == "plain":
            if returned is None:
                return assumed
            facts = self.r.rewriter.facts_of(self.r.op.operands[index])
            steady = returned.scale.is_constant and returned.scale.exponent == 0 and not facts.indifferent
            depth = self.r.emit.scope.depth
            if returned.scale.depth <= depth and (facts.indifferent or steady) and not returned.scale.shape:
                return Carried("carried")
            return Carried("carried", returned.scale.shape)
        if returned is None:
            # A plain value comes back: it has scale 1, or any.
            if assumed.kind == "invariant" and self.r.rewriter.facts_of(value).indifferent:
                return assumed
            return assumed if assumed.kind == "carried" else Carried("carried")
        if assumed.kind == "invariant":
            assert entry is not None
            if returned.indifferent or returned.scale == entry.scale:
                if not entry.indifferent or returned.indifferent:
                    return assumed
            return Carried("carried", returned.scale.shape)
        if returned.scale.shape and not assumed.shape and not self.scales[index].shape:
            return Carried("carried", returned.scale.shape)
        return assumed

    def _close(self, terminator: ir.Operation, values: list[ir.Value]) -> None:
        """Make the body return data, and the carried scales after them."""
        rewriter, emit = self.r.rewriter, self.r.emit
        data: list[ir.Value] = []
        scales: list[ir.Value] = []
        for i, value in enumerate(values):
            assumed = self.state[i]
            if assumed.kind == "plain":
                data.append(value)
                continue
            returned = rewriter.scaled.get(value) or rewriter.as_scaled(value)
            if assumed.kind == "invariant":
                data.append(returned.data)
                continue
            if returned.indifferent:
                scale = emit.scale_value(self.scales[i])
                data.append(returned.data)
                scales.append(scale)
                continue
            if not assumed.shape:
                returned = to_rank_0(rewriter, returned)
            data.append(returned.data)
            value = emit.scale_value(returned.scale)
            scales.append(emit.broadcast_to(value, assumed.shape) if assumed.shape else value)
        ir.Operation.create(
            terminator.name, [], [*data, *scales], loc=terminator.location, ip=ir.InsertionPoint(terminator)
        )
        terminator.erase()

    def accept(self) -> None:
        """The assumption holds: declare the results."""
        r = self.r
        self.attempt.keep()
        position = len(self.state)
        for i, assumed in enumerate(self.state):
            value, entry = self.op.results[i], self.entry[i]
            if assumed.kind == "plain" or entry is None:
                r.op.results[i].replace_all_uses_with(value)
            elif assumed.kind == "invariant":
                r.result(entry.scale, UNIT, index=i, data=value, indifferent=entry.indifferent)
            else:
                scale = r.emit.as_scale(self.op.results[position], positive=True)
                position += 1
                r.result(scale, UNIT, index=i, data=value)
        r.erase()

    def discard(self) -> None:
        """The assumption does not hold: nothing of this attempt stays."""
        self.attempt.discard()
        self.op.erase()


def carries_scale(value: ir.Value) -> bool:
    """Whether a value can be data * scale."""
    return tensor_info(value.type).carries_scale
