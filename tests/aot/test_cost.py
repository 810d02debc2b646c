"""What a program costs: kernels, bytes and products are read from optimised HLO, and compared kernel by kernel."""

import json
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from scalify_hlo.tools.cost import main

from scalify_hlo.aot.cost import read_cost
from scalify_hlo.aot.cost_difference import compare_costs
from scalify_hlo.aot.hlo_text import parse
from scalify_hlo.aot.roofline import assumptions
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.memory import Memory
from scalify_hlo.passes.precision_pipeline import precision_pipeline

TEXT = """HloModule jit_f, is_scheduled=true, entry_computation_layout={()->f32[]}

%stack (p0: f32[64,8], p1: f32[8], p2: s32[]) -> f32[64,8] {
  %p0 = f32[64,8]{1,0} parameter(0)
  %p1 = f32[8]{0} parameter(1)
  %p2 = s32[] parameter(2)
  %one = f32[1,8]{1,0} bitcast(%p1)
  %zero.1 = s32[] constant(0)
  ROOT %dus = f32[64,8]{1,0} dynamic-update-slice(%p0, %one, %p2, %zero.1)
}

%row (q0: f32[64,8], q1: s32[]) -> f32[8] {
  %q0 = f32[64,8]{1,0} parameter(0)
  %q1 = s32[] parameter(1)
  %zero.2 = s32[] constant(0)
  %ds = f32[1,8]{1,0} dynamic-slice(%q0, %q1, %zero.2), dynamic_slice_sizes={1,8}
  ROOT %flat = f32[8]{0} bitcast(%ds)
}

%scale (s: f32[]) -> f32[] {
  %s = f32[] parameter(0)
  ROOT %twice = f32[] add(%s, %s)
}

ENTRY %main (a: f32[64,8], i: s32[], x: f8e4m3fn[16,32], y: f8e5m2[32,64], t: f32[]) -> f32[] {
  %a = f32[64,8]{1,0} parameter(0)
  %i = s32[] parameter(1)
  %x = f8e4m3fn[16,32]{1,0} parameter(2)
  %y = f8e5m2[32,64]{1,0} parameter(3)
  %t = f32[] parameter(4)
  %taken = f32[8]{0} fusion(%a, %i), kind=kLoop, calls=%row
  %put = f32[64,8]{1,0} fusion(%a, %taken, %i), kind=kLoop, calls=%stack
  %gemm = (f16[16,64]{1,0}, s8[4096]{0}) custom-call(%x, %y), GEMM
  %copied = f32[64,8]{1,0} copy(%put)
  ROOT %r = f32[] fusion(%t), kind=kLoop, calls=%scale
}
""".replace("GEMM", 'custom_call_target="__cublas$lt$matmul$f8", backend_config={"lhs_contracting_dimensions":["1"]}')


def test_kernels_have_kinds_and_slices_of_buffers_are_not_the_buffers() -> None:
    measured = read_cost(TEXT, Memory(0, 0, 0, 0), "h200", 0.0, 0.0)
    kernels = {kernel.name: kernel for kernel in measured.kernels}
    assert {name: kernel.kind for name, kernel in kernels.items()} == {
        "taken": "data", "put": "data", "gemm": "data", "copied": "copy", "r": "scalar",
    }  # fmt: skip
    assert kernels["taken"].size == 8 * 4 + 4 + 8 * 4  # one row read, the index, one row written
    assert kernels["put"].size == 8 * 4 + 4 + 8 * 4
    assert kernels["copied"].size == 2 * 64 * 8 * 4
    assert (kernels["gemm"].flops, kernels["gemm"].element) == (2 * 16 * 64 * 32, "f8e4m3fn")
    cost = measured.cost
    assert (cost.kernels, cost.data_kernels, cost.scalar_kernels, cost.copies) == (5, 3, 1, 1)
    assert (cost.gemms, cost.fp8_gemms) == (1, 1)


def test_the_estimate_is_launches_and_the_longer_of_bytes_and_products() -> None:
    step = read_cost(TEXT, Memory(0, 0, 0, 0), "h200", 0.0, 0.0).cost.step
    assert step is not None
    sizes = [size for _, _, size in parse(TEXT).kernels()]
    assumed = assumptions("h200")
    assert step.launch == pytest.approx(5 * assumed.launch)
    assert step.bandwidth == pytest.approx(sum(sizes) / (0.85 * 4.8e12))  # this product waits for memory
    assert step.matrix == 0 and step.seconds == pytest.approx(step.launch + step.bandwidth)
    assert "4.80 TB/s" in str(assumed) and "1979" in str(assumed)


def training_step() -> str:
    def loss(w: list[jax.Array], x: jax.Array) -> jax.Array:
        return jnp.mean((jnp.tanh(x @ w[0]) @ w[1]) ** 2)

    def step(w: list[jax.Array], x: jax.Array) -> list[jax.Array]:
        return jax.tree.map(lambda p, g: p - 0.1 * g, w, jax.grad(loss)(w, x))

    w = [np.zeros((16, 32), np.float32), np.zeros((32, 8), np.float32)]
    return jax.export.export(jax.jit(step))(w, np.zeros((4, 16), np.float32)).mlir_module()


def test_every_extra_kernel_has_a_cause_and_the_line_it_is_for() -> None:
    with make_context():
        module = ir.Module.parse(training_step())
        before = str(module)
        found = compare_costs(module, "cpu", lambda rewritten: precision_pipeline(None).run(rewritten, []))
        assert str(module) == before
    first, second = found.original.cost, found.rewritten.cost
    assert second.kernels - first.kernels == sum(each.times for each in found.extra) - found.removed
    assert sum(found.causes().values()) == sum(each.times for each in found.extra)
    assert all("test_cost.py" in each.source for each in found.extra if each.cause == "arithmetic of scales")
    assert first.gemms == second.gemms and first.flops == second.flops


def test_a_program_compared_with_itself_has_no_extra_kernels() -> None:
    with make_context():
        module = ir.Module.parse(training_step())
        found = compare_costs(module, "cpu", lambda _: None)
    assert found.extra == () and found.removed == 0
    assert found.original.kernels == found.rewritten.kernels


def test_the_command_prints_both_programs_and_writes_json(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "step.mlir"
    path.write_text(training_step())
    arguments = [str(path), "--target=cpu", f"--json={tmp_path / 'cost.json'}"]
    finished = CliRunner().invoke(main, arguments)
    assert finished.exit_code == 0, finished.output
    record = json.loads((tmp_path / "cost.json").read_text())
    for name in ("original", "rewritten"):
        assert f"{record[name]['kernels']:,}" in finished.stdout
        assert record[name]["memory"]["temporary"] > 0 and math.isfinite(record[name]["compile_cpu_seconds"])
    assert "arithmetic of scales" in finished.stdout
    alone = CliRunner().invoke(main, [str(path), "--target=cpu", "--only"])
    assert alone.exit_code == 0 and "rewritten" not in alone.stdout


def test_flags_that_exclude_each_other_are_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "step.mlir"
    path.write_text(training_step())
    finished = CliRunner().invoke(main, [str(path), "--target=cpu", "--only", "--precision=fp16"])
    assert finished.exit_code == 2 and "excludes" in finished.stderr
