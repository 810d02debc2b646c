"""JAX's name stack, which arrives as the named location of each operation.

`jit(step)/jvp()/dot_general` is a forward operation of a differentiated function and
`jit(step)/transpose(jvp())/dot_general` a backward one. Inside a private function names are relative to the
call, in per-device code (`shard_map`) to the region, and what `jax.checkpoint` recomputes during the backward pass
has `rematted_computation` in its name. Of nested derivatives the outermost stands first.
"""

import enum
import re

from scalify_hlo.analysis.calls import CallGraph
from scalify_hlo.bindings import ir
from scalify_hlo.module.manual import MANUAL, parent

_RECOMPUTED = "rematted_computation"
_DERIVATIVE = re.compile(r"\b(?:transpose|jvp)\(")


class Direction(enum.Enum):
    """The side of differentiation on which an operation stands, as far as its name tells."""

    FORWARD = "forward"
    BACKWARD = "backward"
    # No autodiff transformation in the name: the optimiser, data preparation, or names were stripped.
    OUTSIDE = "outside"


def own_name(op: ir.Operation) -> str:
    """The outermost named location of one operation, relative to its function; empty where there is none."""
    location = op.location
    for _ in range(16):
        if isinstance(location, ir.NameLoc):
            return location.name_str
        if isinstance(location, ir.CallSiteLoc):
            location = location.callee
        elif isinstance(location, ir.FusedLoc) and location.locations:
            location = location.locations[0]
        else:
            break
    return ""


def argument_name(argument: ir.BlockArgument) -> str:
    """The name of a function argument (`P['blocks'][0]['w1']`); empty where JAX recorded none."""
    location = argument.location
    return location.name_str if isinstance(location, ir.NameLoc) else ""


class NameStacks:
    """Full name stacks: an operation's own name behind the names of the calls that lead to it."""

    def __init__(self, calls: CallGraph):
        self._calls = calls
        self._prefixes: dict[str, str] = {}
        self._is_flat = not calls.sites and not calls.has_meshes
        self._directions: dict[str, Direction] = {}  # of full names: operations of one layer share theirs

    def full_name(self, op: ir.Operation) -> str:
        """Name stack from the outermost function, by way of the first call where a function has several."""
        if self._is_flat:
            return own_name(op)
        function = self._calls.enclosing_function(op)
        name = own_name(op)
        region = self._region_around(op) if self._calls.has_meshes else None
        while region is not None:
            outer = own_name(region)
            name = f"{outer}/{name}" if outer and name else outer or name
            region = self._region_around(region)
        prefix = self._prefix(function) if function is not None else ""
        return f"{prefix}/{name}" if prefix and name else prefix or name

    def direction(self, op: ir.Operation) -> Direction:
        """Forward or backward side of differentiation; see the module's docstring."""
        name = own_name(op) if self._is_flat else self.full_name(op)
        found = self._directions.get(name)
        if found is None:
            found = self._directions[name] = direction_of(name)
        return found

    def tells_derivatives(self, op: ir.Operation) -> bool:
        """Whether the operation has a name, given by JAX when it traced the function, that has every derivative in it.

        JAX before 0.7, which calls the traced function `main`, writes no derivative of what has no name itself.
        """
        name = self.full_name(op)
        return name.startswith("jit(") and "/jit(main)" not in name

    def _region_around(self, op: ir.Operation) -> ir.Operation | None:
        """The per-device code that an operation is in, within its function."""
        above = parent(op)
        while above is not None and above.name not in (MANUAL, "func.func"):
            above = parent(above)
        return above if above is not None and above.name == MANUAL else None

    def _prefix(self, function: str) -> str:
        if function not in self._prefixes:
            self._prefixes[function] = ""  # guards against recursion, which StableHLO does not allow anyway
            sites = self._calls.sites.get(function)
            self._prefixes[function] = self.full_name(sites[0]) if sites else ""
        return self._prefixes[function]


def direction_of(name: str) -> Direction:
    """The side of differentiation that a name stack tells: of the outermost, where a derivative is differentiated.

    # jvp(transpose(jvp(u))): a derivative of u that the loss is computed from is a value of the forward pass
    """
    outermost = _DERIVATIVE.search(name)
    if outermost is None:
        return Direction.OUTSIDE
    return Direction.FORWARD if outermost[0] == "jvp(" or _RECOMPUTED in name else Direction.BACKWARD


def is_recomputed(name: str) -> bool:
    """Whether a name stack is of what the forward pass had computed already (`jax.checkpoint`)."""
    return _RECOMPUTED in name
