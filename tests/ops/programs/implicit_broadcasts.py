"""chlo operations that broadcast their operands."""

from tests.ops.program import Program

_GREATER = "comparison_direction = #chlo<comparison_direction GT>"
_TYPES = "3x4xT, 4xT -> 3x4xT"

PROGRAMS = (
    Program("chlo.broadcast_add", _TYPES),
    Program("chlo.broadcast_atan2", _TYPES, range=False),
    Program("chlo.broadcast_compare", "3x4xT, 4xT -> 3x4xi1", _GREATER),
    Program("chlo.broadcast_complex", "3x4xT, 4xT -> 3x4xcomplex<T>", elements=("f32", "f64")),
    Program("chlo.broadcast_divide", _TYPES, draw="positive"),
    Program("chlo.broadcast_maximum", _TYPES),
    Program("chlo.broadcast_minimum", _TYPES),
    Program("chlo.broadcast_multiply", _TYPES),
    Program("chlo.broadcast_multiply", "3x4xT, T -> 3x4xT", condition="by a scalar"),
    Program("chlo.broadcast_next_after", _TYPES, range=False),
    Program("chlo.broadcast_polygamma", _TYPES, draw="whole", range=False),
    Program("chlo.broadcast_power", _TYPES, draw="positive", range=False),
    Program("chlo.broadcast_remainder", _TYPES, draw="positive"),
    Program("chlo.broadcast_select", "3x4xi1, 4xT, 3x4xT -> 3x4xT", interpreted=False),
    Program("chlo.broadcast_subtract", _TYPES),
    Program("chlo.broadcast_zeta", _TYPES, draw="above_one", range=False),
)
