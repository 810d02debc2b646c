"""Original against rewritten program, result by result."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import ml_dtypes
import numpy as np

from scalify_hlo.execution.element_types import Array, epsilon, is_complex
from scalify_hlo.execution.inputs import recombine
from scalify_hlo.execution.signature import Signature, TensorSpec, pair_results

_finfo: Any = ml_dtypes.finfo

# What is left at least of a bound beyond the range of a narrow type.
_CLIPPED = 2.0**-8

# exact: the same bits once data * scale is rounded to the result's type; unchecked: no finite value to compare.
Verdict = Literal["exact", "ok", "wrong", "unchecked"]


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """How far a float result may be from the f64 program's.

    RMS of the error:  noise_units * (RMS of the noise) + epsilons * (unit in the last place of the RMS of the result);
    largest error:     noise_units * (largest noise) + 4 * epsilons * (that unit).

    The unit is eps * RMS, and the smallest number of the result's type where that is larger.

    The noise is the original program's own distance from its f64 self, for each result the larger of its own and of
    the 90th percentile, relative to the RMS, over the results of its element type (one small result may be right by
    luck). eps is that of the result's element type; f64 results, whose noise nothing measures, use 2^-43.

    An integer result may differ in `noise_units` times as many elements as the original and its f64 self do.
    """

    noise_units: float = 8.0
    epsilons: float = 4.0
    # What eps is at least: that of the types a module was brought to, whose rounding is in all its results.
    coarsest: float = 0.0


@dataclasses.dataclass(frozen=True)
class ResultComparison:
    """One result of the original program and what the rewritten one made of it.

    data_rms: root mean square of the data. scale: largest scale; None where the result is not scaled.
    error: largest |rewritten - reference|, in units of the reference's RMS; for integers the fraction that differs.
    absolute_error: the same in the result's own units.
    noise: largest |original - reference| in units of the RMS; None where the f64 program could not be had.
    limit: what the tolerance allows `absolute_error` to be (for integers: a fraction of the elements).
    saved: number of elements that are finite, as in f64, where the original's are not.
    """

    name: str
    type: str
    data_rms: float
    scale: float | None
    error: float
    absolute_error: float
    noise: float | None
    limit: float
    verdict: Verdict
    saved: int = 0

    @property
    def passed(self) -> bool:
        return self.verdict in ("exact", "ok")

    def explanation(self) -> str:
        """One line for a result that did not pass."""
        if self.verdict == "unchecked":
            return f"{self.name} ({self.type}) has no finite value on these inputs, so nothing was checked: give others"
        if np.isinf(self.absolute_error):
            return f"{self.name} ({self.type}) is finite where it should not be, or the other way round"
        return f"{self.name} ({self.type}) is off by {self.absolute_error:.3g}; the tolerance allows {self.limit:.3g}"


@dataclasses.dataclass(frozen=True)
class Comparison:
    results: tuple[ResultComparison, ...]

    @property
    def passed(self) -> bool:
        """Every result is within the tolerance, and none went unchecked."""
        return all(result.passed for result in self.results)

    def failures(self) -> list[ResultComparison]:
        return [result for result in self.results if not result.passed]

    def table(self) -> str:
        """One line for each result, for people."""
        head = ("result", "type", "data RMS", "scale", "max error", "error/RMS", "noise/RMS", "verdict")
        rows = [head, *map(_row, self.results)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join(line.rstrip() for line in lines)


def compare_results(
    original: Signature,
    rewritten: Signature,
    original_results: Sequence[Array],
    rewritten_results: Sequence[Array],
    ideal_results: Sequence[Array] | None,
    tolerance: Tolerance = Tolerance(),
    noisy_results: Sequence[Sequence[Array]] = (),
) -> Comparison:
    """Compare what the two programs returned for the same inputs.

    ideal_results: those of the f64 program (`promote_to_f64`), against which both are measured; None where there is
        none: then the original is the reference, without noise.
    noisy_results: of programs whose distance from the f64 program counts as noise besides the original's.

    Raises ScalifyError when the rewritten signature's results are not the original's, paired or plain.
    """
    pairings = pair_results(original, rewritten, narrowed=tolerance.coarsest > 0)
    values: list[tuple[Array, Array | None]] = [
        (rewritten_results[p.data], None if p.scale is None else rewritten_results[p.scale]) for p in pairings
    ]
    ideals = original_results if ideal_results is None else ideal_results
    references = [
        _Reference.of(original_results[i], ideals[i], spec, [each[i] for each in noisy_results])
        for i, spec in enumerate(original.results)
    ]
    typical = _typical_noise(original.results, references)
    compared = [
        _compare(spec, reference, data, scale, typical.get(spec.element_type), ideal_results is not None, tolerance)
        for spec, reference, (data, scale) in zip(original.results, references, values, strict=True)
    ]
    return Comparison(tuple(compared))


@dataclasses.dataclass(frozen=True)
class _Reference:
    """What a result should be, and how far the original program is from it."""

    original: Array
    ideal: Array
    rms: float
    noise_max: float
    noise_rms: float

    @staticmethod
    def of(original: Array, ideal: Array, spec: TensorSpec, noisy: Sequence[Array] = ()) -> "_Reference":
        if not (spec.is_float or is_complex(spec.element_type)):
            return _Reference(original, ideal, 0.0, 0.0, 0.0)
        original, ideal = _wide(original), _wide(ideal)
        if spec.element_type.startswith("f8"):  # what the type cannot hold is infinite: e4m3 makes it a NaN
            beyond = ~np.isfinite(original) & (np.abs(ideal) > float(_finfo(spec.dtype).max))
            ideal = np.where(beyond, np.copysign(np.inf, ideal), ideal)
        both = np.isfinite(original) & np.isfinite(ideal)
        found = [np.abs(original[both] - ideal[both])]
        for each in map(_wide, noisy):
            both = np.isfinite(each) & np.isfinite(ideal)
            found.append(np.abs(each[both] - ideal[both]))
        size = _rms(ideal[np.isfinite(ideal)])
        return _Reference(original, ideal, size, max(map(_largest, found)), max(map(_rms, found)))


def _typical_noise(specs: Sequence[TensorSpec], references: Sequence[_Reference]) -> dict[str, tuple[float, float]]:
    """Element type -> 90th percentile of the largest and of the RMS noise, both relative to the result's RMS."""
    relative: dict[str, list[tuple[float, float]]] = {}
    for spec, r in zip(specs, references, strict=True):
        if r.rms > 0:
            relative.setdefault(spec.element_type, []).append((r.noise_max / r.rms, r.noise_rms / r.rms))
    return {
        element_type: (float(np.percentile([m for m, _ in noise], 90)), float(np.percentile([r for _, r in noise], 90)))
        for element_type, noise in relative.items()
    }


def _compare(
    spec: TensorSpec,
    reference: _Reference,
    data: Array,
    scale: Array | None,
    typical: tuple[float, float] | None,
    has_noise: bool,
    tolerance: Tolerance,
) -> ResultComparison:
    value = recombine(data, scale)
    shown_scale = None if scale is None else _largest(np.abs(scale.astype(np.float64)))
    if not (spec.is_float or is_complex(spec.element_type)):
        return _compare_integers(spec, reference, value, has_noise, tolerance)
    got, ideal, original, rms = _wide(value), reference.ideal, reference.original, reference.rms
    finite = np.isfinite(ideal)
    # Where the narrow program leaves its range and f64 does not, either answer will do.
    as_original = _same(got, original)
    overflowed = as_original & ~np.isfinite(original)
    placed = np.where(finite, np.isfinite(got) | overflowed, _same(got, ideal) | as_original)
    # A bound beyond the type (a mask of -1e9 in f16) is clipped to the largest number that data hold.
    largest_number = float(_finfo(data.dtype).max)
    if spec.element_type.startswith("f8"):  # a cast of the value saturates, to the largest number of its sign
        saturated = np.isinf(ideal) & (np.abs(_wide(data)) >= largest_number) & (np.sign(got) == np.sign(ideal))
        placed |= ~np.isfinite(original) & (saturated | np.isnan(ideal))
    with np.errstate(invalid="ignore"):
        clipped = ~np.isfinite(original) & (np.abs(_wide(data)) >= largest_number)
        clipped &= np.real(got) * np.sign(np.real(ideal)) >= _CLIPPED * np.abs(ideal)
    measured = finite & np.isfinite(got) & ~clipped
    error = np.abs(got[measured] - ideal[measured])
    eps = 2.0**-43 if spec.element_type in ("f64", "complex<f64>") else epsilon(spec.element_type)
    eps = max(eps, tolerance.coarsest)
    typical_max, typical_rms = typical or (0.0, 0.0)
    # A unit in the last place of a number that large: below the normal numbers of its type it is the smallest number.
    floor = tolerance.epsilons * max(eps * rms, float(_finfo(spec.dtype).smallest_subnormal))
    limit_max = tolerance.noise_units * max(reference.noise_max, typical_max * rms) + 4 * floor
    limit_rms = tolerance.noise_units * max(reference.noise_rms, typical_rms * rms) + floor
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = value.astype(spec.dtype)
    verdict: Verdict
    if not placed.all() or _largest(error) > limit_max or _rms(error) > limit_rms:
        verdict = "wrong"
    elif finite.size and not finite.any():
        verdict = "unchecked"
    elif _same_bits(rounded, original.astype(spec.dtype)):
        verdict = "exact"
    else:
        verdict = "ok"
    largest = _largest(error) if placed.all() else float("inf")
    unit = rms or 1.0
    return ResultComparison(
        name=spec.name,
        type=str(spec),
        data_rms=_rms(_wide(data)[np.isfinite(_wide(data))]),
        scale=shown_scale,
        error=largest / unit,
        absolute_error=largest,
        noise=reference.noise_max / unit if has_noise else None,
        limit=limit_max,
        verdict=verdict,
        saved=int((measured & ~np.isfinite(original)).sum()),
    )


def _compare_integers(
    spec: TensorSpec, reference: _Reference, value: Array, has_noise: bool, tolerance: Tolerance
) -> ResultComparison:
    size = max(value.size, 1)
    differing = int((value != reference.original).sum()) / size
    noise = int((reference.original != reference.ideal).sum()) / size
    limit = tolerance.noise_units * noise
    verdict: Verdict = "exact" if not differing else "ok" if differing <= limit else "wrong"
    rms = _rms(value.astype(np.float64))
    return ResultComparison(
        spec.name, str(spec), rms, None, differing, differing, noise if has_noise else None, limit, verdict
    )


def _row(result: ResultComparison) -> tuple[str, ...]:
    note = f" ({result.saved} finite where the original is not)" if result.saved else ""
    return (
        result.name,
        result.type,
        f"{result.data_rms:.3g}",
        "-" if result.scale is None else _power_of_two(result.scale),
        f"{result.absolute_error:.2e}",
        f"{result.error:.2e}",
        "-" if result.noise is None else f"{result.noise:.2e}",
        result.verdict + note,
    )


def _power_of_two(scale: float) -> str:
    """2^k where the scale is one, else the number."""
    if scale > 0 and np.isfinite(scale):
        mantissa, exponent = np.frexp(scale)
        if mantissa == 0.5:
            return f"2^{exponent - 1}"
    return f"{scale:.6g}"


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _same(a: Array, b: Array) -> Array:
    return (a == b) | (np.isnan(a) & np.isnan(b))


def _same_bits(a: Array, b: Array) -> bool:
    """Equal, signs of zeros included, any NaN equal to any NaN."""
    if a.dtype.kind == "c":
        return _same_bits(np.real(a), np.real(b)) and _same_bits(np.imag(a), np.imag(b))
    return bool(np.all(_same(a, b))) and bool(np.all((np.signbit(a) == np.signbit(b)) | np.isnan(a)))


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(np.abs(values))))) if values.size else 0.0


def _largest(values: Array) -> float:
    return float(values.max()) if values.size else 0.0
