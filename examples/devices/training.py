"""The model that every example trains: what comes between embedding and head is theirs."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import scalify_hlo as sc

WIDTH, HIDDEN, HEADS, VOCABULARY, LENGTH, BATCH = 64, 128, 8, 32, 32, 16
LEARNING_RATE, STEPS = 1e-2, 12
Trunk = Callable[[Any, jax.Array], jax.Array]
State = dict[str, Any]


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """A weight of shape (..., in, out) with variance 1 / in."""
    return np.float32(rng.standard_normal(shape) / shape[-2] ** 0.5)


def start(trunk: Callable[[np.random.Generator], Any]) -> State:
    """Parameters and Adam's moments. trunk: makes the parameters between embedding and head."""
    rng = np.random.default_rng(0)
    params = {"embedding": normal(rng, VOCABULARY, WIDTH), "trunk": trunk(rng), "head": normal(rng, WIDTH, VOCABULARY)}
    params["embedding"] *= VOCABULARY**0.5
    zeros = jax.tree.map(np.zeros_like, params)
    return {"params": params, "m": zeros, "v": zeros}


def batch(index: int) -> np.ndarray:
    """i32[BATCH, LENGTH + 1]: numbers that grow by 1, 2 or 3 each time."""
    rng = np.random.default_rng(index)
    first, stride = rng.integers(0, VOCABULARY, (BATCH, 1)), rng.integers(1, 4, (BATCH, 1))
    return np.int32((first + stride * np.arange(LENGTH + 1)) % VOCABULARY)


def norm(x: jax.Array) -> jax.Array:
    """f32[..., width]: each row divided by its root mean square."""
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6)


def loss(trunk: Trunk, params: Any, tokens: jax.Array) -> jax.Array:
    """Mean cross-entropy of the next token."""
    x = trunk(params["trunk"], params["embedding"][tokens[:, :-1]])
    log_p = jax.nn.log_softmax(norm(x) @ params["head"])
    return -jnp.mean(jnp.take_along_axis(log_p, tokens[:, 1:, None], -1))


def train_step(trunk: Trunk, state: State, tokens: jax.Array) -> tuple[State, jax.Array]:
    """One step of Adam."""
    value, gradients = jax.value_and_grad(functools.partial(loss, trunk))(state["params"], tokens)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], gradients)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, state["v"], gradients)
    params = jax.tree.map(lambda p, m, v: p - LEARNING_RATE * m / (jnp.sqrt(v) + 1e-8), state["params"], m, v)
    return {"params": params, "m": m, "v": v}, value


def train(trunk: Trunk, state: State, precision: str, state_sharding: Any, batch_sharding: Any) -> list[float]:
    """The losses of STEPS steps with a precision. Shardings are written for plain arrays; scales follow."""
    step = sc.scalify(
        functools.partial(train_step, trunk),
        precision=precision,
        in_shardings=(state_sharding, batch_sharding),
        out_shardings=(state_sharding, None),
    )
    scaled, _ = step.stored(sc.as_scaled_array(state), batch(0))
    scaled = jax.device_put(scaled, sc.scaled_shardings(state_sharding, scaled))
    losses: list[float] = []
    for index in range(STEPS):
        scaled, value = step(scaled, jax.device_put(batch(index), batch_sharding))
        losses.append(float(np.asarray(value)))
    return losses


def train_on_one(trunk: Trunk, state: State) -> list[float]:
    """The losses of the same steps on one device, as they are written."""
    step = jax.jit(functools.partial(train_step, trunk))
    losses: list[float] = []
    for index in range(STEPS):
        state, value = step(state, batch(index))
        losses.append(float(value))
    return losses


def show(losses: list[float], reference: list[float]) -> None:
    """Print both, step by step."""
    print("step  8 devices, fp8  1 device, f32")
    for index, (value, other) in enumerate(zip(losses, reference, strict=True)):
        print(f"{index:4}  {value:14.4f}  {other:13.4f}")
