"""Running a module operation by operation on XLA:CPU, so that every value in it can be looked at.

Each distinct operation (name, attributes, types) is compiled once: forty-eight equal layers cost the compilations of
one. What only moves data is not compiled at all. Nothing is fused, so every value is rounded to its type. Loops,
branches and calls are followed in Python.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scalify_hlo.bindings import func, ir
from scalify_hlo.emit.marks import is_mark
from scalify_hlo.errors import ScalifyError, describe_location
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.signature import check_arrays, entry_function, entry_signature
from scalify_hlo.execution.xla import Executable
from scalify_hlo.execution.xla import compile as compile_for_cpu
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.moves import move
from scalify_hlo.module.traits import BRANCHES

# Called with an operation, its operands' values and its results'; `path` is where it runs: the calls that led there.
Observer = Callable[[ir.Operation, Sequence[Array], Sequence[Array], tuple[ir.Operation, ...]], None]
# One operation made ready: takes its operands' values, returns its results'.
_Step = Callable[[Sequence[Array], tuple[ir.Operation, ...]], Sequence[Array]]


class Eager:
    """Runs the entry function of a module; the module must not change meanwhile.

    observer: is shown every operation that runs; may be changed between runs.
    compiled: how many operations have been compiled so far.
    """

    def __init__(self, module: ir.Module, observer: Observer | None = None):
        self._module = module
        self.observer = observer
        self._functions = {
            symbol_name(op): op.operation for op in module.body.operations if op.operation.name == "func.func"
        }
        self._executables: dict[str, Executable] = {}
        self._blocks: dict[ir.Block, _Block] = {}

    @property
    def compiled(self) -> int:
        return len(self._executables)

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """The results for these arguments.

        Raises ScalifyError when the arrays do not have the arguments' shapes and dtypes, and for an operation that
        XLA:CPU does not compile.
        """
        arrays = [np.asarray(array) for array in arrays]
        check_arrays(entry_signature(self._module).arguments, arrays)
        with self._module.context, ir.Location.unknown(self._module.context):
            return list(self._block(entry_function(self._module).regions[0].blocks[0])(arrays, {}, ()))

    def _block(self, block: ir.Block) -> "_Block":
        if block not in self._blocks:
            self._blocks[block] = _Block(block, self)
        return self._blocks[block]

    def step(self, op: ir.Operation) -> "_Step | _Control":
        """An operation made ready to run."""
        if is_mark(op):
            return lambda _values, _path: ()
        if op.name in ("func.call", "stablehlo.composite"):
            key = "callee" if op.name == "func.call" else "decomposition"
            callee = self._functions[ir.FlatSymbolRefAttr(op.attributes[key]).value]
            body = self._block(callee.regions[0].blocks[0])
            return lambda values, path: body(values, {}, (*path, op))
        if op.name == "stablehlo.while":
            return _Control(op, self._while)
        if op.name in BRANCHES:
            return _Control(op, self._branch)
        moved = move(op)
        if moved is not None:
            return lambda values, _path: [moved(values)]
        executable = self._executable(op)
        return lambda values, _path: executable(values)

    def _while(self, op: ir.Operation, values: Sequence[Array], env: "_Env", path: tuple[ir.Operation, ...]) -> Any:
        condition, body = (self._block(region.blocks[0]) for region in op.regions)
        state = list(values)
        while bool(condition(state, env, path)[0]):
            state = list(body(state, env, path))
        return state

    def _branch(self, op: ir.Operation, values: Sequence[Array], env: "_Env", path: tuple[ir.Operation, ...]) -> Any:
        index = int(values[0])
        if op.name == "stablehlo.if":
            index = 0 if index else 1
        elif not 0 <= index < len(op.regions):
            index = len(op.regions) - 1
        return self._block(op.regions[index].blocks[0])([], env, path)

    def _executable(self, op: ir.Operation) -> Executable:
        module = _alone(op)
        key = module.operation.get_asm(enable_debug_info=False)
        if key not in self._executables:
            try:
                self._executables[key] = compile_for_cpu(module)
            except ScalifyError as error:
                raise ScalifyError(f"{describe_location(op.location)}: {error}") from error
        return self._executables[key]


_Env = dict[ir.Value, Array]


class _Control:
    """An operation with regions that see the values around it."""

    def __init__(self, op: ir.Operation, run: Callable[..., Any]):
        self.op, self.run = op, run


class _Block:
    """A block made ready to run."""

    def __init__(self, block: ir.Block, program: Eager):
        operations = [op.operation for op in block.operations]
        self._arguments = list(block.arguments)
        self._results = list(operations[-1].operands)
        self._steps = [(op, list(op.operands), list(op.results), program.step(op)) for op in operations[:-1]]
        self._program = program

    def __call__(self, arguments: Sequence[Array], outer: _Env, path: tuple[ir.Operation, ...]) -> list[Array]:
        env = dict(outer)
        env.update(zip(self._arguments, arguments, strict=True))
        observer = self._program.observer
        for op, operands, results, step in self._steps:
            values = [env[operand] for operand in operands]
            produced = step.run(op, values, env, path) if isinstance(step, _Control) else step(values, path)
            env.update(zip(results, produced, strict=True))
            if observer is not None:
                observer(op, values, produced, path)
        return [env[value] for value in self._results]


def _alone(op: ir.Operation) -> ir.Module:
    """A module whose @main is this one operation. Needs a current context and location."""
    module = ir.Module.create()
    types = [operand.type for operand in op.operands]
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("main", (types, [result.type for result in op.results]))
        block = function.add_entry_block()
    with ir.InsertionPoint(block):
        copy = op.clone()
        for i, argument in enumerate(block.arguments):
            copy.operands[i] = argument
        func.ReturnOp(list(copy.results))
    return module
