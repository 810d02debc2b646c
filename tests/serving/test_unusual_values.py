"""Serving where sizes are unusual: scales that are no numbers, columns in units of their own, what is chosen."""

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from jax import export
from scalify_hlo.tools import calibrate, health, pack, scalify_opt

import scalify_hlo as sc
from scalify_hlo.analysis.caches import find_caches
from scalify_hlo.bindings import make_context
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.scales_file import read_scales
from scalify_hlo.io.serialization import parse, recognise
from scalify_hlo.serving import packed_arguments
from scalify_hlo.serving.comparison import served_run
from scalify_hlo.serving.tensors import match, read_tensors

_Tree = dict[str, Any]
_RNG = np.random.default_rng(0)


def _normal(*shape: int) -> np.ndarray:
    return np.float32(_RNG.standard_normal(shape))


def _run(command: Any, *arguments: object) -> str:
    done = CliRunner().invoke(command, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def _served(
    folder: pathlib.Path,
    function: Callable[..., Any],
    weights: Any,
    inputs: Sequence[Any],
    precision: str,
    *options: str,
) -> list[np.ndarray]:
    """What the served program gives, from calibration on its inputs on."""
    program = export.export(jax.jit(function), platforms=["cpu"])(weights, *inputs)
    model, file, batch, scales, served = (folder / n for n in ("m.bin", "w.npz", "b.npz", "s.json", "o.mlir"))
    model.write_bytes(program.serialize())
    names = [spec.name for spec in entry_signature(_module(program)).arguments]
    arrays = [np.asarray(each) for each in jax.tree.leaves((weights, *inputs))]
    arrays = [arrays[i] for i in program.module_kept_var_idx]
    count = len(jax.tree.leaves(weights))
    np.savez(file, **dict(zip(names[:count], arrays, strict=False)))
    np.savez(batch, **dict(zip(names[count:], arrays[count:], strict=True)))
    given = [f"--precision={precision}"] if precision else []
    _run(calibrate.main, model, *given, "--weights", file, "--inputs", batch, "-o", scales, *options)
    _run(scalify_opt.main, model, *given, f"--pin-scales={scales}", "-o", served)
    module = parse(recognise(served.read_bytes(), "o.mlir"), make_context())
    return [np.asarray(each) for each in served_run(module, names)(arrays)]


def _module(program: Any) -> Any:
    return parse(recognise(bytes(program.serialize()), "model.bin"), make_context())


def _error(got: Any, want: Any) -> float:
    got, want = (np.asarray(each, np.float64) for each in (got, want))
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


@pytest.mark.parametrize("precision", ["", "fp16", "fp8"])
@pytest.mark.parametrize("low", [-1e9, -1e30, float(np.finfo(np.float32).min)])
def test_masks_that_are_arguments(low: float, precision: str, tmp_path: pathlib.Path) -> None:
    """The scale of the smallest number of f32 was 2^128, which is none."""
    mask = np.where(_RNG.random((16, 16)) < 0.5, np.float32(low), np.float32(0))

    def attention(w: _Tree, x: Any, mask: Any) -> Any:
        return jax.nn.softmax((x @ w["a"]) @ (x @ w["a"]).T + mask) @ x

    weights, inputs = {"a": _normal(32, 64) / 12}, (_normal(16, 32), mask)
    (got,) = _served(tmp_path, attention, weights, inputs, precision)
    assert _error(got, attention(weights, *inputs)) < {"": 1e-5, "fp16": 5e-3, "fp8": 0.15}[precision]


def test_a_running_maximum_begins_at_minus_infinity(tmp_path: pathlib.Path) -> None:
    weights, inputs = {"a": _normal(32, 64) / 6}, (_normal(16, 32), np.full((16,), -np.inf, np.float32))

    def step(w: _Tree, x: Any, most: Any) -> Any:
        return jnp.maximum(most, (x @ w["a"]).max(1))

    (got,) = _served(tmp_path, step, weights, inputs, "fp16")
    assert _error(got, step(weights, *inputs)) < 2e-3


def test_programs_in_f64_stay_so(tmp_path: pathlib.Path) -> None:
    with jax.enable_x64(True):
        weights = {"a": _RNG.standard_normal((16, 32)), "b": _RNG.standard_normal((16, 32)) * 1e-170}
        x = _RNG.standard_normal((16, 32)) * 1000

        def add(w: _Tree, x: Any) -> Any:
            return jax.lax.fori_loop(0, 3, lambda _, y: y * 0.5 + w["a"], x), w["b"] * 2

        got = _served(tmp_path, add, weights, (x,), "")
        for mine, wanted in zip(got, add(weights, x), strict=True):
            np.testing.assert_allclose(mine, np.asarray(wanted), rtol=1e-14)


@pytest.mark.parametrize("method", ["rms", "amax", "percentile"])
@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_every_method_keeps_data_of_about_unit_size(precision: str, method: str, tmp_path: pathlib.Path) -> None:
    """By `amax` data were of size 100, and products of two beyond f16."""
    weights = {"a": _normal(32, 64) / 6, "g": 1 + _normal(32) / 10, "b": _normal(64, 32) / 8}

    def layers(w: _Tree, x: Any) -> Any:
        return jax.nn.relu((x * w["g"]) @ w["a"]) @ w["b"]

    x = _normal(16, 32)
    (got,) = _served(tmp_path, layers, weights, (x,), precision, f"--method={method}")
    assert _error(got, layers(weights, x)) < {"fp16": 2e-3, "fp8": 0.08}[precision]


@pytest.mark.parametrize("bias", [-11, -13, -16])
def test_operands_that_are_small(bias: int, tmp_path: pathlib.Path) -> None:
    """1 / 2^-17 is beyond f16: results were NaN."""
    weights = {"a": _normal(32, 64) / 6, "g": _normal(32, 64) / 6, "b": _normal(64, 32) / 8, "c": _normal(32, 32) / 6}

    def gated(w: _Tree, x: Any) -> Any:
        h = jax.nn.sigmoid(x @ w["g"] + bias) * jnp.tanh(x @ w["a"])
        return jax.nn.relu(h @ w["b"] * np.float32(np.exp(-bias))) @ w["c"]

    x = _normal(16, 32)
    (got,) = _served(tmp_path, gated, weights, (x,), "fp8")
    assert _error(got, gated(weights, x)) < 0.2


_TABLE = np.stack(
    [np.arange(118) + 1, (np.arange(118) + 1) * 2.3, np.linspace(0.3, 3, 118), np.linspace(1e-3, 5e-2, 118)], 1
).astype(np.float32)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("divides", [False, True])
def test_columns_of_a_table_in_units_of_their_own(frozen: bool, divides: bool, tmp_path: pathlib.Path) -> None:
    """At the scale of the largest column E4M3 made zeros of the smallest, and quotients by it infinite."""
    weights = {"a": _normal(32, 64) / 6, "b": _normal(64, 32) / 8} | ({} if frozen else {"t": _TABLE})

    def looked_up(w: _Tree, x: Any, i: Any) -> Any:
        y, row = jnp.tanh(x @ w["a"]) @ w["b"], (jnp.asarray(_TABLE) if frozen else w["t"])[i]
        return y / row[:, 3:] if divides else y * row[:, 3:]

    inputs = (_normal(16, 32), _RNG.integers(0, 118, 16).astype(np.int32))
    (got,) = _served(tmp_path, looked_up, weights, inputs, "fp8")
    assert _error(got, looked_up(weights, *inputs)) < 0.12
    if frozen:
        step = sc.scalify(looked_up, precision="fp8")
        assert _error(step(*sc.as_scaled_array((weights, inputs[0])), inputs[1]), looked_up(weights, *inputs)) < 0.12


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_donated_arguments(precision: str, tmp_path: pathlib.Path) -> None:
    """A weight that is stored in FP8 shares no buffer with a result in f32; a state that decays is not trained."""
    weights = {name: _normal(64, 64) / 8 for name in "kqvo"}

    def step(w: _Tree, x: Any, state: Any) -> Any:
        keys, values, queries = (x @ w[name] for name in "kvq")
        state = 0.95 * state + keys[:, :, None] * values[:, None, :]
        merged = w["k"] + 0.1 * w["q"] @ w["v"]
        return jnp.einsum("bd,bde->be", queries, state) @ w["o"], state, merged

    inputs = (_normal(4, 64), _normal(4, 64, 64))
    got = _served(tmp_path, jax.jit(step, donate_argnums=(0, 2)), weights, inputs, precision)
    for mine, wanted in zip(got, jax.tree.leaves(step(weights, *inputs)), strict=True):
        assert _error(mine, wanted) < {"fp16": 2e-3, "fp8": 0.15}[precision]
    stored = {"fp16": "64x64xf16", "fp8": "64x64xf8E4M3FN"}[precision]
    (signature,) = [line for line in (tmp_path / "o.mlir").read_text().splitlines() if "@main(" in line]
    assert signature.partition(" -> ")[0].count(stored) == 4


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_what_is_measured_of_symbolic_sizes(precision: str, tmp_path: pathlib.Path) -> None:
    """It was calibrated at the samples' sizes, and not found again where sizes are symbols."""
    weights, x = {"a": _normal(32, 64) / 6, "b": _normal(64, 32) / 8}, _normal(8, 32)

    def exponentials(w: _Tree, x: Any) -> Any:
        return jnp.exp(2 * x @ w["a"]) @ w["b"]

    shape = jax.ShapeDtypeStruct(export.symbolic_shape("b, 32"), np.float32)
    program = export.export(jax.jit(exponentials), platforms=["cpu"])(weights, shape)
    model, scales, served = (tmp_path / name for name in ("m.bin", "s.json", "o.bin"))
    model.write_bytes(program.serialize())
    np.savez(tmp_path / "w.npz", **weights)
    np.savez(tmp_path / "b.npz", x=x)
    given = [model, f"--precision={precision}"]
    _run(calibrate.main, *given, "--weights", tmp_path / "w.npz", "--inputs", tmp_path / "b.npz", "-o", scales)
    assert read_scales(str(scales)).rescales
    _run(scalify_opt.main, *given, f"--pin-scales={scales}", "-o", served)
    _run(pack.main, served, tmp_path / "w.npz", "-o", tmp_path / "p.npz")
    loaded = export.deserialize(bytearray(served.read_bytes()))
    packed, _ = packed_arguments(loaded, str(tmp_path / "p.npz"))
    for rows in (8, 5):
        assert _error(loaded.call(packed, x[:rows]), exponentials(weights, x[:rows])) < 0.15


@pytest.mark.parametrize("precision", ["fp16", "fp8", "nvfp4"])
@pytest.mark.parametrize("frozen", [False, True])
def test_tables_of_what_is_forbidden(frozen: bool, precision: str, tmp_path: pathlib.Path) -> None:
    """E4M3 has no infinity, and -448 times the scale of small biases forbids nothing."""
    table = np.where(_RNG.random((64, 64)) < 0.5, -np.inf, 0.002 * _normal(64, 64)).astype(np.float32)
    weights = {"a": _normal(32, 64) / 6} | ({} if frozen else {"t": table})

    def choose(w: _Tree, x: Any, i: Any) -> Any:
        return jax.nn.softmax(x @ w["a"] + (jnp.asarray(table) if frozen else w["t"])[i])

    inputs = (_normal(16, 32), _RNG.integers(0, 64, 16).astype(np.int32))
    (got,) = _served(tmp_path, choose, weights, inputs, precision)
    assert _error(got, choose(weights, *inputs)) < 0.1 and not got[np.isinf(table[inputs[1]])].any()


@pytest.mark.parametrize("precision", ["fp16", "fp8", "nvfp4"])
def test_frozen_weights_in_bf16(precision: str, tmp_path: pathlib.Path) -> None:
    a, b = (jnp.asarray(_normal(*shape) / 6, jnp.bfloat16) for shape in ((32, 64), (64, 32)))
    x = _normal(16, 32)

    def layers(_: Any, x: Any) -> Any:
        return (jax.nn.gelu(x @ a.astype(jnp.float32)).astype(jnp.bfloat16) @ b).astype(jnp.float32)

    most = {"fp16": 0.02, "fp8": 0.1, "nvfp4": 0.3}[precision]
    (got,) = _served(tmp_path, layers, {}, (x,), precision)
    assert _error(got, layers(None, x)) < most
    scaled = sc.scalify(lambda x: layers(None, x), precision=precision)(sc.as_scaled_array(x))
    assert _error(scaled, layers(None, x)) < most


@pytest.mark.parametrize("kind", ["int16", "int32"])
def test_integers_beyond_e4m3(kind: str, tmp_path: pathlib.Path) -> None:
    """They have no scale, and saturated in FP8 products, calibrated or not."""
    weights = {"a": _normal(64, 48) / 8, "b": _normal(48, 32) / 7}
    x = _RNG.integers(-3000, 3000, (16, 64)).astype(kind)

    def layers(w: _Tree, x: Any) -> Any:
        return jnp.tanh(x.astype(jnp.float32) @ w["a"] / 2000) @ w["b"]

    (got,) = _served(tmp_path, layers, weights, (x,), "fp8")
    assert _error(got, layers(weights, x)) < 0.1
    scaled = sc.scalify(layers, precision="fp8")(sc.as_scaled_array(weights), x)
    assert _error(scaled, layers(weights, x)) < 0.1


def test_operands_that_are_carried_or_times_a_number(tmp_path: pathlib.Path) -> None:
    weights = {"a": _normal(32, 64) / 6, "b": _normal(32, 64) / 6}

    def sums(w: _Tree, x: Any, i: Any) -> Any:
        c = jax.lax.fori_loop(0, 600, lambda _, c: c + jnp.abs(x), jnp.zeros_like(x))
        return c @ w["a"], (i * 1000.0) * x @ w["b"]

    inputs = (_normal(16, 32), np.float32(3))
    got = _served(tmp_path, sums, weights, inputs, "fp8")
    assert all(_error(a, b) < 0.1 for a, b in zip(got, sums(weights, *inputs), strict=True))


def test_a_training_step_without_a_precision_returns_what_it_takes(tmp_path: pathlib.Path) -> None:
    weights = {"a": _normal(16, 32) / 32, "b": _normal(32, 8) / 32}
    x = _normal(8, 16)

    def step(w: _Tree, x: Any) -> Any:
        loss, g = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w["a"]) @ w["b"] - 1) ** 2))(w)
        return jax.tree.map(lambda p, d: p - 0.1 * d, w, g), loss

    got = _served(tmp_path, step, weights, (x,), "")
    assert all(_error(a, b) < 1e-5 for a, b in zip(got, jax.tree.leaves(step(weights, x)), strict=True))


def _caches(function: Callable[..., Any], *arguments: Any) -> int:
    module = _module(export.export(jax.jit(function))(*arguments))
    with module.context:
        return len(find_caches(module, "main"))


_X, _U = np.ones((16, 32), np.float32), np.ones(16, np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, u: (jnp.where(jnp.isnan(x), 1000.0, x), u),
        lambda x, u: jnp.where((u < 0.5)[:, None], x, x * 2),
        lambda x, u: jnp.where(jnp.arange(32) < 20, x, 0.0) + 0 * u[0],
        lambda x, u: (jnp.where(u[:, None] > 0, jnp.tanh(x), x), u),
    ],
)  # fmt: skip
def test_inputs_that_are_chosen_from_are_no_caches(function: Callable[..., Any]) -> None:
    """They were stored in E4M3: 1000 +- 100 in steps of 64."""
    assert _caches(function, _X, _U) == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda x, u, i: jnp.where(jnp.arange(16)[:, None] == i, (x * 2).sum(0) * u[0], x),
        lambda x, u, i: jnp.where((u > 0)[:, None], jax.lax.dynamic_update_slice(x, x[:1] * 2, (i, 0)), x),
        lambda x, u, i: jnp.where((u > 0)[:, None], x, jax.lax.dynamic_update_slice(x, x[:1] * 2, (i, 0))),
    ],
)  # fmt: skip
def test_caches_are_written_by_place(function: Callable[..., Any]) -> None:
    assert _caches(function, _X, _U, np.int32(1)) == 1


def test_keys_that_are_numbers() -> None:
    """JAX sorts them as text, and '2' was packed as the third argument, params['10']."""
    weights = {str(k): _normal(32, 32) / 6 * np.float32(2.0 ** (k / 4)) for k in range(12)}

    def layers(params: _Tree, x: Any) -> Any:
        for k in range(12):
            x = jnp.tanh(x @ params[str(k)])
        return x

    program = export.export(jax.jit(layers))(weights, _normal(8, 32))
    arguments = entry_signature(_module(program)).arguments
    found = match(arguments, weights, "w.npz", others="unneeded")
    assert {arguments[i].name: name for i, name in found.items()} == {f"params['{k}']": str(k) for k in range(12)}
    # Of a batch they are indices, as long as the shapes fit.
    assert match(arguments, {"0": weights["0"], "12": _normal(8, 32)}, "b.npz") == {0: "0", 12: "12"}


def test_packed_weights_are_not_taken_for_values(tmp_path: pathlib.Path) -> None:
    weights, x = {"a": _normal(32, 64) / 100, "b": _normal(64, 32) / 100}, _normal(16, 32)
    _served(tmp_path, lambda w, x: jnp.tanh(x @ w["a"]) @ w["b"], weights, (x,), "fp8")
    packed = tmp_path / "p.npz"
    _run(pack.main, tmp_path / "o.mlir", tmp_path / "w.npz", "-o", packed)
    arguments = [tmp_path / "m.bin", "--precision=fp8", "--inputs", tmp_path / "b.npz", "--weights", packed]
    done = CliRunner().invoke(calibrate.main, [*map(str, arguments), "-o", str(tmp_path / "again.json")])
    assert done.exit_code == 1 and "packed already; scalify-pack --unpack gives" in done.output
    assert not (tmp_path / "again.json").exists()
    assert read_tensors(str(packed)) and read_scales(str(tmp_path / "s.json")).arguments["w['a']"] == 2.0**-7


@pytest.mark.parametrize("precision", ["fp8", "mxfp8", "nvfp4"])
def test_health_of_a_served_module(precision: str, tmp_path: pathlib.Path) -> None:
    weights, x = {"a": _normal(32, 64) / 6, "b": _normal(64, 32) / 8}, _normal(16, 32)
    _served(tmp_path, lambda w, x: jnp.tanh(x @ w["a"]) @ w["b"], weights, (x,), precision)
    assert "tanh" in _run(health.main, tmp_path / "o.mlir")


@pytest.mark.parametrize("precision", ["fp8", "mxfp8", "nvfp4"])
def test_batches_of_no_rows(precision: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (np.float32(rng.standard_normal(shape) / 6) for shape in ((32, 64), (64, 32)))
    scaled = sc.as_scaled_array((a, b, np.zeros((0, 32), np.float32)))
    found = sc.scalify(lambda a, b, x: jnp.tanh(x @ a) @ b, precision=precision)(*scaled)
    assert found.shape == (0, 32)


def test_weights_that_are_no_numbers_are_told_of(tmp_path: pathlib.Path) -> None:
    """A checkpoint of a run that went wrong."""
    weights, x = {"a": _normal(32, 64) / 100, "b": _normal(64, 32) / 100}, _normal(16, 32)
    _served(tmp_path, lambda w, x: jnp.tanh(x @ w["a"]) @ w["b"], weights, (x,), "fp8")
    weights["a"][0, :3] = np.nan
    np.savez(tmp_path / "nan.npz", **weights)
    told = _run(pack.main, tmp_path / "o.mlir", tmp_path / "nan.npz", "-o", tmp_path / "p.npz")
    assert "'a': 3 elements are NaN" in told
    assert "'b'" not in told
