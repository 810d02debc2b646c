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
from scalify_hlo.emit.growth import alternatives, exactly_outside, is_unknown, outside, sources, without
from scalify_hlo.module.carried_scales import mark_carried
from scalify_hlo.module.identity import identity
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.plain import unscaled_key, wide_element
from scalify_hlo.rules.registry import rule
from scalify_hlo.rules.shapes import to_rank_0
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, Scale, Symbol, Trials, joined
from scalify_hlo.size.moments import UNIT, Moments
from scalify_hlo.types import tensor_info

from .carried_values import is_far_bound, is_from_outside, leaves, only_multiplied, running_bound
from .selection import least_mask_scale, masked

# Of how many iterations the scales are followed until they settle: what settles later is multiplied in each.
_ROUNDS = 6


@dataclasses.dataclass(frozen=True)
class Carried:
    """What is assumed of one value carried by a loop.

    kind:
    - "plain": no scale.
    - "invariant": the scale that it enters with holds in every iteration, the data are brought back to it.
    - "carried": its scale is carried beside it, of `shape`.

    start: the scale that an invariant value takes if it enters as zeros, whose own fits nothing; in a narrow type also
      if it enters so small that what an iteration adds would leave the type's range at its scale.
    settles: at `start`, whatever it enters as.
    """

    kind: str
    shape: tuple[int, ...] = ()
    start: Scale | None = None
    settles: bool = False


@rule("while", family="structural", law="carries (data, scale) where the scale changes between iterations",
      scale="carried; held where an iteration only multiplies it", shaped=True)  # fmt: skip
def while_(r: OpRewrite) -> None:
    state = [Carried("plain" if x is None else "invariant") for x in r.inputs]
    looked = 0
    bounds: dict[int, bool] = {}
    for _ in range(5 * len(state) + 5):
        loop = _Loop(r, state, bounds)
        following = loop.rewrite()
        starts: dict[int, Carried] = {}
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


class _Loop:
    """One attempt at rewriting a loop, under an assumption about its carried values.

    bounds: which values that enter it are far bounds, as far as an attempt has asked.
    """

    def __init__(self, r: OpRewrite, state: list[Carried], bounds: dict[int, bool]):
        self.r, self.bounds = r, bounds
        self.state = state
        self.attempt = r.rewriter.attempt()
        self.entry = [self._entry(i, assumed) for i, assumed in enumerate(state)]
        self.op, self.scales = self._build()
        # Per carried scale the carried scales that it depends on after one iteration.
        self.growth: dict[int, set[int]] = {}
        self.returned: dict[int, Scale] = {}  # the carried scales after one iteration
        self.ends: list[ScaledValue | None] = []  # what an iteration returns

    def _entering(self, index: int) -> ScaledValue:
        """A plain value, with a scale."""
        value = self.r.op.operands[index]
        if index not in self.bounds:
            self.bounds[index] = is_far_bound(self.r, index)
        return ScaledValue(value, ONE) if self.bounds[index] else self.r.rewriter.as_scaled(value)

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
                symbol = emit.as_scale(argument, depth=emit.scope.depth + 1, trials=trials[i])
                if target == new.regions[1]:
                    scales[i] = symbol
                r.rewriter.define(arguments[i], ScaledValue(arguments[i], symbol))
            for i, entry in enumerate(self.entry):
                if entry is not None and i not in initial:
                    r.rewriter.define(arguments[i], dataclasses.replace(entry, data=arguments[i], moments=UNIT))
                if entry is not None:
                    mark = r.rewriter.mark_settled if self.state[i].settles else r.rewriter.mark_carried
                    mark(arguments[i])
        copy.erase()
        return new, scales

    def rewrite(self) -> list[Carried]:
        """Rewrite both regions; returns what the body says of the carried values."""
        rewriter, op = self.r.rewriter, self.op
        rewriter.in_block(op.regions[0].blocks[0], op, _nothing)
        following: list[Carried] = []

        def read(terminator: ir.Operation) -> None:
            values = list(terminator.operands)
            for i in self.scales:
                returned = rewriter.scaled.get(values[i])
                found = sources(self.r.emit, returned.scale) if returned else set[Symbol]()
                self.growth[i] = {j for j, scale in self.scales.items() if scale.factors[0][0] in found}
            self.ends = [rewriter.scaled.get(value) for value in values]
            for i, value in enumerate(values):
                following.append(self._next(i, rewriter.scaled.get(value), value))
            if following == self.state:
                self._close(terminator, values)

        rewriter.in_block(op.regions[1].blocks[0], op, read)
        return following

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
            if returned.scale.shape or self._key(index) not in self.r.rewriter.held:
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
            and not self._starts_from_zeros(index)
            and (self._is_state(index) or self._settled(index, returned) == self.scales[index])
        ):
            self.r.rewriter.held.add(self._key(index))
            return Carried("invariant")
        return assumed

    def _key(self, index: int) -> tuple[int, int]:
        """What a carried value is remembered by from one attempt to the next."""
        return identity(self.r.op), index

    def _starts_from_zeros(self, index: int) -> bool:
        found = self.r.inputs[index]
        return found.indifferent if found else self.r.rewriter.facts_of(self.r.op.operands[index]).indifferent

    def _is_state(self, index: int) -> bool:
        """Whether a carried value enters from outside and comes out as its own successor: weights in a loop of updates.

        # w <- w + u: w keeps its scale, whatever u is estimated to be

        An activation that blocks are added to is no state: it is computed, and may grow with them.
        """
        entry = self.entry[index]
        return (
            entry is not None
            and is_from_outside(entry.data)
            and index in self.growth.get(index, ())
            and leaves(self.r.op.results[index])
        )

    def starts(self) -> dict[int, Carried]:
        """Scales for state that may enter as zeros: of what an iteration adds to it, as far as it is known outside."""
        r = self.r
        found: dict[int, Carried] = {}
        for i, (assumed, entry) in enumerate(zip(self.state, self.entry, strict=True)):
            held = self._key(i) in r.rewriter.held
            if assumed.kind != "invariant" or entry is None or not held or entry.scale.shape:
                continue
            returned = self.ends[i]
            if returned is None or entry.scale.is_constant or r.emit.is_live(entry.scale):
                continue
            size = self._outside(returned.size, without=entry.scale)
            if size is not None:
                found[i] = dataclasses.replace(assumed, start=size)
        return found

    def settling(self) -> dict[int, Carried]:
        """The values whose scales settle where that is known before the loop.

        The least fixed point, from the scale at entry on, of what an iteration makes of the scales and of what they
        were. Zeros fit every scale, other values in types with the range of f32 that which an iteration brings them to:
        a value that has this one from its entry on has it in all iterations, and the loop carries none.

        # s <- max(s, t), t the same in every iteration: s = max(s at entry, t)
        """
        symbols = {i: scale.factors[0][0] for i, scale in self.scales.items() if self._fits_larger(i)}
        stacks = {i for i in symbols if self.state[i].shape}
        found = self._fixed_point({i: symbol for i, symbol in symbols.items() if i not in stacks})
        entries = {symbols[i]: scale for i, scale in found.items()}
        for i in stacks:
            outside = [self._before(scale, entries) for scale in self._slices(i)]
            known = [scale for scale in outside if scale is not None]
            if known and len(known) == len(outside):
                found[i] = self.r.emit.maximum(known)
        return {i: Carried("invariant", start=scale, settles=True) for i, scale in found.items()}

    def _fits_larger(self, index: int) -> bool:
        """Whether what enters the loop is as well held at a larger scale: an iteration brings it to that anyway."""
        if self._starts_from_zeros(index) or running_bound(self.r, index) is not None:
            return True
        entry, returned = self.entry[index], self.returned.get(index)
        if entry is None or returned is None or entry.scale.shape or entry.info.is_narrow or self.r.rewriter.narrow:
            return False
        own = self.scales[index].factors
        return any(each.factors == own and each.exponent >= 0 for each in self.r.emit.members(returned))

    def _fixed_point(self, symbols: dict[int, Symbol]) -> dict[int, Scale]:
        """What carried scales of rank 0 settle at, of those that do.

        What stays below a bound is compared before the loop: where no scale goes up any more after as many iterations
        as there are scales, this is it; else an iteration multiplies them, up to the bound.

        # s <- min(c, max(t, g s)): t where g <= 1, else c
        """
        bounded: dict[int, Scale] = {}
        left = dict(symbols)
        while left:
            rounds = [{i: bounded.get(i, self._at_entry(i)) for i in left}]
            while len(rounds) <= _ROUNDS and len(rounds[-1]) == len(left):
                found, following = rounds[-1], dict(rounds[-1])
                entries = {symbols[i]: scale for i, scale in found.items()}
                for i in left:
                    scale = self._before(self.returned[i], entries) if i in self.returned else found[i]
                    if scale is None:
                        del following[i]
                    elif i not in bounded:
                        following[i] = scale if self._starts_from_zeros(i) else self.r.emit.maximum([found[i], scale])
                if following == found:
                    return found
                rounds.append(following)
            if len(rounds[-1]) < len(left):
                left = {i: left[i] for i in rounds[-1]}
                continue
            moving = [i for i in left if rounds[-1][i] != rounds[-2][i]]
            bounds = {i: bound for i in moving if (bound := self._bound(i)) is not None}
            at, after = rounds[min(len(left), _ROUNDS - 1) :][:2]
            steps = [(at[i], after[i]) for i in moving]
            bounded |= {i: self.r.emit.if_reached(at[i], steps, bound) for i, bound in bounds.items()}
            left = left if bounds else {i: left[i] for i in left if i not in moving}
        return {}

    def _at_entry(self, index: int) -> Scale:
        number = running_bound(self.r, index)
        if number is not None:
            return least_mask_scale(self.r.info(index), number)
        entry = self.entry[index]
        return Scale(budget.LOOP_ZEROS) if entry is None or self._starts_from_zeros(index) else entry.scale

    def _before(self, scale: Scale, entries: dict[Symbol, Scale]) -> Scale | None:
        """A scale of the body as the same number before the loop, if that is known there."""
        return exactly_outside(self.r.emit, scale, self.r.emit.scope.depth, entries)

    def _bound(self, index: int) -> Scale | None:
        """The constant that an iteration keeps a carried scale below."""
        scale = self.returned[index]
        if len(scale.factors) != 1 or scale.factors[0][1] != 1:
            return None
        name, members = self.r.emit.definition(scale.factors[0][0]) or ("", [])
        constants = [member for member in members if member.is_constant]
        return self.r.emit.minimum(constants).shifted(scale.exponent) if name == "minimum" and constants else None

    def _slices(self, index: int) -> list[Scale]:
        """The scales of the slices that an iteration writes into a stack; none where it does something else."""
        returned = self.returned.get(index)
        return (returned and self.r.emit.stacks.written(returned, self.scales[index])) or []

    def _settled(self, index: int, returned: ScaledValue) -> Scale:
        """The scale to carry on with: the one returned, without what multiplies the carried one."""
        emit, carried = self.r.emit, self.scales[index]
        scale = returned.size if abs(returned.moments.log2) >= budget.LOOP_SLACK else returned.scale
        if tensor_info(returned.data.type).is_narrow and scale.factors == carried.factors and scale.exponent:
            if scale.exponent < 0 and not only_multiplied(self.r.op, index):
                return carried  # what is added to c / 2 is as large as c
            entry = self.entry[index]
            if entry is not None and not self._starts_from_zeros(index):
                # Doubling and halving are followed as far as the window goes.
                low, high = (entry.scale.shifted(side * budget.LOOP_WINDOW) for side in (-1, 1))
                return emit.minimum([emit.maximum([scale, low]), high])
        members = emit.members(scale)
        symbol = carried.factors[0][0]
        others = [m for m in members if all(s != symbol for s, _ in m.factors)]
        mutual = self._grown_with(index)
        if any(symbol in sources(emit, m) or self._multiplies(m, mutual) for m in others):
            # t max(s, u), or t u where u <- s: it multiplies the carried scale all the same, by way of another value.
            parts = [without(emit, m, mutual) for m in others]
            others = [part for part in parts if part is not None]
        elif len(others) == len(members):
            return scale
        return emit.maximum([carried, *others])

    def _multiplies(self, member: Scale, mutual: set[Symbol]) -> bool:
        """Whether a scale is a multiple of one of these, other than itself or less.

        # x <- x + t v, v <- v - u x: s <- max(s, t r), r <- max(r, u s), (t u)^n times as large after 2 n iterations
        """
        alone = len(member.factors) == 1 and member.factors[0][1] == 1 and member.exponent <= 0
        return not alone and not mutual.isdisjoint(sources(self.r.emit, member))

    def _grown_with(self, index: int) -> set[Symbol]:
        """The carried scales by way of which scale `index` multiplies itself over iterations, itself included.

        A value that starts from zeros has no scale to be held at: it follows those of values that do not.
        """
        mutual = {j for j in self._grows_with(index) if index in self._grows_with(j)} | {index}
        if self._starts_from_zeros(index):
            mutual = {j for j in mutual if self._starts_from_zeros(j)}
        return {self.scales[j].factors[0][0] for j in mutual}

    def _grows_with(self, index: int) -> set[int]:
        """The carried values whose scales scale `index` depends on after some iterations."""
        reached: set[int] = set()
        pending = [index]
        while pending:
            new = self.growth.get(pending.pop(), set()) - reached
            reached |= new
            pending += new
        return reached

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
            self.returned[i] = scale = self._settled(i, returned)
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
                parts = [] if self._is_measured(i) else [entry.scale, *self._parts_outside(i)]
                r.emit.estimate(scale, parts, [s.trials for s in (entry.scale, self.returned.get(i)) if s])
                r.settled(scale, self._moments(i, count), index=i, data=value)
        r.erase()

    def _moments(self, index: int, count: int | None) -> Moments:
        """Moments of a carried value after the loop: of a sum over its iterations if it is one, from zeros on.

        count: of iterations, if known.

        # c <- c + t: as a sum over tokens, between that of independent terms, sqrt(N), and that of terms that agree, N
        """
        if not count or not self._starts_from_zeros(index):
            return UNIT
        if not is_accumulated(self.r.op, index, self.r.rewriter.functions.called):
            return UNIT
        return Moments(count**budget.AGREEING)

    def _outside(self, scale: Scale, without: Scale) -> Scale | None:
        """A scale of the body as far as it is known outside of the loop, leaving out alternatives of one scale."""
        entries: dict[Symbol, Scale] = {}
        for j, carried in self.scales.items():
            entry, returned = self.entry[j], self.ends[j]
            assert entry is not None
            symbol = carried.factors[0][0]
            entries[symbol] = entry.scale
            if self._starts_from_zeros(j) and returned is not None:
                entries.pop(symbol)
                self.r.emit.estimate_parts(symbol, [returned.scale])
        hidden = {symbol for symbol, _ in without.factors}
        return outside(self.r.emit, scale, self.r.emit.scope.depth, entries, hidden)

    def _parts_outside(self, index: int) -> list[Scale]:
        """What exists outside of the loop, of which a carried scale after the first iteration is about the largest."""
        depth = self.r.emit.scope.depth
        entries = {scale.factors[0][0]: e.scale for i, scale in self.scales.items() if (e := self.entry[i]) is not None}

        def outside(symbol: Symbol) -> Scale | None:
            return Scale(0, ((symbol, 1),)) if symbol.depth <= depth else entries.get(symbol)

        returned = self.returned.get(index)
        return [] if returned is None else alternatives(self.r.emit, [returned], outside)[0]

    def _is_measured(self, index: int) -> bool:
        """Whether a scale is made of none that are known: an outer loop would undo it if it were an estimate."""
        returned, carried = self.returned.get(index), {scale.factors[0][0] for scale in self.scales.values()}
        return returned is not None and is_unknown(self.r.emit, returned, self.r.emit.scope.depth, carried)

    def discard(self) -> None:
        """The assumption does not hold: nothing of this attempt stays."""
        self.attempt.discard()
        self.op.erase()
