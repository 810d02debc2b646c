"""What rewriting a GPT-2 training step costs, as the model grows deeper.

For each number of layers, side by side in one run: time of `jax.export`, of the rewrite (bytecode parsed, rewritten
and written as bytecode), of XLA:CPU's compilation of the original and of the rewritten module, of a step of each
(medians, measured in turns), and the number of operations before and after. The results of the rewritten step are
compared with the original's: both against the same program in f64.

    python -m benchmarks.gpt2_scaling [--layers 2,4,8,16,32] [--out FILE] [--fresh]
    python -m benchmarks.gpt2_scaling --width 512 --activation silu --layers 2,8

Sizes that the output file already has, measured with the same settings and versions, are not measured again.
"""

import dataclasses
import gc
import pathlib
import statistics
import time
from typing import Any, get_args

import click
import jax
import numpy as np

from benchmarks.records import RESULTS, comparable, environment, read_json, write_json
from examples import gpt2, text
from examples.operation_count import count_operations
from scalify_hlo import ScalifyOptions, rewrite_module
from scalify_hlo.execution.compare import Comparison, compare_results
from scalify_hlo.execution.inputs import rewritten_arguments, split_scales
from scalify_hlo.execution.modules import as_module, to_bytecode
from scalify_hlo.execution.promote import promote_arrays, promote_to_f64
from scalify_hlo.execution.signature import pair_arguments
from scalify_hlo.execution.xla import Executable
from scalify_hlo.execution.xla import compile as compile_for_cpu

# Issue "rewrites a real GPT-2 training step": rewritten over original, at most.
TARGETS = {"rewrite / export": 0.5, "compile": 1.5, "step": 1.15, "scale operations": 0.15}


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything but the depth. Widths make matrix products most of a step, yet affordable on two cores."""

    width: int = 256
    heads: int = 4
    context: int = 128
    batch: int = 4
    dtype: str = "float32"
    activation: gpt2.Activation = "gelu"
    learning_rate: float = 1e-3
    # Repetitions: of export and rewrite, of compilation, of pairs of steps.
    repeats: int = 7
    compilations: int = 3
    steps: int = 10

    def config(self, layers: int) -> gpt2.GPT2Config:
        return gpt2.GPT2Config(
            layers=layers,
            width=self.width,
            heads=self.heads,
            context=self.context,
            dtype=self.dtype,
            activation=self.activation,
        )


@dataclasses.dataclass(frozen=True)
class Row:
    """Measurements of one depth; times are medians, in seconds.

    scale_operations: rank-0 f32 operations that the rewrite added.
    bytes: that the kernels of one step read and write.
    worst_error, worst_noise: largest distance of a rewritten and of an original result from the f64 program's, in
        units of that result's root mean square, over all results.
    wrong_results: results outside the tolerance of `scalify_hlo.execution.compare`.
    """

    layers: int
    export: float
    rewrite: float
    compile_original: float
    compile_rewritten: float
    step_original: float
    step_rewritten: float
    operations_original: int
    operations_rewritten: int
    scale_operations: int
    optimised_lines_original: int
    optimised_lines_rewritten: int
    bytes_original: int
    bytes_rewritten: int
    results: int
    wrong_results: int
    worst_error: float
    worst_noise: float

    def ratios(self) -> dict[str, float]:
        """The quantities of TARGETS."""
        return {
            "rewrite / export": self.rewrite / self.export,
            "compile": self.compile_rewritten / self.compile_original,
            "step": self.step_rewritten / self.step_original,
            "scale operations": self.scale_operations / self.operations_original,
        }


def measure(settings: Settings, layers: int) -> Row:
    """Export, rewrite, compile, run and compare the step of one depth."""
    config = settings.config(layers)
    exports: list[float] = []
    rewrites: list[float] = []
    original = rewritten = b""
    for _ in range(settings.repeats):
        jax.clear_caches()  # nobody exports a step twice: the functions in it are traced, as the first time
        gc.collect()
        start = time.perf_counter()
        exported = jax.export.export(gpt2.make_train_step(config))(*gpt2.argument_shapes(config, settings.batch))
        exports.append(time.perf_counter() - start)
        original = to_bytecode(as_module(exported.mlir_module()))
        gc.collect()
        start = time.perf_counter()
        rewritten = rewrite_module(original)
        rewrites.append(time.perf_counter() - start)

    programs = [compile_for_cpu(original), compile_for_cpu(rewritten)]
    compilations = [[program.compile_seconds] for program in programs]
    for _ in range(settings.compilations - 1):
        for times, code in zip(compilations, (original, rewritten), strict=True):
            times.append(compile_for_cpu(code).compile_seconds)

    plain, scaled = programs
    arguments = _typical_arguments(settings, config, plain)
    pairs = rewritten_arguments(
        split_scales(arguments), pair_arguments(plain.signature, scaled.signature), scaled.signature
    )
    steps: list[list[float]] = [[], []]
    for i in range(settings.steps + 1):
        for times, program, inputs in zip(steps, programs, (arguments, pairs), strict=True):
            taken = program.seconds_per_call(inputs, 1)
            times += taken if i else []  # the first is a warm-up
    comparison = _compare(original, plain, scaled, arguments, pairs)
    counts = count_operations(original), count_operations(rewritten)
    # Bringing scales into vectors and out of them is no arithmetic.
    apart = count_operations(rewrite_module(original, ScalifyOptions(vector_scales=False)))
    return Row(
        layers=layers,
        export=statistics.median(exports),
        rewrite=statistics.median(rewrites),
        compile_original=statistics.median(compilations[0]),
        compile_rewritten=statistics.median(compilations[1]),
        step_original=statistics.median(steps[0]),
        step_rewritten=statistics.median(steps[1]),
        operations_original=counts[0].total,
        operations_rewritten=counts[1].total,
        scale_operations=apart.scalars - counts[0].scalars,
        optimised_lines_original=plain.cost.lines,
        optimised_lines_rewritten=scaled.cost.lines,
        bytes_original=plain.bytes_accessed,
        bytes_rewritten=scaled.bytes_accessed,
        results=len(comparison.results),
        wrong_results=len(comparison.failures()),
        worst_error=max(result.error for result in comparison.results),
        worst_noise=max(result.noise or 0.0 for result in comparison.results),
    )


def _typical_arguments(settings: Settings, config: gpt2.GPT2Config, step: Executable) -> list[np.ndarray]:
    """A state with moments that are not zero (two steps of training), a batch and the learning rate."""
    batches = text.load().batches(settings.batch, config.context)
    rate = np.asarray(settings.learning_rate, config.dtype)
    state = [np.asarray(leaf) for leaf in jax.tree.leaves(gpt2.initial_state(config))]
    for _ in range(2):
        *state, _ = step([*state, next(batches), rate])
    return [*state, next(batches), rate]


def _compare(
    original: bytes, plain: Executable, scaled: Executable, arguments: list[np.ndarray], pairs: list[np.ndarray]
) -> Comparison:
    ideal = compile_for_cpu(promote_to_f64(as_module(original)))
    return compare_results(
        plain.signature, scaled.signature, plain(arguments), scaled(pairs), ideal(promote_arrays(arguments))
    )


_COLUMNS = (
    "layers", "export s", "rewrite s", "ratio", "compile s", "rewritten", "ratio", "step ms", "rewritten", "ratio",
    "MB", "rewritten", "ratio", "ops", "rewritten", "scale ops", "ratio", "wrong", "error", "noise",
)  # fmt: skip


def table(rows: list[Row]) -> str:
    """The measurements as a Markdown table."""
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|{'|'.join('-:' for _ in _COLUMNS)}|"]
    for row in rows:
        ratio = row.ratios()
        cells = (
            f"{row.layers}", f"{row.export:.2f}", f"{row.rewrite:.2f}", f"{ratio['rewrite / export']:.2f}",
            f"{row.compile_original:.1f}", f"{row.compile_rewritten:.1f}", f"{ratio['compile']:.2f}",
            f"{1e3 * row.step_original:.0f}", f"{1e3 * row.step_rewritten:.0f}", f"{ratio['step']:.2f}",
            f"{row.bytes_original / 1e6:.0f}", f"{row.bytes_rewritten / 1e6:.0f}",
            f"{row.bytes_rewritten / row.bytes_original:.2f}",
            f"{row.operations_original:,}", f"{row.operations_rewritten:,}", f"{row.scale_operations:,}",
            f"{ratio['scale operations']:.1%}", f"{row.wrong_results} / {row.results}",
            f"{row.worst_error:.1e}", f"{row.worst_noise:.1e}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _depths(_context: Any, _parameter: Any, value: str) -> list[int]:
    try:
        depths = [int(part) for part in value.split(",")]
    except ValueError:
        depths = []
    if not depths or min(depths) < 1:
        raise click.BadParameter(f"{value!r} is not a comma-separated list of numbers of layers, as in 2,4,8")
    return depths


@click.command(help=__doc__)
@click.option("--layers", callback=_depths, default="2,4,8,16,32", show_default=True)
@click.option("--width", default=Settings.width, show_default=True)
@click.option(
    "--activation", type=click.Choice(get_args(gpt2.Activation)), default=Settings.activation, show_default=True
)
@click.option(
    "--out",
    type=click.Path(path_type=pathlib.Path),
    help="[default: benchmarks/results/gpt2_scaling.json; other widths and activations in the name]",
)
@click.option("--fresh", is_flag=True, help="Measure every size anew.")
def main(layers: list[int], width: int, activation: gpt2.Activation, out: pathlib.Path | None, fresh: bool) -> None:
    settings = Settings(width=width, activation=activation)
    if out is None:
        usual = settings == Settings()
        out = RESULTS / ("gpt2_scaling.json" if usual else f"gpt2_scaling-{width}-{activation}.json")
    about = {"settings": dataclasses.asdict(settings), "targets": TARGETS, "environment": environment()}
    earlier = None if fresh else read_json(out)
    rows: dict[int, Row] = {}
    if earlier and comparable(earlier, ("settings",)) == comparable(about, ("settings",)):
        rows = {row["layers"]: Row(**row) for row in earlier["rows"]}
    measure(dataclasses.replace(settings, repeats=1, compilations=1, steps=1), 1)  # first uses: imports, thread pools
    for depth in layers:
        if depth in rows:
            print(f"{depth} layers: measured before ({out})")
            continue
        rows[depth] = measure(settings, depth)
        write_json(out, {**about, "rows": [dataclasses.asdict(rows[d]) for d in sorted(rows)]})
        print(table([rows[depth]]).splitlines()[-1], flush=True)
    shown = [rows[depth] for depth in sorted(set(layers))]
    print(f"\n{table(shown)}\n")
    for name, target in TARGETS.items():
        worst = max(row.ratios()[name] for row in shown)
        print(f"{name:18} at most {worst:.3f}   target {target}   {'reached' if worst <= target else 'missed'}")
    print(f"written to {out}")


if __name__ == "__main__":
    main()
