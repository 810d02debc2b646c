"""How large values are estimated to be, and how large they are: `scalify-size` and today's engine against a run.

A training step is lowered as it is, in f32, run operation by operation on XLA:CPU with its initial state, and the root
mean square of every float tensor, in functions and loops too, compared with two estimates for arguments of the sizes
that they have:

- size: `scalify_hlo.size`, of the original program, before anything is rewritten;
- engine: the scale that the rewritten program computes, times the RMS that its rules expect of the data.

The error of one is |log2(estimate / truth)|. Zeros, and what is zero but for rounding, have no size and do not count.

    python -m benchmarks.sizes --models gpt2,llama,resnet,lstm,vit --tasks moe,vae
"""

import collections
import dataclasses
import math
import pathlib
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import click
import jax
import numpy as np

from benchmarks.models.catalogue import MODELS
from benchmarks.models.tasks import TASKS
from benchmarks.models.training import adam, initial_state
from benchmarks.records import RESULTS, environment, read_json, write_json
from scalify_hlo import rewrite_module
from scalify_hlo.bindings import ir
from scalify_hlo.emit.marks import ESTIMATE, OPERATION, is_mark
from scalify_hlo.engine.signature import public_function
from scalify_hlo.execution.eager import Eager
from scalify_hlo.execution.inputs import rewritten_arguments, split_scales
from scalify_hlo.execution.modules import as_module, clone, operations
from scalify_hlo.execution.signature import entry_signature, pair_arguments
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.normal_form import NormalForm
from scalify_hlo.rules.registry import rules
from scalify_hlo.size.analysis import SizeAnalysis

# What is this much smaller than the sum of the largest of its terms is rounding: some units of f32's last place.
_NOISE = 2.0**-21
_SUMS = ("stablehlo.add", "stablehlo.subtract", "stablehlo.reduce")

# Operation by operation every step of a recurrence takes its time.
_LSTM_STEPS = 32
# Calls that lead to an operation, and the operation, by the locations that `_number` gives them.
Place = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Value:
    """One float tensor of the program; of one that a loop computes several times, all of them together.

    truth, size, engine: log2 of its RMS, measured and estimated; engine is None for what the rewritten program does
    not carry as data and scale.
    """

    operation: str
    family: str
    place: str
    truth: float
    size: float
    engine: float | None


def values(text: str, arguments: Sequence[Any]) -> list[Value]:
    """Every float tensor that an operation of a module computes for these arguments."""
    module = as_module(text)
    NormalForm().apply(module, [])
    _number(module)
    truth, kinds = _measured(module, arguments)
    sizes = _sizes(module, arguments, truth)
    engine = _engine(module, arguments)
    families = {name: rule.family for name, rule in rules().items()}
    found: list[Value] = []
    for place, number in truth.items():
        size = sizes.get(place)
        if size is not None and math.isfinite(size):
            kind = kinds[place]
            found.append(Value(kind.removeprefix("stablehlo."), families.get(kind, "constant"), "/".join(place), number,
                               size, engine.get(place)))  # fmt: skip
    return found


def _number(module: ir.Module) -> None:
    with module.context:
        for i, op in enumerate(operations(module)):
            op.location = ir.Location.name(f"#{i}")


def _name(op: ir.Operation) -> str:
    return op.location.name_str if isinstance(op.location, ir.NameLoc) else ""


def _measured(module: ir.Module, arguments: Sequence[Any]) -> tuple[dict[Place, float], dict[Place, str]]:
    """log2 of the RMS of what every operation with one float result computes, and which operation it is."""
    squares: dict[Place, float] = collections.defaultdict(float)
    counts: dict[Place, int] = collections.defaultdict(int)
    noise: set[Place] = set()
    kinds: dict[Place, str] = {}

    rounding: dict[int, Any] = {}  # arrays that are nothing else, kept so that no other takes their place in memory

    def observe(op: ir.Operation, operands: Any, results: Any, path: tuple[ir.Operation, ...]) -> None:
        if len(results) != 1 or results[0].dtype.kind != "f" or not results[0].size:
            return
        where = (*map(_name, path), _name(op))
        x = results[0].astype(np.float64)
        x = x[np.isfinite(x)]
        floats = [v for v in operands if v.dtype.kind == "f"]
        if _is_rounding(op, x, floats) or (op.name not in _SUMS[:2] and any(id(v) in rounding for v in floats)):
            rounding[id(results[0])] = results[0]
            noise.add(where)
            return
        squares[where] += float(np.square(x).sum())
        counts[where] += x.size
        kinds[where] = op.name

    Eager(module, observe)(list(arguments))
    known: dict[Place, float] = {}
    for where, total in squares.items():
        rms = math.sqrt(total / counts[where]) if counts[where] else 0.0
        if rms > 0 and where not in noise:
            known[where] = math.log2(rms)
    return known, kinds


def _is_rounding(op: ir.Operation, result: Any, floats: Sequence[Any]) -> bool:
    """Whether a sum is as small as the rounding errors of its terms."""
    if op.name not in _SUMS or not floats or not result.size:
        return False
    largest = max(float(np.abs(v[np.isfinite(v)]).max(initial=0.0)) for v in floats)
    terms = max(1.0, floats[0].size / result.size)
    return 0 < float(np.sqrt(np.mean(np.square(result)))) < largest * terms * _NOISE


def _sizes(module: ir.Module, arguments: Sequence[Any], wanted: Iterable[Place]) -> dict[Place, float]:
    """log2 of the sizes by analysis, of arguments of the sizes that these have."""
    analysis = SizeAnalysis(module, public_function(module))
    sources = {f"s{i}": _log2_rms(a) for i, a in enumerate(arguments) if np.asarray(a).dtype.kind == "f"}
    results = {_name(op): op.results[0] for op in operations(module) if len(op.results) == 1}
    calls = {_name(op): op for op in operations(module)}
    known: dict[Any, float] = {}
    found: dict[Place, float] = {}
    for place in wanted:
        frame = analysis.main
        for call in place[:-1]:
            frame = frame.calls[calls[call]]
        size = frame.sizes[results[place[-1]]]
        if size not in known:
            known[size] = analysis.algebra.log2(size, sources)
        found[place] = known[size]
    return found


def _log2_rms(array: Any) -> float:
    mean_square = float(np.mean(np.square(np.asarray(array, np.float64)))) if np.size(array) else 0.0
    return 0.5 * math.log2(mean_square) if mean_square > 0 else -math.inf


def _engine(module: ir.Module, arguments: Sequence[Any]) -> dict[Place, float]:
    """log2 of scale times expected RMS of the data, where the rewritten program has them."""
    rewritten = clone(module)
    rewrite_module(rewritten, ScalifyOptions(mark_tensors=True))
    plain, scaled = entry_signature(module), entry_signature(rewritten)
    inputs = rewritten_arguments(split_scales(list(arguments)), pair_arguments(plain, scaled), scaled)
    found: dict[Place, float] = {}

    def observe(op: ir.Operation, operands: Any, _results: Any, path: tuple[ir.Operation, ...]) -> None:
        if not is_mark(op) or ir.StringAttr(op.attributes[OPERATION]).value == "argument":
            return
        scale, estimate = float(np.max(operands[1], initial=0.0)), ir.FloatAttr(op.attributes[ESTIMATE]).value
        if scale > 0 and 0 < estimate < math.inf:
            found[(*map(_name, path), _name(op))] = math.log2(scale) + math.log2(estimate)

    Eager(rewritten, observe)(inputs)
    return found


# --- programs -----------------------------------------------------------------------------------------------------


def model_step(name: str, layers: int) -> tuple[str, list[Any]]:
    """The step of a calibration model with Adam, and its arguments."""
    model = MODELS[name](layers, **({"context": _LSTM_STEPS} if name == "lstm" else {}))
    arguments = (initial_state(model.parameters), model.batch, np.float32(1e-3))
    return _lowered(lambda state, batch, rate: adam(model.loss, state, batch, rate), arguments)


def task_step(name: str) -> tuple[str, list[Any]]:
    """The step of a training task, and its arguments."""
    problem = TASKS[name].make(0)
    return _lowered(problem.step, (problem.state, problem.batch(0)))


def _lowered(step: Any, arguments: Any) -> tuple[str, list[Any]]:
    text = jax.jit(step, keep_unused=True).lower(*arguments).as_text(debug_info=False)
    leaves = [jax.random.key_data(x) if _is_key(x) else x for x in jax.tree.leaves(arguments)]
    return text, [np.asarray(leaf) for leaf in leaves]


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


# --- tables -------------------------------------------------------------------------------------------------------


def errors(found: Iterable[Value]) -> dict[str, Any]:
    """Median, 90th percentile and worst error of both estimates, on the tensors that both have an estimate of."""
    both = [v for v in found if v.engine is not None and v.family != "constant"]
    record: dict[str, Any] = {"tensors": len(both)}
    for name in ("size", "engine"):
        off = sorted(abs(getattr(v, name) - v.truth) for v in both)
        record[name] = [round(float(np.quantile(off, q)), 2) for q in (0.5, 0.9, 1.0)] if off else None
    return record


def record(found: Sequence[Value]) -> dict[str, Any]:
    """The numbers of one program: all, by family, and where `size` is furthest off."""
    families = sorted({v.family for v in found if v.engine is not None} - {"constant"})
    furthest = sorted(found, key=lambda v: -abs(v.size - v.truth))[:10]
    return {
        "all": errors(found),
        "families": {family: errors(v for v in found if v.family == family) for family in families},
        "furthest": [dataclasses.asdict(v) for v in furthest],
    }


def table(records: dict[str, Any]) -> str:
    """One row for each program: median, 90th percentile and worst error of `size` and of the engine."""
    lines = ["| program | tensors | size: median | 90% | worst | engine: median | 90% | worst |",
             "|---|--:|--:|--:|--:|--:|--:|--:|"]  # fmt: skip
    for name, each in records.items():
        whole = each["all"]
        cells = [*(whole["size"] or ["-"] * 3), *(whole["engine"] or ["-"] * 3)]
        lines.append(f"| {name} | {whole['tensors']} | " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines)


def family_table(records: dict[str, Any]) -> str:
    """Median and 90th percentile by family of rules, over all programs: the median program's."""
    families = sorted({family for each in records.values() for family in each["families"]})
    lines = ["| family | programs | size: median | 90% | engine: median | 90% |", "|---|--:|--:|--:|--:|--:|"]
    for family in families:
        rows = [each["families"][family] for each in records.values() if each["families"].get(family, {}).get("size")]
        cells = [float(np.median([row[side][i] for row in rows])) for side in ("size", "engine") for i in (0, 1)]
        lines.append(f"| {family} | {len(rows)} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    return "\n".join(lines)


def _names(_context: Any, _parameter: Any, text: str) -> list[str]:
    return [name for name in text.split(",") if name]


@click.command(help=__doc__)
@click.option("--models", default=",".join(MODELS), callback=_names, help="[default: all five]")
@click.option("--tasks", default=",".join(t for t in TASKS if not TASKS[t].held_out), callback=_names)
@click.option("--layers", default=4, show_default=True, help="Of the models.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=RESULTS / "sizes.json", show_default=True)
@click.option("--furthest", is_flag=True, help="List where `size` is furthest off.")
def main(models: list[str], tasks: list[str], layers: int, out: pathlib.Path, furthest: bool) -> None:
    records: dict[str, Any] = (read_json(out) or {}).get("programs", {})
    for name in [*models, *tasks]:
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of libraries older than the jax they are used with
                text, arguments = model_step(name, layers) if name in MODELS else task_step(name)
            found = values(text, arguments)
        except Exception as error:  # noqa: BLE001 - one program that cannot be run does not end the others
            click.echo(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}", err=True)
            continue
        records[name] = record(found)
        write_json(out, {"layers": layers, "environment": environment(), "programs": records})
        click.echo(f"{name}: {time.perf_counter() - start:.0f} s, {records[name]['all']}", err=True)
        if furthest:
            for each in records[name]["furthest"]:
                click.echo(f"  {each}", err=True)
    click.echo(f"{table(records)}\n\n{family_table(records)}")


if __name__ == "__main__":
    main()
