"""Exports that older versions of jax wrote: the same step is the same step, whatever names its operations have.

JAX before 0.7 writes no derivative into the name of an operation that has no name of its own.
"""

import pathlib

import jax.export
import numpy as np
import pytest
from click.testing import CliRunner
from scalify_hlo.tools import scalify_opt
from scalify_hlo.tools.command_line import read_program

from scalify_hlo.analysis.products import matrix_products
from scalify_hlo.analysis.update import find_update
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array
from scalify_hlo.io.serialization import parse

HERE = pathlib.Path(__file__).parent
STEPS = sorted(HERE.glob("step-*.bin")) + sorted(HERE.glob("devices-*.bin"))
RNG = np.random.default_rng(0)


def read(path: pathlib.Path) -> ir.Module:
    return parse(read_program(str(path)), make_context())


def run(*arguments: object) -> str:
    done = CliRunner().invoke(scalify_opt.main, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def too_old(path: pathlib.Path) -> bool:
    """Whether this jax writes nothing back into an export as old as that, since it does not read it."""
    try:
        jax.export.deserialize(bytearray(path.read_bytes()))
    except ValueError as error:
        return "older than" in str(error)
    return False


def form(path: pathlib.Path) -> list[str]:
    return ["--emit=artifact"] if too_old(path) else []


def test_what_jax_reads_no_more_is_said_in_one_line_with_what_to_do(tmp_path: pathlib.Path) -> None:
    old = [path for path in HERE.glob("forward-*.bin") if too_old(path)]
    if not old:
        pytest.skip("this jax reads all of them")
    done = CliRunner().invoke(scalify_opt.main, [str(old[0]), "-o", str(tmp_path / "out.bin")])
    assert done.exit_code == 1 and not (tmp_path / "out.bin").exists()
    (line,) = done.output.strip().splitlines()
    assert "reads none that is as old as this; export the program again" in line and "--emit=artifact" in line


def test_versions() -> None:
    assert len({path.stem.split("-")[1] for path in STEPS}) >= 4


@pytest.mark.parametrize("path", STEPS, ids=lambda path: path.stem)
def test_a_training_step(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    module = read(path)
    with module.context:
        kinds = [product.kind for product in matrix_products(module)]
        assert kinds == ["forward"] * 2 + ["backward"] * 3
        region = find_update(module, "main")
        assert (len(region.parameters), len(region.moments), region.trains) == (3, 3, True)
    said = run(path, "--precision=fp8-fp16-state", "--emit=artifact", "-o", tmp_path / "out.bin")
    assert "4 rescales (1 logits, 3 gradients)" in said
    assert "3 parameters (1056 elements) in f16, 3 moments (1056 elements) in f16" in said
    assert (
        "0 matrix products converted to FP8, 5 left (3: head (convert with head=true), 2: of what the step is given"
        in said
    )


@pytest.mark.parametrize("path", sorted(HERE.glob("forward-*.bin")), ids=lambda path: path.stem)
def test_a_forward_program(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    module = read(path)
    with module.context:
        region = find_update(module, "main")
        assert not region.trains and not region.state
    said = run(path, "--precision=fp8", *form(path), "-o", tmp_path / "out.bin")
    assert "2 weights (512 elements)" in said


@pytest.mark.parametrize("path", sorted(HERE.glob("step-*.bin")), ids=lambda path: path.stem)
def test_the_rewritten_step_computes_the_same(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    arrays = [0.2 * draw(*shape) for shape in ((32,), (16, 32), (32, 16)) * 2] + [draw(64, 16) for _ in range(2)]
    want = xla.compile(read(path))(arrays)
    run(path, "--args=none", "--plain-results", *form(path), "-o", tmp_path / "out.bin")
    for a, b in zip(xla.compile(read(tmp_path / "out.bin"))(arrays), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def draw(*shape: int) -> Array:
    return np.asarray(RNG.standard_normal(shape), np.float32)
