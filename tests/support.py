"""Numeric checks of rewritten programs, for every test that is about values.

check_program(text, arrays, scales)       promises P1, P2, P5: data * scale is the original's result, bit for bit
check_range(text16, arrays, exponents)    promise P3: f16 data whose data * scale f16 cannot hold
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array, epsilon, is_complex
from scalify_hlo.execution.inputs import Split, draw_inputs, recombine, rewritten_arguments, split_by_exponent
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.modules import to_bytecode
from scalify_hlo.execution.promote import promote_array, promote_to_f64
from scalify_hlo.execution.signature import Signature, TensorSpec, entry_signature, pair_arguments, pair_results
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import Precision, precision_pipeline
from scalify_hlo.rewrite import rewrite_module

# Exponents of the arguments' scales, repeated over the float arguments: none, unlike ones, and the other way round.
EXPONENTS = ((0,), (7, -9, 3, -4), (-9, 7, -2, 5))
# f16 has 30 binades: scales must leave room for the program's own values.
EXPONENTS_F16 = ((0,), (2, -3, 1, -2), (-3, 2, -1, 1))
# Value overflows f16; underflows it; is far out; operands must be brought to a common scale on the way.
RANGE_EXPONENTS = {"up": (24,), "down": (-36,), "far": (60,), "mixed": (24, 22, 25, 23)}

# Runs a module's entry function: on the reference interpreter, or `run_on_xla`.
Evaluate = Callable[[str | bytes, Sequence[Array]], list[Array]]


def run_on_xla(module: str | bytes, arrays: Sequence[Array]) -> list[Array]:
    """Run on XLA:CPU, for the operations that the reference interpreter lacks."""
    return _compiled(module)(arrays)


@functools.lru_cache(maxsize=64)
def _compiled(module: str | bytes) -> xla.Executable:
    """One executable for the runs of a module with several inputs and scales."""
    return xla.compile(ir.Module.parse(module, context=_context()))


@functools.cache
def _context() -> ir.Context:
    return make_context()


def parse(text: str) -> ir.Module:
    """A module in a context that the tests share: to make one takes longer than to rewrite a small program."""
    return ir.Module.parse(text, context=_context())


def by_passes(text: str, precision: Precision | None, *dropped: type) -> ir.Module:
    """A program rewritten by all passes of a precision but some."""
    module = parse(text)
    elements = precision_pipeline(precision).elements
    Pipeline(tuple(each for each in elements if not isinstance(each, dropped))).run(module, [])
    assert module.operation.verify()
    return module


@dataclasses.dataclass(frozen=True)
class Rewritten:
    """A program and what the rewriter made of it."""

    text: str
    original: Signature
    signature: Signature

    @staticmethod
    def of(text: str, options: ScalifyOptions = ScalifyOptions()) -> "Rewritten":
        module = parse(text)
        original = entry_signature(module)
        rewrite_module(module, options)
        assert module.operation.verify()
        with module.context:
            rewritten = module.operation.get_asm(enable_debug_info=False)
        return Rewritten(rewritten, original, entry_signature(module))

    def run(self, splits: Sequence[Split], evaluate: Evaluate = interpret) -> list[Split]:
        """The results as (data, scale), for arguments given as (data, scale)."""
        pairings = pair_arguments(self.original, self.signature)
        results = evaluate(self.text, rewritten_arguments(splits, pairings, self.signature))
        return [
            Split(results[p.data], None if p.scale is None else results[p.scale])
            for p in pair_results(self.original, self.signature)
        ]


@functools.lru_cache(maxsize=1)
def _rewritten(text: str, options: ScalifyOptions) -> Rewritten:
    """The program of the last call, which is often checked again with other arrays."""
    return Rewritten.of(text, options)


def check_program(
    text: str,
    arrays: Sequence[Array] | None = None,
    scales: Sequence[float] | None = None,
    *,
    exact: bool = True,
    epsilons: float = 4.0,
    options: ScalifyOptions = ScalifyOptions(),
    evaluate: Evaluate = interpret,
) -> str:
    """Rewrite `text`, run both programs, by default on the reference interpreter, and assert that they agree.

    arrays: one for each argument; seeded ones when None.
    scales: powers of two, repeated over the float arguments; the sets of EXPONENTS, one after the other, when None.
        A scale is moved towards 1 until the data, argument / scale, are exact.
    exact: data * scale, rounded to the result's type, must have the original's bits (any NaN equals any NaN). When
        False, each element may be off by `epsilons` * eps * (its size + 2^-10 of the largest element's).

    Every scale that comes out must be a finite power of two (none of them: options.rounding="none").
    Returns the rewritten text.
    """
    rewritten = _rewritten(text, options)
    arguments = rewritten.original.arguments
    arrays = draw_inputs(rewritten.original) if arrays is None else [np.asarray(array) for array in arrays]
    expected = evaluate(text, arrays)
    narrow = any(spec.element_type == "f16" for spec in arguments)
    sets = [np.log2(scales).astype(int).tolist()] if scales is not None else EXPONENTS_F16 if narrow else EXPONENTS
    for exponents in sets:
        got = rewritten.run(_split(arguments, arrays, exponents), evaluate)
        for spec, pair, want in zip(rewritten.original.results, got, expected, strict=True):
            where = f"{spec.name}: {spec}, argument scales 2^{list(exponents)}"
            if pair.scale is not None and options.rounding != "none":
                _assert_powers_of_two(pair.scale, where)
            with np.errstate(over="ignore", invalid="ignore"):
                value = recombine(pair.data, pair.scale).astype(spec.dtype)
            agree = same_bits(value, want) if exact else close(value, want, spec, epsilons)
            assert agree.all(), _report(where, agree, value, want, rewritten.text)
    return rewritten.text


def check_range(
    text16: str,
    arrays: Sequence[Array] | None = None,
    exponents: Mapping[str, Sequence[int]] = RANGE_EXPONENTS,
    *,
    options: ScalifyOptions = ScalifyOptions(),
    evaluate: Evaluate = interpret,
) -> str:
    """Run a rewritten f16 program on data whose data * scale is out of f16's range, and compare with f64.

    arrays: the data, used as they are under every scale; seeded ones when None.
    exponents: name of a variant -> exponents of the scales, repeated over the float arguments.

    The reference is the program promoted to f64, on data * scale. Results must be finite where the reference is, within
    2^-8 plus 4 times the error that the f16 program has at scale 1 (relative; a quarter of it relative to the largest
    element), and integers equal. Returns the rewritten text.
    """
    rewritten = Rewritten.of(text16, options)
    arguments = rewritten.original.arguments
    arrays = draw_inputs(rewritten.original) if arrays is None else [np.asarray(array) for array in arrays]
    ideal_program = to_bytecode(promote_to_f64(parse(text16)))
    at_scale_one = evaluate(ideal_program, [promote_array(array) for array in arrays])
    tolerances = [f16_tolerance(got, ideal) for got, ideal in zip(evaluate(text16, arrays), at_scale_one, strict=True)]
    for variant, cycle in exponents.items():
        splits = _with_scales(arguments, arrays, cycle)
        values = [promote_array(recombine(split.data, split.scale)) for split in splits]
        expected = evaluate(ideal_program, values)
        got = rewritten.run(splits, evaluate)
        for spec, pair, want, tolerance in zip(rewritten.original.results, got, expected, tolerances, strict=True):
            where = f"{spec.name}: {spec}, variant {variant}, argument scales 2^{list(cycle)}"
            if pair.scale is not None:
                _assert_powers_of_two(pair.scale, where)
            value = recombine(pair.data, pair.scale)
            agree = close(value, want, spec, tolerance, small=0.25) if spec.is_float else value == want
            assert agree.all(), _report(where, agree, value, want, rewritten.text)
    return rewritten.text


def _split(arguments: Sequence[TensorSpec], arrays: Sequence[Array], cycle: Sequence[int]) -> list[Split]:
    """(x / s, s) for each float argument."""
    exponents = _cycled(arguments, cycle)
    return [Split(a, None) if e is None else split_by_exponent(a, e) for a, e in zip(arrays, exponents, strict=True)]


def _with_scales(arguments: Sequence[TensorSpec], arrays: Sequence[Array], cycle: Sequence[int]) -> list[Split]:
    """(x, s) for each float argument."""
    exponents = _cycled(arguments, cycle)
    return [
        Split(a, None if e is None else np.asarray(np.ldexp(1.0, e), np.float32))
        for a, e in zip(arrays, exponents, strict=True)
    ]


def _cycled(arguments: Sequence[TensorSpec], cycle: Sequence[int]) -> list[int | None]:
    count = 0
    exponents: list[int | None] = []
    for spec in arguments:
        exponents.append(cycle[count % len(cycle)] if spec.is_float else None)
        count += spec.is_float
    return exponents


def _assert_powers_of_two(scale: Array, where: str) -> None:
    values = scale.astype(np.float64)
    mantissas, _ = np.frexp(values)
    ok = np.isfinite(values) & (mantissas == 0.5)
    assert ok.all(), f"{where}: the result's scale {scale} is no power of two"


def same_bits(got: Array, want: Array) -> Array:
    if np.iscomplexobj(want):
        return same_bits(np.real(got), np.real(want)) & same_bits(np.imag(got), np.imag(want))
    if got.dtype.kind in "iub":
        return np.asarray(got == want)
    got, want = got.astype(np.float64), want.astype(np.float64)
    return ((got == want) & (np.signbit(got) == np.signbit(want))) | (np.isnan(got) & np.isnan(want))


def close(got: Array, want: Array, spec: TensorSpec, tolerance: float, small: float | None = None) -> Array:
    """Whether each element is within its tolerance; infinities and NaNs must be equal.

    tolerance: with `small` relative, of the element and `small` times as much of the largest; else in epsilons.
    """
    if not (spec.is_float or is_complex(spec.element_type)):
        return np.asarray(got == want)
    if small is None:
        tolerance, small = tolerance * epsilon(spec.element_type), 2.0**-10
    wide = np.complex128 if np.iscomplexobj(want) else np.float64
    got, want = got.astype(wide), want.astype(wide)
    finite = np.isfinite(want)
    largest = np.abs(want[finite]).max(initial=0.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(got - want) <= tolerance * np.abs(want) + small * tolerance * largest
    return np.where(finite, near, (got == want) | (np.isnan(got) & np.isnan(want)))


def f16_tolerance(got: Array, ideal: Array) -> float:
    """2^-8 plus 4 times the largest error, relative to the largest element, of the f16 program."""
    if got.dtype.kind in "iub":
        return 0.0
    got, ideal = got.astype(np.float64), ideal.astype(np.float64)
    finite = np.isfinite(got) & np.isfinite(ideal)
    largest = np.abs(ideal[finite]).max(initial=0.0)
    return 2.0**-8 + (4 * np.abs(got[finite] - ideal[finite]).max() / largest if largest > 0 else 0.0)


def _report(where: str, agree: Array, got: Array, want: Array, text: str) -> str:
    first = tuple(int(i[0]) for i in np.nonzero(~np.atleast_1d(agree)))
    pair = f"{np.atleast_1d(got)[first]!r}, expected {np.atleast_1d(want)[first]!r}"
    return f"{where}: {(~agree).sum()} of {agree.size} elements differ; at {list(first)} {pair}\n{text}"
