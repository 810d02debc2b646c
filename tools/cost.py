"""`scalify-cost in.mlir`: what a program costs on a GPU before and after it is rewritten, without that GPU."""

import dataclasses
import importlib.metadata
import json
import os
from collections.abc import Callable
from typing import Any

import click

from scalify_hlo.aot.options import CostOptions
from scalify_hlo.bindings import make_context
from scalify_hlo.io.files import write_output
from scalify_hlo.io.serialization import parse

from .command_line import (
    CONTEXT_SETTINGS,
    ToolCommand,
    flags_of,
    listing,
    read_program,
    rewriting_options,
    version_text,
)
from .progress import Stages

EPILOG = """
INPUT is the program before it is rewritten. Both programs are compiled by XLA, for a GPU by the extra [aot]. Kernels
and bytes are those of one execution, a loop's body counted as often as it runs; bytes are the sizes of what each
kernel reads and writes, of a buffer that is sliced or updated in place those of the slice. A scalar kernel has
operands and results of one element only. The step is an estimate with the assumptions printed below it.

Exit status: 0, or 1 when the program cannot be rewritten or compiled.
"""


@click.command("scalify-cost", cls=ToolCommand, epilog=EPILOG, context_settings=CONTEXT_SETTINGS)
@click.argument("input_path", metavar="[INPUT]", default="-")
@flags_of(CostOptions, "options")
@rewriting_options
@click.option(
    "--rewritten", "rewritten_path", metavar="FILE", help="The rewritten program, instead of rewriting INPUT."
)
@click.option("--extra", "shown", default=12, show_default=True, metavar="N", help="How many extra kernels to list.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report as JSON; - is stdout, without the table.")
@listing("--version", version_text, "Print the versions of this package, jax, jaxlib and StableHLO.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the Python traceback of an internal error.")
def main(
    input_path: str,
    options: CostOptions,
    precision: str | None,
    rewritten_path: str | None,
    shown: int,
    json_path: str | None,
) -> int:
    """Compile INPUT and what it is rewritten to, and set their kernels, bytes, memory and FP8 GEMMs side by side.

    INPUT (- or nothing is stdin) is MLIR text, MLIR bytecode, a StableHLO portable artifact or a serialised
    jax.export.Exported.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if options.only and (precision is not None or rewritten_path is not None or options.baseline != "original"):
        raise click.UsageError("--only compares with nothing: it excludes --precision, --rewritten and --baseline")
    if rewritten_path is not None and precision is not None:
        raise click.UsageError("--rewritten and --precision exclude each other")
    program = read_program(input_path)
    from scalify_hlo.aot.compiler import check_available
    from scalify_hlo.aot.cost import measure_cost
    from scalify_hlo.aot.cost_difference import Difference, compare_costs, difference, measure_with_sources
    from scalify_hlo.passes.cast import Cast
    from scalify_hlo.passes.pipeline import Pipeline
    from scalify_hlo.passes.precision_pipeline import precision_pipeline

    if options.target != "cpu":
        check_available()
    module = parse(program, make_context())
    stages = Stages("scalify-cost")
    found: Difference | None = None
    if options.only:
        costs = [stages.run("compiling", lambda: measure_with_sources(module, options.target).cost)]
    else:
        bf16 = Pipeline((Cast(precision="bf16"),)) if options.baseline == "bf16" else None
        if rewritten_path is not None:
            if bf16 is not None:
                bf16.run(module, [])
            second = parse(read_program(rewritten_path), module.context)
            first_cost = stages.run("compiling the original", lambda: measure_cost(module, options.target))
            second_cost = stages.run("compiling the rewritten program", lambda: measure_cost(second, options.target))
            found = difference(first_cost, second_cost, [])
        else:
            pipeline = precision_pipeline(precision)
            first = None if bf16 is None else _runner(bf16)
            found = stages.run(
                "compiling the program, original and rewritten",
                lambda: compare_costs(module, options.target, _runner(pipeline), first),
            )
        costs = [found.original.cost, found.rewritten.cost]
    if json_path is not None:
        write_output(json_path, (json.dumps(_as_json(costs, found), indent=1) + "\n").encode())
    if json_path != "-":
        click.echo(table(costs, found if rewritten_path is None else None, shown))
    return 0


def _runner(pipeline: Any) -> Callable[[Any], None]:
    """What runs a pipeline on a module."""
    return lambda module: pipeline.run(module, [])


_BETWEEN = "between devices"


def table(costs: list[Any], found: Any, shown: int) -> str:
    """The report for a terminal: one line for each quantity, then collectives, and the extra kernels by cause."""
    from scalify_hlo.aot.collectives import table as collective_table

    rows = [("", "original", "rewritten", "ratio")[: 1 + len(costs) + (len(costs) > 1)]]
    for name, value in _quantities(costs[0]).items():
        if name == _BETWEEN and not any(cost.collectives for cost in costs):
            continue
        cells = [name, *(_quantities(cost)[name][1] for cost in costs)]
        if len(costs) > 1:
            before, after = value[0], _quantities(costs[1])[name][0]
            cells.append(f"{after / before:.2f}" if before else "")
        rows.append(tuple(cells))
    if len(costs) == 1:
        rows = rows[1:]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:],
             strict=True))]).rstrip() for row in rows]  # fmt: skip
    if costs[0].step is not None:
        lines += ["", f"assumed: {costs[0].step.assumptions}"]
    for name, cost in zip(("original", "rewritten") if len(costs) > 1 else ("",), costs, strict=True):
        if cost.collectives:
            lines += ["", *([f"collectives, {name}"] if name else []), *collective_table(cost.collectives)]
    if found is not None and found.extra:
        lines += ["", f"extra kernels: {sum(found.causes().values())} (and {found.removed} of the original's are gone)"]
        lines += [f"  {number:6}  {cause}" for cause, number in found.causes().items()]
        listed = found.extra[:shown]
        if listed:
            lines += ["", "  times      bytes  cause, operation"]
            lines += [f"  {e.times:5}  {e.size:9}  {e.cause}: {e.source or e.kernel}" for e in listed]
        if len(found.extra) > len(listed):
            lines.append(f"  and {len(found.extra) - len(listed)} more (--extra, --json)")
    return "\n".join(lines)


def _quantities(cost: Any) -> dict[str, tuple[float, str]]:
    """What is compared: the number, and as it is printed."""
    from scalify_hlo.aot.collectives import total

    memory = cost.memory
    numbers: dict[str, tuple[float, str]] = {
        "kernels": (cost.kernels, f"{cost.kernels:,}"),
        "  on tensors": (cost.data_kernels, f"{cost.data_kernels:,}"),
        "  on scalars": (cost.scalar_kernels, f"{cost.scalar_kernels:,}"),
        "  copies": (cost.copies, f"{cost.copies:,}"),
        "matrix products": (cost.gemms, f"{cost.gemms:,}"),
        "  of them FP8": (cost.fp8_gemms, f"{cost.fp8_gemms:,}"),
        "read and written": (cost.bytes_accessed, _bytes(cost.bytes_accessed)),
        _BETWEEN: (total(cost.collectives), _bytes(total(cost.collectives))),
        "temporary memory": (memory.temporary, _bytes(memory.temporary)),
        "peak memory": (memory.peak, _bytes(memory.peak)),
        "compile time, CPU": (cost.compile_cpu_seconds, f"{cost.compile_cpu_seconds:.1f} s"),
        "optimised HLO, lines": (cost.hlo_lines, f"{cost.hlo_lines:,}"),
    }
    if cost.step is not None:
        step = cost.step
        numbers["step, estimated"] = (step.seconds, _time(step.seconds))
        for name, seconds in (("launches", step.launch), ("bandwidth", step.bandwidth), ("products", step.matrix)):
            numbers[f"  {name}"] = (seconds, _time(seconds))
    return numbers


def _bytes(size: int) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


def _as_json(costs: list[Any], found: Any) -> dict[str, Any]:
    versions: dict[str, str] = {}
    for package in ("jax", "jaxlib", "jax-cuda12-pjrt"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    names = ("original", "rewritten")
    record: dict[str, Any] = {"versions": versions}
    record |= {name: dataclasses.asdict(cost) for name, cost in zip(names, costs, strict=False)}
    if found is not None:
        record["causes"] = found.causes()
        record["extra"] = [dataclasses.asdict(each) for each in found.extra]
    return record


if __name__ == "__main__":
    main()
