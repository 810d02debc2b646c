"""State: arguments that a result replaces, and the sums by which it does.

What becomes of a carried value is told by its affine form over what it was, {old: a, source: c, ...}:

- a = 1, up to decay by run-time or tiny amounts: an *update*, w - r u. The value holds.
- a < 1: an *average*, b m + (1 - b) g, which forgets what it was and settles at the size of what enters.

Which arguments those are is decided once for the public function (`find_pairs`) and handed down to the functions and
loops that the new values come from (`mark_state`), as attributes. `state_sums` then finds the sums of a block.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator, walk
from scalify_hlo.analysis.name_stack import Direction, NameStacks
from scalify_hlo.analysis.products import has_backward_products
from scalify_hlo.bindings import ir
from scalify_hlo.module import traits
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.traits import BRANCHES, SUMS
from scalify_hlo.size.affine import AffineForms, Form
from scalify_hlo.size.coefficients import ONE, ZERO, Polynomial
from scalify_hlo.types import tensor_info

# On an argument of the public function: the index of the result that is its new value.
NEXT = "scalify.next"
# On a function: argument, result, argument, result, ... of its state. On a loop: indices of the carried values.
PAIRS = "scalify.state_pairs"
# On an argument of the public function: the index of the result that has its place in the trees of the step, which the
# caller knows. Less than `NEXT`: a function of a pair that returns a pair need not be a step.
PLACE = "scalify.place"
# The same by donation.
ALIASING = "tf.aliasing_output"

# What new state goes through before it is returned; of composites those that measure it and set its scale.
_STORING = ("stablehlo.convert", "stablehlo.composite", "stablehlo.optimization_barrier")
# Values that are looked at to tell whether what enters an average is made of the state itself.
_FEW = 16


@dataclasses.dataclass(frozen=True)
class StateSum:
    """A sum that makes the new value of a state, or a part of it.

    kind: "update" holds the state's scale, "average" takes that of what enters.
    state: the value that the state enters the block with.
    operand: which operand of the sum the state comes in by; None if that is not one of them alone.
    forgets: 1 - a, as far as it is known at compile time.
    enters: the one value that is averaged, where there is one.
    """

    kind: str
    state: ir.Value
    operand: int | None
    forgets: float | None
    enters: ir.Value | None


def find_pairs(module: ir.Module | None, function: ir.Operation, forms: AffineForms) -> dict[int, int]:
    """Argument -> result of the state of the public function: float tensors that a result replaces.

    Known from the attribute `NEXT` and from donation; else by affine form: a result that holds an argument of its type,
    or averages it with something, at its own place where that is known (`PLACE`). That x + f(x) is a step of training
    and not a residual block is seen from the derivative it takes (by names or by its matrix products), or from the
    averages beside it.

    module: the one to look for a derivative in; None where it is known that there is one.
    """
    block = function.regions[0].blocks[0]
    results = list(terminator(block).operands)
    pairs = _given_pairs(function, block, results, forms)
    taken, free = set(pairs.values()), set(range(len(block.arguments))) - pairs.keys()
    # What is returned as it is has that for its next value: where training began, of which new weights are a sum.
    free -= {ir.BlockArgument(value).arg_number for value in results if isinstance(value, ir.BlockArgument)}
    sources = {block.arguments[i]: i for i in free}
    types = {argument.type for argument in sources if tensor_info(argument.type).is_float}
    own_places = given_places(function)
    # Of arguments that a result holds alike, that at its own place among those of its type.
    places = [_places(v.type for v in block.arguments), _places(value.type for value in results)]
    candidates: list[tuple[float, int, int, int, bool]] = []
    for result, value in enumerate(results):
        if result in taken or value.type not in types or not isinstance(value, ir.OpResult):
            continue
        form = forms.of(value)
        for source, coefficient in form.items():
            argument = sources.get(source)
            if argument is not None and source.type == value.type and own_places.get(argument, result) == result:
                weight, averages = _likelihood(form, coefficient, sources.keys())
                if weight:
                    apart = abs(places[0][argument] - places[1][result])
                    candidates.append((-weight, apart, result, argument, averages))
    updates: dict[int, int] = {}
    averaged = False
    for _, _, result, argument, averages in sorted(candidates):
        if argument in free and result not in taken:
            free.discard(argument)
            taken.add(result)
            updates[argument] = result
            averaged |= averages
    if updates and (module is None or pairs or averaged or _takes_derivative(module)):
        pairs |= updates
    return dict(sorted(pairs.items()))


def _places(types: Iterable[ir.Type]) -> list[int]:
    """The place of each tensor among those of its type."""
    counts: dict[ir.Type, int] = {}
    places: list[int] = []
    for each in types:
        places.append(counts.get(each, 0))
        counts[each] = places[-1] + 1
    return places


def _likelihood(form: Form, coefficient: Polynomial, state: Collection[ir.Value]) -> tuple[float, bool]:
    """How likely a value is the next one of a source with this coefficient, 0 if it is not; whether by an average.

    state: what may be state.
    """
    if len(form) < 2:
        return 0.0, False
    number = coefficient.if_chosen
    settles = adds_up_to_1(form, coefficient)
    if number <= 0 or number > 1 + budget.ADDS_UP:
        mixes = settles or adds_up_to_1({source: c for source, c in form.items() if source in state}, coefficient)
        return (0.25 if mixes and coefficient.number is None else 0.0), settles
    return (number if number >= budget.STATE_LEFT else 0.0), settles and number >= budget.STATE_LEFT


def adds_up_to_1(form: Form, coefficient: Polynomial) -> bool:
    """Whether what enters comes in for what is forgotten: {state: a, source: 1 - a}."""
    entering = sum(form.values(), start=coefficient.times(-1))
    total = entering + coefficient
    number = coefficient.number
    if number is None:
        return total.number is not None and abs(total.number - 1) <= budget.ADDS_UP
    return entering.number is not None and abs(entering.number - (1 - number)) <= budget.ADDS_UP_RELATIVE * (1 - number)


def _given_pairs(
    function: ir.Operation, block: ir.Block, results: list[ir.Value], forms: AffineForms
) -> dict[int, int]:
    """Pairs that the module names, and donated arguments of which the result is made."""
    pairs: dict[int, int] = {}
    for i, given in enumerate(_attributes_of_arguments(function)):
        argument = block.arguments[i]
        if NEXT in given:
            pairs[i] = ir.IntegerAttr(given[NEXT]).value
        elif ALIASING in given and tensor_info(argument.type).is_float:
            result: int = ir.IntegerAttr(given[ALIASING]).value
            if argument in forms.of(results[result]) and len(forms.of(results[result])) > 1:
                pairs[i] = result
    return pairs


# (u, g) <- (g, g'): what lies in the place of g next is g', though u is all of g
def given_places(function: ir.Operation) -> dict[int, int]:
    """Argument -> result at its place in the trees of the step, where the caller knows."""
    given = enumerate(_attributes_of_arguments(function))
    return {i: ir.IntegerAttr(each[PLACE]).value for i, each in given if PLACE in each}


def _attributes_of_arguments(function: ir.Operation) -> list[ir.DictAttr]:
    """Of each argument, as far as any has attributes."""
    if "arg_attrs" not in function.attributes:
        return []
    return [ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes["arg_attrs"])]


def _takes_derivative(module: ir.Module) -> bool:
    calls = CallGraph(module)
    names = NameStacks(calls)
    functions = calls.functions.values()
    if any(names.direction(op) is Direction.BACKWARD for function in functions for op in walk(function)):
        return True
    return has_backward_products(module)


def becomes(forms: AffineForms, function: ir.Operation, pairs: Mapping[int, int]) -> dict[int, str]:
    """What becomes of each state: argument -> "update" (it holds), "average" (it forgets what it was) or "other"."""
    block = function.regions[0].blocks[0]
    results = terminator(block).operands
    found: dict[int, str] = {}
    for argument, result in pairs.items():
        form = forms.of(results[result])
        coefficient = form.get(block.arguments[argument], ZERO)
        if _holds(coefficient) and not adds_up_to_1(form, coefficient):
            found[argument] = "update"
        else:
            forgets = coefficient.number is None or budget.STATE_LEFT <= coefficient.number < 1
            found[argument] = "average" if coefficient.terms and forgets else "other"
    return found


def mark_state(forms: AffineForms, function: ir.Operation, pairs: Mapping[int, int]) -> None:
    """Leave the attribute `PAIRS` on a function, and on the functions and loops its new state is computed in.

    pairs: argument -> result.
    """
    if not pairs:
        return
    marked = set(pairs_of(function)) | set(pairs.items())
    _set_pairs(function, [n for pair in sorted(marked) for n in pair])
    block = function.regions[0].blocks[0]
    last = terminator(block)
    for argument, result in pairs.items():
        _descend(forms, block.arguments[argument], last.operands[result])


def _descend(forms: AffineForms, state: ir.Value, value: ir.Value) -> None:
    """Mark the loops and functions on the way from a state to its new value."""
    for part in _region(forms, value):
        op = defining_op(part)
        if op is None:
            continue
        index = ir.OpResult(part).result_number
        if op.name == "stablehlo.while" and state in forms.of(op.operands[index]):
            before = _indices(op)
            if index not in before:
                _set_pairs(op, sorted([*before, index]))
                body = op.regions[1].blocks[0]
                _descend(forms, body.arguments[index], terminator(body).operands[index])
        function = forms.callee(op) if op.name == "func.call" else None
        if function is not None:
            inner = function.regions[0].blocks[0]
            form = forms.of(terminator(inner).operands[index])
            places = [i for i, argument in enumerate(inner.arguments) if argument in form]
            first = next((i for i in places if state in _form(forms, op.operands[i])), None)
            if first is not None and (first, index) not in pairs_of(function):
                mark_state(forms, function, {first: index})


def _form(forms: AffineForms, value: ir.Value) -> Form:
    return forms.of(value) if tensor_info(value.type).is_float else {}


def _region(forms: AffineForms, value: ir.Value) -> Iterator[ir.Value]:
    """The values that an affine form was collected from, results of calls and loops included."""
    pending, seen = [value], {value}
    while pending:
        current = pending.pop()
        yield current
        for _, part in forms.terms(current) or ():
            if part not in seen:
                seen.add(part)
                pending.append(part)


def _shares(forms: AffineForms, value: ir.Value) -> dict[ir.Value, float]:
    """The values of `_region`, and how many times each enters `value`, at least half of it if any way that it enters by
    says so, as far as that is known at compile time; 0 for what is multiplied by a number of run time."""
    found, pending = {value: 1.0}, [value]
    while pending:
        current = pending.pop()
        for coefficient, part in forms.terms(current) or ():
            share = found[current] if coefficient is ONE else found[current] * coefficient.if_chosen
            if part not in found or found[part] < budget.STATE_LEFT <= share:  # once more at most
                found[part] = share
                pending.append(part)
    return found


def state_sums(forms: AffineForms, block: ir.Block) -> dict[ir.Value, StateSum]:
    """The sums of a block, of a function or of a loop's body, that its state is updated or averaged in.

    Averages are told by their coefficients, which add up to 1, wherever they stand; updates, which any sum x + y looks
    like, are sums on the way from a state to its new value.
    """
    found: dict[ir.Value, StateSum] = {}
    last = terminator(block)
    for argument, result in _pairs_of_block(block):
        state = block.arguments[argument]
        new = last.operands[result]
        returned = forms.of(new).get(state)
        shares: dict[ir.Value, float] | None = None
        for value in _region(forms, new):
            known = _of_sum(forms, value, state, paired=True) if _is_sum(value) else None
            if known is None:
                continue
            # (x + u) / 2 is no update, though x + u looks like one: half of x is left of it. Nor is x + g of
            # x - h (x + g), a gradient with its prior.
            if known.kind != "average":
                if returned is not None and not _holds(returned):
                    continue
                if value != new:
                    shares = _shares(forms, new) if shares is None else shares
                    if shares[value] < budget.STATE_LEFT:
                        continue
            found[value] = known
    for argument in block.arguments:
        for value in _sums_of(argument):
            if value not in found and (known := _of_sum(forms, value, argument, paired=False)) is not None:
                found[value] = known
    return found


def new_states(value: ir.Value, returned: dict[ir.Block, frozenset[int]]) -> Iterator[ir.Value]:
    """What becomes of a value, rounded or rescaled, that is returned as an argument's or a loop's new value.

    returned: which results of a block are new values, of the blocks that have been asked for; others are added.
    """
    for use in value.uses:
        op = use.owner.operation
        if op.name in ("func.return", "stablehlo.return"):
            block = op.block
            owner = block.owner.operation
            if owner.name in BRANCHES:
                yield from new_states(owner.results[use.operand_number], returned)
                continue
            if block not in returned:
                returned[block] = frozenset(result for _, result in _pairs_of_block(block))
            if use.operand_number in returned[block]:
                yield value
        elif (op.name in _STORING and use.operand_number == 0) or _adds_epsilon(op, use.operand_number):
            yield from new_states(op.results[0], returned)


def _adds_epsilon(op: ir.Operation, operand: int) -> bool:
    """Whether an operation adds a positive constant to an operand, which leaves what is nonnegative so."""
    if op.name != "stablehlo.add":
        return False
    number = number_behind(op.operands[1 - operand])
    return number is not None and number > 0


def unmark_state(module: ir.Module, *, loops: bool, named: bool) -> None:
    """Take the attributes away again; where there are no loops, functions alone have them.

    named: the arguments of the public function keep `NEXT`.
    """
    private = {PLACE} if named else {PLACE, NEXT}
    for op in walk(module.operation) if loops else [op.operation for op in module.body.operations]:
        if op.name in ("func.func", "stablehlo.while") and PAIRS in op.attributes:
            del op.attributes[PAIRS]
        if op.name == "func.func" and "arg_attrs" in op.attributes:
            given = [ir.DictAttr(each) for each in ir.ArrayAttr(op.attributes["arg_attrs"])]
            if any(PLACE in each or NEXT in each for each in given):
                kept = [{own.name: own.attr for own in each if own.name not in private} for each in given]
                op.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in kept])


def _of_sum(forms: AffineForms, value: ir.Value, state: ir.Value, *, paired: bool) -> StateSum | None:
    form = forms.of(value)
    coefficient = form.get(state)
    if coefficient is None:
        return None
    op = value.owner.operation
    operand = _holder(forms, state, list(op.operands))
    others = [source for source in form if source != state]
    enters = others[0] if len(others) == 1 else None
    number = coefficient.number
    averages = bool(others) and adds_up_to_1(form, coefficient)
    if not averages and operand is not None and number is not None and len(op.operands) == 2:
        enters = _averaged(forms, op.operands[1 - operand], state, 1 - number)
        averages = enters is not None
    if averages and any(_is_made_of(source, state) for source in others):
        return None  # Newton's (x + a / x) / 2 settles where the function's fixed point is, not at the size of a / x
    if _holds(coefficient) and not averages:
        return StateSum("update", state, operand, None, enters) if paired else None
    if number is not None and not budget.STATE_LEFT <= number <= 1:
        return None
    if (averages and (enters or operand is not None)) or (paired and number is not None and operand is not None):
        return StateSum("average", state, operand, None if number is None else 1 - number, enters if averages else None)
    return None


# a m + (1 - a) w, also of a w that is a sum itself: weights that the same step has updated
def _averaged(forms: AffineForms, term: ir.Value, state: ir.Value, forgets: float) -> ir.Value | None:
    """The value that a term is `forgets` times of, however it is computed; None if there is none."""
    factor, value = 1.0, term
    while (terms := forms.terms(value)) is not None:
        rest = [each for each in terms if set(forms.of(each[1])) != {state}]
        if len(rest) != 1 or rest[0][0].number is None or rest[0][1] == value:  # a loop's result is once itself
            break
        factor, value = factor * rest[0][0].number, rest[0][1]
    if forgets <= 0 or abs(factor - forgets) > budget.ADDS_UP_RELATIVE * forgets or state in forms.of(value):
        return None
    return value


def _is_made_of(value: ir.Value, state: ir.Value) -> bool:
    """Whether a value is an elementwise function of a state, a few operations long."""
    pending, seen = [value], {value}
    while pending and len(seen) < _FEW:
        op = defining_op(pending.pop())
        if op is None or not traits.has(op.name, traits.Trait.ELEMENTWISE):
            continue
        for operand in op.operands:
            if operand == state:
                return True
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return False


def _holder(forms: AffineForms, state: ir.Value, operands: list[ir.Value]) -> int | None:
    """The operand that a state comes in by; where it is in both, as in w - r (u + d w), the one with all of it."""
    parts = [forms.of(operand).get(state) for operand in operands]
    holders = [i for i, part in enumerate(parts) if part is not None]
    if len(holders) > 1:
        holders = [i for i in holders if (part := parts[i]) is not None and part.constant_part >= budget.STATE_LEFT]
    return holders[0] if len(holders) == 1 else None


def _holds(coefficient: Polynomial) -> bool:
    """1, or 1 and something small: a decay at a rate known at run time."""
    number = coefficient.number
    return coefficient.constant_part >= 1 - budget.HOLDS if number is None else number >= 1 - budget.HOLDS


def _is_sum(value: ir.Value) -> bool:
    op = defining_op(value)
    return op is not None and op.name in SUMS


def _sums_of(argument: ir.Value) -> Iterator[ir.Value]:
    """The sums that an argument enters multiplied by a number or moved, but not by way of other sums."""
    if not tensor_info(argument.type).is_float:
        return
    pending = [argument]
    steps = 0
    while pending and steps < 64:
        for use in pending.pop().uses:
            op = use.owner.operation
            steps += 1
            if op.name in SUMS:
                yield op.results[0]
                pending += [r for r in op.results if op.name == "stablehlo.subtract"]
            elif op.name in ("stablehlo.multiply", "stablehlo.divide", "stablehlo.convert", "stablehlo.negate"):
                pending.append(op.results[0])


def pairs_of(function: ir.Operation) -> list[tuple[int, int]]:
    """(argument, result) of the state of a function that `mark_state` has marked."""
    numbers = _indices(function)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _pairs_of_block(block: ir.Block) -> list[tuple[int, int]]:
    owner = block.owner.operation
    if owner.name == "stablehlo.while":
        return [(i, i) for i in _indices(owner)] if owner.regions[1].blocks[0] == block else []
    return pairs_of(owner) if owner.name == "func.func" else []


def _indices(op: ir.Operation) -> list[int]:
    return list(ir.DenseI64ArrayAttr(op.attributes[PAIRS])) if PAIRS in op.attributes else []


def _set_pairs(op: ir.Operation, numbers: list[int]) -> None:
    op.attributes[PAIRS] = ir.DenseI64ArrayAttr.get(numbers)
