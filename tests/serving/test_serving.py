"""From an exported model to a served FP8 module: calibrate, pin, pack, compare."""

import dataclasses
import json
import pathlib
import re

import click
import jax
import jax.export
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from scalify_hlo.tools import calibrate, compare, pack, scalify_opt

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.signature import TensorSpec, entry_signature
from scalify_hlo.io.globs import dotted
from scalify_hlo.io.scales_file import TensorStatistics, read_scales
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.serving import packed_arguments, pin_exported
from scalify_hlo.serving.calibration import Calibration, exponent, statistics_of
from scalify_hlo.serving.comparison import compare as losses
from scalify_hlo.serving.comparison import loss_table
from scalify_hlo.serving.error_sources import error_sources
from scalify_hlo.serving.packing import pack as packed_weights
from scalify_hlo.serving.packing import unpack
from scalify_hlo.serving.tensors import match, read_tensors, read_with_metadata, tensor_bytes

RNG = np.random.default_rng(0)
VOCABULARY, WIDTH, LENGTH = 64, 32, 8


def model(params: dict[str, jax.Array], tokens: jax.Array, image: jax.Array) -> jax.Array:
    """One attention block over tokens and a projected image, and a head."""
    h = params["embedding"][tokens] + image @ params["project"]
    n = h / jnp.sqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-6)
    q, k, v = (n @ params[name] for name in ("q", "k", "v"))
    h = h + jax.nn.softmax(q @ k.T / WIDTH**0.5) @ v @ params["o"]
    h = h + jax.nn.gelu(h @ params["up"]) @ params["down"]
    return h @ params["head"]


def weights() -> dict[str, Array]:
    d, v = WIDTH, VOCABULARY
    shapes = {"embedding": (v, d), "project": (12, d), "q": (d, d), "k": (d, d), "v": (d, d), "o": (d, d),
              "up": (d, 4 * d), "down": (4 * d, d), "head": (d, v)}  # fmt: skip
    return {name: np.float32(RNG.standard_normal(shape) / shape[0] ** 0.5) for name, shape in shapes.items()}


def batch() -> dict[str, Array]:
    return {
        "tokens": RNG.integers(0, VOCABULARY, LENGTH).astype(np.int32),
        "image": np.float32(RNG.standard_normal((LENGTH, 12)) * 300),  # images of bytes are far from unit size
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with an exported model, its weights and three batches."""
    path = tmp_path_factory.mktemp("serving")
    params = weights()
    exported = jax.export.export(jax.jit(model))(params, **batch())
    (path / "model.mlir").write_text(exported.mlir_module())
    np.savez(path / "weights.npz", **{f"params.{name}": value for name, value in params.items()})
    (path / "batches").mkdir()
    for i in range(3):
        np.savez(path / "batches" / f"{i}.npz", **batch())
    return path


def run(command: click.Command, *arguments: object) -> str:
    done = CliRunner().invoke(command, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def fails(command: click.Command, *arguments: object) -> str:
    done = CliRunner().invoke(command, [str(each) for each in arguments])
    assert done.exit_code == 1, done.output
    return done.output


@pytest.fixture(scope="module")
def served(folder: pathlib.Path) -> pathlib.Path:
    shared = ("--inputs", folder / "batches", "--weights", folder / "weights.npz")
    run(calibrate.main, folder / "model.mlir", *shared, "--precision=fp8", "-o", folder / "scales.json")
    run(
        scalify_opt.main, folder / "model.mlir", "--precision=fp8", f"--pin-scales={folder / 'scales.json'}",
        "-o", folder / "served.mlir",
    )  # fmt: skip
    return folder / "served.mlir"


def test_the_served_module_has_fp8_weights_products_and_no_scale_arithmetic(served: pathlib.Path) -> None:
    text = served.read_text()
    with make_context():
        arguments = entry_signature(ir.Module.parse(text)).arguments
    assert {spec.element_type for spec in arguments} == {"f8E4M3FN", "f32", "i32"}
    assert sum(spec.element_type == "f8E4M3FN" for spec in arguments) == len(weights())
    products = [line for line in text.splitlines() if "dot_general" in line]
    # The head is left, with its weights stored in FP8, and so are attention's two, over 8 tokens.
    assert sum(len(re.findall(r"xf8E4M3FN>", line)) == 2 for line in products) == 7 and len(products) == 10
    scalars = [line for line in text.splitlines() if line.strip().endswith(": tensor<f32>")]
    assert [line for line in scalars if not re.search("stablehlo.constant|return|reduce", line)] == []


def test_weights_are_packed_to_half_of_bf16_and_come_back(folder: pathlib.Path, served: pathlib.Path) -> None:
    line = run(pack.main, served, folder / "weights.npz", "-o", folder / "packed.safetensors")
    before, after = (int(number.replace(",", "")) for number in re.findall(r"([\d,]+) (?:bytes|packed)", line))
    assert after <= before / 2 + 4 * len(weights())
    run(pack.main, served, folder / "packed.safetensors", "--unpack", "-o", folder / "values.npz")
    values = read_tensors(str(folder / "values.npz"))
    for name, value in read_tensors(str(folder / "weights.npz")).items():
        back = values[f"params['{name.removeprefix('params.')}']"]
        assert np.abs(back - value).max() <= 2.0**-4 * np.abs(value).max()


def test_what_is_lost_is_what_fp8_loses(folder: pathlib.Path, served: pathlib.Path) -> None:
    output = run(
        compare.main, folder / "model.mlir", served, "--inputs", folder / "batches", "--weights", folder / "weights.npz"
    )
    rows = [re.split(r"\s{2,}", line) for line in output.splitlines() if line.startswith("result  ")]
    errors = {form: float(error) for _, form, error, *_ in rows[1:]}
    assert errors["as written"] < 1e-5 < errors["cast to f16"] < errors["cast to bf16"] < errors["served"] < 0.1


def test_each_tensor_s_error_and_what_it_adds(folder: pathlib.Path, served: pathlib.Path) -> None:
    """Weights and FP8 products add what rounding to E4M3 does; additions and transposes add nothing."""
    original = ir.Module.parse((folder / "model.mlir").read_text(), context=make_context())
    names = [spec.name for spec in entry_signature(original).arguments]
    arrays = {**read_tensors(str(folder / "weights.npz")), **read_tensors(str(folder / "batches" / "0.npz"))}
    known = {dotted(name): array for name, array in arrays.items()}
    found = error_sources(original, str(folder / "scales.json"), [[known[dotted(name)] for name in names]])
    by_name = {each.name.split(" tensor")[0]: each for each in found}
    for name in weights():
        each = by_name[f"argument params['{name}']"]
        assert 0.015 < each.error < 0.04 and each.operands == 0
    products = [each for each in found if each.name.startswith("dot_general")]
    assert len(products) == 10 and all("test_serving.py" in each.name for each in products)
    assert 0.01 < products[0].added < 0.05 and products[-1].error < 0.2
    moved = [each for each in found if each.name.startswith("transpose")]
    assert moved and all(each.added < 0.01 for each in moved)
    table = run(
        compare.main, folder / "model.mlir", served, "--inputs", folder / "batches", "--weights",
        folder / "weights.npz", "--scales", folder / "scales.json", "--tensors=3",
    )  # fmt: skip
    last = table.strip().splitlines()[-4:]
    assert last[0].split() == ["error", "of", "operands", "added", "tensor"] and "tensor<" in last[1]


def test_calibration_goes_on_where_it_stopped(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shared = ("--weights", folder / "weights.npz", "--precision=fp8", "-o", tmp_path / "scales.json")
    files = sorted((folder / "batches").iterdir())
    run(calibrate.main, folder / "model.mlir", "--inputs", folder / "batches", *shared)
    whole = json.loads((tmp_path / "scales.json").read_text())
    stopped = dict(whole, batches=1)
    stopped["statistics"] = {k: v for k, v in whole["statistics"].items() if k in whole["arguments"]}
    (tmp_path / "scales.json").write_text(json.dumps(stopped))
    run(calibrate.main, folder / "model.mlir", "--inputs", folder / "batches", *shared, "--resume")
    resumed = json.loads((tmp_path / "scales.json").read_text())
    assert resumed["batches"] == len(files) and resumed["arguments"] == whole["arguments"]
    seen = {name: each["elements"] for name, each in resumed["statistics"].items() if name not in whole["arguments"]}
    assert seen == {name: whole["statistics"][name]["elements"] * 2 // 3 for name in seen} and seen
    again = ("--inputs", folder / "batches", *shared, "--resume", "--method=amax")
    output = fails(calibrate.main, folder / "model.mlir", *again)
    assert "the scales to go on from have another method" in output


def test_operands_far_from_unit_size_are_divided_first() -> None:
    """Activations that the rules take for 2^8 smaller than they are saturate E4M3 unless they are measured."""

    def one_signed(w: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        h = x
        for _ in range(3):  # sums of 64 terms of one sign, which no rule knows
            h = h @ jnp.abs(w["a"])
        return jnp.tanh(h @ w["b"]) @ w["c"]

    generator = np.random.default_rng(0)  # its own: the values must not depend on which tests ran before
    w = {name: np.float32(generator.standard_normal((64, 64)) / 8) for name in "abc"}
    x = np.float32(generator.uniform(1, 2, (8, 64)))
    x[0] *= 100  # and of one row most
    text = jax.export.export(jax.jit(one_signed))(w, x).mlir_module()
    module = ir.Module.parse(text, context=make_context())
    calibration = Calibration(module, "fp8")
    names = [spec.name for spec in calibration.signature.arguments]
    arrays = [x if name == "x" else w[name[3]] for name in names]
    calibration.arguments([arrays])
    calibration.operands([arrays])
    found = calibration.scales.statistics
    far = [name for name in calibration.scales.operands if found[name].amax > 448]
    assert far and all(found[name].amax / calibration.scales.operands[name] <= 448 for name in far)


def test_what_calibration_measured_is_not_measured_at_run_time(tmp_path: pathlib.Path) -> None:
    """x (x^T x) looks like a backward pass, whose gradients the preset measures, where no names say otherwise."""

    def program(w: jax.Array, x: jax.Array) -> jax.Array:
        h = x @ w
        return h + jnp.tanh(h) @ (x.T @ h)

    arrays = [np.float32(RNG.standard_normal(shape)) for shape in ((8, 8), (6, 8))]
    text = jax.export.export(jax.jit(program))(*arrays).mlir_module()
    text = re.sub(r" loc\(.*?\)|^#loc.*$", "", text, flags=re.MULTILINE)
    rewritten = ir.Module.parse(text, context=make_context())
    precision_pipeline("fp8").run(rewritten, [])
    assert "stablehlo.sqrt" in str(rewritten)
    calibration = Calibration(ir.Module.parse(text, context=make_context()), "fp8")
    calibration.arguments([arrays])
    calibration.operands([arrays])
    assert calibration.scales.rescales
    path = tmp_path / "scales.json"
    path.write_bytes(calibration.scales.to_json())
    pinned = ir.Module.parse(text, context=make_context())
    precision_pipeline("fp8", pin_scales=str(path)).run(pinned, [])
    assert "stablehlo.sqrt" not in str(pinned) and "scalify.measured" not in str(pinned)
    for name, number, message in (("rescale.9", 1.0, "there is no factor 'rescale.9'"), ("rescale.0", 3.0, "is 3.0")):
        calibration.scales.rescales[name] = number
        path.write_bytes(calibration.scales.to_json())
        with pytest.raises(ScalifyError, match=message):
            precision_pipeline("fp8", pin_scales=str(path)).run(ir.Module.parse(text, context=make_context()), [])


def test_state_comes_out_at_the_scale_that_it_goes_in_with(tmp_path: pathlib.Path) -> None:
    """A training step is pinned as well: its state is data only."""

    def step(w: dict[str, jax.Array], x: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
        def loss(w: dict[str, jax.Array]) -> jax.Array:
            return jnp.mean(jnp.tanh(x @ w["a"]) @ w["b"]) ** 2

        value, gradient = jax.value_and_grad(loss)(w)
        return jax.tree.map(lambda p, g: p - 0.125 * g, w, gradient), value

    w = {name: np.float32(RNG.standard_normal((16, 16)) * 2.0**-5) for name in "ab"}
    x = np.float32(RNG.standard_normal((8, 16)))
    exported = jax.export.export(jax.jit(step))(w, x)
    (tmp_path / "step.bin").write_bytes(exported.serialize())
    np.savez(tmp_path / "inputs.npz", **{"w.a": w["a"], "w.b": w["b"], "x": x})
    scales = tmp_path / "scales.json"
    inputs = ("--inputs", tmp_path / "inputs.npz")
    run(calibrate.main, tmp_path / "step.bin", *inputs, "--precision=fp16-state", "-o", scales)
    found = read_scales(str(scales))
    assert {name: float(scale) for name, scale in found.results.items()} == {
        f"result[0]['{name}']": float(found.arguments[f"w['{name}']"]) for name in "ab"
    }
    run(
        scalify_opt.main, tmp_path / "step.bin", "--precision=fp16-state", f"--pin-scales={scales}", "--emit=text",
        "-o", tmp_path / "pinned.mlir",
    )  # fmt: skip
    from scalify_hlo.execution import xla

    pinned = (tmp_path / "pinned.mlir").read_text()
    types = [spec.element_type for spec in entry_signature(ir.Module.parse(pinned, context=make_context())).results]
    assert types == ["f16", "f16", "f32"]
    data = [(w[name] / found.arguments[f"w['{name}']"]).astype(np.float16) for name in "ab"]
    got = xla.compile(pinned)([*data, x])
    want, _ = step({name: jnp.asarray(value) for name, value in w.items()}, jnp.asarray(x))
    for name, new in zip("ab", got, strict=False):
        np.testing.assert_allclose(new * found.arguments[f"w['{name}']"], want[name], atol=2.0**-14)


def test_an_exported_stays_one_that_is_called_with_its_trees(folder: pathlib.Path, served: pathlib.Path) -> None:
    params, inputs = weights(), batch()
    exported = jax.export.export(jax.jit(model))(params, **inputs)
    pinned = pin_exported(exported, str(folder / "scales.json"), precision="fp8")
    loaded = jax.export.deserialize(pinned.serialize())
    assert loaded.in_tree == exported.in_tree and loaded.out_tree == exported.out_tree
    module = ir.Module.parse(served.read_text(), context=make_context())
    packed = packed_weights(module, params).tensors
    data = {name: packed[f"params['{name}']"] for name in params}
    got, want = np.asarray(loaded.call(data, **inputs)), np.asarray(model(params, **inputs))
    assert data["q"].dtype == ml_dtypes.float8_e4m3fn and got.dtype == np.float32
    assert np.linalg.norm(got - want) < 0.1 * np.linalg.norm(want)
    with pytest.raises(ValueError, match=r"no VJP|VJP"):
        loaded.vjp()


# --- numbers ------------------------------------------------------------------------------------------------------


def test_packed_weights_take_their_places_in_the_arguments(folder: pathlib.Path, served: pathlib.Path) -> None:
    params = {name.removeprefix("params."): a for name, a in read_tensors(str(folder / "weights.npz")).items()}
    exported = jax.export.export(jax.jit(model))(params, *batch().values())
    pinned = pin_exported(exported, str(folder / "scales.json"), precision="fp8")
    run(pack.main, served, folder / "weights.npz", "-o", folder / "packed.npz")
    packed, tokens, image = packed_arguments(pinned, str(folder / "packed.npz"))
    assert tokens is None and image is None and packed.keys() == params.keys()
    inputs = tuple(batch().values())
    got, want = pinned.call(packed, *inputs), model(params, *inputs)
    assert np.linalg.norm(got - want) < 0.15 * np.linalg.norm(want)
    with pytest.raises(ScalifyError, match=r"is float32.* the argument a .*: pack it"):
        packed_arguments(pinned, str(folder / "weights.npz"))


def test_weights_that_were_packed_for_another_module_are_refused(folder: pathlib.Path, served: pathlib.Path) -> None:
    """Trained on, calibrated and packed again, or transposed: square matrices have the same shape, and were taken."""
    module = ir.Module.parse(served.read_text(), context=make_context())
    values = weights()
    packed = packed_weights(module, values)
    name = "params['q']"
    own = np.asarray(packed.scales[name])
    for changed, message in (
        (
            dataclasses.replace(packed, scales=packed.scales | {name: own * 4}),
            r"'q'\]' is packed at the scale .* takes it at",
        ),
        (
            dataclasses.replace(packed, transposed=frozenset([name])),
            "is packed transposed, the module takes it as it is",
        ),
    ):
        path = str(folder / "other.npz")
        pathlib.Path(path).write_bytes(tensor_bytes(changed.tensors, changed.metadata, path))
        exported = jax.export.export(jax.jit(model))(values, *batch().values())
        pinned = pin_exported(exported, str(folder / "scales.json"), precision="fp8")
        with pytest.raises(ScalifyError, match=message + ".*scalify-pack"):
            packed_arguments(pinned, path)
        given = ("--inputs", folder / "batches", "--weights", folder / "weights.npz", "--packed", path)
        done = CliRunner().invoke(compare.main, [str(x) for x in (folder / "model.mlir", served, *given)])
        assert done.exit_code == 1 and "scalify-pack" in done.output


def test_statistics_of_parts_are_those_of_the_whole() -> None:
    values = np.float32(RNG.standard_normal(1000) * 2.0 ** RNG.integers(-20, 20, 1000))
    values[:10] = 0
    whole = statistics_of(values)
    parts = statistics_of(values[:300]).merged(statistics_of(values[300:]))
    assert parts.histogram == whole.histogram and parts.amax == whole.amax == np.abs(values).max()
    assert parts.elements == 1000 and np.isclose(parts.mean_square, np.mean(values.astype(float) ** 2))


def test_what_the_methods_make_of_an_outlier() -> None:
    values = np.full(100_000, 1.0)
    values[0] = 2.0**20
    found = statistics_of(values)
    assert exponent(found, "amax") == 20 - 8  # 2^20 / 2^12 = 256 <= 448
    assert exponent(found, "percentile") == -8 + 1  # all but one are below 2
    assert exponent(found, "rms") == round(np.log2(np.sqrt(np.mean(values**2))))
    assert exponent(TensorStatistics(), "rms") == 0


def test_packing_clamps_and_says_so(served: pathlib.Path) -> None:
    module = ir.Module.parse(served.read_text(), context=make_context())
    values = weights()
    values["q"][0, 0] = 1e6
    packed = packed_weights(module, values)
    assert packed.saturated == {"params['q']": 1}
    assert np.isfinite(packed.tensors["params['q']"].astype(np.float32)).all()
    back = unpack(packed.tensors, packed.metadata)
    np.testing.assert_allclose(back["params['k']"], values["k"], atol=2.0**-4 * np.abs(values["k"]).max())


def test_the_program_itself_loses_nothing(served: pathlib.Path) -> None:
    module = ir.Module.parse(served.read_text(), context=make_context())
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    other = ir.Module.parse(text, context=make_context())
    with pytest.raises(ScalifyError, match="the served module has other arguments"):
        losses(other, module, [[np.ones(4, np.float32)]])
    (loss,) = [each for each in losses(other, other, [[np.ones(4, np.float32)]]) if each.form == "served"]
    assert loss.error == 0 and loss.cosine == 1 and np.isnan(loss.agreement)


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_files_keep_types_shapes_and_metadata(tmp_path: pathlib.Path, ending: str) -> None:
    tensors = {
        "a": np.ones((2, 3), ml_dtypes.float8_e4m3fn), "b": np.ones(3, ml_dtypes.bfloat16), "c": np.asarray(2.0),
        "d": np.asarray([True, False]),
    }  # fmt: skip
    path = tmp_path / f"tensors.{ending}"
    path.write_bytes(tensor_bytes(tensors, {"scale.a": "0.5"}, str(path)))
    found, metadata = read_with_metadata(str(path))
    assert metadata == {"scale.a": "0.5"} and found.keys() == tensors.keys()
    assert all(found[name].dtype == each.dtype and np.array_equal(found[name], each) for name, each in tensors.items())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.npz", b"PK\x03\x04 damaged", "cannot read this as an .npz file"),
        ("x.safetensors", b"\xff" * 64, "cannot read this as a .safetensors file"),
        ("x.pkl", b"\x80\x04K\x01.", "this is no .npz and no .safetensors file"),
    ],
)
def test_damaged_inputs_get_one_line(folder: pathlib.Path, tmp_path: pathlib.Path, name: str, content: bytes,
                                     message: str) -> None:  # fmt: skip
    (tmp_path / name).write_bytes(content)
    output = fails(calibrate.main, folder / "model.mlir", "--inputs", tmp_path / name, "-o", tmp_path / "scales.json")
    assert output.count("error") == 1 and message in output and not (tmp_path / "scales.json").exists()


def test_a_pickled_array_is_not_read(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.array([{}], dtype=object))
    arguments = ("--inputs", tmp_path / "x.npz", "-o", tmp_path / "scales.json")
    output = fails(calibrate.main, folder / "model.mlir", *arguments)
    assert "cannot read this as an .npz file" in output


def test_inputs_that_do_not_fit_get_a_line_each(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    wrong = {"tokens": np.zeros(3, np.int32), "image": np.zeros((LENGTH, 12), np.int32)}
    np.savez(tmp_path / "x.npz", **wrong, colour=np.zeros(1))
    arguments = (folder / "model.mlir", "--inputs", tmp_path / "x.npz", "-o", tmp_path / "scales.json")
    output = fails(calibrate.main, *arguments, "--weights", folder / "weights.npz")
    assert output.count("\n") == 1 and "array 'colour' belongs to no argument" in output
    np.savez(tmp_path / "x.npz", **wrong)
    output = fails(calibrate.main, *arguments, "--weights", folder / "weights.npz")
    assert output.count("\n") == 2 and "array 'tokens' is int32[3], but argument" in output
    np.savez(tmp_path / "x.npz", tokens=np.zeros(LENGTH, np.int32))
    output = fails(calibrate.main, *arguments)
    assert "no array for argument 0; call it" in output


def _weights(*names: str) -> list[TensorSpec]:
    return [TensorSpec(name, (2 + i,), "f32") for i, name in enumerate(names)]


def test_arrays_of_one_tree_have_the_same_in_front_of_their_names() -> None:
    """`Dense_0.kernel` is that of the model where the blocks have some of that name too, as Flax calls them."""
    arguments = _weights("params['Block_0']['Dense_0']['kernel']", "params['Dense_0']['kernel']", "x")
    tree = {"Block_0.Dense_0.kernel": np.zeros(2), "Dense_0.kernel": np.zeros(3)}
    assert match(arguments, tree, "weights") == {0: "Block_0.Dense_0.kernel", 1: "Dense_0.kernel"}
    with pytest.raises(ScalifyError, match="fits more than one argument"):  # nothing says what is in front of it
        match(arguments, {"Dense_0.kernel": np.zeros(3)}, "weights")


def test_what_a_program_does_not_use_may_stay_in_the_file_of_its_weights() -> None:
    """The counters of a module's random streams, say; not an array that may be meant for an argument without one."""
    arguments = _weights("params['a']", "params['b']")
    tree = {"a": np.zeros(2), "rngs.count": np.zeros(())}
    assert match(arguments, tree, "weights", others="unneeded") == {0: "a"}
    with pytest.raises(ScalifyError, match=r"'rngs.count' belongs to no argument"):
        match(arguments, tree, "weights")
    with pytest.raises(ScalifyError, match=r"'bias' belongs to no argument; of its shape, .3., are params"):
        match(arguments, {"a": np.zeros(2), "bias": np.zeros(3)}, "weights", others="unneeded")


def test_token_ids_are_compared_by_how_many_agree() -> None:
    """A result of integers has no relative error; f16 cannot tell the two largest of these numbers apart."""
    text = """
    func.func @main(%x: tensor<4x32xf32>) -> (tensor<4xi32>, tensor<4x32xf32>) {
      %i = stablehlo.iota dim = 0 : tensor<32x32xi32>
      %j = stablehlo.iota dim = 1 : tensor<32x32xi32>
      %same = stablehlo.compare EQ, %i, %j : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
      %one = stablehlo.convert %same : (tensor<32x32xi1>) -> tensor<32x32xf32>
      %y = stablehlo.dot_general %x, %one, contracting_dims = [1] x [0]
        : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
      %a = stablehlo.slice %y [0:4, 0:1] : (tensor<4x32xf32>) -> tensor<4x1xf32>
      %b = stablehlo.slice %y [0:4, 1:2] : (tensor<4x32xf32>) -> tensor<4x1xf32>
      %less = stablehlo.compare LT, %a, %b : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xi1>
      %k = stablehlo.convert %less : (tensor<4x1xi1>) -> tensor<4x1xi32>
      %id = stablehlo.reshape %k : (tensor<4x1xi32>) -> tensor<4xi32>
      return %id, %x : tensor<4xi32>, tensor<4x32xf32>
    }"""
    program = ir.Module.parse(text, context=make_context())
    x = np.ones((4, 32), np.float32)
    x[:, :2] = [[1, 2], [1, 1 + 2.0**-12], [3, 2], [2, 4]]
    found = {(each.form, each.result): each for each in losses(program, program, [[x]])}
    assert len(found) == 8
    ids = {form: loss for (form, _), loss in found.items() if np.isnan(loss.error)}
    assert {form: loss.agreement for form, loss in ids.items()} == {
        "as written": 1, "cast to bf16": 0.75, "cast to f16": 0.75, "served": 1
    }  # fmt: skip
    row = next(line for line in loss_table(list(ids.values())).splitlines() if "cast to f16" in line)
    assert re.split(r"\s{2,}", row)[2:] == ["-", "-", "75.00%", "-", "yes"]


def test_results_that_are_not_finite_are_not_compared() -> None:
    """NaN beside NaN is no agreement; rows with NaN say nothing of the others."""
    text = "func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> { return %x : tensor<2x4xf32> }"
    program = ir.Module.parse(text, context=make_context())
    unknown = np.full((2, 4), np.nan, np.float32)
    for loss in losses(program, program, [[unknown]]):
        assert np.isnan([loss.error, loss.cosine, loss.agreement, loss.divergence]).all()
    half = np.float32([[np.nan] * 4, [1, 2, 3, -np.inf]])
    for loss in losses(program, program, [[half]]):
        assert (loss.error, loss.agreement, loss.finite) == (0, 1, True)


def test_inputs_that_say_nothing_and_modules_that_are_served_already(
    folder: pathlib.Path, served: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    shared = ("--weights", folder / "weights.npz", "--precision=fp8", "-o", tmp_path / "scales.json")
    np.savez(tmp_path / "nan.npz", **(batch() | {"image": np.full((LENGTH, 12), np.nan, np.float32)}))
    assert f"{tmp_path / 'nan.npz'}: error: no element of argument 'image' is a finite number" in fails(
        calibrate.main, folder / "model.mlir", "--inputs", tmp_path / "nan.npz", *shared
    )
    np.savez(tmp_path / "empty.npz")
    assert "no array for argument" in fails(
        calibrate.main, folder / "model.mlir", "--inputs", tmp_path / "empty.npz", *shared
    )
    inputs = ("--inputs", folder / "batches")
    assert "pinned to scales already" in fails(calibrate.main, served, *inputs, *shared)
    both = (folder / "model.mlir", served, *inputs, "--weights", folder / "weights.npz")
    assert "there is no result 7 for scores; the program has 1" in fails(compare.main, *both, "--scores=7")
    assert "there is no result 7 for scores" in fails(
        calibrate.main, folder / "model.mlir", *inputs, *shared, "--keep-wide=auto", "--scores=7"
    )
    nan = ("--inputs", tmp_path / "nan.npz", "--weights", folder / "weights.npz")
    assert "results is a finite number" in fails(compare.main, folder / "model.mlir", served, *nan)
    assert "the file holds no arrays" in fails(compare.main, *both, "--packed", tmp_path / "empty.npz")
    assert "give the program as written first" in fails(compare.main, served, folder / "model.mlir", *both[2:])


def test_weights_are_packed_once_and_unpacked_where_they_are_packed(
    folder: pathlib.Path, served: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    packed = tmp_path / "packed.npz"
    run(pack.main, served, folder / "weights.npz", "-o", packed)
    assert "packed already" in fails(pack.main, served, packed, "-o", tmp_path / "twice.npz")
    assert "not packed" in fails(pack.main, served, folder / "weights.npz", "--unpack", "-o", tmp_path / "values.npz")
    output = run(pack.main, folder / "model.mlir", folder / "weights.npz", "-o", tmp_path / "plain.npz")
    assert "takes no weight as data at a scale" in output
