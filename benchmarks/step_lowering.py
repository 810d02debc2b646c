"""One training step, traced, given scales and lowered by a library of the jax-scalify interface; prints JSON.

Run by `benchmarks.frontend_calls` in an interpreter that has the library, so that each has the version of jax that it
needs; it imports nothing else.

    python benchmarks/step_lowering.py LIBRARY PROGRAM LAYERS

LIBRARY: `scalify_hlo`, `jax_scalify`, or `jax` for the step as it is. PROGRAM: "mlp", a classifier of relu layers
trained by SGD, written with what jax-scalify has rules for, as its MNIST example is; or "gpt2", that of
`examples/gpt2.py`.

Printed: the median seconds of tracing and lowering, the number of StableHLO operations in the lowered program,
versions; or the error for which there is no such program.
"""

import gc
import importlib
import itertools
import json
import pathlib
import platform
import statistics
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_REPEATS, _WIDTH, _BATCH = 3, 64, 32


def _mlp(layers: int) -> tuple[Any, Any]:
    rng = np.random.RandomState(0)
    sizes = [_WIDTH] * (layers + 1)
    parameters = [(rng.randn(m, n) / 8, np.zeros(n)) for m, n in itertools.pairwise(sizes)]
    batch = rng.randn(_BATCH, _WIDTH), np.eye(_WIDTH)[rng.randint(0, _WIDTH, _BATCH)]

    def loss(parameters: Any, batch: Any) -> Any:
        hidden, targets = batch
        for w, b in parameters[:-1]:
            hidden = jnp.maximum(jnp.dot(hidden, w) + b, 0)
        logits = jnp.dot(hidden, parameters[-1][0]) + parameters[-1][1]
        largest = jax.lax.stop_gradient(jnp.max(logits, axis=1, keepdims=True))
        shifted = logits - largest
        log_probabilities = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=1, keepdims=True))
        return -jnp.mean(jnp.sum(log_probabilities * targets, axis=1))

    def step(parameters: Any, batch: Any) -> Any:
        gradients = jax.grad(loss)(parameters, batch)
        return [
            (w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(parameters, gradients, strict=True)
        ]  # fmt: skip

    arrays = jax.tree_util.tree_map(lambda v: np.asarray(v, np.float16), (parameters, batch))
    return step, arrays


def _gpt2(layers: int) -> tuple[Any, Any]:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from examples import gpt2

    config = gpt2.GPT2Config(layers=layers, dtype="float16")
    step = gpt2.make_train_step(config).__wrapped__
    tokens = np.zeros((4, config.context + 1), np.int32)
    return step, (gpt2.initial_state(config), tokens, np.float16(1e-3))


def measure(library: str, program: str, layers: int) -> dict[str, Any]:
    """The record that is printed."""
    step, arguments = {"mlp": _mlp, "gpt2": _gpt2}[program](layers)
    transform = step
    if library != "jax":
        package = importlib.import_module(library)
        arguments = package.as_scaled_array(arguments, scale=np.float32(1))
        transform = package.scalify(step)
    arguments = jax.tree_util.tree_map(jnp.asarray, arguments)
    seconds = []
    for _ in range(_REPEATS + 1):
        jax.clear_caches()
        gc.collect()
        start = time.perf_counter()
        lowered = jax.jit(transform).lower(*arguments)
        seconds.append(time.perf_counter() - start)
    text = lowered.as_text()
    return {"seconds": statistics.median(seconds[1:]), "operations": text.count("stablehlo.")}


def main() -> None:
    """Measure what the command line asks for."""
    library, program, layers = sys.argv[1:]
    try:
        record = measure(library, program, int(layers))
    except Exception as error:  # noqa: BLE001
        # Whatever a library says about a program that it does not take.
        record = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    versions = {"jax": jax.__version__, "python": platform.python_version()}
    if library != "jax" and library in sys.modules:
        versions[library] = sys.modules[library].__version__
    print(json.dumps({**record, "versions": versions}))


if __name__ == "__main__":
    main()
