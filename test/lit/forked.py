"""Runs Python commands in forks of a process that has imported them, so that no RUN line waits for JAX to be imported.

`Server` starts that process; `Server.command(module)` is what a shell runs for `python -m module`. As a script this
file is that command, without site-packages: it hands its arguments, environment, folder and standard streams to a fork
of the server, and ends with its exit status.
"""

import json
import os
import socket
import sys

if __name__ != "__main__":  # what the server needs
    import importlib
    import select
    import signal
    import tempfile
    import traceback
    import warnings

_LENGTH = 4  # bytes of a request's length


def main(address: str, module: str, *arguments: str) -> int:
    """Have the server at a socket run a module; its exit status, 128 + n where signal n has ended it."""
    request = json.dumps({"arguments": [module, *arguments], "environment": dict(os.environ)}).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        folder = os.open(".", os.O_RDONLY)
        socket.send_fds(connection, [len(request).to_bytes(_LENGTH, "big")], [0, 1, 2, folder])
        connection.sendall(request)
        answer = connection.recv(_LENGTH)
    if not answer:
        sys.exit(f"{address}: the server has ended")
    return int.from_bytes(answer, "big")


# Ends of pairs of sockets, which are closed when this process ends, however it ends: servers then end too.
_open: list[socket.socket] = []


class Server:
    """A process that has imported modules and runs `main` of them, while the process that has started it lives."""

    def __init__(self, modules: list[str], path: str):
        """path: a folder in which modules are looked for first."""
        self._address = os.path.join(tempfile.mkdtemp(prefix="lit-"), "commands")
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(self._address)
        listening.listen(64)
        mine, its = socket.socketpair()
        if os.fork() == 0:
            mine.close()
            sys.path.insert(0, path)
            try:
                _serve(listening, its, modules)
            finally:
                os.unlink(self._address)
                os.rmdir(os.path.dirname(self._address))
                os._exit(0)
        its.close()
        _open.append(mine)
        listening.close()

    def command(self, module: str, *arguments: str) -> list[str]:
        """The words of a command that runs a module as `python -m` does."""
        return [sys.executable, "-I", "-S", os.path.abspath(__file__), self._address, module, *arguments]


def _serve(listening: socket.socket, parent: socket.socket, modules: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
    for module in modules:
        importlib.import_module(module)
    while True:
        ready, _, _ = select.select([listening, parent], [], [])
        if parent in ready:
            return
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                connection.sendall(_status(connection).to_bytes(_LENGTH, "big"))
            finally:
                os._exit(0)
        connection.close()


def _status(connection: socket.socket) -> int:
    """Run what a connection asks for in another fork, which may abort; its exit status."""
    length, descriptors, _, _ = socket.recv_fds(connection, _LENGTH, 4)
    request = b""
    while len(request) < int.from_bytes(length, "big"):
        request += connection.recv(1 << 16)
    child = os.fork()
    if child == 0:
        connection.close()
        os.fchdir(descriptors[3])
        for number in range(3):
            os.dup2(descriptors[number], number)
        for descriptor in descriptors:
            os.close(descriptor)
        _run(**json.loads(request))
    for descriptor in descriptors:
        os.close(descriptor)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if status >= 0 else 128 - status


def _run(arguments: list[str], environment: dict[str, str]) -> None:
    status = 1
    try:
        os.environ.clear()
        os.environ.update(environment)
        module = importlib.import_module(arguments[0])
        sys.argv = [str(module.__file__), *arguments[1:]]
        status = module.main() or 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # noqa: BLE001 - as at the top of a script
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
