"""`scalify-store-weights`: weights of a program without a backward pass in FP8. Runs after `scalify-fp8-dots`.

The argument takes the FP8 type, and so does what only moves it (`narrow_storage`). An FP8 product reads it as it is;
what else reads it (the rows of an embedding, a head whose product is left in f16) converts what it takes. Such weights
stay what they are where they are few, or few beside all weights: a router's, by which experts are chosen, the matrix of
a camera's colours. A weight's data are of unit size, so no number saturates but outliers beyond 448 times the RMS,
which the caller clamps as `scalify-pack` does.

Where the file of scales has one for each output channel of a weight, the argument's data are value / scale by channel,
and the part of the scales in which channels differ is a factor behind the product.
"""

import dataclasses
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from scalify_hlo.analysis.calls import CallGraph, defining_op, walk
from scalify_hlo.analysis.channels import channel_dimensions
from scalify_hlo.analysis.intervals import before_moves
from scalify_hlo.analysis.origins import Origins
from scalify_hlo.analysis.product_shapes import contracted_dimensions, is_batched, is_product
from scalify_hlo.analysis.weights import GATHERS
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.engine.selection import LIFTED, TRANSPOSED, argument_names, argument_shapes, attributes_of
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.io.globs import matches
from scalify_hlo.io.scales_file import Channels, ScalesFile, channel_scales, read_scales, split_scales
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.cast import STATE
from scalify_hlo.passes.frozen_weights import frozen_value
from scalify_hlo.passes.narrow_storage import NarrowStorage
from scalify_hlo.passes.precision_kinds import KEPT
from scalify_hlo.passes.private_functions import inline_functions
from scalify_hlo.types import tensor_info

_TABLES = (*GATHERS, "stablehlo.dynamic_slice", "stablehlo.convolution")
_FORMATS = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
# Attribute of an argument whose channels have factors of their own: data * scale * factors is its value.
FACTORS = "scalify.channel_factors"


@dataclasses.dataclass(frozen=True)
class StoreWeights(Pass):
    """Store the weights that `scalify-cast` found in FP8, read by FP8 products as they are."""

    name: ClassVar[str] = "scalify-store-weights"

    # Type of the stored weights.
    format: Literal["f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"] = "f8E4M3FN"
    # Weights to leave in the type they have: patterns with `*` and `?` on their names.
    exclude: tuple[str, ...] = ()

    # A file of scales: weights that have one for each channel in it are stored so.
    calibration: str = ""
    # Store a matrix that FP8 products contract the rows of as its transpose, which is what the products read.
    transposed: bool = False
    # Store arguments; without, only weights that are constants of the program.
    arguments: bool = True
    # Weights that no FP8 product reads stay as they are where they have fewer elements than this.
    least: int = 256
    # So do those of products that are kept, of a router, where they are at most this share of all weights' elements.
    share: float = 2.0**-5
    # When channels of weights that are constants of the program have scales of their own; see scalify-calibrate.
    channels: Channels = "auto"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Retypes arguments in place. Raises ScalifyError for an unknown format and for scales that do not fit."""
        if self.format not in _FORMATS:
            raise ScalifyError(f"{self.name}: unknown format '{self.format}'; known are {', '.join(_FORMATS)}")
        file = read_scales(self.calibration) if self.calibration else None
        with module.context, ir.Location.unknown(module.context):
            inline_functions(module)
            main = public_function(module)
            own_file = file.of(argument_shapes(main)) if file is not None else ScalesFile()
            scales = own_file.arguments
            body = main.regions[0].blocks[0]
            attributes = attributes_of(main, "arg_attrs", len(body.arguments))
            names = argument_names(main)
            weights = [
                i
                for i, own in enumerate(attributes)
                if STATE in own and ir.StringAttr(own[STATE]).value == "weight" and (self.arguments or LIFTED in own)
                if not matches(names[i], self.exclude) and names[i] not in own_file.wide_weights
            ]
            few = few_left(module, weights, self.least, self.share)
            weights = [i for i in weights if i not in few]
            if not weights:
                erase_dead(module)
                return
            dims = channel_dimensions(module, symbol_name(main))
            storage = NarrowStorage(module)
            problems: list[Diagnostic] = []
            count = elements = channelled = 0
            for i in weights:
                argument, name, own = body.arguments[i], names[i], attributes[i]
                info, channels = tensor_info(argument.type), dims.get(i, ())
                frozen = frozen_value(own)
                given = scales.get(name) if frozen is None else channel_scales(frozen, channels, self.channels)
                factors: Array | None = None
                if given is not None and given.ndim:
                    problem = _misfit(name, given, info.shape, channels)
                    if problem:
                        problems.append(Diagnostic(problem, self.calibration))
                        continue
                    factors = split_scales(given)[1]
                    own[FACTORS] = ir.DenseElementsAttr.get(np.ascontiguousarray(factors))
                    channelled += 1
                storage.store(argument, self.format, factors)
                if self.transposed and frozen is None and turn_argument(argument):
                    own[TRANSPOSED] = ir.UnitAttr.get()
                count += 1
                elements += info.size
            if problems:
                raise ScalifyError(problems)
            if any(attributes):
                main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(own) for own in attributes])
            results = list(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results)
            main.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get([a.type for a in body.arguments], results)
            )
            erase_dead(module)  # arguments of functions that have been inlined, too
        by_channel = f", {channelled} of them with a scale for each channel" if channelled else ""
        message = f"{self.name}: {count} weights ({elements} elements) in {self.format}{by_channel}"
        if count:
            remarks.append(Diagnostic(message, "", "remark"))


def _is_fp8(op: ir.Operation) -> bool:
    return any(tensor_info(each.type).element.startswith("f8") for each in op.operands)


# softmax(x R) chooses experts: 64 x 8 numbers of R, rounded, made six times the error of all experts' weights
def few_left(
    module: ir.Module,
    weights: list[int],
    least: int,
    share: float,
    is_narrow: Callable[[ir.Operation], bool] = _is_fp8,
) -> set[int]:
    """Those of the weights that stay: of fewer elements than `least` that no FP8 product reads; of products that are
    kept, smallest first, as long as they are a small share of all elements.

    is_narrow: which products become FP8, of a module in which they are not yet.
    """
    if not weights:
        return set()
    calls = CallGraph(module)
    body = public_function(module).regions[0].blocks[0]
    origins, kept, wide, others = Origins(calls), set[ir.Value](), set[ir.Value](), set[ir.Value]()
    for function in calls.functions.values():
        for op in walk(function):
            if is_product(op) or op.name in _TABLES:
                narrow = is_narrow(op)
                readers = others if narrow or op.name in _TABLES else kept if KEPT in op.attributes else wide
                readers.update(origins.of(_before_rounding(operand)).root for operand in op.operands)
    sizes = {i: tensor_info(body.arguments[i].type).size for i in weights}
    found, left = set[int](), share * sum(sizes.values())
    for i in sorted(weights, key=sizes.__getitem__):
        argument = body.arguments[i]
        is_share = argument in kept and sizes[i] <= left
        if argument not in others and (is_share or (argument in kept | wide and sizes[i] < least)):
            found.add(i)
            left -= sizes[i]
    return found


def _before_rounding(value: ir.Value) -> ir.Value:
    """What an operand of an FP8 product was before it was clamped and converted."""
    *_, moved = before_moves(value)
    op = defining_op(moved)
    return op.operands[1] if op is not None and op.name == "stablehlo.clamp" else value


def turn_argument(argument: ir.BlockArgument) -> bool:
    """Let a matrix be handed over transposed, where FP8 products that contract its rows are all that reads it.

    # x . w = x . (w^T)^T, and a product contracts whichever dimension it is told
    An FP8 GEMM reads both operands along the dimension that is contracted: XLA transposes others in each call.
    """
    if tensor_info(argument.type).rank != 2:
        return False
    readers = [(use.owner.operation, use.operand_number) for use in argument.uses]
    turned: list[tuple[ir.Operation, ir.Attribute]] = []
    for reader, side in readers:
        if reader.name != "stablehlo.dot_general" or reader.operands[0] == reader.operands[1]:
            return False
        contracting = list(contracted_dimensions(reader))
        narrow = all(tensor_info(operand.type).element.startswith("f8") for operand in reader.operands)
        if not narrow or contracting[side] != [0] or is_batched(reader):
            return False
        contracting[side] = [1]
        turned.append((reader, stablehlo.DotDimensionNumbers.get([], [], *contracting)))
    for reader, attribute in turned:
        reader.attributes["dot_dimension_numbers"] = attribute
    info = tensor_info(argument.type)
    argument.set_type(emit.tensor_type(reversed(info.shape), info.element))
    return bool(turned)


def _misfit(name: str, scales: Array, shape: tuple[int, ...], channels: tuple[int, ...]) -> str:
    """Why scales cannot be those of a weight's channels; "" where they can."""
    fits = scales.ndim == len(shape) and all(m in (1, n) for m, n in zip(scales.shape, shape, strict=True))
    if not fits:
        return (
            f"the scales of argument '{name}' have shape {list(scales.shape)}, which {list(shape)} has no channels of"
        )
    inner = [d for d, n in enumerate(scales.shape) if n != 1 and d not in channels]
    if inner:
        along = ", ".join(map(str, channels)) or "none"
        return (
            f"the scales of argument '{name}' differ along dimension {inner[0]}, which a product contracts; scales may "
            f"differ along its output channels (dimension {along})"
        )
    return ""
