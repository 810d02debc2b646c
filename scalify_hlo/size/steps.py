"""Sizes over many steps: arguments that a result replaces (donated state) have the size that they settle at.

A state m that a step replaces by a m + c g, a < 1, forgets what it was: it settles at the size of c g / (1 - a), all
steps' g being alike. One with a = 1 (weights) holds, and stays a source, as does one whose a is known at run time only.
"""

from collections.abc import Iterator

from scalify_hlo import budget
from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir
from scalify_hlo.size.affine import AffineForms
from scalify_hlo.size.algebra import Algebra, Size
from scalify_hlo.size.analysis import Frame, SizeAnalysis
from scalify_hlo.size.state import find_pairs

# Averages of averages settle one after the other.
_ROUNDS = 2


def settled(module: ir.Module, public: ir.Operation) -> SizeAnalysis:
    """The sizes of a module whose public function is a step, called again and again with what it returns."""
    algebra = Algebra()
    analysis = SizeAnalysis(module, public, algebra=algebra)
    numbers = {v: s.splat for frame in frames(analysis.main) for v, s in frame.sizes.items() if s.splat is not None}
    forms = AffineForms(numbers.get, analysis.callee)
    block = public.regions[0].blocks[0]
    returned = list(terminator(block).operands)
    averages: dict[int, dict[ir.Value, float]] = {}
    for argument, result in find_pairs(module, public, forms).items():
        form = {value: coefficient.number for value, coefficient in forms.of(returned[result]).items()}
        forgets = 1 - (form.pop(block.arguments[argument], None) or 1.0)
        enters = {value: abs(number) / forgets for value, number in form.items() if number is not None and forgets}
        if budget.HOLDS < forgets < 1 and enters and len(enters) == len(form):
            averages[argument] = enters
    for _ in range(_ROUNDS if averages else 0):
        known = analysis.main.sizes
        sizes = {argument: _sum(algebra, enters, known) for argument, enters in averages.items()}
        analysis = SizeAnalysis(module, public, {i: size for i, size in sizes.items() if not size.is_zero}, algebra)
    return analysis


def _sum(algebra: Algebra, enters: dict[ir.Value, float], known: dict[ir.Value, Size]) -> Size:
    terms = [known.get(value, Size()).times(number) for value, number in enters.items()]
    return terms[0] if len(terms) == 1 else algebra.sum(terms)


def frames(main: Frame) -> Iterator[Frame]:
    """The frames of all calls, each once, callers first."""
    pending, seen = [main], {id(main)}
    while pending:
        frame = pending.pop(0)
        yield frame
        for inner in frame.calls.values():
            if id(inner) not in seen:
                seen.add(id(inner))
                pending.append(inner)
