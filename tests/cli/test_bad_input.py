"""Input that cannot be processed: one line that says where and what, a status that is not 0, no output."""

import base64
import dataclasses
import pathlib
import random
import re
import subprocess
import sys

import pytest

from scalify_hlo.errors import ScalifyError
from tests.cli.conftest import PROGRAM, Run, opt_process, without_excerpts

ONE_DIAGNOSTIC = re.compile(r"[^:]+:\d+:\d+: error: .+")

SHARDED = """module {
  sdy.mesh @mesh = <["i"=4]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@MESH, [{"AXIS"}]>}) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}"""
QUANTISE = '%0 = "stablehlo.uniform_quantize"(%x) : (tensor<4xf32>)'
# A portable artifact of a broadcast_add with one byte changed: its tensors are of tensors, which StableHLO reads.
TENSOR_OF_TENSORS = base64.b64decode(
    "TUzvUg1TdGFibGVITE9fdjEuMTcuMAABIQcBBQkLAQUPEwMFFxsFAx8DMxULAQ0LExMTExMDCQsLCwsBBRcHAwcXGwcCYQUR"
    "FwEHAxcBBzUXAQdhFwELBxcBCREDASMHHQ8dExsFEUEDCykFEUEBEQUFBQMFCQR9BQNQAwEHBG0DAQUFUAMDBwRZAw0XBQsF"
    "CwcAAQYHAwEDAwEGBQMBAwEJRgsFAwEFBwUBBgkDBQMJBwQJAwsGAwEFAQDHFQMHHRURDzcLCxFidWlsdGluAHZobG8AY2hs"
    "bwB1bnJlYWxpemVkX2NvbnZlcnNpb25fY2FzdABtb2R1bGUAZnVuY192MQByZXR1cm5fdjEAYnJvYWRjYXN0X2FkZABpbgAA"
    "CBkHBQEBCw0PDRETAwE="
)
FILES = {
    "unknown axis": (SHARDED.replace("MESH", "mesh").replace("AXIS", "j").encode(), 'unknown axis name: "j"'),
    "unknown mesh": (SHARDED.replace("MESH", "other").replace("AXIS", "i").encode(), "unknown mesh: @other"),
    "empty": (b"", "the file is empty"),
    "blank": (b" \n\n", "the file is empty"),
    "comment": (b"// nothing\n", "there is no operation here"),
    "json": (b'{"a": 1}\n', "this is not MLIR"),
    "prose": (b"Dear reader,\n", "this is not MLIR"),
    "latin1": (b"// caf\xe9\nmodule {}\n", "byte 0xe9 here is not text"),
    "nul": (b"module {}\n\0\n", "byte 0x00 here is not text"),
    "hlo": (b"HloModule jit_f\n", "this is HLO text"),
    "gzip": (b"\x1f\x8b\x08\0\0\0\0\0", "gzip -d"),
    "zip": (b"PK\x03\x04", "zip archive"),
    "syntax": (b"func.func @main( {\n", "error: expected"),
    "truncated text": (PROGRAM[:-20].encode(), "error: expected"),
    "unknown op": (b"func.func @main() {\n  stablehlo.frobnicate\n}\n", "custom op 'stablehlo.frobnicate' is unknown"),
    "invalid op": (b"func.func @main(%x: i3) {\n  %0 = stablehlo.negate %x : i3\n return }", "must be ranked tensor"),
    "other dialect": (
        b"func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        b" %0 = mhlo.tan %x : tensor<2xf32>\n return %0 : tensor<2xf32>\n}",
        "mhlo.tan",
    ),
    "tensor of tensors": (TENSOR_OF_TENSORS, "a value of type tensor<4x16xtensor<4x16xf32>>"),
    "more elements than 64 bits count": (
        b"func.func @main(%x: tensor<9223372036854775807x6xf32>) -> tensor<9223372036854775807x6xf32> {\n"
        b" %0 = stablehlo.negate %x : tensor<9223372036854775807x6xf32>\n"
        b" return %0 : tensor<9223372036854775807x6xf32>\n}",
        "has more elements than 64 bits can count",
    ),
    "no function": (b"module {}\n", "no public function"),
    "two functions": ((PROGRAM.replace("main", "f") + PROGRAM.replace("main", "g")).encode(), "2 public functions"),
}


@pytest.mark.parametrize(("data", "message"), FILES.values(), ids=FILES.keys())
def test_file_gets_one_located_line(opt: Run, tmp_path: pathlib.Path, data: bytes, message: str):
    source, target = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_bytes(data)
    line = opt(source, "-o", target).error_line()
    assert ONE_DIAGNOSTIC.fullmatch(line)
    assert line.startswith(str(source))
    assert message in line
    assert not target.exists()


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("syntax", "1:17"),
        ("unknown op", "2:3"),
        ("invalid op", "2:8"),
        ("latin1", "1:7"),
        ("nul", "2:1"),
        ("other dialect", "2:7"),
    ],
)
def test_the_line_has_the_position(opt: Run, text: str, position: str):
    assert opt(stdin=FILES[text][0]).error_line().startswith(f"<stdin>:{position}: error: ")


def test_missing_file(opt: Run):
    assert (
        opt("no/such.mlir").error_line() == "no/such.mlir:1:1: error: cannot read this file: No such file or directory"
    )


def test_folder(opt: Run, tmp_path: pathlib.Path):
    assert opt(tmp_path).error_line().endswith("error: cannot read this file: Is a directory")


def test_output_in_a_missing_folder(opt: Run, program_file: pathlib.Path):
    assert "cannot write this file" in opt(program_file, "-o", "no/such/out.mlir").error_line()


FLAGS = [
    (["--rounding=sideways"], "Invalid value for '--rounding': 'sideways' is not one of"),
    (["--scale-dtype=f16"], "'f16' is not one of 'f32', 'e8m0'"),
    (["--rules=mine"], "Invalid value for '--rules'"),
    (["--on-unsupported=ignore"], "Invalid value for '--on-unsupported'"),
    (["--scaled-types=f16,f33"], "invalid value 'f33' for --scaled-types: expected 'f64', 'f32'"),
    (["--slack=much"], "'much' is not a valid float"),
    (["--slack=nan"], "slack=nan: expected a number of at least 0"),
    (["--slack=-5"], "expected a number of at least 0"),
    (["--target=abc"], "'abc' is no StableHLO version"),
    (["--target=9.9.9"], "cannot be written by this jaxlib"),
    (["--precision=fp8 rescaling=everywhere"], "unknown place 'everywhere'; known are branches"),
    (["--emit=png"], "Invalid value for '--emit'"),
    (["--no-such-flag"], "No such option"),
    (["--args=9"], "argument index 9 is out of range"),
    (["--args=1-0"], "the range '1-0' is empty: write 0-1"),
    (["--args=weights*"], "no argument is called 'weights*'"),
    (["--args=1"], "i32"),
    (["--scale-dims=0"], "'0' in --scale-dims is no ARGUMENT=DIMENSION"),
    (["--scale-dims=0=x"], "'0=x' in --scale-dims is no ARGUMENT=DIMENSION"),
    (["--scale-dims=0=7"], "without the dimension 7 of --scale-dims"),
    (["--scale-dims=1=0"], "argument 1 ('arg1') is not scaled"),
    (["--scale-dims=9=0"], "argument index 9 is out of range"),
    (["--scale-dims=w*=0"], "no argument is called 'w*'"),
    (["--result-scales=round"], "Invalid value for '--result-scales'"),
    (["--pass-pipeline=builtin.module(nope)"], "'nope' does not refer to a registered pass"),
    (["--pass-pipeline=builtin.module(scalify{rounding=x})"], "invalid value 'x' for rounding: expected 'down'"),
    (["--pass-pipeline=builtin.module(scalify{colour=x})"], "unknown option 'colour'; the options are args"),
    (["--pass-pipeline=builtin.module(cse"], "expected ')' here"),
    (["--pass-pipeline=func.func(scalify)"], "cannot be nested in func.func"),
    (["--pass-pipeline=cse", "--cse"], "exclude each other"),
    (["--split-input-file", "--emit=bytecode"], "needs text in and text out"),
    (["second.mlir"], "unexpected extra argument"),
]


@pytest.mark.parametrize(("flags", "message"), FLAGS, ids=[" ".join(flags) for flags, _ in FLAGS])
def test_flag_gets_one_line(
    opt: Run, program_file: pathlib.Path, tmp_path: pathlib.Path, flags: list[str], message: str
):
    target = tmp_path / "out.mlir"
    line = opt(program_file, *flags, "-o", target).error_line()
    assert message in line
    assert "error: " in line
    assert not target.exists()


def test_an_old_output_stays_on_failure(opt: Run, tmp_path: pathlib.Path):
    target = tmp_path / "out.mlir"
    target.write_text("precious")
    assert opt("-o", target, stdin="module {").status == 1
    assert target.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [target]


def damaged(data: bytes, seed: int) -> bytes:
    """Truncated, flipped, overwritten or shifted somewhere, by a seeded choice."""
    rng = random.Random(seed)
    at = rng.randrange(4, len(data))
    junk = rng.randbytes(rng.randrange(1, 20))
    kinds = [
        data[:at],
        data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
        data[:at] + junk + data[at + len(junk) :],
        data[:at] + junk + data[at:],
    ]
    return kinds[seed % 4]


@pytest.mark.parametrize("form", ["bytecode", "artifact", "exported"])
@pytest.mark.parametrize("seed", range(8))
def test_damaged_binary(forms: dict[str, bytes], exported: bytes, form: str, seed: int):
    """A damaged file is refused in one line, or, where the damage is not seen, processed: never an abort."""
    data = damaged(exported if form == "exported" else forms[form], seed)
    result = opt_process("--emit=text", stdin=data)
    if result.status:
        assert ONE_DIAGNOSTIC.fullmatch(result.error_line())
    else:
        assert result.text.startswith("module")


@pytest.mark.parametrize("form", ["bytecode", "artifact"])
def test_truncated_binary_says_what_it_is(opt: Run, forms: dict[str, bytes], form: str):
    line = opt(stdin=forms[form][:-30]).error_line()
    name = {"bytecode": "MLIR bytecode", "artifact": "StableHLO portable artifact"}[form]
    assert f"<stdin>:1:1: error: cannot read this {name} (truncated or damaged" in line


def test_binary_with_a_name_that_is_no_utf8(opt: Run):
    source = 'func.func @main(%x: tensor<f32> loc("argument_name")) -> tensor<f32> {\n  return %x : tensor<f32>\n}\n'
    binary = opt("--emit=bytecode", "--cse", stdin=source).output
    line = opt_process(stdin=binary.replace(b"argument_name", b"argument\xffname")).error_line()
    assert ONE_DIAGNOSTIC.fullmatch(line)
    assert "this MLIR bytecode" in line


def test_text_whose_error_message_is_no_utf8():
    """The bindings abort the process on such a message; a child process takes the blow."""
    line = opt_process(stdin='func.func @main() {\n  call @"\\FF\\FE"() : () -> ()\n  return\n}\n').error_line()
    assert line == "<stdin>:1:1: error: this text makes MLIR crash (truncated or damaged?)"


CONVOLUTION = """\
func.func @main(%a: tensor<1x8x8x3xf32>, %b: tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, SIZE, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32>
  return %0 : tensor<1x6x6x4xf32>
}
"""
BOUNDLESS = {
    "32 GB of dimensions": CONVOLUTION.replace("SIZE", "4000000000"),
    "beyond memory": CONVOLUTION.replace("SIZE", "9000000000000000000"),
    "beyond i64": CONVOLUTION.replace("SIZE", "99999999999999999999"),
    "32 GB of results": PROGRAM.replace("return %", "return %x#4000000000, %", 1),
    # It is read: what nobody reads is erased.
    "complex literal": PROGRAM.replace(
        "negate %x : tensor<4xf32>",
        "constant dense<(1.0,0.0)> : tensor<f32> "
        "%b = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4xf32> "
        "%1 = stablehlo.add %x, %b : tensor<4xf32>",
    ).replace("return %0", "return %1"),
    "deep brackets": f"module attributes {{x = {'[' * 100_000}{']' * 100_000}}} {{}}\n",
}


@pytest.mark.skipif(not pathlib.Path("/proc/self/statm").exists(), reason="memory is bounded on Linux alone")
@pytest.mark.parametrize("text", BOUNDLESS.values(), ids=BOUNDLESS.keys())
def test_text_on_which_the_parser_ends_the_process(text: str):
    """It makes room for all spatial dimensions and results below the one named, and nests without bound."""
    assert ONE_DIAGNOSTIC.fullmatch(opt_process(stdin=text).error_line())


def test_a_command_inside_a_program_that_uses_mlir_is_isolated_too(opt: Run):
    """It cannot be forked there: MLIR's threads would be missing in the child."""
    code = (
        "from scalify_hlo.bindings import make_context\nmake_context()\n"
        "from scalify_hlo.tools.scalify_opt import main\nmain([])"
    )
    command = [sys.executable, "-c", code]
    finished = subprocess.run(
        command, input=BOUNDLESS["complex literal"].encode(), capture_output=True, check=False, timeout=60
    )
    assert finished.returncode == 1
    assert ONE_DIAGNOSTIC.fullmatch("\n".join(without_excerpts(finished.stderr.decode())))
    good = subprocess.run(command, input=PROGRAM.encode(), capture_output=True, check=False, timeout=60)
    assert (good.returncode, good.stdout) == (0, opt(stdin=PROGRAM).output)


PREAMBLES = {
    "a divider": "/" * 80 + "\n",
    "carriage returns": "// licence text\r\n" * 200,
    "byte order mark": "\ufeff// text\n",
    "trailing spaces": "// licence text \n" * 200,
    "blank lines": " \t\n\n" * 200 + "//\n",
}


@pytest.mark.parametrize("preamble", PREAMBLES.values(), ids=PREAMBLES.keys())
def test_comments_before_a_program_take_no_time(preamble: str):
    """Each of them took more than a minute: the time was exponential in the number of lines."""
    assert opt_process(stdin=preamble + PROGRAM, timeout=30).status == 0
    assert "there is no operation here" in opt_process(stdin=preamble, timeout=30).error_line()


def test_a_defect_of_the_tool_is_called_one(opt: Run, program_file: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    from scalify_hlo.tools.scalify_opt import main

    import scalify_hlo.passes.scalify

    def broken(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(scalify_hlo.passes.scalify, "scalify_in_place", broken)
    result = opt(program_file)
    assert result.status == 70
    assert "internal error: KeyError: 'oops'" in result.error_line()
    assert "please report" in result.stderr
    with pytest.raises(KeyError):
        main.run([str(program_file), "--debug"])


def test_a_closed_pipe_is_no_error_message():
    command = f"{sys.executable} -m scalify_hlo.tools.scalify_opt --list-rules | head -c 1"
    finished = subprocess.run(command, shell=True, capture_output=True, check=False)
    assert finished.stderr == b""


def test_an_einsum_that_is_no_equation(opt: Run):
    """ValueError: not enough values to unpack."""
    line = opt(
        stdin="""\
func.func public @main(%0: tensor<3x8xf16>, %1: tensor<8x2xf16>) -> tensor<3x2xf16> {
  %r = "stablehlo.einsum"(%0, %1) {einsum_config = "x"} : (tensor<3x8xf16>, tensor<8x2xf16>) -> tensor<3x2xf16>
  return %r : tensor<3x2xf16>
}
"""
    ).error_line()
    assert line.startswith("<stdin>:2:8: error: einsum_config 'x' is no equation of 2 operands")


def test_a_damaged_module_inside_an_exported(exported: bytes):
    """ValueError from the bindings; bytes that ask for more memory than there is were a MemoryError."""
    at = exported.index(b"StableHLO_v")
    for place in (40, 90, 150):
        damaged = exported[: at + place] + b"\xff" + exported[at + place + 1 :]
        result = opt_process(stdin=damaged)
        assert result.status in (0, 1), result.stderr
        assert "internal error" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["-o", ""], "'-o': it is empty, and FILE is wanted"),
        (["--target="], "'--target': it is empty, and VALUE is wanted"),
        (["--pin-scales="], "'--pin-scales': it is empty, and FILE is wanted"),
        (["--precision=fp16", "--weights=a*", "--weights="], "'--weights': it is empty, and PATTERN is wanted"),
        (["--args="], "'--args': it is empty, and VALUE is wanted"),
        (["--pass-pipeline="], "'--pass-pipeline': it is empty, and PIPELINE is wanted"),
        (["--load-rules="], "'--load-rules': it is empty, and FILE.py is wanted"),
    ],
)
def test_an_empty_text_is_no_name(opt: Run, arguments: list[str], wanted: str):
    """Of a variable that is not set in a script: most were taken for an option that is left out, or for the folder."""
    result = opt(*arguments, stdin=PROGRAM)
    assert result.status == 2 and result.output == b""
    assert wanted in result.stderr


def test_an_empty_text_is_what_some_options_are_set_to(opt: Run):
    assert opt("--scale-dims=", stdin=PROGRAM).status == 0


@pytest.mark.parametrize("flags", [(), ("--allow-unregistered-dialect",)])
def test_quantised_types_need_a_dialect_that_jaxlib_has_not(opt: Run, flags: tuple[str, ...]):
    """MLIR's own words advise an option with which the next error follows."""
    quantised = "tensor<4x!quant.uniform<i8:f32, 0.1>>"
    result = opt(*flags, stdin=f"func.func @main(%x: tensor<4xf32>) {{ {QUANTISE} -> {quantised} return }}")
    assert result.status == 1
    assert all(
        "the dialect quant, without which jaxlib is built" in line for line in result.lines if ": error: " in line
    )
    assert ": error: " in result.stderr


def test_types_of_other_dialects_are_accepted_on_request(opt: Run):
    program = f"func.func private @f(!mine.type)\n{PROGRAM}"
    result = opt(stdin=program)
    assert result.status == 1 and "dialect mine, which is not registered; --allow-unregistered-dialect" in result.stderr
    assert opt("--allow-unregistered-dialect", stdin=program).status == 0


def test_an_exported_whose_module_takes_inputs_that_there_are_not(monkeypatch: pytest.MonkeyPatch, exported: bytes):
    """IndexError: the numbers are read from the file."""
    import jax.export

    from scalify_hlo.io.serialization import load_exported, recognise

    good = jax.export.deserialize(bytearray(exported))
    for kept in ((0, 1, 8), (1, 0, 2), (0, 0, 1), (-1, 0, 1)):
        wrong = dataclasses.replace(good, module_kept_var_idx=kept)
        monkeypatch.setattr(jax.export, "deserialize", lambda _, wrong=wrong: wrong)
        with pytest.raises(ScalifyError, match="its module takes inputs"):
            load_exported(recognise(exported, "in"))


def test_an_exported_whose_module_has_other_arguments_than_it_says(exported: bytes):
    """ValueError: zip() argument 2 is longer than argument 1."""
    import jax.export

    from scalify_hlo.exported import scalify_exported
    from scalify_hlo.serving.exported import packed_arguments

    good = jax.export.deserialize(bytearray(exported))
    less = dataclasses.replace(good, module_kept_var_idx=())
    more = dataclasses.replace(good, out_avals=good.out_avals * 2)
    for wrong in (less, more):
        for use in (scalify_exported, lambda wrong: packed_arguments(wrong, "weights.npz")):
            with pytest.raises(ScalifyError, match="its module has 3 arguments and 1 results"):
                use(wrong)
