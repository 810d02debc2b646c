"""Which weights and products are left in the wide type, so that rounding the others to E4M3 changes few decisions.

E4M3 has four significant bits whatever the scale, so where that is too little, part of the program has to have more.
The tensors differ in what they do to the results and in what they weigh: each is rounded alone, and those whose error
for each byte is largest are kept, as many as are needed to come within a budget.

The budget is of agreement, the share of rows of scores whose largest stays the largest. Counting rows is coarse, and
sees nothing of rows that were lucky on these inputs. A row's error says how likely it is to change: with errors of
standard deviation s in each score, the largest stays so with probability

# prod over the others of Phi((z_first - z_j) / (s sqrt(2)))

taking the differences to be independent, which they are not all: the product is a lower bound.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax as _jax
import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array, is_float_array
from scalify_hlo.execution.inputs import recombine
from scalify_hlo.execution.promote import promote_arrays, promote_to_f64
from scalify_hlo.execution.signature import Signature, entry_signature, pair_arguments, pair_results
from scalify_hlo.io.scales_file import split_scales
from scalify_hlo.passes.block_formats import FORMATS
from scalify_hlo.passes.frozen_weights import EmbedWeights
from scalify_hlo.passes.precision_pipeline import parse_precision
from scalify_hlo.serving.calibration import Calibration
from scalify_hlo.serving.comparison import cast_run, check_scores, is_scores
from scalify_hlo.serving.rounding_units import Unit, add_switches, error_per_byte, find_units

jax: Any = _jax
# What of the agreement of a cast to bf16 must be left.
SHARE = 0.99


@dataclasses.dataclass(frozen=True)
class Budget:
    """How much is kept. units: that many; else error: the relative error of every float result; else agreement."""

    units: int | None = None
    error: float | None = None


@dataclasses.dataclass(frozen=True)
class Kept:
    """What was chosen, and what it does on the inputs of the calibration.

    units: in the order in which they were chosen. others: how many are rounded. bytes, bytes_all: of the weights in
    what they are stored, and if all were in FP8. target, before, after: agreement (expected), or relative error.
    """

    units: tuple[Unit, ...]
    others: int
    bytes: int
    bytes_all: int
    target: float
    before: float
    after: float

    def describe(self, budget: Budget) -> str:
        """One or two lines for people."""
        what = "relative error" if budget.error is not None else "expected agreement"
        form = "{:.2%}".format
        names = ", ".join(unit.name for unit in self.units[:6]) + (", ..." if len(self.units) > 6 else "")
        head = f"{len(self.units)} of {len(self.units) + self.others} FP8 tensors left wide"
        target = "" if budget.units is not None else f" (wanted: {form(self.target)})"
        more = f"; weights take {self.bytes / max(self.bytes_all, 1):.2f} of their bytes in FP8" if self.units else ""
        return f"{head}{': ' + names if names else ''}\n{what} {form(self.before)} -> {form(self.after)}{target}{more}"


def parse_budget(text: str) -> Budget:
    """`auto`, a number of tensors, or a relative error such as `2%`. Raises ScalifyError."""
    if text == "auto":
        return Budget()
    try:
        if text.endswith("%"):
            error = float(text[:-1]) / 100
            if 0 < error < 1:
                return Budget(error=error)
        elif int(text) >= 0:
            return Budget(units=int(text))
    except ValueError:
        pass
    raise ScalifyError(f"--keep-wide={text}: give auto, a number of tensors, or a relative error between 0% and 100%")


def keep_wide(
    calibration: Calibration,
    batches: Sequence[Sequence[Array]],
    budget: Budget = Budget(),
    scores: Sequence[int] | None = None,
) -> Kept:
    """Choose what is left wide, by the batches, and write it into the calibration's scales.

    scores: as of `compare`. Raises ScalifyError for a precision without FP8, and where a budget of agreement is given
    for a program without rows of scores or integers.
    """
    check_scores(calibration.signature, scores or ())
    program = Switched(calibration)
    units, count = program.units, len(program.units)
    exact_run = xla.compile(promote_to_f64(calibration.original))
    ideal = [exact_run(promote_arrays(list(arrays))) for arrays in batches]
    state = calibration.scales.caches.keys() | calibration.scales.results.keys()
    rows = [
        i for i, (want, name) in enumerate(zip(ideal[0], calibration.result_names, strict=True))
        if (i in scores if scores is not None else name not in state)
        and (want.dtype.kind in "iub" or (is_float_array(want) and (scores is not None or is_scores(want))))
    ]  # fmt: skip
    floats = [i for i, want in enumerate(ideal[0]) if is_float_array(want)]
    if not rows and budget == Budget():
        raise ScalifyError("no result has rows of scores or integers: give --keep-wide a relative error, such as 2%")

    def results(chosen: Sequence[int]) -> list[list[Array]]:
        switches = np.ones(count, np.bool_)
        switches[list(chosen)] = False
        return [program(arrays, switches) for arrays in batches]

    def quality(got: Sequence[Sequence[Array]]) -> float:
        """Of the worst result; larger is better."""
        if budget.error is not None or not rows:
            return -max(relative_error([g[i] for g in got], [w[i] for w in ideal]) for i in floats)
        return min(expected_agreement([g[i] for g in got], [w[i] for w in ideal]) for i in rows)

    if budget.error is not None:
        target = -budget.error
    else:
        bf16 = cast_run(calibration.original, "bf16")
        target = SHARE * quality([bf16(arrays) for arrays in batches]) if rows else 0.0
    whole = results(range(count))
    errors: list[float] = []
    for k in range(count):
        alone = results([i for i in range(count) if i != k])
        errors.append(max((_distance(alone, whole, i) for i in floats or rows), default=0.0))
    order = error_per_byte(errors, units)
    before = quality(results([]))
    if budget.units is not None:
        least = min(budget.units, count)
    else:
        least = _least(lambda k: quality(results(order[:k])) >= target, count) if before < target else 0
    chosen = order[:least]
    after = quality(results(chosen))
    _write(calibration, [units[k] for k in chosen])
    bytes_all = sum(unit.bytes for unit in units if unit.weight)
    more = sum(units[k].bytes for k in chosen if units[k].weight)
    kept = tuple(units[k] for k in chosen)
    return Kept(kept, count - least, bytes_all + more, bytes_all, abs(target), abs(before), abs(after))


class Switched:
    """The program with a switch for each unit, compiled.

    weights: whether units round their weights too, and not only activations. Raises ScalifyError without units.
    """

    def __init__(self, calibration: Calibration, *, weights: bool = True):
        module, decided = calibration.decided_products()
        with module.context, ir.Location.unknown(module.context):
            self.units: list[Unit] = find_units(module, decided)
            if not self.units:
                raise ScalifyError("nothing of this program becomes FP8: --keep-wide has nothing to choose")
            scales = calibration.scales
            blocks = parse_precision(calibration.precision or "fp8").blocks
            kind = FORMATS[blocks] if blocks else None
            add_switches(module, self.units, decided, scales.operands, scales.arguments, weights=weights, kind=kind)
        EmbedWeights().apply(module, [])
        whole = entry_signature(module)
        self._calibration = calibration
        self._signature = Signature(whole.arguments[:-1], whole.results)  # without the switches
        self._arguments = pair_arguments(calibration.signature, self._signature, narrowed=True)
        self._results = pair_results(calibration.signature, whole, narrowed=True)
        self._run = xla.compile(module)

    def __call__(self, arrays: Sequence[Array], switches: Array) -> list[Array]:
        """The original's results, of its arguments. switches: one bool for each unit, True where it is rounded."""
        inputs = self._calibration.rewritten_inputs(arrays, self._signature, self._arguments)
        found = self._run([*inputs, switches])
        return [recombine(found[own.data], None if own.scale is None else found[own.scale]) for own in self._results]


def _least(enough: Callable[[int], bool], count: int) -> int:
    """The least k in 1 .. count that is enough, which more than k are too; count where none is."""
    low, high = 1, count
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _write(calibration: Calibration, chosen: Sequence[Unit]) -> None:
    scales = calibration.scales
    scales.wide_weights = sorted({*calibration.infinite, *(unit.weight for unit in chosen if unit.weight)})
    scales.wide_products = sorted({i for unit in chosen if not unit.weight for i in unit.products})
    for name in scales.wide_weights:  # f16 bears channels of any size
        scale = scales.arguments.get(name)
        if scale is not None and scale.ndim:
            scales.arguments[name] = np.asarray(split_scales(scale)[0], np.float32)


def _distance(one: Sequence[Sequence[Array]], other: Sequence[Sequence[Array]], i: int) -> float:
    return relative_error([each[i] for each in one], [each[i] for each in other])


def relative_error(got: Sequence[Array], want: Sequence[Array]) -> float:
    """|got - want| / |want| by norm, over all batches, where both are finite; of integers, the share that differs."""
    error = size = 0.0
    for a, b in zip(got, want, strict=True):
        if b.dtype.kind in "iub":
            error, size = error + float(np.sum(a != b)), size + b.size
            continue
        x, y = a.astype(np.float64), b.astype(np.float64)
        both = np.isfinite(x) & np.isfinite(y)
        error += float(np.sum((x - y)[both] ** 2))
        size += float(np.sum(y[both] ** 2))
    return float(np.sqrt(error / size)) if size else 0.0


def expected_agreement(got: Sequence[Array], want: Sequence[Array]) -> float:
    """The expected share of rows whose largest element stays the largest; of integers, the share that is equal."""
    total, count = 0.0, 0
    for a, b in zip(got, want, strict=True):
        if b.dtype.kind in "iub":
            total, count = total + float(np.sum(a == b)), count + b.size
            continue
        z = b.astype(np.float64).reshape(-1, b.shape[-1])
        d = a.astype(np.float64).reshape(z.shape) - z
        known = np.isfinite(z) & np.isfinite(d)
        d = np.where(known, d, 0)
        n = np.maximum(known.sum(-1, keepdims=True), 1)
        d = np.where(known, d - d.sum(-1, keepdims=True) / n, 0)  # what all scores have in common changes nothing
        deviation = np.sqrt((d**2).sum(-1, keepdims=True) / n)
        margin = np.where(known, z, -np.inf).max(-1, keepdims=True) - z
        first = np.where(known, z, -np.inf).argmax(-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(deviation > 0, margin / (np.sqrt(2) * deviation), np.inf)
        ratio = np.where(known, ratio, np.inf)
        ratio[np.arange(len(z)), first] = np.inf
        total += float(np.sum(np.exp(np.asarray(jax.scipy.special.log_ndtr(ratio.astype(np.float32))).sum(-1))))
        count += len(z)
    return total / count if count else 1.0
