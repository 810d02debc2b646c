"""What training steps move between 8 H200, rewritten and as written: `python -m benchmarks.traffic`.

Each step is compiled ahead of time as its author wrote it, in f32 and in bf16, and rewritten to f32, fp16 and fp8; all
collectives of the optimised programs are counted, with bytes per device and step. f32 is compared with the original in
f32, fp16 and fp8 with the step that its author cast to bf16. The encoder-decoder, the ViT and the state-space model
were written for this table and nothing was tuned on them. It takes minutes for each program; those that were not
measured again keep their numbers, each with the commit that it is of, and so do the originals with `--presets`.
"""

import dataclasses
import functools
import math
import pathlib
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import click
import jax
import jax.numpy as jnp

from benchmarks.partitioned import flax_models, manual, models
from benchmarks.partitioned.named import Text, named
from benchmarks.records import RESULTS, environment, read_json, write_json
from scalify_hlo.aot.collectives import STATISTICS, collectives
from scalify_hlo.aot.compiler import check_available, compile_for
from scalify_hlo.aot.hlo_text import parse
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.passes.precision_pipeline import precision_pipeline

OUT = RESULTS / "traffic.json"
PRESETS = ("f32", "fp16", "fp8")
# What each preset is compared with.
BASELINES = {"f32": "original f32", "fp16": "original bf16", "fp8": "original bf16"}
# Issue: f32 as much as the original; FP8 gathers of ZeRO-3 pay.
LIMITS = {"f32": 1.001, "fp16": 1.02, "fp8": 1.02}
ZERO_3_LIMIT = 0.8
# Models whose layers are matrices that FP8 products read, and no loop.
_WRITTEN_OUT = {
    "decoder, ": models.decoder, "decoder of two layers, ": functools.partial(models.decoder, layers=2),
    "encoder-decoder, ": models.encoder_decoder, "ViT, ": models.vision,
}  # fmt: skip
_BITS = {"pred": 8, "s8": 8, "u8": 8, "f8e4m3fn": 8, "f8e5m2": 8, "f16": 16, "bf16": 16}


@dataclasses.dataclass(frozen=True)
class Traffic:
    """moved: bytes per device and step by "kind type". elements: how many move. numbers: executions of collectives of
    at most 1 KiB, which carry scales, statistics and the loss."""

    moved: dict[str, int]
    elements: int
    numbers: int

    @property
    def total(self) -> int:
        """Bytes per device and step."""
        return sum(self.moved.values())

    @property
    def kinds(self) -> set[str]:
        """The kinds of collectives that move tensors."""
        return {each.split()[0] for each, size in self.moved.items() if size > STATISTICS}


def programs() -> dict[str, Text]:
    """The text of each step by name, as a function of the type that its author computes in."""
    decoder, tied, scanned = models.decoder(), models.decoder(tied=True), models.decoder(scanned=True)
    found = {
        f"decoder, {each}": named(decoder, each) for each in ("data", "ZeRO-1", "ZeRO-3", "tensor", "sequence", "2x4")
    }
    found |= {"decoder of two layers, ZeRO-3": named(models.decoder(layers=2), "ZeRO-3")}
    found |= {f"decoder with tied head, {each}": named(tied, each) for each in ("data", "ZeRO-3")}
    found |= {f"decoder under scan, {each}": named(scanned, each) for each in ("ZeRO-3", "ZeRO-3, last dimension")}
    found |= {
        "decoder, data by shard_map": manual.data_parallel,
        "decoder, ZeRO-3 by shard_map": manual.gathered_weights,
        "pipeline by shard_map": manual.staged,
        "ring attention by shard_map": manual.ring,
        "mixture of experts by shard_map": manual.experts,
        "MLP, data in explicit mode": manual.explicit,
        "linen, logical axes, 2x4": flax_models.logical_linen,
        "nnx, partitioned, 2x4": flax_models.partitioned_nnx,
    }
    judges = {
        "encoder-decoder": models.encoder_decoder(), "ViT": models.vision(), "state-space model": models.state_space()
    }  # fmt: skip
    found |= {
        f"{name}, {each}": named(model, each) for name, model in judges.items() for each in ("data", "ZeRO-3", "2x4")
    }
    return found


def traffic(text: str, preset: str | None = None) -> Traffic:
    """What one step moves: as written, or rewritten to a preset. Raises ScalifyError where that is not possible."""
    with make_context():
        module = ir.Module.parse(text)
        if preset is not None:
            precision_pipeline(preset).run(module, [])
        found = collectives(parse(compile_for(module, target("h200")).text))
    moved: dict[str, int] = {}
    for each in found:
        key = f"{each.kind} {each.element}"
        moved[key] = moved.get(key, 0) + each.size * each.times
    elements = sum(each.size * 8 // _BITS.get(each.element, 32) * each.times for each in found)
    numbers = sum(each.times for each in found if each.size <= STATISTICS)
    return Traffic(dict(sorted(moved.items())), elements, numbers)


def measured(text: Text, presets: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """The traffic of a step in every form of it, or as some presets rewrite it."""
    texts = {"f32": text(jnp.float32)} | ({} if presets else {"bf16": text(jnp.bfloat16)})
    originals = {} if presets else texts
    found = {f"original {dtype}": dataclasses.asdict(traffic(own)) for dtype, own in originals.items()}
    for preset in presets or PRESETS:
        try:
            found[preset] = dataclasses.asdict(traffic(texts["f32"], preset))
        except ScalifyError as error:
            found[preset] = {"refused": str(error).splitlines()[0]}
    return found


def commit() -> str:
    """The short name of the commit that is measured; "" where it cannot be told."""
    here = pathlib.Path(__file__).parent
    told = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=False
    )
    return told.stdout.strip()


def _measured_on(commits: dict[str, str]) -> str:
    """The commit that each form of a program was measured on: one alone, or which forms are of which."""
    forms: dict[str, list[str]] = {}
    for form, of in commits.items():
        forms.setdefault(of, []).append(form)
    return next(iter(forms)) if len(forms) == 1 else ", ".join(f"{' '.join(each)} {of}" for of, each in forms.items())


def ratios(row: dict[str, Any]) -> dict[str, float | None]:
    """Bytes of each preset over those of its baseline; None where it was refused."""
    found: dict[str, float | None] = {}
    for preset in PRESETS:
        own = row[preset]
        found[preset] = None if "refused" in own else Traffic(**own).total / Traffic(**row[BASELINES[preset]]).total
    return found


def limit(name: str, preset: str) -> float:
    """The most that a preset may move of its baseline."""
    return ZERO_3_LIMIT if preset == "fp8" and "ZeRO-3" in name else LIMITS[preset]


def least(name: str) -> float | None:
    """The fewest bytes that `fp8` can move of those of the bf16 program under ZeRO-3; None for others, and for models
    whose loops gather a weight more than once.

    Of e elements bf16 gathers and sums 2 + 2 bytes each. Sums are never FP8, and of what is gathered only the q
    elements are that FP8 products read: matrices, but no embedding and no head. (4 e - q) / 4 e.
    """
    found = [model for each, model in _WRITTEN_OUT.items() if name.startswith(each) and "ZeRO-3" in name]
    if not found:
        return None
    leaves, _ = jax.tree.flatten_with_path(found[0]().shapes, is_leaf=models.is_shape)
    wide = {"embedding", "position", "source", "target", "class", "head"}
    sizes = [(math.prod(shape), len(shape) == 2 and path[-1].key not in wide) for path, shape in leaves]
    rounded = sum(size for size, is_product in sizes if is_product)
    return 1 - rounded / (4 * sum(size for size, _ in sizes))


def table(rows: dict[str, Any]) -> str:
    """A Markdown table; in bold what is beyond the limit."""
    lines = [
        "| | f32 / f32 original | fp16 / bf16 | fp8 / bf16 | numbers added | commit |",
        "|---|--:|--:|--:|--:|---|",
    ]
    lines += [f"| {name} | {' | '.join(_cells(name, row))} |" for name, row in rows.items()]
    return "\n".join(lines)


def _cells(name: str, row: dict[str, Any]) -> Iterator[str]:
    for preset, ratio in ratios(row).items():
        if ratio is None:
            yield "refused"
        else:
            shown = f"{ratio:.3f}"
            fewest = least(name) if preset == "fp8" else None
            told = "" if fewest is None else f" (least {fewest:.3f})"
            yield shown if float(shown) <= limit(name, preset) else f"**{shown}**{told}"
    added = [row[p]["numbers"] - row[BASELINES[p]]["numbers"] for p in PRESETS if "refused" not in row[p]]
    yield ", ".join(f"{each}" for each in added)
    yield _measured_on(row["commits"])


@click.command(help=__doc__)
@click.option("--only", multiple=True, help="Programs whose name contains this; others keep what was measured before.")
@click.option("--presets", default="", help="Measure these alone, such as fp16,fp8; the others keep their numbers.")
@click.option("--show", is_flag=True, help="Print the table of what was measured before, and measure nothing.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=OUT, show_default=True)
def main(only: tuple[str, ...], presets: str, show: bool, out: pathlib.Path) -> None:
    before = read_json(out) or {"programs": {}}
    rows: dict[str, Any] = before["programs"]
    every = programs()
    if not show:
        check_available()
        for name, text in every.items():
            if not only or any(each in name for each in only):
                chosen = [each for each in PRESETS if each in presets.split(",")] if name in rows else []
                earlier = rows[name] if chosen else {"commits": {}}
                commits = earlier["commits"] | dict.fromkeys(chosen or ("originals", *PRESETS), commit())
                rows[name] = {**earlier, **measured(text, chosen), "commits": commits}
                print(table({name: rows[name]}).splitlines()[-1], flush=True)
                rows = {each: rows[each] for each in every if each in rows}
                write_json(out, {"environment": environment(), "programs": rows})
    print(table(rows))


if __name__ == "__main__":
    main()
