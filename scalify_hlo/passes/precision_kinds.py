"""How operations behave when the element type of what they compute on is chosen, by kind."""

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.identity import composite_name
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info


def _names(text: str) -> frozenset[str]:
    return frozenset(f"stablehlo.{name}" for name in text.split())


# The same element type for all float operands and results; an element depends on elements at the same place.
ELEMENTWISE = names(Trait.ELEMENTWISE, without=Trait.BITWISE | Trait.BOUND_TO_TYPE | Trait.COMPLEX) - _names("convert")
# The operand is wanted as exact as it is known: its error is multiplied by its size.
EXACT_OPERAND = _names("exponential exponential_minus_one")
# The operand's whole turns are of no account.
OF_ANGLES = _names("sine cosine tan") | {"chlo.tan"}
# Singular at a number that the operand is only just kept from: log at 0, arccosh at 1, log(1 + x) at -1.
SINGULAR = _names("log log_plus_one") | {f"chlo.{name}" for name in ("acos", "acosh", "asin", "atanh")}
# Bounded whatever the operand: a value of extreme magnitude does not come out.
BOUNDED = names(Trait.BOUNDED) | EXACT_OPERAND
# Operands of different size meet in one tensor.
MERGING = names(Trait.JOINT)
# No arithmetic: elements are moved, repeated or dropped.
MOVEMENT = names(Trait.MOVES | Trait.ASSEMBLES)
# Attribute of `scalify.get_data_and_scale`, whose data are measured as they are computed, and not as they are stored.
WHOLE = "scalify.whole"
# Attribute of products that are to stay as they are: later passes do not make them FP8. Of the first layers of what a
# training step is given it is a string, for these may be converted by choice (`analysis.given_operands`); so it is of
# those by which state is fed back (`analysis.fed_back`), which are narrow but for FP8.
KEPT = "scalify.kept"
GIVEN = "given"
FED_BACK = "fed back"
# Of these the result is usually smaller than the operand.
SHRINKING = names(Trait.SHRINKS)
PRODUCTS = names(Trait.CONTRACTS)
# Operations with a reduction body: sums where the body adds or multiplies.
REDUCTIONS = names(Trait.REDUCES) & names(Trait.BODY)
# Of these it is not known what they compute.
OPAQUE = _names("custom_call composite")


def accumulates(op: ir.Operation) -> bool:
    """Whether a reduction's body adds or multiplies, rather than picks one of its operands."""
    return any(inner.name in ("stablehlo.add", "stablehlo.multiply") for inner in walk(op))


# JAX exports `chlo.top_k` as a composite.
_TOP_K = ("chlo.top_k", "stablehlo.composite")
# Operations of which `chooses_index` may hold.
MAY_CHOOSE = REDUCTIONS | {"stablehlo.sort", *_TOP_K}


def chooses_index(op: ir.Operation) -> bool:
    """Whether elements' places are what an operation finds by comparing them: argmin, argmax, top_k, argsort.

    A sort by keys finds the places of what it moves with them, whatever the type of that is.
    """
    if op.name in _TOP_K and is_top_k(op):
        return any(True for _ in op.results[1].uses)
    if op.name != "stablehlo.sort" and op.name not in REDUCTIONS:
        return False
    floats = all(tensor_info(value.type).is_float for value in op.operands)
    if floats and all(is_key(op, i) for i in range(len(op.operands))):
        return False
    compared = (inner.operands[0] for inner in walk(op) if inner.name == "stablehlo.compare")
    return any(tensor_info(value.type).is_float for value in compared)


def is_top_k(op: ir.Operation) -> bool:
    """Whether an operation gives the largest elements and their places."""
    return "chlo.top_k" in (op.name, composite_name(op))


def is_key(op: ir.Operation, index: int) -> bool:
    """Whether an operand is one that a sort compares; of another operation, each is."""
    if op.name != "stablehlo.sort":
        return True
    pair = op.regions[0].blocks[0].arguments[2 * index : 2 * index + 2]
    return any(True for argument in pair for _ in argument.uses)
