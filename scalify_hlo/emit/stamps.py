"""What `--print-rules` writes on operations, and how it outlives them.

A result may be carried as data and computed as value beside it; whichever of the two nothing reads is erased at the
end, and what was stamped on it goes to the other.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from scalify_hlo.bindings import ir
from scalify_hlo.module.identity import identity
from scalify_hlo.types import tensor_info

# Why a scale is what it is, beside the rule's law. docs/numerics.md explains each.
Reason = Literal[
    "any", "average", "block", "bound", "budget", "constant", "larger", "max at run time", "polynomial", "range",
    "settled", "shared", "stream", "update",
]  # fmt: skip
REASONS: tuple[Reason, ...] = get_args(Reason)
# The rule's law alone: a function of the operands' scales.
BY_LAW = "law"
# How a remark on a scale with another reason begins.
REMARK = "scale by: "
# Of an operation that computes the value, data * scale, and not the data.
VALUE = "value"

RULE, SCALE, REASON, BLOCK, FORM = (f"scalify.{name}" for name in ("rule", "scale", "reason", "block", "form"))
# Of an operation that no operation of the program has become: the one that it was emitted for, and why.
FOR = "scalify.for"
STAMPS = (RULE, SCALE, REASON, BLOCK, FORM)


@dataclasses.dataclass(frozen=True, slots=True)
class Stamped:
    """A stamped operation, by its identity, and who can take its place: what computes its data, or the value.

    cache, value: the cache of the scope, and under what it has the value, if it is computed at all.
    """

    key: int
    cache: Mapping[Any, Any]
    value: tuple[Any, ...]
    data: ir.Value


class Inheritance:
    """Who takes over the stamps of an operation that is erased. Made before anything is erased."""

    def __init__(self, stamped: Iterable[Stamped]):
        self._heirs: dict[int, list[tuple[int, ir.Operation, bool]]] = {}
        self._left: list[tuple[int, dict[str, ir.Attribute]]] = []
        for each in stamped:
            heirs = self._heirs[each.key] = []
            for value, is_value in ((each.data, False), (each.cache.get(each.value), True)):
                if isinstance(value, ir.OpResult) and identity(value.owner.operation) != each.key:
                    op = value.owner.operation
                    heirs.append((identity(op), op, is_value))

    def note(self, key: int, op: ir.Operation) -> None:
        """An operation, whose identity is `key`, is about to be erased."""
        if self._heirs.get(key) and RULE in op.attributes:
            self._left.append((key, stamps_of(op)))

    def settle(self, erased: set[int]) -> None:
        """Everything is erased whose identity is given: stamps go to the first heir that is left and has none."""
        for key, attributes in self._left:
            for heir, op, is_value in self._heirs[key]:
                if heir not in erased and RULE not in op.attributes:
                    form = {FORM: ir.StringAttr.get(VALUE)} if is_value else {}
                    put_stamps(op, attributes | form)
                    break


def stamps_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The stamps of an operation, by name."""
    attributes = op.attributes
    return {name: attributes[name] for name in STAMPS if name in attributes}


def put_purpose(emitted: Iterable[ir.Operation], purpose: str) -> None:
    """Say of operations on floats that no operation of the program has become what they were emitted for."""
    text = ir.StringAttr.get(purpose)
    for op in emitted:
        attributes = op.attributes
        is_float = len(op.results) == 1 and tensor_info(op.results[0].type).is_float
        if is_float and op.name != "stablehlo.constant" and RULE not in attributes and FOR not in attributes:
            attributes[FOR] = text


def put_stamps(op: ir.Operation, stamps: Mapping[str, ir.Attribute]) -> None:
    """Stamp an operation with what another one had."""
    attributes = op.attributes
    for name, attribute in stamps.items():
        attributes[name] = attribute
    if FOR in attributes:
        del attributes[FOR]
