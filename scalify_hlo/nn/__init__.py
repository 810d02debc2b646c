"""Layers with custom scale rules, and layers with formats and rescaling of their own.

Each is an ordinary JAX function with its usual derivative outside of the scalify transform.
"""

from scalify_hlo.nn.activations import gelu, relu, silu, softplus, swish
from scalify_hlo.nn.attention import dot_product_attention
from scalify_hlo.nn.linear import FP8, FULL, Formats, linear
from scalify_hlo.nn.normalization import layer_norm, rms_norm
from scalify_hlo.nn.recurrence import linear_recurrence, selective_scan
from scalify_hlo.nn.softmax import log_softmax, logsumexp, softmax

__all__ = [
    "FP8", "FULL", "Formats", "dot_product_attention", "gelu", "layer_norm", "linear", "linear_recurrence",
    "log_softmax", "logsumexp", "relu", "rms_norm", "selective_scan", "silu", "softmax", "softplus", "swish",
]  # fmt: skip
