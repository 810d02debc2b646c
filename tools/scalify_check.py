"""`scalify-check in.mlir`: does the rewritten program compute what the original does?"""

import os

import click

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.options import CheckOptions
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.files import display_name
from scalify_hlo.io.serialization import parse
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.precision_pipeline import parse_precision, precision_pipeline
from scalify_hlo.precision import PrecisionPolicy
from scalify_hlo.rewrite import rewrite_module

from .command_line import ToolCommand, flags_of, listing, read_program, report, rewriting_options, version_text
from .inputs import load_inputs
from .progress import Stages

# Exit statuses: a result differs; nothing could be compared (2 is also that of a wrong command line).
DIFFERS, FAILED = 1, 2

EPILOG = """
Both programs run on the same inputs, the rewritten one on (x / scale, scale). Results are recombined, data * scale,
and measured against the original program computed in f64, whose distance from the original itself is the program's
own rounding noise. A result is wrong when

\b
  RMS of its error  > N * RMS of the noise + E * eps * RMS of the result    or
  its largest error > N * largest noise + 4 * E * eps * RMS of the result

with N from --tolerance, E from --epsilons and eps that of the result's element type. With --precision the noise is what
its types lose whatever the scales are: that of the original with its values rounded to their digits, operands of
products to FP8's, without limits of range; and the inputs are rounded to the types they are stored in.

Infinities and NaNs must be where the f64 program or the original has them; integers may differ in N times as many
elements as the original's do from its f64 self. A result without any finite value is unchecked, which fails too.

Exit status: 0 all results pass, 1 some do not, 2 nothing could be compared.
"""


@click.command(
    "scalify-check",
    cls=ToolCommand,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("module")
@click.option("--rewritten", metavar="FILE", help="Compare with this module instead of rewriting MODULE.")
@click.option("--inputs", metavar="FILE.npz", help="Inputs by argument name or index, instead of drawn ones.")
@flags_of(CheckOptions, "options")
@flags_of(ScalifyOptions, "scalify_options")
@rewriting_options
@listing("--version", version_text, "Print the versions of this package, jax, jaxlib and StableHLO.")
def main(
    module: str,
    rewritten: str | None,
    inputs: str | None,
    options: CheckOptions,
    scalify_options: ScalifyOptions,
    precision: str | None,
) -> int:
    """Rewrite MODULE (or take --rewritten), run both programs on XLA:CPU and compare their results.

    MODULE is MLIR text or bytecode, a StableHLO portable artifact or a serialised jax.export.Exported; "-" is stdin.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # no search for accelerators that would not be used
    try:
        chosen = None if precision is None else parse_precision(precision)
        original = _load(module)
        if rewritten is None:
            rewritten_module = Stages("scalify-check").run(
                "rewriting", lambda: _rewritten(original, scalify_options, chosen)
            )
        elif scalify_options != ScalifyOptions():
            raise ScalifyError("options of the rewriting have no effect with --rewritten; leave out one or the other")
        else:
            rewritten_module = _load(rewritten)
        arrays = None if inputs is None else load_inputs(inputs, entry_signature(original).arguments)
        return _compare(display_name(module), original, rewritten_module, arrays, options, chosen)
    except ScalifyError as error:
        report(error.diagnostics)
        return FAILED


def _rewritten(original: ir.Module, options: ScalifyOptions, precision: PrecisionPolicy | None) -> ir.Module:
    module = clone(original)
    if precision is None:
        return rewrite_module(module, options)
    precision_pipeline(precision, options).run(module, [])
    return module


def _compare(
    name: str,
    original: ir.Module,
    rewritten: ir.Module,
    arrays: list[Array] | None,
    options: CheckOptions,
    precision: PrecisionPolicy | None,
) -> int:
    """Print the comparison; the exit status."""
    from scalify_hlo.execution.check import check_modules  # imports jax: not for --help and broken files

    outcome = Stages("scalify-check").run(
        "compiling and running both programs, and the original in f64",
        lambda: check_modules(original, rewritten, arrays, options, precision=precision),
    )
    click.echo(outcome.comparison.table())
    report([Diagnostic(note, name, "note") for note in outcome.notes])
    failures = outcome.comparison.failures()
    report([Diagnostic(result.explanation(), name) for result in failures])
    count = len(outcome.comparison.results)
    click.echo(f"{count - len(failures)} of {count} results agree")
    return DIFFERS if failures else 0


def _load(path: str) -> ir.Module:
    return parse(read_program(path), make_context())


if __name__ == "__main__":
    main()
