"""Patterns on names of arguments and operations: `*` is any text, `?` any one character, all else literal.

Not `fnmatch`, for which the brackets in JAX's names (`params['blocks'][0]['w']`) are character classes.
A name is matched as JAX writes it and with dots instead of brackets (`params.blocks.0.w`).
"""

import functools
import re
from collections.abc import Iterable


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern), re.DOTALL)


@functools.lru_cache(maxsize=4096)
def dotted(name: str) -> str:
    """`params['blocks'][0].w` as `params.blocks.0.w`."""
    return re.sub(r"\[['\"]?(.*?)['\"]?\]", r".\1", name).lstrip(".")


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns describes the whole name, in either spelling."""
    return any(_compiled(p).fullmatch(name) or _compiled(p).fullmatch(dotted(name)) for p in patterns)
