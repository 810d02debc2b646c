"""The benchmark of what programs move: its programs lower, and the table in the documentation is that of its record."""

import pathlib

import jax.numpy as jnp
import pytest

from benchmarks import traffic
from benchmarks.records import read_json
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.precision_pipeline import precision_pipeline

DOCS = pathlib.Path(__file__).parents[1] / "docs" / "sharding.md"
NONE = {"moved": {}, "elements": 0, "numbers": 0}


def test_the_table_in_the_documentation_is_that_of_the_record() -> None:
    rows = read_json(traffic.OUT)["programs"]
    assert rows and set(rows) <= set(traffic.programs())
    assert traffic.table(rows) in DOCS.read_text()


@pytest.mark.parametrize(
    "name",
    ["decoder under scan, ZeRO-3", "decoder, ZeRO-3 by shard_map", "MLP, data in explicit mode",
     "nnx, partitioned, 2x4", "linen, logical axes, 2x4", "state-space model, 2x4"],
)  # fmt: skip
def test_programs_are_for_eight_devices_in_the_type_that_is_asked_for(name: str) -> None:
    text = traffic.programs()[name]
    for dtype, element in ((jnp.float32, "f32"), (jnp.bfloat16, "bf16")):
        lowered = text(dtype)
        assert "mhlo.num_partitions = 8" in lowered
        assert ("bf16" in lowered) == (element == "bf16")
        assert "sdy.sharding_constraint" in lowered or "sdy.manual_computation" in lowered


def test_gradients_of_one_layer_under_scan_are_summed_as_they_are_rounded() -> None:
    """XLA writes a loop of one iteration out before it finds layouts: attention's output is cut along the batch."""
    with make_context():
        module = ir.Module.parse(traffic.programs()["decoder under scan, ZeRO-3"](jnp.float32))
        precision_pipeline("fp16").run(module, [])
        lines = str(module).splitlines()
    gradients = [i for i, line in enumerate(lines) if "contracting_dims = [0, 1] x [0, 1]" in line]
    assert len(gradients) == 7 and all("unreduced" in lines[i + 1] for i in gradients)


def test_the_fewest_bytes_of_fp8_are_those_of_its_elements() -> None:
    """196,608 of the decoder's 267,264 elements are matrices of its layers; what was measured is no less."""
    bound = 1 - 196608 / (4 * 267264)
    assert traffic.least("decoder, ZeRO-3") == traffic.least("decoder, ZeRO-3 by shard_map") == bound
    assert traffic.least("decoder under scan, ZeRO-3") is None and traffic.least("decoder, data") is None
    for name, row in read_json(traffic.OUT)["programs"].items():
        fewest, own = traffic.least(name), traffic.ratios(row)["fp8"]
        assert fewest is None or (own is not None and fewest - 1e-3 <= own <= fewest + 5e-3), name


def test_f32_moves_what_the_original_does_by_the_same_kinds_of_collectives() -> None:
    """As recorded, of every program."""
    for name, row in read_json(traffic.OUT)["programs"].items():
        own, original = (traffic.Traffic(**row[each]) for each in ("f32", "original f32"))
        assert own.total <= 1.001 * original.total and own.kinds == original.kinds, name


def test_only_what_is_at_its_least_is_beyond_a_limit() -> None:
    """As recorded, of every program: one layer of a decoder under ZeRO-3 has too few elements in FP8 products."""
    for name, row in read_json(traffic.OUT)["programs"].items():
        for preset, ratio in traffic.ratios(row).items():
            fewest = traffic.least(name) if preset == "fp8" else None
            most = max(traffic.limit(name, preset), 0 if fewest is None else round(fewest, 3))
            assert ratio is not None and round(ratio, 3) <= most, (name, preset)


def test_what_is_beyond_a_limit_is_bold_and_what_is_refused_is_told() -> None:
    half, whole = ({"moved": {"all-gather f16": size}, "elements": 0, "numbers": 2} for size in (5000, 10000))
    row = {"original f32": whole, "original bf16": half, "f32": whole, "fp16": whole, "fp8": {"refused": "no"}}
    line = traffic.table({"tree, ZeRO-3": row | {"commits": {"originals": "abc", "fp8": "abc"}}}).splitlines()[-1]
    assert line == "| tree, ZeRO-3 | 1.000 | **2.000** | refused | 0, 0 | abc |"
    assert traffic.Traffic(**half).kinds == {"all-gather"} and not traffic.Traffic(**NONE).kinds
    assert (traffic.limit("decoder, ZeRO-3", "fp8"), traffic.limit("decoder, data", "fp8")) == (0.8, 1.02)
