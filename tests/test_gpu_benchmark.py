"""The benchmark for GPUs runs, on whatever there is, at a size too small to measure anything."""

import json
import pathlib

import pytest
from click.testing import CliRunner

from benchmarks import gpu_training


def test_every_row_is_measured(tmp_path: pathlib.Path) -> None:
    out = tmp_path / "gpu.json"
    options = ["--preset=tiny", "--model=llama", "--steps=1", "--rows=f32,compiler-3", f"--out={out}"]
    result = CliRunner().invoke(gpu_training.main, options, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    record = json.loads(out.read_text())
    assert list(record["rows"]) == ["f32", "compiler-3"] and "#3 FP8, compiler's way" in result.output
    f32, fp8 = record["rows"].values()
    assert fp8["losses"][0] == pytest.approx(f32["losses"][0], abs=0.02)
    assert fp8["parameters"] == f32["parameters"] and fp8["state_bytes"] < f32["state_bytes"]
    assert min(f32["kernels"], f32["step_seconds"], record["products"]["fp8"]["tflops"]) > 0


def test_an_unknown_row_is_one_line() -> None:
    result = CliRunner().invoke(gpu_training.main, ["--rows=fp4"])
    assert result.exit_code == 2 and "unknown row 'fp4'; known are f32" in result.output
