"""Rows trained from seeds, and the file that keeps them: what it has is not trained again."""

import dataclasses
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import jax

from benchmarks.records import comparable, environment, read_json, write_json
from examples.text import Corpus
from experiments.models import ModelName
from experiments.train import Settings, run

# What must be equal, beside versions and processor, for runs to stand in one table.
_KEYS = ("model", "settings", "text")


@dataclasses.dataclass(frozen=True)
class Texts:
    """What is trained on, and what losses are evaluated on at the end."""

    corpus: Corpus
    held_out: Corpus


def record_of(out: pathlib.Path, model: ModelName, settings: Settings, texts: Texts, *, fresh: bool) -> dict[str, Any]:
    """A record without runs, or with those of the file `out` where they were made in the same way, unless `fresh`."""
    tokens = settings.steps * settings.batch * settings.context
    record: dict[str, Any] = {
        "model": model,
        "settings": dataclasses.asdict(settings),
        "text": texts.corpus.description,
        "held_out_text": texts.held_out.description,
        "tokens": tokens,
        "environment": environment(),
        "runs": {},
    }
    earlier = None if fresh else read_json(out)
    if earlier:
        # Settings that came later have the value that everything had before.
        earlier["settings"] = dataclasses.asdict(Settings(**earlier["settings"]))
        if comparable(earlier, _KEYS) == comparable(record, _KEYS):
            record["runs"] = earlier["runs"]
    return record


def train_missing(
    record: dict[str, Any],
    runs: dict[str, Any],
    settings: Settings,
    rows: Iterable[str],
    seed: int,
    texts: Texts,
    out: pathlib.Path,
    *,
    diagnose: bool = True,
    after_each: Callable[[], None] = lambda: None,
) -> None:
    """Train the rows from a seed that `runs`, a part of `record`, has not; `record` is written to `out` after each."""
    for row in rows:
        found = runs.setdefault(row, {})
        if str(seed) not in found:
            found[str(seed)] = run(
                settings, record["model"], row, seed, texts.corpus, texts.held_out, diagnose=diagnose
            )
            write_json(out, record)
            jax.clear_caches()  # a compiled step of each row would stay in memory
            after_each()
