"""The guard of a pinned module counts what its scales do not foresee."""

import json
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution import xla
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.passes.guard import guarded_tensors
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.serving.exported import pin_exported

RNG = np.random.default_rng(0)
W = {name: np.asarray(RNG.standard_normal((16, 16)) / 4, np.float32) for name in "abc"}
X = np.asarray(RNG.standard_normal((8, 16)), np.float32)


def model(w: dict[str, Any], x: jax.Array) -> jax.Array:
    def layer(h: jax.Array, _: None) -> tuple[jax.Array, None]:
        return jax.nn.relu(h @ w["b"]), None

    h = jax.lax.scan(layer, x @ w["a"], None, length=3)[0]
    h = jax.lax.cond(x[0, 0] > 0, lambda h: h, lambda h: h * 2, h)
    return jnp.tanh(h) @ w["c"]


def scales(path: pathlib.Path) -> str:
    arguments = {f"w['{name}']": 0.25 for name in W} | {"x": 1.0}
    document = {"format": "scalify-scales", "version": 1, "arguments": arguments}
    (path / "scales.json").write_text(json.dumps(document))
    return str(path / "scales.json")


def exported() -> Any:
    return jax.export.export(jax.jit(model))(W, X)


def data() -> dict[str, np.ndarray]:
    return {name: (w * 4).astype(jnp.float8_e4m3fn) for name, w in W.items()}


def test_values_out_of_range_are_counted_by_tensor(tmp_path: pathlib.Path) -> None:
    plain, guarded = (ir.Module.parse(exported().mlir_module(), context=make_context()) for _ in range(2))
    precision_pipeline("fp8", pin_scales=scales(tmp_path)).run(plain, [])
    precision_pipeline("fp8", pin_scales=scales(tmp_path), guard=True).run(guarded, [])
    names = guarded_tensors(guarded)
    assert guarded_tensors(plain) is None and names is not None and names[0] == "argument x"
    assert [name.split(" ")[0] for name in names[1:]] == ["lhs", "lhs", "result"]
    assert len(entry_signature(guarded).results) == 2
    run = xla.compile(guarded)
    result, counts = run([*data().values(), X])
    assert counts.dtype == np.int32 and counts.shape == (4,) and not counts.any()
    assert np.array_equal(result, xla.compile(plain)([*data().values(), X])[0])
    # Beyond E4M3's 448, and some of them beyond f16's 65504 as well.
    large = X * 2.0**10
    large[0, :3] = 2.0**17
    _, (argument, first, loop, lost) = run([*data().values(), large])
    assert lost == 0 and argument == 3 and first == np.sum(np.abs(large) > 448)
    h, inside = large.clip(-448, 448) @ W["a"], 0
    for _ in range(3):
        inside += np.sum(np.abs(h) > 440)
        h = np.maximum(h.clip(-448, 448) @ W["b"], 0)
    assert 0 < loop <= inside
    # NaN is beyond any range.
    _, counts = run([*data().values(), np.full_like(X, np.nan)])
    assert (counts[[0, 1, 3]] == X.size).all() and counts[2] == 3 * X.size


def test_an_exported_returns_the_counts_beside_its_results(tmp_path: pathlib.Path) -> None:
    pinned = pin_exported(exported(), scales(tmp_path), precision="fp8", guard=True)
    loaded = jax.export.deserialize(pinned.serialize())
    result, counts = loaded.call(data(), X)
    assert result.shape == (8, 16) and counts.shape == (4,) and not np.any(counts)


def test_results_that_are_no_numbers_are_counted(tmp_path: pathlib.Path) -> None:
    """What is computed between arguments and FP8 operands left f16, and no argument did."""

    def attention(w: dict[str, Any], x: jax.Array) -> jax.Array:
        state = jnp.cumsum(jnp.square(x @ w["a"]) * jnp.square(x @ w["b"]), axis=0)
        return state / jnp.sum(state, -1, keepdims=True) @ w["c"]

    original = jax.export.export(jax.jit(attention))(W, X)
    loaded = pin_exported(original, scales(tmp_path), precision="fp16", guard=True)
    weights = {name: (w * 4).astype(np.float16) for name, w in W.items()}
    for size in (1.0, 1000.0):
        result, counts = jax.jit(loaded.call)(weights, X * size)
        assert counts[-1] == np.sum(~np.isfinite(result)) and not counts[:-1].any()
        assert (counts[-1] > 0) == (size > 1)
