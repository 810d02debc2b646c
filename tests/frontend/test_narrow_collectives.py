"""What per-device code gathers itself in FP8: the bits are those of rounding after it."""

import pytest

from tests import four_devices
from tests.frontend.test_devices import PRELUDE

LOCAL = {
    # ZeRO-3: weights are gathered where they are used.
    "weights": """
def local(w, x):
    for own in w:
        x = x + jnp.tanh(x @ jax.lax.all_gather(own, "i", axis=0, tiled=True))
    return x
""",
    # The same under scan: the weights of a layer are gathered in the loop, and again for its gradient.
    "scanned weights": """
def local(w, x):
    def layer(x, own):
        return x + jnp.tanh(x @ jax.lax.all_gather(own, "i", axis=0, tiled=True)), None
    return jax.lax.scan(jax.checkpoint(layer), x, w)[0]
""",
    # The same, with the gathered weights saved for the gradient.
    "saved weights": """
def local(w, x):
    def layer(x, own):
        return x + jnp.tanh(x @ jax.lax.all_gather(own, "i", axis=0, tiled=True)), None
    return jax.lax.scan(layer, x, w)[0] @ HEAD
""",
    # All layers are gathered at once, before the loop over them.
    "stacked weights": """
def local(w, x):
    layer = lambda x, own: (x + jnp.tanh(x @ own), None)
    return jax.lax.scan(layer, x, jax.lax.all_gather(w, "i", axis=1, tiled=True))[0] @ HEAD
""",
    # Sequence parallel: activations are gathered before a product whose weight is cut. Forward alone, because
    # a gradient reads in f16 what was gathered.
    "activations": """
def local(w, x):
    for own in w:
        part = jax.lax.all_gather(jnp.tanh(x), "i", axis=0, tiled=True) @ own
        x = x + jax.lax.psum_scatter(part @ own.T, "i", scatter_dimension=0, tiled=True)
    return x
""",
}


@pytest.mark.parametrize("name", LOCAL)
def test_what_is_rounded_before_it_is_gathered_has_the_same_bits(name: str) -> None:
    cut = 'P(None, None, "i")' if name == "activations" else 'P(None, "i")'
    four_devices.run(PRELUDE + LOCAL[name] + f"""
w = np.float32(np.random.default_rng(0).standard_normal((2, 64, 64)) / 8)
HEAD = np.float32(np.random.default_rng(2).standard_normal((64, 64)) / 8)
X = np.float32(np.random.default_rng(1).standard_normal((64, 64)))
mapped = jax.shard_map(local, mesh=mesh, in_specs=({cut}, P("i")), out_specs=P("i"), check_vma=False)
loss = lambda w, x: jnp.mean(jnp.square(mapped(w, x)))
step = (lambda *a: (loss(*a), a[0])) if {name == "activations"} else jax.value_and_grad(loss)
arguments = sc.as_scaled_array((w, X))
def found(precision):
    function = jax.jit(sc.scalify(step, precision=precision))
    lines = function.lower(*arguments).as_text().splitlines()
    return sum("all_gather" in line and "f8E4M3FN" in line for line in lines), function(*arguments)
(narrow, own), (wide, other) = found("fp8"), found("fp8 gathers=f16")
assert narrow and not wide, (narrow, wide)
for x, y in zip(jax.tree.leaves(own), jax.tree.leaves(other), strict=True):
    np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
value, gradient = jax.jit(step)(w, X)
np.testing.assert_allclose(np.asarray(own[0]), value, rtol=0.05)
assert np.linalg.norm(np.asarray(own[1]) - gradient) < 0.1 * np.linalg.norm(gradient)
""", 4)  # fmt: skip
