"""Reading inputs and writing outputs, `-` being stdin and stdout; an output file is complete or not there."""

import contextlib
import errno
import os
import sys
import tempfile

from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.io.isolation import show_stderr

STANDARD_STREAM = "-"


def display_name(path: str) -> str:
    """How an input is named in diagnostics and to MLIR."""
    return "<stdin>" if path == STANDARD_STREAM else printable(path)


def printable(text: str) -> str:
    """A text of a command line with the bytes written out that are no UTF-8: MLIR takes nothing else."""
    return text.encode(errors="backslashreplace").decode()


def read_input(path: str) -> bytes:
    """The content of a file, or of stdin for "-". Raises ScalifyError."""
    try:
        if path == STANDARD_STREAM:
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise _file_error(path, "read", error) from None


def is_stream(path: str) -> bool:
    """Whether `path` gives its content only once: stdin, a pipe."""
    return path == STANDARD_STREAM or (os.path.exists(path) and not os.path.isfile(path))


def check_output(path: str) -> None:
    """Raise ScalifyError where `write_output` could not write a file: before work whose result would be lost."""
    if os.path.isdir(path):
        raise _file_error(path, "write", IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
    if is_stream(path):
        return
    folder = os.path.dirname(os.path.realpath(path))
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _file_error(path, "write", error) from None


def write_output(path: str, data: bytes) -> None:
    """Write a file atomically, or stdout for "-". Raises ScalifyError; then the old file, if any, is untouched.

    A regular file is written beside its destination and renamed onto it. A device or a pipe is written to.
    """
    try:
        if path == STANDARD_STREAM:
            show_stderr()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        elif is_stream(path):
            with open(path, "wb") as file:
                file.write(data)
        else:
            _replace_file(os.path.realpath(path), data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _file_error(path, "write", error) from None


def _replace_file(path: str, data: bytes) -> None:
    """Write `data` to a temporary file of the same folder, then rename it to `path`."""
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=f".{os.path.basename(path)}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(path: str) -> int:
    """The permission bits of the file that is replaced; for a new file those that `open` would give."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _file_error(path: str, action: str, error: OSError) -> ScalifyError:
    reason = error.strerror or str(error)
    name = "<stdout>" if path == STANDARD_STREAM and action == "write" else display_name(path)
    return ScalifyError(Diagnostic(f"cannot {action} this file: {reason}", f"{name}:1:1"))
