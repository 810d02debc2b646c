"""Writes docs/api.md, the reference of the Python API, from signatures, docstrings and the comments of options.

    python docs/generate_api.py [--check]

With --check nothing is written, and the exit status says whether the page is up to date.
"""

import dataclasses
import enum
import inspect
import pathlib
import sys
from typing import Any

from scalify_hlo.rewrites import custom_calls

import scalify_hlo
from scalify_hlo.passes.option_text import field_help
from scalify_hlo.rules import oprewrite, registry

PAGE = pathlib.Path(__file__).parent / "api.md"
NAMESPACES = ("nn", "ops", "tree", "lax", "core", "health", "serving")
# What plugins are written with: see docs/extending.md.
FOR_RULES = {
    "registry.rule": registry.rule,
    "registry.marker": registry.marker,
    "registry.refuse": registry.refuse,
    "registry.never_scaled": registry.never_scaled,
    "rewrites.custom_calls.custom_call": custom_calls.custom_call,
    "oprewrite.OpRewrite": oprewrite.OpRewrite,
}


def reference() -> str:
    """The page."""
    lines = ["# Reference of the Python API", "", "Made by `docs/generate_api.py` from the docstrings.", ""]
    lines += ["## scalify_hlo", ""]
    documented: dict[int, str] = {}
    for name in scalify_hlo.__all__:
        value = getattr(scalify_hlo, name)
        if getattr(value, "__module__", "").startswith("scalify_hlo."):
            lines += entry(f"scalify_hlo.{name}", value, documented)
    for space in NAMESPACES:
        module = getattr(scalify_hlo, space)
        lines += [f"## scalify_hlo.{space}", "", inspect.getdoc(module) or "", ""]
        # Under its own name first; a second name refers to it.
        own = [name for name in module.__all__ if _own_name(getattr(module, name), name)]
        for name in [*own, *(name for name in module.__all__ if name not in own)]:
            lines += entry(f"{space}.{name}", getattr(module, name), documented)
    lines += ["## Rules of your own", "", "See [extending.md](extending.md).", ""]
    for path, value in FOR_RULES.items():
        lines += entry(path, value, documented)
    return "\n".join(lines).rstrip() + "\n"


def _own_name(value: Any, name: str) -> bool:
    is_ours = getattr(value, "__module__", "").startswith("scalify_hlo")
    return not is_ours or getattr(value, "__name__", name) == name


def entry(path: str, value: Any, documented: dict[int, str]) -> list[str]:
    """The lines of one name; a name documented before is referred to."""
    if id(value) in documented:
        return [f"`{path}`: see `{documented[id(value)]}`.", ""]
    if not getattr(value, "__module__", "").startswith("scalify_hlo"):
        return [f"`{path}`: for type annotations, from JAX and numpy.", ""]
    if not callable(value):
        return [f"`{path}` = `{value}`", ""]
    documented[id(value)] = path
    text = inspect.getdoc(value) or ""
    name = path.rsplit(".", 1)[-1]
    lines = [f"### {path}", "", "```python", f"{name}{signature(value)}", "```", "", fenced(text), ""]
    if inspect.isclass(value):
        if dataclasses.is_dataclass(value):
            helped = field_help(value)
            fields = [field.name for field in dataclasses.fields(value)]
            lines += [f"- `{name}`: {helped[name]}" for name in fields if helped.get(name)]
        for name, member in vars(value).items():
            doc = inspect.getdoc(member)
            if not name.startswith("_") and doc and (callable(member) or isinstance(member, (property, classmethod))):
                lines += [f"- `{name}`: {doc.splitlines()[0]}"]
        lines.append("")
    return lines


def signature(value: Any) -> str:
    """The parameters with their defaults, without annotations."""
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return ": " + ", ".join(member.name for member in value)
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [p.replace(annotation=p.empty, default=_shown(p.default)) for p in found.parameters.values()]
    text = str(found.replace(parameters=parameters, return_annotation=found.empty))
    return text if " at 0x" not in text and "<" not in text else "(...)"


class _Default:
    """Stands for options that are all at their defaults, whose text would be their whole list."""

    def __init__(self, value: Any):
        self.name = type(value).__name__

    def __repr__(self) -> str:
        return f"{self.name}()"


def _shown(default: Any) -> Any:
    is_options = dataclasses.is_dataclass(default) and not inspect.isclass(default)
    return _Default(default) if is_options and default == type(default)() else default


def fenced(text: str) -> str:
    """A docstring as Markdown: indented descriptions of parameters become a block that keeps its lines."""
    if not any(line.startswith("    ") for line in text.splitlines()):
        return text
    return f"```text\n{text}\n```"


def main() -> int:
    """Write the page, or compare."""
    page = reference()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text() != page)
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
