"""`scalify-fp8-dots`: matrix products on FP8 operands. Runs after `scalify`, on data of about unit size.

Operands of forward products become E4M3; in a backward product the gradient becomes E5M2 and the activation or
weight E4M3 (paper, section 5 and algorithm 3; Micikevicius et al., 2022). Each operand is clamped to the
format's largest finite value and then converted, so that an outlier saturates where a bare conversion to E4M3
would give NaN. The product keeps its result type: f8 x f8 accumulates wide on every backend. What is emitted is
a `dot_general` directly on f8 operands, the form that XLA:GPU turns into an FP8 GEMM most reliably. What
`scalify-fp8-results` makes of it in training steps is the second most: with cuBLASLt.

Converted by default are the products of linear layers, which are those without batch dimensions. Left alone are
- products of two activations (attention, Gram matrices): their softmax probabilities span many binades below 1,
  solvers and decompositions read them, their FLOPs are few beside those of linear layers, and no published FP8 recipe
  converts them by default;
- the embedding as a product with a one-hot matrix, which only selects rows;
- the head, the layer on which no other layer depends: rounding logits to 3 bits changes the loss directly, and
  the logits' gradient (softmax minus one-hot) has the widest range of all gradients;
- the first layers of what a training step is given as it is, in units and with a mean that E4M3 would leave little
  more of (290 K +- 10 K is 288 or 304), and the gradients of their weights; not what something is subtracted from;
- vectors (one of the free sizes is 1), which compilers turn into multiply and reduce;
- products with a dimension of 8 or less, and others of which padding takes what FP8 gains: coordinates as inputs,
  outputs of few columns.
"""

import collections
import dataclasses
import math
from typing import ClassVar, Literal

from scalify_hlo.analysis.given_integers import is_wide_integer
from scalify_hlo.analysis.products import MatrixProduct, matrix_products
from scalify_hlo.analysis.weights import is_frozen
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir
from scalify_hlo.engine.selection import argument_names, argument_shapes, attributes_of
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.io.globs import matches
from scalify_hlo.io.scales_file import ScalesFile, read_scales
from scalify_hlo.module.carriers import layouts_folded
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.cast import STATE
from scalify_hlo.passes.fp8_quantise import Quantiser, unmoved
from scalify_hlo.passes.loop_invariants import hoist_operands
from scalify_hlo.passes.precision_kinds import FED_BACK, GIVEN, KEPT
from scalify_hlo.passes.turned_products import turn
from scalify_hlo.size.size_errors import SizeErrors
from scalify_hlo.types import tensor_info

# (element type of values, element type of gradients)
_FORMATS = {"ocp": ("f8E4M3FN", "f8E5M2"), "fnuz": ("f8E4M3FNUZ", "f8E5M2FNUZ")}
_RESULT_TYPES = ("f32", "bf16", "f16")
# Errors of size that E4M3 bears: a factor of two in each leaves 2^4.8 of its 2^8.8 to the tails of the distribution. A
# transformer's operands have at most two behind them since the last normalisation (SwiGLU, attention).
_MOST_ERRORS = 4


@dataclasses.dataclass(frozen=True)
class FP8Dots(Pass):
    """Give the matrix products of linear layers FP8 operands: E4M3 forward, E5M2 for gradients.

    Patterns match an operation's name stack or the name of the layer's weight.
    """

    name: ClassVar[str] = "scalify-fp8-dots"

    # Products to convert: patterns with `*` and `?` on the name stack or the name of the weight.
    include: tuple[str, ...] = ("*",)
    # Those of them to leave alone, likewise.
    exclude: tuple[str, ...] = ()
    # Convert also an embedding that is written as a product with a one-hot matrix.
    embedding: bool = False
    # Convert also the head: the layer on which no other layer depends.
    head: bool = False
    # Convert also products of two activations: with batch dimensions, such as attention's, and without.
    batched: bool = False
    # Convert also products so small that padding their dimensions to multiples of 16 takes what FP8 gains.
    small: bool = False
    # Convert also the products of what a training step is given, and the gradients of their weights.
    given: bool = False
    # "ocp" is E4M3FN and E5M2 (NVIDIA); "fnuz" the variants of AMD's MI300.
    formats: Literal["ocp", "fnuz"] = "ocp"
    # Format of gradient operands: E5M2 for range, or E4M3 for precision where gradients are well scaled.
    gradients: Literal["e5m2", "e4m3"] = "e5m2"
    # "none": operands are of unit size, as scalify's data are. "current": each is first multiplied by the power of two
    # that its largest magnitude allows, which reads it once more (TransformerEngine's recipe, for comparison).
    # "uncertain": values are of which more is unknown than E4M3 bears, products of many contractions without a
    # normalisation since (a gated state-space layer; not transformers and ResNets).
    scaling: Literal["none", "current", "uncertain"] = "none"
    # Products that may accumulate in the tensor cores' reduced-precision adder (XLA: precision DEFAULT).
    fast_accumulation: Literal["forward", "all", "none"] = "forward"
    # A GPU whose matrix units must have the formats (h100, mi300x, ...); "" checks nothing.
    target: str = ""
    # A file that scalify-calibrate wrote: powers of two that operands are divided by before they are rounded.
    calibration: str = ""

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Converts the products of `module` in place and tells of each what was done and why.

        Raises ScalifyError for an unknown format or target, a target without the format, and an `include`
        pattern that no product matches.
        """
        if self.formats not in _FORMATS:
            raise ScalifyError(f"unknown FP8 formats '{self.formats}'; known are {', '.join(_FORMATS)}")
        if self.gradients not in ("e5m2", "e4m3"):
            raise ScalifyError(f"unknown gradient format '{self.gradients}'; known are e5m2, e4m3")
        if self.scaling not in ("none", "current", "uncertain"):
            raise ScalifyError(f"unknown scaling '{self.scaling}'; known are none, current, uncertain")
        self._check_target()
        file = ScalesFile()
        if self.calibration:
            file = read_scales(self.calibration).of(argument_shapes(public_function(module)))
        with module.context, ir.Location.unknown(module.context), layouts_folded(module):
            products = matrix_products(module)
            self._check_patterns(products, remarks)
            uncertain = self._uncertain(module, products)
            factors = self._factors(products, file.operands)
            wide = self._left_wide(module, products, file)
            quantiser = Quantiser(current_scaling=self.scaling == "current", factors=factors, uncertain=uncertain)
            reasons: collections.Counter[str] = collections.Counter()
            converted: list[ir.Operation] = []
            for i, product in enumerate(products):
                reason = self._reason_to_skip(product) or ("kept by the calibration" if i in wide else None)
                if reason is None:
                    measured = _measured(product, uncertain, factors)
                    formats = self._convert(product, quantiser)
                    converted.append(product.op)
                    remarks.append(_remark(product, f"FP8 {formats}, {_described(product)}{measured}"))
                else:
                    remarks.append(_remark(product, f"left in {_element(product)}: {reason}"))
                    reasons[reason] += 1
            hoist_operands([turn(op) for op in converted])
            if converted:
                erase_dead(module)
        # Whoever asked for FP8 and gets none of it is told what to write.
        none = bool(reasons) and not converted
        left = ", ".join(f"{count}: {r if none else r.partition(' (')[0]}" for r, count in reasons.most_common())
        summary = f"{self.name}: {len(converted)} matrix products converted to FP8, {reasons.total()} left"
        summary += f" ({left})" if left else ""
        remarks.append(Diagnostic(summary, "", "warning" if none else "remark"))

    def decisions(self, module: ir.Module) -> list[tuple[MatrixProduct, tuple[str, str] | None, str | None]]:
        """Every product, with the formats that its operands would be rounded to, or why it would be left alone."""
        found: list[tuple[MatrixProduct, tuple[str, str] | None, str | None]] = []
        for product in matrix_products(module):
            reason = self._reason_to_skip(product)
            found.append((product, None if reason else self._elements(product), reason))
        return found

    def calibrated_operands(self, module: ir.Module) -> dict[str, ir.Value]:
        """The operands of the products that would be converted, but weights: name in a file of scales -> value.

        A name is the product's index in program order and its side, `3.lhs`; one name for each value.
        """
        found: dict[ir.Value, str] = {}
        main = public_function(module)
        body = main.regions[0].blocks[0]
        attributes = attributes_of(main, "arg_attrs", len(body.arguments))
        weights = {argument for argument, own in zip(body.arguments, attributes, strict=True) if STATE in own}
        for i, product in enumerate(matrix_products(module)):
            if self._reason_to_skip(product) is None:
                for side, operand in zip(("lhs", "rhs"), product.operands, strict=True):
                    if operand.origin.root not in weights:
                        found.setdefault(unmoved(operand.value), f"{i}.{side}")
        return {name: value for value, name in found.items()}

    def _uncertain(self, module: ir.Module, products: list[MatrixProduct]) -> dict[ir.Value, float]:
        """Values that are rounded to E4M3 and have more errors of size behind them than it bears: how many."""
        if self.scaling != "uncertain":
            return {}
        errors = SizeErrors(module)
        found: dict[ir.Value, float] = {}
        for product in products:
            if self._reason_to_skip(product) is not None:
                continue
            for operand in product.operands:
                value = unmoved(operand.value)
                if not operand.is_gradient and value not in found:
                    many = math.inf if is_wide_integer(operand.origin.root) else errors.of(value)
                    found |= {value: many} if many > _MOST_ERRORS else {}
        return found

    def _factors(self, products: list[MatrixProduct], calibrated: dict[str, float]) -> dict[ir.Value, float]:
        factors: dict[ir.Value, float] = {}
        problems: list[Diagnostic] = []
        for name, factor in calibrated.items():
            index, _, side = name.partition(".")
            if not index.isdigit() or int(index) >= len(products) or side not in ("lhs", "rhs"):
                message = f"there is no product operand '{name}'; this module has {len(products)} products"
                problems.append(Diagnostic(message, self.calibration))
            elif not (math.isfinite(factor) and factor > 0 and math.frexp(factor)[0] == 0.5):
                problems.append(Diagnostic(f"operand '{name}': {factor} is no power of two", self.calibration))
            else:
                product = products[int(index)]
                factors[unmoved((product.lhs if side == "lhs" else product.rhs).value)] = factor
        if problems:
            raise ScalifyError(problems)
        return factors

    def _left_wide(self, module: ir.Module, products: list[MatrixProduct], file: ScalesFile) -> set[int]:
        """Indices of the products that the calibration leaves, or of which it leaves the weight."""
        main = public_function(module)
        named = dict(zip(main.regions[0].blocks[0].arguments, argument_names(main), strict=True))
        unknown = sorted(set(file.wide_weights) - set(named.values()))
        problems = [Diagnostic(f"wide_weights: there is no argument '{name}'", self.calibration) for name in unknown]
        problems += [
            Diagnostic(f"wide_products: there is no product {i}; this module has {len(products)}", self.calibration)
            for i in file.wide_products if not 0 <= i < len(products)
        ]  # fmt: skip
        if problems:
            raise ScalifyError(problems)
        return set(file.wide_products) | {
            i for i, product in enumerate(products)
            if any(named.get(operand.origin.root) in file.wide_weights for operand in product.operands)
        }  # fmt: skip

    # --- decisions --------------------------------------------------------------------------------------------

    def _check_target(self) -> None:
        if not self.target:
            return
        gpu = target(self.target)
        if gpu.fp8 is None:
            raise ScalifyError(
                f"{gpu.description} has no FP8 matrix units: leave out {self.name} or choose another target"
            )
        if gpu.fp8 != self.formats:
            raise ScalifyError(f"{gpu.description} has no {self.formats} FP8 formats: use formats={gpu.fp8}")

    def _check_patterns(self, products: list[MatrixProduct], remarks: list[Diagnostic]) -> None:
        for option, patterns in (("include", self.include), ("exclude", self.exclude)):
            for pattern in patterns:
                if pattern == "*" or any(_named(product, (pattern,)) for product in products):
                    continue
                message = f"{self.name}: {option} pattern '{pattern}' matches no matrix product"
                if option == "include":
                    known = sorted({product.weight for product in products if product.weight})
                    raise ScalifyError(f"{message}; weights are {', '.join(known[:8]) or 'unnamed'}")
                remarks.append(Diagnostic(message, "", "warning"))

    def _reason_to_skip(self, product: MatrixProduct) -> str | None:
        element = tensor_info(product.op.results[0].type).element
        operands = [tensor_info(operand.value.type).element for operand in product.operands]
        if any(name.startswith("f8") for name in operands):
            return "an operand is FP8 already"
        if element not in _RESULT_TYPES or any(name not in _RESULT_TYPES for name in operands):
            return f"products of {' and '.join(operands)} to {element} have no FP8 form"
        if "algorithm" in product.op.attributes:
            return "it asks for a dot algorithm"
        if _is_marked(product, GIVEN):
            if not self.given:
                return "of what the step is given, whose mean E4M3 may leave nothing beside (convert with given=true)"
        elif _is_marked(product, FED_BACK):
            return "what it is computed of is fed back by it, with its errors"
        elif KEPT in product.op.attributes:
            if any(is_frozen(operand.origin.root) for operand in product.operands):
                return "kept by scalify-cast: one side is a constant, such as a transform's or a small weight"
            return (
                "kept by scalify-cast: the optimiser's, named by keep, a transform, of an index or an angle, or asking "
                "for more precision than others"
            )
        if not _named(product, self.include) or _named(product, self.exclude):
            return "excluded by name"
        if product.is_embedding and not self.embedding:
            return "embedding (convert with embedding=true)"
        if product.is_head and not self.head:
            return "head (convert with head=true)"
        if product.batched and not self.batched:
            return "has batch dimensions (convert with batched=true)"
        if product.of_activations and not self.batched:
            return "of two activations (convert with batched=true)"
        if product.kind == "unclear" and self.gradients == "e5m2":
            return "both operands are gradients, and E5M2 x E5M2 has no FP8 form"
        if min(product.lhs.free_size, product.rhs.free_size) == 1:
            return "matrix times vector"
        if not self.small and product.is_small:
            return "so small that padding takes what FP8 gains (convert with small=true)"
        return None

    # --- rewriting --------------------------------------------------------------------------------------------

    def _convert(self, product: MatrixProduct, quantiser: Quantiser) -> str:
        """Replaces the operands; returns the formats, for the report."""
        elements = self._elements(product)
        lhs, rhs = (
            quantiser.quantised(operand, element)  # as it is by now: with factors, if a product gives it
            for operand, element in zip(list(product.op.operands), elements, strict=True)
        )
        product.op.operands[0], product.op.operands[1] = lhs.value, rhs.value
        quantiser.rescale(product.op, (lhs, rhs))
        backward = product.kind != "forward"
        fast = self.fast_accumulation == "all" or (self.fast_accumulation == "forward" and not backward)
        precision = f"#stablehlo<precision {'DEFAULT' if fast else 'HIGHEST'}>"
        product.op.attributes["precision_config"] = ir.Attribute.parse(f"[{precision}, {precision}]")
        return " x ".join(element[2:6] for element in elements)

    def _elements(self, product: MatrixProduct) -> tuple[str, str]:
        """The types of the two operands."""
        values, gradients = _FORMATS[self.formats]
        if self.gradients == "e4m3":
            gradients = values
        lhs, rhs = (gradients if operand.is_gradient else values for operand in product.operands)
        return lhs, rhs


# w^T x and x^T dy of what is given, x
def _is_marked(product: MatrixProduct, mark: str) -> bool:
    """Whether a product is marked by `scalify-cast`, or is the weight's gradient of a layer that is."""
    layers = (
        (product,) if product.layer is None or product.role == "gradient of the input" else (product, product.layer)
    )
    marks = [each.op.attributes[KEPT] for each in layers if KEPT in each.op.attributes]
    return ir.StringAttr.get(mark) in marks


def _named(product: MatrixProduct, patterns: tuple[str, ...]) -> bool:
    return matches(product.name, patterns) or matches(product.weight, patterns)


def _element(product: MatrixProduct) -> str:
    operands: set[str] = {tensor_info(operand.value.type).element for operand in product.operands}
    return " x ".join(sorted(operands))


def _described(product: MatrixProduct) -> str:
    weight = f" of {product.weight}" if product.weight else ""
    by = " (known from data flow)" if product.evidence == "data flow" else ""
    return f"{product.role}{weight}{by}"


def _measured(product: MatrixProduct, uncertain: dict[ir.Value, float], factors: dict[ir.Value, float]) -> str:
    """Which operands are measured in each call, and why."""
    found: list[str] = []
    for side, operand in zip(("lhs", "rhs"), product.operands, strict=True):
        value = unmoved(operand.value)
        if value in uncertain and value not in factors:
            many = uncertain[value]
            size = f"a product of {many:g} estimates that no normalisation bounds"
            size = "that of integers" if math.isinf(many) else size
            found.append(f"; {side} is scaled by its largest element: its size is {size}")
    return "".join(found)


def _remark(product: MatrixProduct, message: str) -> Diagnostic:
    return Diagnostic(message, product.source, "remark", detail=True)
