"""Loops that copy a tensor, element by element: the tensor itself.

# for i < n: y[i] = x[i]; y = x

flax's `nnx.scan` hands all variables of a module through its transforms, weights too, and with `nnx.remat` between it
is not seen there that they come out as they went in: the loop over layers stacks a copy of each, of which the optimiser
computes the new ones.
"""

from collections.abc import Iterable

from scalify_hlo.analysis.accumulation import counter
from scalify_hlo.analysis.calls import defining_op, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import before_carriers
from scalify_hlo.module.constants import number_behind
from scalify_hlo.types import tensor_info


def use_what_is_copied(loops: Iterable[ir.Operation]) -> None:
    """Have what reads the copy that a loop makes of what it is given read that; in place."""
    for loop in loops:
        found = counter(loop, number_behind)
        if found is None or (found.first, found.step) != (0, 1):
            continue
        body = loop.regions[1].blocks[0]
        for i in range(len(loop.results)):
            source = _source(body, i, body.arguments[found.index], found.count)
            if source is not None:
                loop.results[i].replace_all_uses_with(loop.operands[source])


def _source(body: ir.Block, index: int, position: ir.Value, count: int) -> int | None:
    """Which carried value the one at `index` becomes a copy of; None if it becomes no copy of one that stays.

    position: what counts the iterations from 0, one by one. count: of these.
    """
    returned = terminator(body).operands[index]
    update = defining_op(returned)
    if update is None or update.name != "stablehlo.dynamic_update_slice" or update.operands[0] != body.arguments[index]:
        return None
    slice_ = defining_op(_unmoved(update.operands[1]))
    if slice_ is None or slice_.name != "stablehlo.dynamic_slice" or slice_.operands[0].type != returned.type:
        return None
    part, whole = (tensor_info(value.type).shape for value in (slice_.results[0], returned))
    if part != tensor_info(update.operands[1].type).shape:
        return None
    cut = [i for i, (size, of) in enumerate(zip(part, whole, strict=True)) if size != of]
    if len(cut) != 1 or part[cut[0]] != 1 or whole[cut[0]] != count:
        return None
    for indices in (list(update.operands)[2:], list(slice_.operands)[1:]):
        if any(v != position if i in cut else number_behind(v) != 0 for i, v in enumerate(indices)):
            return None
    source = slice_.operands[0]
    if not isinstance(source, ir.BlockArgument) or source.owner != body:
        return None
    stays = terminator(body).operands[source.arg_number] == source
    return source.arg_number if stays and source.arg_number != index else None


def _unmoved(value: ir.Value) -> ir.Value:
    """A value before it took or lost dimensions of 1, and before barriers: the same elements in the same order."""
    while (op := defining_op(value := before_carriers(value))) is not None:
        if op.name != "stablehlo.reshape" and not (op.name == "stablehlo.broadcast_in_dim" and _only_adds_ones(op)):
            break
        value = op.operands[0]
    return value


def _only_adds_ones(broadcast: ir.Operation) -> bool:
    dimensions = list(ir.DenseI64ArrayAttr(broadcast.attributes["broadcast_dimensions"]))
    operand, result = (tensor_info(value.type) for value in (broadcast.operands[0], broadcast.results[0]))
    return operand.is_static and result.is_static and operand.size == result.size and dimensions == sorted(dimensions)
