"""How many Python calls rewriting a program takes: what the rewriter's time is made of, without a clock's noise.

One f32 `add` alone (its rule, and all of its module), then training steps of the calibration models in f32, in f16 and
with all passes of a preset: calls for each operation of the program before it is rewritten. A generator counts as one
each time that it goes on, and so do comprehensions up to Python 3.11. Counts are exact: the same program gives the same
number again.

    python -m benchmarks.python_calls [FILE.mlir ...] [--models gpt2,lstm] [--layers 2] [--out FILE]

FILE.mlir: more programs, as text or bytecode.
"""

import dataclasses
import pathlib
import sys
from types import FrameType
from typing import Any

import click
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models.catalogue import MODELS
from benchmarks.models.training import adam, initial_state
from benchmarks.records import RESULTS, environment, write_json
from examples.operation_count import count_operations
from scalify_hlo import rewrite_module
from scalify_hlo.bindings import ir
from scalify_hlo.engine.rewriter import Rewriter
from scalify_hlo.execution.modules import as_module
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.precision import Preset

ADD = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.add %x, %y : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
"""
_LSTM_STEPS = 16
_PRESET: Preset = "fp8-fp16-state"


@dataclasses.dataclass(frozen=True)
class Count:
    """Calls of one rewriting. rules: of these within the rewriting of single operations, nested ones counted once."""

    operations: int
    calls: int
    rules: int

    @property
    def per_operation(self) -> float:
        return self.calls / self.operations


def count(program: str | bytes, precision: Preset | None = None) -> Count:
    """Rewrite a program twice, and count the second time, when the rules are loaded.

    precision: a preset, all passes of which are run; by default `scalify` alone.
    """

    def rewrite(module: ir.Module) -> None:
        if precision is None:
            rewrite_module(module)
        else:
            precision_pipeline(precision).run(module, [])

    rewrite(as_module(program))
    module = as_module(program)
    visit = Rewriter.visit.__code__
    calls = rules = depth = 0

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls, rules, depth
        if event == "call":
            calls += 1
            depth += frame.f_code is visit
            rules += depth > 0
        elif event == "return" and frame.f_code is visit:
            depth -= 1

    sys.setprofile(note)
    try:
        rewrite(module)
    finally:
        sys.setprofile(None)
    return Count(count_operations(program).total, calls, rules)


def step(name: str, layers: int, dtype: str) -> str:
    """The training step of a calibration model with Adam, as text. dtype: of all its floats, "f32" or "f16"."""
    model = MODELS[name](layers, **({"context": _LSTM_STEPS} if name == "lstm" else {}))
    kind = {"f32": jnp.float32, "f16": jnp.float16}[dtype]

    def spec(x: Any) -> jax.ShapeDtypeStruct:
        x = np.asarray(x)
        return jax.ShapeDtypeStruct(x.shape, kind if x.dtype == np.float32 else x.dtype)

    arguments = jax.tree.map(spec, (initial_state(model.parameters), model.batch, np.float32(1e-3)))
    function = jax.jit(lambda state, batch, rate: adam(model.loss, state, batch, rate))
    return jax.export.export(function)(*arguments).mlir_module()


@click.command(help=__doc__)
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path))
@click.option("--models", default=",".join(MODELS), show_default=True)
@click.option("--layers", default=2, show_default=True)
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=RESULTS / "python_calls.json")
def main(files: tuple[pathlib.Path, ...], models: str, layers: int, out: pathlib.Path) -> None:
    """Count and write a table."""
    programs: dict[str, tuple[str | bytes, Preset | None]] = {"add": (ADD, None)}
    names = [name for name in models.split(",") if name]
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        raise click.BadParameter(f"no model '{unknown[0]}'; known are {', '.join(MODELS)}", param_hint="--models")
    for name in names:
        programs |= {f"{name} {dtype}": (step(name, layers, dtype), None) for dtype in ("f32", "f16")}
        programs[f"{name} {_PRESET}"] = step(name, layers, "f32"), _PRESET
    programs |= {file.stem: (file.read_bytes(), None) for file in files}
    rows: dict[str, Any] = {}
    print("| program | operations | calls | in rules | for each operation |\n|---|--:|--:|--:|--:|")
    for name, (program, precision) in programs.items():
        found = count(program, precision)
        rows[name] = {**dataclasses.asdict(found), "per operation": round(found.per_operation, 1)}
        cells = f"{found.operations:,} | {found.calls:,} | {found.rules:,} | {found.per_operation:.1f}"
        print(f"| {name} | {cells} |", flush=True)
    write_json(out, {"environment": environment(), "layers": layers, "programs": rows})


if __name__ == "__main__":
    main()
