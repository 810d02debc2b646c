"""Suites of programs that lie beside the repository, in `../shared`: with the developers and in CI, not with users."""

import os
import pathlib

import pytest

SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"


def shared(name: str) -> pathlib.Path:
    """The folder `../shared/<name>`. Skips the test where it is absent, and fails it there when CI=true."""
    path = SHARED / name
    if not path.is_dir():
        reason = f"../shared/{name} is not here"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{reason}, and CI must have it")
        pytest.skip(reason)
    return path
