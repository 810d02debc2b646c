"""What `scalify_hlo.analysis.update` finds of an optimiser, and what it asks of single values."""

import dataclasses

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.module.identity import composite_name
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

_PRODUCTS = names(Trait.CONTRACTS)


@dataclasses.dataclass
class UpdateRegion:
    """What an optimiser computes, in a module whose private functions are called once each.

    values: results of the region's operations, and region arguments that carry them through loops.
    state: index of a public function's argument -> index of the result that is its new value.
    parameters, moments: the two kinds of state, by argument index.
    gradients: what flows into the region from the backward pass, tensors of rank 1 and more.
    multiplied: of the backward pass what enters as a factor of a product alone, as of R G with a root R of a statistic.
    trains: whether the module has a backward pass at all.
    multiplies: whether it has products of matrices that narrow types make faster.
    weights: of a module that has none, the arguments that are contracted with activations.
    exact: the state that a narrow type would spoil: differences of it cancel, or what it averages would be lost in it;
    and parameters of a program without any product of matrices, which gains nothing by it.
    statistics: the state that is computed of itself and of what the step is given alone.
    returned_statistics: what a step returns and reads itself that is computed of no weights, numbers among it.
    learns_numbers: whether floats of rank 0 are state.
    is_named: whether names tell the backward pass.
    """

    values: set[ir.Value] = dataclasses.field(default_factory=set[ir.Value])
    state: dict[int, int] = dataclasses.field(default_factory=dict[int, int])
    parameters: set[int] = dataclasses.field(default_factory=set[int])
    moments: set[int] = dataclasses.field(default_factory=set[int])
    gradients: list[ir.Value] = dataclasses.field(default_factory=list[ir.Value])
    multiplied: set[ir.Value] = dataclasses.field(default_factory=set[ir.Value])
    trains: bool = True
    weights: set[int] = dataclasses.field(default_factory=set[int])
    exact: set[int] = dataclasses.field(default_factory=set[int])
    multiplies: bool = True
    statistics: set[int] = dataclasses.field(default_factory=set[int])
    returned_statistics: list[ir.Value] = dataclasses.field(default_factory=list[ir.Value])
    learns_numbers: bool = False
    is_named: bool = False

    @property
    def learnt(self) -> set[int]:
        """The arguments that are weights or state, but for statistics of inputs."""
        return (self.parameters | self.moments | self.weights | self.state.keys()) - self.statistics

    @property
    def tells_inputs(self) -> bool:
        """Whether the arguments that are not learnt are inputs: of a step without state they may be weights."""
        return self.trains and (bool(self.state) or self.learns_numbers)


def is_scalar(value: ir.Value) -> bool:
    """Whether a value is a float of rank 0."""
    info = tensor_info(value.type)
    return info.is_float and not info.rank


def is_number(op: ir.Operation) -> bool:
    """Whether an operation is the product of two tensors that is a number."""
    return op.name in _PRODUCTS and not tensor_info(op.results[0].type).rank


def without_ones(value: ir.Value) -> list[int]:
    """The sizes of the dimensions that have any."""
    return [size for size in tensor_info(value.type).shape if size != 1]


def before_marker(value: ir.Value) -> ir.Value:
    """What a step or an iteration returns, before it was given another scale, which does not change the value."""
    op = defining_op(value)
    return value if op is None or composite_name(op) != "scalify.set_scaling" else op.operands[0]


def by_elimination(candidates: dict[int, set[int]]) -> dict[int, int]:
    """Argument -> result, of results of one type: p' depends on p, m and v, but m' on m alone."""
    pairs: dict[int, int] = {}
    left = dict(candidates)
    while left:
        result, arguments = min(left.items(), key=lambda item: (len(item[1] - pairs.keys()), item[0]))
        del left[result]
        if arguments - pairs.keys():
            pairs[min(arguments - pairs.keys())] = result
    return pairs


def is_tensor(value: ir.Value) -> bool:
    """Float of rank 1 or more, of a type that state is kept in: scalars are no state whose size matters."""
    info = tensor_info(value.type)
    return info.element in ("f32", "f16", "bf16") and info.rank > 0
