"""`scalify-compare original.mlir served.mlir --inputs batches/`: what serving in low precision loses."""

import math
import os

import click

from scalify_hlo.bindings import make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.serialization import parse

from .command_line import CONTEXT_SETTINGS, ToolCommand, listing, read_program, version_text
from .progress import Stages

EPILOG = """
error is |got - exact| / |exact| by norm, against the program in f64. top-1 and KL (nats) compare rows of scores: how
often the largest element is the same, and how far the softmax is. Of integers (token ids) top-1 is the share of equal
elements. "cast" is the program in that type without scales.
"""


@click.command("scalify-compare", cls=ToolCommand, epilog=EPILOG, context_settings=CONTEXT_SETTINGS)
@click.argument("original_path", metavar="ORIGINAL")
@click.argument("served_path", metavar="SERVED")
@click.option("--inputs", multiple=True, required=True, metavar="FILE|FOLDER", help="Batches, as of scalify-calibrate.")
@click.option("--weights", multiple=True, metavar="FILE", help="Arrays that all batches share; or an orbax checkpoint.")
@click.option(
    "--packed", metavar="FILE", default="", help="What scalify-pack wrote for SERVED, in place of WEIGHTS rounded here."
)
@click.option("--scores", multiple=True, type=int, help="Index of a result whose rows are scores (logits).")
@click.option("--scales", metavar="FILE", default="", help="The scales that SERVED is pinned to: show each tensor.")
@click.option(
    "--tensors",
    type=click.IntRange(min=1),
    default=12,
    show_default=True,
    help="With --scales: how many that add most to the error.",
)
@listing("--version", version_text, "Print the versions of this package, jax, jaxlib and StableHLO.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the Python traceback of an internal error.")
def main(
    original_path: str,
    served_path: str,
    inputs: tuple[str, ...],
    weights: tuple[str, ...],
    packed: str,
    scores: tuple[int, ...],
    scales: str,
    tensors: int,
) -> int:
    """Run ORIGINAL, plain casts of it, and SERVED, which scalify-opt --pin-scales made of it, on the same inputs.

    With --scales, a second table shows the tensors of ORIGINAL at which most of SERVED's error enters, in program
    order: their error, that of what they are computed from, and the difference (of squares).
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from scalify_hlo.io.scales_file import read_scales
    from scalify_hlo.serving.comparison import compare, loss_table  # imports jax: not for --help
    from scalify_hlo.serving.packing import read_packed
    from scalify_hlo.serving.tensors import Batches, input_files, platform_index, with_sizes_of

    files = input_files(inputs)
    original, served = (
        with_sizes_of(parse(read_program(path), make_context()), [*files, *weights])
        for path in (original_path, served_path)
    )
    batches = Batches(entry_signature(original).arguments, weights, files, platform_index(original))
    data = read_packed(served, packed) if packed else None
    if scales:
        read_scales(scales)  # what cannot be read is told of before all batches have run
    compared = Stages("scalify-compare").run(
        f"running {len(batches)} batches",
        lambda: compare(original, served, list(batches), scores or None, packed=data),
    )
    if compared and all(math.isnan(each.error) and math.isnan(each.agreement) for each in compared):
        raise ScalifyError("no element of the original's results is a finite number: nothing can be compared")
    click.echo(loss_table(compared))
    if scales:
        from scalify_hlo.serving.error_sources import error_sources, sources_table

        found = Stages("scalify-compare").run(
            "comparing each tensor", lambda: error_sources(original, scales, list(batches))
        )
        click.echo("\n" + sources_table(found, tensors))
    return 0


if __name__ == "__main__":
    main()
