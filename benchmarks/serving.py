"""What serving in FP8 loses: top-1 agreement and relative error, beside bf16's, and bytes of weights.

`python -m benchmarks.serving` measures the six models of `benchmarks.models.forward` and, where they are, the forward
programs of `../shared/zoo`, each in a process of its own; `--only NAME` one of them; `--large` the whole path for a
decoder of 100 million parameters, timed. The table goes to stdout, the numbers to `benchmarks/results/serving.json`.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click
import jax
import ml_dtypes
import numpy as np

from benchmarks.records import RESULTS, environment, read_json, write_json
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.precision_pipeline import parse_precision, precision_pipeline
from scalify_hlo.serving.calibration import Calibration
from scalify_hlo.serving.comparison import compare, served_run
from scalify_hlo.serving.keep_wide import Switched, keep_wide
from scalify_hlo.serving.packing import cache_arguments, own_arguments, pack, pinned_arguments
from scalify_hlo.serving.product_inputs import sampled_readings
from scalify_hlo.serving.tensors import tensor_bytes

ZOO = pathlib.Path(__file__).resolve().parents[2] / "shared" / "zoo"
RESULT = RESULTS / "serving.json"
STEPS = 200


def scalars(module: ir.Module) -> int:
    """Float operations of rank 0 in a module's text; constants are none."""
    lines = [line.strip() for line in str(module).splitlines()]
    return sum(
        line.endswith((": tensor<f32>", ": tensor<f16>", "-> tensor<f32>", "-> tensor<f16>"))
        and line.startswith("%")
        and "stablehlo.constant" not in line
        and "stablehlo.reduce" not in line
        for line in lines
    )


def plain_fp8(original: ir.Module, served: ir.Module) -> Callable[[Sequence[Array]], list[Array]]:
    """The program without scales whose FP8 products are those of the served one, and its weights in E4M3 too.

    Every operand is scaled by its largest element in each call, all else is computed in the program's own types: what
    E4M3 costs by itself.
    """
    module = clone(original)
    FP8Dots(scaling="current").apply(module, [])
    run, rounded = xla.compile(module), pinned_arguments(served)
    return lambda arrays: run([in_e4m3(array) if i in rounded else array for i, array in enumerate(arrays)])


def exact_weights(calibration: Calibration) -> Callable[[Sequence[Array]], list[Array]] | None:
    """The program whose products read their activations in E4M3, and their weights as they are; None without any.

    What is left of the error however weights are rounded: compensation of one weight by another makes up for no more.
    """
    try:
        program = Switched(calibration, weights=False)
    except ScalifyError:
        return None
    return lambda arrays: program(arrays, np.ones(len(program.units), np.bool_))


def weights_of(served: ir.Module, arrays: Sequence[Array]) -> dict[str, Array]:
    """The weights of a served module among the original's arguments, by name."""
    arguments = entry_signature(served).arguments
    given = dict(zip(own_arguments(served), arrays, strict=True))
    return {arguments[i].name: given[i] for i in sorted(pinned_arguments(served).keys() - cache_arguments(served))}


def compensated(
    original: ir.Module, served: ir.Module, batches: Sequence[Sequence[Array]]
) -> Callable[[Sequence[Array]], list[Array]]:
    """The served program with weights whose errors make up for each other on the first batch."""
    names = [spec.name for spec in entry_signature(original).arguments]
    weights = weights_of(served, batches[0])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "0.npz"
        path.write_bytes(
            tensor_bytes({str(i): a for i, a in enumerate(batches[0]) if names[i] not in weights}, {}, str(path))
        )
        read = sampled_readings(served, weights, [str(path)])
    return served_run(served, names, pack(served, weights, read=read).tensors)


def in_e4m3(array: Array) -> Array:
    """An array rounded to E4M3 at the power of two that its largest element allows."""
    amax = float(np.abs(array.astype(np.float64)).max(initial=0.0))
    scale = 2.0 ** np.ceil(np.log2(amax / 448)) if amax else 1.0
    data = (array.astype(np.float64) / scale).astype(ml_dtypes.float8_e4m3fn)
    return np.asarray((data.astype(np.float64) * scale).astype(array.dtype))


def measure(text: str, batches: Sequence[Sequence[Array]], precision: str = "fp8", wide: bool = True) -> dict[str, Any]:
    """Calibrate on the first batch, pin, pack and compare on all. wide: and with `--keep-wide=auto`."""
    began = time.process_time()
    original = ir.Module.parse(text, context=make_context())
    calibration = Calibration(original, precision)
    calibration.arguments(batches[:1])
    calibration.operands(batches[:1])
    served = clone(original)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "scales.json"
        path.write_bytes(calibration.scales.to_json())
        precision_pipeline(precision, pin_scales=str(path)).run(served, [])
    exact = exact_weights(calibration) if "fp8" in precision else None
    kept = with_wide(original, calibration, batches, precision) if wide and "fp8" in precision else None
    weights = weights_of(served, batches[0])
    packed = pack(served, weights)
    others = {"plain FP8": plain_fp8(original, served)} if "fp8" in precision else {}
    if exact is not None:
        others["exact weights"] = exact
    if parse_precision(precision).fp8_products and weights:
        others["compensated"] = compensated(original, served, batches)
    losses = compare(original, served, batches, others=others)
    forms: dict[str, dict[str, float]] = {}
    for form in ("cast to bf16", "served", *others):
        own = [each for each in losses if each.form == form]
        agreed = [each.agreement for each in own if not np.isnan(each.agreement)]
        forms[form] = {
            "error": max((each.error for each in own if not np.isnan(each.error)), default=float("nan")),
            "agreement": agreed[0] if agreed else float("nan"),
            "finite": all(each.finite for each in own),
        }
    return {
        "bf16": forms["cast to bf16"],
        "fp8": forms["served"],
        "plain_fp8": forms.get("plain FP8"),
        "exact_weights": forms.get("exact weights"),
        "compensated": forms.get("compensated"),
        "keep_wide": kept,
        "weights": len(weights),
        "caches": len(calibration.scales.caches),
        "bytes_bf16": packed.bytes_before,
        "bytes_fp8": packed.bytes_after,
        "scalar_operations": {"original": scalars(original), "served": scalars(served)},
        "cpu_seconds": time.process_time() - began,
    }


def with_wide(
    original: ir.Module, calibration: Calibration, batches: Sequence[Sequence[Array]], precision: str
) -> dict[str, Any] | None:
    """What `--keep-wide=auto`, chosen on the first batch, leaves and makes of all; None without scores or tokens."""
    try:
        kept = keep_wide(calibration, batches[:1])
    except ScalifyError:
        return None
    served = clone(original)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "scales.json"
        path.write_bytes(calibration.scales.to_json())
        precision_pipeline(precision, pin_scales=str(path)).run(served, [])
    losses = [each for each in compare(original, served, batches) if each.form == "served"]
    agreed = [each.agreement for each in losses if not np.isnan(each.agreement)]
    return {
        "tensors": len(kept.units),
        "of": len(kept.units) + kept.others,
        "bytes_of_fp8": kept.bytes / max(kept.bytes_all, 1),
        "error": max((each.error for each in losses if not np.isnan(each.error)), default=float("nan")),
        "agreement": agreed[0] if agreed else float("nan"),
        "expected": kept.after,
        "wanted": kept.target,
    }


def of_library(name: str, precision: str) -> dict[str, Any]:
    """One of the models written with public libraries."""
    from benchmarks.models.forward import MODELS

    model = MODELS[name](STEPS)
    exported = jax.export.export(jax.jit(model.function))(model.params, *model.batches[0])
    kept = exported.module_kept_var_idx
    batches = [[np.asarray(jax.tree.leaves((model.params, *each))[i]) for i in kept] for each in model.batches]
    return {"library": model.library, **measure(exported.mlir_module(), batches, precision)}


def of_zoo(name: str, precision: str) -> dict[str, Any]:
    """A forward program of the zoo, on its inputs."""
    spec = importlib.util.spec_from_file_location("zoo", ZOO / "zoo.py")
    assert spec is not None and spec.loader is not None
    zoo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(zoo)
    program = zoo.Program(ZOO / "public" / name)
    inputs = [np.asarray(array) for array in program.inputs()]
    return {"library": "zoo", **measure(program.mlir_text(), [inputs], precision)}


def zoo_programs() -> list[str]:
    """Names of the zoo's forward programs; none where it is not here."""
    found: list[str] = []
    for path in sorted((ZOO / "public").glob("*/meta.json")) if ZOO.is_dir() else []:
        if json.loads(path.read_text())["kind"] in ("fwd", "decode"):
            found.append(path.parent.name)
    return found


def large(precision: str) -> dict[str, Any]:
    """The whole path for a decoder of 100 million parameters, in CPU seconds."""
    import jax.numpy as jnp

    width, layers, vocabulary, length = 768, 12, 20000, 64
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Array:
        return np.asarray(rng.standard_normal(shape, np.float32) / shape[-2] ** 0.5)

    def layer() -> dict[str, Array]:
        square = {name: draw(width, width) for name in "qkvo"}
        return square | {"up": draw(width, 4 * width), "down": draw(4 * width, width)}

    params: dict[str, Any] = {"embedding": draw(vocabulary, width), "layers": [layer() for _ in range(layers)]}

    def norm(x: Any) -> Any:
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)

    def model(p: Any, tokens: Any) -> Any:
        x = p["embedding"][tokens]
        for w in p["layers"]:
            h = norm(x)
            q, k, v = ((h @ w[name]).reshape(1, length, 12, 64) for name in "qkv")
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8
            scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
            x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ w["o"]
            x = x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]
        return norm(x) @ p["embedding"].T

    tokens = rng.integers(0, vocabulary, (1, length)).astype(np.int32)
    count = sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(params))
    wall, cpu = time.perf_counter(), time.process_time()
    exported = jax.export.export(jax.jit(model))(params, tokens)
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves((params, tokens))]
    found = measure(exported.mlir_module(), [arrays], precision, wide=False)
    times = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
    return {"library": "jax", "parameters": count, **found, **times}


def table(records: dict[str, dict[str, Any]]) -> str:
    """One line for each program."""
    head = (
        "program", "top-1 of bf16", "served", "compensated", "exact weights", "plain FP8",
        "error of bf16", "served", "compensated", "exact weights", "plain FP8", "weights", "of bf16",
        "scalars +", "keep-wide=auto", "top-1", "of FP8 bytes",
    )  # fmt: skip
    rows = [head]
    for name, each in records.items():
        if "failed" in each:
            rows.append((name, each["failed"], *[""] * (len(head) - 2)))
            continue
        known = [each.get(form) or {} for form in ("bf16", "fp8", "compensated", "exact_weights", "plain_fp8")]
        agreed = [f"{100 * form.get('agreement', np.nan):.2f}%" for form in known]
        errors = [f"{form.get('error', np.nan):.1e}" for form in known]
        ratio = f"{each['bytes_fp8'] / max(each['bytes_bf16'], 1):.3f}"
        more = each["scalar_operations"]["served"] - each["scalar_operations"]["original"]
        kept = each.get("keep_wide")
        wide = ("", "", "")
        if kept:
            share = f"{100 * kept['agreement']:.2f}%"
            wide = (f"{kept['tensors']} of {kept['of']}", share, f"{kept['bytes_of_fp8']:.2f}")
        rows.append((name, *agreed, *errors, f"{each['bytes_fp8']:,} B", ratio, str(more), *wide))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)


@click.command()
@click.option("--only", multiple=True, help="Names of programs; by default all.")
@click.option("--large", "is_large", is_flag=True, help="The decoder of 100 million parameters instead.")
@click.option("--precision", default="fp8", show_default=True, help="Of others than fp8 only the table is printed.")
@click.option("--one", hidden=True, help="Measure one program in this process and print its record.")
def main(only: tuple[str, ...], is_large: bool, precision: str, one: str | None) -> None:
    """Measure, print the table, and write the numbers beside those of other benchmarks."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if one is not None:
        measured = (
            large if one == "large" else partial(of_zoo, one) if one in zoo_programs() else partial(of_library, one)
        )
        click.echo(json.dumps(measured(precision)))
        return
    from benchmarks.models.forward import MODELS

    names = ["large"] if is_large else list(only) or [*MODELS, *zoo_programs()]
    earlier = read_json(RESULT) or {}
    records: dict[str, dict[str, Any]] = {}
    for name in names:
        command = [sys.executable, "-m", "benchmarks.serving", "--one", name, "--precision", precision]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stdout.strip().splitlines()
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        records[name] = json.loads(lines[-1]) if done.returncode == 0 and lines else {"failed": reason[:100]}
        merged = {**earlier.get("programs", {}), **records}
        if precision == "fp8":
            write_json(RESULT, {"environment": environment(), "steps": STEPS, "programs": merged})
        click.echo(f"{name} done", err=True)
    click.echo(table(records))


if __name__ == "__main__":
    main()
