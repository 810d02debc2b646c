"""Every (data, scale) pair of a rewritten training step, measured while it runs; see `benchmarks.calibration`."""

import dataclasses
import math
import re
from collections import Counter
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models.training import Model, adam, initial_state
from scalify_hlo import rewrite_module
from scalify_hlo.analysis.name_stack import direction_of, own_name
from scalify_hlo.bindings import ir
from scalify_hlo.emit.marks import ESTIMATE, OPERATION, is_mark
from scalify_hlo.execution.eager import Eager
from scalify_hlo.execution.inputs import ZERO_EXPONENT, Split, rewritten_arguments
from scalify_hlo.execution.modules import as_module, operations
from scalify_hlo.execution.promote import promote_to_f64
from scalify_hlo.execution.signature import entry_signature, pair_arguments, pair_results
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.normal_form import NormalForm
from scalify_hlo.reports.diagnosis import inherited
from scalify_hlo.rules.registry import rules

Scales = Literal["rms", "one"]
# f16: smallest normal exponent, and largest number.
F16_LOW, F16_LARGEST = -14, 65504.0
# Relative errors above this are of tensors whose value is zero but for rounding.
_NOISE = 8.0
LEARNING_RATE = np.float32(1e-3)


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One scaled tensor of the program; of one that a loop computes several times, the time furthest from unit size.

    name: name stack of the operation in the original program, calls included; for an argument its name.
    layer: the block it belongs to, None outside blocks. place: the name without the layer.
    direction: "forward", "backward", "optimiser" or "argument".
    used: the rewritten program needs the data; otherwise it needs the value only, and the data were computed for
        this report.
    log2_rms: of the finite data; None if all of them are 0.
    log2_largest: exponent of the largest finite datum; None likewise. zeros: share of the elements that are 0.
    subnormal: share of the elements that are not 0 but below f16's smallest normal number.
    wrong: elements that are not finite though they are in f64.
    log2_scale: None for a scale of 0. log2_estimate: of the RMS, as the rules expect it.
    surprise: log2_rms - log2_estimate, less what it inherits of that from the operands: how wrong this rule was.
    log2_true: log2 of the RMS of the tensor in f64. error: RMS of data * scale - f64, relative to that; None for zeros.
    """

    index: int
    name: str
    operation: str
    family: str
    direction: str
    layer: int | None
    place: str
    used: bool
    elements: int
    log2_rms: float | None
    log2_largest: float | None
    zeros: float
    subnormal: float
    wrong: int
    log2_scale: float | None
    log2_estimate: float | None
    surprise: float
    log2_true: float | None
    error: float | None

    @property
    def is_noise(self) -> bool:
        """Nothing but rounding errors of its operands: it is far smaller in f64 than in the program's own types."""
        return self.wrong == 0 and self.error is not None and self.error > _NOISE

    @property
    def overflows(self) -> bool:
        """Has elements that f16 cannot hold."""
        return self.wrong > 0 or (self.log2_largest is not None and 2**self.log2_largest > F16_LARGEST)

    @property
    def underflows(self) -> bool:
        """The RMS is below f16's smallest normal number."""
        return self.log2_rms is not None and self.log2_rms < F16_LOW


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The tensors of one step, in program order, and the largest error among the step's results."""

    tensors: tuple[Tensor, ...]
    loss: float
    true_loss: float


def measure(model: Model, dtype: str, scales: Scales, *, steps: int = 1,
            options: ScalifyOptions = ScalifyOptions()) -> Measurement:  # fmt: skip
    """Export forward, backward and Adam of `model`, rewrite them, run `steps` steps and look at the last one.

    dtype: of parameters, optimiser state, activations and gradients: "f32" or "f16".
    scales: of the parameters: a power of two near each one's RMS, or 1. Zeros that are no parameters (Adam's state)
        start at the smallest scale; other floats (images, learning rate) at their RMS.
    """
    kind = {"f32": jnp.float32, "f16": jnp.float16}[dtype]

    def spec(x: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(x.shape, kind if x.dtype == np.float32 else x.dtype)

    state = initial_state(model.parameters)
    arguments = (state, model.batch, LEARNING_RATE)
    step = jax.jit(lambda state, batch, rate: adam(model.loss, state, batch, rate))
    text = jax.export.export(step)(*jax.tree.map(spec, arguments)).mlir_module()
    original = as_module(text)
    NormalForm().apply(original, [])
    names, kinds, operands = _number(original)
    rewritten = as_module(original.operation.get_asm(enable_debug_info=True))
    rewrite_module(rewritten, dataclasses.replace(options, mark_tensors=True))

    plain, scaled = entry_signature(original), entry_signature(rewritten)
    splits = _splits(arguments, scales, np.dtype(kind))
    inputs = rewritten_arguments(splits, pair_arguments(plain, scaled), scaled)
    program = Eager(rewritten)
    carried = len(jax.tree.leaves(state))
    pairs = pair_results(plain, scaled)
    for _ in range(steps - 1):
        results = program(inputs)
        splits = [*(_pair(results, p) for p in pairs[:carried]), *splits[carried:]]
        inputs = rewritten_arguments(splits, pair_arguments(plain, scaled), scaled)

    reference = _Reference()
    true = Eager(promote_to_f64(original), reference)([_value(split) for split in splits])
    recorder = _Recorder(reference, names, kinds, operands, _used(rewritten))
    recorder.arguments = {spec.name: _value(split) for spec, split in zip(plain.arguments, splits, strict=True)}
    program.observer = recorder
    results = program(inputs)
    final = _value(_pair(results, pairs[-1]))
    return Measurement(tuple(recorder.tensors.values()), float(final), float(true[-1]))


def _splits(arguments: Any, scales: Scales, dtype: "np.dtype[Any]") -> list[Split]:
    splits: list[Split] = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(arguments)[0]:
        array = np.asarray(leaf)
        if array.dtype != np.float32:
            splits.append(Split(array, None))
            continue
        mean_square = float(np.mean(array.astype(np.float64) ** 2))
        exponent = round(0.5 * math.log2(mean_square)) if mean_square else ZERO_EXPONENT
        if scales == "one" and jax.tree_util.keystr(path).startswith("[0]['parameters']"):
            exponent = 0
        data = np.ldexp(array.astype(np.float64), -exponent if mean_square else 0)
        with np.errstate(over="ignore"):
            splits.append(Split(data.astype(dtype), np.asarray(np.ldexp(1.0, exponent), np.float32)))
    return splits


def _pair(results: list[Any], pair: Any) -> Split:
    return Split(results[pair.data], None if pair.scale is None else results[pair.scale])


def _value(split: Split) -> Any:
    return split.data if split.scale is None else split.data.astype(np.float64) * np.float64(split.scale)


# --- names --------------------------------------------------------------------------------------------------------


def _number(module: ir.Module) -> tuple[dict[str, str], dict[str, str], dict[str, list[str]]]:
    """Give every operation a location of its own, "#12".

    Returns what each was called, which operation it is, and where its operands come from.
    """
    names: dict[str, str] = {}
    kinds: dict[str, str] = {}
    operands: dict[str, list[str]] = {}
    with module.context:
        for i, op in enumerate(operations(module)):
            key = f"#{i}"
            names[key] = own_name(op)
            kinds[key] = op.name.removeprefix("stablehlo.")
            op.location = ir.Location.name(key)
            sources = [v.location if isinstance(v.owner, ir.Block) else v.owner.location for v in op.operands]
            operands[key] = [source.name_str for source in sources if isinstance(source, ir.NameLoc)]
    return names, kinds, operands


_LAYER = re.compile(r"block_(\d+)|\['blocks'\]\[(\d+)\]")


def _layer(name: str) -> tuple[int | None, str]:
    """The block that a name stack lies in, and the name without it."""
    found = _LAYER.search(name)
    if found is None:
        return None, name
    number = next(n for n in found.groups() if n is not None)
    return int(number), _LAYER.sub(lambda m: m[0].replace(number, "*"), name)


def _direction(operation: str, name: str) -> str:
    if operation == "argument":
        return "argument"
    found = direction_of(name).value
    return "optimiser" if found == "outside" else found


# --- what is recorded ---------------------------------------------------------------------------------------------


class _Reference:
    """The values of the program in f64: by operation, in the order in which they are computed."""

    def __init__(self) -> None:
        self.values: dict[str, list[list[Any]]] = {}

    def __call__(self, op: ir.Operation, _operands: Any, results: Any, _path: Any) -> None:
        if isinstance(op.location, ir.NameLoc):
            kept = [r.astype(np.float32) if _fits(r) else r for r in results]
            self.values.setdefault(op.location.name_str, []).append(kept)


def _fits(array: Any) -> bool:
    """Whether f32 is enough to remember f64 values: it halves the memory."""
    if array.dtype != np.float64 or not array.size:
        return False
    size = np.abs(array[np.isfinite(array) & (array != 0)])
    return not size.size or (size.min() > 1e-35 and size.max() < 1e35)


class _Recorder:
    """Takes the statistics of the marks that it sees."""

    def __init__(self, reference: _Reference, names: dict[str, str], kinds: dict[str, str],
                 operands: dict[str, list[str]], used: "set[ir.Operation]"):  # fmt: skip
        self.reference = reference
        self.names = names
        self.kinds = kinds
        self.operands = operands
        self.used = used
        self.gaps: dict[str, float] = {}
        self.arguments: dict[str, Any] = {}
        self.tensors: dict[Any, Tensor] = {}
        self.times: Counter[Any] = Counter()
        self.families = {name: rule.family for name, rule in rules().items()}

    def __call__(self, op: ir.Operation, operands: Any, _results: Any, path: tuple[ir.Operation, ...]) -> None:
        if not is_mark(op):
            return
        data, scale = operands
        operation = ir.StringAttr(op.attributes[OPERATION]).value.removeprefix("stablehlo.")
        key = op.location.name_str if isinstance(op.location, ir.NameLoc) else ""
        if operation == "argument":
            name, true = key, self.arguments.get(key)
        else:
            stack = [*(self.names.get(_key(call), "") for call in path), self.names.get(key, key)]
            name = "/".join(part for part in stack if part)
            # Not of a conversion put beside it to compute it in f32.
            true = self._true(key, data) if self.kinds.get(key) == operation else None
        tensor = self._tensor(op, operation, name, data, scale, true)
        where = (path, op)
        before = self.tensors.get(where)
        self.tensors[where] = tensor if before is None else _further(before, tensor)

    def _true(self, key: str, data: Any) -> Any:
        """The f64 value of the marked result: marks of one operation come in the order of its results."""
        computed = self.reference.values.get(key, [])
        flat = [r for results in computed for r in results if r.dtype.kind == "f"]
        time = self.times[key]
        self.times[key] += 1
        if time < len(flat) and flat[time].shape == data.shape:
            return flat[time]
        return None

    def _tensor(self, op: ir.Operation, operation: str, name: str, data: Any, scale: Any, true: Any) -> Tensor:
        layer, place = _layer(name)
        x = data.astype(np.float64)
        finite = np.isfinite(x)
        size = np.abs(x[finite])
        rms = float(np.sqrt(np.mean(size**2))) if size.size else 0.0
        wrong = int((~finite & np.isfinite(true)).sum() if true is not None else (~finite).sum())
        error = true_rms = None
        if true is not None:
            both = finite & np.isfinite(true)
            exact = true.astype(np.float64)[both]
            true_rms = float(np.sqrt(np.mean(exact**2))) if exact.size else 0.0
            if true_rms:
                value = (x * scale.astype(np.float64))[both]
                error = float(np.sqrt(np.mean((value - exact) ** 2))) / true_rms
        estimate = _log2(ir.FloatAttr(op.attributes[ESTIMATE]).value)
        gap = (_log2(rms) or 0.0) - (estimate or 0.0) if rms else 0.0
        self.gaps[_key(op)] = gap
        gaps = [self.gaps.get(source, 0.0) for source in self.operands.get(_key(op), ())]
        surprise = gap - inherited(operation, gaps, gap)
        family = "argument" if operation == "argument" else self.families.get(f"stablehlo.{operation}", operation)
        return Tensor(
            index=len(self.tensors), name=name, operation=operation, family=family,
            direction=_direction(operation, name), layer=layer, place=place, used=op in self.used,
            elements=x.size, log2_rms=_log2(rms), log2_largest=_log2(float(size.max(initial=0.0))),
            zeros=float((x == 0).mean()) if x.size else 0.0,
            subnormal=float(((size > 0) & (size < 2.0**F16_LOW)).sum()) / max(x.size, 1),
            wrong=wrong, log2_scale=_log2(float(np.max(scale, initial=0.0))),
            log2_estimate=estimate, surprise=round(surprise, 2), log2_true=_log2(true_rms or 0.0),
            error=error,
        )  # fmt: skip


def _key(op: ir.Operation) -> str:
    return op.location.name_str if isinstance(op.location, ir.NameLoc) else ""


def _log2(number: float) -> float | None:
    return round(math.log2(number), 3) if 0 < number < math.inf else None


def _further(a: Tensor, b: Tensor) -> Tensor:
    """The one further from unit size, with what has gone wrong in either."""
    far = max((a, b), key=lambda t: abs(t.log2_rms or 0.0))
    largest = max((t.log2_largest for t in (a, b) if t.log2_largest is not None), default=None)
    return dataclasses.replace(far, index=a.index, wrong=a.wrong + b.wrong, log2_largest=largest,
                               error=max((t.error for t in (a, b) if t.error is not None), default=None))  # fmt: skip


def _used(module: ir.Module) -> "set[ir.Operation]":
    """The marks of data that the program would compute without marks too."""
    marks = [op for op in operations(module) if is_mark(op)]
    needed: set[Any] = set()
    work = [op for op in operations(module) if op.name in ("func.return", "stablehlo.return")]
    work += [op for op in operations(module) if op.name == "stablehlo.custom_call" and not is_mark(op)]
    while work:
        op = work.pop()
        if op in needed:
            continue
        needed.add(op)
        work += [v.owner.operation for v in op.operands if not isinstance(v.owner, ir.Block)]
    return {m for m in marks if isinstance(m.operands[0].owner, ir.Block) or m.operands[0].owner.operation in needed}
