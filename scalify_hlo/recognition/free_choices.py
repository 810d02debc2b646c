"""Free choices: by the size of a tensor a program chooses how to compute what is the same either way.

# p(|x|) ? 2^75 x : x, its square, root and quotients: |k x| / k = |x| and k x / |k x| = x / |x| for every k > 0

Programs write it to keep squares in the range of their type: `jnp.hypot` and the magnitude of complex numbers from jax
0.12 on, norms by Blue's method. Nothing that leaves such a part tells which way was taken. So the choice may be made by
the *data*, and the scale is that of x: by values, the factors would become scales of 2^75, and of 2^150 beside their
inverses.

Whether a choice is free is computed, not matched: each region between the numbers that the size is compared with gives
every value that depends on the choice a form 2^w f(...), by the degrees of homogeneity of the operations. A value has
left the part where the forms of all regions are equal. Elements that were chosen differently do not meet: a sum runs
over dimensions along which the choice is one.
"""

import dataclasses
import heapq
import itertools
import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.analysis.origins import unconverted
from scalify_hlo.bindings import ir
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.comparisons import TURNED, direction_of
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.identity import identity
from scalify_hlo.module.traits import CARRYING, RESHAPING, Trait, has, of
from scalify_hlo.recognition.choice_axes import Axes, axes_of_result, own_axes
from scalify_hlo.recognition.range_reductions import has_size_of
from scalify_hlo.types import tensor_info

# Decimals of a logarithm that count: reciprocals are rounded to f32; of f64 to f64.
_DECIMALS, _DECIMALS_F64 = 5, 11
# How many multiplications by numbers are looked back at from a value.
_STEPS = 4
# How many values depend on a choice at most.
_MOST = 200
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "LT": lambda x, c: x < c,
    "LE": lambda x, c: x <= c,
    "GT": lambda x, c: x > c,
    "GE": lambda x, c: x >= c,
}
_BOOLEAN: dict[str, Callable[[bool, bool], bool]] = {
    "stablehlo.and": lambda x, y: x and y,
    "stablehlo.or": lambda x, y: x or y,
    "stablehlo.xor": lambda x, y: x != y,
}
_EXTREMA = ("stablehlo.add", "stablehlo.maximum", "stablehlo.minimum")


@dataclasses.dataclass(frozen=True)
class FreeChoice:
    """One part of a block.

    size: what is compared. predicates: the comparisons. numbers: values that are one number or another by the choice.
    pieces: products of tensors with, and quotients by, numbers that the choice is about. choices: selections by it.
    sized: of these, multiples of a tensor whose size is compared. members: all float values that depend on the choice.
    """

    size: ir.Value
    predicates: frozenset[ir.Value]
    numbers: frozenset[ir.Value]
    pieces: frozenset[ir.Value]
    choices: frozenset[ir.Value]
    sized: frozenset[ir.Value]
    members: frozenset[ir.Value]

    @property
    def rewritten(self) -> frozenset[ir.Value]:
        """The values whose operations are rewritten otherwise than by their rules."""
        return self.predicates | self.numbers | self.pieces | self.choices


def find_free_choices(operations: Sequence[ir.Operation]) -> list[FreeChoice]:
    """The free choices among the original operations of a block."""
    compared: dict[ir.Value, list[_Comparison]] = {}
    for op in operations:
        if op.name == "stablehlo.compare" and _chooses_factor(op.results[0]) and (found := _comparison(op)) is not None:
            compared.setdefault(found.size, []).append(found)
    order = {identity(op): i for i, op in enumerate(operations)} if compared else {}
    parts = [_Part(operations, order, size, found) for size, found in compared.items()]
    return [part.as_choice() for part in parts if part.is_free()]


@dataclasses.dataclass(frozen=True)
class _Comparison:
    """`size` (before conversions) compared with a number other than 0, from its left side."""

    op: ir.Operation
    size: ir.Value
    number: float
    direction: str


def _comparison(op: ir.Operation) -> _Comparison | None:
    direction = direction_of(op)
    if direction not in _HOLDS or not tensor_info(op.operands[0].type).is_float:
        return None
    numbers = [_number(operand) for operand in op.operands]
    index = next((i for i, number in enumerate(numbers) if number and math.isfinite(number)), None)
    if index is None or numbers[1 - index] is not None:
        return None
    return _Comparison(
        op, unconverted(op.operands[1 - index]), numbers[index] or 0.0, direction if index else TURNED[direction]
    )


def _chooses_factor(predicate: ir.Value) -> bool:
    """Whether a predicate, spread perhaps, chooses a number or a multiple of a tensor."""
    for use in predicate.uses:
        op = use.owner.operation
        if op.name in RESHAPING and _chooses_factor(op.results[0]):
            return True
        if op.name == "stablehlo.select" and use.operand_number == 0:
            for value in list(op.operands)[1:]:
                factored = defining_op(unconverted(value))
                if _number(value) or (factored is not None and _factored(factored, ()) is not None):
                    return True
    return False


def _number(value: ir.Value) -> float | None:
    """The number that all elements of a float constant, or of one broadcast, are."""
    number = number_behind(unconverted(value))
    return float(number) if number is not None and tensor_info(value.type).is_float else None


def _factored(op: ir.Operation, numbers: Collection[ir.Value]) -> ir.Value | None:
    """The tensor that an operation multiplies with a number, or divides by one; None for other operations."""
    if op.name not in ("stablehlo.multiply", "stablehlo.divide"):
        return None
    x, y = op.operands
    is_number = [each in numbers or _number(each) is not None for each in (x, y)]
    if is_number == [False, True]:
        return x
    return y if is_number == [True, False] and op.name == "stablehlo.multiply" else None


# What a value is where one way is taken: a truth value, or 2^w times a form, which is known by its number.
@dataclasses.dataclass(frozen=True)
class _Form:
    log2: float
    base: int


_Forms = tuple[_Form | bool, ...]


class _Part:
    """The operations that depend on one size's comparisons with numbers."""

    def __init__(
        self, operations: Sequence[ir.Operation], order: Mapping[int, int], size: ir.Value,
        comparisons: Sequence[_Comparison],
    ):  # fmt: skip
        """operations: of a block. order: the place of each, by its identity."""
        self.size = size
        self.comparisons = comparisons
        self._known: dict[Hashable, int] = {}
        # Zero and infinities, of any scale.
        self._indifferent = [self._base(str(number)) for number in (0.0, math.inf, -math.inf)]
        self._zero, self._one, self._minus_one = (self._base(str(each)) for each in (0.0, 1.0, -1.0))
        self._forms: dict[ir.Value, _Forms] = {}  # of what differs from one way to the other
        self._axes: dict[ir.Value, Axes] = {}  # of the same: along which dimensions of `size` each dimension runs
        self._decimals = _DECIMALS_F64 if tensor_info(size.type).element == "f64" else _DECIMALS
        self._ends = False  # the choice is not free
        self._ways = 0
        self._choices: set[ir.Value] = set()
        self._follow(operations, order)

    def is_free(self) -> bool:
        """Whether something depends on the choice, and nothing that leaves the part does."""
        return not self._ends and any(tensor_info(value.type).is_float for value in self._forms)

    def as_choice(self) -> FreeChoice:
        """What the rules are to know of it."""
        members = {value for value in self._forms if tensor_info(value.type).carries_scale}
        numbers = {value for value in members if all(self._is_one(form) for form in self._forms[value])}
        pieces: dict[ir.Value, ir.Value] = {}
        for value in [*members, *self._choices]:
            op = value.owner.operation
            near = [op, *map(defining_op, map(unconverted, op.operands))] if value in self._choices else [op]
            for each in near:
                factored = None if each is None else _factored(each, numbers)
                if each is not None and factored is not None:
                    pieces[each.results[0]] = factored
        sized = [each for each in [*pieces, *self._choices] if has_size_of(self.size, self._source(each, pieces))]
        return FreeChoice(
            self.size, frozenset(each.op.results[0] for each in self.comparisons), frozenset(numbers),
            frozenset(pieces) - numbers, frozenset(self._choices) - numbers, frozenset(sized), frozenset(members),
        )  # fmt: skip

    def _is_one(self, form: "_Form | bool") -> bool:
        return isinstance(form, _Form) and form.base == self._one

    def _source(self, value: ir.Value, pieces: Mapping[ir.Value, ir.Value]) -> ir.Value:
        """The tensor that a choice between multiples, or a piece, is a multiple of."""
        value = unconverted(value)
        while value in self._choices or value in pieces:
            value = unconverted(pieces[value] if value in pieces else value.owner.operands[1])
        return value

    # --- forms ------------------------------------------------------------------------------------------------

    def _follow(self, operations: Sequence[ir.Operation], order: Mapping[int, int]) -> None:
        """Find the forms of what depends on the choice, in the order of the operations."""
        numbers = sorted({each.number for each in self.comparisons})
        between = [(a + b) / 2 for a, b in itertools.pairwise(numbers)]
        sizes = [numbers[0] - abs(numbers[0]) / 2, *between, 2 * abs(numbers[-1]) + numbers[-1]]
        self._ways = len(sizes)
        pending: list[int] = []
        for each in self.comparisons:
            holds = tuple(_HOLDS[each.direction](size, each.number) for size in sizes)
            self._note(each.op.results[0], holds, own_axes(each.op.results[0]), order, pending)
        seen = -1
        while pending and not self._ends:
            place = heapq.heappop(pending)
            op = operations[place]
            if place == seen:
                continue
            seen = place
            axes = axes_of_result(op, [self._axes.get(each) for each in op.operands]) if len(op.results) == 1 else None
            if axes is None or (len(op.regions) and not _is_reduction(op)):
                self._ends = True
                return
            operands = [self._of(operand) for operand in op.operands]
            found = tuple(self._result(op, [forms[way] for forms in operands]) for way in range(self._ways))
            if op.name == "stablehlo.select" and op.operands[0] in self._forms:
                self._choices.add(op.results[0])
            if len(set(found)) > 1:
                self._note(op.results[0], found, axes, order, pending)

    def _note(
        self, value: ir.Value, forms: _Forms, axes: Axes, order: Mapping[int, int], pending: list[int]
    ) -> None:  # fmt: skip
        """Note what depends on the choice, and where it is used; what leaves the block tells which way was taken."""
        self._forms[value], self._axes[value] = forms, axes
        for use in value.uses:
            place = order.get(identity(use.owner.operation))
            if place is None or len(self._forms) > _MOST:
                self._ends = True
                return
            heapq.heappush(pending, place)

    def _of(self, value: ir.Value) -> _Forms:
        return self._forms.get(value) or (self._alike(value, _STEPS),) * self._ways

    def _alike(self, value: ir.Value, steps: int) -> _Form:
        """The form of a value that does not depend on the choice: c x of a product with a number."""
        number = _number(value)
        if number is not None:
            return self._of_number(number)
        op = defining_op(value)
        if op is None or not steps:
            return _Form(0.0, self._base(value))
        if op.name == "stablehlo.convert" and tensor_info(op.operands[0].type).is_float:
            return self._alike(op.operands[0], steps)
        if op.name in ("stablehlo.multiply", "stablehlo.divide") and any(_number(each) for each in op.operands):
            found = self._result(op, [self._alike(operand, steps - 1) for operand in op.operands])
            assert isinstance(found, _Form)
            return found
        return _Form(0.0, self._base(value))

    def _of_number(self, number: float) -> _Form:
        if number == 0 or not math.isfinite(number):
            return _Form(0.0, self._base(str(abs(number) if number == 0 else number)))
        return self._form(math.log2(abs(number)), self._one if number > 0 else self._minus_one)

    def _base(self, key: Hashable) -> int:
        """Equal numbers for equal forms."""
        return self._known.setdefault(key, len(self._known))

    def _result(self, op: ir.Operation, operands: "Sequence[_Form | bool]") -> "_Form | bool":
        """The form of the result of an operation that has one, from those of its operands."""
        name, truths = op.name, [each for each in operands if isinstance(each, bool)]
        if name == "stablehlo.select" and isinstance(operands[0], bool):
            return operands[1] if operands[0] else operands[2]
        if name in _BOOLEAN and len(truths) == 2:
            return _BOOLEAN[name](*truths)
        if name == "stablehlo.not" and truths:
            return not truths[0]
        if truths and name in CARRYING | RESHAPING:
            is_float = tensor_info(op.results[0].type).is_float
            return self._of_number(float(truths[0])) if is_float else truths[0]
        forms = [each for each in operands if isinstance(each, _Form)]
        if truths or not self._is_scaled(op, forms):
            return _Form(0.0, self._key(op, operands))
        degrees = of(name).degrees
        if degrees is not None and len(degrees) == len(forms):
            return self._power(op, forms, [float(degree) for degree in degrees])
        if has(name, Trait.MOVES):  # of indices: where elements are taken from
            return self._form(forms[0].log2, self._key(op, [_Form(0.0, forms[0].base), *forms[1:]]))
        return self._joint(op, forms)

    # int(2^a x) is not 2^a int(x), nor is (2^a n) / k of integers 2^a (n / k); what is rounded to few bits has bounds
    def _is_scaled(self, op: ir.Operation, forms: Sequence[_Form]) -> bool:
        """Whether the result of an operation is of real numbers, of such or of integer constants, or compares them."""
        if op.name == "stablehlo.convert" and not tensor_info(op.operands[0].type).is_float:
            return self._is_number(forms[0].base)
        if op.name == "stablehlo.reduce_precision":
            return False
        return op.name == "stablehlo.compare" or tensor_info(op.results[0].type).is_float

    # f(2^a x, 2^b y) = 2^(m a + n b) f(x, y)
    def _power(self, op: ir.Operation, forms: Sequence[_Form], degrees: Sequence[float]) -> _Form:
        log2 = sum(form.log2 * degree for form, degree in zip(forms, degrees, strict=True))
        bases = [form.base for form in forms]
        if self._zero in bases and all(degree > 0 or form.base != self._zero
                                       for form, degree in zip(forms, degrees, strict=True)):  # fmt: skip
            return _Form(0.0, self._zero)
        if op.name in CARRYING or (op.name in RESHAPING and self._is_number(bases[0])):
            return self._form(log2, bases[0])
        if op.name in ("stablehlo.multiply", "stablehlo.divide"):
            signed = {self._one: 1, self._minus_one: -1}
            sign, rest = math.prod(signed.get(base, 1) for base in bases), [b for b in bases if b not in signed]
            if not rest:
                return self._form(log2, self._one if sign > 0 else self._minus_one)
            if sign > 0 and len(rest) == 1 and (op.name == "stablehlo.multiply" or rest[0] == bases[0]):
                return self._form(log2, rest[0])
        if (
            all(base == self._one for base in bases)
            and has(op.name, Trait.ELEMENTWISE)
            and op.name != "stablehlo.negate"
        ):
            return self._form(log2, self._one)
        return self._form(log2, self._key(op, [_Form(0.0, base) for base in bases]))

    # f(s x, t y) = s f(x, y t/s), of zeros too; nothing comes out of other functions
    def _joint(self, op: ir.Operation, forms: Sequence[_Form]) -> _Form:
        if op.name == "stablehlo.add" and self._zero in [form.base for form in forms]:
            return next((form for form in forms if form.base != self._zero), forms[0])
        live = [form for form in forms if form.base not in self._indifferent]
        compared = op.name == "stablehlo.compare"
        if not live or not (compared or has(op.name, Trait.JOINT) or _is_reduction(op)):
            return _Form(0.0, self._key(op, forms))
        common = live[0].log2
        relative = [self._form(form.log2 - common if form in live else 0.0, form.base) for form in forms]
        return self._form(0.0 if compared else common, self._key(op, relative))

    def _form(self, log2: float, base: int) -> _Form:
        return _Form(round(log2, self._decimals) + 0.0, base)

    def _is_number(self, base: int) -> bool:
        return base in (self._zero, self._one, self._minus_one)

    def _key(self, op: ir.Operation, operands: "Sequence[_Form | bool]") -> int:
        region = body_kind(op) if len(op.regions) else ""
        return self._base((op.name, tuple(op.attributes.items()), op.results[0].type, region, tuple(operands)))


def _is_reduction(op: ir.Operation) -> bool:
    """Whether an operation is a sum or an extremum of one tensor over dimensions."""
    if op.name != "stablehlo.reduce" or len(op.results) != 1:
        return False
    inner = [each.operation.name for each in op.regions[0].blocks[0].operations]
    return len(inner) == 2 and inner[0] in _EXTREMA
