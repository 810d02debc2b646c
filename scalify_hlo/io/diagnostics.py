"""MLIR's diagnostics as this package's, and the form in which they reach a terminal."""

import contextlib
import dataclasses
import re
from collections.abc import Generator
from typing import Any

from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic, describe_location

# `describe_location`: a file position, a name stack in brackets, or both.
_LOCATION = re.compile(r"(?P<position>.*:\d+:\d+)?(?: ?\[(?P<name>.*)\])?", re.DOTALL)

# The verifier's note that prints the operation again, at the position that the error gives already.
_REPETITION = "see current operation"


# A type of a dialect that is not there, with MLIR's advice, which is of options of a tool of its own.
_UNREGISTERED = re.compile(r'`!"?(\w+).*` type created with unregistered dialect\. .*', re.DOTALL)
# Whatever is said of such a type is for want of its dialect.
_QUANTISED = re.compile(r'!"?quant\b')


def _in_own_words(message: str) -> str:
    """What MLIR says, with advice that can be followed here."""
    if _QUANTISED.search(message):
        return (
            "a type of the dialect quant, without which jaxlib is built: nothing that JAX has reads it. Write the "
            "integers, and (x - zero point) * scale for what they stand for"
        )
    match = _UNREGISTERED.fullmatch(message)
    if match is None:
        return message
    return f"a type of the dialect {match[1]}, which is not registered; --allow-unregistered-dialect accepts it"


def from_mlir(diagnostic: Any) -> Diagnostic:
    """An `ir.Diagnostic` (alive during its handler only) or `ir.DiagnosticInfo`, with its notes."""
    # The bindings give a location of the base class here; its attribute knows what it is.
    location = ir.Location.from_attr(diagnostic.location.attr, diagnostic.location.context)
    return Diagnostic(
        message=_in_own_words(diagnostic.message.strip()),
        location=describe_location(location),
        severity=diagnostic.severity.name.lower(),
        notes=tuple(from_mlir(note) for note in diagnostic.notes if not note.message.startswith(_REPETITION)),
    )


def is_not_utf8(error: Exception) -> bool:
    """Whether the bindings raised `error` because a string of the module is no UTF-8."""
    # nanobind's words: "nanobind::detail::str_from_cstr_and_size(): conversion error!", later "nanobind::str(): ...".
    nanobind = isinstance(error, RuntimeError) and "conversion error" in str(error)
    return nanobind or isinstance(error, UnicodeDecodeError)


def from_mlir_error(error: ir.MLIRError) -> list[Diagnostic]:
    """What an `ir.MLIRError` carries; its own text when it carries nothing."""
    return [from_mlir(each) for each in error.error_diagnostics] or [Diagnostic(str(error).strip())]


@contextlib.contextmanager
def collect_diagnostics(context: ir.Context) -> Generator[list[Diagnostic], None, None]:
    """Collect what C++ code emits in `context`, instead of letting it print to stderr.

    Errors that the bindings turn into `ir.MLIRError` stay there (see `from_mlir_error`).
    """
    collected: list[Diagnostic] = []

    def handle(diagnostic: Any) -> bool:
        try:
            collected.append(from_mlir(diagnostic))
        except (UnicodeDecodeError, RuntimeError) as error:
            if not is_not_utf8(error):
                raise
            severity = diagnostic.severity.name.lower()
            collected.append(Diagnostic("a string in it is no UTF-8", severity=severity))
        return True

    handler = context.attach_diagnostic_handler(handle)
    try:
        yield collected
    finally:
        handler.detach()


def located(diagnostic: Diagnostic, file_name: str) -> Diagnostic:
    """The diagnostic at a `file:line:col` in every case, as compilers print them and editors read them.

    A name stack of JAX goes to the end of the message. What has no position of its own is put at the start
    of `file_name`; MLIR's "-" for text without a file name becomes `file_name`.
    """
    match = _LOCATION.fullmatch(diagnostic.location)
    position = match["position"] if match else diagnostic.location
    if not position or position.endswith(":0:0"):
        position = f"{file_name}:1:1"
    elif position.startswith("-:"):
        position = file_name + position[1:]
    message = diagnostic.message
    if match and match["name"]:
        message = f"{message} [{match['name']}]"
    notes = tuple(located(note, file_name) for note in diagnostic.notes)
    return dataclasses.replace(diagnostic, message=message, location=position, notes=notes)
