"""Scales of tensors of zeros, 2^-126: what stands in their place, and what is divided by them."""

from collections.abc import Sequence

from scalify_hlo import budget
from scalify_hlo.bindings import ir
from scalify_hlo.emit.scale_emitter import ScaleEmitter
from scalify_hlo.scale import SMALLEST_EXPONENT, Scale, Symbol
from scalify_hlo.types import tensor_info


class ZeroScaleEmitter(ScaleEmitter):
    """Tells scales of zeros from others, at run time."""

    def __init__(self, entry: ir.Block, location: ir.Location, *, narrow: bool):
        """narrow: as of `ScaleEmitter`."""
        super().__init__(entry, location, narrow=narrow)
        self._live: set[Symbol] = set()  # see `is_live`
        self._degrees: dict[Symbol, int] = {}  # see `note_root`

    def if_zeros(self, scale: Scale, other: Scale, window: int | None = None) -> Scale:
        """A scale, or `other` in its place where it is the one of a tensor of zeros, which fits nothing else.

        window: log2 by which the scale may be smaller than `other` and still hold; None if whatever is no zero holds.

        `other`, which several tensors share, is kept above zero, and not each of the results, that are divided by next.
        """
        other = self.above_zero(other)
        key = ("if zeros", scale, other, window)
        _, scope = self._cached(scale * other)
        if key not in scope.cache:
            with self.hoisted(scope):
                own, instead = self.scale_value(scale), self.scale_value(other)
                bound = self.scale_value(Scale(budget.ZEROS) if window is None else other.shifted(-window))
                value = self.where_less(own, bound, instead, own)
            positive, least = other.positive, min(other.least, budget.ZEROS)
            found = self.as_scale(value, positive=positive, depth=scope.depth, trials=scale.trials,
                                  least=least if positive else SMALLEST_EXPONENT)  # fmt: skip
            self.estimate_parts(found.factors[0][0], [scale, other])
            if other.is_constant or self.is_live(other):  # zeros that zeros are added to are zeros
                self._live.add(found.factors[0][0])
            scope.cache[key] = found
        return scope.cache[key]

    def is_live(self, scale: Scale) -> bool:
        """Whether a scale is known not to be that of a tensor of zeros."""
        for symbol, _ in scale.factors:  # a generator is a call of Python for each of them
            if symbol not in self._live:
                return False
        return bool(scale.factors)

    def note_root(self, scale: Scale, degree: int) -> None:
        """Note that a scale of one symbol is a root of another scale: of zeros it is not as small as that of zeros."""
        self._degrees[scale.factors[0][0]] = degree

    def maximum(self, scales: Sequence[Scale], base: float | None = None) -> Scale:
        """As of `ScaleEmitter`; beside types of narrow range a quotient by zeros does not decide."""
        if self.narrow and len({scale.factors for scale in scales}) > 1:
            scales = [self._of_numbers(scale) for scale in scales]
        return super().maximum(scales, base)

    def _of_numbers(self, scale: Scale) -> Scale:
        """A scale that is that of zeros where it is divided by one of zeros: it fits infinities, as any does.

        # 1/0 at the scale 1/2^-126 would leave nothing of what it is selected beside: where(x == 0, 1, 1/x)
        """
        for symbol, power in scale.factors:
            if power < 0 and not symbol.is_open and symbol.least <= self._zeros(symbol) and symbol not in self._live:
                factor = Scale(0, ((symbol, 1),))
                scale = scale * factor**-power / self._large_if_zeros(factor) ** -power
        return scale

    def _zeros(self, symbol: Symbol) -> int:
        """log2 of the scale below which a tensor with this scale is taken to be zeros."""
        return budget.ZEROS // self._degrees.get(symbol, 1)

    def _large_if_zeros(self, scale: Scale) -> Scale:
        """A scale of one symbol, or a very large one in its place where it is the one of a tensor of zeros."""
        key = ("large if zeros", scale)
        _, scope = self._cached(scale)
        if key not in scope.cache:
            with self.hoisted(scope):
                own = self.scale_value(scale)
                shape = tensor_info(own.type).shape
                bounds = (self._zeros(scale.factors[0][0]), -budget.ZEROS)
                bound, large = (self.broadcast_to(self.scale_value(Scale(exponent)), shape) for exponent in bounds)
                value = self.where_less(own, bound, large, own)
            found = self.as_scale(value, positive=True, depth=scope.depth, trials=scale.trials, least=budget.ZEROS)
            self.estimate_parts(found.factors[0][0], [scale])
            self._live.add(found.factors[0][0])
            scope.cache[key] = found
        return scope.cache[key]

    def if_reached(self, scale: Scale, steps: Sequence[tuple[Scale, Scale]], other: Scale) -> Scale:
        """A scale of rank 0, or `other` in its place where one of the steps still goes up, from a scale to a larger.

        # s = min(c, max(t, g s)): t where g <= 1, else c
        """
        key = ("if reached", scale, *steps, other)
        depth = max(each.depth for pair in [(scale, other), *steps] for each in pair)
        scope = self._scope_of(depth)
        if key not in scope.cache:
            with self.hoisted(scope):
                value, instead = self.scale_value(scale), self.scale_value(other)
                for before, after in steps:
                    value = self.where_less(self.scale_value(before), self.scale_value(after), instead, value)
            positive, least = scale.positive and other.positive, min(scale.least, other.least)
            found = self.as_scale(value, positive=positive, depth=scope.depth, trials=scale.trials, least=least,
                                  most=max(scale.most, other.most))  # fmt: skip
            self.estimate_parts(found.factors[0][0], [scale])
            scope.cache[key] = found
        return scope.cache[key]

    def where_less(self, x: ir.Value, bound: ir.Value, value: ir.Value, other: ir.Value) -> ir.Value:
        """select(x < bound, value, other), f32 numbers of one shape."""
        direction = ir.Attribute.parse("#stablehlo<comparison_direction LT>")
        i1 = ir.RankedTensorType.get(list(tensor_info(x.type).shape), ir.IntegerType.get_signless(1))
        return self.op(
            "select", value.type, self.op("compare", i1, x, bound, comparison_direction=direction), value, other
        )
