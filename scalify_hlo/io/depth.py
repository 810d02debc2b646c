"""Programs that nest deeply: calls in calls, regions in regions, as far as MLIR itself can read them."""

import contextlib
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
