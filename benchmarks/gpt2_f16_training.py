"""GPT-2 in f16 without loss scaling: as written, and rewritten by scalify, beside f32.

Trains the same model on the same batches five times. In the f16 runs weights, activations, gradients and both of
Adam's moments are f16, and there is no loss scaling:

- "f32";
- "f16": the f16 step as it is written;
- "f16, layer norm in f32": the same with the usual repair by hand;
- "f16 scalified": the step of "f16" after `rewrite_module`; its state is kept as (data, scale) pairs between steps, and
  scales come from static rules alone;
- "f16 scalified, rescaled": the same after the pass `scalify-auto-rescale`, which measures gradients where they enter
  residual branches and the optimiser (paper, section 5).

XLA may not keep f16 values in f32 between operations (`xla_allow_excess_precision` is off), so that f16 rounding really
happens. Losses are in nats per byte. The final parameters of every run are evaluated with the same f32 program.

    python -m benchmarks.gpt2_f16_training [--steps 400] [--text PATH] [--out FILE] [--picture FILE] [--fresh]

Runs that the output file already has, with the same settings and versions, are not repeated.
"""

import dataclasses
import math
import pathlib
import time
from collections.abc import Sequence
from typing import Any

import click
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.records import RESULTS, comparable, environment, read_json, write_json
from examples import gpt2, text
from experiments.optimiser import Schedule
from scalify_hlo import rewrite_module
from scalify_hlo.bindings import ir
from scalify_hlo.execution.inputs import recombine, split_by_exponent
from scalify_hlo.execution.modules import as_module
from scalify_hlo.execution.signature import pair_arguments, pair_results
from scalify_hlo.execution.xla import compile as compile_for_cpu
from scalify_hlo.passes.auto_rescale import AutoRescale

Array = np.ndarray[Any, Any]

RUNS = ("f32", "f16", "f16, layer norm in f32", "f16 scalified", "f16 scalified, rescaled")
_RESCALED_PLACES = ("branches", "logits", "gradients")
_PICTURE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "gpt2_f16_training.svg"
# Scale of a tensor of zeros: the smallest normal f32, which loses every maximum.
_ZERO_EXPONENT = -126


@dataclasses.dataclass(frozen=True)
class Settings:
    """Model, data and optimiser of all runs."""

    layers: int = 4
    width: int = 128
    heads: int = 4
    context: int = 64
    batch: int = 16
    steps: int = 400
    warm_up: int = 20
    peak_learning_rate: float = 1e-3
    seed: int = 0
    # Batches of held-out text on which the final parameters are evaluated.
    evaluation_batches: int = 32

    def config(self, run: str) -> gpt2.GPT2Config:
        return gpt2.GPT2Config(
            layers=self.layers,
            width=self.width,
            heads=self.heads,
            context=self.context,
            dtype="float32" if run == "f32" else "float16",
            norm_dtype="float32" if run == "f16, layer norm in f32" else None,
        )

    def learning_rate(self, step: int) -> float:
        """Linear warm-up, then a cosine from the peak to a tenth of it."""
        return Schedule(self.steps, self.peak_learning_rate, self.warm_up).rate(step)


class Step:
    """A compiled training step over flat arrays; those of the original's state, or its (data, scale) pairs."""

    def __init__(self, settings: Settings, run: str):
        config = settings.config(run)
        exported = jax.export.export(gpt2.make_train_step(config))(*gpt2.argument_shapes(config, settings.batch))
        module = exported.mlir_module()
        self.dtype = np.dtype(config.dtype)
        self.original = compile_for_cpu(module)
        self.program = compile_for_cpu(_rewritten(module, run)) if "scalified" in run else self.original
        self.arguments = pair_arguments(self.original.signature, self.program.signature)
        self.results = pair_results(self.original.signature, self.program.signature)

    def initial_state(self, settings: Settings, run: str) -> list[Array]:
        """The state before the first step; scales are those of the known initialisation, nothing is measured."""
        config = settings.config(run)
        state = gpt2.initial_state(config, settings.seed)
        sizes = {
            "parameters": gpt2.parameter_table(config),
            "first_moment": jax.tree.map(lambda _: gpt2.Parameter((), 0.0), gpt2.parameter_table(config)),
            "second_moment": jax.tree.map(lambda _: gpt2.Parameter((), 0.0), gpt2.parameter_table(config)),
            "step": gpt2.Parameter((), 1.0),
        }
        exponents = [_exponent(parameter.rms) for parameter in jax.tree.leaves(sizes)]
        return self._pack([np.asarray(leaf) for leaf in jax.tree.leaves(state)], exponents)

    def __call__(self, state: list[Array], tokens: Array, learning_rate: float) -> tuple[list[Array], float]:
        """The next state and the loss before the update."""
        rate = np.asarray(learning_rate, self.dtype)
        rest = self._pack([tokens, rate], [0, _exponent(learning_rate)], first=len(self.arguments) - 2)
        results = self.program([*state, *rest])
        loss = self.results[-1]
        return results[: loss.data], float(self._value(results, loss.data, loss.scale))

    def parameters(self, state: Sequence[Array], config: gpt2.GPT2Config) -> Any:
        """The pytree of parameters, recombined, in f32."""
        values = [self._value(state, p.data, p.scale).astype(np.float32) for p in self.results[:-1]]
        structure = jax.tree.structure(gpt2.initial_state(config))
        return jax.tree.map(jnp.asarray, jax.tree.unflatten(structure, values)["parameters"])

    def _pack(self, values: Sequence[Array], exponents: Sequence[int], first: int = 0) -> list[Array]:
        """Arguments `first`, `first` + 1, ... of the program, in its order."""
        packed: list[Array] = []
        for value, exponent, pairing in zip(values, exponents, self.arguments[first:], strict=False):
            if pairing.scale is None:
                packed.append(value)
            else:
                split = split_by_exponent(value, exponent)
                packed += [split.data, np.asarray(split.scale)]
        return packed

    @staticmethod
    def _value(arrays: Sequence[Array], data: int, scale: int | None) -> Array:
        return recombine(arrays[data], None if scale is None else arrays[scale])


def _rewritten(text: str, run: str) -> ir.Module:
    module = as_module(text)
    if run == "f16 scalified, rescaled":
        AutoRescale(places=_RESCALED_PLACES).apply(module, [])
    return rewrite_module(module)


def _exponent(rms: float) -> int:
    return math.floor(math.log2(rms)) if rms > 0 else _ZERO_EXPONENT


def train(settings: Settings, run: str, corpus: text.Corpus, held_out: text.Corpus) -> dict[str, Any]:
    """One training run. The losses end where one is not finite."""
    config = settings.config(run)
    step = Step(settings, run)
    state = step.initial_state(settings, run)
    batches = corpus.batches(settings.batch, settings.context, settings.seed)
    losses: list[float] = []
    start = time.perf_counter()
    with click.progressbar(range(settings.steps), label=f"{run:24}") as steps:
        for i in steps:
            state, loss = step(state, next(batches), settings.learning_rate(i))
            if not math.isfinite(loss):
                break
            losses.append(loss)
    finished = len(losses) == settings.steps
    return {
        "losses": losses,
        "finished": finished,
        "final_training_loss": float(np.mean(losses[-20:])) if finished else None,
        "held_out_loss": evaluate(settings, step.parameters(state, config), held_out) if finished else None,
        "seconds": time.perf_counter() - start,
        "state": _state_ranges(step, state),
    }


def evaluate(settings: Settings, parameters: Any, corpus: text.Corpus) -> float:
    """Mean loss of f32 parameters on held-out text, by the f32 program."""
    config = settings.config("f32")
    batches = corpus.batches(settings.batch, settings.context, seed=1)
    loss = jax.jit(lambda p, tokens: gpt2.loss(config, p, tokens))
    return float(np.mean([loss(parameters, next(batches)) for _ in range(settings.evaluation_batches)]))


def _state_ranges(step: Step, state: Sequence[Array]) -> dict[str, Any]:
    """Of each part of the state: log2 of the smallest and largest RMS of its data, and of its scales."""
    ranges: dict[str, Any] = {}
    for spec, pairing in zip(step.original.signature.results[:-1], step.results[:-1], strict=True):
        part = next((part for part in ("parameters", "first_moment", "second_moment") if part in spec.name), None)
        if part is None:
            continue
        data = np.asarray(state[pairing.data], np.float64)
        scale = 1.0 if pairing.scale is None else float(state[pairing.scale])
        found = ranges.setdefault(part, {"log2_data_rms": [], "log2_scale": [], "zeros": []})
        rms = float(np.sqrt(np.mean(data**2)))
        found["log2_data_rms"].append(math.log2(rms) if rms > 0 and math.isfinite(rms) else None)
        found["log2_scale"].append(math.log2(scale))
        found["zeros"].append(float(np.mean(data == 0)))
    return {
        part: {
            name: [min(v for v in values if v is not None), max(v for v in values if v is not None)]
            for name, values in found.items()
            if any(v is not None for v in values)
        }
        for part, found in ranges.items()
    }


def first_step_losses(settings: Settings, corpus: text.Corpus) -> list[dict[str, Any]]:
    """What f16 loses in the first step, for every parameter: the reason why the f16 runs go wrong.

    Gradients of the first batch in f32 and in f16, and (1 - beta2) g^2, which the first step adds to the second moment.
    Fractions are of the elements whose f32 gradient is not zero.
    """
    tokens = next(corpus.batches(settings.batch, settings.context, settings.seed))

    def gradients(run: str) -> Any:
        config = settings.config(run)
        step = jax.jit(jax.grad(lambda p: gpt2.loss(config, p, tokens)))
        parameters = gpt2.initial_parameters(config, settings.seed)
        return step.lower(parameters).compile({"xla_allow_excess_precision": False})(parameters)

    exact, written, repaired = (gradients(run) for run in RUNS[:3])
    beta2 = np.float16(settings.config("f16").beta2)
    rows: list[dict[str, Any]] = []
    for (path, f32), as_written, f16 in zip(
        jax.tree_util.tree_leaves_with_path(exact), jax.tree.leaves(written), jax.tree.leaves(repaired), strict=True
    ):
        nonzero = np.asarray(f32) != 0
        f16 = np.asarray(f16)[nonzero]
        second = (1 - beta2) * np.square(f16)
        rows.append(
            {
                "parameter": jax.tree_util.keystr(path),
                "gradient_rms": float(np.sqrt(np.mean(np.square(f32)))),
                "not_finite_as_written": float(np.mean(~np.isfinite(as_written))),
                "gradients_lost": float(np.mean(f16 == 0)),
                "second_moments_lost": float(np.mean(second == 0)),
                "second_moments_subnormal": float(np.mean((second != 0) & (second < np.finfo(np.float16).tiny))),
            }
        )
    return rows


def picture(record: dict[str, Any], path: pathlib.Path) -> None:
    """The loss curves. Needs matplotlib (the extra `benchmarks`)."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "scalify_hlo"  # the same numbers give the same file
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4.5))
    styles = {
        "f32": ("black", 2.5, "-"),
        "f16": ("tab:red", 1.5, "-"),
        "f16, layer norm in f32": ("tab:orange", 1.2, "-"),
        "f16 scalified": ("tab:blue", 1.2, "--"),
        "f16 scalified, rescaled": ("tab:green", 1.2, "--"),
    }
    for run, (color, width, line) in styles.items():
        result = record["runs"].get(run)
        if result is None:
            continue
        losses = result["losses"]
        label = run if result["finished"] else f"{run}: not finite at step {len(losses) + 1}"
        axes.plot(range(1, len(losses) + 1), losses, line, color=color, linewidth=width, label=label)
        if not result["finished"]:
            axes.plot([len(losses)], losses[-1:], "x", color=color, markersize=10, markeredgewidth=2)
    axes.set_xlabel("step")
    axes.set_ylabel("training loss, nats per byte")
    axes.set_title("GPT-2 with weights, activations, gradients and Adam's moments in f16, no loss scaling", fontsize=10)
    axes.legend()
    axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


@click.command(help=__doc__)
@click.option("--steps", type=click.IntRange(1), default=Settings.steps, show_default=True)
@click.option("--seed", type=int, default=Settings.seed, show_default=True, help="Of the weights and of the batches.")
@click.option("--text", "text_path", type=click.Path(path_type=pathlib.Path, exists=True), help="See examples/text.py.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=RESULTS / "gpt2_f16_training.json")
@click.option("--picture", "picture_path", type=click.Path(path_type=pathlib.Path), default=_PICTURE)
@click.option("--fresh", is_flag=True, help="Repeat every run.")
def main(
    steps: int, seed: int, text_path: pathlib.Path | None, out: pathlib.Path, picture_path: pathlib.Path, fresh: bool
) -> None:
    settings = Settings(steps=steps, seed=seed)
    corpus, held_out = text.load(text_path, "train"), text.load(text_path, "valid")
    trained = settings.steps * settings.batch * settings.context
    print(f"trained on: {corpus.description}; {trained:,} tokens, {trained / len(corpus.tokens):.2f} epochs")
    print(f"evaluated on: {held_out.description}")
    record: dict[str, Any] = {
        "settings": dataclasses.asdict(settings),
        "text": corpus.description,
        "held_out_text": held_out.description,
        "environment": environment(),
        "runs": {},
    }
    earlier = None if fresh else read_json(out)
    if earlier and comparable(earlier, ("settings", "text")) == comparable(record, ("settings", "text")):
        record["runs"] = earlier["runs"]
    record["first_step"] = first_step_losses(settings, corpus)
    for run in RUNS:
        if run not in record["runs"]:
            record["runs"][run] = train(settings, run, corpus, held_out)
            write_json(out, record)
    write_json(out, record)
    print(summary(record))
    picture(record, picture_path)
    print(f"written to {out} and {picture_path}")


def summary(record: dict[str, Any]) -> str:
    """What became of each run, and what f16 loses in the first step, as Markdown tables."""
    lines = ["", "| run | first loss | last 20 steps | held-out | |", "|:-|-:|-:|-:|:-|"]
    for run, result in record["runs"].items():
        first = f"{result['losses'][0]:.3f}" if result["losses"] else "-"
        if result["finished"]:
            ends = f"{result['final_training_loss']:.3f} | {result['held_out_loss']:.3f} |"
        else:
            ends = f"- | - | not finite at step {len(result['losses']) + 1}"
        lines.append(f"| {run} | {first} | {ends} |")
    lines += ["", "| parameter | gradient RMS | not finite | gradient lost | second moment lost | subnormal |"]
    lines += ["|:-|-:|-:|-:|-:|-:|"]
    for row in record["first_step"]:
        fractions = ("not_finite_as_written", "gradients_lost", "second_moments_lost", "second_moments_subnormal")
        cells = [f"`{row['parameter']}`", f"{row['gradient_rms']:.1e}", *(f"{row[name]:.0%}" for name in fractions)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
