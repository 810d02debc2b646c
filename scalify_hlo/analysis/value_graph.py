"""Which floats depend on which: reachability along def-use edges, through calls and into loops.

Integers and booleans end a path: a gradient does not flow through them, and a token that was chosen by the
previous product is a new input. Edges run from an operand to the results that may depend on it. A loop's results
depend on what its body yields, but the edge from one iteration to the next is left out: a value depends on what was
computed before it in the program text. A call's results depend on exactly those arguments that the callee's body
connects them to; a path that goes down into a function does not come back up at another call of it.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from scalify_hlo.analysis.calls import CALLS, CallGraph, callee_name, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import MAY_CARRY, carries
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.traits import BRANCHES
from scalify_hlo.types import tensor_info

# Who reads a value.
Readers = Mapping[ir.Value, AbstractSet[object]]


class ValueGraph:
    """Reachability between the values of a module."""

    def __init__(self, calls: CallGraph):
        self._calls = calls
        self._id = _Numbers(self).__getitem__  # known ones are found without a call of Python
        self._values: list[ir.Value] = []
        # Within a function; from a call's operand to the callee's argument; from a returned value to the call's result.
        self._edges: list[list[int]] = []
        self._down: list[list[int]] = []
        self._up: list[list[int]] = []
        self._summaries: dict[str, list[frozenset[int]]] = {}
        for name in calls.functions:
            self._summary(name)

    def reachable(self, seeds: Iterable[ir.Value]) -> set[ir.Value]:
        """The seeds and every value that depends on one of them."""
        return {self._values[i] for i in self._search([self._id(seed) for seed in seeds], {}, frozenset()) or ()}

    def depends(self, readers: Readers, mine: AbstractSet[object], seed: ir.Value) -> bool:
        """Whether a value depends on `seed` that has other readers than `mine`; stops at the first found."""
        return self._search([self._id(seed)], readers, mine) is None

    # --- construction -----------------------------------------------------------------------------------------

    def add(self, value: ir.Value) -> int:
        """The number of a value that has none yet."""
        self._values.append(value)
        self._edges.append([])
        self._down.append([])
        self._up.append([])
        return len(self._values) - 1

    def _summary(self, name: str) -> list[frozenset[int]]:
        """For each argument of a function, the results that depend on it. Adds the function's edges."""
        if name not in self._summaries:
            self._summaries[name] = []
            body = self._calls.body(name)
            self._add_block(body)
            if not self._calls.sites.get(name):
                return []  # nobody asks
            returned = [self._id(value) for value in terminator(body).operands]
            reached = [self._within(self._id(argument)) for argument in body.arguments]
            self._summaries[name] = [frozenset(i for i, v in enumerate(returned) if v in seen) for seen in reached]
        return self._summaries[name]

    def _add_block(self, block: ir.Block) -> None:
        for child in block.operations:
            op = child.operation
            callee = callee_name(op) if op.name in CALLS else None
            if callee in self._calls.functions:
                self._add_call(op, callee)
            elif op.name in MAY_CARRY and carries(op):
                for operand, result in zip(op.operands, op.results, strict=True):
                    self._edge(operand, result)
            elif op.name == "stablehlo.while":
                self._add_loop(op)
            elif op.name == MANUAL:
                self._add_manual(op)
            elif op.name in BRANCHES:
                self._add_branches(op)
            elif len(op.results):
                self._add_plain(op)

    def _add_plain(self, op: ir.Operation) -> None:
        operands = list(op.operands)
        for result in op.results:
            if operands and tensor_info(result.type).carries_scale:
                target = self._id(result)
                for operand in operands:
                    self._edges[self._id(operand)].append(target)

    def _add_call(self, op: ir.Operation, callee: str) -> None:
        body = self._calls.body(callee)
        for operand, argument, results in zip(op.operands, body.arguments, self._summary(callee), strict=True):
            if tensor_info(operand.type).carries_scale:
                self._down[self._id(operand)].append(self._id(argument))
            for i in results:
                self._edge(operand, op.results[i])
        for value, result in zip(terminator(body).operands, op.results, strict=True):
            if tensor_info(value.type).carries_scale:
                self._up[self._id(value)].append(self._id(result))

    def _add_loop(self, op: ir.Operation) -> None:
        for region in op.regions:
            for operand, argument in zip(op.operands, region.blocks[0].arguments, strict=True):
                self._edge(operand, argument)
            self._add_block(region.blocks[0])
        for operand, result in zip(op.operands, op.results, strict=True):
            self._edge(operand, result)
        for value, result in zip(terminator(op.regions[1].blocks[0]).operands, op.results, strict=True):
            self._edge(value, result)

    def _add_manual(self, op: ir.Operation) -> None:
        body = op.regions[0].blocks[0]
        for operand, argument in zip(op.operands, body.arguments, strict=True):
            self._edge(operand, argument)
        self._add_block(body)
        for value, result in zip(terminator(body).operands, op.results, strict=True):
            self._edge(value, result)

    def _add_branches(self, op: ir.Operation) -> None:
        for region in op.regions:
            self._add_block(region.blocks[0])
            for value, result in zip(terminator(region.blocks[0]).operands, op.results, strict=True):
                self._edge(value, result)
        self._add_plain(op)

    def _edge(self, source: ir.Value, target: ir.Value) -> None:
        if not tensor_info(target.type).carries_scale:
            return
        self._edges[self._id(source)].append(self._id(target))

    # --- search -----------------------------------------------------------------------------------------------

    def _within(self, seed: int) -> set[int]:
        seen = {seed}
        pending = [seed]
        while pending:
            for target in self._edges[pending.pop()]:
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        return seen

    def _search(self, seeds: list[int], readers: Readers, mine: AbstractSet[object]) -> set[int] | None:
        """Values reached from the seeds; None as soon as one (other than a seed) is that has other readers."""
        # State 0 may still leave the function upwards, state 1 has gone down into one and may not.
        seen: tuple[set[int], set[int]] = (set(seeds), set())
        pending = [(seed, 0) for seed in seeds]
        while pending:
            value, state = pending.pop()
            for targets, new_state in (
                (self._edges[value], state),
                (self._down[value], 1),
                (() if state else self._up[value], 0),
            ):
                reached = seen[new_state]
                for target in targets:
                    if target not in reached:
                        if not readers.get(self._values[target], mine) <= mine:
                            return None
                        reached.add(target)
                        pending.append((target, new_state))
        return seen[0] | seen[1]


class _Numbers(dict[ir.Value, int]):
    """Numbers of values, given in the order in which they are asked for."""

    def __init__(self, graph: ValueGraph):
        super().__init__()
        self._graph = graph

    def __missing__(self, value: ir.Value) -> int:
        found = self[value] = self._graph.add(value)
        return found
