"""Programs in f16: what lies between a sum and the next full-size tensor is computed in f32.

JAX sums f16 in f32 and rounds the sum to f16 at once; the variance, its inverse root, the root's derivative v^(-3/2),
softmax's squared denominator are then f16. They need three times the range of the data they come from: data 2^-9 away
from unit scaling, which f16 itself bears well, give 2^27. These tensors are small, one number for each row, so f32
costs nothing there. In exact arithmetic nothing changes.

    convert(f32 -> f16), add, rsqrt, divide (f16), convert(f16 -> f32)   becomes   add, rsqrt, divide (f32)

Products that are summed next are formed in f32 too, since f16's square of 2^-12 is 0; and so are products of such a
number, repeated along its row, with a full-size tensor. Conversions to f8 and back stay: whoever writes them wants to
round.

So is the optimiser's arithmetic, elementwise from gradients and state to the new state, which compilers keep in
registers. Adam's m / (sqrt(v) + epsilon) of an f16 v that has just become zero would be a step of any size.
"""

from scalify_hlo.analysis.calls import defining_op, only_reader
from scalify_hlo.analysis.update import find_update
from scalify_hlo.analysis.update_sources import ELEMENTWISE
from scalify_hlo.bindings import ir
from scalify_hlo.engine.signature import public_function
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.types import TensorInfo, tensor_info

_ELEMENTWISE = frozenset(
    f"stablehlo.{name}"
    for name in (
        "abs", "add", "cbrt", "divide", "exponential", "log", "maximum", "minimum", "multiply", "negate", "power",
        "reshape", "rsqrt", "sqrt", "subtract", "broadcast_in_dim",
    )
)  # fmt: skip
# NaN where no element is left to take the variance of.
_CHOICES = ("stablehlo.convert", "stablehlo.select")
# How many operations back a sum is looked for.
_DEPTH = 12


def widen_statistics(module: ir.Module) -> None:
    """Rewrite all functions of a module in place, before they are scaled. Needs a current context and location."""
    main = public_function(module)
    update: set[ir.Value] = set()
    if any(_is_narrow(tensor_info(argument.type)) for argument in main.regions[0].blocks[0].arguments):
        update = find_update(module, symbol_name(main)).values
    for function in module.body.operations:
        if function.operation.name == "func.func":
            _regions(function.operation, update)


def _regions(op: ir.Operation, update: set[ir.Value]) -> None:
    for region in op.regions:
        for block in region.blocks:
            _Widening(block, update)


class _Widening:
    """One block.

    update: values that the optimiser computes.
    wide: the f32 twins of values of narrow types. rows: the same of full-size tensors that repeat a number along rows.
    """

    def __init__(self, block: ir.Block, update: set[ir.Value]):
        self.wide: dict[ir.Value, ir.Value] = {}
        self.rows: dict[ir.Value, ir.Value] = {}
        for op in [op.operation for op in block.operations]:
            if op.name in ("stablehlo.while", "stablehlo.case", "stablehlo.if"):
                _regions(op, update)
            elif op.name in ELEMENTWISE and op.results[0] in update and _is_narrow(tensor_info(op.results[0].type)):
                self._widened(op)
            elif op.name == "stablehlo.convert":
                self._convert(op)
            elif op.name == "stablehlo.reduce":
                self._reduce(op)
            elif op.name in _ELEMENTWISE:
                self._elementwise(op)
            elif op.name == "stablehlo.select" and any(value in self.wide for value in op.operands):
                self._widened(op)  # variances are NaN where no element is left
        for replaced in (self.rows, self.wide):
            for narrow in reversed(replaced):
                if not any(True for _ in narrow.uses):
                    narrow.owner.operation.erase()

    def _convert(self, op: ir.Operation) -> None:
        source, target = (tensor_info(value.type) for value in (op.operands[0], op.results[0]))
        if _is_narrow(target) and source.element == "f32":
            if _from_sum(op.operands[0]):
                self.wide[op.results[0]] = op.operands[0]
            elif _repeats_sum(op.operands[0]):
                self.rows[op.results[0]] = op.operands[0]
        elif _is_narrow(source) and target.element == "f32" and op.operands[0] in self.wide:
            if _is_compared(op.results[0]):
                return
            op.results[0].replace_all_uses_with(self.wide[op.operands[0]])
            op.erase()

    def _reduce(self, op: ir.Operation) -> None:
        """A sum in the narrow type itself, where it is combined with other statistics: summed in f32 instead."""
        info = tensor_info(op.results[0].type)
        if (
            len(op.results) != 1
            or not _is_narrow(info)
            or body_kind(op) != "add"
            or not self._meets_wide(op.results[0])
        ):
            return
        terms, initial = op.operands
        product = None if only_reader(terms) is None else defining_op(terms)
        with ir.InsertionPoint(op), op.location:
            if product is not None and product.name == "stablehlo.multiply":
                operands = [self._twin(product), _convert_to(initial, "f32")]
            else:
                operands = [_convert_to(terms, "f32"), _convert_to(initial, "f32")]
            copy = op.clone()
            for i, operand in enumerate(operands):
                copy.operands[i] = operand
            block = copy.regions[0].blocks[0]
            for value in [*copy.results, *block.arguments, *block.operations[0].results]:
                value.set_type(_type(value.type, "f32"))
            narrowed = _convert_to(copy.results[0], info.element)
        op.results[0].replace_all_uses_with(narrowed)
        op.erase()
        self.wide[narrowed] = copy.results[0]

    def _meets_wide(self, value: ir.Value) -> bool:
        """Whether a value is combined with one that has a twin, as it is or reshaped."""
        for use in value.uses:
            op = use.owner.operation
            if op.name in _ELEMENTWISE and any(other != value and other in self.wide for other in op.operands):
                return True
            if op.name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.negate"):
                same = tensor_info(op.results[0].type).size == tensor_info(value.type).size
                if same and self._meets_wide(op.results[0]):
                    return True
        return False

    def _elementwise(self, op: ir.Operation) -> None:
        info = tensor_info(op.results[0].type)
        if not _is_narrow(info):
            return
        grows = op.name == "stablehlo.broadcast_in_dim" and tensor_info(op.operands[0].type).size != info.size
        known = [operand in self.wide for operand in op.operands]
        if not grows and any(known) and all(k or _is_constant(v) for k, v in zip(known, op.operands, strict=True)):
            self._widened(op)
        elif grows and known[0]:
            self.rows[op.results[0]] = self._twin(op)
        elif op.name == "stablehlo.multiply" and any(operand in self.rows for operand in op.operands):
            twin = self._twin(op)
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(_convert_to(twin, info.element))
            op.erase()
        elif op.name == "stablehlo.multiply" and _is_summed(op.results[0]):
            twin = self._twin(op)
            for use in list(op.results[0].uses):
                converted = use.owner.operation
                converted.results[0].replace_all_uses_with(twin)
            self.wide[op.results[0]] = twin

    def _widened(self, op: ir.Operation) -> None:
        """Compute an operation in f32; those that have no twin read what is rounded to the type that it had."""
        twin = self._twin(op)
        with ir.InsertionPoint(op), op.location:
            narrowed = _convert_to(twin, tensor_info(op.results[0].type).element)
        op.results[0].replace_all_uses_with(narrowed)
        op.erase()
        self.wide[narrowed] = twin

    def _twin(self, op: ir.Operation) -> ir.Value:
        """The same operation in f32."""
        with ir.InsertionPoint(op), op.location:
            # Converted once: a square has to stay recognisable.
            twins: dict[ir.Value, ir.Value] = {}
            for value in op.operands:
                if value not in twins:
                    twins[value] = self.wide.get(value) or self.rows.get(value) or _in_f32(value)
            operands = [twins[value] for value in op.operands]
            attributes = dict(op.attributes.items())
            copy = ir.Operation.create(op.name, [_type(op.results[0].type, "f32")], operands, attributes)
        return copy.results[0]


def _is_narrow(info: TensorInfo) -> bool:
    return info.element == "f16"


def _type(like: ir.Type, element: str) -> ir.Type:
    tensor = ir.RankedTensorType(like)
    return ir.RankedTensorType.get(tensor.shape, ir.Type.parse(element), tensor.encoding)


def _convert_to(value: ir.Value, element: str) -> ir.Value:
    return ir.Operation.create("stablehlo.convert", [_type(value.type, element)], [value]).results[0]


def _in_f32(value: ir.Value) -> ir.Value:
    """A value of a narrow type converted to f32, any other one as it is."""
    return _convert_to(value, "f32") if tensor_info(value.type).is_narrow else value


def _is_constant(value: ir.Value) -> bool:
    """Whether a value is a constant, or one broadcast or converted."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if op.name == "stablehlo.constant":
            return True
        if op.name not in ("stablehlo.broadcast_in_dim", "stablehlo.convert"):
            return False
        value = op.operands[0]
    return False


# x == max(x): what is looked for among elements was taken from them as they are rounded
def _is_compared(value: ir.Value) -> bool:
    """Whether a value is compared with others that are no constant."""
    return any(
        use.owner.operation.name == "stablehlo.compare" and not _is_constant(use.owner.operands[1 - use.operand_number])
        for use in value.uses
    )


def _from_sum(value: ir.Value) -> bool:
    """Whether a value comes from a sum over a dimension by elementwise operations that keep its size."""
    size = tensor_info(value.type).size
    seen: set[ir.Value] = {value}
    level: list[ir.Value] = [value]
    for _ in range(_DEPTH):
        owners = [each.owner.operation for each in level if not isinstance(each.owner, ir.Block)]
        if any(op.name == "stablehlo.reduce" for op in owners):
            return True
        operands = [v for op in owners if op.name in _ELEMENTWISE or op.name in _CHOICES for v in op.operands]
        level = [v for v in dict.fromkeys(operands) if v not in seen and tensor_info(v.type).size == size]
        seen.update(level)
    return False


def _repeats_sum(value: ir.Value) -> bool:
    """Whether a value is what comes from a sum, repeated along the dimension that was summed."""
    owner = value.owner
    return (
        not isinstance(owner, ir.Block) and owner.name == "stablehlo.broadcast_in_dim" and _from_sum(owner.operands[0])
    )


def _is_summed(value: ir.Value) -> bool:
    """Whether all that a value is used for is to be widened to f32 and summed."""
    uses = [use.owner.operation for use in value.uses]
    return bool(uses) and all(
        op.name == "stablehlo.convert" and tensor_info(op.results[0].type).element == "f32"
        and all(use.owner.operation.name == "stablehlo.reduce" for use in op.results[0].uses)
        for op in uses
    )  # fmt: skip
