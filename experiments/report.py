"""Results as a Markdown table and as loss curves."""

import pathlib
from typing import Any

import numpy as np

from experiments.recipes import RECIPES

# Paper, table 3: final training loss of GPT-2 168M on WikiText-103.
PAPER = {"f32": "2.87", "1": "2.87", "2": "2.92", "3": "2.92", "4": "2.93"}
TITLES = {"gpt2": "GPT-2", "llama": "Llama-style"}


def table(record: dict[str, Any]) -> str:
    """One line for each row: losses over the seeds, their distance from f32 on the same seeds, memory, rescales."""
    runs = record["runs"]
    lines = [
        "| row | training loss | - f32 | held-out | state | rescales per layer | |",
        "|:-|-:|-:|-:|-:|-:|:-|",
    ]
    baseline = {seed: each["final_loss"] for seed, each in runs.get("f32", {}).items()}
    size = next(iter(runs["f32"].values()))["state_bytes"] if "f32" in runs else None
    for row in RECIPES:
        if row not in runs:
            continue
        seeds = runs[row]
        done = {seed: each for seed, each in seeds.items() if each["failure"] is None}
        any_run = next(iter(seeds.values()))
        cells = [RECIPES[row].title, _mean([each["final_loss"] for each in done.values()])]
        gaps = [each["final_loss"] - baseline[seed] for seed, each in done.items() if baseline.get(seed) is not None]
        cells.append(f"{np.mean(gaps):+.4f}" if gaps else "-")
        cells.append(_mean([each["held_out_loss"] for each in done.values()]))
        cells.append(f"{any_run['state_bytes'] / size:.0%}" if size else "-")
        cells.append(str(any_run["rescales"]))
        cells.append("; ".join(failure_text(seed, each["failure"]) for seed, each in seeds.items() if each["failure"]))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def failure_text(seed: str, failure: Any) -> str:
    """When and where a run broke."""
    first = failure.get("first") or []
    where = f": `{first[0]['name']}`" if first else ""
    return f"seed {seed}: not finite in step {failure['step']}{where}"


def _mean(values: list[float]) -> str:
    if not values:
        return "-"
    return f"{np.mean(values):.4f}" + (f" ± {np.std(values):.4f}" if len(values) > 1 else "")


def picture(record: dict[str, Any], path: pathlib.Path) -> None:
    """Loss curves of the first seed of every row, and their distance from f32. Needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "scalify_hlo"  # the same numbers give the same file
    import matplotlib.pyplot as plt

    figure, (losses, gaps) = plt.subplots(1, 2, figsize=(11, 4.5))
    runs = record["runs"]
    reference = next(iter(runs["f32"].values()))["losses"]
    for i, row in enumerate(name for name in RECIPES if name in runs):
        values = next(iter(runs[row].values()))["losses"]
        style: dict[str, Any] = {"label": RECIPES[row].title, "linewidth": 1, "color": f"C{i % 10}"}
        style["linestyle"] = "--" if row.startswith("paper") else "-." if row.startswith("compiler") else "-"
        losses.plot(_smooth(values), **style)
        count = min(len(values), len(reference))
        gaps.plot(_smooth(list(np.subtract(values[:count], reference[:count]))), **style)
    losses.set(xlabel="step", ylabel="training loss (nats per byte)", title=TITLES[record["model"]])
    gaps.set(xlabel="step", ylabel="distance from f32", ylim=(-0.1, 0.1))
    gaps.axhspan(-0.01, 0.01, color="0.9")
    figure.legend(*losses.get_legend_handles_labels(), loc="outside center right", fontsize=7)
    figure.subplots_adjust(right=0.78, wspace=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def _smooth(values: list[float], window: int = 10) -> Any:
    if len(values) < window:
        return np.asarray(values)
    return np.convolve(values, np.ones(window) / window, mode="valid")
