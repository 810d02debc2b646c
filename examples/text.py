"""Text as byte tokens for the examples and benchmarks."""

import dataclasses
import pathlib
from collections.abc import Iterator

import numpy as np

VOCABULARY = 256
_WIKITEXT = pathlib.Path(__file__).resolve().parents[2] / "shared" / "data" / "wikitext"
_SPLITS = {"train": "wiki.test.txt", "valid": "wiki.valid.txt"}


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Tokens (uint8, rank 1) and a line that says where they come from, to be printed beside every loss."""

    tokens: np.ndarray
    description: str

    def batches(self, batch: int, context: int, seed: int = 0) -> Iterator[np.ndarray]:
        """Endless int32 batches [batch, context + 1] of windows at random places; the same for the same seed."""
        if len(self.tokens) < context + 2:
            raise ValueError(f"{self.description}: shorter than one sequence of {context + 1} tokens")
        generator = np.random.default_rng(seed)
        while True:
            starts = generator.integers(0, len(self.tokens) - context, batch)
            yield np.stack([self.tokens[start : start + context + 1] for start in starts]).astype(np.int32)


def load(path: str | pathlib.Path | None = None, split: str = "train") -> Corpus:
    """The bytes of a text.

    path: a text file, or a folder with WikiText's `wiki.test.txt` ("train") and `wiki.valid.txt` ("valid"):
    WikiText's test text is trained on and its validation text is held out, because those two are small.
    Without a path: that folder if it lies at `../shared/data/wikitext` beside the checkout, else a text that every
    CPython has, the Python language reference behind `help()` (its last tenth is "valid").

    Raises FileNotFoundError when the path does not exist and ValueError for an unknown split.
    """
    if split not in _SPLITS:
        raise ValueError(f"unknown split {split!r}; one of {', '.join(_SPLITS)}")
    if path is None and not _WIKITEXT.is_dir():
        return _python_reference(split)
    file = pathlib.Path(path) if path is not None else _WIKITEXT
    if file.is_dir():
        file = file / _SPLITS[split]
        name = f"WikiText, {'test' if split == 'train' else 'validation'} text"
        if not file.is_file():
            raise FileNotFoundError(
                f"{file.parent} has no {file.name}; give a text file, or a folder with WikiText's files"
            )
        return _corpus(file.read_bytes(), name)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such text file")
    return _part(file.read_bytes(), file.name, split)


def _corpus(data: bytes, name: str) -> Corpus:
    return Corpus(np.frombuffer(data, np.uint8), f"{name}, {len(data):,} bytes, one token each")


def _part(data: bytes, name: str, split: str) -> Corpus:
    border = len(data) * 9 // 10
    if split == "train":
        return _corpus(data[:border], f"{name}, first nine tenths")
    return _corpus(data[border:], f"{name}, last tenth")


def _python_reference(split: str) -> Corpus:
    from pydoc_data.topics import topics  # type: ignore[import-not-found]

    text = "\n".join(topics[key] for key in sorted(topics))
    return _part(text.encode(), "Python language reference (pydoc)", split)
