"""Masks that a program computes of constants and predicates, and adds to scaled values.

At the scale of a mask's RMS, 2^127, what it is added to is 0 where subnormal numbers are: attention was even
everywhere.
"""

import pytest

from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.facts import FactFinder
from scalify_hlo.rules.values import PlainFacts

_MASKS = {
    "chosen": """%zero = stablehlo.constant dense<0.0> : tensor<4x4xf32>
  %far = stablehlo.constant dense<-3.4028e38> : tensor<4x4xf32>
  %mask = stablehlo.select %p, %zero, %far : tensor<4x4xi1>, tensor<4x4xf32>""",
    "a product": """%one = stablehlo.constant dense<1.0> : tensor<4x4xf32>
  %far = stablehlo.constant dense<-3.4028e38> : tensor<4x4xf32>
  %kept = stablehlo.convert %p : (tensor<4x4xi1>) -> tensor<4x4xf32>
  %left = stablehlo.subtract %one, %kept : tensor<4x4xf32>
  %mask = stablehlo.multiply %left, %far : tensor<4x4xf32>""",
}


def _facts(body: str) -> PlainFacts:
    text = f"""func.func @main(%p: tensor<4x4xi1>) -> tensor<4x4xf32> {{
  {body}
  return %mask : tensor<4x4xf32>
}}"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        block = module.body.operations[0].operation.regions[0].blocks[0]
        return FactFinder().of(terminator(block).operands[0])


@pytest.mark.parametrize("name", _MASKS)
def test_nothing_is_known_of_a_mask_of_constants(name: str) -> None:
    facts = _facts(_MASKS[name])
    assert facts.splat is None and facts.moments is None and not facts.indifferent


def test_beside_numbers_a_number_that_stands_for_infinity_has_no_size() -> None:
    """What it is chosen beside is of the size that it has: nan_to_num(x) of the size of x."""
    facts = _facts("""%three = stablehlo.constant dense<3.0> : tensor<4x4xf32>
  %far = stablehlo.constant dense<-3.4028e38> : tensor<4x4xf32>
  %mask = stablehlo.select %p, %three, %far : tensor<4x4xi1>, tensor<4x4xf32>""")
    assert facts.moments is not None and facts.moments.rms == 3.0
