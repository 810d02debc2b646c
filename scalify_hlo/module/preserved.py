"""What no pass changes, found once for all passes of a pipeline: whether a program trains, say, or is sharded.

Passes that are written here keep what a program computes and where it lies. One of MLIR's own may not: a pipeline that
has any finds everything anew in each pass, as a pass by itself does.
"""

import contextlib
import contextvars
from collections.abc import Callable, Generator

_found: contextvars.ContextVar[dict[str, bool] | None] = contextvars.ContextVar("_found", default=None)


@contextlib.contextmanager
def preserved() -> Generator[None, None, None]:
    """Within, `once` looks for each property a single time: passes over one module that keep all of them."""
    token = _found.set({})
    try:
        yield
    finally:
        _found.reset(token)


def once(what: str, find: Callable[[], bool]) -> bool:
    """Whether a program has a property that is called `what`: found now, or in an earlier pass."""
    known = _found.get()
    if known is None:
        return find()
    if what not in known:
        known[what] = find()
    return known[what]
