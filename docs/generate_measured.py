"""Writes README.md's tables of what was measured, from the result files of the experiments and benchmarks.

    python docs/generate_measured.py [--check]

With --check nothing is written, and the exit status says whether the tables are up to date.
"""

import json
import pathlib
import statistics
import sys
from typing import Any

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "README.md"
BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->"
# The presets, with the rows of the experiments that train with them.
PRESETS = {"fp16": "compiler-1", "fp16-state": "compiler-2", "fp8": "compiler-3", "fp8-fp16-state": "compiler-4"}
COSTS = {"f32": "original f32", "fp16": "original bf16", "fp8": "original bf16"}


def measured() -> str:
    """Both tables, and the runs that went wrong."""
    return f"{losses()}\n\n{costs()}\n"


def losses() -> str:
    """Training losses minus f32's, and of how many other tasks they are as near as they should be."""
    models = {title: _read(f"experiments/results/{name}.json") for name, title in _MODELS.items()}
    zoo = _read("experiments/results/zoo.json")
    steps = ", ".join(f"{title} {record['settings']['steps']} steps" for title, record in models.items())
    head = ["preset", *models, f"{len(zoo['runs'])} other tasks"]
    lines = [f"| {' | '.join(head)} |", "|:-|" + "-:|" * (len(head) - 1)]
    wrong: list[str] = []
    for preset, row in PRESETS.items():
        gaps = [f"{statistics.mean(_gaps(record, row)):+.4f}" for record in models.values()]
        right, runs, bad = _judged(zoo, preset)
        wrong += bad
        lines.append(f"| `{preset}` | {' | '.join(gaps)} | {right} of {runs} |")
    text = f"Final training loss minus that of f32 ({steps}, sizes that a CPU trains in minutes); of the other tasks "
    text += f"({zoo['steps']} steps) the runs within 0.01, 1% or three times the noise of f32:"
    lines = [*_wrapped(text), "", *lines, ""]
    return "\n".join(lines + _wrapped(f"Outside: {', '.join(wrong)}." if wrong else "None is outside."))


def costs() -> str:
    """Kernels, bytes, memory and compile time of the programs that were compiled for a GPU: medians, and the worst."""
    record = _read("benchmarks/results/gpu_cost.json")
    names = {
        "kernels": "kernels",
        "bytes_accessed": "bytes",
        "temporary": "memory",
        "compile_cpu_seconds": "compile time",
    }
    lines = [f"| rewritten | against | programs | {' | '.join(names.values())} |", "|:-|:-|-:|" + "-:|" * len(names)]
    for preset, base in COSTS.items():
        pairs = [(rows[preset], rows[base]) for rows in record["rows"].values() if preset in rows and base in rows]
        columns = [[after[name] / before[name] for after, before in pairs if before[name]] for name in names]
        cells = " | ".join(f"{statistics.median(column):.2f} ({max(column):.2f})" for column in columns)
        lines.append(f"| `{preset}` | {base} | {len(pairs)} | {cells} |")
    text = (
        "Training steps compiled for an H200 without having one, ratios to the original program in f32 or cast to bf16 "
    )
    text += (
        "by hand, medians and in brackets the worst ([all of them](docs/benchmarks.md#what-rewriting-costs-on-a-gpu)):"
    )
    return "\n".join([*_wrapped(text), "", *lines])


_MODELS = {"gpt2": "GPT-2", "llama": "Llama-style"}


def _read(path: str) -> Any:
    return json.loads((ROOT / path).read_text())


def _gaps(record: Any, row: str) -> list[float]:
    runs = record["runs"]
    return [run["final_loss"] - runs["f32"][seed]["final_loss"] for seed, run in runs[row].items()]


def _judged(zoo: Any, preset: str) -> tuple[int, int, list[str]]:
    """How many runs are near f32, how many there are, and the others by name."""
    from experiments.zoo_report import gap, tolerance

    right, runs, wrong = 0, 0, list[str]()
    for task, rows in zoo["runs"].items():
        for seed, run in rows.get(preset, {}).items():
            runs += 1
            distance, allowed = gap(rows, preset, seed), tolerance(rows, seed)
            if distance is not None and allowed is not None and abs(distance) <= allowed:
                right += 1
                continue
            what = f"{distance:+.3f}" if distance is not None else run["failure"]["kind"]
            wrong.append(f"{task} in `{preset}` (seed {seed}: {what})")
    return right, runs, wrong


def _wrapped(text: str, width: int = 120) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def main() -> int:
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = f"{before}{BEGIN}{measured()}{END}{after}"
    if "--check" in sys.argv[1:]:
        return int(new != page)
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
