"""Inlining of the bodies of loops, which JAX outlines into functions of their own (`closed_call`).

A loop's rules need to see how a carried scale depends on itself; a call would hide it. Only private functions with
one call site, inside a loop, are inlined: the module does not grow.
"""

from scalify_hlo.bindings import ir
from scalify_hlo.survey import Survey


def inline_loop_bodies(module: ir.Module, survey: Survey) -> bool:
    """Inline the private functions that are called once, from inside a loop; whether there was one."""
    if not survey.calls_in_loops:
        return False
    functions: dict[str, ir.Operation] = {}
    for op in module.body.operations:
        if op.operation.name == "func.func":
            functions[ir.StringAttr(op.attributes["sym_name"]).value] = op.operation
    calls = list(survey.calls_in_loops)
    inlined: dict[str, ir.Operation] = {}
    while calls:
        call = calls.pop()
        name = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
        function = functions.get(name)
        if survey.uses[name] == 1 and function is not None and _is_plain_private(function):
            calls += _inline(call, function)
            inlined[name] = function
    for function in inlined.values():
        function.erase()
    return bool(inlined)


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
