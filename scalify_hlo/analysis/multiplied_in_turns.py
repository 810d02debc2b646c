"""Loops that carry what they multiply by the same matrix in each iteration, with nothing to normalise it.

# a' = (a A) b_t: forward recursions in probability space; u' = p / (K (q / (K^T u))): Sinkhorn's algorithm

c times as large a vector comes out c times, or 1 / c times, as large: f(c x) = c^d f(x), d not 0. What is left of it
after n iterations is the n-th power of what one makes of it, or is divided by such, element by element: f32 has room
for that, f16 has none, and no scale that is known before the loop is that of its end. A sum with anything else, a
nonlinear function or a division by its own norm makes of it what has a size again. The derivative of such a loop
carries the inverse of that, and multiplies the two.
"""

from collections.abc import Iterator, Sequence

from scalify_hlo.analysis.calls import CallGraph, defining_op, stacked, terminator, walk
from scalify_hlo.analysis.fed_back import stays
from scalify_hlo.analysis.intervals import MOVES, before_moves
from scalify_hlo.analysis.name_stack import Direction, NameStacks
from scalify_hlo.bindings import ir
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

_LOOP, _PRODUCT, _QUOTIENT = "stablehlo.while", "stablehlo.dot_general", "stablehlo.divide"
_MOVES = names(Trait.MOVES | Trait.RESHAPES | Trait.CARRIES, without=Trait.COLLECTIVE) | {"stablehlo.negate"}
_NESTING = names(Trait.CAPTURES)
_SUMS = frozenset({"stablehlo.add", "stablehlo.subtract"})
_POWERS = {"stablehlo.sqrt": 0.5, "stablehlo.rsqrt": -0.5, "stablehlo.cbrt": 1 / 3}
# Attribute of the products of such loops, by which they are known when they have scales.
IN_TURNS = "scalify.in_turns"
# What is added lest a divisor be 0, and what a value is kept above therefore.
_GUARD = 2.0**-16
# Of no degree: of a sum with something else, or of a nonlinear function.
_NONE = float("nan")


def multiplied_in_turns(calls: CallGraph) -> set[ir.Value]:
    """What such loops carry, compute of it and stack, and what their derivatives compute of that: float values that
    f16 has no room for, arguments of the loops' blocks and their results among them."""
    loops, stacks = _loops(calls), set[ir.Value]()
    found = _written_out(calls)
    if not loops:
        return found
    directions = NameStacks(calls)
    for loop in loops:
        kept = _Iteration(loop).kept(directions)
        if kept:
            found |= kept
            stacks.update(result for result in loop.results if result in kept)
    for loop in loops if stacks else ():
        given = [i for i, v in enumerate(loop.operands) if not stacks.isdisjoint(before_moves(v))]
        if given and found.isdisjoint(loop.results):
            found.update(_of_derivative(loop, given))
    return found


def _loops(calls: CallGraph) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    for function in calls.functions.values():
        for each in function.regions[0].blocks[0].operations:
            op = each.operation
            if op.name == _LOOP:
                found.append(op)
            if op.name in _NESTING:
                found += [inner for inner in walk(op) if inner.name == _LOOP]
    return found


def products_in_turns(calls: CallGraph, products: Sequence[ir.Operation]) -> set[ir.Value]:
    """The results of those of a module's products that such loops, or their derivatives, multiply by.

    Where some are narrow types have been chosen, and those of these loops are marked.
    """
    marked = {op.results[0] for op in products if IN_TURNS in op.attributes}
    narrow = [op for op in products if not str(op.results[0].type).endswith("f32>")]
    return marked if marked or narrow else multiplied_in_turns(calls)


# u = p / (K v), v = q / (K^T u), u = p / (K v), ...
def _written_out(calls: CallGraph) -> set[ir.Value]:
    """The products by a matrix of a quotient by another such product, if there are two in a row, and those of the
    backward pass by what these multiply. One alone is a derivative's.

    # d log(x A) = A^T (1 / (x A))
    """
    turns: dict[ir.Value, ir.Operation] = {}
    products: list[ir.Operation] = []
    for function in calls.functions.values():
        for each in function.regions[0].blocks[0].operations:
            if each.operation.name == _PRODUCT:
                products.append(each.operation)
    for op in products:
        for i, value in enumerate(op.operands):
            quotient = _moved(value)
            if not isinstance(quotient, ir.OpResult) or quotient.owner.name != _QUOTIENT:
                continue
            matrix, before = _moved(op.operands[1 - i]), _product_behind(quotient)
            if before is not None and matrix in map(_moved, before.operands):
                turns[op.results[0]] = before
    found, factors = set[ir.Value](), set[ir.Value]()
    for value, before in turns.items():
        if before.results[0] in turns:
            first = turns[before.results[0]]
            found.update((value, before.results[0], first.results[0]))
            for op in (value.owner.operation, before, first):
                factors.update(map(_moved, op.operands))
    if not found:
        return found
    directions = NameStacks(calls)
    for op in products:
        if directions.direction(op) is not Direction.FORWARD and not factors.isdisjoint(map(_moved, op.operands)):
            found.add(op.results[0])
    return found


def _moved(value: ir.Value) -> ir.Value:
    """What a value is before it was moved or converted."""
    while isinstance(value, ir.OpResult) and value.owner.name in MOVES and len(value.owner.operands) == 1:
        value = value.owner.operands[0]
    return value


def _product_behind(quotient: ir.OpResult) -> ir.Operation | None:
    """The product that a quotient is by, but for a small number that is added to it."""
    op = defining_op(_moved(quotient.owner.operands[1]))
    if op is not None and op.name in ("stablehlo.add", "stablehlo.maximum"):
        terms = [each for each in op.operands if not _is_guard(each)]
        op = defining_op(_moved(terms[0])) if len(terms) == 1 else op
    return op if op is not None and op.name == _PRODUCT else None


class _Iteration:
    """Of which degree the values of an iteration are in what the loop carries."""

    def __init__(self, loop: ir.Operation):
        self._loop = loop
        self._condition, self._body = (region.blocks[0] for region in loop.regions)
        self._returned = list(terminator(self._body).operands)
        pairs = list(zip(self._body.arguments, self._returned, strict=True))
        self._written = {i: stacked(argument, last) for i, (argument, last) in enumerate(pairs)}
        self._changed = [
            i
            for i, (argument, last) in enumerate(pairs)
            if last != argument and self._written[i] is None and tensor_info(argument.type).is_float
        ]
        self._degrees: dict[ir.Value, float] = {}
        self._products: list[ir.Operation] = []

    def kept(self, directions: NameStacks) -> set[ir.Value]:
        """What is carried in turns and computed of it, if anything is: any cotangent is, of which it is not said."""
        products = [op.operation for op in self._body.operations if op.operation.name == _PRODUCT]
        known = {directions.direction(op) for op in products}
        if known <= {Direction.BACKWARD} or (Direction.FORWARD not in known and self._reads_residuals()):
            return set()
        carried = [i for i in self._changed if tensor_info(self._returned[i].type).rank]
        while carried:
            self._follow(carried)
            left = [i for i in carried if self._degree(self._returned[i])]
            if left == carried:
                break
            carried = left
        if not carried or all(directions.direction(op) is Direction.BACKWARD for op in self._products):
            return set()
        found = {value for value, degree in self._degrees.items() if degree == degree}
        written = [i for i, value in self._written.items() if value is not None and value in found]
        found.update(self._returned[i] for i in written)
        for i in (*carried, *written):
            found.update((self._body.arguments[i], self._condition.arguments[i], self._loop.results[i]))
        return found

    def _reads_residuals(self) -> bool:
        """Whether a loop before this one wrote a stack that it is given, as those of a forward pass do."""
        for value in self._loop.operands:
            *_, given = before_moves(value)
            before = given.owner if isinstance(given, ir.OpResult) else None
            if before is not None and before.name == _LOOP:
                body, i = before.regions[1].blocks[0], ir.OpResult(given).result_number
                if stacked(body.arguments[i], terminator(body).operands[i]) is not None:
                    return True
        return False

    def _degree(self, value: ir.Value) -> float:
        """0 of what does not depend on what is carried, and of what has no degree."""
        degree = self._degrees.get(value, 0.0)
        return degree if degree == degree else 0.0

    def _follow(self, carried: list[int]) -> None:
        self._degrees = {self._body.arguments[i]: 1.0 if i in carried else _NONE for i in self._changed}
        self._products = []
        for each in self._body.operations:
            op = each.operation
            if any(value in self._degrees for value in _read(op)):
                degree = self._of(op)
                self._degrees.update((result, degree) for result in op.results if tensor_info(result.type).is_float)

    # f(c x) = c^d f(x)
    def _of(self, op: ir.Operation) -> float:
        degrees = [self._degrees.get(value) for value in op.operands]
        if len(op.regions) and op.name != "stablehlo.reduce":
            return _NONE
        if op.name == _PRODUCT or op.name == "stablehlo.multiply":
            degree = sum(degree or 0.0 for degree in degrees)
            by_one = op.name == _PRODUCT and degree == degree and None in degrees
            if by_one and stays(op.operands[degrees.index(None)], self._body, self._returned):
                self._products.append(op)
            return degree
        if op.name == _QUOTIENT:
            return (degrees[0] or 0.0) - (degrees[1] or 0.0)
        if op.name in _SUMS or op.name == "stablehlo.maximum":
            one_degree = {d for d, value in zip(degrees, op.operands, strict=True) if not _is_guard(value)}
            degree = one_degree.pop() if len(one_degree) == 1 else None
            return _NONE if degree is None else degree
        if op.name in _POWERS:
            return _POWERS[op.name] * (degrees[0] or 0.0)
        if op.name == "stablehlo.reduce":
            return degrees[0] or 0.0 if body_kind(op) in ("add", "maximum") else _NONE
        moves = op.name in _MOVES and degrees[0] is not None and degrees.count(None) == len(degrees) - 1
        return degrees[0] or 0.0 if moves else _NONE


def _read(op: ir.Operation) -> Iterator[ir.Value]:
    for each in (op, *walk(op)):
        yield from each.operands


def _is_guard(value: ir.Value) -> bool:
    """Whether a value is a small positive number; a maximum with 0 is a layer's."""
    number = number_behind(value, converted=True)
    return number is not None and 0 < number <= _GUARD


def _of_derivative(loop: ir.Operation, given: list[int]) -> Iterator[ir.Value]:
    """What a loop computes of what it carries and of the stacks that it is given, with what it carries of that."""
    condition, body = (region.blocks[0] for region in loop.regions)
    returned = list(terminator(body).operands)
    changed = [i for i, v in enumerate(body.arguments) if returned[i] != v and tensor_info(v.type).is_float]
    own = {body.arguments[i] for i in (*given, *changed)}
    for each in body.operations:
        op = each.operation
        if any(value in own for value in _read(op)):
            own.update(result for result in op.results if tensor_info(result.type).is_float)
    yield from own
    for i in (*given, *changed):
        yield from (condition.arguments[i], loop.results[i])
