"""Maxima and minima of scales, and what is known of each: by algebra where scales share factors, else at run time."""

from collections.abc import Sequence
from typing import Any

from scalify_hlo import budget
from scalify_hlo.bindings import ir
from scalify_hlo.emit.maxima import Leaves, covers, no_larger, normal_form, order
from scalify_hlo.emit.scale_arithmetic import ScaleArithmetic
from scalify_hlo.emit.scopes import At, Scope
from scalify_hlo.emit.stacks import Stacks
from scalify_hlo.scale import (
    ONE,
    SMALLEST_EXPONENT,
    Scale,
    Symbol,
    Trials,
    floor,
    largest,
    smallest,
)

# Maxima of more scales than this are not compared with one another.
_MOST_LEAVES = 16


class ScaleEmitter(ScaleArithmetic):
    """Emits the arithmetic of scales."""

    def __init__(self, entry: ir.Block, location: ir.Location, *, narrow: bool):
        """narrow: some data are of a type of less range than f32, and scales as far from 1 as f32 can hold."""
        super().__init__(entry, location, narrow=narrow)
        self.opened = 0  # how many open scales there have been
        self._leaf_members: dict[Any, list[Scale]] = {}  # factors -> what `members` says of them
        self._maxima: dict[Any, list[Scale]] = {}  # factors of the maximum -> the scales that it was taken of
        # Minima taken: factors of the minimum -> the scales that it is no larger than.
        self._bounds: dict[Any, list[Scale]] = {}
        self._estimates: dict[Symbol, list[Scale]] = {}  # see `estimate`
        self.stacks = Stacks()
        self.multiples: dict[tuple[Symbol, Symbol], bool] = {}  # whether the first grows with the second
        self._floored: dict[Symbol, Scale] = {}  # see `floored`

    def above_zero(self, scale: Scale) -> Scale:
        """The scale, or the floor if it is smaller, where it may be 0: what a value is divided by and then has."""
        if scale.positive or self.narrow or not scale.is_scalar:
            return scale
        found = self.emitted_extremum("maximum", [scale, floor()])
        self._above_zero[found.factors[0][0]] = scale
        return found

    def maximum(self, scales: Sequence[Scale], base: float | None = None) -> Scale:
        """The largest of several scales: by algebra where they share factors, else at run time.

        base: power of two outside the maximum; by default that of the simplest scale, which then costs no operation.
        """
        return self._extremum("maximum", scales, base)

    def minimum(self, scales: Sequence[Scale]) -> Scale:
        """The smallest of several scales: by algebra where they share factors, else at run time."""
        return self._extremum("minimum", scales)

    def _extremum(self, name: str, scales: Sequence[Scale], base: float | None = None) -> Scale:
        groups: dict[Any, Scale] = {}
        sign = 1 if name == "maximum" else -1
        for scale in scales:
            known = groups.get(scale.factors)
            if known is None or sign * scale.exponent > sign * known.exponent:
                groups[scale.factors] = scale
        distinct = sorted(groups.values(), key=order)
        if name == "maximum":
            distinct = self._opened(distinct)
        distinct = self._without_dominated(name, distinct)
        if len(distinct) == 1:
            return distinct[0]
        # max(2^a s, 2^b t) = 2^a max(s, 2^(b-a) t): one power of two less to multiply by.
        if base is None:
            base = next(scale.exponent for scale in distinct if scale.factors)
        shifted = [Scale(scale.exponent - base, scale.factors) for scale in distinct]
        key = self._leaves(distinct) if name == "maximum" else None
        if key is None:
            return self.emitted_extremum(name, shifted).shifted(base)
        # The same number from other maxima of the same scales: max(a, max(b, c)) = max(max(a, b), max(a, c)).
        own = max(key.values())
        key = ("leaves", frozenset([(factors, exponent - own) for factors, exponent in key.items()]))
        scope: Scope | None = self.scope
        while scope is not None and key not in scope.cache:
            scope = None if scope.isolated else scope.parent
        if scope is not None:
            return scope.cache[key].shifted(own)
        found = self.emitted_extremum(name, shifted).shifted(base)
        scope = self._scope_of(max([scale.depth for scale in distinct]))
        scope.cache[key] = found.shifted(-own)
        return found

    def _leaves(self, scales: Sequence[Scale]) -> Leaves | None:
        """What a maximum is of in the end; None where that is more than is worth looking at."""
        count, leaves = 0, list[Scale]()
        for scale in scales:
            count += len(self._members.get(scale.factors, ()))
            if count > _MOST_LEAVES:
                return None
            leaves += self.members(scale)
        return normal_form(leaves)

    def emitted_extremum(self, name: str, distinct: list[Scale]) -> Scale:
        """The maximum or minimum of unlike scales as one symbol, with all their powers of two in it."""
        depth = 0
        for scale in distinct:
            depth = max(depth, scale.depth)
        key = (name, *[(scale.exponent, scale.factors) for scale in distinct])
        scope = self._scope_of(depth, key)
        found = scope.cache.get(key)
        if found is None:
            positive = [scale.least >= SMALLEST_EXPONENT for scale in distinct]
            with self.hoisted(scope):
                values = [
                    self._floor() if not scale.factors and scale.exponent == budget.FLOOR else self.scale_value(scale)
                    for scale in distinct
                ]
                if name == "maximum" and not any(positive):
                    # One operand made positive makes the maximum so; the last is the likeliest to be shared.
                    distinct[-1] = self.above_zero(distinct[-1])
                    values[-1] = self.divisor(distinct[-1])
                result = values[0]
                for value in values[1:]:
                    result = self.scale_op(name, result, value)
            safe = name == "maximum" or all(positive)
            trials, most = [scale.trials for scale in distinct], [scale.most for scale in distinct]
            if name == "maximum":
                least = max(SMALLEST_EXPONENT, *[scale.least for scale in distinct])
                found = self.as_scale(result, positive=safe, depth=scope.depth, least=least, trials=largest(trials),
                                      most=max(most))  # fmt: skip
                self._maxima[found.factors] = distinct
                known = self._members
            else:
                found = self.as_scale(result, positive=safe, depth=scope.depth, trials=smallest(trials), most=min(most))
                known = self._bounds
            scope.cache[key] = found
            members = list(distinct)
            for scale in distinct:
                for member in known.get(scale.factors, ()):
                    members.append(member.shifted(scale.exponent))
            known[found.factors] = members
        return found

    def _scope_of(self, depth: int, key: object = None) -> Scope:
        """The innermost visible scope that knows `key`, else the outermost in which symbols of this depth exist."""
        scope = self.scope
        while scope.parent is not None and scope.depth > depth and not scope.isolated and key not in scope.cache:
            scope = scope.parent
        return scope

    def _floor(self) -> ir.Value:
        """The floor as a value that XLA does not know to be constant: some scale, neither below nor above it.

        XLA repeats an operation of scalars that has a constant operand in every kernel that reads the result, with all
        that the other operand is computed of (xla/service/instruction_fusion.cc, ComputeGloballyUnfusible); one of two
        computed operands that leaves the function is computed once. Adam's kernels read three such maxima each.
        Otherwise they would be different ones for each parameter, and XLA would compile them all.
        """
        if self._argument is None or self.scope.is_isolated:
            return self.scale_value(floor())
        scope = self.scope
        while scope.parent is not None:
            scope = scope.parent
        if "floor" not in scope.cache:
            with self.hoisted(scope):
                bound = self.scale_value(floor())
                scope.cache["floor"] = self.op("clamp", self.scalar, bound, self._argument, bound)
        return scope.cache["floor"]

    def floored(self, scale: Scale, exponent: float, *, in_place: bool) -> Scale:
        """max(scale, 2^exponent), for a value that has a least size, as x^2 + epsilon has.

        in_place: a maximum taken before may be made so where it is, for all that uses it. Any scale is right that is
            no smaller, and data of types with the range of f32 lose nothing by it.
        """
        if scale.least >= exponent or (in_place and self.raised(scale, exponent)):
            return scale
        found = self.emitted_extremum("maximum", [scale, Scale(exponent)])
        self._floored[found.factors[0][0]] = scale
        return found

    def raised(self, scale: Scale, exponent: float) -> bool:
        """Make a scale 2^exponent at least, for all that uses it; whether it could be done: it has to be a maximum."""
        symbol, power = scale.factors[0]
        if len(scale.factors) > 1 or power != 1 or symbol.shape or scale.factors not in self._members:
            return False
        if scale.least < exponent:
            op = symbol.value.owner
            exponent -= scale.exponent
            with At(self, ir.InsertionPoint(op), self.scope):
                op.operands[1] = self.scale_op("maximum", op.operands[1], self.scale_value(Scale(exponent)))
            object.__setattr__(symbol, "least", exponent)
            object.__setattr__(symbol, "most", max(symbol.most, exponent))
        return True

    def unfloored(self, scale: Scale) -> Scale:
        """What remains of a quotient s/g, g = max(s, floor), beside 1: a factor for the data (ONE if there is none).

        # (s x) / (g y) = (s/g x) / y, s/g <= 1
        """
        rest = ONE
        for symbol, power in scale.factors:
            original = self._floored.get(symbol)
            if original is None or power > 0:
                continue
            powers = dict((scale / rest).factors)
            times = min((powers.get(s, 0) // p for s, p in original.factors if p > 0), default=0)
            times = min(times, -power)
            if times > 0:
                rest = rest * (original / Scale(0, ((symbol, 1),))) ** times
        return rest

    def members(self, scale: Scale) -> list[Scale]:
        """The scales that a maximum was taken of, down to those that are no maxima; the scale itself otherwise."""
        leaves = self._leaf_members.get(scale.factors)
        if leaves is None:
            leaves = self._leaf_members[scale.factors] = self._find_members(Scale(0, scale.factors))
        return [leaf.shifted(scale.exponent) for leaf in leaves] if scale.exponent else leaves

    def _find_members(self, scale: Scale) -> list[Scale]:
        found = self._members.get(scale.factors)
        if found is None:
            expanded = self.expanded(scale)
            return self.members(expanded) if expanded.factors in self._members else [expanded]
        leaves: list[Scale] = []
        for member in found:
            if member.factors not in self._members:
                leaves += self.members(member)
        return leaves

    def estimate(self, scale: Scale, parts: Sequence[Scale], trials: Sequence[Trials] = ()) -> None:
        """Note what a scale of one symbol that comes out of a call, a loop or a branch is about the largest of.

        trials: of what it may be inside, where these are known: not all of it is among the parts.
        """
        symbol = scale.factors[0][0]
        self._estimates[symbol] = list(parts)
        if parts or trials:
            object.__setattr__(symbol, "trials", largest(trials or [part.trials for part in parts]))

    def estimate_parts(self, symbol: Symbol, parts: Sequence[Scale]) -> None:
        """Note what a symbol is about the largest of."""
        self._estimates[symbol] = list(parts)

    def parts(self, symbol: Symbol) -> list[Scale]:
        """The scales that a symbol is the maximum of, be it estimated, or the one that it stands for.

        The floor that it may be kept above is no size of anything, and not among them.
        """
        if symbol in self._products:
            return [self._products[symbol]]
        members = self._members.get(((symbol, 1),), self._estimates.get(symbol, []))
        return [scale for scale in members if scale.factors or scale.exponent != budget.FLOOR]

    def definition(self, symbol: Symbol) -> tuple[str, list[Scale]] | None:
        """What a symbol is exactly: ("maximum" or "minimum", of these scales); None if it is nothing of the kind."""
        if symbol in self._products:
            return "maximum", [self._products[symbol]]
        factors = ((symbol, 1),)
        if factors in self._maxima:
            members = self._maxima[factors]
            floored = symbol.least > max([SMALLEST_EXPONENT, *(m.least for m in members)])
            return "maximum", [*members, Scale(symbol.least)] if floored else members
        return ("minimum", self._bounds[factors]) if factors in self._bounds else None

    def _opened(self, scales: list[Scale]) -> list[Scale]:
        """Maxima among the scales replaced by the one of their members that the other scales do not cover.

        # max(a, max(b, a/2)) = max(a, b): the inner maximum, of a sum that is added to, is then perhaps not needed
        """
        opened: list[Scale] = []
        for i, scale in enumerate(scales):
            maximum = self._maxima.get(scale.factors)
            if maximum is None:
                opened.append(scale)
                continue
            others = opened + scales[i + 1 :]
            members = [m.shifted(scale.exponent) for m in maximum]
            rest = [m for m in members if not any(covers(other, m) for other in others)]
            opened += rest if len(rest) == 1 else [scale]
        return opened

    def _without_dominated(self, name: str, scales: list[Scale]) -> list[Scale]:
        """Scales without those that do not decide, because of what maxima and minima taken before are known by.

        # max(a, max(a, b)) = max(a, b), min(a, min(a, b)) = min(a, b), max(a, min(a, b)) = a = min(a, max(a, b))
        """
        kept = list(scales)
        for scale in scales:
            for other in kept:
                a, b = (other, scale) if name == "minimum" else (scale, other)
                if other is not scale and no_larger(a, b, self._bounds, self._members):
                    kept.remove(scale)
                    break
        return kept
