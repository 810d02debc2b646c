"""Loops in which scales could drift, and how far their data get from unit size over time.

Used by benchmarks/loop_drift.py and tests/test_loops.py.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.execution import xla
from scalify_hlo.execution.inputs import Split, recombine, rewritten_arguments
from scalify_hlo.execution.signature import pair_arguments, pair_results
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rewrite import rewrite_module

SIZE = 16


def _matrix() -> np.ndarray:
    """Orthogonal: it keeps the size of what it multiplies."""
    return np.linalg.qr(np.random.default_rng(1).standard_normal((SIZE, SIZE)))[0]


def _vector(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(SIZE)


@dataclasses.dataclass(frozen=True)
class Loop:
    """`body` is iterated on `state`, with `inputs` that do not change.

    exponent: of the scales of state and inputs; zeros carry the smallest scale, matrices scale 1.
    iterations: the most that make sense.
    drifts_in_steps: why the scale leaves the range of f32 when one iteration is rewritten by itself and called
        repeatedly, so that no loop is there to hold it.
    """

    name: str
    body: Callable[..., Any]
    state: Sequence[np.ndarray]
    inputs: Sequence[np.ndarray] = ()
    exponent: int = 20
    iterations: int = 10_000
    drifts_in_steps: str = ""

    def program(self, count: Any, *arrays: Any) -> Any:
        """The whole loop, of `count` iterations."""
        split = len(self.state)
        inputs = arrays[split:]

        def iterate(_: Any, state: Any) -> Any:
            return self.step(*state, *inputs)

        return jax.lax.fori_loop(0, count, iterate, tuple(arrays[:split]))

    def step(self, *arrays: Any) -> Any:
        """One iteration: the new state."""
        after = self.body(*arrays)
        return after if isinstance(after, tuple) else (after,)

    def arrays(self, dtype: Any) -> list[np.ndarray]:
        return [np.asarray(a).astype(dtype) for a in (*self.state, *self.inputs)]

    def text(self, dtype: Any) -> str:
        """The whole loop as StableHLO; the number of iterations is its first argument."""
        return _lowered(self.program, np.int32(1), *self.arrays(dtype))

    def step_text(self, dtype: Any) -> str:
        """One iteration as StableHLO."""
        return _lowered(self.step, *self.arrays(dtype))

    def splits(self, dtype: Any, exponent: int | None = None) -> list[Split]:
        """Data near unit size, at scale 2^exponent; inputs of matrices at scale 1."""
        chosen = self.exponent if exponent is None else exponent
        return [
            Split(a, np.float32(2.0 ** (-126 if not a.any() else 0 if a.ndim == 2 else chosen)))
            for a in self.arrays(dtype)
        ]


def _lowered(function: Callable[..., Any], *arguments: Any) -> str:
    with jax.enable_x64(True):
        module = jax.jit(function, keep_unused=True).lower(*arguments).compiler_ir("stablehlo")
    assert isinstance(module, ir.Module)
    return str(module)


def _newton_root(y: Any, a: Any) -> Any:
    return 0.5 * (y + a / y)


def _momentum(w: Any, m: Any, g: Any) -> Any:
    """Gradient descent with momentum towards g."""
    m = 0.9 * m + (w - g)
    return w - 0.05 * m, m


def _power_iteration(v: Any, a: Any) -> Any:
    v = a @ v
    return v / jnp.sqrt((v * v).sum())


_ZEROS = np.zeros(SIZE)
_POSITIVE = np.abs(_vector(3)) + 0.5

LOOPS = (
    Loop("ema", lambda m, g: 0.9 * m + 0.1 * g, [_ZEROS], [_vector(0)]),
    Loop("ema_of_squares", lambda v, g: 0.999 * v + 0.001 * (g * g), [_ZEROS], [_vector(0)]),
    Loop("ema_from_a_large_state", lambda m, g: 0.9 * m + 0.1 * g, [100 * _vector(1)], [_vector(0)]),
    Loop("momentum", _momentum, [_vector(0), _ZEROS], [_vector(1)]),
    Loop("linear_rnn", lambda h, w: w @ h, [_vector(0)], [_matrix()], iterations=1_000,
         drifts_in_steps="a product's scale is the product of the scales, whatever the data do"),
    Loop("rnn", lambda h, x, w: jnp.tanh(w @ h + x), [_ZEROS], [_vector(0), _matrix()], exponent=2, iterations=1_000),
    Loop("newton_square_root", _newton_root, [_POSITIVE], [_POSITIVE], exponent=0),
    Loop("newton_square_root_far_away", _newton_root, [_POSITIVE], [_POSITIVE], iterations=100),
    Loop("newton_reciprocal", lambda y, a: y * (2 - a * y), [0.1 + _ZEROS], [_POSITIVE], exponent=0,
         drifts_in_steps="the scale of y - a y^2 follows the larger degree"),
    Loop("maximum", lambda x, y: jnp.maximum(0.9 * x, y), [_vector(0)], [_vector(1)]),
    Loop("minimum_of_multiples", lambda x, y: jnp.minimum(1.1 * x, y), [_POSITIVE], [2 * _POSITIVE]),
    Loop("maximum_minimum", lambda x, y: jnp.minimum(jnp.maximum(x + y, -y), 2 * y), [_ZEROS], [_POSITIVE]),
    Loop("there_and_back", lambda x: (2 * (1.5 * x)) / 3.0, [_vector(0)],
         drifts_in_steps="a factor 2 goes into the scale, 1.5 and 1/3 stay in the data"),
    Loop("power_iteration", _power_iteration, [_vector(0)], [_matrix()], exponent=0),
    Loop("normalised_residual", lambda x, w: (lambda y: y / jnp.sqrt((y * y).mean()))(x + w @ x), [_vector(0)],
         [_matrix()], exponent=3, iterations=1_000),
    Loop("exchange", lambda x, y: (y, x), [_vector(0), 3 * _vector(1)]),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Sample:
    """The first carried value after `iterations`.

    log2_rms, log2_largest: of its data; log2_scale: of its scale.
    error: largest difference from f64, relative to the largest element.
    noise: the same for the original program in the same type at scale 1.
    """

    iterations: int
    log2_rms: float
    log2_largest: float
    log2_scale: float
    error: float
    noise: float


def measure(
    loop: Loop, counts: Sequence[int], dtype: Any = np.float16, options: ScalifyOptions = ScalifyOptions()
) -> list[Sample]:
    """Run the rewritten loop on XLA:CPU for several numbers of iterations."""
    reference = _Reference(loop, dtype)
    rewritten = xla.compile(rewrite_module(reference.text, options))
    pairings = pair_arguments(reference.original.signature, rewritten.signature)
    first = pair_results(reference.original.signature, rewritten.signature)[0]
    assert first.scale is not None
    samples: list[Sample] = []
    for count in counts:
        counted = Split(np.asarray(count, np.int32), None)
        arrays = rewritten_arguments([counted, *loop.splits(dtype)], pairings, rewritten.signature)
        results = rewritten(arrays)
        samples.append(reference.sample(count, results[first.data], results[first.scale]))
    return samples


def measure_steps(
    loop: Loop, counts: Sequence[int], dtype: Any = np.float16, options: ScalifyOptions = ScalifyOptions()
) -> list[Sample]:
    """Rewrite one iteration and call it repeatedly, its (data, scale) results being the next call's arguments."""
    reference = _Reference(loop, dtype)
    text = loop.step_text(dtype)
    original, rewritten = xla.compile(text), xla.compile(rewrite_module(text, options))
    pairings = pair_arguments(original.signature, rewritten.signature)
    results = pair_results(original.signature, rewritten.signature)
    splits = loop.splits(dtype)
    samples: list[Sample] = []
    for count in range(1, max(counts) + 1):
        values = rewritten(rewritten_arguments(splits, pairings, rewritten.signature))
        for i, pair in enumerate(results):
            assert pair.scale is not None
            splits[i] = Split(values[pair.data], values[pair.scale])
        scale = splits[0].scale
        if count in counts and scale is not None:
            samples.append(reference.sample(count, splits[0].data, scale))
    return samples


class _Reference:
    """The original loop, at scale 1 in its own type, and in f64."""

    def __init__(self, loop: Loop, dtype: Any):
        self.text = loop.text(dtype)
        self.original, self.exact = xla.compile(self.text), xla.compile(loop.text(np.float64))
        self._values = [np.asarray(recombine(s.data, s.scale)) for s in loop.splits(dtype)]
        self._units = loop.splits(dtype, 0)

    def sample(self, iterations: int, data: np.ndarray, scale: np.ndarray) -> Sample:
        """What the rewritten loop gave, beside what it should have given."""
        count = np.asarray(iterations, np.int32)
        want = self.exact([count, *self._values])[0]
        ideal = self.exact([count, *(np.asarray(recombine(s.data, s.scale)) for s in self._units)])[0]
        plain = self.original([count, *(s.data for s in self._units)])[0]
        wide = data.astype(np.float64)
        return Sample(
            iterations,
            _log2(np.sqrt(np.mean(wide**2))),
            _log2(np.abs(wide).max()),
            _log2(float(scale)),
            _distance(recombine(data, scale), want),
            _distance(plain.astype(np.float64), ideal),
        )


def _distance(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.abs(got - want).max() / np.abs(want).max())


def _log2(x: float) -> float:
    return float(np.log2(x)) if x > 0 else float("-inf")
