"""What is known to be the same on every device: functions, loops, calls and reductions of what is."""

import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.devices import same_on_every_device

HEAD = "module attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 4 : i32}"
REPLICATED = "<@mesh, []>"
SHARDED = '<@mesh, [{"i"}]>'
ADD = """({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    })"""


def known(module: str) -> bool:
    """Whether that is known of the first operand of the operation @told."""
    with make_context() as context:
        context.allow_unregistered_dialects = True
        parsed = ir.Module.parse(module)
        found: list[bool] = []

        def look(op: ir.Operation) -> ir.WalkResult:
            if op.name == "test.told":
                found.append(same_on_every_device(op.operands[0], set()))
            return ir.WalkResult.ADVANCE

        parsed.operation.walk(look)
        (only,) = found
        return only


def in_region(body: str, entry: str = REPLICATED, functions: str = "") -> str:
    """Per-device code with an argument %r of this sharding, which says what it knows of %v."""
    kind = "tensor<4xf32>" if entry == SHARDED else "tensor<f32>"
    local = "tensor<1xf32>" if entry == SHARDED else "tensor<f32>"
    return f"""{HEAD} {{
  sdy.mesh @mesh = <["i"=4]>
  {functions}
  func.func public @main(%x: {kind}) -> {kind} {{
    %0 = sdy.manual_computation(%x) in_shardings=[{entry}] out_shardings=[{entry}] manual_axes={{"i"}} (%r: {local}) {{
      {body}
      "test.told"(%v) : (tensor<f32>) -> ()
      sdy.return %r : {local}
    }} : ({kind}) -> {kind}
    return %0 : {kind}
  }}
}}"""


def callee(marks: str) -> str:
    return f"""func.func private @f(%y: tensor<f32>) -> (tensor<f32> {marks}) {{
    return %y : tensor<f32>
  }}
  func.func private @g(%y: tensor<f32>) -> (tensor<f32>) {{
    return %y : tensor<f32>
  }}"""


def reduced(groups: str, kind: str) -> str:
    return (
        "%i = stablehlo.partition_id : tensor<ui32>\n%d = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>\n"
        f'%v = "stablehlo.all_reduce"(%d) <{{replica_groups = dense<{groups}> : {kind}, channel_handle = '
        f"#stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}> {ADD} "
        ": (tensor<f32>) -> tensor<f32>"
    )


def looped(entry: str, step: str, bound: str) -> str:
    """A loop of one number, with what depends on the device as %d."""
    return f"""%i = stablehlo.partition_id : tensor<ui32>
      %d = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>
      %v = stablehlo.while(%c = {entry}) : tensor<f32>
      cond {{
        %p = stablehlo.compare LT, %c, {bound} : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }} do {{
        %n = stablehlo.add %c, {step} : tensor<f32>
        stablehlo.return %n : tensor<f32>
      }}"""


@pytest.mark.parametrize(("body", "same"), [
    ("%v = stablehlo.constant dense<2.0> : tensor<f32>", True),
    ("%v = stablehlo.negate %r : tensor<f32>", True),
    ("%i = stablehlo.partition_id : tensor<ui32>\n%v = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>", False),
    ("%i = stablehlo.partition_id : tensor<ui32>\n%d = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>\n"
     "%v = stablehlo.add %r, %d : tensor<f32>", False),
    ("%v = func.call @f(%r) : (tensor<f32>) -> tensor<f32>", True),
    ("%v = func.call @g(%r) : (tensor<f32>) -> tensor<f32>", True),
    ("%i = stablehlo.partition_id : tensor<ui32>\n%d = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>\n"
     "%v = func.call @g(%d) : (tensor<f32>) -> tensor<f32>", False),
    (reduced("[[0, 1, 2, 3]]", "tensor<1x4xi64>"), True),
    (reduced("[[0, 1], [2, 3]]", "tensor<2x2xi64>"), False),
    (looped("%r", "%r", "%r"), True), (looped("%d", "%r", "%r"), False), (looped("%r", "%d", "%r"), False),
    (looped("%r", "%r", "%d"), False),
])  # fmt: skip
def test_a_value_of_per_device_code(body: str, same: bool) -> None:
    assert known(in_region(body, functions=callee("{scalify.everywhere}"))) == same


def test_what_enters_with_a_dimension_that_is_cut() -> None:
    body = "%v = stablehlo.reshape %r : (tensor<1xf32>) -> tensor<f32>"
    assert not known(in_region(body, SHARDED))


@pytest.mark.parametrize(("head", "function", "same"), [
    (HEAD, "public @main(%v: tensor<f32>)", True),
    (HEAD, "@main(%v: tensor<f32>)", True),
    (HEAD.replace("num_replicas = 1", "num_replicas = 4"), "public @main(%v: tensor<f32>)", False),
    ("module", "public @main(%v: tensor<f32>)", False),
    (HEAD, "private @f(%v: tensor<f32>)", False),
    (HEAD, "private @f(%v: tensor<f32> {scalify.everywhere})", True),
    (HEAD, "private @f(%w: tensor<f32> {scalify.everywhere}, %v: tensor<f32>)", False),
    (HEAD.replace("}", ', scalify.replica_groups = "a"}'), "public @main(%v: tensor<f32>)", False),
])  # fmt: skip
def test_an_argument_of_a_function(head: str, function: str, same: bool) -> None:
    body = '"test.told"(%v) : (tensor<f32>) -> ()\n    return'
    assert known(f"{head} {{\n  func.func {function} {{\n    {body}\n  }}\n}}") == same


def test_calls_behind_calls_are_asked_once() -> None:
    """Each of two operands of a call is a result of the call before: asked apart, they are 2^60 questions."""
    pair = "(tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)"
    layers = [f"%h{i + 1}, %c{i + 1} = func.call @layer(%h{i}, %c{i}) : {pair}" for i in range(60)]
    function = """func.func private @layer(%h: tensor<f32>, %c: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %n = stablehlo.add %h, %c : tensor<f32>
    return %c, %n : tensor<f32>, tensor<f32>
  }"""
    differs = "%i = stablehlo.partition_id : tensor<ui32>\n%d = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>\n"
    for first, same in (("%r", True), ("%d", False)):
        begun = "\n".join(["%h0 = stablehlo.negate %r : tensor<f32>", f"%c0 = stablehlo.negate {first} : tensor<f32>"])
        body = "\n".join([differs + begun, *layers, "%v = stablehlo.add %h60, %c60 : tensor<f32>"])
        assert known(in_region(body, functions=function)) == same
