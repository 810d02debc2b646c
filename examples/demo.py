"""`make demo`: a GPT-2 training step, rewritten by scalify-opt, computes the same as the original.

Exports the step of `examples.gpt2` with `jax.export`, runs the `scalify-opt` command on it, runs both programs on
XLA:CPU with the same inputs, and prints what each result is made of and how far it is from the original's.

    python -m examples.demo [--layers 2] [--out demo_output]
"""

import pathlib
import statistics
import subprocess
import sys
import time

import click
import jax
import numpy as np

from examples import gpt2, text
from examples.operation_count import count_operations
from scalify_hlo import rewrite_module
from scalify_hlo.execution.compare import compare_results
from scalify_hlo.execution.inputs import rewritten_arguments, split_scales
from scalify_hlo.execution.modules import as_module, to_bytecode
from scalify_hlo.execution.promote import promote_arrays, promote_to_f64
from scalify_hlo.execution.signature import pair_arguments
from scalify_hlo.execution.xla import Executable
from scalify_hlo.execution.xla import compile as compile_for_cpu

_BATCH = 4
_WARM_UP_STEPS = 3
_LEARNING_RATE = 1e-3


@click.command(help=__doc__)
@click.option("--layers", type=click.IntRange(1), default=2, show_default=True, help="Depth of the model.")
@click.option(
    "--out",
    type=click.Path(path_type=pathlib.Path, file_okay=False),
    default=pathlib.Path("demo_output"),
    show_default=True,
    help="Folder for the modules before and after.",
)
@click.option(
    "--text",
    "text_path",
    type=click.Path(path_type=pathlib.Path, exists=True),
    help="Text to train on: a file, or a folder with WikiText's; default: see examples/text.py.",
)
def main(layers: int, out: pathlib.Path, text_path: pathlib.Path | None) -> None:
    config = gpt2.GPT2Config(layers=layers)
    corpus = text.load(text_path)
    out.mkdir(parents=True, exist_ok=True)
    before, after = out / "gpt2_step.mlir", out / "gpt2_step.scaled.mlir"

    print(f"GPT-2 training step: {config.layers} layers, width {config.width}, {config.dtype}; {corpus.description}")
    start = time.perf_counter()
    exported = jax.export.export(gpt2.make_train_step(config))(*gpt2.argument_shapes(config, _BATCH))
    export_seconds = time.perf_counter() - start
    before.write_text(exported.mlir_module())

    command = [sys.executable, "-m", "scalify_hlo.tools.scalify_opt", str(before), "-o", str(after)]
    print(f"$ scalify-opt {before} -o {after}")
    start = time.perf_counter()
    if (status := subprocess.run(command).returncode) != 0:
        raise SystemExit(status)
    command_seconds = time.perf_counter() - start

    original_module, rewritten_module = as_module(before.read_text()), as_module(after.read_text())
    code = to_bytecode(original_module)
    start = time.perf_counter()
    rewrite_module(code)
    rewrite_seconds = time.perf_counter() - start

    original, rewritten = compile_for_cpu(original_module), compile_for_cpu(rewritten_module)
    arguments = _typical_arguments(config, corpus, original)
    pairings = pair_arguments(original.signature, rewritten.signature)
    pairs = rewritten_arguments(split_scales(arguments), pairings, rewritten.signature)
    ideal_module = promote_to_f64(original_module)
    comparison = compare_results(
        original.signature,
        rewritten.signature,
        original(arguments),
        rewritten(pairs),
        compile_for_cpu(ideal_module)(promote_arrays(arguments)),
    )
    print(f"\nResults of the step after {_WARM_UP_STEPS} steps of training; value = data * scale.")
    print(
        "error and noise: largest distance of the rewritten and of the original result from an f64 run, over the RMS.\n"
    )
    print(comparison.table())

    counts = count_operations(original_module), count_operations(rewritten_module)
    steps = _interleaved_step_seconds((original, arguments), (rewritten, pairs))
    print(
        f"""
                            original   rewritten
operations                {counts[0].total:10,}  {counts[1].total:10,}
  constants               {counts[0].constants:10,}  {counts[1].constants:10,}
  rank-0 f32 arithmetic   {counts[0].scalars:10,}  {counts[1].scalars:10,}
compile (XLA:CPU)       {original.compile_seconds:10.2f} s{rewritten.compile_seconds:10.2f} s
step (median)          {1e3 * steps[0]:10.1f} ms{1e3 * steps[1]:9.1f} ms

jax.export               {export_seconds:9.2f} s
rewrite                  {rewrite_seconds:9.2f} s   in this process, bytecode to bytecode
scalify-opt              {command_seconds:9.2f} s   the command, start of Python included

before  {before}
after   {after}"""
    )
    if not comparison.passed:
        names = ", ".join(result.name for result in comparison.failures()[:5])
        raise SystemExit(f"error: {len(comparison.failures())} results differ by more than rounding: {names}")
    print(f"\nAll {len(comparison.results)} results equal the original's within its own rounding noise.")


def _typical_arguments(config: gpt2.GPT2Config, corpus: text.Corpus, step: Executable) -> list[np.ndarray]:
    """State after a few steps (Adam's moments are zero before the first), the next batch and the learning rate."""
    batches = corpus.batches(_BATCH, config.context)
    rate = np.asarray(_LEARNING_RATE, config.dtype)
    state = [np.asarray(leaf) for leaf in jax.tree.leaves(gpt2.initial_state(config))]
    for _ in range(_WARM_UP_STEPS):
        *state, _ = step([*state, next(batches), rate])
    return [*state, next(batches), rate]


def _interleaved_step_seconds(*programs: tuple[Executable, list[np.ndarray]]) -> list[float]:
    """Median seconds of each program's step, measured in turns so that a busy machine slows all alike."""
    seconds: list[list[float]] = [[] for _ in programs]
    for _ in range(10):
        for taken, (program, arguments) in zip(seconds, programs, strict=True):
            taken += program.seconds_per_call(arguments, 2)[1:]
    return [statistics.median(taken) for taken in seconds]


if __name__ == "__main__":
    main()
