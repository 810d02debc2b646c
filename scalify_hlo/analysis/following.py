"""Facts that are found from values to what is computed of them, and where a value leads without being changed.

# f(x) within a call, a branch, or behind a barrier is what f(x) is

An operation is looked at where it stands; what a call, a barrier or a branch is given or gives is what it was before.
A result of branches has the facts that all of them give it.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from scalify_hlo.analysis.branches import yielded
from scalify_hlo.analysis.calls import CallGraph, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import BRANCHES

# Called with the values that may lead to each of some places, and these places.
HandOn = Callable[[Iterable[Sequence[ir.Value]], Iterable[ir.Value]], None]


def follow(
    calls: CallGraph,
    main: str,
    look_at: Callable[[ir.Operation], None],
    hand_on: HandOn,
) -> None:
    """Look at a function's operations in program order, those of what it calls at the place of each call, those of
    branches one branch after the other; not within loops.

    hand_on: called with what leads to places, and these: operands and arguments, what a function returns and the call's
    results, what stands in front of a barrier of several and behind it, what branches give and their results.
    """
    # One entry a block that is being looked at: what is left of it, and of its function's call or of the last of
    # branches what comes then.
    pending: list[tuple[Iterator[ir.OpView], Callable[[], None] | None]] = []

    def enter(block: ir.Block, then: Callable[[], None] | None = None) -> None:
        # A list, for an iterator of the bindings begins anew with each `for`.
        pending.append((iter(list(block.operations)), then))

    def leave_call(call: ir.Operation, body: ir.Block) -> None:
        hand_on(zip(terminator(body).operands), call.results)

    def leave_branches(op: ir.Operation) -> None:
        hand_on([yielded(op, i) for i in range(len(op.results))], op.results)

    enter(calls.body(main))
    while pending:
        operations, then = pending[-1]
        for each in operations:
            op = each.operation
            name = op.name
            body = calls.callee_body(op) if name == "func.call" else None
            if body is not None:
                hand_on(zip(op.operands), body.arguments)
                enter(body, functools.partial(leave_call, op, body))
                break
            if name in BRANCHES:
                last, *others = reversed([region.blocks[0] for region in op.regions])
                enter(last, functools.partial(leave_branches, op))
                for block in others:
                    enter(block)
                break
            if name == "stablehlo.optimization_barrier" and len(op.results) > 1:  # of `jax.checkpoint`
                hand_on(zip(op.operands), op.results)
            else:
                look_at(op)
        else:
            pending.pop()
            if then is not None:
                then()
