"""Values as affine forms: sum of coefficient * source, however the program spells it.

m + (1 - b)(g - m), b m + (1 - b) g and -(-b m - (1 - b) g) are one form, {m: b, g: 1 - b}. Sources are where the
walk ends: arguments, and results of operations that are not affine. Coefficients are numbers known at compile time or
polynomials in scalars of run time (a schedule's learning rate).

Operations that only carry a value are walked through: converts, reshapes, barriers, constraints, calls, branches.
"""

from collections.abc import Callable, Hashable, Mapping

from scalify_hlo.analysis.calls import callee_name, defining_op, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import Number
from scalify_hlo.module.identity import is_scale_marker
from scalify_hlo.module.traits import Trait, is_identity_call, names
from scalify_hlo.size.coefficients import ONE, ZERO, Polynomial, choice, is_choice
from scalify_hlo.types import tensor_info

Form = Mapping[ir.Value, Polynomial]
# A value as a sum of coefficient * value, one operation back; None at a source.
Terms = list[tuple[Polynomial, ir.Value]] | None
Callee = Callable[[ir.Operation], ir.Operation | None]

# A form of more sources than this is not followed further: the value is a source itself.
_MOST_SOURCES = 24
# Operand 0, of a barrier the operand at the place of the result, reappears: its elements moved or rounded at most.
_CARRIES = (names(Trait.CARRIES) | {"stablehlo.reshape", "stablehlo.transpose", "stablehlo.reverse"}) - {
    "stablehlo.custom_call"
}


class AffineForms:
    """Affine forms of the values of one module. Results are remembered; the module must not change meanwhile.

    number: the number that all elements of a value equal, if that is known at compile time.
    callee: the function that a call refers to, if it is known.
    """

    def __init__(self, number: Number, callee: Callee):
        self.number = number
        self.callee = callee
        self._forms: dict[ir.Value, Form] = {}
        self._terms: dict[ir.Value, Terms] = {}

    def of(self, value: ir.Value) -> Form:
        """The form of a value over the sources of its own function or region (and of those around it).

        No recursion: chains of sums are as long as programs are.
        """
        pending = [value]
        while pending:
            current = pending[-1]
            if current in self._forms:
                pending.pop()
                continue
            terms = self.terms(current)
            missing: list[ir.Value] = []
            for _, part in terms or ():
                if part not in self._forms and part != current:
                    missing.append(part)
            if missing:
                pending += missing
                continue
            pending.pop()
            self._forms[current] = self._combined(current, terms)
        return self._forms[value]

    def _combined(self, value: ir.Value, terms: Terms) -> Form:
        if terms is None:
            return {value: ONE}
        form: dict[ir.Value, Polynomial] = {}
        if len(terms) == 1 and terms[0][0] is ONE and terms[0][1] != value:
            form = dict(self._forms[terms[0][1]])
        else:
            for coefficient, part in terms:
                inner = {value: ONE} if part == value else self._forms[part]
                for source, power in inner.items():
                    form[source] = form.get(source, ZERO) + coefficient * power
            form = {source: c for source, c in form.items() if c.terms}
        large = len(form) > _MOST_SOURCES
        for coefficient in form.values():
            large = large or coefficient.is_large
        return {value: ONE} if large or _is_bounded_source(value, form) else form

    def terms(self, value: ir.Value) -> Terms:
        """A value as a sum of values one operation back; None where it is a source."""
        if value not in self._terms:
            op = defining_op(value)
            is_float = tensor_info(value.type).is_float
            self._terms[value] = self._one_back(op, value) if op is not None and is_float else None
        return self._terms[value]

    def _one_back(self, op: ir.Operation, value: ir.Value) -> Terms:
        name = op.name
        operands = op.operands
        if name in _CARRIES:
            source = operands[ir.OpResult(value).result_number if name == "stablehlo.optimization_barrier" else 0]
            return [(ONE, source)] if tensor_info(source.type).is_float else None
        match name:
            case "stablehlo.add":
                return [(ONE, operands[0]), (ONE, operands[1])]
            case "stablehlo.subtract":
                return [(ONE, operands[0]), (ONE.times(-1), operands[1])]
            case "stablehlo.negate":
                return [(ONE.times(-1), operands[0])]
            case "stablehlo.multiply":
                return self._product(operands[0], operands[1])
            case "stablehlo.divide":
                divisor = self.scalar(operands[1])
                return None if divisor is None else [(_inverse(divisor), operands[0])]
            case "stablehlo.select":
                chosen = choice("where", operands[0])
                return [(chosen, operands[1]), (ONE + chosen.times(-1), operands[2])]
            case "stablehlo.clamp":  # bounds leave the size of what is within them, state above all
                return [(ONE, operands[1])]
            case "stablehlo.maximum" | "stablehlo.minimum":
                bounds = [self.scalar(operand) is not None for operand in operands]
                return [(ONE, operands[bounds.index(False)])] if any(bounds) and not all(bounds) else None
            case "stablehlo.broadcast_in_dim":
                same = tensor_info(operands[0].type).size == tensor_info(value.type).size
                return [(ONE, operands[0])] if same else None
            case "stablehlo.case" | "stablehlo.if":
                # Of one that is rewritten already the regions are gone.
                known = len(op.regions) <= _MOST_SOURCES and all(len(region.blocks) for region in op.regions)
                return _branches(op, value) if known else None
            case "stablehlo.custom_call":
                return [(ONE, operands[0])] if is_identity_call(op) else None
            case "stablehlo.composite" if is_scale_marker(op):
                return [(ONE, operands[0])] if ir.OpResult(value).result_number == 0 else None
            case "func.call":
                return self._call(op, value)
            case "stablehlo.while":
                return self._loop(op, value)
            case _:
                return None

    def _product(self, x: ir.Value, y: ir.Value) -> Terms:
        numbers = [self.scalar(y), self.scalar(x)]
        known = [None if n is None else n.number for n in numbers]
        first = 1 if numbers[0] is None or (known[0] is None and known[1] is not None) else 0
        coefficient = numbers[first]
        return None if coefficient is None else [(coefficient, (x, y)[first])]

    def scalar(self, value: ir.Value) -> Polynomial | None:
        """A tensor whose elements are all one number, as that number; None for any other.

        Of tensors of one element, which is always so, None too if it is computed of tensors: it is a gradient as well
        as it is a number, and g^2 is no multiple of g.
        """
        known = self.number(value)
        if known is not None:
            return Polynomial.constant(known)
        if tensor_info(value.type).rank == 0:
            return self._of_rank_0(value)
        op = defining_op(value)
        if op is None:
            return None
        if op.name in ("stablehlo.broadcast_in_dim", "stablehlo.convert", "stablehlo.reshape"):
            one = op.operands[0]
            is_own = tensor_info(value.type).size == 1 and _is_of_tensors(one)
            return None if is_own else self.scalar(one)
        return None

    def _of_rank_0(self, value: ir.Value, depth: int = 6) -> Polynomial:
        """A scalar as a polynomial in scalars: sums and products are followed a few operations back."""
        known = self.number(value)
        if known is not None:
            return Polynomial.constant(known)
        op = defining_op(value)
        if op is None or not depth:
            return Polynomial.atom(value)
        found: Polynomial | None = None
        match op.name:
            case "stablehlo.convert" if tensor_info(op.operands[0].type).is_float:
                found = self._of_rank_0(op.operands[0], depth - 1)
            case "stablehlo.add":
                a, b = (self._of_rank_0(v, depth - 1) for v in op.operands)
                found = a + b
            case "stablehlo.subtract":
                a, b = (self._of_rank_0(v, depth - 1) for v in op.operands)
                found = a + b.times(-1)
            case "stablehlo.negate":
                found = self._of_rank_0(op.operands[0], depth - 1).times(-1)
            case "stablehlo.multiply":
                a, b = (self._of_rank_0(v, depth - 1) for v in op.operands)
                found = a * b
            case "stablehlo.divide":
                a, b = (self._of_rank_0(v, depth - 1) for v in op.operands)
                found = a * _inverse(b)
            case _:
                pass
        return Polynomial.atom(value) if found is None or found.is_large else found

    def _call(self, op: ir.Operation, value: ir.Value) -> Terms:
        """The form of a result over the function's arguments, with the call's operands for them."""
        function = self.callee(op)
        if function is None or callee_name(op) is None:
            return None
        block = function.regions[0].blocks[0]
        inner = self.of(terminator(block).operands[ir.OpResult(value).result_number])
        places = {argument: i for i, argument in enumerate(block.arguments)}
        terms: list[tuple[Polynomial, ir.Value]] = []
        rest = ZERO
        for source, coefficient in inner.items():
            # A scalar of the function, in a coefficient, is another number at each call.
            local = _renamed(coefficient, op)
            if source in places:
                terms.append((local, op.operands[places[source]]))
            else:
                rest = ONE
        return [*terms, *([(ONE, value)] if rest.terms else [])] if terms else None

    def _loop(self, op: ir.Operation, value: ir.Value) -> Terms:
        """What enters a loop and what its iterations add to it, where each iteration is affine in what it carries.

        # c <- a c + t, n times: a^n c + the rest
        """
        index = ir.OpResult(value).result_number
        body = op.regions[1].blocks[0]
        last, carried = terminator(body).operands[index], body.arguments[index]
        if last == carried:
            return [(ONE, op.operands[index])]
        coefficient = self.of(last).get(carried)
        if coefficient is None:
            return None
        power = ONE if coefficient.number == 1 else Polynomial.atom(("iterated", value))
        return [(power, op.operands[index]), (ONE, value)]


def _is_bounded_source(value: ir.Value, form: Form) -> bool:
    """Whether a value is a multiple of one computed source that a clamp bounds, so that it has the bound's size.

    # clamp(-c, g / eps, c) is of size c, however large g / eps is
    """
    op = defining_op(value)
    if op is None or op.name != "stablehlo.clamp" or len(form) != 1:
        return False
    return isinstance(next(iter(form)), ir.OpResult)


def _is_of_tensors(value: ir.Value) -> bool:
    """Whether the operation that gives a number takes tensors of rank 1 and more."""
    op = defining_op(value)
    return op is not None and any(tensor_info(operand.type).rank for operand in op.operands)


def _inverse(x: Polynomial) -> Polynomial:
    number = x.number
    if number is not None:
        return Polynomial.constant(1 / number) if number else Polynomial.atom("infinity")
    if len(x.terms) == 1:
        monomial, factor = x.terms[0]
        return Polynomial(((tuple(sorted((("inverse", atom) for atom in monomial), key=hash)), 1 / factor),))
    return Polynomial.atom(("inverse", x.terms))


def _branches(op: ir.Operation, value: ir.Value) -> Terms:
    """One of the branches' results: their coefficients add up to 1."""
    index = ir.OpResult(value).result_number
    rest, terms = ONE, list[tuple[Polynomial, ir.Value]]()
    for i, region in enumerate(op.regions):
        last = i == len(op.regions) - 1
        chosen = rest if last else choice("branch", i, op.operands[0])
        rest = rest + chosen.times(-1)
        terms.append((chosen, terminator(region.blocks[0]).operands[index]))
    return terms


def _renamed(coefficient: Polynomial, call: ir.Operation) -> Polynomial:
    if coefficient.number is not None:
        return coefficient
    place = call.results[0]

    def local(atom: Hashable) -> Hashable:
        return ("choice", place, atom) if is_choice(atom) else (place, atom)

    return Polynomial(tuple((tuple(local(atom) for atom in m), x) for m, x in coefficient.terms))
