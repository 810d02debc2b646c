"""Files of scales: several programs in one, and one line for each thing that is wrong with them."""

import json
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.serving import measure, table
from scalify_hlo.errors import ScalifyError
from scalify_hlo.io.scales_file import ScalesFile, read_scales
from scalify_hlo.serving.shared_scales import add_program


def written(path: pathlib.Path, **entries: Any) -> str:
    (path / "scales.json").write_text(json.dumps({"format": "scalify-scales", "version": 1, **entries}))
    return str(path / "scales.json")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"arguments": {"w": "large"}}, "arguments: 'w' is no number or list of numbers"),
        ({"operands": {"0.lhs": [1, 2]}}, "operands: '0.lhs' is a list; one number is needed"),
        ({"caches": {"k": [1.0]}}, "caches: 'k' is a list; one number is needed"),
        ({"batches": "three"}, "batches: this is no number of batches"),
        ({"argument_shapes": {"w": 3}}, "argument_shapes: 'w' is no list of sizes"),
        ({"others": {"decode": {}}}, "others: this is no list of programs"),
        ({"others": [{"caches": {"k": "x"}}]}, "caches: 'k' is no number or list of numbers"),
        ({"statistics": {"w": {}}}, "statistics: 'w' has not the fields of a tensor's statistics"),
        ({"version": 2}, "version 2 of the format; this tool reads 1"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_a_line(tmp_path: pathlib.Path, entries: Any, message: str) -> None:
    with pytest.raises(ScalifyError) as caught:
        read_scales(written(tmp_path, **entries))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == message and diagnostic.location == str(tmp_path / "scales.json")


def test_programs_of_one_model_share_weights_and_caches(tmp_path: pathlib.Path) -> None:
    one, two = np.float32(1), np.float32(2)
    decode = ScalesFile(
        arguments={"p.w": two, "cache['k']": two, "x": one},
        caches={"result[1]['k']": 2.0},
        cache_arguments={"result[1]['k']": "cache['k']"},
        argument_shapes={"p.w": [4, 4], "cache['k']": [2, 8], "x": [1, 4]},
        result_shapes={"result[0]": [1, 4], "result[1]['k']": [2, 8]},
    )
    prefill = ScalesFile(
        arguments={"p.w": one, "x": two},
        argument_shapes={"p.w": [4, 4], "x": [8, 4]},
        result_shapes={"result[0]": [8, 4], "result[1]['k']": [2, 8]},
    )
    both = add_program(prefill, decode)
    (tmp_path / "scales.json").write_bytes(both.to_json())
    found = read_scales(str(tmp_path / "scales.json"))
    of_prefill, of_decode = found.of(prefill.argument_shapes), found.of(decode.argument_shapes)
    assert of_prefill.arguments["p.w"] == 2 and of_prefill.arguments["x"] == 2  # x has another shape
    assert of_prefill.caches == of_decode.caches == {"result[1]['k']": 2.0}
    # A program that is calibrated again takes its own place.
    assert len(add_program(prefill, found).others) == 1


def test_what_the_benchmark_measures() -> None:
    rng = np.random.default_rng(0)
    w = {name: np.float32(rng.standard_normal((32, 32)) / 6) for name in "ab"}
    x = np.float32(rng.standard_normal((16, 32)))
    exported = jax.export.export(jax.jit(lambda w, x: jnp.tanh(x @ w["a"]) @ w["b"]))(w, x)
    record = measure(exported.mlir_module(), [[w["a"], w["b"], x]])
    assert record["weights"] == 2 and record["bytes_fp8"] == 2 * 32 * 32 + 2 * 4 == record["bytes_bf16"] // 2 + 8
    assert record["bf16"]["error"] < record["fp8"]["error"] < 0.1 and record["fp8"]["finite"]
    # The same products, operands scaled by their largest elements: E4M3's own error.
    assert record["fp8"]["error"] < 1.2 * record["plain_fp8"]["error"] < 0.12
    assert record["scalar_operations"] == {"original": 0, "served": 0}
    lines = table({"program": record, "other": {"failed": "why"}}).splitlines()
    assert len(lines) == 3 and lines[0].startswith("program") and "why" in lines[2]


def test_scales_of_another_program_are_refused() -> None:
    """Of the same names, but other shapes; sizes may be symbolic, and a matrix transposed. Or of another precision."""
    file = ScalesFile(argument_shapes={"w": [32, 64], "x": [8, 32]}, precision="fp8")
    for fits in ({"w": [32, 64]}, {"w": [64, 32], "x": [-1, 32]}, {"other": [3]}):
        assert file.of(fits) is file
    for other in ({"w": [32, 32]}, {"w": [32]}, {"x": [-1, 64]}):
        with pytest.raises(ScalifyError, match="of a program of other shapes"):
            file.of(other)
    with pytest.raises(ScalifyError, match="have one precision"):
        add_program(ScalesFile(precision="fp16"), file)
