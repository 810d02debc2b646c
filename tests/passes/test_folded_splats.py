"""`scalify-fold-scales` computes one element of what is one number everywhere, however many elements that has."""

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.pipeline import parse_pipeline

_MANY = 100_000_000


def test_an_empty_cache_is_not_written_out() -> None:
    def function(x: jax.Array, place: jax.Array) -> jax.Array:
        cache = (jnp.zeros((_MANY,), jnp.float32) + 1).astype(jnp.float16) * 2
        cache = jnp.where(cache > 1, cache, jnp.clip(cache, -1, 1))
        return jax.lax.dynamic_update_slice(cache, x.astype(jnp.float16), (place,))

    text = jax.jit(function).lower(np.ones(4, np.float32), np.int32(0)).as_text()
    with make_context():
        module = ir.Module.parse(text)
        tracemalloc.start()
        parse_pipeline("scalify-fold-scales").run(module, [])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        folded = str(module)
    assert peak < _MANY // 10
    assert f"dense<2.000000e+00> : tensor<{_MANY}xf16>" in folded
