"""What rewriting costs on XLA:CPU: `python -m benchmarks.cpu_cost`.

Ten programs of the zoo beside the repository, every third of its programs for one device (none where it is absent),
before and after they are rewritten in f32, and with their scales packed (`scalify-opt --pack-scales`): compilation and
one execution, kernels, instructions. Both times are CPU seconds of all threads, which another process on the machine
changes less than what a clock says, and medians; the programs run in turns. Compilation of the rewritten program is
XLA's, as for the original; the rewrite itself is `benchmarks.gpt2_scaling`'s subject.
"""

import importlib.util
import pathlib
import statistics
import time
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from benchmarks.gpu_cost import ZOO
from benchmarks.records import RESULTS, environment, read_json, write_json
from scalify_hlo import rewrite_module
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.inputs import rewritten_arguments, split_scales
from scalify_hlo.execution.modules import as_module, to_bytecode
from scalify_hlo.execution.signature import Signature, pair_arguments
from scalify_hlo.passes.precision_pipeline import precision_pipeline

OUT = RESULTS / "cpu_cost.json"
COUNT = 10
# Median and worst ratio to the original, at most.
TARGETS = {"compile": (1.3, 1.6), "step": (1.05, 1.15)}
# A program is executed until this many CPU seconds are spent on it, or so often.
_ENOUGH, _MOST = 2.0, 200


def programs(zoo: pathlib.Path = ZOO) -> list[Any]:
    """The zoo's programs that are measured, with names, texts and inputs."""
    path = zoo.parent / "zoo.py"
    spec = importlib.util.spec_from_file_location("zoo", path) if path.exists() else None
    if spec is None or spec.loader is None:
        return []
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.find_programs(root=zoo.parent, split=zoo.name)
    return [each for each in found if "multi-device" not in each.meta["tags"]][::3][:COUNT]


def measured(program: Any, compilations: int) -> dict[str, dict[str, float]]:
    """CPU seconds and counts of a program, original, rewritten, and rewritten with its scales packed."""
    texts = {"original": to_bytecode(as_module(program.mlir_text()))}
    texts["rewritten"] = rewrite_module(texts["original"])
    packed = as_module(texts["original"])
    precision_pipeline(None, pack_scales=True).run(packed, [])
    texts["packed"] = to_bytecode(packed)
    compiled: dict[str, xla.Executable] = {}
    compile_seconds: dict[str, list[float]] = {name: [] for name in texts}
    for _ in range(compilations):
        for name, text in texts.items():
            start = time.process_time()
            compiled[name] = xla.compile(text, excess_precision=True)
            compile_seconds[name].append(time.process_time() - start)
    arguments = {"original": program.inputs()}
    plain, scaled = compiled["original"].signature, compiled["rewritten"].signature
    splits = split_scales(arguments["original"])
    arguments["rewritten"] = rewritten_arguments(splits, pair_arguments(plain, scaled), scaled)
    arguments["packed"] = packed_arguments(arguments["rewritten"], scaled)
    steps: dict[str, list[float]] = {name: [] for name in texts}
    for name, executable in compiled.items():
        executable.seconds_per_call(arguments[name], 2)  # warm-up
    while sum(map(sum, steps.values())) < len(texts) * _ENOUGH and len(steps["original"]) < _MOST:
        for name, executable in compiled.items():
            steps[name] += executable.seconds_per_call(arguments[name], 1, clock=time.process_time)
    return {
        name: {
            "compile_cpu_seconds": statistics.median(compile_seconds[name]),
            "step_cpu_seconds": statistics.median(steps[name]),
            "kernels": executable.cost.kernels,
            "instructions": executable.cost.instructions,
            "bytes_accessed": executable.bytes_accessed,
        }
        for name, executable in compiled.items()
    }


def packed_arguments(arrays: Sequence[Array], signature: Signature) -> list[Array]:
    """What a program with packed scales takes, from what it takes in pairs (whose scales have rank 0)."""
    roles = [spec.role for spec in signature.arguments]
    data = [array for array, role in zip(arrays, roles, strict=True) if role != "scale"]
    return [*data, np.stack([array for array, role in zip(arrays, roles, strict=True) if role == "scale"])]


def ratios(row: dict[str, dict[str, float]], form: str) -> dict[str, float]:
    """Rewritten over original: the quantities of TARGETS."""
    names = {"compile": "compile_cpu_seconds", "step": "step_cpu_seconds"}
    return {key: row[form][name] / row["original"][name] for key, name in names.items()}


def table(rows: dict[str, dict[str, dict[str, float]]]) -> str:
    """The measurements as a Markdown table, medians and worst ratios in the last lines."""
    lines = ["| program | compile s | rewritten | packed | step ms | rewritten | packed | kernels, rewritten, packed |"]
    lines.append(f"|---|{'--:|' * 7}")
    forms = ("rewritten", "packed")
    for name, row in rows.items():
        cells = [name]
        for key, scale, quantity in (("compile_cpu_seconds", 1, "compile"), ("step_cpu_seconds", 1e3, "step")):
            cells.append(f"{scale * row['original'][key]:.2f}")
            cells += [f"{ratios(row, form)[quantity]:.2f}" for form in forms]
        cells.append(" -> ".join(str(row[form]["kernels"]) for form in ("original", *forms)))
        lines.append(f"| {' | '.join(cells)} |")
    for kind, of in (("median", statistics.median), ("worst", max)) if rows else ():
        cells = [f"**{kind}**"]
        for key in TARGETS:
            cells += ["", *(f"{of(ratios(row, form)[key] for row in rows.values()):.2f}" for form in forms)]
        lines.append(f"| {' | '.join([*cells, ''])} |")
    return "\n".join(lines)


@click.command(help=__doc__)
@click.option("--only", default="", help="Programs whose name contains one of these (comma-separated).")
@click.option("--compilations", default=3, show_default=True)
@click.option("--zoo", type=click.Path(path_type=pathlib.Path), default=ZOO, help="[default: ../shared/zoo/public]")
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=OUT, show_default=True)
@click.option("--fresh", is_flag=True, help="Measure everything anew; otherwise what the file has is kept.")
def main(only: str, compilations: int, zoo: pathlib.Path, out: pathlib.Path, fresh: bool) -> None:
    chosen = [each for each in programs(zoo) if any(part in each.name for part in only.split(","))]
    earlier = None if fresh else read_json(out)
    rows: dict[str, dict[str, dict[str, float]]] = earlier["rows"] if earlier else {}
    for program in chosen:
        if program.name not in rows:
            rows[program.name] = measured(program, compilations)
            write_json(out, {"targets": TARGETS, "environment": environment(), "rows": rows})
            print(table({program.name: rows[program.name]}).splitlines()[2], flush=True)
    names = {each.name for each in chosen}
    print(table({name: row for name, row in rows.items() if name in names}))
    print(f"written to {out}")


if __name__ == "__main__":
    main()
