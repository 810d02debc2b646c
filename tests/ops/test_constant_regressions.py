"""Constants that were rewritten wrongly once, and what arithmetic makes of them, each with what was wrong."""

import pytest

from tests.support import check_program


@pytest.mark.parametrize("number", ["(2.0, 0.0)", "(0.0, 0.0)", "(0x7FC00000, 0.0)", "[(1.0, 2.0), (3.0, 4.0)]"])
def test_complex_constants(number: str) -> None:
    """The bindings cannot read them: every program with one raised TypeError."""
    check_program(f"""
func.func public @main(%x: tensor<2xf32>, %y: tensor<2xf32>, %p: tensor<2xi1>) -> (tensor<2xf32>, tensor<2xf32>) {{
  %z = stablehlo.complex %x, %y : tensor<2xcomplex<f32>>
  %c = stablehlo.constant dense<{number}> : tensor<2xcomplex<f32>>
  %a = stablehlo.add %z, %c : tensor<2xcomplex<f32>>
  %s = stablehlo.select %p, %a, %c : tensor<2xi1>, tensor<2xcomplex<f32>>
  %re = stablehlo.real %s : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %im = stablehlo.imag %s : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %re, %im : tensor<2xf32>, tensor<2xf32>
}}""")


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("i32", "stablehlo.divide %a, %b"),  # 100 / 7 was taken to be 14.28
        ("i8", "stablehlo.add %a, %a"),  # 200, where the type has -56
        ("ui8", "stablehlo.subtract %b, %a"),
        ("i32", "stablehlo.negate %a"),
    ],
)
def test_arithmetic_of_integer_constants(element: str, text: str) -> None:
    type_ = f"tensor<4x{element}>"
    check_program(f"""
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %a = stablehlo.constant dense<100> : {type_}
  %b = stablehlo.constant dense<7> : {type_}
  %0 = {text} : {type_}
  %1 = stablehlo.convert %0 : ({type_}) -> tensor<4xf32>
  %2 = stablehlo.add %x, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}}""")


def test_a_constant_rounded_to_an_integer() -> None:
    """270.75 stayed what it was, in i32 and in i1."""
    check_program("""
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<270.75> : tensor<4xf32>
  %0 = stablehlo.convert %c : (tensor<4xf32>) -> tensor<4xi32>
  %1 = stablehlo.convert %0 : (tensor<4xi32>) -> tensor<4xf32>
  %2 = stablehlo.add %x, %1 : tensor<4xf32>
  %3 = stablehlo.convert %c : (tensor<4xf32>) -> tensor<4xi1>
  %4 = stablehlo.convert %3 : (tensor<4xi1>) -> tensor<4xf32>
  %5 = stablehlo.add %2, %4 : tensor<4xf32>
  return %5 : tensor<4xf32>
}""")


def test_a_constant_of_reduced_precision() -> None:
    """It stayed what it was: 3.3 in a format that has 3.5."""
    check_program("""
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<3.3> : tensor<4xf32>
  %0 = stablehlo.reduce_precision %c, format = e5m2 : tensor<4xf32>
  %1 = stablehlo.add %x, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}""")


@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_the_larger_of_nan_and_a_constant(op: str) -> None:
    check_program(f"""
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %a = stablehlo.constant dense<0x7FC00000> : tensor<4xf32>
  %b = stablehlo.constant dense<300.0> : tensor<4xf32>
  %0 = stablehlo.{op} %b, %a : tensor<4xf32>
  %1 = stablehlo.add %x, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}}""")


def test_arithmetic_of_bf16_constants() -> None:
    """Each sum is rounded: 0.8984 + 3 - 0.3008 was rounded once."""
    check_program("""
func.func public @main(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %a = stablehlo.constant dense<0.8984375> : tensor<4xbf16>
  %b = stablehlo.constant dense<3.0> : tensor<4xbf16>
  %c = stablehlo.constant dense<-0.30078125> : tensor<4xbf16>
  %0 = stablehlo.add %a, %b : tensor<4xbf16>
  %1 = stablehlo.add %0, %c : tensor<4xbf16>
  %2 = stablehlo.add %x, %1 : tensor<4xbf16>
  return %2 : tensor<4xbf16>
}""")
