"""`python -m scalify_hlo opt in.mlir` is `scalify-opt in.mlir`, and so for each command.

What it takes to start a command stands here, and no module that takes time to import.
"""

import contextlib
import functools
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

# Command -> module of `scalify_hlo.tools`, and what it does.
COMMANDS = {
    "opt": ("scalify_opt", "rewrite a program"),
    "explain": ("explain", "what becomes of each product, state tensor and tensor, and why"),
    "check": ("scalify_check", "run original and rewritten program and compare every result"),
    "health": ("health", "run a program: how well each tensor uses its type"),
    "cost": ("cost", "kernels, bytes and a roofline on a GPU that is not there"),
    "fp8-lint": ("fp8_lint", "which products become FP8 GEMMs on a GPU that is not there"),
    "calibrate": ("calibrate", "choose scales for serving by sample inputs"),
    "pack": ("pack", "store the weights that a served program takes"),
    "compare": ("compare", "what a served program loses"),
}


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {what}" for name, (_, what) in COMMANDS.items()]
    last = "COMMAND --help tells more; --version, the versions."
    return "\n".join(["Usage: python -m scalify_hlo COMMAND ...", "", *lines, "", last])


def run(command: str, arguments: Sequence[str] | None = None) -> None:
    """Run a command. An interrupt is one line and status 130 from here on, also while modules are imported.

    arguments: those of the process if None.
    """

    def interrupted(*_: Any) -> NoReturn:
        # Not an exception: what is being imported may catch it, or say another thing in its place.
        with contextlib.suppress(OSError):
            os.write(2, f"scalify-{command}: interrupted\n".encode())
        os._exit(130)

    watched = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        if watched:
            signal.signal(signal.SIGINT, interrupted)
    except ValueError:  # not the main thread: interrupts are another's
        watched = False
    try:
        module = importlib.import_module(f"scalify_hlo.tools.{COMMANDS[command][0]}")
    finally:
        if watched:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        module.main(arguments)
    except KeyboardInterrupt:
        interrupted()


# The scripts of pyproject.toml.
opt, explain, check, health, cost, fp8_lint, calibrate, pack, compare = (
    functools.partial(run, command) for command in COMMANDS
)


def main() -> None:
    """Run the command that the first argument names."""
    command, *arguments = sys.argv[1:] or ["--help"]
    if command in ("-h", "--help"):
        print(_overview(), flush=True)
    elif command == "--version":
        print(importlib.import_module("scalify_hlo.tools.command_line").version_text())
    elif command.removeprefix("scalify-") in COMMANDS:
        run(command.removeprefix("scalify-"), arguments)
    else:
        print(f"python -m scalify_hlo: error: there is no command '{command}'\n\n{_overview()}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        # The reader of the output is gone (`| head`): what is left of it goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
