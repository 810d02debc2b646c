"""What the engine wants to know of a whole module before it starts, from one walk over it."""

import dataclasses

from scalify_hlo.analysis.single_iterations import runs_once
from scalify_hlo.bindings import ir
from scalify_hlo.engine.normal_form import SQUARE
from scalify_hlo.module.chlo_composites import COMPOSITE, is_chlo_function
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

_BETWEEN_DEVICES = names(Trait.COLLECTIVE) | {MANUAL}
# Operations whose results have the element type of an operand, or none that is a float.
_FOLLOWING = names(
    Trait.ELEMENTWISE | Trait.MOVES | Trait.ASSEMBLES,
    without=Trait.CARRIES | Trait.COMPLEX | Trait.BOUND_TO_TYPE | Trait.BODY,
) | {"stablehlo.return", "func.return"}


@dataclasses.dataclass
class Survey:
    """What was found.

    narrow: some value is of a type of less range than f32.
    scatters: there is a scatter.
    several_devices: there is per-device code, or an operation between devices. regions: per-device code.
    squares: operations that the normal form has not (see scalify_hlo.engine.normal_form).
    casts: there are conversions, and values of a type of less range.
    minima: there is a minimum, which may be half of a clip.
    loops: there is a loop. once: loops that the normal form has not.
    chlo_functions: composites that it has not (see scalify_hlo.module.chlo_composites).
    """

    narrow: bool = False
    scatters: bool = False
    several_devices: bool = False
    casts: bool = False
    minima: bool = False
    loops: bool = False
    regions: list[ir.Operation] = dataclasses.field(default_factory=list[ir.Operation])
    once: list[ir.Operation] = dataclasses.field(default_factory=list[ir.Operation])
    squares: list[ir.Operation] = dataclasses.field(default_factory=list[ir.Operation])
    chlo_functions: list[ir.Operation] = dataclasses.field(default_factory=list[ir.Operation])

    def walk(self, op: ir.Operation) -> "Survey":
        """Look at everything inside `op`."""
        for region in op.regions:
            for block in region.blocks:
                self.narrow = self.narrow or any(tensor_info(a.type).is_narrow for a in block.arguments)
                for inner in block.operations:
                    name = inner.operation.name
                    if name == SQUARE:
                        self.squares.append(inner.operation)
                    elif name == "stablehlo.minimum":
                        self.minima = True
                    if name not in _FOLLOWING:
                        self._visit(inner.operation, name)
        return self

    def _visit(self, op: ir.Operation, name: str) -> None:
        if not self.narrow:
            self.narrow = any(tensor_info(result.type).is_narrow for result in op.results)
        if name == "stablehlo.convert":
            self.casts = self.narrow
        elif name == "stablehlo.scatter":
            self.scatters = True
        elif name == "stablehlo.while":
            if runs_once(op):
                self.once.append(op)
            else:
                self.loops = True
        elif name in _BETWEEN_DEVICES:
            self.several_devices = True
            if name == MANUAL:
                self.regions.append(op)
        elif name == COMPOSITE and is_chlo_function(op):
            self.chlo_functions.append(op)
            return
        if len(op.regions):
            self.walk(op)
