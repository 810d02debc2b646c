"""Random programs, drawn by hypothesis."""

import numpy as np
from hypothesis import strategies as st

from tests.graphs.bodies import BODIES
from tests.graphs.graph import Graph, Node, Program, argument_node, numbers
from tests.graphs.operations import OPERATIONS, Addition

_SHAPES = ((3,), (2, 3), (3, 4), (4, 2), (6, 2), (2, 3, 2), ())
# Exponents of the scales: one that all arguments are near, and how far each is from it.
F16_EXPONENTS = (0, 24, -36, 60)
F32_EXPONENTS = (0, 9, -14)
_OFFSETS = (0, 1, -2, 5, -9)
_MOST_OPERATIONS = 10


@st.composite
def programs(draw: st.DrawFn, exponents: tuple[int, ...], without: tuple[Addition, ...] = ()) -> Program:
    """A program of up to _MOST_OPERATIONS operations on two to four arguments, and (data, scale) pairs for them."""
    additions = tuple(each for each in OPERATIONS + BODIES if each not in without)

    def pick(options: object) -> object:
        return draw(st.sampled_from(options))  # type: ignore[arg-type]

    base = pick(exponents)
    shapes = draw(st.lists(st.sampled_from(_SHAPES), min_size=1, max_size=3))
    shapes = [*shapes, shapes[0]]
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    data = [numbers(shape, generator) for shape in shapes]
    scales = [base + pick(_OFFSETS) for _ in shapes]  # type: ignore[operator]
    arguments = [argument_node(f"%x{i}", d, e) for i, (d, e) in enumerate(zip(data, scales, strict=True))]
    graph = Graph(pick, arguments)  # type: ignore[arg-type]
    for addition in draw(st.lists(st.sampled_from(additions), min_size=1, max_size=_MOST_OPERATIONS)):
        graph.attempt(addition)
    return Program(graph, tuple(arguments), tuple(data), tuple(scales), _results(graph, len(arguments)))


def _results(graph: Graph, arguments: int) -> tuple[Node, ...]:
    """The last node, and those that nothing uses."""
    used = {name for step in graph.steps for name in step.operands}
    made = graph.nodes[arguments:]
    results = [node for node in made if node.name not in used]
    return tuple(results or graph.nodes[-1:])
