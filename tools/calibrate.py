"""`scalify-calibrate in.mlir --inputs batches/ -o scales.json`: chooses scales by what tensors are on sample inputs."""

import os
import sys
from typing import get_args

import click

from scalify_hlo.bindings import make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.io.files import check_output, write_output
from scalify_hlo.io.scales_file import Channels, Method, read_scales
from scalify_hlo.io.serialization import parse

from .command_line import (
    CONTEXT_SETTINGS,
    ToolCommand,
    listing,
    read_program,
    rewriting_options,
    version_text,
    with_weight_names,
)
from .progress import Stages

EPILOG = """
Each file of --inputs is one batch: arrays by the names of the arguments (as JAX writes them, or with dots), or by their
indices. What all batches share, such as the weights, is given once by --weights. With --resume the statistics that FILE
holds already are kept, and as many batches are skipped. --add is for prefill and decode: one file of scales that have
weights and caches in common.
"""


@click.command("scalify-calibrate", cls=ToolCommand, epilog=EPILOG, context_settings=CONTEXT_SETTINGS)
@click.argument("input_path", metavar="[INPUT]", default="-")
@click.option("-o", "output_path", metavar="FILE", required=True, help="The scales: a JSON file.")
@click.option(
    "--inputs", multiple=True, required=True, metavar="FILE|FOLDER", help="Batches: .npz or .safetensors files."
)
@click.option("--weights", multiple=True, metavar="FILE|PATTERN",
              help="Arrays that all batches share: .npz, .safetensors or an orbax checkpoint. Or, with a *, names of "
              "the arguments that are weights.")  # fmt: skip
@rewriting_options
@click.option("--method", type=click.Choice(get_args(Method)), default="rms", show_default=True,
              help="What of a tensor its scale is chosen by.")  # fmt: skip
@click.option("--channels", type=click.Choice(get_args(Channels)), default="auto", show_default=True,
              help="Weights with a scale for each output channel; auto: whose channels are far apart.")  # fmt: skip
@click.option("--keep-wide", "wide", metavar="auto|N|E%", default="",
              help="Leave some weights, and their products, in the wide type: as many as top-1 agreement needs (99% of "
              "a bf16 cast's), N, or as an error of E% needs.")  # fmt: skip
@click.option("--scores", multiple=True, type=int, help="For --keep-wide: index of a result whose rows are scores.")
@click.option("--resume", is_flag=True, help="Go on from the batches that FILE has seen.")
@click.option("--add", "add_to", metavar="FILE", help="Scales of another program of the same model: both go to -o.")
@listing("--version", version_text, "Print the versions of this package, jax, jaxlib and StableHLO.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the Python traceback of an internal error.")
def main(
    input_path: str,
    output_path: str,
    inputs: tuple[str, ...],
    weights: tuple[str, ...],
    precision: str | None,
    method: Method,
    channels: Channels,
    wide: str,
    scores: tuple[int, ...],
    resume: bool,
    add_to: str | None,
) -> int:
    """Run INPUT on sample inputs and write the scales of its arguments and of its FP8 products' operands.

    INPUT (- or nothing is stdin) is the program as written: MLIR text, MLIR bytecode, a StableHLO portable artifact or
    a serialised jax.export.Exported. It runs on XLA:CPU. `scalify-opt --pin-scales=FILE` takes the scales.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from scalify_hlo.serving.calibration import Calibration  # imports jax: not for --help
    from scalify_hlo.serving.comparison import check_scores
    from scalify_hlo.serving.keep_wide import keep_wide, parse_budget
    from scalify_hlo.serving.shared_scales import add_program
    from scalify_hlo.serving.tensors import Batches, input_files, platform_index, with_sizes_of

    check_output(output_path)
    budget = parse_budget(wide) if wide else None
    if budget is not None and add_to:
        raise ScalifyError("--keep-wide with --add: which weights stay wide is chosen with the first program")
    patterns = [each for each in weights if "*" in each and not os.path.exists(each)]
    weights = tuple(each for each in weights if each not in patterns)
    precision = with_weight_names(precision, patterns)
    files = input_files(inputs)
    module = with_sizes_of(parse(read_program(input_path), make_context()), [*files, *weights])
    calibration = Calibration(module, precision, method, channels)
    if budget is not None and not calibration.has_fp8_products:
        raise ScalifyError("--keep-wide: this precision has no FP8 products: give --precision=fp8")
    check_scores(calibration.signature, scores)
    batches = Batches(calibration.signature.arguments, weights, files, platform_index(module))
    if resume and os.path.exists(output_path):
        calibration.resume(read_scales(output_path))
    else:
        calibration.arguments(batches)
    earlier = read_scales(add_to) if add_to else None
    if earlier is not None:  # operands are measured at the scales that they will have
        add_program(calibration.scales, earlier)
    probe = calibration.prepare()
    left = batches.starting_at(calibration.scales.batches)
    count = len(batches) - calibration.scales.batches
    with click.progressbar(left, count, label="calibrating", file=sys.stderr) as shown:
        for arrays in shown:
            if probe is not None:
                probe.measure(arrays)
            calibration.scales.batches += 1
            calibration.choose_operands()
            scales = calibration.scales if earlier is None else add_program(calibration.scales, earlier)
            write_output(output_path, scales.to_json())
    scales = calibration.scales
    kept = None
    if budget is not None:
        kept = Stages("scalify-calibrate").run(
            "rounding each tensor alone", lambda: keep_wide(calibration, list(batches), budget, scores or None)
        )
        write_output(output_path, scales.to_json())
    click.echo(
        f"{scales.batches} batches: scales of {len(scales.arguments)} arguments, {len(scales.results)} results and "
        f"{len(scales.operands)} operands of FP8 products in {output_path}"
    )
    if kept is not None and budget is not None:
        click.echo(kept.describe(budget))
    return 0


if __name__ == "__main__":
    main()
