"""State that is measured by a sample of its elements: of what has zeros in places that repeat, others must be in it."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import scalify_hlo as sc
from scalify_hlo.passes.state_rescale import _spread  # pyright: ignore[reportPrivateUsage]

_ADAM = optax.adam(1e-3)
rng = np.random.default_rng(0)


def moments_after_two_steps(loss: Any, parameters: Any, *batch: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each parameter both moments, in f32 and where they are stored in f16."""

    def step(parameters: Any, state: Any, *batch: Any) -> Any:
        updates, state = _ADAM.update(jax.grad(loss)(parameters, *batch), state)
        return optax.apply_updates(parameters, updates), state

    wanted = parameters, _ADAM.init(parameters)
    scaled = sc.scalify(step, precision="fp16 moments=f16")
    found = scaled.stored(*sc.as_scaled_array(wanted), *sc.as_scaled_array(batch))[:2]
    for _ in range(2):
        wanted, found = jax.jit(step)(*wanted, *batch), scaled(*found, *sc.as_scaled_array(batch))
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for name in ("mu", "nu"):
        of_f32, of_f16 = (
            jax.tree.leaves(sc.asarray(getattr(state[1][0], name), np.float32)) for state in (wanted, found)
        )
        pairs += [(np.asarray(a), np.asarray(b)) for a, b in zip(of_f32, of_f16, strict=True)]
    return pairs


@pytest.mark.parametrize("width", [128, 256, 1024])
def test_pixels_at_the_edge_of_an_image_are_zero_in_all_of_them(width: int):
    """Both moments of the first layer were 0 for widths of 256 and more: its sample was of pixels of one column."""
    image = np.zeros((28, 28), np.float32)
    image[3:-3, 3:-3] = 1
    x = np.float32(rng.random((32, 784))) * image.ravel()
    y = np.float32(rng.standard_normal((32, 10)))
    parameters = [np.float32(rng.standard_normal((784, width)) / 28), np.float32(rng.standard_normal((width, 10)) / 16)]

    def loss(parameters: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.mean((jax.nn.relu(x @ parameters[0]) @ parameters[1] - y) ** 2)

    for wanted, found in moments_after_two_steps(loss, parameters, x, y):
        assert np.linalg.norm(found - wanted) < 0.01 * np.linalg.norm(wanted)


def test_the_imaginary_part_of_the_first_frequency_has_no_gradient():
    """What a real spectrum is transformed to does not depend on it; the moments of all of them were 0."""
    modes, width = 12, 32
    parameters = [np.float32(rng.random((modes, width, width)) / width) for _ in range(2)]
    x, y = np.float32(rng.standard_normal((8, 64, width))), np.float32(rng.standard_normal((8, 64, width)))

    def loss(parameters: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        spectrum = jnp.fft.rfft(x, axis=1)[:, :modes]
        mixed = jnp.einsum("bkc,kcd->bkd", spectrum, parameters[0] + 1j * parameters[1])
        padded = jnp.pad(mixed, ((0, 0), (0, 33 - modes), (0, 0)))
        return jnp.mean((jnp.fft.irfft(padded, n=64, axis=1) - y) ** 2)

    for wanted, found in moments_after_two_steps(loss, parameters, x, y):
        assert np.linalg.norm(found - wanted) < 0.01 * np.linalg.norm(wanted)


@pytest.mark.parametrize(
    "shape", [(784, 256), (12, 32, 32), (1024, 1024), (3, 3, 64, 64), (50304,), (2, 8192), (1025,)]
)
def test_a_sample_has_elements_of_all_dimensions_at_odd_distances(shape: tuple[int, ...]):
    strides = _spread(shape, 1024)
    left = [math.ceil(n / stride) for n, stride in zip(shape, strides, strict=True)]
    assert 1024 // 4 <= math.prod(left) <= 1024
    assert all(stride % 2 for stride in strides)
    assert all(n >= min(size, 2) for n, size in zip(left, shape, strict=True))
