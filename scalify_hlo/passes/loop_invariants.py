"""FP8 operands that are the same in every iteration of a loop are made before it, once.

# while c: f(q(w)) is v = q(w); while c: f(v)

The weight of a recurrent layer, of a decoder that writes a text token by token, of a network that a solver asks for
every stage: XLA's GPU compiler moves nothing out of loops, and a rounding and a transpose of the whole weight would be
launched in each iteration. They are written as FP8 products read them, along the dimension that is summed over.
"""

from collections.abc import Iterable

from scalify_hlo.analysis.calls import defining_op, terminator
from scalify_hlo.analysis.product_shapes import contracted_dimensions, is_batched
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

_PURE = names(Trait.FUNCTION, without=Trait.BODY)


def hoist_operands(products: Iterable[ir.Operation]) -> int:
    """Move what leads to operands of FP8 products out of the loops in which it does not change; how many operands."""
    hoisted = _Hoisting()
    count = 0
    for op in products:
        for index in (0, 1):
            value = hoisted.outside(op.operands[index], op.block)
            if value is not None:
                op.operands[index] = value
                _turned(op, index, hoisted)
                count += 1
    return count


class _Hoisting:
    def __init__(self) -> None:
        self._copies: dict[ir.Value, ir.Value] = {}
        self.turned: dict[ir.Value, ir.Value] = {}

    def outside(self, value: ir.Value, block: ir.Block) -> ir.Value | None:
        """The same value computed before the loops in which it does not change; None if that is in none."""
        found: ir.Value | None = None
        while (loop := _loop(block)) is not None:
            moved = self._before(value, loop)
            if moved is None:
                break
            value, block = moved, loop.block
            found = value
        return found

    def _before(self, value: ir.Value, loop: ir.Operation) -> ir.Value | None:
        """The same value before a loop of whose body it is a value; None where an iteration may change it."""
        body = loop.regions[1].blocks[0]
        pending, known = [value], dict[ir.Value, ir.Value]()
        while pending:
            current = pending[-1]
            op = defining_op(current)
            if op is None or op.block != body:
                if isinstance(current, ir.BlockArgument) and current.owner == body:
                    if terminator(body).operands[current.arg_number] != current:
                        return None
                    known[current] = loop.operands[current.arg_number]
                else:
                    known[current] = current
                pending.pop()
                continue
            if op.name not in _PURE or len(op.results) != 1:
                return None
            missing = [operand for operand in op.operands if operand not in known]
            pending += missing
            if not missing:
                known[current] = self._copy(op, [known[operand] for operand in op.operands], loop)
                pending.pop()
        return known[value]

    def _copy(self, op: ir.Operation, operands: list[ir.Value], loop: ir.Operation) -> ir.Value:
        result = op.results[0]
        if result not in self._copies:
            copy = op.clone(ip=ir.InsertionPoint(loop))
            for i, operand in enumerate(operands):
                copy.operands[i] = operand
            self._copies[result] = copy.results[0]
        return self._copies[result]


def _loop(block: ir.Block) -> ir.Operation | None:
    """The `while` of which a block is the body."""
    owner = block.owner.operation
    is_body = owner.name == "stablehlo.while" and owner.regions[1].blocks[0] == block
    return owner if is_body else None


# x w = x (w^T)^T
def _turned(op: ir.Operation, index: int, hoisted: _Hoisting) -> None:
    """Transpose a matrix, before the loop, whose first dimension a product sums over."""
    contracted = list(contracted_dimensions(op))
    value = op.operands[index]
    info = tensor_info(value.type)
    if info.rank != 2 or contracted[index] != [0] or is_batched(op):
        return
    if value not in hoisted.turned:
        made = defining_op(value)
        if made is None:
            return
        with ir.InsertionPoint.after(made), made.location:
            type_ = ir.RankedTensorType.get(info.shape[::-1], ir.RankedTensorType(value.type).element_type)
            attributes = {"permutation": ir.DenseI64ArrayAttr.get([1, 0])}
            hoisted.turned[value] = ir.Operation.create("stablehlo.transpose", [type_], [value], attributes).results[0]
    op.operands[index] = hoisted.turned[value]
    contracted[index] = [1]
    op.attributes["dot_dimension_numbers"] = stablehlo.DotDimensionNumbers.get([], [], *contracted)
