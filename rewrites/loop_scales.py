"""What an iteration says of the scales that a loop carries: what they grow by, start at, and settle at."""

import dataclasses
import functools

from scalify_hlo import budget
from scalify_hlo.analysis.cycles import cycles
from scalify_hlo.emit.growth import alternatives, exactly_outside, is_unknown, outside, sources, without
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import Scale, Symbol
from scalify_hlo.types import tensor_info

from .carried_values import is_from_outside, leaves, only_multiplied, running_bound
from .selection import least_mask_scale

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


@dataclasses.dataclass
class Known:
    """What attempts at one loop tell the ones that follow, of carried values by position.

    far_bounds: whether a value that enters it is a far bound, as far as that was asked.
    held: whose scale an iteration multiplies, or that are state, and which are held at one therefore.
    differing: whose scale differs between devices after an iteration, though it is the same on all before the loop.
    """

    far_bounds: dict[int, bool] = dataclasses.field(default_factory=dict[int, bool])
    held: set[int] = dataclasses.field(default_factory=set[int])
    differing: set[int] = dataclasses.field(default_factory=set[int])


class CarriedScales:
    """The carried values of a loop in one attempt at rewriting it.

    state: what is assumed of each. entry: each as it enters, None for plain ones. scales: those that are carried, as
    block arguments of the body. growth: per carried scale the carried scales that it depends on after one iteration.
    returned: the carried scales after one iteration. ends: what an iteration returns.
    """

    def __init__(self, r: OpRewrite, state: list[Carried], known: Known):
        self.r, self.state, self.known = r, state, known
        self.entry: list[ScaledValue | None] = []
        self.scales: dict[int, Scale] = {}
        self.growth: dict[int, set[int]] = {}
        self.returned: dict[int, Scale] = {}
        self.ends: list[ScaledValue | None] = []

    def starts_from_zeros(self, index: int) -> bool:
        """Whether a carried value enters as zeros, which every scale fits."""
        found = self.r.inputs[index]
        return found.indifferent if found else self.r.rewriter.facts_of(self.r.op.operands[index]).indifferent

    def is_state(self, index: int) -> bool:
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
            held = i in self.known.held
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
        if self.starts_from_zeros(index) or running_bound(self.r, index) is not None:
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
                        following[i] = scale if self.starts_from_zeros(i) else self.r.emit.maximum([found[i], scale])
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
        return Scale(budget.LOOP_ZEROS) if entry is None or self.starts_from_zeros(index) else entry.scale

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

    def settled(self, index: int, returned: ScaledValue) -> Scale:
        """The scale to carry on with: the one returned, without what multiplies the carried one."""
        emit, carried = self.r.emit, self.scales[index]
        scale = returned.size if abs(returned.moments.log2) >= budget.LOOP_SLACK else returned.scale
        if tensor_info(returned.data.type).is_narrow and scale.factors == carried.factors and scale.exponent:
            if scale.exponent < 0 and not only_multiplied(self.r.op, index):
                return carried  # what is added to c / 2 is as large as c
            entry = self.entry[index]
            if entry is not None and not self.starts_from_zeros(index):
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
        mutual = self._mutual.get(index, frozenset({index}))
        if self.starts_from_zeros(index):
            mutual = {j for j in mutual if self.starts_from_zeros(j)}
        return {self.scales[j].factors[0][0] for j in mutual}

    @functools.cached_property
    def _mutual(self) -> dict[int, frozenset[int]]:
        """Per carried scale those that it depends on, and that depend on it, after some iterations."""
        return cycles(self.growth)

    def _outside(self, scale: Scale, without: Scale) -> Scale | None:
        """A scale of the body as far as it is known outside of the loop, leaving out alternatives of one scale."""
        entries: dict[Symbol, Scale] = {}
        for j, carried in self.scales.items():
            entry, returned = self.entry[j], self.ends[j]
            assert entry is not None
            symbol = carried.factors[0][0]
            entries[symbol] = entry.scale
            if self.starts_from_zeros(j) and returned is not None:
                entries.pop(symbol)
                self.r.emit.estimate_parts(symbol, [returned.scale])
        hidden = {symbol for symbol, _ in without.factors}
        return outside(self.r.emit, scale, self.r.emit.scope.depth, entries, hidden)

    def parts_outside(self, index: int) -> list[Scale]:
        """What exists outside of the loop, of which a carried scale after the first iteration is about the largest."""
        depth = self.r.emit.scope.depth
        entries = {scale.factors[0][0]: e.scale for i, scale in self.scales.items() if (e := self.entry[i]) is not None}

        def outside(symbol: Symbol) -> Scale | None:
            return Scale(0, ((symbol, 1),)) if symbol.depth <= depth else entries.get(symbol)

        returned = self.returned.get(index)
        return [] if returned is None else alternatives(self.r.emit, [returned], outside)[0]

    def is_measured(self, index: int) -> bool:
        """Whether a scale is made of none that are known: an outer loop would undo it if it were an estimate."""
        returned, carried = self.returned.get(index), {scale.factors[0][0] for scale in self.scales.values()}
        return returned is not None and is_unknown(self.r.emit, returned, self.r.emit.scope.depth, carried)
