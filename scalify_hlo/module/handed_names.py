"""Names of arguments that stand on the parameters of a function that the public one calls.

JAX exports a program with symbolic sizes, or for several platforms, as a public function without names around the one
that has them: what is handed on unchanged is called what the function behind calls it.
"""

from scalify_hlo.bindings import ir
from scalify_hlo.module.function_types import is_private
from scalify_hlo.module.identity import symbol_name


def name_arguments(module: ir.Module) -> None:
    """Give public functions' arguments without a name the locations of the parameters that they are handed on as."""
    functions = {symbol_name(op): op.operation for op in module.body.operations if op.operation.name == "func.func"}
    for function in functions.values():
        if is_private(function):
            continue
        for argument in function.regions[0].blocks[0].arguments if len(function.regions[0].blocks) else ():
            if isinstance(argument.location, ir.NameLoc):
                continue
            for use in argument.uses:
                call = use.owner.operation
                if call.name != "func.call":
                    continue
                callee = functions.get(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
                if callee is None or not len(callee.regions[0].blocks):
                    continue
                location = callee.regions[0].blocks[0].arguments[use.operand_number].location
                if isinstance(location, ir.NameLoc):
                    argument.set_location(location)
                    break
