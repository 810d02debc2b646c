"""Options given in Python are checked as those given on the command line are."""

import dataclasses
import functools
import types
import typing
from typing import Any, Literal

from scalify_hlo.errors import ScalifyError


def check_choices(options: object) -> None:
    """Raise ScalifyError where a field of a dataclass has a value that its type does not list; names all such fields.

    Checked are fields whose type is a Literal of strings, a tuple of these, bool, or a number.
    """
    wrong = [
        f"{name}={getattr(options, name)!r}: expected {expected}"
        for name, kind in _kinds(options.__class__).items()
        if (expected := _unmet(getattr(options, name), kind))
    ]
    if wrong:
        raise ScalifyError(f"{options.__class__.__name__}: {'; '.join(wrong)}")


def check_choice(value: Any, kind: Any, name: str) -> None:
    """Raise ValueError for an argument that is not one of a Literal's strings."""
    if expected := _unmet(value, kind):
        raise ValueError(f"{name}={value!r}: expected {expected}")


def alternatives(values: tuple[Any, ...]) -> str:
    """`'a', 'b' or 'c'`."""
    *rest, last = (f"'{value}'" for value in values)
    return f"{', '.join(rest)} or {last}" if rest else last


@functools.cache
def _kinds(cls: type[Any]) -> types.MappingProxyType[str, Any]:
    hints = typing.get_type_hints(cls)
    return types.MappingProxyType({field.name: hints[field.name] for field in dataclasses.fields(cls)})


def _unmet(value: Any, kind: Any) -> str:
    """What was expected, where a value is not of a kind; else empty."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return "" if isinstance(value, str) and value in arguments else alternatives(arguments)
    if origin is tuple:
        if isinstance(value, tuple) and not any(_unmet(item, arguments[0]) for item in typing.cast(Any, value)):
            return ""
        inner = typing.get_args(arguments[0])
        return f"a tuple of {alternatives(inner)}" if inner else "a tuple"
    if kind is bool:
        return "" if isinstance(value, bool) else "True or False"
    if kind in (int, float):
        numbers = (int, float) if kind is float else int
        return "" if isinstance(value, numbers) and not isinstance(value, bool) else "a number"
    if kind is str:
        return "" if isinstance(value, str) else "a string"
    return ""
