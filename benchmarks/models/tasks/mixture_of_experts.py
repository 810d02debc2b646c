"""A transformer whose feed-forward layers are mixtures of experts: top-2 routing with a capacity, load-balancing loss.

GShard's dispatch (Lepikhin et al., 2020) in flax.linen; AdamW with clipped gradients and a warm-up.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from benchmarks.models.tasks.problem import Problem, SyntheticText, Tree, cross_entropy

VOCABULARY, WIDTH, CONTEXT, BATCH, EXPERTS = 16, 32, 24, 16, 4


class Experts(nn.Module):
    """Each token goes to its two likeliest experts, as long as these have room."""

    experts: int
    hidden: int
    capacity_factor: float = 1.5

    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        capacity = int(self.capacity_factor * 2 * x.shape[0] / self.experts)
        probabilities = jax.nn.softmax(nn.Dense(self.experts, use_bias=False, name="router")(x))
        gates, chosen = jax.lax.top_k(probabilities, 2)
        gates = gates / jnp.sum(gates, -1, keepdims=True)
        one_hot = jax.nn.one_hot(chosen, self.experts)  # [tokens, 2, experts]
        ahead = jnp.cumsum(one_hot.reshape(-1, self.experts), axis=0).reshape(one_hot.shape) - 1
        one_hot = one_hot * (ahead < capacity)
        place = jnp.sum(ahead * one_hot, -1).astype(jnp.int32)
        slots = jax.nn.one_hot(place, capacity)  # [tokens, 2, capacity]
        dispatch = jnp.einsum("tke,tkc->tec", one_hot, slots)
        combine = jnp.einsum("tk,tke,tkc->tec", gates, one_hot, slots)
        init = nn.initializers.lecun_normal(batch_axis=0)
        up = self.param("up", init, (self.experts, shape[-1], self.hidden))
        down = self.param("down", init, (self.experts, self.hidden, shape[-1]))
        inputs = jnp.einsum("tec,td->ecd", dispatch, x)
        hidden = nn.gelu(jnp.einsum("ecd,edh->ech", inputs, up))
        outputs = jnp.einsum("ech,ehd->ecd", hidden, down)
        share = jnp.mean(jax.nn.one_hot(chosen[:, 0], self.experts), axis=0)
        balance = self.experts * jnp.sum(share * jnp.mean(probabilities, axis=0))
        return jnp.einsum("tec,ecd->td", combine, outputs).reshape(shape), balance


class Transformer(nn.Module):
    layers: int = 2

    @nn.compact
    def __call__(self, tokens: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = nn.Embed(VOCABULARY, WIDTH)(tokens)
        x = x + self.param("positions", nn.initializers.normal(0.1), (CONTEXT, WIDTH))
        mask, balance = nn.make_causal_mask(tokens), 0.0
        for _ in range(self.layers):
            x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x), mask=mask)
            y, loss = Experts(EXPERTS, 2 * WIDTH)(nn.LayerNorm()(x))
            x, balance = x + y, balance + loss
        return nn.Dense(VOCABULARY)(nn.LayerNorm()(x)), balance


def make(seed: int) -> Problem:
    model, text = Transformer(), SyntheticText(VOCABULARY)
    schedule = optax.warmup_cosine_decay_schedule(0.0, 5e-3, 10, 400)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-2))
    parameters = jax.jit(model.init)(jax.random.PRNGKey(seed), jnp.zeros((1, CONTEXT), jnp.int32))

    def loss_fn(parameters: Tree, tokens: jax.Array) -> Any:
        logits, balance = model.apply(parameters, tokens[:, :-1])
        loss = cross_entropy(logits, tokens[:, 1:])
        return loss + 0.01 * balance, loss

    def step(state: Tree, tokens: jax.Array) -> tuple[Tree, jax.Array]:
        (_, loss), gradients = jax.value_and_grad(loss_fn, has_aux=True)(state["params"], tokens)
        updates, opt_state = optimizer.update(gradients, state["opt_state"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt_state": opt_state}, loss

    state = {"params": parameters, "opt_state": optimizer.init(parameters)}
    return Problem(step, state, lambda i: text.batch(seed, i, BATCH, CONTEXT))
