"""A model of L layers in a scan: what one iteration of its loops costs does not depend on L.

Weights, residuals and gradients are stacked buffers, [L, ...]. One scale for each layer means that an iteration touches
one slice of data and one number of scales; with one scale for the whole buffer each would rescale all of it. Proved by
counting, in the optimised HLO, the bytes that the instructions of a loop's body produce: exact numbers, equal at L and
2 L.
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.aot.hlo_text import Instruction, Program, parse
from scalify_hlo.execution import xla
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rewrite import rewrite_module

WIDTH, BATCH = 16, 4
# Produce nothing: names of what is there already.
_NO_WORK = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while"})


def bytes_per_iteration(hlo: str) -> list[int]:
    """For each loop of an HLO module, in the order of the text, the bytes that one run of its body produces.

    Instructions inside fusions and calls count like others, so that fusing hides nothing; an update in place counts
    the slice that it writes.
    """
    program = parse(hlo)
    loops = [each for _, each in program.instructions() if each.opcode == "while"]
    return [sum(_produced(program, name) for name in loop.called) for loop in loops]


def _produced(program: Program, computation: str) -> int:
    return sum(size for _, size in _work(program, computation))


def _work(program: Program, computation: str) -> Iterator[tuple[Instruction, int]]:
    members = program.computations[computation]
    for instruction in members.values():
        if instruction.opcode in ("fusion", "call", "conditional"):
            for called in instruction.called:
                yield from _work(program, called)
        elif instruction.opcode == "dynamic-update-slice":
            yield instruction, members[instruction.operands[1]].size_in_bytes
        elif instruction.opcode not in _NO_WORK:
            yield instruction, instruction.size_in_bytes


def _loss(weights: Any, biases: Any, x: Any) -> Any:
    """Residual layers that keep what their derivatives need, layer by layer."""

    def layer(h: Any, parameters: Any) -> tuple[Any, None]:
        w, b = parameters
        return h + jnp.tanh(h @ w + b) * jnp.asarray(0.5, h.dtype), None

    h, _ = jax.lax.scan(layer, x, (weights, biases))
    return (h.astype(jnp.float32) ** 2).mean()


def _step(weights: Any, biases: Any, x: Any) -> Any:
    """One step of gradient descent on stacked parameters."""
    gradients = jax.grad(_loss, argnums=(0, 1))(weights, biases, x)
    return tuple(p - jnp.asarray(0.125, p.dtype) * g for p, g in zip((weights, biases), gradients, strict=True))


def _scan_outputs(weights: Any, biases: Any, x: Any) -> Any:
    """Forward pass alone; every layer's output is stacked, with and without being scaled by the layer."""

    def layer(h: Any, parameters: Any) -> tuple[Any, Any]:
        w, b = parameters
        h = h @ w + b
        return h, (h, 4 * jnp.maximum(h, 0))

    return jax.lax.scan(layer, x, (weights, biases))


def text_of(function: Any, layers: int, dtype: Any) -> str:
    arguments = [np.zeros((layers, WIDTH, WIDTH), dtype), np.zeros((layers, WIDTH), dtype)]
    return str(jax.jit(function).lower(*arguments, np.zeros((BATCH, WIDTH), dtype)).compiler_ir("stablehlo"))


def counted(text: str) -> list[int]:
    return bytes_per_iteration(xla.compile(text).as_text())


@pytest.mark.parametrize(
    ("function", "dtype", "scale_dims"),
    [
        (_step, np.float32, ""),
        (_step, np.float16, ""),
        (_step, np.float32, "0=0,1=0"),
        (_scan_outputs, np.float32, ""),
        (_scan_outputs, np.float16, "0=0,1=0"),
    ],
    ids=["step", "step_f16", "step_with_scales_per_layer", "outputs", "outputs_f16_with_scales_per_layer"],
)
def test_an_iteration_costs_the_same_at_l_and_2_l(function: Any, dtype: Any, scale_dims: str) -> None:
    options = ScalifyOptions(scale_dims=scale_dims, result_scales="shaped" if scale_dims else "scalar")
    at_l, at_2_l = (counted(rewrite_module(text_of(function, n, dtype), options)) for n in (24, 48))
    assert at_l == at_2_l
    assert len(at_l) == (2 if function is _step else 1), "a loop for each of the original's"
    # Nothing in an iteration is as large as a buffer of all layers' weights.
    assert max(at_l) < 48 * WIDTH * WIDTH * np.dtype(dtype).itemsize


def test_a_pass_over_the_whole_buffer_is_counted() -> None:
    """The measure can fail: a loop that multiplies its buffer as a whole costs in proportion to it."""

    def rescaled(buffer: Any, x: Any) -> Any:
        def step(i: Any, buffer: Any) -> Any:
            return jax.lax.dynamic_update_slice(buffer * x[0], x[None] * i, (i, 0))

        return jax.lax.fori_loop(0, buffer.shape[0], step, buffer)

    counts: list[int] = []
    for layers in (24, 48):
        arguments = np.zeros((layers, WIDTH), np.float32), np.zeros(WIDTH, np.float32)
        (count,) = counted(str(jax.jit(rescaled).lower(*arguments).compiler_ir("stablehlo")))
        counts.append(count)
    assert counts[1] - counts[0] >= 24 * WIDTH * 4
