"""A random program under construction: operations in MLIR's text form beside their exact values and error bounds.

Operations are added one at a time and evaluated at once, so that no graph has to be thrown away: one that would leave
the range of the types (see `bounds`) is not added. Bodies of loops and functions are graphs of their own, whose steps
are evaluated again for each iteration or call.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from tests.graphs.bounds import Bounded, Floats, InadmissibleError, Predicate, Value, argument, constant

Item = TypeVar("Item")
# Chooses one of several things: hypothesis' draw, which can shrink it.
Pick = Callable[[Sequence[Any]], Any]


@dataclasses.dataclass(frozen=True)
class Node:
    """An SSA value of the program."""

    name: str
    value: Value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.value.shape

    @property
    def is_float(self) -> bool:
        return isinstance(self.value, Bounded)


@dataclasses.dataclass(frozen=True)
class Step:
    """One operation: its text, and how its result follows from its operands."""

    text: str
    result: str
    operands: tuple[str, ...]
    apply: Callable[..., Value]


# No tensor of a graph is larger.
MOST_ELEMENTS = 24

_NOTHING = Predicate(np.zeros((), np.bool_), np.zeros((), np.bool_))


class Graph:
    """A block of operations. `@` in text stands for the element type."""

    def __init__(self, pick: Pick, nodes: Sequence[Node] = (), parent: "Graph | None" = None):
        self.pick = pick
        self.nodes = list(nodes)
        self.steps: list[Step] = []
        self.functions: list[str] = parent.functions if parent else []
        self._numbers: Iterator[int] = parent._numbers if parent else itertools.count()

    # --- choosing ---------------------------------------------------------------------------------------------

    def floats(self, rank: int | None = None, least_rank: int = 0) -> list[Node]:
        return [
            node
            for node in self.nodes
            if node.is_float and (rank is None or len(node.shape) == rank) and len(node.shape) >= least_rank
        ]

    def operand(self, rank: int | None = None, least_rank: int = 0) -> Node:
        """A float node; the latest ones are the most likely. Raises InadmissibleError when there is none."""
        found = self.floats(rank, least_rank)
        if not found:
            raise InadmissibleError("no such node")
        return self.pick([*found, *found[-3:], *found[-3:], found[-1]][::-1])

    def like(self, node: Node) -> Node:
        """Another float node of the same shape, or the node itself."""
        return self.pick([n for n in self.floats() if n.shape == node.shape][::-1])

    def predicate(self, shape: tuple[int, ...]) -> Node:
        found = [n for n in self.nodes if not n.is_float and n.shape == shape]
        if not found:
            raise InadmissibleError("no such node")
        return self.pick(found[::-1])

    def axis(self, node: Node) -> int:
        return self.pick(range(len(node.shape)))

    # --- adding -----------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        return f"%v{next(self._numbers)}"

    def step(self, text: str, operands: Sequence[Node], apply: Callable[..., Value]) -> Node:
        """Add an operation, `text` without its result. Raises InadmissibleError, and adds nothing, out of range."""
        value = apply(*(node.value for node in operands))
        name = self.fresh()
        self.steps.append(Step(f"{name} = {text}", name, tuple(node.name for node in operands), apply))
        node = Node(name, value)
        self.nodes.append(node)
        return node

    def elementwise(self, op: str, operands: Sequence[Node], apply: Callable[..., Value]) -> Node:
        """An operation whose operands and result have one type."""
        names = ", ".join(node.name for node in operands)
        return self.step(f"{op} {names} : {tensor(operands[0].shape)}", operands, apply)

    def constant(self, number: float, shape: tuple[int, ...]) -> Node:
        name = self.fresh()
        value = constant(number, shape)
        text = f"{name} = stablehlo.constant dense<{literal(number)}> : {tensor(shape)}"
        self.steps.append(Step(text, name, (), lambda: value))
        return Node(name, value)

    def integer(self, number: int) -> str:
        """A rank-0 i32 constant; its name."""
        name = self.fresh()
        self.other(f"{name} = stablehlo.constant dense<{number}> : tensor<i32>", name)
        return name

    def other(self, text: str, name: str) -> None:
        """Add an operation whose result is neither a float nor a predicate of the graph."""
        self.steps.append(Step(text, name, (), lambda: _NOTHING))

    def attempt(self, addition: Callable[["Graph"], object]) -> bool:
        """Add something, or nothing at all if any part of it is inadmissible."""
        nodes, steps, functions = len(self.nodes), len(self.steps), len(self.functions)
        try:
            with np.errstate(all="ignore"):  # what is no number is not admissible
                addition(self)
        except InadmissibleError:
            del self.nodes[nodes:], self.steps[steps:], self.functions[functions:]
            return False
        return True

    # --- bodies -----------------------------------------------------------------------------------------------

    def body(self, arguments: Sequence[Node]) -> "Graph":
        """An empty block whose arguments are `arguments`."""
        return Graph(self.pick, arguments, self)

    def evaluate(self, values: dict[str, Value], results: Sequence[Node]) -> list[Value]:
        """The results of this block for other values of its arguments. Raises InadmissibleError."""
        known = dict(values)
        for step in self.steps:
            known[step.result] = step.apply(*(known[name] for name in step.operands))
        return [known[node.name] for node in results]

    @property
    def text(self) -> str:
        return "\n".join(f"    {step.text}" for step in self.steps)


_INFINITIES = {
    "f64": ("0x7FF0000000000000", "0xFFF0000000000000"),
    "f32": ("0x7F800000", "0xFF800000"),
    "bf16": ("0x7F80", "0xFF80"),
    "f16": ("0x7C00", "0xFC00"),
}


@dataclasses.dataclass(frozen=True)
class Program:
    """A finished graph.

    text: the module, for one element type.
    data, exponents: of the arguments, data * 2^exponent.
    results: exact values and bounds.
    """

    graph: Graph
    arguments: tuple[Node, ...]
    data: tuple[Floats, ...]
    exponents: tuple[int, ...]
    results: tuple[Node, ...]

    def text(self, element: str) -> str:
        arguments = ", ".join(f"{node.name}: {tensor(node.shape)}" for node in self.arguments)
        types = ", ".join(tensor(node.shape, element_of(node)) for node in self.results)
        names = ", ".join(node.name for node in self.results)
        lines = [
            f"func.func public @main({arguments}) -> ({types}) {{",
            self.graph.text,
            f"    return {names} : {types}",
            "}",
            *self.graph.functions,
        ]
        text = "\n".join(lines).replace("@>", f"{element}>")
        infinity = _INFINITIES[element]
        return text.replace("<INF>", f"<{infinity[0]}>").replace("<-INF>", f"<{infinity[1]}>")


def tensor(shape: Sequence[int], element: str = "@") -> str:
    """A tensor type; "@" is the element type of the program."""
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def element_of(node: Node) -> str:
    return "@" if node.is_float else "i1"


def literal(number: float) -> str:
    if np.isinf(number):
        return "INF" if number > 0 else "-INF"
    return f"{number:.9E}"


def numbers(shape: Sequence[int], generator: np.random.Generator) -> Floats:
    """Data near unit size that f16 holds exactly, either sign, none near zero."""
    sizes = generator.uniform(0.25, 2, shape) * generator.choice([-1, 1], shape)
    return sizes.astype(np.float16).astype(np.float64)


def argument_node(name: str, data: Floats, exponent: int) -> Node:
    return Node(name, argument(data, exponent))
