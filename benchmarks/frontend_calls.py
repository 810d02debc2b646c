"""What a call of `scalify(fun)` costs beside one of `jax.jit(fun)`.

Two measurements, each side by side in one run:

- a repeated call: a function of n arrays that adds each to itself, its arguments as plain arrays under `jax.jit`, as
  (data, scale) tuples under `jax.jit` (as many leaves as the scaled call has), and as ScaledArrays under `scalify`;
- the first call up to XLA's compilation: tracing and lowering of a GPT-2 training step, under `jax.jit` and under
  `scalify`, which includes the rewriting.

    python -m benchmarks.frontend_calls [--leaves 1,10,100] [--layers 1,2,4,8] [--out FILE]

Times are minima over repetitions of the median, in seconds.
"""

import gc
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import click
import jax
import numpy as np

import scalify_hlo as sc
from benchmarks.records import RESULTS, environment, write_json
from examples import gpt2

_CALLS, _REPEATS = 200, 9


def _seconds_per_call(functions: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Fastest of several rounds, the functions taking turns."""
    best = dict.fromkeys(functions, float("inf"))
    for function in functions.values():
        jax.block_until_ready(function())
    for _ in range(_REPEATS):
        for name, function in functions.items():
            start = time.perf_counter()
            for _ in range(_CALLS):
                result = function()
            jax.block_until_ready(result)
            best[name] = min(best[name], (time.perf_counter() - start) / _CALLS)
    return best


def repeated_call(leaves: int) -> dict[str, float]:
    """Seconds of a repeated call of a function of `leaves` arrays, for the three forms."""

    def function(tree: Any) -> Any:
        return jax.tree.map(lambda v: v + v, tree)

    plain = jax.device_put({f"p{i}": np.ones(8, np.float32) for i in range(leaves)})
    scaled = sc.as_scaled_array(plain)
    tuples = sc.tree.map(lambda v: (v.data, v.scale), scaled)
    jitted, transformed = jax.jit(function), sc.scalify(function)
    return _seconds_per_call({
        "jit": lambda: jitted(plain), "jit, tuples": lambda: jitted(tuples), "scalify": lambda: transformed(scaled),
    })  # fmt: skip


def first_call(layers: int) -> dict[str, float]:
    """Median seconds of tracing and lowering a GPT-2 training step, under `jax.jit` and under `scalify`."""
    config = gpt2.GPT2Config(layers=layers, dtype="float32")
    step = gpt2.make_train_step(config).__wrapped__
    arguments = gpt2.argument_shapes(config, 4)
    scaled = jax.tree.map(_abstract_pair, arguments)
    times: dict[str, list[float]] = {"jit": [], "scalify": []}
    for _ in range(3):
        for name, make, inputs in (("jit", jax.jit, arguments), ("scalify", sc.scalify, scaled)):
            jax.clear_caches()
            gc.collect()
            start = time.perf_counter()
            make(step).lower(*inputs)
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def _abstract_pair(shape: jax.ShapeDtypeStruct) -> Any:
    if not jax.numpy.issubdtype(shape.dtype, jax.numpy.floating):
        return shape
    return sc.ScaledArray(shape, jax.ShapeDtypeStruct((), np.float32))


@click.command()
@click.option("--leaves", default="1,10,100", show_default=True, help="Numbers of arrays of the repeated call.")
@click.option("--layers", default="1,2,4,8", show_default=True, help="Depths of the GPT-2 of the first call.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=RESULTS / "frontend_calls.json")
def main(leaves: str, layers: str, out: pathlib.Path) -> None:
    """Measure and write a table."""
    record: dict[str, Any] = {"environment": environment(), "repeated call": {}, "first call": {}}
    print("repeated call, microseconds")
    for count in map(int, leaves.split(",")):
        row = record["repeated call"][count] = repeated_call(count)
        print(f"{count:5} arrays  " + "  ".join(f"{name} {1e6 * seconds:.1f}" for name, seconds in row.items()))
    print("first call up to compilation, seconds")
    for count in map(int, layers.split(",")):
        row = record["first call"][count] = first_call(count)
        print(f"{count:5} layers  " + "  ".join(f"{name} {seconds:.2f}" for name, seconds in row.items()))
    write_json(out, record)


if __name__ == "__main__":
    main()
