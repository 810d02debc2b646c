"""Models whose steps are partitioned: a decoder, and three more on which nothing was tuned.

Each is a function loss(params, batch, place) of plain arrays; `place(x, kind)` is where a strategy says how an
activation is cut: "residual", "hidden" or "heads". Names of weights say along which side tensor parallelism cuts them
(`COLUMNS`, `ROWS`).
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, HIDDEN, HEADS, VOCABULARY, LENGTH, BATCH, LAYERS = 128, 512, 8, 256, 32, 16, 1
PATCHES, PIXELS, CLASSES, CHANNELS, STATES = 32, 48, 128, 256, 8
# Matrices that tensor parallelism cuts along what they compute, and along what they sum over. Biases of the former are
# cut with them.
COLUMNS = frozenset({"q", "k", "v", "up", "gate", "up_bias", "gate_bias"})
ROWS = frozenset({"o", "down"})
Shape = tuple[int, ...]
Place = Callable[[jax.Array, str], jax.Array]


@dataclasses.dataclass(frozen=True)
class Model:
    """loss: of (params, batch, place), a scalar. shapes: a tree of the shapes of the parameters. batch: a tree of
    arrays, whose first dimension is that of examples."""

    loss: Callable[[Any, Any, Place], jax.Array]
    shapes: Any
    batch: Any


def _tokens(length: int = LENGTH) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((BATCH, length), np.int32)


def _norm(x: jax.Array, gain: jax.Array) -> jax.Array:
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain


def _cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    log_p = jax.nn.log_softmax(logits.astype(jnp.float32), -1)
    return -jnp.mean(jnp.take_along_axis(log_p, labels[..., None], -1))


def _attention_shapes() -> dict[str, Shape]:
    return dict.fromkeys(("q", "k", "v", "o"), (WIDTH, WIDTH)) | {"gain": (WIDTH,)}


def _mlp_shapes() -> dict[str, Shape]:
    return {
        "gain": (WIDTH,), "up": (WIDTH, HIDDEN), "up_bias": (HIDDEN,), "down": (HIDDEN, WIDTH), "down_bias": (WIDTH,),
    }  # fmt: skip


def _attend(p: Any, x: jax.Array, memory: jax.Array, place: Place, causal: bool) -> jax.Array:
    def heads(source: jax.Array, name: str) -> jax.Array:
        return place((source @ p[name]).reshape(*source.shape[:2], HEADS, -1), "heads")

    q, k, v = heads(x, "q"), heads(memory, "k"), heads(memory, "v")
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e4)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)
    return mixed.reshape(x.shape) @ p["o"]


def _mlp(p: Any, x: jax.Array, place: Place) -> jax.Array:
    hidden = place(jax.nn.gelu(_norm(x, p["gain"]) @ p["up"] + p["up_bias"]), "hidden")
    return place(x + hidden @ p["down"] + p["down_bias"], "residual")


def _block(p: Any, x: jax.Array, place: Place, causal: bool = True) -> jax.Array:
    h = _norm(x, p["attention"]["gain"])
    x = place(x + _attend(p["attention"], h, h, place, causal), "residual")
    return _mlp(p["mlp"], x, place)


def _decoder_loss(p: Any, tokens: jax.Array, place: Place, scanned: bool, tied: bool) -> jax.Array:
    x = place(p["embedding"][tokens] + p["position"], "residual")
    if scanned:
        x = jax.lax.scan(lambda x, own: (_block(own, x, place), None), x, p["blocks"])[0]
    else:
        for own in p["blocks"]:
            x = _block(own, x, place)
    x = _norm(x, p["gain"])
    logits = x @ (p["embedding"].T if tied else p["head"])
    return _cross_entropy(logits[:, :-1], tokens[:, 1:])


def decoder(scanned: bool = False, tied: bool = False, layers: int = LAYERS) -> Model:
    """GPT-2. scanned: its layers are stacked and gone through by `lax.scan`. tied: the embedding is the head too."""
    block = {"attention": _attention_shapes(), "mlp": _mlp_shapes()}
    stacked = jax.tree.map(lambda s: (layers, *s), block, is_leaf=is_shape)
    shapes = {
        "embedding": (VOCABULARY, WIDTH),
        "position": (LENGTH, WIDTH),
        "blocks": stacked if scanned else [block] * layers,
        "gain": (WIDTH,),
        **({} if tied else {"head": (WIDTH, VOCABULARY)}),
    }
    return Model(lambda p, x, place: _decoder_loss(p, x, place, scanned, tied), shapes, _tokens())


def _encoder_decoder_loss(p: Any, batch: Any, place: Place) -> jax.Array:
    memory = place(p["source"][batch["source"]], "residual")
    for own in p["encoder"]:
        memory = _block(own, memory, place, causal=False)
    memory = _norm(memory, p["memory_gain"])
    x = place(p["target"][batch["target"]], "residual")
    for own in p["decoder"]:
        h = _norm(x, own["attention"]["gain"])
        x = place(x + _attend(own["attention"], h, h, place, True), "residual")
        x = place(x + _attend(own["cross"], _norm(x, own["cross"]["gain"]), memory, place, False), "residual")
        x = _mlp(own["mlp"], x, place)
    logits = _norm(x, p["gain"]) @ p["head"]
    return _cross_entropy(logits[:, :-1], batch["target"][:, 1:])


def encoder_decoder() -> Model:
    """A translation model: the decoder's layers attend to what the encoder makes of the source."""
    encoder = {"attention": _attention_shapes(), "mlp": _mlp_shapes()}
    shapes = {
        "source": (VOCABULARY, WIDTH), "target": (VOCABULARY, WIDTH), "memory_gain": (WIDTH,), "gain": (WIDTH,),
        "encoder": [encoder] * LAYERS, "decoder": [encoder | {"cross": _attention_shapes()}] * LAYERS,
        "head": (WIDTH, VOCABULARY),
    }  # fmt: skip
    return Model(_encoder_decoder_loss, shapes, {"source": _tokens(), "target": _tokens()})


def _vision_loss(p: Any, batch: Any, place: Place) -> jax.Array:
    patches = batch["image"].astype(p["patch"].dtype) @ p["patch"] + p["patch_bias"]
    start = jnp.broadcast_to(p["class"], (patches.shape[0], 1, WIDTH))
    x = place(jnp.concatenate([start, patches[:, 1:]], 1) + p["position"], "residual")
    for own in p["blocks"]:
        x = _block(own, x, place, causal=False)
    logits = _norm(x, p["gain"])[:, 0] @ p["head"] + p["head_bias"]
    return _cross_entropy(logits, batch["label"])


def vision() -> Model:
    """A ViT with a class token; the classifier has a bias."""
    shapes = {
        "patch": (PIXELS, WIDTH), "patch_bias": (WIDTH,), "class": (1, WIDTH), "position": (PATCHES, WIDTH),
        "blocks": [{"attention": _attention_shapes(), "mlp": _mlp_shapes()}] * LAYERS,
        "gain": (WIDTH,), "head": (WIDTH, CLASSES), "head_bias": (CLASSES,),
    }  # fmt: skip
    batch = {
        "image": jax.ShapeDtypeStruct((BATCH, PATCHES, PIXELS), np.float32),
        "label": jax.ShapeDtypeStruct((BATCH,), np.int32),
    }
    return Model(_vision_loss, shapes, batch)


def _selective(p: Any, x: jax.Array, place: Place) -> jax.Array:
    """A gated selective state space: h_t = exp(-dt a) h_t-1 + dt b_t u_t, y_t = c_t h_t."""
    h = _norm(x, p["gain"])
    u, z = place(jax.nn.silu(h @ p["up"]), "hidden"), place(jax.nn.silu(h @ p["gate"] + p["gate_bias"]), "hidden")
    step = jax.nn.softplus(h @ p["step"] + p["step_bias"])[..., None]
    b, c = h @ p["b"], h @ p["c"]

    def advance(state: jax.Array, now: Any) -> tuple[jax.Array, jax.Array]:
        dt, b, c, u = now
        state = jnp.exp(-dt * jnp.exp(p["a"])) * state + dt * b[:, None, :] * u[..., None]
        return state, jnp.einsum("bcs,bs->bc", state, c)

    over_time = jax.tree.map(lambda v: jnp.swapaxes(v, 0, 1), (step, b, c, u))
    start = jnp.zeros((x.shape[0], CHANNELS, STATES), x.dtype)
    y = jnp.swapaxes(jax.lax.scan(advance, start, over_time)[1], 0, 1)
    return place(x + (place(y, "hidden") * z) @ p["down"], "residual")


def _state_space_loss(p: Any, tokens: jax.Array, place: Place) -> jax.Array:
    x = place(p["embedding"][tokens], "residual")
    for own in p["blocks"]:
        x = _selective(own, x, place)
    logits = _norm(x, p["gain"]) @ p["head"]
    return _cross_entropy(logits[:, :-1], tokens[:, 1:])


def state_space() -> Model:
    """A language model like Mamba: a scan over time within each layer, gates, no attention."""
    block = {
        "gain": (WIDTH,), "up": (WIDTH, CHANNELS), "gate": (WIDTH, CHANNELS), "gate_bias": (CHANNELS,),
        "step": (WIDTH, CHANNELS), "step_bias": (CHANNELS,), "b": (WIDTH, STATES), "c": (WIDTH, STATES),
        "a": (CHANNELS, STATES), "down": (CHANNELS, WIDTH),
    }  # fmt: skip
    shapes = {
        "embedding": (VOCABULARY, WIDTH), "blocks": [block] * LAYERS, "gain": (WIDTH,), "head": (WIDTH, VOCABULARY),
    }  # fmt: skip
    return Model(_state_space_loss, shapes, _tokens())


def is_shape(x: Any) -> bool:
    """Whether a node of a tree is the shape of a leaf."""
    return isinstance(x, tuple) and all(isinstance(n, int) for n in x)
