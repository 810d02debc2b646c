"""Calls, loops, branches, composites: scales cross their borders."""

from tests.ops.program import Program

_TWICE = """
func.func private @twice(%x: tensor<3x4xT>, %y: tensor<3x4xT>) -> tensor<3x4xT> attributes {no_inline} {
  %0 = stablehlo.add %x, %x : tensor<3x4xT>
  %1 = stablehlo.multiply %0, %y : tensor<3x4xT>
  return %1 : tensor<3x4xT>
}
"""
_COUNTED = """
    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xT>, tensor<3x4xT>
    cond {{
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      %next = stablehlo.add %i, %one : tensor<i32>
      {step}
      stablehlo.return %next, {carried} : tensor<i32>, tensor<3x4xT>, tensor<3x4xT>
    }}
    return %r#1, %r#2 : tensor<3x4xT>, tensor<3x4xT>"""
_LOOP = "3x4xT, 3x4xT -> 3x4xT, 3x4xT"
_BRANCHES = """
    %r = "stablehlo.{op}"(%0) ({{
      {first}
    }}, {{
      {second}
    }}) : (tensor<{predicate}>) -> tensor<3x4xT>
    return %r : tensor<3x4xT>"""
_RETURN = "stablehlo.return %{} : tensor<3x4xT>"
_PRODUCT = "%p = stablehlo.multiply %1, %2 : tensor<3x4xT> stablehlo.return %p : tensor<3x4xT>"
_SCALE_AND_DATA = """
func.func private @scalify.{name}(%x: tensor<3x4xT>{more}) -> tensor<3x4xT> {{
  return %x : tensor<3x4xT>
}}
"""
_HALVES = """
func.func private @halves.impl(%x: tensor<3x4xT>) -> tensor<3x4xT> {
  %h = stablehlo.constant dense<0.5> : tensor<3x4xT>
  %0 = stablehlo.multiply %x, %h : tensor<3x4xT>
  return %0 : tensor<3x4xT>
}
"""

PROGRAMS = (
    Program(
        "func.call",
        "3x4xT, 3x4xT -> 3x4xT",
        body="%r = call @twice(%0, %1) : (tensor<3x4xT>, tensor<3x4xT>) -> tensor<3x4xT> return %r : tensor<3x4xT>",
        functions=_TWICE,
    ),
    Program(
        "func.call",
        "3x4xT, 3x4xT -> 3x4xT",
        body="""
    %a = call @twice(%0, %1) : (tensor<3x4xT>, tensor<3x4xT>) -> tensor<3x4xT>
    %r = call @twice(%a, %0) : (tensor<3x4xT>, tensor<3x4xT>) -> tensor<3x4xT>
    return %r : tensor<3x4xT>""",
        functions=_TWICE,
        condition="repeated",
        range=("up", "down"),
    ),
    Program(
        "stablehlo.while",
        _LOOP,
        body=_COUNTED.format(step="%c = stablehlo.negate %a : tensor<3x4xT>", carried="%c, %b"),
        condition="keeping its scale",
    ),
    Program(
        "stablehlo.while",
        _LOOP,
        body=_COUNTED.format(step="%c = stablehlo.add %a, %b : tensor<3x4xT>", carried="%c, %b"),
        condition="accumulating",
    ),
    Program(
        "stablehlo.while",
        _LOOP,
        body=_COUNTED.format(step="%c = stablehlo.tanh %a : tensor<3x4xT>", carried="%c, %a"),
        condition="swapping",
        range=("up", "far", "mixed"),
    ),
    Program(
        "stablehlo.while",
        _LOOP,
        body=_COUNTED.format(step="", carried="%b, %a"),
        condition="exchanging",
    ),
    Program(
        "stablehlo.while",
        "3x4xT=0.0, 3x4xT -> 3x4xT, 3x4xT",
        body=_COUNTED.format(step="%c = stablehlo.add %a, %b : tensor<3x4xT>", carried="%c, %b"),
        condition="from zeros",
    ),
    Program(
        "stablehlo.case",
        "i32, 3x4xT, 3x4xT -> 3x4xT",
        body=_BRANCHES.format(op="case", first=_RETURN.format(1), second=_RETURN.format(2), predicate="i32"),
    ),
    Program(
        "stablehlo.case",
        "i32=1, 3x4xT, 3x4xT -> 3x4xT",
        body=_BRANCHES.format(op="case", first=_RETURN.format(1), second=_PRODUCT, predicate="i32"),
        condition="second branch",
    ),
    Program(
        "stablehlo.if",
        "i1, 3x4xT, 3x4xT -> 3x4xT",
        body=_BRANCHES.format(op="if", first=_RETURN.format(1), second=_RETURN.format(2), predicate="i1"),
    ),
    Program(
        "stablehlo.if",
        "i1, 3x4xT, 3x4xT=0.0 -> 3x4xT",
        body=_BRANCHES.format(op="if", first=_RETURN.format(1), second=_RETURN.format(2), predicate="i1"),
        condition="of zeros",
    ),
    Program(
        "stablehlo.composite",
        "3x4xT -> 3x4xT",
        'name = "test.halves", decomposition = @halves.impl, version = 1 : i32',
        functions=_HALVES,
    ),
    Program(
        "stablehlo.composite",
        "3x4xT, f32=8.0 -> 3x4xT",
        'name = "scalify.set_scaling", decomposition = @scalify.set_scaling, version = 1 : i32',
        functions=_SCALE_AND_DATA.format(name="set_scaling", more=", %s: tensor<f32>"),
        condition="set_scaling",
        range=False,
    ),
    Program(
        "stablehlo.composite",
        "3x4xT -> 3x4xT",
        'name = "scalify.stop_scaling", decomposition = @scalify.stop_scaling, version = 1 : i32',
        functions=_SCALE_AND_DATA.format(name="stop_scaling", more=""),
        condition="stop_scaling",
        range=False,
    ),
    Program(
        "stablehlo.tuple",
        "3x4xT, 3x4xT -> 3x4xT",
        body="""
    %t = stablehlo.tuple %0, %1 : tuple<tensor<3x4xT>, tensor<3x4xT>>
    %a = stablehlo.get_tuple_element %t[0] : (tuple<tensor<3x4xT>, tensor<3x4xT>>) -> tensor<3x4xT>
    %b = stablehlo.get_tuple_element %t[1] : (tuple<tensor<3x4xT>, tensor<3x4xT>>) -> tensor<3x4xT>
    %r = stablehlo.subtract %a, %b : tensor<3x4xT>
    return %r : tensor<3x4xT>""",
    ),
    Program(
        "sdy.manual_computation",
        "8x4xT, 8x4xT -> 8x4xT",
        body="""
    %r = sdy.manual_computation(%0, %1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]
        out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<4x4xT>, %b: tensor<4x4xT>) {
      %c = stablehlo.multiply %a, %b : tensor<4x4xT>
      sdy.return %c : tensor<4x4xT>
    } : (tensor<8x4xT>, tensor<8x4xT>) -> tensor<8x4xT>
    return %r : tensor<8x4xT>""",
        functions='sdy.mesh @mesh = <["x"=2]>',
        not_run="needs two devices",
    ),
    Program(
        "stablehlo.custom_call",
        "3x4xT -> 3x4xT",
        'call_target_name = "LayoutConstraint"',
        not_run="a note to the compiler",
        condition="LayoutConstraint",
    ),
)
