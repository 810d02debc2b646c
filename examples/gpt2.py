"""GPT-2 in plain JAX: initialisation, loss, and one whole training step with Adam.

The program is written as anyone would write it, with no framework and nothing that knows about scales. One
configuration field, `dtype`, sets the element type of everything: weights, activations, gradients and
optimiser state. With `dtype="float16"` there is no loss scaling and no f32 copy of the weights.

**The trap of constants that f16 cannot hold.** Adam's usual epsilon, 1e-8, is below f16's smallest number
(2^-24 = 6e-8). JAX rounds it when it traces, so the exported f16 program contains the constant 0, and a
parameter whose gradient is zero is updated by 0/0. No later rewriting can bring the constant back, because it
is not in the program any more. The default epsilon is therefore 2^-20 (9.5e-7), which f16 holds exactly, in
every precision: whatever goes wrong in f16 then comes from the values the program computes, not from its
constants. Scalars that depend on the step counter alone (bias correction) are computed in f32 for the same reason.

Shapes: B sequences, T positions, V vocabulary entries, D width, H heads, K = D / H, L layers.
"""

import dataclasses
import functools
import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

Parameters = dict[str, Any]  # nested dicts and lists of arrays
State = dict[str, Any]  # {"parameters", "first_moment", "second_moment", "step"}

Activation = Literal["gelu", "silu", "relu"]

_ACTIVATIONS = {"gelu": jax.nn.gelu, "silu": jax.nn.silu, "relu": jax.nn.relu}


@dataclasses.dataclass(frozen=True)
class GPT2Config:
    """Sizes, element type and optimiser of a GPT-2. The defaults are small enough for one CPU core."""

    layers: int = 2
    width: int = 128
    heads: int = 4
    # Number of positions T of a training sequence.
    context: int = 64
    # Number of tokens V; 256 is what `examples.text` produces (bytes).
    vocabulary: int = 256
    activation: Activation = "gelu"
    # Probability that an activation is dropped; 0 leaves dropout out of the program.
    dropout: float = 0.0
    # The output projection is the transposed token embedding.
    tied_head: bool = True
    # Element type of weights, activations, gradients and optimiser state.
    dtype: str = "float32"
    # Element type inside layer normalisation: None is `dtype`. f16 models often compute it in f32.
    norm_dtype: str | None = None
    # Standard deviation of the initial weights.
    initial_std: float = 0.02
    layer_norm_epsilon: float = 1e-5
    # Adam (Kingma and Ba, 2015). For `epsilon` see the trap described above.
    beta1: float = 0.9
    beta2: float = 0.95
    epsilon: float = 2.0**-20
    # Seed of the dropout masks; the step counter is folded in.
    dropout_seed: int = 0

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        if self.activation not in _ACTIVATIONS:
            raise ValueError(f"unknown activation {self.activation!r}; one of {', '.join(_ACTIVATIONS)}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout {self.dropout} is not in [0, 1)")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """Shape of a parameter, and its root mean square after initialisation (1 for gains, 0 for biases)."""

    shape: tuple[int, ...]
    rms: float


def parameter_table(config: GPT2Config) -> Parameters:
    """Every parameter of the model, as a pytree of `Parameter` (a leaf)."""
    d, h, k, std = config.width, config.heads, config.width // config.heads, config.initial_std
    residual_std = std / math.sqrt(2 * config.layers)  # GPT-2: keeps the residual stream's size at any depth

    def norm() -> Parameters:
        return {"gain": Parameter((d,), 1.0), "bias": Parameter((d,), 0.0)}

    def block() -> Parameters:
        return {
            "attention_norm": norm(),
            "attention_in": {"weight": Parameter((d, 3, h, k), std), "bias": Parameter((3, 1, h, 1, k), 0.0)},
            "attention_out": {"weight": Parameter((h, k, d), residual_std), "bias": Parameter((d,), 0.0)},
            "mlp_norm": norm(),
            "mlp_in": {"weight": Parameter((d, 4 * d), std), "bias": Parameter((4 * d,), 0.0)},
            "mlp_out": {"weight": Parameter((4 * d, d), residual_std), "bias": Parameter((d,), 0.0)},
        }

    table: Parameters = {
        "token_embedding": Parameter((config.vocabulary, d), std),
        "position_embedding": Parameter((config.context, d), std),
        "blocks": [block() for _ in range(config.layers)],
        "final_norm": norm(),
    }
    if not config.tied_head:
        table["head"] = Parameter((d, config.vocabulary), std)
    return table


def initial_parameters(config: GPT2Config, seed: int = 0) -> Parameters:
    """Gaussian weights of the standard deviation in `parameter_table`, gains 1, biases 0."""
    generator = np.random.default_rng(seed)

    def draw(parameter: Parameter) -> jax.Array:
        if parameter.rms in (0.0, 1.0):
            values = np.full(parameter.shape, parameter.rms)
        else:
            values = generator.normal(0.0, parameter.rms, parameter.shape)
        return jnp.asarray(values, config.dtype)

    return jax.tree.map(draw, parameter_table(config))


def initial_state(config: GPT2Config, seed: int = 0) -> State:
    """Parameters, Adam's moments (zeros) and the step counter (int32, 0)."""
    parameters = initial_parameters(config, seed)
    return {
        "parameters": parameters,
        "first_moment": jax.tree.map(jnp.zeros_like, parameters),
        "second_moment": jax.tree.map(jnp.zeros_like, parameters),
        "step": jnp.zeros((), jnp.int32),
    }


def _layer_norm(config: GPT2Config, parameters: Parameters, x: jax.Array) -> jax.Array:
    x = x.astype(config.norm_dtype or config.dtype)
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
    normalised = centred * jax.lax.rsqrt(variance + config.layer_norm_epsilon)
    return normalised.astype(config.dtype) * parameters["gain"] + parameters["bias"]


def _drop(config: GPT2Config, key: jax.Array | None, x: jax.Array) -> jax.Array:
    if key is None or config.dropout == 0:
        return x
    # The mask is drawn with f32 probabilities, so that it is the same in every dtype.
    kept = jax.random.bernoulli(key, np.float32(1 - config.dropout), x.shape)
    return jnp.where(kept, x / (1 - config.dropout), 0)


def _attention(config: GPT2Config, block: Parameters, x: jax.Array, key: jax.Array | None) -> jax.Array:
    """Causal multi-head attention: [B, T, D] to [B, T, D]."""
    projected = jnp.einsum("btd,dchk->cbhtk", x, block["attention_in"]["weight"]) + block["attention_in"]["bias"]
    query, key_, value = projected
    scores = jnp.einsum("bhtk,bhsk->bhts", query, key_) / math.sqrt(config.width // config.heads)
    visible = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1)
    weights = _drop(config, key, weights)
    mixed = jnp.einsum("bhts,bhsk->bhtk", weights, value)
    return jnp.einsum("bhtk,hkd->btd", mixed, block["attention_out"]["weight"]) + block["attention_out"]["bias"]


def _mlp(config: GPT2Config, block: Parameters, x: jax.Array) -> jax.Array:
    hidden = x @ block["mlp_in"]["weight"] + block["mlp_in"]["bias"]
    return _ACTIVATIONS[config.activation](hidden) @ block["mlp_out"]["weight"] + block["mlp_out"]["bias"]


def logits(config: GPT2Config, parameters: Parameters, tokens: jax.Array, key: jax.Array | None = None) -> jax.Array:
    """Next-token logits, [B, T, V] in `config.dtype`, of int32 tokens [B, T]; T is at most `config.context`.

    `key` seeds dropout; without it nothing is dropped (evaluation).
    """
    keys = iter([None] * (3 * config.layers + 1) if key is None else jax.random.split(key, 3 * config.layers + 1))
    x = parameters["token_embedding"][tokens] + parameters["position_embedding"][: tokens.shape[1]]
    x = _drop(config, next(keys), x)
    for i, block in enumerate(parameters["blocks"]):
        with jax.named_scope(f"block_{i}"):
            attended = _attention(config, block, _layer_norm(config, block["attention_norm"], x), next(keys))
            x = x + _drop(config, next(keys), attended)
            x = x + _drop(config, next(keys), _mlp(config, block, _layer_norm(config, block["mlp_norm"], x)))
    x = _layer_norm(config, parameters["final_norm"], x)
    head = parameters["token_embedding"].T if config.tied_head else parameters["head"]
    return x @ head


def loss(config: GPT2Config, parameters: Parameters, tokens: jax.Array, key: jax.Array | None = None) -> jax.Array:
    """Mean cross-entropy in nats (rank 0, `config.dtype`) of predicting tokens[:, 1:]; tokens is int32 [B, T + 1]."""
    scores = logits(config, parameters, tokens[:, :-1], key)
    chosen = jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(scores, axis=-1) - chosen)


def _adam(config: GPT2Config, state: State, gradients: Parameters, learning_rate: jax.Array) -> State:
    """One Adam update with bias correction; `learning_rate` is rank 0 in `config.dtype`."""
    step = state["step"] + 1
    # f32 scalars of the step counter alone: 1 - beta^t.
    count = step.astype(jnp.float32)
    correction1 = (1 - np.float32(config.beta1) ** count).astype(config.dtype)
    correction2 = (1 - np.float32(config.beta2) ** count).astype(config.dtype)

    first = jax.tree.map(lambda m, g: config.beta1 * m + (1 - config.beta1) * g, state["first_moment"], gradients)
    second = jax.tree.map(
        lambda v, g: config.beta2 * v + (1 - config.beta2) * jnp.square(g), state["second_moment"], gradients
    )

    def updated(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        return p - learning_rate * (m / correction1) / (jnp.sqrt(v / correction2) + config.epsilon)

    parameters = jax.tree.map(updated, state["parameters"], first, second)
    return {"parameters": parameters, "first_moment": first, "second_moment": second, "step": step}


def train_step(
    config: GPT2Config, state: State, tokens: jax.Array, learning_rate: jax.Array
) -> tuple[State, jax.Array]:
    """Forward, backward and Adam: the next state, and the loss before the update.

    tokens: int32 [B, T + 1]; learning_rate: rank 0 in `config.dtype`.
    """
    key = None
    if config.dropout:
        key = jax.random.fold_in(jax.random.key(config.dropout_seed), state["step"])
    value, gradients = jax.value_and_grad(lambda p: loss(config, p, tokens, key))(state["parameters"])
    return _adam(config, state, gradients, learning_rate), value


def make_train_step(config: GPT2Config) -> Any:
    """`train_step` of one configuration, jitted: (state, tokens, learning_rate) -> (state, loss).

    Each call gives a new function, so that nothing JAX has traced before is reused (for timing).
    """
    step = functools.partial(train_step, config)
    functools.update_wrapper(step, train_step)
    return jax.jit(step)


def argument_shapes(config: GPT2Config, batch: int) -> tuple[Any, jax.ShapeDtypeStruct, jax.ShapeDtypeStruct]:
    """Shapes and types of the arguments of `make_train_step(config)`, with which it can be exported."""

    def like(parameter: Parameter) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(parameter.shape, jnp.dtype(config.dtype))

    parameters = jax.tree.map(like, parameter_table(config))
    state = {
        "parameters": parameters,
        "first_moment": parameters,
        "second_moment": parameters,
        "step": jax.ShapeDtypeStruct((), jnp.int32),
    }
    tokens = jax.ShapeDtypeStruct((batch, config.context + 1), jnp.int32)
    return state, tokens, jax.ShapeDtypeStruct((), jnp.dtype(config.dtype))
