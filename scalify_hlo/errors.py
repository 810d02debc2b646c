"""Errors that a user can cause, with their source locations."""

import dataclasses
from collections.abc import Iterable, Sequence

from scalify_hlo.bindings import ir


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One located message.

    location: `file:line:col` or the name stack of the JAX operation; empty when unknown.
    severity: "error", "warning", "remark" or "note".
    detail: a remark about one place, which a remark about the whole module counts; commands show it when asked to.
    """

    message: str
    location: str = ""
    severity: str = "error"
    notes: tuple["Diagnostic", ...] = ()
    detail: bool = False

    def __str__(self) -> str:
        head = f"{self.location}: " if self.location else ""
        return "\n".join([f"{head}{self.severity}: {self.message}", *map(str, self.notes)])


class ScalifyError(Exception):
    """A module, option or file that cannot be processed; carries every reason found, not the first only."""

    def __init__(self, diagnostics: str | Diagnostic | Iterable[Diagnostic]):
        if isinstance(diagnostics, str):
            diagnostics = Diagnostic(diagnostics)
        if isinstance(diagnostics, Diagnostic):
            diagnostics = (diagnostics,)
        self.diagnostics: Sequence[Diagnostic] = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)))


def describe_location(location: ir.Location) -> str:
    """`file:line:col` of a location, with the name stack in brackets where JAX recorded one.

    Unwraps named, fused and call-site locations down to the innermost file position.
    """
    name, inner = innermost(location)
    if not isinstance(inner, ir.FileLineColLoc):
        return f"[{name}]" if name else ""
    where = f"{inner.filename}:{inner.start_line}:{inner.start_col}"
    return f"{where} [{name}]" if name else where


def innermost(location: ir.Location) -> tuple[str, ir.Location]:
    """The outermost name of a location, "" where there is none, and the location inside of all names and calls."""
    name = ""
    for _ in range(64):
        match location:
            case ir.NameLoc():
                name = name or location.name_str
                location = location.child_loc
            case ir.CallSiteLoc():
                location = location.callee
            case ir.FusedLoc() if location.locations:
                location = location.locations[0]
            case _:
                break
    return name, location
