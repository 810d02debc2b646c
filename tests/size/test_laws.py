"""Every law of size: which operations have one, and how near it is to the size of random numbers."""

import pathlib
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.normal_form import to_normal_form
from scalify_hlo.engine.signature import public_function
from scalify_hlo.module.traits import TABLE, Trait
from scalify_hlo.size.analysis import SizeAnalysis
from scalify_hlo.size.steps import settled
from scalify_hlo.size.view import LAWS

_LIT = pathlib.Path(__file__).resolve().parents[2] / "test" / "lit" / "size"
# What nothing is known of: opaque, quantised, or of no interest as a float.
_UNKNOWN = {
    "chlo._asin_acos_kernel", "chlo.acosh", "chlo.broadcast_next_after", "chlo.broadcast_polygamma",
    "chlo.broadcast_zeta", "chlo.digamma", "chlo.lgamma", "chlo.next_after", "chlo.polygamma", "chlo.scan", "chlo.zeta",
    "stablehlo.batch_norm_grad", "stablehlo.batch_norm_inference", "stablehlo.batch_norm_training",
    "stablehlo.bitcast_convert", "stablehlo.uniform_dequantize", "stablehlo.uniform_quantize", "stablehlo.tuple",
    "stablehlo.get_tuple_element", "stablehlo.async_start", "stablehlo.async_done", "stablehlo.custom_call",
    "stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv", "stablehlo.after_all",
    "stablehlo.create_token", "stablehlo.return", "func.return", "stablehlo.partition_id", "stablehlo.replica_id",
}  # fmt: skip


def test_every_operation_has_a_law_or_traits_that_make_one() -> None:
    without = {
        name
        for name, row in TABLE.items()
        if name not in LAWS
        and row.degrees is None
        and not row.traits & (Trait.CARRIES | Trait.MOVES | Trait.CAPTURES | Trait.CALLS | Trait.BITWISE)
        and not row.traits & Trait.PREDICATE
    }
    assert without == _UNKNOWN


def test_laws_are_of_operations_that_exist() -> None:
    assert set(LAWS) <= set(TABLE)


@pytest.mark.parametrize("op", sorted(LAWS))
def test_every_law_has_a_filecheck_test(op: str) -> None:
    text = "\n".join(path.read_text() for path in _LIT.glob("*.mlir"))
    assert re.search(rf'= "?{re.escape(op)}\b', text)


# --- against random numbers -------------------------------------------------------------------------------------

# Of a (64, 128) matrix x, and y like it, of unit Gaussians times a size each.
_PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, y: x + y,
    "difference of one": lambda x, _: x - 3 * x[::-1],
    "squares": lambda x, _: x * x,
    "mean of squares": lambda x, _: jnp.mean(jnp.square(x), axis=1),
    "product": lambda x, y: x * y,
    "cube": lambda x, _: x**2 * x,
    "tanh": lambda x, _: jnp.tanh(x),
    "sine": lambda x, _: jnp.sin(x),
    "logistic of unit size": lambda x, _: jax.nn.sigmoid(x / jnp.sqrt(jnp.mean(x * x))),
    "relu": lambda x, _: jax.nn.relu(x),
    "matrix product": lambda x, y: x @ y.T,
    "sum over rows": lambda x, _: jnp.sum(x, axis=1),
    "largest of a row": lambda x, _: jnp.max(x, axis=1),
    "normalised": lambda x, _: (x - x.mean(1, keepdims=True)) / jnp.std(x, axis=1, keepdims=True),
    "padded": lambda x, _: jnp.pad(x, ((0, 192), (0, 0))),
    "beside each other": lambda x, y: jnp.concatenate([x, y[:16]]),
    "every other": lambda x, y: jnp.where(jnp.arange(128) % 2 == 0, x, y),
    "clipped": lambda x, _: jnp.clip(x, -1.0, 1.0),
    "product of what has bounds": lambda x, y: jnp.maximum(x, -127.0) @ jnp.minimum(y, 127.0).T,
    "root of squares and epsilon": lambda x, _: jnp.sqrt(x * x + 1e-4),
    "cumulative": lambda x, _: jnp.cumsum(x, axis=1),
    "gathered": lambda x, _: x[jnp.array([1, 2, 3])],
    "scattered": lambda x, _: jnp.zeros((256, 128)).at[jnp.arange(64)].add(x),
    "no NaN": lambda x, _: (x == x).astype(x.dtype),
    "not infinite": lambda x, _: (x != jnp.inf).astype(x.dtype),
    "one hot": lambda x, _: jax.nn.one_hot(jnp.argmax(x, 1), 128) * x,
    "scan": lambda x, _: jax.lax.scan(lambda c, r: (0.9 * c + r, c), jnp.zeros(128), x)[1],
    "mean over scan": lambda x, _: jax.lax.scan(lambda c, r: (c + r, None), jnp.zeros(128), x)[0] / 64,
}  # fmt: skip
# Sums of N elements of a tensor are estimated half-way between those of independent terms, as here, and of equal ones:
# N^(1/4) more (log2).
_ALIGNED = {"sum over rows": 7 / 4, "cumulative": 6 / 4}


def test_averages_settle_at_what_enters_and_averages_of_them_too() -> None:
    """Momentum, its average and weights over steps, in another spelling of an average than the FileCheck test's."""

    def step(w: Any, m: Any, n: Any, x: Any) -> Any:
        new = m + 0.1 * (x - m)
        return w - 0.5 * new, new, 0.75 * n + 0.25 * new

    arguments = [jnp.ones((4, 4), jnp.float32)] * 4
    with make_context():
        module = ir.Module.parse(jax.jit(step).lower(*arguments).as_text())
        analysis = settled(module, public_function(module))
        sizes = {f"s{i}": n for i, n in enumerate((20.0, 40.0, 60.0, 5.0))}
        found = [analysis.algebra.log2(size, sizes) for size in analysis.main.results]
    assert found[0] == pytest.approx(20, abs=0.1)
    assert found[1:] == pytest.approx([5, 5], abs=1)


# How far (log2) an estimate may be off: pieces of the size between two terms, and what a Gaussian stands for.
_TOLERANCE = {
    "scan": 1.6,
    "one hot": 1.6,
    "logistic of unit size": 0.1,
    "normalised": 0.1,
    "sum": 0.05,
    "product": 0.05,
}


def estimated(function: Callable[..., Any], arguments: list[Any]) -> float:
    """log2 of the size of a function's result, of its normal form, where the arguments have the sizes they have."""
    text = jax.jit(function).lower(*arguments).as_text()
    sizes = {f"s{i}": float(np.log2(np.sqrt(np.mean(np.square(a))))) for i, a in enumerate(arguments)}
    with make_context():
        module = ir.Module.parse(text)
        to_normal_form(module)
        analysis = SizeAnalysis(module, public_function(module))
        return analysis.algebra.log2(analysis.main.results[0], sizes)


@pytest.mark.parametrize("name", sorted(_PROGRAMS))
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0**-6, 2.0**3), (2.0**9, 2.0**-4)])
def test_the_size_of_random_numbers(name: str, a: float, b: float) -> None:
    rng = np.random.default_rng(0)
    arguments = [np.float32(s * rng.standard_normal((64, 128))) for s in (a, b)]
    function = _PROGRAMS[name]
    with jax.disable_jit():
        result = np.asarray(function(*(jnp.asarray(v) for v in arguments)), np.float64)
    truth = float(np.log2(np.sqrt(np.mean(result**2))))
    kept = [v for i, v in enumerate(arguments) if i == 0 or _takes_both(function)]
    estimate = estimated(function if len(kept) == 2 else lambda x: function(x, None), kept)
    assert abs(estimate - truth - _ALIGNED.get(name, 0.0)) <= _TOLERANCE.get(name, 0.6)


def test_a_buffer_of_which_a_loop_writes_a_part_keeps_the_rest() -> None:
    def write(x: Any, y: Any) -> Any:
        def row(i: Any, buffer: Any) -> Any:
            return jax.lax.dynamic_update_slice_in_dim(buffer, jax.lax.dynamic_slice_in_dim(y, i, 1), i, 0)

        return jax.lax.fori_loop(0, 16, row, x)

    rng = np.random.default_rng(0)
    arguments = [np.float32(rng.standard_normal((64, 128))) for _ in range(2)]
    assert estimated(write, arguments) == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("flipped", [False, True])
def test_a_bound_from_above_leaves_the_size(flipped: bool) -> None:
    """Whichever operand it is."""

    def bounded(x: Any) -> Any:
        bound = jnp.full_like(x, 2.0**20)
        return jax.lax.min(x, bound) if flipped else jax.lax.min(bound, x)

    x = np.float32(np.random.default_rng(0).standard_normal((64, 128)))
    assert estimated(bounded, [x]) == pytest.approx(0, abs=0.1)


def test_a_sum_of_what_has_a_mean_has_one() -> None:
    """Whatever its terms are multiples of."""

    def mean(function: Callable[..., Any]) -> float:
        text = jax.jit(function).lower(*[jax.ShapeDtypeStruct((4, 8), jnp.float32)] * 2).as_text()
        with make_context():
            module = ir.Module.parse(text)
            return SizeAnalysis(module, public_function(module)).main.results[0].moments.mean

    assert mean(lambda x, y: x + y) == 0
    assert mean(lambda x, y: x * x + y * y) == pytest.approx(0.8, abs=0.1)
    assert mean(lambda x, y: jnp.abs(x) + jnp.abs(y)) > 0.9
    assert mean(lambda x, y: -jax.nn.relu(x) - jax.nn.relu(y)) < -0.5


def _takes_both(function: Callable[..., Any]) -> bool:
    return "_" not in function.__code__.co_varnames[:2]


# --- every door -------------------------------------------------------------------------------------------------

_SQUARES: dict[str, Callable[[Any], Any]] = {
    "x * x": lambda c: c * c,
    "x**2": lambda c: c**2,
    "jnp.square": jnp.square,
    "chlo.square": lambda c: jax.lax.square(c),
}


@pytest.mark.parametrize("door", ["lowered", "exported"])
def test_the_spelling_of_a_square_and_the_door_do_not_change_sizes(door: str) -> None:
    """CHLO and StableHLO, a function of its own or not: a layer norm's gradient has one size."""

    def step(square: Callable[[Any], Any], w: Any, x: Any) -> Any:
        def loss(w: Any) -> Any:
            c = x - x.mean(1, keepdims=True)
            return jnp.sum(w * c * jax.lax.rsqrt(jnp.mean(square(c), 1, keepdims=True) + 1e-5))

        return jax.grad(loss)(w)

    arguments = jnp.ones((128,), jnp.float32), jnp.ones((64, 128), jnp.float32)
    found: set[float] = set()
    for square in _SQUARES.values():
        jitted = jax.jit(lambda w, x, square=square: step(square, w, x))
        text = (
            jitted.lower(*arguments).as_text()
            if door == "lowered"
            else jax.export.export(jitted)(*arguments).mlir_module()
        )
        with make_context():
            module = ir.Module.parse(text)
            analysis = SizeAnalysis(module, public_function(module))
            found.add(round(analysis.algebra.log2(analysis.main.results[0], {"s0": -3.0, "s1": 5.0}), 3))
    assert len(found) == 1
    # 64 rows of normalised numbers, half-way between independent and aligned: 64^(3/4); a cotangent of 1.
    assert found.pop() == pytest.approx(4.5, abs=0.3)
