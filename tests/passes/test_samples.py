"""Samples of computed tensors are the same numbers, computed from samples."""

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution import xla
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.samples import Samples

ROWS, WIDTH, STRIDE = 2049, 8192, 32


def test_a_sample_of_a_softmax_s_derivative_is_computed_of_its_own_rows() -> None:
    def of_scores(scores: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        _, pull = jax.vjp(lambda x: jax.nn.softmax(x, axis=-1), scores)
        (gradient,) = pull(weights)
        return jnp.max(jnp.abs(gradient)), jax.lax.slice(gradient, (0, 0), (ROWS, WIDTH), (STRIDE, 1))

    generator = np.random.default_rng(0)
    scores, weights = (generator.normal(size=(ROWS, WIDTH)).astype(np.float32) for _ in range(2))
    text = jax.jit(of_scores).lower(scores, weights).as_text()
    with make_context():
        module = ir.Module.parse(text)
        Pipeline((Samples(),)).run(module, [])
        sampled = str(module)
        found = xla.compile(module)([scores, weights])
    # The row sums of the whole are read by the whole alone: the sample slices what enters.
    taken = [line for line in sampled.splitlines() if f"[0:{ROWS}:{STRIDE}, 0:{WIDTH}]" in line]
    assert len(taken) == 2 and all("%arg" in line for line in taken)
    expected = xla.compile(text)([scores, weights])
    np.testing.assert_array_equal(np.asarray(found[0]), np.asarray(expected[0]))
    np.testing.assert_allclose(np.asarray(found[1]), np.asarray(expected[1]), rtol=1e-4, atol=1e-10)
