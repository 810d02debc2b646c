"""What serving in low precision loses, on the user's inputs: result by result, against the program in f64.

The rounding that every form of a program has is told from what a precision costs by comparing all of them, the original
and plain casts of it included, with the same exact results.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array, is_float_array
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.promote import promote_arrays, promote_to_f64
from scalify_hlo.execution.signature import Signature, check_arrays, entry_signature
from scalify_hlo.passes.cast import Cast
from scalify_hlo.serving.packing import cache_arguments, own_arguments, pack, pinned_arguments, pinned_results

Run = Callable[[Sequence[Array]], list[Array]]


@dataclasses.dataclass(frozen=True)
class Loss:
    """How far a result is from the exact one, over all batches.

    error: |got - exact| / |exact|, by norm. cosine: of the two. agreement: share of rows whose largest element is the
    same; divergence: mean Kullback-Leibler divergence, in nats, of the rows' softmax. These two are NaN for results
    that have no rows of scores without NaN. finite: whether all elements are finite that are so in the exact result.
    All are NaN of a result whose exact elements are none of them finite.

    Of integers (token ids) and booleans agreement is the share of equal elements, and the others are NaN.
    """

    form: str
    result: str
    error: float
    cosine: float
    agreement: float
    divergence: float
    finite: bool


def compare(
    original: ir.Module,
    served: ir.Module,
    batches: Sequence[Sequence[Array]],
    scores: Sequence[int] | None = None,
    others: Mapping[str, Run] | None = None,
    packed: Mapping[str, Array] | None = None,
) -> list[Loss]:
    """Losses of `original` in f32, cast to bf16 and to f16 as it stands, and of `served`, on batches of inputs.

    served: a pinned module: the original's arguments, its weights as data. scores: results whose rows are scores
    (logits); by default float results of rank 2 and more with at least 4 elements in a row. others: more functions of
    the original's arguments to compare, by the name of their form. packed: weights as the served module takes them, by
    the names of its arguments; those of the batches are packed where it has none.

    Raises ScalifyError where a module cannot be run or the arrays do not fit.
    """
    if pinned_arguments(original):
        raise ScalifyError("the original is pinned to scales: give the program as written first, then the served one")
    signature = entry_signature(original)
    check_scores(signature, scores or ())
    exact = xla.compile(promote_to_f64(original))
    forms: dict[str, Run] = {"as written": xla.compile(original)}
    for name in ("bf16", "fp16"):
        forms[f"cast to {name.replace('fp', 'f')}"] = cast_run(original, name)
    forms["served"] = served_run(served, [spec.name for spec in signature.arguments], packed)
    forms |= others or {}
    sums: dict[tuple[str, int], _Sums] = {}
    for arrays in batches:
        ideal = exact(promote_arrays(list(arrays)))
        for form, run in forms.items():
            for i, (got, want) in enumerate(zip(run(arrays), ideal, strict=False)):  # a guard's counts come last
                if got.shape != want.shape:
                    what = f"result {i} ({signature.results[i].name}) is {list(want.shape)}, {form} {list(got.shape)}"
                    raise ScalifyError(f"{what}: these are not forms of one program")
                if want.dtype.kind in "iub":
                    sums.setdefault((form, i), _Sums(False)).add_integers(got, want)
                elif is_float_array(want):
                    rows = i in scores if scores is not None else is_scores(want)
                    sums.setdefault((form, i), _Sums(rows)).add(got, want)
    return [
        each.loss(form, signature.results[i].name) for (form, i), each in sorted(sums.items(), key=lambda x: x[0][1])
    ]


def check_scores(signature: Signature, scores: Sequence[int]) -> None:
    """Raises ScalifyError for an index of no result, or of one that has no rows."""
    for i in scores:
        if not 0 <= i < len(signature.results):
            raise ScalifyError(f"there is no result {i} for scores; the program has {len(signature.results)}")
        spec = signature.results[i]
        if not spec.is_float or not spec.shape:
            raise ScalifyError(f"result {i} ({spec.name}) is a {spec}: it has no rows of scores")


def is_scores(result: Array) -> bool:
    """Whether the rows of a float result may be scores (logits)."""
    return result.ndim >= 2 and result.shape[-1] >= 4


def cast_run(original: ir.Module, precision: str) -> Run:
    """The program cast by `scalify-cast` and not rewritten: what low precision costs without scales."""
    module = clone(original)
    Cast(precision="bf16" if precision == "bf16" else "fp16").apply(module, [])
    specs = entry_signature(module).arguments
    run = xla.compile(module)
    return lambda arrays: run([a.astype(spec.dtype) for a, spec in zip(arrays, specs, strict=True)])


def served_run(served: ir.Module, names: Sequence[str], weights: Mapping[str, Array] | None = None) -> Run:
    """A pinned module as a function of the original's arguments (of these names): values in, values out.

    weights: packed ones, by name, in the place of the arguments; others are packed in it.
    Raises ScalifyError where its arguments are others, or a packed weight has another shape or type.
    """
    arguments, own = entry_signature(served).arguments, own_arguments(served)
    if [arguments[i].name for i in own] != list(names):
        raise ScalifyError("the served module has other arguments than the original: pin its scales (--pin-scales)")
    run = xla.compile(served)
    pinned, results = pinned_arguments(served), pinned_results(served)
    caches = cache_arguments(served)
    index = {spec.name: i for i, spec in enumerate(arguments)}
    given = {index[name]: array for name, array in (weights or {}).items() if name in index}
    if weights and not given:
        raise ScalifyError("no packed array has the name of an argument of the served module: it is of another program")
    specs = sorted(given)
    check_arrays([arguments[i] for i in specs], [given[i] for i in specs])
    packed: dict[int, Array] = {}

    def call(arrays: Sequence[Array]) -> list[Array]:
        values = dict(zip(own, arrays, strict=True))
        wanted = {arguments[i].name: values[i] for i in pinned}
        if not packed or caches:  # weights are the same in every batch
            packed.update({index[name]: array for name, array in pack(served, wanted).tensors.items()} | given)
        returned = run([packed[i] if i in packed else values[i] for i in range(len(arguments))])
        return [data.astype(np.float32) * results[i] if i in results else data for i, data in enumerate(returned)]

    return call


class _Sums:
    """Running sums over batches of what a Loss is made of."""

    def __init__(self, rows: bool):
        self.rows = rows
        self.integers = False
        self.squares = self.error = self.own = self.product = 0.0
        self.count = self.agree = 0
        self.elements = self.compared = 0
        self.divergence = 0.0
        self.finite = True

    def add_integers(self, got: Array, want: Array) -> None:
        self.integers = True
        self.count += want.size
        self.agree += int(np.sum(got == want))

    def add(self, got: Array, want: Array) -> None:
        got, want = got.astype(np.float64), want.astype(np.float64)
        finite = np.isfinite(want)
        self.finite &= bool(np.isfinite(got[finite]).all())
        self.elements += want.size
        self.compared += int(np.sum(finite))
        both = finite & np.isfinite(got)
        a, b = got[both], want[both]
        self.error += float(np.sum((a - b) ** 2))
        self.squares += float(np.sum(b**2))
        self.own += float(np.sum(a**2))
        self.product += float(np.sum(a * b))
        if self.rows:
            a, b = (x.reshape(-1, x.shape[-1]) for x in (got, want))
            known = ~np.isnan(b).any(-1)
            a, b = a[known], b[known]
            self.count += len(a)
            self.agree += int(np.sum(a.argmax(-1) == b.argmax(-1)))
            p, q = _log_softmax(b), _log_softmax(a)
            # p log p is 0 at 0: scores of -inf are those of elements that are left out.
            apart = np.subtract(p, q, out=np.zeros_like(p), where=p > -np.inf)
            self.divergence += float(np.sum(np.exp(p) * apart))

    def loss(self, form: str, result: str) -> Loss:
        if self.integers:
            agreement = self.agree / self.count if self.count else np.nan
            return Loss(form, result, np.nan, np.nan, agreement, np.nan, True)
        if self.elements and not self.compared:
            return Loss(form, result, np.nan, np.nan, np.nan, np.nan, self.finite)
        error = np.sqrt(self.error / self.squares) if self.squares else float(self.error > 0)
        norms = np.sqrt(self.squares * self.own)
        cosine = self.product / norms if norms else 1.0
        rows = (self.agree / self.count, self.divergence / self.count) if self.count else (np.nan, np.nan)
        return Loss(form, result, float(error), float(cosine), *rows, self.finite)


def _log_softmax(x: Array) -> Array:
    shifted = x - x.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), -1, keepdims=True)))


def _cell(number: float, form: str) -> str:
    return "-" if np.isnan(number) else f"{number:{form}}"


def loss_table(losses: Sequence[Loss]) -> str:
    """One line for each form of each result."""
    rows: list[tuple[str, ...]] = [("result", "form", "error", "1 - cosine", "top-1", "KL", "finite")]
    for loss in losses:
        scores = (_cell(loss.agreement, ".2%"), _cell(loss.divergence, ".1e"))
        numbers = (_cell(loss.error, ".1e"), _cell(1 - loss.cosine, ".1e"))
        rows.append((loss.result, loss.form, *numbers, *scores, "yes" if loss.finite else "NO"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
