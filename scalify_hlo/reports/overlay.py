"""A module with the health of its tensors for Model Explorer: a portable artifact, and node data to colour it by.

Model Explorer (https://github.com/google-ai-edge/model-explorer) numbers operations as its adapter walks them. The
operations of watched tensors get an attribute, the adapter reads the module, and the nodes that carry the attribute
say their ids. The adapter is a library with an MLIR of its own, so that it runs in a process of its own.
"""

import dataclasses
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from scalify_hlo.analysis.calls import CallGraph, walk
from scalify_hlo.bindings import ir
from scalify_hlo.emit.marks import NODE
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.modules import clone
from scalify_hlo.io.serialization import to_artifact
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.passes.instrument import marks
from scalify_hlo.reports.health import TensorHealth, Verdict
from scalify_hlo.types import tensor_info

_ADAPTER = "ai_edge_model_explorer_adapter"
_READ = f"""
import sys, {_ADAPTER} as adapter
sys.stdout.write(adapter.ConvertMlirToJson(adapter.VisualizeConfig(), sys.argv[1]))
"""
# Attributes of what is shown: the number of an operation whose tensor is watched, and the types of a product.
_NUMBER, _PRODUCT = "scalify.number", "scalify.product"

_Results = dict[str, dict[str, Any]]
_WORST: tuple[Verdict, ...] = ("bad", "far", "good")
_BLUE_TO_RED = (
    {"stop": 0, "bgColor": "#6ea6d9"}, {"stop": 0.5, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#e0726a"},
)  # fmt: skip
_WHITE_TO_RED = ({"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#d43d32"})
_FP8, _WIDE = "#8fd19e", "#e3e3e3"


def _log2(value: float) -> float:
    return math.log2(value) if 0 < value < math.inf else math.nan


# What there is a file of: its name, the number of a tensor, and the colours from the least number to the largest.
_NUMBERS: tuple[tuple[str, Callable[[TensorHealth], float], Sequence[Any]], ...] = (
    ("log2_rms", lambda t: t.log2_rms, _BLUE_TO_RED),
    ("log2_amax", lambda t: _log2(t.amax), _BLUE_TO_RED),
    ("log2_scale", lambda t: _log2(t.scale), _BLUE_TO_RED),
    ("underflow", lambda t: t.underflow, _WHITE_TO_RED),
    ("overflow", lambda t: t.overflow, _WHITE_TO_RED),
)


def check_adapter() -> None:
    """Raises ScalifyError where Model Explorer's adapter is not installed."""
    if importlib.util.find_spec(_ADAPTER) is None:
        raise ScalifyError(
            "an overlay has the node ids of Model Explorer's adapter, which is not installed: "
            "pip install ai-edge-model-explorer-adapter"
        )


def shown_module(module: ir.Module) -> ir.Module:
    """What Model Explorer is to show: a copy of a module with marks, without them.

    The marks of `module` get the names by which `node_data` finds the tensors' nodes.
    """
    with module.context, ir.Location.unknown():
        numbers: dict[ir.Operation, int] = {}
        for mark in marks(module):
            mark.attributes[NODE] = ir.StringAttr.get(_node(mark.operands[0], numbers))
        copy = clone(module)
        for mark in marks(copy):
            mark.erase()
        _tell_products(copy)
    return copy


def _tell_products(module: ir.Module) -> None:
    """Give each matrix product an attribute with the types of its operands and result."""
    for function in CallGraph(module).functions.values():
        for op in walk(function):
            if op.name in ("stablehlo.dot_general", "stablehlo.convolution"):
                types = [tensor_info(value.type).element for value in (*op.operands, op.results[0])]
                op.attributes[_PRODUCT] = ir.StringAttr.get(f"{types[0]} x {types[1]} -> {types[2]}")


def _node(value: ir.Value, numbers: dict[ir.Operation, int]) -> str:
    """The name of a tensor's node: the number of its operation; the block's operation or function, and the argument."""
    owner = value.owner
    if not isinstance(owner, ir.Block):
        return _numbered(owner.operation, numbers)
    parent = owner.owner.operation
    function = parent.name == "func.func"
    name = symbol_name(parent) if function else _numbered(parent, numbers)
    return f"{name} arg{ir.BlockArgument(value).arg_number}"


def _numbered(op: ir.Operation, numbers: dict[ir.Operation, int]) -> str:
    number = numbers.setdefault(op, len(numbers))
    op.attributes[_NUMBER] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    return str(number)


def overlay(shown: ir.Module, tensors: Sequence[TensorHealth]) -> dict[str, bytes]:
    """The files of an overlay by their endings: ".mlirbc", the artifact, and ".NAME.json" for each kind of node data.

    shown: from `shown_module`, of the module whose instrumented form `tensors` were read from.

    Where a node has several tensors, the one of worst verdict is told. Numbers that are not finite are left out.
    Raises ScalifyError where Model Explorer's adapter is not installed, or does not read the module.
    """
    by_verdict = sorted(tensors, key=lambda tensor: _WORST.index(tensor.verdict))
    data: list[NodeData] = []
    for name, number, gradient in _NUMBERS:
        values: dict[str, float | str] = {}
        for tensor in by_verdict:
            if math.isfinite(number(tensor)):
                values.setdefault(tensor.node, float(f"{number(tensor):.4g}"))
        data.append(NodeData(name, values, gradient))
    return _files(shown, data)


def overlay_of_operations(
    module: ir.Module, told: Sequence[tuple[ir.Operation, dict[str, float | str]]]
) -> dict[str, bytes]:
    """The same for what is known of operations of a module: for each, values by the names of the files. The first
    counts where there are several of one operation.

    `module` gets attributes that number its operations and tell the types of its products. Numbers are coloured from
    blue (least) to red. Raises ScalifyError as `overlay` does.
    """
    data: dict[str, NodeData] = {}
    with module.context, ir.Location.unknown():
        _tell_products(module)
        numbers: dict[ir.Operation, int] = {}
        for op, values in told:
            node = _numbered(op, numbers)
            for name, value in values.items():
                colours = () if isinstance(value, str) else _BLUE_TO_RED
                data.setdefault(name, NodeData(name, {}, colours)).values.setdefault(node, value)
        return _files(module, list(data.values()))


@dataclasses.dataclass(frozen=True)
class NodeData:
    """What one file of an overlay tells. values: by the names of nodes (`_node`). gradient: colours of numbers."""

    name: str
    values: dict[str, float | str]
    gradient: Sequence[Any] = ()


def _files(shown: ir.Module, told: Sequence[NodeData]) -> dict[str, bytes]:
    """The artifact of a module, a file for each kind of node data, and one for the types of products."""
    artifact, _ = to_artifact(shown)
    graphs = _graphs(artifact)
    found = {".mlirbc": artifact}
    for each in told:
        data: dict[str, Any] = {}
        for graph in graphs:
            results: _Results = {
                graph.nodes[node]: {"value": value} for node, value in each.values.items() if node in graph.nodes
            }
            data[graph.name] = {"name": each.name, "results": results}
            if each.gradient:
                data[graph.name]["gradient"] = each.gradient
        found[f".{each.name}.json"] = _json(data)
    kinds = {
        graph.name: {
            "name": "product",
            "results": {
                node: {"value": types, "bgColor": _FP8 if "f8" in types else _WIDE}
                for node, types in graph.products.items()
            },
            "showExpandedSummaryOnGroupNode": True,
        }
        for graph in graphs
    }
    found[".product.json"] = _json(kinds)
    return found


@dataclasses.dataclass(frozen=True)
class _Graph:
    """A function as the adapter shows it. nodes: ids by `_node`. products: types of matrix products by id."""

    name: str
    nodes: dict[str, str]
    products: dict[str, str]


def _graphs(artifact: bytes) -> list[_Graph]:
    """The functions of an artifact, by Model Explorer's adapter."""
    check_adapter()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.mlirbc")
        with open(path, "wb") as file:
            file.write(artifact)
        done = subprocess.run([sys.executable, "-c", _READ, path], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise ScalifyError(f"Model Explorer's adapter does not read the module: {reason}")
    return [_graph(graph) for collection in json.loads(done.stdout) for graph in collection["subgraphs"]]


def _graph(graph: dict[str, Any]) -> _Graph:
    nodes: dict[str, str] = {}
    products: dict[str, str] = {}
    ids = {node["id"] for node in graph["nodes"]}
    for node in graph["nodes"]:
        attributes = {each["key"]: each["value"] for each in node["attrs"]}
        if _PRODUCT in attributes:
            products[node["id"]] = attributes[_PRODUCT]
        if re.fullmatch(r"arg\d+", node["id"]):
            nodes[f"{graph['id']} {node['id']}"] = node["id"]
        if _NUMBER in attributes:
            own, number = node["id"], attributes[_NUMBER].split(" ")[0]
            nodes[number] = own
            for each in ids:
                if each.startswith(f"pid{own}_"):
                    nodes[f"{number} {each.removeprefix(f'pid{own}_')}"] = each
    return _Graph(graph["id"], nodes, products)


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()
