"""The shape of a tensor as a value of the program, for tensors whose sizes are known at run time only."""

from collections.abc import Callable

from scalify_hlo.bindings import ir
from scalify_hlo.types import tensor_info


def sizes(op: Callable[..., ir.Value], value: ir.Value) -> ir.Value:
    """The shape of a tensor of rank 1 or more, as tensor<rank x i32>.

    op: emits `stablehlo.<name>` with one result, of a name, a type, operands and attributes.
    """
    i32, i64 = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(64)
    number, one = ir.RankedTensorType.get([], i32), ir.RankedTensorType.get([1], i32)
    each = [
        op("reshape", one, op("get_dimension_size", number, value, dimension=ir.IntegerAttr.get(i64, d)))
        for d in range(tensor_info(value.type).rank)
    ]
    return op("concatenate", ir.RankedTensorType.get([len(each)], i32), *each, dimension=ir.IntegerAttr.get(i64, 0))
