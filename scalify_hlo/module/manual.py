"""Regions of per-device code: `sdy.manual_computation`, and modules that are such a region as a whole.

JAX lowers `shard_map` to the former. The latter are functions transformed inside of `shard_map`: they become functions
that are called from such a region, and carry `scalify.replica_groups` meanwhile.
"""

import collections
import math
from typing import Any

import numpy as np

from scalify_hlo.bindings import ir, sdy, stablehlo

MANUAL = "sdy.manual_computation"
# Module attribute: the devices that run the module together, as the `replica_groups` of a collective.
GROUPS = "scalify.replica_groups"
# Argument and result attribute of a function: the value is the same on all these devices.
EVERYWHERE = "scalify.everywhere"


def parent(op: ir.Operation) -> ir.Operation | None:
    """The operation that an operation is in; None of a module, and of a function that is not in one yet."""
    try:
        above = op.parent
    except ValueError:  # that is how the bindings say that there is none
        return None
    return None if above is None else above.operation


def mesh_sizes(module: ir.Operation, mesh: ir.Attribute) -> dict[str, int]:
    """Axis name -> number of devices of a mesh: `@name`, or one written out. {} when there is none of that name."""
    if isinstance(mesh, ir.FlatSymbolRefAttr):
        for op in (each.operation for each in module.regions[0].blocks[0].operations):
            if op.name == "sdy.mesh" and ir.StringAttr(op.attributes["sym_name"]).value == mesh.value:
                mesh = op.attributes["mesh"]
                break
        else:
            return {}
    # From jax 0.12 on collectives have meshes of StableHLO's own.
    dialect: Any = stablehlo if str(mesh).startswith("#stablehlo.") else sdy
    axes = [dialect.MeshAxisAttr(axis) for axis in dialect.MeshAttr(mesh).axes]
    return {axis.name: axis.size for axis in axes}


def replica_groups(sizes: dict[str, int], axes: set[str]) -> ir.Attribute:
    """The devices of a row-major mesh, grouped over some of its axes: as a collective wants them."""
    devices = np.arange(math.prod(sizes.values())).reshape(list(sizes.values()))
    last = [i for i, name in enumerate(sizes) if name in axes]
    first = [i for i, name in enumerate(sizes) if name not in axes]
    groups = devices.transpose(first + last).reshape(-1, math.prod(sizes[name] for name in axes)).tolist()
    rows = ", ".join(str(group) for group in groups)
    return ir.Attribute.parse(f"dense<[{rows}]> : tensor<{len(groups)}x{len(groups[0])}xi64>")


def groups_around(op: ir.Operation) -> ir.Attribute | None:
    """The devices that run an operation as per-device code, as `replica_groups`; None outside of such code.

    Also None in a region over a mesh that the module does not define.
    """
    inside: list[ir.Operation] = []
    root = op
    while (above := parent(root)) is not None:
        root = above
        if root.name == MANUAL:
            inside.append(root)
    if not inside:
        return root.attributes.get(GROUPS)
    axes = {name for each in inside for name in manual_axes(each)}
    sizes = _sizes(root, inside[0])
    return replica_groups(sizes, axes & sizes.keys()) if sizes and axes & sizes.keys() else None


def manual_axes(op: ir.Operation) -> list[str]:
    """The axes of the mesh over which a region is per-device code."""
    text = str(op.attributes["manual_axes"])
    names = ir.ArrayAttr.parse("[" + text[text.index("{") + 1 : text.rindex("}")] + "]")
    return [ir.StringAttr(name).value for name in names]


def _sizes(module: ir.Operation, op: ir.Operation) -> dict[str, int]:
    for name in ("in_shardings", "out_shardings"):
        for sharding in sdy.TensorShardingPerValueAttr(op.attributes[name]).shardings:
            return mesh_sizes(module, sdy.TensorShardingAttr(sharding).mesh_or_ref)
    return {}


def collective_attributes(groups: ir.Attribute) -> dict[str, ir.Attribute]:
    """Attributes of a collective between the devices of `groups`."""
    return {
        "replica_groups": groups,
        "channel_handle": ir.Attribute.parse("#stablehlo.channel_handle<handle = 1, type = 1>"),
        "use_global_device_ids": ir.UnitAttr.get(),
    }


def group_count(groups: ir.Attribute) -> int:
    """How many devices each group of `replica_groups` has."""
    return ir.ShapedType(ir.DenseElementsAttr(groups).type).get_dim_size(1)


def covers(groups: ir.Attribute, whole: ir.Attribute) -> bool:
    """Whether a collective's groups are those of all the devices that run it together."""
    if not isinstance(groups, ir.DenseElementsAttr) or not isinstance(whole, ir.DenseElementsAttr):
        return False
    return _members(groups) == _members(whole)


def _members(groups: ir.Attribute) -> collections.Counter[frozenset[int]]:
    return collections.Counter(frozenset(row) for row in np.asarray(ir.DenseElementsAttr(groups)).tolist())


def inline_regions(module: ir.Module) -> None:
    """Put the operations of regions in their place, where each device has the whole of every operand.

    What is left is what one device computes. Collectives stay.
    """
    for function in module.body.operations:
        for region in function.operation.regions:
            for block in region.blocks:
                regions = [each.operation for each in block.operations if each.operation.name == MANUAL]
                for op in regions:
                    _inline(op)
                if regions and function.operation.name == "func.func":
                    types = [value.type for value in block.operations[len(block.operations) - 1].operands]
                    type_ = ir.FunctionType.get([argument.type for argument in block.arguments], types)
                    function.operation.attributes["function_type"] = ir.TypeAttr.get(type_)


def _inline(op: ir.Operation) -> None:
    body = op.regions[0].blocks[0]
    for argument, operand in zip(body.arguments, op.operands, strict=True):
        argument.replace_all_uses_with(operand)
    *inner, last = [each.operation for each in body.operations]
    for each in inner:
        each.move_before(op)
    for result, value in zip(op.results, last.operands, strict=True):
        result.replace_all_uses_with(value)
    op.erase()
