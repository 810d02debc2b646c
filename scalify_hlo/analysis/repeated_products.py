"""Products that a backward pass computes again, as the forward pass did: of `jax.checkpoint`, of rules of `custom_vjp`.

# y = x w and, behind a barrier or written out, x w again: one number, of which gradients are those of the other

What is computed by the same operation of the same operands is the same; operands are, if their origins are, or if the
same operations give them of the same.
"""

from collections.abc import Mapping

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.analysis.origins import Origins
from scalify_hlo.bindings import ir

# How many pairs of operations are compared on the way back from two to what both are computed of.
_FAR = 256
_DIMENSIONS = "dot_dimension_numbers"
_Pair = tuple[ir.Operation, ir.Operation]


def gives_the_same(
    op: ir.Operation, earlier: ir.Operation, origins: Origins, known: Mapping[ir.Operation, ir.Operation]
) -> bool:
    """Whether two operations of one result compute it in the same way of the same values.

    known: operations and what they repeat.
    """
    pending, seen, left = [(op, earlier)], set[_Pair](known.items()), _FAR
    while pending:
        a, b = pair = pending.pop()
        if a == b or pair in seen:
            continue
        left -= 1
        if not left or not _are_alike(a, b):
            return False
        seen.add(pair)
        for x, y in zip(a.operands, b.operands, strict=True):
            mine, theirs = origins.of(x, a), origins.of(y, b)
            if (mine.dims, mine.slices) != (theirs.dims, theirs.slices):
                return False
            if mine.root != theirs.root:
                before = defining_op(mine.root), defining_op(theirs.root)
                if before[0] is None or before[1] is None:
                    return False
                pending.append((before[0], before[1]))
    return True


def _are_alike(a: ir.Operation, b: ir.Operation) -> bool:
    """Whether two operations of one result are of one kind, type and form."""
    if a.name != b.name or len(a.operands) != len(b.operands) or len(a.results) != 1 or len(b.results) != 1:
        return False
    if a.results[0].type != b.results[0].type or len(a.regions):
        return False
    if _DIMENSIONS in a.attributes:  # whatever type it is computed in
        return a.attributes[_DIMENSIONS] == b.attributes[_DIMENSIONS]
    return dict(a.attributes.items()) == dict(b.attributes.items())
