"""Gives every f32 value of a module another element type, by a policy.

One walk in program order. Each operation is computed in the compute type where all its operands are stored in it,
and in f32 otherwise (as type promotion would have it); its result is stored in the compute type where it depends on
values stored so. These stay in f32, or are computed in it:
- scalars, and statistics: sums over at least 8 elements and what is computed of them alone (means, variances,
  norms, log-sum-exp), which are small;
- what depends on no parameter or input: positions, tables of sines, random numbers, masks;
- an operation with a constant outside the compute type's normal range (epsilons), and one with a scalar;
- sums and products, which accumulate wide;
- values in which constants that stand for minus infinity are mixed (attention masks such as -1e9), up to the
  exponential that ends them: a narrow type cannot hold both these and the rest of the tensor;
- what is computed in it and read by one elementwise operation or reduction only: compilers keep it in registers,
  and it may be far from the size of what is stored (a softmax's gradient divided by the square of a sum);
- the optimiser's arithmetic, in the policy's `update` type.
"""

import dataclasses
from collections.abc import Callable, Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, terminator
from scalify_hlo.analysis.update import UpdateRegion
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.module.carriers import carries, readers
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.traits import Trait, has, is_identity_call
from scalify_hlo.passes import precision_kinds as kinds
from scalify_hlo.passes.emission import with_element
from scalify_hlo.passes.exact_values import ExactValues
from scalify_hlo.passes.held_values import WIDE, Held, fits, iota_size, is_far, splat_value
from scalify_hlo.passes.loop_statistics import collects_statistics, shrinks
from scalify_hlo.precision import PrecisionPolicy
from scalify_hlo.recognition.expansions import Expansion
from scalify_hlo.types import tensor_info


class Retyper:
    """Retypes the bodies of functions that are called once each. `keep` tells operations that stay in f32."""

    def __init__(self, calls: CallGraph, policy: PrecisionPolicy, update: UpdateRegion, keep: set[ir.Value]):
        self.calls = calls
        self.policy = policy
        self.update = update
        self.keep = keep
        self.held: dict[ir.Value, Held] = {}
        self.errors: list[Diagnostic] = []
        self.exact = ExactValues(calls, update.values)
        self.carried: list[ir.Operation] = []  # operations that carry a value to its readers

    def erase_carried(self) -> None:
        """Remove the operations that carried wide values of which only narrow ones are read."""
        for op in reversed(self.carried):
            if not any(True for result in op.results for _ in result.uses):
                op.erase()

    # --- blocks -----------------------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> ir.Operation:
        """Retype a block whose arguments are held already; returns its terminator, still to be adapted."""
        *body, last = [op.operation for op in block.operations]
        self.exact.note(block)
        for op in body:
            function = self.exact.written_out.get(op)
            if function is not None and function.root in self.held:
                self._written_out(op, function)
            else:
                self.operation(op)
        return last

    def operation(self, op: ir.Operation) -> None:
        """Choose the types of one operation, set them, and hold its results."""
        name = op.name
        if not len(op.regions) and not self._in_update(op) and self.exact.note_derived(op, self.held):
            self.keep.update(op.results)
        if name == "stablehlo.constant":
            self._constant(op)
        elif name == "stablehlo.while":
            self._loop(op)
        elif name in kinds.BRANCHES:
            self._branches(op)
        elif self._is_call(op):
            self._call(op)
        elif name == MANUAL:
            self._manual(op)
        elif name == "stablehlo.optimization_barrier":
            self._barrier(op)
        elif name == "stablehlo.sort":
            self._sort(op)
        elif name == "stablehlo.convert":
            self._convert(op)
        elif name in kinds.PRODUCTS:
            self._product(op)
        elif name in kinds.REDUCTIONS:
            self._reduction(op)
        elif carries(op):
            self._carry(op)
        elif name in kinds.MOVEMENT or is_identity_call(op):
            self._movement(op)
        elif name in kinds.ELEMENTWISE or _is_elementwise_chlo(op):
            self._elementwise(op)
        else:
            self._pinned(op)

    def _operands(self, op: ir.Operation) -> dict[int, Held]:
        return {i: self.held[value] for i, value in enumerate(op.operands) if value in self.held}

    def _in_update(self, op: ir.Operation) -> bool:
        return any(result in self.update.values for result in op.results)

    # --- one operation ----------------------------------------------------------------------------------------

    def _set(
        self, op: ir.Operation, computed: str, natural: str, operands: dict[int, Held], *, exact: bool = False
    ) -> None:
        """Compute `op` in a type: convert the operands, set the results' types, and hold the results."""
        in_update = self._in_update(op)
        for i, held in operands.items():
            value = self._into_update(held) if in_update else held.read(computed, exact=exact)
            op.operands[i] = value
        for result in op.results:
            if tensor_info(result.type).element != WIDE:
                continue
            result.set_type(with_element(result.type, computed))
            rank = tensor_info(result.type).rank
            self.held[result] = Held(
                result,
                natural=WIDE if rank == 0 else natural,
                computed=computed,
                from_model=any(held.from_model for held in operands.values()),
                magnitude=_magnitude(op, list(operands.values())),
                extreme=self._is_extreme(op, list(operands.values())),
            )

    def _into_update(self, held: Held) -> ir.Value:
        """An operand of the optimiser's arithmetic. What comes from the backward pass is a gradient."""
        policy = self.policy
        enters = held.raw not in self.update.values and not held.in_memory and not self.exact.is_derived(held.raw)
        if enters and held.from_model and held.rank > 0 and policy.gradients != WIDE:
            if held.natural != policy.gradients:
                held = Held(held.read(policy.gradients, exact=True), policy.gradients, policy.gradients)
            return held.read(policy.update)
        return held.read(policy.update, exact=True)

    def _elementwise(self, op: ir.Operation) -> None:
        operands = self._operands(op)
        if not operands:
            return None
        if self._is_kept(op):
            return self._set(op, WIDE, WIDE, operands)
        if self._in_update(op):
            return self._set(op, self.policy.update, self.policy.update, operands)
        compute = self.policy.compute
        natural = self._natural(operands.values())
        exact = op.name in kinds.EXACT_OPERAND
        narrow = natural == compute and all(
            held.natural == compute and not (held.extreme or held.transient)
            if held.constant is None
            else fits(held.constant, compute)
            for held in operands.values()
        )
        if exact and any(held.computed == WIDE for held in operands.values()):
            narrow = False
        if _is_read_exactly(op) or self.exact.read_whole(op.results[0]):
            narrow = False
        computed = compute if narrow else WIDE
        self._set(op, computed, natural, operands, exact=exact)
        self._fold(op, operands)
        held = self.held.get(op.results[0])
        if held is not None and computed == WIDE and natural == compute != WIDE:
            held.transient = self._is_transient(op.results[0])
        return None

    def _written_out(self, op: ir.Operation, function: Expansion) -> None:
        """An operation of a function that is written out: the function is computed in f32 as one operation would be.

        Pieces that do not apply may be anything, and leave a narrow type.
        """
        if self._in_update(op) or self._is_kept(op):
            return self.operation(op)
        operands = self._operands(op)
        root = self.held[function.root]
        last = op == function.members[-1]
        self._set(op, WIDE, root.natural if last else WIDE, operands)
        for result in op.results:
            if result in self.held:
                self.held[result].extreme = False
                self.held[result].transient = last and self._is_transient(result)
        return None

    def _is_transient(self, value: ir.Value) -> bool:
        """Whether one elementwise operation or reduction, not of the optimiser, is all that reads a value."""
        if self.exact.read_whole(value):
            return True
        found = list(readers(value))
        if len(found) != 1 or self._in_update(found[0]) or self._is_kept(found[0]):
            return False
        return found[0].name in kinds.ELEMENTWISE or found[0].name == "stablehlo.reduce"

    def _natural(self, operands: "Sequence[Held] | object") -> str:
        """The compute type where something stored in it is among the operands."""
        stored = [held.natural for held in operands if held.constant is None]  # type: ignore[attr-defined]
        return self.policy.compute if self.policy.compute in stored else WIDE

    def _fold(self, op: ir.Operation, operands: dict[int, Held]) -> None:
        """A negated or converted constant is a constant."""
        if op.name == "stablehlo.negate" and operands[0].constant is not None and op.results[0] in self.held:
            self.held[op.results[0]].constant = -operands[0].constant

    def _movement(self, op: ir.Operation) -> None:
        operands = self._operands(op)
        if not operands:
            return None
        if self._is_kept(op) or self._in_update(op):
            element = self.policy.update if self._in_update(op) else WIDE
            return self._set(op, element, element, operands)
        natural = self._natural(operands.values())
        computed = natural
        if any(held.extreme for held in operands.values()) or self._is_extreme(op, list(operands.values())):
            computed = WIDE
        first = operands.get(0)
        if op.name in kinds.SHRINKING and first is not None and first.in_memory and first.computed == WIDE:
            computed = WIDE  # convert what is taken, not the whole
        whole = natural != WIDE and self.exact.read_whole(op.results[0])
        if whole and any(held.computed == WIDE and held.constant is None for held in operands.values()):
            computed = WIDE
        self._set(op, computed, natural, operands)
        held = self.held.get(op.results[0])
        if held is not None and computed == WIDE and whole:
            held.transient = True
        if len(operands) == 1 and first is not None and first.constant is not None and op.results[0] in self.held:
            self.held[op.results[0]].constant = first.constant
        return None

    def _product(self, op: ir.Operation) -> None:
        operands = self._operands(op)
        compute, wide = self.policy.compute, self.policy.accumulation
        if self._is_kept(op):
            op.attributes[kinds.KEPT] = ir.UnitAttr.get()
        if len(operands) < len(op.operands) or self._is_kept(op):
            return self._pinned(op)
        for i, held in operands.items():
            op.operands[i] = held.read(compute)
        result = op.results[0]
        element = wide if compute != WIDE else WIDE
        result.set_type(with_element(result.type, element))
        natural = compute if tensor_info(result.type).rank else WIDE
        transient = self.exact.read_whole(result)
        self.held[result] = Held(result, natural, element, from_model=True, transient=transient)
        return None

    def _reduction(self, op: ir.Operation) -> None:
        operands = self._operands(op)
        if not operands:
            return
        sums = kinds.accumulates(op)
        data = [held for held in operands.values() if held.constant is None]
        natural = self._natural(operands.values())
        if self._is_kept(op):
            computed = natural = WIDE
        elif self._in_update(op):
            computed = natural = self.policy.update
        elif sums and has(op.name, Trait.COLLECTIVE):
            computed = (self.policy.reductions or natural) if natural != WIDE else WIDE
        elif sums:
            computed = self.policy.accumulation if natural != WIDE else WIDE
            if op.name in ("stablehlo.reduce", "stablehlo.reduce_window") and shrinks(op):
                natural = WIDE
        else:
            computed = WIDE if any(held.extreme for held in data) else natural
        for region in op.regions:
            block = region.blocks[0]
            for argument in block.arguments:
                if tensor_info(argument.type).element == WIDE:
                    argument.set_type(with_element(argument.type, computed))
                    self.held[argument] = Held(argument, computed, computed, from_model=True, in_memory=True)
            last = self.block(block)
            for i, value in enumerate(last.operands):
                if value in self.held:
                    last.operands[i] = self.held[value].read(computed, exact=True)
        self._set(op, computed, natural, operands, exact=sums)

    def _constant(self, op: ir.Operation) -> None:
        result = op.results[0]
        if tensor_info(result.type).element == WIDE:
            number = splat_value(op)
            magnitude = abs(number) if number is not None and abs(number) < float("inf") else 0.0
            self.held[result] = Held(result, WIDE, WIDE, constant=number, magnitude=magnitude)

    def _convert(self, op: ir.Operation) -> None:
        source, result = op.operands[0], op.results[0]
        held = self.held.get(source)
        wide = tensor_info(result.type).element == WIDE
        if held is not None and wide:
            return self._movement(op)
        if held is not None:
            op.operands[0] = held.read(held.natural)
        elif wide:
            is_float = tensor_info(source.type).is_float
            natural = self.policy.compute if is_float and tensor_info(result.type).rank else WIDE
            magnitude = 1.0 if tensor_info(source.type).element == "i1" else 0.0
            self.held[result] = Held(result, natural, WIDE, from_model=is_float, magnitude=magnitude)
        return None

    def _pinned(self, op: ir.Operation) -> None:
        """An operation that only exists in f32, or is unknown: it stays, between converts."""
        if any(len(region.blocks) for region in op.regions) and any(
            tensor_info(argument.type).element == WIDE
            for region in op.regions
            for argument in region.blocks[0].arguments
        ):
            where = describe_location(op.location)
            self.errors.append(Diagnostic(f"{op.name} has a body and no rule for its precision", where))
        operands = self._operands(op)
        for i, held in operands.items():
            op.operands[i] = held.read(WIDE)
        from_model = any(held.from_model for held in operands.values())
        for result in op.results:
            if tensor_info(result.type).element == WIDE:
                narrow = from_model and tensor_info(result.type).rank > 0 and not self._is_kept(op)
                natural = self.policy.compute if narrow else WIDE
                whole = natural != WIDE and self.exact.read_whole(result)
                self.held[result] = Held(
                    result, natural, WIDE, from_model=from_model, magnitude=iota_size(op), transient=whole
                )

    # --- structure --------------------------------------------------------------------------------------------

    def _barrier(self, op: ir.Operation) -> None:
        for i, held in self._operands(op).items():
            value = held.raw if held.extreme else held.read(held.natural)
            op.operands[i] = value
            op.results[i].set_type(value.type)
            self.held[op.results[i]] = held.at(op.results[i])

    def _carry(self, op: ir.Operation) -> None:
        """The layout of a value: it is read behind as it would be before, in whichever type."""
        if any(True for result in op.results for _ in result.uses):
            self.carried.append(op)
        for i, held in self._operands(op).items():
            op.operands[i] = held.raw
            op.results[i].set_type(held.raw.type)
            self.held[op.results[i]] = held.at(op.results[i], in_memory=held.in_memory)

    def _sort(self, op: ir.Operation) -> None:
        comparator = op.regions[0].blocks[0]
        for i, held in self._operands(op).items():
            value = held.raw if held.extreme else held.read(held.natural)
            op.operands[i] = value
            op.results[i].set_type(value.type)
            self.held[op.results[i]] = dataclasses.replace(held.at(op.results[i]), constant=None)
            for argument in (comparator.arguments[2 * i], comparator.arguments[2 * i + 1]):
                element = tensor_info(value.type).element
                argument.set_type(with_element(argument.type, element))
                self.held[argument] = Held(argument, element, element, from_model=True, in_memory=True)
        self.block(comparator)

    def _loop(self, op: ir.Operation) -> None:
        condition, body = (region.blocks[0] for region in op.regions)
        elements: dict[int, str] = {}
        derived = [i for i, v in enumerate(op.operands) if self.exact.is_derived(v) and not self._is_updated(op, i)]
        same = [i for i, v in enumerate(terminator(body).operands) if v == body.arguments[i]]
        handed = {*derived, *same}
        self.exact.hand_on([op.operands[i] for i in handed], [body.arguments[i] for i in handed])
        statistics = collects_statistics(self.calls, op)
        constant = (i for i in same if op.operands[i] in self.held and not self.held[op.operands[i]].from_model)
        self.exact.state.update(body.arguments[i] for i in constant)
        for i, held in self._operands(op).items():
            # A running maximum starts from a stand-in for minus infinity.
            held = dataclasses.replace(held, extreme=held.extreme or is_far(held), versions={})
            updated = self._is_updated(op, i)
            element = elements[i] = WIDE if statistics[i] and not updated else self._carried_type(op, i, held)
            value = self._into_update(held) if element == self.policy.update and updated else held.read(element)
            op.operands[i] = value
            for place in (op.results[i], body.arguments[i], condition.arguments[i]):
                place.set_type(value.type)
                natural = element if tensor_info(value.type).rank else WIDE
                self.held[place] = Held(place, natural, element, from_model=True, extreme=held.extreme, in_memory=True)
        self.block(condition)
        last = self.block(body)
        for i, element in elements.items():
            held = self.held[last.operands[i]]
            if i in derived and self.exact.is_derived(last.operands[i]):
                self.exact.derived.add(op.results[i])
            last.operands[i] = self._into_update(held) if self._is_updated(op, i) else held.read(element)

    def _is_updated(self, loop: ir.Operation, i: int) -> bool:
        return loop.results[i] in self.update.values

    def _carried_type(self, loop: ir.Operation, i: int, held: Held) -> str:
        """The type in which a loop carries a value from one iteration to the next."""
        body = loop.regions[1].blocks[0]
        carried, last = body.arguments[i], terminator(body).operands[i]
        info = tensor_info(carried.type)
        if self._is_updated(loop, i):
            return self.policy.update
        if self.exact.is_derived(carried):
            return WIDE
        if info.rank == 0 or held.extreme or (held.constant is None and not held.from_model and last == carried):
            return WIDE
        if last == carried:
            return held.natural
        adds = last.owner.operation if isinstance(last, ir.OpResult) else None
        uses = [use.owner.operation for use in carried.uses]
        if adds is not None and adds.name == "stablehlo.add" and len(uses) == 1 and uses[0] == adds:
            return self.policy.accumulation if self.policy.compute != WIDE else WIDE
        return WIDE if info.size == max(info.shape[0], 1) else self.policy.compute

    def _branches(self, op: ir.Operation) -> None:
        ends = [self.block(region.blocks[0]) for region in op.regions]
        for i, result in enumerate(op.results):
            held = [self.held[end.operands[i]] for end in ends if end.operands[i] in self.held]
            if not held:
                continue
            extreme = any(each.extreme for each in held)
            whole = self.exact.read_whole(result)
            natural = self._natural(held) if tensor_info(result.type).rank else WIDE
            updated = result in self.update.values
            element = self.policy.update if updated else WIDE if extreme or whole else natural
            for end in ends:
                each = self.held[end.operands[i]]
                end.operands[i] = self._into_update(each) if updated else each.read(element)
            result.set_type(with_element(result.type, element))
            self.held[result] = Held(
                result, natural, element, from_model=any(each.from_model for each in held), extreme=extreme,
                transient=whole and not updated and natural != WIDE,
            )  # fmt: skip

    def _is_call(self, op: ir.Operation) -> bool:
        """Whether an operation takes its callee's types; a custom_scale function keeps the f32 it was written for."""
        body = self.calls.callee_body(op)
        if op.name == "stablehlo.composite":
            return ir.StringAttr(op.attributes["name"]).value in kinds.SCALE_MARKERS
        if op.name != "func.call" or body is None:
            return False
        marker = body.owner.operation.attributes.get("scalify.composite")
        return marker is None or ir.StringAttr(marker).value in kinds.SCALE_MARKERS

    def _call(self, op: ir.Operation) -> None:
        body = self.calls.callee_body(op)
        assert body is not None
        self.exact.hand_on(list(op.operands), list(body.arguments))
        for i, held in self._operands(op).items():
            argument = body.arguments[i]
            if argument in self.update.values:
                value = self._into_update(held)
            elif held.extreme or held.transient or held.constant is not None or op.name == "stablehlo.composite":
                value = held.raw  # a rescale comes before the rounding that it is for
            else:
                value = held.read(held.natural)
            op.operands[i] = value
            argument.set_type(value.type)
            self.held[argument] = held.at(argument)
        last = self.block(body)
        self.exact.hand_on(list(last.operands), list(op.results))
        composite = op.name == "stablehlo.composite"
        self._returned(op, last, lambda held: held.extreme or held.transient or composite)
        set_signature(body, last)

    def _manual(self, op: ir.Operation) -> None:
        """Per-device code takes what it is given and gives what it computes, in the types that either is stored in."""
        body = op.regions[0].blocks[0]
        for i, held in self._operands(op).items():
            argument = body.arguments[i]
            if argument in self.update.values:
                value = self._into_update(held)
            else:
                value = held.raw if held.in_memory or held.extreme else held.read(held.natural)
            op.operands[i] = value
            argument.set_type(with_element(argument.type, tensor_info(value.type).element))
            self.held[argument] = held.at(argument, in_memory=held.in_memory)
        self._returned(op, self.block(body), lambda held: held.extreme)

    def _returned(self, op: ir.Operation, last: ir.Operation, is_raw: Callable[[Held], bool]) -> None:
        """What the terminator of a callee or of per-device code gives back, in the types that it is stored in.

        is_raw: of what comes before any rounding: it stays as it is.
        """
        for i, value in enumerate(last.operands):
            held = self.held.get(value)
            if held is None:
                continue
            result = op.results[i]
            if result in self.update.values:
                returned = held.read(self.policy.update, exact=True)
            else:
                returned = held.raw if is_raw(held) else held.read(held.natural)
            last.operands[i] = returned
            result.set_type(with_element(result.type, tensor_info(returned.type).element))
            self.held[result] = held.at(result)

    def _is_kept(self, op: ir.Operation) -> bool:
        return any(result in self.keep for result in op.results)

    def _is_extreme(self, op: ir.Operation, operands: Sequence[Held]) -> bool:
        """Whether a stand-in for infinity is among the elements of the result."""
        if op.name in kinds.BOUNDED or self._in_update(op):
            return False
        if any(held.extreme for held in operands):
            return op.name not in kinds.PRODUCTS
        return (
            op.name in kinds.MERGING
            and any(held.from_model for held in operands)
            and any(not held.from_model and held.magnitude > budget.EXTREME for held in operands)
        )


def set_signature(body: ir.Block, last: ir.Operation) -> None:
    """Let a function's type follow its arguments' and results' types."""
    function = body.owner.operation
    type_ = ir.FunctionType.get([a.type for a in body.arguments], [v.type for v in last.operands])
    function.attributes["function_type"] = ir.TypeAttr.get(type_)


def raise_errors(errors: Sequence[Diagnostic]) -> None:
    """Raises ScalifyError with all of them, if any."""
    if errors:
        raise ScalifyError(errors)


def _is_read_exactly(op: ir.Operation) -> bool:
    """Whether a result is only summed, or is exponentiated: then it need not be rounded first."""
    found = [reader for result in op.results for reader in readers(result)]
    if any(reader.name in kinds.EXACT_OPERAND for reader in found):
        return True
    return bool(found) and all(
        reader.name in ("stablehlo.reduce", "stablehlo.reduce_window") and kinds.accumulates(reader) for reader in found
    )


# As large as their operand. JAX converts the numbers that it hands to `jnp.where`, from f32 to f32 too.
_AS_LARGE = ("stablehlo.negate", "stablehlo.abs", "stablehlo.convert")


def _magnitude(op: ir.Operation, operands: Sequence[Held]) -> float:
    """A bound on a value that comes from constants and masks alone; 0 where there is none to be had cheaply."""
    if any(held.from_model for held in operands):
        return 0.0
    sizes = [held.magnitude for held in operands]
    match op.name:
        case "stablehlo.multiply":
            return sizes[0] * sizes[1] if len(sizes) == 2 else 0.0
        case "stablehlo.add" | "stablehlo.subtract":
            return sum(sizes)
        case name if name in kinds.MOVEMENT or name in kinds.MERGING or name in _AS_LARGE:
            return max(sizes, default=0.0)
        case _:
            return 0.0


def _is_elementwise_chlo(op: ir.Operation) -> bool:
    if not op.name.startswith("chlo.") or not len(op.results):
        return False
    shape = tensor_info(op.results[0].type).shape
    return all(tensor_info(value.type).shape == shape for value in [*op.operands, *op.results])
