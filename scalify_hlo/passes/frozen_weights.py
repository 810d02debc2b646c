"""Weights that are frozen into a program as constants: `scalify-lift-weights` and `scalify-embed-weights`.

A constant has one type and no scale, so that a narrow one could not hold what the wide one did. Between the two passes
frozen weights are arguments, data and scale like any other weight; the first takes them out of the program, before the
precision is chosen, and the second puts them back in the type in which they are stored, with scales known at compile
time.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from scalify_hlo.analysis.calls import CallGraph
from scalify_hlo.analysis.update import trains
from scalify_hlo.analysis.weights import frozen_weights
from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import LIFTED, attributes_of
from scalify_hlo.engine.signature import public_function, scaled_argument
from scalify_hlo.errors import Diagnostic
from scalify_hlo.execution.element_types import NUMPY_DTYPES, Array
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.fold_scales import fold_scales
from scalify_hlo.passes.lifted_constants import lift_through_calls
from scalify_hlo.types import LARGEST, tensor_info

# Of a constant in E4M3: the numbers, f32, that it was rounded from.
EXACT = "scalify.exact"
_WITHOUT_ARRAYS = frozenset(name for name, dtype in NUMPY_DTYPES.items() if dtype.kind == "V")
# Written by scalify-store-weights, which runs between the two: factors by channel, beside the scale.
_FACTORS = "scalify.channel_factors"


@dataclasses.dataclass(frozen=True)
class LiftWeights(Pass):
    """Make arguments of the weights that are frozen into a program, until scalify-embed-weights."""

    name: ClassVar[str] = "scalify-lift-weights"

    # Constants of fewer elements stay what they are.
    least: int = 256
    # Mark them as arguments that are data and scale, for `scalify{args=none}`.
    scaled: bool = False

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Adds arguments to the public function, in place, where the program has no backward pass."""
        with module.context, ir.Location.unknown(module.context):
            main = public_function(module)
            name = symbol_name(main)
            if trains(module, name):
                return
            body = main.regions[0].blocks[0]
            attributes = attributes_of(main, "arg_attrs", len(body.arguments))
            calls = CallGraph(module)
            lifted = lift_through_calls(calls, name, filter(self._is_lifted, frozen_weights(calls, name)))
            for i, op in enumerate(lifted):
                argument = body.add_argument(op.results[0].type, ir.Location.name(f"constant.{i}", op.location))
                own = scaled_argument((), None) if self.scaled else {}
                attributes.append({LIFTED: op.attributes["value"], **own})
                op.results[0].replace_all_uses_with(argument)
                op.erase()
            _set_signature(main, attributes)
        if lifted:
            remarks.append(Diagnostic(f"{self.name}: {len(lifted)} weights are constants of the program", "", "remark"))

    def _is_lifted(self, op: ir.Operation) -> bool:
        """Whether a constant is large, and of numbers alone: E4M3 has no infinities, such as what forbids a state."""
        if tensor_info(op.results[0].type).size < self.least:
            return False
        value = frozen_value({LIFTED: op.attributes["value"]})
        return value is not None and bool(np.isfinite(value.astype(np.float32)).all())


@dataclasses.dataclass(frozen=True)
class EmbedWeights(Pass):
    """Put back what scalify-lift-weights took out, as data in the type of the argument, at scales that fit them."""

    name: ClassVar[str] = "scalify-embed-weights"

    # Say beside constants in E4M3 what they were rounded from, for scalify-block-dots, which rounds them anew.
    exact: bool = False

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:  # noqa: ARG002
        """Replaces arguments by constants in place."""
        with module.context, ir.Location.unknown(module.context):
            main = public_function(module)
            body = main.regions[0].blocks[0]
            attributes = attributes_of(main, "arg_attrs", len(body.arguments))
            lifted = [i for i, own in enumerate(attributes) if LIFTED in own]
            for i in reversed(lifted):
                value = np.asarray(frozen_value(attributes[i])).astype(np.float64)
                if _FACTORS in attributes[i]:
                    value = value / np.asarray(ir.DenseElementsAttr(attributes[i][_FACTORS])).astype(np.float64)
                arguments = list(body.arguments)
                paired = "scalify.role" in attributes[i]
                scale = 2.0 ** _exponent(value) if paired else 1.0
                with ir.InsertionPoint.at_block_begin(body), arguments[i].location:
                    constant = _constant(arguments[i].type, value / scale)
                    if self.exact and tensor_info(constant.type).element == "f8E4M3FN":
                        wide: Any = (value / scale).astype(np.float32)
                        constant.owner.attributes[EXACT] = ir.DenseElementsAttr.get(np.ascontiguousarray(wide))
                    arguments[i].replace_all_uses_with(constant)
                    if paired:
                        arguments[i + 1].replace_all_uses_with(emit.splat(arguments[i + 1].type, scale))
                for j in (i + 1, i) if paired else (i,):
                    body.erase_argument(j)
                    del attributes[j]
            _set_signature(main, attributes)
            if lifted:
                fold_scales(module)


def frozen_value(attributes: Mapping[str, ir.Attribute]) -> Array | None:
    """The constant that an argument with these attributes stands for; None for one of the program's own."""
    if LIFTED not in attributes:
        return None
    dense = ir.DenseElementsAttr(attributes[LIFTED])
    info = tensor_info(dense.type)
    if info.element not in _WITHOUT_ARRAYS:
        return np.asarray(dense)
    if dense.is_splat:
        number = float(getattr(dense.get_splat_value(), "value", 0.0))
        return np.full(info.shape, number, NUMPY_DTYPES[info.element])
    # The bindings give no array of these; MLIR prints that many elements as their bytes.
    data = bytes.fromhex(str(dense).partition('"0x')[2].partition('"')[0])
    return np.frombuffer(data, NUMPY_DTYPES[info.element]).reshape(info.shape)


def _set_signature(main: ir.Operation, attributes: list[dict[str, ir.Attribute]]) -> None:
    arguments = [argument.type for argument in main.regions[0].blocks[0].arguments]
    results = list(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results)
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(arguments, results))
    if any(attributes):
        main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in attributes])
    elif "arg_attrs" in main.attributes:
        del main.attributes["arg_attrs"]


def _exponent(value: Array) -> int:
    mean_square = float(np.mean(value[np.isfinite(value)] ** 2)) if value.size else 0.0
    return round(math.log2(mean_square) / 2) if mean_square > 0 else 0


def _constant(type_: ir.Type, value: Array) -> ir.Value:
    """A constant of a type, its numbers clamped to the type's range."""
    element = tensor_info(type_).element
    largest = LARGEST.get(element, math.inf)
    data: Any = np.clip(value, -largest, largest).astype(NUMPY_DTYPES[element])
    attribute = ir.DenseElementsAttr.get(np.ascontiguousarray(data).view(f"u{data.itemsize}"), type=type_)
    return emit.op("constant", type_, value=attribute)
