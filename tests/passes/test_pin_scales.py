"""`scalify-pin-scales`, `scalify-fold-scales`, `scalify-store-weights`: a served program has data only."""

import pathlib
import re

import ml_dtypes
import numpy as np
import pytest

from scalify_hlo.analysis.weights import find_weights
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.in_place import scalify_in_place
from scalify_hlo.io.scales_file import ScalesFile, read_scales
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.fold_scales import FoldScales
from scalify_hlo.passes.pin_scales import PinScales, pin_scales
from scalify_hlo.passes.precision_pipeline import precision_pipeline

RNG = np.random.default_rng(0)

# Two layers and a table; the scores of the table are the head.
PROGRAM = """
func.func @main(%table: tensor<64x16xf32> loc("p['table']"), %u: tensor<16x32xf32> loc("p['u']"),
                %v: tensor<32x16xf32> loc("p['v']"), %x: tensor<8x16xf32> loc("x"), %i: tensor<8x1xi32> loc("i"))
    -> tensor<8x64xf32> {
  %rows = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}>
    : (tensor<64x16xf32>, tensor<8x1xi32>) -> tensor<8x16xf32>
  %h = stablehlo.add %rows, %x : tensor<8x16xf32>
  %a = stablehlo.dot_general %h, %u, contracting_dims = [1] x [0]
     : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %t = stablehlo.tanh %a : tensor<8x32xf32>
  %b = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0]
     : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %y = stablehlo.dot_general %b, %table, contracting_dims = [1] x [1]
     : (tensor<8x16xf32>, tensor<64x16xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}"""
VALUES = {
    "p['table']": RNG.standard_normal((64, 16)) * 2.0**-6,
    "p['u']": RNG.standard_normal((16, 32)) * 2.0**-4,
    "p['v']": RNG.standard_normal((32, 16)) * 2.0**-7,
    "x": RNG.standard_normal((8, 16)) * 2.0**12,
}
SCALES = {name: np.float32(2.0 ** np.round(np.log2(np.sqrt(np.mean(value**2))))) for name, value in VALUES.items()}
INDEX = np.arange(8, dtype=np.int32).reshape(8, 1)


def module(text: str = PROGRAM) -> ir.Module:
    return ir.Module.parse(text, context=make_context())


def exact() -> np.ndarray:
    arrays = [np.asarray(value, np.float32) for value in VALUES.values()]
    return xla.compile(PROGRAM)([*arrays, INDEX])[0]


def assert_same_bits(pinned: ir.Module) -> None:
    """On the reference interpreter: XLA fuses the two programs differently."""
    arrays = [np.asarray(value, np.float32) for value in VALUES.values()]
    assert np.array_equal(interpret(pinned, [*arrays, INDEX])[0], interpret(module(), [*arrays, INDEX])[0])


def scale_operations(text: str) -> list[str]:
    """Operations of rank 0 that are no constants."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"-> tensor<f32>$|: tensor<f32>$", line.strip())]
    return [
        line
        for line in lines
        if "stablehlo.constant" not in line and not line.startswith(("return", "stablehlo.return"))
    ]


def test_weights_are_what_is_contracted_with_activations() -> None:
    assert find_weights(module(), "main") == {0, 1, 2}


def test_a_written_cache_is_no_weight() -> None:
    text = """
    func.func @main(%q: tensor<1x16xf32>, %cache: tensor<8x16xf32>, %new: tensor<1x16xf32>, %i: tensor<i32>)
        -> (tensor<1x8xf32>, tensor<8x16xf32>) {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %k = stablehlo.dynamic_update_slice %cache, %new, %i, %z
         : (tensor<8x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
      %h = stablehlo.tanh %q : tensor<1x16xf32>
      %s = stablehlo.dot_general %h, %k, contracting_dims = [1] x [1]
         : (tensor<1x16xf32>, tensor<8x16xf32>) -> tensor<1x8xf32>
      return %s, %k : tensor<1x8xf32>, tensor<8x16xf32>
    }"""
    assert find_weights(module(text), "main") == set()


def test_frozen_weights_are_stored_in_fp8_at_scales_that_fit_them() -> None:
    """Weights of 2^-24 are below f16: no cast of the constants themselves could keep them."""
    weights = [np.float32(RNG.standard_normal((16, 16)) * 2.0**-24) for _ in range(3)]
    u, v, w = (f'dense<"0x{each.tobytes().hex().upper()}">' for each in weights)
    text = f"""
    func.func @main(%x: tensor<8x16xf32> loc("x")) -> tensor<8x16xf32> {{
      %u = stablehlo.constant {u} : tensor<16x16xf32>
      %v = stablehlo.constant {v} : tensor<16x16xf32>
      %w = stablehlo.constant {w} : tensor<16x16xf32>
      %a = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0]
         : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      %t = stablehlo.tanh %a : tensor<8x16xf32>
      %b = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0]
         : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      %r = stablehlo.tanh %b : tensor<8x16xf32>
      %y = stablehlo.dot_general %r, %w, contracting_dims = [1] x [0]
         : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
      return %y : tensor<8x16xf32>
    }}"""
    assert find_weights(module(text), "main") == set()  # x is an input
    served = module(text)
    precision_pipeline("fp8").run(served, [])
    assert served.operation.verify()
    assert [spec.role for spec in entry_signature(served).arguments] == ["data", "scale"]
    constants = re.findall(r"stablehlo.constant dense<.*> : tensor<16x16x(\w+)>", str(served))
    assert [each for each in constants if each != "f32"] == ["f8E4M3FN"] * 3
    x = np.float32(RNG.standard_normal((8, 16)))
    data, scale = xla.compile(served)([x / 8, np.float32(8)])
    (want,) = xla.compile(text)([x])
    assert np.linalg.norm(data * np.float64(scale) - want) < 0.1 * np.linalg.norm(want)


def test_pinned_f32_has_the_original_s_bits_and_signature() -> None:
    """Powers of two move no bit; no argument is marked as a weight, so all are plain values."""
    rewritten = module()
    scalify_in_place(rewritten)
    assert pin_scales(rewritten, ScalesFile(dict(SCALES))) == 4
    assert rewritten.operation.verify()
    assert [a.element_type for a in entry_signature(rewritten).arguments] == ["f32"] * 4 + ["i32"]
    assert not scale_operations(str(rewritten))
    assert_same_bits(rewritten)


def test_pinned_fp8_reads_stored_weights_as_they_are() -> None:
    served = module()
    precision_pipeline("fp8").run(served, [])
    pin_scales(served, ScalesFile(dict(SCALES)))
    assert served.operation.verify()
    text = str(served)
    assert not scale_operations(text)
    assert len(re.findall(r"dot_general .*xf8E4M3FN>, tensor<[\dx]*xf8E4M3FN>", text)) == 2
    # What is converted to FP8 is activations: the weights are stored so.
    assert len(re.findall(r"convert .*-> tensor<[\dx]*xf8E4M3FN>", text)) == 2
    weights = [
        np.asarray(VALUES[name] / SCALES[name]).astype(ml_dtypes.float8_e4m3fn)
        for name in ("p['table']", "p['u']", "p['v']")
    ]
    (got,) = xla.compile(served)([*weights, VALUES["x"].astype(np.float32), INDEX])
    want = exact()
    assert np.linalg.norm(got - want) < 0.06 * np.linalg.norm(want)


def test_a_scale_for_each_channel() -> None:
    from scalify_hlo.options import ScalifyOptions

    rewritten = module()
    scalify_in_place(rewritten, ScalifyOptions(scale_dims="p['u']=1"))
    channels = np.float32(2.0 ** RNG.integers(-8, 8, (1, 32)))
    pin_scales(rewritten, ScalesFile({**SCALES, "p['u']": channels}))
    assert rewritten.operation.verify()
    assert_same_bits(rewritten)


def test_a_loop_carries_no_scales_that_it_does_not_change() -> None:
    text = """
    func.func @main(%w: tensor<8x8xf32> loc("w"), %x: tensor<4x8xf32> loc("x")) -> tensor<4x8xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<4x8xf32>
       cond {
        %n = stablehlo.constant dense<3> : tensor<i32>
        %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
       } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        %y = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0]
           : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
        %t = stablehlo.tanh %y : tensor<4x8xf32>
        stablehlo.return %j, %t : tensor<i32>, tensor<4x8xf32>
       }
      return %r#1 : tensor<4x8xf32>
    }"""
    rewritten = module(text)
    scalify_in_place(rewritten)
    pin_scales(rewritten, ScalesFile({"w": np.float32(0.25), "x": np.float32(1)}))
    assert rewritten.operation.verify() and not scale_operations(str(rewritten))
    arrays = [np.float32(RNG.standard_normal(shape)) for shape in ((8, 8), (4, 8))]
    assert np.array_equal(interpret(rewritten, arrays)[0], interpret(text, arrays)[0])


def test_folding_rounds_as_the_operations_would() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
      %a = stablehlo.constant dense<0.1> : tensor<f32>
      %b = stablehlo.constant dense<3.0> : tensor<f32>
      %c = stablehlo.multiply %a, %b : tensor<f32>
      %h = stablehlo.convert %c : (tensor<f32>) -> tensor<f16>
      %w = stablehlo.convert %h : (tensor<f16>) -> tensor<f32>
      %f = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %y = stablehlo.multiply %x, %f : tensor<4xf32>
      %bits = stablehlo.bitcast_convert %c : (tensor<f32>) -> tensor<i32>
      return %y, %bits : tensor<4xf32>, tensor<i32>
    }"""
    folded = module(text)
    FoldScales().apply(folded, [])
    assert str(folded).count("stablehlo.") == 3  # two constants and the multiplication of data
    x = np.float32(RNG.standard_normal(4))
    for got, want in zip(xla.compile(folded)([x]), xla.compile(text)([x]), strict=True):
        assert np.array_equal(got, want)


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        ({k: v for k, v in SCALES.items() if k != "x"}, "no scale for argument 'x'"),
        ({**SCALES, "y": np.float32(1)}, "there is no scaled argument 'y'; the names are p['table']"),
        ({**SCALES, "x": np.float32(3)}, "the scale of argument 'x' is 3.0: a power of two is needed"),
        ({**SCALES, "x": np.float32(0)}, "the scale of argument 'x' is 0.0: a power of two is needed"),
        ({**SCALES, "x": np.ones(3, np.float32)}, "the scale of argument 'x' has shape [3]"),
    ],
)
def test_scales_that_do_not_fit_get_one_line(scales: dict[str, np.ndarray], message: str) -> None:
    rewritten = module()
    scalify_in_place(rewritten)
    with pytest.raises(ScalifyError) as error:
        pin_scales(rewritten, ScalesFile(scales), "scales.json")
    assert str(error.value).startswith("scales.json: error: " + message) and "\n" not in str(error.value)


def test_scales_for_a_module_without_any_name_the_options() -> None:
    rewritten = module()
    scalify_in_place(rewritten, ScalifyOptions(args="none"))
    with pytest.raises(ScalifyError, match=r"no argument has a scale: scalify all .* \(--args, --results\)"):
        pin_scales(rewritten, ScalesFile(SCALES), "scales.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x04K\x01.", "this is no JSON file"),
        (b"[1, 2]", "this is no file of scales"),
        (b'{"format": "scalify-scales", "version": 9}', "version 9 of the format; this tool reads 1"),
        (b'{"format": "scalify-scales", "version": 1, "arguments": {"x": "big"}}', "arguments: 'x' is no number"),
    ],
)
def test_a_file_that_is_not_what_it_says(tmp_path: pathlib.Path, content: bytes, message: str) -> None:
    path = tmp_path / "scales.json"
    path.write_bytes(content)
    with pytest.raises(ScalifyError, match=re.escape(message)):
        PinScales(file=str(path)).apply(module(), [])


def test_the_file_comes_back_as_it_was(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "scales.json"
    scales = ScalesFile(dict(SCALES), operands={"1.lhs": 4.0}, precision="fp8", batches=2)
    path.write_bytes(scales.to_json())
    assert read_scales(str(path)).to_json() == scales.to_json()


def test_the_remark_counts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "scales.json"
    path.write_bytes(ScalesFile(dict(SCALES)).to_json())
    rewritten, remarks = module(), list[Diagnostic]()
    scalify_in_place(rewritten)
    PinScales(file=str(path)).apply(rewritten, remarks)
    assert [remark.message for remark in remarks] == ["scalify-pin-scales: 4 scales pinned"]


MASKED = """
func.func @main(%w: tensor<16x16xf32> loc("w"), %x: tensor<8x16xf32> loc("x"), %m: tensor<8x16xi1> loc("m"))
    -> tensor<8x16xf32> {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %c = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
  %a = func.call @where(%m, %h, %c) : (tensor<8x16xi1>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  %e = stablehlo.exponential %a : tensor<8x16xf32>
  return %e : tensor<8x16xf32>
}
func.func private @where(%m: tensor<8x16xi1>, %x: tensor<8x16xf32>, %c: tensor<f32>) -> tensor<8x16xf32> {
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
  %y = stablehlo.select %m, %x, %b : tensor<8x16xi1>, tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}"""


def test_scales_that_private_functions_take_are_folded_too() -> None:
    """jnp.where is a private function in every program that JAX exports."""
    pinned = module(MASKED)
    scalify_in_place(pinned)
    pin_scales(pinned, ScalesFile({"w": np.float32(0.25), "x": np.float32(4)}))
    lines = [line.strip() for line in str(pinned).splitlines()]
    assert not any(line.endswith(": tensor<f32>") and "stablehlo.constant" not in line for line in lines)
    x, w = RNG.standard_normal((8, 16)).astype(np.float32), RNG.standard_normal((16, 16)).astype(np.float32) / 16
    mask = RNG.random((8, 16)) < 0.5
    (got,) = xla.compile(pinned)([w, x, mask])
    np.testing.assert_allclose(got, np.where(mask, np.exp(x @ w), 0), rtol=1e-5)


def test_scales_that_were_brought_together_in_a_vector_are_folded_too() -> None:
    """Many arguments' scales are computed in one vector (packed_scales), behind a barrier."""
    names = [f"w{i}" for i in range(12)]
    arguments = ", ".join(f'%{name}: tensor<16x16xf32> loc("{name}")' for name in names)
    lines, value = [], "%x"
    for name in names:
        lines.append(
            f"%{name}y = stablehlo.dot_general {value}, %{name}, contracting_dims = [1] x [0] : "
            f"(tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>\n"
            f"%{name}z = stablehlo.add %{name}y, {value} : tensor<8x16xf32>"
        )
        value = f"%{name}z"
    pinned = module(
        f'func.func @main({arguments}, %x: tensor<8x16xf32> loc("x")) -> tensor<8x16xf32> {{\n'
        + "\n".join(lines)
        + f"\nreturn {value} : tensor<8x16xf32>\n}}"
    )
    scalify_in_place(pinned)
    assert "optimization_barrier" in str(pinned)
    pin_scales(pinned, ScalesFile({name: np.float32(0.25) for name in names} | {"x": np.float32(4)}))
    text = str(pinned)
    assert "optimization_barrier" not in text and "concatenate" not in text
    assert not [line for line in text.splitlines() if line.endswith("tensor<f32>") and "constant" not in line]


@pytest.mark.parametrize("count", [6, 30])
def test_scales_that_leave_together_are_folded_too(count: int) -> None:
    """Scales of results leave as results of reductions, more of them through a vector (packed_scales)."""
    names = [f"w{i}" for i in range(count)]
    arguments = ", ".join(f'%{name}: tensor<16xf32> loc("{name}")' for name in names)
    sums = "\n".join(f"%{name}y = stablehlo.add %{name}, %x : tensor<16xf32>" for name in names)
    returned, types = ", ".join(f"%{name}y" for name in names), ", ".join(["tensor<16xf32>"] * count)
    body = f"{sums}\nreturn {returned} : {types}"
    pinned = module(f'func.func @main({arguments}, %x: tensor<16xf32> loc("x")) -> ({types}) {{\n{body}\n}}')
    scalify_in_place(pinned)
    assert "stablehlo.reduce" in str(pinned) and ("optimization_barrier" in str(pinned)) == (count == 30)
    pin_scales(pinned, ScalesFile({name: np.float32(0.25) for name in names} | {"x": np.float32(4)}))
    text = str(pinned)
    assert not re.search(r"stablehlo.(reduce|pad|clamp|slice|optimization_barrier)", text)
    assert not [line for line in text.splitlines() if line.endswith("tensor<f32>") and "constant" not in line]


def test_rounding_to_powers_of_two_is_folded_as_xla_rounds() -> None:
    numbers = [1.0, 1.4, 1.5, 1.6, 3.0, 2.9, 6.0, 0.75, 0.74, 1e-30, 3e38 / 4, 2.0**-126]
    for number in numbers:
        text = f"""func.func @main() -> tensor<f32> {{
          %c = stablehlo.constant dense<{number:.9e}> : tensor<f32>
          %r = stablehlo.reduce_precision %c, format = e8m0 : tensor<f32>
          return %r : tensor<f32>
        }}"""
        folded = module(text)
        FoldScales().apply(folded, [])
        assert "reduce_precision" not in str(folded)
        assert xla.compile(folded)([])[0] == interpret(text, [])[0]


def test_what_a_pass_measures_and_has_no_scale_is_data_at_a_scale_of_one() -> None:
    """The frequencies of a sinusoidal embedding are made of constants; they were asked for their scale in each call."""
    text = """
    func.func @main(%t: tensor<8xf32> loc("t"), %w: tensor<16x8xf32> loc("w")) -> tensor<8x8xf32> {
      %k = stablehlo.iota dim = 0 : tensor<16xf32>
      %four = stablehlo.constant dense<4.0> : tensor<16xf32>
      %q = stablehlo.divide %k, %four : tensor<16xf32>
      %n = stablehlo.negate %q : tensor<16xf32>
      %f = stablehlo.exponential %n : tensor<16xf32>
      %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
      %fb = stablehlo.broadcast_in_dim %f, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
      %a = stablehlo.multiply %tb, %fb : tensor<8x16xf32>
      %s = stablehlo.sine %a : tensor<8x16xf32>
      %y = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0]
         : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
      return %y : tensor<8x8xf32>
    }"""
    served = ir.Module.parse(text, context=make_context())
    precision_pipeline("fp8").run(served, [])
    assert "scalify.get_data_and_scale" in str(served)
    pin_scales(served, ScalesFile({"t": np.float32(1), "w": np.float32(0.5)}))
    assert "composite" not in str(served)
    t, w = np.linspace(0, 9, 8, dtype=np.float32), np.asarray(RNG.standard_normal((16, 8)), np.float32)
    want = xla.compile(ir.Module.parse(text, context=make_context()))([t, w])[0]
    spec = entry_signature(served).arguments[1]
    got = xla.compile(served)([t, (w / 0.5).astype(spec.dtype)])[0]
    assert np.linalg.norm(got - want) / np.linalg.norm(want) < 0.05
