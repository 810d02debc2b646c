"""A mutational fuzzer of what the tools read: `python -m tests.fuzz.inputs --seed 7 --seconds 600 --state FILE`.

Programs of the lit tests, as text, bytecode, portable artifact and Exported, are damaged in seeded ways and go through
reading, rewriting with varied options, printing and reading again. Input `k` of a seed is always the same one. A
worker process takes them one by one and is watched: what it does wrong is a finding,

- an exception that is no ScalifyError (the commands would call it a defect of their own),
- an output that MLIR does not read back,
- a crash, or more than ten seconds, after MLIR has read a text. (Before, and with binaries, it is MLIR's doing, and
  the commands are isolated from it.)

Each finding is told once for each place in the code, and texts are made smaller line by line. With --state the run can
be continued; the exit status is 1 if anything was found.
"""

import contextlib
import importlib
import json
import os
import pathlib
import pickle
import random
import re
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import click

Corpus = list[tuple[str, bytes]]  # (form, content)

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_SECONDS_EACH = 10.0
_NUMBERS = ("0", "1", "-1", "2", "7", "64", "4096", "2147483648", "9223372036854775807", "1.0e38", "0x7FC00000")
_TYPES = ("f32", "f16", "bf16", "f64", "i32", "i1", "ui8", "f8E4M3FN", "f8E8M0FNU", "complex<f32>", "index")
_WORDS = (
    "add", "multiply", "divide", "maximum", "select", "while", "dot_general", "reduce", "convert", "reshape", "slice",
    "dynamic_update_slice", "scatter", "all_reduce", "composite", "custom_call", "sqrt", "constant", "return", "sort",
)  # fmt: skip
_OPTIONS = (
    "", "plain-results=true", "scale-dtype=e8m0", "rounding=nearest", "rounding=up", "rounding=none", "rules=paper",
    "recognise=none", "recognise=blocks", "statistics=own", "args=0", "args=none", "on-unsupported=unscale",
    "result-scales=shaped", "scale-dims=all=0", "slack=0", "scaled-types=f16,bf16,f8E4M3FN", "print-rules=true",
    "mark-tensors=true",
)  # fmt: skip
_PASSES = (
    "scalify-fp8-dots",
    "scalify-pack-scales",
    "scalify-instrument",
    "scalify-auto-rescale",
    "cse",
    "canonicalize",
    "inline",
)


def corpus() -> Corpus:
    """Programs to start from, made in a child: the process that forks workers must not start MLIR's threads."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        with open(write, "wb") as stream:
            pickle.dump(_make_corpus(), stream)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as stream:
        found: Corpus = pickle.load(stream)
    os.waitpid(pid, 0)
    return found


def _make_corpus() -> Corpus:
    from scalify_hlo.bindings import make_context
    from scalify_hlo.errors import ScalifyError
    from scalify_hlo.io.serialization import Program, parse, to_artifact, to_bytecode

    made: Corpus = []
    for path in sorted((_ROOT / "test" / "lit").rglob("*.mlir")):
        for part in re.split(rb"^// -----[^\n]*$", path.read_bytes(), flags=re.MULTILINE):
            text = re.sub(rb"^ *//.*\n", b"", part, flags=re.MULTILINE)
            if b"func" not in text or len(text) > 6000:
                continue
            made.append(("text", text))
            with contextlib.suppress(ScalifyError):
                made.append(("bytecode", to_bytecode(parse(Program(text, "text", "in"), make_context()))))
                made.append(("artifact", to_artifact(parse(Program(text, "text", "in"), make_context()))[0]))
    import jax
    import jax.export
    import jax.numpy as jnp

    def loss(p: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        return jnp.sum(jax.nn.softmax(x @ p["w"] + p["b"]))

    exported = jax.export.export(jax.jit(loss), platforms=["cpu"])({"w": jnp.ones((4, 8)), "b": jnp.ones(8)},
                                                                   jnp.ones((2, 4)))  # fmt: skip
    return made + [("exported", bytes(exported.serialize()))] * (len(made) // 20)


# --- mutations ----------------------------------------------------------------------------------------------------


def case(programs: Corpus, seed: int, k: int) -> tuple[bytes, str]:
    """Input `k` of a seed: the content of a file, and the pipeline that it goes through."""
    rng = random.Random(f"{seed}:{k}")
    form, data = rng.choice(programs)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        data = rng.choice(_TEXT_MUTATIONS)(data, rng, programs) if form == "text" else _damaged(data, rng)
    elements = [f"scalify{{{' '.join(o for o in rng.sample(_OPTIONS, rng.choice((1, 1, 2))) if o)}}}"]
    if rng.random() < 0.2:
        elements.insert(rng.randrange(2), rng.choice(_PASSES))
    return data, ",".join(elements).replace("{}", "")


def _damaged(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    junk = rng.randbytes(rng.choice((1, 1, 2, 8)))
    return rng.choice((
        data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
        data[:at] + junk + data[at + len(junk) :],
        data[:at] + junk + data[at:],
        data[:at] + data[at + len(junk) :],
        data[:at],
    ))  # fmt: skip


def _swap(pattern: bytes, others: tuple[str, ...]) -> Callable[[bytes, random.Random, Corpus], bytes]:
    def mutate(data: bytes, rng: random.Random, _programs: Corpus) -> bytes:
        places = list(re.finditer(pattern, data))
        if not places:
            return data
        place, other = rng.choice(places), rng.choice(others).encode()
        if rng.random() < 0.3:  # everywhere: what fits together still does
            return data.replace(place[0], other)
        return data[: place.start()] + other + data[place.end() :]

    return mutate


def _lines(data: bytes, rng: random.Random, programs: Corpus) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[i]
        case 1:
            lines.insert(i, lines[j])
        case 2:
            lines[i], lines[j] = lines[j], lines[i]
        case 3:
            others = rng.choice(programs)[1].split(b"\n")
            lines.insert(i, rng.choice(others))
        case _:
            tokens = re.findall(rb"%\w+|@\w+|#\w+", data) or [b"%0"]
            lines[i] = re.sub(rb"%\w+|@\w+", lambda _: rng.choice(tokens), lines[i], count=1)
    return b"\n".join(lines)


def _characters(data: bytes, rng: random.Random, _programs: Corpus) -> bytes:
    return _damaged(data, rng)


_TEXT_MUTATIONS = (
    _swap(rb"(?<![\w.%])-?\d+(?:\.\d+)?(?:e[+-]\d+)?", _NUMBERS),
    _swap(rb"(?<=x|<)(?:bf16|f\d+\w*|u?i\d+|complex<f32>)(?=>)", _TYPES),
    _swap(rb"(?<=stablehlo\.)\w+", _WORDS),
    _swap(rb"(?<=[<x])\d+(?=x)", ("0", "1", "2", "3", "?", "5000000000")),
    _swap(rb'"[^"\n]*"', ('""', "1", "[]", "unit", '"x"', "array<i64: 1>", "@main")),
    _lines,
    _lines,
    _lines,
    _characters,
)


# --- one input ----------------------------------------------------------------------------------------------------


def outcome(data: bytes, pipeline: str, note: Callable[[str], None]) -> str:
    """What becomes of one input: "ok", "refused", or what is wrong with this package. note: told once it is read."""
    import scalify_hlo.io.opt_driver as driver
    from scalify_hlo.bindings import make_context
    from scalify_hlo.errors import ScalifyError
    from scalify_hlo.io.diagnostics import is_not_utf8
    from scalify_hlo.io.serialization import Program, parse, recognise
    from scalify_hlo.passes.pipeline import parse_pipeline

    def read(program: Any, context: Any) -> Any:
        module = parse(program, context)
        note("read")
        return module

    driver.parse = read
    try:
        program = recognise(data, "in")
        settings = driver.OptSettings(emit="exported" if program.format == "exported" else "text")
        done = driver.OptDriver(parse_pipeline(pipeline), settings).process(program)
        if done.failed:
            return "refused"
        if settings.emit == "text":
            parse(Program(done.data or b"", "text", "out"), make_context())
    except ScalifyError as error:
        if any(each.location.startswith("out:") for each in error.diagnostics):
            return f"output does not verify: {re.sub(r'[0-9]+', 'N', error.diagnostics[0].message)[:80]}"
        return "refused"
    except Exception as error:  # noqa: BLE001 - what is looked for
        if is_not_utf8(error):
            return "refused"
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {pathlib.Path(frame.filename).name}:{frame.name}"
    return "ok"


def outcomes(cases: Iterator[tuple[int, bytes, str]]) -> Iterator[tuple[int, bytes, str, str]]:
    """(k, data, pipeline, outcome) of each case; workers that end or hang are replaced."""
    # Once, not in each worker; they start no threads.
    for name in ("io.opt_driver", "engine.rewriter", "rules.registry", "exported"):
        importlib.import_module(f"scalify_hlo.{name}")
    importlib.import_module("scalify_hlo.rules.registry").rules()
    batch: list[tuple[int, bytes, str]] = []
    for each in cases:
        batch.append(each)
        if len(batch) == 200:
            yield from _batch(batch)
            batch = []
    yield from _batch(batch)


def _batch(batch: list[tuple[int, bytes, str]]) -> Iterator[tuple[int, bytes, str, str]]:
    position = 0
    while position < len(batch):
        first = position
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            _work(batch[position:], write)
        os.close(write)
        stage, lines, again = "start", b"", False
        while not again:
            ready, _, _ = select.select([read], [], [], _SECONDS_EACH)
            data = os.read(read, 1 << 16) if ready else None
            if not data:
                break
            lines += data
            while b"\n" in lines and not again:
                line, lines = lines.split(b"\n", 1)
                stage = line.decode()
                again = position > first and stage not in ("start", "read", "ok", "refused")
                if not again and stage not in ("start", "read"):
                    yield (*batch[position], stage)
                    position, stage = position + 1, "start"
        hangs = data is None
        if hangs or again:
            os.kill(pid, signal.SIGKILL)
        os.close(read)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if position == len(batch) or not (hangs or status):
            continue
        if position > first:
            # A damaged binary may leave MLIR's memory in disorder, which the next inputs show: they are tried alone.
            click.echo(f"input {batch[position][0]}: a worker ended ({status}); tried again in a new one", err=True)
        else:
            late = "hangs" if hangs else f"ends the process ({status})"
            # A damaged binary can crash MLIR at any time: strings that are no UTF-8 abort it where they are printed.
            ours = stage == "read" and batch[position][1].isascii()
            yield (*batch[position], f"{late} after reading" if ours else "refused")
            position += 1


def _work(batch: list[tuple[int, bytes, str]], write: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    words = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
    os.environ["SCALIFY_HLO_ISOLATED"] = str(words.fileno())  # bounds on time and memory, as in a command

    def note(text: str) -> None:
        os.write(write, text.encode() + b"\n")

    for _, data, pipeline in batch:
        note("start")
        note(outcome(data, pipeline, note).replace("\n", " "))
    os._exit(0)


def smaller(data: bytes, pipeline: str, wanted: str) -> bytes:
    """A text without the lines that the outcome does not need."""
    lines = data.split(b"\n")
    step = max(len(lines) // 2, 1)
    while step:
        tries = [b"\n".join(lines[:i] + lines[i + step :]) for i in range(0, len(lines), step)]
        for number, text, _, found in outcomes((i, text, pipeline) for i, text in enumerate(tries)):
            if found == wanted:
                lines = text.split(b"\n")
                del number
                break
        else:
            step //= 2
    return b"\n".join(lines)


# --- the command --------------------------------------------------------------------------------------------------


def run(seed: int, seconds: float, start: int = 0, most: int = sys.maxsize) -> tuple[int, dict[str, dict[str, Any]]]:
    """Fuzz for some seconds. Returns the next k, and the findings by outcome: how often, and the first input."""
    programs = corpus()
    end = time.monotonic() + seconds
    k = start

    def cases() -> Iterator[tuple[int, bytes, str]]:
        for i in range(start, start + most):
            if time.monotonic() > end:
                return
            yield (i, *case(programs, seed, i))

    findings: dict[str, dict[str, Any]] = {}
    for i, data, pipeline, found in outcomes(cases()):
        k = i + 1
        if found in ("ok", "refused"):
            continue
        first = {"k": i, "count": 0, "pipeline": pipeline, "input": data.decode(errors="backslashreplace")}
        findings.setdefault(found, first)["count"] += 1
    return k, findings


@click.command(help=__doc__)
@click.option("--seed", default=0, help="Of the inputs.")
@click.option("--seconds", default=60.0, help="When to stop.")
@click.option("--most", default=sys.maxsize, help="Of the inputs, whatever the time.", show_default=False)
@click.option("--state", type=click.Path(path_type=pathlib.Path), help="Continue from this file, and write it.")
@click.option("--one", type=int, help="Write input K of the seed to stdout and its pipeline to stderr, and stop.")
def main(seed: int, seconds: float, most: int, state: pathlib.Path | None, one: int | None) -> None:
    if one is not None:
        data, pipeline = case(corpus(), seed, one)
        sys.stdout.buffer.write(data)
        click.echo(pipeline, err=True)
        return
    known = json.loads(state.read_text()) if state and state.exists() else {"seed": seed, "next": 0, "findings": {}}
    start = known["next"]
    known["next"], found = run(known["seed"], seconds, start, most)
    for name, finding in found.items():
        if name not in known["findings"]:
            text = finding["input"]
            small = smaller(text.encode(), finding["pipeline"], name).decode() if text.isprintable() or "func" in text \
                else text  # fmt: skip
            known["findings"][name] = {**finding, "smaller": small}
            click.echo(f"--- {name} ({finding['count']} times, k={finding['k']}, {finding['pipeline']})\n{small}")
    click.echo(f"{known['next'] - start} inputs of seed {known['seed']}, {len(found)} findings")
    if state:
        state.write_text(json.dumps(known, indent=1))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
