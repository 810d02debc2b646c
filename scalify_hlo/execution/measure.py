"""Running a module with statistics of its tensors."""

from collections.abc import Sequence

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.inputs import draw_inputs, split_scales
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.signature import Signature, entry_signature
from scalify_hlo.health import TensorHealth, read_health
from scalify_hlo.passes.instrument import Instrument


def measure(
    module: ir.Module, options: Instrument | None = None, seed: int = 0, arrays: Sequence[Array] | None = None
) -> list[TensorHealth]:
    """Run an instrumented copy of `module` once on XLA:CPU and read the statistics.

    arrays: one for each argument; drawn from `seed` when None, for a rewritten module as pairs of the same values.
    Raises ScalifyError where no tensor is called as `options` say, or the module cannot be run.
    """
    signature = entry_signature(module)
    instrumented = clone(module)
    (options or Instrument()).apply(instrumented, [])
    return read_health(instrumented, xla.compile(instrumented)(_draw(signature, seed) if arrays is None else arrays))


def _draw(signature: Signature, seed: int) -> list[Array]:
    """Arguments; data and scale of a rewritten module's pairs are those of one drawn value."""
    if not any(spec.role == "scale" for spec in signature.arguments):
        return draw_inputs(signature, seed)
    whole = Signature(tuple(spec for spec in signature.arguments if spec.role != "scale"), ())
    values = draw_inputs(whole, seed)
    splits = iter(zip(values, split_scales(values, seed=seed), strict=True))
    arrays: list[Array] = []
    for spec, following in zip(signature.arguments, [*signature.arguments[1:], None], strict=True):
        if spec.role == "scale":
            continue
        value, split = next(splits)
        if following is not None and following.role == "scale":
            scale = np.float32(1 if split.scale is None else split.scale)
            arrays += [split.data, np.broadcast_to(scale, following.shape)]
        else:
            arrays.append(value)
    return arrays
