"""Masks that a program computes of constants and predicates, and adds to scaled values.

At the scale of a mask's RMS, 2^127, what it is added to is 0 where subnormal numbers are: attention was even
everywhere.
"""

import pytest

from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.facts import FactFinder

_MASKS = {
    "chosen": """%zero = stablehlo.constant dense<0.0> : tensor<4x4xf32>
  %far = stablehlo.constant dense<-3.4028e38> : tensor<4x4xf32>
  %mask = stablehlo.select %p, %zero, %far : tensor<4x4xi1>, tensor<4x4xf32>""",
    "chosen beside ones": """%one = stablehlo.constant dense<1.0> : tensor<4x4xf32>
  %far = stablehlo.constant dense<-3.4028e38> : tensor<4x4xf32>
  %mask = stablehlo.select %p, %one, %far : tensor<4x4xi1>, tensor<4x4xf32>""",
    "a product": """%one = stablehlo.constant dense<1.0> : tensor<4x4xf32>
  %far = stablehlo.constant dense<-3.4028e38> : tensor<4x4xf32>
  %kept = stablehlo.convert %p : (tensor<4x4xi1>) -> tensor<4x4xf32>
  %left = stablehlo.subtract %one, %kept : tensor<4x4xf32>
  %mask = stablehlo.multiply %left, %far : tensor<4x4xf32>""",
}


@pytest.mark.parametrize("name", _MASKS)
def test_nothing_is_known_of_a_mask_of_constants(name: str) -> None:
    text = f"""func.func @main(%p: tensor<4x4xi1>) -> tensor<4x4xf32> {{
  {_MASKS[name]}
  return %mask : tensor<4x4xf32>
}}"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        block = module.body.operations[0].operation.regions[0].blocks[0]
        facts = FactFinder().of(terminator(block).operands[0])
    assert facts.splat is None and facts.moments is None and not facts.indifferent
