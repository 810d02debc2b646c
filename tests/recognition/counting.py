"""How often something is recognised in a program."""

from collections.abc import Callable, Sequence, Sized

from scalify_hlo.bindings import ir
from scalify_hlo.execution.modules import as_module


def count_found(find: Callable[[Sequence[ir.Operation]], Sized], text: str) -> int:
    """What is found among the operations of the functions of a module."""
    module = as_module(text)
    blocks = [function.regions[0].blocks[0] for function in module.body.operations]
    return sum(len(find([op.operation for op in block.operations])) for block in blocks)
