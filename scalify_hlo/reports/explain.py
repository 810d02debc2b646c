"""What a precision makes of a program, and why: what `scalify-explain` shows.

The passes run one after the other on a copy of the module, and what each decides is collected with the source line of
the operation that it decided on: the type of each state tensor, the gradients that are rescaled, FP8 or not for each
product, and rule, scale and estimated size of each tensor.
"""

import collections
import dataclasses
import html
import json
import math
import re
from collections.abc import Sequence
from typing import Any

from scalify_hlo.analysis.calls import CallGraph, walk
from scalify_hlo.bindings import ir
from scalify_hlo.emit.stamps import BLOCK, REASON, REMARK, RULE, SCALE, stamps_of
from scalify_hlo.engine.selection import argument_names, attributes_of, is_rewritten, role_of
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.execution.modules import clone
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.cast import STATE
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.precision_pipeline import Precision, precision_pipeline
from scalify_hlo.reports.overlay import overlay_of_operations
from scalify_hlo.types import tensor_info

_RESCALED = "rescaled: "
_RMS = re.compile(r"rms=(\S+)")


@dataclasses.dataclass(frozen=True)
class ProductDecision:
    """A matrix product: its part in the program, its operands' types, and why it is not in FP8 ("" where it is)."""

    source: str
    role: str
    weight: str
    types: str
    reason: str


@dataclasses.dataclass(frozen=True)
class StateDecision:
    """An argument that is state or a weight: parameter, moment or weight, and the type that it is kept in."""

    name: str
    kind: str
    type: str
    elements: int


@dataclasses.dataclass(frozen=True)
class RescaleDecision:
    """A tensor whose scale is measured at run time, and which place of the program it is at."""

    source: str
    place: str


@dataclasses.dataclass(frozen=True)
class TensorDecision:
    """A tensor's rule and scale, and why it has that scale.

    operation: name of the operation that computes it. rule: family of the rule that chose the scale. block: the block
    that it was recognised as part of. scale: a power of two times run-time scales s0, s1, ... log2_estimate: log2 of
    the root mean square that its data are estimated to have; NaN where no estimate was made. reason: why the scale is
    what it is ("average", "max at run time, budget"), "law" where it follows by the rule from the operands' scales.
    """

    source: str
    operation: str
    type: str
    rule: str
    block: str
    scale: str
    log2_estimate: float
    reason: str


@dataclasses.dataclass(frozen=True)
class Explanation:
    """All decisions, in program order. remarks: what the passes said besides."""

    precision: str
    products: tuple[ProductDecision, ...]
    state: tuple[StateDecision, ...]
    rescales: tuple[RescaleDecision, ...]
    tensors: tuple[TensorDecision, ...]
    remarks: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The same as JSON: a list of objects for each kind of decision."""
        content: dict[str, Any] = dataclasses.asdict(self)
        for tensor in content["tensors"]:
            if math.isnan(tensor["log2_estimate"]):
                tensor["log2_estimate"] = None
        return json.dumps(content, indent=1) + "\n"


def explain(
    module: ir.Module, precision: Precision | None = None, options: ScalifyOptions = ScalifyOptions()
) -> Explanation:
    """Rewrite a copy of `module` and tell what was decided. Raises ScalifyError as the passes do."""
    return explained(module, precision, options)[0]


def explained(
    module: ir.Module, precision: Precision | None = None, options: ScalifyOptions = ScalifyOptions()
) -> tuple[Explanation, ir.Module]:
    """What `explain` tells, and the rewritten copy of the module, whose operations carry what was decided."""
    if any(is_rewritten(each.operation) for each in module.body.operations if each.operation.name == "func.func"):
        what = "this program carries data * scale already, its decisions are gone: explain the original"
        raise ScalifyError(Diagnostic(what, describe_location(module.operation.location)))
    module = clone(module)
    pipeline = precision_pipeline(precision, dataclasses.replace(options, print_rules=True))
    products: list[ProductDecision] = []
    notes: list[Diagnostic] = []
    for each in pipeline.elements:
        if isinstance(each, FP8Dots):
            products = _products(each, module)
        type(pipeline)((each,)).run(module, notes)
    if not any(isinstance(each, FP8Dots) for each in pipeline.elements):
        products = _products(None, module)
    rescales = [
        RescaleDecision(note.location, note.message.removeprefix(_RESCALED))
        for note in notes
        if note.message.startswith(_RESCALED)
    ]
    others = [n.message for n in notes if not n.location and not n.message.startswith((_RESCALED, REMARK))]
    tensors = tuple(each for _, each in _tensors(module))
    found = Explanation(
        str(precision or "f32"), tuple(products), tuple(_state(module)), tuple(rescales), tensors, tuple(others)
    )
    return found, module


def decisions_overlay(rewritten: ir.Module) -> dict[str, bytes]:
    """Files for Model Explorer, by their endings, of the module that `explained` returns: ".mlirbc", and node data.

    Node data are rule, scale, why it is that (reason), log2_estimate and the types of products. Raises ScalifyError
    where Model Explorer's adapter is not installed.
    """
    told: list[tuple[ir.Operation, dict[str, float | str]]] = []
    for op, each in _tensors(rewritten):
        values: dict[str, float | str] = {"rule": each.block or each.rule, "scale": each.scale, "reason": each.reason}
        if not math.isnan(each.log2_estimate):
            values["log2_estimate"] = float(f"{each.log2_estimate:.4g}")
        told.append((op, values))
    return overlay_of_operations(rewritten, told)


def _products(dots: FP8Dots | None, module: ir.Module) -> list[ProductDecision]:
    """What happens to each product of a module that the FP8 pass has not changed yet."""
    with module.context, ir.Location.unknown(module.context):
        found: list[ProductDecision] = []
        for product, formats, reason in (dots or FP8Dots()).decisions(module):
            elements = [tensor_info(operand.value.type).element for operand in product.operands]
            if dots is None:
                formats, reason = None, "the precision has no FP8 products"
            types = " x ".join(formats or elements)
            found.append(ProductDecision(product.source, product.role, product.weight, types, reason or ""))
        return found


def _state(module: ir.Module) -> list[StateDecision]:
    main = public_function(module)
    arguments = list(main.regions[0].blocks[0].arguments)
    attributes = attributes_of(main, "arg_attrs", len(arguments))
    return [
        StateDecision(name, ir.StringAttr(own[STATE]).value, info.element, info.size)
        for argument, name, own in zip(arguments, argument_names(main), attributes, strict=True)
        for info in (tensor_info(argument.type),)
        if STATE in own and role_of(own) in ("", "data")
    ]


def _tensors(module: ir.Module) -> list[tuple[ir.Operation, TensorDecision]]:
    found: list[tuple[ir.Operation, TensorDecision]] = []
    for function in CallGraph(module).functions.values():
        for op in walk(function):
            attributes = op.attributes
            if not {RULE, SCALE, REASON} <= stamps_of(op).keys() or not len(op.results):
                continue
            block = ir.StringAttr(attributes[BLOCK]).value if BLOCK in attributes else ""
            rule = ir.StringAttr(attributes[RULE]).value
            scales, reasons = _texts(attributes[SCALE]), _texts(attributes[REASON])
            if len(scales) > 1 and rule == "structural":
                continue
            for result, text, reason in zip(op.results, scales, reasons, strict=False):
                if text != "plain":
                    found.append((op, _tensor(op, result, rule, block, text, reason)))
    return found


def _texts(attribute: ir.Attribute) -> list[str]:
    """What is stamped for each result."""
    each = [attribute] if isinstance(attribute, ir.StringAttr) else list(ir.ArrayAttr(attribute))
    return [ir.StringAttr(one).value for one in each]


def _tensor(op: ir.Operation, result: ir.Value, rule: str, block: str, text: str, reason: str) -> TensorDecision:
    rms = _RMS.search(text)
    size = float(rms[1]) if rms else 0.0
    estimate = math.log2(size) if 0 < size < math.inf else math.nan
    where, scale = describe_location(op.location), text.split(" ")[0]
    return TensorDecision(where, op.name, str(result.type), rule, block, scale, estimate, reason)


# --- text ---------------------------------------------------------------------------------------------------------


def as_text(found: Explanation, furthest: int = 12) -> str:
    """For a terminal: counts, then a table of each kind. furthest: how many tensors to show, those estimated to be
    furthest from unit size first; all of them in program order for a negative number."""
    sections = [_summary(found)]
    if found.state:
        by_kind = collections.Counter((each.kind, each.type) for each in found.state)
        elements = collections.Counter[tuple[str, str]]()
        for each in found.state:
            elements[each.kind, each.type] += each.elements
        rows = [(f"{count} {kind}s", type_, f"{elements[kind, type_]:,}") for (kind, type_), count in by_kind.items()]
        sections.append(_table("State", ("tensors", "type", "elements"), rows))
    if found.products:
        rows = [
            (_short(each.source), " of ".join(filter(None, (each.role, each.weight))), each.types, each.reason or "FP8")
            for each in found.products
        ]
        sections.append(_table("Products", ("source", "part", "operands", "why"), rows))
    if found.rescales:
        rows = [(_short(each.source), each.place) for each in found.rescales]
        sections.append(_table("Rescaled at run time", ("source", "what"), rows))
    shown = _shown(found.tensors, furthest)
    if shown:
        title = (
            "Tensors"
            if furthest < 0
            else f"Tensors estimated to be furthest from unit size ({len(found.tensors)} in all)"
        )
        rows = [
            (_short(t.source), t.operation.removeprefix("stablehlo."), t.type.removeprefix("tensor<")[:-1],
             t.block or t.rule, t.reason, t.scale, _power(t.log2_estimate))
            for t in shown
        ]  # fmt: skip
        sections.append(
            _table(title, ("source", "operation", "type", "because", "scale by", "scale", "data's RMS"), rows)
        )
    return "\n\n".join(sections)


def _summary(found: Explanation) -> str:
    fp8 = sum(not each.reason for each in found.products)
    kinds = collections.Counter(each.block or each.rule for each in found.tensors)
    common = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(6))
    reasons = collections.Counter(reason for each in found.tensors for reason in each.reason.split(", "))
    why = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    scaled = f"{len(found.tensors)} tensors have scales by rule"
    rescaled = f"{len(found.rescales)} tensor{'' if len(found.rescales) == 1 else 's'} rescaled at run time"
    lines = [
        f"precision {found.precision}: {fp8} of {len(found.products)} products in FP8, {rescaled}",
        *([f"{scaled} ({common})", f"and for these reasons: {why}"] if found.tensors else ["no tensor has a scale"]),
    ]
    return "\n".join(lines)


def _shown(tensors: Sequence[TensorDecision], furthest: int) -> Sequence[TensorDecision]:
    if furthest < 0:
        return tensors
    known = [each for each in tensors if not math.isnan(each.log2_estimate)]
    return sorted(known, key=lambda each: -abs(each.log2_estimate))[:furthest]


def _short(source: str) -> str:
    """`file.py:12`, or the last part of the operation's name where the position is not known."""
    found = re.match(r"(?:.*[/\\])?([^/\\]+:\d+):\d+", source)
    return found[1] if found else source.strip("[]").rpartition("/")[2] or "-"


def _power(exponent: float) -> str:
    return "-" if math.isnan(exponent) else f"2^{exponent:.1f}"


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    ]
    return "\n".join([title, *(f"  {line}" for line in lines)])


# --- HTML ---------------------------------------------------------------------------------------------------------

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14px system-ui, sans-serif; margin: 2em; color: #222; }}
h2 {{ margin-top: 2em; }} table {{ border-collapse: collapse; }}
th {{ text-align: left; cursor: default; }} td, th {{ padding: 3px 12px 3px 0; border-bottom: 1px solid #e4e4e4; }}
tr.fp8 td:last-child {{ color: #17803d; font-weight: 600; }} td {{ font-variant-numeric: tabular-nums; }}
input {{ font: inherit; padding: 4px 8px; width: 24em; }}
</style></head><body><h1>{title}</h1><p>{summary}</p>
<p><input placeholder="show rows with ..." oninput="for (const row of document.querySelectorAll('tbody tr'))
row.hidden = !row.textContent.toLowerCase().includes(this.value.toLowerCase())"></p>
{sections}</body></html>
"""


def as_html(found: Explanation, title: str) -> str:
    """A page with a table of each kind of decision, and a field that filters the rows."""
    sections = [
        _html_table("State", ("name", "kind", "type", "elements"),
                    [((s.name, s.kind, s.type, f"{s.elements:,}"), "") for s in found.state]),
        _html_table("Products", ("source", "part", "weight", "operands", "why"),
                    [((p.source, p.role, p.weight, p.types, p.reason or "FP8"), "" if p.reason else "fp8")
                     for p in found.products]),
        _html_table("Rescaled at run time", ("source", "what"), [((r.source, r.place), "") for r in found.rescales]),
        _html_table("Tensors", ("source", "operation", "type", "rule", "block", "scale by", "scale", "data's RMS"),
                    [((t.source, t.operation, t.type, t.rule, t.block, t.reason, t.scale, _power(t.log2_estimate)), "")
                     for t in found.tensors]),
    ]  # fmt: skip
    return _PAGE.format(
        title=html.escape(title),
        summary=html.escape(_summary(found)).replace("\n", "<br>"),
        sections="\n".join(sections),
    )


def _html_table(title: str, head: Sequence[str], rows: Sequence[tuple[Sequence[str], str]]) -> str:
    if not rows:
        return ""
    cells = "".join(f"<th>{html.escape(each)}</th>" for each in head)
    body = "\n".join(
        f'<tr class="{style}">' + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row, style in rows
    )
    return f"<h2>{title}</h2><table><thead><tr>{cells}</tr></thead><tbody>\n{body}\n</tbody></table>"
