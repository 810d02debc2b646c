"""Functions of a module: whether others call them, what they return, and their types."""

from collections.abc import Sequence

from scalify_hlo.bindings import ir


def is_private(function: ir.Operation) -> bool:
    """Whether a func.func is private."""
    attributes = function.attributes
    return "sym_visibility" in attributes and ir.StringAttr(attributes["sym_visibility"]).value == "private"


def replace_terminator(terminator: ir.Operation, operands: Sequence[ir.Value]) -> None:
    """Give a block's terminator other operands."""
    ir.Operation.create(terminator.name, [], operands, loc=terminator.location, ip=ir.InsertionPoint(terminator))
    terminator.erase()


def retype(function: ir.Operation) -> None:
    """Make a function's type follow its block arguments and its return; drops attributes that no longer fit."""
    block = function.regions[0].blocks[0]
    terminator = block.operations[len(block.operations) - 1]
    inputs = [argument.type for argument in block.arguments]
    results = [operand.type for operand in terminator.operands]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    for name, count in (("arg_attrs", len(inputs)), ("res_attrs", len(results))):
        if name in function.attributes:
            kept = list(function.attributes[name])[:count]
            kept += [ir.DictAttr.get({})] * (count - len(kept))
            function.attributes[name] = ir.ArrayAttr.get(kept)
