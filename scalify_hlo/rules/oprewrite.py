"""The vocabulary of rules: what a rule can ask of an operation and declare of its results."""

import dataclasses
import math
from collections.abc import Callable, Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.narrow_values import is_rounded
from scalify_hlo.bindings import ir
from scalify_hlo.emit.emitter import At, Emitter
from scalify_hlo.emit.stamps import BLOCK, BY_LAW, FORM, REASON, RULE, SCALE, VALUE, Reason, Stamped
from scalify_hlo.module.identity import identity
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.rules.given import check_value, no_scale
from scalify_hlo.rules.plain import unscaled, unscaled_key, wide_element
from scalify_hlo.rules.rewriting import Rewriting
from scalify_hlo.rules.sizing import Operand, expected
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, SMALLEST, TRIALS, Scale, round_log2
from scalify_hlo.size.moments import UNIT, Moments
from scalify_hlo.types import TensorInfo, tensor_info

Create = Callable[..., ir.Value]
# Operations whose results have a scale that says nothing of their size where that of an operand is not known.
_PRODUCTS = frozenset({"stablehlo.multiply", "stablehlo.divide", "stablehlo.dot_general"})
# ... and those that only move what they are given, also into what a loop stacks.
_MOVED = names(Trait.MOVES | Trait.RESHAPES) | {"stablehlo.dynamic_update_slice"}


class UnsupportedError(Exception):
    """Raised by a rule for a form of its operation that it cannot rewrite; the message says which and why."""


class OpRewrite:
    """One operation under rewriting. Its operands have been replaced by the data of their scaled forms.

    inputs: per operand its scaled form, None where the operand is plain.
    """

    __slots__ = (
        "_first",
        "_infos",
        "_plain",
        "_reasons",
        "_result",
        "after_op",
        "asked",
        "emit",
        "erased",
        "inputs",
        "name",
        "on_values",
        "op",
        "rewriter",
    )

    def __init__(self, rewriter: Rewriting, op: ir.Operation, name: str, inputs: list[ScaledValue | None]):
        self.rewriter = rewriter
        self.op = op
        self.name = name
        self.inputs = inputs
        self.emit: Emitter = rewriter.emit
        self.erased = False
        self.after_op: ir.InsertionPoint | None = None
        results = op.results
        self._first = results[0] if len(results) else None
        self._result: TensorInfo | None = None  # of result 0
        self._infos: dict[int, TensorInfo] = {}  # of operands as they are now
        self._plain: dict[int, ir.Value] = {}  # plain operands that have been replaced, as they were
        self.asked: set[int] | None = None  # the operands that a rule from outside has asked for
        self.on_values = False  # the operation computes on unscaled values (see `combined`)
        # Of all results, or (by index) of one alone.
        self._reasons: dict[int | None, tuple[Reason, ...]] = {}

    # --- operands ---------------------------------------------------------------------------------------------

    def scaled(self, index: int) -> ScaledValue:
        """The scaled form of operand `index`; a plain operand gets a constant scale from what is known of it."""
        if self.asked is not None:
            self.asked.add(index)
        return self.inputs[index] or self.rewriter.as_scaled(self.original(index))

    def original(self, index: int) -> ir.Value:
        """Operand `index` as it was before `set_operand`, if it is plain."""
        return self._plain[index] if index in self._plain else self.op.operands[index]

    def operand(self, index: int) -> ir.Value:
        """The SSA value of operand `index` as it is now."""
        return self.op.operands[index]

    def set_operand(self, index: int, value: ir.Value) -> None:
        """Replace operand `index`. What `scaled` and `plain` say of it stays as it was."""
        if self.asked is not None:
            check_value(value)
            self.asked.add(index)
        if self.inputs[index] is None:
            self._plain.setdefault(index, self.op.operands[index])
        self.op.operands[index] = value
        self._infos.pop(index, None)

    def info(self, index: int) -> TensorInfo:
        """Element type and shape of operand `index`."""
        found = self._infos.get(index)
        if found is None:
            found = self._infos[index] = tensor_info(self.op.operands[index].type)
        return found

    def is_stored_narrow(self, index: int = 0, *, moved: bool = False) -> bool:
        """Whether a result has a type of less range than f32, or is rounded to one, perhaps after it was `moved`."""
        if self.result_info(index).is_narrow:
            return True
        return self.rewriter.narrow and is_rounded(self.value(index), moved=moved)

    def value(self, index: int = 0) -> ir.Value:
        """Result `index`."""
        first = self._first
        return self.op.results[index] if index or first is None else first

    def result_info(self, index: int = 0) -> TensorInfo:
        """Element type and shape of result `index`."""
        if index:
            return tensor_info(self.op.results[index].type)
        found = self._result
        if found is None:
            found = self._result = tensor_info((self._first or self.value()).type)
        return found

    def plain(self, index: int, element: str | None = None) -> ir.Value:
        """The value of operand `index`, data * scale; in `element`, by default a type wide enough for it."""
        if self.asked is not None:
            self.asked.add(index)
        found = self.inputs[index]
        if found is None:
            value = self.original(index)
            info = tensor_info(value.type)
            return self.emit.convert(value, element or wide_element(info.element)) if info.is_float else value
        return unscaled(self.rewriter, found, element=element)

    def splat(self, index: int) -> float | None:
        """The number that all elements of a plain operand equal, if known."""
        if self.inputs[index] is not None:
            return None
        return self.rewriter.facts_of(self.original(index)).splat

    def attribute_ints(self, name: str) -> list[int]:
        """An integer array attribute; [] when absent."""
        if name not in self.op.attributes:
            return []
        return [int(n) for n in self.op.attributes[name]]

    # --- results ----------------------------------------------------------------------------------------------

    def result(
        self,
        scale: Scale,
        moments: Moments = UNIT,
        *,
        index: int = 0,
        data: ir.Value | None = None,
        indifferent: bool = False,
    ) -> None:
        """Declare result `index` to be `data` (by default the operation's own result) * scale."""
        if not isinstance(scale, Scale):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(no_scale(scale))
        on_value = bool(scale.factors) and not indifferent and self._leaves_range(scale)
        if on_value:
            self.because("range", index=index)
        if self.rewriter.laws:
            moments = self.known(index, scale, moments)
        self._declare(index, data, scale, moments, indifferent, on_value)

    def _declare(
        self,
        index: int,
        data: ir.Value | None,
        scale: Scale,
        moments: Moments,
        indifferent: bool,
        on_value: bool,
    ) -> None:
        value = self.value(index) if index or self._first is None else self._first
        moments = UNIT if self.rewriter.paper else moments
        for operand in self.inputs:
            if operand is not None and operand.moments.unknown and not indifferent:
                if scale.is_constant or self.name in _MOVED:
                    moments = dataclasses.replace(moments, unknown=True)
                elif self.name in _PRODUCTS:
                    self.because("range", index=index)
                    on_value = True
                break
        found = ScaledValue(value if data is None else data, scale, moments, indifferent)
        self.rewriter.define(value, self._at_scale_one(found, index) if on_value else found)

    def expected(self, *operands: Operand, index: int = 0, filled: bool = False) -> Moments:
        """Moments of the operation's result `index` by the laws of size, given what its operands have been replaced by.

        operands: of each its scaled form or the moments of its data, in order; those that are left out as they are.
        filled: the first is a buffer that a loop fills.
        """
        given = operands or [found if found is not None else self.original(i) for i, found in enumerate(self.inputs)]
        return expected(self.rewriter, self.op, given, index, filled=filled)

    def known(self, index: int, scale: Scale, moments: Moments) -> Moments:
        """Moments of the data of a result at a scale: of the block that it is the result of, else as estimated."""
        law = self.rewriter.laws.get(self.value(index))
        if law is None or law.moments is None:
            return moments
        size = ONE
        rms = 1.0
        for values, power in ((law.like, 1), (law.over, -1)):
            for value in values:
                found = self.rewriter.scaled.get(value)
                if found is None or found.indifferent or not 0 < found.moments.rms < math.inf:
                    return moments
                size = size * found.scale**power
                rms *= found.moments.rms**power
        if size.factors != scale.factors:
            return moments
        self.because("block", index=index)
        rms *= 2.0 ** (size.exponent - scale.exponent)
        mean, nonnegative = law.moments.mean, moments.nonnegative or law.moments.nonnegative
        return Moments(law.moments.rms * rms, mean * rms, nonnegative, infinite=moments.infinite)

    def _at_scale_one(self, found: ScaledValue, index: int) -> ScaledValue:
        """The scaled form of a result with its scale multiplied into the data, whose size is then not known.

        Neither is that of products with it, which so are values as well: of g / sqrt(mean(g^2)), where the scale of g
        may stay and that of g^2 would leave the range of f32, the scale would be that of g, and the size 1. Where
        narrow values have to do with an operation nothing is unknown: what is rounded later is to have an estimate.
        """
        with self.after():
            data = unscaled(self.rewriter, found, element=self.result_info(index).element)
        known = found.moments
        return ScaledValue(data, ONE, Moments(nonnegative=known.nonnegative, infinite=known.infinite, unknown=True))

    def _leaves_range(self, scale: Scale, exponent: float = 0) -> bool:
        """Whether products of a scale, times 2^exponent, may leave the range of f32 though the values do not.

        Only data of a type that holds all values of f32 can do without a scale, and only where they are not converted
        to a narrower one.

        # x <- r x (1 - x), written out: s, s^2, s^4, ..., while x stays between 0 and 1
        """
        if self.rewriter.narrow or self.rewriter.paper:
            return False
        if len(scale.factors) == 1 and abs(scale.factors[0][1]) == 1 and scale.factors[0][0].trials is TRIALS:
            return abs(scale.exponent + exponent) > budget.FURTHEST_EXPONENT
        one, larger, smaller = scale.trials
        growth = max(abs(larger - one), abs(smaller - one)) / TRIALS[1]
        return growth > budget.HIGHEST_POWER or abs(one + exponent) > budget.FURTHEST_EXPONENT

    def settled(
        self,
        scale: Scale,
        moments: Moments,
        *,
        index: int = 0,
        data: ir.Value | None = None,
        slack: float | None = None,
        below: float | None = None,
        unit: float | None = None,
    ) -> None:
        """Declare a result after bringing its data back to unit scaling, if they are further than `slack` from it.

        moments: of the data as the operation gives them. The factor is a power of two, so no bit changes.
        unit: log2 of a size that is as good as that of the data if it is near: N of a sum, which a mean divides by.

        Where no run-time scale takes part, a size far from 1 is an estimate of values that cancel (an iteration of
        polynomials multiplies its error by their degree each time), and the data may as well be the values: those of
        the original program are in the type's range.
        """
        if self.rewriter.laws:
            moments = self.known(index, scale, moments)
        exponent = self.excess(moments, index=index, slack=slack, below=below)
        if exponent and unit is not None and abs(moments.log2 - unit) <= budget.NEAR_UNIT:
            exponent = round_log2(unit, self.rewriter.options.rounding)
        on_value = bool(scale.factors) and self._leaves_range(scale, exponent)
        if on_value:
            self.because("range", index=index)
            exponent = 0.0  # data made smaller by an estimate first would lose bits
        far = abs(scale.exponent + exponent) > budget.FURTHEST_CONSTANT_SCALE and scale.is_constant
        if far and not self.rewriter.paper and not self.result_info(index).is_narrow:
            exponent = math.copysign(budget.FURTHEST_CONSTANT_SCALE, scale.exponent + exponent) - scale.exponent
            moments = Moments(2.0**exponent, 0.0, moments.nonnegative, infinite=moments.infinite)
        if exponent:
            self.because("budget", index=index)
            value = self.value(index) if data is None else data
            with self.after():
                data = self.emit.rescale(value, Scale(-exponent))
            cache, element = self.emit.scope.cache, self.result_info(index).element
            known = cache.get(unscaled_key(value, scale, element))
            scale, moments = scale.shifted(exponent), moments.shifted(-exponent)
            if known is not None:
                cache[unscaled_key(data, scale, element)] = known
        self._declare(index, data, scale, moments, False, on_value)

    def excess(
        self, moments: Moments, *, index: int = 0, slack: float | None = None, below: float | None = None
    ) -> float:
        """log2 by which the data of a result are further than `slack` from unit scaling; 0 if they are not.

        slack: by default that of elementwise results. below: of data smaller than unit size, by default the same.
        """
        growth = moments.log2
        narrow = self.result_info(index).is_narrow
        if slack is None:
            slack = budget.SLACK_NARROW if narrow else budget.ELEMENTWISE * self.rewriter.slack
        if narrow and growth < 0:
            # Data that are only estimated to be small are brought up part of the way: some may not be.
            growth = min(0.0, growth + budget.HEADROOM)
        near = -(slack if below is None else below) <= growth <= slack
        return 0.0 if near else round_log2(growth, self.rewriter.options.rounding)

    def value_result(self, value: ir.Value, moments: Moments = UNIT, index: int = 0, scale: Scale = ONE) -> None:
        """Declare result `index` to be an unscaled value in a wide type, carried as (value / scale) * scale.

        moments: of the data, value / scale.
        """
        element = self.result_info(index).element
        data = self.emit.convert(self.emit.unscale_by(value, scale), element)
        self.result(scale, moments, index=index, data=data)
        if not scale.is_one:
            self.emit.scope.cache[unscaled_key(data, scale, tensor_info(value.type).element)] = value

    def accumulated(self, wide: ir.Value, exponent: float, scale: Scale, moments: Moments, *, index: int = 0) -> None:
        """Declare result `index`, of a narrow type, to be a sum accumulated in f32.

        wide: the sum; it is multiplied by 2^-exponent before it is rounded. scale, moments: of the sum.
        """
        known = self.known(index, scale, moments)
        if known is not moments:
            exponent = round_log2(known.log2, self.rewriter.options.rounding)
        if exponent:
            self.because("budget", index=index)
        data = self.emit.convert(self.emit.rescale(wide, Scale(-exponent)), self.result_info(index).element)
        self.result(scale.shifted(exponent), moments.shifted(-exponent), index=index, data=data)

    def after(self) -> At:
        """Emission after the operation instead of before it: a context manager."""
        ip = self.after_op or ir.InsertionPoint.after(self.op)
        self.after_op = ip
        return At(self.emit, ip, self.emit.scope)

    def erase(self) -> None:
        """The operation has been replaced; it is erased once nothing uses it."""
        self.rewriter.dead.append(self.op)
        self.erased = True

    def rebuilt(self, operands: Sequence[ir.Value], types: Sequence[ir.Type]) -> ir.Operation:
        """The same operation on other operands and with other result types; the old one is to be erased."""
        attributes = dict(self.op.attributes.items())
        self.erase()
        return self.emit.create(self.name, types, operands, attributes)

    def expand(self, build: "Callable[[list[ir.Value], Create], ir.Value]") -> None:
        """Replace the operation by others, which are then rewritten in its place.

        build: given the operands and a function that creates operations, returns the value of the one result.
        """
        emit, rewriter = self.emit, self.rewriter
        operands: list[ir.Value] = []
        for operand, found in zip(self.op.operands, self.inputs, strict=True):
            if found is None:
                operands.append(operand)
                continue
            # A stand-in for the scaled value: the operand itself is data now, which several values may share.
            alias = emit.create("stablehlo.optimization_barrier", [operand.type], [operand]).results[0]
            rewriter.define(alias, found)
            operands.append(alias)
        created: list[ir.Operation] = []

        def create(
            name: str, type_: ir.Type, values: Sequence[ir.Value], attributes: dict[str, ir.Attribute] | None = None
        ) -> ir.Value:
            created.append(emit.create(name, [type_], values, attributes))
            return created[-1].results[0]

        self.op.results[0].replace_all_uses_with(build(operands, create))
        self.erase()
        ip = emit.ip
        for op in created:
            rewriter.visit(op)
        emit.ip = ip

    def through_plain(self) -> None:
        """Compute the operation on recombined values, in its own element types; float results are plain."""
        for i, value in self._plain.items():
            self.op.operands[i] = value
        self._infos.clear()
        for i, found in enumerate(self.inputs):
            if found is not None:
                self.set_operand(i, self.plain(i, self.info(i).element))
        for i, result in enumerate(self.op.results):
            if tensor_info(result.type).carries_scale:
                self.result(ONE, index=i)

    # --- bringing operands to one scale -----------------------------------------------------------------------

    def common_scale(self, members: Sequence[ScaledValue]) -> Scale:
        """A scale that fits the largest of several values, those that are indifferent to scale not counted."""
        live = [member for member in members if not member.indifferent]
        if len(live) < len(members):
            self.because("any")
        if not live:
            return members[0].scale
        if len({member.scale.factors for member in live}) == 1:
            # Known at compile time: the largest keeps its data as they are.
            if len(live) > 1:
                self.because("shared")
            return max(live, key=lambda member: member.scale.exponent + member.moments.log2).scale
        return self.maximum([member.size for member in live])

    def maximum(self, scales: Sequence[Scale], base: float | None = None) -> Scale:
        """The largest of several scales, as `Emitter.maximum`; the reason is noted.

        "larger" where algebra tells which of unlike scales is the largest, "max at run time" where a number must.
        """
        found = self.emit.maximum(scales, base)
        own = found.factors in [scale.factors for scale in scales]
        self.because("larger" if own else "max at run time")
        return found

    def bring(self, member: ScaledValue, scale: Scale) -> ir.Value:
        """The data of a value at another scale: data * (scale of the value / scale)."""
        if member.indifferent:
            return member.data
        return self.emit.rescale(member.data, member.scale / scale, infinite=member.moments.infinite)

    def rebalanced(self, value: ScaledValue, exponent: float) -> ScaledValue:
        """The same value with 2^exponent moved from its data to its scale."""
        data = self.emit.rescale(value.data, Scale(-exponent))
        return ScaledValue(data, value.scale.shifted(exponent), value.moments.shifted(-exponent))

    def aligned(self, indices: Sequence[int], scale: Scale | None = None) -> Scale:
        """Bring the operands `indices` to one scale (by default their largest) and return it."""
        members = [self.scaled(i) for i in indices]
        scale = self.common_scale(members) if scale is None else scale
        for i, member in zip(indices, members, strict=True):
            data = self.bring(member, scale)
            if data != self.op.operands[i]:
                self.set_operand(i, data)
        return scale

    def smallest(self) -> Scale:
        """The scale of a tensor of zeros that nothing else gives a scale."""
        return SMALLEST

    # --- printing ---------------------------------------------------------------------------------------------

    def because(self, *reasons: Reason, index: int | None = None) -> None:
        """Note why scales are what they are: of all results, or of one. Without a reason it is the rule's law alone."""
        for reason in reasons:
            known = self._reasons.get(index, ())
            if reason not in known and reason not in self._reasons.get(None, ()):
                self._reasons[index] = (*known, reason)

    def reason_of(self, index: int) -> str:
        """Why the scale of one result is what it is: reasons in the order in which they came to bear."""
        return ", ".join([*self._reasons.get(None, ()), *self._reasons.get(index, ())]) or BY_LAW

    @property
    def reason(self) -> str:
        """The reasons of all results, each once."""
        return ", ".join(dict.fromkeys(each for own in self._reasons.values() for each in own)) or BY_LAW

    def stamp(self, family: str) -> Stamped | None:
        """Record the rule and the scales chosen as attributes of the operation (`--print-rules`).

        If it has been replaced, of the operation that its first result is now computed by. Returns what is needed to
        carry the stamps over should the operation be erased; None if nothing was stamped.
        """
        known = [self.rewriter.scaled.get(result) for result in self.op.results]
        first = known[0] if known else None
        op = self.op
        if self.erased:
            owner = first.data.owner if first else None
            if owner is None or isinstance(owner, ir.Block) or RULE in owner.operation.attributes:
                return None
            op = owner.operation
        attributes = op.attributes
        attributes[RULE] = ir.StringAttr.get(family)
        law = self.rewriter.laws.get(self.op.results[0]) if known else None
        if law is not None:
            attributes[BLOCK] = ir.StringAttr.get(law.block)
        texts = [ir.StringAttr.get(describe(k) if k else "plain") for k in known]
        if texts:
            attributes[SCALE] = texts[0] if len(texts) == 1 else ir.ArrayAttr.get(texts)
        if any(known):
            reasons = [ir.StringAttr.get(self.reason_of(i) if k else "plain") for i, k in enumerate(known)]
            attributes[REASON] = reasons[0] if len(reasons) == 1 else ir.ArrayAttr.get(reasons)
        if first is None:
            return None
        cache, value = self.emit.scope.cache, unscaled_key(first.data, first.scale, first.info.element)
        beside = cache.get(value)
        if beside is not None and beside == op.results[0] and beside != first.data:
            attributes[FORM] = ir.StringAttr.get(VALUE)
        return Stamped(identity(op), cache, value, first.data)


def describe(value: ScaledValue) -> str:
    """Scale and assumed moments of a value, as `--print-rules` shows them."""
    if value.indifferent:
        return "any"
    moments = value.moments
    parts = [str(value.scale), f"rms={moments.rms:.3g}"]
    if moments.mean:
        parts.append(f"mean={moments.mean:.3g}")
    if moments.nonnegative:
        parts.append("nonnegative")
    return " ".join(parts)
