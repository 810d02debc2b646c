"""Blocks under rewriting, and emission at other places of them than the current one."""

import dataclasses
from typing import TYPE_CHECKING, Any

from scalify_hlo.bindings import ir

if TYPE_CHECKING:
    from scalify_hlo.emit.operation_emitter import OperationEmitter


@dataclasses.dataclass(slots=True)
class Scope:
    """One block under rewriting. `anchor` is the operation of the parent scope that owns the block."""

    block: ir.Block
    depth: int
    parent: "Scope | None" = None
    anchor: ir.Operation | None = None
    isolated: bool = False  # values of the parent must not be used here (reducers, comparators)
    cache: dict[Any, Any] = dataclasses.field(default_factory=dict[Any, Any])
    emitted: list[ir.Operation] = dataclasses.field(default_factory=list[ir.Operation])

    @property
    def is_isolated(self) -> bool:
        """Whether the block, or one around it, computes on single elements (a reducer, a comparator)."""
        return self.isolated or (self.parent is not None and self.parent.is_isolated)


class At:
    """Context manager: emit at another insertion point and scope, then come back."""

    __slots__ = ("emitter", "ip", "saved", "scope")

    def __init__(self, emitter: "OperationEmitter", ip: ir.InsertionPoint, scope: Scope):
        self.emitter, self.ip, self.scope = emitter, ip, scope

    def __enter__(self) -> None:
        self.saved = self.emitter.ip, self.emitter.scope
        self.emitter.ip, self.emitter.scope = self.ip, self.scope

    def __exit__(self, *_: object) -> None:
        self.emitter.ip, self.emitter.scope = self.saved
