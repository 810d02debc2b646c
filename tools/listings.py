"""The tables that the command line prints: passes and rules."""

import dataclasses
import shutil
import textwrap
from collections.abc import Sequence

from scalify_hlo.passes import PASSES
from scalify_hlo.passes.option_text import field_help, option_name, print_options
from scalify_hlo.passes.textual import TEXTUAL_PASSES


def summary(docstring: str | None) -> str:
    """The first line."""
    return (docstring or "").strip().partition("\n")[0]


def pass_flags_help() -> list[tuple[str, str]]:
    """Flag and description of each pass."""
    own = [(f"--{name}[='KEY=VALUE ...']", summary(each.__doc__)) for name, each in PASSES.items()]
    return own + [(f"--{name}", text) for name, text in TEXTUAL_PASSES.items()]


def list_passes() -> str:
    """Each pass with its options and their defaults."""
    lines = ["Passes of this package:"]
    for name, each in PASSES.items():
        lines += _entry(name, summary(each.__doc__), 2)
        defaults = dict(item.split("=", 1) for item in print_options(each()).split())
        for field in dataclasses.fields(each):
            option = option_name(field.name)
            lines += _entry(f"{option}={defaults[option]}", field_help(each)[field.name], 6)
    lines += ["Passes of MLIR and StableHLO with a flag of their own (--pass-pipeline takes any other too):"]
    for name, text in TEXTUAL_PASSES.items():
        lines += _entry(name, text, 2)
    return "\n".join(lines)


def list_rules() -> str:
    """The rule of each operation, of composites and of custom calls, then the operations that have none and why."""

    from scalify_hlo.rules import registry

    rows = [("operation", "family", "law", "scale of the result", "same bits", "file", "note")]
    rows += [
        (rule.op, rule.family, rule.law, rule.scale, "yes" if rule.exact else "no", rule.file, rule.note)
        for _, rule in sorted(registry.rules().items())
    ]
    lines = _table(rows)
    for title, rules in (("composite", registry.MARKERS), ("custom call", registry.TARGETS)):
        lines += ["", *_table([(title, "file"), *((name, registry.file_of(rules[name])) for name in sorted(rules))])]
    lines += ["", "Operations without a scaled form:"]
    for op, refusal in sorted(registry.refusals().items()):
        lines += _entry(op, refusal.reason, 2)
    return "\n".join(lines)


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _entry(head: str, text: str, indent: int) -> list[str]:
    """`head`, then `text` below it, wrapped to the terminal."""
    width = max(shutil.get_terminal_size((100, 24)).columns, 60)
    blank = " " * indent
    return [blank + head, *textwrap.wrap(text, width, initial_indent=blank + "    ", subsequent_indent=blank + "    ")]
