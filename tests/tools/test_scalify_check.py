"""scalify-check: it passes what is right, fails what is wrong, and explains what it cannot do."""

import pathlib
import re
import subprocess
import sys
from collections.abc import Callable

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import export
from scalify_hlo.tools.scalify_check import main

from scalify_hlo import ScalifyOptions, rewrite_module
from scalify_hlo.rules import registry
from scalify_hlo.rules.oprewrite import OpRewrite


def loss_and_step(w: jax.Array, x: jax.Array, count: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    def loss(w: jax.Array) -> jax.Array:
        return jnp.mean(jnp.tanh(x @ w) ** 2)

    _, gradient = jax.value_and_grad(loss)(w)
    return w - 0.1 * gradient, gradient, count + 1


ARGUMENTS = (jnp.zeros((8, 8)), jnp.zeros((5, 8)), jnp.int32(0))


@pytest.fixture(scope="module")
def step() -> export.Exported:
    return export.export(jax.jit(loss_and_step))(*ARGUMENTS)


@pytest.fixture
def original(step: export.Exported, tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "step.mlir"
    path.write_text(step.mlir_module())
    return path


Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    """Run the command in this process; exit status, stdout, stderr."""

    def run(*arguments: str | pathlib.Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main.run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return int(ended.value.code or 0), captured.out, captured.err

    return run


def test_a_right_rewriting_passes(check: Check, original: pathlib.Path) -> None:
    status, out, err = check(original)
    assert status == 0
    assert err == ""
    lines = out.splitlines()
    assert lines[0].split()[:2] == ["result", "type"]
    assert len(lines) == 5
    assert all(re.search("(exact|ok)$", line) for line in lines[1:4])
    assert lines[-1] == "3 of 3 results agree"


@pytest.mark.parametrize(
    "flags",
    [
        ["--scales=jitter", "--seed=3"],
        ["--scales=one"],
        ["--draw=positive"],
        ["--backend=interpreter"],
        ["--plain-results"],
        ["--scale-dtype=e8m0"],
        ["--result-scales=shaped"],
        ["--args=0"],
        ["--args=none"],
        ["--excess-precision"],
    ],
)
def test_flags(check: Check, original: pathlib.Path, flags: list[str]) -> None:
    status, out, _ = check(original, *flags)
    assert status == 0
    assert "3 of 3 results agree" in out


# --- it must be able to fail ----------------------------------------------------------------------------------


def returned(text: str) -> list[str]:
    """The operands of @main's return."""
    (values,) = re.findall(r"^    return (.*?) :", text, re.MULTILINE)
    return values.split(", ")


def with_returned(text: str, values: list[str], before: str = "") -> str:
    return re.sub(r"^    return .*? :", f"{before}    return {', '.join(values)} :", text, count=1, flags=re.MULTILINE)


def wrong_factor(text: str) -> str:
    """The first result's data are twice what they should be."""
    data, *rest = returned(text)
    return with_returned(text, ["%twice", *rest], f"    %twice = stablehlo.add {data}, {data} : tensor<8x8xf32>\n")


def dropped_scale(text: str) -> str:
    """The second result comes with scale 1."""
    data0, scale0, data1, _, count = returned(text)
    one = "    %one = stablehlo.constant dense<1.0> : tensor<f32>\n"
    return with_returned(text, [data0, scale0, data1, "%one", count], one)


def swapped_results(text: str) -> str:
    data0, scale0, data1, scale1, count = returned(text)
    return with_returned(text, [data1, scale1, data0, scale0, count])


def wrong_integer(text: str) -> str:
    *rest, count = returned(text)
    return with_returned(text, [*rest, "%next"], f"    %next = stablehlo.add {count}, {count} : tensor<i32>\n")


def small_error(text: str) -> str:
    """One part in 2^14, far above f32's rounding and far below what a glance at the numbers would show."""
    data, *rest = returned(text)
    factor = "    %f = stablehlo.constant dense<1.00006104> : tensor<8x8xf32>\n"
    product = f"    %off = stablehlo.multiply {data}, %f : tensor<8x8xf32>\n"
    return with_returned(text, ["%off", *rest], factor + product)


@pytest.mark.parametrize(
    ("mutate", "wrong"),
    [
        (wrong_factor, {0}),
        (dropped_scale, {1}),
        (swapped_results, {0, 1}),
        (wrong_integer, {2}),
        (small_error, {0}),
    ],
)
def test_a_wrong_module_is_caught(
    check: Check, original: pathlib.Path, tmp_path: pathlib.Path, mutate: Callable[[str], str], wrong: set[int]
) -> None:
    rewritten = rewrite_module(original.read_text())
    right, broken = tmp_path / "right.mlir", tmp_path / "broken.mlir"
    right.write_text(rewritten)
    broken.write_text(mutate(rewritten))
    assert check(original, "--rewritten", right)[0] == 0
    status, out, err = check(original, "--rewritten", broken)
    assert status == 1
    verdicts = [line.split()[-1] for line in out.splitlines()[1:4]]
    assert {i for i, verdict in enumerate(verdicts) if verdict == "wrong"} == wrong
    assert f"{3 - len(wrong)} of 3 results agree" in out
    assert len(err.splitlines()) == len(wrong)
    assert all(line.startswith(f"{original}: error: ") for line in err.splitlines())


def test_a_rule_that_is_wrong_on_purpose_is_caught(
    check: Check, original: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tanh(s x) is not s tanh(x)."""
    registry.load()

    def as_if_homogeneous(r: OpRewrite) -> None:
        x = r.scaled(0)
        r.result(x.scale, x.moments)

    monkeypatch.setitem(registry._rules, "stablehlo.tanh", registry.rules()["stablehlo.tanh"])
    registry.rule("tanh", family="homogeneous", law="wrong", scale="s", replace=True)(as_if_homogeneous)
    status, out, _ = check(original, "--scales=rms")
    assert status == 1
    assert "wrong" in out


def test_a_result_without_finite_values_fails(check: Check, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "log.mlir"
    path.write_text("""
      func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = stablehlo.abs %x : tensor<4xf32>
        %1 = stablehlo.negate %0 : tensor<4xf32>
        %2 = stablehlo.log %1 : tensor<4xf32>
        return %2 : tensor<4xf32>
      }""")
    status, out, err = check(path)
    assert status == 1
    assert "unchecked" in out
    assert "no finite value on these inputs" in err


def test_positive_inputs_are_drawn_where_normal_ones_give_nan(check: Check, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "sqrt.mlir"
    path.write_text("""
      func.func public @main(%x: tensor<40xf32>) -> tensor<40xf32> {
        %0 = stablehlo.sqrt %x : tensor<40xf32>
        return %0 : tensor<40xf32>
      }""")
    status, _, err = check(path)
    assert status == 0
    assert "(arg0) were drawn positive" in err
    assert "positive" not in check(path, "--draw=normal")[2]


# --- inputs and file forms ------------------------------------------------------------------------------------


def test_all_file_forms_are_read(check: Check, step: export.Exported, tmp_path: pathlib.Path) -> None:
    files = {"step.bin": step.serialize(), "step.artifact": step.mlir_module_serialized}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        assert check(tmp_path / name)[0] == 0


def test_standard_input_is_read(original: pathlib.Path) -> None:
    """As a command of its own, where a traceback or a warning would show."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-m", "scalify_hlo.tools.scalify_check", "-"],
        input=original.read_bytes(),
        capture_output=True,
        check=False,
    )
    assert b"3 of 3 results agree" in finished.stdout
    assert finished.returncode == 0
    assert b"Traceback" not in finished.stderr


def test_inputs_are_taken_by_name_or_index(check: Check, original: pathlib.Path, tmp_path: pathlib.Path) -> None:
    w, x = np.full((8, 8), 1e-3, np.float32), np.ones((5, 8), np.float32)
    path = tmp_path / "x.npz"
    np.savez(path, **{"0": w, "arg1": x, "2": np.int32(41)})
    status, out, _ = check(original, "--inputs", path)
    assert status == 0
    assert "42" in out.splitlines()[3].split()


def test_types_that_numpy_does_not_know_are_read_from_raw_bytes(check: Check, tmp_path: pathlib.Path) -> None:
    path, inputs = tmp_path / "bf16.mlir", tmp_path / "x.npz"
    path.write_text("func.func public @main(%x: tensor<2xbf16>) -> tensor<2xbf16> { return %x : tensor<2xbf16> }")
    np.savez(inputs, np.array([1.5, 3], ml_dtypes.bfloat16))
    assert check(path, "--inputs", inputs)[0] == 0


# --- one clear line for what cannot be done -------------------------------------------------------------------


def test_mistakes_are_explained(check: Check, original: pathlib.Path, tmp_path: pathlib.Path) -> None:
    def file(name: str, content: str | bytes) -> pathlib.Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def arrays(name: str, **content: np.ndarray) -> pathlib.Path:
        np.savez(tmp_path / name, **content)
        return tmp_path / name

    w, x, count = np.zeros((8, 8), np.float32), np.zeros((5, 8), np.float32), np.int32(0)
    other = file("other.mlir", "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")
    rewritten = file("rewritten.mlir", rewrite_module(original.read_text()))
    unknown_call = file(
        "call.mlir",
        """func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
          %0 = stablehlo.custom_call @mystery(%x) : (tensor<2xi32>) -> tensor<2xi32>
          return %0 : tensor<2xi32> }""",
    )
    dynamic = file("dynamic.mlir", "func.func @main(%x: tensor<?xi32>) -> tensor<?xi32> { return %x : tensor<?xi32> }")
    two = file("two.mlir", "func.func @f() { return } func.func @g() { return }")
    cases: list[tuple[list[str | pathlib.Path], str]] = [
        ([tmp_path / "absent.mlir"], "cannot read this file: No such file"),
        ([file("empty.mlir", "")], "the file is empty"),
        ([file("garbage.mlir", b"\x00\xff garbage")], "not a program"),
        ([file("text.mlir", "hello")], "hello"),
        ([original, "--rewritten", tmp_path / "absent.mlir"], "absent.mlir:1:1: error: cannot read this file"),
        ([original, "--rewritten", other], "are not those of the original"),
        ([original, "--rewritten", rewritten, "--args=0"], "no effect with --rewritten"),
        ([original, "--args=7"], "7"),
        ([original, "--inputs", tmp_path / "absent.npz"], "cannot read this file"),
        ([original, "--inputs", original], "step.mlir: error: this is no .npz file; numpy.savez writes one"),
        ([original, "--inputs", tmp_path], "cannot read this file: Is a directory"),
        ([original, "--inputs", arrays("few.npz", arg0=w)], "no array for argument 1"),
        (
            [original, "--inputs", arrays("many.npz", arg0=w, arg1=x, arg2=count, arg3=w)],
            "array 'arg3' belongs to no argument",
        ),
        ([original, "--inputs", arrays("shape.npz", arg0=x, arg1=x, arg2=count)], "tensor<8x8xf32>, but the array is"),
        ([original, "--inputs", arrays("type.npz", arg0=w, arg1=x, arg2=w)], "tensor<i32>, but the array is"),
        ([unknown_call], "XLA:CPU does not compile the module"),
        ([unknown_call, "--backend=interpreter"], "does not implement 'stablehlo.custom_call'"),
        ([dynamic], "dynamic"),
        ([two], "public function"),
        ([original, "--seed=x"], "--seed"),
        ([original, "--seed=-1"], "seed is -1; it must not be negative"),
        ([original, "--tolerance=nan"], "tolerance is nan; it must not be negative"),
        ([original, "--backend=tpu"], "--backend"),
        ([original, "--no-such-flag"], "--no-such-flag"),
        ([], "MODULE"),
    ]
    for arguments, message in cases:
        status, out, err = check(*arguments)
        assert status == 2, (arguments, err)
        assert message in err, (arguments, err)
        assert "error: " in err
        assert out == ""


# --- in another precision -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["fp16 parameters=f16", "bf16", "fp8 rescaling=logits gradients=f16"])
def test_a_module_in_another_precision_agrees_within_its_types(
    check: Check, original: pathlib.Path, precision: str
) -> None:
    status, out, _ = check(original, f"--precision={precision}")
    assert status == 0 and "3 of 3 results agree" in out


def test_an_error_beyond_the_precision_is_caught(check: Check, original: pathlib.Path, tmp_path: pathlib.Path) -> None:
    def other(w: jax.Array, x: jax.Array, count: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        new, gradient, count = loss_and_step(w, x, count)
        return new, 1.05 * gradient, count

    (tmp_path / "other.mlir").write_text(export.export(jax.jit(other))(*ARGUMENTS).mlir_module())
    assert check(original, "--rewritten", tmp_path / "other.mlir", "--precision=fp16")[0] == 1
    assert check(original, "--rewritten", tmp_path / "other.mlir", "--precision=fp8")[0] == 0


@pytest.mark.parametrize("factor", ["0.0", "1.9"])
def test_fp8_is_no_licence(check: Check, tmp_path: pathlib.Path, factor: str) -> None:
    """Of a program in FP8 the tolerance was the result itself: zeros agreed, and twice the result."""

    def forward(a: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
        return jax.nn.gelu(jax.nn.gelu(x @ a) @ b) @ b.T

    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((32, 64), (64, 64), (16, 32))]
    text = export.export(jax.jit(forward))(*shapes).mlir_module()
    rewritten = rewrite_module(text, precision="fp8")
    returned = re.search(r"return (%\d+), (%\w+) : tensor<16x64xf32>", rewritten)
    assert returned is not None
    wrong = f"""%factor = stablehlo.constant dense<{factor}> : tensor<16x64xf32>
    %wrong = stablehlo.multiply {returned[1]}, %factor : tensor<16x64xf32>
    return %wrong, {returned[2]} : tensor<16x64xf32>"""
    (tmp_path / "original.mlir").write_text(text)
    (tmp_path / "right.mlir").write_text(rewritten)
    (tmp_path / "wrong.mlir").write_text(rewritten.replace(returned[0], wrong))
    command = (tmp_path / "original.mlir", "--precision=fp8", "--rewritten")
    assert check(*command, tmp_path / "right.mlir")[0] == 0
    assert check(*command, tmp_path / "wrong.mlir")[0] == 1


def test_an_unknown_precision_is_one_line(check: Check, original: pathlib.Path) -> None:
    status, _, err = check(original, "--precision=fp9")
    assert status == 2 and err.count("\n") == 1 and "unknown precision 'fp9'; known are " in err


def test_mixed_up_scales_of_channels_fail(check: Check, tmp_path: pathlib.Path) -> None:
    """Each channel gets a scale of its own, so that a rewriting that exchanges them is found out."""
    original, right, wrong = (tmp_path / name for name in ("original.mlir", "right.mlir", "wrong.mlir"))
    original.write_text("""
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.negate %x : tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}""")
    flags = ("--scale-dims=0=1", "--result-scales=shaped")
    assert check(original, *flags)[0] == 0
    options = ScalifyOptions(scale_dims="0=1", result_scales="shaped")
    text = rewrite_module(original.read_text(), options)
    right.write_text(text)
    assert check(original, "--rewritten", right)[0] == 0
    assert "return %0, %arg1" in text
    reverse = "%r = stablehlo.reverse %arg1, dims = [1] : tensor<1x4xf32>\n    "
    wrong.write_text(text.replace("return %0, %arg1", reverse + "return %0, %r"))
    assert check(original, "--rewritten", wrong)[0] == 1
