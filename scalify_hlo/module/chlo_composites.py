"""Functions of CHLO that an exported program holds as composites, taken for what they are and given back.

JAX exports `chlo.erf` as `stablehlo.composite "chlo.erf"`, whose decomposition is a polynomial in StableHLO, and XLA
makes the operation of it again before it compiles (stablehlo_ext's chlo-recompose-ops). The rules know the operation:
it has a law, a size, and one kernel.
"""

import contextlib
from collections.abc import Generator, Iterable

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import chlo, ir, passmanager
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.types import tensor_info

COMPOSITE = "stablehlo.composite"
_PREFIX = "chlo."
_OPERATIONS = frozenset(getattr(each, "OPERATION_NAME", "") for each in vars(chlo).values() if isinstance(each, type))


def is_chlo_function(op: ir.Operation) -> bool:
    """Whether a composite is an operation of CHLO on one float tensor, without attributes of its own."""
    name = ir.StringAttr(op.attributes["name"]).value
    if name not in _OPERATIONS or len(op.operands) != 1 or len(op.results) != 1:
        return False
    attributes = op.attributes
    if "composite_attributes" in attributes and len(ir.DictAttr(attributes["composite_attributes"])):
        return False
    return tensor_info(op.operands[0].type).is_float and op.operands[0].type == op.results[0].type


def to_operations(composites: Iterable[ir.Operation]) -> bool:
    """Replace composites of which `is_chlo_function` holds; returns whether there were any."""
    found = list(composites)
    for op in found:
        name = ir.StringAttr(op.attributes["name"]).value
        own = ("name", "decomposition", "version", "composite_attributes")
        attributes = {key: value for key, value in op.attributes.items() if key not in own}
        function = ir.Operation.create(
            name, [op.results[0].type], [op.operands[0]], attributes, loc=op.location, ip=ir.InsertionPoint(op)
        )
        op.results[0].replace_all_uses_with(function.results[0])
        op.erase()
    return bool(found)


def to_composites(module: ir.Module) -> None:
    """Replace the functions of CHLO on one tensor by composites, whose decompositions are legalised to StableHLO.

    Where dimensions are dynamic they are legalised in place: XLA does not refine the shapes of a composite.
    """
    decompositions: dict[tuple[str, ir.Type], str] = {}
    taken = {symbol_name(op) for op in module.body.operations}
    for function in [op.operation for op in module.body.operations if op.operation.name == "func.func"]:
        dynamic = False
        for op in [op for op in walk(function) if op.name in _OPERATIONS and _may_be_composite(op)]:
            type_ = op.results[0].type
            if not ir.RankedTensorType(type_).has_static_shape:
                dynamic = True
                continue
            key = op.name, type_
            if key not in decompositions:
                decompositions[key] = _decomposition(module, op, taken)
            attributes = dict(op.attributes.items())
            attributes |= {
                "name": ir.StringAttr.get(op.name),
                "decomposition": ir.FlatSymbolRefAttr.get(decompositions[key]),
                "version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1),
            }
            composite = ir.Operation.create(
                COMPOSITE, [type_], list(op.operands), attributes, loc=op.location, ip=ir.InsertionPoint(op)
            )
            op.results[0].replace_all_uses_with(composite.results[0])
            op.erase()
        if dynamic:
            _legalise(function)


@contextlib.contextmanager
def composites_as_operations(module: ir.Module) -> Generator[None]:
    """Inside, the composites of CHLO are operations; after it the functions of CHLO are composites, if any was.

    The context of `module` has to be entered.
    """
    found = to_operations([op for op in walk(module.operation) if op.name == COMPOSITE and is_chlo_function(op)])
    yield
    if found:
        to_composites(module)


def _may_be_composite(op: ir.Operation) -> bool:
    return len(op.operands) == 1 == len(op.results) and op.operands[0].type == op.results[0].type


def _decomposition(module: ir.Module, op: ir.Operation, taken: set[str]) -> str:
    """A private function that computes what `op` does, in StableHLO; returns its name."""
    name = f"{op.name}.impl"
    count = 0
    while name in taken:
        name, count = f"{op.name}.impl_{count}", count + 1
    taken.add(name)
    type_ = op.results[0].type
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get([type_], [type_])),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    function = ir.Operation.create(
        "func.func", [], [], attributes, regions=1, loc=op.location, ip=ir.InsertionPoint(module.body)
    )
    block = function.regions[0].blocks.append(type_, arg_locs=[op.location])
    with ir.InsertionPoint(block):
        result = ir.Operation.create(op.name, [type_], [block.arguments[0]], loc=op.location)
        ir.Operation.create("func.return", [], [result.results[0]], loc=op.location)
    _legalise(function)
    return name


def _legalise(function: ir.Operation) -> None:
    passmanager.PassManager.parse("func.func(chlo-legalize-to-stablehlo)").run(function)
