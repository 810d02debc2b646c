"""`python -m experiments rates` and `overnight`: what is trained, what is kept, and what the tables say."""

import json
import pathlib
from typing import Any

import pytest
from click.testing import CliRunner

from experiments import overnight, rates, report, runs
from experiments.optimiser import Schedule
from experiments.train import Settings


def test_a_cooldown_falls_from_the_peak_to_zero() -> None:
    found = [Schedule(10, 1.0, 2, cooldown=4).rate(i) for i in range(10)]
    assert found == pytest.approx([0.5, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2])


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int, float]]:
    """What is trained, by a stand-in whose losses tell rates and rows apart: f32 is best at 2e-3, FP8 at 1e-3."""
    found: list[tuple[str, str, int, float]] = []
    gap = {("compiler-3", 1e-3): 0.25, ("compiler-3", 2e-3): 1.0}

    def fake(settings: Settings, model: Any, row: str, seed: int, *_: Any, **__: Any) -> Any:
        found.append((model, row, seed, settings.peak_rate))
        loss = 3 - 100 * settings.peak_rate + gap.get((row, settings.peak_rate), 0.0)
        losses = [loss + 1] * (settings.steps - settings.cooldown) + [loss] * settings.cooldown
        return {"losses": losses, "final_loss": loss, "held_out_loss": loss, "failure": None, "state_bytes": 100,
                "rescales": 0, "seconds": 1.0}  # fmt: skip

    monkeypatch.setattr(runs, "run", fake)
    return found


@pytest.fixture
def words(tmp_path: pathlib.Path) -> str:
    (tmp_path / "text.txt").write_text("abcdefgh" * 500)
    return f"--text={tmp_path / 'text.txt'}"


def test_a_sweep_tells_the_best_rate_of_each_row(
    tmp_path: pathlib.Path, words: str, trained: list[tuple[str, str, int, float]]
) -> None:
    options = [words, f"--out={tmp_path / 'out.json'}", "--steps=100", "--rows=f32,compiler-3"]
    for peaks in ("2e-3", "1e-3,2e-3"):
        done = CliRunner().invoke(rates.main, [*options, f"--rates={peaks}"], catch_exceptions=False)
    assert [(row, rate) for _, row, _, rate in trained] == [
        ("f32", 2e-3), ("compiler-3", 2e-3), ("f32", 1e-3), ("compiler-3", 1e-3)
    ]  # fmt: skip
    assert "| row | 0.001 | 0.002 |" in done.output
    assert "| FP32 baseline #0 | 2.9000 | **2.8000** |" in done.output
    assert "| #3 FP8, compiler's way | **3.1500** | 3.8000 |" in done.output
    assert "| #3 FP8, compiler's way | +0.2500, +0.2500 | +1.0000, +1.0000 |" in done.output
    assert json.loads((tmp_path / "out.json").read_text())["settings"]["cooldown"] == 20


def test_a_run_that_broke_says_when() -> None:
    broken = {"losses": [3.0], "final_loss": None, "failure": {"step": 2, "loss": "nan"}}
    whole = {"losses": [3.0] * 50, "final_loss": 3.0, "failure": None}
    found = rates.tables(
        {"settings": {"steps": 50, "cooldown": 10}, "runs": {"0.1": {"f32": {"0": whole}, "compiler-3": {"0": broken}}}}
    )
    assert "| #3 FP8, compiler's way | seed 0: not finite in step 2 |" in found
    assert found.endswith("| #3 FP8, compiler's way |  |")


def test_overnight_goes_on_where_it_was_and_writes_what_there_is(
    tmp_path: pathlib.Path, words: str, trained: list[tuple[str, str, int, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    drawn: list[pathlib.Path] = []
    monkeypatch.setattr(overnight, "picture", lambda _, path: drawn.append(path))
    monkeypatch.setattr(overnight, "write_into_document", lambda _, text: written.append(text))
    options = [words, f"--folder={tmp_path}", "--steps=50", "--rows=f32,compiler-3", "--rates=1e-3,2e-3", "--document"]
    once = CliRunner().invoke(overnight.main, [*options, "--seeds=0"], catch_exceptions=False)
    assert once.exit_code == 0, once.output
    # Both models, then their rates.
    assert [model for model, *_ in trained] == [*["gpt2"] * 2, *["llama"] * 2, *["gpt2"] * 4, *["llama"] * 4]
    assert written[0].count("| FP32") == 1 and "width 256, 50 steps" in written[0]
    assert written[-1].count("Learning rates:") == 2 and all(title in written[-1] for title in report.TITLES.values())
    assert {path.name for path in drawn} == {f"experiments_overnight_{model}.svg" for model in ("gpt2", "llama")}
    trained.clear()
    again = CliRunner().invoke(overnight.main, [*options, "--seeds=0,1"], catch_exceptions=False)
    assert again.exit_code == 0, again.output
    assert [(model, row, seed) for model, row, seed, _ in trained] == [
        (model, row, 1) for model in ("gpt2", "llama") for row in ("f32", "compiler-3")
    ]


@pytest.mark.parametrize(("command", "flag"), [(rates.main, "--rates=a"), (overnight.main, "--rows=fp4")])
def test_a_wrong_option_is_one_line(command: Any, flag: str) -> None:
    done = CliRunner().invoke(command, [flag])
    assert done.exit_code == 2 and done.output.count("Error:") == 1
