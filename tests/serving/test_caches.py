"""Keys and values in FP8: prefill and decode are pinned by one file and hand the cache to each other."""

import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner
from scalify_hlo.tools import calibrate

from scalify_hlo.analysis.caches import find_caches
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.io.scales_file import read_scales
from scalify_hlo.serving.calibration import Calibration
from scalify_hlo.serving.exported import pin_exported
from scalify_hlo.serving.packing import pack

RNG = np.random.default_rng(0)
LAYERS, BATCH, LENGTH, HEADS, SIZE = 2, 2, 12, 2, 8
D, VOCABULARY = HEADS * SIZE, 32
Tree = dict[str, Any]


def normal(*shape: int) -> np.ndarray:
    return np.asarray(RNG.standard_normal(shape) / shape[-2] ** 0.5, np.float32)


PARAMS = {name: normal(LAYERS, D, D) for name in "qkvo"} | {"embedding": normal(VOCABULARY, D), "head": normal(D, 32)}
# Keys are far from unit size: what is written must be divided by the cache's scale.
PARAMS["k"] *= 64


def layer(w: Tree, cache: Tree, x: jax.Array, start: Any, write: Callable[..., jax.Array]) -> tuple[jax.Array, Tree]:
    """Attention over the cache; x: [batch, tokens, D]."""
    q, k, v = ((x @ w[name]).reshape(*x.shape[:2], HEADS, SIZE) for name in "qkv")
    cache = {"k": write(cache["k"], k, start), "v": write(cache["v"], v, start)}
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, cache["k"]) / 64
    seen = jnp.arange(LENGTH)[None] <= start + jnp.arange(x.shape[1])[:, None]
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e9))
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, cache["v"]).reshape(x.shape)
    return x + mixed @ w["o"], cache


def slices(cache: jax.Array, new: jax.Array, start: Any) -> jax.Array:
    return jax.lax.dynamic_update_slice(cache, new, (0, start, 0, 0))


def scatter(cache: jax.Array, new: jax.Array, start: Any) -> jax.Array:
    return cache.at[:, start + jnp.arange(new.shape[1])].set(new)


def program(params: Tree, cache: list[Tree], tokens: jax.Array, start: Any, write: Any = slices) -> Any:
    x = params["embedding"][tokens]
    new: list[Tree] = []
    for i in range(LAYERS):
        x, each = layer({name: params[name][i] for name in "qkvo"}, cache[i], x, start, write)
        new.append(each)
    return x @ params["head"], new


def scanned(params: Tree, cache: Tree, tokens: jax.Array, start: Any) -> Any:
    def body(x: jax.Array, each: Any) -> Any:
        return layer(each[0], each[1], x, start, slices)

    x, cache = jax.lax.scan(body, params["embedding"][tokens], ({name: params[name] for name in "qkvo"}, cache))
    return x @ params["head"], cache


def empty(stacked: bool) -> Any:
    zeros = np.zeros((BATCH, LENGTH, HEADS, SIZE), np.float32)
    cache = [{"k": zeros, "v": zeros} for _ in range(LAYERS)]
    return jax.tree.map(lambda *x: np.stack(x), *cache) if stacked else cache


def prefill(decode: Any, stacked: bool) -> Any:
    """A program of its own, which makes the cache."""

    def first(params: Tree, tokens: jax.Array) -> Any:
        return decode(params, jax.tree.map(jnp.asarray, empty(stacked)), tokens, 0)

    return first


PROGRAMS: dict[str, tuple[Any, bool]] = {
    "slices": (program, False),
    "scatter": (lambda *a: program(*a, write=scatter), False),
    "scanned": (scanned, True),
}


def calibrated(exported: Any, arguments: Any, path: pathlib.Path, add: str | None = None) -> str:
    (path / "program.bin").write_bytes(exported.serialize())
    leaves = jax.tree.leaves((arguments, {}))
    np.savez(path / "inputs.npz", **{str(i): leaf for i, leaf in enumerate(leaves)})
    command = [path / "program.bin", "--precision=fp8", "--inputs", path / "inputs.npz", "-o", path / "scales.json"]
    done = CliRunner().invoke(calibrate.main, [str(each) for each in [*command, *(["--add", add] if add else [])]])
    assert done.exit_code == 0, done.output
    return str(path / "scales.json")


@pytest.mark.parametrize(
    ("name", "decode_first"), [("slices", True), ("slices", False), ("scatter", True), ("scanned", True)]
)
def test_prefill_and_decode_share_weights_and_caches(name: str, decode_first: bool, tmp_path: pathlib.Path) -> None:
    decode, stacked = PROGRAMS[name]
    first = prefill(decode, stacked)
    prompt = RNG.integers(0, VOCABULARY, (BATCH, 8)).astype(np.int32)
    tokens = RNG.integers(0, VOCABULARY, (BATCH, 1)).astype(np.int32)
    want, cache = jax.jit(first)(PARAMS, prompt)
    # Decode steps donate the cache.
    exports = {
        "prefill": (jax.export.export(jax.jit(first))(PARAMS, prompt), (PARAMS, prompt)),
        "decode": (
            jax.export.export(jax.jit(decode, donate_argnums=1))(PARAMS, cache, tokens, np.int32(8)),
            (PARAMS, jax.tree.map(np.asarray, cache), tokens, np.int32(8)),
        ),
    }
    scales = None
    for each in ("decode", "prefill") if decode_first else ("prefill", "decode"):
        scales = calibrated(*exports[each], tmp_path, scales)
    assert scales is not None
    found = read_scales(scales)
    assert len(found.others) == 1 and len(found.caches) == len(jax.tree.leaves(cache)) == len(found.others[0].caches)
    pinned = {each: pin_exported(exported, scales, precision="fp8") for each, (exported, _) in exports.items()}
    text = pinned["prefill"].mlir_module()
    module = ir.Module.parse(text, context=make_context())
    packed = pack(module, {f"params['{key}']": value for key, value in PARAMS.items()}).tensors
    params = {key: packed[f"params['{key}']"] for key in PARAMS}
    got, narrow = pinned["prefill"].call(params, prompt)
    assert {leaf.dtype for leaf in jax.tree.leaves(narrow)} == {np.dtype(ml_dtypes.float8_e4m3fn)}
    assert error(got, want) < 0.15
    for position in range(8, 11):
        want, cache = decode(PARAMS, cache, tokens, np.int32(position))
        got, narrow = pinned["decode"].call(params, narrow, tokens, np.int32(position))
        assert error(got, want) < 0.15
    whole = float(np.asarray(jax.tree.leaves(narrow)[0], np.float32).std())
    assert 0.05 < whole < 20  # keys of size 64 are stored divided by the cache's scale


def error(got: Any, want: Any) -> float:
    return float(np.linalg.norm(np.asarray(got) - want) / np.linalg.norm(want))


def test_what_is_computed_of_an_argument_is_no_cache() -> None:
    def step(a: Any, b: Any, c: Any, x: Any, i: Any) -> Any:
        updated = b * 0.5 + x
        return a, updated, c.at[i].add(x[0]), jax.lax.dynamic_update_slice(a, x[:1], (i, 0))

    x = np.ones((4, 4), np.float32)
    module = ir.Module.parse(jax.export.export(jax.jit(step))(x, x, x, x, 1).mlir_module(), context=make_context())
    with module.context, ir.Location.unknown():
        assert find_caches(module, "main") == {0: 3}


def test_a_scale_for_a_result_that_is_computed_is_refused(tmp_path: pathlib.Path) -> None:
    def step(w: Any, cache: Any, x: Any) -> Any:
        return jnp.tanh(x @ w) @ w, cache * 0.5 + x

    x = np.ones((16, 16), np.float32)
    exported = jax.export.export(jax.jit(step))(x, x, x)
    calibration = Calibration(ir.Module.parse(exported.mlir_module(), context=make_context()), "fp8")
    calibration.arguments([[x, x, x]])
    assert not calibration.scales.caches
    calibration.scales.caches = {"result[2]": 1.0}
    (tmp_path / "scales.json").write_bytes(calibration.scales.to_json())
    with pytest.raises(ScalifyError, match=r"there is no scaled result 'result\[2\]'; the names are result\[0\]"):
        pin_exported(exported, str(tmp_path / "scales.json"), precision="fp8")


def test_a_cache_that_the_program_keeps_in_fp8_is_left_to_it() -> None:
    """It is stored so already, and has no scale."""
    f8 = jnp.float8_e4m3fn

    def decode(w: jax.Array, x: jax.Array, cache: jax.Array, start: Any) -> Any:
        cache = jax.lax.dynamic_update_slice(cache, (x @ w)[:, None].astype(f8), (0, start, 0))
        return jnp.sum(cache.astype(jnp.float32), 1) @ w, cache

    arguments = [normal(32, 32), normal(2, 32), np.zeros((2, 8, 32), f8), np.int32(0)]
    text = jax.export.export(jax.jit(decode))(*arguments).mlir_module()
    calibration = Calibration(ir.Module.parse(text, context=make_context()), "fp8")
    calibration.arguments([arguments])
    assert calibration.scales.caches == {}
    assert len(calibration.scales.arguments) == 2
