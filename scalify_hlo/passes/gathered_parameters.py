"""Where values that are computed of a parameter, element by element, are gathered from several devices.

# gather(f(x)) = f(gather(x)) for f of each element

A parameter is cut over devices (ZeRO-3), and an operation needs all of what a function of it is: decay rates
exp(p), which meet activations that are cut along the batch. What is moved can be the parameter itself, in the type that
it has or is rounded to: its data are of unit size, where f(x) may be beyond the types that are narrower than f32. What
a loop does not change is gathered once, before it.
"""

import dataclasses

from scalify_hlo.analysis.calls import terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import LAYOUTS, SHARDING, constrain
from scalify_hlo.module.propagation import Axes, Propagated
from scalify_hlo.module.traits import Trait, has, names
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.device_sums import BYTES, is_number
from scalify_hlo.types import tensor_info

_BROADCAST, _CONVERT, _WHILE = "stablehlo.broadcast_in_dim", "stablehlo.convert", "stablehlo.while"
_SLICES = ("stablehlo.slice", "stablehlo.dynamic_slice")
_SAME_PLACES = names(Trait.ELEMENTWISE) | LAYOUTS | {"stablehlo.transpose", "stablehlo.reshape", _BROADCAST}
# An operation, and the place of one of its operands.
_Operand = tuple[ir.Operation, int]


@dataclasses.dataclass(frozen=True, eq=False)
class _Value:
    """What is computed of one root, element by element, and of numbers.

    root: the parameter, or the part of it that a loop takes. dimensions: of the root, by those of the value; None for
    dimensions of one element that came to it. enters: the operand as which it goes into the outermost loop that it is
    computed in, which does not change it.
    """

    root: ir.Value
    dimensions: tuple[int | None, ...]
    enters: _Operand | None = None


@dataclasses.dataclass(frozen=True)
class Gathered:
    """What is computed of a root and gathered for an operation.

    use: the operand that is to be computed of the gathered root. cut, needed: how the root is cut, and how it has to be
    for the operation. rounded: whether something is rounded that is computed of what is gathered.
    """

    root: ir.Value
    use: _Operand
    cut: Axes
    needed: Axes
    rounded: bool


class GatheredParameters:
    """What is gathered of parameters for results that are rounded to `narrow` or less, and for others with it."""

    def __init__(self, parameters: list[ir.Value], known: Propagated, narrow: str):
        self._known, self._narrow = known, narrow
        self._values: dict[ir.Value, _Value] = {}
        found: list[Gathered] = []
        left = list(parameters)
        self._values.update((value, _rooted(value)) for value in parameters)
        while left:
            value = left.pop()
            for use in value.uses:
                following, gathered = self._followed(self._values[value], (use.owner.operation, use.operand_number))
                found += gathered
                for result, own in following:
                    if result not in self._values:
                        self._values[result] = own
                        left.append(result)
        rounded = {(each.root, each.needed) for each in found if each.rounded}
        self.found = [each for each in found if (each.root, each.needed) in rounded]

    def round_before(self) -> None:
        """Gather the roots in the narrower type, and compute of them what was gathered before."""
        rounded: dict[tuple[ir.Value, Axes], dict[ir.Value, ir.Value]] = {}
        for each in self.found:
            computed = rounded.setdefault((each.root, each.needed), {})
            if each.root not in computed:
                computed[each.root] = self._narrowed(each)
            user, index = each.use
            user.operands[index] = self._computed(user.operands[index], computed)

    def _narrowed(self, each: Gathered) -> ir.Value:
        """A root as it is gathered in the narrower type, widened again."""
        element = tensor_info(each.root.type).element
        own = each.root
        if BYTES[element] > BYTES[self._narrow]:
            with _behind(own), _location(own):
                own = emit.convert(own, self._narrow)
        for layout in (each.cut, each.needed):
            own = constrain(own, self._known.sharding(layout), _behind(own))
        with _behind(own), _location(each.root):
            return emit.convert(own, element)

    def _computed(self, value: ir.Value, computed: dict[ir.Value, ir.Value]) -> ir.Value:
        """A value, computed of the root that was gathered; of others that are as they are."""
        if value in computed or value not in self._values:
            return computed.get(value, value)
        op = value.owner.operation
        if op.name in LAYOUTS:  # how it was cut
            computed[value] = self._computed(op.operands[0], computed)
            return computed[value]
        copy = op.clone(ir.InsertionPoint.after(op))
        if SHARDING in copy.attributes:
            del copy.attributes[SHARDING]
        for i, operand in enumerate(op.operands):
            copy.operands[i] = self._computed(operand, computed)
        computed[value] = copy.results[0]
        return computed[value]

    def _followed(self, own: _Value, use: _Operand) -> tuple[list[tuple[ir.Value, _Value]], list[Gathered]]:
        """What is computed of a value by one operation, and what is gathered for that."""
        op, index = use
        if op.name == _WHILE:
            body = op.regions[1].blocks[0]
            argument, back = body.arguments[index], terminator(body)
            kept = back.operands[index] == argument
            return [(argument, dataclasses.replace(own, enters=own.enters or use))] if kept else [], []
        layout = self._known.layouts.get(op.results[0]) if len(op.results) == 1 else None
        if layout is None or (op.name == _CONVERT and not _widens(op)):
            return [], []
        cut, result = layout.operands[index], layout.results[0]
        if cut is None or result is None:
            return [], []
        if op.name in _SLICES and index == 0:
            return [(op.results[0], _rooted(op.results[0]))] if cut == result else [], []
        places = _places(op, index)
        if places is None:
            return [], []
        shape, root = tensor_info(op.operands[index].type).shape, self._root_layout(own.root)
        needed = tuple(result[place] if size != 1 else () for size, place in zip(shape, places, strict=True))
        if needed == cut or root is None:
            return [(op.results[0], each) for each in self._joined(op, places)], []
        mine = {d: axes for d, axes in zip(own.dimensions, needed, strict=True) if d is not None}
        whole = tuple(axes if mine.get(d) == axes else () for d, axes in enumerate(root))
        wide = BYTES.get(tensor_info(op.operands[index].type).element, 0)
        if whole == root or wide <= min(BYTES[self._narrow], BYTES[tensor_info(own.root.type).element]):
            return [], []
        rounded = _is_rounded(op.results[0], self._narrow)
        return [], [Gathered(own.root, own.enters or use, root, whole, rounded)]

    def _joined(self, op: ir.Operation, places: tuple[int, ...]) -> list[_Value]:
        """What a result is where all operands are of one root, or numbers; none where it is of others, or larger."""
        result = tensor_info(op.results[0].type)
        if result.element not in BYTES and result.element != "i1":
            return []
        operands = [x for x in op.operands if not is_number(x) and tensor_info(x.type).rank]
        known = [self._values[x] for x in operands if x in self._values]
        first = known[0]
        alike = all((x.root, x.dimensions, x.enters) == (first.root, first.dimensions, first.enters) for x in known)
        if len(known) != len(operands) or not alike or result.size != tensor_info(operands[0].type).size:
            return []
        dimensions: list[int | None] = [None] * result.rank
        for d, place in zip(first.dimensions, places, strict=True):
            dimensions[place] = d
        return [dataclasses.replace(first, dimensions=tuple(dimensions))]

    def _root_layout(self, root: ir.Value) -> Axes | None:
        """How a root is cut, as an operation that reads it sees it."""
        if isinstance(root, ir.OpResult):
            layout = self._known.layouts.get(root)
            return None if layout is None else layout.results[0]
        for use in root.uses:
            op = use.owner.operation
            layout = self._known.layouts.get(op.results[0]) if len(op.results) else None
            index: int = use.operand_number
            if layout is not None:
                return layout.operands[index]
        return None


def _rooted(value: ir.Value) -> _Value:
    return _Value(value, tuple(range(tensor_info(value.type).rank)))


def _places(op: ir.Operation, index: int) -> tuple[int, ...] | None:
    """The dimension of the result for each of an operand's; None where elements do not stay in their places."""
    if op.name == _BROADCAST:
        return tuple(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
    if op.name in LAYOUTS or has(op.name, Trait.ELEMENTWISE):
        rank = tensor_info(op.operands[index].type).rank
        return tuple(range(rank)) if rank == tensor_info(op.results[0].type).rank else None
    return None


def _is_rounded(value: ir.Value, narrow: str) -> bool:
    """Whether something that is computed of a value, element by element, is rounded to `narrow` or less."""
    seen, left = {value}, [value]
    while left:
        for use in left.pop().uses:
            op = use.owner.operation
            if op.name == _CONVERT and BYTES.get(tensor_info(op.results[0].type).element, 1) <= BYTES[narrow]:
                return True
            if op.name in _SAME_PLACES and tensor_info(op.results[0].type).element in BYTES:
                left += [result for result in op.results if result not in seen]
                seen.update(op.results)
    return False


def _widens(convert: ir.Operation) -> bool:
    own, result = (tensor_info(x.type).element for x in (convert.operands[0], convert.results[0]))
    return BYTES.get(own, 8) <= BYTES.get(result, 0)


def _behind(value: ir.Value) -> ir.InsertionPoint:
    if isinstance(value, ir.OpResult):
        return ir.InsertionPoint.after(value.owner.operation)
    return ir.InsertionPoint.at_block_begin(ir.BlockArgument(value).owner)


def _location(value: ir.Value) -> ir.Location:
    return value.owner.operation.location if isinstance(value, ir.OpResult) else ir.Location.unknown()


def state_of(module: ir.Module, mark: str) -> list[ir.Value]:
    """The arguments of public functions that are state, in 16 bits or more. mark: the attribute that all state has."""
    found: list[ir.Value] = []
    for op in walk(module.operation):
        if op.name == "func.func" and "arg_attrs" in op.attributes and op.regions[0].blocks:
            given = zip(op.regions[0].blocks[0].arguments, ir.ArrayAttr(op.attributes["arg_attrs"]), strict=True)
            for argument, attributes in given:
                info = tensor_info(argument.type)
                if info.rank and info.element in BYTES and mark in ir.DictAttr(attributes):
                    found.append(argument)
    return found
