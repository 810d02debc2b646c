"""Random training steps: a network, its loss and gradient, an optimiser's update, for the presets of `--precision`.

    def f(a0, a1, a2, a3, a4, a5):
        v0, v1 = jax.grad(lambda p, q: jnp.mean((nn.gelu(a4 @ p) @ q - a5) ** 2), argnums=(0, 1))(a0, a1)
        v2, v3 = a0 - 0.01 * (0.9 * a2 + 0.1 * v0), ...

Everything is f32, as in a program that a preset is for. Step `k` of a seed is always the same.
"""

# ruff: noqa: E501 - tables

import random
from collections.abc import Callable

from tests.fuzz.jax_programs import Argument, Program

_ACTIVATIONS = (
    "nn.gelu({h})", "nn.gelu({h}, approximate=False)", "nn.silu({h})", "nn.relu({h})", "jnp.tanh({h})", "nn.softplus({h})",
    "nn.sigmoid({h})", "nn.elu({h})", "nn.mish({h})", "nn.leaky_relu({h})", "jnp.sin({h})", "jnp.square(nn.relu({h}))",
    "{h} / (1 + jnp.abs({h}))", "{h} * lax.rsqrt(1 + jnp.square({h}))", "softened({h})", "straight_through({h})",
    "clipped_gradient({h})", "nn.log_sigmoid({h})", "jnp.exp(-jnp.square({h}))", "nn.hard_tanh({h})",
)  # fmt: skip
_BLOCKS = (
    "({h} - {h}.mean(-1, keepdims=True)) * lax.rsqrt({h}.var(-1, keepdims=True) + 1e-5)", "nn.standardize({h}, axis=0)",
    "{h} * lax.rsqrt(jnp.mean(jnp.square({h}), -1, keepdims=True) + 1e-6)", "nn.softmax({h}, axis=-1)",
    "nn.log_softmax({h}, axis=-1)", "attention({h}, {h}, {h})", "{h} / jnp.linalg.norm({h} + 1e-3, axis=-1, keepdims=True)",
    "jnp.cumsum({h}, 0) / 4", "jnp.sort({h}, -1)", "jnp.where({h} > 0.5, {h}, 0.0)", "{h} + jnp.roll({h}, 1, 0) * 0.5",
    "jnp.where(jnp.tri({h}.shape[0], {h}.shape[1]) > 0, {h}, -1e9).max(-1, keepdims=True) + {h}", "jnp.concatenate([{h}, {h}])[:{h}.shape[0]]",
    "lax.scan(lambda c, r: (jnp.tanh(c * 0.9 + r), c), jnp.zeros_like({h}[0]), {h})[1]", "nn.dot_product_attention(*[{h}[None, :, None]] * 3, is_causal=True)[0, :, 0]",
    "lax.fori_loop(0, 3, lambda i, c: c * 0.5 + jnp.tanh(c), {h})", "lax.cond(jnp.sum({h}) > 0, lambda c: c * 2, jnp.tanh, {h})",
    "lax.map(lambda r: r * nn.sigmoid(r), {h})", "jax.vmap(lambda r: r - nn.logsumexp(r))({h})", "jax.checkpoint(lambda c: {inner})({h})",
    "one_device(lambda c: {inner})({h})", "jax.jit(lambda c: {inner})({h})", "lax.associative_scan(lambda a, b: a * 0.5 + b, {h})",
    "jnp.einsum('ij,kj->ik', {h}, {h}) @ {h} / {h}.shape[0]", "{h}[jnp.argmax({h}, -1) % {h}.shape[0]]", "{h}.at[0].add({h}[-1])",
    "lax.reduce_window({h}, -jnp.inf, lax.max, (2, 1), (1, 1), 'SAME')", "jnp.convolve({h}[:, 0], {h}[0])[:1] + {h}", "{h} * jnp.linspace(0.1, 1, {h}.shape[-1])",
    "{h} * jax.random.bernoulli(jax.random.key(1), 0.8, {h}.shape) / 0.8", "lax.stop_gradient({h}) + {h} - jnp.tanh({h})", "{h} ** 2 / (jnp.abs({h}) + 1e-2)",
)  # fmt: skip
_LOSSES = (
    "jnp.mean(({h} - {y}) ** 2)", "jnp.mean(jnp.abs({h} - {y}))", "jnp.sum(({h} - {y}) ** 2)", "-jnp.mean(nn.log_softmax({h})[:, 0])",
    "jnp.mean(nn.softplus(-{h} * jnp.sign({y})))", "jnp.mean(jnp.log(jnp.cosh({h} - {y})))", "jnp.mean(nn.logsumexp({h}, -1) - {h}[:, 0])",
    "jnp.mean(jnp.where(jnp.abs({h} - {y}) < 1, ({h} - {y}) ** 2, jnp.abs({h} - {y})))", "-jnp.mean(jnp.sum({h} * {y}, -1) / (jnp.linalg.norm({h}, axis=-1) * jnp.linalg.norm({y}, axis=-1) + 1e-6))",
    "jnp.mean(({h} - {y}) ** 2) + 1e-4 * sum(jnp.sum(z * z) for z in (p, q))", "jnp.max(jnp.abs({h} - {y}))", "jnp.sqrt(jnp.mean(({h} - {y}) ** 2) + 1e-8)",
)  # fmt: skip
# {w} weights, {m} and {v} the moments, {g} the gradient; each gives new weights and moments.
_OPTIMISERS: dict[str, tuple[str, str, str]] = {
    "sgd": ("{w} - 0.1 * {g}", "{m}", "{v}"),
    "momentum": ("{w} - 0.1 * (0.9 * {m} + {g})", "0.9 * {m} + {g}", "{v}"),
    "adam": ("{w} - 1e-2 * (0.9 * {m} + 0.1 * {g}) / (jnp.sqrt(0.99 * {v} + 0.01 * {g} ** 2) + 1e-8)", "0.9 * {m} + 0.1 * {g}", "0.99 * {v} + 0.01 * {g} ** 2"),
    "adamw": ("{w} * 0.999 - 1e-2 * (0.9 * {m} + 0.1 * {g}) * lax.rsqrt(0.999 * {v} + 0.001 * {g} ** 2 + 1e-12)", "0.9 * {m} + 0.1 * {g}", "0.999 * {v} + 0.001 * {g} ** 2"),
    "adagrad": ("{w} - 0.1 * {g} * lax.rsqrt({v} + {g} ** 2 + 1e-7)", "{m}", "{v} + {g} ** 2"),
    "rmsprop": ("{w} - 1e-2 * {g} / jnp.sqrt(0.9 * {v} + 0.1 * {g} ** 2 + 1e-6)", "{m}", "0.9 * {v} + 0.1 * {g} ** 2"),
    "lion": ("{w} - 1e-3 * jnp.sign(0.9 * {m} + 0.1 * {g})", "0.99 * {m} + 0.01 * {g}", "{v}"),
    "clipped": ("{w} - 0.1 * {g} / jnp.maximum(1.0, jnp.sqrt(jnp.sum({g} ** 2)))", "{m}", "{v}"),
    "averaged": ("{w} - 0.1 * {g}", "0.99 * {m} + 0.01 * ({w} - 0.1 * {g})", "{v}"),
    "max": ("{w} - 1e-2 * {g} / (jnp.maximum(0.99 * {v}, jnp.abs({g})) + 1e-8)", "{m}", "jnp.maximum(0.99 * {v}, jnp.abs({g}))"),
}  # fmt: skip


def _layer(rng: random.Random, h: str, weights: str) -> str:
    """Activations of the shape that the product with the weights gives."""
    text = f"({h} @ {weights})"
    for _ in range(rng.choice((0, 1, 1, 2))):
        table = _ACTIVATIONS if rng.random() < 0.5 else _BLOCKS
        inner = rng.choice(_ACTIVATIONS).format(h="c")
        text = f"(lambda h: {rng.choice(table).format(h='h', inner=inner)})({text})"
    return text


def _network(rng: random.Random, x: str) -> str:
    text = _layer(rng, x, "p")
    if rng.random() < 0.4:
        text = f"(lambda r: r + {_layer(rng, 'r', 'q[:, :1] * p[:1]')})({text})"
    return _layer(rng, text, "q")


def draw_training(seed: int, k: int, *, forward: bool = False) -> Program:
    """Step `k` of a seed; sometimes, or always, the forward pass alone."""
    rng = random.Random(f"{seed}/{k}/training")
    n, a, b, c = (rng.choice((2, 4, 8)) for _ in range(4))
    kinds: Callable[[], str] = lambda: rng.choice(("normal",) * 6 + ("positive", "equal", "small", "some zeros"))  # noqa: E731
    if rng.random() < 0.2 or forward:
        shapes = {"a0": (a, b), "a1": (b, c), "a4": (n, a)}
        arguments = tuple(Argument(name, shape, "float32", kinds()) for name, shape in shapes.items())
        line = f"(lambda p, q: {_network(rng, 'a4')})(a0, a1)"
        return Program(arguments, ((("v0",), line),), ("v0",))
    weights, moments, squares = rng.choice(tuple(_OPTIMISERS.values()))
    small = rng.choice(("normal", "small", "zeros", "zeros"))
    arguments = (
        Argument("a0", (a, b), "float32", kinds()), Argument("a1", (b, c), "float32", kinds()),
        Argument("a2", (a, b), "float32", small), Argument("a3", (a, b), "float32", "zeros" if small == "zeros" else "positive"),
        Argument("a4", (n, a), "float32", kinds()), Argument("a5", (n, c), "float32", kinds()),
    )  # fmt: skip
    loss = rng.choice(_LOSSES).format(h="h", y="a5")
    total = f"(lambda h: {loss})({_network(rng, 'a4')})"
    gradient = f"(lambda pair: (pair[0], *pair[1]))(jax.value_and_grad(lambda p, q: {total}, argnums=(0, 1))(a0, a1))"
    names = {"w": "a0", "m": "a2", "v": "a3", "g": "v1"}
    lines = (
        (("v0", "v1", "v2"), gradient), (("v3",), weights.format(**names)), (("v4",), moments.format(**names)),
        (("v5",), squares.format(**names)), (("v6",), "a1 - 0.1 * v2"),
    )  # fmt: skip
    return Program(arguments, lines, ("v3", "v6", "v4", "v5", "v0")).pruned()
