"""Loops and branches in the place of others that carry or return other values."""

from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.module.carried_scales import CARRIED


def in_place_of(
    op: ir.Operation, operands: Sequence[ir.Value], kept: Sequence[int], types: Sequence[ir.Type] = ()
) -> ir.Operation:
    """An operation with the regions of another one, which has none then.

    kept: which results of the other one it has first. types: of the results that follow.
    """
    results = [*(op.results[i].type for i in kept), *types]
    attributes = dict(op.attributes.items())
    if len(kept) < len(op.results):
        attributes.pop(CARRIED, None)  # it says positions
    with ir.InsertionPoint(op), op.location:
        new = ir.Operation.create(op.name, results, operands, attributes, regions=len(op.regions))
    for old, region in zip(op.regions, new.regions, strict=True):
        old.blocks[0].append_to(region)
    return new


def hand_over(op: ir.Operation, new: ir.Operation, kept: Sequence[int]) -> None:
    """Let what read the kept results of an operation read those of the one in its place, and erase it."""
    for i, place in enumerate(kept):
        op.results[place].replace_all_uses_with(new.results[i])
    op.erase()
