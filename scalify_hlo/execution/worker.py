"""The process in which the StableHLO reference interpreter runs: `python -m scalify_hlo.execution.worker`.

The interpreter calls LLVM's `report_fatal_error` on an operation it lacks, which ends the process; nothing else in
here must be worth keeping. Requests and replies are length-prefixed pickles on stdin and on the original stdout.
"""

import functools
import os
import pickle
import struct
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from scalify_hlo.bindings import ir, passmanager, stablehlo
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.element_types import NARROW_INTEGERS, NUMPY_DTYPES, Array, is_complex, is_float
from scalify_hlo.execution.modules import as_module, operations
from scalify_hlo.execution.signature import TensorSpec, check_arrays, entry_function, entry_signature, name_entry_main
from scalify_hlo.io.diagnostics import collect_diagnostics

_LENGTH = struct.Struct("<Q")

# Results of these types can be read back from the interpreter's attributes as they are.
_READABLE = frozenset({"f64", "f32", "f16", "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"})

# What the interpreter lacks and a pass of StableHLO's own can express in operations that it has.
_PREPARE = (
    "builtin.module(func.func(chlo-legalize-to-stablehlo,stablehlo-legalize-deprecated-ops{fail-on-unused=false}))"
)


def send(stream: BinaryIO, message: Any) -> None:
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """The next message; raises EOFError when the other side is gone."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    if len(body) < length:
        raise EOFError
    return pickle.loads(body)


class Program:
    """A module made ready for repeated evaluation."""

    def __init__(self, source: str | bytes):
        self._module = as_module(source)
        signature = entry_signature(self._module)
        name_entry_main(self._module)
        self.arguments = signature.arguments
        self.results = signature.results
        with self._module.context:
            passmanager.PassManager.parse(_PREPARE).run(self._module.operation)
            _copy_scattered_operands(self._module)
            _make_results_readable(self._module, self.results)

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        check_arrays(self.arguments, arrays)
        with self._module.context, ir.Location.unknown():
            attributes = [_to_attribute(a, spec) for a, spec in zip(arrays, self.arguments, strict=True)]
            values = iter([np.array(value) for value in self._evaluate(attributes)])
        return [_from_readable(values, spec) for spec in self.results]

    def _evaluate(self, attributes: list[Any]) -> list[Any]:
        with collect_diagnostics(self._module.context) as said:
            try:
                return stablehlo.eval_module(self._module, attributes)
            except ValueError as error:  # its own message is "interpreter failed"; the reason is in the diagnostics
                raise ScalifyError(said or str(error)) from error


@functools.lru_cache(maxsize=32)
def _program(source: str | bytes) -> Program:
    return Program(source)


def _to_attribute(array: Any, spec: TensorSpec) -> Any:
    element_type = ir.Type.parse(spec.element_type)
    if spec.element_type in NARROW_INTEGERS:
        array = array.astype(np.int8)
    elif spec.element_type != "i1" and not is_complex(spec.element_type):
        array = array.view(f"u{array.dtype.itemsize}")  # MLIR knows the bits of every type, NumPy not their meaning
    return ir.DenseElementsAttr.get(array, shape=list(array.shape), type=element_type)


def _copy_scattered_operands(module: ir.Module) -> None:
    """The interpreter scatters into its operand's own memory, and other uses of the operand then see the result."""
    for op in operations(module):
        if op.name == "stablehlo.scatter":
            with op.location, ir.InsertionPoint(op):
                for i in range(len(op.results)):
                    rank = len(op.operands[i].type.shape)
                    op.operands[i] = stablehlo.transpose(op.operands[i], list(range(rank)))


def _make_results_readable(module: ir.Module, results: Sequence[TensorSpec]) -> None:
    """Make the entry function return bitcasts of types that attributes cannot give to NumPy."""
    if all(spec.element_type in _READABLE for spec in results):
        return
    function = entry_function(module)
    block = function.regions[0].blocks[0]
    terminator = list(block.operations)[-1]
    returned: list[Any] = []
    with ir.Location.unknown(), ir.InsertionPoint(terminator):
        for value, spec in zip(terminator.operands, results, strict=True):
            if is_complex(spec.element_type):
                returned += [stablehlo.real(value), stablehlo.imag(value)]
            elif spec.element_type in _READABLE:
                returned.append(value)
            elif is_float(spec.element_type):
                bits = ir.Type.parse(f"ui{8 * spec.dtype.itemsize}")
                returned.append(stablehlo.bitcast_convert(_tensor(spec, bits), value))
            else:
                wide = ir.Type.parse("ui8" if spec.element_type.startswith("u") else "i8")
                returned.append(stablehlo.convert(_tensor(spec, wide), value))
        ir.Operation.create("func.return", operands=returned)
    terminator.operation.erase()
    if "res_attrs" in function.attributes:
        del function.attributes["res_attrs"]
    old = function.attributes["function_type"].value
    new = ir.FunctionType.get(list(old.inputs), [value.type for value in returned])
    function.attributes["function_type"] = ir.TypeAttr.get(new)


def _tensor(spec: TensorSpec, element_type: Any) -> Any:
    return ir.RankedTensorType.get(list(spec.shape), element_type)


def _from_readable(values: Any, spec: TensorSpec) -> Array:
    """Takes one or two of the interpreter's values and gives the array of the result they stand for."""
    dtype = NUMPY_DTYPES[spec.element_type]
    value = next(values)
    if is_complex(spec.element_type):
        array = np.empty(spec.shape, dtype)
        array.real, array.imag = value, next(values)
        return array
    if spec.element_type in _READABLE:
        return value.astype(dtype, copy=False).reshape(spec.shape)
    if is_float(spec.element_type):
        return value.astype(f"u{dtype.itemsize}", copy=False).view(dtype).reshape(spec.shape)
    return value.astype(dtype).reshape(spec.shape)


def main() -> None:
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the interpreter prints must not mix with the replies
    send(replies, "ready")
    while True:
        try:
            source, arrays = receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            send(replies, ("results", _program(source)(arrays)))
        except ScalifyError as error:
            send(replies, ("error", "; ".join(diagnostic.message for diagnostic in error.diagnostics)))
        except Exception as error:  # noqa: BLE001 - the parent raises it; the worker lives on
            send(replies, ("error", f"{type(error).__name__}: {error}"))


if __name__ == "__main__":
    main()
