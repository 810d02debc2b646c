"""Regions of per-device code: `sdy.manual_computation`, and modules that are such a region as a whole.

JAX lowers `shard_map` to the former. The latter are functions transformed inside of `shard_map`: they become functions
that are called from such a region, and carry `scalify.replica_groups` meanwhile.
"""

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from scalify_hlo.bindings import ir, sdy, stablehlo
from scalify_hlo.module.constants import CONSTANT, constant_behind, dense_value
from scalify_hlo.module.identity import symbol_name

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


def is_per_device(op: ir.Operation) -> bool:
    """Whether an operation is in per-device code, within its function."""
    above = parent(op)
    while above is not None and above.name != MANUAL:
        above = parent(above)
    return above is not None


def is_partitioned(module: ir.Module) -> bool:
    """Whether tensors may lie on several devices, and parts that are read together be moved."""
    attributes = module.operation.attributes
    return "mhlo.num_partitions" in attributes and ir.IntegerAttr(attributes["mhlo.num_partitions"]).value > 1


def mesh_sizes(module: ir.Operation, mesh: ir.Attribute) -> dict[str, int]:
    """Axis name -> number of devices of a mesh: `@name`, or one written out. {} when there is none of that name."""
    if isinstance(mesh, ir.FlatSymbolRefAttr):
        for op in (each.operation for each in module.regions[0].blocks[0].operations):
            if op.name == "sdy.mesh" and symbol_name(op) == mesh.value:
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


def group_size(op: ir.Operation) -> int:
    """Number of devices in each of the groups of a collective; 1 when that is not known."""
    members = _groups(op, op.attributes["replica_groups"])
    return 1 if members is None else max(members.shape[1], 1)


def covers(op: ir.Operation, whole: ir.Attribute) -> bool:
    """Whether a collective's groups are those of all the devices that run it together."""
    own, every = _groups(op, op.attributes["replica_groups"]), _groups(op, whole)
    return own is not None and every is not None and _members(own) == _members(every)


def device_groups(op: ir.Operation) -> str:
    """The groups of a collective's devices, the same for all ways to write them: as numbers and as axes of a mesh."""
    groups = _groups(op, op.attributes["replica_groups"])
    return str(op.attributes["replica_groups"] if groups is None else _members(groups))


def _groups(op: ir.Operation, groups: ir.Attribute) -> np.ndarray[Any, Any] | None:
    """Each group's devices, a row for each; None over a mesh that the module does not define, or lacks the axes of.

    They are written as numbers or, from jax 0.12 on, as axes of a mesh, whole or in part.
    """
    if isinstance(groups, ir.DenseElementsAttr):
        return np.asarray(groups)
    root = op
    while (above := parent(root)) is not None:
        root = above
    named = stablehlo.ReplicaGroupMeshAxesAttr(groups)
    sizes = mesh_sizes(root, named.mesh)
    axes = list(ir.ArrayAttr(named.axes))
    if not sizes or not all(stablehlo.AxisRefAttr.isinstance(axis) for axis in axes):  # the verifier takes anything
        return None
    # A part of an axis is `size` of its devices that are `pre_size` steps of the mesh from the axis' start.
    shape = {(name, 1): size for name, size in sizes.items()}
    chosen: list[tuple[str, int]] = []
    for axis in map(stablehlo.AxisRefAttr, axes):
        before, size = 1, sizes.get(axis.name, 1)
        if axis.sub_axis_info is not None:
            part = stablehlo.SubAxisInfoAttr(axis.sub_axis_info)
            before, size = part.pre_size, part.size
        shape = _split(shape, axis.name, before, size)
        chosen.append((axis.name, before))
    if any(each not in shape for each in chosen) or math.prod(shape.values()) != math.prod(sizes.values()):
        return None
    devices = np.arange(math.prod(sizes.values())).reshape(list(shape.values()))
    order = sorted(shape, key=lambda each: each in chosen)
    count = math.prod(shape[each] for each in chosen)
    return devices.transpose([list(shape).index(each) for each in order]).reshape(-1, count)


def _split(shape: dict[tuple[str, int], int], name: str, before: int, size: int) -> dict[tuple[str, int], int]:
    """A mesh, axes and parts of them by name and what comes before, in which `size` devices after `before` are one."""
    found: dict[tuple[str, int], int] = {}
    for (own, start), count in shape.items():
        bounds = [start, start * count]
        if own == name:
            bounds += [each for each in (before, before * size) if start < each < start * count]
        ends = sorted(set(bounds)) if count > 1 else bounds[:2]
        found |= {(own, low): high // low for low, high in itertools.pairwise(ends)}
    return found


def _members(groups: np.ndarray[Any, Any]) -> list[list[int]]:
    """The groups of devices, in an order that does not depend on how they are written."""
    return sorted(sorted(row) for row in groups.tolist())


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


def settle_constants(regions: Iterable[ir.Operation]) -> None:
    """Write constants that enter or leave per-device code as constants on the other side too.

    A loss that is a `shard_map` is differentiated into two regions; what the first hands to the second, such as the
    number that a mean divides by, has a value for each device.
    """
    for op in regions:
        body = op.regions[0].blocks[0]
        last = body.operations[len(body.operations) - 1]
        for given, inside in zip(op.operands, body.arguments, strict=True):
            _settle(given, inside, ir.InsertionPoint.at_block_begin(body))
        for given, outside in zip(last.operands, op.results, strict=True):
            _settle(given, outside, ir.InsertionPoint.after(op))


def _settle(given: ir.Value, taken: ir.Value, place: ir.InsertionPoint) -> None:
    constant = constant_behind(given)
    dense = None if constant is None else dense_value(constant)
    if constant is None or dense is None or not dense.is_splat or not any(True for _ in taken.uses):
        return
    value = ir.DenseElementsAttr.get_splat(taken.type, dense.get_splat_value())
    settled = ir.Operation.create(CONSTANT, [taken.type], [], {"value": value}, loc=constant.location, ip=place)
    taken.replace_all_uses_with(settled.results[0])
