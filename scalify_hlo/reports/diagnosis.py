"""Which tensor of a rewritten program leaves the range of its type first, and whose estimate of a size was wrong.

The rewritten program runs with statistics of every tensor, the original in f64 beside it. Of each tensor the rules have
estimated the root mean square of its data; the truth is that of the f64 value, divided by the scale. What an operation
adds to the error of its operands is its own: from the tensor that failed, the chain goes back along the operands with
the largest error to the first operation (or argument) that was estimated wrongly by itself.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scalify_hlo.analysis.name_stack import own_name
from scalify_hlo.bindings import ir, passmanager, register_inliner
from scalify_hlo.errors import innermost
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.modules import clone, operations
from scalify_hlo.reports.health import TensorHealth
from scalify_hlo.rules.registry import rules
from scalify_hlo.types import FLOAT_RANGE

if TYPE_CHECKING:
    from scalify_hlo.execution.signature import TensorSpec

# An estimate within this many powers of two of the truth is right.
NEAR = 3.0
# A tensor of which a larger part of the nonzero elements becomes subnormal or zero has left its range.
_LOST = 0.5
_FILE = "#operation"
# What `scalify_hlo.debug` lowers under.
_WRAPPER = "jit(jaxpr_as_fun)/"


@dataclasses.dataclass(frozen=True)
class Estimated:
    """A tensor on the way from the wrong estimate to the failure. All sizes are log2 of a root mean square.

    name, source: as in `TensorHealth`. law: the identity that the rule of its operation uses.
    log2_scale: of its scale. log2_estimate: of its data as estimated. log2_true: of its data as they would be without
    over- or underflow, from the program in f64; NaN for zeros. surprise: the part of the difference that is not the
    operands'.
    """

    name: str
    operation: str
    element: str
    law: str
    source: str
    log2_scale: float
    log2_estimate: float
    log2_true: float
    surprise: float

    @property
    def gap(self) -> float:
        """How many powers of two larger than estimated the data are; NaN where that is not known."""
        return self.log2_true - self.log2_estimate

    def __str__(self) -> str:
        known = not math.isnan(self.log2_true)
        size = f"data 2^{self.log2_true:.1f}" if known else "data zeros in f64, or not of the original program"
        off = f": off by 2^{self.gap:+.1f}" if known else ""
        own = f" ({self.surprise:+.1f} of it its own)" if not math.isnan(self.surprise) else ""
        law = f"  # {self.law}" if self.law else ""
        scales = f"estimated 2^{self.log2_estimate:.1f}, scale 2^{self.log2_scale:.0f}"
        return f"{_short(self.operation, self.name)}: {size}, {scales}{off}{own}{law}"


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """What `scalify_hlo.debug` has found.

    failure: "overflow", "underflow", "not finite in f64 either", or "" where no tensor left its range.
    tensor: statistics of the tensor that failed first. chain: from the wrong estimate to it; where none failed, the
    tensors whose estimates are furthest off. watched: how many tensors were looked at.
    """

    failure: str
    tensor: TensorHealth | None
    chain: tuple[Estimated, ...]
    watched: int

    def __str__(self) -> str:
        lines: list[str] = []
        if self.tensor is None:
            lines.append(f"no tensor leaves the range of its type ({self.watched} looked at)")
            lines += ["estimates furthest off:"] if self.chain else []
        else:
            tensor = self.tensor
            share = tensor.overflow if self.failure != "underflow" else tensor.underflow + tensor.zeros
            lines.append(
                f"first tensor to leave its range, of {self.watched}: {_short(tensor.operation, tensor.name)}, "
                f"{tensor.element}: {self.failure} of {100 * share:.3g}% of {tensor.elements} elements"
            )
            if self.failure.startswith("not finite"):
                lines.append("the program computes it so on values in f64 too: the scales are not to blame")
            elif self.chain:
                lines.append("because of (the wrong estimate first, what it led to below):")
        lines += [f"  {each}" + (f"\n    {each.source}" if each.source else "") for each in self.chain]
        if self.chain and self.tensor is not None and self.chain[0].operation == "argument":
            lines.append(
                "the data of this argument are not of unit size, which the rules assume: give it a scale by "
                "scalify_hlo.as_scaled_array, or rescale the state (scalify_hlo.rescale_state) after each step"
            )
        return "\n".join(lines)


def _short(operation: str, name: str) -> str:
    """Operation and name stack, without the file that follows it and the function that the call is wrapped in."""
    place = name.split(" (")[0].removeprefix(_WRAPPER)
    return f"{operation.removeprefix('stablehlo.')} {place}"


# --- operations that can be told apart in both programs ------------------------------------------------------------


def number_operations(module: ir.Module) -> dict[int, list[int | str]]:
    """Inline a module's functions and give each operation a number, kept in its location through all passes.

    Returns for each number those of the operations that its operands come from; the name of the argument for one.
    """
    with module.context:
        register_inliner(module.context)
        passmanager.PassManager.parse("builtin.module(inline{default-pipeline=})").run(module.operation)
        sources: dict[int, list[int | str]] = {}
        for i, op in enumerate(operations(module)):
            number = i + 1
            _, place = innermost(op.location)
            known = isinstance(place, ir.FileLineColLoc)
            inner = ir.Location.file(place.filename if known else _FILE, place.start_line if known else 0, number)
            name = own_name(op)
            sources[number] = [_source(value) for value in op.operands]
            op.location = ir.Location.name(name, inner) if name else inner
    return sources


def _source(value: ir.Value) -> int | str:
    owner = value.owner
    if isinstance(owner, ir.Block):
        location = ir.BlockArgument(value).location
        return location.name_str if isinstance(location, ir.NameLoc) else ""
    return number_of(owner.location)


def number_of(location: ir.Location | str) -> int:
    """The number in a location, or in its description; 0 where there is none."""
    if isinstance(location, str):
        place = location.split(" [")[0].rsplit(":", 2)
        return int(place[2]) if len(place) == 3 and place[2].isdigit() else 0
    while isinstance(location, ir.NameLoc):
        location = location.child_loc
    return location.start_col if isinstance(location, ir.FileLineColLoc) else 0


# --- running ------------------------------------------------------------------------------------------------------


def diagnose(
    original: ir.Module, rewritten: ir.Module, sources: dict[int, list[int | str]], values: Sequence[Array],
    arrays: Sequence[Array],
) -> Diagnosis:  # fmt: skip
    """Run both programs on XLA:CPU and find the first tensor that fails.

    original: numbered by `number_operations`, which gave `sources`. rewritten: made of it, with marks.
    values: arguments of the original, in its types or wider. arrays: of the rewritten program, data and scales.
    Raises ScalifyError where a program cannot be run.
    """
    from scalify_hlo.execution.measure import measure
    from scalify_hlo.execution.promote import promote_arrays, promote_to_f64
    from scalify_hlo.passes.instrument import Instrument, mark_floats

    options = Instrument(histogram=False, movements=True)
    rows = measure(clone(rewritten), options, arrays=arrays)
    exact = promote_to_f64(original)
    with exact.context, ir.Location.unknown(exact.context):
        mark_floats(exact, scalars=True)
    reference = measure(exact, options, arrays=promote_arrays(values))
    truth = _Truth(reference, [float(_log2_rms(value)) for value in values], original)
    return _Finder(rows, truth, sources).find()


class _Truth:
    """Sizes of the original program's values in f64: the k-th time an operation is met, its k-th statistics."""

    def __init__(self, rows: Sequence[TensorHealth], arguments: Sequence[float], original: ir.Module):
        self._by_number: dict[int, list[TensorHealth]] = {}
        for row in rows:
            self._by_number.setdefault(number_of(row.source), []).append(row)
        names = [spec.name for spec in _arguments(original)]
        self.arguments = dict(zip(names, arguments, strict=False))

    def of(self, row: TensorHealth, time: int) -> TensorHealth | None:
        found = self._by_number.get(number_of(row.source), [])
        return found[min(time, len(found) - 1)] if found else None


def _arguments(module: ir.Module) -> Sequence["TensorSpec"]:
    from scalify_hlo.execution.signature import entry_signature

    return entry_signature(module).arguments


class _Finder:
    def __init__(self, rows: Sequence[TensorHealth], truth: _Truth, sources: dict[int, list[int | str]]):
        self.rows = [row for row in rows if row.operation]
        self.truth = truth
        self.sources = sources
        self.reference: dict[int, TensorHealth | None] = {}
        self.where: dict[int | str, int] = {}  # number of an operation, or name of an argument -> its row
        times: dict[int, int] = {}
        for i, row in enumerate(self.rows):
            number = number_of(row.source)
            if row.operation == "argument":
                self.where[_argument(row)] = i
            if not number:  # an argument, or what the passes make of it before the program begins
                self.reference[i] = None
                continue
            self.reference[i] = truth.of(row, times.get(number, 0))
            times[number] = times.get(number, 0) + 1
            self.where.setdefault(number, i)
        self.laws = {name: rule.law for name, rule in rules().items()}

    def find(self) -> Diagnosis:
        failures = {i: failure for i, row in enumerate(self.rows) if (failure := self._failure(i, row))}
        # An infinity that is given, as the least loss before the first step, fails only with what is computed of it.
        computed = {
            i: each for i, each in failures.items() if each != "overflow" or self.rows[i].operation != "argument"
        }
        failures = computed or failures
        if failures:
            i = self._first(failures)
            return Diagnosis(failures[i], self.rows[i], tuple(reversed(self._chain(i))), len(self.rows))
        # Infinities that the program means, in masks, lead to nothing that is not finite at its end.
        if self.rows and any(row.overflow for row in self.rows if row is self._last()):
            first = next(row for row in self.rows if row.overflow)
            return Diagnosis("not finite in f64 either", first, (), len(self.rows))
        known = [each for each in map(self._estimated, range(len(self.rows))) if abs(each.gap) > NEAR]
        furthest = sorted(known, key=lambda each: -abs(each.gap))[:5]
        return Diagnosis("", None, tuple(furthest), len(self.rows))

    def _first(self, failures: Mapping[int, str]) -> int:
        """The failure to name: the first overflow, for it ends a run and an underflow seldom does; what underflows on
        the way to it only where the values that overflow would have had room, as in 1/0."""
        first = min(failures)
        over = next((i for i, failure in failures.items() if failure == "overflow"), None)
        if over is None or over == first or not self._has_room(over):
            return first if over is None else over
        pending, ancestors = [over], {over}
        while pending:
            operands = [j for j in self._operands(pending.pop()) if j not in ancestors]
            ancestors.update(operands)
            pending += operands
        return min(i for i in ancestors if i in failures)

    def _has_room(self, i: int) -> bool:
        """Whether the data would be finite if all that they are computed from were exact."""
        row, reference = self.rows[i], self.reference[i]
        if reference is None or not 0 < row.scale < math.inf or row.element not in FLOAT_RANGE:
            return False
        return reference.amax < 2.0 ** (FLOAT_RANGE[row.element][0] + 1) * row.scale

    def _failure(self, i: int, row: TensorHealth) -> str:
        reference = self.reference[i]
        true_zeros = reference.zeros if reference is not None else row.zeros
        if row.overflow > (0.0 if reference is None else reference.overflow):
            return "overflow"
        small = row.underflow + max(row.zeros - true_zeros, 0.0)
        return "underflow" if small > _LOST * max(1.0 - true_zeros, 1e-9) else ""

    def _last(self) -> TensorHealth | None:
        """The tensor that the program computes last."""
        return next((row for row in reversed(self.rows) if row.operation != "argument"), None)

    def _chain(self, i: int) -> list[Estimated]:
        """From a tensor back to the operand that its error comes from, and so on."""
        chain = [self._estimated(i)]
        seen = {i}
        while abs(chain[-1].gap) > NEAR:
            operands = [j for j in self._operands(i) if j not in seen]
            gaps = {j: abs(self._gap(j)) for j in operands if not math.isnan(self._gap(j))}
            if not gaps or abs(chain[-1].surprise) > abs(chain[-1].gap) / 2:
                break
            i = max(gaps, key=lambda j: gaps[j])
            seen.add(i)
            chain.append(self._estimated(i))
        return chain

    def _operands(self, i: int) -> list[int]:
        row = self.rows[i]
        number = number_of(row.source)
        of_argument: list[int | str] = [] if row.operation == "argument" else [_argument(row)]
        found = [self.where.get(source) for source in (self.sources.get(number, []) if number else of_argument)]
        return [j for j in found if j is not None]

    def _true(self, i: int) -> float:
        """log2 of the root mean square that the data would have without over- or underflow."""
        row, reference = self.rows[i], self.reference[i]
        if reference is None:
            size = self.truth.arguments.get(_argument(row), math.nan)
            return size - math.log2(row.scale) if not math.isnan(size) and row.scale > 0 else row.log2_rms
        return reference.log2_rms - (math.log2(row.scale) if 0 < row.scale < math.inf else 0.0)

    def _gap(self, i: int) -> float:
        estimate = self.rows[i].estimate
        return self._true(i) - math.log2(estimate) if 0 < estimate < math.inf else math.nan

    def _estimated(self, i: int) -> Estimated:
        row = self.rows[i]
        gap = self._gap(i)
        gaps = [0.0 if math.isnan(g) else g for g in map(self._gap, self._operands(i))]
        operation = row.operation.removeprefix("stablehlo.")
        place = row.source.split(" [")[0].rsplit(":", 1)[0] if number_of(row.source) else ""
        return Estimated(
            row.name, operation, row.element, self.laws.get(row.operation, ""),
            "" if place.startswith(_FILE) else place,
            math.log2(row.scale) if 0 < row.scale < math.inf else math.nan,
            math.log2(row.estimate) if 0 < row.estimate < math.inf else math.nan, self._true(i),
            gap - inherited(operation, gaps, gap),
        )  # fmt: skip


def _argument(row: TensorHealth) -> str:
    """The name of the argument that a tensor is, or is made of."""
    return row.name.split(" (")[0]


def inherited(operation: str, gaps: Sequence[float], gap: float) -> float:
    """The part of an estimate's error (log2) that comes from the operands' errors.

    # f(s x) = s^p f(x): an error of 2^e in the operand is one of 2^(p e) in the result
    """
    if operation in ("multiply", "dot_general", "convolution"):
        return sum(gaps)
    if operation == "divide":
        return gaps[0] - gaps[1] if len(gaps) == 2 else sum(gaps)
    if operation in ("sqrt", "rsqrt"):
        return sum(gaps) / (2 if operation == "sqrt" else -2)
    return min(gaps, key=lambda g: abs(gap - g), default=0.0)


def _log2_rms(value: Array) -> float:
    if value.dtype.kind not in "fV" or not value.size:
        return math.nan
    size = np.abs(value.astype(np.float64))
    mean_square = float(np.mean(np.square(size[np.isfinite(size)]))) if np.isfinite(size).any() else 0.0
    return 0.5 * math.log2(mean_square) if mean_square > 0 else math.nan
