"""Delayed rescaling: the scale of a tensor follows the largest magnitudes seen in the steps before (paper, 3.3).

Measuring and rescaling do not wait for each other then, as in the FP8 recipes with an amax history. The history is
an ordinary plain array in the training state.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.frontend.powers_of_two import Pow2RoundMode, clip_scale, pow2_round
from scalify_hlo.frontend.primitives import get_data_and_scale, set_scaling
from scalify_hlo.frontend.statistics import Statistic, magnitude


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class AmaxHistory:
    """Magnitudes of a tensor in the last steps, the latest first; 0 where there has been none.

    values: f32 array of shape [length]; magnitudes of the tensor itself, data * scale.
    """

    values: Any

    @classmethod
    def of_length(cls, length: int) -> AmaxHistory:
        """An empty history. Raises ValueError for a length below 1."""
        if length < 1:
            raise ValueError(f"an amax history has at least one entry, not {length}")
        return cls(jnp.zeros(length, jnp.float32))


def delayed_rescale(
    x: Any, history: AmaxHistory, *, target: float = 1.0, statistic: Statistic = "max"
) -> tuple[Any, AmaxHistory]:
    """(x with the scale that its history asks for, the history with the magnitude of x added).

    target: the magnitude that the data should have, at least half of it and at most itself if the tensor is as
        large as the largest in the history. 1 suits f16; for f8 a higher one leaves less of the range unused (448
        is the largest value of float8_e4m3fn).
    statistic: what is recorded, "max" as a rule.
    While the history is empty, x keeps its scale. Infinite and NaN magnitudes are not recorded. Outside of the
    transform x is returned as it is; the history is kept all the same. The derivative in x is the identity.
    """
    data, scale = jax.lax.stop_gradient(get_data_and_scale(x))
    largest = jnp.max(history.values)
    wanted = clip_scale(pow2_round(largest / np.float32(target), Pow2RoundMode.UP))
    new_scale = jnp.where(largest > 0, wanted, jnp.max(scale).astype(jnp.float32))
    current = jnp.max(magnitude(data, statistic) * scale.astype(jnp.float32))
    current = jnp.where(jnp.isfinite(current), current, jnp.zeros_like(current))
    recorded = jnp.concatenate([current[None], history.values[:-1]])
    return set_scaling(x, new_scale), AmaxHistory(recorded)
