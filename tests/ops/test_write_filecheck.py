"""What `python -m tests.ops.write_filecheck` removes."""

import pathlib

from tests.ops.write_filecheck import HEAD, outdated


def test_files_written_by_hand_stay(tmp_path: pathlib.Path) -> None:
    """one_hot.mlir, which no program of the table writes, was removed at every run."""
    for name, text in {"one_hot.mlir": "// By hand.\n", "gone.mlir": HEAD, "additive.mlir": HEAD}.items():
        (tmp_path / name).write_text(text)
    assert outdated(tmp_path, {"additive.mlir"}) == [tmp_path / "gone.mlir"]
