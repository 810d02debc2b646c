"""What `scalify_hlo.analysis.update` finds of an optimiser."""

import dataclasses

from scalify_hlo.bindings import ir


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
