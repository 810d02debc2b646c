"""The table: at least one program for every rule. To add an operation, add a row to the file of its family."""

from tests.ops.program import Program
from tests.ops.programs import (
    collectives,
    complex_numbers,
    contraction,
    dynamic_shapes,
    elementwise,
    homogeneous,
    implicit_broadcasts,
    linear_algebra,
    regions,
    selection,
    structural,
)

PROGRAMS: tuple[Program, ...] = (
    *homogeneous.PROGRAMS,
    *elementwise.MULTIPLICATIVE,
    *elementwise.ADDITIVE,
    *contraction.PROGRAMS,
    *selection.PROGRAMS,
    *elementwise.NONLINEAR,
    *elementwise.PREDICATES,
    *elementwise.OPAQUE,
    *regions.PROGRAMS,
    *structural.PROGRAMS,
    *complex_numbers.PROGRAMS,
    *linear_algebra.PROGRAMS,
    *collectives.PROGRAMS,
    *dynamic_shapes.PROGRAMS,
    *implicit_broadcasts.PROGRAMS,
)
