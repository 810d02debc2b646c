"""`python -m experiments optimisers` has steps of every optimiser, trains them and says what it found."""

import json
import pathlib

import jax
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.models.tasks import TASKS, find_task

pytest.importorskip("optax", reason="optax is not installed")
pytest.importorskip("flax", reason="flax is not installed")


@pytest.mark.filterwarnings("ignore")
def test_every_optimiser_has_a_step_that_returns_its_state() -> None:
    from benchmarks.models.tasks.optimisers import OPTIMISERS

    assert len(OPTIMISERS) > 60
    for name in OPTIMISERS:
        problem = find_task(f"regression/{name}").make(0)
        state, loss = jax.eval_shape(problem.step, problem.state, problem.batch(0))
        assert loss.shape == () and loss.dtype == np.float32
        assert jax.tree.structure(state) == jax.tree.structure(problem.state), name
        for new, old in zip(jax.tree.leaves(state), jax.tree.leaves(problem.state), strict=True):
            assert new.shape == np.shape(old), name


def test_names_of_the_zoo_are_found_too() -> None:
    assert find_task("vae") is TASKS["vae"]
    with pytest.raises(KeyError):
        find_task("unknown")


def test_the_command_trains_and_shows_each_model(tmp_path: pathlib.Path) -> None:
    from experiments import optimisers

    out = tmp_path / "optimisers.json"
    arguments = ["--optimisers=sgd", "--models=regression", "--rows=f32,fp16", "--steps=3", f"--out={out}"]
    done = CliRunner().invoke(optimisers.main, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    runs = json.loads(out.read_text())["runs"]["regression/sgd"]
    assert runs["fp16"]["0"]["final_loss"] == pytest.approx(runs["f32"]["0"]["final_loss"], abs=0.01)
    assert "| regression | 1 | 1 | 1 | 0 | 0 | 0 |" in done.output
    assert "| `sgd` | " in done.output and "? ?" in done.output
    assert CliRunner().invoke(optimisers.main, ["--optimisers=unknown"]).exit_code == 2
    assert CliRunner().invoke(optimisers.main, [*arguments, "--steps=4"]).exit_code == 2


def test_the_table_has_a_cell_for_each_model() -> None:
    from experiments import optimisers

    def of(loss: float | None, **failure: object) -> dict[str, object]:
        return {"final_loss": loss, "failure": failure or None}

    bad = of(None, kind="not finite", step=3)
    runs = {
        "regression/adam": {"f32": {"0": of(1.0)}, "fp8": {"0": of(1.05)}},
        "images/adam": {"f32": {"0": of(2.0)}, "fp8": {"0": bad}},
    }
    record = {"runs": runs}
    assert "| `adam` | 1.000 2.000 ? | ? ? ? | ? ? ? | ? ? ? | **+0.050** **NaN,3** ? | ? ? ? |" in optimisers.table(
        record, ["adam", "sgd"]
    )
    assert "| images | 1 | 0 | 0 | 1 | 0 | 0 |" in optimisers.summary(record)
