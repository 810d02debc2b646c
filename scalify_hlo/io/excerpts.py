"""The source line of a diagnostic with a caret under its column, as mlir-opt and clang print it.

    in.mlir:2:3: error: custom op 'stablehlo.nonsense' is unknown
      stablehlo.nonsense
      ^

Lines come from the program that a command reads, and from Python files that JAX's locations name.
"""

import dataclasses
import pathlib
import re
import unicodedata

from scalify_hlo.errors import Diagnostic

# The longest part of a line that is shown; a line of a module may have megabytes.
_WIDTH = 160
# Python files beyond this size, in bytes, are not read.
_LARGEST_FILE = 4 << 20
_POSITION = re.compile(r"(?P<file>.*):(?P<line>\d{1,9}):(?P<column>\d{1,9})", re.DOTALL)
# Remarks tell what was done, of many places; their positions are enough.
_WITH_EXCERPT = frozenset({"error", "warning", "note"})


@dataclasses.dataclass(frozen=True)
class Source:
    """The text of a program by the name that diagnostics call it."""

    name: str
    text: str


def with_excerpts(diagnostic: Diagnostic, source: Source | None) -> str:
    """The lines of a diagnostic and of its notes, each followed by its source line and a caret, where there is one.

    A note at the place of its error has no excerpt of its own, nor has 1:1, which stands for an unknown place.
    """
    lines: list[str] = []
    shown = ""
    for each in (diagnostic, *diagnostic.notes):
        lines.append(_harmless(" ".join(str(dataclasses.replace(each, notes=())).splitlines())))
        if each.location != shown and each.severity in _WITH_EXCERPT:
            lines += excerpt(each.location, source)
        shown = each.location
    return "\n".join(lines)


def excerpt(location: str, source: Source | None) -> list[str]:
    """The line at `file:line:col` and the line with the caret; none where the line is not at hand."""
    match = _POSITION.fullmatch(location)
    if match is None:
        return []
    line, column = int(match["line"]), int(match["column"])
    text = _text(match["file"], source)
    if text is None or (line, column) == (1, 1):
        return []
    lines = text.split("\n", line)
    if not 0 < line <= len(lines):
        return []
    # MLIR counts columns from 1, Python from 0; both in bytes of UTF-8, which are characters but for other scripts.
    return _marked(lines[line - 1].rstrip(), column if match["file"].endswith(".py") else column - 1)


def _text(file: str, source: Source | None) -> str | None:
    if source is not None and file == source.name:
        return source.text
    path = pathlib.Path(file)
    try:
        if path.suffix == ".py" and path.is_file() and path.stat().st_size <= _LARGEST_FILE:
            return path.read_text(encoding="utf-8")
    except (OSError, ValueError):  # ValueError: no UTF-8, or a name that no file can have
        pass
    return None


def _marked(line: str, at: int) -> list[str]:
    if not line.strip() or not 0 <= at <= len(line):
        return []
    if len(line) > _WIDTH:
        first = max(0, min(at - _WIDTH // 2, len(line) - _WIDTH))
        line, at = line[first : first + _WIDTH], at - first
    return [_harmless(line), "".join("\t" if each == "\t" else " " for each in line[:at]) + "^"]


def _harmless(line: str) -> str:
    """A line without control characters: a terminal must not obey what a file says."""
    return "".join("?" if unicodedata.category(each) == "Cc" and each != "\t" else each for each in line)
