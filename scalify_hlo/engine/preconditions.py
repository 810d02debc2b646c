"""What this package relies on in a module beyond what MLIR's verifier checks, found wrong in one place.

- Discardable attributes (`jax.result_info`, `tf.aliasing_output`, `scalify.*` ...) are any attribute to the verifier:
  a table says the kind of each that is read here.
- Functions may not call themselves, directly or through others: StableHLO has no recursion, and XLA inlines calls.
- A function has one block: XLA takes no branches between blocks.
- A function that is called has a body, and a marker the operands and results of its meaning.
- A mesh has as many devices as the module is partitioned over: Shardy does not check it, and XLA names no place.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from scalify_hlo.analysis.calls import callee_name, calls_in
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import mesh_sizes
from scalify_hlo.module.propagation import meshes

_NUMBER, _TEXT, _NUMBERS = "an integer", "a string", "an array of i64"
_KINDS: dict[str, type[ir.Attribute]] = {
    _NUMBER: ir.IntegerAttr,
    _TEXT: ir.StringAttr,
    _NUMBERS: ir.DenseI64ArrayAttr,
}
_PARTITIONS = "mhlo.num_partitions"
_OF_MODULES = {_PARTITIONS: _NUMBER, "mhlo.num_replicas": _NUMBER}
_OF_FUNCTIONS = {"scalify.composite": _TEXT, "scalify.plain_results": _NUMBER}
_OF_VALUES = {
    "jax.result_info": _TEXT,
    "mhlo.sharding": _TEXT,
    "scalify.next": _NUMBER,
    "scalify.role": _TEXT,
    "scalify.scale_element": _NUMBER,
    "scalify.scale_shape": _NUMBERS,
    "scalify.stored": _TEXT,
    "tf.aliasing_output": _NUMBER,
}
# Of arguments: the number of a result.
_OF_RESULTS = ("scalify.next", "tf.aliasing_output")
# Markers, and how many operands (from the last) and results they have at least.
_MARKERS = {"scalify.set_scaling": (2, 1), "scalify.get_data_and_scale": (1, 2), "scalify.stop_scaling": (1, 1)}


def check_preconditions(module: ir.Module) -> None:
    """Raise a ScalifyError that names everything wrong in `module`, with its location."""
    errors: list[Diagnostic] = []
    top = module.operation
    _check_kinds("the module", top.attributes, _OF_MODULES, top.location, errors)
    errors += mesh_errors(module)
    functions: dict[str, ir.Operation] = {}
    for op in module.body.operations:
        if op.operation.name == "func.func":
            functions[symbol_name(op)] = op.operation
    for name, function in functions.items():
        _check_function(name, function, errors)
    if errors:
        raise ScalifyError(errors)
    calls: dict[str, list[ir.Operation]] = {}
    for name, function in functions.items():
        calls[name] = [call for call, _ in calls_in(function)]
        for call in calls[name]:
            _check_call(call, functions, errors)
    errors += _recursion(calls)
    if errors:
        raise ScalifyError(errors)


def mesh_errors(module: ir.Module) -> list[Diagnostic]:
    """One for each mesh of another number of devices than the module is partitioned over, if it says how many."""
    found: list[Diagnostic] = []
    attributes = module.operation.attributes
    count: int = 1
    if _PARTITIONS in attributes and isinstance(attributes[_PARTITIONS], ir.IntegerAttr):
        count = ir.IntegerAttr(attributes[_PARTITIONS]).value
    if count <= 1:
        return found
    defined = [
        (op.attributes["mesh"], op.operation) for op in module.body.operations if op.operation.name == "sdy.mesh"
    ]
    written_out = ((mesh, op) for mesh, op in meshes(module) if not isinstance(mesh, ir.FlatSymbolRefAttr))
    for mesh, op in (*defined, *written_out):
        sizes = mesh_sizes(module.operation, mesh)
        devices = math.prod(sizes.values())
        if sizes and devices != count:
            axes = ", ".join(f'"{axis}"={size}' for axis, size in sizes.items())
            message = f"mesh <[{axes}]> has {devices} devices, and the module is for {count} ({_PARTITIONS}): "
            message += "give it a mesh of as many, or the module the number of the mesh"
            found.append(Diagnostic(message, describe_location(op.location)))
    return list(dict.fromkeys(found))


def _check_function(name: str, function: ir.Operation, errors: list[Diagnostic]) -> None:
    _check_kinds(f"function @{name}", function.attributes, _OF_FUNCTIONS, function.location, errors)
    blocks = function.regions[0].blocks
    if len(blocks) > 1:
        message = f"function @{name} has {len(blocks)} blocks: StableHLO has one in each function; write its control "
        message += "flow as 'stablehlo.while', 'stablehlo.case' or 'stablehlo.if'"
        errors.append(Diagnostic(message, describe_location(function.location)))
    results = len(ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results)
    arguments: Sequence[ir.Value] = list(blocks[0].arguments) if len(blocks) else ()
    for key, what in (("arg_attrs", "argument"), ("res_attrs", "result")):
        if key not in function.attributes:
            continue
        for i, attributes in enumerate(ir.ArrayAttr(function.attributes[key])):
            location = arguments[i].location if what == "argument" and arguments else function.location
            given = ir.DictAttr(attributes)
            _check_kinds(f"{what} {i} of @{name}", given, _OF_VALUES, location, errors)
            for attribute in _OF_RESULTS if what == "argument" else ():
                if attribute not in given:
                    continue
                number = given[attribute]
                if isinstance(number, ir.IntegerAttr) and not 0 <= number.value < results:
                    message = f"attribute '{attribute}' of argument {i} of @{name} is {number.value}; "
                    message += f"it must be the number of one of the {results} results"
                    errors.append(Diagnostic(message, describe_location(location)))


def _check_kinds(
    owner: str,
    attributes: Any,
    kinds: dict[str, str],
    location: ir.Location,
    errors: list[Diagnostic],
) -> None:
    for name, kind in kinds.items():
        if name in attributes and not isinstance(attributes[name], _KINDS[kind]):
            message = f"attribute '{name}' of {owner} is {attributes[name]}; it must be {kind}"
            errors.append(Diagnostic(message, describe_location(location)))


def _check_call(call: ir.Operation, functions: dict[str, ir.Operation], errors: list[Diagnostic]) -> None:
    name = callee_name(call) or ""
    function = functions.get(name)
    where = describe_location(call.location)
    if function is None:
        errors.append(Diagnostic(f"@{name} is called, and the module has no function of that name", where))
        return
    if not len(function.regions[0].blocks):
        errors.append(Diagnostic(f"function @{name} is called and has no body; give a definition", where))
        return
    marker = None
    if call.name == "stablehlo.composite":
        marker = ir.StringAttr(call.attributes["name"]).value
    elif "scalify.composite" in function.attributes:
        marker = ir.StringAttr(function.attributes["scalify.composite"]).value
    operands, results = _MARKERS.get(marker or "", (0, 0))
    if len(call.operands) < operands or len(call.results) < results:
        message = f"marker '{marker}' needs {operands} operands and {results} results or more"
        errors.append(Diagnostic(f"{message}; this has {len(call.operands)} and {len(call.results)}", where))


def _recursion(calls: dict[str, list[ir.Operation]]) -> Iterator[Diagnostic]:
    """An error for the first call that leads back to a function that is being called."""
    finished: set[str] = set()
    for root in calls:
        if root in finished:
            continue
        active, on_path = [root], {root}
        pending = [iter(calls[root])]
        while active:
            call = next(pending[-1], None)
            if call is None:
                on_path.discard(active[-1])
                finished.add(active.pop())
                pending.pop()
                continue
            callee = callee_name(call)
            if callee is None or callee not in calls or callee in finished:
                continue
            if callee in on_path:
                path = " -> ".join("@" + name for name in [*active[active.index(callee) :], callee])
                message = f"recursive functions are not supported: {path}"
                yield Diagnostic(message, describe_location(call.location))
                return
            active.append(callee)
            on_path.add(callee)
            pending.append(iter(calls[callee]))
