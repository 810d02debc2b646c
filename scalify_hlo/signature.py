"""The interface of the public function: which arguments are scaled, and the (data, scale) pairs made of them.

Each scaled argument or result becomes two adjacent ones, data then scale, in the original order. Attributes
follow their data; the scale is replicated where the data are sharded.
"""

import dataclasses
import fnmatch
import re
from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.functions import is_private, replace_terminator, retype
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rewriter import Rewriter
from scalify_hlo.scale import ONE, Scale
from scalify_hlo.types import tensor_info
from scalify_hlo.values import ScaledValue

# Argument attributes by which a module says itself what is scaled; they override `--args`.
SCALED, PLAIN, SCALE_SHAPE = "scalify.scaled", "scalify.plain", "scalify.scale_shape"
ROLE = "scalify.role"
ALIASING = "tf.aliasing_output"


def public_function(module: ir.Module) -> ir.Operation:
    """The function that a module is called through: @main, or the only public one.

    Raises ScalifyError when there is none or more than one.
    """
    functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    public = [f for f in functions if not is_private(f)]
    named_main = [f for f in public if _name(f) == "main"]
    if len(named_main) == 1:
        public = named_main
    if len(public) == 1:
        if not public[0].regions[0].blocks:
            where = describe_location(public[0].location)
            raise ScalifyError(Diagnostic(f"function @{_name(public[0])} has no body; give a definition", where))
        return public[0]
    if not public:
        where = describe_location(module.operation.location)
        raise ScalifyError(Diagnostic("the module has no public function; one is needed, usually called @main", where))
    names = ", ".join("@" + _name(f) for f in public)
    raise ScalifyError(
        Diagnostic(
            f"the module has {len(public)} public functions ({names}); rename the entry to @main or mark the others "
            "private",
            describe_location(public[1].location),
        )
    )


def _name(function: ir.Operation) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value


def argument_names(function: ir.Operation) -> list[str]:
    """Names of the arguments, as JAX records them in locations; "arg<i>" where there is none."""
    names: list[str] = []
    for i, argument in enumerate(function.regions[0].blocks[0].arguments):
        location = argument.location
        names.append(location.name_str if isinstance(location, ir.NameLoc) else f"arg{i}")
    return names


def _attributes(function: ir.Operation, kind: str, count: int) -> list[dict[str, ir.Attribute]]:
    if kind not in function.attributes:
        return [{} for _ in range(count)]
    return [{named.name: named.attr for named in ir.DictAttr(d)} for d in ir.ArrayAttr(function.attributes[kind])]


def _set_attributes(function: ir.Operation, kind: str, attributes: Sequence[dict[str, ir.Attribute]]) -> None:
    if any(attributes):
        function.attributes[kind] = ir.ArrayAttr.get([ir.DictAttr.get(dict(a)) for a in attributes])
    elif kind in function.attributes:
        del function.attributes[kind]


@dataclasses.dataclass(frozen=True)
class Selection:
    """Which arguments are scaled, and the shape of the scale of each."""

    scaled: tuple[bool, ...]
    scale_shapes: tuple[tuple[int, ...], ...]


def select_arguments(function: ir.Operation, options: ScalifyOptions) -> Selection:
    """Apply `--args` and the argument attributes. Raises ScalifyError naming every argument at fault."""
    arguments = list(function.regions[0].blocks[0].arguments)
    names = argument_names(function)
    attributes = _attributes(function, "arg_attrs", len(arguments))
    where = describe_location(function.location)
    errors: list[Diagnostic] = []
    chosen = [False] * len(arguments)
    for term in [t.strip() for t in split_terms(options.args) if t.strip()]:
        _choose(term, chosen, arguments, names, options, where, errors)
    for i, attribute in enumerate(attributes):
        if SCALED in attribute:
            chosen[i] = True
            if not tensor_info(arguments[i].type).is_float:
                errors.append(_not_a_float(i, names[i], arguments[i], describe_location(arguments[i].location)))
        if PLAIN in attribute:
            chosen[i] = False
    shapes = [_scale_shape(i, names[i], arguments[i], attributes[i], errors) for i in range(len(arguments))]
    if errors:
        raise ScalifyError(errors)
    return Selection(tuple(chosen), tuple(shapes))


def split_terms(text: str) -> list[str]:
    """Split at commas outside brackets: names such as P['w'][0,1] stay whole."""
    return re.split(r",(?![^\[]*\])", text)


def _choose(
    term: str,
    chosen: list[bool],
    arguments: Sequence[ir.Value],
    names: Sequence[str],
    options: ScalifyOptions,
    where: str,
    errors: list[Diagnostic],
) -> None:
    if term in ("all", "none"):
        for i, argument in enumerate(arguments):
            chosen[i] = term == "all" and tensor_info(argument.type).element in options.scaled_types
        return
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", term)
    if match:
        first, last = int(match[1]), int(match[2] or match[1])
        for i in range(first, last + 1):
            if i >= len(arguments):
                errors.append(
                    Diagnostic(f"argument index {i} is out of range: the function has {len(arguments)} arguments, "
                               f"0 to {len(arguments) - 1}", where)
                )  # fmt: skip
                return
            if not tensor_info(arguments[i].type).is_float:
                errors.append(_not_a_float(i, names[i], arguments[i], where))
            chosen[i] = True
        return
    # A bracket in an argument's name (P['w'][0]) is a bracket, not a character class.
    pattern = re.sub(r"\[", "[[]", term)
    matches = [i for i, name in enumerate(names) if name == term or fnmatch.fnmatchcase(name, pattern)]
    if not matches:
        errors.append(Diagnostic(f"no argument is called '{term}'; the names are {', '.join(names[:20])}", where))
    for i in matches:
        if tensor_info(arguments[i].type).is_float:
            chosen[i] = True
        elif len(matches) == 1:
            errors.append(_not_a_float(i, names[i], arguments[i], where))


def _not_a_float(index: int, name: str, argument: ir.Value, where: str) -> Diagnostic:
    return Diagnostic(
        f"argument {index} ('{name}') has type {argument.type} and cannot be scaled: only floating-point arguments "
        "are data * scale; leave it out of --args",
        where,
    )


def _scale_shape(
    index: int, name: str, argument: ir.Value, attributes: dict[str, ir.Attribute], errors: list[Diagnostic]
) -> tuple[int, ...]:
    if SCALE_SHAPE not in attributes:
        return ()
    shape = tuple(int(n) for n in attributes[SCALE_SHAPE])
    data = tensor_info(argument.type).shape
    if shape and (len(shape) != len(data) or any(n not in (1, m) for n, m in zip(shape, data, strict=True))):
        errors.append(
            Diagnostic(
                f"argument {index} ('{name}'): a scale of shape {list(shape)} does not broadcast to data of shape "
                f"{list(data)}; each dimension must be 1 or the data's, or the shape empty for one scale",
                describe_location(argument.location),
            )
        )
    return shape


# --- the new interface ----------------------------------------------------------------------------------------


def add_scale_arguments(rewriter: Rewriter, selection: Selection, options: ScalifyOptions) -> None:
    """Give the function its (data, scale) arguments and tell the rewriter their scales."""
    function = rewriter.function
    block = function.regions[0].blocks[0]
    old = list(block.arguments)
    names = argument_names(function)
    attributes = _attributes(function, "arg_attrs", len(old))
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
        own = {k: v for k, v in attribute.items() if k not in (SCALED, SCALE_SHAPE)}
        new_attributes.append({**own, ROLE: ir.StringAttr.get("data")})
        location = ir.Location.name(f"{name}.scale") if isinstance(argument.location, ir.NameLoc) else argument.location
        value = block.add_argument(ir.RankedTensorType.get(list(shape), element), location)
        new_attributes.append({**scale_attributes(own, len(shape)), ROLE: ir.StringAttr.get("scale")})
        # f32 scales may be zero, for tensors of zeros; E8M0 has no zero.
        symbol = rewriter.emit.as_scale(rewriter.emit.convert(value, "f32"), positive=options.scale_dtype == "e8m0")
        rewriter.define(data, ScaledValue(data, symbol))
    for _ in old:
        block.erase_argument(0)
    _set_attributes(function, "arg_attrs", new_attributes)


def scale_attributes(attributes: dict[str, ir.Attribute], rank: int) -> dict[str, ir.Attribute]:
    """Argument or result attributes of a scale, from those of its data: replicated, not donated."""
    result: dict[str, ir.Attribute] = {}
    for name, attribute in attributes.items():
        if name == "mhlo.sharding":
            result[name] = ir.StringAttr.get("{replicated}")
        elif name == "sdy.sharding":
            text = str(attribute)
            mesh = re.match(r"#sdy\.sharding<(@[\w.\"]+|mesh<.*?>)", text)
            dims = ", ".join(["{}"] * rank)
            if mesh:
                result[name] = ir.Attribute.parse(f"#sdy.sharding<{mesh[1]}, [{dims}]>")
        elif name == "jax.result_info":
            result[name] = ir.StringAttr.get(ir.StringAttr(attribute).value + ".scale")
        elif name in ("mhlo.layout_mode", "mhlo.memory_kind"):
            result[name] = attribute
    return result


def add_scale_results(rewriter: Rewriter, terminator: ir.Operation, options: ScalifyOptions) -> None:
    """Return pairs (data, scale), or recombined values, and move the attributes of results along."""
    function, emit = rewriter.function, rewriter.emit
    old = list(terminator.operands)
    attributes = _attributes(function, "res_attrs", len(old))
    operands: list[ir.Value] = []
    new_attributes: list[dict[str, ir.Attribute]] = []
    moved: dict[int, int] = {}
    element = "f8E8M0FNU" if options.scale_dtype == "e8m0" else "f32"
    for i, (value, attribute) in enumerate(zip(old, attributes, strict=True)):
        moved[i] = len(operands)
        info = tensor_info(value.type)
        scaled = rewriter.scaled.get(value)
        if options.plain_results or info.element not in options.scaled_types:
            operands.append(plain_value(rewriter, scaled) if scaled else value)
            new_attributes.append(attribute)
            continue
        data, scale = pair(rewriter, scaled, value, keep_shape=options.result_scales == "shaped")
        rank = len(tensor_info(scale.type).shape)
        operands += [data, emit.convert(scale, element)]
        own = {**attribute, ROLE: ir.StringAttr.get("data")}
        new_attributes += [own, {**scale_attributes(attribute, rank), ROLE: ir.StringAttr.get("scale")}]
    replace_terminator(terminator, operands)
    retype(function)
    _set_attributes(function, "res_attrs", new_attributes)
    _move_aliases(function, moved)


def pair(
    rewriter: Rewriter, scaled: ScaledValue | None, value: ir.Value, *, keep_shape: bool = False
) -> tuple[ir.Value, ir.Value]:
    """Data and scale of a result; the scale is made rank 0 unless `keep_shape`."""
    emit = rewriter.emit
    if scaled is None:
        return value, emit.scale_value(ONE)
    scale = scaled.scale
    if not keep_shape and not scale.is_scalar:
        from scalify_hlo.shapes import to_rank_0

        scaled = to_rank_0(rewriter, scaled)
        scale = scaled.scale
    return scaled.data, emit.scale_value(clamped(scale))


def clamped(scale: Scale) -> Scale:
    """A constant scale within the range of normal f32 numbers."""
    return Scale(max(-126.0, min(127.0, scale.exponent))) if scale.is_constant else scale


def plain_value(rewriter: Rewriter, scaled: ScaledValue) -> ir.Value:
    """data * scale in the element type of the data."""
    from scalify_hlo.plain import unscaled

    return unscaled(rewriter, scaled, element=tensor_info(scaled.data.type).element)


def _move_aliases(function: ir.Operation, moved: dict[int, int]) -> None:
    """Donation attributes name results by index; the results have moved."""
    count = len(function.regions[0].blocks[0].arguments)
    attributes = _attributes(function, "arg_attrs", count)
    i32 = ir.IntegerType.get_signless(32)
    for attribute in attributes:
        if ALIASING in attribute:
            index = ir.IntegerAttr(attribute[ALIASING]).value
            attribute[ALIASING] = ir.IntegerAttr.get(i32, moved.get(index, index))
    _set_attributes(function, "arg_attrs", attributes)
