"""A model at the paper's size trained on words of a text, by the step that `gpu_training` has just timed.

Rows of one table differ in their types alone: the same first parameters, batches and learning rates. What they end at
is the mean loss of the last steps, and the loss in f32 of the final parameters on text that was held out.
"""

# jax is annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

import collections
import dataclasses
import functools
import pathlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import scalify_hlo
from examples.text import Corpus
from experiments import models
from experiments.layers import Layers
from experiments.models import ModelName, Size
from experiments.optimiser import Schedule
from experiments.train import FINAL

# Steps of linear warm-up, and the rate after it, which falls to a tenth along a cosine.
WARM_UP, PEAK_RATE = 30, 6e-4
# Sequences in a batch of held-out text, and batches.
HELD_OUT_BATCH, HELD_OUT_BATCHES = 4, 4


@dataclasses.dataclass(frozen=True)
class Words:
    """A text as numbers of its words: what is trained on, and its last tenth, held out."""

    trained: Corpus
    held_out: Corpus


def words_of(folder: pathlib.Path, vocabulary: int) -> Words:
    """The words between blanks of all `*.txt` of a folder, numbered by how often they occur; 0 is every other word.

    Raises FileNotFoundError for a folder without such files.
    """
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise FileNotFoundError(f"{folder} has no *.txt to train on")
    words = [word for file in files for line in file.read_text().splitlines() for word in (*line.split(), "\n")]
    counts = collections.Counter(words).most_common(vocabulary - 1)
    number = {word: i + 1 for i, (word, _) in enumerate(counts)}
    tokens = np.array([number.get(word, 0) for word in words], np.int32)
    border = len(tokens) * 9 // 10
    title = f"{len(tokens):,} words of {', '.join(file.name for file in files)}, {len(number):,} of them different"
    return Words(Corpus(tokens[:border], f"{title}; all but the last tenth"), Corpus(tokens[border:], title))


def train(
    model: ModelName,
    size: Size,
    step: Callable[..., Any],
    state: Any,
    words: Words,
    steps: int,
    batch: int,
    scaled: bool,
) -> dict[str, Any]:
    """Train from `state` for so many steps of `batch` sequences: losses, the mean of the last, held-out loss.

    step: (state, tokens, learning rate) -> (state, loss), compiled. scaled: whether its rate is a ScaledArray.
    """
    schedule, batches, losses = Schedule(steps, PEAK_RATE, WARM_UP), words.trained.batches(batch, size.context), []
    for i in range(steps):
        rate = np.float32(schedule.rate(i))
        state, loss = step(state, next(batches), scalify_hlo.as_scaled_array(rate) if scaled else rate)
        losses.append(loss)
    values = [float(np.asarray(loss)) for loss in losses]
    return {
        "text": words.trained.description,
        "losses": values,
        "final_loss": float(np.mean(values[-FINAL:])),
        "held_out_loss": _held_out(model, size, scalify_hlo.asarray(state["parameters"], np.float32), words.held_out),
    }


def _held_out(model: ModelName, size: Size, parameters: Any, corpus: Corpus) -> float:
    batches = corpus.batches(HELD_OUT_BATCH, size.context, seed=1)
    return float(np.mean([_loss(model, size)(parameters, next(batches)) for _ in range(HELD_OUT_BATCHES)]))


@functools.cache
def _loss(model: ModelName, size: Size) -> Any:
    return jax.jit(lambda parameters, tokens: models.loss(model, size, parameters, tokens, Layers()))
