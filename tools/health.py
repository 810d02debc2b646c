"""`scalify-health in.mlir`: runs a program and says of each tensor how well its data use their type."""

import os
from typing import get_args

import click

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.inputs import ScaleMode
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.files import display_name, write_output
from scalify_hlo.io.serialization import parse
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.instrument import Instrument
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.reports.health import TensorHealth, summary, table
from scalify_hlo.reports.health_html import report_html
from scalify_hlo.reports.overlay import overlay, shown_module

from .command_line import (
    CONTEXT_SETTINGS,
    ToolCommand,
    flags_of,
    listing,
    read_program,
    rewriting_options,
    version_text,
)
from .inputs import load_inputs
from .overlays import check_overlay_path, write_overlay
from .progress import Stages

EPILOG = """
Arguments are drawn from --seed, or read from --inputs; a rewritten program gets (data, scale) pairs of the same
values. rms, amax and scale are powers of two; underflow is what is not zero and below the type's smallest normal
number, overflow what is beyond its largest or NaN. BAD: elements beyond the range, or so many at its lower end
that they add to the error of rounding; far: of a narrow type, and further from unit size than 2^8.
"""


@click.command("scalify-health", cls=ToolCommand, epilog=EPILOG, context_settings=CONTEXT_SETTINGS)
@click.argument("input_path", metavar="[INPUT]", default="-")
@flags_of(Instrument, "options")
@click.option("--rewrite", is_flag=True, help="Rewrite INPUT first, and draw it as it was in grey.")
@rewriting_options
@click.option("--before", metavar="FILE", help="Another form of the program, drawn in grey in the HTML report.")
@click.option("--html", "html_path", metavar="FILE", help="Write a page with a histogram of exponents per tensor.")
@click.option(
    "--overlay",
    "overlay_path",
    metavar="FILE.mlirbc",
    help="Write the program as it is run, and FILE.log2_rms.json, ... beside it, for Model Explorer.",
)
@click.option("--inputs", metavar="FILE.npz", help="Arguments by name or index, instead of drawn ones.")
@click.option(
    "--scales",
    type=click.Choice(get_args(ScaleMode)),
    default="rms",
    show_default=True,
    help="Scales of the arguments: of each its RMS as a power of two, 1, or powers of two drawn around the RMS.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the arguments.")
@listing("--version", version_text, "Print the versions of this package, jax, jaxlib and StableHLO.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the Python traceback of an internal error.")
def main(
    input_path: str,
    options: Instrument,
    rewrite: bool,
    precision: str | None,
    before: str | None,
    html_path: str | None,
    overlay_path: str | None,
    inputs: str | None,
    scales: ScaleMode,
    seed: int,
) -> int:
    """Run INPUT on XLA:CPU with statistics of its tensors' data, and print them.

    INPUT (- or nothing is stdin) is MLIR text, MLIR bytecode, a StableHLO portable artifact or a serialised
    jax.export.Exported; as it is, or rewritten by scalify-opt, or with --rewrite or --precision to be rewritten now,
    which is the way to see data and scale of every tensor.
    """
    if before is not None and html_path is None:
        raise click.UsageError("--before is compared on the page of --html: give --html=FILE as well")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from scalify_hlo.execution.measure import measure, whole_values  # imports jax: not for --help

    if overlay_path is not None:
        check_overlay_path(overlay_path)
    stages = Stages("scalify-health")
    module = _load(input_path)
    arguments = whole_values(entry_signature(module)).arguments
    original = clone(module) if rewrite or precision is not None else None
    if original is not None:
        pipeline = precision_pipeline(precision, ScalifyOptions(mark_tensors=True))
        stages.run("rewriting", lambda: pipeline.run(module, []))
    values = None if inputs is None else load_inputs(inputs, arguments)
    shown: ir.Module | None = None
    if overlay_path is not None:
        options.watch(module)
        shown = shown_module(module)
    tensors = stages.run(
        "compiling and running with statistics", lambda: measure(module, options, seed, values=values, scales=scales)
    )
    if html_path is not None:
        earlier = original if before is None else _load(before)
        if earlier is None:
            before_tensors: list[TensorHealth] = []
        else:
            form = earlier
            before_tensors = stages.run(
                "the same before rewriting", lambda: measure(form, options, seed, values=values, scales=scales)
            )
        write_output(html_path, report_html(tensors, before_tensors, title=display_name(input_path)).encode())
    if overlay_path is not None and shown is not None:
        form = shown
        write_overlay(overlay_path, stages.run("node ids", lambda: overlay(form, tensors)))
    if html_path != "-":
        click.echo(table(tensors))
        click.echo(summary(tensors))
    return 0


def _load(path: str) -> ir.Module:
    return parse(read_program(path), make_context())


if __name__ == "__main__":
    main()
