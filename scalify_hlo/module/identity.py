"""What an operation is called, and telling operations apart after some of them are erased."""

from scalify_hlo.bindings import ir

# Composites that hand their operand on, whatever its type.
SCALE_MARKERS = frozenset({"scalify.set_scaling", "scalify.get_data_and_scale", "scalify.stop_scaling"})


def symbol_name(op: ir.Operation | ir.OpView) -> str:
    """The name of a symbol: of a function, say."""
    return ir.StringAttr(op.attributes["sym_name"]).value


def composite_name(op: ir.Operation) -> str:
    """The name of a composite; "" for other operations."""
    return ir.StringAttr(op.attributes["name"]).value if op.name == "stablehlo.composite" else ""


def is_scale_marker(op: ir.Operation) -> bool:
    """Whether an operation is a composite that hands its operand on, whatever its type: what is said of its scale."""
    return composite_name(op) in SCALE_MARKERS


def identity(op: ir.Operation) -> int:
    """A number that an operation has as long as it exists, whatever changes on it.

    An erased operation may not be touched, not even to compare it, so numbers that were taken before stand for it. The
    hash of an operation is no such number: it is of its attributes and operands. That of a result is of where it is.
    An operation without results has nothing else than its own hash: do not keep its number while its operands change.
    """
    for result in op.results:
        return hash(result)
    return hash(op)
