"""`scalify-pack served.mlir weights.npz -o packed.safetensors`: weights in the form that a pinned module takes."""

import os
from collections.abc import Sequence

import click
import numpy as np

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import Array, is_float_array
from scalify_hlo.io.files import check_output, write_output
from scalify_hlo.io.serialization import parse
from scalify_hlo.serving.compensation import Readings
from scalify_hlo.serving.packing import cache_arguments, pack, pinned_arguments, unpack
from scalify_hlo.serving.tensors import (
    check_unpacked,
    input_files,
    is_packed,
    read_with_metadata,
    tensor_bytes,
    with_sizes_of,
)

from .command_line import CONTEXT_SETTINGS, ToolCommand, listing, read_program, report, version_text
from .progress import Stages


@click.command("scalify-pack", cls=ToolCommand, context_settings=CONTEXT_SETTINGS)
@click.argument("module_path", metavar="MODULE")
@click.argument("weights_path", metavar="WEIGHTS")
@click.option("-o", "output_path", metavar="FILE", required=True, help="A .npz or .safetensors file.")
@click.option(
    "--inputs",
    multiple=True,
    metavar="FILE|FOLDER",
    help="Batches, as of scalify-calibrate: round weights so that their errors make up for each other on these inputs.",
)
@click.option("--unpack", "backwards", is_flag=True, help="WEIGHTS are packed ones: write their values in f32.")
@listing("--version", version_text, "Print the versions of this package, jax, jaxlib and StableHLO.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the Python traceback of an internal error.")
def main(module_path: str, weights_path: str, output_path: str, inputs: tuple[str, ...], backwards: bool) -> int:
    """Divide WEIGHTS by the scales that MODULE is pinned to and round them to the types that it takes.

    MODULE is what `scalify-opt --pin-scales` wrote. WEIGHTS is a .npz or .safetensors file, of any library, or the
    folder of an orbax checkpoint: names are those of the module's arguments, as JAX writes them or with dots, or their
    ends. What else a checkpoint holds (moments, counters) is left out.

    With --inputs the module is run on samples, and what rounding one element of a weight changes in the products that
    read it is made up for by the elements that are rounded after it.
    """
    if backwards and inputs:
        raise click.UsageError("--inputs says how weights are rounded, and --unpack rounds none: give one of the two")
    check_output(output_path)
    if os.path.exists(output_path) and os.path.realpath(output_path) == os.path.realpath(weights_path):
        what = "packed weights would replace the weights that they are made of: give -o another name"
        raise ScalifyError(Diagnostic(what, weights_path))
    module = parse(read_program(module_path), make_context())
    tensors, metadata = read_with_metadata(weights_path)
    if backwards:
        if not is_packed(metadata):
            raise ScalifyError(
                Diagnostic("these weights are not packed: scalify-pack did not write this file", weights_path)
            )
        values = unpack(tensors, metadata)
        write_output(output_path, tensor_bytes(values, {}, output_path))
        click.echo(f"{len(values)} tensors in f32 in {output_path}")
        return 0
    check_unpacked(metadata, weights_path)
    if not pinned_arguments(module):
        message = "this module takes no weight as data at a scale: nothing is packed (scalify-opt --pin-scales)"
        report([Diagnostic(message, module_path, "warning")])
    packed = pack(module, tensors, weights_path, _readings(module, tensors, weights_path, inputs))
    write_output(output_path, tensor_bytes(packed.tensors, packed.metadata, output_path))
    for name, count in packed.saturated.items():
        message = f"'{name}': {count} elements are beyond the range of its type and were clamped"
        report([Diagnostic(message, weights_path, "warning")])
    for name, array in tensors.items():
        unset = int(np.isnan(array.astype(np.float32, copy=False)).sum()) if is_float_array(array) else 0
        if unset:
            report([Diagnostic(f"'{name}': {unset} elements are NaN", weights_path, "warning")])
    left_out = len(tensors) - packed.given
    if left_out:
        click.echo(f"{left_out} arrays belong to no argument and were left out")
    ratio = packed.bytes_after / max(packed.bytes_before, 1)
    click.echo(
        f"{packed.given} tensors: {packed.bytes_before:,} bytes in bf16, {packed.bytes_after:,} packed ({ratio:.2f})"
    )
    return 0


def _readings(
    module: ir.Module, tensors: dict[str, Array], weights_path: str, inputs: Sequence[str]
) -> dict[int, Readings]:
    """What the weights are multiplied by on the inputs; nothing without inputs."""
    if not inputs:
        return {}
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from scalify_hlo.serving.product_inputs import sampled_readings  # imports jax: not for --help

    files = input_files(inputs)
    sized = with_sizes_of(module, files)
    found = Stages("scalify-pack").run(
        "running the module", lambda: sampled_readings(sized, tensors, files, weights_path)
    )
    count = len(pinned_arguments(module).keys() - cache_arguments(module))
    click.echo(f"{len(found)} of {count} weights are rounded by what they are multiplied by, others to the nearest")
    return found


if __name__ == "__main__":
    main()
