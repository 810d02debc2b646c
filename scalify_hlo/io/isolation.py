"""Commands that run in a child process, so that a crash of MLIR becomes an error message.

MLIR trusts what it reads. A damaged binary can abort the process ("LLVM ERROR: unsupported integer type"), loop for
ever, take all memory, or hold strings that are no UTF-8, on which the Python bindings abort wherever one is touched;
text can ask for the spatial dimension 4000000000, nest brackets deeper than the stack, or spell a literal that the
parser takes to pieces of a type it is not. Which bytes do so cannot be told without reading them. So every command
runs in a child, forked before the first MLIR context is made (a millisecond), and its parent watches.
"""

import atexit
import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from typing import Any, BinaryIO, NoReturn

from scalify_hlo.bindings import context_exists
from scalify_hlo.errors import Diagnostic

# In the child: the descriptor of the file in which it leaves what is to be said if the process ends.
_VARIABLE = "SCALIFY_HLO_ISOLATED"
_CPU_SECONDS = 10
_CPU_SECONDS_PER_MEGABYTE = 2
_BYTES = 4 << 30
_BYTES_PER_BYTE = 500
# The exit statuses of the commands; any other is that of a process that was ended.
_STATUSES = {0, 1, 2, 70, 130}
# What the child exits with when the bindings refuse a string of the module.
NOT_UTF8 = 65
# How long an interrupted child may take to remove its temporary files.
_GRACE_SECONDS = 2.0


def open_closed_streams() -> None:
    """Let descriptors 0 to 2 that the process was started without be ones that refuse, stderr one that swallows.

    The next file that is opened would have the number of one, and what is printed would go there.
    """
    for number, (name, mode) in enumerate((("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, mode)
            os.dup2(descriptor, number)  # which child processes inherit
            if descriptor != number:
                os.close(descriptor)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def is_isolated() -> bool:
    """Whether this process is such a child."""
    return _VARIABLE in os.environ


def isolate(module: str, arguments: Sequence[str], *, debug: bool = False) -> int | None:
    """Go on in a child process: None there, the child's exit status in the process that called.

    module: the one whose `main` the command is, for processes that cannot be forked because MLIR's or JAX's threads
        run in them already; `module.main` is then started on `arguments` in a new interpreter.
    debug: show what a crashed child left on stderr, instead of one line.

    None at once, in the process itself, where the operating system has no fork.
    """
    if not hasattr(os, "fork"):
        return None
    with tempfile.TemporaryFile() as stderr, tempfile.TemporaryFile() as last_words:
        if context_exists() or "jax" in sys.modules:
            child = _start(module, arguments, stderr, last_words)
        else:
            child = _fork(stderr, last_words)
            if child is None:
                return None
        status = _watch(child)
        if status in _STATUSES:
            return status
        if debug:
            stderr.seek(0)
            sys.stderr.write(stderr.read().decode(errors="backslashreplace"))
        last_words.seek(0)
        word = json.loads(last_words.read() or b"{}")
        print(_crash(status, **word), file=sys.stderr)
        return 1


def _start(module: str, arguments: Sequence[str], stderr: BinaryIO, last_words: BinaryIO) -> Callable[[bool], int]:
    """Run `module.main` in a new interpreter. Returns what waits for it: see `_watch`."""
    descriptor, visible = last_words.fileno(), os.dup(2)
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; from scalify_hlo.io.isolation import divide_stderr; "
        f"divide_stderr({visible}); from {module} import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, _VARIABLE: str(descriptor)},
        stderr=stderr,
        pass_fds=[descriptor, visible],
    )
    os.close(visible)

    def wait(end: bool) -> int:
        if end:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(_GRACE_SECONDS)
            process.kill()
        return process.wait()

    return wait


def _fork(stderr: BinaryIO, last_words: BinaryIO) -> Callable[[bool], int] | None:
    """Fork. In the child None, its stderr going to the file; else what waits for it: see `_watch`."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # NumPy's threads are idle and their library minds forks; MLIR and JAX have not started theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        visible = os.dup(2)
        os.dup2(stderr.fileno(), 2)
        divide_stderr(visible)
        os.environ[_VARIABLE] = str(os.dup(last_words.fileno()))
        return None

    def wait(end: bool) -> int:
        if end:
            deadline = time.monotonic() + _GRACE_SECONDS
            while time.monotonic() < deadline:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    return os.waitstatus_to_exitcode(status)
                time.sleep(0.02)
            os.kill(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    return wait


class _Stderr(io.TextIOWrapper):
    """What Python writes to stderr, in its order with what MLIR writes; of the latter `shown` bytes are shown."""

    shown = 0

    def write(self, text: str, /) -> int:
        show_stderr()
        return super().write(text)


def divide_stderr(visible: int) -> None:
    """In the child: Python's stderr goes to the descriptor `visible` at once.

    Descriptor 2, on which MLIR prints what it is asked to, and its stack if it crashes, is a file that is shown before
    Python's next words and at the end, if the process comes to it.
    """
    atexit.register(show_stderr)
    sys.stderr = _Stderr(io.FileIO(visible, "w"), errors="backslashreplace", write_through=True)


def show_stderr() -> None:
    """In the child: show what MLIR has printed so far."""
    if isinstance(sys.stderr, _Stderr):
        while data := os.pread(2, 1 << 16, sys.stderr.shown):
            sys.stderr.shown += len(data)
            sys.stderr.buffer.write(data)


def drop_stderr() -> None:
    """In the child: do not show what MLIR has printed since it was shown last; the caller says it."""
    if isinstance(sys.stderr, _Stderr):
        sys.stderr.shown = os.fstat(2).st_size


def leave(status: int) -> NoReturn:
    """End the process with what it has said. A child ends at once: what it has read may crash MLIR once more."""
    try:
        sys.stdout.flush()
    except OSError:
        # What it did not take was told, and is not tried again at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if is_isolated():
        show_stderr()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _watch(wait: Callable[[bool], int]) -> int:
    """Wait for the child; an interrupt or a request to end reaches it too, and ends it if it is busy in MLIR."""

    def ended(number: int, _frame: Any) -> None:
        wait(True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    old: dict[int, Any] = {}
    with contextlib.suppress(ValueError):  # not the main thread
        for number in (signal.SIGTERM, signal.SIGHUP):
            old[number] = signal.signal(number, ended)
    try:
        return wait(False)
    except KeyboardInterrupt:
        wait(True)
        return 130
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _crash(status: int, what: str = "this input", where: str = "") -> Diagnostic:
    reasons = {NOT_UTF8: "holds strings that are no UTF-8", -getattr(signal, "SIGXCPU", 0): "keeps MLIR busy for ever"}
    return Diagnostic(f"{what} {reasons.get(status, 'makes MLIR crash')} (truncated or damaged?)", where)


@contextlib.contextmanager
def bounded_reading(size: int, what: str, where: str) -> Generator[None, None, None]:
    """In the child, bound the time and memory of reading `size` bytes (where the operating system can do that).

    what, where: what is to be blamed, and its `file:line:col`, if the process ends during the reading or later.
    """
    try:
        import resource
    except ImportError:
        resource = None
    if resource is None or not is_isolated():
        yield
        return
    descriptor = int(os.environ[_VARIABLE])
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps({"what": what, "where": where}).encode(), 0)
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
