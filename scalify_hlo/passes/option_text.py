"""Options between text and frozen dataclasses: `args=0,3-5 rounding=down` in a pipeline, help on a terminal.

A field's type gives the values it takes: bool, str, int, float, a Literal of strings, or a tuple of one of
these (comma-separated). Its name is written with hyphens.
"""

import ast
import dataclasses
import functools
import inspect
import textwrap
import types
import typing
from typing import Any, Literal, TypeVar

from scalify_hlo.errors import ScalifyError
from scalify_hlo.io.choices import alternatives

Options = TypeVar("Options")
_QUOTES = {"'": "'", '"': '"', "{": "}"}


def field_types(cls: type[Any]) -> dict[str, Any]:
    """The resolved type of each option, in the order of declaration."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def option_name(field_name: str) -> str:
    return field_name.replace("_", "-")


def parse_options(defaults: Options, text: str) -> Options:
    """`defaults` with the values that `text` gives. Raises ScalifyError for unknown names and values."""
    cls = type(defaults)
    fields = {option_name(name): name for name in field_types(cls)}
    given: dict[str, Any] = {}
    for key, value in _split(text):
        name = fields.get(key.replace("_", "-"))
        if name is None:
            raise ScalifyError(f"unknown option '{key}'; the options are {', '.join(fields) or 'none'}")
        given[name] = parse_value(value, field_types(cls)[name], key)
    return dataclasses.replace(defaults, **given)  # type: ignore[type-var]


def parse_value(text: str | None, kind: Any, name: str) -> Any:
    """The value that `text` stands for; None is an option without `=`, true for a bool. Raises ScalifyError."""
    if kind is bool:
        values = {None: True, "true": True, "1": True, "false": False, "0": False}
        if text not in values:
            raise ScalifyError(f"invalid value '{text}' for {name}: expected true or false")
        return values[text]
    if text is None:
        raise ScalifyError(f"option {name} needs a value: {name}=...")
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return tuple(parse_value(part.strip(), arguments[0], name) for part in text.split(",") if part.strip())
    if origin is Literal:
        if text not in arguments:
            raise ScalifyError(f"invalid value '{text}' for {name}: expected {alternatives(arguments)}")
        return text
    try:
        return kind(text)
    except ValueError:
        raise ScalifyError(f"invalid value '{text}' for {name}: expected {kind.__name__}") from None


def print_options(options: Any) -> str:
    """All options, so that `parse_options` gives them back."""
    values = ((option_name(field.name), getattr(options, field.name)) for field in dataclasses.fields(options))
    return " ".join(f"{name}={_print_value(value)}" for name, value in values)


def _print_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, typing.cast(tuple[Any, ...], value)))
    text = str(value)
    # MLIR's way of protecting blanks and brackets in a value.
    return f"{{{text}}}" if not text or set(text) & set(" {}()'\"") else text


def _split(text: str) -> list[tuple[str, str | None]]:
    """The `key=value` and `key` items of an option list; a value may be quoted or in braces."""
    items: list[tuple[str, str | None]] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        start = position
        while position < len(text) and not text[position].isspace() and text[position] != "=":
            position += 1
        key = text[start:position]
        if position == len(text) or text[position] != "=":
            items.append((key, None))
            continue
        value, position = _value(text, position + 1)
        items.append((key, value))
    return items


def _value(text: str, start: int) -> tuple[str, int]:
    """The value that starts at `start`, without its quotes or braces, and where it ends."""
    opening = text[start : start + 1]
    if opening in _QUOTES:
        end = _closing(text, start, _QUOTES[opening])
        return text[start + 1 : end], end + 1
    end = start
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end], end


def _closing(text: str, start: int, closing: str) -> int:
    """Where the quote or brace at `start` ends; braces nest."""
    depth = 0
    for position in range(start, len(text)):
        if position > start and text[position] == closing and (depth == 1 or closing != "}"):
            return position
        if closing == "}":
            depth += {"{": 1, "}": -1}.get(text[position], 0)
    raise ScalifyError(f"unbalanced {text[start]} in the options '{text}'")


@functools.cache
def field_help(cls: type[Any]) -> types.MappingProxyType[str, str]:
    """The comment above each field of a dataclass and of its bases, as one line of text each."""
    help_text: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if dataclasses.is_dataclass(base):
            comments = _comments_above_fields(base)
            names = {field.name for field in dataclasses.fields(base)} & comments.keys()
            help_text |= {name: comments[name] for name in names}
    return types.MappingProxyType(help_text)


def _comments_above_fields(cls: type[Any]) -> dict[str, str]:
    source = textwrap.dedent(inspect.getsource(cls))
    lines = source.splitlines()
    definition = ast.parse(source).body[0]
    assert isinstance(definition, ast.ClassDef)
    found: dict[str, str] = {}
    for statement in definition.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            start = statement.lineno - 1
            while lines[start - 1].strip().startswith("#"):
                start -= 1
            comment = (line.strip().removeprefix("#").strip() for line in lines[start : statement.lineno - 1])
            found[statement.target.id] = " ".join(comment)
    return found
