"""A JAX function and its rewritten form, compared."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from scalify_hlo import rewrite_module
from scalify_hlo.execution.check import check_modules
from scalify_hlo.execution.inputs import ScaleMode
from scalify_hlo.execution.modules import as_module
from scalify_hlo.execution.options import CheckOptions


def assert_same(fun: Callable[..., Any], *arguments: Any, scales: ScaleMode = "rms") -> None:
    """The rewritten program computes what the original does, within the original's rounding noise."""
    exported = jax.export.export(jax.jit(fun, keep_unused=True))(*jax.tree.map(_spec, arguments))
    text = exported.mlir_module()
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(arguments)]
    options = CheckOptions(scales=scales)
    comparison = check_modules(as_module(text), as_module(rewrite_module(text)), leaves, options).comparison
    assert comparison.passed, comparison.table()


def _spec(leaf: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(np.shape(leaf), np.asarray(leaf).dtype)
