"""What a law of size sees of an operation, and the table of laws.

A law gives the sizes of an operation's results from those of its operands. One without a law of its own follows from
its traits: what carries or moves a value keeps its size, what is homogeneous multiplies powers of sizes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from scalify_hlo import budget
from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import RESHAPING, carried
from scalify_hlo.size.algebra import Algebra, Size
from scalify_hlo.types import TensorInfo, tensor_info

LawFunction = Callable[["View"], Size]
LAWS: dict[str, LawFunction] = {}
# Up to which power of a value its moments are those of a Gaussian's power.
_HIGHEST = 6


def law(*ops: str) -> Callable[[LawFunction], LawFunction]:
    """Register a function as the law of `ops` ("add" stands for "stablehlo.add")."""

    def register(function: LawFunction) -> LawFunction:
        for op in ops:
            name = op if "." in op else f"stablehlo.{op}"
            assert name not in LAWS, name
            LAWS[name] = function
        return function

    return register


class Known(Protocol):
    """The sizes of values before an operation, as far as they are known."""

    def get(self, value: ir.Value, /) -> Size | None:
        """The size of a value; None if it is not known."""
        ...


class View:
    """One operation and the sizes of its operands.

    index: which result is asked for. iterated: values that a loop carries, and how often it runs where that is known.
    known: the sizes of values before it. alignment: where between independent terms, 0, and equal ones, 1, those of a
    sum over one tensor are.
    """

    def __init__(
        self, op: ir.Operation, name: str, sizes: Sequence[Size], algebra: Algebra,
        iterated: Mapping[ir.Value, int | None], known: Known, alignment: float = budget.ALIGNMENT,
    ):  # fmt: skip
        self.op = op
        self.name = name
        self.sizes = sizes
        self.algebra = algebra
        self.iterated = iterated
        self.known = known
        self.alignment = alignment
        self.index = 0

    @property
    def x(self) -> Size:
        """The size of the first operand."""
        return self.sizes[0]

    @property
    def y(self) -> Size:
        """The size of the second operand."""
        return self.sizes[1]

    def value(self, index: int) -> ir.Value:
        """Operand `index`."""
        return self.op.operands[index]

    def info(self, index: int) -> TensorInfo:
        """Element type and shape of operand `index`."""
        return tensor_info(self.op.operands[index].type)

    @property
    def result(self) -> TensorInfo:
        """Element type and shape of the result that is asked for."""
        return tensor_info(self.op.results[self.index].type)

    def share(self, index: int) -> float:
        """Elements of operand `index` per element of the result, at most 1; of dynamic shapes as much as of others."""
        size, own = self.result.size, self.info(index).size
        return min(own / size, 1.0) if size > 0 <= own else 1 / len(self.sizes)

    def ints(self, name: str) -> list[int]:
        """An integer array attribute; [] when absent."""
        return [int(n) for n in self.op.attributes[name]] if name in self.op.attributes else []

    def same(self, i: int, j: int) -> bool:
        """Whether two operands are the same value, at most rounded or repeated."""
        return root(self.value(i)) == root(self.value(j))


def base_and_power(value: ir.Value, depth: int = 3) -> tuple[ir.Value, int]:
    """(x, n) of a value that is x^n by multiplications: x itself, x^2, x^3.

    depth: how many multiplications back are looked at.
    """
    value = root(value)
    op = defining_op(value) if depth else None
    if op is not None and op.name == "chlo.square":
        base, power = base_and_power(op.operands[0], depth - 1)
        return base, 2 * power
    if op is not None and op.name == "stablehlo.multiply":
        (a, m), (b, n) = (base_and_power(operand, depth - 1) for operand in op.operands)
        if a == b and m + n <= _HIGHEST:
            return a, m + n
    return value, 1


def root(value: ir.Value) -> ir.Value:
    """The value before conversions, constraints and broadcasts."""
    while (op := defining_op(value)) is not None:
        index = ir.OpResult(value).result_number
        before = op.operands[0] if op.name in RESHAPING else carried(op, index)
        if before is None:
            break
        value = before
    return value
