"""Which operations have to do with types of less range than f32: what reaches such a value, or is reached from one.

A conversion of one argument to f16 says nothing of an f32 computation on others. Operations are joined by the float
values that they compute with; those of a part without narrow values are marked.
"""

from collections.abc import Iterable, Iterator, Sequence

from scalify_hlo.analysis.calls import CALLS, callee_name, is_used, terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import MAY_CARRY, carries
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.traits import BRANCHES, Trait, has, names, of
from scalify_hlo.types import TensorInfo, tensor_info

# On operations that no narrow value has to do with, in a module that has some.
WIDE = "scalify.wide"
_LOOP = "stablehlo.while"
_CONSTANTS = ("stablehlo.constant", "stablehlo.iota")
_EACH_ITS_OWN = ("stablehlo.optimization_barrier",)
_MOVES = names(Trait.MOVES, without=Trait.COLLECTIVE)
# Operations that are looked at behind a value.
_STEPS = 12


# r(c * f(x)) for a rounding r: what r loses of c * f(x), it loses of f(x)
def is_rounded(value: ir.Value, *, moved: bool = False) -> bool:
    """Whether a value is rounded to a type of less range than f32, itself or behind products, conversions and choices
    of it, or where numbers bound it.

    Sums are not looked behind: the other term may be larger. Nor are barriers, nor, unless `moved`, movements.
    """
    pending, left = [value], _STEPS
    while pending and left:
        left -= 1
        for use in (each := pending.pop()).uses:
            op = use.owner.operation
            if len(op.results) != 1 or not tensor_info(op.results[0].type).is_float:
                continue
            if op.name == "stablehlo.convert" and tensor_info(op.results[0].type).is_narrow:
                return True
            chosen = op.name == "stablehlo.select"  # what is rounded of a choice is rounded of what is chosen
            products = has(op.name, Trait.ELEMENTWISE) and of(op.name).degrees is not None
            if chosen or products or (moved and op.name in _MOVES) or _is_laid_out(op) or _is_clipped(op, each):
                pending.append(op.results[0])
    return False


def _is_laid_out(op: ir.Operation) -> bool:
    """Whether an operation says only how a value is cut over devices."""
    return op.name in MAY_CARRY and op.name not in _EACH_ITS_OWN and carries(op)


def _is_clipped(op: ir.Operation, value: ir.Value) -> bool:
    """Whether an operation takes the larger or smaller one of a value and a number."""
    if not has(op.name, Trait.ELEMENTWISE | Trait.SELECTS):
        return False
    return all(x == value or number_behind(x, converted=True) is not None for x in op.operands)


class _Parts:
    """Sets of float values, joined one by one."""

    def __init__(self) -> None:
        self._constant: set[ir.Value] = set()
        self._parent: dict[ir.Value, ir.Value] = {}
        self._narrow: set[ir.Value] = set()
        self._infos: dict[ir.Value, TensorInfo] = {}

    def floats(self, values: Iterable[ir.Value]) -> list[ir.Value]:
        """Those of some values that have a scale."""
        infos = self._infos
        found: list[ir.Value] = []
        for value in values:
            info = infos.get(value)
            if info is None:
                info = infos[value] = tensor_info(value.type)
            if info.carries_scale:
                found.append(value)
        return found

    def root(self, value: ir.Value) -> ir.Value:
        """The value that stands for the set."""
        path: list[ir.Value] = []
        while (parent := self._parent.get(value, value)) != value:
            path.append(value)
            value = parent
        for each in path:
            self._parent[each] = value
        return value

    def leave_out(self, op: ir.Operation) -> None:
        """Constants, positions and what is made of them alone join nothing: programs share them."""
        if op.name in _CONSTANTS or (len(op.operands) and self._constant.issuperset(op.operands)):
            self._constant.update(op.results)

    def join(self, values: Sequence[ir.Value]) -> None:
        """Put float values in one set; others count for nothing."""
        first: ir.Value | None = None
        for value in self.floats(values):
            if value in self._constant:
                continue
            root = self.root(value)
            first = root if first is None else first
            if root != first:
                self._parent[root] = first
                if root in self._narrow:
                    self._narrow.add(first)
            if self._infos[value].is_narrow:
                self._narrow.add(first)

    def is_narrow(self, values: Sequence[ir.Value]) -> bool:
        """Whether a set that one of the values is in has narrow ones."""
        for value in values:  # noqa: SIM110
            if self.root(value) in self._narrow:
                return True
        return False


def mark_wide(module: ir.Module) -> bool:
    """Mark the operations, with float values, that no narrow value has to do with; whether there are some."""
    functions = {symbol_name(op): op.operation for op in module.body.operations
                 if op.operation.name == "func.func"}  # fmt: skip
    parts = _Parts()
    operations = [op for function in functions.values() for op in walk(function) if op != function and _is_used(op)]
    for op in operations:
        parts.leave_out(op)
        for group in _groups(op, functions):
            parts.join(group)
    found = False
    for op in operations:
        values = parts.floats([*op.operands, *op.results])
        if values and not parts.is_narrow(values):
            op.attributes[WIDE] = ir.UnitAttr.get()
            found = True
    return found


def unmark_wide(module: ir.Module) -> None:
    """Take the marks away again."""
    for op in walk(module.operation):
        if WIDE in op.attributes:
            del op.attributes[WIDE]


def _is_used(op: ir.Operation) -> bool:
    """Whether some result is used; a conversion of which nothing is read is no use of a type."""
    return is_used(op) or not len(op.results)


def _groups(op: ir.Operation, functions: dict[str, ir.Operation]) -> Iterator[list[ir.Value]]:
    """The values of an operation that are computed from one another."""
    operands, results = list(op.operands), list(op.results)
    function = functions.get(callee_name(op) or "") if op.name in CALLS else None
    if function is not None:
        block = function.regions[0].blocks[0]
        yield from map(list, zip(operands, block.arguments, strict=False))
        yield from map(list, zip(results, terminator(block).operands, strict=False))
    elif op.name == _LOOP:
        condition, body = (region.blocks[0] for region in op.regions)
        carried = zip(operands, results, condition.arguments, body.arguments, terminator(body).operands, strict=True)
        yield from map(list, carried)
    elif op.name in BRANCHES:
        for region in op.regions:
            yield from map(list, zip(results, terminator(region.blocks[0]).operands, strict=True))
    elif op.name == MANUAL:
        block = op.regions[0].blocks[0]
        yield from map(list, zip(operands, block.arguments, strict=True))
        yield from map(list, zip(results, terminator(block).operands, strict=True))
    elif op.name in _EACH_ITS_OWN:
        yield from map(list, zip(operands, results, strict=True))
    elif results:
        for region in op.regions:
            for block in region.blocks:
                operands += block.arguments
        yield operands + results
