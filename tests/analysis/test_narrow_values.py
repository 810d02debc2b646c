"""What is chosen because of narrow types is chosen for the values that have to do with them."""

import re

from scalify_hlo import ScalifyOptions, rewrite_module

DOT = (
    "stablehlo.dot_general {x}, %w, contracting_dims = [1] x [0] : "
    "(tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>"
)
CHAIN = f"""
    %a = {DOT.format(x="%x")}
    %b = stablehlo.multiply %a, %a : tensor<64x256xf32>
    %c = stablehlo.add %b, %a : tensor<64x256xf32>
    %d = {DOT.format(x="%c")}
"""
ARGUMENTS = "%x: tensor<64x256xf32>, %w: tensor<256x256xf32>, %y: tensor<8xf32>"


def _program(types: str, operations: str, results: str) -> str:
    return f"func.func @main({ARGUMENTS}) -> ({types}) {{{CHAIN}{operations}    return {results} : {types}\n}}\n"


ALONE = _program("tensor<64x256xf32>", "", "%d")
BESIDE = _program(
    "tensor<64x256xf32>, tensor<8xf16>",
    "    %h = stablehlo.convert %y : (tensor<8xf32>) -> tensor<8xf16>\n"
    "    %k = stablehlo.multiply %h, %h : tensor<8xf16>\n",
    "%d, %k",
)
UNUSED = _program("tensor<64x256xf32>", "    %h = stablehlo.convert %y : (tensor<8xf32>) -> tensor<8xf16>\n", "%d")
ON_THE_WAY = _program(
    "tensor<64x256xf32>, tensor<64x256xf16>",
    "    %h = stablehlo.convert %c : (tensor<64x256xf32>) -> tensor<64x256xf16>\n",
    "%d, %h",
)


def _chain(text: str) -> list[str]:
    """The stamps of the operations of f32 matrices."""
    lines = rewrite_module(text, ScalifyOptions(print_rules=True)).splitlines()
    assert not any("scalify.wide" in line for line in lines)
    return [
        re.sub(r"\bs\d+", "s", found[1])
        for line in lines
        if "64x256xf32>" in line.split("->")[-1] and (found := re.search(r'scalify.scale = "([^"]*)"', line))
    ]


def test_a_conversion_of_another_argument_changes_no_exponent() -> None:
    expected = _chain(ALONE)
    assert len(expected) >= 3
    assert _chain(UNUSED) == expected
    assert _chain(BESIDE) == expected


def test_a_conversion_on_the_way_does() -> None:
    assert _chain(ON_THE_WAY) != _chain(ALONE)
