"""A training loop's record: losses, scales and sizes of tensors every N steps, as files."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

import collections
import csv
import io
import math
import os
import pathlib
import time
from types import TracebackType
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.errors import ScalifyError
from scalify_hlo.frontend.scaled_array import ScaledArray
from scalify_hlo.frontend.static_leaves import is_static
from scalify_hlo.io.files import write_output
from scalify_hlo.reports.curves import Curve, page
from scalify_hlo.reports.event_file import first_record, scalars_record

_COLUMNS = ("step", "time", "quantity", "name", "value")
# What is recorded of a tensor that is no scalar; of one without a scale, all but the first.
_QUANTITIES = ("log2_scale", "log2_rms", "log2_amax", "not_finite")
_TITLES = {
    "value": "values",
    "log2_scale": "scales, log2",
    "log2_rms": "root mean square of the data, log2: 0 is unit size",
    "log2_amax": "largest magnitude of the data, log2",
    "not_finite": "share of the data that is infinite or NaN",
}  # fmt: skip


class Recorder:
    """Writes what a training loop gives it every `every` steps, as files that are complete at each time.

        with scalify_hlo.health.Recorder("runs/fp8", every=20) as recorder:
            for i in range(steps):
                *state, loss = step(*state, *batch(i))
                recorder.record(i, loss=loss, state=state)

    In the folder lie `record.csv` (step, time in seconds since the epoch, quantity, name, value: one line for each
    number), an event file of the same for TensorBoard (`tensorboard --logdir runs`), and after `close` `record.html`
    with curves. Of a scalar its value is recorded; of another tensor log2 of its scale (the largest, where it has
    several), log2 of the root mean square and of the largest magnitude of its data, and the share of the data that is
    not finite. Values without floats are left out.

    On the other steps `record` returns at once. On those that count it starts one small computation for all tensors
    and waits for that of the time before, so that the device is not waited for. A folder that holds a record is
    added to.

    folder: is made where there is none. every: in steps, at least 1. Raises ValueError for a smaller one, and
    ScalifyError where the folder cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], every: int = 1):
        if every < 1:
            raise ValueError(f"every={every}: expected a number of steps, at least 1")
        self.folder = pathlib.Path(folder)
        self.every = every
        self._pending: tuple[int, float, list[tuple[str, bool, bool]], Any] | None = None
        self._writes = jax.process_index() == 0
        self._events = self.folder / f"events.out.tfevents.{int(time.time())}.{os.getpid()}.scalify"
        if self._writes:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                if not self.csv.exists():
                    write_output(str(self.csv), _csv_lines([_COLUMNS]))
            except OSError as error:
                raise ScalifyError(f"cannot write the record in '{folder}': {error.strerror}") from None

    @property
    def csv(self) -> pathlib.Path:
        """The file of all numbers."""
        return self.folder / "record.csv"

    def record(self, step: int, **values: Any) -> None:
        """Record trees of arrays and ScaledArrays by name, if `step` is a multiple of `every`."""
        if step % self.every:
            return
        kept: list[tuple[str, bool, bool]] = []
        tensors: list[Any] = []
        for path, leaf in jax.tree_util.tree_leaves_with_path(values, is_leaf=_is_scaled):
            if is_static(leaf):
                continue
            dtype = leaf.dtype if _is_scaled(leaf) else jnp.result_type(leaf)
            if jnp.issubdtype(dtype, jnp.floating):
                name = jax.tree_util.keystr(path, simple=True, separator="/")
                kept.append((name, np.ndim(leaf.data if _is_scaled(leaf) else leaf) == 0, _is_scaled(leaf)))
                tensors.append((leaf.data, leaf.scale) if _is_scaled(leaf) else (leaf, None))
        self.flush()
        self._pending = (step, time.time(), kept, _statistics(tensors))

    def flush(self) -> None:
        """Write what has been recorded; waits for its computation."""
        if self._pending is None:
            return
        step, at, kept, statistics = self._pending
        self._pending = None
        rows: list[tuple[int, float, str, str, float]] = []
        for (name, scalar, scaled), (value, *numbers) in zip(kept, np.asarray(statistics).tolist(), strict=True):
            if scalar:
                rows.append((step, at, "value", name, value))
            else:
                measured = zip(_QUANTITIES, numbers, strict=True)
                rows += [(step, at, quantity, name, number) for quantity, number in list(measured)[not scaled :]]
        if not self._writes:
            return
        with self.csv.open("ab") as file:
            file.write(_csv_lines(rows))
        scalars = {name if what == "value" else f"{what}/{name}": number for _, _, what, name, number in rows}
        new = not self._events.exists()
        with self._events.open("ab") as file:
            file.write((first_record(at) if new else b"") + scalars_record(at, step, scalars))

    def curves(self) -> dict[str, dict[str, Curve]]:
        """What `record.csv` holds: quantity -> name -> (step, value) pairs."""
        found: dict[str, dict[str, list[tuple[int, float]]]] = {}
        with self.csv.open(newline="") as file:
            for row in csv.DictReader(file):
                by_name = found.setdefault(row["quantity"], collections.defaultdict(list))
                by_name[row["name"]].append((int(row["step"]), float(row["value"])))
        return {quantity: dict(found[quantity]) for quantity in _TITLES if quantity in found}

    def close(self) -> None:
        """Write what is left, and the page of curves."""
        self.flush()
        if self._writes:
            charts = {_TITLES[quantity]: by_name for quantity, by_name in self.curves().items()}
            write_output(str(self.folder / "record.html"), page(self.folder.name, charts).encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _is_scaled(leaf: Any) -> bool:
    return isinstance(leaf, ScaledArray)


def _csv_lines(rows: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


@jax.jit
def _statistics(tensors: list[Any]) -> Any:
    """A row for each tensor: its value if it is a scalar, then _QUANTITIES."""
    rows = [_row(data, scale) for data, scale in tensors]
    return jnp.stack(rows) if rows else jnp.zeros((0, 1 + len(_QUANTITIES)), jnp.float32)


def _row(data: Any, scale: Any) -> Any:
    wide = jnp.asarray(data).astype(jnp.float32)
    factor = jnp.float32(1) if scale is None else jnp.max(jnp.asarray(scale).astype(jnp.float32))
    value = wide.reshape(-1)[0] * factor if wide.ndim == 0 else jnp.float32(math.nan)
    if wide.size == 0:
        return jnp.stack([value, jnp.log2(factor), *[jnp.float32(math.nan)] * 2, jnp.float32(0)])
    finite = jnp.isfinite(wide)
    sizes = jnp.where(finite, jnp.abs(wide), 0)
    amax = jnp.max(sizes)
    # f32's squares end at 2^128: those of sizes relative to the largest do not.
    relative = sizes / jnp.where(amax > 0, amax, 1)
    rms = jnp.log2(amax) + 0.5 * jnp.log2(jnp.mean(relative * relative))
    lost = 1 - jnp.mean(finite.astype(jnp.float32))
    return jnp.stack([value, jnp.log2(factor), rms, jnp.log2(amax), lost])
