"""Emission of operations: constants, broadcasts, scale arithmetic; each emitted once per scope and shared.

A `Scope` is a block whose values are visible to what is emitted. Scale arithmetic is hoisted to the outermost
scope in which all its symbols exist, so that a loop body does not recompute what does not change in it.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from scalify_hlo.bindings import ir
from scalify_hlo.scale import ONE, SMALLEST, Scale, Symbol
from scalify_hlo.types import FLOAT_RANGE, LARGEST, TensorInfo, tensor_info

# Scales whose constant factors differ by at most this many powers of two are compared as if they did not.
_NEARLY = 2


class NeedsScaleError(Exception):
    """A rule asked for the run-time value of a scale that has none (see scalify_hlo.bodies.open_scale)."""


@dataclasses.dataclass(slots=True)
class Scope:
    """One block under rewriting. `anchor` is the operation of the parent scope that owns the block."""

    block: ir.Block
    depth: int
    parent: "Scope | None" = None
    anchor: ir.Operation | None = None
    isolated: bool = False  # values of the parent must not be used here (reducers, comparators)
    cache: dict[Any, Any] = dataclasses.field(default_factory=dict[Any, Any])
    emitted: list[ir.Operation] = dataclasses.field(default_factory=list[ir.Operation])

    @property
    def is_isolated(self) -> bool:
        """Whether the block, or one around it, computes on single elements (a reducer, a comparator)."""
        return self.isolated or (self.parent is not None and self.parent.is_isolated)


class Emitter:
    """Creates operations at the current insertion point of one function."""

    def __init__(self, entry: ir.Block, location: ir.Location):
        self.scope = Scope(entry, 0)
        self.location = location
        self.ip = ir.InsertionPoint.at_block_begin(entry)
        self.f32 = ir.F32Type.get()
        self.scalar = ir.RankedTensorType.get([], self.f32)
        self.opened = 0  # how many open scales there have been
        self._symbols = 0
        # Maxima taken: factors of the maximum -> the scales that it is no smaller than.
        self._members: dict[Any, list[Scale]] = {}
        self._products: dict[Symbol, Scale] = {}  # what the symbols of `single` stand for
        self._estimates: dict[Symbol, list[Scale]] = {}  # see `estimate`
        self._elements: dict[str, ir.Type] = {"f32": self.f32}

    # --- operations -------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        types: Sequence[ir.Type],
        operands: Sequence[ir.Value],
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
        *,
        erasable: bool = True,
    ) -> ir.Operation:
        """The operation `name` at the insertion point, with the location of the operation being rewritten.

        erasable: it is erased at the end if nothing uses it.
        """
        op = ir.Operation.create(
            name, types, operands, attributes or {}, regions=regions, loc=self.location, ip=self.ip
        )
        if erasable:
            self.scope.emitted.append(op)
        return op

    def op(self, name: str, type_: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
        """`stablehlo.<name>` with one result."""
        return self.create(f"stablehlo.{name}", [type_], operands, attributes).results[0]

    def element_type(self, name: str) -> ir.Type:
        """The MLIR element type called `name`, such as "f32" or "f8E4M3FN"."""
        if name not in self._elements:
            self._elements[name] = ir.Type.parse(name)
        return self._elements[name]

    def tensor_type(self, like: ir.Type, element: str) -> ir.Type:
        """`like` with another element type; shape, bounds and encoding kept."""
        tensor = ir.RankedTensorType(like)
        return ir.RankedTensorType.get(tensor.shape, self.element_type(element), tensor.encoding)

    def convert(self, value: ir.Value, element: str) -> ir.Value:
        """`value` converted to another element type (itself when it has that type), saturating where that is f8."""
        source = tensor_info(value.type)
        if source.element == element:
            return value
        if element in LARGEST and source.is_float and source.max_exponent > FLOAT_RANGE[element][0]:
            low, high = (self.splat(value, bound) for bound in (-LARGEST[element], LARGEST[element]))
            value = self.op("clamp", value.type, low, value, high)
        return self.op("convert", self.tensor_type(value.type, element), value)

    # --- constants --------------------------------------------------------------------------------------------

    def splat(self, like: ir.Value, value: float) -> ir.Value:
        """A constant of the type of `like` whose elements all equal `value`."""
        type_ = like.type
        info = tensor_info(type_)
        if not info.is_static:
            element = ir.RankedTensorType.get([], ir.RankedTensorType(type_).element_type)
            return self.broadcast_like(self._constant(element, value), like)
        if info.is_complex:  # the bindings cannot make a complex constant
            real = self.tensor_type(type_, info.real)
            parts = (self._constant(real, number) for number in (value, 0.0))
            return self.op("complex", type_, *parts)
        return self._constant(type_, value)

    def _constant(self, type_: ir.Type, value: float) -> ir.Value:
        key = ("constant", type_, value)
        scope = self.scope
        while not scope.isolated and scope.parent is not None:
            if key in scope.cache:
                return scope.cache[key]
            scope = scope.parent
        found = scope.cache.get(key)
        if found is None:
            element = ir.RankedTensorType(type_).element_type
            attribute = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(element, value))
            ip = ir.InsertionPoint.at_block_begin(scope.block)
            op = ir.Operation.create("stablehlo.constant", [type_], [], {"value": attribute}, loc=self.location, ip=ip)
            scope.emitted.append(op)
            scope.cache[key] = found = op.results[0]
        return found

    # --- broadcasts -------------------------------------------------------------------------------------------

    def broadcast_like(self, value: ir.Value, like: ir.Value) -> ir.Value:
        """`value` (rank 0, or the rank of `like` with dimensions 1 or full) at the shape of `like`."""
        target = ir.RankedTensorType(like.type)
        source = ir.RankedTensorType(value.type)
        type_ = ir.RankedTensorType.get(target.shape, source.element_type, target.encoding)
        if source.shape == target.shape:
            return value
        key = ("broadcast", value, like if not target.has_static_shape else type_)
        found = self.scope.cache.get(key)
        if found is not None:
            return found
        dims = [] if source.rank == 0 else list(range(target.rank))
        attribute = ir.DenseI64ArrayAttr.get(dims)
        if target.has_static_shape:
            result = self.op("broadcast_in_dim", type_, value, broadcast_dimensions=attribute)
        else:
            result = self.op(
                "dynamic_broadcast_in_dim", type_, value, self.shape_of(like), broadcast_dimensions=attribute
            )
        self.scope.cache[key] = result
        return result

    def shape_of(self, value: ir.Value) -> ir.Value:
        """The shape of a tensor with dynamic dimensions, as tensor<rank x i32>."""
        key = ("shape", value)
        if key not in self.scope.cache:
            rank = ir.RankedTensorType(value.type).rank
            i32 = ir.IntegerType.get_signless(32)
            scalar, one = ir.RankedTensorType.get([], i32), ir.RankedTensorType.get([1], i32)
            sizes = [
                self.op("reshape", one, self.op(
                    "get_dimension_size", scalar, value,
                    dimension=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), d),
                ))
                for d in range(rank)
            ]  # fmt: skip
            zero = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
            self.scope.cache[key] = self.create(
                "stablehlo.concatenate", [ir.RankedTensorType.get([rank], i32)], sizes, {"dimension": zero}
            ).results[0]
        return self.scope.cache[key]

    # --- scales -----------------------------------------------------------------------------------------------

    def symbol(self, value: ir.Value, *, positive: bool = False, depth: int | None = None) -> Symbol:
        """A new symbol for a f32 scale value defined in the current scope."""
        self._symbols += 1
        shape = tensor_info(value.type).shape
        return Symbol(self._symbols, value, shape, self.scope.depth if depth is None else depth, positive)

    def as_scale(self, value: ir.Value, *, positive: bool = False, depth: int | None = None) -> Scale:
        """A scale made of one new symbol."""
        return Scale(0, ((self.symbol(value, positive=positive, depth=depth), 1),))

    def cache_scale(self, key: object, value: ir.Value, *, positive: bool = False) -> Scale:
        """A new symbol for `value`, found again under `key` in this scope."""
        scale = self.as_scale(value, positive=positive)
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
            scope.cache[key] = found = self.as_scale(value, depth=scope.depth)
            self._products[found.factors[0][0]] = scale
        return scope.cache[key]

    def expanded(self, scale: Scale) -> Scale:
        """The scale with the symbols that stand for products replaced by them."""
        while any(symbol in self._products for symbol, _ in scale.factors):
            result = Scale(scale.exponent)
            for symbol, power in scale.factors:
                result = result * self._products.get(symbol, Scale(0, ((symbol, 1),))) ** power
            scale = result
        return scale

    def scale_value(self, scale: Scale) -> ir.Value:
        """The scale as a f32 SSA value, of rank 0 or of the scale's shape."""
        if len(scale.factors) == 1 and scale.exponent == 0 and scale.factors[0][1] == 1:
            symbol = scale.factors[0][0]
            if symbol.is_open:
                raise NeedsScaleError
            return symbol.value
        found, scope = self._cached(scale)
        if found is not None:
            return found
        with self.hoisted(scope):
            result = self._emit_scale(scale)
        scope.cache[scale] = result
        return result

    def _cached(self, scale: Scale) -> tuple[ir.Value | None, Scope]:
        """The value of a scale if some visible scope has it, else the outermost scope that can."""
        scope = self.scope
        while True:
            if scale in scope.cache:
                return scope.cache[scale], scope
            if scope.parent is None or scope.isolated or scope.depth <= scale.depth:
                return None, scope
            scope = scope.parent

    def _emit_scale(self, scale: Scale) -> ir.Value:
        if not scale.factors:
            if -149 <= scale.exponent <= 127:
                return self._constant(self.scalar, 2.0**scale.exponent)
            return self._constant(self.scalar, 0.0 if scale.exponent < 0 else float("inf"))
        if scale.exponent:
            product = self.scale_value(Scale(0, scale.factors))
            # Far exponents in two steps: 2^-200 is no f32, but 2^-100 * (2^-100 * s) may well be.
            rest = scale.exponent
            while rest:
                step = max(-126, min(127, rest))
                product = self.scale_op("multiply", product, self.scale_value(Scale(step)))
                rest -= step
            return product
        numerators = [symbol for symbol, power in scale.factors for _ in range(max(power, 0))]
        denominators = [symbol for symbol, power in scale.factors for _ in range(max(-power, 0))]
        if not denominators:
            if all(power % 2 == 0 for _, power in scale.factors):  # (s t)^2n = ((s t)^n)^2
                root = self.scale_value(Scale(0, tuple((symbol, power // 2) for symbol, power in scale.factors)))
                return self.scale_op("multiply", root, root)
            rest, last = numerators[:-1], numerators[-1]
            return self.scale_op("multiply", *(self.scale_value(_power_product(part)) for part in (rest, [last])))
        return self.scale_op(
            "divide", self.scale_value(_power_product(numerators)), self.divisor(_power_product(denominators))
        )

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
            shape_a, shape_b = tensor_info(a.type).shape, tensor_info(b.type).shape
            shape = tuple(max(m, n) for m, n in zip(shape_a, shape_b, strict=True)) if shape_a and shape_b else (
                shape_a or shape_b
            )  # fmt: skip
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

    def maximum(self, scales: Sequence[Scale]) -> Scale:
        """The largest of several scales: by algebra where they share factors, else at run time."""
        return self._extremum("maximum", scales)

    def minimum(self, scales: Sequence[Scale]) -> Scale:
        """The smallest of several scales: by algebra where they share factors, else at run time."""
        return self._extremum("minimum", scales)

    def _extremum(self, name: str, scales: Sequence[Scale]) -> Scale:
        groups: dict[Any, Scale] = {}
        choose = max if name == "maximum" else min
        for scale in scales:
            known = groups.get(scale.factors, scale)
            groups[scale.factors] = Scale(choose(known.exponent, scale.exponent), scale.factors)
        distinct = sorted(groups.values(), key=_order)
        if name == "maximum":
            distinct = self._without_dominated(distinct)
        if len(distinct) == 1:
            return distinct[0]
        # max(2^a s, 2^b t) = 2^a max(s, 2^(b-a) t): one power of two less to multiply by, none if they nearly agree.
        base = next(scale.exponent for scale in distinct if scale.factors)
        distinct = [
            Scale(
                0 if abs(scale.exponent - base) <= _NEARLY and scale.factors else scale.exponent - base, scale.factors
            )
            for scale in distinct
        ]
        return self.emitted_extremum(name, distinct).shifted(base)

    def emitted_extremum(self, name: str, distinct: list[Scale]) -> Scale:
        """The maximum or minimum of unlike scales as one symbol, with all their powers of two in it."""
        key = (name, *distinct)
        depth = max(scale.depth for scale in distinct)
        scope = self.scope
        while key not in scope.cache and scope.parent is not None and not scope.isolated and scope.depth > depth:
            scope = scope.parent
        if key not in scope.cache:
            positive = [scale.positive for scale in distinct]
            with self.hoisted(scope):
                values = [self.scale_value(scale) for scale in distinct]
                if name == "maximum" and not any(positive):
                    # One operand made positive makes the maximum so; the last is the likeliest to be shared.
                    values[-1] = self.divisor(distinct[-1])
                result = values[0]
                for value in values[1:]:
                    result = self.scale_op(name, result, value)
            safe = name == "maximum" or all(positive)
            scope.cache[key] = found = self.as_scale(result, positive=safe, depth=scope.depth)
            if name == "maximum":
                members = list(distinct)
                for scale in distinct:
                    members += [m.shifted(scale.exponent) for m in self._members.get(scale.factors, ())]
                self._members[found.factors] = members
        return scope.cache[key]

    def members(self, scale: Scale) -> list[Scale]:
        """The scales that a maximum was taken of, down to those that are no maxima; the scale itself otherwise."""
        found = self._members.get(scale.factors)
        if found is None:
            expanded = self.expanded(scale)
            return self.members(expanded) if expanded.factors in self._members else [expanded]
        leaves = [m.shifted(scale.exponent) for m in found if m.factors not in self._members]
        return [leaf for m in leaves for leaf in self.members(m)]

    def estimate(self, scale: Scale, parts: Sequence[Scale]) -> None:
        """Note what a scale of one symbol that comes out of a call, a loop or a branch is about the largest of."""
        self._estimates[scale.factors[0][0]] = list(parts)

    def parts(self, symbol: Symbol) -> list[Scale]:
        """The scales that a symbol is the maximum of, be it estimated, or the one that it stands for."""
        if symbol in self._products:
            return [self._products[symbol]]
        return self._members.get(((symbol, 1),), self._estimates.get(symbol, []))

    def _without_dominated(self, scales: list[Scale]) -> list[Scale]:
        """Scales without those that another one, a maximum taken before, is known to be no smaller than."""
        dominated = {
            scale
            for maximum in scales
            for member in self._members.get(maximum.factors, ())
            for scale in scales
            if scale.factors == member.factors and scale.exponent <= member.exponent + maximum.exponent + _NEARLY
        }
        return [scale for scale in scales if scale not in dominated]

    def hoisted(self, scope: Scope) -> "At":
        """Emission in an enclosing scope, just before the operation that leads here."""
        if scope is self.scope:
            return At(self, self.ip, scope)
        inner = self.scope
        while inner.parent is not scope:
            assert inner.parent is not None
            inner = inner.parent
        assert inner.anchor is not None
        return At(self, ir.InsertionPoint(inner.anchor), scope)

    def at(self, ip: ir.InsertionPoint) -> "At":
        """Emission at another point of the current scope."""
        return At(self, ip, self.scope)

    # --- data times a scale -----------------------------------------------------------------------------------

    def rescale(self, data: ir.Value, factor: Scale) -> ir.Value:
        """data * factor, in the data's type; through f32 where the type is too narrow for the factor."""
        if factor.is_one:
            return data
        info = tensor_info(data.type)
        if factor.is_constant:
            return self._rescale_by_constant(data, info, factor.exponent)
        if info.is_narrow:
            wide = self.rescale(self.convert(data, "f32"), factor)
            return self.convert(wide, info.element)
        return self._scaled_by("multiply", data, self.scale_value(factor))

    def unscale_by(self, data: ir.Value, scale: Scale) -> ir.Value:
        """data / scale, where the scale is a value of its own: no reciprocal is emitted. Not for narrow types."""
        if scale.is_constant:
            return self.rescale(data, ONE / scale)
        return self._scaled_by("divide", data, self.divisor(scale))

    def source_of(self, data: ir.Value) -> tuple[ir.Value, float] | None:
        """(source, k) where `data` is source * 2^k by an operation emitted here."""
        scope: Scope | None = self.scope
        while scope is not None:
            found = scope.cache.get(("source", data))
            if found is not None:
                return found
            scope = None if scope.isolated else scope.parent
        return None

    def _scaled_by(self, name: str, data: ir.Value, value: ir.Value) -> ir.Value:
        info = tensor_info(data.type)
        if info.is_complex:
            real_type = self.tensor_type(data.type, info.real)
            real, imag = self.op("real", real_type, data), self.op("imag", real_type, data)
            factor = self.broadcast_like(self.scale_as(value, info.real), real)
            parts = (self.op(name, real_type, part, factor) for part in (real, imag))
            return self.op("complex", data.type, *parts)
        return self.op(name, data.type, data, self.broadcast_like(self.scale_as(value, info.element), data))

    def scale_as(self, value: ir.Value, element: str) -> ir.Value:
        """A f32 scale value in the element type it is to be multiplied in."""
        if element == "f32":
            return value
        key = ("convert", value, element)
        if key not in self.scope.cache:
            self.scope.cache[key] = self.convert(value, element)
        return self.scope.cache[key]

    def _rescale_by_constant(self, data: ir.Value, info: TensorInfo, exponent: float) -> ir.Value:
        if info.is_float and FLOAT_RANGE[info.element][2] < 7:  # f8: no arithmetic in the type itself
            return self.convert(self._rescale_by_constant(self.convert(data, "f32"), tensor_info(
                self.tensor_type(data.type, "f32")), exponent), info.element)  # fmt: skip
        source, total = data, exponent
        low, high = info.min_exponent, info.max_exponent
        if info.is_complex:  # multiplied by f32 scale values
            low, high = max(low, -126), min(high, 127)
        while exponent:
            step = max(low, min(high, exponent))
            if info.is_complex:
                data = self._scaled_by("multiply", data, self._constant(self.scalar, 2.0**step))
            else:
                data = self.op("multiply", data.type, data, self.splat(data, 2.0**step))
            exponent -= step
        if not info.is_narrow:
            # What is computed from it next may go back to the source (see scalify_hlo.plain.unscaled).
            self.scope.cache["source", data] = (source, total)
        return data


class At:
    """Context manager: emit at another insertion point and scope, then come back."""

    def __init__(self, emitter: Emitter, ip: ir.InsertionPoint, scope: Scope):
        self.emitter, self.ip, self.scope = emitter, ip, scope

    def __enter__(self) -> None:
        self.saved = self.emitter.ip, self.emitter.scope
        self.emitter.ip, self.emitter.scope = self.ip, self.scope

    def __exit__(self, *_: object) -> None:
        self.emitter.ip, self.emitter.scope = self.saved


def _power_product(symbols: Sequence[Symbol]) -> Scale:
    scale = ONE
    for symbol in symbols:
        scale = scale * Scale(0, ((symbol, 1),))
    return scale


def _order(scale: Scale) -> tuple[Any, ...]:
    return (len(scale.factors), tuple((s.index, p) for s, p in scale.factors), scale.exponent)
