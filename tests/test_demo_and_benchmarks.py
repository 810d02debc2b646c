"""The demo and the benchmarks run, at sizes too small to measure anything."""

import dataclasses
import json
import pathlib
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import algorithm_1, cpu_cost, frontend_calls, gpt2_f16_training, gpt2_scaling
from benchmarks.records import read_json, write_json
from examples import demo, text
from examples.operation_count import count_operations

SCALARS = """
func.func @main(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %twice = stablehlo.add %s, %s : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }
  %result = stablehlo.multiply %twice, %sum : tensor<f32>
  return %result : tensor<f32>
}
"""


def test_combiners_of_reductions_are_not_counted_as_scalars() -> None:
    counted = count_operations(SCALARS)
    assert (counted.total, counted.constants, counted.scalars) == (5, 1, 3)


def test_demo_shows_every_result_and_leaves_the_modules(tmp_path: pathlib.Path) -> None:
    result = CliRunner().invoke(demo.main, ["--layers", "1", "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "['second_moment']['blocks'][0]['mlp_in']['weight']" in result.output
    assert "within its own rounding noise" in result.output
    before, after = sorted(tmp_path.iterdir())
    assert "scalify.role" not in before.read_text()
    assert 'scalify.role = "scale"' in after.read_text()


def test_scaling_benchmark_measures_and_compares() -> None:
    settings = gpt2_scaling.Settings(width=16, heads=2, context=8, batch=2, repeats=1, compilations=1, steps=2)
    row = gpt2_scaling.measure(settings, 1)
    assert row.wrong_results == 0
    assert min(row.export, row.rewrite, row.compile_rewritten, row.step_rewritten) > 0
    assert row.operations_rewritten > row.operations_original > row.scale_operations > 0
    assert set(row.ratios()) == set(gpt2_scaling.TARGETS)
    assert gpt2_scaling.table([row]).count("\n") == 2


def test_cpu_benchmark_measures_a_program_before_and_after() -> None:
    class Program:
        def mlir_text(self) -> str:
            return SCALARS

        def inputs(self) -> list[np.ndarray]:
            return [np.ones(4, np.float32), np.float32(3)]

    row = cpu_cost.measured(Program(), compilations=1)
    assert set(row) == {"original", "rewritten", "packed"} and all(
        number > 0 for each in row.values() for number in each.values()
    )
    assert set(cpu_cost.ratios(row, "packed")) == set(cpu_cost.TARGETS)
    assert cpu_cost.table({"sum": row}).count("\n") == 4


def test_scaling_benchmark_refuses_what_is_no_list_of_depths() -> None:
    result = CliRunner().invoke(gpt2_scaling.main, ["--layers", "two"])
    assert result.exit_code == 2
    assert "'two' is not a comma-separated list" in result.output


def test_f16_benchmark_trains_on_after_the_original_has_overflowed() -> None:
    settings = gpt2_f16_training.Settings(
        layers=1, width=32, heads=2, context=16, batch=2, steps=8, evaluation_batches=1
    )
    corpus = text.Corpus(np.tile(np.arange(16, dtype=np.uint8), 20), "counting")
    f32 = gpt2_f16_training.train(settings, "f32", corpus, corpus)
    written = gpt2_f16_training.train(settings, "f16", corpus, corpus)
    scalified = gpt2_f16_training.train(settings, "f16 scalified", corpus, corpus)
    assert not written["finished"]
    assert scalified["finished"]
    np.testing.assert_allclose(scalified["losses"], f32["losses"], atol=0.05)
    assert scalified["held_out_loss"] == pytest.approx(f32["held_out_loss"], abs=0.05)
    for part in ("parameters", "first_moment", "second_moment"):
        assert scalified["state"][part]["log2_data_rms"][0] > -14  # f16's normal numbers


def test_f16_benchmark_says_which_tensors_are_lost() -> None:
    settings = gpt2_f16_training.Settings(layers=1, width=32, heads=2, context=16, batch=2)
    corpus = text.Corpus(np.tile(np.arange(16, dtype=np.uint8), 20), "counting")
    rows = {row["parameter"]: row for row in gpt2_f16_training.first_step_losses(settings, corpus)}
    assert rows["['blocks'][0]['attention_norm']['gain']"]["not_finite_as_written"] == 1
    assert max(row["second_moments_lost"] for row in rows.values()) > 0.1


def test_learning_rate_warms_up_and_decays() -> None:
    settings = gpt2_f16_training.Settings(steps=100, warm_up=10)
    rates = [settings.learning_rate(i) for i in range(100)]
    assert max(rates) == rates[10] == settings.peak_learning_rate
    assert rates[0] == pytest.approx(settings.peak_learning_rate / 10)
    assert rates[-1] == pytest.approx(settings.peak_learning_rate / 10, rel=0.01)


def test_picture_marks_the_run_that_overflowed(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `benchmarks` is not installed")
    runs = {
        "f32": {"losses": [5.0, 4.0, 3.0], "finished": True},
        "f16": {"losses": [5.0], "finished": False},
    }
    gpt2_f16_training.picture({"runs": runs}, tmp_path / "curves.svg")
    assert "</svg>" in (tmp_path / "curves.svg").read_text()


def test_records_survive_writing_and_damage(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "deep" / "record.json"
    assert read_json(path) is None
    write_json(path, {"rows": [dataclasses.asdict(gpt2_scaling.Settings())]})
    assert read_json(path)["rows"][0]["width"] == gpt2_scaling.Settings.width
    path.write_text(json.dumps({"rows": []})[:-1])
    assert read_json(path) is None


def test_algorithm_1_benchmark_compares_f16_with_f32() -> None:
    pytest.importorskip("equinox", reason="equinox is not installed")
    runs = {run: algorithm_1.train("equinox", "lion", run, steps=3, rescale_every=1) for run in ("f32", "f16")}
    for run in algorithm_1.RUNS[1:]:
        runs[run] = {**runs["f16"], "compared": algorithm_1.compared(runs["f32"], runs["f16"])}
    assert runs["f16"]["compared"]["largest relative distance"] < 0.01
    assert 0.5 < runs["f16"]["state bytes"] / runs["f32"]["state bytes"] < 0.51
    assert algorithm_1.rows("equinox", "lion", runs).count("distance at most") == len(algorithm_1.RUNS) - 1
    lost = algorithm_1.compared({"losses": [2.0, 1.0]}, {"losses": [2.0, float("nan")]})
    assert (lost["last"], lost["not finite at step"]) == (None, 2)


def test_call_benchmark_measures_in_other_interpreters() -> None:
    """With this interpreter in the place of one that has jax-scalify, which it says that it lacks."""
    row = frontend_calls.beside_jax_scalify(pathlib.Path(sys.executable), "mlp", 2)
    assert row["scalify_hlo"]["operations"] > row["jit"]["operations"] > 0
    assert row["scalify_hlo"]["seconds"] > 0
    assert "jax_scalify" in row["jax-scalify"]["error"]
    assert set(frontend_calls.repeated_call(1)) == {"jit", "jit, tuples", "scalify"}
