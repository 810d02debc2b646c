"""Which way a comparison is: by the name of its direction in StableHLO."""

from scalify_hlo.bindings import ir

COMPARE = "stablehlo.compare"
# The direction of the same comparison with its operands exchanged; EQ and NE are their own.
TURNED = {"GT": "LT", "GE": "LE", "LT": "GT", "LE": "GE"}


def direction_of(compare: ir.Operation) -> str:
    """EQ, NE, LT, LE, GT or GE."""
    return str(compare.attributes["comparison_direction"]).split()[-1].rstrip(">")
