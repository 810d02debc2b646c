"""`scalify-instrument`: how well the data of each tensor use their type, as extra results of the module.

A tensor to be watched is marked by `stablehlo.custom_call @scalify.tensor(data[, scale])`, which has no result. The
pass turns each mark into statistics of the data: sum of squares, counts of zeros, underflows and overflows, a
histogram of exponents, the largest magnitude and the scale. Inside loops they are accumulated over iterations, in
branches they count where the branch is taken; private functions are inlined first. @main returns two more results,
one row for each tensor, and the module carries the tensors' names (see
`scalify_hlo.reports.health`). Works on any backend.
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import ClassVar

from scalify_hlo.analysis.calls import CallGraph, terminator, walk
from scalify_hlo.analysis.name_stack import NameStacks
from scalify_hlo.bindings import ir, passmanager, register_inliner
from scalify_hlo.emit.marks import ESTIMATE, INFINITE, NODE, OPERATION, ScaledTensor, is_mark, mark_tensors
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.io.globs import matches
from scalify_hlo.module.function_types import replace_terminator
from scalify_hlo.module.traits import BRANCHES, Trait, names
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.replaced_operations import hand_over, in_place_of
from scalify_hlo.passes.statistics import Statistics, combine, nothing, statistics
from scalify_hlo.reports import health_layout as layout
from scalify_hlo.reports.health_layout import DETAILS, MAXIMA, NAMES, SUMS
from scalify_hlo.types import FLOAT_RANGE, tensor_info

# Of a module whose marks are those of the tensors that are to be watched.
_WATCHED = "scalify.watched"
_FORMATS = tuple(name for name in FLOAT_RANGE if name not in ("f64", "f8E8M0FNU"))


@dataclasses.dataclass(frozen=True)
class Instrument(Pass):
    """Add per-tensor statistics of data and scales to the results of the module.

    Watches the tensors that `scalify` has marked; in a module without marks, every float tensor.
    """

    name: ClassVar[str] = "scalify-instrument"

    # Tensors to watch: patterns with `*` and `?` on their names.
    include: tuple[str, ...] = ("*",)
    # Those of them to leave out, likewise.
    exclude: tuple[str, ...] = ()
    # Count underflow and overflow as if the data were to be converted to this type; empty: in their own.
    format: str = ""
    # Watch also scalars and what only moves or repeats elements, in a rewritten module.
    movements: bool = False
    # Count exponents too: what the pictures are made of, and most of the time it takes to compile many tensors.
    histogram: bool = True

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Adds the results in place. Raises ScalifyError for an unknown format and where nothing is to be watched."""
        self.watch(module)
        with module.context, ir.Location.unknown(module.context):
            main = public_function(module)
            rows = _Lowering(self.format, self.histogram).block(main.regions[0].blocks[0])
            if not rows:  # all marks are in functions that it does not call
                raise ScalifyError(f"{self.name}: the public function computes no tensor that is to be watched")
            _return_rows(module, main, rows)
            del module.operation.attributes[_WATCHED]
        remarks.append(Diagnostic(f"{self.name}: {len(rows)} tensors are watched", "", "remark"))

    def watch(self, module: ir.Module) -> None:
        """Leave marks on the tensors that are to be watched, in one function; nothing where that has been done.

        Raises ScalifyError as `apply` does.
        """
        if _WATCHED in module.operation.attributes:
            return
        if self.format and self.format not in _FORMATS:
            raise ScalifyError(f"unknown format '{self.format}'; known are {', '.join(_FORMATS)}")
        with module.context, ir.Location.unknown(module.context):
            if not marks(module):
                mark_floats(module)
            _mark_fp8_forms(module)
            self._select(module)
            _inline(module)
            _erase_elsewhere(module)
            module.operation.attributes[_WATCHED] = ir.UnitAttr.get()

    def _select(self, module: ir.Module) -> None:
        names: list[str] = []
        for mark in marks(module):
            name = ir.StringAttr(mark.attributes[NAMES]).value
            names.append(name)
            unwanted = not self.movements and _only_moves(mark)
            if unwanted or not matches(name, self.include) or matches(name, self.exclude):
                mark.erase()
        if not marks(module):
            if not names:
                where = describe_location(module.operation.location)
                raise ScalifyError(Diagnostic(f"{self.name}: the program computes no floating-point tensor", where))
            shown = f"; names are {', '.join(sorted(set(names))[:4])}..."
            raise ScalifyError(f"{self.name}: no tensor is called {', '.join(self.include)}{shown}")


# --- marks --------------------------------------------------------------------------------------------------------


def mark_floats(module: ir.Module, *, scalars: bool = False) -> None:
    """Mark the float results of every operation but constants. scalars: those of rank 0 too."""
    calls = CallGraph(module)
    names = NameStacks(calls)
    for function in calls.functions.values():
        for op in walk(function):
            inside = op.parent
            if (inside is not None and inside.operation.name in _ELEMENT_BODIES) or op.name == "stablehlo.constant":
                continue
            for result in op.results:
                info = tensor_info(result.type)
                if info.is_float and (info.rank > 0 or scalars) and info.is_static and op.name != "func.call":
                    mark_tensors([ScaledTensor(names.full_name(op) or op.name, result)])


def _mark_fp8_forms(module: ir.Module) -> None:
    """Mark what marked tensors become as operands of FP8 products: the same scale, data clamped and converted."""
    for mark in marks(module):
        data, *scale = mark.operands
        name = ir.StringAttr(mark.attributes[NAMES]).value
        for value in _fp8_forms(data):
            form = f"{name} as {tensor_info(value.type).element}"
            mark_tensors([ScaledTensor(form, value, scale[0] if scale else None)])


def _fp8_forms(value: ir.Value) -> list[ir.Value]:
    """FP8 values that a value is clamped and converted to."""
    found: list[ir.Value] = []
    for use in value.uses:
        user = use.owner.operation
        if user.name == "stablehlo.clamp" and use.operand_number == 1:
            found += _fp8_forms(user.results[0])
        elif user.name == "stablehlo.convert" and tensor_info(user.results[0].type).element.startswith("f8"):
            found.append(user.results[0])
    return found


def _only_moves(mark: ir.Operation) -> bool:
    """Whether a mark that the rewriting has left is on a scalar or on what only moves or repeats elements."""
    if OPERATION not in mark.attributes:
        return False
    operation = ir.StringAttr(mark.attributes[OPERATION]).value
    return operation in _MOVEMENTS or tensor_info(mark.operands[0].type).rank == 0


def _source(mark: ir.Operation) -> str:
    """` (file.py:12)`, where the operation of a mark comes from; empty where that is not known."""
    found = re.match(r"(?:.*[/\\])?([^/\\]+\.py):(\d+):\d+", describe_location(mark.location))
    return f" ({found[1]}:{found[2]})" if found else ""


def marks(module: ir.Module) -> list[ir.Operation]:
    """The marks in a module, in program order."""
    return [op for function in CallGraph(module).functions.values() for op in walk(function) if is_mark(op)]


_MOVEMENTS = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast_in_dim", "concatenate", "dynamic_slice", "optimization_barrier", "reshape",
                 "reverse", "slice", "transpose", "while")
)  # fmt: skip

# Operations whose regions compute on elements, not on tensors.
_ELEMENT_BODIES = names(Trait.BODY)


# --- lowering -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Row:
    name: str
    details: ir.Attribute
    values: Statistics


class _Lowering:
    """Replaces marks by statistics, and carries these out of loops and branches."""

    def __init__(self, element: str, histogram: bool):
        self.element = element  # of which under- and overflow are counted; "" is each tensor's own
        self.histogram = histogram

    def block(self, block: ir.Block) -> list[_Row]:
        """Lower the marks of a block and of what is nested in it; their statistics, visible at its end."""
        rows: list[_Row] = []
        for child in list(block.operations):
            op = child.operation
            if is_mark(op):
                rows.append(self._statistics(op))
            elif op.name == "stablehlo.while":
                rows += self._loop(op)
            elif op.name in BRANCHES:
                rows += self._branches(op)
        return rows

    def _statistics(self, mark: ir.Operation) -> _Row:
        data = mark.operands[0]
        scale = mark.operands[1] if len(mark.operands) > 1 else None
        element = self.element or tensor_info(data.type).element
        with ir.InsertionPoint(mark), mark.location:
            values = statistics(data, scale, element, histogram=self.histogram)
        row = _Row(ir.StringAttr(mark.attributes[NAMES]).value + _source(mark), _details(mark, element), values)
        mark.erase()
        return row

    def _loop(self, op: ir.Operation) -> list[_Row]:
        condition, body = (region.blocks[0] for region in op.regions)
        for mark in [inner.operation for inner in condition.operations if is_mark(inner.operation)]:
            mark.erase()  # the condition runs once more than the body, on the same values
        rows = self.block(body)
        if not rows:
            return []
        with ir.InsertionPoint(op), op.location:
            initial = [value for row in rows for value in nothing(row.values)]
        last = terminator(body)
        arguments = [body.add_argument(value.type, op.location) for value in initial]
        for value in initial:
            condition.add_argument(value.type, op.location)
        with ir.InsertionPoint(last), op.location:
            totals = [
                value
                for i, row in enumerate(rows)
                for value in combine(Statistics(*arguments[2 * i : 2 * i + 2]), row.values)
            ]
        replace_terminator(last, [*last.operands, *totals])
        results = rebuilt(op, [*op.operands, *initial], initial)
        return _with_values(rows, results)

    def _branches(self, op: ir.Operation) -> list[_Row]:
        by_branch = [self.block(region.blocks[0]) for region in op.regions]
        rows = [row for rows in by_branch for row in rows]
        if not rows:
            return []
        for region, taken in zip(op.regions, by_branch, strict=True):
            last = terminator(region.blocks[0])
            with ir.InsertionPoint(last), op.location:
                added = [value for row in rows for value in (row.values if row in taken else nothing(row.values))]
            replace_terminator(last, [*last.operands, *added])
        results = rebuilt(op, list(op.operands), [value for row in rows for value in row.values])
        return _with_values(rows, results)


def _with_values(rows: Sequence[_Row], values: Sequence[ir.Value]) -> list[_Row]:
    """The rows as two values each show them outside of a loop or branch."""
    return [dataclasses.replace(row, values=Statistics(*values[2 * i : 2 * i + 2])) for i, row in enumerate(rows)]


def _details(mark: ir.Operation, counted: str) -> ir.Attribute:
    """What the report says of a marked tensor besides its name. counted: the type whose range is meant."""
    details: dict[str, ir.Attribute] = {
        layout.ELEMENT: ir.StringAttr.get(tensor_info(mark.operands[0].type).element),
        layout.FORMAT: ir.StringAttr.get(counted),
        layout.SOURCE: ir.StringAttr.get(describe_location(mark.location)),
    }
    if NODE in mark.attributes:
        details[layout.NODE] = mark.attributes[NODE]
    if OPERATION in mark.attributes:
        details[layout.OPERATION] = mark.attributes[OPERATION]
        details[layout.ESTIMATE] = mark.attributes[ESTIMATE]
        details[layout.INFINITE] = ir.BoolAttr.get(INFINITE in mark.attributes)
    return ir.DictAttr.get(details)


def rebuilt(op: ir.Operation, operands: Sequence[ir.Value], added: Sequence[ir.Value]) -> list[ir.Value]:
    """Replace an operation with regions by one with more operands and results; the added results."""
    kept = range(len(op.results))
    new = in_place_of(op, operands, kept, [value.type for value in added])
    hand_over(op, new, kept)
    return list(new.results)[len(kept) :]


def _inline(module: ir.Module) -> None:
    """Inline the functions that contain marks (and, as MLIR's pass has no choice, all others)."""
    calls = CallGraph(module)
    if not any(is_mark(op) for name, f in calls.functions.items() if name not in calls.public for op in walk(f)):
        return
    register_inliner(module.context)
    passmanager.PassManager.parse("builtin.module(inline{default-pipeline=})").run(module.operation)


def _erase_elsewhere(module: ir.Module) -> None:
    """Take the marks out of functions that are not inlined: those that say what a composite computes."""
    calls = CallGraph(module)
    for name, function in calls.functions.items():
        if name not in calls.public:
            for op in [op for op in walk(function) if is_mark(op)]:
                op.erase()


def _return_rows(module: ir.Module, main: ir.Operation, rows: Sequence[_Row]) -> None:
    """Stack the rows into two results of the public function, and name them in the module."""
    body = main.regions[0].blocks[0]
    last = terminator(body)
    with ir.InsertionPoint(last), last.location:
        added = [_stacked([row.values[i] for row in rows]) for i in (0, 1)]
    operands = [*last.operands, *added]
    replace_terminator(last, operands)
    type_ = ir.FunctionType.get([a.type for a in body.arguments], [value.type for value in operands])
    main.attributes["function_type"] = ir.TypeAttr.get(type_)
    old = list(ir.ArrayAttr(main.attributes["res_attrs"])) if "res_attrs" in main.attributes else []
    old += [ir.DictAttr.get({})] * (len(operands) - len(added) - len(old))
    new = [ir.DictAttr.get({"scalify.name": ir.StringAttr.get(name)}) for name in (SUMS, MAXIMA)]
    main.attributes["res_attrs"] = ir.ArrayAttr.get([*old, *new])
    module.operation.attributes[NAMES] = ir.ArrayAttr.get([ir.StringAttr.get(row.name) for row in rows])
    module.operation.attributes[DETAILS] = ir.ArrayAttr.get([row.details for row in rows])


def _stacked(values: Sequence[ir.Value]) -> ir.Value:
    """Vectors of one length as the rows of a matrix."""
    (size,) = tensor_info(values[0].type).shape
    row = emit.tensor_type((1, size), "f32")
    return emit.concatenate([emit.op("reshape", row, value) for value in values])
