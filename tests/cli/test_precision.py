"""`--precision`: an f32 training step in f16 or FP8 by one flag."""

import collections
import pathlib

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.passes.precision_pipeline import parse_precision, passes_around_scalify, precision_pipeline
from scalify_hlo.passes.state_rescale import StateRescale
from scalify_hlo.precision import PRESETS, PrecisionPolicy
from tests.cli.conftest import Run
from tests.training_programs import forward_text, train_step_text

STEP = "step.mlir"
BAD = [
    ("fp9", "unknown precision 'fp9'; known are f32, bf16, fp16, fp16-state, fp8, fp8-fp16-state"),
    ("fp16 moments=f17", "unknown type 'f17' for moments; known are f32, bf16, f16, f8E4M3FN"),
    ("fp16 moments=f8E5M2", "moments cannot be f8E5M2; it can be f32, bf16, f16"),
    ("fp16 colour=red", "unknown option 'colour'; the options are compute, parameters, gradients"),
    (
        "fp16 parameter-names=weights*",
        "'weights*' of parameter-names (or --weights) matches no argument; names are params[",
    ),
    ("fp16 keep=*nothing*", "keep '*nothing*' matches no operation"),
    ("fp8 target=a100", "NVIDIA A100-SXM4-80GB has no FP8 matrix units: choose fp16-state or another target"),
    ("fp8 target=tpu", "unknown GPU 'tpu'; known are h100, h200"),
]


@pytest.fixture
def program(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / STEP
    path.write_text(train_step_text())
    return path


def test_the_state_and_the_products_have_the_types_of_the_preset(opt: Run, program: pathlib.Path) -> None:
    text = opt(program, "--precision=fp8-fp16-state", "--mlir-print-debuginfo").text
    with make_context():
        arguments = entry_signature(ir.Module.parse(text)).arguments
    types = collections.Counter(
        (spec.name.split("[")[0], spec.element_type) for spec in arguments if spec.role != "scale"
    )
    assert types == {(name, "f16"): 18 for name in ("params", "mu", "nu")} | {("tokens", "i32"): 1, ("lr", "f32"): 1}
    assert "f8E4M3FN" in text and "f8E5M2" in text


@pytest.mark.parametrize(("precision", "message"), BAD, ids=[each[0] for each in BAD])
def test_bad_precision_gets_one_line(opt: Run, tmp_path: pathlib.Path, precision: str, message: str) -> None:
    (tmp_path / STEP).write_text(train_step_text())
    line = opt(tmp_path / STEP, f"--precision={precision}", "-o", tmp_path / "out.mlir").error_line()
    assert message in line and not (tmp_path / "out.mlir").exists()


def test_a_pipeline_excludes_it(opt: Run, program: pathlib.Path) -> None:
    assert "exclude each other" in opt(program, "--precision=fp16", "--cse").error_line()


def test_the_pipeline_is_dumped(opt: Run, program: pathlib.Path) -> None:
    pipeline = opt(program, "--precision=fp8", "--dump-pass-pipeline").stderr.splitlines()[0]
    passes = (
        "scalify-normal-form",
        "scalify-auto-rescale",
        "scalify-state-rescale",
        "scalify-cast",
        "scalify{",
        "scalify-fp8-dots",
    )
    names = [name for name in passes if name in pipeline]
    assert names == sorted(names, key=pipeline.index) and len(names) == 6 and "precision=fp8" in pipeline


def test_a_program_without_backward_pass_stores_its_weights_in_fp8(opt: Run, tmp_path: pathlib.Path) -> None:
    forward = tmp_path / "forward.mlir"
    forward.write_text(forward_text())
    assert "xf16>" in opt(forward, "--precision=fp16", "--emit=text").text
    text = opt(forward, "--precision=fp8", "--mlir-print-debuginfo").text
    with make_context():
        arguments = entry_signature(ir.Module.parse(text)).arguments
    types = collections.Counter((len(spec.shape), spec.element_type) for spec in arguments if spec.role != "scale")
    # Matrices are weights; gains are read once and stay.
    assert types == {(2, "f8E4M3FN"): 14, (1, "f32"): 4, (2, "i32"): 1}


def test_an_exported_keeps_its_signature_in_step() -> None:
    import functools

    import jax
    import jax.export
    import jax.numpy as jnp
    import numpy as np

    from scalify_hlo.io.opt_driver import OptDriver
    from scalify_hlo.io.serialization import Program
    from tests.training_programs import BATCH, LENGTH, parameters, train_step

    tree = parameters(lambda shape: jax.ShapeDtypeStruct(shape, jnp.float32))
    arguments = (
        tree,
        tree,
        tree,
        jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32),
        jax.ShapeDtypeStruct((), jnp.float32),
    )
    exported = jax.export.export(jax.jit(functools.partial(train_step)))(*arguments)
    program = Program(bytes(exported.serialize()), "exported", "step.bin")
    outcome = OptDriver(precision_pipeline("fp16-state")).process(program)
    assert not outcome.failed, outcome.diagnostics
    loaded = jax.export.deserialize(bytearray(outcome.data or b""))
    zeros = jax.tree.map(
        lambda leaf: np.zeros(leaf.shape, leaf.dtype), jax.tree.unflatten(loaded.in_tree, loaded.in_avals)
    )
    state = jax.tree.leaves(loaded.call(*zeros[0]))
    assert [leaf.dtype for leaf in state] == [aval.dtype for aval in loaded.out_avals]
    assert {str(leaf.dtype) for leaf in jax.tree.leaves(zeros[0][0])} == {"float16", "float32"}  # data and scales


# --- the policy ---------------------------------------------------------------------------------------------------


def test_every_preset_is_its_own_text() -> None:
    for name, preset in PRESETS.items():
        assert parse_precision(name) == preset
        before, after = passes_around_scalify(preset)
        rescales = bool(preset.rescaling) or preset.compute == "f16"
        assert len(before) == 2 + rescales + bool(preset.measured_state[0])
        assert len(after) == preset.fp8_products


def test_a_policy_that_is_no_preset_reaches_the_cast() -> None:
    policy = PrecisionPolicy(compute="bf16", parameters="f16", gradients="f32", moments="bf16", keep=("*softmax*",))
    (_, state, cast), _ = passes_around_scalify(policy)
    assert state == StateRescale(kinds=("parameters",))
    chosen = cast.policy()  # type: ignore[attr-defined]
    assert (chosen.compute, chosen.parameters, chosen.gradients, chosen.moments) == ("bf16", "f16", "f32", "bf16")
    assert cast.keep == ("*softmax*",)  # type: ignore[attr-defined]


def test_an_amd_target_takes_its_own_formats() -> None:
    chosen = parse_precision("fp8 target=mi300x")
    _, (dots,) = passes_around_scalify(chosen)
    assert chosen.gradients == "f8E5M2FNUZ" and dots.formats == "fnuz"  # type: ignore[attr-defined]


def test_tensors_are_marked_on_request(opt: Run, program: pathlib.Path) -> None:
    assert "@scalify.tensor" in opt(program, "--mark-tensors", "--emit=text").text
    assert "@scalify.tensor" not in opt(program, "--emit=text").text


def test_expansions_are_recognised_unless_told_not_to(opt: Run, tmp_path: pathlib.Path) -> None:
    import jax
    import jax.numpy as jnp

    path = tmp_path / "digamma.mlir"
    path.write_text(jax.export.export(jax.jit(jax.scipy.special.digamma))(jnp.ones(4)).mlir_module())
    recognised, as_written = (opt(path, *flags, "--emit=text").text for flags in ([], ["--recognise=none"]))
    assert recognised.count("stablehlo.") < as_written.count("stablehlo.")


@pytest.mark.parametrize(("mode", "found"), [("all", True), ("blocks", True), ("expansions", False), ("none", False)])
def test_blocks_are_recognised_unless_told_not_to(opt: Run, tmp_path: pathlib.Path, mode: str, found: bool) -> None:
    import jax
    import jax.numpy as jnp

    path = tmp_path / "softmax.mlir"
    path.write_text(jax.export.export(jax.jit(jax.nn.softmax))(jnp.ones((4, 8))).mlir_module())
    assert ('scalify.block = "softmax"' in opt(path, "--print-rules", f"--recognise={mode}").text) == found


def test_scales_can_be_pinned_without_a_precision(opt: Run, program_file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    scales = tmp_path / "scales.json"
    scales.write_text('{"format": "scalify-scales", "version": 1, "arguments": {"arg0": 4.0}}')
    text = opt(program_file, f"--pin-scales={scales}", "--emit=text").text
    assert "%arg0: tensor<4xf32>" in text and text.count("stablehlo.multiply") == 2  # into data, and back
    assert "pipeline" in opt(program_file, f"--pin-scales={scales}", "--cse").error_line()
    assert "none.json" in opt(program_file, "--pin-scales=none.json").error_line()


def test_weights_that_are_constants_of_an_exported_are_stored_in_fp8(opt: Run, tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(0)
    first, second, x = (np.float32(rng.standard_normal(shape)) for shape in ((32, 64), (64, 32), (16, 32)))

    def served(x: jax.Array) -> jax.Array:
        return jax.nn.gelu(x @ jnp.asarray(first / 6)) @ jnp.asarray(second / 8)

    exported = jax.export.export(jax.jit(served))(x)
    (tmp_path / "served.bin").write_bytes(exported.serialize())
    opt(tmp_path / "served.bin", "--precision=fp8", "-o", tmp_path / "fp8.bin", "--args=none")
    loaded = jax.export.deserialize((tmp_path / "fp8.bin").read_bytes())
    constants = [line for line in loaded.mlir_module().splitlines() if "stablehlo.constant" in line]
    stored = [line for line in constants if "tensor<32x64xf8E4M3FN>" in line or "tensor<64x32xf8E4M3FN>" in line]
    assert len(stored) == 2
    data, scale = (np.float32(each) for each in loaded.call(x))
    wanted = np.asarray(served(x))
    assert np.linalg.norm(data * scale - wanted) < 0.08 * np.linalg.norm(wanted)
