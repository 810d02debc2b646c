"""`scalify-pack-scales`: the scales of all arguments in one vector, and those of the next call in another. Runs last.

A training step with a hundred tensors of state takes and returns a hundred numbers beside them, each a buffer that
somebody allocates, passes and frees. Packed, `(data_0, scale_0, data_1, scale_1, ...) -> (new_0, scale_0', ...)` is
`(data_0, data_1, ..., scales) -> (new_0, new_1, ..., scales')`:

- `scales` has an element for each argument with a scale of rank 0, in the order of the arguments;
- `scales'`, of as many elements, is that of the next call: the scale of the result that replaces an argument, or, where
  none does, the argument's own. A program whose results replace no argument returns no vector.

Other results, a loss for example, and scales of another shape stay pairs. Which result replaces an argument is known
from donation, and from `scalify.next`, which `scalify{mark-state=true}` leaves on arguments.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir
from scalify_hlo.emit.packed_scales import element_of, elements_of, is_packable, packed, source_of, vector_of
from scalify_hlo.engine.selection import ROLE, SCALE_ELEMENT, SCALES, attributes_of, role_of
from scalify_hlo.engine.signature import (
    ALIASING,
    move_aliases,
    public_function,
    scale_attributes,
    set_attributes,
)
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.module.constants import splat
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.function_types import replace_terminator, retype
from scalify_hlo.passes.base import Pass
from scalify_hlo.size.state import NEXT
from scalify_hlo.types import tensor_info

_INFO = "jax.result_info"


@dataclasses.dataclass(frozen=True)
class PackScales(Pass):
    """Take the scales of arguments as one vector, and return those of the next call as one."""

    name: ClassVar[str] = "scalify-pack-scales"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Packs in place; the remark says how many scales there are, and how many of them results replace."""
        layout = layout_of(public_function(module))
        pack_scales(module, layout)
        count, returned = len(layout.elements), len(layout.next_scales)
        remarks.append(Diagnostic(f"{self.name}: {count} scales in one vector, {returned} replaced", "", "remark"))


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where the scales of a rewritten function go.

    elements: the position of each argument that is a scale -> its element of the vector.
    next_scales: an element -> the position of the result that is the scale of the next call.
    length: elements of the vector: some may belong to arguments that the function does not have.
    """

    elements: Mapping[int, int]
    next_scales: Mapping[int, int]
    length: int


def layout_of(function: ir.Operation) -> Layout:
    """An element for each argument's scale of rank 0, and the results that the attributes of arguments name."""
    block = function.regions[0].blocks[0]
    results = list(terminator(block).operands)
    arguments = attributes_of(function, "arg_attrs", len(block.arguments))
    roles = [role_of(own) for own in attributes_of(function, "res_attrs", len(results))]
    elements: dict[int, int] = {}
    following: dict[int, int] = {}
    for i, own in enumerate(arguments):
        data = arguments[i - 1] if i else {}
        if role_of(own) != "scale" or role_of(data) != "data" or not is_packable(block.arguments[i]):
            continue
        named = data.get(NEXT, data.get(ALIASING))
        result = -1 if named is None else ir.IntegerAttr(named).value
        if 0 <= result < len(results) - 1 and roles[result] == "data" and is_packable(results[result + 1]):
            following[len(elements)] = result + 1
        elements[i] = len(elements)
    return Layout(elements, following, len(elements))


def pack_scales(module: ir.Module, layout: Layout) -> None:
    """Replace scales that are arguments and results of their own by elements of vectors, in place."""
    if not layout.elements:
        return
    with module.context, ir.Location.unknown(module.context):
        function = public_function(module)
        own = _pack_arguments(function, layout)
        if layout.next_scales:
            _pack_results(function, layout, own)
        retype(function)
        erase_dead(module)


def roles_of(function: ir.Operation) -> tuple[list[str], list[str]]:
    """`scalify.role` of each argument and of each result of a function."""
    block = function.regions[0].blocks[0]
    arguments = attributes_of(function, "arg_attrs", len(block.arguments))
    results = attributes_of(function, "res_attrs", len(terminator(block).operands))
    return [role_of(own) for own in arguments], [role_of(own) for own in results]


def _pack_arguments(function: ir.Operation, layout: Layout) -> list[ir.Value]:
    """Give a function the vector, as its last argument, in the place of the scales; the numbers in it."""
    block = function.regions[0].blocks[0]
    old = list(block.arguments)
    attributes = attributes_of(function, "arg_attrs", len(old))
    first = min(layout.elements)
    type_ = ir.RankedTensorType.get([layout.length], ir.RankedTensorType(old[first].type).element_type)
    location = ir.Location.name(SCALES) if isinstance(old[first].location, ir.NameLoc) else function.location
    new_attributes: list[dict[str, ir.Attribute]] = []
    for i in range(len(old)):
        if i in layout.elements:
            continue
        own = {key: value for key, value in attributes[i].items() if key != NEXT}
        if i + 1 in layout.elements:
            own[SCALE_ELEMENT] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), layout.elements[i + 1])
        new_attributes.append(own)
        old[i].replace_all_uses_with(block.add_argument(old[i].type, old[i].location))
    vector = block.add_argument(type_, location)
    new_attributes.append(_of_vector(attributes[first - 1]))
    with ir.InsertionPoint.at_block_begin(block):
        numbers = list(elements_of(vector, range(layout.length)))
    for i, element in layout.elements.items():
        old[i].replace_all_uses_with(numbers[element])
    for _ in old:
        block.erase_argument(0)
    set_attributes(function, "arg_attrs", new_attributes)
    return numbers


def _pack_results(function: ir.Operation, layout: Layout, own: list[ir.Value]) -> None:
    """Return the scales of the next call in a vector, behind all other results. own: those of this call."""
    last = terminator(function.regions[0].blocks[0])
    old = list(last.operands)
    attributes = attributes_of(function, "res_attrs", len(old))
    elements = {result: element for element, result in layout.next_scales.items()}
    kept = [i for i in range(len(old)) if i not in elements]
    i32 = ir.IntegerType.get_signless(32)
    for scale, element in elements.items():
        attributes[scale - 1][SCALE_ELEMENT] = ir.IntegerAttr.get(i32, element)
    with ir.InsertionPoint(last), last.location:
        scales = [
            source_of(old[layout.next_scales[i]]) if i in layout.next_scales else own[i] for i in range(layout.length)
        ]
        following = vector_of(scales)
        others = [i for i in kept if role_of(attributes[i]) == "scale" and is_packable(old[i])]
        for i, scale in zip(others, packed([source_of(old[i]) for i in others]), strict=True):
            old[i] = scale
    first = attributes[min(elements) - 1]
    replace_terminator(last, [*(old[i] for i in kept), following])
    set_attributes(function, "res_attrs", [*(attributes[i] for i in kept), _of_vector(first)])
    move_aliases(function, {i: place for place, i in enumerate(kept)})


def _of_vector(data: dict[str, ir.Attribute]) -> dict[str, ir.Attribute]:
    """The attributes of the vector, from those of the data of one of its scales: it is on all devices."""
    own = scale_attributes(data, (1,))
    if _INFO in own:
        own[_INFO] = ir.StringAttr.get(SCALES)
    return {**own, ROLE: ir.StringAttr.get(SCALES)}


def unpack_scales(module: ir.Module) -> None:
    """The inverse of `pack_scales`, in place: pairs of data and scale. Other modules stay as they are.

    Raises ScalifyError for vectors and elements that do not fit each other.
    """
    with module.context, ir.Location.unknown(module.context):
        function = public_function(module)
        block = function.regions[0].blocks[0]
        old = list(block.arguments)
        attributes = attributes_of(function, "arg_attrs", len(old))
        places = [i for i, own in enumerate(attributes) if role_of(own) == SCALES]
        if not places:
            return
        last = terminator(block)
        _check(function, "argument", list(old), attributes)
        _check(function, "result", list(last.operands), attributes_of(function, "res_attrs", len(last.operands)))
        scalar = ir.RankedTensorType.get([], ir.RankedTensorType(old[places[0]].type).element_type)
        scales: dict[int, ir.Value] = {}
        new_attributes: list[dict[str, ir.Attribute]] = []
        for i, (argument, own) in enumerate(zip(old, attributes, strict=True)):
            if i == places[0]:
                continue
            new_attributes.append({key: value for key, value in own.items() if key != SCALE_ELEMENT})
            argument.replace_all_uses_with(block.add_argument(argument.type, argument.location))
            if SCALE_ELEMENT in own:
                scales[ir.IntegerAttr(own[SCALE_ELEMENT]).value] = block.add_argument(scalar, argument.location)
                new_attributes.append({**scale_attributes(own, ()), ROLE: ir.StringAttr.get("scale")})
        vector = old[places[0]]
        with ir.InsertionPoint.at_block_begin(block):
            members = [scales.get(i) or splat(scalar, 1.0) for i in range(ir.RankedTensorType(vector.type).shape[0])]
            vector.replace_all_uses_with(vector_of(members))
        for _ in old:
            block.erase_argument(0)
        set_attributes(function, "arg_attrs", new_attributes)
        _unpack_results(function)
        retype(function)


def _check(
    function: ir.Operation, what: str, values: Sequence[ir.Value], attributes: Sequence[Mapping[str, ir.Attribute]]
) -> None:
    """Raise ScalifyError unless each element that attributes name is one of one vector, and none is named twice."""
    where = describe_location(function.location)
    vectors = [i for i, own in enumerate(attributes) if role_of(own) == SCALES]
    named = {i: own[SCALE_ELEMENT] for i, own in enumerate(attributes) if SCALE_ELEMENT in own}
    if len(vectors) != 1 and (vectors or named):
        message = f'scales of {what}s are elements of one vector, which has scalify.role = "scales": here are'
        raise ScalifyError(Diagnostic(f"{message} {len(vectors)}", where))
    info = tensor_info(values[vectors[0]].type) if vectors else None
    if info is not None and (info.element != "f32" or info.rank != 1 or not info.is_static):
        raise ScalifyError(Diagnostic(f"{what} {vectors[0]}, a vector of scales, is no tensor<n x f32>", where))
    seen: set[int] = set()
    for i, attribute in named.items():
        element = ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else -1
        if info is None or not 0 <= element < info.shape[0] or element in seen:
            message = f"{what} {i} has {SCALE_ELEMENT} = {attribute}: it must name an element of the vector of its own"
            raise ScalifyError(Diagnostic(message, where))
        seen.add(element)


def _unpack_results(function: ir.Operation) -> None:
    last = terminator(function.regions[0].blocks[0])
    old = list(last.operands)
    attributes = attributes_of(function, "res_attrs", len(old))
    vectors = [i for i, own in enumerate(attributes) if role_of(own) == SCALES]
    if not vectors:
        return
    operands: list[ir.Value] = []
    new_attributes: list[dict[str, ir.Attribute]] = []
    moved: dict[int, int] = {}
    with ir.InsertionPoint(last), last.location:
        for i, (value, own) in enumerate(zip(old, attributes, strict=True)):
            if i == vectors[0]:
                continue
            moved[i] = len(operands)
            operands.append(value)
            new_attributes.append({key: each for key, each in own.items() if key != SCALE_ELEMENT})
            if SCALE_ELEMENT in own:
                operands.append(element_of(old[vectors[0]], ir.IntegerAttr(own[SCALE_ELEMENT]).value))
                new_attributes.append({**scale_attributes(own, ()), ROLE: ir.StringAttr.get("scale")})
    replace_terminator(last, operands)
    set_attributes(function, "res_attrs", new_attributes)
    move_aliases(function, moved)
