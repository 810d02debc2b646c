"""Forward programs in every precision, which arguments are weights, and weights from checkpoints."""

import pathlib
import re

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from scalify_hlo.tools import calibrate, compare, pack, scalify_opt

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.signature import TensorSpec, entry_signature
from scalify_hlo.io.scales_file import read_scales
from scalify_hlo.serving.checkpoints import read_checkpoint
from scalify_hlo.serving.tensors import match, read_tensors

RNG = np.random.default_rng(1)
SHAPES = {"up": (16, 32), "bias": (32,), "down": (32, 16), "out": (16, 16)}
# Beyond f16 and below it: what a precision without scales could not hold.
SIZES = {"up": 2.0**18, "bias": 1.0, "down": 2.0**-30, "out": 1.0}


def model(params: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    h = jnp.tanh(x @ (params["up"] * 2.0**-20) + params["bias"])
    return jnp.tanh((h @ params["down"]) * 2.0**30) @ params["out"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("presets")
    params = {name: np.float32(RNG.standard_normal(shape) * SIZES[name]) for name, shape in SHAPES.items()}
    x = np.float32(RNG.standard_normal((4, 16)))
    (path / "model.mlir").write_text(jax.export.export(jax.jit(model))(params, x).mlir_module())
    np.savez(path / "weights.npz", **{f"params.{name}": value for name, value in params.items()})
    np.savez(path / "batch.npz", x=x)
    return path


def run(command: object, *arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(command, [str(each) for each in arguments])  # type: ignore[arg-type]
    assert done.exit_code == status, done.output
    return done.output


def calibrated(folder: pathlib.Path, out: pathlib.Path, *options: str) -> pathlib.Path:
    inputs = ("--inputs", folder / "batch.npz", "--weights", folder / "weights.npz")
    run(calibrate.main, folder / "model.mlir", *inputs, *options, "-o", out / "scales.json")
    return out / "scales.json"


def types(path: pathlib.Path) -> dict[str, str]:
    arguments = entry_signature(ir.Module.parse(path.read_text(), context=make_context())).arguments
    return {spec.name: spec.element_type for spec in arguments}


@pytest.mark.parametrize(
    ("precision", "stored", "error"),
    [("f32", "f32", 1e-5), ("bf16", "bf16", 0.02), ("fp16", "f16", 2e-3), ("fp8", "f8E4M3FN", 0.15)],
)
def test_the_whole_path(
    folder: pathlib.Path, tmp_path: pathlib.Path, precision: str, stored: str, error: float
) -> None:
    """Weights are stored in the type that they are computed with; f32 ones are plain values, as in the original."""
    scales = calibrated(folder, tmp_path, f"--precision={precision}")
    served = tmp_path / "served.mlir"
    run(scalify_opt.main, folder / "model.mlir", f"--precision={precision}", f"--pin-scales={scales}", "-o", served)
    assert types(served) == dict.fromkeys(("params['bias']", "x"), "f32") | {
        f"params['{name}']": stored for name in ("up", "down", "out")
    }
    assert ("scalify.scale" in served.read_text()) == (stored != "f32")
    line = run(pack.main, served, folder / "weights.npz", "-o", tmp_path / "packed.npz")
    assert "clamped" not in line
    packed = read_tensors(str(tmp_path / "packed.npz"))
    largest = np.abs(packed["params['up']"].astype(np.float64)).max()
    assert largest > 2.0**18 if stored == "f32" else largest < 32
    table = run(
        compare.main, folder / "model.mlir", served, "--inputs", folder / "batch.npz",
        "--weights", folder / "weights.npz",
    )  # fmt: skip
    found = re.search(r"result +served +(\S+)|served +(\S+)", table)
    assert found and float(found[1] or found[2]) < error


def test_scales_of_another_precision_are_refused(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    scales = calibrated(folder, tmp_path, "--precision=fp8")
    output = run(scalify_opt.main, folder / "model.mlir", "--precision=fp16", f"--pin-scales={scales}", status=1)
    assert "scales.json: error: these scales were calibrated for --precision='fp8', not 'fp16'" in output


def test_a_scale_that_does_not_suit_is_told_of(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = calibrated(folder, tmp_path, "--precision=fp16")
    scales = read_scales(str(path))
    scales.arguments["x"] = np.float32(2.0**20)
    scales.arguments["params['up']"] = np.float32(2.0**-4)
    path.write_bytes(scales.to_json())
    pinned = ("--precision=fp16", f"--pin-scales={path}", "-o", tmp_path / "served.mlir")
    output = run(scalify_opt.main, folder / "model.mlir", *pinned)
    warnings = [line for line in output.splitlines() if "warning" in line]
    assert len(warnings) == 2
    assert "scale of argument 'params['up']' is 0.0625" in warnings[0] and "leave the range of f16" in warnings[0]
    assert "scale of argument 'x' is 1.04858e+06: most elements are below the range of f16" in warnings[1]


def test_patterns_name_the_weights_and_vectors_stay_in_f32(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    named = ("--precision=fp8", "--weights=params*n")
    scales = calibrated(folder, tmp_path, *named)
    served = tmp_path / "served.mlir"
    run(scalify_opt.main, folder / "model.mlir", *named, f"--pin-scales={scales}", "-o", served)
    assert [name for name, element in types(served).items() if element == "f8E4M3FN"] == ["params['down']"]
    every = ("--precision=fp8", "--weights=params*")
    run(scalify_opt.main, folder / "model.mlir", *every, f"--pin-scales={scales}", "-o", served)
    assert types(served)["params['bias']"] == "f32" and types(served)["params['up']"] == "f8E4M3FN"
    output = run(scalify_opt.main, folder / "model.mlir", "--weights=params*", status=2)
    assert "give --precision as well" in output
    output = run(scalify_opt.main, folder / "model.mlir", "--precision=fp8", "--weights=theta*", status=1)
    assert "'theta*' of parameter-names (or --weights) matches no argument" in output


def test_arrays_belong_to_keys_with_brackets_and_others_are_told_where() -> None:
    """Names of an Equinox model's leaves as keys of a dictionary."""
    specs = [TensorSpec(name, (2, 3), "f32") for name in ("w['.layers[0].weight']", "w['.layers[1].weight']")]
    array = np.zeros((2, 3), np.float32)
    assert match(specs, {".layers[1].weight": array}, "w.npz") == {1: ".layers[1].weight"}
    with pytest.raises(ScalifyError, match=r"'v' belongs to no argument; of its shape, \[2, 3\], are w\['.layers"):
        match(specs, {"v": array}, "w.npz")
    with pytest.raises(ScalifyError, match=r"'v' belongs to no argument; there are w\['.layers"):
        match(specs, {"v": array[0]}, "w.npz")


# --- checkpoints --------------------------------------------------------------------------------------------------


def test_an_orbax_checkpoint_is_packed(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """A training state: what belongs to no argument is left out."""
    orbax = pytest.importorskip("orbax.checkpoint", reason="needs orbax")
    params = {name.removeprefix("params."): value for name, value in read_tensors(str(folder / "weights.npz")).items()}
    state = {"params": params, "moments": {"mu": params}, "step": 3, "nothing": None}
    with orbax.CheckpointManager(tmp_path / "run") as manager:
        manager.save(7, args=orbax.args.StandardSave(state))
    step = tmp_path / "run" / "7"
    scales = calibrated(folder, tmp_path, "--precision=fp8")
    served = tmp_path / "served.mlir"
    run(scalify_opt.main, folder / "model.mlir", "--precision=fp8", f"--pin-scales={scales}", "-o", served)
    run(pack.main, served, folder / "weights.npz", "-o", tmp_path / "of_npz.npz")
    output = run(pack.main, served, step, "-o", tmp_path / "of_orbax.npz")
    assert "5 arrays belong to no argument and were left out" in output
    one, other = (read_tensors(str(tmp_path / f"of_{kind}.npz")) for kind in ("npz", "orbax"))
    assert one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)
    shared = ("--inputs", folder / "batch.npz", "--weights", step)
    run(calibrate.main, folder / "model.mlir", *shared, "--precision=fp8", "-o", tmp_path / "again.json")
    assert read_scales(str(tmp_path / "again.json")).arguments == read_scales(str(scales)).arguments
    with pytest.raises(ScalifyError, match=re.escape(f"give that of one, such as {step}")):
        read_checkpoint(str(tmp_path / "run"))
    (step / "default" / "manifest.ocdbt").write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(ScalifyError, match=r"cannot read '.*' of this orbax checkpoint: ") as error:
        read_checkpoint(str(step))
    assert "\n" not in str(error.value)


def test_a_folder_that_is_no_checkpoint(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ScalifyError, match="no orbax checkpoint: it has no _METADATA"):
        read_checkpoint(str(tmp_path))
    (tmp_path / "_METADATA").write_text('{"tree_metadata": {"w": 3}}')
    with pytest.raises(ScalifyError, match="not the metadata of an orbax checkpoint: TypeError"):
        read_checkpoint(str(tmp_path))
    (tmp_path / "_METADATA").unlink()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "_METADATA").write_text("{}")
    with pytest.raises(ScalifyError, match="more than one tree: give the folder of one"):
        read_checkpoint(str(tmp_path))
