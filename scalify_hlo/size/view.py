"""What a law of size sees of an operation, and the table of laws.

A law gives the sizes of an operation's results from those of its operands. One without a law of its own follows from
its traits: what carries or moves a value keeps its size, what is homogeneous multiplies powers of sizes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from scalify_hlo import budget
from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import CARRYING, RESHAPING, carried
from scalify_hlo.size.algebra import Algebra, Size
from scalify_hlo.types import TensorInfo, tensor_info

LawFunction = Callable[["View"], Size]
LAWS: dict[str, LawFunction] = {}
# Up to which power of a value its moments are those of a Gaussian's power.
_HIGHEST = 6
_MAY_CARRY = CARRYING | {"stablehlo.custom_call"}


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
        x, y = self.op.operands[i], self.op.operands[j]
        return x == y or root(x) == root(y)


def base_and_power(x: ir.Value, y: ir.Value, depth: int = 2) -> tuple[ir.Value, int]:
    """(z, n) of a product x y that is z^n by multiplications; (x, 1) of others.

    x, y: before conversions, constraints and broadcasts. depth: how many multiplications back are looked at.
    """
    if x == y:
        base, power = _power(x, depth)
        return (base, 2 * power) if 2 * power <= _HIGHEST else (x, 1)
    (a, m), (b, n) = _power(x, depth), _power(y, depth)
    return (a, m + n) if a == b and m + n <= _HIGHEST else (x, 1)


def _power(value: ir.Value, depth: int) -> tuple[ir.Value, int]:
    op = defining_op(value) if depth else None
    if op is not None and op.name == "chlo.square":
        base, power = _power(root(op.operands[0]), depth - 1)
        return base, 2 * power
    if op is not None and op.name == "stablehlo.multiply":
        x, y = op.operands
        base, power = base_and_power(root(x), root(y), depth - 1)
        return (base, power) if power > 1 else (value, 1)
    return value, 1


def root(value: ir.Value) -> ir.Value:
    """The value before conversions, constraints and broadcasts."""
    while not isinstance(owner := value.owner, ir.Block):
        name = owner.name
        if name in RESHAPING:
            value = owner.operands[0]
        elif name in _MAY_CARRY and (before := carried(owner.operation, ir.OpResult(value).result_number)) is not None:
            value = before
        else:
            break
    return value
