"""Choosing scales by what tensors are on sample inputs: what `scalify-calibrate` does.

Measured are the arguments of the public function, and, in a program that is brought to FP8, the operands of its FP8
products. All other scales follow from the arguments' by the rules, at compile time, once these are numbers.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scalify_hlo import budget
from scalify_hlo.analysis.caches import find_caches
from scalify_hlo.analysis.channels import channel_dimensions
from scalify_hlo.analysis.products import MatrixProduct
from scalify_hlo.analysis.update import find_update, trains
from scalify_hlo.bindings import ir
from scalify_hlo.emit.marks import ScaledTensor, mark_tensors
from scalify_hlo.engine.selection import argument_names, argument_shapes, attributes_of, result_name
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array, is_float_array
from scalify_hlo.execution.inputs import Split, rewritten_arguments
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.signature import Pairing, Signature, check_arrays, entry_signature, pair_arguments
from scalify_hlo.io.scales_file import (
    LARGEST_E4M3,
    LARGEST_EXPONENT,
    Channels,
    Method,
    ScalesFile,
    TensorStatistics,
    channel_scales,
    split_scales,
)
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.auto_rescale import MEASURED, RESCALE, AutoRescale, measured_factors
from scalify_hlo.passes.cast import STATE
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.frozen_weights import EmbedWeights, LiftWeights
from scalify_hlo.passes.instrument import Instrument
from scalify_hlo.passes.precision_pipeline import Precision, passes_around_scalify, without_weights
from scalify_hlo.passes.scalify import Scalify
from scalify_hlo.passes.store_weights import StoreWeights, few_left
from scalify_hlo.reports.health import read_health
from scalify_hlo.reports.health_layout import FIRST_EXPONENT
from scalify_hlo.serving.packing import pinned_arguments
from scalify_hlo.serving.tensors import Batches


class Calibration:
    """Scales for the arguments of a module and the operands of its FP8 products, from batches of inputs.

    module: the program as written, before any pass; it is not changed. precision: as of `scalify-opt --precision`.
    method: what of an operand of an FP8 product becomes 1 (`rms`), or E4M3's largest number (`amax`: the largest
    element; `percentile`: all but one in 10,000 stay below). Of an argument its root mean square becomes 1, or less,
    where more than that would be beyond. No method lets more saturate than `percentile`. channels: when the output
    channels of a weight that is stored in FP8, or the columns of a table, get scales of their own.

    Arguments are measured in `arguments`; their scales must be known before data can be, so `operands` comes after.
    """

    def __init__(
        self,
        module: ir.Module,
        precision: Precision | None = None,
        method: Method = "rms",
        channels: Channels = "auto",
    ):
        if pinned_arguments(module):
            raise ScalifyError("this module is pinned to scales already: calibrate the program that it was made of")
        self.original = module
        self.precision = precision
        self.method: Method = method
        self.channels: Channels = channels
        self.signature = entry_signature(module)
        self._names = argument_names(public_function(module))
        self.scales = ScalesFile(
            method=method,
            precision=str(precision or ""),
            argument_shapes=argument_shapes(public_function(module)),
            result_shapes={
                name: list(spec.shape)
                for name, spec in zip(self.result_names, self.signature.results, strict=True)
                if spec.is_float
            },
        )
        self.infinite = set[str]()  # weights with infinities, of what is forbidden, say, which E4M3 does not have
        types = ScalifyOptions().scaled_types
        self._floats = [i for i, spec in enumerate(self.signature.arguments) if spec.element_type in types]

    def resume(self, earlier: ScalesFile) -> None:
        """Go on from the scales of an earlier calibration. Raises ScalifyError where it was one of something else."""
        mine = (self.method, str(self.precision or ""), sorted(self._names[i] for i in self._floats))
        theirs = (earlier.method, earlier.precision, sorted(earlier.arguments))
        if mine != theirs:
            raise ScalifyError("the scales to go on from have another method, precision or arguments: calibrate anew")
        self.scales = earlier
        self.infinite = set(earlier.wide_weights)

    def arguments(self, batches: Iterable[Sequence[Array]]) -> None:
        """Measure the arguments over batches (one array for each argument each) and choose their scales.

        Raises ScalifyError where arrays do not fit, or hold no finite number.
        """
        if isinstance(batches, Batches):
            self.scales.inputs = [self._names[i] for i in batches.inputs]
        found = {i: TensorStatistics() for i in self._floats}
        caches = self._caches()
        run = xla.compile(self.original) if caches else None
        last: dict[int, Array] = {}  # weights are the same array in every batch
        for arrays in batches:
            check_arrays(self.signature.arguments, arrays)
            for i in self._floats:
                if arrays[i] is not last.get(i):
                    last[i] = arrays[i]
                    seen = statistics_of(arrays[i])
                    if np.isnan(arrays[i]).any() and not seen.elements:  # a maximum begins at -infinity
                        where = batches.sources.get(i, "") if isinstance(batches, Batches) else ""
                        what = f"no element of argument '{self._names[i]}' is a finite number"
                        raise ScalifyError(Diagnostic(what, where))
                    found[i] = found[i].merged(seen)
            results = run(list(arrays)) if run is not None else []
            for argument, result in caches.items():  # a cache may be empty to begin with
                found[argument] = found[argument].merged(statistics_of(results[result]))
        for i, each in found.items():
            self.scales.statistics[self._names[i]] = each
            name = self._names[i]
            # The rules take data for ones of size 1: x w of x and w up to 448 leaves f16.
            scale = np.asarray(2.0 ** max(exponent(each, "rms"), exponent(each, self.method)), np.float32)
            is_weight = i in last and name in self._rewritten.channels
            if is_weight and np.isinf(last[i]).any():
                self.infinite.add(name)
                self.scales.wide_weights = sorted({*self.scales.wide_weights, name})
            elif is_weight and self.channels != "none":
                by_channel = channel_scales(last[i], self._rewritten.channels[name], self.channels)
                scale = scale if by_channel is None else by_channel
            self.scales.arguments[name] = scale
        self._results()
        names = self.result_names
        for argument, result in caches.items():
            name = self._names[argument]
            self.scales.caches[names[result]] = float(self.scales.arguments[name])
            self.scales.cache_arguments[names[result]] = name
            self.scales.results.pop(names[result], None)

    def _caches(self) -> dict[int, int]:
        """Argument -> result of what is stored in FP8 beside the weights; nothing in a precision without FP8."""
        if self._rewritten.products is None:
            return {}
        module = clone(self.original)
        with module.context, ir.Location.unknown(module.context):
            main = public_function(module)
            found = find_caches(module, symbol_name(main))
        return {argument: result for argument, result in found.items() if argument in self._floats}  # others are FP8

    @property
    def result_names(self) -> list[str]:
        """The names of the program's results in a file of scales."""
        attributes = attributes_of(public_function(self.original), "res_attrs", len(self.signature.results))
        return [result_name(own, i) for i, own in enumerate(attributes)]

    def _results(self) -> None:
        """New state comes out at the scale that it goes in with."""
        main = public_function(self.original)
        with self.original.context, ir.Location.unknown(self.original.context):
            state = find_update(self.original, symbol_name(main)).state
        attributes = attributes_of(main, "res_attrs", len(self.signature.results))
        for argument, result in state.items():
            if self._names[argument] in self.scales.arguments:
                self.scales.results[result_name(attributes[result], result)] = self.scales.arguments[
                    self._names[argument]
                ]

    # --- operands of FP8 products ---------------------------------------------------------------------------------

    @property
    def _trains(self) -> bool:
        """Whether the program is a training step: what it measures of gradients is not the same in each step."""
        with self.original.context:
            main = public_function(self.original)
            return trains(self.original, symbol_name(main))

    @functools.cached_property
    def _rewritten(self) -> "_Rewritten":
        """The program in its precision, before operands of products become FP8, and what will."""
        if self.precision is None:
            return _Rewritten()
        before, after = passes_around_scalify(self.precision, pinned=True)
        products = next((each for each in after if isinstance(each, FP8Dots)), None)
        if products is None and (self._trains or not any(isinstance(each, AutoRescale) for each in before)):
            return _Rewritten()
        module = clone(self.original)
        before = without_weights(before, self.scales.inputs)
        for each in (LiftWeights(), *before, Scalify()):
            if isinstance(each, AutoRescale) and not self._trains:
                each = dataclasses.replace(each, numbered=True)
            each.apply(module, [])
        with module.context, ir.Location.unknown(module.context):
            measured = measured_factors(module)
            if products is None:
                return _Rewritten(module if measured else None, measured)
            decided = products.decisions(module)
            narrow = {product.op for product, formats, _ in decided if formats is not None}
            main = public_function(module)
            name = symbol_name(main)
            dims = channel_dimensions(module, name, lambda product: product.op in narrow)
            attributes = attributes_of(main, "arg_attrs", len(main.regions[0].blocks[0].arguments))
            weights = [i for i, own in enumerate(attributes) if _is_weight(own)]
            store = StoreWeights()
            left = few_left(module, weights, store.least, store.share, narrow.__contains__)
            channels = {
                argument: dims[i]
                for i, argument in enumerate(argument_names(main))
                if i in dims and i in weights and i not in left
            }
            return _Rewritten(
                module, products.calibrated_operands(module) | measured, channels,
                tuple(product if formats is not None else None for product, formats, _ in decided),
            )  # fmt: skip

    @property
    def has_fp8_products(self) -> bool:
        """Whether the precision is one that makes products FP8."""
        return self._rewritten.products is not None

    def decided_products(self) -> tuple[ir.Module, tuple[MatrixProduct | None, ...]]:
        """The program before its products become FP8, to be changed, and which do. Raises ScalifyError without FP8."""
        module, products = self._rewritten.module, self._rewritten.products
        if module is None or products is None:
            raise ScalifyError("this precision has no FP8 products: give --precision=fp8")
        del self._rewritten
        with module.context, ir.Location.unknown(module.context):
            for factor in measured_factors(module).values():
                del factor.owner.attributes[MEASURED]
        return module, products

    def rewritten_inputs(
        self, arrays: Sequence[Array], signature: Signature, pairings: Sequence[Pairing]
    ) -> list[Array]:
        """What a rewritten form of the program takes, at the calibrated scales. Raises ScalifyError for misfits."""
        check_arrays(self.signature.arguments, arrays)
        splits: list[Split] = []
        for name, array, pairing in zip(self._names, arrays, pairings, strict=True):
            scale = self.scales.arguments.get(name) if pairing.scale is not None else None
            if scale is None:
                splits.append(Split(array, None))
                continue
            assert pairing.scale is not None
            if scale.shape != signature.arguments[pairing.scale].shape:  # this program has one for all channels
                scale = np.asarray(split_scales(scale)[0], np.float32)
            dtype = signature.arguments[pairing.data].dtype
            splits.append(Split((array.astype(np.float64) / scale).astype(dtype), np.asarray(scale)))
        return rewritten_arguments(splits, pairings, signature)

    def prepare(self) -> "OperandProbe | None":
        """The rewritten program with statistics of what will be rounded to FP8; None where nothing will be."""
        module, operands = self._rewritten.module, self._rewritten.operands
        if module is None or not operands:
            return None
        del self._rewritten  # it is changed
        with module.context, ir.Location.unknown(module.context):
            for factor in measured_factors(module).values():
                del factor.owner.attributes[MEASURED]
            mark_tensors([ScaledTensor(name, value) for name, value in operands.items()])
        EmbedWeights().apply(module, [])
        signature = entry_signature(module)
        Instrument(movements=True).apply(module, [])
        return OperandProbe(self, module, signature, pair_arguments(self.signature, signature, narrowed=True))

    def operands(self, batches: Iterable[Sequence[Array]]) -> None:
        """Measure the operands of FP8 products over batches and choose their scales."""
        probe = self.prepare()
        for arrays in batches:
            if probe is not None:
                probe.measure(arrays)
            self.scales.batches += 1
        self.choose_operands()

    def choose_operands(self) -> None:
        """The operands' scales, from what has been measured of them."""
        for name, found in self.scales.statistics.items():
            if name in self.scales.arguments:
                continue
            if name.startswith(RESCALE):  # a power of two; of a branch that no batch has taken there is none
                self.scales.rescales[name] = found.amax or 1.0
                continue
            wanted = exponent(found, self.method)
            saturates = found.amax > LARGEST_E4M3 and _exponent_of_cut_off(found) > math.log2(LARGEST_E4M3)
            if abs(wanted) > budget.CALIBRATED_NEAR or saturates:
                self.scales.operands[name] = 2.0**wanted


def _is_weight(attributes: Mapping[str, ir.Attribute]) -> bool:
    return STATE in attributes and ir.StringAttr(attributes[STATE]).value == "weight"


@dataclasses.dataclass(frozen=True)
class _Rewritten:
    """module: data and scales, its products still in one wide type; None where no operand becomes FP8.
    operands: of FP8 products, but weights, by their names in a file of scales, and factors that are measured at run
    time. channels: of weights, the dimensions along which scales may differ, by the argument's name. products: all, in
    program order, None for those that do not become FP8; None where the precision has no FP8.
    """

    module: ir.Module | None = None
    operands: dict[str, ir.Value] = dataclasses.field(default_factory=dict[str, ir.Value])
    channels: dict[str, tuple[int, ...]] = dataclasses.field(default_factory=dict[str, tuple[int, ...]])
    products: tuple[MatrixProduct | None, ...] | None = None


class OperandProbe:
    """A compiled program that returns statistics of the operands of its FP8 products."""

    def __init__(
        self, calibration: Calibration, module: ir.Module, signature: Signature, pairings: tuple[Pairing, ...]
    ):
        self._calibration = calibration
        self._module = module
        self._signature = signature
        self._pairings = pairings
        self._run = xla.compile(module)

    def measure(self, arrays: Sequence[Array]) -> None:
        """Run one batch and add what was seen. Raises ScalifyError where arrays do not fit."""
        results = self._run(self._calibration.rewritten_inputs(arrays, self._signature, self._pairings))
        known = self._calibration.scales.statistics
        for tensor in read_health(self._module, results):
            # Names are followed by the source position.
            name = tensor.name.split(" ")[0]
            histogram = {FIRST_EXPONENT + i: count for i, count in enumerate(tensor.histogram) if count}
            found = TensorStatistics(tensor.elements, tensor.mean_square, tensor.amax, histogram)
            known[name] = known.get(name, TensorStatistics()).merged(found)


def statistics_of(array: Array) -> TensorStatistics:
    """Statistics of the finite elements of a float array."""
    if not is_float_array(array):
        raise ScalifyError(f"an array of {array.dtype} has no statistics: only floats are scaled")
    values = np.abs(array.astype(np.float64).ravel())
    values = values[np.isfinite(values)]
    if not values.size:
        return TensorStatistics()
    exponents, counts = np.unique(np.floor(np.log2(values[values > 0])).astype(int), return_counts=True)
    histogram = {int(e): int(n) for e, n in zip(exponents, counts, strict=True)}
    return TensorStatistics(values.size, float(np.mean(values**2)), float(values.max()), histogram)


def exponent(found: TensorStatistics, method: Method) -> int:
    """log2 of the scale for a tensor. 0 for zeros."""
    if not found.amax or not found.mean_square or not math.isfinite(found.mean_square):
        return 0
    return max(-LARGEST_EXPONENT, min(_wanted(found, method), LARGEST_EXPONENT))


def _wanted(found: TensorStatistics, method: Method) -> int:
    cut_off = _exponent_of_cut_off(found)
    if method == "rms":
        wanted = round(math.log2(found.mean_square) / 2)
        return max(wanted, math.ceil(cut_off - math.log2(LARGEST_E4M3)))
    largest = math.log2(found.amax) if method == "amax" else cut_off
    return math.ceil(largest - math.log2(LARGEST_E4M3))


def _exponent_of_cut_off(found: TensorStatistics) -> float:
    """log2 of a magnitude that at most one in 10,000 elements exceeds."""
    above, largest = 0, math.log2(found.amax)
    for power in sorted(found.histogram, reverse=True):
        if above + found.histogram[power] > budget.CUT_OFF * found.elements:
            return min(float(power + 1), largest)
        above += found.histogram[power]
    return largest
