"""The tasks of `python -m experiments zoo` are training steps, and the command trains them and says what it found."""

import json
import os
import pathlib
from typing import Any

import jax
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.models.tasks import TASKS
from experiments import zoo, zoo_report, zoo_run

# Tasks that look at numbers of their own while they are made, which traced ones do not have.
MADE_OF_NUMBERS = {"sines", "lora", "splatting", "survival"}


@pytest.mark.filterwarnings("ignore")  # of libraries that are older than jax
@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_a_step_that_returns_its_state(name: str) -> None:
    """Told by shapes alone: the others are made within a trace too, where no initial weight has to be compiled."""
    pytest.importorskip("optax", reason="optax is not installed")
    pytest.importorskip(TASKS[name].library.split(".")[0], reason="not installed")

    def check(problem: Any) -> None:
        state, loss = jax.eval_shape(problem.step, problem.state, problem.batch(0))
        assert loss.shape == () and loss.dtype == np.float32
        assert jax.tree.structure(state) == jax.tree.structure(problem.state)
        for new, old in zip(jax.tree.leaves(state), jax.tree.leaves(problem.state), strict=True):
            assert (new.shape, new.dtype) == (np.shape(old), old.dtype)
        for first, again in zip(jax.tree.leaves(problem.batch(1)), jax.tree.leaves(problem.batch(1)), strict=True):
            np.testing.assert_array_equal(first, again)

    if name in MADE_OF_NUMBERS:
        check(TASKS[name].make(0))
    else:
        jax.eval_shape(lambda: check(TASKS[name].make(0)))


def test_the_command_trains_rows_and_goes_on_where_it_was(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("optax", reason="optax is not installed")
    out = tmp_path / "zoo.json"
    arguments = ["--tasks=recommender", "--rows=f32,fp16", "--seeds=0", "--steps=3", f"--out={out}"]
    done = CliRunner().invoke(zoo.main, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    runs = json.loads(out.read_text())["runs"]["recommender"]
    f32, fp16 = (runs[row]["0"] for row in ("f32", "fp16"))
    assert f32["failure"] is None and fp16["failure"] is None
    assert fp16["final_loss"] == pytest.approx(f32["final_loss"], abs=0.01)
    os.utime(out, (0, 0))
    done = CliRunner().invoke(zoo.main, arguments, catch_exceptions=False)
    assert out.stat().st_mtime == 0 and "held out | 1 | 1 | 1 | 0 | 0 | 0" in done.output
    done = CliRunner().invoke(zoo.main, [*arguments, "--steps=4"])
    assert done.exit_code == 2 and "has runs of 3 steps, not 4" in done.output


def test_the_usual_recipe_rounds_the_products_of_the_step_alone() -> None:
    """Losses differ by what FP8 rounds, and the step takes and returns f32 as it did."""
    pytest.importorskip("optax", reason="optax is not installed")
    training = zoo_run.Training("metric")
    f32, fp8 = (training.run(row, 0, 2) for row in ("f32", "fp8-current"))
    assert fp8["failure"] is None
    assert 1e-6 < abs(fp8["first_loss"] - f32["first_loss"]) < 0.05


def test_a_row_may_be_the_text_of_a_precision() -> None:
    pytest.importorskip("optax", reason="optax is not installed")
    training = zoo_run.Training("metric")
    f32, wide = (training.run(row, 0, 2) for row in ("f32", "fp16 moments=f16"))
    assert wide["failure"] is None and wide["row"] == "fp16 moments=f16"
    assert 0 < abs(wide["final_loss"] - f32["final_loss"]) < 0.01


def test_a_process_that_dies_is_the_result_of_its_row_only(tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    """The trained process is one that answers for a row, then dies at the next."""
    script = tmp_path / "run.sh"
    script.write_text(
        '#!/bin/sh\ncase "$4" in *f32*) echo \'{"row": "f32", "seed": 0}\'; echo broken >&2; exit 3;; esac\n'
        'echo \'{"row": "fp8", "seed": 0}\'\n'
    )
    script.chmod(0o755)
    monkeypatch.setattr(zoo.sys, "executable", str(script))
    results = list(zoo.run("vae", ["f32", "fp16", "fp8"], ["0"], 1, 60))
    assert [result["row"] for result in results] == ["f32", "fp16", "fp8"]
    assert results[1]["failure"] == {"kind": "crash", "message": "exit status 3: broken"}


def test_the_table_shows_what_is_wrong() -> None:
    def of(loss: float | None, **failure: Any) -> Any:
        return {"final_loss": loss, "failure": failure or None}

    runs = {
        "f32": {"0": of(1.0), "1": of(2.0)},
        "noise": {"0": of(1.01), "1": of(2.0)},
        "plain-f16": {"0": of(None, kind="not finite", step=3), "1": of(2.0)},
        "bf16": {"0": of(1.029), "1": of(2.0)},
        "fp16": {"0": of(1.05), "1": of(2.0)},
        "fp8": {"0": of(None, kind="refused", message="no state")},
    }
    assert zoo_report.tolerance(runs, "1") == pytest.approx(0.03)  # three times the noise of the other seed
    drawn = {**runs, "noise": {"0": {**of(1.01), "final_losses": [1.01, 1.0, 0.93, 1.05]}}}
    assert zoo_report.tolerance(drawn, "1") == pytest.approx(3 * np.sqrt((0.01**2 + 0.07**2 + 0.05**2) / 4))
    record = {"runs": {"vae": runs}}
    row = zoo_report.table(record).splitlines()[-1]
    assert row.endswith("| 1.500 | 0.010 | **NaN, 3** |  |  | +0.014 | **+0.025** |  | **refused** |  |")
    text = zoo_report.summary(record)
    assert "| tuned on | 5 | 3 | 4 | 0 | 1 | 0 |" in text and "- `vae` (fp8): refused: no state" in text
    rows = zoo_report.by_row(record).splitlines()[2:]
    assert rows == [
        "| plain f16 | 2 | 1 | 1 | 1 | 0 |", "| bf16 | 2 | 2 | 2 | 0 | 0 |", "| fp16 | 2 | 1 | 2 | 0 | 0 |",
        "| fp8 | 1 | 0 | 0 | 0 | 1 |",
    ]  # fmt: skip
