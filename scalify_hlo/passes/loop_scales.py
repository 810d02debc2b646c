"""Scales that a loop carries, where they are known as it is entered: one number for all iterations.

A loop that was rewritten carries the scale of a value beside it, because an iteration changes it: s <- g(s). With
pinned scales g is arithmetic of constants, and so is what s becomes: s0, g(s0), g(g(s0)), ... until it repeats. The
loop then has the value at the largest of these, S, from its entry on:

    # x s0 = (x s0/S) S at entry; x g(S) = (x g(S)/S) S after each iteration

Data only become smaller by that, so none overflows. A scale that moves over more than `budget.LOOP_WINDOW` powers of
two once the loop runs, or never repeats, follows a value that grows or fades: it stays what it is.

Branches whose scales are known return their data at the largest of them in the same way.
"""

from collections.abc import Callable, Mapping, MutableMapping

import numpy as np

from scalify_hlo import budget
from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir
from scalify_hlo.execution.element_types import Array
from scalify_hlo.module.carried_scales import CARRIED, carried_scales
from scalify_hlo.module.constants import splat_number
from scalify_hlo.passes import emission as emit
from scalify_hlo.types import tensor_info

_ITERATIONS = 64

# What an operation makes of its operands; None for those, and for a result, that are not known.
Computed = Callable[[ir.Operation, list[Array | None]], Array | None]


class LoopScales:
    """known: small constants; those in bodies that are looked at are added. computed: what operations make of them."""

    def __init__(self, known: MutableMapping[ir.Value, Array], computed: Computed, constant: Callable[..., None]):
        self._known = known
        self._computed = computed
        self._constant = constant

    def settle(self, loop: ir.Operation) -> int:
        """Pin the carried scales of a loop whose orbit is known; how many."""
        pairs = carried_scales(loop)
        entering = {i: value for i in pairs if (value := self._known.get(loop.operands[i])) is not None}
        settled = self._settled(loop, entering, {})
        last = terminator(loop.regions[1].blocks[0])
        for i, (scale, returned) in settled.items():
            data = pairs[i]
            loop.operands[data] = _brought(loop.operands[data], entering[i], scale, ir.InsertionPoint(loop))
            last.operands[data] = _brought(last.operands[data], returned, scale, ir.InsertionPoint(last))
            with ir.InsertionPoint(loop), loop.location:
                number = emit.splat(loop.operands[i].type, float(scale.flat[0]))
            self._known[number] = scale
            loop.operands[i] = number
            last.operands[i] = loop.regions[1].blocks[0].arguments[i]
        if settled and len(settled) == len(pairs):
            del loop.attributes[CARRIED]
        return len(settled)

    def settle_branches(self, op: ir.Operation) -> int:
        """Pin the scales that the branches of a `case` or `if` return, where all are known; how many."""
        # x_i s_i = (x_i s_i/S) S for whichever branch i is taken
        ends = [terminator(region.blocks[0]) for region in op.regions]
        count = 0
        for i, data in carried_scales(op).items():
            scales = [value for end in ends if (value := self._known.get(end.operands[i])) is not None]
            if len(scales) < len(ends) or not all(_usable(value) for value in scales):
                continue
            largest = np.maximum.reduce(scales)
            if not all(_within(value, largest) for value in scales):
                continue
            for end, scale in zip(ends, scales, strict=True):
                end.operands[data] = _brought(end.operands[data], scale, largest, ir.InsertionPoint(end))
                with ir.InsertionPoint(end), op.location:  # data are brought once, however often this is asked
                    end.operands[i] = emit.splat(op.results[i].type, float(largest.flat[0]))
                self._known[end.operands[i]] = largest
            with ir.InsertionPoint.after(op), op.location:
                number = emit.splat(op.results[i].type, float(largest.flat[0]))
            self._known[number] = largest
            op.results[i].replace_all_uses_with(number)
            count += 1
        return count

    def _settled(
        self, loop: ir.Operation, entering: Mapping[int, Array], known: Mapping[ir.Value, Array]
    ) -> dict[int, tuple[Array, Array]]:
        """Of each carried scale that repeats, the one for all iterations and the one that an iteration returns then."""
        current = {i: value for i, value in entering.items() if _uniform(value)}
        while current:
            orbit = self._orbit(loop, current, known)
            unsteady = set(current) - set(orbit)
            if not unsteady:
                largest = {i: np.maximum.reduce(values) for i, values in orbit.items()}
                returned = self._iteration(loop, largest, known)
                unsteady = {
                    i
                    for i, values in orbit.items()
                    if i not in returned
                    or not _within(returned[i], largest[i])
                    or not _within(np.minimum.reduce(values[1:]), largest[i])
                }
                if not unsteady:
                    return {i: (largest[i], returned[i]) for i in largest}
            current = {i: value for i, value in current.items() if i not in unsteady}
        return {}

    def _orbit(
        self, loop: ir.Operation, entering: Mapping[int, Array], known: Mapping[ir.Value, Array]
    ) -> dict[int, list[Array]]:
        """The scales of those carried values whose scales repeat: on entry and after each iteration."""
        values = {i: [value] for i, value in entering.items()}
        current = dict(entering)
        moving: set[int] = set()
        for _ in range(_ITERATIONS):
            following = self._iteration(loop, current, known, joined=True)
            if set(following) != set(current):
                return {i: values[i] for i in following if i in values}
            for i, value in following.items():
                values[i].append(value)
            if all(np.array_equal(current[i], value) for i, value in following.items()):
                return values
            previous, current = current, following
            moving = {i for i in current if not np.array_equal(previous[i], current[i])}
        return {i: each for i, each in values.items() if i not in moving}

    def _iteration(
        self,
        loop: ir.Operation,
        carried: Mapping[int, Array],
        outside: Mapping[ir.Value, Array],
        joined: bool = False,
    ) -> dict[int, Array]:
        """What one iteration makes of carried scales, where that is known.

        joined: a slice that is written with another scale than the rest has makes the larger of both the scale.
        """
        body = loop.regions[1].blocks[0]
        known = {**outside, **{body.arguments[i]: value for i, value in carried.items()}}

        def of(value: ir.Value) -> Array | None:
            found = known.get(value)
            return self._known.get(value) if found is None else found

        for child in body.operations:
            op = child.operation
            if op.name == "stablehlo.constant":
                self._constant(op)
            elif op.name == "stablehlo.while":
                pairs = carried_scales(op)
                entering = {i: value for i in pairs if (value := of(op.operands[i])) is not None}
                for i, (scale, _) in self._settled(op, entering, known).items():
                    known[op.results[i]] = scale
            elif (len(op.results) == 1 and op.operands and not len(op.regions)) or op.name == "stablehlo.reduce":
                operands = list(op.operands)
                if joined and op.name == "stablehlo.dynamic_update_slice":
                    base, update = (of(value) for value in operands[:2])
                    if base is not None and update is not None and _uniform(base) and _uniform(update):
                        known[op.results[0]] = np.maximum(base, update.flat[0])
                    continue
                values = [of(value) for value in operands]
                with np.errstate(all="ignore"):
                    result = self._computed(op, values)
                if result is not None:
                    known[op.results[0]] = result
        last = terminator(body)
        found = {i: of(last.operands[i]) for i in carried}
        return {i: value for i, value in found.items() if value is not None and _usable(value)}


def _brought(data: ir.Value, scale: Array, target: Array, ip: ir.InsertionPoint) -> ir.Value:
    """Data at a scale, at another one."""
    factor = float(scale.flat[0]) / float(target.flat[0])
    own = data.owner
    if factor == 1 or (not isinstance(own, ir.Block) and _is_zero(own.operation)):
        return data
    with ip, ip.ref_operation.location if ip.ref_operation is not None else ir.Location.unknown():
        scaled = emit.times(emit.wide(data), factor)
        return emit.convert(scaled, tensor_info(data.type).element)


def _uniform(value: Array) -> bool:
    return value.size > 0 and bool((value == value.flat[0]).all())


def _usable(value: Array) -> bool:
    return _uniform(value) and bool(np.isfinite(value).all() and (value > 0).all())


def _within(scale: Array, largest: Array) -> bool:
    """Whether a scale is at most the largest, and not much less."""
    return bool((scale <= largest).all() and (scale * 2.0**budget.LOOP_WINDOW >= largest).all())


def _is_zero(op: ir.Operation) -> bool:
    return op.name == "stablehlo.constant" and splat_number(op) == 0
