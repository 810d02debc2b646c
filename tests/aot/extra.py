"""Tests that need XLA's GPU compiler (extra `aot`) are skipped without it, with the reason."""

import os

import pytest

from scalify_hlo.aot import compiler
from scalify_hlo.errors import ScalifyError


def extra_missing() -> str:
    """Why the extra cannot be used; empty when it can."""
    try:
        compiler.check_available()
    except ScalifyError as error:
        return str(error)
    return ""


# `.ci/run` installs the extra for a step of its own, in which nothing may be skipped.
needs_compiler = pytest.mark.skipif(
    bool(extra_missing()) and not os.environ.get("SCALIFY_REQUIRE_AOT"), reason=extra_missing()
)
