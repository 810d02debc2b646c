"""Matrix products that what they are computed of is carried on by: P' = P - K H P of a filter, m' = A m + B u.

# P' = P - f(P), P >= 0: an error of 2^-4 f(P) may be more than what is left; m' = A m: errors add up with each step

E4M3 rounds each element to 2^-4 of itself. A layer's products forget that: what they give is normalised, bounded or
averaged over rows, and a gradient undoes what of it matters. What is fed back to the next step as it is, by sums,
products and factors, is made up for by nothing: covariances of filters and of recursive least squares become
indefinite, eigenvalues of a table of transitions are others, values of states are off.

Three kinds are found. State: products outside of what is differentiated that read what is computed of it linearly, and
that its next value is computed of linearly, or by solving equations. State that a model makes the next value of (of a
sampler, by weights that stay what they are and nonlinear functions): those alone that read it itself, without a product
between, and give a matrix of its shape. What a loop carries: as these, by sums and numbers alone, with what stays the
same from iteration to iteration. A cotangent that goes back through a recurrent network is multiplied by derivatives on
its way.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from scalify_hlo.analysis.calls import CallGraph, terminator, walk
from scalify_hlo.analysis.name_stack import Direction, NameStacks
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind
from scalify_hlo.module.identity import is_scale_marker
from scalify_hlo.module.traits import Trait, is_linear_algebra, names
from scalify_hlo.types import tensor_info

_PRODUCT = "stablehlo.dot_general"
_MOVES = names(Trait.MOVES | Trait.RESHAPES | Trait.CARRIES, without=Trait.COLLECTIVE)
_SUMS = frozenset({"stablehlo.add", "stablehlo.subtract", "stablehlo.negate", "stablehlo.convert"})
_FACTORS = frozenset({"stablehlo.multiply", "stablehlo.divide"})
_WRITES = names(Trait.ASSEMBLES) | {"stablehlo.scatter"}
_NONLINEAR = names(Trait.SPECIAL | Trait.BOUNDED, without=Trait.PREDICATE) | {
    "stablehlo.maximum",
    "stablehlo.minimum",
}  # activations
_LOOP = "stablehlo.while"


def products_of_state(
    calls: CallGraph, main: str, pairs: Mapping[int, int], learnt: Collection[int] = (), *, serves: bool = False
) -> list[ir.Operation]:
    """The products of the function `main` by which state is fed back, outside of what is differentiated.

    pairs: argument -> result of its state. learnt: arguments that a gradient changes where no names tell which
    operations are of a derivative: their products are layers. serves: there may be weights that stay what they are.
    """
    body = calls.body(main)
    results = terminator(body).operands
    stacks = NameStacks(calls)
    found: dict[ir.Value, ir.Operation] = {}
    products = [op.operation for op in body.operations if op.operation.name == _PRODUCT]
    if all(stacks.direction(op) is not Direction.OUTSIDE for op in products):
        return []
    for argument, result in pairs.items():
        state, new = body.arguments[argument], results[result]
        if argument in learnt or not _is_matrix(state) or _is_written(new, state):
            continue
        near = serves and _is_nonlinear(state, new)
        found.update((op.results[0], op) for op in _between(state, new, stacks, near=near))
    return list(found.values())


def products_of_loops(calls: CallGraph, main: str) -> list[ir.Operation]:
    """The products by which loops feed back what they carry, but those of a backward pass."""
    stacks = NameStacks(calls)
    found: dict[ir.Value, ir.Operation] = {}
    for op in walk(calls.functions[main]):
        if op.name == _LOOP:
            for product in _of_loop(op):
                if stacks.direction(product) is not Direction.BACKWARD:
                    found[product.results[0]] = product
    return list(found.values())


def _of_loop(loop: ir.Operation) -> Iterator[ir.Operation]:
    body = loop.regions[1].blocks[0]
    if not any(op.operation.name == _PRODUCT for op in body.operations):
        return
    returned = list(terminator(body).operands)
    for argument, result in zip(body.arguments, returned, strict=True):
        if argument != result and _is_matrix(argument):
            for op in _between(argument, result, near=True, numbers=True):
                if any(stays(value, body, returned) for value in op.operands):
                    yield op


def _is_written(new: ir.Value, state: ir.Value) -> bool:
    """Whether new state is the old one with some elements replaced: a cache."""
    op = new.owner.operation if isinstance(new, ir.OpResult) else None
    return op is not None and op.name in _WRITES and op.operands[0] == state


def _is_nonlinear(source: ir.Value, end: ir.Value) -> bool:
    """Whether one value is computed of another by a nonlinear function of each element, among others."""

    def functions(value: ir.Value, *, forward: bool) -> set[ir.Value]:
        found: set[ir.Value] = set()

        def visit(op: ir.Operation, _: ir.Value) -> bool:
            if op.name in _NONLINEAR:
                found.add(op.results[0])
            return True

        _follow(value, visit, forward=forward)
        return found

    after = functions(source, forward=True)
    return bool(after) and not after.isdisjoint(functions(end, forward=False))


def _follow(value: ir.Value, visit: Callable[[ir.Operation, ir.Value], bool], *, forward: bool) -> None:
    """Visit the operations that read a value, or the one that gives it, and those beyond it, in their block.

    visit: of an operation and the value by which it was come to; whether to go on beyond it.
    """
    pending, seen = [value], set[ir.Value]()
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        if forward:
            steps = [use.owner.operation for use in each.uses]
        else:
            steps = [each.owner.operation] if isinstance(each, ir.OpResult) else []
        for op in steps:
            if visit(op, each):
                pending += op.results if forward else op.operands


def stays(value: ir.Value, body: ir.Block, returned: Sequence[ir.Value]) -> bool:
    """Whether a value is the same in each iteration of a loop with these results of its body."""
    while isinstance(value, ir.OpResult):
        op = value.owner.operation
        if op.block != body or constant_behind(value) is not None:
            return True
        if op.name not in _MOVES or len(op.operands) != 1:
            return False
        value = op.operands[0]
    own = [i for i, argument in enumerate(body.arguments) if argument == value]
    return all(returned[i] == value for i in own)


def _between(
    source: ir.Value, end: ir.Value, stacks: NameStacks | None = None, *, near: bool, numbers: bool = False
) -> list[ir.Operation]:
    """The products on linear ways from one value to another.

    stacks: the ways are outside of what is differentiated. near: those of `source` itself, which give a matrix of its
    shape, without other products on the way. numbers: by what a value is multiplied on the way is a number, or none.
    """

    def closure(value: ir.Value, *, forward: bool) -> dict[ir.Value, ir.Operation]:
        """The products that are reached from a value, by their results."""
        found: dict[ir.Value, ir.Operation] = {}

        def visit(op: ir.Operation, carried: ir.Value) -> bool:
            product = op.name == _PRODUCT
            if not product and not _is_linear(op, carried if forward else None, numbers=numbers):
                return False
            if stacks is not None and stacks.direction(op) is not Direction.OUTSIDE:
                return False
            if product:
                found[op.results[0]] = op
            return not (product and near)

        _follow(value, visit, forward=forward)
        return found

    given = closure(end, forward=False)  # first: of weights it ends at their gradients
    read = closure(source, forward=True) if given else {}
    shape = tensor_info(source.type).shape
    both = [op for value, op in read.items() if value in given]
    return [op for op in both if not near or tensor_info(op.results[0].type).shape == shape]


def _is_linear(op: ir.Operation, carried: ir.Value | None, *, numbers: bool) -> bool:
    """Whether an operation's result is linear in one of its operands, or solves equations of it."""
    if op.name in _FACTORS:
        if op.name == "stablehlo.divide" and carried is not None and op.operands[0] != carried:
            return False
        return not numbers or any(_is_number(value) for value in op.operands)
    if op.name in _SUMS or op.name in _MOVES or is_scale_marker(op):
        return True
    return not numbers and (op.name == "stablehlo.select" or is_linear_algebra(op))


def _is_number(value: ir.Value) -> bool:
    """Whether a value is a constant, or a number for all elements."""
    if constant_behind(value) is not None or not tensor_info(value.type).rank:
        return True
    op = value.owner.operation if isinstance(value, ir.OpResult) else None
    return op is not None and op.name == "stablehlo.broadcast_in_dim" and _is_number(op.operands[0])


def _is_matrix(value: ir.Value) -> bool:
    info = tensor_info(value.type)
    return info.is_float and info.rank >= 2
