"""The paper's Algorithm 1 with models and optimizers of other libraries: f16 end to end beside f32.

Trains each model with each optimizer four times from the same parameters on the same batches:

- "f32": the step under `jax.jit`;
- "f16": the same step under `scalify`. Parameters, batches, activations, gradients and the optimizer's state are f16
  ScaledArrays, there is no loss scaling and no f32 copy, and XLA may not keep f16 values in f32 between operations
  (`xla_allow_excess_precision` is off). After every `--rescale-every` steps the state goes through `rescale_state`,
  the last line of Algorithm 1. Inside the step scales come from static rules alone;
- "f16 rescaled": the same with two lines more in the step, no-ops elsewhere: `dynamic_rescale_l2_grad` on the model's
  output and `dynamic_rescale_l2` on the gradients before the optimizer;
- "f16 rescaled, paper's rules": that with `ScalifyOptions(rules="paper")`.

Models: the GPT-2 of `examples/gpt2.py` on text (cross-entropy in nats per byte), a flax nnx and an equinox network of
one hidden layer on a regression task. Optimizers: optax Adam, AdamW, Lion and Adafactor, with epsilons that f16 holds.

    python -m benchmarks.algorithm_1 [--models gpt2,nnx,equinox] [--optimizers adam,adamw,lion,adafactor] [--steps 100]

Beside the losses the record has the bytes of the state in both forms.
"""

import dataclasses
import math
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import click
import jax
import jax.numpy as jnp
import numpy as np
import optax

import scalify_hlo as sc
from benchmarks.records import RESULTS, environment, write_json
from examples import gpt2, text

# Exactly representable in f16, where Adam's usual 1e-8 would be 0.
_EPSILON = 2.0**-16
RUNS = ("f32", "f16", "f16 rescaled", "f16 rescaled, paper's rules")
# Losses whose mean is the final one.
_LAST = 10
_MODELS = ("gpt2", "nnx", "equinox")
_OPTIMIZERS: dict[str, Callable[[float], Any]] = {
    "adam": lambda rate: optax.adam(rate, eps=_EPSILON),
    "adamw": lambda rate: optax.adamw(rate, eps=_EPSILON, weight_decay=1e-2),
    "lion": lambda rate: optax.lion(rate / 10),
    "adafactor": lambda rate: optax.adafactor(rate, min_dim_size_to_factor=16, eps=2.0**-24),
}


@dataclasses.dataclass(frozen=True)
class Model:
    """Parameters in f32, the output for a batch, the loss of an output and a batch, and the batches."""

    parameters: Any
    output: Callable[[Any, Any], Any]
    loss: Callable[[Any, Any], Any]
    batches: Callable[[], Iterator[Any]]
    rate: float


def gpt2_model(dtype: str, layers: int = 2) -> Model:
    """The GPT-2 whose program is written for one element type; its parameters are f32 all the same."""
    config = gpt2.GPT2Config(layers=layers, width=64, heads=2, context=32, dtype=dtype)
    corpus = text.load()
    return Model(
        gpt2.initial_parameters(dataclasses.replace(config, dtype="float32")),
        lambda parameters, tokens: gpt2.logits(config, parameters, tokens[:, :-1]),
        _cross_entropy,
        lambda: corpus.batches(8, config.context, 0),
        1e-3,
    )


def _regression() -> Iterator[Any]:
    rng = np.random.default_rng(7)
    teacher = rng.standard_normal((32, 8))
    while True:
        x = rng.standard_normal((64, 32))
        yield np.float32(x), np.float32(np.tanh(x @ teacher))


def _cross_entropy(scores: Any, tokens: Any) -> Any:
    chosen = jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(scores, axis=-1) - chosen)


def _squared_error(predicted: Any, batch: Any) -> Any:
    return jnp.mean((predicted - batch[1]) ** 2)


def nnx_model(dtype: str) -> Model:
    """Linear, layer norm, gelu, linear of flax nnx."""
    del dtype
    from flax import nnx

    class Network(nnx.Module):
        def __init__(self, rngs: nnx.Rngs):
            self.first = nnx.Linear(32, 128, rngs=rngs)
            self.norm = nnx.LayerNorm(128, rngs=rngs)
            self.second = nnx.Linear(128, 8, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.second(nnx.gelu(self.norm(self.first(x))))

    graph, parameters = nnx.split(Network(nnx.Rngs(0)))
    return Model(parameters, lambda p, batch: nnx.merge(graph, p)(batch[0]), _squared_error, _regression, 1e-2)


def equinox_model(dtype: str) -> Model:
    """The multi-layer perceptron of equinox, with gelu."""
    del dtype
    import equinox

    network = equinox.nn.MLP(32, 8, 128, 1, activation=jax.nn.gelu, key=jax.random.key(0))
    parameters, static = equinox.partition(network, equinox.is_inexact_array)
    return Model(
        parameters,
        lambda p, batch: jax.vmap(equinox.combine(p, static))(batch[0]),
        _squared_error,
        _regression,
        1e-2,
    )


_MAKE: dict[str, Callable[[str], Model]] = {"gpt2": gpt2_model, "nnx": nnx_model, "equinox": equinox_model}


def make_step(model: Model, optimizer: Any, rescaled: bool) -> Callable[[Any, Any], Any]:
    """One training step, an ordinary JAX function: (state, batch) -> (state, loss)."""

    def loss(parameters: Any, batch: Any) -> Any:
        output = model.output(parameters, batch)
        if rescaled:
            output = sc.ops.dynamic_rescale_l2_grad(output)
        return model.loss(output, batch)

    def step(state: Any, batch: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(state["parameters"], batch)
        if rescaled:
            gradients = sc.ops.dynamic_rescale_l2(gradients)
        updates, optimizer_state = optimizer.update(gradients, state["optimizer"], state["parameters"])
        return {"parameters": optax.apply_updates(state["parameters"], updates), "optimizer": optimizer_state}, value

    return step


class Compiled:
    """A step compiled without excess precision, once for each structure and types of its arguments."""

    def __init__(self, step: Any):
        self._step = step
        self._compiled: dict[Any, Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        leaves, tree = jax.tree.flatten(arguments)
        key = tree, tuple((np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves)
        if key not in self._compiled:
            lowered = self._step.lower(*arguments)
            self._compiled[key] = lowered.compile({"xla_allow_excess_precision": False})
        return self._compiled[key](*arguments)


def train(model_name: str, optimizer_name: str, run_name: str, steps: int, rescale_every: int) -> dict[str, Any]:
    """One run. The losses end where one is not finite."""
    narrow = run_name != "f32"
    dtype = "float16" if narrow else "float32"
    model = _MAKE[model_name](dtype)
    optimizer = _OPTIMIZERS[optimizer_name](model.rate)
    step = make_step(model, optimizer, "rescaled" in run_name)
    options = sc.ScalifyOptions(rules="paper" if "paper" in run_name else "default")
    state = {"parameters": model.parameters, "optimizer": optimizer.init(model.parameters)}
    if narrow:
        state = sc.tree.astype(sc.as_scaled_array(state), dtype, floating_only=True)
    run = Compiled(sc.scalify(step, options=options) if narrow else jax.jit(step))
    state = jax.tree.map(jnp.asarray, state)
    nbytes, losses, batches = sc.tree.nbytes(state), [], model.batches()
    for i in range(steps):
        batch = next(batches)
        if narrow:
            batch = sc.tree.astype(sc.as_scaled_array(batch), dtype, floating_only=True)
        state, loss = run(state, jax.tree.map(jnp.asarray, batch))
        losses.append(float(np.asarray(loss, np.float32)))
        if not math.isfinite(losses[-1]):
            break
        if narrow and rescale_every and (i + 1) % rescale_every == 0:
            state = sc.rescale_state(state)
    return {"losses": losses, "state bytes": nbytes}


def compared(f32: dict[str, Any], f16: dict[str, Any]) -> dict[str, Any]:
    """The mean of the last losses, and the largest distance of a loss relative to f32's."""
    exact, narrow = np.array(f32["losses"]), np.array(f16["losses"])
    if not np.isfinite(narrow[-1]):
        return {"last": None, "largest relative distance": None, "not finite at step": len(narrow)}
    distance = float(np.max(np.abs(narrow - exact) / np.abs(exact)))
    return {
        "last": float(narrow[-_LAST:].mean()), "largest relative distance": distance, "not finite at step": None
    }  # fmt: skip


def rows(model: str, optimizer: str, record: dict[str, Any]) -> str:
    """The lines of the table for one pair."""
    f32 = record["f32"]["losses"]
    sizes = f"{record['f32']['state bytes']} bytes of state, {record['f16']['state bytes']} in f16"
    lines = [f"{model}, {optimizer}: f32 {f32[0]:.4f} to {np.mean(f32[-_LAST:]):.4f}; {sizes}"]
    for name in RUNS[1:]:
        found = record[name]["compared"]
        lines.append(
            f"    {name}: not finite at step {found['not finite at step']}"
            if found["last"] is None
            else f"    {name}: to {found['last']:.4f}, distance at most {found['largest relative distance']:.2%}"
        )
    return "\n".join(lines)


@click.command(help=__doc__)
@click.option("--models", default=",".join(_MODELS), show_default=True)
@click.option("--optimizers", default=",".join(_OPTIMIZERS), show_default=True)
@click.option("--steps", type=click.IntRange(1), default=100, show_default=True)
@click.option("--rescale-every", type=click.IntRange(0), default=1, show_default=True, help="0: never.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=RESULTS / "algorithm_1.json")
def main(models: str, optimizers: str, steps: int, rescale_every: int, out: pathlib.Path) -> None:
    record: dict[str, Any] = {
        "environment": {**environment(), "optax": optax.__version__},
        "steps": steps,
        "rescale every": rescale_every,
        "runs": {},
    }
    for model in models.split(","):
        for optimizer in optimizers.split(","):
            runs = {run: train(model, optimizer, run, steps, rescale_every) for run in RUNS}
            for run in RUNS[1:]:
                runs[run]["compared"] = compared(runs["f32"], runs[run])
            record["runs"][f"{model}, {optimizer}"] = runs
            print(rows(model, optimizer, runs), flush=True)
            write_json(out, record)


if __name__ == "__main__":
    main()
