"""Losses that are per-device code, and state that has a dimension for the devices, train as on one device."""

import textwrap

import pytest

from tests import four_devices

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np
import scalify_hlo as sc
from jax.sharding import PartitionSpec as P

rng = np.random.default_rng(0)
params = {"a": np.float32(rng.standard_normal((32, 64)) / 6), "b": np.float32(rng.standard_normal((64, 32)) / 8)}
x = np.float32(rng.standard_normal((128, 32)))
y = np.sin(x)

def local(p, x, y):
    return jnp.mean((jax.nn.gelu(x @ p["a"]) @ p["b"] - y) ** 2)

def update(rate):
    return lambda p, g: p - rate * g

def steps(loss, rate):
    def step(p, x, y):
        value, g = jax.value_and_grad(loss)(p, x, y)
        return jax.tree.map(update(rate), p, g), value
    return step

def errors(step, p, *data, precision, rate):
    new, value = sc.scalify(step, precision=precision)(sc.as_scaled_array(p), *sc.as_scaled_array(data))
    reference, expected = jax.jit(steps(local, rate))(params, x, y)
    assert abs(float(np.mean(np.asarray(value))) - float(expected)) < 0.02 * float(expected)
    moved = {k: np.float64(np.asarray(new[k])).reshape(-1, *params[k].shape)[0] - params[k] for k in params}
    wanted = {k: np.float64(reference[k]) - params[k] for k in params}
    return new, max(np.linalg.norm(moved[k] - wanted[k]) / np.linalg.norm(wanted[k]) for k in params)
"""


@pytest.mark.parametrize(("precision", "bound"), [("fp16-state", 0.002), ("fp8", 0.09), ("fp8-fp16-state", 0.09)])
def test_a_loss_that_is_a_shard_map_is_differentiated(precision: str, bound: float) -> None:
    """JAX makes one region of the forward pass and one of the backward pass; names in them are the region's own, and
    what the mean divides by is handed from one to the other."""
    program = f"""
    mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    def parts(p, x, y):
        return jax.lax.pmean(local(p, x, y), "d")
    mapped = jax.shard_map(parts, mesh=mesh, in_specs=(P(), P("d"), P("d")), out_specs=P())
    new, error = errors(steps(mapped, 50.0), params, x, y, precision="{precision}", rate=50.0)
    assert new["a"].dtype == np.float16, new["a"].dtype
    assert error < {bound}, error
    """
    four_devices.run(PRELUDE + textwrap.dedent(program))


@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
def test_state_with_a_dimension_for_the_devices_is_state(precision: str) -> None:
    """`pmap` as it is used: state has a leading dimension, of which each device has one element."""
    program = f"""
    def step(p, x, y):
        value, g = jax.value_and_grad(local)(p, x, y)
        g = jax.lax.pmean(g, "d")
        return jax.tree.map(update(RATE), p, g), jax.lax.pmean(value, "d")
    fp16 = "{precision}" == "fp16"
    RATE = 1e-3 if fp16 else 50.0
    replicated = {{k: np.broadcast_to(v, (4, *v.shape)).copy() for k, v in params.items()}}
    data = x.reshape(4, 32, 32), y.reshape(4, 32, 32)
    new, error = errors(jax.pmap(step, axis_name="d"), replicated, *data, precision="{precision}", rate=RATE)
    assert new["a"].dtype == (np.float32 if fp16 else np.float16)
    assert error < 0.003, error
    """
    four_devices.run(PRELUDE + textwrap.dedent(program))


def test_updates_are_f32_where_a_step_returns_a_part_of_them() -> None:
    """Then no result is new state of an argument's shape, but names tell what the optimiser computes."""
    program = """
    def part(p, x, y):
        value, g = jax.value_and_grad(local)(p, x, y)
        return jax.tree.map(update(1e-3), p, jax.lax.pmean(g, "d")), jax.lax.pmean(value, "d")
    def step(p, x, y):
        new, value = jax.pmap(part, axis_name="d", in_axes=(None, 0, 0))(p, x, y)
        return jax.tree.map(lambda v: v[0], new), value[0]
    data = x.reshape(4, 32, 32), y.reshape(4, 32, 32)
    _, error = errors(step, params, *data, precision="fp16", rate=1e-3)
    assert error < 0.003, error
    """
    four_devices.run(PRELUDE + textwrap.dedent(program))


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("form", ["gathered", "averaged"])
def test_new_weights_between_devices_are_not_rounded(form: str, precision: str) -> None:
    """ZeRO-1 gathers the parts of the new weights, local SGD averages them."""
    program = f"""
    mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    def step(p, x, y):
        value, g = jax.value_and_grad(local)(p, x, y)
        def new(w, g):
            if "{form}" == "averaged":
                return jax.lax.pmean(w - 1e-3 * g, "d")
            n = w.shape[0] // 4
            g = jax.lax.psum_scatter(g, "d", scatter_dimension=0, tiled=True) / 4
            mine = jax.lax.dynamic_slice_in_dim(w, jax.lax.axis_index("d") * n, n, 0)
            return jax.lax.all_gather(mine - 1e-3 * g, "d", axis=0, tiled=True)
        return jax.tree.map(new, p, g), jax.lax.pmean(value, "d")
    mapped = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("d"), P("d")), out_specs=P(), check_vma=False)
    _, error = errors(mapped, params, x, y, precision="{precision}", rate=1e-3)
    assert error < 0.02, error
    """
    four_devices.run(PRELUDE + textwrap.dedent(program))
