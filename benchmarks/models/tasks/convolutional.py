"""A residual network of convolutions with batch normalisation, trained by NovoGrad or by momentum with weight decay.

flax.linen. Pictures show one of four textures at a random place in noise.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, cross_entropy

PIXELS, CHANNELS, CLASSES, BATCH = 12, 16, 4, 16


class Network(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        def convolved(x: jax.Array, channels: int, stride: int = 1) -> jax.Array:
            x = nn.Conv(channels, (3, 3), (stride, stride), use_bias=False)(x)
            return nn.BatchNorm(use_running_average=False, momentum=0.9)(x)

        x = nn.relu(convolved(x, CHANNELS))
        for channels, stride in ((CHANNELS, 1), (2 * CHANNELS, 2)):
            y = convolved(nn.relu(convolved(x, channels, stride)), channels)
            x = nn.relu(y + (x if stride == 1 else nn.Conv(channels, (1, 1), (stride, stride))(x)))
        return nn.Dense(CLASSES)(jnp.mean(x, axis=(1, 2)))


def pictures(seed: int, step: int) -> Tree:
    generator = np.random.default_rng((seed, step))
    images = 0.7 * generator.normal(size=(BATCH, PIXELS, PIXELS, 1))
    labels = generator.integers(0, CLASSES, BATCH).astype(np.int32)
    rows, columns = np.indices((6, 6))
    textures = [rows % 2, columns % 2, (rows + columns) % 2, (rows // 2 + columns // 2) % 2]
    for image, label, (y, x) in zip(images, labels, generator.integers(0, 7, (BATCH, 2)), strict=True):
        image[y : y + 6, x : x + 6, 0] += 2 * textures[label] - 1
    return {"image": images.astype(np.float32), "label": labels}


def make(seed: int) -> Problem:
    return _problem(seed, optax.novograd(optax.cosine_decay_schedule(1e-2, 400), weight_decay=1e-3))


def make_momentum(seed: int) -> Problem:
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, 20, 400)
    return _problem(
        seed, optax.chain(optax.add_decayed_weights(5e-4), optax.sgd(schedule, momentum=0.9, nesterov=True))
    )


def _problem(seed: int, optimizer: optax.GradientTransformation) -> Problem:
    model = Network()
    variables = jax.jit(model.init)(jax.random.PRNGKey(seed), jnp.zeros((1, PIXELS, PIXELS, 1)))

    def loss_fn(parameters: Tree, batch_stats: Tree, batch: Tree) -> Any:
        logits, changed = model.apply(
            {"params": parameters, "batch_stats": batch_stats}, batch["image"], mutable=["batch_stats"]
        )
        return cross_entropy(logits, batch["label"]), changed["batch_stats"]

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        (loss, batch_stats), gradients = jax.value_and_grad(loss_fn, has_aux=True)(
            state["params"], state["batch_stats"], batch
        )
        updates, opt_state = optimizer.update(gradients, state["opt_state"], state["params"])
        parameters = optax.apply_updates(state["params"], updates)
        return {"params": parameters, "batch_stats": batch_stats, "opt_state": opt_state}, loss

    return Problem(step, {**variables, "opt_state": optimizer.init(variables["params"])}, lambda i: pictures(seed, i))
