"""Loading text for the examples."""

import pathlib

import numpy as np
import pytest

from examples import text


def test_a_file_is_divided_into_training_and_held_out_text(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "story.txt"
    file.write_bytes(bytes(range(100)))
    train, valid = text.load(file), text.load(file, "valid")
    assert train.tokens.tolist() == list(range(90))
    assert valid.tokens.tolist() == list(range(90, 100))
    assert "story.txt" in train.description


def test_a_folder_holds_wikitext(tmp_path: pathlib.Path) -> None:
    (tmp_path / "wiki.test.txt").write_bytes(b"trained on")
    (tmp_path / "wiki.valid.txt").write_bytes(b"held out")
    assert bytes(text.load(tmp_path).tokens) == b"trained on"
    assert bytes(text.load(tmp_path, "valid").tokens) == b"held out"


def test_missing_text_is_an_error_that_names_it(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt"):
        text.load(tmp_path / "nowhere.txt")
    with pytest.raises(FileNotFoundError, match=r"wiki\.test\.txt"):
        text.load(tmp_path)
    with pytest.raises(ValueError, match="dev"):
        text.load(tmp_path, "dev")


def test_without_wikitext_there_is_the_language_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_WIKITEXT", pathlib.Path("no-such-folder"))
    train, valid = text.load(), text.load(split="valid")
    assert len(train.tokens) > 100_000 and "Python" in train.description
    assert len(valid.tokens) > 10_000


def test_batches_are_windows_and_repeat_with_the_seed() -> None:
    corpus = text.Corpus(np.arange(200, dtype=np.uint8), "counting")
    first = next(corpus.batches(3, 7, seed=5))
    assert first.shape == (3, 8) and first.dtype == np.int32
    assert (np.diff(first, axis=1) == 1).all()
    assert (first == next(corpus.batches(3, 7, seed=5))).all()
    assert (first != next(corpus.batches(3, 7, seed=6))).any()


def test_a_text_shorter_than_a_sequence_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter than one sequence"):
        next(text.Corpus(np.zeros(8, np.uint8), "short").batches(1, 7))
