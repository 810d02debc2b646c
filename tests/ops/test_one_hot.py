"""One-hot vectors choose: a sum over them has one term, and data stay near unit size for any number of classes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

TOKENS, CLASSES, PLACES, WIDTH = 256, 16, 32, 8
CHOSEN = np.random.default_rng(0).integers(0, CLASSES, TOKENS).astype(np.int32)
PLACE = (np.arange(TOKENS) % PLACES).astype(np.int32)


def mask(chosen: Any, place: Any, dtype: Any) -> Any:
    """[tokens, classes, places]: where a token goes."""
    return jnp.einsum(
        "te,tc->tec", jax.nn.one_hot(chosen, CLASSES, dtype=dtype), jax.nn.one_hot(place, PLACES, dtype=dtype)
    )


def dispatch(x: Any, chosen: Any, place: Any) -> Any:
    return jnp.einsum("tec,td->ecd", mask(chosen, place, x.dtype), x)


def combine(x: Any, chosen: Any, place: Any) -> Any:
    return jnp.einsum("tec,ecd->td", mask(chosen, place, x.dtype), x)


def embedding(x: Any, chosen: Any, _: Any) -> Any:
    return jax.nn.one_hot(chosen, x.shape[0], dtype=x.dtype) @ x


def dispatched_and_back(x: Any, chosen: Any, place: Any) -> Any:
    """Through experts that do nothing, four times: an error of each would multiply."""
    for _ in range(4):
        x = combine(dispatch(x, chosen, place), chosen, place)
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (dispatch, (TOKENS, WIDTH)),
        (combine, (CLASSES, PLACES, WIDTH)),
        (embedding, (CLASSES, WIDTH)),
        (dispatched_and_back, (TOKENS, WIDTH)),
    ],
)
def test_data_that_one_hot_vectors_choose_stay_near_unit_size(function: Any, shape: Any, dtype: Any) -> None:
    # One place for each token, so that no two of them are added.
    place = np.arange(TOKENS, dtype=np.int32) % PLACES
    chosen = (np.arange(TOKENS, dtype=np.int32) // PLACES) % CLASSES
    values = np.random.default_rng(0).normal(size=shape).astype(dtype)
    x = sc.ScaledArray(values, np.float32(2.0**20))  # 2^20 is infinite in f16
    y = sc.scalify(function)(x, chosen, place)
    data = np.asarray(y.data, np.float64)
    size = np.sqrt(np.mean(np.asarray(x.data, np.float64) ** 2))
    assert abs(np.log2(np.sqrt(np.mean(data[data != 0] ** 2)) / size)) <= 2
    wide = np.asarray(x.data, np.float32) * np.float32(2.0**20)
    np.testing.assert_array_equal(np.asarray(y, np.float32), function(jnp.asarray(wide), chosen, place))
