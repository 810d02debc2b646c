"""Recognition of what many operations stand for, in plain StableHLO: `--recognise`.

- `expansions`: special functions that a front end has written out, computed on the value as one.
- `blocks`: normalisations, softmax, logsumexp, gelu and silu, and their gradients. Their results get the size that is
  known of the block (`laws`), which the moments of single operations do not tell. No operation changes and none is
  added: what changes is which power of two the scale has.
"""

from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.recognition.blocks import find_blocks
from scalify_hlo.recognition.gradients import gradient_laws
from scalify_hlo.recognition.graph import Graph
from scalify_hlo.recognition.laws import Law


def find_laws(operations: Sequence[ir.Operation]) -> dict[ir.Value, Law]:
    """What is known of results from the blocks, and their gradients, that the operations of one region form."""
    graph = Graph()
    laws: dict[ir.Value, Law] = {}
    for block in find_blocks(operations, graph):
        laws |= gradient_laws(block, graph)
        if block.result is not None:
            laws[block.result] = block.law
    return laws
