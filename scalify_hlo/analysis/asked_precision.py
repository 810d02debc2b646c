"""Products that a program computes more precisely than its others, because it says so.

# jnp.dot(x, y, precision="highest"): f32, where other products may be TF32 or bf16

Libraries say so where rounding spoils what they compute: line searches, conjugate gradients, square roots and inverse
roots of matrices, solvers' steps (jax.scipy, optax, diffrax). Said of all products of a program it is a setting that
was made once, which whoever chooses a narrower type has outgrown.
"""

from collections.abc import Iterable

from scalify_hlo.analysis.calls import CallGraph, terminator, walk
from scalify_hlo.analysis.residuals import Slice
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

# Attribute of a dot_general that says how it is to be computed (StableHLO spec, dot_general, `algorithm`).
ALGORITHM = "algorithm"
_PRODUCTS = names(Trait.CONTRACTS)


def asks_for_f32(op: ir.Operation) -> bool:
    """Whether a product of f32 is to be computed as one: in HIGHEST precision, or by an algorithm that is for that."""
    if ALGORITHM in op.attributes:
        algorithm = str(op.attributes[ALGORITHM])
        return "num_primitive_operations = 1," not in algorithm or "lhs_precision_type = f32" in algorithm
    return "HIGHEST" in str(op.attributes["precision_config"]) if "precision_config" in op.attributes else False


def products_in_f32(calls: CallGraph) -> set[ir.Value]:
    """The results of products of f32 that ask for it; none where all do that give tensors."""
    asking, others = set[ir.Value](), False
    for function in calls.functions.values():
        for op in walk(function):
            if op.name in _PRODUCTS and tensor_info(op.results[0].type).element == "f32":
                if asks_for_f32(op):
                    asking.add(op.results[0])
                else:
                    others = others or tensor_info(op.results[0].type).rank > 0
    return asking if others else set()


def carried_in_f32(calls: CallGraph, loop: ir.Operation, asking: Iterable[ir.Value]) -> set[ir.Value]:
    """The values inside of a `stablehlo.while` of what it carries from one such product to the next.

    # M <- Q(M)^4 M, X <- X Q(M)
    """
    known, found = set(asking), set[ir.Value]()
    body = loop.regions[1].blocks[0]
    if known.isdisjoint(result for op in walk(loop) for result in op.results):
        return found
    inside = Slice(calls, loop)
    for argument, last in zip(body.arguments, terminator(body).operands, strict=True):
        if last != argument and tensor_info(argument.type).is_float and argument not in found:
            own = inside.behind([argument])
            products = {v for v in own if isinstance(v, ir.OpResult) and v.owner.name in _PRODUCTS}
            if products and products <= known:
                found |= own
    return found
