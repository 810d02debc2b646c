"""One copy of a private function for each call, and back.

A pass that decides differently at each call of a function, such as the choice of precision, works on copies; what
comes out equal is merged again.
"""

from scalify_hlo.analysis.calls import CALLS, CallGraph, callee_name, calls_in, walk
from scalify_hlo.bindings import ir, passmanager, register_inliner
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.module.fresh_names import fresh_name
from scalify_hlo.types import tensor_info

# Operations that copies of functions may have in all.
_MOST_COPIED = 1_000_000
_TOO_MANY = (
    f"calls of functions within functions stand for more than {_MOST_COPIED:,} operations, each with types of its own; "
    "call functions less often, or give them to the tool in parts"
)


def unshare(module: ir.Module) -> None:
    """Give every call of a function that computes on floats a copy of its own, nested calls included.

    Raises ScalifyError where that would be too many: functions that call the next one twice are 2^n.
    """
    calls = CallGraph(module)
    functions = dict(calls.functions)
    used = set(calls.public)
    left = _MOST_COPIED

    def visit(function: ir.Operation, copied: bool) -> None:
        nonlocal left
        operations = walk(function)
        left -= len(operations) if copied else 0
        if left < 0:
            raise ScalifyError(Diagnostic(_TOO_MANY, describe_location(function.location)))
        for op in operations:
            callee = callee_name(op) if op.name in CALLS else None
            if callee is None or callee not in functions or not has_floats(functions[callee]):
                continue
            shared = callee in used
            if shared:
                original = functions[callee]
                callee = fresh_name(callee, functions.__contains__)
                copy = original.clone(ip=ir.InsertionPoint.after(original))
                copy.attributes["sym_name"] = ir.StringAttr.get(callee)
                copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
                functions[callee] = copy
                _set_callee(op, callee)
            used.add(callee)
            visit(functions[callee], shared)

    for name in calls.public:
        visit(functions[name], False)


def merge_equal(module: ir.Module) -> None:
    """Let calls of private functions with equal bodies call the first of them, and remove the others."""
    calls = CallGraph(module)
    if len(calls.functions) == len(calls.public):
        return
    kept: dict[str, str] = {}  # instead of a function, itself where it stays
    # What is called comes first: then functions that call equal ones are equal.
    for together in _by_height(calls):
        first: dict[str, str] = {}
        for name, sites in together.items():
            for site, callee in sites:
                if kept.get(callee, callee) != callee:
                    _set_callee(site, kept[callee])
            if name not in calls.public:
                kept[name] = first.setdefault(_body_text(calls.functions[name]), name)
    for name, instead in kept.items():
        if instead != name:
            calls.functions[name].erase()


def _by_height(calls: CallGraph) -> list[dict[str, list[tuple[ir.Operation, str]]]]:
    """Functions with the calls in them, in the order of the module: those that call none, those that call these, ...

    A function that calls itself, by others or not, is taken to call none.
    """
    inside = {
        name: [(op, callee) for op, callee in calls_in(function) if callee in calls.functions]
        for name, function in calls.functions.items()
    }
    heights: dict[str, int] = {}
    pending = list(inside)
    entered: set[str] = set()
    while pending:
        name = pending[-1]
        missing = [callee for _, callee in inside[name] if callee not in heights and callee not in entered]
        if name in heights or (name in entered and not missing):
            pending.pop()
            heights.setdefault(name, max((heights.get(callee, -1) + 1 for _, callee in inside[name]), default=0))
        else:
            entered.add(name)
            pending += missing
    levels: list[dict[str, list[tuple[ir.Operation, str]]]] = [{} for _ in range(max(heights.values(), default=-1) + 1)]
    for name, sites in inside.items():
        levels[heights[name]][name] = sites
    return levels


def has_floats(function: ir.Operation) -> bool:
    """Whether a function or a function that it calls may have a float value."""
    arguments = function.regions[0].blocks[0].arguments
    return any(tensor_info(value.type).is_float for value in arguments) or any(
        (op.name in CALLS and callee_name(op) is not None)
        or any(tensor_info(result.type).is_float for result in op.results)
        for op in walk(function)
    )


def _body_text(function: ir.Operation) -> str:
    """The function without its name and locations."""
    name = ir.StringAttr(function.attributes["sym_name"])
    function.attributes["sym_name"] = ir.StringAttr.get("")
    text = function.get_asm(enable_debug_info=False, print_generic_op_form=True, use_local_scope=True)
    function.attributes["sym_name"] = name
    return text


def _set_callee(op: ir.Operation, name: str) -> None:
    op.attributes[CALLS[op.name]] = ir.FlatSymbolRefAttr.get(name)


def inline_functions(module: ir.Module) -> None:
    """Put the bodies of private functions where they are called, so that what a function is given is known in it."""
    if len(CallGraph(module).functions) > 1:
        register_inliner(module.context)
        passmanager.PassManager.parse("builtin.module(inline{default-pipeline=})").run(module.operation)
