"""`scalify-explain in.mlir --precision=fp8`: what is done to each product, state tensor and tensor, and why."""

import click

from scalify_hlo.bindings import make_context
from scalify_hlo.io.files import display_name, write_output
from scalify_hlo.io.serialization import parse
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.reports.explain import as_html, as_text, decisions_overlay, explained

from .command_line import (
    CONTEXT_SETTINGS,
    ToolCommand,
    flags_of,
    listing,
    read_program,
    rewriting_options,
    version_text,
)
from .overlays import check_overlay_path, write_overlay
from .progress import Stages


@click.command("scalify-explain", cls=ToolCommand, context_settings=CONTEXT_SETTINGS)
@click.argument("input_path", metavar="[INPUT]", default="-")
@click.option("--tensors", type=click.IntRange(min=-1), default=12, show_default=True, metavar="N",
              help="How many tensors to show, those estimated to be furthest from unit size; -1 for all.")  # fmt: skip
@click.option("--json", "json_path", metavar="FILE", help="Write all decisions as JSON; - for stdout.")
@click.option("--html", "html_path", metavar="FILE", help="Write all decisions as a page.")
@click.option("--overlay", "overlay_path", metavar="FILE.mlirbc",
              help="Write the rewritten program for Model Explorer, and what was decided as FILE.*.json.")  # fmt: skip
@click.option("--allow-unregistered-dialect", is_flag=True, help="Accept operations of unregistered dialects.")
@rewriting_options
@flags_of(ScalifyOptions, "options")
@listing("--version", version_text, "Print the versions of this package, jax, jaxlib and StableHLO.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the Python traceback of an internal error.")
def main(
    input_path: str,
    tensors: int,
    json_path: str | None,
    html_path: str | None,
    overlay_path: str | None,
    allow_unregistered_dialect: bool,
    precision: str | None,
    options: ScalifyOptions,
) -> int:
    """Tell what rewriting INPUT decides, with source lines: FP8 or not for each product and because of what, the type
    of each state tensor, what is rescaled at run time, and scale and estimated size of each tensor.

    INPUT (- or nothing is stdin) is MLIR text, MLIR bytecode, a StableHLO portable artifact or a serialised
    jax.export.Exported, as written, before any rewriting. Nothing is run.
    """
    if json_path is not None and json_path == html_path:
        raise click.UsageError(f"--json and --html would write one file: {json_path}")
    if overlay_path is not None:
        check_overlay_path(overlay_path)
    stages = Stages("scalify-explain")
    context = make_context()
    context.allow_unregistered_dialects = allow_unregistered_dialect
    module = parse(read_program(input_path), context)
    found, rewritten = stages.run("rewriting", lambda: explained(module, precision, options))
    if json_path is not None:
        write_output(json_path, found.to_json().encode())
    if html_path is not None:
        write_output(html_path, as_html(found, display_name(input_path)).encode())
    if overlay_path is not None:
        write_overlay(overlay_path, stages.run("node ids", lambda: decisions_overlay(rewritten)))
    if "-" not in (json_path, html_path):
        click.echo(as_text(found, tensors))
    return 0


if __name__ == "__main__":
    main()
