"""What is known of operations: one row for each of stablehlo and chlo, and of those of func and sdy that carry values.

Passes and analyses ask it (`names`, `has`, `of`, `carried`) instead of keeping lists of their own.
The completeness test ties it to the dialects (tests/module/test_traits.py).
"""

import dataclasses
import enum
import functools
from fractions import Fraction

from scalify_hlo.bindings import ir

# Operations of which one region is run, and gives the results.
BRANCHES = ("stablehlo.case", "stablehlo.if")


class Trait(enum.Flag):
    """One property of an operation.

    ELEMENTWISE: an element of a result depends on the elements of the operands at the same place (and on scalars).
    CARRIES: results are the operands' values, at most rounded: constraints, barriers, conversions.
    MOVES: elements of one operand are moved, repeated or dropped; no arithmetic.
    RESHAPES: of these, in the same order: a splat stays a splat, a row's number stays that row's.
    SHRINKS: of these, the result is usually smaller than the operand.
    ASSEMBLES: elements of several operands are put beside each other in one tensor; no arithmetic.
    SELECTS: every element of the result is an element of one of the operands.
    JOINT: operands of different size meet: f(s x, s y) = s f(x, y), but f(s x, t y) has no common factor.
    REDUCES: elements along dimensions, windows, indices or devices become one.
    CONTRACTS: sums of products of two operands.
    SPECIAL: a nonlinear function of the value, which no power of a scale comes out of.
    BOUNDED: the result is bounded whatever the operand.
    INTEGERS: the operand rounded to integers.
    NONNEGATIVE: no element of the result is negative whatever the operand.
    PREDICATE: the result is no float.
    BITWISE: on integers and booleans.
    BODY: a region computes on elements, not on tensors.
    CAPTURES: regions may use values from outside.
    CALLS: what is computed stands in another function.
    COLLECTIVE: elements of other devices take part.
    CONSTANT: no operands; the same each time.
    FUNCTION: the results depend on operands and attributes alone, and there is no other effect.
    BOUND_TO_TYPE: the meaning depends on the element type itself.
    COMPLEX: between real and complex types.
    """

    NONE = 0
    ELEMENTWISE = enum.auto()
    CARRIES = enum.auto()
    MOVES = enum.auto()
    RESHAPES = enum.auto()
    SHRINKS = enum.auto()
    ASSEMBLES = enum.auto()
    SELECTS = enum.auto()
    JOINT = enum.auto()
    REDUCES = enum.auto()
    CONTRACTS = enum.auto()
    SPECIAL = enum.auto()
    BOUNDED = enum.auto()
    INTEGERS = enum.auto()
    NONNEGATIVE = enum.auto()
    PREDICATE = enum.auto()
    BITWISE = enum.auto()
    BODY = enum.auto()
    CAPTURES = enum.auto()
    CALLS = enum.auto()
    COLLECTIVE = enum.auto()
    CONSTANT = enum.auto()
    FUNCTION = enum.auto()
    BOUND_TO_TYPE = enum.auto()
    COMPLEX = enum.auto()


@dataclasses.dataclass(frozen=True)
class Traits:
    """One row.

    linear: groups of operands in which the operation is linear jointly: ((0, 1),) of add, ((0,), (1,)) of multiply.
    degrees: f(s x, t y) = s^a t^b f(x, y) for s, t > 0: (a, b); None where there are no such numbers.
    """

    op: str
    traits: Trait
    linear: tuple[tuple[int, ...], ...] = ()
    degrees: tuple[Fraction, ...] | None = None


_FIRST = ((0,),)
_ONE = (Fraction(1),)


def _rows() -> dict[str, Traits]:
    t = Trait
    table: dict[str, Traits] = {}

    def row(
        ops: str,
        traits: Trait,
        linear: tuple[tuple[int, ...], ...] = (),
        degrees: tuple[int | Fraction, ...] | None = None,
    ) -> None:
        for op in ops.split():
            name = op if "." in op else f"stablehlo.{op}"
            assert name not in table, name
            powers = None if degrees is None else tuple(Fraction(n) for n in degrees)
            table[name] = Traits(name, traits, linear, powers)

    each, pure = t.ELEMENTWISE | t.FUNCTION, t.FUNCTION
    # Arithmetic.
    row("add subtract chlo.broadcast_add chlo.broadcast_subtract", each | t.JOINT, ((0, 1),))
    row("remainder chlo.broadcast_remainder", each | t.JOINT)
    row("multiply chlo.broadcast_multiply", each, ((0,), (1,)), (1, 1))
    row("divide chlo.broadcast_divide", each, _FIRST, (1, -1))
    row("negate", each, _FIRST, (1,))
    row("abs", each | t.NONNEGATIVE, (), (1,))
    row("sqrt", each | t.NONNEGATIVE, (), (Fraction(1, 2),))
    row("rsqrt", each | t.NONNEGATIVE, (), (Fraction(-1, 2),))
    row("cbrt", each, (), (Fraction(1, 3),))
    row("chlo.square", each | t.NONNEGATIVE, (), (2,))
    row("power chlo.broadcast_power", each)
    row("maximum minimum chlo.broadcast_maximum chlo.broadcast_minimum", each | t.SELECTS | t.JOINT)
    row("clamp", each | t.SELECTS | t.JOINT)
    row("select chlo.broadcast_select", each | t.SELECTS | t.JOINT, ((1, 2),))
    row("complex chlo.broadcast_complex", each | t.JOINT | t.COMPLEX, ((0, 1),))
    row("real imag chlo.conj", each | t.COMPLEX, _FIRST, (1,))
    row("map", each | t.BODY)
    # Nonlinear functions of the value.
    row("exponential chlo.cosh", each | t.SPECIAL | t.NONNEGATIVE)
    row("logistic chlo.erfc", each | t.SPECIAL | t.BOUNDED | t.NONNEGATIVE)
    row("tanh sine cosine chlo.erf chlo.atan chlo.asin chlo.bessel_i1e", each | t.SPECIAL | t.BOUNDED)
    row("chlo.acos", each | t.SPECIAL | t.BOUNDED | t.NONNEGATIVE)
    row("atan2 chlo.broadcast_atan2", each | t.SPECIAL | t.BOUNDED)
    row("chlo.acosh", each | t.SPECIAL | t.NONNEGATIVE)
    row(
        "exponential_minus_one log log_plus_one tan chlo.asinh "
        "chlo.atanh chlo.digamma chlo.erf_inv chlo.lgamma chlo.polygamma chlo.broadcast_polygamma chlo.sinh chlo.tan "
        "chlo.zeta chlo.broadcast_zeta chlo._asin_acos_kernel",
        each | t.SPECIAL,
    )
    row("floor ceil round_nearest_afz round_nearest_even", each | t.SPECIAL | t.INTEGERS)
    row("chlo.next_after chlo.broadcast_next_after", each | t.SPECIAL | t.BOUND_TO_TYPE)
    # The value, rounded, bounded to a device or kept in order.
    row("convert reduce_precision", each | t.CARRIES, _FIRST, (1,))
    row("optimization_barrier", t.CARRIES | t.FUNCTION, _FIRST, (1,))
    row("sdy.sharding_constraint sdy.reshard sdy.propagation_barrier", t.CARRIES | t.FUNCTION, _FIRST, (1,))
    # Predicates and integers.
    row("compare is_finite chlo.broadcast_compare", each | t.PREDICATE | t.BOUNDED)
    row("chlo.is_inf chlo.is_neg_inf chlo.is_pos_inf", each | t.PREDICATE | t.BOUNDED)
    row("sign", each | t.BOUNDED, (), (0,))
    row("get_dimension_size", pure | t.PREDICATE)
    row(
        "and or xor not popcnt count_leading_zeros shift_left shift_right_arithmetic shift_right_logical chlo.mulhi "
        "chlo.broadcast_and chlo.broadcast_or chlo.broadcast_xor chlo.broadcast_shift_left "
        "chlo.broadcast_shift_right_arithmetic chlo.broadcast_shift_right_logical",
        each | t.BITWISE,
    )
    row("bitcast_convert", pure | t.BOUND_TO_TYPE)
    row("uniform_quantize uniform_dequantize", each | t.BOUND_TO_TYPE)
    # Data movement.
    row(
        "reshape dynamic_reshape broadcast_in_dim dynamic_broadcast_in_dim broadcast",
        pure | t.MOVES | t.RESHAPES, _FIRST, (1,),
    )  # fmt: skip
    row("transpose reverse", pure | t.MOVES, _FIRST, (1,))
    row(
        "slice dynamic_slice real_dynamic_slice gather dynamic_gather torch_index_select",
        pure | t.MOVES | t.SHRINKS, _FIRST, (1,),
    )  # fmt: skip
    row("set_dimension_size", pure | t.MOVES, _FIRST, (1,))
    row("concatenate pad dynamic_pad dynamic_update_slice", pure | t.ASSEMBLES | t.SELECTS | t.JOINT, ((0, 1),))
    row("sort", pure | t.BODY)
    row("chlo.top_k", pure | t.SHRINKS, (), (1,))
    # Sums and products over dimensions.
    row("reduce reduce_window", pure | t.REDUCES | t.BODY)
    row("scatter select_and_scatter", pure | t.REDUCES | t.JOINT | t.BODY)
    row("chlo.scan", pure)
    row("dot_general dot convolution dynamic_conv einsum chlo.ragged_dot", pure | t.CONTRACTS, ((0,), (1,)), (1, 1))
    row("unary_einsum", pure | t.REDUCES, _FIRST, (1,))
    row("fft", pure | t.REDUCES | t.COMPLEX, _FIRST, (1,))
    row("cholesky", pure, (), (Fraction(1, 2),))
    row("triangular_solve", pure, ((1,),), (-1, 1))
    row("batch_norm_training batch_norm_inference batch_norm_grad", pure)
    # Devices.
    row("all_gather all_to_all collective_permute collective_broadcast", t.MOVES | t.COLLECTIVE, _FIRST, (1,))
    row("all_reduce reduce_scatter collective_reduce", t.REDUCES | t.COLLECTIVE | t.BODY)
    row("cross-replica-sum", t.REDUCES | t.COLLECTIVE, _FIRST, (1,))
    row("partition_id replica_id", t.COLLECTIVE)
    row("async_start async_done", t.COLLECTIVE)
    row("sdy.manual_computation", t.CAPTURES)
    # Control flow.
    row("while case if", t.CAPTURES)
    row("composite func.call", t.CALLS)
    row("return func.return", t.NONE)
    row("tuple get_tuple_element", pure)
    # Made of nothing.
    row("constant iota chlo.constant", pure | t.CONSTANT)
    row("dynamic_iota chlo.constant_like", pure | t.ELEMENTWISE)
    row("rng rng_bit_generator", t.NONE)
    # The outside world.
    row("custom_call infeed outfeed send recv", t.BOUND_TO_TYPE)
    row("after_all create_token", t.NONE)
    return table


TABLE = _rows()
_NOTHING = Traits("", Trait.NONE)
# Custom calls that give their operand back: shardings and layouts by their XLA names.
IDENTITY_CALLS = frozenset(
    {
        "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint", "annotate_device_placement",
        "MoveToHost", "MoveToDevice", "xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape",
        "xla.sdy.LocalToGlobalShape",
    }
)  # fmt: skip


def of(name: str) -> Traits:
    """The row of an operation, by its full name; one without traits for an operation of another dialect."""
    return TABLE.get(name, _NOTHING)


def has(name: str, trait: Trait) -> bool:
    """Whether an operation has all of these traits."""
    return trait in of(name).traits


@functools.cache
def names(any_of: Trait, *, without: Trait = Trait.NONE) -> frozenset[str]:
    """The operations with one of some traits and none of others: `names(Trait.MOVES | Trait.ASSEMBLES)`."""
    return frozenset(name for name, row in TABLE.items() if row.traits & any_of and not row.traits & without)


_LINEAR_ALGEBRA = frozenset(
    {"Qr", "ProductOfElementaryHouseholderReflectors", "Eigh", "Cholesky", "LuDecomposition"}
)  # fmt: skip


# Sums of two terms.
SUMS = ("stablehlo.add", "stablehlo.subtract")
# Elements in the same order, repeated perhaps.
RESHAPING = names(Trait.RESHAPES)
CARRYING = names(Trait.CARRIES)


def is_identity_call(op: ir.Operation) -> bool:
    """Whether an operation is a custom call that gives its operand back (a sharding, a layout)."""
    return (
        op.name == "stablehlo.custom_call"
        and ir.StringAttr(op.attributes["call_target_name"]).value in IDENTITY_CALLS
        and len(op.operands) == len(op.results)
    )


def is_linear_algebra(op: ir.Operation) -> bool:
    """Whether an operation factorises a matrix or solves equations by one, itself or as a routine of a library."""
    if op.name != "stablehlo.custom_call":
        return op.name in ("stablehlo.cholesky", "stablehlo.triangular_solve")
    target = ir.StringAttr(op.attributes["call_target_name"]).value
    return target in _LINEAR_ALGEBRA or target.startswith(("lapack_", "blas_", "cusolver_", "hipsolver_"))


def carried(op: ir.Operation, result: int = 0) -> ir.Value | None:
    """The operand that a result is, at most rounded to another type; None for an operation that computes.

    A conversion from or to integers carries the number, too.
    """
    name = op.name
    if name in CARRYING:
        operands = op.operands
        return operands[result if len(operands) == len(op.results) else 0]
    return op.operands[result] if name == "stablehlo.custom_call" and is_identity_call(op) else None
