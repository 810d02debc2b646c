"""What JAX's types say of values in `shard_map`: over which axes of the mesh they may differ from device to device."""

# jax is annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any


def varying_axes(aval: Any) -> tuple[str, ...]:
    """The manual axes that a value is typed to vary over; none under `check_vma=False`."""
    kinds = getattr(aval, "mat", None)  # of newer JAX: which axes a value varies, is reduced, ... over
    return tuple(sorted(getattr(aval, "vma", ()) if kinds is None else kinds.varying))
