"""Running `scalify-opt` inside the test process, and programs for it."""

import atexit
import dataclasses
import functools
import io
import json
import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest
from scalify_hlo.tools.command_line import ToolCommand

from scalify_hlo.bindings import make_context
from scalify_hlo.io.serialization import Program, parse, to_artifact, to_bytecode

PROGRAM = """\
func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0, %n : tensor<4xf32>, tensor<4xi32>
}
"""


@dataclasses.dataclass(frozen=True)
class Result:
    """What a command left: exit status, stdout, stderr."""

    status: int
    output: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.output.decode()

    def error_line(self) -> str:
        """The one line of stderr of a command that failed without output."""
        assert self.status != 0, self
        assert self.output == b""
        assert len(self.lines) == 1, self.stderr
        return self.lines[0]

    @property
    def lines(self) -> list[str]:
        """stderr without source lines and the carets below them."""
        return without_excerpts(self.stderr)


def without_excerpts(stderr: str) -> list[str]:
    """The lines of diagnostics."""
    lines = stderr.splitlines()
    carets = {i for i, line in enumerate(lines) if i and line.strip() == "^"}
    return [line for i, line in enumerate(lines) if i not in carets and i + 1 not in carets]


Run = Callable[..., Result]


def in_process(command: ToolCommand, capture: pytest.CaptureFixture[bytes], arguments: tuple[object, ...]) -> Result:
    with pytest.raises(SystemExit) as exit_:
        command.run([str(each) for each in arguments])
    captured = capture.readouterr()
    status = exit_.value.code
    return Result(status if isinstance(status, int) else 0, captured.out, captured.err.decode())


@pytest.fixture
def opt(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`opt("in.mlir", "--flag", stdin=b"")`: scalify-opt in this process."""
    from scalify_hlo.tools.scalify_opt import main

    def run(*arguments: object, stdin: bytes | str = b"") -> Result:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return in_process(main, capfdbinary, arguments)

    return run


_ROOT = pathlib.Path(__file__).parents[2]
# Starts what the FileCheck tests run their commands in, and keeps it until stdin is closed.
_SERVE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from forked import Server
print(json.dumps(Server([sys.argv[3]], sys.argv[2]).command(sys.argv[3])), flush=True)
sys.stdin.read()
"""


@functools.cache
def _opt_command() -> list[str]:
    """What runs scalify-opt in a process of its own, a fork of one that has imported it and no more."""
    serve = [sys.executable, "-c", _SERVE, _ROOT / "test" / "lit", _ROOT, "scalify_hlo.tools.scalify_opt"]
    process = subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end() -> None:
        with process:
            pass

    atexit.register(end)
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def opt_process(*arguments: object, stdin: bytes | str = b"", timeout: float = 60) -> Result:
    """scalify-opt in a process of its own, as users run it: for input that can end the process."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    command = [*_opt_command(), *map(str, arguments)]
    finished = subprocess.run(command, input=data, capture_output=True, check=False, timeout=timeout)
    return Result(finished.returncode, finished.stdout, finished.stderr.decode())


@pytest.fixture
def program_file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "in.mlir"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="session")
def forms() -> dict[str, bytes]:
    """One program in each form that needs no JAX."""
    text = PROGRAM.encode()
    module = parse(Program(text, "text", "in.mlir"), make_context())
    return {"text": text, "bytecode": to_bytecode(module), "artifact": to_artifact(module)[0]}


@pytest.fixture(scope="session")
def exported() -> bytes:
    """A serialised `jax.export.Exported` of a function with named arguments."""
    import jax
    import jax.export
    import jax.numpy as jnp

    def loss(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        return jnp.sum(x @ params["w"] + params["b"])

    params = {"w": jnp.ones((4, 8)), "b": jnp.ones(8)}
    return bytes(jax.export.export(jax.jit(loss), platforms=["cpu"])(params, jnp.ones((2, 4))).serialize())
