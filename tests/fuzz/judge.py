"""Whether a program still computes what it did: the tolerance of docs/contract.md.

A result that is beyond it may be one that the program itself does not determine: where neighbouring inputs, moved by
the resolution of their types, give results as far apart (a comparison of what is nearly equal, a quotient by what
cancels), the original's own noise is measured there too, and the larger one counts.
"""

import dataclasses
import pathlib
import random
import re
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.compare import Tolerance, compare_results
from scalify_hlo.execution.element_types import Array, epsilon, is_float_array
from scalify_hlo.execution.inputs import recombine, rewritten_arguments, split_scales, spread_scales
from scalify_hlo.execution.interpreter import InterpreterError, interpret
from scalify_hlo.execution.promote import promote_arrays, promote_to_f64
from scalify_hlo.execution.signature import entry_signature, pair_arguments, pair_results
from scalify_hlo.passes.pack_scales import unpack_scales
from scalify_hlo.passes.pipeline import parse_pipeline
from scalify_hlo.types import FLOAT_RANGE
from tests.fuzz.jax_programs import Program

_OPTIONS = (
    ("", 6), ("plain-results=true", 2), ("scale-dtype=e8m0", 1), ("rounding=nearest", 1), ("rounding=up", 1),
    ("rules=paper", 2), ("recognise=none", 1), ("recognise=blocks", 1), ("statistics=own", 1), ("slack=0", 1),
    ("vector-scales=false", 1), ("result-scales=shaped scale-dims=all=-1", 1), ("print-rules=true", 1),
)  # fmt: skip
_EPS = {np.dtype(t): epsilon(n) for t, n in ((np.float64, "f64"), (np.float32, "f32"), (np.float16, "f16"))}


@dataclasses.dataclass(frozen=True)
class Case:
    """A program, the pipeline it goes through, the seed of its inputs, and how their scales are chosen."""

    program: Program
    options: str
    seed: int
    scales: Any = "rms"

    @property
    def pipeline(self) -> str:
        options = f"{self.options} mark-state=true".strip() if self.is_packed else self.options
        scalify = f"scalify{{{options}}}" if options else "scalify"
        return f"{scalify},scalify-pack-scales" if self.is_packed else scalify

    @property
    def is_packed(self) -> bool:
        """Whether scales go through a vector and back: those of every fifth program."""
        return self.seed % 5 == 0


def options_of(program: Program, rng: random.Random) -> str:
    """Options of the rewriter, varied: one or two of them, and a part of the arguments."""
    texts, weights = zip(*_OPTIONS, strict=True)
    chosen = {text for text in rng.choices(texts, weights, k=rng.choice((1, 1, 2))) if text}
    if len({text.split("=")[0] for text in chosen}) < len(chosen):
        chosen.pop()
    if rng.random() < 0.25 and "scale-dims" not in " ".join(chosen):
        floats = [i for i, a in enumerate(program.arguments) if "float" in a.dtype]
        some = [str(i) for i in floats if rng.random() < 0.6]
        chosen.add(f"args={','.join(some) or 'none'}" if len(some) < 2 else f'args="{",".join(some)}"')
    return " ".join(sorted({*chosen, "on-unsupported=unscale"}))


def judge(case: Case) -> str:
    """ "ok", "refused: why", "wrong: which results", "misfit: which results", or "error: what and where"."""
    try:
        text = case.program.lowered()
    except Exception as error:  # noqa: BLE001 - of JAX
        return f"no program: {type(error).__name__}"
    arrays = [a.array(case.seed) for a in case.program.arguments]
    with jax.enable_x64(True):
        try:
            return fitted(_judge(text, arrays, case), case, judge, narrow=bool(re.search(r"[x<](f16|f8\w+)>", text)))
        except Exception as error:  # noqa: BLE001 - what is looked for
            return described_error(error)


def fitted(outcome: str, case: Any, judge: Callable[[Any], str], *, narrow: bool) -> str:
    """The outcome; "misfit: ..." where narrow data are wrong only because their scales are up to 2^6 from their size.

    Products of three such are as much as 2^18 from unit size either way, and f16 has 2^30 (docs/contract.md).
    """
    if not (outcome.startswith("wrong") and narrow and case.scales == "jitter"):
        return outcome
    fits = judge(dataclasses.replace(case, scales="rms")) == "ok"
    return outcome.replace("wrong", "misfit") if fits else outcome


def described_error(error: Exception) -> str:
    """ "refused: why" of a diagnosis, "error: what and where" of anything else."""
    if isinstance(error, ScalifyError):
        return f"refused: {re.sub(r'[0-9]+', 'N', error.diagnostics[0].message)[:110]}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    said = re.sub(r"[0-9]+", "N", str(error))[:80]
    return f"error: {type(error).__name__} in {pathlib.Path(frame.filename).name}:{frame.name}: {said}"


def _judge(text: str, arrays: Sequence[Array], case: Case) -> str:
    original = ir.Module.parse(text, context=make_context())
    rewritten = ir.Module.parse(text, context=original.context)
    parse_pipeline(case.pipeline).run(rewritten, [])
    if case.is_packed:
        unpack_scales(rewritten)
    with rewritten.context:
        rewritten.operation.verify()
        again = rewritten.operation.get_asm(enable_debug_info=False)
    ir.Module.parse(again, context=original.context)
    signature, new_signature = entry_signature(original), entry_signature(rewritten)
    pairings = pair_arguments(signature, new_signature)
    splits = split_scales(arrays, case.scales, case.seed)
    shapes = [() if p.scale is None else new_signature.arguments[p.scale].shape for p in pairings]
    splits = spread_scales(splits, shapes, case.seed)
    wide = promote_to_f64(original)
    run = interpret
    try:
        first = run(original, arrays)
        ideal, got = _others(run, wide, rewritten, arrays, splits, pairings, new_signature)
    except InterpreterError:
        run = run_on_xla
        try:
            first = run(original, arrays)
        except jax.errors.JaxRuntimeError:
            return "outside: XLA does not run the original"  # an FFT whose operand XLA:CPU lays out in another order
        ideal, got = _others(run, wide, rewritten, arrays, splits, pairings, new_signature)

    results = pair_results(signature, new_signature)

    def failing(reference: Sequence[Array], coarsest: float = 0.0) -> set[int]:
        compared = compare_results(signature, new_signature, reference, got, ideal, Tolerance(coarsest=coarsest))
        return {i for i, r in enumerate(compared.results) if r.verdict == "wrong"}

    with np.errstate(all="ignore"):
        wrong = failing(first)
        for seed in range(4 if wrong else 0):
            wrong &= failing(run(original, neighbours(arrays, seed)))
            if wrong and seed < 2:
                wrong &= _undetermined(wrong, ideal, run(wide, promote_arrays(neighbours(arrays, 10 + seed))), got)
        overflowed = {i for i in wrong if not np.isfinite(first[i].astype(np.complex128)).any()}
        if overflowed:  # nothing measures its noise but f64 itself
            near = [run(wide, promote_arrays(neighbours(arrays, seed))) for seed in range(4)]
            wrong -= overflowed - set.intersection(*(failing(each, _coarsest(text)) for each in [first, *near]))
        if wrong and _has_bound_beyond_f16(text):
            values = [recombine(got[p.data], None if p.scale is None else got[p.scale]) for p in results]
            first, ideal = (_as_got_where_infinite(each, first, values) for each in (first, ideal))
            if not wrong & failing(first):
                return "outside: of a bound that f16 does not hold"
        if wrong and _saturates(case, run, arrays):
            return "outside: a cast to f8 that saturates"
        if wrong and _leaves_f32(case, run, arrays):
            return "outside: values beyond f32"
    return f"wrong: results {sorted(wrong)}" if wrong else "ok"


def _others(
    run: Any, wide: Any, rewritten: Any, arrays: Any, splits: Any, pairings: Any, signature: Any
) -> tuple[list[Array], list[Array]]:
    """What the original in f64, and the rewritten program return."""
    pairs = rewritten_arguments(splits, pairings, signature)
    return run(wide, promote_arrays(arrays)), run(rewritten, pairs)


def _has_bound_beyond_f16(text: str) -> bool:
    """Whether a number such as -1e9 stands in a program with f16: it is infinite there, and clipped in ours."""
    far = re.findall(r"dense<-?\d\.\d+e\+(\d+)> : tensor<\S*f(?:32|64)>", text, re.IGNORECASE)
    return bool(re.search(r"[x<]f16>", text)) and any(int(exponent) >= 5 for exponent in far)


def _as_got_where_infinite(values: Sequence[Array], original: Sequence[Array], got: Sequence[Array]) -> list[Array]:
    """The values, but what was got where the original has no finite number: of a clipped bound it may be any."""
    kept: list[Array] = []
    for value, own, ours in zip(values, original, got, strict=True):
        infinite = ~np.isfinite(own.astype(np.complex128))
        kept.append(np.where(infinite, ours, value).astype(value.dtype))
    return kept


def _coarsest(text: str) -> float:
    """eps of the coarsest type in a program: what stands for a noise that nothing measures."""
    found = set(re.findall(r"(?<=[x<])(?:bf16|f\d\w+)(?=>)", text))
    return max((epsilon(element) for element in found if element in FLOAT_RANGE), default=0.0)


def _saturates(case: Case, run: Any, arrays: Sequence[Array]) -> bool:
    """Whether a line of f8 is NaN where its operands are not: what is computed of it has no reference."""
    names = tuple(name for line, _ in case.program.lines for name in line)
    text = dataclasses.replace(case.program, results=names).lowered()
    module = ir.Module.parse(text, context=make_context())
    ideal = run(promote_to_f64(module), promote_arrays(arrays))
    return any(
        spec.element_type.startswith("f8") and (np.isnan(value.astype(np.float64)) & ~np.isnan(wide)).any()
        for spec, value, wide in zip(entry_signature(module).results, run(module, arrays), ideal, strict=True)
    )


def _leaves_f32(case: Case, run: Any, arrays: Sequence[Array]) -> bool:
    """Whether a value of a line is beyond what the contract speaks of."""
    names = tuple(name for line, _ in case.program.lines for name in line)
    text = dataclasses.replace(case.program, results=names).lowered()
    wide = promote_to_f64(ir.Module.parse(text, context=make_context()))
    values = [*run(wide, promote_arrays(arrays)), *arrays]
    sizes = [np.abs(a.astype(np.complex128)) for a in values]
    return any(((s > 2.0**100) | ((s > 0) & (s < 2.0**-100)))[np.isfinite(s)].any() for s in sizes)


def neighbours(arrays: Sequence[Array], seed: int, coarsest: float = 0.0) -> list[Array]:
    """Every float moved by a few units of its last place. coarsest: what a unit is at least, relative to a number."""
    rng = np.random.default_rng(seed)
    moved: list[Array] = []
    for array in arrays:
        if is_float_array(array) or array.dtype.kind == "c":
            eps = _EPS.get(array.dtype, 2.0**-7 if array.dtype.itemsize == 2 else 2.0**-23)
            array = (array * (1 + 2 * max(eps, coarsest) * rng.standard_normal(array.shape))).astype(array.dtype)
        moved.append(np.asarray(array))
    return moved


def _undetermined(wrong: set[int], ideal: Sequence[Array], near: Sequence[Array], got: Sequence[Array]) -> set[int]:
    """Results that neighbouring inputs leave where they are."""
    del got
    kept: set[int] = set()
    for i in wrong:
        same = np.isfinite(ideal[i].astype(np.complex128)) == np.isfinite(near[i].astype(np.complex128))
        if same.all():
            kept.add(i)
    return kept


def run_on_xla(module: ir.Module, arrays: Sequence[Array]) -> list[Array]:
    return xla.compile(module)(arrays)
