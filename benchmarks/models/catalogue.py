"""The models by name."""

from collections.abc import Callable

import jax
import numpy as np

from benchmarks.models import llama, lstm, resnet, vit
from benchmarks.models.training import Model, Tree
from examples import gpt2, text


def _gpt2(layers: int, width: int = 64, context: int = 32, batch: int = 4, seed: int = 0) -> Model:
    """`examples.gpt2` as it is, and a batch of text."""
    config = gpt2.GPT2Config(layers=layers, width=width, context=context)

    def loss(parameters: Tree, tokens: jax.Array) -> jax.Array:
        dtype = str(parameters["token_embedding"].dtype)
        return gpt2.loss(gpt2.GPT2Config(layers=layers, width=width, context=context, dtype=dtype), parameters, tokens)

    parameters = jax.tree.map(np.asarray, gpt2.initial_parameters(config, seed))
    return Model("gpt2", parameters, loss, next(text.load().batches(batch, context, seed)))


# Each takes the number of layers; its other sizes have defaults that suit one CPU core.
MODELS: dict[str, Callable[..., Model]] = {
    "gpt2": _gpt2,
    "llama": llama.make,
    "resnet": resnet.make,
    "lstm": lstm.make,
    "vit": vit.make,
}
