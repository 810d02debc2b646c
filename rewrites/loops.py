"""Loops. Which carried values are scaled, and which scales change between iterations, is a fixpoint over the body.

A scale that an iteration multiplies (h -> W h: s -> s t 2^k) would leave the range of f32 after enough iterations,
whatever the data do; jax-scalify#69 is such a drift. It is held instead: the data are brought back to the scale that
they entered the iteration with, and so follow the value itself. A maximum with scales from elsewhere is kept, since
taking it again changes nothing.
"""

import dataclasses

from scalify_hlo import budget
from scalify_hlo.analysis.accumulation import is_accumulated, iterations
from scalify_hlo.bindings import ir
from scalify_hlo.emit.common_scales import is_same_everywhere
from scalify_hlo.emit.growth import sources
from scalify_hlo.engine.devices import same_on_every_device
from scalify_hlo.module.carried_scales import mark_carried
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.plain import unscaled_key, wide_element
from scalify_hlo.rules.registry import rule
from scalify_hlo.rules.shapes import to_rank_0
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, Scale, Symbol, Trials, joined
from scalify_hlo.size.moments import UNIT, UNKNOWN, Moments

from .carried_values import is_far_bound, running_bound
from .loop_scales import Carried, CarriedScales, Known
from .selection import masked


@rule("while", family="structural", law="carries (data, scale) where the scale changes between iterations",
      scale="carried; held where an iteration only multiplies it", shaped=True)  # fmt: skip
def while_(r: OpRewrite) -> None:
    state = [Carried("plain" if x is None else "invariant") for x in r.inputs]
    looked = 0
    known = Known()
    for _ in range(5 * len(state) + 5):
        loop = _Loop(r, state, known)
        following = loop.rewrite()
        starts: dict[int, Carried] = {}
        if following == state and (differing := loop.differing()):
            known.differing |= differing
            loop.discard()
            continue
        while following == state and not starts and looked < 2:
            starts = loop.settling() if looked else loop.starts()  # at what state starts, what is made of it settles
            looked += 1
        if following == state and not starts:
            return loop.accept()
        loop.discard()
        state = [starts.get(i, x) for i, x in enumerate(following)]
    raise UnsupportedError("the scales carried by this loop do not settle")


def _nothing(terminator: ir.Operation) -> None:
    """A condition returns no scaled value."""
    del terminator


class _Loop(CarriedScales):
    """One attempt at rewriting a loop, under an assumption about its carried values."""

    def __init__(self, r: OpRewrite, state: list[Carried], known: Known):
        super().__init__(r, state, known)
        self.attempt = r.rewriter.attempt()
        self.everywhere: dict[int, list[ir.Value]] = {}
        self.entry = [self._entry(i, assumed) for i, assumed in enumerate(state)]
        self.op, self.scales = self._build()

    def _entering(self, index: int) -> ScaledValue:
        """A plain value, with a scale."""
        value = self.r.op.operands[index]
        far = self.known.far_bounds
        if index not in far:
            far[index] = is_far_bound(self.r, index)
        return ScaledValue(value, ONE) if far[index] else self.r.rewriter.as_scaled(value)

    def _entry(self, index: int, assumed: Carried) -> ScaledValue | None:
        """The value that enters the loop, in the form that the assumption asks for."""
        if assumed.kind == "plain":
            return None
        rewriter = self.r.rewriter
        value = self.r.inputs[index] or self._entering(index)
        if assumed.kind == "invariant":
            return value if assumed.start is None else self._started(index, value, assumed)
        if value.indifferent:
            return ScaledValue(value.data, Scale(budget.LOOP_ZEROS), UNIT)
        return to_rank_0(rewriter, value) if not assumed.shape else value

    def _started(self, index: int, value: ScaledValue, assumed: Carried) -> ScaledValue:
        """A value at the scale that it is held at: `start` if it settles there, is zeros, or next to zeros beside it.

        # z <- z + u: in f16 u/s overflows where s is the scale of a z that is 2^16 times smaller than u
        """
        start = assumed.start
        assert start is not None
        if value.indifferent:
            return ScaledValue(value.data, start, UNIT)
        number = running_bound(self.r, index)
        if number is not None and assumed.settles:
            return ScaledValue(masked(self.r.emit, self.r.op.operands[index], start, number), start)
        window = budget.LOOP_WINDOW if value.info.is_narrow else None
        scale = start if assumed.settles else self.r.emit.if_zeros(value.scale, start, window)
        return dataclasses.replace(value, data=self.r.bring(value, scale), scale=scale)

    def _build(self) -> tuple[ir.Operation, dict[int, Scale]]:
        """The new loop around a copy of the old one's regions, with block arguments for carried scales."""
        r, emit = self.r, self.r.emit
        operands = [r.op.operands[i] if e is None else e.data for i, e in enumerate(self.entry)]
        initial: dict[int, ir.Value] = {}
        trials: dict[int, Trials] = {}
        for i, assumed in enumerate(self.state):
            entry = self.entry[i]
            if assumed.kind == "carried" and entry is not None:
                initial[i] = emit.broadcast_to(emit.scale_value(entry.scale), assumed.shape)
                trials[i] = entry.scale.trials
                several = r.rewriter.functions.several_devices
                if several and i not in self.known.differing and is_same_everywhere(r.rewriter, entry.scale):
                    self.everywhere[i] = []
        types = [value.type for value in [*operands, *initial.values()]]
        attributes = dict(r.op.attributes.items())
        copy = r.op.clone(ip=ir.InsertionPoint(r.op))
        new = emit.create(
            "stablehlo.while", types, [*operands, *initial.values()], attributes, regions=2, erasable=False
        )
        if initial:
            mark_carried(new, {len(operands) + position: i for position, i in enumerate(initial)})
        scales: dict[int, Scale] = {}
        for source, target in zip(copy.regions, new.regions, strict=True):
            block = source.blocks[0]
            block.append_to(target)
            block = target.blocks[0]  # the same one, as part of the new operation
            arguments = list(block.arguments)
            for i, value in initial.items():
                argument = block.add_argument(value.type, r.op.location)
                if i in self.everywhere:
                    self.everywhere[i].append(argument)
                symbol = emit.as_scale(argument, depth=emit.scope.depth + 1, trials=trials[i])
                if target == new.regions[1]:
                    scales[i] = symbol
                r.rewriter.define(arguments[i], ScaledValue(arguments[i], symbol))
            for i, entry in enumerate(self.entry):
                if entry is not None and i not in initial:
                    moments = UNKNOWN if entry.moments.unknown else UNIT
                    r.rewriter.define(arguments[i], dataclasses.replace(entry, data=arguments[i], moments=moments))
                if entry is not None:
                    mark = r.rewriter.mark_settled if self.state[i].settles else r.rewriter.mark_carried
                    mark(arguments[i])
                    if self.state[i].kind == "invariant" and i in self.known.held:
                        r.rewriter.held.add(arguments[i])
        copy.erase()
        return new, scales

    def rewrite(self) -> list[Carried]:
        """Rewrite both regions; returns what the body says of the carried values."""
        rewriter, op = self.r.rewriter, self.op
        same = {argument for arguments in self.everywhere.values() for argument in arguments}
        rewriter.functions.everywhere.update(same)
        rewriter.in_block(op.regions[0].blocks[0], op, _nothing)
        following: list[Carried] = []

        def read(terminator: ir.Operation) -> None:
            values = list(terminator.operands)
            symbols = {scale.factors[0][0]: i for i, scale in self.scales.items()}
            for i in self.scales:
                returned = rewriter.scaled.get(values[i])
                found = sources(self.r.emit, returned.scale) if returned else set[Symbol]()
                self.growth[i] = {symbols[symbol] for symbol in symbols.keys() & found}
            self.ends = [rewriter.scaled.get(value) for value in values]
            for i, value in enumerate(values):
                following.append(self._next(i, rewriter.scaled.get(value), value))
            if following == self.state:
                self._close(terminator, values)

        rewriter.in_block(op.regions[1].blocks[0], op, read)
        rewriter.functions.everywhere.difference_update(same)
        return following

    def differing(self) -> set[int]:
        """The carried scales that are not the same on all devices after all, where the body was rewritten as if."""
        known = self.r.rewriter.functions.everywhere
        return {
            i
            for i, arguments in self.everywhere.items()
            if not all(same_on_every_device(argument, known) for argument in arguments)
        }

    def _next(self, index: int, returned: ScaledValue | None, value: ir.Value) -> Carried:
        """The assumption about a carried value after one more look at the body."""
        assumed, entry = self.state[index], self.entry[index]
        facts = self.r.rewriter.facts_of
        if assumed.kind == "plain":
            if returned is None:
                return assumed
            if facts(self.r.op.operands[index]).indifferent or returned.scale.shape:
                return Carried("carried", returned.scale.shape)
            return Carried("invariant")
        if assumed.kind == "invariant":
            assert entry is not None
            if assumed.settles and (returned is None or returned.scale.is_scalar):
                return assumed
            if returned is None:
                steady = facts(value).indifferent or (entry.scale.is_one and not entry.indifferent)
                return assumed if steady else Carried("carried")
            if returned.indifferent or (returned.scale == entry.scale and not entry.indifferent):
                return assumed
            if returned.scale.shape or index not in self.known.held:
                shape = joined(entry.scale.shape, returned.scale.shape) if returned.scale.shape else ()
                return Carried("carried", shape)
            return assumed
        if returned is None:
            return assumed
        shape = joined(assumed.shape, returned.scale.shape)
        if shape != assumed.shape:
            return Carried("carried", shape)
        if (
            not assumed.shape
            and not self.starts_from_zeros(index)
            and (self.is_state(index) or self.settled(index, returned) == self.scales[index])
        ):
            self.known.held.add(index)
            return Carried("invariant")
        return assumed

    def _close(self, terminator: ir.Operation, values: list[ir.Value]) -> None:
        """Make the body return data, and the carried scales after them."""
        rewriter, emit = self.r.rewriter, self.r.emit
        data: list[ir.Value] = []
        scales: list[ir.Value] = []
        for i, value in enumerate(values):
            assumed, entry = self.state[i], self.entry[i]
            if assumed.kind == "plain" or entry is None:
                data.append(value)
                continue
            returned = rewriter.scaled.get(value) or rewriter.as_scaled(value)
            if assumed.kind == "invariant":
                data.append(self._held(returned, entry.scale))
                continue
            if returned.indifferent:
                data.append(returned.data)
                scales.append(emit.scale_value(self.scales[i]))
                continue
            if assumed.shape:
                data.append(returned.data)
                self.returned[i] = returned.scale
                scales.append(emit.broadcast_to(emit.scale_value(returned.scale), assumed.shape))
                continue
            returned = to_rank_0(rewriter, returned)
            self.returned[i] = scale = self.settled(i, returned)
            data.append(self.r.bring(returned, scale))
            scales.append(emit.scale_value(scale))
        ir.Operation.create(
            terminator.name, [], [*data, *scales], loc=terminator.location, ip=ir.InsertionPoint(terminator)
        )
        terminator.erase()

    def _held(self, returned: ScaledValue, scale: Scale) -> ir.Value:
        """The data of a returned value at the scale that it is held at: of the value itself where that is known."""
        emit, element = self.r.emit, returned.info.element
        value = emit.scope.cache.get(unscaled_key(returned.data, returned.scale, element))
        if value is None or returned.scale == scale or wide_element(element) != element:
            return self.r.bring(returned, scale)
        return emit.unscale_by(value, scale)

    def accept(self) -> None:
        """The assumption holds: declare the results."""
        r = self.r
        self.attempt.keep()
        count = None if r.rewriter.paper else iterations(r.op, lambda value: r.rewriter.facts_of(value).splat)
        position = len(self.state)
        for i, assumed in enumerate(self.state):
            value, entry = self.op.results[i], self.entry[i]
            if assumed.kind == "plain" or entry is None:
                r.op.results[i].replace_all_uses_with(value)
            elif assumed.kind == "invariant":
                if entry.indifferent:
                    r.result(entry.scale, UNIT, index=i, data=value, indifferent=True)
                else:
                    r.settled(entry.scale, self._moments(i, count), index=i, data=value)
            else:
                scale = r.emit.as_scale(self.op.results[position])
                position += 1
                parts = [] if self.is_measured(i) else [entry.scale, *self.parts_outside(i)]
                r.emit.estimate(scale, parts, [s.trials for s in (entry.scale, self.returned.get(i)) if s])
                r.settled(scale, self._moments(i, count), index=i, data=value)
        r.erase()

    def _moments(self, index: int, count: int | None) -> Moments:
        """Moments of a carried value after the loop: of a sum over its iterations if it is one, from zeros on.

        count: of iterations, if known.

        # c <- c + t: as a sum over tokens, between that of independent terms, sqrt(N), and that of terms that agree, N
        """
        end, entry = self.ends[index], self.entry[index]
        if (end and end.moments.unknown) or (entry and entry.moments.unknown):
            return UNKNOWN
        if not count or not self.starts_from_zeros(index):
            return UNIT
        if not is_accumulated(self.r.op, index, self.r.rewriter.functions.called):
            return UNIT
        return Moments(count**budget.AGREEING)

    def discard(self) -> None:
        """The assumption does not hold: nothing of this attempt stays."""
        self.attempt.discard()
        self.op.erase()
