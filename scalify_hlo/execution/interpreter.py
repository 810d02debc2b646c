"""The StableHLO reference interpreter: deterministic, no fusion, no re-association, each operation rounded once.

It ends its process on operations that it does not implement (custom calls, rng_bit_generator, cholesky, batch norms),
so it runs in worker processes which are kept for the next call and replaced after a death. An f16 or bf16 dot product
accumulates in that type.
"""

import atexit
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

import scalify_hlo
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.modules import as_module, operations, to_bytecode
from scalify_hlo.execution.worker import receive, send

_OPERATION = re.compile(r"\b((?:stablehlo|chlo|func|mhlo|sdy)\.[a-z_0-9]+)\b")


class InterpreterError(ScalifyError):
    """The interpreter could not evaluate a module.

    operation: the name of the operation it died on, None where it did not say or did not die.
    """

    def __init__(self, diagnostics: Diagnostic, operation: str | None = None):
        self.operation = operation
        super().__init__(diagnostics)


def interpret(
    module: str | bytes | ir.Module, arrays: Sequence[Array], *, timeout_seconds: float = 120.0
) -> list[Array]:
    """Evaluate the entry function of `module` (text, bytecode or ir.Module) on `arrays`.

    Arrays must have the argument's exact shape and dtype (ml_dtypes for bf16 and the f8 types); so have the results.
    The module is not changed. chlo operations are legalised first.

    Raises InterpreterError when an operation is not implemented, when the module does not parse, when the arrays do
    not fit and when the evaluation takes longer than `timeout_seconds`.
    """
    return _pool.interpret(module, arrays, timeout_seconds)


class InterpreterPool:
    """Worker processes, at most `size` at a time, started on demand and kept until `close`. Thread-safe.

    started: how many have been started so far, those that replace dead ones included.
    """

    def __init__(self, size: int):
        self.started = 0
        self._slots = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []

    def interpret(
        self, module: str | bytes | ir.Module, arrays: Sequence[Array], timeout_seconds: float = 120.0
    ) -> list[Array]:
        source = module if isinstance(module, str | bytes) else to_bytecode(module)
        request = (source, [np.asarray(array) for array in arrays])
        with self._slots:
            worker = self._take()
            try:
                status, value = worker.call(request, timeout_seconds)
            except _WorkerError as death:
                raise _explain(death, module) from None
            except BaseException:
                worker.kill()  # its reply would be taken for the next one's
                raise
            with self._lock:
                self._idle.append(worker)  # last in, first out: its cache knows the module
        if status == "error":
            raise InterpreterError(Diagnostic(f"the reference interpreter failed: {value}"))
        return value

    def close(self) -> None:
        """End the idle workers."""
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.kill()

    def _take(self) -> "_Worker":
        with self._lock:
            if self._idle:
                return self._idle.pop()
            self.started += 1
        return _Worker()


class _WorkerError(Exception):
    """message: what it wrote to stderr; timed_out: whether it was killed for taking too long."""

    def __init__(self, message: str, timed_out: bool):
        super().__init__(message)
        self.message = message
        self.timed_out = timed_out


class _Worker:
    def __init__(self) -> None:
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        checkout = str(pathlib.Path(scalify_hlo.__file__).resolve().parent.parent)
        python_path = os.pathsep.join(filter(None, [checkout, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "scalify_hlo.execution.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=os.environ | {"PYTHONPATH": python_path, "JAX_PLATFORMS": "cpu"},
        )
        try:
            receive(self._output)  # "ready"
        except EOFError:
            raise InterpreterError(Diagnostic(f"the interpreter's process does not start: {self._end()}")) from None

    def call(self, request: Any, timeout_seconds: float) -> tuple[str, Any]:
        """Send one request and wait for its reply; raises _WorkerError."""
        timed_out = threading.Event()

        def expire() -> None:
            timed_out.set()
            self._process.kill()

        timer = threading.Timer(timeout_seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            send(self._input, request)
            return receive(self._output)
        except (EOFError, OSError):
            timer.cancel()
            raise _WorkerError(self._end(), timed_out.is_set()) from None
        finally:
            timer.cancel()

    def kill(self) -> None:
        self._process.kill()
        self._end()

    def _end(self) -> str:
        """Reap the process and give what it wrote to stderr."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # unsent bytes of a request that nobody will read
                    stream.close()
        with self._stderr as stderr:
            stderr.seek(0)
            return stderr.read().decode(errors="replace")

    @property
    def _input(self) -> Any:
        return self._process.stdin

    @property
    def _output(self) -> Any:
        return self._process.stdout


def _explain(death: _WorkerError, module: str | bytes | ir.Module) -> InterpreterError:
    """What the process said last, with the operation's name and where the module has it."""
    if death.timed_out:
        return InterpreterError(Diagnostic("the reference interpreter took too long; run a smaller program or XLA:CPU"))
    lines = [line for line in death.message.splitlines() if line.strip()]
    fatal = [line for line in lines if "LLVM ERROR" in line or "Assertion" in line] or lines[-1:]
    said = fatal[-1].removeprefix("LLVM ERROR: ") if fatal else "it said nothing"
    found = _OPERATION.search(said)
    operation = found.group(1) if found else None
    notes = tuple(
        Diagnostic(f"here is a '{operation}'", location, "note") for location in _locations(module, operation)
    )
    what = f"does not implement '{operation}'" if operation else f"ended its process ({said})"
    message = f"the reference interpreter {what}; run this program on XLA:CPU"
    return InterpreterError(Diagnostic(message, notes=notes), operation)


def _locations(module: str | bytes | ir.Module, operation: str | None) -> list[str]:
    """The first few places where the module has this operation."""
    if operation is None:
        return []
    module = as_module(module)
    places = [describe_location(op.location) for op in operations(module) if op.name == operation]
    return places[:4]


_pool = InterpreterPool(size=os.cpu_count() or 1)
atexit.register(_pool.close)
