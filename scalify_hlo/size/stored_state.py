"""State that has to keep the precision that it is computed in, because rounding what is stored would spoil a sum.

# a - b, of stored a and b, is as wrong as a and b are, though it may be far smaller than either

Prodigy and DoG measure how far weights have come from where they started, centred RMSprop takes E[g^2] - E[g]^2. Such
a difference is told by what is computed: an affine form whose coefficients add up to 0, where it enters something that
is not affine, for b + (a - b) / 2 is no difference. Most of both sides must be state: a gradient is new in each step,
and a difference from it as wrong as the gradient itself.

# m <- a m + (1 - a) x stays where it is, once (1 - a) |x - m| is less than half of the last digit of m

An average of gradients is moved by what they vary by, which is about their size; one of the weights has to follow what
comes near it.

# p <- p + 0.01 v + 10^-4 |tanh(z)|, m <- 0.99 m + 0.01 mean(x)

What a forward pass adds to a state, no gradient corrects: it is lost for good where it is below the last digit.

# C <- b C + (1 - b) G G^T: no eigenvalue of C is below 0, and those of C + E are by up to |E|

What roots or inverses of it are computed by diverges of the first. Rounding in f16 makes |E| 2^-11 of the largest.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from scalify_hlo import budget
from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.analysis.intervals import before_moves
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import Trait, has
from scalify_hlo.size.affine import AffineForms, Form
from scalify_hlo.size.coefficients import ONE, ZERO, Polynomial, is_choice
from scalify_hlo.size.state import adds_up_to_1
from scalify_hlo.types import tensor_info

_PRODUCTS = frozenset({"stablehlo.multiply", "chlo.square"})
# Products within products that are followed.
_DEPTH = 3

_Weights = dict[ir.Value, float]


def cancelling(forms: AffineForms, state: set[ir.Value], operations: Iterable[ir.Operation]) -> set[ir.Value]:
    """The state, arguments of one function, of which its operations read differences.

    operations: of this function, regions within them left out.
    """
    found: set[ir.Value] = set()
    read = set[ir.Value]()
    for op in operations:
        is_sum = True
        for result in op.results:
            is_sum = is_sum and tensor_info(result.type).is_float and forms.terms(result) is not None
        if not is_sum:
            for value in op.operands:
                if isinstance(value.type, ir.RankedTensorType):
                    read.add(value)
    for value in read:
        info = tensor_info(value.type)
        if info.is_float and info.rank:
            found |= _of_difference(forms, state, value)
    return found


def averages_to_keep(
    forms: AffineForms, pairs: Mapping[ir.Value, ir.Value], is_of_model: Callable[[ir.Value], bool | None]
) -> set[ir.Value]:
    """The state of which a step leaves so much that in a narrow type it would leave all, and that which is a sum of
    products of matrices with their own transposes, as statistics of gradients are.

    pairs: arguments of one function -> the results that are their next values. is_of_model: whether a forward pass
    computes a value, False of a backward pass, None of neither: what a state averages of it no gradient corrects.
    """
    found = set[ir.Value]()
    for state, result in pairs.items():
        form = _form(forms, result)
        if state in form and (
            _is_slow(form, state, pairs.keys(), is_of_model) or any(_is_gram(forms, source) for source in form)
        ):
            found.add(state)
    return found


def _is_gram(forms: AffineForms, value: ir.Value) -> bool:
    """Whether a value, moved, is a multiple of the product of a matrix with its own transpose."""
    op = defining_op(_of_multiple(forms, value))
    if op is None or not has(op.name, Trait.CONTRACTS) or len(op.operands) != 2:
        return False
    x, y = (_of_multiple(forms, operand) for operand in op.operands)
    return x == y


def _of_multiple(forms: AffineForms, value: ir.Value) -> ir.Value:
    """What a value is a multiple of, moved."""
    while True:
        *_, moved = before_moves(value)
        form = forms.of(moved)
        source = next(iter(form)) if len(form) == 1 else moved
        if source in (value, moved):
            return moved
        value = source


def _is_slow(
    form: Form, state: ir.Value, known: Iterable[ir.Value], is_of_model: Callable[[ir.Value], bool | None]
) -> bool:
    if len(form) < 2:
        return False
    forgets = ONE + form[state].times(-1)
    others = [form[each] for each in known if each in form and each != state]
    # What enters for what is forgotten is state itself, up to decay.
    rest = forgets + sum(others, start=ZERO).times(-1)
    if others and _largest(rest) <= budget.ADDS_UP_RELATIVE * _largest(forgets):
        return _of_run_time(forgets) or _largest(forgets) < budget.FOLLOWS_STATE
    number = forgets.number
    if number is None:
        return False
    if number < budget.FOLLOWS_STATE and _is_uncorrected(form, state, known, is_of_model):
        return True
    # A decay of what holds, w - r (g + d w), averages nothing.
    return 0 < number < budget.FOLLOWS and adds_up_to_1(form, form[state])


def _is_uncorrected(
    form: Form, state: ir.Value, known: Iterable[ir.Value], is_of_model: Callable[[ir.Value], bool | None]
) -> bool:
    """Whether what enters a state is other state and what a forward pass computes: a mean over a batch, of which the
    form has the sum; what a policy chooses, which moves a position."""
    found = False
    for each in form:
        if each != state and each not in known:
            of_model = is_of_model(each)
            if of_model is False:
                return False
            found = found or of_model is True
    return found


# (c x) y = c (x y)
def _form(forms: AffineForms, value: ir.Value) -> Form:
    """The form of a value with the numbers in front of its products' factors in its coefficients."""
    form = dict(forms.of(value))
    for source in form:
        for factor in _factors(source):
            inner = forms.of(factor)
            if len(inner) == 1 and (number := next(iter(inner.values())).number) is not None:
                form[source] = form[source].times(number)
    return form


def _largest(x: Polynomial) -> float:
    return max((abs(number) for _, number in x.terms), default=0.0)


def _of_run_time(x: Polynomial) -> bool:
    """Whether a coefficient is known at run time only; of one that is taken or not, what is taken counts."""
    return any(not is_choice(atom) for monomial, _ in x.terms for atom in monomial)


def _of_difference(forms: AffineForms, state: set[ir.Value], value: ir.Value) -> set[ir.Value]:
    """The state on both sides of a difference; none if the value is no difference of stored values."""
    form = {source: c for source, c in _form(forms, value).items() if forms.number(source) is None}
    total = sum(form.values(), start=ZERO)
    if len(form) < 2 or total.terms:
        return set()
    # The sign of a number of run time is not known: it counts on both sides.
    sides = [
        {source: abs(c.terms[0][1]) for source, c in form.items() if c.number is None or c.number * sign > 0}
        for sign in (1, -1)
    ]
    if any(_stored_share(forms, state, side, _DEPTH) < budget.MOST for side in sides):
        return set()
    return {leaf for source in form for leaf in _leaves(forms, state, source, _DEPTH)}


def _stored_share(forms: AffineForms, state: set[ir.Value], side: _Weights, depth: int) -> float:
    """Which part of a sum comes from state, 0 to 1."""
    total = sum(side.values())
    stored = sum(weight for source, weight in side.items() if _is_stored(forms, state, source, depth))
    return stored / total if total else 0.0


def _is_stored(forms: AffineForms, state: set[ir.Value], source: ir.Value, depth: int) -> bool:
    """Whether a value is state, or a product of sums that are mostly state."""
    if source in state:
        return True
    factors = _factors(source) if depth else []
    sums = [{s: abs(c.terms[0][1]) for s, c in forms.of(factor).items()} for factor in factors]
    return bool(sums) and all(_stored_share(forms, state, each, depth - 1) >= budget.MOST for each in sums)


def _leaves(forms: AffineForms, state: set[ir.Value], source: ir.Value, depth: int) -> Iterator[ir.Value]:
    """The state that a source of a form is, or is a product of."""
    if source in state:
        yield source
    for factor in _factors(source) if depth else []:
        for each in forms.of(factor):
            yield from _leaves(forms, state, each, depth - 1)


def _factors(value: ir.Value) -> list[ir.Value]:
    op = defining_op(value)
    return list(op.operands) if op is not None and op.name in _PRODUCTS else []


# log(k) = 12 of a rate k, which moves by 10^-2 in a step: f16 has steps of 2^-7 there
def is_few(value: ir.Value) -> bool:
    """Whether a value is a few numbers, which cost nothing in f32: rates and positions, whose logarithms are large."""
    info = tensor_info(value.type)
    return info.is_static and info.rank == 1 and info.size <= budget.FEW_NUMBERS
