"""How property tests draw and compare: settings, options of the rewriter, agreement in bits."""

import os

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from scalify_hlo.execution.element_types import Array
from scalify_hlo.options import ScalifyOptions
from tests.support import same_bits

_IN_CI = 1_000
_EXAMPLES = int(os.environ.get("SCALIFY_PROPERTY_EXAMPLES", _IN_CI))
SETTINGS = settings(
    max_examples=_EXAMPLES,
    deadline=None,
    derandomize=_EXAMPLES == _IN_CI,
    database=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
_SMALLEST = float(np.finfo(np.float32).tiny)

options = st.builds(
    ScalifyOptions,
    rules=st.sampled_from(("default", "default", "paper")),
    rounding=st.sampled_from(("down", "down", "nearest", "up")),
    slack=st.sampled_from((ScalifyOptions().slack, ScalifyOptions().slack, 0.0)),
)


def same_bits_at_scale(got: Array, scale: Array | float, want: Array) -> Array:
    """Where floats have the same bits, or differ by what data at this scale cannot hold."""
    with np.errstate(invalid="ignore"):
        return same_bits(got, want) | (np.abs(got.astype(np.float64) - want) < _SMALLEST * scale)
