"""A fuzzer of presets: `python -m tests.fuzz.presets --seed 7 --count 1000 --seconds 600 --state FILE`.

Random training steps and forward passes (tests/fuzz/training.py) and programs of tests/fuzz/jax_programs.py in f32 are
rewritten with `--precision` and run beside the original. What a preset may lose is measured, not guessed: the program
that it casts is run in f64 and rounded wherever the cast has a narrow value, to the digits of the type but without its
limits of range; with FP8 products their operands are rounded as well. That is the noise of the type itself, and a
result is right within 8 times it, as in docs/contract.md. A result that is not, or is not finite, is

    wrong   if the cast program without scales is better than that,
    hard    if it is as wrong.
"""

import dataclasses
import json
import pathlib
import random
import sys
import time
from collections.abc import Sequence
from typing import Any

import click
import jax
import numpy as np

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.compare import Tolerance, compare_results
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.inputs import Split, recombine, rewritten_arguments, split_scales, spread_scales
from scalify_hlo.execution.interpreter import InterpreterError, interpret
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.promote import promote_arrays, promote_to_f64
from scalify_hlo.execution.rounded import DIGITS, operand_digits, rounded_program
from scalify_hlo.execution.signature import entry_signature, pair_arguments
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.normal_form import NormalForm
from scalify_hlo.passes.pipeline import Pipeline, parse_pipeline
from scalify_hlo.passes.precision_pipeline import parse_precision, precision_pipeline
from scalify_hlo.passes.scalify import Scalify
from tests.fuzz.jax_programs import Program, draw
from tests.fuzz.judge import described_error, fitted, neighbours, options_of, run_on_xla
from tests.fuzz.programs import smaller
from tests.fuzz.training import draw_training

PRESETS = ("fp16", "fp16-state", "fp8", "fp8-fp16-state", "bf16", "mxfp8", "nvfp4")
# They serve forward programs.
_FORWARD = ("mxfp8", "nvfp4")
_VALUES = ("normal", "positive", "small", "equal", "some zeros")


@dataclasses.dataclass(frozen=True)
class PresetCase:
    """A program, its preset, options of the rewriter, the seed of its inputs, and how their scales are chosen."""

    program: Program
    precision: str
    options: str
    seed: int
    scales: Any = "rms"

    @property
    def pipeline(self) -> str:
        return f"{self.precision} {{{self.options}}}"

    def passes(self) -> Pipeline:
        """The preset's passes with these options of `scalify`."""
        (own,) = parse_pipeline(f"scalify{{{self.options}}}" if self.options else "scalify").elements
        chosen = precision_pipeline(self.precision).elements
        return Pipeline(tuple(own if isinstance(each, Scalify) else each for each in chosen))


def case(seed: int, k: int) -> PresetCase:
    """Case `k` of a seed."""
    rng = random.Random(f"{seed}/{k}/presets")
    precision = rng.choice(PRESETS)
    program = draw_training(seed, k, forward=precision in _FORWARD)
    if rng.random() < 0.35:
        program = _in_f32(draw(seed, k, rng.random() < 0.5), rng)
    options = options_of(program, rng) if rng.random() < 0.4 else ""
    left_out = ("scale-dims", "result-scales", "on-unsupported")
    chosen = [o for o in options.split(" ") if o and not o.startswith(left_out)]
    return PresetCase(program, precision, " ".join(chosen), k, rng.choice(("rms", "rms", "jitter")))


def _in_f32(program: Program, rng: random.Random) -> Program:
    """The same lines on f32 arguments of ordinary size, without f64."""
    arguments = [
        dataclasses.replace(a, dtype="float32", values=rng.choice(_VALUES)) if "float" in a.dtype else a
        for a in program.arguments
    ]
    return dataclasses.replace(program, arguments=tuple(arguments), x64=False)


def judge(found: PresetCase) -> str:
    """ "ok", "hard: ...", "misfit: ...", "wrong: which results", "refused: why" or "error: what and where"."""
    try:
        text = found.program.lowered()
    except Exception as error:  # noqa: BLE001 - of JAX
        return f"no program: {type(error).__name__}"
    arrays = [a.array(found.seed) for a in found.program.arguments]
    with jax.enable_x64(True):
        try:
            return fitted(_judge(text, arrays, found), found, judge, narrow=not found.precision.startswith("bf16"))
        except Exception as error:  # noqa: BLE001 - what is looked for
            return described_error(error)


def _judge(text: str, arrays: Sequence[Array], found: PresetCase) -> str:
    original = ir.Module.parse(text, context=make_context())
    chosen = parse_precision(found.precision)
    rewritten = clone(original)
    found.passes().run(rewritten, [])
    assert rewritten.operation.verify()
    cast = clone(original)
    Pipeline(tuple(p for p in found.passes().elements if isinstance(p, NormalForm | Cast))).run(cast, [])
    signature, new = entry_signature(original), entry_signature(rewritten)
    pairings = pair_arguments(signature, new, narrowed=True)
    splits = split_scales(arrays, found.scales, found.seed)
    shapes = [() if p.scale is None else new.arguments[p.scale].shape for p in pairings]
    splits = spread_scales(splits, shapes, found.seed)
    # What the narrower types of arguments lose is lost for all.
    splits = [Split(s.data.astype(new.arguments[p.data].dtype), s.scale) for s, p in zip(splits, pairings, strict=True)]
    arrays = [
        recombine(s.data, s.scale).astype(spec.dtype) for s, spec in zip(splits, signature.arguments, strict=True)
    ]
    got = _run(rewritten, rewritten_arguments(splits, pairings, new))
    ideal = _run(promote_to_f64(original), promote_arrays(arrays))
    rounded = rounded_program(cast, operand_digits(chosen, trains=True))  # of all programs, as of the coarser ones

    def failing(results: Sequence[Array], references: Sequence[Sequence[Array]]) -> set[int]:
        wrong = set(range(len(signature.results)))
        for reference in references:
            tolerance = Tolerance(coarsest=chosen.epsilon)
            compared = compare_results(signature, result_signature, reference, results, ideal, tolerance)
            wrong &= {i for i, r in enumerate(compared.results) if r.verdict == "wrong"}
        return wrong

    with np.errstate(all="ignore"):
        result_signature = new
        noisy = [
            _run(rounded, promote_arrays(neighbours(arrays, seed, 2.0 ** -DIGITS["f16"]) if seed else arrays))
            for seed in range(4)
        ]
        wrong = failing(got, noisy)
        if not wrong:
            return "ok"
        narrow = [a.astype(spec.dtype) for a, spec in zip(arrays, entry_signature(cast).arguments, strict=True)]
        by_hand = [a.astype(s.dtype) for a, s in zip(_run(cast, narrow), signature.results, strict=True)]
        result_signature = signature
        hard = wrong & failing(by_hand, noisy)
    return f"wrong: results {sorted(wrong - hard)}" if wrong - hard else f"hard: results {sorted(hard)}"


def _run(module: ir.Module, arrays: Sequence[Array]) -> list[Array]:
    try:
        return interpret(module, arrays)
    except InterpreterError:
        return run_on_xla(module, arrays)


def describe(found: PresetCase) -> str:
    """A case for people."""
    inputs = ", ".join(f"{a.name}: {a.dtype}{list(a.shape)} {a.values}" for a in found.program.arguments)
    return f"{found.program.source()}\n# {inputs}; seed {found.seed}, scales {found.scales}\n# {found.pipeline}"


@click.command(help=__doc__)
@click.option("--seed", default=0, help="Of programs, options and inputs.")
@click.option("--count", default=100_000, help="How many programs.")
@click.option("--seconds", default=600.0, help="When to stop.")
@click.option("--state", type=click.Path(path_type=pathlib.Path), help="Continue from this file, and write it.")
@click.option("--one", type=int, help="Show case K of the seed and its outcome, and stop.")
def main(seed: int, count: int, seconds: float, state: pathlib.Path | None, one: int | None) -> None:
    if one is not None:
        click.echo(f"{describe(case(seed, one))}\n{judge(case(seed, one))}")
        return
    fresh = {"seed": seed, "next": 0, "counts": {}, "findings": {}}
    known: dict[str, Any] = json.loads(state.read_text()) if state and state.exists() else fresh
    end, start, news = time.monotonic() + seconds, known["next"], 0
    for k in range(start, start + count):
        if time.monotonic() > end:
            break
        found = case(known["seed"], k)
        outcome = judge(found)
        if outcome.startswith(("wrong", "error", "hard")):
            news += not outcome.startswith("hard")
            small = smaller(found, outcome, 30.0, judge) if not outcome.startswith("hard") else found
            known["findings"][f"{k}: {judge(small)}"] = describe(small)
            click.echo(f"--- {outcome} (seed {known['seed']}, k={k})\n{describe(small)}")
        head = outcome.split(":")[0]
        known["counts"][head] = known["counts"].get(head, 0) + 1
        if outcome.startswith("refused"):
            known["findings"].setdefault(outcome, describe(found))
        known["next"] = k + 1
        if state:
            state.write_text(json.dumps(known, indent=1))
    click.echo(f"{known['next'] - start} programs of seed {known['seed']}: {known['counts']}")
    sys.exit(1 if news else 0)


if __name__ == "__main__":
    main()
