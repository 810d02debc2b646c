"""Compiling for GPUs that are not there, and what is said of each product."""

import collections
import importlib.metadata
import json
import pathlib

import pytest
from click.testing import CliRunner
from scalify_hlo.tools.fp8_lint import main

from scalify_hlo.aot import compiler
from scalify_hlo.aot.lint import LintReport, lint
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.passes.fp8_dots import FP8Dots
from tests.aot.extra import needs_compiler
from tests.training_programs import train_step_text

# One product per line; what becomes of it on an H200 and why.
PATTERNS = [
    ("f8E4M3FN", "f8E4M3FN", "f32", "fp8 gemm", ""),
    ("f8E5M2", "f8E4M3FN", "bf16", "fp8 gemm", ""),
    ("f8E4M3FN", "f8E5M2", "f16", "fp8 gemm", ""),
    ("f8E5M2", "f8E5M2", "f32", "gemm", "E5M2 x E5M2 has no FP8 GEMM"),
    ("f8E4M3FN", "f32", "f32", "gemm", "only one operand is FP8 (f8E4M3FN x f32)"),
    ("f8E4M3FNUZ", "f8E4M3FNUZ", "f32", "gemm", "f8E4M3FNUZ is no format of NVIDIA H200"),
    ("f16", "f16", "f16", "gemm", "operands are f16 x f16, not FP8"),
]


def patterns_text() -> str:
    arguments, body, results = [], [], []
    for i, (a, b, result, _, _) in enumerate(PATTERNS):
        types = f"tensor<{64 + 16 * i}x96x{a}>", f"tensor<96x128x{b}>", f"tensor<{64 + 16 * i}x128x{result}>"
        arguments.append(f"%a{i}: {types[0]}, %b{i}: {types[1]}")
        body.append(
            f"%c{i} = stablehlo.dot_general %a{i}, %b{i}, contracting_dims = [1] x [0] "
            f": ({types[0]}, {types[1]}) -> {types[2]}"
        )
        results.append((f"%c{i}", types[2]))
    vector, matrix, result = "tensor<1x96xf8E4M3FN>", "tensor<96x128xf8E4M3FN>", "tensor<1x128xf32>"
    arguments.append(f"%va: {vector}, %vb: {matrix}")
    body.append(
        f"%vc = stablehlo.dot_general %va, %vb, contracting_dims = [1] x [0] : ({vector}, {matrix}) -> {result}"
    )
    results.append(("%vc", result))
    values, types = zip(*results, strict=True)
    newline = "\n  "
    return (
        f"func.func @main({', '.join(arguments)}) -> ({', '.join(types)}) {{{newline}{newline.join(body)}{newline}"
        f"return {', '.join(values)} : {', '.join(types)}\n}}"
    )


def run(text: str, gpu: str, gemm: compiler.Gemm = "cublas") -> LintReport:
    with make_context():
        return lint(ir.Module.parse(text), target(gpu), gemm=gemm)


def fp8_step() -> str:
    with make_context():
        module = ir.Module.parse(train_step_text())
        FP8Dots().apply(module, [])
        return module.operation.get_asm(enable_debug_info=True)


@needs_compiler
def test_each_pattern_gets_its_verdict_and_reason() -> None:
    result = run(patterns_text(), "h200")
    *products, vector = result.products
    for product, (_, _, _, verdict, reason) in zip(products, PATTERNS, strict=True):
        assert product.verdict == verdict, product
        assert product.reason.startswith(reason) and bool(reason) is bool(product.reason), product
    assert vector.verdict == "no gemm" and vector.reason.startswith("matrix times vector")
    assert [p.index for p in result.failures("converted")] == [3, 4, 5, 7]


@needs_compiler
@pytest.mark.parametrize(("element", "multiple"), [("f8E4M3FN", 16), ("f16", 8)])
def test_products_are_padded_to_the_multiples_that_decide_what_is_left_wide(element: str, multiple: int) -> None:
    """What `scalify-fp8-dots` leaves alone because of its size: it takes these multiples for XLA's."""
    a, b, result = f"tensor<129x67x{element}>", f"tensor<67x131x{element}>", "tensor<129x131xf32>"
    text = f"""func.func @main(%a: {a}, %b: {b}) -> {result} {{
      %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({a}, {b}) -> {result}
      return %c : {result}
    }}"""
    with make_context():
        compiled = compiler.compile_for(ir.Module.parse(text), target("h200")).text
    rows, contracted, columns = (-(-size // multiple) * multiple for size in (129, 67, 131))
    (call,) = [line for line in compiled.splitlines() if "__cublas" in line and "custom-call(" in line]
    assert f"[{rows},{columns}]" in call
    assert f"{rows},{contracted}]" in compiled


@needs_compiler
def test_every_linear_layer_of_a_training_step_is_an_fp8_gemm_on_hopper() -> None:
    result = run(fp8_step(), "h200")
    linear = [p for p in result.products if p.linear]
    assert len(linear) == 36 and {p.verdict for p in linear} == {"fp8 gemm"}
    assert not result.failures("linear") and not result.failures("converted") and result.failures("all")
    assert all("training_programs.py:" in p.source and "scalify." not in p.source for p in result.products)
    assert result.gemms >= 36 and result.kernels > result.gemms
    assert result.memory.arguments > 0 and result.bytes_accessed > result.memory.arguments


@needs_compiler
def test_the_a100_is_the_negative_control() -> None:
    result = run(patterns_text(), "a100")
    assert "fp8 gemm" not in collections.Counter(p.verdict for p in result.products)
    assert all("has no FP8 matrix units" in p.reason for p in result.products)


@needs_compiler
def test_an_unrewritten_module_is_compiled_as_it_is() -> None:
    before = patterns_text()
    with make_context():
        module = ir.Module.parse(before)
        printed = str(module)
        lint(module, target("l40s"))
        assert str(module) == printed


@needs_compiler
def test_command_line(tmp_path: pathlib.Path) -> None:
    path, report = tmp_path / "in.mlir", tmp_path / "report.json"
    path.write_text(patterns_text())
    done = CliRunner().invoke(main, [str(path), "--require=converted", f"--json={report}"])
    assert done.exit_code == 1
    assert "3 of 8 products are FP8 GEMMs (4 other GEMMs, 1 no GEMM, 0 removed)" in done.output
    assert "product 3 is no FP8 GEMM: E5M2 x E5M2 has no FP8 GEMM" in done.output
    written = json.loads(report.read_text())
    assert [p["verdict"] for p in written["products"]][:4] == ["fp8 gemm"] * 3 + ["gemm"]
    assert written["target"] == "h200" and written["versions"]["jaxlib"] == importlib.metadata.version("jaxlib")


def test_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "jax-cuda12-pjrt":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    path = tmp_path / "in.mlir"
    path.write_text(patterns_text())
    done = CliRunner().invoke(main, [str(path)])
    assert done.exit_code == 1
    lines = done.output.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: compiling for a GPU needs the package jax-cuda12-pjrt")
    assert "scalify_hlo[aot]" in lines[0]


def test_a_plugin_of_another_version_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "0.1.2" if name == "jax-cuda12-pjrt" else real(name)
    )
    with pytest.raises(ScalifyError, match=r"jax-cuda12-pjrt 0\.1\.2 does not fit jaxlib .*: pip install"):
        compiler.check_available()


@pytest.mark.parametrize(
    ("gpu", "text", "message"),
    [
        ("mi300x", patterns_text(), "no ahead-of-time compiler for AMD Instinct MI300X"),
        (
            "h200",
            f'module attributes {{mhlo.num_partitions = 8 : i32}} {{ sdy.mesh @m = <["a"=4]> {patterns_text()} }}',
            "has 4 devices, and the module is for 8",
        ),
        ("h200", f"module attributes {{mhlo.num_replicas = 4 : i32}} {{ {patterns_text()} }}", "wants 4 replicas"),
    ],
)
def test_what_cannot_be_compiled_is_one_line(gpu: str, text: str, message: str) -> None:
    with pytest.raises(ScalifyError, match=message) as error:
        run(text, gpu)
    assert "\n" not in str(error.value)
