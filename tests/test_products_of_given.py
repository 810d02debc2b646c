"""First layers of what a training step is given: E4M3 leaves little more than the mean of raw columns.

Each program trains on columns in units of their own, whose mean is many times what they vary by.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import precision_pipeline

Parameters = dict[str, Any]


def _matrix(rng: Any, *shape: int) -> Any:
    return np.float32(rng.normal(size=shape) / np.sqrt(shape[0]))


def _standardised(h: jax.Array) -> jax.Array:
    return (h - h.mean(0)) * jax.lax.rsqrt(h.var(0) + 1e-5)


def _temperatures(p: Parameters, x: jax.Array, y: jax.Array) -> jax.Array:
    """290 K +- 10 K, a layer, and a batch normalisation that takes their mean away."""
    h = jax.nn.relu(_standardised(x @ p["a"]))
    return jnp.mean((jax.nn.relu(h @ p["b"]) @ p["c"] - y) ** 2)


def _pixels(p: Parameters, x: jax.Array, y: jax.Array) -> jax.Array:
    """Bytes from 180 to 220, as floats."""
    h = jax.nn.relu(_standardised(x.astype(jnp.float32) / 255 @ p["a"]))
    return jnp.mean((jax.nn.relu(h @ p["b"]) @ p["c"] - y) ** 2)


def _series(p: Parameters, x: jax.Array, y: jax.Array) -> jax.Array:
    """A recurrent network on a sensor's level around 1000, its units normalised in each step."""

    def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(_standardised(x @ p["a"]) + h @ p["d"]), None

    h, _ = jax.lax.scan(step, jnp.zeros((x.shape[0], 32)), jnp.stack(jnp.split(x, 2, 1)))
    return jnp.mean((h @ p["b"][:32] @ p["c"] - y) ** 2)


def _batch(name: str, i: int) -> tuple[Any, Any]:
    z = np.random.default_rng(i).normal(size=(128, 32))
    y = np.float32(z[:, :1] + 0.5 * z[:, 1:2] - z[:, 2:3])
    match name:
        case "temperatures":
            return np.float32(290 + 10 * z), y
        case "pixels":
            return np.clip(200 + 6 * z, 180, 220).astype(np.uint8), y
        case _:
            return np.float32(1000 + 20 * z), y


def _parameters(name: str) -> Parameters:
    rng = np.random.default_rng(0)
    inputs = 16 if name == "series" else 32
    width = 32 if name == "series" else 64
    return {"a": _matrix(rng, inputs, width), "b": _matrix(rng, 64, 32), "c": _matrix(rng, 32, 1),
            "d": 0.3 * _matrix(rng, 32, 32)}  # fmt: skip


LOSSES: dict[str, Callable[..., jax.Array]] = {"temperatures": _temperatures, "pixels": _pixels, "series": _series}


def _train(name: str, precision: Any) -> float:
    def step(state: Any, x: Any, y: Any) -> Any:
        p, m, v = state
        value, g = jax.value_and_grad(LOSSES[name])(p, x, y)
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b * b, v, g)
        p = jax.tree.map(lambda w, a, b: w - 5e-3 * a / (jnp.sqrt(b) + 1e-6), p, m, v)
        return (p, m, v), value

    p = _parameters(name)
    zeros = jax.tree.map(np.zeros_like, p)
    state: Any = (p, zeros, zeros)
    function: Any = jax.jit(step) if precision is None else sc.scalify(step, precision=precision)
    losses: list[float] = []
    for i in range(60):
        x, y = _batch(name, i)
        if precision is not None:
            state, x, y = (sc.as_scaled_array(each) for each in (state, x, y))
        state, value = function(state, x, y)
        losses.append(float(np.asarray(value)))
    return float(np.mean(losses[-10:]))


@pytest.mark.parametrize("name", LOSSES)
def test_what_raw_columns_vary_by_is_learnt_from(name: str) -> None:
    exact = _train(name, None)
    assert abs(_train(name, "fp8") - exact) < 0.1 * exact


def _decisions(loss: Callable[..., Any], shapes: dict[str, tuple[int, ...]], *inputs: Any, learnt: str = "") -> Any:
    """What is said of the products of a step that learns the parameters with some names, or all."""

    def step(p: Parameters, *inputs: Any) -> Parameters:
        def of(own: Parameters) -> jax.Array:
            return jnp.mean(loss({**p, **own}, *inputs) ** 2)

        own = {name: p[name] for name in p if name in learnt or not learnt}
        return jax.tree.map(lambda w, g: w - 0.1 * g, own, jax.grad(of)(own))

    specs = {name: jax.ShapeDtypeStruct(shape, "float32") for name, shape in shapes.items()}
    text = jax.jit(step).lower(specs, *inputs).as_text(debug_info=True)
    remarks: list[Diagnostic] = []
    with make_context():
        module = ir.Module.parse(text)
        precision_pipeline("fp8", ScalifyOptions()).run(module, remarks)
    said = [each.message for each in remarks if each.message.startswith(("FP8 E", "left in"))]
    return [("given" if "is given" in each else "head" if "head" in each else "FP8") for each in said]


_X = jax.ShapeDtypeStruct((64, 32), "float32")
_TWO = {"a": (32, 64), "b": (64, 96), "c": (96, 48)}


def _layers(p: Parameters, h: jax.Array) -> jax.Array:
    return jnp.tanh(jnp.tanh(h @ p["a"]) @ p["b"]) @ p["c"]


@pytest.mark.parametrize(
    ("prepare", "given"),
    [
        (lambda x: x, True),
        (lambda x: jnp.log(x).reshape(64, 32) * 3, True),
        (lambda x: jnp.where(x > 0, x, 7.0), True),
        (lambda x: x / 255, True),
        (lambda x: jnp.concatenate([jnp.sin(x[:, :16]), x[:, 16:]], 1), True),
        (lambda x: x - 290, False),
        (lambda x: (x - x.mean(0)) / x.std(0), False),
        (lambda x: x + jnp.arange(32.0), False),
        (jnp.sin, False),
        (lambda x: x / jnp.linalg.norm(x, axis=1, keepdims=True), False),
    ],
)  # fmt: skip
def test_what_counts_as_given(prepare: Callable[[jax.Array], jax.Array], given: bool) -> None:
    found = _decisions(lambda p, x: _layers(p, prepare(x)), _TWO, _X)
    first = ["given" if given else "FP8"] * 2
    assert sorted(found) == sorted([*first, "FP8", "FP8", "FP8", "head", "head", "head"])


def test_integers_and_weights_that_are_not_learnt() -> None:
    pixels = jax.ShapeDtypeStruct((64, 32), "uint8")
    assert _decisions(lambda p, x: _layers(p, x.astype(jnp.float32)), _TWO, pixels).count("given") == 2
    tokens = jax.ShapeDtypeStruct((64,), "int32")
    table = _TWO | {"t": (50, 32)}
    assert "given" not in _decisions(lambda p, i: _layers(p, p["t"][i]), table, tokens)

    def adapted(p: Parameters, i: jax.Array) -> jax.Array:  # low-rank adapters beside weights that are given
        h = p["t"][i]
        return _layers({**p, "a": p["a"] + p["l"] @ p["r"]}, h - h.mean(1, keepdims=True))

    found = _decisions(adapted, table | {"l": (32, 16), "r": (16, 64)}, tokens, learnt="lr")
    assert "given" not in found and found.count("FP8") >= 3


def test_they_are_converted_by_choice() -> None:
    def step(p: Parameters, x: jax.Array) -> Parameters:
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(lambda p: jnp.mean(_layers(p, x) ** 2))(p))

    specs = {name: jax.ShapeDtypeStruct(shape, "float32") for name, shape in _TWO.items()}
    text = jax.jit(step).lower(specs, _X).as_text(debug_info=True)
    counts: list[int] = []
    for given in (False, True):
        remarks: list[Diagnostic] = []
        with make_context():
            module = ir.Module.parse(text)
            passes = precision_pipeline("fp8", ScalifyOptions()).elements
            Pipeline(tuple(FP8Dots(given=given) if isinstance(p, FP8Dots) else p for p in passes)).run(module, remarks)
        counts.append(sum(each.message.startswith("FP8 E") for each in remarks))
    assert counts == [3, 5]
