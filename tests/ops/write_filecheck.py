"""Writes test/lit/rewrites/ from the table of programs: `python -m tests.ops.write_filecheck`.

Each program of the table becomes a function in the file of its rule's family, in f32, and in f16 where the type
changes the rewriting; what the rewriter makes of it becomes its CHECK lines. Read the difference before committing
it: the numeric tests say whether a rewriting is right, these say whether it changed.
"""

import collections
import pathlib
import re
from collections.abc import Collection

from scalify_hlo import rewrite_module
from scalify_hlo.errors import ScalifyError
from scalify_hlo.rules.registry import rules
from tests.ops.program import Program
from tests.ops.programs import PROGRAMS

LIT = pathlib.Path(__file__).resolve().parents[2] / "test" / "lit" / "rewrites"
HEAD = "// Written by tests/ops/write_filecheck.py from tests/ops/programs/.\n"
_VALUE = re.compile(r"%([A-Za-z_0-9]+)")


def function_name(program: Program, element: str) -> str:
    """`<op>_<condition>_<element type>`, without characters that MLIR would quote."""
    name = re.sub(r"\W+", "_", program.name)
    return name if element == "f32" else f"{name}_{element}"


def checks(rewritten: str) -> list[str]:
    """CHECK lines of a rewritten module: every line of its functions, with the names of values captured."""
    lines: list[str] = []
    known: set[str] = set()

    def captured(match: re.Match[str]) -> str:
        name = "V" + match[1].upper()  # a FileCheck variable starts with a letter
        if name in known:
            return f"%[[{name}]]"
        known.add(name)
        return f"%[[{name}:[A-Za-z_0-9]+]]"

    for line in rewritten.splitlines():
        text = line.strip()
        if not text or text.startswith("module") or text == "}":
            continue
        plain = text.replace("[[", "{{\\[\\[}}").replace("]]", "{{\\]\\]}}")
        if "func.func" in text:
            known.clear()
            head, _, rest = plain.partition("(")
            lines.append(f"// CHECK-LABEL: {head}(")
            if rest:
                lines.append(f"// CHECK-SAME: {_VALUE.sub(captured, rest)}")
        else:
            lines.append(f"// CHECK: {_VALUE.sub(captured, plain)}")
    return lines


def files() -> dict[str, str]:
    """The text of every file, by name."""
    sections: dict[str, list[str]] = collections.defaultdict(list)
    for program in sorted(PROGRAMS, key=lambda each: each.name):
        family = rules()[program.op].source.partition(":")[0].rpartition(".")[2]
        previous = ""
        for element in ("f32", "f16"):
            if element not in program.elements and element != program.elements[0]:
                continue
            text = program.text(element).replace("@main", f"@{function_name(program, element)}")
            try:
                rewritten = rewrite_module(text)
            except ScalifyError:
                continue
            same = rewritten.replace("f16", "f32").replace(function_name(program, element), "") == previous
            previous = rewritten.replace(function_name(program, element), "")
            if same:
                continue
            sections[family].append("\n".join([*checks(rewritten), text.strip()]))
    run = "// RUN: scalify-opt %s --split-input-file | FileCheck %s\n"
    return {f"{name}.mlir": HEAD + run + "\n" + "\n\n// -----\n\n".join(each) + "\n" for name, each in sections.items()}


def outdated(folder: pathlib.Path, written: Collection[str]) -> list[pathlib.Path]:
    """Files that this wrote once and no longer writes; those written by hand are not among them."""
    return [path for path in folder.glob("*.mlir") if path.name not in written and path.read_text().startswith(HEAD)]


def main() -> None:
    """Write the files, and remove those whose family has gone."""
    LIT.mkdir(parents=True, exist_ok=True)
    written = files()
    for path in outdated(LIT, written):
        path.unlink()
    for name, text in written.items():
        (LIT / name).write_text(text)
    print(f"{len(written)} files, {sum(text.count('CHECK-LABEL') for text in written.values())} functions")


if __name__ == "__main__":
    main()
