"""Which function calls which, where a function returns, and what enters the bodies of loops."""

import functools
from collections.abc import Iterator

from scalify_hlo.bindings import ir
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.traits import BRANCHES

# Operations that call a function, and the attribute that names it.
CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition"}


def callee_name(op: ir.Operation) -> str | None:
    """The function that an operation calls: `func.call`'s callee or a composite's decomposition."""
    attribute = CALLS.get(op.name)
    if attribute is None or attribute not in op.attributes:
        return None
    return ir.FlatSymbolRefAttr(op.attributes[attribute]).value


def referred_to(op: ir.Operation) -> list[str]:
    """The functions that an operation refers to by an attribute, other than a call its callee."""
    if op.name == "stablehlo.composite":
        return [ir.FlatSymbolRefAttr(op.attributes["decomposition"]).value]
    if "called_computations" not in op.attributes:
        return []
    return [ir.FlatSymbolRefAttr(each).value for each in ir.ArrayAttr(op.attributes["called_computations"])]


def calls_in(op: ir.Operation) -> list[tuple[ir.Operation, str]]:
    """The calls nested in `op`, in program order, each with the function that it names."""
    return [(inner, name) for inner in walk(op) if inner.name in CALLS and (name := callee_name(inner)) is not None]


def walk(op: ir.Operation) -> list[ir.Operation]:
    """Every operation nested in `op`, in program order, an operation before those in its regions."""
    found: list[ir.Operation] = []
    _collect(op, found)
    return found


def _collect(op: ir.Operation, found: list[ir.Operation]) -> None:
    for region in op.regions:
        for block in region:
            for child in block.operations:
                operation = child.operation
                found.append(operation)
                if len(operation.regions):
                    _collect(operation, found)


def terminator(block: ir.Block) -> ir.Operation:
    """The operation that ends a block (`func.return`, `stablehlo.return`).

    Counting or indexing `block.operations` walks them all; this does not.
    """
    last = ir.InsertionPoint.at_block_terminator(block).ref_operation
    assert last is not None
    return last.operation


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The operation whose result `value` is; None for a block argument."""
    return value.owner.operation if isinstance(value, ir.OpResult) else None


def only_reader(value: ir.Value) -> ir.Operation | None:
    """The operation that is the only one to read a value, and reads it once."""
    uses = value.uses
    first = next(uses, None)
    return first.owner.operation if first is not None and next(uses, None) is None else None


def is_used(op: ir.Operation) -> bool:
    """Whether something reads a result of an operation."""
    for result in op.results:  # noqa: SIM110
        if next(result.uses, None) is not None:
            return True
    return False


class CallGraph:
    """Functions of a module that have a body, by name, with the operations that call each of them.

    The calls are looked for when they are first asked for.
    """

    def __init__(self, module: ir.Module):
        self.functions: dict[str, ir.Operation] = {}
        self.public: list[str] = []
        self.has_meshes = False  # without one no code is per device
        for child in module.body.operations:
            op = child.operation
            self.has_meshes = self.has_meshes or op.name == "sdy.mesh"
            if op.name != "func.func" or not len(op.regions[0].blocks):
                continue
            name = symbol_name(op)
            self.functions[name] = op
            visibility = op.attributes.get("sym_visibility")
            if visibility is None or ir.StringAttr(visibility).value == "public":
                self.public.append(name)
        self._block_owner = {self.body(name): name for name in self.functions}

    @functools.cached_property
    def sites(self) -> dict[str, list[ir.Operation]]:
        """The operations that call a function, by its name, in program order."""
        found: dict[str, list[ir.Operation]] = {}
        # Of one function alone there are no calls.
        for function in self.functions.values() if len(self.functions) > 1 else ():
            for op, callee in calls_in(function):
                if callee in self.functions:
                    found.setdefault(callee, []).append(op)
        return found

    def body(self, name: str) -> ir.Block:
        """The entry block of a function."""
        return self.functions[name].regions[0].blocks[0]

    def callee_body(self, op: ir.Operation) -> ir.Block | None:
        """The entry block of the function that `op` calls; None when it calls none that has a body."""
        if op.name not in CALLS:
            return None
        name = callee_name(op)
        return self.body(name) if name in self.functions else None

    def across(self, value: ir.Value) -> list[ir.Value] | None:
        """What a value is on the other side of a call: what each caller gives for a function's argument, or what a
        callee returns for a call's result; None for a value that no call hands on."""
        owner = value.owner
        if isinstance(owner, ir.Block):
            name = self.function_of_block(owner)
            index = ir.BlockArgument(value).arg_number
            return None if name is None else [site.operands[index] for site in self.sites.get(name, ())]
        callee = self.callee_body(owner.operation)
        return None if callee is None else [terminator(callee).operands[ir.OpResult(value).result_number]]

    def handed_to(self, op: ir.Operation, index: int) -> list[ir.Value] | None:
        """What an operand is on the other side of a call or a branch: a callee's argument, or, of what a function or a
        branch returns, the result of each call of it; None where nothing of the kind hands it on."""
        if op.name == "func.return":
            return [site.results[index] for site in self.sites.get(self.enclosing_function(op) or "", ())]
        if op.name == "stablehlo.return":
            around = op.block.owner.operation
            return [around.results[index]] if around.name in BRANCHES else None
        callee = self.callee_body(op) if op.name in CALLS else None
        return None if callee is None else [callee.arguments[index]]

    def called(self, op: ir.Operation) -> ir.Operation | None:
        """The function that `op` calls; None when it calls none that has a body."""
        return self.functions.get(callee_name(op) or "") if op.name in CALLS else None

    def function_of_block(self, block: ir.Block) -> str | None:
        """The function whose entry block this is; None for a block nested deeper."""
        return self._block_owner.get(block)

    def enclosing_function(self, op: ir.Operation) -> str | None:
        """The name of the function that contains `op`."""
        name = self._block_owner.get(op.block)
        if name is not None:
            return name
        parent = op.parent
        while parent is not None and parent.operation.name != "func.func":
            parent = parent.operation.parent
        if parent is None:
            return None
        return symbol_name(parent.operation)


def program_order(calls: CallGraph) -> Iterator[ir.Operation]:
    """Every operation once, a function's body at the place of the first call that leads to it."""
    seen: set[str] = set()

    def visit(name: str) -> Iterator[ir.Operation]:
        seen.add(name)
        for op in walk(calls.functions[name]):
            yield op
            callee = callee_name(op) if op.name in CALLS else None
            if callee in calls.functions and callee not in seen:
                yield from visit(callee)

    for name in [*calls.public, *calls.functions]:
        if name not in seen:
            yield from visit(name)


def hands_on(loop: ir.Operation, index: int) -> bool:
    """Whether the body of a `while` returns an argument as it is, in its place."""
    body = loop.regions[1].blocks[0]
    returned = terminator(body).operands
    return index < len(returned) and returned[index] == body.arguments[index]


def stacked(carried: ir.Value, last: ir.Value) -> ir.Value | None:
    """What an iteration writes into a tensor that a loop carries and hands on; None where it does anything else."""
    op = defining_op(last)
    writes = op is not None and op.name == "stablehlo.dynamic_update_slice" and op.operands[0] == carried
    return op.operands[1] if op is not None and writes else None


def enters_unchanged(value: ir.Value) -> ir.Value | None:
    """What enters a loop as this argument of its body, if the body returns the argument itself; per-device code."""
    argument = ir.BlockArgument(value)
    block, index = argument.owner, argument.arg_number
    op = block.owner.operation
    if op.name == MANUAL and index < len(op.operands):
        return op.operands[index]
    if op.name != "stablehlo.while" or index >= len(op.operands):
        return None
    return op.operands[index] if hands_on(op, index) else None


def loops_around(value: ir.Value) -> set[ir.Block]:
    """The bodies of loops in which a value is."""
    block, found = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block, set[ir.Block]()
    while (op := block.owner.operation).name != "func.func":
        if op.name == "stablehlo.while":
            found.add(block)
        block = op.block
    return found
