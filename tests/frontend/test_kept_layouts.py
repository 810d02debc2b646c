"""State leaves a step over devices as the step says, with other element types and scales than it was traced with."""

import textwrap

from tests import four_devices

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np
import scalify_hlo as sc
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

rng = np.random.default_rng(0)
params = {"a": np.float32(rng.standard_normal((32, 64)) / 6), "b": np.float32(rng.standard_normal((64, 32)) / 8)}
x = np.float32(rng.standard_normal((64, 32)))
batch = x, np.sin(x)

def adam(g, m, v):
    return (m := 0.9 * m + 0.1 * g), (v := 0.999 * v + 0.001 * g * g), -0.01 * m / (jnp.sqrt(v) + 1e-8)

def moved(loss, state, batch):
    p, m, v = state
    value, g = jax.value_and_grad(loss)(p, *batch)
    new = {k: adam(g[k], m[k], v[k]) for k in p}
    m, v = ({k: each[i] for k, each in new.items()} for i in (0, 1))
    return ({k: p[k] + new[k][2] for k in p}, m, v), value

def specs(tree):
    return [each.data.sharding.spec for each in sc.tree.leaves(tree)]

zeros = {k: np.zeros_like(w) for k, w in params.items()}
state = params, zeros, zeros
"""


def test_constraints_on_new_state_hold() -> None:
    """ZeRO-1: moments in parts, weights whole at the end. The sum of a weight and its update has several readers."""
    program = """
    mesh = jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,))
    whole, parts = NamedSharding(mesh, P()), NamedSharding(mesh, P("d"))
    layouts = tuple({k: each for k in params} for each in (whole, parts, parts))
    def loss(p, x, y):
        return jnp.mean((jax.nn.gelu(x @ p["a"]) @ p["b"] - y) ** 2)
    def step(state, batch):
        state, value = moved(loss, state, batch)
        return jax.lax.with_sharding_constraint(state, layouts), value
    for precision in (None, "fp16", "fp8-fp16-state"):
        f = sc.scalify(step, precision=precision)
        scaled, data = sc.as_scaled_array((state, batch))
        scaled = jax.device_put(scaled, sc.scaled_shardings(layouts, scaled))
        data = jax.device_put(data, sc.scaled_shardings(parts, data))
        for _ in range(2):
            scaled, _ = f(scaled, data)
        found = specs(scaled)
        assert found == [P(), P(), *[P("d")] * 4], (precision, found)
    """
    four_devices.run(PRELUDE + textwrap.dedent(program))


def test_explicit_layouts_of_narrow_state_are_traced() -> None:
    """Tensor parallel in explicit mode: where all state is narrow, no other argument tells how products lie."""
    program = """
    mesh = jax.make_mesh((2, 2), ("d", "m"), axis_types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        of_params = {"a": NamedSharding(mesh, P(None, "m")), "b": NamedSharding(mesh, P("m", None))}
        layouts = of_params, of_params, of_params
        def loss(p, x, y):
            h = jax.nn.gelu(jnp.einsum("bd,df->bf", x, p["a"], out_sharding=P("d", "m")))
            return jnp.mean((jnp.einsum("bf,fd->bd", h, p["b"], out_sharding=P("d", None)) - y) ** 2)
        f = sc.scalify(lambda state, batch: moved(loss, state, batch), precision="fp8-fp16-state")
        scaled, data = sc.as_scaled_array((state, batch))
        scaled = jax.device_put(scaled, sc.scaled_shardings(layouts, scaled))
        data = jax.device_put(data, sc.scaled_shardings(NamedSharding(mesh, P("d", None)), data))
        for _ in range(3):
            scaled, _ = f(scaled, data)
            found = specs(scaled)
            assert found == [P(None, "m"), P("m", None)] * 3, found
    """
    four_devices.run(PRELUDE + textwrap.dedent(program))
