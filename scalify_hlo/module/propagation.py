"""How Shardy lays out the values of a module: its propagation, run on a copy."""

import dataclasses
from collections.abc import Iterator, Sequence

from scalify_hlo.analysis.calls import CallGraph, walk
from scalify_hlo.analysis.single_iterations import runs_once, unroll_single_iterations
from scalify_hlo.bindings import ir, passmanager, sdy
from scalify_hlo.io.diagnostics import collect_diagnostics
from scalify_hlo.io.serialization import to_bytecode
from scalify_hlo.module.carriers import SHARDING
from scalify_hlo.module.manual import MANUAL, mesh_sizes
from scalify_hlo.types import tensor_info

_MARK = "scalify.propagated"
_BROADCAST, _WHILE = "stablehlo.broadcast_in_dim", "stablehlo.while"
# Axis names of each dimension.
Axes = tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True)
class Layout:
    """The axes of the mesh along which each dimension of the operands and results of one operation is cut."""

    operands: tuple[Axes | None, ...]
    results: tuple[Axes | None, ...]


@dataclasses.dataclass(frozen=True)
class Propagated:
    """What Shardy makes of a module.

    mesh: the one mesh of all shardings, as the module writes it; sizes: of its axes. layouts: of the operations outside
    of per-device code, by their first result, where every call of the function that they are in has the same.
    """

    mesh: ir.Attribute
    sizes: dict[str, int]
    layouts: dict[ir.Value, Layout]

    def sharding(self, dimensions: Axes, unreduced: Sequence[str] = ()) -> ir.Attribute:
        """The sharding of a tensor; unreduced: axes over whose devices its parts are still to be summed."""
        closed = [sdy.DimensionShardingAttr.get([sdy.AxisRefAttr.get(a) for a in axes], True) for axes in dimensions]
        mesh = self.mesh.value if isinstance(self.mesh, ir.FlatSymbolRefAttr) else self.mesh
        return sdy.TensorShardingAttr.get(mesh, closed, [], [sdy.AxisRefAttr.get(a) for a in unreduced])


def propagate(module: ir.Module) -> Propagated | None:
    """The layouts that Shardy's propagation finds; None for a module that is not partitioned, or over several meshes,
    or where Shardy's propagation is not to be had.

    The module is left unchanged. Needs its context to be current.
    """
    found_meshes = {str(mesh): mesh for mesh, _ in meshes(module)}
    if len(found_meshes) != 1:
        return None
    (mesh,) = found_meshes.values()
    sizes = mesh_sizes(module.operation, mesh)
    if max(sizes.values(), default=1) <= 1:
        return None
    marked = [op for op in walk(module.operation) if len(op.results) and not _is_per_device(op)]
    integer = ir.IntegerType.get_signless(64)
    for i, op in enumerate(marked):
        op.attributes[_MARK] = ir.IntegerAttr.get(integer, i)
    copy = ir.Module.parse(to_bytecode(module), context=module.context)
    for op in marked:
        del op.attributes[_MARK]
    unroll_single_iterations([op for op in walk(copy.operation) if op.name == _WHILE and runs_once(op)])
    _reshape_broadcasts(copy)
    if not _has_main(copy):
        return None
    try:
        with collect_diagnostics(module.context):  # of the copy, as no user has written it
            passmanager.PassManager.parse("builtin.module(inline,sdy-propagation-pipeline)").run(copy.operation)
    except (ValueError, ir.MLIRError):  # no such pass in this jaxlib, or a module that it does not take
        return None
    found: dict[int, Layout | None] = {}
    for op in walk(copy.operation):
        if _MARK in op.attributes:
            index = ir.IntegerAttr(op.attributes[_MARK]).value
            layout = Layout(tuple(map(_axes, op.operands)), tuple(map(_axes, op.results)))
            found[index] = layout if found.setdefault(index, layout) == layout else None
    return Propagated(mesh, sizes, {marked[i].results[0]: layout for i, layout in found.items() if layout is not None})


def _has_main(module: ir.Module) -> bool:
    """Call the only public function @main, as which Shardy looks it up, or ends the process; whether there is one."""
    calls = CallGraph(module)
    if "main" in calls.functions:
        return True
    if len(calls.public) != 1 or calls.public[0] in calls.sites:
        return False
    calls.functions[calls.public[0]].attributes["sym_name"] = ir.StringAttr.get("main")
    return True


def _reshape_broadcasts(module: ir.Module) -> None:
    """Make a broadcast that only adds dimensions of one element the reshape that it is.

    XLA has inlined calls and simplified these broadcasts before Shardy sees them, and Shardy propagates through a
    reshape earlier than through a broadcast: buffers that a loop saves slices in are laid out as the slices are.
    """
    for op in [op for op in walk(module.operation) if op.name == _BROADCAST]:
        (value,), (result,) = op.operands, op.results
        dimensions = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
        if tensor_info(value.type).size == tensor_info(result.type).size and dimensions == sorted(dimensions):
            own = op.attributes
            kept = {name: own[name] for name in own if name != "broadcast_dimensions"}
            reshape = ir.Operation.create(
                "stablehlo.reshape", [result.type], [value], kept, loc=op.location, ip=ir.InsertionPoint(op)
            )
            result.replace_all_uses_with(reshape.results[0])
            op.erase()


def _is_per_device(op: ir.Operation) -> bool:
    above = op
    while above.name not in ("func.func", "builtin.module"):
        if above.name == MANUAL:
            return True
        parent = above.parent
        if parent is None:
            return False
        above = parent.operation
    return False


def meshes(module: ir.Module) -> Iterator[tuple[ir.Attribute, ir.Operation]]:
    """The meshes of the shardings of arguments and constraints, by name or written out, and where they are."""
    for op in walk(module.operation):
        if op.name == "func.func" and "arg_attrs" in op.attributes:
            for attributes in ir.ArrayAttr(op.attributes["arg_attrs"]):
                for named in ir.DictAttr(attributes):
                    if named.name == SHARDING:
                        yield sdy.TensorShardingAttr(named.attr).mesh_or_ref, op
        elif op.name in ("sdy.sharding_constraint", "sdy.reshard"):
            yield sdy.TensorShardingAttr(op.attributes["sharding"]).mesh_or_ref, op
        elif op.name != MANUAL and SHARDING in op.attributes:
            for sharding in sdy.TensorShardingPerValueAttr(op.attributes[SHARDING]).shardings:
                yield sdy.TensorShardingAttr(sharding).mesh_or_ref, op


def _axes(value: ir.Value) -> Axes | None:
    """How a value is cut after propagation; None where it is not known, or axes are split."""
    if not isinstance(value.type, ir.RankedTensorType):
        return None
    known, sharding = _sharding(value)
    if not known:
        return None
    if sharding is None:
        return ((),) * ir.RankedTensorType(value.type).rank
    attribute = sdy.TensorShardingAttr(sharding)
    if len(attribute.unreduced_axes):
        return None
    dimensions: list[tuple[str, ...]] = []
    for dimension in attribute.dimension_shardings:
        axes = [sdy.AxisRefAttr(axis) for axis in sdy.DimensionShardingAttr(dimension).axes]
        if any(axis.sub_axis_info is not None for axis in axes):
            return None
        dimensions.append(tuple(axis.name for axis in axes))
    return tuple(dimensions)


def _sharding(value: ir.Value) -> tuple[bool, ir.Attribute | None]:
    """Whether the layout of a value is known, and its sharding: None is replicated."""
    if isinstance(value, ir.OpResult):
        op = value.owner.operation
        return True, _of(op, ir.OpResult(value).result_number)
    argument = ir.BlockArgument(value)
    owner = argument.owner.owner.operation
    if owner.name == _WHILE:
        return True, _of(owner, argument.arg_number)
    if owner.name != "func.func":
        return False, None
    if "arg_attrs" not in owner.attributes:
        return True, None
    attributes = ir.DictAttr(ir.ArrayAttr(owner.attributes["arg_attrs"])[argument.arg_number])
    return True, next((named.attr for named in attributes if named.name == SHARDING), None)


def _of(op: ir.Operation, index: int) -> ir.Attribute | None:
    if op.name in ("sdy.sharding_constraint", "sdy.reshard"):
        return op.attributes["sharding"]
    if op.name == MANUAL:
        return sdy.TensorShardingPerValueAttr(op.attributes["out_shardings"]).shardings[index]
    if SHARDING not in op.attributes:
        return None
    return sdy.TensorShardingPerValueAttr(op.attributes[SHARDING]).shardings[index]
