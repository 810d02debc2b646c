"""The arithmetic of scales: symbolic as long as possible, emitted once and shared where a value is needed.

It is hoisted to the outermost scope in which all its symbols exist, so that a loop body does not recompute what does
not change in it.
"""

import math
from collections.abc import Sequence
from typing import Any

from scalify_hlo import budget
from scalify_hlo.bindings import ir
from scalify_hlo.emit.maxima import power_product
from scalify_hlo.emit.operation_emitter import OperationEmitter
from scalify_hlo.emit.scopes import Scope
from scalify_hlo.scale import FIRST_OPEN, SMALLEST, SMALLEST_EXPONENT, TRIALS, Scale, Symbol, Trials, joined
from scalify_hlo.types import tensor_info

# Powers of a scale up to this one are products of its factors one by one.
_MOST_MULTIPLIED = 8
# No f32 but 0 and infinity remains one when it is multiplied by 2 to this power, or divided.
_BEYOND = 300


class NeedsScaleError(Exception):
    """A rule asked for the run-time value of a scale that has none (see scalify_hlo.rules.bodies.open_scale)."""


class ScaleArithmetic(OperationEmitter):
    """Symbols, and products, quotients and powers of them as values."""

    def __init__(self, entry: ir.Block, location: ir.Location, *, narrow: bool):
        """narrow: some data are of a type of less range than f32, and scales as far from 1 as f32 can hold."""
        super().__init__(entry, location)
        self.narrow = narrow
        self._symbols = 0
        self.has_shapes = False  # some symbol is of another rank than 0
        # Maxima taken: factors of the maximum -> the scales that it is no smaller than.
        self._members: dict[Any, list[Scale]] = {}
        self._products: dict[Symbol, Scale] = {}  # what the symbols of `single` stand for
        # Scales that were kept above zero -> what they were.
        self._above_zero: dict[Symbol, Scale] = {}
        self._argument: ir.Value | None = None  # some scale of rank 0 that enters the function

    def symbol(self, value: ir.Value, *, positive: bool = False, depth: int | None = None,
               least: float = SMALLEST_EXPONENT, trials: Trials = TRIALS,
               most: float = math.inf) -> Symbol:  # fmt: skip
        """A new symbol for a f32 scale value defined in the current scope."""
        self._symbols += 1
        shape = tensor_info(value.type).shape
        depth = self.scope.depth if depth is None else depth
        self.has_shapes |= bool(shape)
        # Not of a region, whose arguments have symbols before it is entered.
        if self._argument is None and not shape and depth == 0 and isinstance(value.owner, ir.Block):
            self._argument = value
        return Symbol(self._symbols, value, shape, depth, positive, least, trials, most)

    def as_scale(self, value: ir.Value, *, positive: bool = False, depth: int | None = None,
                 least: float = SMALLEST_EXPONENT, trials: Trials = TRIALS,
                 most: float = math.inf) -> Scale:  # fmt: skip
        """A scale made of one new symbol."""
        symbol = self.symbol(value, positive=positive, depth=depth, least=least, trials=trials, most=most)
        return Scale(0, ((symbol, 1),))

    def cache_scale(self, key: object, value: ir.Value, *, positive: bool = False, least: float = SMALLEST_EXPONENT,
                    trials: Trials = TRIALS) -> Scale:  # fmt: skip
        """A new symbol for `value`, found again under `key` in this scope."""
        scale = self.as_scale(value, positive=positive, least=least, trials=trials)
        self.scope.cache[key] = scale
        return scale

    def single(self, scale: Scale) -> Scale:
        """The scale as one symbol; the same symbol each time."""
        if len(scale.factors) == 1 and scale.exponent == 0 and scale.factors[0][1] == 1:
            return scale
        value = self.scale_value(scale)
        key = ("single", value)
        _, scope = self._cached(scale)
        if key not in scope.cache:
            scope.cache[key] = found = self.as_scale(value, depth=scope.depth, trials=scale.trials)
            self._products[found.factors[0][0]] = scale
        return scope.cache[key]

    def expanded(self, scale: Scale, *, floors: bool = True) -> Scale:
        """The scale with the symbols that stand for products replaced by them.

        floors: leave those that were kept above zero as they are.
        """
        products = self._products
        floored: dict[Symbol, Scale] = {} if floors else self._above_zero
        for symbol, _ in scale.factors:
            if symbol in products or symbol in floored:
                break
        else:
            return scale
        result = Scale(scale.exponent)
        for symbol, power in scale.factors:
            known = products.get(symbol) or floored.get(symbol)
            result = result * (Scale(0, ((symbol, 1),)) if known is None else known) ** power
        return self.expanded(result, floors=floors)

    def scale_value(self, scale: Scale) -> ir.Value:
        """The scale as a f32 SSA value, of rank 0 or of the scale's shape."""
        if len(scale.factors) == 1 and scale.exponent == 0 and scale.factors[0][1] == 1:
            symbol = scale.factors[0][0]
            if symbol.index >= FIRST_OPEN:
                raise NeedsScaleError
            return symbol.value
        found, scope = self._cached(scale)
        if found is not None:
            return found
        with self.hoisted(scope):
            result = self._emit_scale(scale)
        scope.cache["value", scale.exponent, scale.factors] = result
        return result

    def is_emitted(self, scale: Scale) -> bool:
        """Whether the scale exists as a value already, so that its use costs no operation."""
        return self._cached(scale)[0] is not None

    def _cached(self, scale: Scale) -> tuple[ir.Value | None, Scope]:
        """The value of a scale if some visible scope has it, else the outermost scope that can."""
        scope = self.scope
        key = ("value", scale.exponent, scale.factors)
        while True:
            found = scope.cache.get(key)
            if found is not None:
                return found, scope
            if scope.parent is None or scope.isolated or scope.depth <= scale.depth:
                return None, scope
            scope = scope.parent

    def _emit_scale(self, scale: Scale) -> ir.Value:
        if not scale.factors:
            if -149 <= scale.exponent <= 127:
                return self.constant(self.scalar, 2.0**scale.exponent)
            return self.constant(self.scalar, 0.0 if scale.exponent < 0 else float("inf"))
        if scale.exponent:
            powers = Scale(0, scale.factors)
            if self.narrow and scale.exponent > 0 and powers.least < SMALLEST_EXPONENT <= scale.least:
                # s^2 2^45 = (s 2^45) s: s may be 2^-65, and s^2 no f32 but 0
                symbol = next((symbol for symbol, power in scale.factors if power > 0), None)
                if symbol is not None:
                    first = Scale(scale.exponent, ((symbol, 1),))
                    return self.scale_op("multiply", self.scale_value(first), self.scale_value(scale / first))
            product = self.scale_value(powers)
            # Far exponents in steps: 2^-200 is no f32, but 2^-74 * (2^-126 * s) may well be. XLA would make one
            # factor of two that follow each other, 0 or infinite: the bound in between changes no number that it meets.
            rest = max(-_BEYOND, min(_BEYOND, scale.exponent))
            while True:
                step = max(-126, min(127, rest))
                product = self.scale_op("multiply", product, self.scale_value(Scale(step)))
                rest -= step
                if not rest:
                    return product
                name, bound = ("maximum", -126) if rest < 0 else ("minimum", 127)
                product = self.scale_op(name, product, self.scale_value(Scale(bound)))
        if scale.degree > _MOST_MULTIPLIED:  # s^2n = (s^n)^2: as many operations as the power has binary digits
            root = Scale(0, tuple((symbol, int(power / 2)) for symbol, power in scale.factors if abs(power) > 1))
            value = self.scale_value(root)
            square, rest = self.scale_op("multiply", value, value), scale / root**2
            return square if rest.is_one else self.scale_op("multiply", square, self.scale_value(rest))
        numerators = [symbol for symbol, power in scale.factors for _ in range(max(power, 0))]
        denominators = [symbol for symbol, power in scale.factors for _ in range(max(-power, 0))]
        if not denominators and all(power % 2 == 0 for _, power in scale.factors):  # (s t)^2n = ((s t)^n)^2
            root = self.scale_value(Scale(0, tuple((symbol, power // 2) for symbol, power in scale.factors)))
            return self.scale_op("multiply", root, root)
        bounded = self._bounded_quotient(scale)
        if bounded is not None:
            return self.scale_op("multiply", self.scale_value(bounded), self.scale_value(scale / bounded))
        known = None if self.narrow and (len(numerators) < 2 or not denominators) else self._from_emitted(scale)
        if known is not None:
            return known
        if not denominators:
            rest, last = numerators[:-1], numerators[-1]
            return self.scale_op("multiply", *(self.scale_value(power_product(part)) for part in (rest, [last])))
        if not self.narrow or (len(denominators) < 2 and len(numerators) < 2):
            return self.scale_op(
                "divide", self.scale_value(power_product(numerators)), self.divisor(power_product(denominators))
            )
        # Products and quotients in turns: s^2 may leave the range of f32 where s^2/t does not. In programs of f32
        # scales are sizes of f32 values, and XLA would take one and a half times as long to compile a whole step.
        if len(numerators) > len(denominators):
            rest = power_product(numerators[:-1]) / power_product(denominators)
            return self.scale_op("multiply", self.scale_value(rest), self.scale_value(power_product(numerators[-1:])))
        last = power_product(denominators[-1:])
        rest = power_product(numerators) / power_product(denominators[:-1])
        if len(numerators) < len(denominators):  # XLA makes x/a/a/b/b of x, a and b one quotient, by a a b b
            return self.scale_op("multiply", self.scale_value(rest), self.scale_value(last**-1))
        return self._divided(rest, last)

    def _divided(self, scale: Scale, factor: Scale) -> ir.Value:
        """scale / factor; times the inverse where the scale is a quotient already: x/a/b is one by a b to XLA."""
        value = self.scale_value(scale)
        if self.narrow and isinstance(value, ir.OpResult) and value.owner.name == "stablehlo.divide":
            return self.scale_op("multiply", value, self.scale_value(factor**-1))
        return self.scale_op("divide", value, self.divisor(factor))

    def _bounded_quotient(self, scale: Scale) -> Scale | None:
        """A part of a scale that is no larger than a power of two: a quotient by a maximum of what it divides.

        # s s t / max(t, u) = (t / max(t, u)) s s: s/max(t, u) would be infinite where t and u are of tensors of zeros
        """
        powers = dict(scale.factors)
        for symbol, power in scale.factors:
            if power > 0 or symbol.least > budget.ZEROS:
                continue
            maximum = Scale(0, ((symbol, 1),))
            for member in self._members.get(maximum.factors, ()):
                quotient = Scale(0, member.factors) / maximum
                if (
                    len(scale.factors) > len(quotient.factors)
                    and all(0 < p <= powers.get(s, 0) for s, p in member.factors)
                    and member.factors
                ):
                    return quotient
        return None

    def _from_emitted(self, scale: Scale) -> ir.Value | None:
        """A product or quotient of three factors or more from one of one factor less that exists; None if none does.

        # s t u / v = (s t / v) u: one operation instead of two, and XLA does not repeat what s t / v is computed from

        Beside types of narrow range only of a product that exists and is divided, (s t) / u, where u may have been
        chosen by it: if both are tiny, s / u is infinite.
        """
        if sum(abs(power) for _, power in scale.factors) < 3:
            return None
        for symbol, power in scale.factors:
            if self.narrow and power > 0:
                continue
            factor = Scale(0, ((symbol, 1),))
            rest = scale / factor if power > 0 else scale * factor
            if self.is_emitted(rest):
                if power > 0:
                    return self.scale_op("multiply", self.scale_value(rest), self.scale_value(factor))
                return self._divided(rest, factor)
        if self.narrow:
            return None
        product = Scale(0, tuple((symbol, power) for symbol, power in scale.factors if power > 0))
        for symbol, _ in product.factors if product.factors != scale.factors else ():
            factor = Scale(0, ((symbol, 1),))
            rest = product / factor
            if rest.factors and self.is_emitted(rest):  # s t exists: s t / v next, which others may want
                return self.scale_op("multiply", self.scale_value(scale / factor), self.scale_value(factor))
        return None

    def divisor(self, scale: Scale) -> ir.Value:
        """The scale as a value that is never 0: a zero scale must not divide (its data are zeros)."""
        value = self.scale_value(scale)
        if scale.positive:
            return value
        key = ("divisor", value)
        _, scope = self._cached(scale)
        if key not in scope.cache:
            with self.hoisted(scope):
                scope.cache[key] = self.scale_op("maximum", value, self.scale_value(SMALLEST))
        return scope.cache[key]

    def scale_op(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """An elementwise operation on two f32 scale values; rank 0 broadcasts to the other's shape."""
        if a.type != b.type:
            shape = joined(tensor_info(a.type).shape, tensor_info(b.type).shape)
            a, b = self.broadcast_to(a, shape), self.broadcast_to(b, shape)
        return self.op(name, a.type, a, b)

    def broadcast_to(self, scale: ir.Value, shape: Sequence[int]) -> ir.Value:
        """A f32 scale value at a static shape (rank 0, or same rank with dimensions 1 or full)."""
        info = tensor_info(scale.type)
        if info.shape == tuple(shape):
            return scale
        dims = ir.DenseI64ArrayAttr.get(list(range(info.rank)))
        return self.op(
            "broadcast_in_dim", ir.RankedTensorType.get(list(shape), self.f32), scale, broadcast_dimensions=dims
        )

    def rounded_power_of_two(self, value: ir.Value) -> ir.Value:
        """A f32 scale value rounded to a power of two: its exponent, without mantissa bits."""
        i32 = ir.IntegerType.get_signless(32)
        return self.op(
            "reduce_precision", value.type, value,
            exponent_bits=ir.IntegerAttr.get(i32, 8), mantissa_bits=ir.IntegerAttr.get(i32, 0),
        )  # fmt: skip
