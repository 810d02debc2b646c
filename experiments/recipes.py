"""The rows: what each trains with, as a step over a state.

The compiler's way is the plain f32 step under `scalify(..., precision=...)`. The paper's way is a step with explicit
casts, FP8 layers and a LayerNorm that rescales its gradient, under `scalify`. The others are the usual recipes.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import scalify_hlo
from experiments import models
from experiments.fp8_layers import HISTORY, CurrentScalingLayers, DelayedScalingLayers
from experiments.layers import Layers, MixedLayers, PaperLayers
from experiments.models import ModelName, Size
from experiments.optimiser import adam, initial_state
from experiments.unit_layers import UnitScaledLayers

State = dict[str, Any]
Step = Callable[[State, Any, Any], tuple[State, Any]]

# The smallest and largest change of the dynamic loss scale; it grows after this many steps without an overflow
# (usually 2000, for longer runs).
LOSS_SCALE, GROWTH_INTERVAL = 2.0**15, 50


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One row.

    title: in tables. layers: of the model. precision: of `scalify`, for the compiler's way. scaled: under `scalify`.
    parameters, moments: element types of the state. rescales_gradients: dynamically, before the optimiser.
    kind: of the plain steps: "plain", "loss scaling", "delayed scaling" or "unit scaling".
    """

    title: str
    layers: Callable[..., Layers] = Layers
    precision: str | None = None
    scaled: bool = False
    parameters: str = "float32"
    moments: str = "float32"
    rescales_gradients: bool = False
    kind: str = "plain"


def _paper(title: str, fp8: bool, rescale: bool, parameters: str, moments: str, gradients: bool = False) -> Recipe:
    layers = PaperLayers(jnp.float16, fp8, rescale)
    return Recipe(title, lambda: layers, None, True, parameters, moments, gradients)


RECIPES: dict[str, Recipe] = {
    "f32": Recipe("FP32 baseline #0"),
    "bf16": Recipe("bf16 mixed precision", MixedLayers),
    "f16-loss-scaling": Recipe("f16 with dynamic loss scaling", lambda: MixedLayers(jnp.float16), kind="loss scaling"),
    "fp8-current": Recipe("FP8, current scaling", CurrentScalingLayers),
    "fp8-delayed": Recipe("FP8, delayed scaling", DelayedScalingLayers, kind="delayed scaling"),
    "fp8-unit-scaling": Recipe("FP8, unit scaling", UnitScaledLayers, kind="unit scaling"),
    "paper-1": _paper("#1 FP16, paper's way", False, False, "float32", "float32"),
    "paper-2": _paper("#2 FP16 state, paper's way", False, True, "float16", "float32"),
    "paper-3": _paper("#3 FP8, paper's way", True, True, "float16", "float32"),
    "paper-4": _paper("#4 FP8 and FP16 state, paper's way", True, True, "float16", "float16", True),
    "compiler-1": Recipe("#1 FP16, compiler's way", precision="fp16", scaled=True),
    "compiler-2": Recipe("#2 FP16 state, compiler's way", precision="fp16-state", scaled=True),
    "compiler-3": Recipe("#3 FP8, compiler's way", precision="fp8", scaled=True),
    "compiler-4": Recipe("#4 FP8 and FP16 state, compiler's way", precision="fp8-fp16-state", scaled=True),
}


def train_step(model: ModelName, size: Size, recipe: Recipe) -> Step:
    """One step of a recipe before any rewriting: (state, tokens, learning rate) -> (state, loss)."""
    if recipe.kind == "loss scaling":
        return _with_loss_scaling(model, size, recipe)
    if recipe.kind == "delayed scaling":
        return _with_delayed_scaling(model, size)
    if recipe.kind == "unit scaling":
        return _with_unit_scaling(model, size)

    def step(state: State, tokens: jax.Array, rate: jax.Array) -> tuple[State, jax.Array]:
        def loss(parameters: Any) -> jax.Array:
            return models.loss(model, size, parameters, tokens, recipe.layers())

        value, gradients = jax.value_and_grad(loss)(state["parameters"])
        if recipe.rescales_gradients:
            gradients = scalify_hlo.dynamic_rescale(gradients)
        return adam(state, gradients, rate), value

    return step


def compiled_step(model: ModelName, size: Size, recipe: Recipe) -> Step:
    """The step, rewritten where the recipe says so, and compiled. XLA may not keep f16 values in f32."""
    step: Any = train_step(model, size, recipe)
    if recipe.scaled:
        step = scalify_hlo.scalify(step, precision=recipe.precision)
    return jax.jit(step, compiler_options={"xla_allow_excess_precision": False})


def first_state(model: ModelName, size: Size, recipe: Recipe, seed: int) -> State:
    """The state before the first step, in the types of the recipe."""
    parameters = models.initial_parameters(model, size, seed)
    if recipe.kind == "unit scaling":
        parameters = jax.tree.map(lambda p, d: p / np.float32(d), parameters, models.deviations(model, size))
    state: State = initial_state(jax.tree.map(jnp.asarray, parameters))
    if recipe.kind == "loss scaling":
        state |= {"loss_scale": jnp.float32(LOSS_SCALE), "good_steps": jnp.zeros((), jnp.int32)}
    if recipe.kind == "delayed scaling":
        state["histories"] = jnp.zeros((_count_linear_layers(model, size), 3, HISTORY), jnp.float32)
    if recipe.scaled:
        state = scalify_hlo.as_scaled_array(state)
    if recipe.precision is not None:
        scaled = scalify_hlo.scalify(train_step(model, size, recipe), precision=recipe.precision)
        return scaled.stored(state, *example_arguments(size, 1))[0]
    for part, dtype in (("parameters", recipe.parameters), ("first", recipe.moments), ("second", recipe.moments)):
        # Of a ScaledArray the data, which are near 1.
        state[part] = jax.tree.map(lambda x, dtype=dtype: x.astype(dtype), state[part], is_leaf=_is_scaled)
    return state


def example_arguments(size: Size, batch: int) -> tuple[Any, Any]:
    """Tokens and a learning rate, as a scaled step takes them."""
    return np.zeros((batch, size.context + 1), np.int32), scalify_hlo.as_scaled_array(np.float32(1e-3))


def _is_scaled(x: Any) -> bool:
    return isinstance(x, scalify_hlo.ScaledArray)


def _count_linear_layers(model: ModelName, size: Size) -> int:
    layers = DelayedScalingLayers()
    parameters, tokens = models.initial_parameters(model, size, 0), jnp.zeros((1, size.context + 1), jnp.int32)
    jax.eval_shape(lambda p: models.loss(model, size, p, tokens, layers), parameters)
    return layers.calls


def _with_delayed_scaling(model: ModelName, size: Size) -> Step:
    def step(state: State, tokens: jax.Array, rate: jax.Array) -> tuple[State, jax.Array]:
        def loss(parameters: Any, histories: jax.Array) -> jax.Array:
            return models.loss(model, size, parameters, tokens, DelayedScalingLayers(histories))

        # The derivative with respect to the histories is the new histories.
        value, (gradients, histories) = jax.value_and_grad(loss, argnums=(0, 1))(
            state["parameters"], state["histories"]
        )
        return adam(state, gradients, rate) | {"histories": histories}, value

    return step


def _with_unit_scaling(model: ModelName, size: Size) -> Step:
    deviations = models.deviations(model, size)

    def step(state: State, tokens: jax.Array, rate: jax.Array) -> tuple[State, jax.Array]:
        # Brings the logits' gradient, of a mean over tokens and spread over the vocabulary, to unit RMS; Adam does not
        # see it.
        factor = tokens.shape[0] * (tokens.shape[1] - 1) * math.sqrt(size.vocabulary)

        def loss(parameters: Any) -> tuple[jax.Array, jax.Array]:
            value = models.loss(model, size, parameters, tokens, UnitScaledLayers())
            return value * factor, value

        gradients, value = jax.grad(loss, has_aux=True)(state["parameters"])
        return adam(state, gradients, rate, deviations), value

    return step


def _with_loss_scaling(model: ModelName, size: Size, recipe: Recipe) -> Step:
    """f32 state; the loss is multiplied before the backward pass; a step with an overflow is left out."""

    def step(state: State, tokens: jax.Array, rate: jax.Array) -> tuple[State, jax.Array]:
        scale = state["loss_scale"]

        def loss(parameters: Any) -> tuple[jax.Array, jax.Array]:
            value = models.loss(model, size, parameters, tokens, recipe.layers())
            return value * scale, value

        gradients, value = jax.grad(loss, has_aux=True)(state["parameters"])
        gradients = jax.tree.map(lambda g: g / scale, gradients)
        finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(g)) for g in jax.tree.leaves(gradients)]))
        new = adam(state, gradients, rate)
        kept = {name: state[name] for name in new}
        new = jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, kept)
        good = jnp.where(finite, state["good_steps"] + 1, 0)
        grown = jnp.where(good >= GROWTH_INTERVAL, 2 * scale, scale)
        return new | {
            "loss_scale": jnp.where(finite, grown, scale / 2),
            "good_steps": jnp.where(good >= GROWTH_INTERVAL, 0, good),
        }, value

    return step
