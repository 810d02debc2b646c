"""Whether a function is being traced on behalf of `scalify`: what it is compiled to carries scales."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Generator

_active: contextvars.ContextVar[bool] = contextvars.ContextVar("tracing_scalified", default=False)


@contextlib.contextmanager
def tracing_scalified() -> Generator[None]:
    """Marks the enclosed tracing as one whose program will be rewritten."""
    token = _active.set(True)
    try:
        yield
    finally:
        _active.reset(token)


def is_tracing_scalified() -> bool:
    """Whether the running Python code is traced inside `scalify`."""
    return _active.get()
