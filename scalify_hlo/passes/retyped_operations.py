"""The type of one operation, from those that its operands are held in (see `scalify_hlo.passes.retyping`)."""

from collections.abc import Iterable, Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.asked_precision import ALGORITHM, asks_for_f32
from scalify_hlo.analysis.calls import CallGraph, defining_op
from scalify_hlo.analysis.exponents import Exponentials
from scalify_hlo.analysis.intervals import before_moves
from scalify_hlo.analysis.layer_gradients import of_layers
from scalify_hlo.analysis.memory import Memory
from scalify_hlo.analysis.product_shapes import is_batched, is_of_small_matrices, is_padded, product_sizes
from scalify_hlo.analysis.update_region import UpdateRegion
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic, describe_location
from scalify_hlo.module.carriers import readers
from scalify_hlo.module.traits import Trait, has, is_linear_algebra
from scalify_hlo.passes import precision_kinds as kinds
from scalify_hlo.passes.emission import with_element
from scalify_hlo.passes.exact_values import ExactValues
from scalify_hlo.passes.held_values import WIDE, Held, after, convert, fits, iota_size, is_next_to_1, splat_value
from scalify_hlo.precision import PrecisionPolicy
from scalify_hlo.types import tensor_info


class OperationRetyper:
    """Chooses the types of operations without bodies.

    `keep` tells operations that stay in f32, `asking` those of them that are products which ask for it, `masked` sums
    of scores and of what may hide them (`scalify_hlo.analysis.masked_scores`).
    """

    def __init__(
        self,
        calls: CallGraph,
        policy: PrecisionPolicy,
        update: UpdateRegion,
        keep: set[ir.Value],
        asking: set[ir.Value] | None = None,
        masked: set[ir.Value] | None = None,
        of_given: Iterable[ir.Operation] = (),
    ):
        self.calls = calls
        self.policy = policy
        self.update = update
        self.keep = keep
        self.asking = asking or set[ir.Value]()
        self._masked = masked or set[ir.Value]()  # in which numbers that are given may hide others
        self.integrated = set[ir.Value]()  # of `keep`, what loops add to in each iteration
        self.held: dict[ir.Value, Held] = {}
        self.errors: list[Diagnostic] = []
        self._gradients = set(update.gradients)
        self._in_fp8 = policy.gradients.startswith("f8")
        self._of_layers = of_layers(self._gradients, calls, of_given) if self._in_fp8 else set[ir.Value]()
        self.exact = ExactValues(calls, update.values, policy.compute)
        self._exponentials = Exponentials(calls)
        self.memory = Memory(calls)
        self.carried: list[ir.Operation] = []  # operations that carry a value to its readers

    def _operands(self, op: ir.Operation) -> dict[int, Held]:
        return {i: self.held[value] for i, value in enumerate(op.operands) if value in self.held}

    def _in_update(self, op: ir.Operation) -> bool:
        return not self.update.values.isdisjoint(op.results)

    # --- one operation ----------------------------------------------------------------------------------------

    def _set(
        self, op: ir.Operation, computed: str, natural: str, operands: dict[int, Held], *, exact: bool = False
    ) -> None:
        """Compute `op` in a type: convert the operands, set the results' types, and hold the results."""
        in_update = self._in_update(op)
        for i, held in operands.items():
            value = self._into_update(held) if in_update else held.read(computed, exact=exact)
            op.operands[i] = value
        large = self.exact.of_any_size
        if large and natural == WIDE and not in_update and not large.isdisjoint(h.raw for h in operands.values()):
            large.update(op.results)
        from_model, far, few = False, False, 0
        for held in operands.values():
            from_model, few = from_model or held.from_model, max(few, held.few)
            far = far or held.extreme or held.magnitude > budget.EXTREME
        far = far or not self._masked.isdisjoint(op.results)
        for result in op.results:
            if tensor_info(result.type).element != WIDE:
                continue
            result.set_type(with_element(result.type, computed))
            rank = tensor_info(result.type).rank
            self.held[result] = Held(
                result,
                natural=WIDE if rank == 0 else natural,
                computed=computed,
                from_model=from_model,
                magnitude=0.0 if from_model else _magnitude(op, list(operands.values())),
                extreme=far and self._is_extreme(op, list(operands.values())),
                few=few,
            )

    def _into_update(self, held: Held) -> ir.Value:
        """An operand of the optimiser's arithmetic. What comes from the backward pass is a gradient."""
        policy = self.policy
        enters = held.raw not in self.update.values and not held.in_memory and not self.exact.is_derived(held.raw)
        if enters and held.from_model and held.rank > 0 and policy.gradients != WIDE:
            element = self._gradient_type(held.raw)
            if element != WIDE and (held.natural != element or held.transient):
                held = Held(held.read(element, exact=True), element, element)
            return held.read(policy.update)
        return held.read(policy.update, exact=True)

    def _gradient_type(self, value: ir.Value) -> str:
        """The type that a gradient is rounded to: FP8 is for what FP8 products give.

        Of other sums E5M2 leaves 2 bits, and zeros where they are 2^17 below what their scale was estimated to be.
        What is kept in f32 is so here too.
        """
        if value in self.keep:
            return WIDE
        return self.policy.compute if self._in_fp8 and value not in self._of_layers else self.policy.gradients

    # m = 0.1 g and v = (Q^T g Q)^2: Q^T m Q / sqrt(v) is of size 1, if both read one g, where Q makes g diagonal
    def _round_gradients(self, op: ir.Operation) -> None:
        """Let an operation of the optimiser, and all that come after, read gradients as its elementwise part does."""
        for value in op.operands:
            held = self.held.get(value) if value in self._gradients else None
            if held is None or not held.rank or not held.from_model:
                continue
            element = self._gradient_type(value)
            if element != WIDE and held.natural != element:
                self.held[value] = Held(held.read(element, exact=True), element, element, from_model=True)

    def _elementwise(self, op: ir.Operation) -> None:
        operands = self._operands(op)
        if not operands:
            return self._pinned(op)  # of constants of other types, or the magnitude of a complex number
        if self._is_kept(op):
            return self._set(op, WIDE, WIDE, operands)
        if self._in_update(op):
            return self._set(op, self.policy.update, self.policy.update, operands)
        compute = self.policy.compute
        natural = WIDE if any(held.is_few for held in operands.values()) else self._natural(operands.values())
        if natural == compute != WIDE and self._exponentials.may_leave(op, compute):
            natural = WIDE
            self.exact.of_any_size.update(op.results)
        self.exact.note_quotient(op, operands)
        # A tensor is computed wide, and rounded where it is written; the body of a reduction computes on numbers.
        if tensor_info(op.results[0].type).rank:
            narrow = (
                natural == compute
                and has(op.name, Trait.ELEMENTWISE | Trait.SELECTS)
                and _are_rounded_or_zeros(operands.values())
            )
        else:
            narrow = all(
                held.natural == compute if held.constant is None else fits(held.constant, compute)
                for held in operands.values()
            )
        computed = natural if narrow else WIDE
        self._set(op, computed, natural, operands, exact=op.name in kinds.EXACT_OPERAND)
        self._fold(op, operands)
        held = self.held.get(op.results[0])
        if held is not None and computed == WIDE and natural == compute != WIDE:
            # What is kept from 1 by a bound (arccos, 1 - c^2 and its root follow) is kept from it in what is read too.
            beside = op.name in _BOUNDS and any(is_next_to_1(held.constant, compute) for held in operands.values())
            held.transient = beside or self._is_transient(op.results[0])
            # A forward program has few such tensors, and XLA computes them again: x + y, at the cost of reading both.
            if self.update.trains and not (held.transient or held.extreme):
                self.held[op.results[0]] = held.at(_written(held))
        return None

    def _is_transient(self, value: ir.Value) -> bool:
        """Whether a value that is computed wide is read as it is, and not as memory gives it."""
        return self.exact.read_whole(value) or not self.memory.is_written(value)

    def _is_in_registers(self, op: ir.Operation, operands: dict[int, Held]) -> bool:
        """Whether an operation moves elements to no memory, of what is not written there, or lies there as given.

        # a[1:] - a[:-1] of a = 1e5, 1e5 + 9, ...: f16 would leave zeros of the differences
        """
        if has(op.name, Trait.COLLECTIVE) or self.memory.is_written(op.results[0]):
            return False
        return all(
            held.transient or held.constant is not None or (held.in_memory and held.computed == WIDE)
            for held in operands.values()
        )

    def _natural(self, operands: "Sequence[Held] | object") -> str:
        """The compute type where something stored in it is among the operands."""
        stored = [held.natural for held in operands if held.constant is None]  # type: ignore[attr-defined]
        return self.policy.compute if self.policy.compute in stored else WIDE

    def _natural_of_replaced(self, operands: dict[int, Held]) -> str:
        """The type in which the result of an operation that replaces elements is stored.

        A tensor of which some elements are replaced, or added to, is stored as it was: a table in f32, of which a step
        changes some rows, keeps the others.
        """
        first = operands.get(0)
        if first is not None and first.from_model and first.constant is None:
            return first.natural
        return self._natural(operands.values())

    def _fold(self, op: ir.Operation, operands: dict[int, Held]) -> None:
        """A negated or converted constant is a constant."""
        if op.name == "stablehlo.negate" and operands[0].constant is not None and op.results[0] in self.held:
            self.held[op.results[0]].constant = -operands[0].constant

    def _movement(self, op: ir.Operation) -> None:
        operands = self._operands(op)
        if not operands:
            return None
        in_update = self._in_update(op)
        if in_update or self._is_kept(op):
            element = self.policy.update if in_update else WIDE
            return self._set(op, element, element, operands)
        if self.exact.whole_stacks:
            self.exact.note_stacked(op)
        self.exact.note_quotient(op, operands)
        natural = self._natural_of_replaced(operands) if op.name in REPLACES else self._natural(operands.values())
        computed = (self.policy.gathers or natural) if has(op.name, Trait.COLLECTIVE) and natural != WIDE else natural
        if any(held.extreme for held in operands.values()) or self._is_extreme(op, list(operands.values())):
            computed = WIDE
        first = operands.get(0)
        if op.name in kinds.SHRINKING and first is not None and first.in_memory and first.computed == WIDE:
            computed = WIDE  # convert what is taken, not the whole
        whole = natural != WIDE and (self.exact.read_whole(op.results[0]) or self._is_in_registers(op, operands))
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
        distances = op.results[0] in self.exact.distances
        if self._is_kept(op) or self.exact.is_too_fine_for_fp8(op) or distances or any(map(_is_solution, op.operands)):
            op.attributes[kinds.KEPT] = ir.UnitAttr.get()
        small = is_of_small_matrices(op) or _is_of_few(op, operands.values())
        transform = not small and self.exact.read_whole(op.results[0]) and self.exact.is_transform(op)
        own_type = tensor_info(op.results[0].type).element != WIDE  # what its readers expect
        if len(operands) < len(op.operands) or own_type or self._is_kept(op) or transform or distances:
            return self._pinned(op)
        if self._in_update(op):
            return self._set(op, self.policy.update, self.policy.update, operands)
        for i, held in operands.items():
            op.operands[i] = held.read(WIDE if small else compute)
        if ALGORITHM in op.attributes and not small and compute != WIDE:
            if not asks_for_f32(op):  # in bf16, say: no reason to compute in FP8
                op.attributes[kinds.KEPT] = ir.UnitAttr.get()
            del op.attributes[ALGORITHM]
        result = op.results[0]
        element = wide if compute != WIDE and not small else WIDE
        result.set_type(with_element(result.type, element))
        info = tensor_info(result.type)
        few = info.size if small or _gives_few(op) else 0
        natural = compute if info.rank and not few else WIDE
        transient = self.exact.read_whole(result)
        self.held[result] = Held(result, natural, element, from_model=True, transient=transient, few=few)
        return None

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
        from_model, wide = False, True
        for i, held in self._operands(op).items():
            op.operands[i] = held.read(WIDE)
            from_model |= held.from_model
            wide &= held.natural == WIDE or (kinds.is_top_k(op) and (held.transient or held.extreme or held.lies_wide))
        # top_k(-|x - y|^2) of points that are given is f32, as the distances are
        wide |= is_linear_algebra(op)
        for result in op.results:
            if tensor_info(result.type).element == WIDE:
                narrow = from_model and tensor_info(result.type).rank > 0 and not (wide or self._is_kept(op))
                natural = self.policy.compute if narrow else WIDE
                # A custom call has no type of its own: as of operations on elements, what memory keeps is rounded.
                opaque = op.name in kinds.OPAQUE and not self.memory.is_written(result)
                whole = natural != WIDE and (opaque or self.exact.read_whole(result))
                self.held[result] = Held(
                    result, natural, WIDE, from_model=from_model, magnitude=iota_size(op), transient=whole
                )

    def _is_gradient(self, value: ir.Value) -> bool:
        """Whether all that reads a value is the update of state, or arithmetic on each element on the way there."""
        found = list(readers(value))
        return value in self._gradients or (
            bool(found)
            and all(
                len(op.results) == 1
                and op.name in kinds.ELEMENTWISE | kinds.MOVEMENT
                and self._is_gradient(op.results[0])
                for op in found
            )
        )

    def _is_kept(self, op: ir.Operation) -> bool:
        return not self.keep.isdisjoint(op.results)

    def _is_extreme(self, op: ir.Operation, operands: Sequence[Held]) -> bool:
        """Whether a stand-in for infinity is among the elements of the result."""
        if op.name in kinds.BOUNDED:
            return False
        if not self._masked.isdisjoint(op.results) or any(held.extreme for held in operands):
            return op.name not in kinds.PRODUCTS and not self._in_update(op)
        return (
            op.name in kinds.MERGING
            and any(held.from_model for held in operands)
            and any(not held.from_model and held.magnitude > budget.EXTREME for held in operands)
            and not self._in_update(op)
        )


# tr(K^-1 dK) - y^T K^-1 dK K^-1 y cancels, and so does L^T dL, of the gradient of a factor L
def _is_solution(value: ir.Value) -> bool:
    """Whether a value is what linear algebra gives, moved and masked."""
    pending = [value]
    for _ in range(_MASKS):
        op = None
        for each in before_moves(pending.pop()):
            op = defining_op(each)
        if op is not None and is_linear_algebra(op):
            return True
        if op is not None and op.name == "stablehlo.select":
            pending += list(op.operands)[1:]
        if not pending:
            return False
    return False


def _written(held: Held) -> ir.Value:
    """A value as it lies in memory. Without a barrier XLA would leave out both conversions, there and back."""
    narrow = convert(held.raw, held.natural)
    ip, location = after(narrow)
    barrier = ir.Operation.create("stablehlo.optimization_barrier", [narrow.type], [narrow], loc=location, ip=ip)
    return barrier.results[0]


# round(select(p, wide(x), 0)) = select(p, x, 0), of any scale
def _are_rounded_or_zeros(operands: Iterable[Held]) -> bool:
    """Whether operands are a tensor that is rounded to the type in which it is stored, and zeros."""
    tensors = [held for held in operands if held.constant != 0]
    return len(tensors) == 1 and tensors[0].constant is None and tensors[0].is_rounded


def gives_few(op: ir.Operation) -> bool:
    """Whether the result of a product is f32 for its few numbers alone."""
    return is_of_small_matrices(op) or _gives_few(op)


def _gives_few(op: ir.Operation) -> bool:
    """Whether a product gives each row at most 4 numbers, which XLA pads to 8 in f16: as much work as f16 saves.

    Neither the product nor what is computed of its result is faster in 16 bits, and what a model says by so few numbers
    (a rate, a mean, an action's value, the solution of an equation) are the terms of its loss.
    """
    if op.name != "stablehlo.dot_general":
        return False
    return not is_batched(op) and is_padded(product_sizes(op)[2])


def _is_of_few(op: ir.Operation, operands: Iterable[Held]) -> bool:
    """Whether a product reads few numbers (see `Held`) that are f32, and no operand is larger, nor the result.

    The gradient of a rotation that many are multiplied by is contracted over these, and as small as it is.
    """
    few = max((tensor_info(held.raw.type).size for held in operands if held.is_few and held.natural == WIDE), default=0)
    if op.name != "stablehlo.dot_general" or not any(is_padded(size) for size in product_sizes(op)):
        return False
    return all(tensor_info(value.type).size <= few for value in (*op.operands, *op.results))


# Operand 0 is given back with other elements in some places.
REPLACES = ("stablehlo.scatter", "stablehlo.dynamic_update_slice")
# A triangle of a factor, which is NaN where the matrix had none.
_MASKS = 6
_BOUNDS = ("stablehlo.clamp", "stablehlo.maximum", "stablehlo.minimum")
# As large as their operand. JAX converts the numbers that it hands to `jnp.where`, from f32 to f32 too.
_AS_LARGE = ("stablehlo.negate", "stablehlo.abs", "stablehlo.convert")


def _magnitude(op: ir.Operation, operands: Sequence[Held]) -> float:
    """A bound on a value that comes from constants and masks alone; 0 where there is none to be had cheaply."""
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
