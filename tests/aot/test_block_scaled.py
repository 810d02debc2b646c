"""MXFP8 and NVFP4 products compile to cuDNN's block-scaled kernel for a B200, and to what XLA generates elsewhere."""

import pathlib
import re

import numpy as np
import pytest

from scalify_hlo.aot.compiler import compile_for
from scalify_hlo.aot.lint import lint
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.serving.calibration import Calibration
from tests.aot.extra import needs_compiler
from tests.serving.test_block_dots import LAYERS, exported, inputs


def served(folder: pathlib.Path, precision: str, transposed: bool = True) -> ir.Module:
    module = ir.Module.parse(exported(), context=make_context())
    calibration = Calibration(module, "fp8")
    calibration.arguments([inputs()])
    calibration.operands([inputs()])
    (folder / "scales.json").write_bytes(calibration.scales.to_json())
    pinned = str(folder / "scales.json")
    precision_pipeline(precision, pin_scales=pinned, transpose_weights=transposed).run(module, [])
    return module


@needs_compiler
@pytest.mark.parametrize("precision", ["mxfp8", "nvfp4"])
@pytest.mark.parametrize("transposed", [True, False])
def test_for_a_b200_each_linear_product_is_a_block_scaled_kernel(
    transposed: bool, precision: str, tmp_path: pathlib.Path
) -> None:
    module = served(tmp_path, f"{precision} target=b200", transposed)
    text = compile_for(module, target("b200")).text
    assert len(re.findall(r'custom_call_target="__cudnn\$blockScaledDot"', text)) == LAYERS
    report = lint(module, target("b200"))
    block = [each for each in report.products if each.kernel == "__cudnn$blockScaledDot"]
    assert len(block) == LAYERS and all(each.verdict == "fp8 gemm" and each.has_fp8_operand for each in block)
    assert report.failures("linear") == ()
    assert all(np.prod([int(n) for n in each.result.split("x")[:-1]]) > 0 for each in block)


@needs_compiler
def test_weights_of_half_a_byte_are_read_as_they_are(tmp_path: pathlib.Path) -> None:
    """By no kernel but the product's: what prepares operands are the activations' and swizzles of scales."""
    text = compile_for(served(tmp_path, "nvfp4 target=b200"), target("b200")).text
    entry = text[text.index("ENTRY") :]
    weights = re.findall(r"(%\S+) = f4e2m1fn\[[\d,]+\]\{1,0:E\(4\)\} parameter", entry)
    assert len(weights) == LAYERS
    for name in weights:
        readers = [line for line in entry.splitlines() if re.search(rf"[(, ]{name}[,)]", line)]
        assert len(readers) == 1 and " fusion(" not in readers[0]


@needs_compiler
@pytest.mark.parametrize("gpu", ["b200", "h200"])
def test_the_composite_compiles_with_xla_s_own_flags(gpu: str, tmp_path: pathlib.Path) -> None:
    text = compile_for(served(tmp_path, "mxfp8"), target(gpu), gemm="triton").text
    assert text.count("scaled-dot(") == LAYERS


@needs_compiler
@pytest.mark.parametrize("precision", ["mxfp8", "nvfp4"])
def test_the_custom_call_compiles_for_a_gpu_without_block_scales_too(precision: str, tmp_path: pathlib.Path) -> None:
    """It is dequantised there: the module runs, with no gain."""
    text = compile_for(served(tmp_path, f"{precision} target=b200"), target("h200")).text
    assert "blockScaledDot" not in text and "__cublas$lt$matmul" in text
