"""Special functions that JAX writes out are found, computed on the value as one, and keep their bits."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo import rewrite_module
from scalify_hlo.bindings import passmanager
from scalify_hlo.execution import xla
from scalify_hlo.execution.inputs import rewritten_arguments, split_by_exponent
from scalify_hlo.execution.modules import as_module
from scalify_hlo.execution.signature import pair_arguments
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.recognition.expansions import find_expansions

Function = Callable[[Any], Any]
SPECIAL: dict[str, Function] = {
    "erfc": jax.lax.erfc,
    "erf_inv": jax.lax.erf_inv,
    "digamma": jax.lax.digamma,
    "lgamma": jax.lax.lgamma,
}
# From jax 0.12 on lgamma is written in functions of its own, with the bits of floats.
EXPANDED = ("erfc", "digamma", *(("lgamma",) if jax.__version_info__ < (0, 12) else ()))


def _text(function: Function, *shapes: Any, dtype: str = "float32") -> str:
    """The program in StableHLO alone: exported, some functions are composites (from jax 0.12 on erfc is)."""
    specs = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes or ((64,),)]
    module = as_module(jax.jit(function).lower(*specs).as_text())
    with module.context:
        legalise = passmanager.PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo,cse))")
        legalise.run(module.operation)
    return module.operation.get_asm()


def _found(text: str) -> int:
    module = as_module(text)
    blocks = [function.regions[0].blocks[0] for function in module.body.operations]
    return sum(len(find_expansions([op.operation for op in block.operations])) for block in blocks)


@pytest.mark.parametrize("name", EXPANDED)
def test_expansions_are_found(name: str) -> None:
    assert _found(_text(SPECIAL[name])) == 1


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("exponent", [-3, 0, 5])
def test_values_keep_their_bits(name: str, exponent: int) -> None:
    text = _text(SPECIAL[name])
    x = np.linspace(-0.95, 0.95, 64, dtype=np.float32)
    original = xla.compile(text)
    rewritten = xla.compile(rewrite_module(text))
    pairs = pair_arguments(original.signature, rewritten.signature)
    arguments = rewritten_arguments([split_by_exponent(x, exponent)], pairs, rewritten.signature)
    data, scale = rewritten(arguments)
    np.testing.assert_array_equal(data * scale, original([x])[0])


def test_f16_sees_the_value_where_it_is_outside_its_range() -> None:
    text = _text(SPECIAL["erfc"], dtype="float16")
    rewritten = xla.compile(rewrite_module(text))
    data, scale = rewritten([np.linspace(-2, 2, 64).astype(np.float16), np.float32(2.0**20)])
    np.testing.assert_array_equal(data * scale, np.repeat([2.0, 0.0], 32))


def test_a_shared_intermediate_is_rewritten_one_by_one() -> None:
    text = _text(lambda x: (jax.lax.erfc(x), jnp.exp(-x * x)))
    assert _found(text) == 1  # exp(-x x) is computed anew
    lines = [line for line in _text(SPECIAL["erfc"]).splitlines() if "stablehlo.exponential" in line]
    name = lines[0].split("=")[0].strip()
    shared = _text(SPECIAL["erfc"]).replace(
        "return ", f"%extra = stablehlo.negate {name} : tensor<64xf32>\n    return "
    )
    assert _found(shared) == 0


@pytest.mark.parametrize(
    "function",
    [jax.nn.relu, lambda x: jnp.clip(x, -1, 1), lambda x: jnp.where(x > 0, x, jnp.exp(x) - 1), jnp.tanh],
)
def test_short_functions_keep_their_scale(function: Function) -> None:
    assert _found(_text(function)) == 0


def test_functions_of_two_tensors_are_none() -> None:
    def function(x: jax.Array, y: jax.Array) -> jax.Array:
        z = x
        for _ in range(8):
            z = z * x + y
        return jnp.where(z > 0, z, y)

    assert _found(_text(function, (64,), (64,))) == 0


def test_the_option_switches_it_off() -> None:
    text = _text(SPECIAL["erfc"])
    on, off = (rewrite_module(text, ScalifyOptions(recognise=mode)) for mode in ("expansions", "none"))
    assert len(on.splitlines()) < 0.8 * len(off.splitlines())
    assert len(on.splitlines()) < len(text.splitlines()) + 8
