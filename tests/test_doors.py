"""The same program gets the same scales by whatever door it comes in, and in whatever spelling."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo import ScaledArray, ScalifyOptions, rewrite_module, scalify, scalify_exported
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.modules import as_module
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.opt_driver import OptDriver, OptSettings
from scalify_hlo.io.serialization import Program
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from tests.support import Rewritten, Split, run_on_xla

X, W = (16, 32), (32, 24)
# Scales of the arguments, far from each other, and data that suit them.
SCALES = 2.0**3, 2.0**-5


def _norm(square: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt(square(centred).mean(-1, keepdims=True) + 1e-5)

    return function


def _norm_by_var(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(jnp.var(x, -1, keepdims=True) + 1e-5)


def _relu_squared(x: Any) -> Any:
    return jnp.where(x > 0, x, 0.0) ** 2


@jax.jit
def _scaled_norm(x: Any) -> Any:
    return _norm_by_var(x) * 3.0


SQUARES: dict[str, Callable[[Any], Any]] = {"jnp.square": jnp.square, "x * x": lambda x: x * x, "x**2": lambda x: x**2}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{f"norm by {name}": _norm(square) for name, square in SQUARES.items()},
    "norm by jnp.var": _norm_by_var,
    "jnp.var": lambda x: jnp.var(x, -1),
    "gelu": jax.nn.gelu,
    "gelu by erf": functools.partial(jax.nn.gelu, approximate=False),
    "softmax": jax.nn.softmax,
    "silu": jax.nn.silu,
    "jnp.where": _relu_squared,
    "lax.select": lambda x: jax.lax.select(x > 0, x, jnp.zeros_like(x)) ** 2,
    "jnp.clip": lambda x: jnp.clip(x, -1.0, 1.0) ** 3,
    "a masked softmax": lambda x: jax.nn.softmax(jnp.where(jnp.tri(16, 24, dtype=bool), x, -1e9)),
    "an inner jit": _scaled_norm,
    # From jax 0.12 on asinh, erfc and others are exported as composites.
    "asinh": jnp.arcsinh,
    "erfc": jax.scipy.special.erfc,
    # Results that are computed by way of complex numbers carry scales.
    "irfft": lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 0.5),
    "real fft": lambda x: jnp.fft.fft(x).real,
    "abs of complex": lambda x: jnp.abs(x + 1j * jnp.roll(x, 1)),
    "logsumexp": lambda x: jax.nn.logsumexp(x, -1),
    "log_softmax": jax.nn.log_softmax,
}


def step(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """The function of a product, and the product's gradients through it."""

    def both(x: Any, w: Any) -> Any:
        result, pullback = jax.vjp(lambda x, w: function(x @ w), x, w)
        return result, *pullback(jnp.ones_like(result) * x.mean())

    return both


def arguments() -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape).astype(np.float32) for shape in (X, W)]


def by_scalify(function: Callable[..., Any], precision: Any = None) -> list[float]:
    scaled = [ScaledArray(jnp.asarray(a), jnp.float32(s)) for a, s in zip(arguments(), SCALES, strict=True)]
    return [float(each.scale) for each in scalify(function, precision=precision)(*scaled)]


def by_export(function: Callable[..., Any], precision: Any = None) -> list[float]:
    specs = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in (X, W)]
    exported = scalify_exported(jax.export.export(jax.jit(function))(*specs), precision=precision)
    scaled = [ScaledArray(jnp.asarray(a), jnp.float32(s)) for a, s in zip(arguments(), SCALES, strict=True)]
    return [float(each.scale) for each in exported.call(*scaled)]


def by_text(function: Callable[..., Any], rewrite: Callable[[str], str], *, lowered: bool) -> list[float]:
    """What `rewrite` makes of StableHLO (exported), or of StableHLO with CHLO (lowered)."""
    specs = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in (X, W)]
    jitted = jax.jit(function)
    text = jitted.lower(*specs).as_text() if lowered else jax.export.export(jitted)(*specs).mlir_module()
    rewritten = rewrite(text)
    program = Rewritten(rewritten, entry_signature(as_module(text)), entry_signature(as_module(rewritten)))
    splits = [Split(a, np.asarray(s, np.float32)) for a, s in zip(arguments(), SCALES, strict=True)]
    return [float(each.scale) for each in program.run(splits, run_on_xla) if each.scale is not None]


def by_command(text: str) -> str:
    driver = OptDriver(precision_pipeline(None), OptSettings(emit="text"))
    done = driver.process(Program(text.encode(), "text", "in"))
    assert not done.failed and done.data is not None
    return done.data.decode()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_door_chooses_the_same_scales(name: str):
    function = step(FUNCTIONS[name])
    expected = by_text(function, rewrite_module, lowered=False)
    assert len(expected) == 3
    assert by_text(function, by_command, lowered=True) == expected
    assert by_scalify(function) == expected
    assert by_export(function) == expected


# A function, and the same with inner functions of its own.
WITH_FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "an inner jit": (lambda x: _norm_by_var(x) * 3.0, lambda x: jax.jit(_norm_by_var)(x) * 3.0),
    "a mask": (
        lambda x: jax.lax.select(x > 0, x, jnp.zeros_like(x)),
        lambda x: jnp.where(x > 0, x, jnp.zeros_like(x)),
    ),
    "several calls": (
        lambda x: jax.nn.softmax(x) + 2 * jax.nn.softmax(-x),
        lambda x: jax.jit(jax.nn.softmax)(x) + 2 * jax.jit(jax.nn.softmax)(-x),
    ),
}


@pytest.mark.parametrize("name", WITH_FUNCTIONS)
def test_functions_within_a_program_are_no_business_of_its_scales(name: str):
    flat, called = (by_text(step(function), rewrite_module, lowered=False) for function in WITH_FUNCTIONS[name])
    assert flat == called


@pytest.mark.parametrize("name", [f"norm by {name}" for name in SQUARES])
def test_every_spelling_of_a_normalisation_has_the_same_scales(name: str):
    text = jax.jit(step(FUNCTIONS[name])).lower(*arguments()).as_text()
    rewritten = rewrite_module(text, ScalifyOptions(print_rules=True))
    assert "normalisation" in rewritten
    ours, theirs = (by_text(step(FUNCTIONS[n]), rewrite_module, lowered=True) for n in (name, "norm by x * x"))
    assert ours == theirs


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("name", ["norm by jnp.square", "norm by jnp.var", "a masked softmax"])
def test_scalify_and_an_export_choose_the_same_in_a_precision(name: str, precision: str):
    function = step(FUNCTIONS[name])
    assert by_scalify(function, precision) == by_export(function, precision)


@pytest.mark.parametrize("precision", [None, "fp16", "fp8"])
def test_python_and_the_command_give_the_same_text(precision: str | None):
    text = jax.jit(step(FUNCTIONS["silu"])).lower(*arguments()).as_text()
    driver = OptDriver(precision_pipeline(precision), OptSettings(emit="text"))
    done = driver.process(Program(text.encode(), "text", "in"))
    assert not done.failed and done.data is not None
    remarks: list[Diagnostic] = []
    assert rewrite_module(text, precision=precision, remarks=remarks).strip() == done.data.decode().strip()
    assert bool(remarks) == (precision is not None)
    with pytest.raises(ScalifyError, match="fp4"):
        rewrite_module(text, precision="fp4")
