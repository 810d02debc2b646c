"""What Python is told while a program is rewritten: how deep it may nest, and that no garbage need be looked for."""

import contextlib
import gc
import sys
from collections.abc import Generator

from scalify_hlo.errors import ScalifyError

# Frames of Python. A function called in a function takes twenty of them, a region in a region fifteen; a frame takes
# half a kilobyte of the heap and nothing of the stack.
_FRAMES = 400_000
LIMIT = "calls or regions of this program nest deeper than about 20,000 levels; give it to the tool in parts"


@contextlib.contextmanager
def deep_programs() -> Generator[None, None, None]:
    """Let rules go into functions and regions as deep as programs have them. Raises ScalifyError beyond LIMIT."""
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(max(old, _FRAMES))
    try:
        yield
    except RecursionError:
        raise ScalifyError(LIMIT) from None
    finally:
        sys.setrecursionlimit(old)


@contextlib.contextmanager
def without_collection() -> Generator[None, None, None]:
    """No cyclic garbage collection: it would go through all of JAX's objects several times, and finds nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
