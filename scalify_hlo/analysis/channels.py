"""Along which dimensions of a weight each number may have a scale of its own.

# x . (w * diag(c)) = (x . w) * diag(c)

A factor of an FP8 product's operand comes out of the product where the operand's dimension does: along what the product
contracts there is one scale. What other readers take is converted first, and may have any.
"""

from collections.abc import Callable

from scalify_hlo.analysis.calls import CallGraph, program_order
from scalify_hlo.analysis.origins import Origin, Origins
from scalify_hlo.analysis.products import MatrixProduct, matrix_products
from scalify_hlo.analysis.weights import GATHERS
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.types import tensor_info


def is_narrow(product: MatrixProduct) -> bool:
    """Whether a product reads both operands in FP8."""
    return all(tensor_info(operand.type).element.startswith("f8") for operand in product.op.operands)


def channel_dimensions(
    module: ir.Module, main: str, narrow: Callable[[MatrixProduct], bool] = is_narrow
) -> dict[int, tuple[int, ...]]:
    """Argument index of the function `main` -> its dimensions that are output channels, or layers, or experts.

    Those are what no product contracts; of the kernel of a convolution, the output features; of a table that is
    gathered from and not multiplied, the columns of its rows. narrow: which products read their operands in FP8, or
    will.
    """
    calls = CallGraph(module)
    body = calls.body(main)
    wanted: dict[int, set[int]] = {}
    contracted: dict[int, set[int]] = {}

    def note(origin: Origin, inner: frozenset[int], *, binding: bool) -> None:
        root = origin.root
        if isinstance(root, ir.BlockArgument) and root.owner == body:
            index = ir.BlockArgument(root).arg_number
            wanted.setdefault(index, set()).update(set(range(tensor_info(root.type).rank)) - inner)
            if binding:
                contracted.setdefault(index, set()).update(inner)

    for product in matrix_products(module):
        for operand in product.operands:
            inner = operand.origin.root_dims(operand.contracting)
            note(operand.origin, inner, binding=narrow(product))
    origins = Origins(calls)
    tables: list[tuple[Origin, frozenset[int]]] = []
    for op in program_order(calls):
        if op.name == "stablehlo.convolution":
            numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
            rank = tensor_info(op.operands[1].type).rank
            others = [d for d in range(rank) if d != numbers.kernel_output_feature_dimension]
            origin = origins.of(op.operands[1])
            note(origin, origin.root_dims(others), binding=False)
        elif op.name in GATHERS:  # a table of which rows are taken: columns in units of their own
            numbers = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
            origin = origins.of(op.operands[0])
            tables.append((origin, origin.root_dims(list(numbers.start_index_map))))
    multiplied = set(wanted)
    for origin, inner in tables:
        if not isinstance(origin.root, ir.BlockArgument) or ir.BlockArgument(origin.root).arg_number not in multiplied:
            note(origin, inner, binding=False)
    return {i: tuple(sorted(dims - contracted.get(i, set()))) for i, dims in wanted.items()}
