"""Small training steps as StableHLO, written the way users write them, for tests of passes and analyses."""

import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import export

Style = Literal["unrolled", "remat", "scan"]

WIDTH, HIDDEN, VOCABULARY, BATCH, LENGTH = 32, 64, 48, 4, 16


def _norm(x: jax.Array, gain: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-6) * gain


def _attention(x: jax.Array, p: dict[str, Any]) -> jax.Array:
    q, k, v = (x @ p[name] for name in ("wq", "wk", "wv"))
    scores = q @ k.swapaxes(-1, -2) / WIDTH**0.5
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    return jax.nn.softmax(scores, -1) @ v @ p["wo"]


def _block(x: jax.Array, p: dict[str, Any]) -> jax.Array:
    x = x + _attention(_norm(x, p["g1"]), p)
    return x + jax.nn.gelu(_norm(x, p["g2"]) @ p["w1"]) @ p["w2"]


def loss(params: dict[str, Any], tokens: jax.Array, style: Style = "unrolled") -> jax.Array:
    """Mean cross-entropy of a two-layer transformer with a separate head."""
    x = params["embedding"][tokens[:, :-1]]
    if style == "scan":
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *params["blocks"])
        x, _ = jax.lax.scan(lambda x, p: (_block(x, p), None), x, stacked)
    else:
        block = jax.checkpoint(_block) if style == "remat" else _block
        for p in params["blocks"]:
            x = block(x, p)
    log_p = jax.nn.log_softmax(x @ params["head"])
    return -jnp.take_along_axis(log_p, tokens[:, 1:, None], -1).mean()


def train_step(params: Any, mu: Any, nu: Any, tokens: jax.Array, lr: jax.Array, style: Style = "unrolled") -> Any:
    """Adam with the usual 1e-8, gradient clipping by global norm, no bias correction."""
    value, grads = jax.value_and_grad(functools.partial(loss, style=style))(params, tokens)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / (norm + 1e-6)), grads)
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, grads)
    nu = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, nu, grads)
    params = jax.tree.map(lambda p, m, v: p - lr * m / (jnp.sqrt(v) + 1e-8), params, mu, nu)
    return params, mu, nu, value


def parameters(make: Any) -> dict[str, Any]:
    """A tree of `make(shape)` for every parameter."""
    d, h = WIDTH, HIDDEN
    shapes = {
        "wq": (d, d),
        "wk": (d, d),
        "wv": (d, d),
        "wo": (d, d),
        "w1": (d, h),
        "w2": (h, d),
        "g1": (d,),
        "g2": (d,),
    }
    blocks = [{name: make(shape) for name, shape in shapes.items()} for _ in range(2)]
    return {"blocks": blocks, "embedding": make((VOCABULARY, d)), "head": make((d, VOCABULARY))}


@functools.cache
def train_step_text(style: Style = "unrolled", *, names: bool = True) -> str:
    """MLIR text of the step; without `names` every location is dropped, as other front ends would."""
    tree = parameters(lambda shape: jax.ShapeDtypeStruct(shape, jnp.float32))
    tokens = jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32)
    step = jax.jit(functools.partial(train_step, style=style))
    exported = export.export(step)(tree, tree, tree, tokens, jax.ShapeDtypeStruct((), jnp.float32))
    return exported.mlir_module() if names else _without_locations(exported.mlir_module())


@functools.cache
def forward_text() -> str:
    """MLIR text of the loss alone."""
    tree = parameters(lambda shape: jax.ShapeDtypeStruct(shape, jnp.float32))
    tokens = jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32)
    return export.export(jax.jit(loss))(tree, tokens).mlir_module()


def _without_locations(text: str) -> str:
    from scalify_hlo.bindings import ir, make_context

    with make_context():
        return ir.Module.parse(text).operation.get_asm(enable_debug_info=False)
