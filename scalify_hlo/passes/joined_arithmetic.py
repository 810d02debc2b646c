"""What is computed of numbers in the same way is computed of a vector of them.

# f(x)_i = f(x_i)

A scale that follows its data is some twenty operations on a statistic and on other numbers, of which XLA makes a kernel
for each tensor. Equal ones are lanes of one vector.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.analysis.dependence import values_until
from scalify_hlo.bindings import ir
from scalify_hlo.emit.packed_scales import behind_barrier, elements_of, numbers_of_concatenation, vector_of
from scalify_hlo.module.constants import constant_behind, dense_value, number_behind
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.passes import emission as emit
from scalify_hlo.types import tensor_info

# As few kernels are launched apart.
_FEWEST = 4
_ELEMENTWISE = names(Trait.ELEMENTWISE, without=Trait.BODY) | {"stablehlo.bitcast_convert"}
_NUMPY = {"f32": np.float32, "i32": np.int32}
# How far behind what follows from one number alone lanes have to be alike to be taken together.
_HOPS = 2


def join_arithmetic(roots: Sequence[ir.Value], block: ir.Block, after: ir.Operation) -> None:
    """Compute what follows from numbers, and from others before them, of vectors.

    roots: f32 numbers of a block. after: the operation behind which what follows from them is computed.
    """
    alike: dict[tuple[str, ...], list[ir.Value]] = {}
    for root in roots:
        alike.setdefault(_signature(root), []).append(root)
    several = [lanes for lanes in alike.values() if len(lanes) >= _FEWEST]
    if several:
        before = values_until(block, after)
        for lanes in several:
            with ir.InsertionPoint.after(after), after.location:
                _Lanes(lanes, before).join()


def apart(vector: ir.Value, known: dict[ir.Value, list[ir.Value]]) -> list[ir.Value]:
    """The numbers of a vector, each computed by itself; none where it is computed otherwise than by elements.

    known: the numbers of vectors that were taken apart before, to which this one is added. Needs a current insertion
    point, behind the vector, and a location.
    """
    pending = [vector]
    while pending:  # operands first, without recursion
        op = defining_op(pending[-1])
        if pending[-1] in known or op is None:
            known.setdefault(pending.pop(), [])
            continue
        missing = [x for x in op.operands if x not in known] if op.name in _ELEMENTWISE else []
        if missing:
            pending += missing
            continue
        known[pending[-1]] = _numbers(op, known)
        pending.pop()
    return known[vector]


def _numbers(op: ir.Operation, known: dict[ir.Value, list[ir.Value]]) -> list[ir.Value]:
    info = tensor_info(op.results[0].type)
    if info.rank != 1 or not info.is_static:
        return []
    scalar = emit.tensor_type((), info.element)
    if op.name == "stablehlo.concatenate":
        return numbers_of_concatenation(op)
    if op.name == "stablehlo.broadcast_in_dim":
        return [op.operands[0]] * info.size if op.operands[0].type == scalar else []
    if op.name == "stablehlo.constant" and info.element in _NUMPY:
        numbers = np.broadcast_to(np.asarray(dense_value(op)), info.shape)
        return [emit.op("constant", scalar, value=ir.DenseElementsAttr.get(np.asarray(each))) for each in numbers]
    if op.name not in _ELEMENTWISE or not all(known[x] for x in op.operands):
        return []
    lanes = zip(*(known[x] for x in op.operands), strict=True)
    return [ir.Operation.create(op.name, [scalar], lane, dict(op.attributes.items())).results[0] for lane in lanes]


def _signature(root: ir.Value) -> tuple[str, ...]:
    """The operations on a number and constants, in their order, and some of what is computed of their results."""
    known, frontier, read = {root}, [root], list[str]()
    while frontier:
        further: dict[ir.Value, str] = {}
        for value in frontier:
            for op in _readers(value):
                if op.results[0] not in known and _follows(op, known):
                    further[op.results[0]] = op.name
        read += sorted(further.values())
        frontier = list(further)
        known.update(frontier)
    frontier = list(known)
    for _ in range(_HOPS):
        further = {}
        for value in frontier:
            for op in _readers(value):
                if op.results[0] not in known:
                    further[op.results[0]] = op.name
        read += ["|", *sorted(further.values())]
        frontier = list(further)
        known.update(frontier)
    return tuple(read)


def _follows(op: ir.Operation, known: set[ir.Value]) -> bool:
    """Whether an operation reads known values and constants alone."""
    return not [x for x in op.operands if x not in known and constant_behind(x) is None]


def _readers(value: ir.Value) -> list[ir.Operation]:
    """Elementwise operations on numbers that read a number, the last use first."""
    found: list[ir.Operation] = []
    for use in value.uses:
        op = use.owner.operation
        if op.name in _ELEMENTWISE and not tensor_info(op.results[0].type).rank:
            found.append(op)
    return found


@dataclasses.dataclass(eq=False)
class _Pack:
    """Results of equal operations, one of each lane. vector: of all of them."""

    members: list[ir.Value]
    vector: ir.Value


class _Lanes:
    """Equal computations, side by side. Needs a current insertion point and location."""

    def __init__(self, roots: Sequence[ir.Value], before: set[ir.Value]):
        self._before = before
        self._packs: list[_Pack] = []
        self._pack_of: list[dict[ir.Value, _Pack]] = [{} for _ in roots]
        self._add(list(roots), vector_of(roots))

    def join(self) -> None:
        """Compute the lanes together, and erase what nothing reads then."""
        done = 0
        while done < len(self._packs):  # a pack that is found gives others all that they wait for
            done = len(self._packs)
            for pack in list(self._packs):
                for op in _readers(pack.members[0]):
                    if op.results[0] not in self._pack_of[0]:
                        self._join(op)
        for pack in self._packs[1:]:
            self._hand_over(pack)
        for pack in reversed(self._packs[1:]):
            for member in pack.members:
                if not list(member.uses):
                    member.owner.operation.erase()

    def _add(self, members: list[ir.Value], vector: ir.Value) -> None:
        pack = _Pack(members, vector)
        self._packs.append(pack)
        for known, member in zip(self._pack_of, members, strict=True):
            known[member] = pack

    def _join(self, first: ir.Operation) -> None:
        """Join an operation of the first lane with its equals, if all others have one."""
        key = next(i for i, x in enumerate(first.operands) if x in self._pack_of[0])
        pack = self._pack_of[0][first.operands[key]]
        constants = [constant_behind(x) is not None for x in first.operands]
        number = self._alike(0, pack, first, key, constants).index(first)
        ops: list[ir.Operation] = []
        for lane in range(len(self._pack_of)):
            found = self._alike(lane, pack, first, key, constants)
            if len(found) <= number:
                return
            ops.append(found[number])
        vectors: list[ir.Value] = []
        for i, is_constant in enumerate(constants):
            vector = self._operand([op.operands[i] for op in ops], is_constant)
            if vector is None:
                return
            vectors.append(vector)
        type_ = emit.tensor_type([len(ops)], tensor_info(first.results[0].type).element)
        created = ir.Operation.create(first.name, [type_], vectors, dict(first.attributes.items()))
        self._add([op.results[0] for op in ops], created.results[0])

    def _alike(self, lane: int, pack: _Pack, like: ir.Operation, key: int, constants: list[bool]) -> list[ir.Operation]:
        """What reads a pack's number of a lane as an operation of the first lane does, not yet joined, in order."""
        number, attributes, known = pack.members[lane], dict(like.attributes.items()), self._pack_of[lane]
        found: list[ir.Operation] = []
        for op in _readers(number):
            if op.name != like.name or op.results[0] in known or op.operands[key] != number:
                continue
            is_alike = dict(op.attributes.items()) == attributes
            for x, of_first, is_constant in zip(op.operands, like.operands, constants, strict=True):
                if of_first in self._pack_of[0]:
                    is_alike = is_alike and known.get(x) is self._pack_of[0][of_first]
                elif x in known or x.type != of_first.type or (constant_behind(x) is not None) != is_constant:
                    is_alike = False
            if is_alike:
                found.append(op)
        return found[::-1]  # the last use comes first

    def _operand(self, members: list[ir.Value], is_constant: bool) -> ir.Value | None:
        """A vector of an operand of each lane; None where one is computed too late."""
        pack = self._pack_of[0].get(members[0])
        if pack is not None:
            return pack.vector
        element, count = tensor_info(members[0].type).element, len(members)
        numbers = [number_behind(x) for x in members] if is_constant else [None]
        if element in _NUMPY and None not in numbers:
            dense = ir.DenseElementsAttr.get(np.array(numbers, _NUMPY[element]))
            return emit.op("constant", emit.tensor_type([count], element), value=dense)
        if element != "f32" or not self._before.issuperset(members):
            return None
        if len(set(members)) == 1:
            like = emit.tensor_type([count], element)
            return emit.op("broadcast_in_dim", like, members[0], broadcast_dimensions=ir.DenseI64ArrayAttr.get([]))
        return vector_of(members)

    def _hand_over(self, pack: _Pack) -> None:
        """Let what is in no lane read elements of a vector."""
        if tensor_info(pack.vector.type).element != "f32":
            return
        joined = {member for known in self._pack_of for member in known}
        others: list[list[tuple[ir.Operation, int]]] = []
        for member in pack.members:
            uses = [(use.owner.operation, use.operand_number) for use in member.uses]
            others.append([(op, i) for op, i in uses if len(op.results) != 1 or op.results[0] not in joined])
        if not any(others):
            return
        vector = behind_barrier(pack.vector)
        for element, uses in zip(elements_of(vector, range(len(others))), others, strict=True):
            for op, i in uses:
                op.operands[i] = element
