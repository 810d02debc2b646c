"""Scales that state returns with: those that it has in the next call of the step.

A scale that is computed of the scales of state, by rules that guess sizes, would be computed of its own guess in each
step: w <- w n / d, whose n and d are products of w, doubles or halves its scale in a step though w holds. Sums that
update or average state have laws of their own (`scalify_hlo.size.state`); other state returns as it came.
"""

import functools

from scalify_hlo import budget
from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.emit.growth import sources
from scalify_hlo.engine.rewriter import Rewriter
from scalify_hlo.engine.selection import attributes_of
from scalify_hlo.module.carriers import before_carriers
from scalify_hlo.rules.shapes import at_own_size
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import Scale, Symbol
from scalify_hlo.size.state import ALIASING, PLACE, pairs_of
from scalify_hlo.types import TensorInfo, tensor_info


class ReturnedState:
    """What is known of the results of a public function that are the next values of its arguments."""

    def __init__(self, rewriter: Rewriter):
        self._rewriter = rewriter
        function = rewriter.function
        self._arguments = list(function.regions[0].blocks[0].arguments)
        pairs = pairs_of(function)  # whose sums have laws
        self._updated = [argument for argument, _ in pairs]
        self._known = frozenset(result for _, result in pairs)

    def returned(self, result: int, value: ir.Value, scaled: ScaledValue) -> ScaledValue:
        """The form that a result is returned in. value: the result before it was rewritten."""
        info, scale = scaled.info, scaled.scale
        if result in self._known or info.is_narrow or not scale.factors or scaled.indifferent:
            return scaled
        if info.is_complex or scale.shape:
            return scaled
        if _are_few(info) and not self._rewriter.paper and self._is_made_of_numbers(scaled):
            return at_own_size(self._rewriter, scaled)
        argument = self._by_place.get(result)
        return scaled if argument is None else self._held(argument, value, scaled)

    # e <- max(e, n / |g|_1) with averages n and g of e times something: its scale would be a multiple of its own
    def _is_made_of_numbers(self, scaled: ScaledValue) -> bool:
        """Whether few numbers, of wide range, have a scale that is computed from those of few numbers of the arguments.

        Numbers that steps carry may enter their own scales, as step sizes do that are told by what they have led to.
        To measure them costs nothing.
        """
        if all(_are_few(tensor_info(self._arguments[i].type)) for i in self._updated):
            return False  # weights, besides the numbers, make it a step
        known = self._rewriter.scaled
        few = [known[a].scale for a in self._arguments if a in known and _are_few(tensor_info(a.type))]
        symbols = {each.factors[0][0] for each in few if each.factors}
        return scaled.scale not in few and self._grows_with(symbols, scaled)

    # w t = (w t / s) s, where s is the scale that w came with
    def _held(self, argument: int, value: ir.Value, scaled: ScaledValue) -> ScaledValue:
        """A result at the scale of the argument that it takes the place of, where its own is made of those of state.

        State of zeros, which has the smallest scale, takes that of its new value. State that is measured when it
        leaves the step keeps what is measured.
        """
        emit = self._rewriter.emit
        state = self._rewriter.scaled.get(self._arguments[argument])
        if state is None or not state.scale.is_scalar or self._is_told(value):
            return scaled
        if scaled.scale in self._scales_of_state or not self._grows_with(self._symbols_of_state, scaled):
            return scaled
        scale = emit.if_zeros(state.scale, scaled.scale)
        return ScaledValue(emit.rescale(scaled.data, scaled.scale / scale), scale)

    def _grows_with(self, symbols: set[Symbol], scaled: ScaledValue) -> bool:
        return not symbols.isdisjoint(sources(self._rewriter.emit, scaled.scale))

    def _is_told(self, value: ir.Value) -> bool:
        """Whether the program says which scale a result has, by a marker."""
        op = defining_op(before_carriers(value))
        return op is not None and self._rewriter.functions.marker_name(op) is not None

    @functools.cached_property
    def _by_place(self) -> dict[int, int]:
        """Result -> argument, by what the caller knows of the step's trees, or by donation."""
        found: dict[int, int] = {}
        function = self._rewriter.function
        given = str(function.attributes["arg_attrs"]) if "arg_attrs" in function.attributes else ""
        if self._rewriter.paper or not (PLACE in given or ALIASING in given):
            return found
        for i, own in enumerate(attributes_of(function, "arg_attrs", len(self._arguments))):
            place = own.get(PLACE) or own.get(ALIASING)
            if place is not None and self._arguments[i] in self._rewriter.scaled:
                found.setdefault(ir.IntegerAttr(place).value, i)
        return found

    @functools.cached_property
    def _scales_of_state(self) -> set[Scale]:
        return {self._rewriter.scaled[self._arguments[i]].scale for i in self._by_place.values()}

    @functools.cached_property
    def _symbols_of_state(self) -> set[Symbol]:
        return {scale.factors[0][0] for scale in self._scales_of_state if scale.factors}


def _are_few(info: TensorInfo) -> bool:
    return info.is_static and info.size <= budget.FEW_NUMBERS
