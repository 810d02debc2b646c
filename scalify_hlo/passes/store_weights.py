"""`scalify-store-weights`: weights of a program without a backward pass in FP8. Runs after `scalify-fp8-dots`.

The argument takes the FP8 type. An FP8 product reads it as it is; what else reads it (the rows of an embedding, a head
whose product is left in f16) converts what it takes. A weight's data are of unit size, so no number saturates but
outliers beyond 448 times the RMS, which the caller clamps as `scalify-pack` does.
"""

import dataclasses
from typing import ClassVar, Literal

from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import argument_names, attributes_of
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.io.globs import matches
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.cast import STATE
from scalify_hlo.types import LARGEST, tensor_info

_FORMATS = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")


@dataclasses.dataclass(frozen=True)
class StoreWeights(Pass):
    """Store the weights that `scalify-cast` found in FP8, read by FP8 products as they are."""

    name: ClassVar[str] = "scalify-store-weights"

    # Type of the stored weights.
    format: Literal["f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"] = "f8E4M3FN"
    # Weights to leave in the type they have: patterns with `*` and `?` on their names.
    exclude: tuple[str, ...] = ()

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Retypes arguments in place. Raises ScalifyError for an unknown format."""
        if self.format not in _FORMATS:
            raise ScalifyError(f"{self.name}: unknown format '{self.format}'; known are {', '.join(_FORMATS)}")
        with module.context, ir.Location.unknown(module.context):
            main = public_function(module)
            body = main.regions[0].blocks[0]
            attributes = attributes_of(main, "arg_attrs", len(body.arguments))
            count = elements = 0
            for argument, name, own in zip(body.arguments, argument_names(main), attributes, strict=True):
                if STATE in own and ir.StringAttr(own[STATE]).value == "weight" and not matches(name, self.exclude):
                    self._store(argument)
                    count += 1
                    elements += tensor_info(argument.type).size
            results = list(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results)
            main.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get([a.type for a in body.arguments], results)
            )
        remarks.append(Diagnostic(f"{self.name}: {count} weights ({elements} elements) in {self.format}", "", "remark"))

    def _store(self, argument: ir.BlockArgument) -> None:
        element = tensor_info(argument.type).element
        readers = [(use.owner.operation, use.operand_number) for use in argument.uses]
        argument.set_type(emit.with_element(argument.type, self.format))
        converted: ir.Value | None = None
        for reader, i in readers:
            form = _fp8_form(reader, i, self.format)
            if form is not None:  # clamp(w) converted to FP8: w is that already
                form.results[0].replace_all_uses_with(argument)
                form.erase()
                if not any(True for _ in reader.results[0].uses):
                    reader.erase()
                continue
            if converted is None:
                with ir.InsertionPoint.at_block_begin(argument.owner), argument.location:
                    converted = emit.convert(argument, element)
            reader.operands[i] = converted


def _fp8_form(clamp: ir.Operation, operand: int, element: str) -> ir.Operation | None:
    """The conversion to FP8 of what a clamp to that type's range gives."""
    if clamp.name != "stablehlo.clamp" or operand != 1 or element not in LARGEST:
        return None
    readers = [use.owner.operation for use in clamp.results[0].uses]
    if len(readers) != 1 or readers[0].name != "stablehlo.convert":
        return None
    return readers[0] if tensor_info(readers[0].results[0].type).element == element else None
