"""What a call of `scalify(fun)` costs beside one of `jax.jit(fun)`.

Three measurements, each side by side in one run:

- a repeated call: a function of n arrays that adds each to itself, its arguments as plain arrays under `jax.jit`, as
  (data, scale) tuples under `jax.jit` (as many leaves as the scaled call has), and as ScaledArrays under `scalify`;
- the first call up to XLA's compilation: tracing and lowering of a GPT-2 training step, under `jax.jit` and under
  `scalify`, which includes the rewriting;
- the same of an f16 training step of an MLP, and of GPT-2, under `scalify` and under that of jax-scalify, each in an
  interpreter of its own and beside `jax.jit` there. jax-scalify 0.1.1 needs jax 0.4.30:

    python3.11 -m venv other && other/bin/pip install jax-scalify jax==0.4.30 jaxlib==0.4.30 'numpy<2'
    python -m benchmarks.frontend_calls --jax-scalify other/bin/python [--leaves 1,10,100] [--layers 1,2,4,8]

Times are in seconds: of repeated calls the fastest round, of first calls the median.
"""

import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import click
import jax
import numpy as np

import scalify_hlo as sc
from benchmarks.records import RESULTS, environment, write_json
from examples import gpt2

# Rounds are short, so that some fall between what else the machine does.
_CALLS, _ROUNDS = 200, 300


def _seconds_per_call(functions: dict[str, Callable[[], Any]], calls: int) -> dict[str, float]:
    """Fastest of many rounds of `calls` calls, the functions taking turns."""
    best = dict.fromkeys(functions, float("inf"))
    for function in functions.values():
        jax.block_until_ready(function())
    for _ in range(_ROUNDS):
        for name, function in functions.items():
            start = time.perf_counter()
            for _ in range(calls):
                result = function()
            jax.block_until_ready(result)
            best[name] = min(best[name], (time.perf_counter() - start) / calls)
    return best


def repeated_call(leaves: int) -> dict[str, float]:
    """Seconds of a repeated call of a function of `leaves` arrays, for the three forms."""

    def function(tree: Any) -> Any:
        return jax.tree.map(lambda v: v + v, tree)

    plain = jax.device_put({f"p{i}": np.ones(8, np.float32) for i in range(leaves)})
    scaled = sc.as_scaled_array(plain)
    tuples = sc.tree.map(lambda v: (v.data, v.scale), scaled)
    jitted, transformed = jax.jit(function), sc.scalify(function)
    functions = {
        "jit": lambda: jitted(plain), "jit, tuples": lambda: jitted(tuples), "scalify": lambda: transformed(scaled),
    }  # fmt: skip
    return _seconds_per_call(functions, max(10, _CALLS // leaves))


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


def beside_jax_scalify(python: pathlib.Path, program: str, layers: int) -> dict[str, Any]:
    """Tracing and lowering of one program by this package, by jax-scalify, and by jax in both environments."""
    script = pathlib.Path(__file__).with_name("step_lowering.py")
    row: dict[str, Any] = {}
    for name, interpreter, library in (
        ("jit", pathlib.Path(sys.executable), "jax"),
        ("scalify_hlo", pathlib.Path(sys.executable), "scalify_hlo"),
        ("jit of jax-scalify", python, "jax"),
        ("jax-scalify", python, "jax_scalify"),
    ):
        # The other environment sees nothing of this one.
        own = {} if interpreter == python else {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            [interpreter, script, library, program, str(layers)],
            env={**inherited, **own}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
        )  # fmt: skip
        row[name] = json.loads(done.stdout)
    return row


@click.command()
@click.option("--leaves", default="1,10,100", show_default=True, help="Numbers of arrays of the repeated call.")
@click.option("--layers", default="1,2,4,8", show_default=True, help="Depths of the GPT-2 of the first call.")
@click.option(
    "--jax-scalify", "python", type=click.Path(path_type=pathlib.Path, exists=True, dir_okay=False),
    help="Python of an environment with jax-scalify: measured beside this package.",
)  # fmt: skip
@click.option("--mlp-layers", default="2,4,8,16", show_default=True, help="Depths of the MLP of that comparison.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=RESULTS / "frontend_calls.json")
def main(leaves: str, layers: str, python: pathlib.Path | None, mlp_layers: str, out: pathlib.Path) -> None:
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
    if python is not None:
        print("f16 step up to compilation, seconds and operations")
        found = record["beside jax-scalify"] = {}
        for program, counts in (("mlp", mlp_layers), ("gpt2", "1")):
            for count in map(int, counts.split(",")):
                row = found[f"{program}, {count} layers"] = beside_jax_scalify(python, program, count)
                print(f"{program:5} {count:3} layers  " + "  ".join(f"{name} {_cell(r)}" for name, r in row.items()))
    write_json(out, record)


def _cell(row: dict[str, Any]) -> str:
    return row["error"] if "error" in row else f"{row['seconds']:.2f} ({row['operations']})"


if __name__ == "__main__":
    main()
