"""Looking at the operations of a block from the values: what a value is apart from its type and shape."""

import dataclasses
import math
from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import splat_number
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

_SHAPES = names(Trait.RESHAPES | Trait.CARRIES)


@dataclasses.dataclass(slots=True, eq=False)
class Node:
    """An operation that has results, taken apart once: the bindings make a new object at each look."""

    op: ir.Operation
    name: str
    operands: list[ir.Value]
    results: list[ir.Value]

    @property
    def result(self) -> ir.Value:
        """The first result."""
        return self.results[0]

    def source(self, result: ir.Value) -> ir.Value:
        """The operand that a result is, of an operation that computes nothing."""
        return self.operands[0] if len(self.results) == 1 else self.operands[self.results.index(result)]


class Graph:
    """The operations that have been looked at, while none of them changes."""

    def __init__(self) -> None:
        self._nodes: dict[ir.Value, Node | None] = {}
        self._bare: dict[ir.Value, tuple[ir.Value, Node | None]] = {}
        self._constants: dict[ir.Value, float | None] = {}
        self._uses: dict[ir.Value, list[Node | None]] = {}
        self._sums: dict[ir.Value, tuple[ir.Value, int] | None] = {}

    def node(self, value: ir.Value) -> Node | None:
        """The operation that a value is a result of; None for block arguments."""
        if value in self._nodes:
            return self._nodes[value]
        owner = value.owner
        if isinstance(owner, ir.Block):
            self._nodes[value] = None
            return None
        return self._taken_apart(owner.operation)

    def node_of(self, op: ir.Operation) -> Node | None:
        """An operation; None if it has no results."""
        results = list(op.results)
        return (self._nodes.get(results[0]) or self._taken_apart(op)) if results else None

    def _taken_apart(self, op: ir.Operation) -> Node:
        node = Node(op, op.name, list(op.operands), list(op.results))
        for result in node.results:
            self._nodes[result] = node
        return node

    # --- apart from type and shape ------------------------------------------------------------------------------

    def bare(self, value: ir.Value) -> ir.Value:
        """The value before conversions, reshapes and broadcasts."""
        return self._without_shapes(value)[0]

    def _without_shapes(self, value: ir.Value) -> tuple[ir.Value, Node | None]:
        """The value before conversions, reshapes and broadcasts, and the operation that makes it."""
        found = self._bare.get(value)
        if found is None:
            origin, node = value, self.node(value)
            while node is not None and node.name in _SHAPES:
                origin = node.source(origin)
                node = self.node(origin)
            found = self._bare[value] = origin, node
        return found

    def constant(self, value: ir.Value) -> float | None:
        """The number that all elements of a constant equal, converted and broadcast or not."""
        origin, node = self._without_shapes(value)
        if node is None or node.name != "stablehlo.constant":
            return None
        if origin not in self._constants:
            self._constants[origin] = _number(node.op)
        return self._constants[origin]

    def made_by(self, value: ir.Value, *names: str) -> Node | None:
        """The operation that makes a value, apart from type and shape, if it is a `stablehlo` one of these names."""
        node = self._without_shapes(value)[1]
        return node if node is not None and node.name.removeprefix("stablehlo.") in names else None

    def multiple(self, value: ir.Value) -> tuple[ir.Value, float]:
        """The value before multiplications and divisions by constants, conversions, reshapes and broadcasts, and what
        the constants multiply it by."""
        factor = 1.0
        while True:
            value = self.bare(value)
            node = self.made_by(value, "multiply", "divide")
            if node is None:
                return value, factor
            left, right = node.operands
            number = self.constant(right)
            if number is not None:
                divides = node.name == "stablehlo.divide"
                value, factor = left, factor * number if not divides else factor / (number or math.nan)
            elif node.name == "stablehlo.multiply" and (number := self.constant(left)) is not None:
                value, factor = right, factor * number
            else:
                return value, factor

    def sum_of(self, value: ir.Value) -> tuple[ir.Value, int] | None:
        """(what is summed, number of terms) of a value that is a sum over dimensions of known sizes."""
        if value not in self._sums:
            self._sums[value] = _sum_of(self.made_by(value, "reduce"))
        return self._sums[value]

    # --- users --------------------------------------------------------------------------------------------------

    def uses(self, value: ir.Value) -> Sequence[Node | None]:
        """The operation of each use of a value; None for one without results."""
        found = self._uses.get(value)
        if found is None:
            found = [self.node_of(use.owner.operation) for use in value.uses]
            self._uses[value] = found
        return found

    def users(self, value: ir.Value) -> list[Node]:
        """The operations with results that use a value, apart from its type and shape, each once."""
        found: dict[Node, None] = {}
        for node in self.uses(value):
            if node is not None and node.name in _SHAPES:
                for result in node.results:
                    if node.source(result) == value:
                        found |= dict.fromkeys(self.users(result))
            elif node is not None:
                found[node] = None
        return list(found)


def shape_of(value: ir.Value) -> tuple[int, ...] | None:
    """The shape of a tensor, negative where it is dynamic; None for tokens and the like."""
    type_ = value.type
    return tensor_info(type_).shape if isinstance(type_, ir.RankedTensorType) else None


def _number(constant: ir.Operation) -> float | None:
    number = splat_number(constant)
    return None if number is None else float(number)


def _sum_of(node: Node | None) -> tuple[ir.Value, int] | None:
    if node is None or len(node.results) > 1:
        return None
    body = list(node.op.regions[0].blocks[0].operations)
    if len(body) != 2 or body[0].operation.name != "stablehlo.add":
        return None
    shape = shape_of(node.operands[0]) or ()
    lengths = [shape[int(d)] for d in node.op.attributes["dimensions"]]
    return None if any(n < 0 for n in lengths) else (node.operands[0], math.prod(lengths))
