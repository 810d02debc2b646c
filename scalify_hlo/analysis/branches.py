"""What the results of `case` and `if` are: what their branches give.

# jax.grad(lax.cond(p, f, g)): what f keeps for its own backward pass is a result, which is 0 where g was taken

Of two such operations with one index the same branch is taken: what stands in a branch of the second reads of the
first what the branch of the same number gave.
"""

from scalify_hlo.analysis.calls import defining_op, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.traits import BRANCHES

# Indices, before conversions, and the numbers of the branches that are taken then.
Taken = tuple[tuple[ir.Value, int], ...]


def yielded(op: ir.Operation, index: int) -> list[ir.Value]:
    """What each branch gives as a result of a `case` or an `if`, but for zeros where another one gives more."""
    values = [terminator(region.blocks[0]).operands[index] for region in op.regions]
    return [value for value in values if number_behind(value) != 0] or values[:1]


def yielded_if(taken: Taken, op: ir.Operation, index: int) -> list[ir.Value]:
    """The same where it is known which branches are taken."""
    chosen = _chooses(op)
    number = next((number for value, number in taken if value == chosen), None)
    return yielded(op, index) if number is None else [terminator(op.regions[number].blocks[0]).operands[index]]


def branches_around(block: ir.Block) -> Taken:
    """The branches that a block is in."""
    found: Taken = ()
    while (op := block.owner.operation).name != "func.func":
        if op.name in BRANCHES:
            number = next(i for i, region in enumerate(op.regions) if region.blocks[0] == block)
            found += ((_chooses(op), number),)
        block = op.block
    return found


def _chooses(op: ir.Operation) -> ir.Value:
    """What an operation chooses its branch by."""
    value = op.operands[0]
    while (converts := defining_op(value)) is not None and converts.name == "stablehlo.convert":
        value = converts.operands[0]
    return value
