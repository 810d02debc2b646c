"""`scalify-opt`: rewrite a StableHLO program so that every float tensor is carried as data * scale."""

import dataclasses
import sys

import click
from click.shell_completion import CompletionItem

from scalify_hlo.io.files import STANDARD_STREAM, write_output
from scalify_hlo.io.opt_driver import OptDriver, OptSettings
from scalify_hlo.io.serialization import Format, artifact_version
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes import PASSES, Scalify, Sizes
from scalify_hlo.passes.pipeline import Instrumentation, Pipeline, parse_pipeline
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.passes.textual import TEXTUAL_PASSES

from .command_line import (
    CONTEXT_SETTINGS,
    ToolCommand,
    flags_of,
    listing,
    read_program,
    report,
    rewriting_options,
    summarised,
    usage_errors,
    version_text,
    with_weight_names,
)
from .listings import list_passes, list_rules, pass_flags_help

_DEFAULT_PIPELINE = "builtin.module(scalify)"
_PASS_FLAGS = "scalify_hlo.pass_flags"


class OptCommand(ToolCommand):
    """Takes the pass flags, `--name` or `--name=options`, out of the arguments: their order is the pipeline."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_PASS_FLAGS] = [_pipeline_text(arg) for arg in args[:end] if _is_pass(arg)]
        return super().parse_args(ctx, [arg for arg in args[:end] if not _is_pass(arg)] + args[end:])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = super().shell_complete(ctx, incomplete)
        passes = [CompletionItem(flag.partition("[")[0], help=text) for flag, text in pass_flags_help()]
        return found + [each for each in passes if incomplete.startswith("-") and each.value.startswith(incomplete)]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Passes (they run in the order of their flags)"):
            formatter.write_dl(pass_flags_help())


def _is_pass(arg: str) -> bool:
    name = arg.removeprefix("--").partition("=")[0]
    return arg.startswith("--") and (name in PASSES or name in TEXTUAL_PASSES)


def _pipeline_text(flag: str) -> str:
    name, _, options = flag.removeprefix("--").partition("=")
    return f"{name}{{{options}}}" if options else name


@click.command(name="scalify-opt", cls=OptCommand, context_settings=CONTEXT_SETTINGS)
@click.argument("input_path", metavar="[INPUT]", default=STANDARD_STREAM)
@click.option("-o", "output_path", metavar="FILE", default=STANDARD_STREAM, help="Output file; - (default) is stdout.")
@flags_of(OptSettings, "settings")
@flags_of(ScalifyOptions, "options")
@rewriting_options
@click.option(
    "--pin-scales", metavar="FILE", default="", help="Build the scales that scalify-calibrate wrote into the module."
)
@click.option(
    "--pack-scales", is_flag=True, help="Take the scales of all arguments as one vector, and return those of state so."
)
@click.option("--guard", is_flag=True, help="With --pin-scales: one more result counts values out of range.")
@click.option(
    "--transpose-weights", is_flag=True, help="With --pin-scales: take weights transposed, as FP8 GEMMs read them."
)
@click.option(
    "--weights", multiple=True, metavar="PATTERN", help="Names of the weights of a forward program, such as 'params*'."
)
@click.option("--pass-pipeline", metavar="PIPELINE", help=f"The passes to run.  [default: {_DEFAULT_PIPELINE}]")
@click.option(
    "--print-sizes", is_flag=True, help="Print how large every value of the input is estimated to be, to stderr."
)
@click.option("--dump-pass-pipeline", is_flag=True, help="Print the pipeline to stderr, all options written out.")
@flags_of(Instrumentation, "instrumentation")
@listing("--list-passes", list_passes, "Print the passes and their options.")
@listing("--list-rules", list_rules, "Print the rule of each operation.")
@listing("--version", version_text, "Print the versions of this package, jax, jaxlib and StableHLO.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the Python traceback of an internal error.")
@click.pass_context
def main(
    context: click.Context,
    input_path: str,
    output_path: str,
    settings: OptSettings,
    options: ScalifyOptions,
    precision: str | None,
    pin_scales: str,
    pack_scales: bool,
    guard: bool,
    transpose_weights: bool,
    weights: tuple[str, ...],
    pass_pipeline: str | None,
    print_sizes: bool,
    dump_pass_pipeline: bool,
    instrumentation: Instrumentation,
) -> int:
    """Rewrite the StableHLO program INPUT so that every float tensor is carried as data * scale.

    INPUT (- or nothing is stdin) is MLIR text, MLIR bytecode, a StableHLO portable artifact or a serialised
    jax.export.Exported, told apart by content. Diagnostics go to stderr. On an error the exit status is not 0 and
    no output is written.
    """
    flags: list[str] = context.meta[_PASS_FLAGS]
    if flags and pass_pipeline is not None:
        raise click.UsageError(f"--pass-pipeline and pass flags ({', '.join(flags)}) exclude each other")
    if precision is not None and (flags or pass_pipeline is not None):
        raise click.UsageError("--precision chooses the passes: it and a pipeline exclude each other")
    if pin_scales and (flags or pass_pipeline is not None):
        raise click.UsageError("--pin-scales adds a pass: in a pipeline, write scalify-pin-scales{file=FILE}")
    if pack_scales and (flags or pass_pipeline is not None):
        raise click.UsageError(
            "--pack-scales adds a pass: in a pipeline, write scalify{mark-state=true} and, last, scalify-pack-scales"
        )
    if pack_scales and pin_scales:
        raise click.UsageError("--pin-scales leaves no scales that --pack-scales could pack: give one of them")
    if guard and not pin_scales:
        raise click.UsageError("--guard counts what is beyond pinned scales: give --pin-scales=FILE as well")
    if transpose_weights and not pin_scales:
        raise click.UsageError("--transpose-weights is for modules with pinned scales: give --pin-scales=FILE as well")
    precision = with_weight_names(precision, weights)
    scalify = Scalify(**vars(options))
    if precision is not None or pin_scales or pack_scales:
        pipeline = precision_pipeline(precision, scalify, pin_scales, guard, transpose_weights, pack_scales)
    else:
        text = ",".join(flags) if flags else pass_pipeline or _DEFAULT_PIPELINE
        pipeline = parse_pipeline(text, [scalify], "pass flags" if flags else "--pass-pipeline")
    instrumentation.check()
    if settings.target:
        with usage_errors():
            artifact_version(settings.target)
    if print_sizes:
        pipeline = Pipeline((Sizes(table=True), *pipeline.elements))
    program = read_program(input_path)
    if dump_pass_pipeline:
        print(pipeline, file=sys.stderr, flush=True)
    settings = dataclasses.replace(settings, emit=settings.emit or default_form(program.format, output_path))
    outcome = OptDriver(pipeline, settings, instrumentation).process(program)
    told = outcome.diagnostics
    if outcome.failed and not settings.all_remarks:
        # What passes before the failing one did is undone.
        told = [each for each in told if each.severity != "remark"]
    report(told if settings.all_remarks else summarised(told))
    if outcome.failed:
        return 1
    write_output(output_path, outcome.data or b"")
    return 0


def default_form(source: Format, output_path: str) -> Format:
    """Text for a terminal and for a file that is named as text, else what the input is."""
    terminal = output_path == STANDARD_STREAM and sys.stdout.isatty()
    return "text" if terminal or output_path.endswith(".mlir") else source


if __name__ == "__main__":
    main()
