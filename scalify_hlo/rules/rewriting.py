"""What rules see of the rewriting of a function: the driver (scalify_hlo.engine.rewriter) stands above them."""

from collections.abc import Callable
from typing import Protocol

from scalify_hlo.analysis.intervals import Divisor
from scalify_hlo.bindings import ir
from scalify_hlo.emit.emitter import Emitter, Scope
from scalify_hlo.emit.narrow_products import Product
from scalify_hlo.emit.shared_sums import Sum
from scalify_hlo.errors import Diagnostic
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.recognition.free_choices import FreeChoice
from scalify_hlo.recognition.laws import Law
from scalify_hlo.rules.signatures import Signature, Specialised
from scalify_hlo.rules.values import PlainFacts, ScaledValue
from scalify_hlo.size.moments import Moments
from scalify_hlo.size.polynomials import PolynomialSum
from scalify_hlo.size.state import StateSum


class Undo(Protocol):
    """The undo log of a speculative rewriting: one of the two is called at its end."""

    def keep(self) -> None:
        """The rewriting stands."""
        ...

    def discard(self) -> None:
        """The rewriting is taken back; the caller erases its operations."""
        ...


class Functions(Protocol):
    """All functions of the module that is rewritten, and what was found wrong."""

    module: ir.Module
    narrow: bool
    has_layouts: bool
    several_devices: bool
    errors: list[Diagnostic]
    remarks: list[Diagnostic]
    by_name: dict[str, ir.Operation]
    tensors: list[tuple[ir.Value, ir.Value]] | None
    everywhere: set[ir.Value]
    any_number: bool  # scales may be other numbers than powers of two

    def new_channel(self) -> ir.Attribute:
        """A channel between devices that no other operation has."""
        ...

    def callee(self, op: ir.Operation) -> str | None:
        """The function that a call or a composite refers to."""
        ...

    def called(self, op: ir.Operation) -> ir.Operation | None:
        """The function that a call or a composite refers to, if the module has it."""
        ...

    def marker_name(self, op: ir.Operation) -> str | None:
        """The name of a marker."""
        ...

    def contains_marker(self, op: ir.Operation) -> bool:
        """Whether a marker occurs inside `op` or a function that it calls."""
        ...

    def calls_marker(self, op: ir.Operation) -> bool:
        """Whether `op` is a marker or calls a function that contains one."""
        ...

    def facts_of(self, value: ir.Value) -> PlainFacts:
        """Compile-time facts of a value, whichever function it is in."""
        ...

    def specialise(self, callee: str, signature: Signature) -> Specialised:
        """The function rewritten for arguments of this signature."""
        ...


class Rewriting(Protocol):
    """The rewriting of one function body. scaled: the scaled forms of its values, as far as they are known."""

    function: ir.Operation
    options: ScalifyOptions
    functions: Functions
    emit: Emitter
    paper: bool
    narrow: bool
    scaled: dict[ir.Value, ScaledValue]
    laws: dict[ir.Value, Law]
    state_sums: dict[ir.Value, StateSum]
    nonnegative_states: set[ir.Value]
    returned_states: dict[ir.Block, frozenset[int]]
    polynomials: dict[ir.Value, PolynomialSum]
    range_reductions: set[ir.Value]
    replaced_numbers: set[ir.Value]
    stand_ins: set[ir.Value]
    free_choices: dict[ir.Value, FreeChoice]
    bounded_divisors: dict[ir.Value, Divisor]
    sums: list[Sum]
    products: list[Product]
    copies: list[ir.Operation]
    dead: list[ir.Operation]
    settled: set[ir.Value]  # see `mark_settled`
    held: set[ir.Value]  # carried by a loop that brings them back to the scale that they have

    @property
    def slack(self) -> float:
        """log2 of how far data of types with the range of f32 may come from unit scaling."""
        ...

    def define(self, value: ir.Value, scaled: ScaledValue) -> None:
        """Record the scaled form of a value of the original program."""
        ...

    def as_scaled(self, value: ir.Value) -> ScaledValue:
        """The scaled form of any value: a plain one gets a constant scale from what is known of it."""
        ...

    def facts_of(self, value: ir.Value) -> PlainFacts:
        """Compile-time facts of a plain value."""
        ...

    def moments(self, moments: Moments) -> Moments:
        """Moments as the rules may use them: the paper's rules assume unit Gaussians."""
        ...

    def visit(self, op: ir.Operation) -> None:
        """Rewrite one operation in place."""
        ...

    def block(self, block: ir.Block) -> ir.Operation:
        """Rewrite the operations of a block in order; the terminator is left to the caller and returned."""
        ...

    def in_block(self, block: ir.Block, anchor: ir.Operation, action: Callable[[ir.Operation], None],
                 *, isolated: bool = False) -> Scope:  # fmt: skip
        """Rewrite a block, then emit what `action` (given the terminator) needs at its end; returns its scope."""
        ...

    def at_end(self, terminator: ir.Operation, scope: Scope, action: Callable[[ir.Operation], None]) -> None:
        """Emit at the end of a block that `in_block` has rewritten."""
        ...

    def attempt(self) -> Undo:
        """Start a rewriting that may be taken back (a loop body before its fixpoint)."""
        ...

    def mark_carried(self, value: ir.Value) -> None:
        """Note that a block argument is carried by a loop."""
        ...

    def is_carried(self, value: ir.Value) -> bool:
        """Whether a value is carried by a loop."""
        ...

    def mark_settled(self, value: ir.Value) -> None:
        """Note that a loop leaves a value at the scale that it has: what is added or written is brought to it."""
        ...

    def laid_out(self, data: ir.Value, sharding: ir.Attribute) -> ir.Value | None:
        """Data that take the place of a result, laid out over devices as that was to be; None if they cannot be."""
        ...
