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
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.recognition.expansions import find_expansions
from tests.recognition.counting import count_found

Function = Callable[[Any], Any]


def exp_of_split_square(x: jax.Array) -> jax.Array:
    """exp(-x^2) as jax 0.12 writes it in the derivatives of erf: the square is split by the bits of x."""
    x = jnp.minimum(jnp.abs(x), 11.0)
    bits = jax.lax.bitcast_convert_type(x, jnp.uint32) & jnp.uint32(0xFFFFF000)
    high = jax.lax.bitcast_convert_type(bits, jnp.float32)
    left = (high - x) * (high + x)
    correction = left * (1 + left * (1 / 2 + left * (1 / 6 + left * (1 / 24 + left / 120))))
    e = jnp.exp(-high * high)
    return e + e * correction


SPECIAL: dict[str, Function] = {
    "erfc": jax.lax.erfc,
    "erf_inv": jax.lax.erf_inv,
    "digamma": jax.lax.digamma,
    "lgamma": jax.lax.lgamma,
    "exp(-x^2)": exp_of_split_square,
}
# From jax 0.12 on lgamma is written in functions of its own, with the bits of floats.
EXPANDED = ("erfc", "digamma", "exp(-x^2)", *(("lgamma",) if jax.__version_info__ < (0, 12) else ()))


def _text(function: Function, *shapes: Any, dtype: str = "float32") -> str:
    """The program in StableHLO alone: exported, some functions are composites (from jax 0.12 on erfc is)."""
    specs = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes or ((64,),)]
    module = as_module(jax.jit(function).lower(*specs).as_text())
    with module.context:
        legalise = passmanager.PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo,cse))")
        legalise.run(module.operation)
    return module.operation.get_asm()


def _found(text: str) -> int:
    return count_found(find_expansions, text)


@pytest.mark.parametrize("name", EXPANDED)
def test_expansions_are_found(name: str) -> None:
    assert _found(_text(SPECIAL[name])) == 1


def test_what_nobody_reads_hides_no_expansion() -> None:
    """From jax 0.12 on the derivative of erfc comes with an exponential besides the one that it is made of."""
    text = _text(SPECIAL["exp(-x^2)"])
    lines = text.splitlines()
    k = next(k for k, line in enumerate(lines) if "stablehlo.exponential" in line)
    dead = lines[k].replace(lines[k].split()[0], "%nobody", 1)
    assert rewrite_module("\n".join([*lines[:k], dead, *lines[k:]])) == rewrite_module(text)


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


def test_the_derivative_of_gelu_in_f16_is_as_large_as_it_is() -> None:
    """The correction's powers were taken to be as large as those of x^2: gradients of gelu were 0 in f16 presets."""

    def step(w: jax.Array, x: jax.Array, dy: jax.Array) -> jax.Array:
        h = x @ w
        return w - 0.1 * (x.T @ (dy * exp_of_split_square(h)))

    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((16, 16), (32, 16), (32, 16))]
    module = as_module(jax.jit(step).lower(*shapes).as_text())
    precision_pipeline("fp16").run(module, [])
    rewritten = xla.compile(module)
    generator = np.random.default_rng(0)
    w, x, dy = (generator.standard_normal(each.shape).astype(np.float32) for each in shapes)
    w *= 0.1
    data, scale = rewritten([w / 512, np.float32(512), x, np.float32(1), dy, np.float32(1)])
    np.testing.assert_allclose(data * scale, step(w, x, dy), rtol=0.02, atol=0.02)


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
