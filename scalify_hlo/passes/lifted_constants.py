"""Constants of functions as constants of the public one, which hands them on with each call.

# f(x) = x w, w a constant: f(x, w), with w from each call of it

A nested `jit` has the arrays that it closes over for constants of its own; and all of a program with symbolic sizes, or
for several platforms, is a private function behind the public one.
"""

from collections.abc import Collection, Iterable

from scalify_hlo.analysis.calls import CallGraph, referred_to, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.function_types import is_private, retype
from scalify_hlo.module.manual import is_per_device

_CALL = "func.call"


def lift_through_calls(calls: CallGraph, main: str, constants: Iterable[ir.Operation]) -> list[ir.Operation]:
    """Move constants of functions into the function `main`, in place; returns those that are there now, in their order.

    Left where they are, and out of what is returned, are those of functions that are more than called: what a composite
    means, say; and those of per-device code, which reads nothing from outside.
    """
    constants = [op for op in constants if not is_per_device(op)]
    where = {op: calls.enclosing_function(op) or "" for op in constants}
    if all(name == main for name in where.values()):
        return constants
    referred = {each for function in calls.functions.values() for op in walk(function) for each in referred_to(op)}
    ways = {name: _on_the_way(calls, main, name, referred) for name in where.values()}
    found = [op for op in constants if ways[where[op]] is not None]
    # Functions that are to be given constants, those of what they call among them.
    given: dict[str, list[ir.Operation]] = {}
    for op in found:
        for name in ways[where[op]] or ():
            given.setdefault(name, []).append(op)
    _hand_down(calls, main, given)
    return found


def _hand_down(calls: CallGraph, main: str, given: dict[str, list[ir.Operation]]) -> None:
    """Move constants to the start of `main`, and give them to the functions on the way."""
    start = ir.InsertionPoint.at_block_begin(calls.body(main)).ref_operation
    assert start is not None
    values: dict[tuple[str, ir.Operation], ir.Value] = {}
    for name, ops in given.items():
        for op in ops:
            value = calls.body(name).add_argument(op.results[0].type, op.location)
            if calls.enclosing_function(op) == name:
                op.results[0].replace_all_uses_with(value)
            values[name, op] = value
        retype(calls.functions[name])
    for op in dict.fromkeys(op for ops in given.values() for op in ops):
        op.move_before(start)
        values[main, op] = op.results[0]
    for name, ops in given.items():
        for call in calls.sites[name]:
            caller = calls.enclosing_function(call) or ""
            operands = [*call.operands, *(values[caller, op] for op in ops)]
            types, attributes = [result.type for result in call.results], dict(call.attributes.items())
            new = ir.Operation.create(_CALL, types, operands, attributes, loc=call.location, ip=ir.InsertionPoint(call))
            for old, result in zip(call.results, new.results, strict=True):
                old.replace_all_uses_with(result)
            call.erase()


def _on_the_way(calls: CallGraph, main: str, name: str, referred: Collection[str]) -> list[str] | None:
    """A function and those by way of which `main` calls it; None if one of them is more than called, or per device."""
    found, pending = dict[str, None](), [name]
    while pending:
        current = pending.pop()
        if current == main or current in found:
            continue
        sites = calls.sites.get(current, ())
        if not sites or current in referred or not is_private(calls.functions[current]):
            return None
        if any(map(is_per_device, sites)):
            return None
        found[current] = None
        pending += [calls.enclosing_function(site) or "" for site in sites]
    return list(found)
