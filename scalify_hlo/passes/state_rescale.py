"""`scalify-state-rescale`: the scale of carried state follows what its data show.

Static rules make the first guess and everything inside a step. Here it is seen to that a wrong guess does not add up
over steps: the new value of a state tensor keeps the scale that it has as long as the root mean square of its data is
near unit size, and is moved to it by a power of two where it is not. Values do not change. Tensors of zeros keep their
scale. Runs before `scalify-cast`, so that data are measured before they are rounded.

The statistic is that of a few thousand elements: compilers compute them again, from the gradient and the state, in a
small kernel of their own, and the update reads and writes each tensor once as before.
"""

import dataclasses
import math
from typing import ClassVar

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator
from scalify_hlo.analysis.update import find_update
from scalify_hlo.bindings import ir
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.module.carriers import layouts_folded
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.held_values import after
from scalify_hlo.passes.markers import magnitude, marker, power_of_two
from scalify_hlo.passes.private_functions import merge_equal, unshare
from scalify_hlo.types import tensor_info

_KINDS = ("parameters", "moments")
# Elements that are measured: the error of a root mean square of so many is 2% for Gaussian ones, 2^4 is what matters.
_SAMPLE = 4096
# log2 of the size that data are moved to, and how far from it they may come before. Parameters are read as operands of
# products. Moments have larger elements than a sample shows, and squares more so.


@dataclasses.dataclass(frozen=True)
class StateRescale(Pass):
    """Re-base the scales of a training step's state by statistics of its data."""

    name: ClassVar[str] = "scalify-state-rescale"

    # Which state: parameters, moments (what the optimiser carries besides them).
    kinds: tuple[str, ...] = _KINDS
    # In how many steps once: by an integer that the step carries and adds one to.
    every: int = 1

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Inserts the rescaling in place. Raises ScalifyError for an unknown kind and a period below 1."""
        unknown = sorted(set(self.kinds) - set(_KINDS))
        if unknown:
            raise ScalifyError(f"{self.name}: unknown kind '{unknown[0]}'; known are {', '.join(_KINDS)}")
        if self.every < 1:
            raise ScalifyError(f"{self.name}: every={self.every}: the number of steps must be positive")
        with module.context, ir.Location.unknown(module.context), layouts_folded(module):
            unshare(module)
            main = public_function(module)
            update = find_update(module, ir.StringAttr(main.attributes["sym_name"]).value)
            last = terminator(main.regions[0].blocks[0])
            calls = CallGraph(module)
            due = _due(module, main, last, self.every) if self.every > 1 and update.state else None
            if self.every > 1 and update.state and due is None:
                told = f"{self.name}: the step counts no steps: state is measured in each of them"
                remarks.append(Diagnostic(told, "", "remark"))
            for argument, result in update.state.items():
                kind = "parameters" if argument in update.parameters else "moments"
                info = tensor_info(last.operands[result].type)
                if kind in self.kinds and info.is_static and info.size:
                    in_loops = kind == "parameters" and due is None
                    leaving, i = _where_updated(calls, last, result) if in_loops else (last, result)
                    leaving.operands[i] = _rebased(module, leaving.operands[i], kind, due)
            erase_dead(module)
            merge_equal(module)


def _where_updated(calls: CallGraph, last: ir.Operation, index: int) -> tuple[ir.Operation, int]:
    """The terminator, and which of its operands, that a state leaves a step with.

    last, index: the same of the public function. Each iteration of a loop of updates is a step: what it leaves enters
    the next one, in the type that state is stored in. For parameters: an average takes the size of its newest term in
    each iteration, and would keep that of the zeros that it enters as, if a measured scale hid the term.
    """
    found = last, index
    while (op := defining_op(last.operands[index])) is not None:
        index = ir.OpResult(last.operands[index]).result_number
        body = op.regions[1].blocks[0] if op.name == "stablehlo.while" else None
        if op.name == "func.call":
            body = calls.callee_body(op)
        if body is None:
            break
        last = terminator(body)
        if op.name == "stablehlo.while" and defining_op(last.operands[index]) is not None:
            found = last, index
    return found


def _rebased(module: ir.Module, value: ir.Value, kind: str, due: ir.Value | None) -> ir.Value:
    """The same value with a scale that fits its data."""
    scalar = emit.tensor_type((), "f32")
    target = -budget.MOMENTS_BELOW if kind == "moments" else 0
    ip, location = after(value) if due is None else _before_return(value, due)
    with ip, location:
        data, scale = marker(module, "scalify.get_data_and_scale", [value], [value.type, scalar])
        size = power_of_two(magnitude(_sample(emit.convert(data, "f32")), "l2"))
        low, high = (emit.splat(scalar, 2.0 ** (target + side * budget.STATE_NEAR)) for side in (-1, 1))
        far = emit.op("or", emit.tensor_type((), "i1"), emit.compare(size, low, "LT"), emit.compare(size, high, "GT"))
        if due is not None:
            far = emit.op("and", far.type, far, due)
        moved = emit.times(size, 2.0**-target)
        # Of zeros `size` is 1, which is near: their scale stays.
        factor = emit.op("select", scalar, far, moved, emit.splat(scalar, 1.0))
        (result,) = marker(
            module, "scalify.set_scaling", [value, emit.op("multiply", scalar, scale, factor)], [value.type]
        )
    return result


def _before_return(value: ir.Value, due: ir.Value) -> tuple[ir.InsertionPoint, ir.Location]:
    """The place where both a value and the answer whether a step is due are known."""
    _, location = after(value)
    block = due.owner.operation.block
    return ir.InsertionPoint(terminator(block)), location


def _sample(x: ir.Value) -> ir.Value:
    """At most some thousand elements of a tensor, evenly spread; contiguous ones along the last dimension."""
    info = tensor_info(x.type)
    left = info.size
    strides = [1] * info.rank
    for d, n in enumerate(info.shape):
        if left > _SAMPLE:
            strides[d] = min(n, math.ceil(left / _SAMPLE))
            left = left // n * math.ceil(n / strides[d])
    if all(stride == 1 for stride in strides):
        return x
    shape = [math.ceil(n / stride) for n, stride in zip(info.shape, strides, strict=True)]
    array = ir.DenseI64ArrayAttr.get
    return emit.op(
        "slice", emit.tensor_type(shape, info.element), x,
        start_indices=array([0] * info.rank), limit_indices=array(list(info.shape)), strides=array(strides),
    )  # fmt: skip


def _due(module: ir.Module, main: ir.Operation, last: ir.Operation, every: int) -> ir.Value | None:
    """Whether this step is one of the `every`th, by a scalar integer that it counts with; None if it has none."""
    block = main.regions[0].blocks[0]
    for value in last.operands:
        info = tensor_info(value.type)
        if info.rank or not info.element.startswith(("i", "ui")) or info.element == "i1":
            continue
        counter = _counted(CallGraph(module), block, value)
        if counter is None or counter.type != value.type:
            continue
        with ir.InsertionPoint.at_block_begin(block):
            kind = "UNSIGNED" if info.element.startswith("ui") else "SIGNED"
            rest = emit.op("remainder", counter.type, counter, emit.integer_splat(counter.type, every))
            return emit.compare(rest, emit.integer_splat(counter.type, 0), "EQ", kind)
    return None


def _counted(calls: CallGraph, block: ir.Block, value: ir.Value) -> ir.BlockArgument | None:
    """The argument of which an integer is the next number: with something added, and a bound kept perhaps."""
    pending: list[tuple[ir.Value, bool]] = [(value, False)]
    seen: set[ir.Value] = set()
    while pending:
        current, added = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        op = defining_op(current)
        if op is None:
            argument = ir.BlockArgument(current)
            sites = calls.sites.get(calls.function_of_block(argument.owner) or "", ())
            if argument.owner == block and added:
                return argument
            pending += [(site.operands[argument.arg_number], added) for site in sites[:1]]
            continue
        body = calls.callee_body(op)
        if body is not None:
            pending.append((terminator(body).operands[ir.OpResult(current).result_number], added))
        elif op.name in ("stablehlo.add", "stablehlo.select", "stablehlo.minimum"):
            pending += [(v, added or op.name == "stablehlo.add") for v in op.operands if v.type == current.type]
    return None
