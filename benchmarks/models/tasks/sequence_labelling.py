"""Labels of a sequence by a linear-chain conditional random field: its partition function is a scan of logsumexp.

JAX alone; AdamW.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, SyntheticText, Tree, draw

TOKENS, LABELS, EMBEDDING, WIDTH, BATCH, CONTEXT = 16, 5, 24, 32, 16, 15


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    text = SyntheticText(TOKENS)
    parameters = {
        "embedding": generator.normal(size=(TOKENS, EMBEDDING)).astype(np.float32),
        "hidden": draw(generator, 3 * EMBEDDING, WIDTH),
        "bias": np.zeros(WIDTH, np.float32),
        "out": draw(generator, WIDTH, LABELS),
        "transitions": np.zeros((LABELS, LABELS), np.float32),
        "start": np.zeros(LABELS, np.float32),
    }
    optimizer = optax.adamw(1e-2)

    def loss_fn(parameters: Tree, tokens: jax.Array) -> jax.Array:
        x = parameters["embedding"][tokens]
        x = jnp.concatenate([jnp.roll(x, 1, axis=1), x, jnp.roll(x, -1, axis=1)], axis=-1)
        scores = jax.nn.relu(x @ parameters["hidden"] + parameters["bias"]) @ parameters["out"]
        labels = (tokens + jnp.roll(tokens, 1, axis=1)) % LABELS
        start, transitions = parameters["start"], parameters["transitions"]

        def forward(alpha: jax.Array, score: jax.Array) -> tuple[jax.Array, None]:
            return jax.nn.logsumexp(alpha[:, :, None] + transitions, axis=1) + score, None

        alpha, _ = jax.lax.scan(forward, start + scores[:, 0], jnp.moveaxis(scores[:, 1:], 1, 0))
        chosen = jnp.take_along_axis(scores, labels[..., None], axis=-1)[..., 0].sum(-1)
        chosen += start[labels[:, 0]] + transitions[labels[:, :-1], labels[:, 1:]].sum(-1)
        return jnp.mean(jax.nn.logsumexp(alpha, axis=-1) - chosen) / tokens.shape[1]

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: text.batch(seed, i, BATCH, CONTEXT))
