"""Operations that only carry a value hide nothing: a program with sharding constraints is rewritten as one without."""

import collections
import functools
import re

import pytest

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import before_carriers, carries, fold_layouts, readers
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from tests.training_programs import Style, train_step_text

_CONSTRAINT = "sdy.sharding_constraint"
# Results whose sharding Shardy keeps elsewhere, and regions of scalar code.
_STRUCTURE = {"func.call", "stablehlo.while", "stablehlo.composite", "stablehlo.custom_call"}
_SCALAR_CODE = {"stablehlo.reduce", "stablehlo.scatter", "stablehlo.sort", "stablehlo.reduce_window"}


def _constrain(value: ir.Value, ip: ir.InsertionPoint) -> None:
    if not isinstance(value.type, ir.RankedTensorType):
        return
    uses = [(use.owner.operation, use.operand_number) for use in value.uses]
    dimensions = ", ".join(["{}"] * ir.RankedTensorType(value.type).rank)
    attributes = {"sharding": ir.Attribute.parse(f"#sdy.sharding<@mesh, [{dimensions}]>")}
    new = ir.Operation.create(_CONSTRAINT, [value.type], [value], attributes, ip=ip)
    for user, index in uses:
        user.operands[index] = new.results[0]


@functools.cache
def _constrained(text: str, *, everywhere: bool) -> str:
    """The program with a constraint behind every operation; `everywhere`: behind arguments, loops and calls too."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        mesh = ir.Module.parse('module { sdy.mesh @mesh = <["x"=1]> }')
        mesh.body.operations[0].operation.clone(ip=ir.InsertionPoint.at_block_begin(module.body))
        for function in [op.operation for op in module.body.operations if op.operation.name == "func.func"]:
            for op in list(walk(function)):
                if op.parent is not None and op.parent.operation.name in _SCALAR_CODE:
                    continue
                if everywhere or (len(op.results) == 1 and op.name not in _STRUCTURE):
                    for result in op.results:
                        _constrain(result, ir.InsertionPoint.after(op))
            block = function.regions[0].blocks[0]
            if everywhere and "private" not in str(function.attributes.get("sym_visibility")):
                for argument in block.arguments:
                    _constrain(argument, ir.InsertionPoint.at_block_begin(block))
        module.operation.verify()
        return module.operation.get_asm(enable_debug_info=True)


def _without_layouts(module: ir.Module) -> str:
    for op in list(walk(module.operation)):
        if "sdy.sharding" in op.attributes:
            del op.attributes["sdy.sharding"]
        if op.name == _CONSTRAINT:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
        elif op.name == "sdy.mesh":
            op.erase()
    return module.operation.get_asm(enable_debug_info=False)


@functools.cache
def _rewritten(text: str, precision: str | None) -> tuple[str, list[str]]:
    remarks: list[Diagnostic] = []
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        precision_pipeline(precision).run(module, remarks)
        return _without_layouts(module), [remark.message for remark in remarks]


def _on_tensors(text: str) -> collections.Counter[str]:
    """The operations on data: names and types of those whose result is no scale."""
    found = re.findall(r"= (stablehlo\.\w+) .*?(tensor<[^>]*>)$", text, re.MULTILINE)
    return collections.Counter(f"{name} {type_}" for name, type_ in found if not re.match(r"tensor<(1x)*f32>", type_))


@pytest.mark.parametrize("precision", [None, "fp16", "fp8"])
def test_a_constraint_behind_every_operation_changes_nothing(precision: str | None) -> None:
    """The text is the same apart from shardings; so are the rescales, the types of state and the FP8 products."""
    text = train_step_text()
    plain, remarks = _rewritten(text, precision)
    constrained, told = _rewritten(_constrained(text, everywhere=False), precision)
    assert told == remarks
    assert constrained == plain


@pytest.mark.parametrize("style", ["unrolled", "scan"])
@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_constraints_behind_arguments_loops_and_calls_change_no_decision(precision: str, style: Style) -> None:
    """These stay where they are. What is computed on data is the same; only scales may be computed in another way."""
    text = train_step_text(style)
    plain, remarks = _rewritten(text, precision)
    constrained, told = _rewritten(_constrained(text, everywhere=True), precision)
    assert told == remarks
    assert _on_tensors(constrained) == _on_tensors(plain)


_SEVERAL = """
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x4xf32>)
      -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
    %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %b <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
    %2 = stablehlo.tanh %0 : tensor<8x4xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
    %4 = sdy.sharding_constraint %3 <@mesh, [{}, {}]> : tensor<8x4xf32>
    %5 = stablehlo.tanh %1 : tensor<8x4xf32>
    %6 = sdy.sharding_constraint %5 <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
    %7 = sdy.sharding_constraint %5 <@mesh, [{}, {"x"}]> : tensor<8x4xf32>
    return %4, %6, %7 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
}
"""


def test_constraints_that_move_data_stay() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(_SEVERAL)
        fold_layouts(module)
        module.operation.verify()
        left = [op for op in walk(module.operation) if op.name == _CONSTRAINT]
        # Of a plain argument, of the result that has its sharding from the one before, two of one value.
        assert len(left) == 4
        sharded = [op for op in walk(module.operation) if op.name != "func.func" and "sdy.sharding" in op.attributes]
        assert [op.name for op in sharded] == ["stablehlo.tanh"]
        assert all(carries(op) for op in left)
        assert before_carriers(left[1].results[0]) == sharded[0].results[0]
        assert [op.name for op in readers(sharded[0].results[0])] == ["func.return"]
