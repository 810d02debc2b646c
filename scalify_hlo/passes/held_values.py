"""What the cast pass knows of each f32 value of the original module, and the types it holds it in."""

import dataclasses

import numpy as np

from scalify_hlo import budget
from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir, sdy
from scalify_hlo.module.carriers import LAYOUTS, SHARDING, sharding_of
from scalify_hlo.module.constants import CONSTANT, splat_number
from scalify_hlo.passes.emission import with_element
from scalify_hlo.types import FLOAT_RANGE, LARGEST, tensor_info

WIDE = "f32"


@dataclasses.dataclass
class Held:
    """One value that was f32 in the original module.

    raw: the SSA value, of element type `computed`. natural: the type in which it is stored for its readers.
    from_model: depends on parameters or inputs; otherwise it comes from constants, positions or random bits.
    constant: the number that all elements are, where known. magnitude: a bound, where constants give one, else 0.
    extreme: constants that stand for infinity are mixed in; no narrow type holds these and the rest of the tensor.
    transient: computed wide, and read so: it never lies in memory, or is not to be rounded there.
    in_memory: `raw` lies in memory anyway (an argument, a loop's carried value), so that reading it costs nothing.
    few: how many numbers there are of which this is computed that a product gave, at most 4 a row, or the program is
    given, one a row; 0 where there are none.
    """

    raw: ir.Value
    natural: str
    computed: str
    from_model: bool = False
    constant: float | None = None
    magnitude: float = 0.0
    extreme: bool = False
    transient: bool = False
    in_memory: bool = False
    few: int = 0
    versions: dict[tuple[str, bool], ir.Value] = dataclasses.field(default_factory=dict[tuple[str, bool], ir.Value])

    @property
    def rank(self) -> int:
        return tensor_info(self.raw.type).rank

    # x >= max(x) holds of the x that memory has, where what compares reads it
    @property
    def lies_wide(self) -> bool:
        """Whether it lies in memory in f32, as an argument, whatever products read of it."""
        return self.in_memory and self.computed == WIDE

    @property
    def is_rounded(self) -> bool:
        """Whether what is read has been rounded to the natural type, whatever type it is read in."""
        return self.computed == self.natural or not (self.in_memory or self.extreme or self.transient)

    @property
    def is_few(self) -> bool:
        """Whether it is computed of few numbers one by one, and not of what repeats them along rows."""
        return 0 < tensor_info(self.raw.type).size <= self.few

    def at(self, raw: ir.Value, *, in_memory: bool = False) -> "Held":
        """What is known of this value, for another SSA value that is the same."""
        element = tensor_info(raw.type).element
        return dataclasses.replace(self, raw=raw, computed=element, in_memory=in_memory, versions={})

    def read(self, element: str, *, exact: bool = False) -> ir.Value:
        """The value in an element type, converted right after its definition where need be.

        A value that was computed wide and is stored narrow is read back from the narrow type, as memory gives it,
        unless `exact` or unless it has no narrow form.
        """
        raw_is_good = exact or self.in_memory or self.extreme or self.transient or self.natural == self.computed
        if element == self.computed and raw_is_good:
            return self.raw
        key = (element, raw_is_good)
        if key not in self.versions:
            if self.constant is not None and fits(self.constant, element):
                self.versions[key] = _splat(self.raw, self.constant, element)
            else:
                source = self.raw if element == self.natural or raw_is_good else self.read(self.natural)
                self.versions[key] = convert(source, element)
        return self.versions[key]


def fits(number: float, element: str) -> bool:
    """Whether a number is zero, infinite, NaN or in the normal range of a float type: it remains finite there."""
    if number == 0 or not np.isfinite(number):
        return True
    high, low, mantissa = FLOAT_RANGE[element]
    return 2.0**low <= abs(number) <= LARGEST.get(element, 2.0**high * (2 - 2.0**-mantissa))


def epsilon(element: str) -> float:
    """The distance from 1 to the next number of a float type."""
    return 2.0 ** -FLOAT_RANGE[element][2]


# 1 - c^2 is 2e-6 of c = 1 - 1e-6, and 0 of what f16 makes of it
def is_next_to_1(number: float | None, element: str) -> bool:
    """Whether a number is not 1 or -1, but nearer to it than the next number of a float type."""
    return number is not None and 0 < abs(abs(number) - 1) < epsilon(element)


def is_far(held: Held) -> bool:
    """Whether a value is made of constants, one of which stands for infinity."""
    return not held.from_model and budget.EXTREME < held.magnitude < float("inf")


def iota_size(op: ir.Operation) -> float:
    """What the elements of a `stablehlo.iota` are below; 0 for any other operation."""
    if op.name != "stablehlo.iota":
        return 0.0
    dimension: int = ir.IntegerAttr(op.attributes["iota_dimension"]).value
    return float(tensor_info(op.results[0].type).shape[dimension])


def splat_value(op: ir.Operation) -> float | None:
    """The number that all elements of a `stablehlo.constant` are; None for any other operation."""
    if op.name != CONSTANT or not tensor_info(op.results[0].type).is_float:
        return None
    number = splat_number(op)
    return None if number is None else float(number)


def convert(value: ir.Value, element: str) -> ir.Value:
    """`value` converted right after its definition; itself where it has the type."""
    if tensor_info(value.type).element == element:
        return value
    type_ = with_element(value.type, element)
    ip, location = after(value)
    op = defining_op(value)
    if op is not None and op.name in LAYOUTS and tensor_info(value.type).element == WIDE:
        # c(convert(x)) = convert(c(x)): what is moved between devices is narrow. It is laid out as x is: Shardy would
        # lay it out as the constraint says, and move x.
        attributes = dict(op.attributes.items())
        source = op.operands[0]
        narrow, sharding = convert(source, element), sharding_of(source)
        converted = defining_op(narrow)
        if sharding is not None and converted is not None and converted.name == "stablehlo.convert":
            converted.attributes[SHARDING] = sdy.TensorShardingPerValueAttr.get([sharding])
        return ir.Operation.create(op.name, [type_], [narrow], attributes, loc=location, ip=ip).results[0]
    return ir.Operation.create("stablehlo.convert", [type_], [value], loc=location, ip=ip).results[0]


def after(value: ir.Value) -> tuple[ir.InsertionPoint, ir.Location]:
    """The earliest point at which `value` and its block's leading constants can be read."""
    op = defining_op(value)
    if op is not None:
        return ir.InsertionPoint.after(op), op.location
    argument = ir.BlockArgument(value)
    first = next(op for op in argument.owner.operations if op.operation.name != "stablehlo.constant")
    return ir.InsertionPoint(first), argument.location


def _splat(like: ir.Value, number: float, element: str) -> ir.Value:
    if not ir.RankedTensorType(like.type).has_static_shape:
        return convert(like, element)
    type_ = with_element(like.type, element)
    attribute = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(ir.Type.parse(element), number))
    ip, location = after(like)
    return ir.Operation.create(
        "stablehlo.constant", [type_], attributes={"value": attribute}, loc=location, ip=ip
    ).results[0]
