"""The interface of the public function: the (data, scale) pairs made of its scaled arguments and its results.

Each scaled argument or result becomes two adjacent ones, data then scale, in the original order. Attributes
follow their data; the scale is replicated where the data are sharded.
"""

from collections.abc import Mapping, Sequence

from scalify_hlo.bindings import ir, sdy
from scalify_hlo.emit.packed_scales import is_packable, packed
from scalify_hlo.engine.returned_state import ReturnedState
from scalify_hlo.engine.rewriter import Rewriter
from scalify_hlo.engine.selection import (
    ROLE,
    SCALE_SHAPE,
    SCALED,
    Selection,
    argument_names,
    attributes_of,
    role_of,
    scale_shape,
)
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.module.carriers import constrain, sharding_of
from scalify_hlo.module.function_types import is_private, replace_terminator, retype
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import EVERYWHERE, GROUPS, collective_attributes
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rules.shapes import at_power_of_two, to_rank_0, uniform_along
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, SMALLEST, Scale
from scalify_hlo.size.state import ALIASING, NEXT, PLACE
from scalify_hlo.types import tensor_info

# Of a scaled argument: zeros made of data and scale alike, as `jnp.zeros_like` makes them, have the scale 0.
MAY_BE_ZERO = "scalify.may_be_zero"
# Of a module: layouts and tiles of the entry's arguments and results, and which of them share memory.
_NUMBERED = ("mhlo.xla_entry_computation_", "mhlo.input_output_alias")


def public_function(module: ir.Module) -> ir.Operation:
    """The function that a module is called through: @main, or the only public one.

    Raises ScalifyError when there is none or more than one.
    """
    public = _public_functions(module)
    named_main = [f for f in public if symbol_name(f) == "main"]
    if len(named_main) == 1:
        public = named_main
    if len(public) == 1:
        if not public[0].regions[0].blocks:
            where = describe_location(public[0].location)
            raise ScalifyError(Diagnostic(f"function @{symbol_name(public[0])} has no body; give a definition", where))
        return public[0]
    if not public:
        where = describe_location(module.operation.location)
        raise ScalifyError(Diagnostic("the module has no public function; one is needed, usually called @main", where))
    names = ", ".join("@" + symbol_name(f) for f in public)
    raise ScalifyError(
        Diagnostic(
            f"the module has {len(public)} public functions ({names}); rename the entry to @main or mark the others "
            "private",
            describe_location(public[1].location),
        )
    )


def other_public_functions(module: ir.Module, function: ir.Operation) -> list[ir.Operation]:
    """The public functions of a module beside the one that it is called through: they are left as they are."""
    return [f for f in _public_functions(module) if f != function]


def _public_functions(module: ir.Module) -> list[ir.Operation]:
    functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    return [f for f in functions if not is_private(f)]


def set_attributes(function: ir.Operation, kind: str, attributes: Sequence[dict[str, ir.Attribute]]) -> None:
    """Give the arguments ("arg_attrs") or results ("res_attrs") of a function their attributes."""
    if any(attributes):
        function.attributes[kind] = ir.ArrayAttr.get([ir.DictAttr.get(dict(a)) for a in attributes])
    elif kind in function.attributes:
        del function.attributes[kind]


def add_scale_arguments(rewriter: Rewriter, selection: Selection, options: ScalifyOptions) -> None:
    """Give the function its (data, scale) arguments and tell the rewriter their scales."""
    function = rewriter.function
    block = function.regions[0].blocks[0]
    old = list(block.arguments)
    names = argument_names(function)
    attributes = attributes_of(function, "arg_attrs", len(old))
    element = rewriter.emit.element_type("f8E8M0FNU" if options.scale_dtype == "e8m0" else "f32")
    new_attributes: list[dict[str, ir.Attribute]] = []
    for argument, name, attribute, scaled, shape in zip(
        old, names, attributes, selection.scaled, selection.scale_shapes, strict=True
    ):
        data = block.add_argument(argument.type, argument.location)
        argument.replace_all_uses_with(data)
        if not scaled:
            new_attributes.append(attribute)
            continue
        own = {k: v for k, v in attribute.items() if k not in (SCALED, SCALE_SHAPE, EVERYWHERE, MAY_BE_ZERO)}
        new_attributes.append({**own, ROLE: ir.StringAttr.get("data")})
        location = ir.Location.name(f"{name}.scale") if isinstance(argument.location, ir.NameLoc) else argument.location
        value = block.add_argument(ir.RankedTensorType.get(list(shape), element), location)
        new_attributes.append({**scale_attributes(own, shape), ROLE: ir.StringAttr.get("scale")})
        if EVERYWHERE in attribute:
            rewriter.functions.everywhere.add(value)
        # f32 scales may be zero, for tensors of zeros; E8M0 has no zero.
        number = rewriter.emit.convert(value, "f32")
        if MAY_BE_ZERO in attribute:  # 0 * x = 2^-126 * x of zeros; here, where it joins the arithmetic of scales
            least = rewriter.emit.broadcast_to(rewriter.emit.scale_value(SMALLEST), shape)
            number = rewriter.emit.op("maximum", number.type, number, least)
        if shape and all(n == 1 for n in shape):  # one scale, as a tensor
            number = rewriter.emit.op("reshape", rewriter.emit.scalar, number)
        symbol = rewriter.emit.as_scale(number, positive=True)  # zeros carry the smallest scale
        rewriter.define(data, ScaledValue(data, symbol))
    for _ in old:
        block.erase_argument(0)
    set_attributes(function, "arg_attrs", new_attributes)


def set_places(main: ir.Operation, inputs: int, results: int, places: Sequence[tuple[int, int]]) -> None:
    """Tell of the last `inputs` arguments which of the last `results` have their places in the trees of the step."""
    block = main.regions[0].blocks[0]
    returned = len(list(block.operations)[-1].operands)
    first, tokens = len(block.arguments) - inputs, returned - results
    given = attributes_of(main, "arg_attrs", len(block.arguments))
    for argument, result in places:
        given[first + argument] = {**given[first + argument], PLACE: _number(tokens + result)}
    set_attributes(main, "arg_attrs", given)


def _number(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), number)


def scaled_argument(
    shape: Sequence[int], place: int | None, *, everywhere: bool = False, may_be_zero: bool = False
) -> dict[str, ir.Attribute]:
    """The attributes by which a caller says that an argument is scaled.

    shape: of its scale. place: the result that has its place in the trees of the step, if one has. everywhere: its
    scale is the same on all devices of per-device code. may_be_zero: its scale may be 0, in the place of the smallest.
    """
    attributes: dict[str, ir.Attribute] = {SCALED: ir.UnitAttr.get()}
    if shape:
        attributes[SCALE_SHAPE] = ir.DenseI64ArrayAttr.get(list(shape))
    if place is not None:
        attributes[PLACE] = _number(place)
    if everywhere:
        attributes[EVERYWHERE] = ir.UnitAttr.get()
    if may_be_zero:
        attributes[MAY_BE_ZERO] = ir.UnitAttr.get()
    return attributes


def arguments_of_role(function: ir.Operation, role: str) -> set[ir.Value]:
    """The arguments of a rewritten function that are "data", "scale" or vectors of "scales"."""
    arguments = list(function.regions[0].blocks[0].arguments)
    attributes = attributes_of(function, "arg_attrs", len(arguments))
    return {argument for argument, own in zip(arguments, attributes, strict=True) if role_of(own) == role}


def drop_numbered(module: ir.Module) -> list[str]:
    """Remove the attributes of a module that number the entry's arguments and results, as those of HLO with layouts do.

    Returns their names.
    """
    attributes = module.operation.attributes
    names = [name for name in attributes if name.startswith(_NUMBERED)]
    for name in names:
        del attributes[name]
    return names


def scale_attributes(attributes: dict[str, ir.Attribute], shape: Sequence[int]) -> dict[str, ir.Attribute]:
    """Argument or result attributes of a scale, from those of its data: not donated, sharded where it is as large."""
    result: dict[str, ir.Attribute] = {}
    for name, attribute in attributes.items():
        if name == "mhlo.sharding":
            result[name] = ir.StringAttr.get("{replicated}")
        elif name == "sdy.sharding":
            sharding = sdy.TensorShardingAttr(attribute)
            whole = sdy.DimensionShardingAttr.get([], True)
            dims = [whole if n == 1 else sharding.dimension_shardings[d] for d, n in enumerate(shape)]
            result[name] = sdy.TensorShardingAttr.get(sharding.mesh_or_ref, dims)
        elif name == "jax.result_info":
            result[name] = ir.StringAttr.get(ir.StringAttr(attribute).value + ".scale")
        elif name == "mhlo.layout_mode":  # "{0,1}" of a matrix is no layout of a number
            result[name] = ir.StringAttr.get("default")
        elif name == "mhlo.memory_kind":
            result[name] = attribute
    return result


def add_scale_results(rewriter: Rewriter, terminator: ir.Operation, options: ScalifyOptions) -> None:
    """Return pairs (data, scale), or recombined values, and move the attributes of results along."""
    function, emit = rewriter.function, rewriter.emit
    old = list(terminator.operands)
    attributes = attributes_of(function, "res_attrs", len(old))
    unasked = None if options.result_scales == "shaped" else ()
    errors: list[Diagnostic] = []
    operands: list[ir.Value] = []
    scales: dict[int, ir.Value] = {}  # by the position of the result
    new_attributes: list[dict[str, ir.Attribute]] = []
    moved: dict[int, int] = {}
    common = _at_common_scales(rewriter, old)
    state = ReturnedState(rewriter)
    element = "f8E8M0FNU" if options.scale_dtype == "e8m0" else "f32"
    where = describe_location(function.location)
    data_role, scale_role = ir.StringAttr.get("data"), ir.StringAttr.get("scale")
    for i, (value, attribute) in enumerate(zip(old, attributes, strict=True)):
        moved[i] = len(operands)
        info = tensor_info(value.type)
        scaled = common.get(i) or rewriter.scaled.get(value)
        if scaled is not None:
            scaled = state.returned(i, value, scaled)
        shape = scale_shape(f"result {i}", value, attribute, where, errors)
        attribute = {k: v for k, v in attribute.items() if k != SCALE_SHAPE}
        if errors or options.plain_results or info.element not in options.scaled_types:
            operands.append(plain_value(rewriter, scaled) if scaled else value)
            new_attributes.append(attribute)
            continue
        if scaled is not None and element == "f8E8M0FNU" and rewriter.functions.any_number:
            scaled = at_power_of_two(rewriter, scaled)
        data, scale = pair(rewriter, scaled, value, unasked if shape is None else shape)
        sharding = sharding_of(value)
        if sharding is not None and data != value:
            data = rewriter.laid_out(data, sharding) or constrain(data, sharding, emit.ip)
        scales[len(operands) + 1] = scale
        operands += [data, scale]
        own = tensor_info(scale.type).shape
        of_scale = {**scale_attributes(attribute, own), ROLE: scale_role}
        if GROUPS in rewriter.functions.module.operation.attributes:
            of_scale[EVERYWHERE] = ir.UnitAttr.get()
        new_attributes += [{**attribute, ROLE: data_role}, of_scale]
    rewriter.functions.errors += errors
    together = [i for i, scale in scales.items() if is_packable(scale) and options.vector_scales]
    with emit.ip, emit.location:
        scales |= zip(together, packed([scales[i] for i in together]), strict=True)
    for i, scale in scales.items():
        operands[i] = emit.convert(scale, element)
    replace_terminator(terminator, operands)
    retype(function)
    set_attributes(function, "res_attrs", new_attributes)
    move_aliases(function, moved)


def _at_common_scales(rewriter: Rewriter, values: Sequence[ir.Value]) -> dict[int, ScaledValue]:
    """Of per-device code, the results with scales that are the same on all devices, by their index.

    The program around it takes the scales of a result for one number.
    """
    from scalify_hlo.emit.common_scales import at_common_scales

    groups = rewriter.functions.module.operation.attributes.get(GROUPS)
    if groups is None:
        return {}
    forms = {i: rewriter.scaled[value] for i, value in enumerate(values) if value in rewriter.scaled}
    common = at_common_scales(rewriter, list(forms.values()), collective_attributes(groups))
    return dict(zip(forms, common, strict=True))


def pair(
    rewriter: Rewriter, scaled: ScaledValue | None, value: ir.Value, shape: tuple[int, ...] | None
) -> tuple[ir.Value, ir.Value]:
    """Data and scale of a result; the scale has the given shape, or, with None, whatever shape it has."""
    emit = rewriter.emit
    if scaled is None:
        return value, emit.broadcast_to(emit.scale_value(ONE), shape or ())
    own = scaled.scale.shape
    if shape is not None and own:
        narrowed = [d for d, n in enumerate(shape) if n == 1]
        scaled = uniform_along(rewriter, scaled, narrowed) if shape else to_rank_0(rewriter, scaled)
    # Positive: what is returned may be an argument of the next call, and arguments' scales divide.
    scale = emit.divisor(clamped(scaled.scale))
    return scaled.data, scale if shape is None else emit.broadcast_to(scale, shape)


def clamped(scale: Scale) -> Scale:
    """A constant scale within the range of normal f32 numbers."""
    return Scale(max(-126.0, min(127.0, scale.exponent))) if scale.is_constant else scale


def plain_value(rewriter: Rewriter, scaled: ScaledValue) -> ir.Value:
    """data * scale in the element type of the data."""
    from scalify_hlo.rules.plain import unscaled

    return unscaled(rewriter, scaled, element=scaled.info.element)


def name_results(function: ir.Operation, pairs: Mapping[int, int]) -> None:
    """Leave the attribute `NEXT` on the arguments that a result replaces.

    pairs: argument -> result.
    """
    attributes = attributes_of(function, "arg_attrs", len(function.regions[0].blocks[0].arguments))
    for argument, result in pairs.items():
        attributes[argument][NEXT] = _number(result)
    set_attributes(function, "arg_attrs", attributes)


def drop_aliases(function: ir.Operation) -> None:
    """Let arguments not be donated to results of other types, with which they share no buffer."""
    if "arg_attrs" not in function.attributes:
        return
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs, results = signature.inputs, signature.results
    apart: list[int] = []
    for i, given in enumerate(ir.ArrayAttr(function.attributes["arg_attrs"])):
        own = ir.DictAttr(given)
        if ALIASING in own and results[ir.IntegerAttr(own[ALIASING]).value] != inputs[i]:
            apart.append(i)
    if apart:
        attributes = attributes_of(function, "arg_attrs", len(inputs))
        for i in apart:
            del attributes[i][ALIASING]
        set_attributes(function, "arg_attrs", attributes)


def move_aliases(function: ir.Operation, moved: Mapping[int, int]) -> None:
    """Attributes of arguments name results by index: have them name these where they are now.

    moved: where a result was -> where it is.
    """
    count = len(function.regions[0].blocks[0].arguments)
    attributes = attributes_of(function, "arg_attrs", count)
    i32 = ir.IntegerType.get_signless(32)
    for attribute in attributes:
        for name in (ALIASING, NEXT, PLACE):
            if name in attribute:
                index = ir.IntegerAttr(attribute[name]).value
                attribute[name] = ir.IntegerAttr.get(i32, moved.get(index, index))
    set_attributes(function, "arg_attrs", attributes)
