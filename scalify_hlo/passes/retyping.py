"""Gives every f32 value of a module another element type, by a policy.

One walk in program order. Operations on elements are computed in f32. Their results are rounded to the compute type
where they depend on values stored so and lie in memory (`scalify_hlo.analysis.memory`), and where a product reads them.
These stay in f32 there too:
- numbers of a row: results of products that give at most 4 a row, arguments that have one, and what is computed of
  them one by one, which are a loss's terms; what a loop carries in rows of at most 4 or stacks of one a row;
- what a training step is given beside its state, and what is computed of that alone;
- scalars, and statistics: sums over at least 8 elements and what is computed of them alone (means, variances,
  norms, log-sum-exp), which are small;
- what depends on no parameter or input: positions, tables of sines, random numbers, masks;
- sums and products, which accumulate wide;
- what a loop carries and computes of itself alone, as the positions of a simulation, or reads whole, as a divisor or
  what a logarithm is taken of;
- what a loop's residual is computed of inside of it, where the loop ends when that is below a tolerance;
- values by which an index is chosen (argmin, top_k, argsort), whose differences count however small;
- vectors that unlike tensors are joined to and taken out of again, which have one scale for all of them;
- products that ask for f32 where others do not, and what a loop carries from one of them to the next;
- values in which constants that stand for minus infinity are mixed (attention masks such as -1e9), up to the
  exponential that ends them: a narrow type cannot hold both these and the rest of the tensor; sums of scores and what
  a program is given likewise, for that may be such a mask;
- the optimiser's arithmetic, in the policy's `update` type.
"""

import dataclasses
from collections.abc import Callable, Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.asked_precision import carried_in_f32
from scalify_hlo.analysis.calls import defining_op, only_reader, stacked, terminator
from scalify_hlo.analysis.intervals import before_moves
from scalify_hlo.analysis.product_shapes import is_padded
from scalify_hlo.analysis.residuals import residual_values
from scalify_hlo.analysis.simulations import simulated_values
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.carriers import carries
from scalify_hlo.module.identity import SCALE_MARKERS, is_scale_marker
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.traits import BRANCHES, Trait, has, is_identity_call
from scalify_hlo.passes import precision_kinds as kinds
from scalify_hlo.passes.emission import with_element
from scalify_hlo.passes.held_values import WIDE, Held, epsilon
from scalify_hlo.passes.loop_extremes import becomes_extreme
from scalify_hlo.passes.loop_statistics import collects_statistics, shrinks
from scalify_hlo.passes.retyped_operations import REPLACES, OperationRetyper
from scalify_hlo.passes.wide_stacks import stacks_in_f32
from scalify_hlo.recognition.expansions import Expansion
from scalify_hlo.types import tensor_info


class Retyper(OperationRetyper):
    """Retypes the bodies of functions that are called once each."""

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
        self.memory.note(block)
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
        plain = not len(op.regions) or name in kinds.REDUCTIONS  # what has other regions notes their operations
        if plain and not self._in_update(op):
            if self.exact.note_derived(op, self.held):
                self.keep.update(op.results)
            if not (self.exact.derived.isdisjoint(op.results) and self.exact.state.isdisjoint(op.results)):
                self._round_gradients(op)
        if name == "stablehlo.constant":
            self._constant(op)
        elif name == "stablehlo.while":
            self._loop(op)
        elif name in BRANCHES:
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

    def _reduction(self, op: ir.Operation) -> None:
        operands = self._operands(op)
        if not operands:
            return
        sums, ranks = kinds.accumulates(op), kinds.chooses_index(op)
        data = [held for held in operands.values() if held.constant is None]
        natural = self._natural_of_replaced(operands) if op.name in REPLACES else self._natural(operands.values())
        in_register = not sums and (any(held.transient for held in data) or all(held.lies_wide for held in data))
        if self._is_kept(op):
            computed = natural = WIDE
        elif self._in_update(op):
            computed = natural = self.policy.update
        elif sums and has(op.name, Trait.COLLECTIVE):
            if natural == WIDE and any(held.from_model for held in data) and self._is_gradient(op.results[0]):
                natural = self.policy.compute
            computed = (self.policy.reductions or natural) if natural != WIDE else WIDE
        elif sums:
            computed = self.policy.accumulation if natural != WIDE else WIDE
            # Statistics; and how large a product of n numbers is, |x|^n, does not follow from their scale.
            if op.name in ("stablehlo.reduce", "stablehlo.reduce_window") and (
                shrinks(op) or body_kind(op) == "multiply"
            ):
                natural = WIDE
        else:
            extreme = any(held.extreme for held in data) or self._is_extreme(op, list(operands.values()))
            computed = WIDE if ranks or extreme or in_register else natural
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
        self._set(op, computed, natural, operands, exact=sums or ranks)
        for result in op.results:
            # x == max(x) holds of what is rounded, or of neither.
            if computed == WIDE and result in self.held and (in_register or self.exact.read_whole(result)):
                self.held[result].transient = True

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
        ranks = kinds.chooses_index(op)
        for i, held in self._operands(op).items():
            whole = held.constant is None and held.lies_wide
            exact = whole or held.extreme or (ranks and kinds.is_key(op, i))
            value = held.raw if exact else held.read(held.natural)
            op.operands[i] = value
            op.results[i].set_type(value.type)
            transient = whole or held.transient
            self.held[op.results[i]] = dataclasses.replace(held.at(op.results[i]), constant=None, transient=transient)
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
        begun = self.exact.starts_derived(op, self.held)
        self.exact.derived.update(body.arguments[i] for i in begun)
        derived += begun
        self.exact.note_whole(body)
        if self.policy.compute != WIDE:
            self.keep.update(residual_values(self.calls, op, budget.TOLERANCE * epsilon(self.policy.compute)))
            simulated, integrated = simulated_values(self.calls, op, self._is_from_model)
            self.keep.update(simulated)
            self.integrated.update(integrated)
            self.keep.update(carried_in_f32(self.calls, op, self.asking))
        extremes = becomes_extreme(self.calls, op, self.held)
        statistics = collects_statistics(self.calls, op, self.exact.quotients)
        constant = (i for i in same if op.operands[i] in self.held and not self.held[op.operands[i]].from_model)
        self.exact.state.update(body.arguments[i] for i in constant)
        # A running maximum starts from a stand-in for minus infinity, and a stack of zeros takes up others.
        operands = {
            i: dataclasses.replace(held, extreme=extremes[i], versions={}) for i, held in self._operands(op).items()
        }
        carried = {i: self._carried_type(op, i, held) for i, held in operands.items()}
        if self.policy.compute != WIDE:
            # What is stacked of what is simulated, for products to read, is in 16 bits.
            own = {i for i in operands if extremes[i] or body.arguments[i] in self.keep}
            wide = {i for i, element in carried.items() if element == WIDE} - own
            carried |= dict.fromkeys(stacks_in_f32(op, wide, self._is_stored_wide), WIDE)
        for i, held in operands.items():
            updated = self._is_updated(op, i)
            stored = WIDE if statistics[i] and not updated else carried[i]
            kept = body.arguments[i] in self.keep and not updated
            element = elements[i] = WIDE if kept else stored
            value = self._into_update(held) if element == self.policy.update and updated else held.read(element)
            op.operands[i] = value
            for place in (op.results[i], body.arguments[i], condition.arguments[i]):
                place.set_type(value.type)
                behind = place == op.results[i] and place not in self.keep
                natural = (stored if behind else element) if tensor_info(value.type).rank else WIDE
                self.held[place] = Held(place, natural, element, from_model=True, extreme=held.extreme, in_memory=True)
        self.block(condition)
        last = self.block(body)
        for i, element in elements.items():
            held = self.held[last.operands[i]]
            if i in derived and self.exact.is_derived(last.operands[i]):
                self.exact.derived.add(op.results[i])
            last.operands[i] = self._into_update(held) if self._is_updated(op, i) else held.read(element)

    def _is_stored_wide(self, value: ir.Value) -> bool:
        return value in self.held and self.held[value].natural == WIDE

    def _is_from_model(self, value: ir.Value) -> bool:
        return value in self.held and self.held[value].from_model

    # u' = 2 u - u_before + m D u: m of f16 would be a wave of another speed, and is converted back in each iteration
    def _is_read_by_kept(self, argument: ir.Value) -> bool:
        """Whether all that a loop computes of what it is given is f32."""
        readers = [(use.owner.operation, use.operand_number) for use in argument.uses]
        computed = [(op, i) for op, i in readers if op != terminator(argument.owner)]
        for op, i in computed:
            callee = self.calls.callee_body(op)
            if callee is not None:
                if not self._is_read_by_kept(callee.arguments[i]):
                    return False
            elif not all(result in self.keep for result in op.results):
                return False
        return bool(computed)

    def _is_updated(self, loop: ir.Operation, i: int) -> bool:
        return loop.results[i] in self.update.values

    def _carried_type(self, loop: ir.Operation, i: int, held: Held) -> str:
        """The type in which a loop carries a value from one iteration to the next."""
        body = loop.regions[1].blocks[0]
        carried, last = body.arguments[i], terminator(body).operands[i]
        info = tensor_info(carried.type)
        if self._is_updated(loop, i):
            return self.policy.update
        written = stacked(carried, last)
        if written is not None and (
            self.exact.is_moved_whole(written) or self._is_path(body, written) or _is_a_number_a_row(body, written)
        ):
            self.exact.whole_stacks.update((carried, loop.results[i]))
            return WIDE
        if self.exact.is_derived(carried) or self.exact.read_whole(last):
            return WIDE
        if info.rank == 0 or held.extreme or (held.constant is None and not held.from_model and last == carried):
            return WIDE
        if last == carried:
            unrounded = self.policy.compute != WIDE and (
                self._is_read_by_kept(carried) or (held.lies_wide and _is_only_compared(carried))
            )
            return tensor_info(held.raw.type).element if unrounded else held.natural
        adds = last.owner.operation if isinstance(last, ir.OpResult) else None
        reader = only_reader(carried)
        if adds is not None and adds.name == "stablehlo.add" and reader is not None and reader == adds:
            return self.policy.accumulation if self.policy.compute != WIDE else WIDE
        few = info.size == max(info.shape[0], 1) or (written is None and _has_short_rows(carried))
        return WIDE if few else self.policy.compute

    def _is_path(self, body: ir.Block, written: ir.Value) -> bool:
        """Whether what an iteration writes into a stack is what it carries on with in f32, a path, or a stack of one.

        # |p_t| - r: what is measured of a path is a difference, which f16 would round away
        """
        *_, moved = before_moves(written)
        loop = defining_op(moved)
        if loop is not None and loop.name == "stablehlo.while":
            inner, i = loop.regions[1].blocks[0], ir.OpResult(moved).result_number
            deeper = stacked(inner.arguments[i], terminator(inner).operands[i])
            if deeper is not None:
                self.integrated.update(simulated_values(self.calls, loop, lambda _: True)[1])
                return self._is_path(inner, deeper)
        carried = zip(terminator(body).operands, body.arguments, strict=True)
        return any(
            last != argument
            and (
                (moved == last and _has_short_rows(argument))
                or (argument in self.integrated and moved in (last, argument))
            )
            for last, argument in carried
        )

    def _branches(self, op: ir.Operation) -> None:
        ends = [self.block(region.blocks[0]) for region in op.regions]
        for i, result in enumerate(op.results):
            held = [self.held[end.operands[i]] for end in ends if end.operands[i] in self.held]
            if not held:
                continue
            if self.exact.are_own([end.operands[i] for end in ends]):
                self.exact.derived.add(result)
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
            return is_scale_marker(op)
        if op.name != "func.call" or body is None:
            return False
        marker = body.owner.operation.attributes.get("scalify.composite")
        return marker is None or ir.StringAttr(marker).value in SCALE_MARKERS

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
        if composite and kinds.WHOLE in op.attributes and op.results[0] in self.held:
            self.held[op.results[0]].transient = True
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


def set_signature(body: ir.Block, last: ir.Operation) -> None:
    """Let a function's type follow its arguments' and results' types."""
    function = body.owner.operation
    type_ = ir.FunctionType.get([a.type for a in body.arguments], [v.type for v in last.operands])
    function.attributes["function_type"] = ir.TypeAttr.get(type_)


def raise_errors(errors: Sequence[Diagnostic]) -> None:
    """Raises ScalifyError with all of them, if any."""
    if errors:
        raise ScalifyError(errors)


def _is_a_number_a_row(body: ir.Block, written: ir.Value) -> bool:
    """Whether what an iteration writes into a stack has one number for each of more rows, as what it carries on has.

    # 1 / v^2 of variances v, which each iteration carries in f32: its gradient is of what they were
    """
    *_, moved = before_moves(written)
    shape = tensor_info(moved.type).shape
    if len(shape) != 1 or shape[0] < 2:
        return False
    carried = zip(terminator(body).operands, body.arguments, strict=True)
    return any(last != argument and tensor_info(argument.type).shape == shape for last, argument in carried)


def _has_short_rows(carried: ir.Value) -> bool:
    """Whether what a loop carries are rows of few numbers."""
    shape = tensor_info(carried.type).shape
    return bool(shape) and is_padded(shape[-1])


def _is_only_compared(value: ir.Value) -> bool:
    """Whether comparisons alone read a value, in whichever places, or masked, and the loop that hands it on.

    # searchsorted(edges, x): an x that is rounded up is beyond the last edge, if that is max(x)
    """
    pending, seen = [value], {value}
    for each in pending:
        for use in each.uses:
            op = use.owner.operation
            if op.name in kinds.MOVEMENT or op.name == "stablehlo.select":
                pending += [result for result in op.results if result not in seen]
                seen.update(op.results)
            elif op.name not in ("stablehlo.compare", "stablehlo.return"):
                return False
    return True


def _is_elementwise_chlo(op: ir.Operation) -> bool:
    if not op.name.startswith("chlo.") or not len(op.results):
        return False
    shape = tensor_info(op.results[0].type).shape
    return all(tensor_info(value.type).shape == shape for value in [*op.operands, *op.results])
