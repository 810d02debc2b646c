"""Weights that calibration leaves in the wide type: which, how many, and what becomes of the served program."""

import itertools
import json
import pathlib
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from scalify_hlo.tools import calibrate, compare, pack, scalify_opt

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.serving.calibration import Calibration
from scalify_hlo.serving.comparison import compare as losses
from scalify_hlo.serving.keep_wide import Budget, Kept, expected_agreement, keep_wide, parse_budget

RNG = np.random.default_rng(0)
D, ROWS = 32, 64


def normal(*shape: int) -> Array:
    return np.asarray(RNG.standard_normal(shape) / shape[-2] ** 0.5, np.float32)


# What `large` makes is 8 times what `small` does; `wide` has 8 times the elements of either.
PARAMS = {"large": 8 * normal(D, D), "small": normal(D, D), "wide": normal(D, 8 * D), "head": normal(8 * D, 16)}


def model(p: Any, x: jax.Array) -> jax.Array:
    h = x @ p["large"] + jnp.tanh(x @ p["small"])
    return jnp.tanh(h @ p["wide"]) @ p["head"]


def scanned(p: Any, x: jax.Array) -> jax.Array:
    """The same layer in a loop, and a function that is called twice."""
    twice = jax.jit(lambda h: jnp.tanh(h @ p["small"]))
    h, _ = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, jnp.stack([p["large"] / 8] * 3))
    return twice(twice(h)) @ p["wide"] @ p["head"]


def calibrated(function: Any = model) -> tuple[ir.Module, Calibration, list[list[Array]]]:
    x = normal(ROWS, D) * D**0.5
    text = jax.export.export(jax.jit(function))(PARAMS, x).mlir_module()
    module = ir.Module.parse(text, context=make_context())
    batches = [[*jax.tree.leaves(PARAMS), x]]
    calibration = Calibration(module, "fp8")
    calibration.arguments(batches)
    calibration.operands(batches)
    return module, calibration, batches


def served(module: ir.Module, calibration: Calibration, folder: pathlib.Path) -> ir.Module:
    (folder / "scales.json").write_bytes(calibration.scales.to_json())
    result = clone(module)
    precision_pipeline("fp8", pin_scales=str(folder / "scales.json")).run(result, [])
    return result


def error(module: ir.Module, result: ir.Module, batches: list[list[Array]]) -> float:
    return next(each.error for each in losses(module, result, batches) if each.form == "served")


def types(module: ir.Module) -> dict[str, str]:
    specs = entry_signature(module).arguments
    return {re.sub(r".*\['(\w+)'\]", r"\1", spec.name): spec.element_type for spec in specs}


def test_what_adds_most_error_for_its_bytes_is_kept(tmp_path: pathlib.Path) -> None:
    module, calibration, batches = calibrated()
    all_narrow = error(module, served(module, calibration, tmp_path), batches)
    kept = keep_wide(calibration, batches, Budget(units=1))
    assert [unit.weight for unit in kept.units] == ["p['large']"] and kept.others == 3
    result = served(module, calibration, tmp_path)
    assert types(result) == {"large": "f16", "small": "f8E4M3FN", "wide": "f8E4M3FN", "head": "f8E4M3FN", "x": "f32"}
    assert error(module, result, batches) < 0.9 * all_narrow
    assert kept.bytes - kept.bytes_all == D * D
    products = [line for line in str(result).splitlines() if "dot_general" in line]
    assert sum(len(re.findall("xf8E4M3FN", line)) == 2 for line in products) == 2  # small and wide; the head is none


@pytest.mark.parametrize("budget", [0.03, 0.01])
def test_a_budget_of_error_is_met_with_no_more_than_needed(budget: float, tmp_path: pathlib.Path) -> None:
    module, calibration, batches = calibrated()
    kept = keep_wide(calibration, batches, Budget(error=budget))
    found = error(module, served(module, calibration, tmp_path), batches)
    assert found <= budget * 1.02 and abs(found - kept.after) < 0.02 * found
    assert 0 < len(kept.units) < 4
    fewer = keep_wide(calibration, batches, Budget(units=len(kept.units) - 1))
    assert fewer.after > budget
    assert error(module, served(module, calibration, tmp_path), batches) > budget


@pytest.mark.parametrize("channels", ["none", "all"])
def test_operands_are_rounded_at_their_calibrated_scales(channels: Any, tmp_path: pathlib.Path) -> None:
    module, calibration, batches = calibrated()
    calibration.channels = channels
    calibration.arguments(batches)
    calibration.scales.operands = {"0.lhs": 2.0**-11, "2.lhs": 16.0}  # the first saturates
    kept = keep_wide(calibration, batches, Budget(error=0.9))
    found = error(module, served(module, calibration, tmp_path), batches)
    assert not kept.units and abs(found - kept.before) < 0.02 * found


def test_agreement_comes_within_a_hundredth_of_bf16_s(tmp_path: pathlib.Path) -> None:
    module, calibration, batches = calibrated()
    kept = keep_wide(calibration, batches)
    assert kept.before < kept.target <= kept.after and kept.target > 0.9
    agreed = {each.form: each.agreement for each in losses(module, served(module, calibration, tmp_path), batches)}
    assert agreed["served"] >= 0.97


def test_tensors_in_loops_and_functions_have_switches(tmp_path: pathlib.Path) -> None:
    module, calibration, batches = calibrated(scanned)
    nothing = error(module, served(module, calibration, tmp_path), batches)
    kept: list[Kept] = [keep_wide(calibration, batches, Budget(units=n)) for n in range(5)]
    assert [len(each.units) for each in kept] == [0, 1, 2, 3, 4]
    relative = [keep_wide(calibration, batches, Budget(error=e)).after for e in (0.5, 1e-9)]
    assert abs(relative[0] - nothing) < 0.1 * nothing and relative[1] < 2e-3  # all narrow; all in f16
    assert all(a.after <= b.after + 1e-9 for a, b in itertools.pairwise(kept))


def test_expected_agreement_is_the_share_of_rows_that_keep_their_largest() -> None:
    z = RNG.standard_normal((20000, 3))
    for deviation in (0.01, 0.1, 0.5):
        noisy = z + deviation * RNG.standard_normal(z.shape)
        actual = float(np.mean(noisy.argmax(-1) == z.argmax(-1)))
        # A row's own three errors say little of their size; a lower bound besides.
        assert -0.05 < expected_agreement([noisy], [z]) - actual < 0.05
    assert expected_agreement([z + 5], [z]) == 1  # what all scores have in common changes nothing
    tokens = np.arange(8)
    assert expected_agreement([np.where(tokens < 2, 0, tokens)], [tokens]) == 7 / 8


def test_the_command_tells_what_was_kept_and_the_rest_of_the_path_follows(tmp_path: pathlib.Path) -> None:
    x = normal(ROWS, D) * D**0.5
    (tmp_path / "model.mlir").write_text(jax.export.export(jax.jit(model))(PARAMS, x).mlir_module())
    np.savez(tmp_path / "w.npz", **{f"p.{name}": value for name, value in PARAMS.items()})
    np.savez(tmp_path / "x.npz", x=x)

    def run(command: Any, *arguments: object, code: int = 0) -> str:
        done = CliRunner().invoke(command, [str(each) for each in arguments])
        assert done.exit_code == code, done.output
        return done.output

    inputs = ("--inputs", tmp_path / "x.npz", "--weights", tmp_path / "w.npz")
    scales = tmp_path / "scales.json"
    arguments = (tmp_path / "model.mlir", "--precision=fp8", *inputs, "-o", scales)
    output = run(calibrate.main, *arguments, "--keep-wide=1")
    assert "1 of 4 FP8 tensors left wide: p['large']" in output
    assert "weights take 1.07 of their bytes in FP8" in output
    assert json.loads(scales.read_text())["wide_weights"] == ["p['large']"]
    run(scalify_opt.main, tmp_path / "model.mlir", "--precision=fp8", f"--pin-scales={scales}", "-o", tmp_path / "s")
    assert "(0.54)" in run(pack.main, tmp_path / "s", tmp_path / "w.npz", "-o", tmp_path / "packed.npz")
    assert "served" in run(compare.main, tmp_path / "model.mlir", tmp_path / "s", *inputs)
    for wrong, message in (
        ("2", "--keep-wide with --add"), ("most", "give auto, a number of tensors, or a relative error"),
    ):  # fmt: skip
        assert message in run(calibrate.main, *arguments, f"--keep-wide={wrong}", "--add", scales, code=1)
    assert "has no FP8 products" in run(
        calibrate.main, tmp_path / "model.mlir", "--precision=fp16", *inputs, "-o", scales, "--keep-wide=1", code=1
    )


@pytest.mark.parametrize("text", ["-1", "0%", "100%", "x%", "1.5", ""])
def test_budgets_that_are_none(text: str) -> None:
    with pytest.raises(ScalifyError, match="give auto, a number of tensors"):
        parse_budget(text)


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("wide_weights", ["p['none']"], "wide_weights: there is no argument 'p\\['none'\\]'"),
        ("wide_weights", "p", "wide_weights: this is no list of names of arguments"),
        ("wide_products", [99], "wide_products: there is no product 99; this module has 4"),
        ("wide_products", [True], "wide_products: this is no list of indices of products"),
        ("operands", [], "operands: this is no table of names"),
        ("argument_shapes", 5, "argument_shapes: this is no table of names"),
        ("wide_products", ["1"], "wide_products: this is no list of indices of products"),
    ],
)
def test_scales_that_keep_what_is_not_there(entry: str, value: Any, message: str, tmp_path: pathlib.Path) -> None:
    module, calibration, _ = calibrated()
    document = json.loads(calibration.scales.to_json()) | {entry: value}
    (tmp_path / "scales.json").write_text(json.dumps(document))
    with pytest.raises(ScalifyError, match=message):
        precision_pipeline("fp8", pin_scales=str(tmp_path / "scales.json")).run(clone(module), [])


def test_a_precision_without_fp8_is_refused_before_anything_runs(tmp_path: pathlib.Path) -> None:
    program, inputs, scales = (tmp_path / name for name in ("program.mlir", "inputs.npz", "scales.json"))
    program.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}")
    np.savez(inputs, np.ones(4, np.float32))
    scales.write_text("of a good run")
    paths = [str(program), f"--inputs={inputs}", "--keep-wide=2", "--precision=fp16", "-o", str(scales)]
    done = CliRunner().invoke(calibrate.main, paths)
    assert done.exit_code == 1
    assert "--keep-wide: this precision has no FP8 products" in done.output
    assert scales.read_text() == "of a good run"
