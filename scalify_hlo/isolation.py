"""Commands that run in a child process, so that a crash of MLIR becomes an error message.

MLIR trusts what it reads. A damaged binary can abort the process ("LLVM ERROR: unsupported integer type"), loop for
ever, take all memory, or hold strings that are no UTF-8, on which the Python bindings abort wherever one is touched;
and text can ask for the spatial dimension 4000000000. So a command that is given such a file runs itself again in a
child and watches it.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence

# In the child: a JSON object from the paths of streams (stdin, pipes) that the parent has read to files.
_VARIABLE = "SCALIFY_HLO_ISOLATED"
_CPU_SECONDS = 10
_CPU_SECONDS_PER_MEGABYTE = 2
_BYTES = 4 << 30
_BYTES_PER_BYTE = 500
# The exit statuses of the commands; any other is that of a process that was ended.
_STATUSES = {0, 1, 2, 70, 130}
# What the child exits with when the bindings refuse a string of the module.
NOT_UTF8 = 65


def is_isolated() -> bool:
    """Whether this process is such a child."""
    return _VARIABLE in os.environ


def stream_file(path: str) -> str | None:
    """In the child, the file that holds what the parent read from the stream `path`."""
    return json.loads(os.environ.get(_VARIABLE, "{}")).get(path)


@dataclasses.dataclass(frozen=True)
class Finished:
    """How the child ended: its exit status and stderr, and, if it was ended, what the file did to it."""

    status: int
    stderr: str
    crash: str | None = None


def run_isolated(module: str, arguments: Sequence[str], streams: Mapping[str, bytes]) -> Finished:
    """Run `module.main` with command-line arguments in a child, which writes to this process's stdout.

    streams: what has been read from stdin ("-") and pipes, which give it only once.
    """
    code = f"import sys; sys.path[:] = {sys.path!r}; from {module} import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, str] = {}
        for i, (path, data) in enumerate(streams.items()):
            files[path] = os.path.join(folder, str(i))
            pathlib.Path(files[path]).write_bytes(data)
        child = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, _VARIABLE: json.dumps(files)},
            stderr=subprocess.PIPE,
            check=False,
        )
    crash = None if child.returncode in _STATUSES else _crash(child.returncode)
    return Finished(child.returncode, child.stderr.decode(errors="backslashreplace"), crash)


def _crash(status: int) -> str:
    import signal

    reasons = {NOT_UTF8: "holds strings that are no UTF-8", -getattr(signal, "SIGXCPU", 0): "keeps MLIR busy for ever"}
    return reasons.get(status, "makes MLIR crash")


@contextlib.contextmanager
def bounded_reading(size: int) -> Generator[None, None, None]:
    """In the child, bound the time and memory of reading `size` bytes (where the operating system can do that)."""
    try:
        import resource
    except ImportError:
        resource = None
    if resource is None or not is_isolated():
        yield
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(usage.ru_utime + usage.ru_stime) + _CPU_SECONDS + _CPU_SECONDS_PER_MEGABYTE * (size >> 20)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    limits = {resource.RLIMIT_CPU: seconds}
    with contextlib.suppress(OSError):  # Linux alone says how much there is
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + _BYTES + _BYTES_PER_BYTE * size
    old = {kind: resource.getrlimit(kind) for kind in limits}
    for kind, limit in limits.items():
        hard = old[kind][1]
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    try:
        yield
    finally:
        for kind, limit in old.items():
            resource.setrlimit(kind, limit)
