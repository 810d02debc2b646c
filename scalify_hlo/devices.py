"""Which values are the same on every device, seen from inside a region of per-device code.

Scales mostly are: they enter such a region replicated and change by the same algebra everywhere. Where that is
certain, no communication is needed to bring the scales of several devices together.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any

from scalify_hlo.bindings import ir, sdy, stablehlo

# Operations whose result is a function of their operands alone.
_FUNCTIONS = frozenset(
    f"stablehlo.{name}"
    for name in (
        "abs", "add", "broadcast_in_dim", "cbrt", "clamp", "compare", "concatenate", "convert", "divide",
        "dynamic_slice", "dynamic_update_slice", "exponential", "is_finite", "log", "maximum", "minimum", "multiply",
        "negate", "optimization_barrier", "pad", "power", "reduce", "reduce_precision", "reshape", "rsqrt", "select",
        "slice", "sqrt", "subtract", "transpose", "and", "or", "not",
    )
)  # fmt: skip
_CONSTANTS = frozenset({"stablehlo.constant", "stablehlo.iota"})


def same_on_every_device(value: ir.Value, known: AbstractSet[ir.Value]) -> bool:
    """Whether `value` is known to be equal on all devices that run the region it belongs to.

    known: values that are, such as arguments of private functions.
    """
    return _same(value, set(known))


def _same(value: ir.Value, assumed: set[ir.Value]) -> bool:
    if value in assumed:
        return True  # a loop: equal if everything else that feeds it is
    assumed.add(value)
    owner = value.owner
    if isinstance(owner, ir.Block):
        return _argument(ir.BlockArgument(value), owner, assumed)
    op = owner.operation
    if op.name in _CONSTANTS:
        return True
    if op.name in _FUNCTIONS:
        return all(_same(operand, assumed) for operand in op.operands)
    if op.name == "stablehlo.while":
        index = next(i for i, result in enumerate(op.results) if result == value)
        return _carried(op, index, assumed)
    return False


def _argument(argument: ir.BlockArgument, block: ir.Block, assumed: set[ir.Value]) -> bool:
    op = block.owner.operation
    if op.name == "stablehlo.while":
        return _carried(op, argument.arg_number, assumed)
    if op.name == "sdy.manual_computation":
        shardings = sdy.TensorShardingPerValueAttr(op.attributes["in_shardings"]).shardings
        return not any(True for _ in _axes(shardings[argument.arg_number]))
    # An argument of a partitioned program is one logical value; of a replicated program, one for each replica.
    if op.name != "func.func":
        return False
    attributes = op.attributes
    public = "sym_visibility" not in attributes or ir.StringAttr(attributes["sym_visibility"]).value == "public"
    return public and _count(op.parent.operation, "mhlo.num_replicas") == 1


def _count(module: ir.Operation, name: str) -> int:
    """An integer attribute of the module; 0 when absent."""
    return ir.IntegerAttr(module.attributes[name]).value if name in module.attributes else 0


def _carried(op: ir.Operation, index: int, assumed: set[ir.Value]) -> bool:
    """Whether a value carried by a loop is equal everywhere: at entry, after each iteration, and in their number."""
    condition, body = (region.blocks[0] for region in op.regions)
    returned = list(body.operations[len(body.operations) - 1].operands)
    if index >= len(returned):
        return False  # the body is being rewritten: its scales are not returned yet
    decision = condition.operations[len(condition.operations) - 1].operands[0]
    return all(_same(v, assumed) for v in (op.operands[index], returned[index], decision))


def _axes(sharding: ir.Attribute) -> Iterable[ir.Attribute]:
    for dimension in sdy.TensorShardingAttr(sharding).dimension_shardings:
        yield from sdy.DimensionShardingAttr(dimension).axes


def mesh_sizes(module: ir.Module, mesh: ir.Attribute) -> dict[str, int]:
    """Axis name -> number of devices of a mesh: `@name`, or one written out. {} when there is none of that name."""
    if isinstance(mesh, ir.FlatSymbolRefAttr):
        for op in module.body.operations:
            if op.operation.name == "sdy.mesh" and ir.StringAttr(op.attributes["sym_name"]).value == mesh.value:
                mesh = op.attributes["mesh"]
                break
        else:
            return {}
    # From jax 0.12 on collectives have meshes of StableHLO's own.
    dialect: Any = stablehlo if str(mesh).startswith("#stablehlo.") else sdy
    axes = [dialect.MeshAxisAttr(axis) for axis in dialect.MeshAttr(mesh).axes]
    return {axis.name: axis.size for axis in axes}


def group_size(module: ir.Module, groups: ir.Attribute) -> int:
    """Number of devices in each of the `replica_groups` of a collective; 1 when that is not known."""
    if isinstance(groups, ir.DenseElementsAttr):
        return max(ir.ShapedType(groups.type).get_dim_size(1), 1)
    axes = stablehlo.ReplicaGroupMeshAxesAttr(groups)
    sizes = mesh_sizes(module, axes.mesh)
    size = 1
    for entry in ir.ArrayAttr(axes.axes):
        axis = stablehlo.AxisRefAttr(entry)
        part = axis.sub_axis_info
        size *= stablehlo.SubAxisInfoAttr(part).size if part is not None else sizes.get(axis.name, 1)
    return size
