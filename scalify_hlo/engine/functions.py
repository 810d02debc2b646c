"""The functions of a module: private ones are specialised per signature, once each."""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, passmanager, stablehlo
from scalify_hlo.emit.growth import alternatives
from scalify_hlo.engine.devices import same_on_every_device
from scalify_hlo.engine.facts import FactFinder
from scalify_hlo.engine.rewriter import Rewriter
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.function_types import is_private, replace_terminator, retype
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import GROUPS
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rules.rewriting import Rewriting
from scalify_hlo.rules.signatures import (
    Parameter,
    PlainParameter,
    ResultForm,
    ScaledParameter,
    Signature,
    Specialised,
)  # fmt: skip
from scalify_hlo.rules.values import PlainFacts, ScaledValue
from scalify_hlo.scale import TRIALS, Scale, Symbol, Trials
from scalify_hlo.size.moments import UNIT, Moments
from scalify_hlo.types import tensor_info

MARKER_PREFIX = "scalify."
MARKER_ATTRIBUTE = "scalify.composite"
# In steps of how many powers of its caller's scales a function is told what a factor grows with.
_SHARED_POWERS = 3


class FunctionTable:
    """All functions of a module, their specialisations, and what was found wrong."""

    def __init__(self, module: ir.Module, options: ScalifyOptions, *, narrow: bool, has_layouts: bool = False):
        """narrow: the module computes in some type of less range than f32. has_layouts: results have shardings."""
        self.has_layouts = has_layouts
        self.module = module
        self.options = options
        self.narrow = narrow
        self.errors: list[Diagnostic] = []
        self.remarks: list[Diagnostic] = []
        self.by_name: dict[str, ir.Operation] = {}
        self.tensors: list[tuple[ir.Value, ir.Value]] | None = None
        for op in module.body.operations:
            if op.operation.name == "func.func":
                self.by_name[symbol_name(op)] = op.operation
        self._specialised: dict[tuple[str, Signature], Specialised] = {}
        self._markers: dict[str, bool] = {}
        self.several_devices = GROUPS in module.operation.attributes or any(
            name in module.operation.attributes and ir.IntegerAttr(module.operation.attributes[name]).value > 1
            for name in ("mhlo.num_partitions", "mhlo.num_replicas")
        )
        # Arguments of functions and results of calls that are known to be the same on every device.
        self.everywhere: set[ir.Value] = set()
        self.any_number = options.rounding == "none"

    def new_channel(self) -> ir.Attribute:
        """A channel that no other operation has: without partitioning XLA takes all that have one for the same."""
        return stablehlo.ChannelHandle.get(next(self._channels), 1)  # from device to device

    @functools.cached_property
    def _channels(self) -> Iterator[int]:
        functions = self.by_name.values()
        handles = (op.attributes.get("channel_handle") for function in functions for op in walk(function))
        taken = (stablehlo.ChannelHandle(handle).handle for handle in handles if handle is not None)
        return itertools.count(max(taken, default=0) + 1)

    # --- marker composites ------------------------------------------------------------------------------------

    def callee(self, op: ir.Operation) -> str | None:
        """The function that a call or a composite refers to."""
        for name, key in (("func.call", "callee"), ("stablehlo.composite", "decomposition")):
            if op.name == name:
                return ir.FlatSymbolRefAttr(op.attributes[key]).value
        return None

    def called(self, op: ir.Operation) -> ir.Operation | None:
        """The function that a call or a composite refers to, if the module has it."""
        return self.by_name.get(self.callee(op) or "")

    def marker_name(self, op: ir.Operation) -> str | None:
        """The name of a marker: of the composite, or, in its form for dynamic shapes, on the called function."""
        if op.name == "stablehlo.composite":
            name = ir.StringAttr(op.attributes["name"]).value
            return name if name.startswith(MARKER_PREFIX) else None
        if op.name == "func.call":
            function = self.called(op)
            if function is not None and MARKER_ATTRIBUTE in function.attributes:
                return ir.StringAttr(function.attributes[MARKER_ATTRIBUTE]).value
        return None

    def contains_marker(self, op: ir.Operation) -> bool:
        """Whether a marker occurs inside `op` or a function that it calls."""
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    inner = inner.operation
                    if self.calls_marker(inner) or (len(inner.regions) and self.contains_marker(inner)):
                        return True
        return False

    def calls_marker(self, op: ir.Operation) -> bool:
        """Whether `op` is a marker or calls a function that contains one."""
        callee = self.callee(op)
        if callee is None:
            return False
        if self.marker_name(op) is not None:
            return True
        if callee not in self._markers:
            self._markers[callee] = False  # a recursive call adds nothing
            function = self.by_name.get(callee)
            self._markers[callee] = function is not None and self.contains_marker(function)
        return self._markers[callee]

    def facts_of(self, value: ir.Value) -> PlainFacts:
        """Facts of a value of a function that is not being rewritten."""
        return FactFinder(self.called).of(value)

    # --- specialisation ---------------------------------------------------------------------------------------

    def specialise(self, callee: str, signature: Signature) -> Specialised:
        """The function `callee` rewritten for `signature`; made on first use."""
        key = (callee, signature)
        found = self._specialised.get(key)
        if found is None:
            found = self._specialise(callee, signature)
            self._specialised[key] = found
        return found

    def _fresh_name(self, callee: str) -> str:
        number = 0
        while (name := f"{callee}_scaled" + (f"_{number}" if number else "")) in self.by_name:
            number += 1
        return name

    def _specialise(self, callee: str, signature: Signature) -> Specialised:
        original = self.by_name[callee]
        clone = original.clone(ip=ir.InsertionPoint(self.module.body))
        name = self._fresh_name(callee)
        clone.attributes["sym_name"] = ir.StringAttr.get(name)
        self.by_name[name] = clone
        block = clone.regions[0].blocks[0]
        originals = list(block.arguments)

        shapes: dict[int, tuple[int, ...]] = {}
        for parameter in signature:
            if isinstance(parameter, ScaledParameter) and parameter.factor is not None:
                shapes[parameter.factor] = parameter.shape
        f32 = ir.F32Type.get()
        factor_arguments = [
            block.add_argument(ir.RankedTensorType.get(list(shapes[i]), f32), clone.location) for i in sorted(shapes)
        ]
        rewriter = Rewriter(clone, self.options, self)
        positive = {p.factor for p in signature if isinstance(p, ScaledParameter) and p.positive}
        trials = {p.factor: p.trials for p in signature if isinstance(p, ScaledParameter)}
        symbols = [
            rewriter.emit.symbol(v, positive=i in positive, trials=trials[i]) for i, v in enumerate(factor_arguments)
        ]
        everywhere = {p.factor for p in signature if isinstance(p, ScaledParameter) and p.everywhere}
        self.everywhere.update(value for i, value in enumerate(factor_arguments) if i in everywhere)
        for argument, parameter in zip(originals, signature, strict=True):
            if isinstance(parameter, PlainParameter):
                rewriter.facts.known[argument] = parameter.facts
                continue
            factors = ((symbols[parameter.factor], parameter.power),) if parameter.factor is not None else ()
            scale = Scale(parameter.exponent, factors)
            rewriter.define(argument, ScaledValue(argument, scale, parameter.moments, parameter.indifferent))
            if parameter.carried:
                rewriter.mark_carried(argument)
        terminator = rewriter.block(block)
        rewriter.emit.ip, rewriter.emit.location = ir.InsertionPoint(terminator), terminator.location
        results, extra_values = self._results(rewriter, terminator, set(symbols))
        extras = list(extra_values.values())
        own = {symbol: Scale(0, ((symbol, 1),)) for symbol in symbols}
        extra_parts = tuple(map(tuple, alternatives(rewriter.emit, extra_values, own.get)))
        extra_everywhere = tuple(
            self.several_devices and same_on_every_device(value, self.everywhere) for value in extras
        )
        rewriter.finish()
        self.everywhere.difference_update(factor_arguments)

        used = tuple(i for i, value in enumerate(factor_arguments) if any(True for _ in value.uses))
        for i in reversed(range(len(factor_arguments))):
            if i not in used:
                block.erase_argument(len(originals) + i)
        retype(clone)
        types = tuple(value.type for value in extras)
        extra_trials = tuple(scale.trials for scale in extra_values)
        return Specialised(name, results, used, tuple(symbols), types, extra_everywhere, extra_parts, extra_trials)

    def _results(
        self, rewriter: Rewriter, terminator: ir.Operation, symbols: set[Symbol]
    ) -> tuple[tuple[ResultForm, ...], dict[Scale, ir.Value]]:
        """Replace the operands of a function's return by data, and add the scales that callers cannot know."""
        forms: list[ResultForm] = []
        operands: list[ir.Value] = []
        extras: dict[Scale, ir.Value] = {}
        positions: dict[Scale, int] = {}
        for value in terminator.operands:
            scaled = rewriter.scaled.get(value)
            if scaled is None:
                operands.append(value)
                forms.append(ResultForm(False))
                continue
            operands.append(scaled.data)
            common: dict[str, Any] = {"moments": scaled.moments, "indifferent": scaled.indifferent}
            known = rewriter.emit.expanded(scaled.scale)
            if all(symbol in symbols for symbol, _ in known.factors):
                forms.append(ResultForm(True, known, **common))
                continue
            product = Scale(0, scaled.scale.factors)
            if product not in extras:
                extras[product] = rewriter.emit.scale_value(product)
                positions[product] = len(positions)
            forms.append(ResultForm(True, Scale(scaled.scale.exponent), positions[product], **common))
        replace_terminator(terminator, [*operands, *extras.values()])
        return tuple(forms), extras

    def remove_unused(self) -> None:
        """Erase private functions that nothing refers to any more."""
        if any(is_private(function) for function in self.by_name.values()):
            manager = passmanager.PassManager.parse("builtin.module(symbol-dce)")
            manager.enable_verifier(False)
            manager.run(self.module.operation)


def call_signature(
    rewriter: Rewriting, callee: str, operands: Sequence[ir.Value], inputs: Sequence[ScaledValue | None]
) -> tuple[Signature, list[Scale]]:
    """The signature of a call of `callee` and the run-time factors, in order, that it may have to pass."""
    functions = rewriter.functions
    arguments = functions.by_name[callee].regions[0].blocks[0].arguments
    factors: list[Scale] = []
    everywhere: list[bool] = []
    index: dict[Any, int] = {}
    parameters: list[Parameter] = []
    for operand, scaled, argument in zip(operands, inputs, arguments, strict=True):
        if scaled is None:
            matters = tensor_info(operand.type).carries_scale or _becomes_float(argument)
            facts = rewriter.facts_of(operand) if matters else PlainFacts()
            parameters.append(PlainParameter(facts))
            continue
        factor, power = None, 1
        if scaled.scale.factors:
            product, power = scaled.scale.primitive()
            if product not in index:
                index[product] = len(factors)
                factors.append(product)
                everywhere.append(functions.several_devices and all(
                    not symbol.is_open and same_on_every_device(symbol.value, functions.everywhere)
                    for symbol, _ in product.factors))  # fmt: skip
            factor = index[product]
        parameters.append(
            ScaledParameter(
                scaled.scale.exponent,
                factor,
                scaled.scale.shape,
                scaled.indifferent,
                coarse(scaled.moments),
                factor is not None and everywhere[factor],
                rewriter.is_carried(operand),
                factor is not None and factors[factor].positive,
                power,
                TRIALS if factor is None or rewriter.narrow or rewriter.paper else _rough(factors[factor].trials),
            )
        )
    return tuple(parameters), factors


# s^6, s^7 and s^8 of the caller's scales: s^7, so that calls in a row share specialised functions
def _rough(trials: Trials) -> Trials:
    """Trials of a factor that calls share: rounded to steps of `_SHARED_POWERS` powers of the caller's scales."""
    step = _SHARED_POWERS * TRIALS[1]
    one, larger, smaller = (start + step * round((x - start) / step) for x, start in zip(trials, TRIALS, strict=True))
    return TRIALS if (one, larger, smaller) == TRIALS else (one, larger, smaller)


def _becomes_float(argument: ir.Value) -> bool:
    """Whether a function converts its argument to a float, as JAX's functions do with Python numbers (where, pad)."""
    return any(
        use.owner.operation.name == "stablehlo.convert"
        and tensor_info(use.owner.operation.results[0].type).carries_scale
        for use in argument.uses
    )


def coarse(moments: Moments) -> Moments:
    """Moments rounded, so that calls with nearly equal operands share one specialised function."""
    if moments == UNIT:
        return UNIT
    rms = 2.0 ** round(moments.log2)
    ratio = round(4 * moments.mean / moments.rms) / 4 if moments.rms else 0.0
    least = 2.0 ** round(math.log2(moments.least)) if moments.least else 0.0
    return Moments(rms, ratio * rms, moments.nonnegative, least, moments.infinite)
