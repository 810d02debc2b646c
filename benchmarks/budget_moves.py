"""What each constant of `scalify_hlo.budget` changes: rewritten programs with it and with 4 times and a quarter of it.

The programs are the functions of test/lit in f32 and in f16, their sizes as `scalify-size` prints them, and a small
training step in every preset. A constant that changes none of them chooses nothing that a test would notice.

    python -m benchmarks.budget_moves                 # all constants; a minute or two
    python -m benchmarks.budget_moves --constant HEADROOM --names
"""

import contextlib
import functools
import pathlib
import re
import types
from collections.abc import Callable, Generator
from typing import get_args

import click

from scalify_hlo import budget
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.passes.size import Sizes
from scalify_hlo.precision import PRESETS, Preset
from scalify_hlo.scale import SMALLEST_EXPONENT
from tests.training_programs import train_step_text

LIT = pathlib.Path(__file__).parents[1] / "test" / "lit"
# A program, and what is made of it.
Program = tuple[str, Callable[[], Pipeline]]


def constants() -> dict[str, float]:
    """The names and values of all constants."""
    return {name: value for name, value in vars(budget).items() if name.isupper()}


def moved(value: float, factor: float) -> float:
    """A constant times a factor; a whole number stays one, and no exponent of a scale leaves the range of f32."""
    return value * factor if isinstance(value, float) else max(SMALLEST_EXPONENT, round(value * factor))


@contextlib.contextmanager
def changed(name: str, value: float) -> Generator[None]:
    """One constant with another value."""
    kept: float = getattr(budget, name)
    setattr(budget, name, value)
    try:
        yield
    finally:
        setattr(budget, name, kept)


def programs() -> dict[str, Program]:
    """All programs by name."""
    found: dict[str, Program] = {}
    for path in sorted(LIT.rglob("*.mlir")):
        if path.parent.name == "tools":
            continue
        for name, text in _functions(path.read_text()).items():
            full = f"{path.relative_to(LIT)}:{name}"
            found[full] = (text, functools.partial(precision_pipeline, None))
            found[f"{full} in f16"] = (re.sub(r"\bf32\b", "f16", text), found[full][1])
            found[f"{full}, sizes"] = (text, lambda: Pipeline((Sizes(),)))
    for preset in (each for each in get_args(Preset) if not PRESETS[each].blocks):  # those are for forward programs
        for style in ("unrolled", "scan"):
            found[f"{style} step in {preset}"] = (train_step_text(style), functools.partial(precision_pipeline, preset))
    return found


def _functions(text: str) -> dict[str, str]:
    """The public functions of a file of test/lit, each as a module of its own with what it calls."""
    found: dict[str, str] = {}
    for i, part in enumerate(re.split(r"^// -----$", text, flags=re.MULTILINE)):
        program = "\n".join(line for line in part.splitlines() if not line.lstrip().startswith("//"))
        functions = re.split(r"(?=^func\.func )", program, flags=re.MULTILINE)
        public = [function for function in functions if function.startswith("func.func @")]
        if len(public) < 2 or "private" in program or "module" in program:
            found |= {str(i): program} if "func.func" in program else {}
            continue
        for function in public:
            name = re.split(r"[@(]", function, maxsplit=2)[1]
            found[name] = function.replace(f"@{name}(", "@main(", 1)
    return found


def result(program: Program) -> str:
    """What is made of a program: its text, or why it is refused."""
    text, pipeline = program
    with make_context(), ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
            pipeline().run(module, [])
        except (ScalifyError, ir.MLIRError) as error:
            return type(error).__name__
        return module.operation.get_asm(enable_debug_info=False)


class _Recording(types.ModuleType):
    """The module of constants, noting which are read."""

    read: set[str] = set()  # noqa: RUF012 - one module

    def __getattribute__(self, name: str) -> object:
        if name.isupper():
            _Recording.read.add(name)
        return super().__getattribute__(name)


def results_and_reads(every: dict[str, Program]) -> tuple[dict[str, str], dict[str, set[str]]]:
    """What is made of every program, and the constants that are read for it."""
    texts: dict[str, str] = {}
    reads: dict[str, set[str]] = {}
    own = budget.__class__
    budget.__class__ = _Recording
    try:
        for name, program in every.items():
            _Recording.read = set()
            texts[name] = result(program)
            reads[name] = _Recording.read
    finally:
        budget.__class__ = own
    return texts, reads


@click.command()
@click.option("--constant", "only", multiple=True, help="Only these.")
@click.option("--names", is_flag=True, help="Name the programs that change.")
def main(only: tuple[str, ...], names: bool) -> None:
    """Count the programs that each constant changes."""
    every = programs()
    texts, reads = results_and_reads(every)
    click.echo(f"{len(every)} programs\n{'':24}{'value':>12}{'read':>6}{'times 4':>9}{'by 4':>6}")
    for name, value in constants().items():
        if only and name not in only:
            continue
        readers = [each for each in every if name in reads[each]]
        counts: list[list[str]] = []
        for factor in (4, 0.25):
            with changed(name, moved(value, factor)):
                counts.append([each for each in readers if result(every[each]) != texts[each]])
        click.echo(f"{name:24}{value:12g}{len(readers):6}{len(counts[0]):9}{len(counts[1]):6}")
        if names:
            for sign, found in zip("*/", counts, strict=True):
                click.echo("".join(f"  {sign} {each}\n" for each in found), nl=False)


if __name__ == "__main__":
    main()
