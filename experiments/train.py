"""One run: a row trained from a seed, and what went wrong where it did."""

import dataclasses
import math
import time
from collections.abc import Iterator
from typing import Any

import click
import jax
import jax.numpy as jnp
import numpy as np

import scalify_hlo
from examples import text
from experiments import models
from experiments.layers import Layers
from experiments.models import ModelName, Size
from experiments.optimiser import Schedule
from experiments.recipes import RECIPES, Recipe, State, compiled_step, first_state, train_step
from experiments.unit_layers import UnitScaledLayers
from scalify_hlo import ScaledArray
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.measure import measure
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.instrument import Instrument
from scalify_hlo.passes.precision_pipeline import passes_around_scalify, precision_pipeline
from scalify_hlo.reports.health import TensorHealth

# A final loss is the mean of so many steps, the last.
FINAL = 20


@dataclasses.dataclass(frozen=True)
class Settings:
    """What all rows have in common. Every field has a `--flag`; the defaults are for a CPU core."""

    # Transformer layers.
    layers: int = 2
    # Width of the residual stream; a multiple of 16 times the heads, for FP8.
    width: int = 64
    # Attention heads, and heads of keys and values in the Llama-style model.
    heads: int = 2
    groups: int = 1
    # Tokens (bytes) in a sequence, and sequences in a batch.
    context: int = 64
    batch: int = 16
    steps: int = 300
    # Steps of linear warm-up, and the learning rate after it.
    warm_up: int = 30
    peak_rate: float = 1e-3
    # Steps at the end over which the rate falls from its peak to zero; 0: a cosine to a tenth of it instead.
    cooldown: int = 0
    # Batches of held-out text on which the final parameters are evaluated in f32.
    evaluation_batches: int = 16

    @property
    def size(self) -> Size:
        return Size(self.layers, self.width, self.heads, self.groups, self.context)


def run(
    settings: Settings,
    model: ModelName,
    row: str,
    seed: int,
    corpus: text.Corpus,
    held_out: text.Corpus,
    *,
    diagnose: bool = True,
) -> Any:
    """Train one row; a record for JSON.

    The losses end where the loss or the state is not finite; `failure` says which tensor was the first, unless
    `diagnose` is off.
    """
    recipe, size = RECIPES[row], settings.size
    start = time.perf_counter()
    step, state = compiled_step(model, size, recipe), first_state(model, size, recipe, seed)
    schedule = Schedule(settings.steps, settings.peak_rate, settings.warm_up, settings.cooldown)
    batches = corpus.batches(settings.batch, settings.context, seed)
    losses: list[float] = []
    failure: Any = None
    with click.progressbar(range(settings.steps), label=f"{model} {row} seed {seed}") as progress:
        for i in progress:
            arguments = (state, next(batches), _rate(recipe, schedule.rate(i)))
            state, loss = step(*arguments)
            value = float(np.asarray(loss))
            if not (math.isfinite(value) and _is_finite(state)):
                found = diagnosis(model, size, recipe, arguments) if diagnose else {}
                failure = {"step": i + 1, "loss": str(value), **found}
                break
            losses.append(value)
    return {
        "losses": losses,
        "final_loss": float(np.mean(losses[-FINAL:])) if failure is None else None,
        "held_out_loss": _evaluate(settings, model, recipe, state, held_out) if failure is None else None,
        "failure": failure,
        "state_bytes": sum(leaf.nbytes for leaf in jax.tree.leaves(state)),
        "rescales": rescales(model, settings, row),
        "seconds": round(time.perf_counter() - start, 1),
    }


def _rate(recipe: Recipe, rate: float) -> Any:
    value = np.float32(rate)
    return scalify_hlo.as_scaled_array(value) if recipe.scaled else value


@jax.jit
def _all_finite(leaves: list[jax.Array]) -> jax.Array:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in leaves]))


def _is_finite(state: State) -> bool:
    return bool(_all_finite([leaf for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)]))


def _evaluate(settings: Settings, model: ModelName, recipe: Recipe, state: State, held_out: text.Corpus) -> float:
    """Mean loss of the parameters in f32 on held-out text, by the plain f32 model (its own with unit scaling)."""
    parameters = scalify_hlo.asarray(state["parameters"], np.float32)
    batches: Iterator[Any] = held_out.batches(settings.batch, settings.context, seed=1)

    @jax.jit
    def loss(parameters: Any, tokens: jax.Array) -> jax.Array:
        layers = UnitScaledLayers(narrow=False) if recipe.kind == "unit scaling" else Layers()
        return models.loss(model, settings.size, parameters, tokens, layers)

    return float(np.mean([loss(parameters, next(batches)) for _ in range(settings.evaluation_batches)]))


# --- dynamic rescales ---------------------------------------------------------------------------------------------


def rescales(model: ModelName, settings: Settings, row: str) -> int | None:
    """How many tensors of one layer are measured in each step to choose a scale; None where scales are static.

    The compiler's are counted, as the difference between two depths; the others are known: three tensors of each
    linear layer for FP8 by amax, and the two normalisations of the paper's way.
    """
    recipe = RECIPES[row]
    linear = 6 if model == "gpt2" else 7
    if row in ("fp8-current", "fp8-delayed"):
        return 3 * linear
    if recipe.precision is not None:
        few, more = (_inserted(model, settings, recipe, layers) for layers in (1, 2))
        return more - few
    if row in ("paper-2", "paper-3", "paper-4"):
        tree = models.initial_parameters(model, settings.size, 0)["blocks"][0]
        return 2 + (len(jax.tree.leaves(tree)) if recipe.rescales_gradients else 0)
    return 0


def _inserted(model: ModelName, settings: Settings, recipe: Recipe, layers: int) -> int:
    """Rescales that the compiler puts into a model of some depth."""
    size = dataclasses.replace(settings.size, layers=layers)
    before, _ = passes_around_scalify(recipe.precision or "f32")
    remarks: list[Diagnostic] = []
    module = _module(model, size, recipe, _f32_arguments(model, size, 1))
    for each in before:
        if each.name == "scalify-auto-rescale":
            each.apply(module, remarks)
    return sum(remark.message.startswith("rescaled:") for remark in remarks)


def _f32_arguments(model: ModelName, size: Size, batch: int) -> Any:
    state = first_state(model, size, RECIPES["f32"], 0)
    return state, np.zeros((batch, size.context + 1), np.int32), np.float32(1)


def _module(model: ModelName, size: Size, recipe: Recipe, arguments: Any) -> ir.Module:
    exported = jax.export.export(jax.jit(train_step(model, size, recipe)))(*arguments)
    return ir.Module.parse(exported.mlir_module(), context=make_context())


# --- what went wrong ----------------------------------------------------------------------------------------------


def diagnosis(model: ModelName, size: Size, recipe: Recipe, arguments: Any, include: tuple[str, ...] = ("*",)) -> Any:
    """Which tensors break in a step whose results are not finite: the first in the program, and how many.

    include: names of the tensors to watch. For the compiler's way, by `scalify-instrument` on the rewritten module;
    for the others nothing is known.
    """
    if recipe.precision is None:
        return {}
    wide = _f32_arguments(model, size, len(arguments[1]))
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(arguments)]
    values = jax.tree.leaves(jax.tree.map(_in_f32, arguments, is_leaf=lambda x: isinstance(x, ScaledArray)))
    try:
        tensors = _measured(_module(model, size, recipe, wide), recipe.precision, arrays, include)
        # Attention's mask is infinite in every precision.
        expected = {t.name for t in _measured(_module(model, size, recipe, wide), "f32", values, include) if t.overflow}
    except ScalifyError as error:
        return {"diagnosis": str(error).splitlines()[0]}
    broken = [tensor for tensor in tensors if tensor.overflow and tensor.name not in expected]
    return {"broken_tensors": len(broken), "watched_tensors": len(tensors), "first": [*map(_summary, broken[:5])]}


def _measured(module: ir.Module, precision: str, arrays: list[Any], include: tuple[str, ...]) -> list[TensorHealth]:
    precision_pipeline(precision, ScalifyOptions(mark_tensors=True)).run(module, [])
    return measure(module, Instrument(histogram=False, include=include), arrays=arrays)


def _in_f32(x: Any) -> Any:
    """The same scaled value with data in f32."""
    return ScaledArray(x.data.astype(np.float32), x.scale) if isinstance(x, ScaledArray) else x


def _summary(tensor: TensorHealth) -> Any:
    return {
        "name": tensor.name, "elements": tensor.elements, "overflow": tensor.overflow, "zeros": tensor.zeros,
        "underflow": tensor.underflow, "log2_scale": _log2(tensor.scale), "log2_rms": _log2(tensor.mean_square) / 2,
    }  # fmt: skip


def _log2(value: float) -> float:
    return round(math.log2(value), 2) if 0 < value < math.inf else -999.0
