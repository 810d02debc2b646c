"""A trial parse in another process.

MLIR's readers trust their input: a damaged bytecode file can abort the process ("LLVM ERROR: unsupported
integer type"), loop for ever, or make an error message that is no UTF-8, on which the bindings abort. A
file that came through the trial can be read in this process.
"""

import json
import subprocess
import sys
from typing import Literal

from scalify_hlo.bindings import ir, make_context, stablehlo
from scalify_hlo.diagnostics import collect_diagnostics, from_mlir_error
from scalify_hlo.errors import Diagnostic

Reader = Literal["module", "artifact"]

# Runs in the child, which finds the package where this process found it.
_CHILD = "import sys; sys.path[:] = {path!r}; from scalify_hlo.isolation import child; child({reader!r}, {limit!r})"
_CRASH = "MLIR's reader crashes on it"
_CPU_SECONDS = 10
_CPU_SECONDS_PER_MEGABYTE = 2


def trial_error(data: bytes, reader: Reader) -> str | None:
    """Read `data` in another process; why it cannot be read, or None when it can.

    reader: "module" for `ir.Module.parse` (text or bytecode), "artifact" for a StableHLO portable artifact.
    """
    limit = _CPU_SECONDS + _CPU_SECONDS_PER_MEGABYTE * (len(data) >> 20)
    command = [sys.executable, "-c", _CHILD.format(path=sys.path, reader=reader, limit=limit)]
    finished = subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if finished.returncode != 0:
        return _CRASH
    return json.loads(finished.stdout)


def child(reader: Reader, cpu_seconds: int) -> None:
    """The other process: reads stdin, prints the error message or null as JSON."""
    _limit_resources(cpu_seconds)
    print(json.dumps(_read(sys.stdin.buffer.read(), reader)))


def _limit_resources(cpu_seconds: int) -> None:
    """End a reader that loops, and leave no core file (where the operating system can do that)."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(data: bytes, reader: Reader) -> str | None:
    context = make_context()
    with context, collect_diagnostics(context) as collected:
        try:
            if reader == "artifact":
                module = stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = ir.Module.parse(data)
            module.operation.verify()
        except ir.MLIRError as error:
            collected += from_mlir_error(error)
        except ValueError as error:
            collected.append(Diagnostic(str(error)))
        else:
            return None
    return collected[0].message
