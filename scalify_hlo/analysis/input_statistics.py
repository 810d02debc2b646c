"""State that a step computes of itself and of what it is given, and of no weights: counts, means and sums of inputs.

# n <- n + 64, m <- m + sum(x - m) / n

It is as exact as the inputs are, of any size, and small: what is normalised by it is a difference from it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from scalify_hlo.analysis.calls import CallGraph, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.types import tensor_info

# A statistic is a few operations on inputs; what is computed of more values is taken to be of the model.
_MOST_VALUES = 400


def input_statistics(
    calls: CallGraph,
    body: ir.Block,
    new: Mapping[int, ir.Value],
    gradients: Collection[ir.Value],
    is_backward: Callable[[ir.Operation], bool],
) -> set[int]:
    """The state that is a statistic of inputs, by argument index.

    body: of the public function. new: argument index -> what the step returns for it. gradients: what a backward
    pass gives to the optimiser. is_backward: whether an operation of a loop or a function is one of a backward pass.
    """
    read = {index: _arguments(calls, body, value, gradients, is_backward) for index, value in new.items()}
    found = {index: own & new.keys() for index, own in read.items() if own is not None}
    while others := {index for index, own in found.items() if not own <= found.keys()}:
        for index in others:
            del found[index]
    return set(found)


def returned_statistics(
    calls: CallGraph,
    body: ir.Block,
    results: Iterable[ir.Value],
    learnt: Collection[int],
    gradients: Collection[ir.Value],
    is_backward: Callable[[ir.Operation], bool],
) -> list[ir.Value]:
    """Results that a step reads itself, where it reads them, and computes of no learnt argument: numbers among them."""
    found = dict[ir.Value, None]()
    for result in results:
        value = _as_read(calls, result)
        if value is not None and tensor_info(value.type).is_float:
            read = _arguments(calls, body, value, gradients, is_backward)
            if read is not None and read.isdisjoint(learnt):
                found[value] = None
    return list(found)


def _as_read(calls: CallGraph, value: ir.Value) -> ir.Value | None:
    """A result in the function that computes it, if other operations read it there."""
    while isinstance(value, ir.OpResult):
        if len(list(value.uses)) > 1:
            return value
        inner = calls.callee_body(value.owner.operation)
        if inner is None:
            return None
        value = terminator(inner).operands[value.result_number]
    return None


def _arguments(
    calls: CallGraph,
    body: ir.Block,
    value: ir.Value,
    gradients: Collection[ir.Value],
    is_backward: Callable[[ir.Operation], bool],
) -> set[int] | None:
    """The arguments of the public function that a value is computed of; None of gradients, and of very many values."""
    pending, seen, found = [value], set[ir.Value](), set[int]()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if len(seen) > _MOST_VALUES or current in gradients:
            return None
        if not isinstance(current, ir.OpResult):
            argument = ir.BlockArgument(current)
            if argument.owner == body:
                found.add(argument.arg_number)
                continue
            function = calls.function_of_block(argument.owner)
            outer = argument.owner.owner.operation
            sites = [outer] if function is None else calls.sites.get(function, ())
            # Of a loop what it starts from; what it hands on is asked for with its results.
            pending += [
                site.operands[argument.arg_number] for site in sites if argument.arg_number < len(site.operands)
            ]
            continue
        op = current.owner.operation
        if op.block != body and is_backward(op):
            return None
        inner = calls.callee_body(op)
        pending += [terminator(inner).operands[current.result_number]] if inner is not None else op.operands
        if len(op.regions):
            pending += [value for region in op.regions for block in region for value in terminator(block).operands]
    return found
