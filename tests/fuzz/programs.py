"""A fuzzer of programs: `python -m tests.fuzz.programs --seed 7 --count 1000 --seconds 600 --state FILE`.

Random JAX programs (tests/fuzz/jax_programs.py) are rewritten with varied options and run beside the original under the
tolerance of docs/contract.md. Program `k` of a seed, with its options and inputs, is always the same one. A worker
process takes them one by one and is watched, so that a crash and a hang are findings too. What is found is made
smaller: fewer results, lines replaced by arguments, options at their defaults. With --state a run can be continued.
The exit status is 1 if something was found.
"""

import dataclasses
import json
import pathlib
import random
import re
import select
import subprocess
import sys
import time
from typing import Any

import click

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_SECONDS_EACH = 120.0


def case(seed: int, k: int, nests: bool = False) -> Any:
    """Case `k` of a seed, of the kind with `nests` or the one with short lines."""
    from tests.fuzz.jax_programs import draw
    from tests.fuzz.judge import Case, options_of

    program, rng = draw(seed, k, nests), random.Random(f"{seed}/{k}/options")
    options = options_of(program, rng)
    # Scales away from an argument's size, and scales that differ, leave f16 no room for the program's own values.
    narrow = "scale-dims" in options or any(a.dtype == "float16" for a in program.arguments)
    return Case(program, options, k, "rms" if narrow else rng.choice(("rms", "jitter", "one")))


def kind(outcome: str) -> str:
    """What two findings have in common that are made smaller into each other."""
    return outcome if outcome.startswith("error") else outcome.split(":")[0]


def smaller(found: Any, outcome: str, seconds: float = 60.0, judged_by: Any = None) -> Any:
    """The case without what its outcome does not need. judged_by: by default tests.fuzz.judge.judge."""
    from tests.fuzz.judge import judge as judged_alone

    judge = judged_by or judged_alone
    end = time.monotonic() + seconds

    def still(candidate: Any) -> bool:
        return time.monotonic() < end and kind(judge(candidate)) == kind(outcome)

    for result in found.program.results:
        alone = dataclasses.replace(found, program=dataclasses.replace(found.program, results=(result,)).pruned())
        if still(alone):
            found = alone
            break
    for options in ("on-unsupported=unscale", *found.options.split(" ")):
        plainer = dataclasses.replace(found, options=options)
        if len(options) < len(found.options) and still(plainer):
            found = plainer
            break
    changed = True
    while changed:
        changed = False
        for names, _ in found.program.lines[:-1]:
            shorter = _as_argument(found, names)
            if shorter is not None and still(shorter):
                found, changed = shorter, True
                break
    return found


def _as_argument(found: Any, names: tuple[str, ...]) -> Any:
    """The values of a line given as arguments, drawn anew."""
    import jax

    from tests.fuzz.jax_programs import Argument, Spec, _dtype

    program = found.program
    upto = dataclasses.replace(program, results=names)
    with jax.enable_x64(program.x64):
        specs = [Spec(a.shape, _dtype(a.dtype)) for a in program.arguments]
        types = jax.eval_shape(upto.function(), *specs)
    first = 10 + max(int(a.name[1:]) for a in program.arguments)
    arguments, lines = list(program.arguments), []
    new = {}
    for i, (name, spec) in enumerate(zip(names, types, strict=True)):
        if str(spec.dtype) not in ("float32", "float16", "bfloat16", "float64", "int32", "bool", "complex64"):
            return None
        new[name] = f"a{first + i}"
        arguments.append(Argument(new[name], spec.shape, str(spec.dtype)))
    pattern = re.compile(r"\b(" + "|".join(names) + r")\b")
    for left, expression in program.lines:
        if left != names:
            lines.append((left, pattern.sub(lambda m: new[m[1]], expression)))
    if any(name in names for name in program.results):
        return None
    made = dataclasses.replace(program, arguments=tuple(arguments), lines=tuple(lines)).pruned()
    options = " ".join(o for o in found.options.split(" ") if not o.startswith("args="))
    return dataclasses.replace(found, program=made, options=options)


def describe(found: Any) -> str:
    """A case for people."""
    inputs = ", ".join(f"{a.name}: {a.dtype}{list(a.shape)} {a.values}" for a in found.program.arguments)
    x64 = " with f64" if found.program.x64 else ""
    settings = f"# {inputs}; seed {found.seed}, scales {found.scales}{x64}\n# --pass-pipeline={found.pipeline}"
    return f"{found.program.source()}\n{settings}"


def _work() -> None:
    """Take numbers from stdin, answer with JSON lines."""
    from tests.fuzz.judge import judge

    for line in sys.stdin:
        seed, k, nests = map(int, line.split())
        outcome, shown = "error: in the generator", ""
        try:
            found = case(seed, k, bool(nests))
            outcome = judge(found)
            if outcome.startswith(("wrong", "error")):
                small = smaller(found, outcome)
                outcome, shown = judge(small), describe(small)
        except Exception as error:  # noqa: BLE001
            shown = repr(error)
        print(json.dumps([outcome, shown]), flush=True)


def _start() -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.programs", "--worker"]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=_ROOT, bufsize=0
    )


def outcomes(seed: int, start: int, count: int, seconds: float, nests: bool = False) -> Any:
    """(k, outcome, description) of one program after the other."""
    end = time.monotonic() + seconds
    worker, done = _start(), 0
    try:
        for k in range(start, start + count):
            if time.monotonic() > end:
                return
            assert worker.stdin is not None and worker.stdout is not None
            worker.stdin.write(f"{seed} {k} {nests:d}\n".encode())
            ready, _, _ = select.select([worker.stdout], [], [], _SECONDS_EACH)
            line = worker.stdout.readline() if ready else b""
            if line.endswith(b"\n"):
                outcome, shown = json.loads(line)
                yield k, outcome, shown
            else:
                worker.kill()
                yield k, f"ends the process ({worker.wait()})" if ready else "hangs", describe(case(seed, k, nests))
            done += 1
            if not line or done % 400 == 0:  # XLA and MLIR keep what they have compiled
                worker.kill()
                worker.wait()
                worker = _start()
    finally:
        worker.kill()
        worker.wait()


@click.command(help=__doc__)
@click.option("--seed", default=0, help="Of programs, options and inputs.")
@click.option("--count", default=100_000, help="How many programs.")
@click.option("--seconds", default=600.0, help="When to stop.")
@click.option("--state", type=click.Path(path_type=pathlib.Path), help="Continue from this file, and write it.")
@click.option("--one", type=int, help="Show program K of the seed and its outcome, and stop.")
@click.option("--nests", is_flag=True, help="Programs of the second kind (tests/fuzz/nests.py).")
@click.option("--worker", is_flag=True, hidden=True)
def main(
    seed: int, count: int, seconds: float, state: pathlib.Path | None, one: int | None, nests: bool, worker: bool
) -> None:
    if worker:
        _work()
        return
    if one is not None:
        from tests.fuzz.judge import judge

        click.echo(f"{describe(case(seed, one, nests))}\n{judge(case(seed, one, nests))}")
        return
    known = (
        json.loads(state.read_text())
        if state and state.exists()
        else {"seed": seed, "next": 0, "counts": {}, "findings": {}}
    )
    seed, start, news = known["seed"], known["next"], 0
    for k, outcome, shown in outcomes(seed, start, count, seconds, nests):
        known["next"] = k + 1
        head = outcome.split(":")[0]
        known["counts"][head] = known["counts"].get(head, 0) + 1
        if head == "refused":
            known["findings"].setdefault(outcome, [k, shown])
        elif head not in ("ok", "no program", "outside", "misfit"):
            news += 1
            known["findings"][f"{k}: {outcome}"] = [k, shown]
            print(f"--- {outcome} (seed {seed}, k={k})\n{shown}", flush=True)
        if state:
            state.write_text(json.dumps(known, indent=1))
    click.echo(f"{known['next'] - start} programs of seed {seed}: {known['counts']}")
    sys.exit(1 if news else 0)


if __name__ == "__main__":
    main()
