"""Output files are complete or not there."""

import os
import pathlib
import stat

import pytest

from scalify_hlo.errors import ScalifyError
from scalify_hlo.io.files import write_output


def test_new_file_has_the_usual_permissions(tmp_path: pathlib.Path):
    (tmp_path / "usual").touch()
    write_output(str(tmp_path / "new"), b"x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_replaced_file_keeps_its_permissions(tmp_path: pathlib.Path):
    path = tmp_path / "old"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_output(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_link_stays_a_link(tmp_path: pathlib.Path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    write_output(str(link), b"x")
    assert link.is_symlink()
    assert target.read_bytes() == b"x"


def test_device_is_written_to():
    write_output(os.devnull, b"x")
    assert not pathlib.Path(os.devnull).is_file()


def test_failure_leaves_nothing_and_the_old_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ScalifyError, match="cannot write this file: No space left on device"):
        write_output(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
