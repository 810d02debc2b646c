"""Optimisers by name, as users of optax spell them, and some written by hand: `python -m experiments optimisers`.

Rates are such that f32 learns on each of the three models, no more: no one is compared with another.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from optax import contrib

from benchmarks.models.tasks.problem import Problem, Tree
from benchmarks.models.tasks.three_models import MODELS

Optimiser = Any  # an optax.GradientTransformation


class _Shampoo(NamedTuple):
    left: Tree
    right: Tree


def shampoo(rate: float) -> Optimiser:
    """Shampoo (Gupta et al., 2018) by hand: gradients between inverse fourth roots of both statistics."""

    def matrix(g: jax.Array) -> jax.Array:
        return g.reshape(-1, g.shape[-1])

    def init(parameters: Tree) -> _Shampoo:
        return _Shampoo(
            jax.tree.map(lambda p: 1e-3 * jnp.eye(matrix(p).shape[0]), parameters),
            jax.tree.map(lambda p: 1e-3 * jnp.eye(matrix(p).shape[1]), parameters),
        )

    def root(statistic: jax.Array) -> jax.Array:
        values, vectors = jnp.linalg.eigh(statistic)
        return (vectors * jnp.maximum(values, 1e-6) ** -0.25) @ vectors.T

    def update(gradients: Tree, state: _Shampoo, _parameters: Tree = None) -> tuple[Tree, _Shampoo]:
        left = jax.tree.map(lambda s, g: s + matrix(g) @ matrix(g).T, state.left, gradients)
        right = jax.tree.map(lambda s, g: s + matrix(g).T @ matrix(g), state.right, gradients)
        updates = jax.tree.map(
            lambda g, a, b: -rate * (root(a) @ matrix(g) @ root(b)).reshape(g.shape), gradients, left, right
        )
        return updates, _Shampoo(left, right)

    return optax.GradientTransformation(init, update)


def soap(rate: float, b1: float = 0.9, b2: float = 0.95) -> Optimiser:
    """Adam in the eigenbasis of Shampoo's left statistic (SOAP, Vyas et al., 2024), by hand; a new basis each step."""

    def init(parameters: Tree) -> Tree:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        statistic = jax.tree.map(lambda p: jnp.zeros((p.shape[0], p.shape[0])), parameters)
        return {"m": zeros, "v": jax.tree.map(jnp.zeros_like, parameters), "s": statistic}

    def update(gradients: Tree, state: Tree, _parameters: Tree = None) -> tuple[Tree, Tree]:
        def one(g: jax.Array, m: jax.Array, v: jax.Array, s: jax.Array) -> tuple[jax.Array, ...]:
            flat = g.reshape(g.shape[0], -1)
            s = b2 * s + (1 - b2) * flat @ flat.T
            _, basis = jnp.linalg.eigh(s)
            m = b1 * m + (1 - b1) * g
            turned = (basis.T @ flat).reshape(g.shape)
            v = b2 * v + (1 - b2) * turned**2
            step = (basis.T @ m.reshape(flat.shape)).reshape(g.shape) / (jnp.sqrt(v) + 1e-8)
            return -rate * (basis @ step.reshape(flat.shape)).reshape(g.shape), m, v, s

        leaves, tree = jax.tree.flatten(gradients)
        done = [
            one(*each) for each in zip(leaves, *map(jax.tree.leaves, (state["m"], state["v"], state["s"])), strict=True)
        ]
        updates, m, v, s = (jax.tree.unflatten(tree, part) for part in zip(*done, strict=True))
        return updates, {"m": m, "v": v, "s": s}

    return optax.GradientTransformation(init, update)


def adam_by_hand(rate: float) -> Optimiser:
    """Adam with its corrections in the rate, averages as m + (1 - b) (g - m)."""

    def init(parameters: Tree) -> Tree:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return {"m": zeros, "v": jax.tree.map(jnp.zeros_like, parameters), "t": jnp.int32(0)}

    def update(gradients: Tree, state: Tree, _parameters: Tree = None) -> tuple[Tree, Tree]:
        t = state["t"] + 1
        m = jax.tree.map(lambda m, g: m + 0.1 * (g - m), state["m"], gradients)
        v = jax.tree.map(lambda v, g: v + 0.001 * (jnp.square(g) - v), state["v"], gradients)
        corrected = rate * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return jax.tree.map(lambda m, v: -corrected * m / (jnp.sqrt(v) + 1e-8), m, v), {"m": m, "v": v, "t": t}

    return optax.GradientTransformation(init, update)


def _matrices(parameters: Tree) -> Tree:
    return jax.tree.map(lambda p: p.ndim > 1, parameters)


def _kinds(parameters: Tree) -> Tree:
    return jax.tree.map(lambda p: "matrix" if p.ndim > 1 else "vector", parameters)


# What an optimiser is given besides gradients, state and parameters.
_ASKED = {
    "polyak": ("value",), "momo": ("value",), "momo-adam": ("value",), "sophia": ("obj_fn",),
    "lbfgs": ("value", "grad", "value_fn"),
}  # fmt: skip
_SCHEDULE = optax.warmup_cosine_decay_schedule(0.0, 2e-2, 10, 100)

OPTIMISERS: dict[str, Callable[[], Optimiser]] = {
    "sgd": lambda: optax.sgd(0.1),
    "momentum": lambda: optax.sgd(0.03, momentum=0.9),
    "nesterov": lambda: optax.sgd(0.03, momentum=0.9, nesterov=True),
    "sgd-decay": lambda: optax.chain(optax.add_decayed_weights(1e-2), optax.sgd(0.03, momentum=0.9)),
    "adam": lambda: optax.adam(1e-2),
    "adam-by-hand": lambda: adam_by_hand(1e-2),
    "adamw": lambda: optax.adamw(1e-2, weight_decay=1e-2),
    "nadam": lambda: optax.nadam(1e-2),
    "adamax": lambda: optax.adamax(1e-2),
    "amsgrad": lambda: optax.amsgrad(1e-2),
    "adabelief": lambda: optax.adabelief(1e-2),
    "adan": lambda: optax.adan(1e-2),
    "radam": lambda: optax.radam(1e-2),
    "yogi": lambda: optax.yogi(1e-2),
    "lion": lambda: optax.lion(3e-3),
    "sign-sgd": lambda: optax.sign_sgd(3e-3),
    "signum": lambda: optax.signum(3e-3),
    "adafactor": lambda: optax.adafactor(3e-2, min_dim_size_to_factor=8),
    "rmsprop": lambda: optax.rmsprop(1e-2),
    "rmsprop-centred": lambda: optax.rmsprop(1e-2, centered=True, momentum=0.9),
    "adagrad": lambda: optax.adagrad(5e-2),
    "adadelta": lambda: optax.adadelta(3.0),
    "novograd": lambda: optax.novograd(2e-2),
    "lamb": lambda: optax.lamb(2e-2),
    "lars": lambda: optax.lars(0.3, weight_decay=1e-4),
    "fromage": lambda: optax.fromage(2e-2),
    "sm3": lambda: optax.sm3(5e-2),
    "rprop": lambda: optax.rprop(1e-3),
    "noisy-sgd": lambda: optax.noisy_sgd(0.1, eta=1e-3),
    "polyak": lambda: optax.polyak_sgd(max_learning_rate=0.3),
    "optimistic": lambda: optax.optimistic_gradient_descent(0.05),
    "optimistic-adam": lambda: optax.optimistic_adam_v2(1e-2),
    "lbfgs": lambda: optax.lbfgs(memory_size=4, linesearch=optax.scale_by_zoom_linesearch(5)),
    "acprop": lambda: contrib.acprop(1e-3),
    "ademamix": lambda: contrib.ademamix(1e-2, alpha=2.0),
    "ademamix-simplified": lambda: contrib.simplified_ademamix(1e-3),
    "adopt": lambda: contrib.adopt(1e-2),
    "cocob": lambda: contrib.cocob(),
    "dadapt-adamw": lambda: contrib.dadapt_adamw(),
    "dog": lambda: contrib.dog(init_step=("distance", 1e-2)),
    "dowg": lambda: contrib.dowg(),
    "prodigy": lambda: contrib.prodigy(),
    "mechanize": lambda: contrib.mechanize(optax.adam(1e-2)),
    "momo": lambda: contrib.momo(0.1),
    "momo-adam": lambda: contrib.momo_adam(1e-2),
    "madgrad": lambda: contrib.madgrad(1e-2),
    "muon": lambda: contrib.muon(2e-2),
    "galore": lambda: optax.chain(contrib.scale_by_galore(4, 20), optax.scale(-1e-2)),
    "sophia": lambda: contrib.sophia(1e-2, gamma=0.1, update_interval=4),
    "schedule-free-sgd": lambda: contrib.schedule_free_sgd(0.2),
    "schedule-free-adamw": lambda: contrib.schedule_free_adamw(2e-2),
    "shampoo": lambda: shampoo(3e-2),
    "soap": lambda: soap(1e-2),
    "sam": lambda: contrib.sam(optax.adam(2e-2), optax.chain(contrib.normalize(), optax.sgd(0.02))),
    "lookahead": lambda: optax.lookahead(optax.adam(1e-2), 5, 0.5),
    "weights-ema": lambda: optax.adam(1e-2),
    "multi-steps": lambda: optax.MultiSteps(optax.adam(2e-2), 2).gradient_transformation(),
    "apply-every": lambda: optax.chain(optax.adam(1e-2), optax.apply_every(2)),
    "apply-if-finite": lambda: optax.apply_if_finite(optax.adam(1e-2), 5),
    "inject-hyperparams": lambda: optax.inject_hyperparams(optax.adamw)(learning_rate=_SCHEDULE, weight_decay=1e-2),
    "clip-schedule": lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(_SCHEDULE)),
    "clip-adaptive": lambda: optax.chain(optax.adaptive_grad_clip(0.1), optax.adam(1e-2)),
    "masked": lambda: optax.chain(optax.masked(optax.add_decayed_weights(1e-2), _matrices), optax.adam(1e-2)),
    "partition": lambda: optax.partition({"matrix": optax.lion(3e-3), "vector": optax.adam(1e-2)}, _kinds),
    "gradients-ema": lambda: optax.chain(optax.ema(0.9), optax.sgd(0.2)),
    "gradient-noise": lambda: optax.chain(optax.add_noise(1e-3, 0.55, 0), optax.adam(1e-2)),
}  # fmt: skip


def _of_batch(loss: Callable[[Tree, Tree], jax.Array], batch: Tree, parameters: Tree) -> jax.Array:
    return loss(parameters, batch)


def make(seed: int, model: str, optimiser: str) -> Problem:
    """A model of `MODELS` trained by an optimiser of `OPTIMISERS`."""
    parameters, loss, batch = MODELS[model](seed)
    transformation = optax.with_extra_args_support(OPTIMISERS[optimiser]())
    # Lookahead has two sets of weights, and takes the gradient of one; an average of weights is kept beside them.
    given: Any = parameters
    if optimiser == "lookahead":
        given = optax.LookaheadParams.init_synced(parameters)
    state = {"params": given, "opt_state": transformation.init(given)}
    if optimiser == "weights-ema":
        state["average"] = jax.tree.map(jnp.zeros_like, parameters)
    asked = _ASKED.get(optimiser, ())

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        params = state["params"]
        fast = params.fast if optimiser == "lookahead" else params
        value, gradients = jax.value_and_grad(loss)(fast, batch)
        function: Any = functools.partial(_of_batch, loss, batch)
        extra = {"value": value, "grad": gradients, "obj_fn": function, "value_fn": function}
        updates, opt_state = transformation.update(
            gradients, state["opt_state"], params, **{name: extra[name] for name in asked}
        )
        new = {"params": optax.apply_updates(params, updates), "opt_state": opt_state}
        if "average" in state:
            new["average"] = optax.incremental_update(new["params"], state["average"], 0.05)
        return new, value

    return Problem(step, state, batch)
