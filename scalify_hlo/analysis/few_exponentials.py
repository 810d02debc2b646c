"""Exponentials of any size that are measured: those of a few numbers that tensors are multiplied by (rates and
temperatures that are learned as logarithms), and what products of matrices read of others.

# exp(s x) = exp(x)^s: how large an exponential is does not follow from the scale of what it is taken of

One of few numbers is measured for next to nothing, and as a factor its error goes into all that it enters: into the
gradients of n inner steps at a learned rate as its n-th power. Of others f32 holds the size until a product of matrices
reads a narrower type: d exp(z) = exp(z) dz, rounded with a scale 2^20 too small, is the largest number.

# softplus(x) = log(1 + exp(x)): exp(x) below 0, as of deviations softplus(w) of weights w that begin at -5

Of what a program is given, weights or inputs, and of a sum with such, a layer's with a bias, it is such an exponential:
of what else layers give, which has either sign, it is as large as that.
"""

from collections.abc import Iterable, Iterator, Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, defining_op, enters_unchanged, only_reader, walk
from scalify_hlo.analysis.exponents import EXPONENTIALS, Exponentials
from scalify_hlo.analysis.following import follow
from scalify_hlo.analysis.intervals import MOVES, before_moves
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.traits import SUMS, Trait, has, names
from scalify_hlo.types import tensor_info

_MOVED = names(Trait.MOVES | Trait.ASSEMBLES)
# How many values are looked at to find that one is spread.
_FAR = 64
_LOGARITHMS = ("stablehlo.log", "stablehlo.log_plus_one")


def unbounded_exponentials(calls: CallGraph, element: str) -> list[ir.Value]:
    """Exponentials that have no bound in a type, or are far from 1."""
    known = Exponentials(calls)
    found: list[ir.Value] = []
    for function in calls.functions.values():
        for op in walk(function):
            name = op.name
            if name in EXPONENTIALS and known.may_leave(op, element):
                found.append(op.results[0])
            elif name == "stablehlo.log_plus_one" and _is_exponential_of_given(calls, op):
                found.append(_whole_softplus(op.results[0]))
    return found


def _is_exponential_of_given(calls: CallGraph, logarithm: ir.Operation) -> bool:
    """Whether an operation is log(1 + exp(x)) of an argument x of the program, but for numbers and signs."""
    exponential = defining_op(logarithm.operands[0])
    if exponential is None or exponential.name != "stablehlo.exponential":
        return False
    pending, seen = [exponential.operands[0]], set[ir.Value]()
    while pending and len(seen) < _FAR:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        op, across = defining_op(value), calls.across(value)
        if across:
            pending += across
        elif op is None:
            entering = enters_unchanged(value)
            if entering is None:
                return ir.BlockArgument(value).owner.owner.operation.name == "func.func"
            pending.append(entering)
        elif _hands_on(op):
            numbers = [number_behind(operand, converted=True) for operand in op.operands]
            terms = [x for x, number in zip(op.operands, numbers, strict=True) if number is None]
            if len(terms) > 1:  # x w + b: how large b is decides
                return op.name in SUMS and any(_is_given(calls, term) for term in terms)
            pending += terms
        else:
            return False
    return False


def _is_given(calls: CallGraph, value: ir.Value) -> bool:
    """Whether a value is an argument of the program, moved or carried unchanged."""
    *_, value = before_moves(value)
    across = calls.across(value)
    if across:
        return all(_is_given(calls, each) for each in across)
    if defining_op(value) is not None:
        return False
    entering = enters_unchanged(value)
    if entering is not None:
        return _is_given(calls, entering)
    return ir.BlockArgument(value).owner.owner.operation.name == "func.func"


def _whole_softplus(logarithm: ir.Value) -> ir.Value:
    """max(x, 0) + log(1 + exp(-|x|)), or what is chosen of that, for NaN; the logarithm where it is all."""
    value = logarithm
    for name in ("stablehlo.add", "stablehlo.select"):
        reader = only_reader(value)
        if reader is not None and reader.name == name and len(reader.results) == 1:
            value = reader.results[0]
    return value


def few_exponentials(calls: CallGraph, exponentials: Iterable[ir.Value]) -> Iterator[ir.Value]:
    """Those of exponentials without a bound that are few numbers and are spread to more elements, in loops too."""
    for value in exponentials:
        info = tensor_info(value.type)
        few = info.is_static and info.size <= budget.FEW_NUMBERS and value.owner.name != "stablehlo.power"
        if few and _is_spread(calls, value, info.size):
            yield value


def contracted_exponentials(calls: CallGraph, main: str, exponentials: Iterable[ir.Value]) -> list[ir.Value]:
    """Those tensors of exponentials without a bound of which products of matrices read, outside of loops.

    They read what is computed of such exponentials elementwise, but for what is bounded.
    """
    found = dict[ir.Value, None]()
    sources = {value: frozenset([value]) for value in exponentials if tensor_info(value.type).rank}
    if not sources:
        return []

    def hand_on(ways: Iterable[Sequence[ir.Value]], places: Iterable[ir.Value]) -> None:
        for values, place in zip(ways, places, strict=True):
            read = frozenset[ir.Value]().union(*(sources.get(value, ()) for value in values))
            if read:
                sources[place] = read

    def look_at(op: ir.Operation) -> None:
        read = frozenset[ir.Value]().union(*(sources.get(value, ()) for value in op.operands))
        if has(op.name, Trait.CONTRACTS):
            found.update(dict.fromkeys(read))
        elif read and _hands_on(op) and op.results[0] not in sources:
            sources[op.results[0]] = read

    follow(calls, main, look_at, hand_on)
    return list(found)


def _hands_on(op: ir.Operation) -> bool:
    """Whether a result is as large as an operand is."""
    computes = has(op.name, Trait.ELEMENTWISE) and not has(op.name, Trait.BOUNDED) and op.name not in _LOGARITHMS
    moves = op.name in _MOVED and not has(op.name, Trait.COLLECTIVE)
    return len(op.results) == 1 and (computes or moves) and tensor_info(op.results[0].type).is_float


def _is_multiple(op: ir.Operation, value: ir.Value) -> bool:
    """Whether an operation multiplies a value, or divides it by a number: exp(x) / sum(exp(x)) has no size."""
    if op.name == "stablehlo.divide":
        return op.operands[0] == value and number_behind(op.operands[1]) is not None
    return op.name in ("stablehlo.negate", "stablehlo.multiply")


def _is_spread(calls: CallGraph, value: ir.Value, count: int) -> bool:
    """Whether more elements than a value has are as large as it: what it is moved to, or what is computed of it."""
    pending, seen = [value], set[ir.Value]()
    while pending and len(seen) < _FAR:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        for use in current.uses:
            op = use.owner.operation
            callee = calls.callee_body(op)
            if op.name in MOVES and len(op.results) == 1:
                if tensor_info(op.results[0].type).size > count:
                    return True
                pending.append(op.results[0])
            elif op.name == "stablehlo.while":
                pending.append(op.regions[1].blocks[0].arguments[use.operand_number])
            elif callee is not None:
                pending.append(callee.arguments[use.operand_number])
            elif _is_multiple(op, current) and tensor_info(op.results[0].type).size <= count:
                pending.append(op.results[0])
    return False
