"""What rewriting costs on a GPU, compiled ahead of time: `python -m benchmarks.gpu_cost`.

Whole training steps, those of `benchmarks.models` and ten of the zoo beside the repository (the first ten in the
alphabet, or with `--all-zoo` all for one device; none where it is absent), before and after they are rewritten:
kernels, bytes, temporary memory, compile time and a roofline estimate of the step, all from XLA's own compiler without
the GPU. f32 and bf16 are compared with the original in the same type, fp16 and fp8 with the original in bf16.
`--presets fp8+packed` packs scales (`scalify-opt --pack-scales`), and `--presets 'fp8 moments=f16'` is a preset with
other types. Counts are exact; compile times are those of one run.
"""

import dataclasses
import functools
import gzip
import json
import pathlib
import statistics
from collections.abc import Callable, Iterator

import click
import jax
import numpy as np

from benchmarks.models.catalogue import MODELS
from benchmarks.models.training import Model, adam, initial_state
from benchmarks.records import RESULTS, environment, read_json, write_json
from scalify_hlo.aot.compiler import check_available
from scalify_hlo.aot.cost import Cost, measure_cost
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import precision_pipeline

ZOO = pathlib.Path(__file__).resolve().parents[2] / "shared" / "zoo" / "public"
OUT = RESULTS / "gpu_cost.json"
# Training steps of the zoo that the table has.
OF_ZOO = 10
# Depths: what two layers cost says little of six.
LAYERS = {"gpt2": (2, 6), "llama": (2, 6), "resnet": (4,), "lstm": (1,), "vit": (2, 6)}
PRESETS = ("f32", "bf16", "fp16", "fp8")
# Which original each preset is compared with.
BASELINES = {"f32": "f32", "bf16": "bf16", "fp16": "bf16", "fp8": "bf16"}
# Behind a preset: `scalify-opt --pack-scales`.
PACKED = "+packed"
QUANTITIES = ("kernels", "scalar_kernels", "copies", "bytes_accessed", "temporary", "fp8_gemms", "compile_cpu_seconds")


def model_text(model: Model) -> str:
    """The StableHLO text of one step of Adam."""
    step = jax.jit(functools.partial(adam, model.loss))
    return jax.export.export(step)(initial_state(model.parameters), model.batch, np.float32(1e-3)).mlir_module()


def programs(zoo: pathlib.Path = ZOO, most: int | None = OF_ZOO) -> Iterator[tuple[str, Callable[[], str]]]:
    """Names of training steps, and what gives their text. most: of the zoo's, None for all."""
    for name, depths in LAYERS.items():
        for layers in depths:
            yield f"{name}, {layers} layers", lambda name=name, layers=layers: model_text(MODELS[name](layers))
    steps = []
    for folder in sorted(zoo.iterdir()) if zoo.is_dir() else ():
        meta = json.loads((folder / "meta.json").read_text())
        if meta["kind"] == "train" and "multi-device" not in meta["tags"]:
            steps.append(folder)
    for folder in steps[:most]:
        path = folder / "exported.mlir.gz"
        yield f"zoo: {folder.name}", lambda path=path: gzip.decompress(path.read_bytes()).decode()


def measured(text: str, pipeline: Pipeline | None, target: str) -> dict[str, float | str]:
    """The cost of one program after a pipeline; {"refused": why} where it cannot be rewritten or compiled."""
    with make_context():
        try:
            module = ir.Module.parse(text)
            if pipeline is not None:
                pipeline.run(module, [])
            return row(measure_cost(module, target).cost)
        except ScalifyError as error:
            return {"refused": str(error.diagnostics[0].message)}


def row(cost: Cost) -> dict[str, float | str]:
    """What is kept of a cost."""
    record = dataclasses.asdict(cost)
    kept: dict[str, float | str] = {name: record[name] for name in QUANTITIES if name in record}
    kept["temporary"] = cost.memory.temporary
    if cost.step is not None:
        kept["step_us"] = round(1e6 * cost.step.seconds, 1)
    return kept


def _name(preset: str) -> str:
    """The preset's name, of text that may say more."""
    return preset.removesuffix(PACKED).split()[0]


def baseline(preset: str) -> str:
    """The type of the original that a preset is compared with."""
    return BASELINES[_name(preset)]


def pipeline_of(preset: str) -> Pipeline:
    """The passes of a preset, with its scales packed where it ends with PACKED."""
    precision = preset.removesuffix(PACKED)
    return precision_pipeline(None if precision == "f32" else precision, pack_scales=preset.endswith(PACKED))


def _order(preset: str) -> tuple[int, str]:
    """Where a preset stands among the rows of a program: beside its others."""
    return list(BASELINES).index(_name(preset)), preset


def table(rows: dict[str, dict[str, dict[str, float | str]]]) -> str:
    """Ratios to the original: kernels, bytes, temporary memory, compile time, and the estimated step."""
    names = ("kernels", "bytes_accessed", "temporary", "compile_cpu_seconds", "step_us")
    lines = ["| program | preset | kernels | bytes | temp | compile | step |", "|---|---|--:|--:|--:|--:|--:|"]
    ratios: dict[str, list[list[float]]] = {}
    for program, found in rows.items():
        for preset in sorted((key for key in found if not key.startswith("original ")), key=_order):
            after, before = found[preset], found.get(f"original {baseline(preset)}")
            if before is None:
                continue
            if "refused" in after or "refused" in before:
                lines.append(f"| {program} | {preset} | {after.get('refused', before.get('refused'))} | | | | |")
                continue
            values = [float(after[name]) / float(before[name]) if before[name] else 1.0 for name in names]
            ratios.setdefault(preset, []).append(values)
            kernels = f"{before['kernels']} -> {after['kernels']} ({values[0]:.2f})"
            lines.append(f"| {program} | {preset} | {kernels} | {' | '.join(f'{v:.2f}' for v in values[1:])} |")
    for preset, values in ratios.items():
        medians = [statistics.median(column) for column in zip(*values, strict=True)]
        lines.append(f"| **median of {len(values)}** | {preset} | {' | '.join(f'{m:.2f}' for m in medians)} |")
    return "\n".join(lines)


@click.command(help=__doc__)
@click.option("--target", default="h200", show_default=True)
@click.option("--only", default="", help="Programs whose name contains this.")
@click.option("--presets", default=",".join(PRESETS), show_default=True)
@click.option("--zoo", type=click.Path(path_type=pathlib.Path), default=ZOO, help="[default: ../shared/zoo/public]")
@click.option("--all-zoo", is_flag=True, help="All training steps of the zoo, not its first ten.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=OUT, show_default=True)
@click.option("--fresh", is_flag=True, help="Measure everything anew; otherwise what the file has is kept.")
def main(
    target: str, only: str, presets: str, zoo: pathlib.Path, all_zoo: bool, out: pathlib.Path, fresh: bool
) -> None:
    check_available()
    earlier = None if fresh else read_json(out)
    rows = earlier["rows"] if earlier and earlier["target"] == target else {}
    chosen = presets.split(",")
    for name, text_of in programs(zoo, None if all_zoo else OF_ZOO):
        if only not in name:
            continue
        found = rows.setdefault(name, {})
        pipelines: dict[str, Pipeline | None] = {"original f32": None, "original bf16": Pipeline((Cast("bf16"),))}
        pipelines = {k: p for k, p in pipelines.items() if any(k.endswith(baseline(each)) for each in chosen)}
        pipelines |= {preset: pipeline_of(preset) for preset in chosen}
        missing = {key: pipeline for key, pipeline in pipelines.items() if key not in found}
        text = text_of() if missing else ""
        for key, pipeline in missing.items():
            found[key] = measured(text, pipeline, target)
            write_json(out, {"target": target, "environment": environment(), "rows": rows})
            print(f"{name}, {key}: {found[key]}", flush=True)
    print(table({name: found for name, found in rows.items() if only in name}))
    print(f"written to {out}")


if __name__ == "__main__":
    main()
