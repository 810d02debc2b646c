"""Programs that are served though they are no stack of layers: what is a weight of them, and what is lost."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from jax import export
from scalify_hlo.tools import calibrate, pack, scalify_opt

import scalify_hlo as sc
from scalify_hlo.analysis.caches import find_caches
from scalify_hlo.analysis.weights import find_weights
from scalify_hlo.bindings import make_context
from scalify_hlo.execution import xla
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.serialization import parse, recognise
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.serving import packed_arguments
from scalify_hlo.serving.tensors import read_tensors

_Tree = dict[str, Any]


def _normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.float32(np.random.default_rng(seed).standard_normal(shape))


def run(command: Any, *arguments: object) -> str:
    done = CliRunner().invoke(command, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def smoother(w: _Tree, y: Any) -> Any:
    """A Kalman smoother: covariances are multiplied in each iteration, from 10 to what they settle at."""

    def step(carried: Any, y: Any) -> Any:
        m, p = carried
        before, expected = w["A"] @ m, w["A"] @ p @ w["A"].T + w["Q"]
        gain = jnp.linalg.solve(w["C"] @ expected @ w["C"].T + w["R"], w["C"] @ expected).T
        m, p = before + gain @ (y - w["C"] @ before), expected - gain @ w["C"] @ expected
        return (m, p), (m, p, before, expected)

    def back(later: Any, each: Any) -> Any:
        m, p, before, expected = each
        m = m + jnp.linalg.solve(expected, w["A"] @ p).T @ (later - before)
        return m, m

    m, p, before, expected = jax.lax.scan(step, (jnp.zeros(4), 10 * jnp.eye(4)), y)[1]
    return jax.lax.scan(back, m[-1], (m[:-1], p[:-1], before[1:], expected[1:]), reverse=True)[1]


def masked(w: _Tree, x: Any) -> Any:
    """Attention with a mask that is a constant."""
    h = x @ w["a"]
    scores = jnp.where(np.tri(12), h @ h.T / 8, -1e9)
    return jax.nn.softmax(scores + jnp.where(np.tri(12), 0, -1e9)) @ (h @ w["b"])


def vocoder(w: _Tree, x: Any) -> Any:
    h = x @ w["w"]
    return jnp.fft.irfft(jnp.exp(h / 4) * (jnp.cos(h) + 1j * jnp.sin(h)), n=64)


def routed(w: _Tree, x: Any) -> Any:
    """Of eight experts the two that a product of 64 x 8 chooses."""
    values, chosen = jax.lax.top_k(jax.nn.softmax(x @ w["r"]), 2)
    parts = (jax.nn.one_hot(chosen, 8) * values[..., None]).sum(1)
    h = jax.nn.silu(jnp.einsum("td,edf->tef", x, w["up"]))
    return (jnp.einsum("tef,efd->ted", h, w["down"]) * parts[..., None]).sum(1)


def quantised(w: _Tree, x: Any) -> Any:
    return jax.nn.relu(x @ (w["q"].astype(jnp.float32) * w["s"])) @ w["v"]


def unused(w: _Tree, x: Any) -> Any:
    return jax.nn.relu(x @ w["a"]) @ w["b"]


_A = np.eye(4, dtype=np.float32) + np.float32(0.1) * np.eye(4, k=2, dtype=np.float32)
PROGRAMS: dict[str, tuple[Callable[..., Any], _Tree, np.ndarray, float]] = {
    "smoother": (
        smoother,
        {"A": _A, "C": np.eye(2, 4, dtype=np.float32), "Q": np.float32(0.01 * np.eye(4)), "R": np.float32(np.eye(2))},
        np.cumsum(_normal(50, 2), 0), 0.02,
    ),
    "masked": (masked, {"a": _normal(64, 64) / 8, "b": _normal(64, 64) / 8}, _normal(12, 64), 0.1),
    "vocoder": (vocoder, {"w": _normal(40, 33) / 6}, _normal(4, 40), 0.1),
    "routed": (
        routed,
        {"r": _normal(64, 8) / 8, "up": _normal(8, 64, 128) / 8, "down": _normal(8, 128, 64) / 11},
        _normal(32, 64), 0.08,
    ),
    "quantised": (
        quantised,
        {
            "q": np.random.default_rng(0).integers(-127, 128, (64, 64)).astype(np.int8),
            "s": np.full(64, 1e-3, np.float32), "v": _normal(64, 32) / 8,
        },
        _normal(16, 64), 0.08,
    ),
    "unused": (
        unused, {"a": _normal(64, 64) / 8, "b": _normal(64, 64) / 8, "pooler": _normal(64)}, _normal(4, 64), 0.1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_whole_path(name: str, tmp_path: pathlib.Path) -> None:
    function, weights, x, most = PROGRAMS[name]
    program = export.export(jax.jit(function))(weights, x)
    model, file, batch, scales, served, packed = (
        tmp_path / each for each in ("m.bin", "w.npz", "b.npz", "s.json", "served.bin", "packed.safetensors")
    )
    model.write_bytes(program.serialize())
    np.savez(file, **weights)
    np.savez(batch, **{("y" if name == "smoother" else "x"): x})
    run(calibrate.main, model, "--precision=fp8", "--weights", file, "--inputs", batch, "-o", scales)
    run(scalify_opt.main, model, "--precision=fp8", f"--pin-scales={scales}", "-o", served)
    run(pack.main, served, file, "-o", packed)
    loaded = export.deserialize(bytearray(served.read_bytes()))
    assert loaded.in_avals[-1].dtype == np.float32  # the input
    given, _ = packed_arguments(loaded, str(packed))
    want, got = np.asarray(function(weights, x)), np.asarray(loaded.call(given, x))
    assert np.linalg.norm(got - want) < most * np.linalg.norm(want)
    run(pack.main, served, packed, "--unpack", "-o", tmp_path / "unpacked.npz")


def _module(function: Callable[..., Any], *arguments: Any) -> Any:
    data = export.export(jax.jit(function))(*arguments).serialize()
    return parse(recognise(bytes(data), "model.bin"), make_context())


X, W = _normal(32, 64), {"w": _normal(64, 64), "v": _normal(64, 64)}
MADE_OF_WEIGHTS: dict[str, Callable[..., Any]] = {
    "scaled": lambda w, x: jax.nn.relu(x @ (w["w"] * 2)) @ w["v"],
    "normalised": lambda w, x: jax.nn.relu(x @ (w["w"] / jnp.linalg.norm(w["w"], axis=0))) @ w["v"],
    "merged": lambda w, x: jax.nn.relu(x @ (w["w"] + w["v"] @ w["w"])) @ w["v"],
    "joined": lambda w, x: jax.nn.relu(x @ jnp.concatenate([w["w"], w["v"]], 1))[:, :64] @ w["v"],
    "sorted": lambda w, x: jax.nn.relu(x[jnp.argsort(jnp.argmax(x @ w["w"], -1))] @ w["v"]),
    "softplus": lambda w, x: jax.nn.relu(x @ jax.nn.softplus(w["w"])) @ w["v"],
}


@pytest.mark.parametrize("name", MADE_OF_WEIGHTS)
def test_an_input_is_no_weight(name: str) -> None:
    """What it is contracted with is made of weights, or its rows are taken by indices that it gives."""
    module = _module(MADE_OF_WEIGHTS[name], W, X)
    weights = {entry_signature(module).arguments[i].name for i in find_weights(module, "main")}
    assert "x" not in weights and "w['v']" in weights


def test_a_coupling_is_no_cache() -> None:
    """Elements of an argument stay, and all that is computed is computed of them."""

    def flow(w: Any, z: Any) -> Any:
        a, b = jnp.split(z, 2, -1)
        return jnp.concatenate([a, b * jnp.exp(jnp.tanh(a @ w))], -1)

    def shifted(cache: Any, new: Any) -> Any:
        return jnp.concatenate([cache[1:], new], 0)

    assert not find_caches(_module(flow, _normal(8, 8), _normal(4, 16)), "main")
    assert find_caches(_module(shifted, _normal(12, 8), _normal(1, 8)), "main") == {0: 0}


@pytest.mark.parametrize("preset", ["fp8", "fp16"])
def test_weights_that_are_closed_over(preset: Any) -> None:
    """Constants of a function are weights as its arguments are: of two layers the first has FP8 products."""
    w = [_normal(64, 64, seed=i) / 8 for i in range(3)]

    def model(w: Any, x: Any) -> Any:
        return jax.nn.gelu(jax.nn.gelu(x @ w[0]) @ w[1]) @ w[2]

    def closed(x: Any) -> Any:
        return model([jnp.asarray(each) for each in w], x)

    x = _normal(32, 64, seed=9)
    want = np.asarray(model(w, x))
    scaled = sc.scalify(closed, precision=preset)
    rewritten = sc.scalify_exported(export.export(jax.jit(closed))(x), precision=preset)
    texts = [scaled.lower(sc.as_scaled_array(x)).as_text(), str(rewritten.mlir_module())]
    for text in texts:
        assert ("f8E4M3FN" in text) == (preset == "fp8")
    for got in (scaled(sc.as_scaled_array(x)), rewritten.call(sc.as_scaled_array(x))):
        error = np.linalg.norm(np.asarray(sc.asarray(got, np.float32)) - want) / np.linalg.norm(want)
        assert error < (0.1 if preset == "fp8" else 2e-3)
    assert len(rewritten.in_avals) == 2 and rewritten.in_avals[0].dtype == np.float32


def test_what_calibration_knows_of_inputs(tmp_path: pathlib.Path) -> None:
    """Of two arguments that are multiplied by each other the one that comes with the batches is no weight."""
    x, y = _normal(32, 64), _normal(64, 48)
    (tmp_path / "m.bin").write_bytes(export.export(jax.jit(lambda a, b: jnp.tanh(a @ b)))(x, y).serialize())
    np.savez(tmp_path / "w.npz", a=x)
    np.savez(tmp_path / "b.npz", b=y)
    given = ("--precision=fp8", "--weights", tmp_path / "w.npz", "--inputs", tmp_path / "b.npz")
    run(calibrate.main, tmp_path / "m.bin", *given, "-o", tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text())["inputs"] == ["b"]
    out = tmp_path / "served.bin"
    run(scalify_opt.main, tmp_path / "m.bin", "--precision=fp8", f"--pin-scales={tmp_path / 's.json'}", "-o", out)
    served = export.deserialize(bytearray(out.read_bytes()))
    assert served.in_avals[1].dtype == np.float32 and served.in_avals[0].dtype != np.float32


def test_arrays_that_numpy_has_no_type_for(tmp_path: pathlib.Path) -> None:
    """`numpy.savez` writes the bits of bf16; a file without arrays is one."""
    values = np.asarray(jnp.asarray(_normal(4, 4), jnp.bfloat16))
    np.savez(tmp_path / "w.npz", w=values)
    assert (read_tensors(str(tmp_path / "w.npz"))["w"] == values).all()
    (tmp_path / "m.bin").write_bytes(export.export(jax.jit(lambda x: 2 * x))(_normal(4, 4)).serialize())
    np.savez(tmp_path / "none.npz")
    run(pack.main, tmp_path / "m.bin", tmp_path / "none.npz", "-o", tmp_path / "packed.safetensors")
    assert not read_tensors(str(tmp_path / "packed.safetensors"))


def test_a_guard_of_any_size(tmp_path: pathlib.Path) -> None:
    (size,) = export.symbolic_shape("b")
    w = {"a": _normal(64, 64) / 8, "b": _normal(64, 64) / 8}
    x = jax.ShapeDtypeStruct((size, 64), np.float32)
    (tmp_path / "m.bin").write_bytes(export.export(jax.jit(unused))(w, x).serialize())
    np.savez(tmp_path / "w.npz", **w)
    np.savez(tmp_path / "b.npz", x=_normal(16, 64))
    given = ("--weights", tmp_path / "w.npz", "--inputs", tmp_path / "b.npz")
    run(calibrate.main, tmp_path / "m.bin", "--precision=fp8", *given, "-o", tmp_path / "s.json")
    pinned = ("--precision=fp8", f"--pin-scales={tmp_path / 's.json'}", "--guard")
    run(scalify_opt.main, tmp_path / "m.bin", *pinned, "-o", tmp_path / "g.bin")
    run(pack.main, tmp_path / "g.bin", tmp_path / "w.npz", "-o", tmp_path / "p.npz")
    served = export.deserialize(bytearray((tmp_path / "g.bin").read_bytes()))
    params, _ = packed_arguments(served, str(tmp_path / "p.npz"))
    for rows, far in ((3, 1), (7, 1e4)):
        _, counts = served.call(params, _normal(rows, 64) * np.float32(far))
        assert bool(np.asarray(counts).any()) == (far > 1)


@pytest.mark.parametrize("preset", [None, "bf16", "fp16", "fp8"])
def test_products_of_integers(preset: Any) -> None:
    """int8 x int8 -> int32: of 2^13 and more."""
    w = np.random.default_rng(0).integers(-127, 128, (64, 128)).astype(np.int8)

    def layer(x: Any, w: Any, s: Any, v: Any) -> Any:
        size = jnp.abs(x).max(-1, keepdims=True) / 127
        codes = jnp.clip(jnp.round(x / size), -128, 127).astype(jnp.int8)
        sums = jax.lax.dot_general(codes, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
        return jax.nn.relu(sums.astype(jnp.float32) * size * s) @ v

    given = _normal(16, 64), w, np.float32(1e-3), _normal(128, 16) / 11
    want, scaled = np.asarray(layer(*given)), sc.scalify(layer, precision=preset)
    got = np.asarray(sc.asarray(scaled(*sc.as_scaled_array(given)), np.float32))
    assert np.linalg.norm(got - want) < 0.05 * np.linalg.norm(want)


def test_the_scales_of_a_product_that_the_next_reads() -> None:
    """(x w + f(x w v)) u with operands that are measured: x w v has the factors of x w."""

    def layers(x: Any, w: Any, v: Any, u: Any) -> Any:
        return (x @ w + jax.nn.gelu(x @ w @ v)) @ u

    given = _normal(32, 32), _normal(32, 64) / 6, _normal(64, 64) / 8, _normal(64, 64) / 8
    module = _module(layers, *given)
    FP8Dots(scaling="current").apply(module, [])
    got, want = xla.compile(module)(list(given))[0], np.asarray(layers(*given))
    assert np.linalg.norm(got - want) < 0.1 * np.linalg.norm(want)
