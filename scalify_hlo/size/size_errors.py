"""How far the size of a tensor may be from its estimate: of how many contractions it is a product.

A size is estimated from those of the operands; what the estimate of a contraction leaves out is how its operands are
correlated, which training changes. Such an error goes into later values as a power of itself:

# f(s x) = s^k f(x): a value of degree k in x is off by s^k when x is off by s

Degrees follow from the operations alone: a product adds them, a quotient subtracts them, a root halves them, and a sum
has those of the term that has most, for it is no further from its estimate than the furthest. A normalisation is then
what it is in any spelling, of degree 0 in all that comes in: x / sqrt(mean(x^2)), exp(x) / sum(exp(x)), x / amax(x).
A sum of elements in places that are always the same, as a trace, has an error of its own: they may differ. So has a
matrix that numbers are joined to.
Bounded functions (tanh, logistic, clamp between constants) are of degree 0 as well, so that silu(x) is of degree 1. The
errors of a value are the sum of the magnitudes of its degrees in all contractions (and exponentials) behind it.
Arguments have none: they come with their scale, which for state is measured.

Errors of several contractions may cancel, those of a power of one do not: generalised means of features take x^4,
splines are cubic polynomials. What is wrong by 4 is then wrong by 2^8, and its tails more so, before any product of the
power is looked at: it is x that is to be measured. Powers that cancel in a quotient, element by element
as in p(x) / q(x), are taken all the same; of a statistic that rows are divided by, a power of a norm, sizes are known.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator
from scalify_hlo.analysis.intervals import before_moves, interval
from scalify_hlo.analysis.origins import unconverted
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.traits import BRANCHES, is_linear_algebra
from scalify_hlo.recognition.expansions import find_expansions
from scalify_hlo.types import tensor_info

# Source of error (by number) -> degree in it.
_Degrees = Mapping[int, float]
_NONE: _Degrees = {}
# Values of more sources become a source of their own: residual streams have all earlier layers behind them.
_MOST_SOURCES = 64
# Of what marks a value and is no error.
_NO_WEIGHT = 2.0**-20
# How many values are looked back at.
_FAR = 50
# Parts of a join of numbers.
_SEVERAL = 3

CONTRACTIONS = frozenset({"stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution"})
BOUNDED = frozenset(
    f"stablehlo.{name}"
    for name in (
        "tanh", "logistic", "sine", "cosine", "tan", "atan2", "compare", "sign", "is_finite", "constant", "iota",
        "log", "log_plus_one", "rng", "rng_bit_generator",
    )
)  # fmt: skip
EXPONENTIALS = frozenset({"stablehlo.exponential", "stablehlo.exponential_minus_one"})
POWERS = {"stablehlo.sqrt": 0.5, "stablehlo.rsqrt": -0.5, "stablehlo.cbrt": 1 / 3, "chlo.square": 2.0}
_MAY_SOLVE = frozenset({"stablehlo.cholesky", "stablehlo.triangular_solve", "stablehlo.custom_call"})
# Operations of which only one operand is data: the others say where, or which.
_FIRST = frozenset({"stablehlo.gather", "stablehlo.dynamic_slice", "stablehlo.reduce_precision", "stablehlo.sort"})


class SizeErrors:
    """The errors behind each floating-point value of a module; a value in a function that several call has the most."""

    def __init__(
        self,
        module: ir.Module,
        products: Mapping[ir.Operation, float] = {},
        degree: float = math.inf,
        gradients: Iterable[ir.Value] = (),
        readers: Iterable[ir.Operation] = (),
        solved: Iterable[ir.Operation] = (),
    ):
        """products: contractions whose results are to have no more errors than given: operands are measured.

        degree: what enters them is to have no higher power of one error: what comes with the error is measured.
        gradients: of which is to be known whether they are inverse to sizes.
        readers: contractions that read what is computed of these.
        solved: contractions of which operands are measured that are computed of solutions, factors or eigenvalues, or
        of powers by what is no constant.
        """
        self.measured: list[ir.Value] = []  # operands of `products`, in program order
        self.powers: list[ir.Value] = []  # of which high powers enter them
        # Those of `gradients` that have a size's error as a divisor, and how many errors what is computed of them,
        # where contractions read it, has been multiplied by since: infinitely many where these cancel its own.
        # d log(p q) = q dp / (p q): as far below its estimate as q is above it, and their product is as estimated
        self.inverse: dict[ir.Value, float] = {}
        self._gradients, self._readers = frozenset(gradients), frozenset(readers)
        self._solved, self._solutions = frozenset(solved), set[int]()
        self._marks: dict[int, tuple[ir.Value, _Degrees]] = {}  # a source of no weight -> an inverse one, its degrees
        self._degree, self._products = degree, products
        self._read_by_products = _behind(self._products)
        self._births: dict[int, ir.Value] = {}  # source of error -> the value that it comes in with
        self._graph = CallGraph(module)
        self._most: dict[ir.Value, float] = {}
        self._weights: list[float] = []  # of each source: 1, or what it stands for
        self._compacted: dict[frozenset[tuple[int, float]], _Degrees] = {}
        while self._look():
            pass

    def _look(self) -> bool:
        """Go through the module; whether that asks for another look, with values measured of which powers are taken."""
        powers = len(self.powers)
        self.measured, self._weights = [], []
        self._births.clear()
        self._most.clear()
        self.inverse.clear()
        self._marks.clear()
        self._compacted.clear()
        self._solutions.clear()
        for name in self._graph.public:
            block = self._graph.body(name)
            self._block(block, [_NONE] * len(block.arguments))
        return len(self.powers) > powers

    def of(self, value: ir.Value) -> float:
        """How many errors of size the value is a product of; 0 for what is normalised, bounded or an argument."""
        return self._most.get(value, 0.0)

    def _block(
        self, block: ir.Block, arguments: Sequence[_Degrees], outer: Mapping[ir.Value, _Degrees] = {}
    ) -> list[_Degrees]:
        """The degrees of what a block returns."""
        known = dict(outer)
        for argument, degrees in zip(block.arguments, arguments, strict=True):
            self._set(known, argument, degrees)
        operations = [child.operation for child in block.operations]
        written_out = {each.members[-1]: each.root for each in find_expansions(operations)}
        for op in operations:
            if op in written_out:
                # Of the pieces one applies to an element, where the function is about as large as it.
                self._set(known, op.results[0], known.get(written_out[op], _NONE))
                continue
            operands: list[_Degrees] = []
            for operand in op.operands:
                operands.append(known.get(operand, _NONE))
            for result, degrees in zip(op.results, self._operation(op, operands, known), strict=True):
                self._set(known, result, degrees)
        return [known.get(operand, _NONE) for operand in terminator(block).operands]

    def _set(self, known: dict[ir.Value, _Degrees], value: ir.Value, degrees: _Degrees) -> None:
        if value in self.powers:
            degrees = _NONE
        known[value] = degrees
        if degrees:
            if value in self._gradients and min(degrees.values()) < 0:
                self.inverse.setdefault(value, 0.0)
                mark = self._new(_NO_WEIGHT)
                self._marks[next(iter(mark))] = value, degrees
                known[value] = _product(degrees, mark)
            self._most[value] = max(self._most.get(value, 0.0), self._total(degrees))

    def _total(self, degrees: _Degrees) -> float:
        total = 0.0
        for source, degree in degrees.items():
            total += abs(degree) * self._weights[source]
        return total

    def _operation(self, op: ir.Operation, operands: list[_Degrees], known: dict[ir.Value, _Degrees]) -> list[_Degrees]:
        name = op.name
        callee = self._graph.callee_body(op)
        if callee is not None:
            return self._block(callee, operands)
        if name == "stablehlo.while":
            return self._loop(op, operands, known)
        if name in BRANCHES:
            branches = [self._block(region.blocks[0], [], known) for region in op.regions]
            return [self._largest(results) for results in zip(*branches, strict=True)]
        if op in self._solved:
            self._measure_solutions(op, operands, known)
        if op in self._products:
            for operand in operands:
                self._note_power(operand)
            self._measure(op, operands, known)
        if op in self._readers:
            self._look_back(operands)
        if name == "stablehlo.divide" and op in self._read_by_products and not _is_spread(op.operands[1]):
            self._note_power(_cancelled(*operands))
        return [self._compact(self._one(op, operands))] * len(op.results)

    def _measure(self, op: ir.Operation, operands: list[_Degrees], known: dict[ir.Value, _Degrees]) -> None:
        """Take operands of a contraction to be measured until its result has no more errors than are borne."""
        while self._total(_product(*operands)) + 1 > self._products[op]:
            side = max((0, 1), key=lambda i: self._total(operands[i]))
            if not operands[side]:
                return
            value = op.operands[side]
            if value not in self.measured:
                self.measured.append(value)
            for i, operand in enumerate(op.operands):
                if operand == value:
                    operands[i] = known[value] = _NONE

    # dC = L^-T P L^-1: of an inverse of a matrix whose condition is not known
    def _measure_solutions(self, op: ir.Operation, operands: list[_Degrees], known: dict[ir.Value, _Degrees]) -> None:
        """Take operands of a contraction to be measured that linear algebra has given, however else they are known."""
        for i, operand in enumerate(operands):
            if not self._solutions.isdisjoint(operand):
                if op.operands[i] not in self.measured:
                    self.measured.append(op.operands[i])
                operands[i] = known[op.operands[i]] = _NONE

    def _look_back(self, operands: Iterable[_Degrees]) -> None:
        """Note the errors that what a contraction reads of inverse gradients has besides theirs."""
        for operand in operands:
            for source in operand.keys() & self._marks.keys():
                value, degrees = self._marks[source]
                since = self._total(_product(operand, _power(degrees, -1)))
                self.inverse[value] = max(self.inverse[value], since if self._total(operand) >= since else math.inf)

    def _note_power(self, degrees: _Degrees) -> None:
        """Note the values that too high a power is taken of."""
        for source, degree in degrees.items():
            value = self._births.get(source)
            if abs(degree) > self._degree and value is not None and value not in self.powers:
                self.powers.append(value)

    def _loop(self, op: ir.Operation, inits: list[_Degrees], known: Mapping[ir.Value, _Degrees]) -> list[_Degrees]:
        """What an iteration hands on unchanged is what came in; the rest has an error of its own."""
        body = op.regions[1].blocks[0]
        returned = terminator(body).operands
        unchanged = [value == argument for value, argument in zip(returned, body.arguments, strict=True)]
        carried = [
            init if same or not _is_float(argument) else self._new(1.0)
            for init, same, argument in zip(inits, unchanged, body.arguments, strict=True)
        ]
        results = self._block(body, carried, known)
        return [
            init if same else self._compact(self._largest([init, result]))
            for init, same, result in zip(inits, unchanged, results, strict=True)
        ]

    def _one(self, op: ir.Operation, operands: list[_Degrees]) -> _Degrees:
        name = op.name
        if name in BOUNDED or name.startswith("chlo.erf") or not operands:
            return _NONE
        if name in _MAY_SOLVE and self._solved and is_linear_algebra(op):
            return self._solution(self._largest(operands))
        if name == "stablehlo.clamp" and all(number_behind(op.operands[i], converted=True) is not None for i in (0, 2)):
            return _NONE
        if name in CONTRACTIONS:
            both = _product(operands[0], operands[1])
            is_marked = not self._marks.keys().isdisjoint(both)
            return both if is_marked else _product(both, self._new(_error(op), op.results[0]))
        if name in EXPONENTIALS:
            return self._new(1.0, op.results[0]) if operands[0] else _NONE
        if name == "stablehlo.multiply":
            return _product(operands[0], operands[1])
        if name == "stablehlo.divide":
            if number_behind(op.operands[0], converted=True) is not None and _is_one_and_exponential(op.operands[1]):
                return _NONE  # logistic(x) = 1 / (1 + exp(-x))
            quotient = _product(operands[0], _power(operands[1], -1))
            # x / (1 + x) is x where x is far below 1: of degree 0 to 1
            if operands[0].keys().isdisjoint(operands[1]) or not _is_one_and_more(op.operands[1]):
                return quotient
            return max(quotient, operands[0], key=self._total)
        if name in POWERS:
            return _power(operands[0], POWERS[name])
        if name == "stablehlo.power":
            low, high = interval(op.operands[1])  # that of a gradient is a difference, n - 1
            if low == high and math.isfinite(low):
                return _power(operands[0], low)
            # (10^-6)^q and ((10^-6)^q)^(1/q - 1), of which products are taken: of means of powers, and their gradients
            return self._solution(self._new(1.0)) if operands[0] or operands[1] else _NONE
        if name == "stablehlo.select":
            return self._largest(operands[1:])
        if name == "stablehlo.concatenate" and _is_of_numbers(op) and not any(operands):
            return self._new(1.0, op.results[0])
        if name == "stablehlo.reduce" and body_kind(op) == "multiply":
            return _power(operands[0], _reduced(op))
        if name == "stablehlo.reduce" and operands[0] and _is_of_some_places(op.operands[0]):
            return _product(operands[0], self._new(1.0))
        return operands[0] if name in _FIRST else self._largest(operands)

    def _solution(self, degrees: _Degrees) -> _Degrees:
        """Degrees with a source of its own, of no weight, which `solved` contractions look for."""
        if not self._solved:
            return degrees
        source = self._new(_NO_WEIGHT)
        self._solutions.update(source)
        return _product(degrees, source)

    def _largest(self, terms: Sequence[_Degrees]) -> _Degrees:
        """Of a sum: those of the term with most errors, for it is no further from its estimate than the furthest."""
        return max(terms, key=self._total, default=_NONE)

    def _new(self, weight: float, value: ir.Value | None = None) -> _Degrees:
        if value is not None:
            self._births[len(self._weights)] = value
        self._weights.append(weight)
        return {len(self._weights) - 1: 1.0}

    def _compact(self, degrees: _Degrees) -> _Degrees:
        if len(degrees) <= _MOST_SOURCES:
            return degrees
        key = frozenset(degrees.items())  # the same sum, computed again, is the same source
        if key not in self._compacted:
            self._compacted[key] = self._new(self._total(degrees))
        return self._compacted[key]


# (1 + e W)^2 = 1 + 2 e W + e^2 W^2: not sqrt(N) times as large as the square of an element
def _error(contraction: ir.Operation) -> float:
    """log2 of how far the size of a contraction's result may be from that of independent terms.

    A matrix by itself may be anything between no larger than it is and N times as large, of N terms.
    """
    a, b = contraction.operands[0], contraction.operands[1]
    if a != b or contraction.name != "stablehlo.dot_general":
        return 1.0
    numbers = stablehlo.DotDimensionNumbers(contraction.attributes["dot_dimension_numbers"])
    if list(numbers.lhs_contracting_dimensions) == list(numbers.rhs_contracting_dimensions):
        return 1.0  # a Gram matrix
    shape = tensor_info(a.type).shape
    dims: list[int] = list(numbers.lhs_contracting_dimensions)
    return max(1.0, math.log2(math.prod(max(shape[d], 1) for d in dims)) / 2)


def _product(a: _Degrees, b: _Degrees) -> _Degrees:
    if not a or not b:
        return a or b
    total = {source: a.get(source, 0.0) + b.get(source, 0.0) for source in {**a, **b}}
    return {source: degree for source, degree in total.items() if abs(degree) > 1e-6}


# (s^3 p) / (s^3 q) = p / q: of degree 0 in s, while both sides are wrong by s^3
def _cancelled(dividend: _Degrees, divisor: _Degrees) -> _Degrees:
    """The powers that a quotient has in common on both sides."""
    return {
        source: min(abs(degree), abs(divisor[source]))
        for source, degree in dividend.items()
        if degree * divisor.get(source, 0.0) > 0
    }


def _power(x: _Degrees, exponent: float) -> _Degrees:
    return {source: degree * exponent for source, degree in x.items()} if exponent else _NONE


def _reduced(op: ir.Operation) -> int:
    """How many elements a reduction makes one of."""
    before, after = tensor_info(op.operands[0].type), tensor_info(op.results[0].type)
    return before.size // max(after.size, 1) if before.is_static else 1


# trace(y^T y) = sum over i of (y^T y)_ii, which are sqrt(K) times as large as the other elements
def _is_of_some_places(value: ir.Value) -> bool:
    """Whether a tensor has zeros in places that are always the same, as a diagonal has around it: what is left may be
    of another size than all of it, as variances are beside covariances."""
    op = defining_op(unconverted(value))
    if (
        op is None
        or op.name != "stablehlo.select"
        or all(number_behind(member, converted=True) != 0 for member in op.operands[1:])
    ):
        return False
    pending, seen = [op.operands[0]], set[ir.Value]()
    while pending:
        current = pending.pop()
        defining = defining_op(current)
        if defining is None or len(defining.regions) or len(seen) > _FAR:
            return False
        seen.add(current)
        pending += [operand for operand in defining.operands if operand not in seen]
    return True


# [[c, -s, 400 c], ..., [0, 0, 1]]: a product of such is not the square of their root mean square in any place
def _is_of_numbers(op: ir.Operation) -> bool:
    """Whether a join has several parts of one row each, which are in units of their own: those of a transform, say."""
    dimension: int = ir.IntegerAttr(op.attributes["dimension"]).value
    parts: set[ir.Value] = set()
    for value in op.operands:
        if tensor_info(value.type).shape[dimension] == 1:
            *_, moved = before_moves(value)
            parts.add(moved)
    return len(parts) >= _SEVERAL and any(number_behind(value, converted=True) is None for value in parts)


def _behind(products: Iterable[ir.Operation]) -> set[ir.Operation]:
    """The operations of a block that its products are computed of: an optimiser's quotients are none of them."""
    pending, found = list(products), set[ir.Operation]()
    while pending:
        for operand in pending.pop().operands:
            op = defining_op(operand)
            if op is not None and op not in found:
                found.add(op)
                pending.append(op)
    return found


def _is_spread(value: ir.Value) -> bool:
    """Whether a value is a number of each row, or one of all, that was spread to a tensor."""
    op = defining_op(unconverted(value))
    return op is not None and op.name == "stablehlo.broadcast_in_dim"


def _is_float(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and tensor_info(value.type).is_float


def _is_one_and_exponential(value: ir.Value) -> bool:
    op = defining_op(unconverted(value))
    if op is None or op.name != "stablehlo.add":
        return False
    terms = [defining_op(unconverted(term)) for term in op.operands]
    exponential = any(term is not None and term.name == "stablehlo.exponential" for term in terms)
    return exponential and _added_number(op) is not None


def _is_one_and_more(value: ir.Value) -> bool:
    """Whether a value, spread perhaps, is a sum with a number that is no guard against zeros."""
    *_, moved = before_moves(value)
    number = _added_number(defining_op(moved))
    return number is not None and abs(number) > budget.GUARD


def _added_number(op: ir.Operation | None) -> float | None:
    """The number that an operation adds to a tensor."""
    if op is None or op.name != "stablehlo.add":
        return None
    for term in op.operands:
        number = number_behind(term, converted=True)
        if number is not None:
            return number
    return None
