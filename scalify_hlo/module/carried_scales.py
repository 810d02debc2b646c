"""Which of the values that a loop carries, or a branch returns, are scales, and of which others: an attribute."""

from collections.abc import Mapping

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.types import tensor_info

# Attribute of a loop or branch: for each result, which one it is the scale of; -1 where it is no scale.
CARRIED = "scalify.carried"


def mark_carried(op: ir.Operation, data_of: Mapping[int, int]) -> None:
    """Say on a loop or branch which result each scale belongs to: scale -> data, by their positions."""
    found = np.full(len(op.results), -1, np.int64)
    for scale, data in data_of.items():
        found[scale] = data
    op.attributes[CARRIED] = ir.DenseElementsAttr.get(found)


def carried_scales(op: ir.Operation) -> dict[int, int]:
    """Position of each scale -> that of its data. Nothing where the operation has changed since it was marked."""
    attribute = op.attributes.get(CARRIED, None)
    if not isinstance(attribute, ir.DenseElementsAttr):
        return {}
    found = np.asarray(attribute).ravel()
    if len(found) != len(op.results):
        return {}
    pairs = {scale: int(data) for scale, data in enumerate(found) if 0 <= data < len(found)}
    infos = [tensor_info(value.type) for value in op.results]
    fits = all(infos[scale].element == "f32" and infos[data].is_float for scale, data in pairs.items())
    return pairs if fits else {}
