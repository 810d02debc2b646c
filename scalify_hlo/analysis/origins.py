"""Where a value comes from, seen through the operations that only move, convert or rescale it.

A weight reaches the backward product through a transpose, a stored activation through the buffer that
`lax.scan` stacks it in. Both products have operands of the same origin, which is how a backward product is
told from a forward one in a program without names.
"""

import dataclasses

from scalify_hlo.analysis.branches import Taken, branches_around, yielded_if
from scalify_hlo.analysis.calls import CallGraph, callee_name, defining_op, hands_on, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import before_carriers, carries
from scalify_hlo.module.constants import dense_value
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.traits import BRANCHES
from scalify_hlo.types import tensor_info

Dimensions = tuple[frozenset[int], ...]

# Operand 0 reappears with the same shape.
_SAME_SHAPE = {"stablehlo.convert", "stablehlo.clamp", "stablehlo.reduce_precision", "stablehlo.reverse"}
_MAX_STEPS = 256


@dataclasses.dataclass(frozen=True)
class Origin:
    """The value at the start of a chain of movements.

    dims: for each dimension of the traced value, the dimensions of `root` that it runs over.
    slices: static slices on the way, so that two layers' slices of one stacked parameter stay apart.
    """

    root: ir.Value
    dims: Dimensions
    slices: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[ir.Value, tuple[str, ...]]:
        """Equal for values that hold the same tensor, up to movement, type and scale."""
        return self.root, self.slices

    def root_dims(self, dims: list[int]) -> frozenset[int]:
        """The root's dimensions behind some dimensions of the traced value."""
        return frozenset(root for d in dims for root in self.dims[d])


class Origins:
    """Traces values of one module, across calls, loops and branches. Results are remembered; the module must not
    change."""

    def __init__(self, calls: CallGraph):
        self._calls = calls
        self._taken: dict[ir.Block, Taken] = {}
        self._known: dict[Taken, dict[ir.Value, Origin]] = {(): {}}

    def of(self, value: ir.Value, reader: ir.Operation | None = None) -> Origin:
        """The origin of a ranked tensor; as a reader has it, which may stand in a branch."""
        taken: Taken | None = ()
        if reader is not None:
            taken = self._taken.get(block := reader.block)
            if taken is None:
                taken = self._taken[block] = branches_around(block)
        return self._of(value, taken)

    def _of(self, value: ir.Value, taken: Taken) -> Origin:
        known = self._known.setdefault(taken, {})
        found = known.get(value)
        if found is None:
            found = known[value] = self._trace(value, taken)
        return found

    def _trace(self, value: ir.Value, taken: Taken) -> Origin:
        dims: Dimensions = tuple(frozenset([d]) for d in range(ir.RankedTensorType(value.type).rank))
        slices: tuple[str, ...] = ()
        stack: list[ir.Operation] = []
        for _ in range(_MAX_STEPS):
            op = defining_op(value)
            if op is not None and op.name in BRANCHES:
                given = self._yielded(op, ir.OpResult(value).result_number, taken)
                step = None if given is None else (given, dims, "")
            elif op is None:
                step = self._through_argument(value, dims, stack)
            else:
                step = self._through(op, value, dims, stack)
            if step is None:
                break
            value, dims, cut = step
            slices = (*slices, cut) if cut else slices
        return Origin(value, dims, slices)

    # One step back: the value before, where the traced value's dimensions are in it, a static slice or "".
    _Step = tuple[ir.Value, Dimensions, str]

    def _through_argument(self, value: ir.Value, dims: Dimensions, stack: list[ir.Operation]) -> "_Step | None":
        block = ir.BlockArgument(value).owner
        index = ir.BlockArgument(value).arg_number
        function = self._calls.function_of_block(block)
        if function is not None:
            sites = self._calls.sites.get(function, ())
            site = stack.pop() if stack and callee_name(stack[-1]) == function else (sites[0] if sites else None)
            return None if site is None else (site.operands[index], dims, "")
        loop = block.owner.operation
        if loop.name == MANUAL:
            return loop.operands[index], dims, ""
        if loop.name == "stablehlo.while" and hands_on(loop, index):
            return loop.operands[index], dims, ""
        return None

    def _through(
        self, op: ir.Operation, value: ir.Value, dims: Dimensions, stack: list[ir.Operation]
    ) -> "_Step | None":
        index = ir.OpResult(value).result_number
        match op.name:
            case "stablehlo.transpose":
                permutation = list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))
                return op.operands[0], _renamed(dims, {i: [p] for i, p in enumerate(permutation)}), ""
            case "stablehlo.reshape":
                mapping = _reshape_dims(
                    ir.RankedTensorType(op.operands[0].type).shape, ir.RankedTensorType(value.type).shape
                )
                return op.operands[0], _renamed(dims, mapping), ""
            case "stablehlo.broadcast_in_dim":
                places = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
                source, target = ir.RankedTensorType(op.operands[0].type), ir.RankedTensorType(value.type)
                grows = [j for j in range(target.rank) if j not in places and target.shape[j] != 1]
                if grows or any(source.shape[i] != target.shape[p] for i, p in enumerate(places)):
                    return None
                return op.operands[0], _renamed(dims, {p: [i] for i, p in enumerate(places)}), ""
            case "stablehlo.slice":
                return op.operands[0], dims, f"{op.attributes['start_indices']}{op.attributes['limit_indices']}"
            case "stablehlo.dynamic_slice":
                return op.operands[0], dims, ""
            case "stablehlo.all_gather":  # whole what each device has a part of
                return op.operands[index], dims, ""
            case _ if carries(op):
                return op.operands[index], dims, ""
            case "stablehlo.multiply" | "stablehlo.divide":
                scaled = self._scaled_operand(op)
                return None if scaled is None else (scaled, dims, "")
            case "func.call":
                body = self._calls.callee_body(op)
                if body is None:
                    return None
                stack.append(op)
                return terminator(body).operands[index], dims, ""
            case "stablehlo.while":
                return self._through_loop(op, index, dims, stack)
            case name if name == MANUAL:
                return terminator(op.regions[0].blocks[0]).operands[index], dims, ""
            case name if name in _SAME_SHAPE:
                return op.operands[1 if name == "stablehlo.clamp" else 0], dims, ""
            case _:
                return None

    def _yielded(self, op: ir.Operation, index: int, taken: Taken) -> ir.Value | None:
        """What branches give as a result, if all give the same; that of the one that is taken, if it is known."""
        values = yielded_if(taken, op, index)
        return values[0] if len(values) == 1 or len({self._of(value, taken) for value in values}) == 1 else None

    def _through_loop(
        self, loop: ir.Operation, index: int, dims: Dimensions, stack: list[ir.Operation]
    ) -> "_Step | None":
        body = loop.regions[1].blocks[0]
        carried, last = body.arguments[index], terminator(body).operands[index]
        if last == carried:
            return loop.operands[index], dims, ""
        update = self._stacked(last, carried, stack)
        return None if update is None else (update, dims, "")

    def _stacked(self, value: ir.Value, buffer: ir.Value, stack: list[ir.Operation]) -> ir.Value | None:
        """The value that a loop body writes into its carried buffer, directly or through a function."""
        op = defining_op(value)
        if op is None:
            return None
        if op.name == "stablehlo.dynamic_update_slice":
            return op.operands[1] if op.operands[0] == buffer else None
        if op.name != "func.call":
            return None
        body = self._calls.callee_body(op)
        if body is None:
            return None
        for operand, parameter in zip(op.operands, body.arguments, strict=True):
            if operand == buffer:
                inner = terminator(body).operands[ir.OpResult(value).result_number]
                stack.append(op)
                update = self._stacked(inner, parameter, stack)
                if update is None:
                    stack.pop()
                return update
        return None

    def _scaled_operand(self, op: ir.Operation) -> ir.Value | None:
        """The tensor in tensor * broadcast scalar or tensor / broadcast scalar."""
        if is_uniform(op.operands[1]):
            return op.operands[0]
        return op.operands[1] if op.name == "stablehlo.multiply" and is_uniform(op.operands[0]) else None


def is_uniform(value: ir.Value) -> bool:
    """Whether all elements of a tensor are the same by construction: a scalar, a splat, or one broadcast."""
    if ir.RankedTensorType(value.type).rank == 0:
        return True
    op = defining_op(before_carriers(value))
    if op is None:
        return False
    if op.name == "stablehlo.constant":
        dense = dense_value(op)
        return dense is not None and dense.is_splat
    return op.name in ("stablehlo.broadcast_in_dim", "stablehlo.convert", "stablehlo.reshape") and is_uniform(
        op.operands[0]
    )


def _renamed(dims: Dimensions, mapping: dict[int, list[int]]) -> Dimensions:
    return tuple(frozenset(new for old in group for new in mapping.get(old, ())) for group in dims)


def _reshape_dims(source: list[int], target: list[int]) -> dict[int, list[int]]:
    """For each dimension of the reshaped tensor, those of the original in the same group of equal product."""
    mapping: dict[int, list[int]] = {}
    i = j = 0
    while i < len(source) or j < len(target):
        left, right = i, j
        size_left = source[i] if i < len(source) else 1
        size_right = target[j] if j < len(target) else 1
        i, j = i + 1, j + 1
        while size_left != size_right:
            if size_left < size_right and i < len(source):
                size_left *= source[i]
                i += 1
            elif j < len(target):
                size_right *= target[j]
                j += 1
            else:
                break
        for new in range(right, min(j, len(target))):
            mapping[new] = [old for old in range(left, min(i, len(source))) if source[old] != 1]
    return mapping


def are_exponentials(value: ir.Value) -> bool:
    """Whether a value is exp(x), masked or converted: in softmax and logsumexp, whose largest element is 1."""
    while (op := defining_op(value)) is not None:
        if op.name == "stablehlo.exponential":
            return True
        if op.name not in ("stablehlo.convert", "stablehlo.select"):
            return False
        value = op.operands[1 if op.name == "stablehlo.select" else 0]
    return False


def unconverted(value: ir.Value) -> ir.Value:
    """What a value was before it was only converted to another type of floats."""
    while not isinstance(value.owner, ir.Block) and value.owner.name == "stablehlo.convert":
        before = value.owner.operands[0]
        if not tensor_info(before.type).is_float:
            break
        value = before
    return value
