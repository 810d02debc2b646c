"""Inlining of functions that would hide from the rules what they need to see.

- The bodies of loops, which JAX outlines into functions of their own (`closed_call`). A loop's rules need to see how a
  carried scale depends on itself. Only private functions with one call site, inside a loop, are inlined: the module
  does not grow.
- Statistics of f16 data that end in a function of their own (`jnp.var`): they are computed in f32 up to the next
  full-size tensor, which is behind the call.
"""

from collections.abc import Callable

from scalify_hlo.analysis.calls import CallGraph, callee_name, terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.engine.survey import Survey
from scalify_hlo.types import tensor_info

# A function that returns a statistic has no more operations than this: variances have thirty, layers hundreds.
_MOST_OPERATIONS = 48


def inline_loop_bodies(module: ir.Module, survey: Survey) -> None:
    """Inline the private functions that are called once, from inside a loop."""
    if not survey.calls_in_loops:
        return
    functions: dict[str, ir.Operation] = {}
    for op in module.body.operations:
        if op.operation.name == "func.func":
            functions[ir.StringAttr(op.attributes["sym_name"]).value] = op.operation
    calls = list(survey.calls_in_loops)
    inlined: dict[str, ir.Operation] = {}
    while calls:
        call = calls.pop()
        name = callee_name(call)
        function = functions.get(name or "")
        if name and function is not None and survey.uses[name] == 1 and _is_plain(call) and _is_plain_private(function):
            calls += _inline(call, function)
            inlined[name] = function
    for function in inlined.values():
        function.erase()


def inline_statistics(module: ir.Module, is_statistic: Callable[[ir.Value], bool]) -> None:
    """Inline the small private functions that return or take a number for each row of a tensor.

    is_statistic: whether a value is such a number, rounded to f16.
    """
    graph = CallGraph(module)
    returning: dict[str, bool] = {}
    inlined: set[str] = set()

    def is_small(name: str) -> bool:
        return _is_plain_private(graph.functions[name]) and len(graph.body(name).operations) <= _MOST_OPERATIONS

    def returns_one(name: str) -> bool:
        if name not in returning:
            returning[name] = False
            for op in list(walk(graph.functions[name])):
                inline(op)
            returning[name] = is_small(name) and _returns_statistic(graph.functions[name], is_statistic)
        return returning[name]

    def inline(call: ir.Operation) -> None:
        name = callee_name(call)
        if call.name != "func.call" or name not in graph.functions or not _is_plain(call):
            return
        if returns_one(name) or (is_small(name) and any(is_statistic(value) for value in call.operands)):
            inlined.add(name)
            function = graph.functions[name]
            copy = function.clone(ip=ir.InsertionPoint(function))
            for nested in _inline(call, copy):
                inline(nested)
            copy.erase()

    for name in graph.functions:
        returns_one(name)
    while unused := inlined - {callee_name(op) for op in walk(module.operation)}:
        for name in unused:
            graph.functions[name].erase()
        inlined -= unused


def _returns_statistic(function: ir.Operation, is_statistic: Callable[[ir.Value], bool]) -> bool:
    block = function.regions[0].blocks[0]
    largest = max((tensor_info(argument.type).size for argument in block.arguments), default=0)
    returned = [tensor_info(value.type) for value in terminator(block).operands]
    small = any(info.element == "f16" and info.size < largest for info in returned)
    return small and any(is_statistic(result) for op in walk(function) for result in op.results)


def _is_plain(call: ir.Operation) -> bool:
    """Whether nothing is asked of a call: `compute_on` and XLA's metadata hold for the function as a whole."""
    return "mhlo.frontend_attributes" not in call.attributes


def _is_plain_private(function: ir.Operation) -> bool:
    attributes = function.attributes
    private = "sym_visibility" in attributes and ir.StringAttr(attributes["sym_visibility"]).value == "private"
    marked = any(name.startswith("scalify.") for name in attributes.keys())  # noqa: SIM118 (not a dict)
    return private and not marked and len(function.regions[0].blocks) == 1


def _inline(call: ir.Operation, function: ir.Operation) -> list[ir.Operation]:
    """Move the function's operations before the call and erase the call; returns the calls among them."""
    block = function.regions[0].blocks[0]
    for argument, operand in zip(block.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    operations = [op.operation for op in block.operations]
    calls: list[ir.Operation] = []
    for op in operations[:-1]:
        op.move_before(call)
        if op.name == "func.call":
            calls.append(op)
        elif len(op.regions):
            calls += Survey().walk(op, in_loop=True).calls_in_loops
    for result, value in zip(call.results, operations[-1].operands, strict=True):
        result.replace_all_uses_with(value)
    call.erase()
    return calls
