"""Values of which a narrow type would lose what is read of them: those whose logarithm is taken, angles, divisors that
only a guard keeps from 0 and what is divided by them, those that an index is chosen by, what lies inside a function
that is written out, matrices that linear algebra is done on, what is brought into range, and what is computed of the
optimiser's values alone.
"""

from collections.abc import Mapping

from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator
from scalify_hlo.analysis.intervals import before_moves, divided_by, guarded_divisor, interval, vanishing_differences
from scalify_hlo.analysis.residuals import Slice
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import before_carriers
from scalify_hlo.module.traits import BRANCHES, SUMS, is_linear_algebra
from scalify_hlo.passes import precision_kinds as kinds
from scalify_hlo.passes.held_values import Held, fits
from scalify_hlo.recognition.expansions import Expansion, find_expansions
from scalify_hlo.recognition.free_choices import find_free_choices

# Of these the result is as far out as a factor, a term or an element is.
_HANDS_ON = kinds.MOVEMENT | {
    f"stablehlo.{name}" for name in ("negate", "select", "multiply", "divide", "add", "subtract")
}


_SQUARES = "stablehlo.multiply"


class ExactValues:
    """What is known of the blocks noted so far: a caller's before those of the functions that it calls."""

    def __init__(self, calls: CallGraph, update: set[ir.Value], compute: str):
        """update: what the optimiser computes elementwise. compute: the type of the model's arithmetic."""
        self.calls = calls
        self.update = update
        self.compute = compute
        self.derived: set[ir.Value] = set()  # of the update alone
        # Gradients, arguments that are the optimiser's own, and what is computed of these alone.
        self.state: set[ir.Value] = set()
        self.returned: set[ir.Value] = set()  # new state that is stored in f32: in memory it lies so, whoever reads it
        self.logged: set[ir.Value] = set()  # whose logarithm is taken, or that only a guard keeps from 0 as a divisor
        self.quotients: set[ir.Value] = set()  # by such divisors: they may be as large as the guard is small
        self.differing: set[ir.Value] = set()  # whose difference from a constant is divided by
        self.ranked: set[ir.Value] = set()  # by which an index is chosen
        self.distances: set[ir.Value] = set()  # what is added to squared norms, as -2 a b is
        self.angles: set[ir.Value] = set()  # of which a sine or cosine is taken
        self.solved: set[ir.Value] = set()  # of which linear algebra, in f32, is done: its factors are read again by it
        self._unbounded: set[ir.Value] = set()  # quotients by such differences, which no dividend vanishes with
        self.of_any_size: set[ir.Value] = set()  # exponentials without a bound, and sums of them
        self._tables: dict[ir.Value, bool] = {}  # see `is_table`
        self.ranged: set[ir.Value] = set()  # brought into the range of f32, and the numbers that bring them
        self.whole_stacks: set[ir.Value] = set()  # what a loop stacks values in that are read whole, and its slices
        self.noted: set[ir.Block] = set()  # whose logarithms and choices are known
        self.written_out: dict[ir.Operation, Expansion] = {}  # operations of functions that are written out

    def note(self, block: ir.Block) -> None:
        """Look at the operations of a block, before any of them changes."""
        self.note_whole(block)
        operations = [op.operation for op in block.operations]
        self.ranged.update(*(choice.members | choice.pieces for choice in find_free_choices(operations)))
        for expansion in find_expansions(operations):
            self.written_out |= dict.fromkeys(expansion.members, expansion)

    def note_whole(self, block: ir.Block) -> None:
        """Mark the values of which logarithms or sines are taken, those by which an index is chosen, and those of
        linear algebra, by way of elementwise operations, of those that move elements, and of products with tables
        (transforms, interpolation).

        The first spread over the whole range of exponents; of angles what is left of whole turns counts, of the third
        the differences, however small.

        # A = L U: L has elements of 1 and U of the size of A, in one matrix that is solved by
        # log(1e-20) = -46, and log(0) = -inf where f16 has rounded 1e-20 to 0
        # sin(x + d) = sin(x) + d cos(x): d is 2^-11 x in f16, a radian of 2000
        # arccosh(1 + x) = sqrt(2 x), and 0 where f16 has rounded 1 + x to 1
        # 1 / (1 - |x|^2) is 25,000 of |x| = 0.99998, and infinite of what f16 makes of it
        # d log(x) = dx / x: a divisor that only a constant keeps from 0 is read as a logarithm's argument is
        # argmax(softmax(x)) = argmax(x): the place of an element of f(x) is chosen by x, if f is bounded, too
        # argmin(|x|^2 - 2 x c) is argmin(-2 x c), unless |x|^2 takes the digits in which the distances differ
        """
        if block in self.noted:  # with its caller
            return
        self.noted.add(block)
        for op in reversed([op.operation for op in block.operations]):
            name, results = op.name, list(op.results)
            passes_on = name in kinds.MOVEMENT or (name in kinds.ELEMENTWISE and name not in kinds.BOUNDED)
            body = self.calls.callee_body(op)
            bodies = [region.blocks[0] for region in op.regions] if name in BRANCHES else [body] if body else []
            whole = (
                (self.logged, name in kinds.SINGULAR and _is_singular(op)),
                (self.angles, name in kinds.OF_ANGLES),
                (self.ranked, name in kinds.MAY_CHOOSE and kinds.chooses_index(op)),
                (self.solved, is_linear_algebra(op)),
                (self.differing, False),
                (self.distances, False),
            )
            if name in SUMS and not self.ranked.issuperset(results):
                self.distances.update(_beside_norms(op))
            for found, starts in whole:
                if starts:
                    found.update(v for i, v in enumerate(op.operands) if kinds.is_key(op, i))
                if not found.isdisjoint(results):
                    summed = found is self.angles or found is self.differing
                    adds = summed and name in kinds.REDUCTIONS and kinds.accumulates(op)
                    ranks = found is self.ranked and name in kinds.ELEMENTWISE
                    if passes_on or adds or ranks or self.is_transform(op):
                        found.update(op.operands)
                    for inner in bodies:
                        returned = terminator(inner).operands
                        found.update(v for v, r in zip(returned, results, strict=False) if r in found)
            divisor = divided_by(op) if self.update.isdisjoint(results) else None
            if divisor is not None and (vanishing := vanishing_differences(divisor)):
                self.differing.update(vanishing)
                self.logged.add(divisor)
                self._unbounded.update(results)
                self.quotients.update(results)
            guarded = None if divisor is None else guarded_divisor(op)
            # What the gradient of the quotient is multiplied by is beyond the type.
            if guarded is not None and not fits(guarded.slope, self.compute):
                self.logged.add(guarded.divisor)
                if not guarded.vanishes:
                    self.quotients.update(results)
            for inner in bodies:
                self.note_whole(inner)
            if body is not None:
                for found, _ in whole:
                    found.update(v for v, a in zip(op.operands, body.arguments, strict=False) if a in found)

    def read_whole(self, value: ir.Value) -> bool:
        """Whether a value is wanted as it is, and not as a narrow type stores it.

        It is by a function that is written out, as by the one operation that the function stands for.
        """
        for found in (
            self.returned,
            self.logged,
            self.angles,
            self.ranked,
            self.solved,
            self.quotients,
            self.differing,
            self.ranged,
            self.distances,
        ):
            if value in found:
                return True
        readers = [self.written_out.get(use.owner.operation) for use in value.uses]
        return bool(readers) and readers[0] is not None and all(reader is readers[0] for reader in readers)

    def is_moved_whole(self, value: ir.Value) -> bool:
        """Whether a value has the elements, moved, of one that is read whole, as what a loop writes into a stack has.

        # d log(x + c) = dx / (x + c): the backward loop divides by what the forward loop has stacked
        """
        return any(self.read_whole(each) for each in before_moves(value))

    def note_stacked(self, op: ir.Operation) -> None:
        """What is taken out of a stack is read whole as what was written into it."""
        if not self.whole_stacks.isdisjoint(op.operands):
            self.whole_stacks.update(op.results)
            self.logged.update(op.results)

    def is_transform(self, op: ir.Operation) -> bool:
        """Whether an operation is a product with a table: of an element the error is that of what is added up."""
        return op.name in kinds.PRODUCTS and any(self.is_table(operand) for operand in op.operands)

    def is_too_fine_for_fp8(self, op: ir.Operation) -> bool:
        """Whether a product has to be finer than the layers of a model: an index is chosen by it, a sine is taken of
        it, or it is a transform, which resamples or measures a signal.

        # sin(x + d) = sin(x) + d cos(x), where d is x / 16
        """
        result = op.results[0]
        return result in self.ranked or result in self.angles or self.is_transform(op)

    def is_table(self, value: ir.Value) -> bool:
        """Whether a value is computed of constants and positions alone, and in no loop."""
        pending = [value]
        while pending:
            current = pending[-1]
            op = defining_op(current)
            opaque = op is None or (len(op.regions) and op.name not in kinds.REDUCTIONS) or not len(op.operands)
            if current in self._tables or op is None or opaque:
                if current not in self._tables:
                    self._tables[current] = op is not None and op.name in ("stablehlo.constant", "stablehlo.iota")
                pending.pop()
                continue
            unknown = next((operand for operand in op.operands if operand not in self._tables), None)
            if unknown is not None and all(self._tables.get(operand, True) for operand in op.operands):
                pending.append(unknown)
                continue
            self._tables[current] = unknown is None and all(self._tables[operand] for operand in op.operands)
            pending.pop()
        return self._tables[value]

    def note_quotient(self, op: ir.Operation, held: Mapping[int, Held]) -> None:
        """Note whether the results of an operation are quotients by what may be all but 0, or elements of such.

        held: its operands. Statistics are no such divisors: what they normalise vanishes with them.

        # d(x y^-n) = y^-n dx - n x y^(-n - 1) dy: up to n c^(-n - 1) where |y| >= c is all that is known
        # d(e / s) of a sum s of exponentials e of any size: c / s and c / s^2, which e, as small as s, brings back
        """
        if op.name == "stablehlo.divide" and 1 in held and held[1].raw in self.of_any_size:
            self._unbounded.update(op.results)
            self.quotients.update(op.results)
        if op.name in ("stablehlo.divide", "stablehlo.rsqrt", "stablehlo.power"):
            index = 1 if op.name == "stablehlo.divide" else 0
            divisor = held.get(index)
            narrow = divisor is not None and (divisor.natural == self.compute or divisor.few > 0)
            found = op.results[0] in self.quotients or (index == 1 and op.operands[1] in self.logged)
            self.quotients.difference_update(op.results)
            if found and (narrow or op.results[0] in self._unbounded):
                self.quotients.update(op.results)
        if op.name in _HANDS_ON and not self.quotients.isdisjoint(op.operands):
            self.quotients.update(op.results)

    def is_derived(self, value: ir.Value) -> bool:
        """Whether a value is computed by the optimiser, or of what is."""
        if value in self.derived:
            return True
        # State behind a sharding constraint is state.
        return value in self.update and not isinstance(before_carriers(value), ir.BlockArgument)

    def are_own(self, values: list[ir.Value]) -> bool:
        """Whether all of some values are state or computed by the optimiser, one at least the latter."""
        derived = [self.is_derived(value) for value in values]
        return any(derived) and all(known or value in self.state for known, value in zip(derived, values, strict=True))

    def note_derived(self, op: ir.Operation, held: Mapping[ir.Value, Held]) -> bool:
        """Note whether an operation is the optimiser's, though none on the way from state to state elementwise.

        Of the model it reads the update, state and gradients alone: a momentum that is made orthogonal, the root of a
        statistic, a product of gradients that one is an average of.
        These are iterations of matrix polynomials whose terms cancel, and small beside the model's products.
        """
        others: list[ir.Value] = []
        derives = False
        for value in op.operands:
            if value not in held:
                continue
            if self.is_derived(value):
                derives = True
            elif held[value].from_model and value not in self.state:
                return False
            else:
                others.append(value)
        own = op.name in kinds.PRODUCTS and bool(others) and self.state.issuperset(others)
        if derives or own:
            self.derived.update(op.results)
        elif not self.state.isdisjoint(others):
            self.state.update(op.results)
        return derives or own

    def starts_derived(self, loop: ir.Operation, held: Mapping[ir.Value, Held]) -> list[int]:
        """What a loop carries from a constant on and computes of the optimiser's own alone.

        # X_0 = I, X <- X Q(M), M of a statistic of gradients: an inverse root; v_0 = 1, v <- A v / |A v|: its norm
        """
        body = loop.regions[1].blocks[0]
        found, inside = list[int](), Slice(self.calls, loop)
        for i, (start, last) in enumerate(zip(loop.operands, terminator(body).operands, strict=True)):
            argument = body.arguments[i]
            if start in held and not held[start].from_model and last != argument:
                entering = _entering(inside.behind([argument]), loop, held)
                own = [value for value in entering if value in self.state or self.is_derived(value)]
                if own and len(own) == len(entering):
                    found.append(i)
        return found

    def hand_on(self, values: list[ir.Value], places: list[ir.Value]) -> None:
        """Note that places (arguments of a function or of a loop's body, results) have values, one each."""
        for value, place in zip(values, places, strict=True):
            if self.is_derived(value):
                self.derived.add(place)
            elif value in self.state:
                self.state.add(place)
            if value in self.quotients:
                self.quotients.add(place)
            if value in self.of_any_size:
                self.of_any_size.add(place)
            if value in self.whole_stacks:
                self.whole_stacks.add(place)


def _entering(own: set[ir.Value], loop: ir.Operation, held: Mapping[ir.Value, Held]) -> set[ir.Value]:
    """What depends on arguments and enters some values of a loop from outside of it."""
    body, found = loop.regions[1].blocks[0], set[ir.Value]()
    for value in own:
        op = defining_op(value)
        for each in [value] if op is None else op.operands:
            if isinstance(each, ir.BlockArgument) and each.owner == body:
                found.add(loop.operands[each.arg_number])
            elif each not in own:
                found.add(each)
    return {value for value in found if value in held and held[value].from_model}


def _is_singular(op: ir.Operation) -> bool:
    """Whether only the exact operand of one of `SINGULAR` is kept from a singularity; log(1 + x) of x >= 0 has none."""
    return op.name != "stablehlo.log_plus_one" or interval(op.operands[0])[0] < 0


# |a - b|^2 = |a|^2 + |b|^2 - 2 a b: of a and b of one mean the norms are the larger by far, and unrounded
def _beside_norms(op: ir.Operation) -> list[ir.Value]:
    """What an operation adds to, or takes off, squared norms of rows that it repeats, or sums of two of these."""
    a, b = op.operands
    if _is_of_norms(a, 1):
        return [] if _is_of_norms(b, 1) else [b]
    return [a] if _is_of_norms(b, 1) else []


def _is_of_norms(value: ir.Value, depth: int) -> bool:
    op = defining_op(value)
    if op is not None and op.name in SUMS and depth:
        return _is_of_norms(op.operands[0], depth - 1) and _is_of_norms(op.operands[1], depth - 1)
    if op is None or op.name != "stablehlo.broadcast_in_dim":
        return False
    *_, moved = before_moves(value)
    op = defining_op(moved)
    if op is None or op.name != "stablehlo.reduce" or len(op.operands) != 2 or not kinds.accumulates(op):
        return False
    squares = defining_op(op.operands[0])
    return squares is not None and squares.name == _SQUARES and squares.operands[0] == squares.operands[1]
