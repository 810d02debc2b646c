"""Programs on four CPU devices: in one process beside the tests, because JAX fixes their number on first use.

The process is started once and takes one program after the other, each with its own globals; a warning is an error.
As a script this file is that process: it reads programs as JSON lines and answers each with its traceback or null, and
with the faults that it has reached (tests/mutation.py puts faults into this process too).
"""

import atexit
import builtins
import functools
import importlib
import json
import os
import subprocess
import sys
import textwrap
import traceback

# Names of tests/mutation_plugin.py, which this process imports only where they are set: it imports pytest.
FAULT, WATCHED, PROBE = "SCALIFY_MUTANT", "SCALIFY_WATCHED_MUTANTS", "__scalify_mutant_reached__"
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@functools.cache
def _process(devices: int) -> "subprocess.Popen[str]":
    flags = os.environ.get("XLA_FLAGS", "") + f" --xla_force_host_platform_device_count={devices}"
    path = os.pathsep.join([_ROOT, *filter(None, sys.path)])
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path}
    process = subprocess.Popen(
        [sys.executable, "-P", "-X", "faulthandler", "-W", "error", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=_ROOT,
    )
    atexit.register(_end, process)
    return process


def _end(process: "subprocess.Popen[str]") -> None:
    """End the process and close the pipes to it."""
    process.kill()
    with process:
        pass


def run(program: str, devices: int = 4) -> None:
    """Run a Python program on some number of devices. Raises AssertionError with its traceback where it raises."""
    process = _process(devices)
    assert process.stdin is not None and process.stdout is not None
    print(json.dumps(textwrap.dedent(program)), file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        _process.cache_clear()
    assert answer, f"the process with {devices} devices ended with status {process.wait()}"
    failure, reached = json.loads(answer)
    for k in reached:
        getattr(builtins, PROBE)(k)
    assert failure is None, failure[-3000:]


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what programs print must not mix with the answers
    reached: set[int] = set()
    if FAULT in os.environ or WATCHED in os.environ:
        importlib.import_module("tests.mutation_plugin")
        setattr(builtins, PROBE, reached.add)
    import jax

    for line in sys.stdin:
        failure, settings = None, dict(jax.config.values)
        try:
            exec(compile(json.loads(line), "<program>", "exec"), {"__name__": "__main__"})
        except BaseException:  # noqa: BLE001 - the test raises it
            failure = traceback.format_exc()
        for name, value in settings.items():
            if jax.config.values[name] != value:
                jax.config.update(name, value)
        print(json.dumps([failure, sorted(reached)]), file=answers, flush=True)
        reached.clear()


if __name__ == "__main__":
    _serve()
