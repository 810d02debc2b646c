"""`scalify-fp8-lint in.mlir`: which matrix products become FP8 GEMMs on a GPU, without that GPU."""

import collections
import dataclasses
import importlib.metadata
import json
import os
from typing import Any

import click

from scalify_hlo.aot.options import LintOptions
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import make_context
from scalify_hlo.errors import Diagnostic
from scalify_hlo.io.files import display_name, write_output
from scalify_hlo.io.serialization import parse

from .command_line import CONTEXT_SETTINGS, ToolCommand, flags_of, listing, read_program, report, version_text
from .progress import Stages

EPILOG = """
INPUT is compiled as it is, by XLA's own GPU compiler (the extra [aot]); rewrite it first with
scalify-opt --scalify --scalify-fp8-dots. Kernels and bytes are those of one execution, a loop's body counted as often
as it runs; bytes are the sizes of what each kernel reads and writes.

Exit status: 0, or 1 when the module cannot be compiled, --require is not met or a collective is forbidden.
"""


@click.command("scalify-fp8-lint", cls=ToolCommand, epilog=EPILOG, context_settings=CONTEXT_SETTINGS)
@click.argument("input_path", metavar="[INPUT]", default="-")
@flags_of(LintOptions, "options")
@click.option("--json", "json_path", metavar="FILE", help="Write the report as JSON; - is stdout, without the table.")
@listing("--version", version_text, "Print the versions of this package, jax, jaxlib and StableHLO.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the Python traceback of an internal error.")
def main(input_path: str, options: LintOptions, json_path: str | None) -> int:
    """Compile INPUT ahead of time for a GPU and say of each matrix product whether it is an FP8 GEMM, or why not.

    INPUT (- or nothing is stdin) is MLIR text, MLIR bytecode, a StableHLO portable artifact or a serialised
    jax.export.Exported.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    program = read_program(input_path)
    from scalify_hlo.aot.collectives import wide
    from scalify_hlo.aot.compiler import check_available
    from scalify_hlo.aot.lint import LintReport, lint

    check_available()
    module = parse(program, make_context())
    result: LintReport = Stages("scalify-fp8-lint").run(
        "compiling", lambda: lint(module, target(options.target), gemm=options.gemm)
    )
    if json_path is not None:
        write_output(json_path, (json.dumps(_as_json(result), indent=1) + "\n").encode())
    if json_path != "-":
        click.echo(table(result))
    forbidden: list[Diagnostic] = []
    if options.forbid_wide_collectives != "none":
        forbidden = [
            Diagnostic(f"{c.kind} of {c.size} bytes in {c.element}, wider than {options.forbid_wide_collectives}",
                       c.source or display_name(input_path))
            for c in wide(result.collectives, int(options.forbid_wide_collectives[1:]))
        ]  # fmt: skip
        report(forbidden)
    if options.require == "none":
        return 1 if forbidden else 0
    failures = result.failures(options.require)
    report([Diagnostic(f"product {f.index} is no FP8 GEMM: {f.reason}", f.source or display_name(input_path))
            for f in failures])  # fmt: skip
    if not any(product.verdict == "fp8 gemm" for product in result.products):
        report([Diagnostic("the compiled module has no FP8 GEMM at all", display_name(input_path))])
        return 1
    return 1 if failures or forbidden else 0


def table(result: Any) -> str:
    """The report for a terminal: one line for each product, then what the program costs."""
    from scalify_hlo.aot.collectives import table as collective_table

    rows = [("#", "FP8", "role", "operands", "weight", "source", "why not")]
    for p in result.products:
        mark = "yes" if p.verdict == "fp8 gemm" else "-" if p.verdict == "removed" else "NO"
        rows.append((str(p.index), mark, p.role, " x ".join(p.operands), p.weight, p.source, p.reason))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    count = collections.Counter(product.verdict for product in result.products)
    memory = result.memory
    lines += [
        "",
        f"{target(result.target).description}, {result.gemm}: {count['fp8 gemm']} of {len(result.products)} products "
        f"are FP8 GEMMs ({count['gemm']} other GEMMs, {count['no gemm']} no GEMM, {count['removed']} removed)",
        f"{result.kernels} kernels, {result.gemms} of them GEMMs; {_mebibytes(result.bytes_accessed)} read and written",
        f"memory: {_mebibytes(memory.arguments)} arguments, {_mebibytes(memory.results)} results "
        f"({_mebibytes(memory.aliased)} shared), {_mebibytes(memory.temporary)} temporary",
    ]
    if result.collectives:
        lines += ["", *collective_table(result.collectives)]
    return "\n".join(lines)


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"


def _as_json(result: Any) -> dict[str, Any]:
    versions = {package: importlib.metadata.version(package) for package in ("jax", "jaxlib", "jax-cuda12-pjrt")}
    return {"versions": versions, **dataclasses.asdict(result)}


if __name__ == "__main__":
    main()
