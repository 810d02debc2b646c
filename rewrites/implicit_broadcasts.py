"""chlo operations that broadcast their operands: written out as a broadcast and the operation, which has a rule."""

from scalify_hlo.bindings import ir
from scalify_hlo.rules.oprewrite import Create, OpRewrite, UnsupportedError
from scalify_hlo.rules.registry import never_scaled, rule
from scalify_hlo.types import tensor_info

_NAMES = ("add", "atan2", "compare", "complex", "divide", "maximum", "minimum", "multiply", "power", "remainder",
          "select", "subtract", "next_after", "polygamma", "zeta")  # fmt: skip
_CHLO = {"next_after", "polygamma", "zeta"}


@rule(*(f"chlo.broadcast_{name}" for name in _NAMES), family="structural", law="f(broadcast(x), broadcast(y))",
      scale="as the operation without broadcasts", shaped=True, legalised=True,
      note="dynamic shapes: where the types are equal or one operand has rank 0")  # fmt: skip
def broadcast_operands(r: OpRewrite) -> None:
    name = r.name.removeprefix("chlo.broadcast_")
    full = f"chlo.{name}" if name in _CHLO else f"stablehlo.{name}"
    result = r.op.results[0]
    shape = r.result_info().shape
    attributes = {
        k: _own_dialect(v) if full.startswith("stablehlo.") else v
        for k, v in r.op.attributes.items()
        if k != "broadcast_dimensions"
    }

    def build(operands: list[ir.Value], create: Create) -> ir.Value:
        values = [
            operand if name == "select" and i == 0 and tensor_info(operand.type).rank == 0 else
            _broadcast(r, operand, operands, shape, create)
            for i, operand in enumerate(operands)
        ]  # fmt: skip
        return create(full, result.type, values, attributes)

    r.expand(build)


def _own_dialect(attribute: ir.Attribute) -> ir.Attribute:
    """chlo's comparison direction and type, as stablehlo's."""
    text = str(attribute)
    return ir.Attribute.parse("#stablehlo" + text.removeprefix("#chlo")) if text.startswith("#chlo") else attribute


def _broadcast(
    r: OpRewrite, operand: ir.Value, operands: list[ir.Value], shape: tuple[int, ...], create: Create
) -> ir.Value:
    """One operand at the shape of the result, aligned at the last dimension or by `broadcast_dimensions`."""
    info = tensor_info(operand.type)
    if info.shape == shape and info.is_static:
        return operand
    dims = list(range(len(shape) - info.rank, len(shape)))
    if info.rank < len(shape) and "broadcast_dimensions" in r.op.attributes:
        dims = r.attribute_ints("broadcast_dimensions")
    attribute = ir.DenseI64ArrayAttr.get(dims)
    type_ = ir.RankedTensorType.get(list(shape), ir.RankedTensorType(operand.type).element_type)
    if all(n >= 0 for n in shape) and info.is_static:
        return create("stablehlo.broadcast_in_dim", type_, [operand], {"broadcast_dimensions": attribute})
    others = [other for other in operands if tensor_info(other.type).rank == len(shape)]
    if info.rank == 0 and len(others) == 1:
        sizes = r.emit.shape_of(others[0])
        type_ = r.emit.tensor_type(others[0].type, info.element)
        return create("stablehlo.dynamic_broadcast_in_dim", type_, [operand, sizes],
                      {"broadcast_dimensions": attribute})  # fmt: skip
    if info.rank == len(shape) and all(tensor_info(other.type).rank == 0 for other in operands if other != operand):
        return operand
    raise UnsupportedError(f"'{r.name}' broadcasts dynamic shapes; legalise it first (chlo-legalize-to-stablehlo)")


never_scaled(
    "chlo.broadcast_and", "chlo.broadcast_or", "chlo.broadcast_xor", "chlo.broadcast_shift_left",
    "chlo.broadcast_shift_right_arithmetic", "chlo.broadcast_shift_right_logical", "chlo.mulhi",
    reason="its operands are integers",
)  # fmt: skip
