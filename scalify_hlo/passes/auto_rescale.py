"""`scalify-auto-rescale`: dynamic rescaling where gradients need it, without a change of the model.

Static rules let the data of gradients drift from unit size, because nothing in the backward pass normalises them as
layer normalisation does in the forward pass (paper, section 5). The paper rescales by hand, in a custom LayerNorm's
backward pass and, for state in f16, the gradients. This pass finds the places by data flow and puts there what the
paper writes in Python: the scale is multiplied by the power of two nearest below a statistic of the data. The value
does not change. It runs before `scalify` (and before `scalify-cast`), on any training step.
"""

import collections
import dataclasses
import math
from collections.abc import Iterator
from typing import ClassVar, Literal

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, defining_op, loops_around, terminator, walk
from scalify_hlo.analysis.few_exponentials import contracted_exponentials, few_exponentials, unbounded_exponentials
from scalify_hlo.analysis.given_differences import given_differences
from scalify_hlo.analysis.given_integers import given_integers
from scalify_hlo.analysis.given_values import given_values
from scalify_hlo.analysis.intervals import before_moves
from scalify_hlo.analysis.joined import taken_apart
from scalify_hlo.analysis.numbers_of_integers import is_times_integers
from scalify_hlo.analysis.product_chains import long_chains
from scalify_hlo.analysis.product_shapes import is_of_small_matrices
from scalify_hlo.analysis.products import MatrixProduct, matrix_products
from scalify_hlo.analysis.unlike_columns import unlike_columns
from scalify_hlo.analysis.update import find_update
from scalify_hlo.analysis.update_region import UpdateRegion
from scalify_hlo.analysis.value_graph import ValueGraph
from scalify_hlo.bindings import ir
from scalify_hlo.engine.facts import FactFinder
from scalify_hlo.engine.selection import SATURATES, argument_shapes
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.io.scales_file import read_scales
from scalify_hlo.module.carriers import carries, layouts_folded
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import MANUAL, groups_around, is_partitioned
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.held_values import after
from scalify_hlo.passes.markers import at_scale, data_and_scale, magnitude, power_of_two
from scalify_hlo.passes.private_functions import merge_equal, unshare
from scalify_hlo.passes.samples import sample_of_rows
from scalify_hlo.precision import check_places
from scalify_hlo.size.factors import ANY_SIZE, Factors
from scalify_hlo.size.size_errors import SizeErrors
from scalify_hlo.types import tensor_info

# What f16 needs whatever the rescaling of gradients is: of the program's values, and of chains on the way back too.
OF_VALUES = ("products", "chains", "joined", "integers", "numbers", "differences", "exponentials")
# Places of which the largest magnitude is measured, whatever the statistic.
_BY_LARGEST = ("powers", "numbers")
# What is measured to unit size: what enters a product of values may be multiplied by itself, and room by that too.
_TO_UNIT_SIZE = ("products", "columns", "integers", "statistics", "differences", "inputs", "exponentials")
# Places of gradients whose sizes are roughly known. What is measured elsewhere may be of any size that f32 has.
_OF_KNOWN_SIZE = ("branches", "scores", "logits", "gradients")
# Places of gradients that may be of any size: what they are computed of, and is as uncertain, stays in f32.
_OF_ANY_SIZE = frozenset({"inverse", "factors", "derivatives"})
# Attribute of a factor that is measured: its name in a file of scales, which begins so.
MEASURED, RESCALE = "scalify.measured", "rescale."
_DESCRIPTIONS = {
    "branches": "gradient that enters a residual branch",
    "scores": "gradient of attention scores",
    "logits": "gradient of the logits",
    "inverse": "gradient of the logits that is inverse to a size",
    "factors": "gradient of the logits that is a product of many factors",
    "derivatives": "gradient of derivatives that the loss is computed of",
    "gradients": "gradient that enters the optimiser",
    "joined": "taken out of tensors that are joined, which have one scale",
    "columns": "in units of its own in a tensor of several, which has one scale",
    "statistics": "running statistic of what the program is given",
    "integers": "integers that the program is given, of which a product reads",
    "numbers": "exponential of a few numbers that tensors are multiplied by",
    "differences": "difference of elements of a tensor that the program is given",
    "inputs": "computed of what the program is given, of any size, where other values meet it",
    "exponentials": "exponential of any size, of which a product reads",
    "chains": "gradient that many products have given, of which nothing normalises one",
    "powers": "value of which high powers enter products",
    "products": "operand of a product, whose size is a product of more estimates than f16 bears",
}
# Where the statistic of large values is that of some of their rows: they are the largest of a step, and written in f32
# for nothing else (on an H100 measuring them all took 25 of the 190 ms of a step of GPT-2 with FP8 products).
_SAMPLED = ("scores", "logits", "inverse", "factors", "derivatives")
# What the scale of a number is multiplied by that is found to be 0.
_OF_ZERO = 2.0**-60
# Elementwise factors of a gradient on its way into a branch: dropout.
_MASKS = ("stablehlo.select", "stablehlo.multiply", "stablehlo.convert", "stablehlo.divide")


@dataclasses.dataclass(frozen=True)
class AutoRescale(Pass):
    """Rescale gradients by statistics of their data: in residual branches, at the logits, before the optimiser.

    By default twice per transformer layer and once at the logits, against 18 times per layer for the usual FP8
    recipe (paper, section 5).
    """

    name: ClassVar[str] = "scalify-auto-rescale"

    # Where: the gradients that enter residual branches (the paper's LayerNorm backward), those of attention scores
    # (a softmax's gradient grows in training by more than static rules foresee), that of the logits, and those that
    # enter the optimiser (for state in f16: the paper's row #4). And operands of products in the forward pass of which
    # the sizes are products of many estimates (`scalify_hlo.size.size_errors`), and what high powers of enter these, by
    # its largest magnitude, which no power of it then exceeds: normalised models have neither. With the former goes the
    # gradient of the logits, where it is inverse to a size. And what is taken out of a vector that unlike tensors are
    # joined to, or column by column out of one in unlike units: its scale is that of the largest of them. And
    # exponentials of few numbers, and differences of elements of what a training step is given beside its state, whose
    # sizes do not follow from those of what they are taken of; and exponentials that may be of any size, where products
    # read of them. And what many products in a row give that nothing normalises, forward and backward; and integers of
    # any size that products read.
    places: tuple[str, ...] = ("branches", "logits")
    # Also in a loop, in each iteration: of a recurrence without a head outside of it.
    logits_in_loops: bool = True
    # What of the data becomes 1: the root mean square (2^-4 in f16, of gradients), or the largest magnitude.
    statistic: Literal["l2", "max"] = "l2"
    # The type that a later pass computes the backward pass in (`scalify-cast`); empty: the program's own.
    compute: str = ""
    # A file that scalify-calibrate wrote: what it measured is not measured again at run time.
    calibration: str = ""
    # Number what is measured, for scalify-calibrate.
    numbered: bool = False

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Inserts the rescaling in place and tells where. Raises ScalifyError for an unknown place or statistic."""
        check_places(self.places)
        if self.statistic not in ("l2", "max"):
            raise ScalifyError(f"unknown statistic '{self.statistic}'; known are l2, max")
        with module.context, ir.Location.unknown(module.context), layouts_folded(module):
            unshare(module)
            calls = CallGraph(module)
            products = matrix_products(module)
            found = self._find(module, calls, products)
            gradients = [place for place in self.places if place not in OF_VALUES]
            if not found and gradients:
                nothing = f"{self.name}: nothing is rescaled: the module has no gradient at {', '.join(gradients)}"
                # Of a program without a backward pass nobody expects it.
                forward = not any(each.kind == "backward" for each in products)
                remarks.append(Diagnostic(nothing, "", "remark", detail=forward))
            known, partitioned = self._known(module, len(found)), is_partitioned(module)
            for i, (value, place) in enumerate(found.items()):
                name, element = f"{RESCALE}{i}", self._element(value, place)
                if name not in known and not _is_static(value):
                    continue  # of a branch that no batch took
                statistic = "max" if place in _BY_LARGEST else self.statistic
                sampled = place in _SAMPLED and not partitioned
                below = budget.RESCALE_HEADROOM_F16 if element == "f16" and place not in _TO_UNIT_SIZE else 0
                statistic = "any" if statistic == "l2" and place not in _OF_KNOWN_SIZE else statistic
                own = {ANY_SIZE: ir.UnitAttr.get()} if place in _OF_ANY_SIZE else {}
                block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
                measured = _rescale(
                    module, value, statistic, element, known.get(name), below=below, sampled=sampled,
                    apart=partitioned, attributes=own, repeated=_is_repeated(block, calls),
                )  # fmt: skip
                if self.numbered:
                    measured.owner.attributes[MEASURED] = ir.StringAttr.get(name)
                op = defining_op(value)
                where = describe_location(op.location) if op is not None else ""
                what = f"rescaled: {_DESCRIPTIONS[place]}, {value.type}"
                remarks.append(Diagnostic(what, where, "remark", detail=True))
            if not _OF_ANY_SIZE.isdisjoint(found.values()):
                module.operation.attributes[ANY_SIZE] = ir.UnitAttr.get()
            erase_dead(module)
            merge_equal(module)
        if not found:
            return
        count = collections.Counter(found.values())
        counts = ", ".join(f"{count[place]} {place}" for place in _DESCRIPTIONS if count[place])
        remarks.append(Diagnostic(f"{self.name}: {len(found)} rescales ({counts})", "", "remark"))

    def _known(self, module: ir.Module, count: int) -> dict[str, float]:
        """The factors that a file of scales has, by their names. Raises ScalifyError for those that do not fit."""
        if not self.calibration:
            return {}
        known = read_scales(self.calibration).of(argument_shapes(public_function(module))).rescales
        names = {f"{RESCALE}{i}" for i in range(count)}
        problems = [f"there is no factor '{name}'; {count} are measured" for name in known if name not in names]
        problems += [
            f"factor '{name}' is {number}: a power of two is needed, between 2^-126 and 2^127"
            for name, number in known.items()
            if not (math.isfinite(number) and number >= 2.0**-126 and math.frexp(number)[0] == 0.5)
        ]
        if problems:
            raise ScalifyError([Diagnostic(each, self.calibration) for each in problems])
        return known

    def _element(self, value: ir.Value, place: str) -> str:
        """The type that a rescaled gradient is computed with: the optimiser's stays, whatever `compute`."""
        own = tensor_info(value.type).element
        return self.compute if self.compute and place != "gradients" and own == "f32" else own

    def _find(self, module: ir.Module, calls: CallGraph, products: list[MatrixProduct]) -> dict[ir.Value, str]:
        """The values to rescale, each with its place. products: those of the module."""
        found: dict[ir.Value, str] = {}
        in_turns = {product.op.results[0] for product in products if product.in_turns}  # which stay in f32
        products = [product for product in products if not product.in_turns] if in_turns else products
        main = symbol_name(public_function(module))
        # Of what may all be state there are no differences to look for.
        tensors = _more_than_returned(calls.body(main)) if "differences" in self.places else []
        gradients = "gradients" in self.places
        update = find_update(module, main, statistics=bool(tensors)) if tensors or gradients else UpdateRegion()
        ends = [(_gradient(each), each) for each in products if each.is_head and each.kind == "backward"]
        heads = [value for value, _ in ends]
        derivatives = {value for value, each in ends if each.is_of_derivatives}
        if "logits" in self.places:
            measured = heads if self.logits_in_loops else [value for value in heads if not loops_around(value)]
            found |= dict.fromkeys(measured, "logits")
        if "branches" in self.places:
            for product in products:
                if product.kind == "backward" and not product.is_head and not product.batched:
                    value = _gradient(product)
                    if _enters_branch(value, calls):
                        found.setdefault(value, "branches")
        if "scores" in self.places:
            for product in products:
                if product.kind == "backward" and product.batched and _is_of_scores(_gradient(product)):
                    found.setdefault(_gradient(product), "scores")
        bears: dict[ir.Operation, float] = {}
        if "products" in self.places:
            bears = {
                product.op: budget.ERRORS_OF_SMALL if is_of_small_matrices(product.op) else budget.ERRORS_IN_F16
                for product in products
                if product.kind == "forward" or derivatives
            }
        if bears or "logits" in found.values():
            backward = [each.op for each in products if each.kind == "backward"]
            of_loss = _of_loss(products, heads, calls) if "products" in self.places else []
            bears |= dict.fromkeys(of_loss, budget.ERRORS_IN_F16)
            solved = backward if "products" in self.places and heads else ()
            errors = SizeErrors(module, bears, budget.HIGHEST_DEGREE_IN_F16, heads, backward, solved)
            for value, since in errors.inverse.items():
                # What is measured loses an error that what it is multiplied by, on its way back, may still have.
                if since <= errors.of(value):
                    if "products" in self.places:
                        found[value] = "inverse"
                elif found.get(value) == "logits":
                    del found[value]
            factors = Factors(calls)
            # What the loss multiplies on its way back had to be measured, and what leaves it is a product of more.
            sized = set(errors.measured)
            uncertain = any(not sized.isdisjoint(op.operands) for op in of_loss)
            for value in heads if "products" in self.places else ():
                many = uncertain or errors.of(value) > budget.ERRORS_IN_F16
                if value not in errors.inverse and (many or factors.are_too_many(value)):
                    found[value] = "factors"
                elif value in derivatives:
                    found[value] = "derivatives"
            for value in errors.powers:
                found.setdefault(value, "powers")
            for value in errors.measured:
                found.setdefault(value, "products")
        if gradients:
            for value in update.gradients:
                found.setdefault(value, "gradients")
        if "joined" in self.places:
            for value in taken_apart(calls):
                found.setdefault(value, "joined")
            for value in unlike_columns(calls):
                found.setdefault(value, "columns")
        if "integers" in self.places:
            for value in given_integers(calls, main):
                found.setdefault(value, "integers")
        if not {"numbers", "exponentials"}.isdisjoint(self.places):
            unbounded = unbounded_exponentials(calls, self.compute or "f16")
            for value in few_exponentials(calls, unbounded) if "numbers" in self.places else ():
                found.setdefault(value, "numbers")
            for value in contracted_exponentials(calls, main, unbounded) if "exponentials" in self.places else ():
                found.setdefault(value, "exponentials")
        if "numbers" in self.places:
            # z = (y - m) / sqrt(v): of size 1, where v is as it was given, and unlike y, 2^8 and more
            for value in update.returned_statistics:
                found.setdefault(value, "statistics")
        given = [a for a in tensors if ir.BlockArgument(a).arg_number not in update.learnt]
        if given and update.tells_inputs:
            number = FactFinder(calls.called, numbers_only=True).number
            differences = given_differences(calls, main, [*given, *update.returned_statistics], number)
            for value in differences:
                found.setdefault(value, "differences")
            if update.is_named:
                inputs = given_values(calls, main, given, differences, number)
                for value in inputs.met:
                    found.setdefault(value, "inputs")
                for value in heads if "products" in self.places else ():
                    if inputs.cancels or inputs.weigh(value):
                        found.setdefault(value, "factors")
        if "chains" in self.places:
            backward = {each.op for each in products if each.kind != "forward"}
            for value, product in long_chains(calls, found).items():
                if product.results[0] in in_turns:
                    continue
                found[value] = "chains" if product in backward else "products"
        return found if self.calibration else {value: each for value, each in found.items() if _is_static(value)}


def _of_loss(products: list[MatrixProduct], heads: list[ir.Value], calls: CallGraph) -> list[ir.Operation]:
    """The backward products that come before those of the heads: the loss's own, of batches of small matrices, say."""
    last = max((i for i, each in enumerate(products) if each.is_head), default=0)
    before = [each for each in products[:last] if each.kind == "backward" and not each.is_head]
    if not before:
        return []
    behind = ValueGraph(calls).reachable(heads)
    return [each.op for each in before if _gradient(each) not in behind]


def _more_than_returned(body: ir.Block) -> list[ir.Value]:
    """The float tensors that a function is given; none of them where as many of each type are returned."""
    tensors = [a for a in body.arguments if tensor_info(a.type).is_float and tensor_info(a.type).rank]
    left = collections.Counter(a.type for a in tensors) - collections.Counter(v.type for v in terminator(body).operands)
    return tensors if left else []


def _is_static(value: ir.Value) -> bool:
    """Whether all sizes are known: what has none that is cannot be measured, but may be at a scale that was."""
    return tensor_info(value.type).is_static


def _gradient(product: MatrixProduct) -> ir.Value:
    """The gradient operand of a backward product, before it was moved or rescaled; as a loop outside gave it, and not
    before it was multiplied by a number of unknown size."""
    operand = product.lhs if product.lhs.is_gradient else product.rhs
    root = operand.origin.root
    if root == operand.value:
        return root
    *_, moved = before_moves(operand.value)
    known = loops_around(root) <= loops_around(product.op.results[0]) and not is_times_integers(moved, root)
    return root if known else moved


def _is_of_scores(value: ir.Value) -> bool:
    """Whether the gradient operand of a backward product of attention has come through a softmax.

    The gradient of attention's result comes from another product as it is; that of the scores, by arithmetic.
    """
    op = defining_op(value)
    return op is not None and op.name != "stablehlo.dot_general"


def _enters_branch(value: ir.Value, calls: CallGraph) -> bool:
    """Whether a gradient is that of the residual stream, perhaps masked by dropout.

    The stream's gradient goes on past the branch: what comes back out of the branch is added to it.
    """
    for _ in range(8):
        if any(reader.name == "stablehlo.add" for reader in _readers(value, calls)):
            return True
        op = defining_op(value)
        if op is None or op.name not in _MASKS:
            return False
        shape = tensor_info(value.type).shape
        candidates = [v for v in op.operands if tensor_info(v.type).is_float and tensor_info(v.type).shape == shape]
        computed = [v for v in candidates if not _is_uniform_or_mask(v)]
        if len(computed) != 1:
            return False
        value = computed[0]
    return False


def _readers(value: ir.Value, calls: CallGraph) -> Iterator[ir.Operation]:
    """The operations that read a value, also past operations that only carry it and inside called functions."""
    for use in value.uses:
        op = use.owner.operation
        body = calls.callee_body(op)
        if carries(op):
            yield from _readers(op.results[use.operand_number], calls)
        elif body is not None:
            yield from _readers(body.arguments[use.operand_number], calls)
        elif op.name == MANUAL:
            yield from _readers(op.regions[0].blocks[0].arguments[use.operand_number], calls)
        elif op.name == "sdy.return":
            yield from _readers(op.parent.operation.results[use.operand_number], calls)
        else:
            yield op


def _is_uniform_or_mask(value: ir.Value) -> bool:
    """Constants, broadcast scalars and converted booleans."""
    op = defining_op(value)
    while op is not None and op.name in ("stablehlo.convert", "stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        source = op.operands[0]
        if not tensor_info(source.type).is_float or tensor_info(source.type).rank == 0:
            return True
        op = defining_op(source)
    return op is not None and op.name == "stablehlo.constant"


def measured_factors(module: ir.Module) -> dict[str, ir.Value]:
    """Factors that a module measures at run time, by the names that the pass has given them."""
    functions = CallGraph(module).functions.values()
    found = [op for function in functions for op in walk(function) if MEASURED in op.attributes]
    return {ir.StringAttr(op.attributes[MEASURED]).value: op.results[0] for op in found}


# --- emission -----------------------------------------------------------------------------------------------------


def _rescale(
    module: ir.Module, value: ir.Value, statistic: str, element: str, known: float | None, *,
    below: float, sampled: bool, apart: bool, attributes: dict[str, ir.Attribute], repeated: bool,
) -> ir.Value:  # fmt: skip
    """Give all readers of `value` the same value with a scale that fits its data; what the scale is multiplied by, or
    of what is `repeated` in a loop, which may carry the scale, the new scale.

    known: what that was when it was measured before.
    below: log2 by which a root mean square is to be below 1. sampled: the statistic of a large value is that of some
    rows; what does not fit it in f16 is the largest number. apart: by a reduction for each statistic.
    attributes: of the marker that sets the scale.
    """
    readers = [(use.owner.operation, use.operand_number) for use in value.uses]
    ip, location = after(value)
    scalar = emit.tensor_type((), "f32")
    saturates = False
    with ip, location:
        data, scale = data_and_scale(module, _spread_from(value))
        if known is None:
            measured = emit.convert(data, "f32")
            if sampled and statistic != "max":
                measured = sample_of_rows(measured)
            saturates = element == "f16" and tensor_info(measured.type).size < tensor_info(data.type).size
            groups = groups_around(data.owner.operation)
            if tensor_info(measured.type).size == 1 and groups is None:
                size = emit.op("abs", scalar, emit.op("reshape", scalar, measured))
            else:
                size = magnitude(measured, statistic, groups, apart=apart)
            if statistic != "max" and below:
                size = emit.times(size, 2.0**below)
            # Of a number that is 0 no other is as small: a sum with it has the other term's scale.
            factor = power_of_two(size) if tensor_info(value.type).rank else power_of_two(size, otherwise=_OF_ZERO)
        else:
            factor = emit.splat(scalar, known)
        rescaled = factor if repeated and known is not None else emit.op("multiply", scalar, scale, factor)
        own = attributes | ({SATURATES: ir.UnitAttr.get()} if saturates else {})
        result = at_scale(module, value, rescaled, **own)
    for reader, i in readers:
        reader.operands[i] = result
    return rescaled if repeated else factor


# rms(broadcast(x)) = rms(x)
def _spread_from(value: ir.Value) -> ir.Value:
    """What a value has each element of equally often."""
    while (op := defining_op(value)) is not None and op.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        value = op.operands[0]
    return value


# s' = 8 s in each iteration is no scale of data that are as large in all of them
def _is_repeated(block: ir.Block, calls: CallGraph) -> bool:
    """Whether a block is within that of a loop, or of a function that a loop calls."""
    while (op := block.owner.operation).name != "func.func":
        if op.name == "stablehlo.while":
            return True
        block = op.block
    return any(_is_repeated(site.block, calls) for site in calls.sites.get(calls.function_of_block(block) or "", ()))
