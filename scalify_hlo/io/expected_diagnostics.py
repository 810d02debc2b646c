"""`--verify-diagnostics`: the diagnostics that comments of the input announce, against those that came.

    // expected-error@+1 {{no rule}}
    %0 = stablehlo.custom_call ...

The notation is MLIR's: `expected-error`, `-warning`, `-remark` or `-note`; `@+N`, `@-N`, `@above`, `@below`
and `@unknown` for another line than the comment's own; the text between the braces occurs in the message, and
with `-re` the parts between double braces inside it are regular expressions.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator

from scalify_hlo.errors import Diagnostic

_EXPECTATION = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)? *"
    r"(?:@(?P<at>[+-]\d+|above|below|unknown))? *\{\{(?P<text>.*)\}\}[^}]*$"
)
_POSITION = re.compile(r".*:(?P<line>\d+):\d+", re.DOTALL)
_REGEX_PART = re.compile(r"\{\{(.*?)\}\}")


@dataclasses.dataclass(frozen=True)
class Expectation:
    """One announced diagnostic.

    line: the line of the file on which it is expected; None for `@unknown`, which is any line.
    column: where the announcement starts on `at_line`, both counted from 1.
    """

    severity: str
    pattern: re.Pattern[str]
    text: str
    line: int | None
    at_line: int
    column: int

    def matches(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.severity != self.severity or self.pattern.search(diagnostic.message) is None:
            return False
        return self.line is None or self.line == _line(diagnostic)


def expectations(text: str, first_line: int = 1) -> list[Expectation]:
    """The announcements in a piece of text that starts at `first_line` of its file."""
    return list(_expectations(text.splitlines(), first_line))


def _expectations(lines: list[str], first_line: int) -> Iterator[Expectation]:
    announcements = [_EXPECTATION.search(line) for line in lines]
    for index, match in enumerate(announcements):
        if match is None:
            continue
        target = _target(announcements, index, match["at"])
        pattern = re.compile(_pattern(match["text"]) if match["regex"] else re.escape(match["text"]))
        yield Expectation(
            severity=match["severity"],
            pattern=pattern,
            text=match["text"],
            line=None if target is None else target + first_line,
            at_line=index + first_line,
            column=match.start() + 1,
        )


def _target(announcements: list[re.Match[str] | None], index: int, at: str | None) -> int | None:
    """The index of the line that an announcement speaks of.

    `@below` and `@above` skip lines that hold announcements themselves, so that several can speak of one line.
    """
    if at is None:
        return index
    if at == "unknown":
        return None
    if at in ("above", "below"):
        step = 1 if at == "below" else -1
        index += step
        while 0 <= index < len(announcements) and announcements[index] is not None:
            index += step
        return index
    return index + int(at)


def _pattern(text: str) -> str:
    """A regular expression from a text in which the parts between double braces are regular expressions."""
    parts = _REGEX_PART.split(text)
    return "".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts))


def unmet(expected: Iterable[Expectation], diagnostics: Iterable[Diagnostic], file_name: str) -> list[Diagnostic]:
    """Errors for every diagnostic that was not announced and every announcement that was not met.

    Notes count like any other diagnostic. An announcement is used up by the diagnostic that meets it.
    """
    left = list(expected)
    complaints: list[Diagnostic] = []
    for diagnostic in _with_notes(diagnostics):
        met = next((each for each in left if each.matches(diagnostic)), None)
        if met:
            left.remove(met)
        else:
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            complaints.append(Diagnostic(message, diagnostic.location))
    for each in left:
        message = f'expected {each.severity} "{each.text}" was not produced'
        complaints.append(Diagnostic(message, f"{file_name}:{each.at_line}:{each.column}"))
    return complaints


def _with_notes(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _with_notes(diagnostic.notes)


def _line(diagnostic: Diagnostic) -> int | None:
    match = _POSITION.fullmatch(diagnostic.location)
    return int(match["line"]) if match else None
