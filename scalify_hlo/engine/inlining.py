"""Calls of private functions that a program has for its text alone: small ones, and those called once.

JAX makes a function of each inner `jit`, and `jnp.where`, `jnp.clip`, `jnp.var`, `jax.nn.silu` are one each. The
program means the same without, and what is looked for in it (a mask, a norm, a statistic, how a carried scale depends
on itself) does not stop at a call. What is left are functions that are called several times and are large, as layers.
"""

import collections
import dataclasses

from scalify_hlo.analysis.calls import callee_name, referred_to, terminator, walk
from scalify_hlo.analysis.name_stack import own_name
from scalify_hlo.bindings import ir
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.types import tensor_info

# A function that is copied to each of its calls has no more operations than this, nested ones counted: `jnp.var` has
# thirty, a layer hundreds.
_MOST_OPERATIONS = 48


@dataclasses.dataclass(slots=True)
class _Function:
    op: ir.Operation
    size: int
    calls: list[ir.Operation]
    movable: bool


def inline_calls(module: ir.Module) -> None:
    """Put private functions where they are called, in place: those that are called once, and small ones.

    Functions of integers, such as random numbers are drawn by, stay: scales are not their business. So does a function
    marked `no_inline`, or with attributes of its own, and a call with some (`compute_on`): they hold for all of it.
    Operations keep their names, behind the name of the call.
    """
    _Inlining(module).run()


class _Inlining:
    def __init__(self, module: ir.Module):
        self.functions: dict[str, _Function] = {}
        self.uses: collections.Counter[str] = collections.Counter()
        self.done: set[str] = set()
        functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
        if any(_is_private(op) for op in functions):
            for op in functions:
                self._look_at(op)

    def run(self) -> None:
        # Callers first: what is called once is then moved once, however deep calls go.
        for name in sorted(self.functions, key=lambda each: _is_private(self.functions[each].op)):
            self._finish(name)
        for name, function in self.functions.items():
            if function.movable and not self.uses[name]:
                function.op.erase()

    def _look_at(self, function: ir.Operation) -> None:
        inner = walk(function)
        calls: list[ir.Operation] = []
        for op in inner:
            if op.name == "func.call":
                calls.append(op)
            elif op.name in ("stablehlo.composite", "stablehlo.custom_call"):
                self.uses.update(2 * referred_to(op))
        self.uses.update(name for call in calls if (name := callee_name(call)))
        name = symbol_name(function)
        self.functions[name] = _Function(function, len(inner), calls, _is_private(function) and _is_plain(function))

    def _finish(self, name: str) -> None:
        """Inline in a function what it calls: functions called once before what they call, others after it."""
        if name in self.done:
            return
        self.done.add(name)
        function = self.functions[name]
        calls, kept = function.calls[::-1], list[ir.Operation]()
        while calls:
            call = calls.pop()
            callee = callee_name(call) or ""
            if (
                callee in self.functions
                and callee not in self.done
                and self.uses[callee] == 1
                and self._goes(call, callee)
            ):
                self.done.add(callee)
                inner = list[ir.Operation]()
                self._inline(call, callee, function, inner)
                calls += inner[::-1]
                continue
            if callee in self.functions:
                self._finish(callee)
            if callee in self.functions and self._goes(call, callee):
                self._inline(call, callee, function, kept)
            else:
                kept.append(call)
        function.calls = kept

    def _goes(self, call: ir.Operation, callee: str) -> bool:
        function = self.functions[callee]
        if not function.movable or set(call.attributes.keys()) != {"callee"}:
            return False
        return (self.uses[callee] == 1 or function.size <= _MOST_OPERATIONS) and _concerns_scales(call)

    def _inline(self, call: ir.Operation, callee: str, into: _Function, kept: list[ir.Operation]) -> None:
        function = self.functions[callee]
        self.uses[callee] -= 1
        last = self.uses[callee] == 0
        body = function.op if last else function.op.clone(ip=ir.InsertionPoint(function.op))
        if not last:
            self.uses.update(callee_name(inner) or "" for inner in function.calls)
            kept += [op for op in walk(body) if op.name == "func.call"]
        else:
            kept += function.calls
        into.size += function.size - 2  # the call, and the function's return
        _move(call, body.regions[0].blocks[0])
        if not last:
            body.erase()


def _move(call: ir.Operation, block: ir.Block) -> None:
    """Move a function's operations before the call and erase the call."""
    for argument, operand in zip(block.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    prefix = own_name(call)
    operations = [op.operation for op in block.operations]
    for op in operations[:-1]:
        _name_behind(prefix, op)
        op.move_before(call)
    for result, value in zip(call.results, list(terminator(block).operands), strict=True):
        result.replace_all_uses_with(value)
    call.erase()


def _name_behind(prefix: str, op: ir.Operation) -> None:
    """JAX's names of operations in functions are relative to the call."""
    location = op.location
    if prefix and isinstance(location, ir.NameLoc):
        op.location = ir.Location.name(f"{prefix}/{location.name_str}", location.child_loc)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _name_behind(prefix, inner.operation)


def _is_private(function: ir.Operation) -> bool:
    attributes = function.attributes
    return "sym_visibility" in attributes and ir.StringAttr(attributes["sym_visibility"]).value == "private"


def _is_plain(function: ir.Operation) -> bool:
    """Whether nothing is said of a function as a whole, or of its arguments and results."""
    known = {"sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"}
    if len(function.regions[0].blocks) != 1 or set(function.attributes.keys()) - known:
        return False
    return not any(
        len(ir.DictAttr(each))
        for kind in ("arg_attrs", "res_attrs")
        if kind in function.attributes
        for each in ir.ArrayAttr(function.attributes[kind])
    )


def _concerns_scales(call: ir.Operation) -> bool:
    """Whether a call takes or returns floats, or predicates that choose among them."""
    return any(
        info.is_float or info.is_complex or info.element == "i1"
        for value in (*call.operands, *call.results)
        for info in [tensor_info(value.type)]
    )
