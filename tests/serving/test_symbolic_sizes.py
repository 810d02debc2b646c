"""Serving a program with symbolic sizes: calibrated with the samples' sizes, pinned with its symbols."""

import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from jax import export
from scalify_hlo.tools import calibrate, compare, pack, scalify_opt

from scalify_hlo.bindings import make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.sizes import with_sizes
from scalify_hlo.io.scales_file import read_scales
from scalify_hlo.io.serialization import parse, recognise
from scalify_hlo.serving.exported import packed_arguments

RNG = np.random.default_rng(0)
PARAMS = {
    "embedding": np.float32(RNG.standard_normal((20, 32))),
    "up": np.float32(RNG.standard_normal((32, 64)) / 6),
    "down": np.float32(RNG.standard_normal((64, 32)) / 8),
    "head": np.float32(RNG.standard_normal((32, 16)) / 6),
}
TOKENS = np.int32(RNG.integers(0, 20, (3, 4)))


def model(params: dict[str, jax.Array], tokens: jax.Array) -> jax.Array:
    """[batch, length] token ids -> [batch, length, 16] scores, with attention over the length."""
    x = params["embedding"][tokens]
    x = x + jax.nn.softmax(x @ x.swapaxes(1, 2) / 32, -1) @ x
    return (x + jnp.tanh(x @ params["up"]) @ params["down"]) @ params["head"]


def exported(*, platforms: Any = None, sizes: str = "b, n") -> export.Exported:
    shape = export.symbolic_shape(sizes) if sizes else TOKENS.shape
    return export.export(jax.jit(model), platforms=platforms)(PARAMS, jax.ShapeDtypeStruct(shape, np.int32))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("symbolic")
    (path / "model.bin").write_bytes(exported().serialize())
    np.savez(path / "weights.npz", **PARAMS)
    np.savez(path / "batch.npz", tokens=TOKENS)
    return path


def run(command: Any, *arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(command, [str(each) for each in arguments])
    assert done.exit_code == status, done.output
    return done.output


@pytest.mark.parametrize(("precision", "most"), [("fp8", 0.1), ("fp16", 2e-3), ("nvfp4", 0.3)])
def test_one_module_is_served_at_any_size(folder: pathlib.Path, tmp_path: pathlib.Path, precision: str, most: float):
    model_path, inputs = folder / "model.bin", ("--inputs", folder / "batch.npz")
    weights, scales, packed = folder / "weights.npz", tmp_path / "scales.json", tmp_path / "packed.npz"
    given = (f"--precision={precision}", "--weights", weights)
    run(calibrate.main, model_path, *given, *inputs, "-o", scales)
    assert set(read_scales(str(scales)).arguments) == {f"params['{name}']" for name in PARAMS}
    for end in ("mlir", "bin"):
        run(scalify_opt.main, model_path, given[0], f"--pin-scales={scales}", "-o", tmp_path / f"served.{end}")
    run(pack.main, tmp_path / "served.mlir", weights, *inputs, "-o", packed)
    shown = run(compare.main, model_path, tmp_path / "served.mlir", "--weights", weights, *inputs, "--packed", packed)
    assert "served" in shown
    served = export.deserialize(bytearray((tmp_path / "served.bin").read_bytes()))
    params, _ = packed_arguments(served, str(packed))
    for shape in ((3, 4), (1, 7)):
        tokens = np.int32(np.random.default_rng(1).integers(0, 20, shape))
        want = np.asarray(model(PARAMS, tokens))
        got = np.asarray(served.call(params, tokens))
        assert np.linalg.norm(got - want) < most * np.linalg.norm(want)


def test_weights_are_packed_without_samples(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    scales, served = tmp_path / "scales.json", tmp_path / "served.mlir"
    inputs = ("--weights", folder / "weights.npz", "--inputs", folder / "batch.npz")
    run(calibrate.main, folder / "model.bin", "--precision=fp8", *inputs, "-o", scales)
    run(scalify_opt.main, folder / "model.bin", "--precision=fp8", f"--pin-scales={scales}", "-o", served)
    assert "4 tensors" in run(pack.main, served, folder / "weights.npz", "-o", tmp_path / "packed.npz")


def test_what_samples_do_not_fit(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    np.savez(tmp_path / "flat.npz", tokens=TOKENS[0])
    np.savez(tmp_path / "none.npz", other=TOKENS)
    for name, words in (
        ("flat", "array 'tokens' has the shape [4], argument 4 is a tensor<?x?xi32>"),
        ("none", "no array for arguments with symbolic sizes: tokens"),
    ):
        given = ("--weights", folder / "weights.npz", "--inputs", tmp_path / f"{name}.npz")
        shown = run(calibrate.main, folder / "model.bin", *given, "-o", tmp_path / "s.json", status=1)
        assert words in shown and not (tmp_path / "s.json").exists()


def _module(program: export.Exported) -> Any:
    return parse(recognise(bytes(program.serialize()), "model.bin"), make_context())


def test_sizes_that_a_program_does_not_take() -> None:
    """A size of 2 * b is even."""
    module = _module(exported(sizes="2*b, n"))
    assert "?" not in str(with_sizes(module, {4: (4, 5)}))
    with pytest.raises(ScalifyError, match=r"does not take arrays of \[3, 5\]; args\[1\].shape = \(2\*b, n\)"):
        with_sizes(module, {4: (3, 5)})


def test_products_of_several_platforms_keep_their_numbers() -> None:
    def either(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.platform_dependent(x, w, cpu=lambda x, w: x @ w, cuda=lambda x, w: 2 * (x @ w))

    shape = jax.ShapeDtypeStruct(export.symbolic_shape("b, 4"), np.float32)
    program = export.export(jax.jit(either), platforms=("cpu", "cuda"))(shape, np.ones((4, 4), np.float32))
    module = _module(program)
    sized = with_sizes(module, {1: (2, 4)})
    assert "?" not in str(sized) and str(sized).count("stablehlo.dot_general") == str(module).count(
        "stablehlo.dot_general"
    )


@pytest.mark.parametrize("name", ["roll", "random", "choice"])
def test_functions_that_are_called_with_several_sizes(name: str) -> None:
    """They were refused: a function that is refined for one size is not for another."""
    functions: dict[str, Callable[[jax.Array], jax.Array]] = {
        "roll": lambda x: jnp.roll(x, 1, 1) + jnp.where(x > 0, x, 0) + jnp.where(x[:, :1] > 0, x[:, :1], 0),
        "random": lambda x: x + jax.random.normal(jax.random.key(0), x.shape),
        "choice": lambda x: jax.random.categorical(jax.random.key(0), x),
    }
    shape = jax.ShapeDtypeStruct(export.symbolic_shape("b, t"), np.float32)
    program = export.export(jax.jit(functions[name]), platforms=("cpu",))(shape)
    x = np.ones((2, 5), np.float32)
    (got,) = xla.compile(with_sizes(_module(program), {0: x.shape}))([x])
    np.testing.assert_allclose(got, program.call(x), rtol=1e-5)


def test_several_platforms_need_no_array_that_says_which(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "model.bin").write_bytes(exported(platforms=("cpu", "cuda"), sizes="").serialize())
    scales, served, packed = (tmp_path / name for name in ("scales.json", "served.mlir", "packed.npz"))
    weights, inputs = folder / "weights.npz", ("--inputs", folder / "batch.npz")
    run(calibrate.main, tmp_path / "model.bin", "--precision=fp8", "--weights", weights, *inputs, "-o", scales)
    run(scalify_opt.main, tmp_path / "model.bin", "--precision=fp8", f"--pin-scales={scales}", "-o", served)
    run(pack.main, served, weights, *inputs, "-o", packed)
    shown = run(compare.main, tmp_path / "model.bin", served, "--weights", weights, *inputs, "--packed", packed)
    error = next(line for line in shown.splitlines() if "served" in line).split()[2]
    assert float(error) < 0.1
