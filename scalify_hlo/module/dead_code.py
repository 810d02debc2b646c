"""Operations that nobody reads, and private functions that nobody calls."""

from scalify_hlo.analysis.calls import CALLS, CallGraph, callee_name, is_used, walk
from scalify_hlo.bindings import ir, passmanager
from scalify_hlo.module.traits import Trait, names

_FUNCTIONS = names(Trait.FUNCTION)
# Their regions decide.
_CONTROL = frozenset({"stablehlo.while", "stablehlo.case", "stablehlo.if"})
_ENDS = frozenset({"stablehlo.return", "func.return"})


def erase_dead(module: ir.Module) -> int:
    """Erase operations without effects whose results have no use, in regions too, and private functions that nothing
    calls; the number of operations that are gone, without those of the functions.

    Collectives, custom calls, random numbers, and what contains or calls them stay. As for MLIR and XLA, a loop without
    effects counts as one that ends.
    """
    calls = CallGraph(module)
    known: dict[str, bool] = {}
    count = sum(_sweep(calls.body(name), calls, known) for name in calls.functions)
    if len(calls.functions) > len(calls.public):
        manager = passmanager.PassManager.parse("builtin.module(symbol-dce)", module.context)
        manager.enable_verifier(False)
        manager.run(module.operation)
    return count


def _sweep(block: ir.Block, calls: CallGraph, known: dict[str, bool]) -> int:
    """Erase what is dead in a block, users before what they use."""
    count = 0
    for child in reversed(list(block.operations)):
        op = child.operation
        results = op.results
        used = next(results[0].uses, None) is not None if len(results) == 1 else is_used(op)
        if not used and (op.name in _FUNCTIONS or _is_pure(op, calls, known)):
            op.erase()
            count += 1
        elif len(op.regions):
            count += sum(_sweep(inner, calls, known) for region in op.regions for inner in region.blocks)
    return count


def _is_pure(op: ir.Operation, calls: CallGraph, known: dict[str, bool]) -> bool:
    """Whether an operation that is no terminator has no effect but its results."""
    if op.name in _FUNCTIONS:
        return True
    if op.name in _CONTROL:
        return all(inner.name in _ENDS or _is_pure(inner, calls, known) for inner in walk(op))
    called = callee_name(op) if op.name in CALLS else None
    if called is None or called not in calls.functions:
        return False
    if called not in known:
        known[called] = False  # of a function that calls itself
        body = walk(calls.functions[called])
        known[called] = all(inner.name in _ENDS or _is_pure(inner, calls, known) for inner in body)
    return known[called]
