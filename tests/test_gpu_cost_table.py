"""Rows of the table of GPU costs: presets, their forms, and what each is compared with."""

import pytest

from benchmarks.gpu_cost import QUANTITIES, baseline, table


@pytest.mark.parametrize(("preset", "expected"), [("f32", "f32"), ("fp8+packed", "bf16"), ("fp16 moments=f16", "bf16")])
def test_what_a_preset_is_compared_with(preset: str, expected: str) -> None:
    assert baseline(preset) == expected


def test_other_types_of_a_preset_stand_beside_it() -> None:
    row: dict[str, float | str] = {**dict.fromkeys(QUANTITIES, 2.0), "temporary": 2.0, "step_us": 2.0}
    names = ("fp8 moments=f16", "original f32", "fp8", "original bf16", "f32", "fp8+packed")
    lines = table({"p": dict.fromkeys(names, row)}).splitlines()[2:]
    assert [line.split(" | ")[1] for line in lines if line.startswith("| p ")] == [
        "f32", "fp8", "fp8 moments=f16", "fp8+packed",
    ]  # fmt: skip
