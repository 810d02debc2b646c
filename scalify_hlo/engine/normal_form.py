"""One form for programs that come in by different doors and in different spellings.

JAX exports StableHLO alone, and hands `scalify` CHLO besides: `jnp.square` is a product there, and an operation of its
own here. What is looked for in a program, a normalisation or an average of squares, is written in StableHLO; functions
that legalisation writes out as polynomials (erf) are looked for in either form (scalify_hlo.recognition.expansions).
An inner `jit`, and so each function of `jax.numpy`, is a private function, which means what its body does where it is
called (scalify_hlo.engine.inlining). So does a loop that is known to run once: its carried values take no scale that
more iterations would need. What nobody reads is no part of a program: JAX hands `scalify` a second exponential of the
derivative of erfc, say, and none in an export.
"""

from collections.abc import Iterable

from scalify_hlo.analysis.calls import walk
from scalify_hlo.analysis.copied_stacks import use_what_is_copied
from scalify_hlo.analysis.single_iterations import runs_once, unroll_single_iterations
from scalify_hlo.bindings import ir
from scalify_hlo.engine.inlining import inline_calls
from scalify_hlo.module.chosen_bounds import write_as_extremes
from scalify_hlo.module.clips import write_as_clamps
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.dot_generals import SPELLINGS, write_as_dot_general
from scalify_hlo.module.manual import MANUAL, settle_constants
from scalify_hlo.types import tensor_info

SQUARE = "chlo.square"
_LOOP = "stablehlo.while"


def to_normal_form(module: ir.Module) -> None:
    """Write squares as products, products of matrices as `dot_general`, private functions where they are called, loops
    that run once as their bodies, copies that loops make as what they are of, choices of a bound as extremes, clips as
    clamps, and constants that per-device code is given or gives as such, in place; dead operations are erased."""
    erase_dead(module)
    operations = list(walk(module.operation))
    loops = [op for op in operations if op.name == _LOOP]
    once = [op for op in loops if runs_once(op)]
    squares = [op for op in operations if op.name == SQUARE]
    products = [op for op in operations if op.name in SPELLINGS]
    settle_constants(op for op in operations if op.name == MANUAL)
    write_as_products(squares)
    for op in products:
        write_as_dot_general(op)
    unroll_single_iterations(once)
    inline_calls(module)
    if len(loops) > len(once):
        use_what_is_copied([op for op in walk(module.operation) if op.name == _LOOP])
    write_as_extremes(list(walk(module.operation)))
    write_as_clamps(module)


def write_as_products(squares: Iterable[ir.Operation]) -> None:
    """Replace squares of real numbers; that of a complex one is no product of two equal factors to XLA."""
    for op in squares:
        (operand,) = op.operands
        if tensor_info(operand.type).is_complex:
            continue
        attributes = dict(op.attributes.items())
        product = ir.Operation.create(
            "stablehlo.multiply", [op.results[0].type], [operand, operand], attributes, loc=op.location,
            ip=ir.InsertionPoint(op),
        )  # fmt: skip
        op.results[0].replace_all_uses_with(product.results[0])
        op.erase()
