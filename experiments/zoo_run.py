"""Rows of one task, in a process of their own: `python -m experiments.zoo_run vae f32,fp16` prints JSON lines.

A crash, an endless compilation or memory that runs out then end this process only; experiments.zoo starts another one
for the rows that are left.
"""

import dataclasses
import faulthandler
import functools
import json
import math
import time
import warnings
from typing import Any

import click
import jax
import jax.numpy as jnp
import numpy as np

import scalify_hlo
from benchmarks.models.tasks import find_task
from benchmarks.models.tasks.problem import Problem, Tree
from scalify_hlo.errors import ScalifyError
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.serving.exported import through

# How far the noise row's first state is from f32's, relative: what rounding to f16 once does, 2^-11.
NOISE = 5e-4
# How many such states the noise is the root mean square of: where training has several ends, one says little.
DRAWS = 8
# XLA:CPU may not keep f16 values in f32; most of its optimisations would take longer than the steps they speed up.
COMPILER_OPTIONS: Any = {"xla_allow_excess_precision": False, "xla_backend_optimization_level": 0}


@dataclasses.dataclass(frozen=True)
class Row:
    """title: in tables. dtype: that all floats of state and batch are cast to. precision: of `scalify`.

    recipe: the step in f32, its linear products in FP8 by the usual recipe: E4M3 values and E5M2 gradients, each scaled
    by its largest magnitude in that step.
    """

    title: str
    dtype: str = "float32"
    noise: bool = False
    precision: Any = None
    recipe: bool = False


ROWS: dict[str, Row] = {
    "f32": Row("f32"),
    "noise": Row("noise", noise=True),
    "plain-f16": Row("plain f16", "float16"),
    "plain-bf16": Row("plain bf16", "bfloat16"),
    "fp8-current": Row("usual FP8", recipe=True),
    "bf16": Row("bf16", precision="bf16"),
    "fp16": Row("fp16", precision="fp16"),
    "fp16-state": Row("fp16-state", precision="fp16-state"),
    "fp8": Row("fp8", precision="fp8"),
    "fp8-fp16-state": Row("fp8-fp16-state", precision="fp8-fp16-state"),
}


def row_named(name: str) -> Row:
    """A row of the table, or for any other name that of the precision that it is the text of."""
    return ROWS.get(name) or Row(name, precision=name)


class Training:
    """A task, compiled once for each way to compute it in."""

    def __init__(self, task: str):
        self._task = find_task(task)
        self._problems: dict[int, Problem] = {}
        self._compiled: dict[tuple[str, str], Any] = {}

    def run(self, row: str, seed: int, steps: int) -> dict[str, Any]:
        """Train from a seed; a record for JSON, which says what failed where something did."""
        start, chosen = time.perf_counter(), row_named(row)
        losses: list[float] = []
        ends: list[float] = []
        failure: Any = None
        try:
            if seed not in self._problems:
                self._problems[seed] = self._task.make(seed)
            for draw in range(DRAWS if chosen.noise else 1):
                losses = []
                failure = self._train(chosen, seed, steps, losses, draw)
                if failure:
                    break
                ends.append(_end(losses, steps))
        except ScalifyError as error:
            failure = {"kind": "refused", "message": str(error).splitlines()[0]}
        except Exception as error:  # noqa: BLE001 - whatever went wrong is the result
            message = str(error).strip().splitlines() or [""]
            failure = {"kind": "error", "message": f"{type(error).__name__}: {message[0]}", "step": len(losses) + 1}
        return {
            "row": row,
            "seed": seed,
            "first_loss": losses[0] if losses else None,
            "final_loss": None if failure else ends[0],
            **({"final_losses": ends} if chosen.noise else {}),
            "failure": failure,
            "seconds": round(time.perf_counter() - start, 1),
        }

    def _train(self, row: Row, seed: int, steps: int, losses: list[float], draw: int) -> Any:
        problem = self._problems[seed]
        state = _given(row, problem.state)
        if row.noise:
            generator = np.random.default_rng((seed, 99, draw) if draw else (seed, 99))
            state = jax.tree.map(functools.partial(_perturbed, generator), state)
        step: Any = problem.step
        if row.precision is not None:
            step = scalify_hlo.scalify(step, precision=row.precision)
            state, _ = step.stored(state, _given(row, problem.batch(0)))
        # A problem's step closes over nothing that depends on the seed, so that the first one serves all.
        key = (row.title if row.recipe else row.dtype, str(row.precision))
        if row.recipe and key not in self._compiled:
            step = _by_recipe(step, state, _given(row, problem.batch(0)))
        compiled = self._compiled.setdefault(key, jax.jit(step, compiler_options=COMPILER_OPTIONS))
        for i in range(steps):
            state, loss = compiled(state, _given(row, problem.batch(i)))
            value = float(np.asarray(loss))
            if not math.isfinite(value):
                return {"kind": "not finite", "step": i + 1}
            losses.append(value)
        return None


def _by_recipe(step: Any, *arguments: Tree) -> Any:
    """A step with its linear products in FP8, scaled by largest magnitudes, and nothing else changed."""
    exported = jax.export.export(jax.jit(step))(*arguments)
    return through(exported, Pipeline((FP8Dots(scaling="current"),)), []).call


def _end(losses: list[float], steps: int) -> float:
    """The mean of a run's last losses: 20, or a fifth of the steps."""
    return float(np.mean(losses[-max(1, min(20, steps // 5)) :]))


def _given(row: Row, tree: Tree) -> Tree:
    """State or a batch as the row's step takes it."""
    if row.precision is not None:
        return scalify_hlo.as_scaled_array(tree)
    return jax.tree.map(lambda leaf: leaf.astype(row.dtype) if _is_float(leaf) else leaf, tree)


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray)) and jnp.issubdtype(leaf.dtype, jnp.floating)


def _perturbed(generator: np.random.Generator, leaf: Any) -> Any:
    """The leaf times 1 + NOISE * gaussian, zeros stay."""
    if not _is_float(leaf):
        return leaf
    return (np.asarray(leaf) * (1 + NOISE * generator.normal(size=np.shape(leaf)))).astype(np.float32)


@click.command(help=__doc__)
@click.argument("task")
@click.argument("rows")
@click.option("--seeds", default="0")
@click.option("--steps", default=200)
@click.option("--limit", default=600.0, help="Seconds for a row with all its seeds.")
def main(task: str, rows: str, seeds: str, steps: int, limit: float) -> None:
    warnings.simplefilter("ignore")  # NumPy's of overflows, and those of libraries
    training = Training(task)
    for row in rows.split(","):
        faulthandler.dump_traceback_later(limit, exit=True)
        for seed in map(int, seeds.split(",")):
            click.echo(json.dumps(training.run(row, seed, steps)))


if __name__ == "__main__":
    main()
