"""What the values of an optimiser are computed of: elementwise, moved, or at all, as far as its region may reach."""

import functools

from scalify_hlo.analysis.calls import CallGraph, callee_name, defining_op, terminator, walk
from scalify_hlo.analysis.name_stack import Direction, NameStacks
from scalify_hlo.analysis.update_region import before_marker, without_ones
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import carried_by
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.traits import BRANCHES, Trait, names
from scalify_hlo.types import tensor_info

# Each element of the result depends on the same element of the operands (and on scalars).
ELEMENTWISE = names(
    Trait.ELEMENTWISE, without=Trait.PREDICATE | Trait.BITWISE | Trait.BOUND_TO_TYPE | Trait.COMPLEX | Trait.BODY
)
MOVES = names(Trait.MOVES | Trait.ASSEMBLES, without=Trait.COLLECTIVE)
BETWEEN_DEVICES = names(Trait.COLLECTIVE)
PRODUCTS = names(Trait.CONTRACTS)
FEW_MOVES = 8  # of a function, a region, shapes
_SHAPE_ONLY = ("stablehlo.broadcast_in_dim", "stablehlo.reshape")


class Sources:
    """Of the values of a module whose public function is `main`. Names tell what is of a model, where there are any."""

    def __init__(self, calls: CallGraph, main: str):
        self.calls = calls
        self.body = calls.body(main)
        self.names = NameStacks(calls)

    @functools.cached_property
    def trains_by_name(self) -> bool:
        """Whether an operation is one of a backward pass by its name."""
        return any(
            self.names.direction(op) is Direction.BACKWARD
            for function in self.calls.functions.values()
            for op in walk(function)
        )

    def of(self, value: ir.Value, *, same_shape: bool) -> list[ir.Value] | None:
        """The floats that a value of the region is computed from; None where the region ends.

        same_shape: only those of the value's own shape, by elementwise operations alone.
        """
        op = defining_op(value)
        if op is None:
            return self._of_argument(value)
        if not tensor_info(value.type).is_float:
            return None
        index = ir.OpResult(value).result_number
        body = self.calls.callee_body(op)
        if body is not None:
            marked = defining_op(before_marker(value)) if op.name == "stablehlo.composite" else None
            if marked is not None and marked.name in ELEMENTWISE and self.is_outside(marked):
                return list(marked.results)  # the optimiser's, as what it marks
            return [terminator(body).operands[index]] if callee_name(op) and op.name == "func.call" else None
        if op.name == "stablehlo.while":
            return self._of_loop(op, index)
        if op.name == MANUAL:
            return [terminator(op.regions[0].blocks[0]).operands[index]]
        if op.name in BRANCHES and not self.is_backward(op):
            return [terminator(region.blocks[0]).operands[index] for region in op.regions]
        if op.name == "stablehlo.constant":
            return []
        carried = carried_by(value)
        if carried is not None and op.name != "stablehlo.optimization_barrier":
            return [carried]
        if not self.is_outside(op):
            return None
        floats = [operand for operand in op.operands if tensor_info(operand.type).is_float]
        if op.name in ELEMENTWISE:
            shape = tensor_info(value.type).shape
            return [v for v in floats if not same_shape or tensor_info(v.type).shape == shape]
        if same_shape:
            if op.name in _SHAPE_ONLY and without_ones(op.operands[0]) == without_ones(value):
                return floats  # a device's part of what has a dimension for the devices
            return [] if op.name == "stablehlo.broadcast_in_dim" else None
        moved = op.name == "stablehlo.transpose" and self.trains_by_name  # else it may be the backward pass's last
        return floats if moved or op.name in _SHAPE_ONLY else None

    def or_moved(self, value: ir.Value) -> list[ir.Value] | None:
        """The floats that a value outside of the model is computed from elementwise, or moved and joined; weights
        between devices too, but no gradients, which have a type for that."""
        sources, op = self.of(value, same_shape=False), defining_op(value)
        if sources is not None or op is None or not self.is_outside(op):
            return sources
        if (carried := carried_by(value)) is not None:
            return [carried]
        floats = [operand for operand in op.operands if tensor_info(operand.type).is_float]
        if op.name in MOVES or (op.name in BETWEEN_DEVICES and all(map(self.is_of_argument, floats))):
            return floats
        return None

    def everything(self, value: ir.Value) -> list[ir.Value] | None:
        """What a value is computed of; None where the model or an argument that is no number comes in."""
        op = defining_op(value)
        if op is None:
            owner = ir.BlockArgument(value).owner
            index = ir.BlockArgument(value).arg_number
            if owner == self.body:
                return None if tensor_info(value.type).rank else []
            if isinstance(owner.owner, ir.Operation) and owner.owner.name == "stablehlo.while":
                return [owner.owner.operands[index], terminator(owner.owner.regions[1].blocks[0]).operands[index]]
            return self._of_argument(value)
        index = ir.OpResult(value).result_number
        body = self.calls.callee_body(op)
        if body is not None:
            return [terminator(body).operands[index]]
        if op.name in BRANCHES:
            return [terminator(region.blocks[0]).operands[index] for region in op.regions]
        if op.name == "stablehlo.while":
            return [op.operands[index], terminator(op.regions[1].blocks[0]).operands[index]]
        return list(op.operands) if op.name == "stablehlo.constant" or self.is_outside(op) else None

    def _of_argument(self, value: ir.Value) -> list[ir.Value] | None:
        argument = ir.BlockArgument(value)
        function = self.calls.function_of_block(argument.owner)
        if function is not None:
            sites = self.calls.sites.get(function, ())
            return [sites[0].operands[argument.arg_number]] if len(sites) == 1 else None
        owner = argument.owner.owner.operation
        return [owner.operands[argument.arg_number]] if owner.name in ("stablehlo.while", MANUAL) else None

    def _of_loop(self, loop: ir.Operation, index: int) -> list[ir.Value] | None:
        """A carried value that each iteration updates elementwise: its last and its first value.

        Not so one that a matrix product outside of the model takes part in: that is a polynomial of matrices, all of
        which belongs to the optimiser. Names tell where there are any.
        """
        body = loop.regions[1].blocks[0]
        last, carried = before_marker(terminator(body).operands[index]), body.arguments[index]
        pending, seen = [last], set[ir.Value]()
        updated = False
        while pending:
            value = pending.pop()
            if value == carried:
                updated = True
            if value in seen:
                continue
            seen.add(value)
            op = defining_op(value)
            if op is not None and op.name in PRODUCTS and self.trains_by_name and self.is_outside(op):
                return None
            argument_of = None if op is not None else self.calls.function_of_block(ir.BlockArgument(value).owner)
            if argument_of is not None or op is not None:
                pending += self.of(value, same_shape=True) or ()
        return [last, loop.operands[index]] if updated else None

    def argument_index(self, value: ir.Value) -> int | None:
        if isinstance(value, ir.BlockArgument) and ir.BlockArgument(value).owner == self.body:
            return ir.BlockArgument(value).arg_number
        return None

    def is_moved(self, value: ir.Value) -> bool:
        """Whether the last operation outside of the model moves an update: it is none element by element."""
        for _ in range(FEW_MOVES):
            sources = self.of(value, same_shape=False)
            if sources is None:
                return self.or_moved(value) is not None and self.is_of_argument(value)
            if len(sources) != 1:
                break
            (value,) = sources
        return False

    def is_of_argument(self, value: ir.Value) -> bool:
        """Whether a value is computed of a tensor that the program is given, outside of the model."""
        pending, seen = [value], set[ir.Value]()
        while pending:
            value = pending.pop()
            if self.argument_index(value) is not None and tensor_info(value.type).rank:
                return True
            if value not in seen:
                seen.add(value)
                pending += self.or_moved(value) or ()
        return False

    def is_computed_from(self, value: ir.Value, known: set[ir.Value]) -> bool:
        """Whether a tensor is an elementwise function of one of `known`."""
        pending, seen = [value], set[ir.Value]()
        while pending:
            value = pending.pop()
            if value in known:
                return True
            if value not in seen:
                seen.add(value)
                op = defining_op(value)
                of = op.operands[0] if op is not None and op.name == "stablehlo.reshape" else None
                pending += [of] if of is not None else self.of(value, same_shape=True) or ()
        return False

    def is_of_product(self, value: ir.Value) -> bool:
        """Whether names tell that a value is computed outside of the model."""
        op = defining_op(value)
        return op is not None and self.trains_by_name and self.is_outside(op)

    def is_outside(self, op: ir.Operation) -> bool:
        return self.names.direction(op) is Direction.OUTSIDE

    def is_backward(self, op: ir.Operation) -> bool:
        return self.names.direction(op) is Direction.BACKWARD
