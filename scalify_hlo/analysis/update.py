"""The optimiser's part of a training step, found by data flow.

A result that is an elementwise update of an argument of its own shape and type is state: p' = p - f(m', v', g). The
operations on the way are the update region; what flows into it from outside, with the shape of a state tensor, is a
gradient. State that the forward pass reads as well are the parameters, the rest the optimiser's moments.

Names help where there are any: an operation of the forward or backward pass (`jvp`) is never in the region.
"""

import functools
from collections.abc import Iterable

from scalify_hlo.analysis.calls import BRANCHES, CallGraph, callee_name, defining_op, terminator, walk
from scalify_hlo.analysis.fed_back import products_of_state
from scalify_hlo.analysis.input_statistics import input_statistics, returned_statistics
from scalify_hlo.analysis.name_stack import Direction, NameStacks
from scalify_hlo.analysis.products import has_backward_products, matrix_products
from scalify_hlo.analysis.update_region import (
    UpdateRegion,
    before_marker,
    by_elimination,
    is_number,
    is_scalar,
    is_tensor,
    without_ones,
)
from scalify_hlo.bindings import ir
from scalify_hlo.engine.facts import FactFinder
from scalify_hlo.module.carriers import carried_by, carries
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.preserved import once
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.size.affine import AffineForms
from scalify_hlo.size.state import find_pairs, given_places
from scalify_hlo.size.stored_state import averages_to_keep, cancelling, is_few
from scalify_hlo.types import tensor_info

# Each element of the result depends on the same element of the operands (and on scalars).
ELEMENTWISE = names(
    Trait.ELEMENTWISE, without=Trait.PREDICATE | Trait.BITWISE | Trait.BOUND_TO_TYPE | Trait.COMPLEX | Trait.BODY
)
_SHAPE_ONLY = ("stablehlo.broadcast_in_dim", "stablehlo.reshape")
_MOVES = names(Trait.MOVES | Trait.ASSEMBLES, without=Trait.COLLECTIVE)
_MOST_VALUES = 64  # behind one that is of a forward pass
_FEW_MOVES = 8  # of a function, a region, shapes
_BETWEEN_DEVICES = names(Trait.COLLECTIVE)
_PARTS = _MOVES | _BETWEEN_DEVICES | {"stablehlo.reduce"}  # what a result is a part or a sum of, whoever holds it
_PRODUCTS = names(Trait.CONTRACTS)


def find_update(module: ir.Module, main: str, *, exact: bool = False, statistics: bool = False) -> UpdateRegion:
    """The update region of the function `main`; empty where the module has no backward pass.

    exact, statistics: look for the state that a narrow type would spoil too, and for statistics of inputs.
    """
    finder = _Finder(CallGraph(module), main)
    if not finder.has_backward_pass(module):
        return UpdateRegion(trains=False)
    region = finder.region()
    if exact:
        region.multiplies = finder.multiplies()
        region.exact = finder.exact(region)
    if statistics:
        finder.note_statistics(region)
    region.trains = finder.trains
    return region


def trains(module: ir.Module, main: str) -> bool:
    """Whether the function `main` is a training step: `find_update(module, main).trains`, found with less work."""

    def find() -> bool:
        finder = _Finder(CallGraph(module), main)
        return finder.has_backward_pass(module) and finder.trains

    return once(f"@{main} trains", find)


class _Finder:
    def __init__(self, calls: CallGraph, main: str):
        self.calls = calls
        self.main = main
        self.names = NameStacks(calls)
        self.body = calls.body(main)
        self.results = [before_marker(value) for value in terminator(self.body).operands]
        self.function = calls.functions[main]
        self.forms = AffineForms(FactFinder(calls.called, numbers_only=True).number, calls.called)
        # Arguments reached from a value through elementwise operations, and whether a computed tensor is.
        self._reached: dict[ir.Value, frozenset[int]] = {}
        self._computed: dict[ir.Value, bool] = {}
        self._numbers = False  # whether floats of rank 0 are state, known with `state`
        self._own: dict[ir.Value, bool] = {}  # whether a value is state or gradients, or is computed of these alone

    def has_backward_pass(self, module: ir.Module) -> bool:
        """By name, by the pattern of matrix products, or because arguments are donated, where there are no products.

        # S = 0.95 S + k^T v, donated: a decoder's state; its products are all of a forward pass
        """
        if self.trains_by_name or has_backward_products(module):
            return True
        return bool(self._aliases()) and not matrix_products(module)

    @functools.cached_property
    def trains_by_name(self) -> bool:
        """Whether an operation is one of a backward pass by its name."""
        return any(
            self.names.direction(op) is Direction.BACKWARD
            for function in self.calls.functions.values()
            for op in walk(function)
        )

    @property
    def trains(self) -> bool:
        """Whether a module that may have a backward pass does: by name, or because there is state.

        By the pattern of products alone, attention looks like a backward pass: scores and mixing share an operand.
        """
        return self.trains_by_name or bool(self.state)

    def region(self) -> UpdateRegion:
        region = UpdateRegion(state=self.state)
        region.learns_numbers, region.is_named = self._numbers, self.trains_by_name
        arguments = {self.body.arguments[index] for index in region.state}
        updates: list[ir.Value] = []
        for result in region.state.values():
            value = self.results[result]
            is_update = isinstance(value, ir.BlockArgument) or value.owner.name in ELEMENTWISE
            if is_update or not (self.trains_by_name and self._is_moved(value)):
                updates.append(value)
        region.gradients = self._collect(updates, region.values, arguments)
        if self.trains_by_name:
            region.gradients = self._without_forward(region)
        region.multiplied = self._behind_products(region)
        if self.trains_by_name:
            self._collect_moved(filter(is_tensor, set(self.results).difference(updates)), region.values)
        if region.state:  # a step size that is told by products of gradients, for the next step
            numbers = [value for value in self.results if is_scalar(value)]
            self._collect(numbers, region.values, arguments | set(region.gradients))
        self._own.update(dict.fromkeys([*arguments, *region.gradients, *region.values], True))
        for index in region.state:
            kind = region.parameters if self._is_read_outside(index, region.values) else region.moments
            kind.add(index)
        return region

    # P' = P - K H P; S' = d S + (1 - d) mean(h), inside of the loss
    def _without_forward(self, region: UpdateRegion) -> list[ir.Value]:
        """The gradients but what state is fed back by, and what a forward pass gives."""
        fed_back = {op.results[0] for op in products_of_state(self.calls, self.main, region.state)}
        found: list[ir.Value] = []
        for gradient in region.gradients:
            value = before_marker(gradient)
            op = defining_op(value)
            forward = op is not None and self.names.direction(op) is Direction.FORWARD
            if not forward and value not in fed_back:
                found.append(gradient)
        return found

    def exact(self, region: UpdateRegion) -> set[int]:
        """The state of a region that a narrow type would spoil."""
        arguments = {self.body.arguments[index] for index in region.state}
        body = [op.operation for op in self.body.operations if self._is_outside(op.operation)]
        pairs = {self.body.arguments[index]: self.results[result] for index, result in region.state.items()}
        returned = {v for v in self.results if isinstance(v, ir.BlockArgument)}  # state that a step leaves as it is
        averages = averages_to_keep(self.forms, pairs, self._is_of_model)
        exact = cancelling(self.forms, arguments | returned, body) | averages
        few = {i for i in region.parameters if not region.multiplies or is_few(self.body.arguments[i])}
        return {index for index in region.state if self.body.arguments[index] in exact} | few

    # u' = 2 u - u_before + v^2 D u: nothing is faster in 16 bits, and all that is simulated is of what v is
    def multiplies(self) -> bool:
        """Whether a program has any product of floats."""
        for function in self.calls.functions.values():
            for op in walk(function):
                if op.name in _PRODUCTS and tensor_info(op.results[0].type).is_float:
                    return True
        return False

    def note_statistics(self, region: UpdateRegion) -> None:
        """Find the statistics of a region: state that is computed of itself and of what the step is given, and results
        that are read too and computed of nothing learnt. Names tell of gradients."""
        if not self.trains_by_name:
            return
        new = {index: self.results[result] for index, result in region.state.items()}
        gradients = set(filter(self._is_gradient, region.gradients))
        region.statistics = input_statistics(self.calls, self.body, new, gradients, self._is_backward)
        learnt = region.state.keys() - region.statistics
        updated = {region.state[index] for index in learnt}
        results = [value for i, value in enumerate(self.results) if i not in updated]
        region.returned_statistics = returned_statistics(
            self.calls, self.body, results, learnt, gradients, self._is_backward
        )

    def _is_gradient(self, value: ir.Value) -> bool:
        """Whether a backward pass gives a value or what it is a sum or a part of, as of each example or device."""
        op: ir.Operation | None = value.owner.operation
        for _ in range(_FEW_MOVES):
            if op is None or not self._is_outside(op):
                break
            op = defining_op(op.operands[0]) if op.name in _PARTS and len(op.operands) else None
        return op is not None and self._is_backward(op)

    # m <- 0.99 m + 0.01 mean(x), of which mean(x) varies by little; p <- p + 0.01 v + 10^-4 |tanh(z)|
    def _is_of_model(self, value: ir.Value) -> bool | None:
        """Whether names tell that a value is computed of a forward pass, and of no backward pass; None of neither."""
        pending, seen, found = [value], set[ir.Value](), None
        while pending and self.trains_by_name:
            current = pending.pop()
            if isinstance(current, ir.BlockArgument) or current in seen:
                continue
            seen.add(current)
            op = current.owner.operation
            direction = self.names.direction(op)
            if direction is Direction.BACKWARD or len(seen) > _MOST_VALUES:
                return False
            if direction is Direction.FORWARD:
                found = True
            elif len(op.regions) > 1:
                return False
            else:
                pending += op.operands
        return found

    def _is_backward(self, op: ir.Operation) -> bool:
        return self.names.direction(op) is Direction.BACKWARD

    # --- state ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def state(self) -> dict[int, int]:
        """Argument -> result: donated ones and those that affine forms tell; then in one order where each result is an
        update of its argument, nonlinear ones among them."""
        pairs = self._aliases()
        for argument, result in find_pairs(None, self.function, self.forms).items():
            if not is_tensor(self.results[result]):
                self._numbers = True
            elif argument not in pairs and result not in pairs.values():
                pairs[argument] = result
        by_type: dict[ir.Type, dict[int, set[int]]] = {}
        places = given_places(self.function)
        for i, value in enumerate(self.results):
            if is_tensor(value) and i not in pairs.values() and self.reached(value) and self._computed[value]:
                reached = {a for a in self.reached(value) if a not in pairs and places.get(a, i) == i}
                by_type.setdefault(value.type, {})[i] = reached
        for candidates in by_type.values():
            arguments = sorted({argument for reached in candidates.values() for argument in reached})
            in_order = dict(zip(arguments, candidates, strict=False))
            if len(arguments) == len(candidates) and all(a in candidates[r] for a, r in in_order.items()):
                pairs |= in_order
            else:
                pairs |= by_elimination(candidates)
        return pairs

    def _aliases(self) -> dict[int, int]:
        """Donated arguments of which the result is an elementwise update."""
        if "arg_attrs" not in self.function.attributes:
            return {}
        pairs: dict[int, int] = {}
        for i, attributes in enumerate(ir.ArrayAttr(self.function.attributes["arg_attrs"])):
            dictionary = ir.DictAttr(attributes)
            if "tf.aliasing_output" not in dictionary:
                continue
            result: int = ir.IntegerAttr(dictionary["tf.aliasing_output"]).value
            value = self.results[result]
            if is_tensor(value) and i in self.reached(value) and self._computed[value]:
                pairs[i] = result
        return pairs

    def reached(self, value: ir.Value) -> frozenset[int]:
        """The arguments of the public function that `value` is an elementwise function of, shape for shape."""
        known = self._reached.get(value)
        if known is not None:
            return known
        self._reached[value] = frozenset()  # a loop's carried value asks for itself
        sources = self._sources(value, same_shape=True)
        if sources is None:
            index = self._argument_index(value)
            found: frozenset[int] = frozenset() if index is None else frozenset([index])
            self._computed[value] = index is None
        else:
            found = frozenset(argument for source in sources for argument in self.reached(source))
            numbers = self._sources(value, same_shape=False) or ()  # one that all elements are multiplied by, say
            parts = {*sources, *numbers}
            for number in parts.difference(sources):
                self.reached(number)
            self._computed[value] = any(self._computed.get(part, False) for part in parts)
        self._reached[value] = found
        return found

    def _argument_index(self, value: ir.Value) -> int | None:
        if isinstance(value, ir.BlockArgument) and ir.BlockArgument(value).owner == self.body:
            return ir.BlockArgument(value).arg_number
        return None

    def _is_read_outside(self, index: int, region: set[ir.Value]) -> bool:
        """Whether something besides the optimiser and the results reads an argument.

        What an optimiser makes numbers of is its own still, as the products of a gradient with an average of gradients
        are that D-Adaptation tells a step size by, and so is what it computes of state and gradients alone: a gradient
        in the basis of a statistic's eigenvectors, the next basis.
        """
        pending, seen = [self.body.arguments[index]], set[ir.Value]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            for use in value.uses:
                user = use.owner.operation
                inner = self.calls.callee_body(user)
                if inner is not None:
                    pending.append(inner.arguments[use.operand_number])
                elif carries(user):
                    pending.append(user.results[use.operand_number])
                elif user.name in ("stablehlo.while", MANUAL):
                    pending += [region.blocks[0].arguments[use.operand_number] for region in user.regions]
                elif user.name == "stablehlo.reshape" and self._is_outside(user):
                    pending.append(user.results[0])
                elif user.name.endswith("return") or any(result in region for result in user.results):
                    continue
                elif not self._is_outside(user):
                    return True
                elif user.name in ELEMENTWISE:
                    pending.append(user.results[0])
                elif user.name in (*_PRODUCTS, "stablehlo.reduce") and not tensor_info(user.results[0].type).rank:
                    continue
                elif not all(self._is_own(operand) for operand in user.operands):
                    return True
                else:
                    pending += user.results
        return False

    def _is_own(self, value: ir.Value) -> bool:
        """Whether a value is computed, outside of the model, of state, gradients and numbers alone."""
        if value not in self._own:
            pending, seen = [value], set[ir.Value]()
            while pending:
                current = pending.pop()
                if self._own.get(current) or current in seen:
                    continue
                seen.add(current)
                sources = self._all_sources(current)
                if sources is None or self._own.get(current) is False:
                    self._own[value] = False
                    return False
                pending += sources
            self._own.update(dict.fromkeys(seen, True))
        return self._own[value]

    def _all_sources(self, value: ir.Value) -> list[ir.Value] | None:
        """What a value is computed of; None where the model or an argument that is no number comes in."""
        op = defining_op(value)
        if op is None:
            owner = ir.BlockArgument(value).owner
            index = ir.BlockArgument(value).arg_number
            if owner == self.body:
                return None if tensor_info(value.type).rank else []
            if isinstance(owner.owner, ir.Operation) and owner.owner.name == "stablehlo.while":
                return [owner.owner.operands[index], terminator(owner.owner.regions[1].blocks[0]).operands[index]]
            return self._sources_of_argument(value)
        index = ir.OpResult(value).result_number
        body = self.calls.callee_body(op)
        if body is not None:
            return [terminator(body).operands[index]]
        if op.name in BRANCHES:
            return [terminator(region.blocks[0]).operands[index] for region in op.regions]
        if op.name == "stablehlo.while":
            return [op.operands[index], terminator(op.regions[1].blocks[0]).operands[index]]
        return list(op.operands) if op.name == "stablehlo.constant" or self._is_outside(op) else None

    def _behind_products(self, region: UpdateRegion) -> set[ir.Value]:
        """What operations outside of the model, on the way to the region, read of the backward pass; by names."""
        found, seen = set[ir.Value](), {*region.values, *(self.body.arguments[index] for index in region.state)}
        pending = [value for value in region.gradients if self._is_of_product(value)]
        while pending:
            value = pending.pop()
            if value not in seen:
                seen.add(value)
                sources = self._all_sources(value)
                if sources is not None:
                    pending += sources
                elif (op := defining_op(value)) is not None and self._is_backward(op):
                    found.add(value)
        return found

    def _is_of_product(self, value: ir.Value) -> bool:
        """Whether names tell that a value is computed outside of the model."""
        op = defining_op(value)
        return op is not None and self.trains_by_name and self._is_outside(op)

    # --- region -----------------------------------------------------------------------------------------------

    def _collect(self, results: list[ir.Value], values: set[ir.Value], arguments: set[ir.Value]) -> list[ir.Value]:
        """Adds to `values` the region of the results; the computed tensors that flow into it.

        Means, norms and products to numbers belong to it where they are taken of what is in the region or enters it,
        which a bias's gradient, a sum over activations' gradients, is not.
        """
        pending, boundary, sums = list(results), dict.fromkeys(arguments), list[ir.Value]()
        while pending:
            while pending:
                value = pending.pop()
                if value in values or value in boundary:
                    continue
                sources = self._sources(value, same_shape=False)
                op = defining_op(value)
                if sources is not None:
                    values.add(value)
                    pending += sources
                elif op is not None and (op.name == "stablehlo.reduce" or is_number(op)) and self._is_outside(op):
                    sums.append(value)
                else:
                    boundary[value] = None
            for value in list(sums):
                op = value.owner.operation
                operands = list(op.operands) if is_number(op) else [op.operands[0]]
                known = values | boundary.keys()
                if all(self._is_computed_from(operand, known) for operand in operands):
                    sums.remove(value)
                    values.add(value)
                    pending += operands
        entering = [value for value in [*boundary, *sums] if value not in arguments]
        return [value for value in entering if is_tensor(value) and defining_op(value) is not None]

    # unravel(ravel(p) - r ravel(g)): the optimiser's, though no result is an update of an argument element by element
    def _collect_moved(self, results: Iterable[ir.Value], values: set[ir.Value]) -> None:
        """Adds to `values` what results are computed of outside of the model, elementwise or moved and joined."""
        pending = list(results)
        while pending:
            value = pending.pop()
            if value in values:
                continue
            sources = self._sources_or_moved(value)
            if sources is not None:
                values.add(value)
                pending += sources

    def _is_moved(self, value: ir.Value) -> bool:
        """Whether the last operation outside of the model moves an update: it is none element by element."""
        for _ in range(_FEW_MOVES):
            sources = self._sources(value, same_shape=False)
            if sources is None:
                return self._sources_or_moved(value) is not None and self._is_of_argument(value)
            if len(sources) != 1:
                break
            (value,) = sources
        return False

    def _sources_or_moved(self, value: ir.Value) -> list[ir.Value] | None:
        """The floats that a value outside of the model is computed from elementwise, or moved and joined; weights
        between devices too, but no gradients, which have a type for that."""
        sources, op = self._sources(value, same_shape=False), defining_op(value)
        if sources is not None or op is None or not self._is_outside(op):
            return sources
        if (carried := carried_by(value)) is not None:
            return [carried]
        floats = [operand for operand in op.operands if tensor_info(operand.type).is_float]
        if op.name in _MOVES or (op.name in _BETWEEN_DEVICES and all(map(self._is_of_argument, floats))):
            return floats
        return None

    def _is_of_argument(self, value: ir.Value) -> bool:
        """Whether a value is computed of a tensor that the program is given, outside of the model."""
        pending, seen = [value], set[ir.Value]()
        while pending:
            value = pending.pop()
            if self._argument_index(value) is not None and tensor_info(value.type).rank:
                return True
            if value not in seen:
                seen.add(value)
                pending += self._sources_or_moved(value) or ()
        return False

    def _is_computed_from(self, value: ir.Value, known: set[ir.Value]) -> bool:
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
                pending += [of] if of is not None else self._sources(value, same_shape=True) or ()
        return False

    def _is_outside(self, op: ir.Operation) -> bool:
        return self.names.direction(op) is Direction.OUTSIDE

    def _sources(self, value: ir.Value, *, same_shape: bool) -> list[ir.Value] | None:
        """The floats that a value of the region is computed from; None where the region ends.

        same_shape: only those of the value's own shape, by elementwise operations alone.
        """
        op = defining_op(value)
        if op is None:
            return self._sources_of_argument(value)
        if not tensor_info(value.type).is_float:
            return None
        index = ir.OpResult(value).result_number
        body = self.calls.callee_body(op)
        if body is not None:
            marked = defining_op(before_marker(value)) if op.name == "stablehlo.composite" else None
            if marked is not None and marked.name in ELEMENTWISE and self._is_outside(marked):
                return list(marked.results)  # the optimiser's, as what it marks
            return [terminator(body).operands[index]] if callee_name(op) and op.name == "func.call" else None
        if op.name == "stablehlo.while":
            return self._sources_of_loop(op, index)
        if op.name == MANUAL:
            return [terminator(op.regions[0].blocks[0]).operands[index]]
        if op.name in BRANCHES and not self._is_backward(op):
            return [terminator(region.blocks[0]).operands[index] for region in op.regions]
        if op.name == "stablehlo.constant":
            return []
        carried = carried_by(value)
        if carried is not None and op.name != "stablehlo.optimization_barrier":
            return [carried]
        if not self._is_outside(op):
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

    def _sources_of_argument(self, value: ir.Value) -> list[ir.Value] | None:
        argument = ir.BlockArgument(value)
        function = self.calls.function_of_block(argument.owner)
        if function is not None:
            sites = self.calls.sites.get(function, ())
            return [sites[0].operands[argument.arg_number]] if len(sites) == 1 else None
        owner = argument.owner.owner.operation
        return [owner.operands[argument.arg_number]] if owner.name in ("stablehlo.while", MANUAL) else None

    def _sources_of_loop(self, loop: ir.Operation, index: int) -> list[ir.Value] | None:
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
            if op is not None and op.name in _PRODUCTS and self.trains_by_name and self._is_outside(op):
                return None
            argument_of = None if op is not None else self.calls.function_of_block(ir.BlockArgument(value).owner)
            if argument_of is not None or op is not None:
                pending += self._sources(value, same_shape=True) or ()
        return [last, loop.operands[index]] if updated else None
