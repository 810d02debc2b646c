"""Where the error of a served module enters: tensor by tensor, beside the original in f64.

Each operation of the original gets a number, which its location keeps through all passes. The module is rewritten anew
with every tensor watched and pinned to the same scales; both programs then return the tensors at their top level, by
number. An operation whose operands are off by e and whose result is off by more has added the difference itself.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir
from scalify_hlo.emit.marks import is_mark
from scalify_hlo.engine.selection import argument_names
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import describe_location
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.promote import promote_arrays, promote_to_f64
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.scales_file import read_scales
from scalify_hlo.module.function_types import replace_terminator, retype
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.reports.diagnosis import number_of, number_operations
from scalify_hlo.serving.comparison import served_run
from scalify_hlo.types import tensor_info

_PLAIN = ("stablehlo.constant", "stablehlo.iota", "stablehlo.broadcast_in_dim", "stablehlo.while")


@dataclasses.dataclass(frozen=True)
class TensorError:
    """The relative error |got - exact| / |exact|, by norm, of one tensor of the program.

    name: the operation, `argument` for a weight, and where it stands. operands: the largest error of what it is
    computed from. added: what it adds to that, sqrt(error^2 - operands^2), or 0.
    """

    name: str
    error: float
    operands: float

    @property
    def added(self) -> float:
        """The part of the error that comes in here, independent of what the operands bring."""
        return float(np.sqrt(max(self.error**2 - self.operands**2, 0.0)))


def error_sources(
    original: ir.Module, scales: str, batches: Sequence[Sequence[Array]], precision: str = ""
) -> list[TensorError]:
    """The errors of the original's float tensors of rank 1 and more in the module pinned to `scales`, in program order.

    scales: a file that `scalify-calibrate` wrote. precision: that of the file where it says one. Tensors inside loops
    and branches are not looked at: of a loop, its results' readers are. Raises ScalifyError as the passes do.
    """
    numbered = clone(original)
    sources = number_operations(numbered)
    served = clone(numbered)
    chosen = precision or read_scales(scales).precision or None
    pipeline = precision_pipeline(chosen, ScalifyOptions(mark_tensors=True), pin_scales=scales)
    pipeline.run(served, [])
    count = len(entry_signature(original).results)
    marked = _return_marked(served)
    places = _return_numbered(numbered, {key for key in marked if isinstance(key, int)})
    names = [spec.name for spec in entry_signature(original).arguments]
    run, exact = served_run(served, names), xla.compile(promote_to_f64(numbered))
    totals: dict[int | str, list[float]] = {}
    for arrays in batches:
        wanted = {
            **dict(zip(names, arrays, strict=True)),
            **dict(zip(places, exact(promote_arrays(list(arrays)))[count:], strict=True)),
        }
        for key, got in zip(marked, run(arrays)[count:], strict=True):
            if key in wanted:
                want = np.asarray(wanted[key], np.float64)
                error = np.where(np.isfinite(want), got - want, 0)
                sums = totals.setdefault(key, [0.0, 0.0])
                sums[0] += float(np.sum(error**2))
                sums[1] += float(np.sum(np.where(np.isfinite(want), want, 0) ** 2))
    errors = {key: float(np.sqrt(a / b)) if b else 0.0 for key, (a, b) in totals.items()}
    return [
        TensorError(
            f"argument {key}" if isinstance(key, str) else places[key],
            error,
            max((errors[each] for each in _before(key, sources, errors)), default=0.0),
        )
        for key, error in errors.items()
    ]


def _before(key: int | str, sources: Mapping[int, list[int | str]], known: Mapping[int | str, float]) -> set[int | str]:
    """The nearest tensors with a known error that an operation's result is computed from."""
    found: set[int | str] = set()
    seen: set[int | str] = set()
    waiting: list[int | str] = list(sources.get(key, ())) if isinstance(key, int) else []
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        if each in known:
            found.add(each)
        elif isinstance(each, int):
            waiting += sources.get(each, ())
    return found


def _return_marked(module: ir.Module) -> list[int | str]:
    """Return data * scale of every marked tensor at the top level; number of the operation, or name of the argument."""
    keys: list[int | str] = []
    values: list[ir.Value] = []
    with module.context, ir.Location.unknown(module.context):
        main = public_function(module)
        body = main.regions[0].blocks[0]
        names = dict(zip(map(hash, body.arguments), argument_names(main), strict=True))
        for mark in _marks(body):
            data, scale = mark.operands
            key = number_of(mark.location) or _argument(data, names)
            if mark.block == body and key and key not in keys and tensor_info(data.type).rank:
                keys.append(key)
                with ir.InsertionPoint(mark), mark.location:
                    wide = emit.convert(data, "f32")
                    factor = emit.convert(scale, "f32")
                    rank = tensor_info(factor.type).rank
                    dims = ir.DenseI64ArrayAttr.get(list(range(rank)))
                    factors = emit.op("broadcast_in_dim", wide.type, factor, broadcast_dimensions=dims)
                    values.append(emit.op("multiply", wide.type, wide, factors))
            mark.erase()
        replace_terminator(terminator(body), [*terminator(body).operands, *values])
        retype(main)
    return keys


def _argument(data: ir.Value, names: Mapping[int, str]) -> str:
    """The argument that data are, converted or as they are; "" where they are computed."""
    while not isinstance(data.owner, ir.Block):
        op = data.owner.operation
        if op.name != "stablehlo.convert":
            return ""
        data = op.operands[0]
    return names.get(hash(data), "")


def _marks(block: ir.Block) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    for child in block.operations:
        op = child.operation
        found += [op] if is_mark(op) else []
        for region in op.regions:
            for inner in region.blocks:
                found += _marks(inner)
    return found


def _return_numbered(module: ir.Module, wanted: set[int]) -> dict[int, str]:
    """Return the results of the operations with these numbers, too; number -> what to call it, in order."""
    places: dict[int, str] = {}
    values: list[ir.Value] = []
    with module.context:
        main = public_function(module)
        body = main.regions[0].blocks[0]
        for child in body.operations:
            op = child.operation
            number = number_of(op.location)
            if number not in wanted or op.name in _PLAIN or len(op.results) != 1 or number in places:
                continue
            info = tensor_info(op.results[0].type)
            if info.is_float and info.rank:
                where = describe_location(op.location).rsplit(":", 1)[0].removeprefix("#operation:0")
                where = where.rsplit("/", 1)[-1]
                places[number] = f"{op.name.removeprefix('stablehlo.')} {op.results[0].type} {where}".rstrip()
                values.append(op.results[0])
        replace_terminator(terminator(body), [*terminator(body).operands, *values])
        retype(main)
    return places


def sources_table(errors: Sequence[TensorError], most: int) -> str:
    """The tensors that add most to the error, in program order: one line each."""
    shown = {id(each) for each in sorted(errors, key=lambda each: -each.added)[:most]}
    rows = [("error", "of operands", "added", "tensor")]
    rows += [
        (f"{each.error:.1e}", f"{each.operands:.1e}", f"{each.added:.1e}", each.name)
        for each in errors
        if id(each) in shown
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(
        "  ".join([*(cell.rjust(w) for cell, w in zip(row, widths, strict=False)), row[3]]).rstrip() for row in rows
    )
