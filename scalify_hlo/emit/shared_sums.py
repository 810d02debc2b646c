"""Sums whose data several operations want: (a + b) / s becomes a / s + b / s.

XLA computes a sum of two full-size tensors once, but repeats an operation with a single full-size operand, as the
division of the sum by a scale is, in every kernel that reads its result, and with it whatever is fused into it
(xla/service/instruction_fusion.cc, ComputeGloballyUnfusible: "effectively at most unary"). The gradient through GELU
was computed three times in a step of GPT-2, and the moments of Adam twice.

Scales are powers of two, so that no bit changes unless it is below the smallest normal number.
"""

import dataclasses
from collections.abc import Iterable

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.emit.stamps import FOR, FORM, put_stamps, stamps_of
from scalify_hlo.module.carriers import SHARDING
from scalify_hlo.module.identity import identity

_TERMINATORS = frozenset({"func.return", "stablehlo.return"})


@dataclasses.dataclass(frozen=True, slots=True)
class Sum:
    """A sum of static shape on values and its quotient by a scale, the data; with their identities, which outlive them.

    Of other shapes, operations between the two read the sum's size.
    """

    sum: ir.Operation
    quotient: ir.Operation
    identities: tuple[int, int]


def noted(sum_: ir.Operation, quotient: ir.Operation) -> Sum:
    """A sum that `share_sums` is to look at once the function is rewritten."""
    return Sum(sum_, quotient, (identity(sum_), identity(quotient)))


def share_sums(sums: Iterable[Sum], erased: set[int]) -> None:
    """Distribute the division over the terms of sums whose data have several uses.

    erased: identities of operations that exist no more.
    """
    for found in sums:
        if erased.isdisjoint(found.identities):
            _share(found.sum, found.quotient)


def _share(sum_: ir.Operation, quotient: ir.Operation) -> None:
    users = [use.owner.operation for use in quotient.results[0].uses]
    others = sum(1 for _ in sum_.results[0].uses) - 1
    if others and not any(user.name in _TERMINATORS for user in users):
        return
    if not others and len(users) < 2:
        return
    divisor = quotient.operands[1]
    name, type_ = quotient.name, quotient.results[0].type
    if any(value.type != type_ for value in (*sum_.operands, divisor)):
        return  # more is known of the shape of one than of another
    with ir.InsertionPoint(quotient), quotient.location:
        terms = [
            _data_of(term, divisor) or ir.Operation.create(name, [type_], [term, divisor]).results[0]
            for term in sum_.operands
        ]
        shared = ir.Operation.create(sum_.name, [type_], terms)
        put_stamps(shared, {name: stamp for name, stamp in stamps_of(sum_).items() if name != FORM})
        for op in (sum_, quotient):
            if SHARDING in op.attributes:
                shared.attributes[SHARDING] = op.attributes[SHARDING]
        data = shared.results[0]
        # What is written to memory anyhow is read again, not computed again.
        value = ir.Operation.create("stablehlo.multiply", [type_], [data, divisor]).results[0] if others else None
    if FOR in quotient.attributes:
        for result in (*terms, *([value] if value is not None else [])):
            made = defining_op(result)
            if made is not None and divisor in list(made.operands):
                made.attributes[FOR] = quotient.attributes[FOR]
    quotient.results[0].replace_all_uses_with(data)
    quotient.erase()
    if value is not None:
        sum_.results[0].replace_all_uses_with(value)
    sum_.erase()


def _data_of(term: ir.Value, divisor: ir.Value) -> ir.Value | None:
    """What a value that is data times a scale is divided by this scale; None for other values.

    # (x s) / s = x
    """
    op = defining_op(term)
    if op is None or op.name != "stablehlo.multiply":
        return None
    return next((op.operands[1 - i] for i in (0, 1) if op.operands[i] == divisor), None)
