"""What is known of values that no scaled one enters: by the laws of size, as close to what they are as these."""

import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.facts import FactFinder
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.modules import as_module
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rewrite import rewrite_module

_TABLE = """
  %i = stablehlo.iota dim = 0 : tensor<64xf32>
  %tenth = stablehlo.constant dense<0.3> : tensor<64xf32>
  %angle = stablehlo.multiply %i, %tenth : tensor<64xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<64xf32>
  %forty = stablehlo.constant dense<40.0> : tensor<64xf32>
"""
PROGRAMS = {
    "a table of cosines": "%r = stablehlo.cosine %angle : tensor<64xf32>",
    "a sum": "%s = stablehlo.add %angle, %forty : tensor<64xf32>\n %r = stablehlo.add %s, %s : tensor<64xf32>",
    "a quotient": "%r = stablehlo.divide %forty, %tenth : tensor<64xf32>",
    "a product": "%r = stablehlo.multiply %angle, %forty : tensor<64xf32>",
    "a choice of few": """%seven = stablehlo.constant dense<7.0> : tensor<64xf32>
  %p = stablehlo.compare EQ, %i, %seven : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %small = stablehlo.constant dense<0.125> : tensor<64xf32>
  %r = stablehlo.select %p, %forty, %small : tensor<64xi1>, tensor<64xf32>""",
    "what is less than 0": """%c = stablehlo.cosine %angle : tensor<64xf32>
  %s = stablehlo.multiply %c, %forty : tensor<64xf32>
  %r = stablehlo.negate %s : tensor<64xf32>""",
    "a magnitude": """%c = stablehlo.cosine %angle : tensor<64xf32>
  %s = stablehlo.multiply %c, %forty : tensor<64xf32>
  %r = stablehlo.abs %s : tensor<64xf32>""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_plain_value_is_as_large_as_the_laws_say(name: str) -> None:
    text = f"func.func @main() -> tensor<64xf32> {{{_TABLE}  {PROGRAMS[name]}\n  return %r : tensor<64xf32>\n}}"
    (result,) = interpret(as_module(text), [])
    true = float(np.sqrt(np.mean(np.square(np.asarray(result, np.float64)))))
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        block = module.body.operations[0].operation.regions[0].blocks[0]
        facts = FactFinder().of(terminator(block).operands[0])
    assert facts.moments is not None
    assert abs(math.log2(facts.moments.rms / true)) < 1


def test_the_gradient_of_a_mean_of_chosen_terms_enters_at_its_size() -> None:
    """A cross-entropy's: minus what 1/N is scattered to, summed over each row, is divided by a sum of exponentials."""

    def loss(logits: jax.Array, labels: jax.Array) -> jax.Array:
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=-1))

    shapes = jax.ShapeDtypeStruct((96, 6), np.float32), jax.ShapeDtypeStruct((96,), np.int32)
    text = rewrite_module(jax.jit(jax.grad(loss)).lower(*shapes).as_text(), ScalifyOptions(print_rules=True))
    scales = re.findall(r'divide .*scalify.scale = "2\^(-?\d+)[ "]', text)
    assert scales == ["-6"]  # 1/96 of it is left in the data
