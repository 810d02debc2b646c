"""Small training programs as users of public libraries write them. Each builder gives a function and its arguments."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

Program = tuple[Callable[..., Any], tuple[Any, ...]]
_RNG = np.random.default_rng(0)


def library(name: str) -> Any:
    """A module, without the warnings that it gives when it is imported; skips the test where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason="pip install 'scalify_hlo[libraries]'", exc_type=ImportError)


def normal(*shape: int) -> Any:
    return jnp.asarray(_RNG.standard_normal(shape), jnp.float32)


def labels(count: int, classes: int) -> Any:
    return jnp.asarray(_RNG.integers(0, classes, count), jnp.int32)


def _cross_entropy(logits: Any, targets: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[:, None], axis=1).mean()


def _train_step(loss: Callable[..., Any], optimizer: Any, parameters: Any, *batch: Any) -> Program:
    """One step of training, from a state that is one step old."""
    optax = library("optax")

    def step(parameters: Any, state: Any, *batch: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters, *batch)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    parameters, state, _ = jax.jit(step)(parameters, optimizer.init(parameters), *batch)
    return step, (parameters, state, *batch)


# --- flax -------------------------------------------------------------------------------------------------------


def flax_linen_transformer() -> Program:
    """Attention with a causal mask, layer norms, dropout; AdamW with clipped gradients."""
    nn, optax = library("flax.linen"), library("optax")

    class Block(nn.Module):
        @nn.compact
        def __call__(self, tokens: Any) -> Any:
            x = nn.Embed(32, 16)(tokens)
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=2)(y, mask=nn.make_causal_mask(tokens))
            y = nn.Dense(16)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x))))
            return nn.Dense(32)(x + nn.Dropout(0.1, deterministic=False)(y))

    model, tokens = Block(), labels(24, 32).reshape(3, 8)
    key = jax.random.PRNGKey(0)

    def loss(parameters: Any, tokens: Any, key: Any) -> Any:
        logits = model.apply(parameters, tokens, rngs={"dropout": key})
        return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:]).mean()

    parameters = model.init({"params": key, "dropout": key}, tokens)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    return _train_step(loss, optimizer, parameters, tokens, key)


def flax_linen_cnn() -> Program:
    """Convolutions, batch norm with its running statistics, pooling; momentum."""
    nn, optax = library("flax.linen"), library("optax")

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.relu(nn.BatchNorm(use_running_average=False)(nn.Conv(8, (3, 3), use_bias=False)(x)))
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
            x = nn.avg_pool(nn.silu(nn.Conv(16, (3, 3), strides=(2, 2))(x)), (2, 2))
            return nn.Dense(5)(x.reshape(x.shape[0], -1))

    model, images, classes = Network(), normal(4, 8, 8, 3), labels(4, 5)
    variables = model.init(jax.random.PRNGKey(0), images)
    optimizer = optax.sgd(0.1, momentum=0.9)

    def step(parameters: Any, statistics: Any, state: Any, images: Any, classes: Any) -> Any:
        def loss(parameters: Any) -> Any:
            logits, changed = model.apply(
                {"params": parameters, "batch_stats": statistics}, images, mutable=["batch_stats"]
            )
            return _cross_entropy(logits, classes), changed["batch_stats"]

        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(parameters)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(parameters, updates), statistics, state, value

    parameters = variables["params"]
    return step, (parameters, variables["batch_stats"], optimizer.init(parameters), images, classes)


def flax_linen_lstm() -> Program:
    """A recurrence over twelve steps and its derivative; Adam."""
    nn, optax = library("flax.linen"), library("optax")

    class Classifier(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(3)(nn.RNN(nn.OptimizedLSTMCell(8))(x)[:, -1])

    model, x, classes = Classifier(), normal(4, 12, 5), labels(4, 3)
    parameters = model.init(jax.random.PRNGKey(0), x)

    def loss(parameters: Any, x: Any, classes: Any) -> Any:
        return _cross_entropy(model.apply(parameters, x), classes)

    return _train_step(loss, optax.adam(1e-3), parameters, x, classes)


def flax_nnx_mixture() -> Program:
    """Two experts, softly mixed; Lion."""
    nnx, optax = library("flax.nnx"), library("optax")

    class Mixture(nnx.Module):
        def __init__(self, rngs: Any):
            self.gate = nnx.Linear(6, 2, rngs=rngs)
            self.first, self.second = (nnx.Linear(6, 4, rngs=rngs) for _ in range(2))
            self.norm = nnx.RMSNorm(4, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            weights = jax.nn.softmax(self.gate(x))
            return self.norm(weights[:, :1] * self.first(x) + weights[:, 1:] * jnp.tanh(self.second(x)))

    definition, parameters = nnx.split(Mixture(nnx.Rngs(0)))

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return optax.huber_loss(nnx.merge(definition, parameters)(x), y).mean()

    return _train_step(loss, optax.lion(1e-3), parameters, normal(8, 6), normal(8, 4))


# --- equinox ----------------------------------------------------------------------------------------------------


def equinox_attention() -> Program:
    """Attention over positions, vectorised over the batch; LAMB."""
    eqx, optax = library("equinox"), library("optax")
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    model = (
        eqx.nn.MultiheadAttention(2, 8, key=keys[0]),
        eqx.nn.LayerNorm(8),
        eqx.nn.MLP(8, 4, 16, 2, activation=jax.nn.softplus, key=keys[1]),
    )
    parameters, static = eqx.partition(model, eqx.is_array)

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        attention, norm, head = eqx.combine(parameters, static)

        def single(x: Any) -> Any:
            x = x + attention(*[jax.vmap(norm)(x)] * 3)
            return head(x.mean(0))

        return ((jax.vmap(single)(x) - y) ** 2).mean()

    return _train_step(loss, optax.lamb(1e-2), parameters, normal(3, 5, 8), normal(3, 4))


def equinox_gru() -> Program:
    """A recurrence written with jax.lax.scan and rematerialised; Adam in its AMSGrad form."""
    eqx, optax = library("equinox"), library("optax")
    cell = eqx.nn.GRUCell(3, 8, key=jax.random.PRNGKey(0))
    parameters, static = eqx.partition(cell, eqx.is_array)

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        cell = eqx.combine(parameters, static)

        @jax.checkpoint
        def step(h: Any, x: Any) -> Any:
            h = jax.vmap(cell)(x, h)
            return h, h.sum(1)

        _, outputs = jax.lax.scan(step, jnp.zeros((4, 8)), x)
        return jnp.abs(outputs - y).mean()

    return _train_step(loss, optax.amsgrad(1e-3), parameters, normal(10, 4, 3), normal(10, 4))


# --- optax ------------------------------------------------------------------------------------------------------


def optax_lbfgs() -> Program:
    """Logistic regression by L-BFGS with a zoom line search, a loop of unknown length in each of three steps."""
    optax = library("optax")
    optimizer = optax.lbfgs()

    def solve(weights: Any, x: Any, y: Any) -> Any:
        def loss(weights: Any) -> Any:
            return jax.nn.softplus(-y * (x @ weights)).mean() + 0.01 * (weights**2).sum()

        def step(carry: Any, _: Any) -> Any:
            weights, state = carry
            value, gradients = jax.value_and_grad(loss)(weights)
            updates, state = optimizer.update(gradients, state, weights, value=value, grad=gradients, value_fn=loss)
            return (optax.apply_updates(weights, updates), state), value

        (weights, _), values = jax.lax.scan(step, (weights, optimizer.init(weights)), length=3)
        return weights, values

    return solve, (0.1 * normal(6), normal(32, 6), jnp.sign(normal(32)))


# --- other libraries --------------------------------------------------------------------------------------------


def haiku_residual_network() -> Program:
    """Convolutions with group norm and a skip connection; Adafactor."""
    hk, optax = library("haiku"), library("optax")

    @hk.without_apply_rng
    @hk.transform
    def forward(x: Any) -> Any:
        x = hk.Conv2D(8, 3)(x)
        y = hk.Conv2D(8, 3)(jax.nn.elu(hk.GroupNorm(2)(x)))
        return hk.nets.MLP([16, 5])(hk.Flatten()(x + y))

    images, classes = normal(3, 6, 6, 3), labels(3, 5)
    parameters = forward.init(jax.random.PRNGKey(0), images)

    def loss(parameters: Any, images: Any, classes: Any) -> Any:
        return _cross_entropy(forward.apply(parameters, images), classes)

    return _train_step(loss, optax.adafactor(1e-2, min_dim_size_to_factor=8), parameters, images, classes)


def jraph_graph_network() -> Program:
    """Messages along edges, summed at their receivers; RMSProp."""
    jraph, optax = library("jraph"), library("optax")
    graph = jraph.GraphsTuple(
        nodes=normal(7, 4), edges=normal(12, 3), senders=labels(12, 7), receivers=labels(12, 7),
        n_node=jnp.array([7]), n_edge=jnp.array([12]), globals=normal(1, 2),
    )  # fmt: skip
    parameters = {"edge": 0.3 * normal(3 + 4 + 4 + 2, 5), "node": 0.3 * normal(4 + 5 + 5 + 2, 4)}

    def loss(parameters: Any, graph: Any) -> Any:
        network = jraph.GraphNetwork(
            update_edge_fn=lambda *parts: jnp.tanh(jnp.concatenate(parts, -1) @ parameters["edge"]),
            update_node_fn=lambda *parts: jax.nn.relu(jnp.concatenate(parts, -1) @ parameters["node"]),
        )
        return (network(graph).nodes ** 2).mean()

    return _train_step(loss, optax.rmsprop(1e-3), parameters, graph)


def numpyro_hamiltonian_step() -> Program:
    """Ten leapfrog steps on the posterior of a hierarchical regression."""
    numpyro, distributions = library("numpyro"), library("numpyro.distributions")
    log_density = library("numpyro.infer.util").log_density

    def model(x: Any, y: Any, group: Any) -> None:
        spread = numpyro.sample("spread", distributions.HalfNormal(1.0))
        with numpyro.plate("groups", 3):
            slope = numpyro.sample("slope", distributions.Normal(0.0, spread))
        noise = numpyro.sample("noise", distributions.Gamma(2.0, 2.0))
        numpyro.sample("y", distributions.StudentT(4.0, slope[group] * x, noise), obs=y)

    def leapfrog(position: Any, momentum: Any, x: Any, y: Any, group: Any) -> Any:
        def energy(position: Any) -> Any:
            return -log_density(model, (x, y, group), {}, position)[0]

        def step(_: Any, carry: Any) -> Any:
            position, momentum = carry
            kick = jax.tree.map(lambda p, g: p - 0.005 * g, momentum, jax.grad(energy)(position))
            position = jax.tree.map(lambda q, p: q + 0.01 * p, position, kick)
            return position, jax.tree.map(lambda p, g: p - 0.005 * g, kick, jax.grad(energy)(position))

        position, momentum = jax.lax.fori_loop(0, 10, step, (position, momentum))
        return position, momentum, energy(position)

    position = {"spread": jnp.float32(0.8), "slope": normal(3), "noise": jnp.float32(1.2)}
    momentum = {"spread": jnp.float32(0.1), "slope": normal(3), "noise": jnp.float32(-0.2)}
    return leapfrog, (position, momentum, normal(20), normal(20), labels(20, 3))


def diffrax_neural_ode() -> Program:
    """The derivative of an adaptively solved differential equation: loops whose length depends on the values."""
    diffrax, optax = library("diffrax"), library("optax")

    def loss(weights: Any, start: Any, target: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda _, y, w: jnp.tanh(w @ y) - 0.1 * y), diffrax.Heun(), 0.0, 1.0, 0.1, start,
            args=weights, stepsize_controller=diffrax.PIDController(1e-3, 1e-4), max_steps=64, throw=False,
        )  # fmt: skip
        return ((solution.ys[-1] - target) ** 2).sum()

    return _train_step(loss, optax.adam(1e-2), normal(3, 3), normal(3), normal(3))


PROGRAMS = (
    flax_linen_transformer, flax_linen_cnn, flax_linen_lstm, flax_nnx_mixture, equinox_attention, equinox_gru,
    optax_lbfgs, haiku_residual_network, jraph_graph_network, numpyro_hamiltonian_step, diffrax_neural_ode,
)  # fmt: skip
