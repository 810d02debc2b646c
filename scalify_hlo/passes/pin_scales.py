"""`scalify-pin-scales`: specialises a rewritten module to given scales of its arguments. Runs last.

Scales that go in as numbers make all scale arithmetic arithmetic of constants, which is then done at compile time
(`scalify-fold-scales`): the pinned module carries data only.

- State, and weights whose type is not f32, are handed over as data: arguments that `scalify-cast` marked. The attribute
  `scalify.scale` of the argument says at which scale.
- Other arguments, weights in f32 too, are handed over as plain values, as to the original program, and divided by their
  scale first.
- A result for which the file has a scale (new state) is returned as data at that scale, any other as a plain value.

The file is what `scalify-calibrate` writes: JSON with `arguments` and `results`, each from a name to a power of two, or
to nested lists of them in the shape of the scale.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import (
    NAME,
    ROLE,
    argument_names,
    argument_shapes,
    attributes_of,
    result_name,
    role_of,
)
from scalify_hlo.engine.signature import move_aliases, public_function
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.io.scales_file import ScalesFile, read_scales, split_scales
from scalify_hlo.module.identity import composite_name
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.cast import STATE
from scalify_hlo.passes.fold_scales import fold_scales
from scalify_hlo.passes.guard import add_guard
from scalify_hlo.passes.pack_scales import unpack_scales
from scalify_hlo.passes.private_functions import inline_functions
from scalify_hlo.passes.store_caches import store_argument, store_cache
from scalify_hlo.passes.store_weights import FACTORS
from scalify_hlo.types import FLOAT_RANGE, tensor_info

# Attribute of an argument or result that is data: the scale that it is pinned to.
PINNED = "scalify.scale"
# The composite that asks for the data and the scale of a value: what is left of them is of values without one.
_BOTH = "scalify.get_data_and_scale"


@dataclasses.dataclass(frozen=True)
class PinScales(Pass):
    """Specialise a rewritten module to the scales in a file: what is left has no scale arithmetic."""

    name: ClassVar[str] = "scalify-pin-scales"

    # The scales: a JSON file that scalify-calibrate wrote.
    file: str = ""
    # Return one more result: how many values of each tensor were beyond what the scales foresee.
    guard: bool = False

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Pins in place. Raises ScalifyError for a file that cannot be read, and for every scale that is missing,
        belongs to nothing, or has a shape or size that does not fit."""
        if not self.file:
            raise ScalifyError(f"{self.name}: give the scales, file=scales.json (scalify-calibrate writes one)")
        scales = read_scales(self.file)
        remarks += unsuitable_scales(module, scales, self.file)
        count = pin_scales(module, scales, self.file)
        remarks.append(Diagnostic(f"{self.name}: {count} scales pinned", "", "remark"))
        if self.guard:
            with module.context, ir.Location.unknown(module.context):
                watched = add_guard(module, public_function(module))
            remarks.append(Diagnostic(f"{self.name}: {len(watched)} tensors are guarded", "", "remark"))


def pin_scales(module: ir.Module, scales: ScalesFile, where: str = "scales") -> int:
    """Pin the arguments of `module`, rewritten, to `scales`; how many there were. Raises ScalifyError."""
    with module.context, ir.Location.unknown(module.context):
        inline_functions(module)
        unpack_scales(module)
        _drop_markers(module)
        main = public_function(module)
        scales = scales.of(argument_shapes(main))
        count = _pin_arguments(main, scales.arguments, where)
        fold_scales(module)
        attributes = attributes_of(main, "arg_attrs", len(main.regions[0].blocks[0].arguments))
        carried = any(PINNED in own for own in attributes)  # state comes out as it goes in
        _pin_results(main, scales.results if carried else {}, where)
        fold_scales(module)
        if scales.caches:
            _pin_caches(module, main, scales, where)
            fold_scales(module)
    return count


def _drop_markers(module: ir.Module) -> None:
    """Take what has no scale for data at a scale of 1, where a pass has asked for both."""
    for op in walk(module.operation):
        if composite_name(op) == _BOTH:
            op.results[0].replace_all_uses_with(op.operands[0])
            with ir.InsertionPoint(op), op.location:
                op.results[1].replace_all_uses_with(emit.splat(op.results[1].type, 1.0))
            op.erase()


# --- arguments ----------------------------------------------------------------------------------------------------


def _pin_arguments(main: ir.Operation, scales: Mapping[str, Array], where: str) -> int:
    body = main.regions[0].blocks[0]
    arguments, names = list(body.arguments), argument_names(main)
    attributes = attributes_of(main, "arg_attrs", len(arguments))
    paired = [i for i in range(len(arguments)) if role_of(attributes[i]) == "data"]
    _check_names(scales, [names[i] for i in paired], "argument", where)
    problems: list[Diagnostic] = []
    for i in paired:
        data, scale = arguments[i], arguments[i + 1]
        number = scales.get(names[i])
        if number is None:
            problems.append(Diagnostic(f"no scale for argument '{names[i]}'; calibrate the module again", where))
        elif not _fits(number, scale) and FACTORS not in attributes[i]:
            problems.append(
                Diagnostic(
                    f"the scale of argument '{names[i]}' has shape {list(number.shape)}, not {scale.type}", where
                )
            )
        else:
            attributes[i].pop(ROLE)
            if not _is_stored(data, attributes[i]):
                attributes[i].pop(STATE, None)
            if STATE in attributes[i]:
                attributes[i][PINNED] = _attribute(number)
            with ir.InsertionPoint.at_block_begin(body), data.location:
                by_channel = attributes[i].pop(FACTORS, None) is not None
                whole = np.asarray(split_scales(number)[0], np.float32) if by_channel else number
                scale.replace_all_uses_with(_constant(scale.type, whole))
                if STATE not in attributes[i]:
                    _divide_first(data, number)
    if problems:
        raise ScalifyError(problems)
    for own, name in zip(attributes, names, strict=True):
        own.setdefault(NAME, ir.StringAttr.get(name))  # text keeps no locations, and weights are found by name
    for i in reversed(paired):
        body.erase_argument(i + 1)
        del attributes[i + 1]
    main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in attributes])
    return len(paired)


def _is_stored(argument: ir.Value, attributes: Mapping[str, ir.Attribute]) -> bool:
    """Whether an argument is state or a weight that the caller stores as data.

    A weight in f32 has the original's type: whoever handed over its value would be wrong by the scale, unnoticed.
    """
    kind = ir.StringAttr(attributes[STATE]).value if STATE in attributes else ""
    return bool(kind) and not (kind == "weight" and tensor_info(argument.type).element == "f32")


def unsuitable_scales(module: ir.Module, scales: ScalesFile, where: str) -> list[Diagnostic]:
    """Warnings of scales at which an argument's data leave the range of the type that they are computed with.

    By the statistics that the file has of the argument: more than one in 1000 elements beyond the largest number, or a
    root mean square below the smallest normal one. Per-channel scales are not looked at.
    """
    found: list[Diagnostic] = []
    with module.context:
        main = public_function(module)
        scales = scales.of(argument_shapes(main))
        arguments = list(main.regions[0].blocks[0].arguments)
        attributes = attributes_of(main, "arg_attrs", len(arguments))
        for name, argument, own in zip(argument_names(main), arguments, attributes, strict=True):
            scale, seen = scales.arguments.get(name), scales.statistics.get(name)
            if scale is None or scale.ndim or seen is None or not seen.elements or not scale > 0:
                continue
            element = _computed_in(argument) if role_of(own) == "data" else ""
            if element not in FLOAT_RANGE:
                continue
            largest, smallest, _ = FLOAT_RANGE[element]
            exponent = math.log2(float(scale))
            beyond = sum(count for e, count in seen.histogram.items() if e - exponent > largest)
            below = 0 < seen.mean_square < 4.0 ** (exponent + smallest)
            if beyond * 1000 > seen.elements or below:
                what = f"{beyond} of {seen.elements} elements leave" if beyond else "most elements are below"
                message = f"the scale of argument '{name}' is {float(scale):g}: {what} the range of {element}"
                found.append(Diagnostic(f"{message}; its root mean square is {math.sqrt(seen.mean_square):.2g}, "
                                        "calibrate again", where, "warning"))  # fmt: skip
    return found


def _computed_in(argument: ir.Value) -> str:
    """The narrowest type that an argument has, or is converted to by what reads it."""
    elements = {tensor_info(argument.type).element}
    for use in argument.uses:
        if use.owner.operation.name == "stablehlo.convert":
            elements.add(tensor_info(use.owner.operation.results[0].type).element)
    return min(elements, key=lambda name: FLOAT_RANGE.get(name, (1 << 20,))[0])


def _divide_first(value: ir.Value, scale: Array) -> None:
    """Let the readers of a plain argument have its data, value / scale."""
    if (scale == 1).all():
        return
    readers = [(use.owner.operation, use.operand_number) for use in value.uses]
    data = _times(value, 1 / scale)
    for reader, i in readers:
        reader.operands[i] = data


# --- results ------------------------------------------------------------------------------------------------------


def _pin_results(main: ir.Operation, scales: Mapping[str, Array], where: str) -> None:
    body = main.regions[0].blocks[0]
    last = terminator(body)
    attributes = attributes_of(main, "res_attrs", len(last.operands))
    paired = [i for i in range(len(last.operands)) if role_of(attributes[i]) == "data"]
    names = _result_names(attributes)
    _check_names(scales, [names[i] for i in paired], "result", where)
    operands: list[ir.Value] = []
    kept: list[dict[str, ir.Attribute]] = []
    moved: dict[int, int] = {}
    skip = False
    for i, value in enumerate(list(last.operands)):
        if skip:
            skip = False
            continue
        moved[i] = len(operands)
        if i in paired:
            skip = True
            attributes[i].pop(ROLE)
            with ir.InsertionPoint(last), last.location:
                value = _result(value, last.operands[i + 1], scales.get(names[i]))
            if names[i] in scales:
                attributes[i][PINNED] = _attribute(scales[names[i]])
        operands.append(value)
        kept.append(attributes[i])
    ir.Operation.create(last.name, [], operands, loc=last.location, ip=ir.InsertionPoint(last))
    last.erase()
    type_ = ir.FunctionType.get([a.type for a in body.arguments], [value.type for value in operands])
    main.attributes["function_type"] = ir.TypeAttr.get(type_)
    if "res_attrs" in main.attributes:
        main.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in kept])
    move_aliases(main, moved)


def _pin_caches(module: ir.Module, main: ir.Operation, file: ScalesFile, where: str) -> None:
    """Store results that are caches, and the arguments that they are the new values of, in FP8."""
    body = main.regions[0].blocks[0]
    results = attributes_of(main, "res_attrs", len(terminator(body).operands))
    arguments = attributes_of(main, "arg_attrs", len(body.arguments))
    names = _result_names(results)
    scales, argument_of = file.caches, file.cache_arguments
    _check_names({name: np.asarray(scale) for name, scale in scales.items()}, names, "result", where)
    inputs = argument_names(main)
    calls = CallGraph(module)
    for name, scale in scales.items():
        i = names.index(name)
        replaced = argument_of.get(name)
        if replaced is not None and replaced not in inputs:
            raise ScalifyError(Diagnostic(f"there is no argument '{replaced}' for the cache '{name}'", where))
        argument = None if replaced is None else inputs.index(replaced)
        if not store_cache(main, calls, i, argument, scale) and argument is not None:
            store_argument(main, argument, scale)
        results[i][PINNED] = _attribute(np.asarray(scale))
        if argument is not None:
            arguments[argument][PINNED] = _attribute(np.asarray(scale))
            arguments[argument][STATE] = ir.StringAttr.get("cache")
    main.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(own) for own in results])
    main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(own) for own in arguments])


def _result(data: ir.Value, scale: ir.Value, pinned: Array | None) -> ir.Value:
    """data * scale, or data * (scale / pinned)."""
    known = _number(scale)
    if known is not None:
        factor = known if pinned is None else known / pinned
        return data if factor == 1 else _times(data, np.asarray(factor))
    if pinned is not None:
        scale = emit.op("multiply", scale.type, scale, _constant(scale.type, 1 / pinned))
    wide = emit.wide(data)
    factor = emit.broadcast(emit.convert(scale, tensor_info(wide.type).element), wide)
    return emit.convert(emit.op("multiply", wide.type, wide, factor), tensor_info(data.type).element)


def _result_names(attributes: list[dict[str, ir.Attribute]]) -> list[str]:
    """Names by which a file knows results, which counts pairs as one."""
    names: list[str] = []
    scales = 0
    for i, own in enumerate(attributes):
        names.append(result_name(own, i - scales))
        scales += role_of(own) == "scale"
    return names


# --- numbers ------------------------------------------------------------------------------------------------------


def _times(value: ir.Value, factor: Array) -> ir.Value:
    """A tensor times a number or a broadcast tensor of numbers: in f32 or f64, then in the type it had."""
    wide = emit.wide(value)
    if factor.ndim == 0:
        numbers = emit.filled(wide, float(factor))
    else:
        constant = _constant(emit.tensor_type(factor.shape, "f32"), factor)
        numbers = emit.broadcast(emit.convert(constant, tensor_info(wide.type).element), wide)
    return emit.convert(emit.op("multiply", wide.type, wide, numbers), tensor_info(value.type).element)


def _constant(type_: ir.Type, number: Array) -> ir.Value:
    if number.ndim == 0:
        return emit.splat(type_, float(number))
    attribute = ir.DenseElementsAttr.get(np.ascontiguousarray(number, np.float32), type=type_)
    return emit.op("constant", type_, value=attribute)


def _number(value: ir.Value) -> float | None:
    """The number that a constant scale is."""
    op = defining_op(value)
    attribute = op.attributes["value"] if op is not None and op.name == "stablehlo.constant" else None
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    number: Any = attribute.get_splat_value()
    return float(number.value)


def _attribute(number: Array) -> ir.Attribute:
    f32 = ir.F32Type.get()
    if number.ndim == 0:
        return ir.FloatAttr.get(f32, float(number))
    return ir.DenseElementsAttr.get(np.ascontiguousarray(number, np.float32))


def _fits(number: Array, scale: ir.Value) -> bool:
    return number.ndim == 0 or tuple(number.shape) == tensor_info(scale.type).shape


def _check_names(scales: Mapping[str, Array], names: list[str], what: str, where: str) -> None:
    known = set(names)
    if names:
        known_names = f"the names are {', '.join(names[:8])}"
    else:
        known_names = f"no {what} has a scale: scalify all that have one in the file (--args, --results)"
    problems = [
        Diagnostic(f"there is no scaled {what} '{name}'; {known_names}", where) for name in scales if name not in known
    ]
    problems += [
        Diagnostic(
            f"the scale of {what} '{name}' is {number}: a power of two is needed, between 2^-126 and 2^127", where
        )
        for name, number in scales.items()
        if not all(_is_scale(each) for each in np.ravel(number))
    ]
    if problems:
        raise ScalifyError(problems)


def _is_scale(number: float) -> bool:
    return math.isfinite(number) and number > 0 and math.frexp(number)[0] == 0.5
