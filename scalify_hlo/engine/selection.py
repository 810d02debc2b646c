"""Which arguments of the public function are scaled, and the shapes of their scales: options, attributes, and errors
that name every argument at fault.
"""

import dataclasses
import fnmatch
import re
from collections.abc import Mapping, Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.types import tensor_info

# Attributes by which a module says itself which arguments are scaled, and which shape the scale of an argument or
# result has; they override the options.
SCALED, PLAIN, SCALE_SHAPE = "scalify.scaled", "scalify.plain", "scalify.scale_shape"
# Of the data and the scale of a pair, in a rewritten function; and of a vector of scales (`scalify-pack-scales`).
ROLE = "scalify.role"
SCALES = "scales"
# Of data whose scale is in that vector: which element it is.
SCALE_ELEMENT = "scalify.scale_element"
# The name of an argument or result, in text without locations.
NAME = "scalify.name"
# Of an argument or result of a step in f32: the element type that the caller has decided to store it in.
STORED = "scalify.stored"
STORABLE = ("f32", "f16", "bf16")
# Of a marker `set_scaling` (unit): data beyond f16 become its largest number, for the scale fits most of them only.
SATURATES = "scalify.saturates"
# ... whose scale is a power of two times the one that the value had.
BY_POWER = "scalify.by_power_of_two"
# Of an argument that stands for a constant, from scalify-lift-weights to scalify-embed-weights: its value.
LIFTED = "scalify.value"
# Of a matrix that is handed over as its transpose.
TRANSPOSED = "scalify.transposed"
_INDICES = re.compile(r"(\d+)(?:-(\d+))?")


def result_name(attributes: Mapping[str, ir.Attribute], index: int) -> str:
    """`jax.result_info` of a result, else `result<i>`."""
    info = attributes.get("jax.result_info")
    text = ir.StringAttr(info).value if info is not None else ""
    return text or f"result{index}"


def argument_names(function: ir.Operation) -> list[str]:
    """Names of the arguments, as JAX records them in locations or as a pass has written them into an attribute.

    Where there is none it is "arg<i>", `i` counting the arguments that the program was written with: one and the same
    before and after it is rewritten. The scale of a pair has its data's name with ".scale".
    """
    arguments = list(function.regions[0].blocks[0].arguments)
    names: list[str] = []
    scales = 0
    for i, (argument, own) in enumerate(
        zip(arguments, attributes_of(function, "arg_attrs", len(arguments)), strict=True)
    ):
        location = argument.location
        if NAME in own:
            names.append(ir.StringAttr(own[NAME]).value)
        elif isinstance(location, ir.NameLoc):
            names.append(location.name_str)
        elif role_of(own) == "scale":
            names.append(f"{names[-1]}.scale")
        else:
            names.append(f"arg{i - scales}")
        scales += role_of(own) in ("scale", SCALES)
    return names


def argument_shapes(function: ir.Operation) -> dict[str, list[int]]:
    """Shapes of the arguments that the program was written with, by name: without scales and lifted constants."""
    arguments = list(function.regions[0].blocks[0].arguments)
    return {
        name: list(tensor_info(argument.type).shape)[:: -1 if TRANSPOSED in own else 1]
        for argument, name, own in zip(
            arguments, argument_names(function), attributes_of(function, "arg_attrs", len(arguments)), strict=True
        )
        if role_of(own) not in ("scale", SCALES) and LIFTED not in own
    }


def role_of(attributes: Mapping[str, ir.Attribute] | ir.DictAttr) -> str:
    """`scalify.role` of an argument or result; empty where there is none."""
    return ir.StringAttr(attributes[ROLE]).value if ROLE in attributes else ""


def attributes_of(function: ir.Operation, kind: str, count: int) -> list[dict[str, ir.Attribute]]:
    """The attributes of each argument ("arg_attrs") or result ("res_attrs")."""
    if kind not in function.attributes:
        return [{} for _ in range(count)]
    return [{named.name: named.attr for named in ir.DictAttr(d)} for d in ir.ArrayAttr(function.attributes[kind])]


@dataclasses.dataclass(frozen=True)
class Selection:
    """Which arguments are scaled, and the shape of the scale of each."""

    scaled: tuple[bool, ...]
    scale_shapes: tuple[tuple[int, ...], ...]


def select_arguments(function: ir.Operation, options: ScalifyOptions) -> Selection:
    """Apply `--args` and the argument attributes. Raises ScalifyError naming every argument at fault."""
    arguments = list(function.regions[0].blocks[0].arguments)
    names = argument_names(function)
    attributes = attributes_of(function, "arg_attrs", len(arguments))
    where = describe_location(function.location)
    errors: list[Diagnostic] = []
    chosen = [False] * len(arguments)
    if is_rewritten(function):
        _refuse_more(attributes, options, where)
        return Selection(tuple(chosen), ((),) * len(arguments))
    for term in [t.strip() for t in split_terms(options.args) if t.strip()]:
        _choose(term, chosen, arguments, names, options, where, errors)
    for i, attribute in enumerate(attributes):
        if SCALED in attribute:
            chosen[i] = True
            if not tensor_info(arguments[i].type).is_float:
                errors.append(_not_a_float(i, names[i], arguments[i], describe_location(arguments[i].location)))
        if PLAIN in attribute:
            chosen[i] = False
    by_option: dict[int, tuple[int, ...]] = {}
    for term in [t.strip() for t in split_terms(options.scale_dims) if t.strip()]:
        by_option |= _shapes_by_option(term, chosen, arguments, names, where, errors)
    shapes: list[tuple[int, ...]] = []
    for i, argument in enumerate(arguments):
        what, place = f"argument {i} ('{names[i]}')", describe_location(argument.location)
        shape = scale_shape(what, argument, attributes[i], place, errors)
        shapes.append(by_option.get(i, ()) if shape is None else shape)
    if errors:
        raise ScalifyError(errors)
    return Selection(tuple(chosen), tuple(shapes))


def is_rewritten(function: ir.Operation) -> bool:
    """Whether a function carries (data, scale) pairs already: its arguments or results have the roles of a pair."""
    return any(
        ROLE in ir.DictAttr(attributes)
        for kind in ("arg_attrs", "res_attrs")
        if kind in function.attributes
        for attributes in ir.ArrayAttr(function.attributes[kind])
    )


def _refuse_more(attributes: Sequence[dict[str, ir.Attribute]], options: ScalifyOptions, where: str) -> None:
    """Raise ScalifyError if more arguments of a rewritten function are to be scaled: its data would be scaled twice."""
    named = [term for each in split_terms(options.args) if (term := each.strip()) and term not in ("all", "none")]
    if named or any(SCALED in each for each in attributes):
        message = "this program is rewritten already (its arguments have scalify.role): rewrite the original instead"
        raise ScalifyError(Diagnostic(f"{message}, with all the arguments that are to be scaled", where))


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
    matches = _matching(term, names, where, errors)
    for i in matches:
        if tensor_info(arguments[i].type).is_float:
            chosen[i] = True
        elif len(matches) == 1 or _INDICES.fullmatch(term):
            errors.append(_not_a_float(i, names[i], arguments[i], where))


def _matching(term: str, names: Sequence[str], where: str, errors: list[Diagnostic]) -> list[int]:
    """The arguments that an index, a range of indices, a name or a glob stands for."""
    match = _INDICES.fullmatch(term)
    if match:
        first, last = int(match[1]), int(match[2] or match[1])
        count = len(names)
        if last < first:
            errors.append(Diagnostic(f"the range '{term}' is empty: write {last}-{first}", where))
        if last >= count:
            i = max(first, count)
            errors.append(
                Diagnostic(f"argument index {i} is out of range: the function has {count} arguments, "
                           f"0 to {count - 1}", where)
            )  # fmt: skip
        return list(range(first, min(last + 1, count)))
    # A bracket in an argument's name (P['w'][0]) is a bracket, not a character class.
    pattern = re.sub(r"\[", "[[]", term)
    matches = [i for i, name in enumerate(names) if name == term or fnmatch.fnmatchcase(name, pattern)]
    if not matches:
        errors.append(Diagnostic(f"no argument is called '{term}'; the names are {', '.join(names[:20])}", where))
    return matches


def _shapes_by_option(
    term: str,
    chosen: Sequence[bool],
    arguments: Sequence[ir.Value],
    names: Sequence[str],
    where: str,
    errors: list[Diagnostic],
) -> dict[int, tuple[int, ...]]:
    """The shapes of scales that a term of `--scale-dims` gives."""
    target, _, dims = term.rpartition("=")
    if not target or re.fullmatch(r"-?\d+(\+-?\d+)*", dims) is None:
        message = f"'{term}' in --scale-dims is no ARGUMENT=DIMENSION+DIMENSION..., such as 'params*=-1' or '0=0+2'"
        errors.append(Diagnostic(message, where))
        return {}
    numbers = [int(d) for d in dims.split("+")]
    matches = list(range(len(arguments))) if target == "all" else _matching(target, names, where, errors)
    shapes: dict[int, tuple[int, ...]] = {}
    for i in matches:
        data = tensor_info(arguments[i].type).shape
        reason = ""
        if not chosen[i]:
            reason = "is not scaled, so that it has no scale to give a shape; see --args"
        elif any(not -len(data) <= d < len(data) for d in numbers):
            reason = f"has type {arguments[i].type}, without the dimension {dims} of --scale-dims"
        elif any(data[d] < 0 for d in numbers):
            reason = f"has type {arguments[i].type}: a dimension of unknown size cannot have a scale for each index"
        if not reason:
            kept = {d % len(data) for d in numbers}
            shapes[i] = tuple(n if d in kept else 1 for d, n in enumerate(data))
        elif target in names or target.isdigit():
            errors.append(Diagnostic(f"argument {i} ('{names[i]}') {reason}", where))
    return shapes


def _not_a_float(index: int, name: str, argument: ir.Value, where: str) -> Diagnostic:
    return Diagnostic(
        f"argument {index} ('{name}') has type {argument.type} and cannot be scaled: only floating-point arguments "
        "are data * scale; leave it out of --args",
        where,
    )


def scale_shape(
    what: str, value: ir.Value, attributes: dict[str, ir.Attribute], where: str, errors: list[Diagnostic]
) -> tuple[int, ...] | None:
    """The shape that the attribute of an argument or result gives its scale; None where it has no such attribute."""
    if SCALE_SHAPE not in attributes:
        return None
    shape = tuple(int(n) for n in attributes[SCALE_SHAPE])
    data = tensor_info(value.type).shape
    if shape and (len(shape) != len(data) or any(n not in (1, m) for n, m in zip(shape, data, strict=True))):
        errors.append(
            Diagnostic(
                f"{what}: a scale of shape {list(shape)} does not broadcast to data of shape "
                f"{list(data)}; each dimension must be 1 or the data's, or the shape empty for one scale",
                where,
            )
        )
    return shape
