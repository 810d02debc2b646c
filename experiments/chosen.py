"""Options that choose some of what is known, by name."""

from collections.abc import Callable, Collection
from typing import Any

import click


def chosen(known: Collection[str], what: str = "") -> Callable[[Any, Any, str], list[str]]:
    """A callback for an option with names between commas. It raises BadParameter for one that is not known.

    what: what a name stands for, for the message.
    """

    def names(_context: Any, _parameter: Any, value: str) -> list[str]:
        given = [name.strip() for name in value.split(",") if name.strip()]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise click.BadParameter(f"unknown {what and what + ' '}'{unknown[0]}'; known are {', '.join(known)}")
        return given

    return names
