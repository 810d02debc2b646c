"""`scalify-state-rescale`: the scale of carried state follows what its data show.

Static rules make the first guess and everything inside a step. Here it is seen to that a wrong guess does not add up
over steps: the new value of a state tensor keeps the scale that it has as long as the root mean square of its data is
near unit size, and is moved to it by a power of two where it is not. Values do not change. Tensors of zeros keep their
scale. Runs before `scalify-cast`, so that data are measured before they are rounded.

The statistic is that of some hundred elements, which are computed apart (`scalify_hlo.passes.samples`), so that one
kernel updates and rounds each tensor, as without it. On one device parameters are measured together, in one reduction
for all tensors of about one size.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator
from scalify_hlo.analysis.tables import rows_that_differ
from scalify_hlo.analysis.update import find_update
from scalify_hlo.bindings import ir
from scalify_hlo.emit.packed_scales import element_of
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.module.carriers import layouts_folded
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import is_partitioned
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.held_values import after
from scalify_hlo.passes.markers import at_scale, data_and_scale, magnitude, power_of_two, usable_power
from scalify_hlo.passes.precision_kinds import WHOLE
from scalify_hlo.passes.private_functions import merge_equal, unshare
from scalify_hlo.passes.samples import strided
from scalify_hlo.types import tensor_info

_KINDS = ("parameters", "moments")
# Elements that are measured: the root mean square of so many Gaussian ones is off by 2%, and 2^4 is what matters.
_SAMPLE = 1024
# The same where tensors lie on several devices, each of which is to have a part of the sample.
_SAMPLE_OF_SEVERAL = 4096
# The largest of as many Gaussian numbers over their root mean square, roughly.
_LARGEST = 4.0
# Bits: samples whose sizes differ by less are measured together, the smaller ones with zeros behind them.
_ALIKE = 3
# How far a scale is moved at most: data are multiplied by the inverse.
_FURTHEST = 2.0**-120
# log2 of the size that data are moved to, and how far from it they may come before. Parameters are read as operands of
# products. Moments have larger elements than a sample shows, and squares more so.


@dataclasses.dataclass(frozen=True)
class StateRescale(Pass):
    """Re-base the scales of a training step's state by statistics of its data."""

    name: ClassVar[str] = "scalify-state-rescale"

    # Which state: parameters, moments (what the optimiser carries besides them).
    kinds: tuple[str, ...] = _KINDS
    # In how many steps once: by an integer that the step carries and adds one to.
    every: int = 1

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Inserts the rescaling in place. Raises ScalifyError for an unknown kind and a period below 1."""
        unknown = sorted(set(self.kinds) - set(_KINDS))
        if unknown:
            raise ScalifyError(f"{self.name}: unknown kind '{unknown[0]}'; known are {', '.join(_KINDS)}")
        if self.every < 1:
            raise ScalifyError(f"{self.name}: every={self.every}: the number of steps must be positive")
        with module.context, ir.Location.unknown(module.context), layouts_folded(module):
            unshare(module)
            main = public_function(module)
            update = find_update(module, symbol_name(main))
            last = terminator(main.regions[0].blocks[0])
            calls, number = CallGraph(module), _Numbers(last.block)
            due = _due(module, main, last, self.every) if self.every > 1 and update.state else None
            if self.every > 1 and update.state and due is None:
                told = f"{self.name}: the step counts no steps: state is measured in each of them"
                remarks.append(Diagnostic(told, "", "remark"))
            leaving: dict[ir.Block, list[_Leaving]] = {}  # by block: moments change the hash of its terminator
            for argument, result in update.state.items():
                kind = "parameters" if argument in update.parameters else "moments"
                info = tensor_info(last.operands[result].type)
                if kind not in self.kinds or not info.is_static or info.is_empty:
                    continue
                if kind == "moments":
                    moment, entering = last.operands[result], main.regions[0].blocks[0]
                    with ir.InsertionPoint.at_block_begin(entering):
                        _, held = data_and_scale(module, entering.arguments[argument])
                    last.operands[result] = _rebased(module, moment, -budget.MOMENTS_BELOW, due, number, held)
                    continue
                found = _Leaving(*(_where_updated(calls, last, result) if due is None else (last, result)))
                if is_partitioned(module):  # a sample of each stays on the devices that it lies on
                    found.terminator.operands[found.position] = _rebased(module, found.value, 0, due, number)
                    continue
                leaving.setdefault(found.terminator.block, []).append(found)
            for parameters in leaving.values():
                _rebase(module, parameters, due)
            erase_dead(module)
            merge_equal(module)


def _where_updated(calls: CallGraph, last: ir.Operation, index: int) -> tuple[ir.Operation, int]:
    """The terminator, and which of its operands, that a state leaves a step with.

    last, index: the same of the public function. Each iteration of a loop of updates is a step: what it leaves enters
    the next one, in the type that state is stored in. For parameters: an average takes the size of its newest term in
    each iteration, and would keep that of the zeros that it enters as, if a measured scale hid the term.
    """
    found = last, index
    while (op := defining_op(last.operands[index])) is not None:
        index = ir.OpResult(last.operands[index]).result_number
        body = op.regions[1].blocks[0] if op.name == "stablehlo.while" else None
        if op.name == "func.call":
            body = calls.callee_body(op)
        if body is None:
            break
        last = terminator(body)
        if op.name == "stablehlo.while" and defining_op(last.operands[index]) is not None:
            found = last, index
    return found


class _Numbers:
    """Float constants at the beginning of a block, each once."""

    def __init__(self, block: ir.Block):
        self._start = ir.InsertionPoint.at_block_begin(block)
        self._known: dict[tuple[ir.Type, float], ir.Value] = {}

    def __call__(self, type_: ir.Type, number: float) -> ir.Value:
        """The constant of a type all of whose elements are a number."""
        known = self._known.get((type_, number))
        if known is None:
            with self._start:
                known = self._known[type_, number] = emit.splat(type_, number)
        return known


class _Leaving(NamedTuple):
    """An operand of a terminator: a parameter that leaves a step."""

    terminator: ir.Operation
    position: int

    @property
    def value(self) -> ir.Value:
        return self.terminator.operands[self.position]


def _rebase(module: ir.Module, parameters: Sequence[_Leaving], due: ir.Value | None) -> None:
    """Have parameters leave one step with scales that fit their data."""
    groups: dict[int, list[tuple[_Leaving, _Sampled]]] = {}
    for each in parameters:
        sampled = _sampled(each.value)
        groups.setdefault(sampled.size.bit_length() // _ALIKE, []).append((each, sampled))
    for group in groups.values():
        last = group[0][0].terminator
        number = _Numbers(last.block)
        with ir.InsertionPoint(last), last.location:
            pairs = [data_and_scale(module, each.value) for each, _ in group]
            samples = [
                _taken(emit.convert(data, "f32"), sampled.strides)
                for (data, _), (_, sampled) in zip(pairs, group, strict=True)
            ]
            factors = _factor(_sizes(samples, [sampled.table for _, sampled in group]), 0, due, number)
            for i, ((each, _), (_, scale)) in enumerate(zip(group, pairs, strict=True)):
                rescaled = emit.op("multiply", scale.type, scale, element_of(factors, i))
                rebased = at_scale(module, each.value, rescaled)
                each.terminator.operands[each.position] = rebased


# v' = b v + (1 - b) g^2 with g = 0 for once: the scale of g^2, at its smallest, is 2^76 below that of v' = b v
# v' = b v + (1 - b) (g / |g|)^2 with a g of outliers: that of g^2 may be as far above it
def _rebased(
    module: ir.Module,
    value: ir.Value,
    target: int,
    due: ir.Value | None,
    number: _Numbers,
    held: ir.Value | None = None,
) -> ir.Value:
    """The same state with a scale by which its data are of size 2^target.

    held: the scale to have where the squares of all data leave the range of f32, so that they cannot be measured.
    """
    ip, location = after(value) if due is None else _before_return(value, due)
    with ip, location:
        data, scale = data_and_scale(module, value)
        if held is not None:
            # case(accumulates ? v : b v + (1 - b) g^2), g of any size, has no scale yet: it would be 0 in f16
            data.owner.attributes[WHOLE] = ir.UnitAttr.get()
            # 0 * (s / s'), of zeros that were given 2^-126, is none where s / s' is no number
            least = emit.op("multiply", scale.type, scale, number(scale.type, _FURTHEST))
            held = emit.op("maximum", scale.type, held, least)
        size = magnitude(_sample(emit.convert(data, "f32"), cut=is_partitioned(module)), "l2")
        if held is None:
            return at_scale(module, value, emit.op("multiply", scale.type, scale, _factor(size, target, due, number)))
        usable, power = usable_power(size)
        moved = emit.op("multiply", scale.type, scale, _where_far(power, target, due, number))
        return at_scale(module, value, emit.op("select", scale.type, usable, moved, held))


def _factor(size: ir.Value, target: int, due: ir.Value | None, number: _Numbers) -> ir.Value:
    """What scales are multiplied by, of data of some sizes, f32 numbers: 1 where these are near 2^target."""
    # Zeros count as what they should be: their scale stays.
    return _where_far(power_of_two(size, otherwise=2.0**target), target, due, number)


def _where_far(size: ir.Value, target: int, due: ir.Value | None, number: _Numbers) -> ir.Value:
    """Powers of two over 2^target where they are far from it, else 1."""
    shape = tensor_info(size.type).shape
    low, high = (number(size.type, 2.0 ** (target + side * budget.STATE_NEAR)) for side in (-1, 1))
    far = emit.op("or", emit.tensor_type(shape, "i1"), emit.compare(size, low, "LT"), emit.compare(size, high, "GT"))
    if due is not None:
        far = emit.op("and", far.type, far, emit.broadcast(due, far))
    factor = emit.op("multiply", size.type, size, number(size.type, 2.0**-target)) if target else size
    return emit.op("select", size.type, far, factor, number(size.type, 1.0))


def _sizes(samples: Sequence[ir.Value], tables: list[bool]) -> ir.Value:
    """tensor<n x f32>: the root mean square of each sample, of all of them in one reduction.

    tables: of these samples the largest magnitude over what it is of as many Gaussian numbers of unit size, if that is
    larger: the rows that are read most often are the largest, and few.
    """
    counts = [tensor_info(x.type).size for x in samples]
    rows = [_row(x, max(counts)) for x in samples]
    element = ir.RankedTensorType(rows[0].type).element_type
    whole = ir.RankedTensorType.get([len(rows), max(counts)], element)
    dimension = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
    table = rows[0] if len(rows) == 1 else emit.op("concatenate", whole, *rows, dimension=dimension)
    parts = [(emit.op("multiply", table.type, table, table), "add", 0.0)]
    if any(tables):
        parts.append((emit.op("abs", table.type, table), "maximum", 0.0))
    totals, *most = emit.reduce_together(parts, [1])
    means = emit.op("divide", totals.type, totals, _constants(totals, counts))
    sizes = emit.op("sqrt", means.type, means)
    if most:
        shares = _constants(sizes, [table / _LARGEST for table in tables])
        sizes = emit.op("maximum", sizes.type, sizes, emit.op("multiply", sizes.type, most[0], shares))
    return sizes


def _constants(like: ir.Value, numbers: Sequence[float]) -> ir.Value:
    return emit.op("constant", like.type, value=ir.DenseElementsAttr.get(np.array(numbers, np.float32)))


def _row(x: ir.Value, length: int) -> ir.Value:
    """tensor<1 x length x f32>: the elements of a sample, and zeros."""
    size = tensor_info(x.type).size
    row = emit.op("reshape", emit.tensor_type((1, size), "f32"), x)
    if size == length:
        return row
    array = ir.DenseI64ArrayAttr.get
    zero = emit.splat(emit.tensor_type((), "f32"), 0.0)
    edges = {"edge_padding_low": [0, 0], "edge_padding_high": [0, length - size], "interior_padding": [0, 0]}
    return emit.op(
        "pad", emit.tensor_type((1, length), "f32"), row, zero, **{name: array(n) for name, n in edges.items()}
    )


def _before_return(value: ir.Value, due: ir.Value) -> tuple[ir.InsertionPoint, ir.Location]:
    """The place where both a value and the answer whether a step is due are known."""
    _, location = after(value)
    block = due.owner.operation.block
    return ir.InsertionPoint(terminator(block)), location


def _sample(x: ir.Value, *, cut: bool) -> ir.Value:
    """At most some thousand elements of a tensor, evenly spread over all its dimensions.

    Of a table one or more of as many rows as there may be: the rows differ by how often they are read.
    """
    return _taken(x, _sampled(x, cut=cut).strides)


def _taken(x: ir.Value, strides: list[int]) -> ir.Value:
    return x if strides.count(1) == len(strides) else strided(x, strides)


class _Sampled(NamedTuple):
    """How many elements a sample has, its strides, and whether it is of a table."""

    size: int
    strides: list[int]
    table: bool


def _sampled(x: ir.Value, *, cut: bool = False) -> _Sampled:
    """The sample of a tensor. cut: it lies on several devices.

    Nobody knows along which dimension it is cut, and strides along that move elements: of every so many rows then.
    """
    most = _SAMPLE_OF_SEVERAL if cut else _SAMPLE
    info = tensor_info(x.type)
    left, shape = info.size, info.shape
    strides = [1] * info.rank
    rows = rows_that_differ(x) if left > most and info.rank > 1 else frozenset[int]()
    if left > most and not rows and not cut:
        strides = _spread(shape, most)
        return _Sampled(math.prod(-(-n // stride) for n, stride in zip(shape, strides, strict=True)), strides, False)
    for d in sorted(range(info.rank), key=lambda d: d in rows) if rows else range(info.rank):
        if left > most:
            strides[d] = min(shape[d], math.ceil(left / most))
            left = left // shape[d] * math.ceil(shape[d] / strides[d])
    return _Sampled(left, strides, bool(rows))


# the pixels at the edge of an image are 0 in all of them, and so are their weights' gradients: 28 x 28, flattened
def _spread(shape: Sequence[int], most: int) -> list[int]:
    """Strides that leave about as many elements of each dimension: odd ones, for what repeats does so evenly."""
    strides = [1] * len(shape)
    left = float(most)
    for i, d in enumerate(sorted(range(len(shape)), key=shape.__getitem__)):
        share = left ** (1 / (len(shape) - i))
        if share < shape[d]:
            strides[d] = math.ceil(shape[d] / max(1, math.floor(share))) | 1
        left = max(1.0, left / math.ceil(shape[d] / strides[d]))
    return strides


def _due(module: ir.Module, main: ir.Operation, last: ir.Operation, every: int) -> ir.Value | None:
    """Whether this step is one of the `every`th, by a scalar integer that it counts with; None if it has none."""
    block = main.regions[0].blocks[0]
    for value in last.operands:
        info = tensor_info(value.type)
        if info.rank or not info.element.startswith(("i", "ui")) or info.element == "i1":
            continue
        counter = _counted(CallGraph(module), block, value)
        if counter is None or counter.type != value.type:
            continue
        with ir.InsertionPoint.at_block_begin(block):
            kind = "UNSIGNED" if info.element.startswith("ui") else "SIGNED"
            rest = emit.op("remainder", counter.type, counter, emit.integer_splat(counter.type, every))
            return emit.compare(rest, emit.integer_splat(counter.type, 0), "EQ", kind)
    return None


def _counted(calls: CallGraph, block: ir.Block, value: ir.Value) -> ir.BlockArgument | None:
    """The argument of which an integer is the next number: with something added, and a bound kept perhaps."""
    pending: list[tuple[ir.Value, bool]] = [(value, False)]
    seen: set[ir.Value] = set()
    while pending:
        current, added = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        op = defining_op(current)
        if op is None and added and ir.BlockArgument(current).owner == block:
            return ir.BlockArgument(current)
        across = calls.across(current)
        if across is not None:
            pending += [(value, added) for value in across[:1]]
        elif op is not None and op.name in ("stablehlo.add", "stablehlo.select", "stablehlo.minimum"):
            pending += [(v, added or op.name == "stablehlo.add") for v in op.operands if v.type == current.type]
    return None
