"""What takes more than a second says so on a terminal."""

import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")
# Seconds from which on a stage is worth a line.
_NOTICEABLE = 1.0
_ERASE = "\r\x1b[K"


class Stages:
    """The parts of a command's work: each is named on stderr while it runs, if that is a terminal (and no dumb one).

    What took more than a second keeps its line, with the time that it took; the others leave nothing.
    """

    def __init__(self, command: str):
        self._command = command

    def run(self, name: str, work: Callable[[], Result]) -> Result:
        """The result of `work`."""
        told = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        start = time.monotonic()
        if told:
            print(f"{self._command}: {name} ...", end="", file=sys.stderr, flush=True)
        seconds = 0.0
        try:
            result = work()
            seconds = time.monotonic() - start
        finally:
            if told:
                end = f" {seconds:.1f} s\n" if seconds >= _NOTICEABLE else _ERASE
                print(end, end="", file=sys.stderr, flush=True)
        return result
