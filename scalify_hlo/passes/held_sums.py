"""`scalify-hold-sums`: sums of tensors that several operations read are written once, as they are stored.

A product's library call adds what it is added to, so that in the original program a residual stream, and its gradient,
is a tensor that each of its readers reads. A factor between the product and the sum, which is known at run time alone,
stops that, and XLA computes the sum again in each kernel that reads it, from the results of all products that it is
made of: a stream of n blocks is n + 1 tensors, for each reader.

# f(x + y), g(x + y) = f(z), g(z), z = x + y behind a barrier, rounded as the program rounds it for all of them

A sum of two products in f16 is in f32: to read both products costs no more than to read it, and it is not written.

Sums of state are left alone: a new state is written anyway, by the kernel that its other readers are in. State is what
a function or a loop computes a result of without a product between; inputs and targets are summed into streams like all
else. Only on one device: sums over devices have places of their own. And only where scales are not pinned.
"""

import dataclasses
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from scalify_hlo.analysis.calls import terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import MAY_CARRY, carries, layouts_folded
from scalify_hlo.module.constants import constant_behind
from scalify_hlo.module.manual import is_partitioned
from scalify_hlo.module.traits import SUMS, Trait, names
from scalify_hlo.passes.base import Pass
from scalify_hlo.types import TensorInfo, element_bits, tensor_info

_PRODUCTS = names(Trait.CONTRACTS)
# What XLA computes again in a kernel that reads it: as many elements, or fewer.
_REPEATED = names(Trait.ELEMENTWISE | Trait.MOVES, without=Trait.BODY | Trait.COLLECTIVE | Trait.SHRINKS)
_BARRIER = "stablehlo.optimization_barrier"
_CONVERT = "stablehlo.convert"
# What is computed from more tensors counts as one of its own: whether they are several is all that is asked.
_MOST = 4


class _Sources(NamedTuple):
    """Tensors that a value is computed from where it is computed again. product, state: whether one is one."""

    tensors: frozenset[ir.Value]
    product: bool
    state: bool


# What the results of a function or a region are computed from, by its block.
_Returned = dict[ir.Block, set[ir.Value]]
_NOTHING = _Sources(frozenset(), False, False)


@dataclasses.dataclass(frozen=True)
class HoldSums(Pass):
    """Have sums of products and other tensors written once where several operations read them."""

    name: ClassVar[str] = "scalify-hold-sums"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Puts barriers behind sums, in place."""
        del remarks
        if is_partitioned(module):
            return
        with module.context, ir.Location.unknown(module.context), layouts_folded(module):
            sources: dict[ir.Value, _Sources] = {}
            returned: _Returned = {}
            for op in walk(module.operation):
                _visit(op, sources, returned)


def _visit(op: ir.Operation, sources: dict[ir.Value, _Sources], returned: _Returned) -> None:
    """Note what the results of an operation are computed from, and hold it if it is a sum to be held."""
    name = op.name
    results = [] if name == "stablehlo.constant" else list(op.results)
    if not results:
        return
    repeated = name in _REPEATED or (name != _BARRIER and name in MAY_CARRY and carries(op))
    for result in results:
        info = tensor_info(result.type)
        if not info.element:  # a token is no tensor
            return
        repeated = repeated and info.is_static
    of = tensor_info(results[0].type)
    if not repeated:
        for result in results:
            sources[result] = _Sources(frozenset({result}), name in _PRODUCTS, False)
        return
    parts: list[_Sources] = []
    tensors: set[ir.Value] = set()
    product = state = False
    for operand in op.operands:
        part = _sources(operand, of, sources, returned)
        parts.append(part)
        tensors |= part.tensors
        product, state = product or part.product, state or part.state
    found = _Sources(frozenset(tensors if len(tensors) <= _MOST else results[:1]), product, state)
    for result in results:
        sources[result] = found
    if name not in SUMS or not of.is_float or found.state or not found.product:
        return
    first, second = (part.tensors for part in parts)
    if not first or not second or first == second or len(tensors) < 2:
        return
    held = _held(results[0], tensors)
    if held is not None:
        sources[held] = _Sources(frozenset({held}), False, False)


def _sources(value: ir.Value, of: TensorInfo, sources: dict[ir.Value, _Sources], returned: _Returned) -> _Sources:
    """What an operand is computed from; nothing, for one that is much smaller than the result."""
    info = tensor_info(value.type)
    if not info.element:
        return _NOTHING
    if info.is_static and 2 * info.size <= of.size:
        return _NOTHING
    found = sources.get(value)
    if found is None and isinstance(owner := value.owner, ir.Block):
        state = returned.get(owner)
        if state is None:
            state = returned[owner] = _state(owner)
        found = sources[value] = _Sources(frozenset({value}), False, value in state)
    return found or _NOTHING


def _state(block: ir.Block) -> set[ir.Value]:
    """What results of a function or a region are computed from where they are computed again, arguments among it."""
    found: set[ir.Value] = set()
    left: list[ir.Value] = list(terminator(block).operands)
    while left:
        value = left.pop()
        if value in found:
            continue
        found.add(value)
        owner = value.owner
        if not isinstance(owner, ir.Block) and (owner.name in _REPEATED or owner.name in MAY_CARRY):
            left.extend(owner.operands)
    return found


def _held(value: ir.Value, tensors: Iterable[ir.Value]) -> ir.Value | None:
    """Put a barrier behind a sum, or behind what it is rounded to; None if it is not to be written.

    tensors: what it is computed from, as large as the sum or larger.
    """
    users = [use.owner.operation for use in value.uses]
    while len(users) == 1 and _is_between(users[0]):
        value = users[0].results[0]
        users = [use.owner.operation for use in value.uses]
    if len(set(users)) < 2 or any(_rounds(user) for user in users):
        return None
    if sum(_bits(tensor) for tensor in tensors) <= _bits(value):
        return None
    return _barrier(value)


def _bits(value: ir.Value) -> int:
    """How many bits a tensor has."""
    info = tensor_info(value.type)
    return info.size * element_bits(info.element)


def _rounds(op: ir.Operation) -> bool:
    """Whether an operation rounds to a type of less range: of such a sum XLA writes the rounded form."""
    return op.name == _CONVERT and tensor_info(op.results[0].type).is_narrow


def _is_between(op: ir.Operation) -> bool:
    """Whether an operation stands between a sum and what is stored of it."""
    return op.name == _CONVERT or (op.name == "stablehlo.multiply" and _is_factor(op)) or carries(op)


def _is_factor(op: ir.Operation) -> bool:
    """Whether an operation multiplies by a constant: a power of two, in front of what rounds."""
    return any(constant_behind(operand) is not None for operand in op.operands)


def _barrier(value: ir.Value) -> ir.Value:
    with ir.InsertionPoint.after(value.owner), value.owner.location:
        op = ir.Operation.create(_BARRIER, [value.type], [value])
    for use in list(value.uses):
        if use.owner.operation != op:
            use.owner.operation.operands[use.operand_number] = op.results[0]
    return op.results[0]
