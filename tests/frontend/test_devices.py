"""Several devices: shardings, shard_map with collectives, exports for a mesh. In a process with four CPU devices."""

import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, scalify_hlo as sc
from jax import export
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
assert jax.device_count() == 4
mesh = jax.make_mesh((4,), ("i",), axis_types=(AxisType.Auto,))
X = np.float32(np.random.default_rng(0).standard_normal((8, 16)))
W = np.float32(np.random.default_rng(1).standard_normal((16, 4)))
def pair(x, scale, spec):
    data = jax.device_put(x / np.float32(scale), NamedSharding(mesh, spec))
    return sc.ScaledArray(data, jax.device_put(np.float32(scale), NamedSharding(mesh, P())))
"""


def run(program):
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, "-W", "error", "-c", PRELUDE + textwrap.dedent(program)],
                          capture_output=True, text=True, env=environment, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_sharded_arguments():
    run("""
    def step(w, x):
        gradient = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
        return w - 0.1 * gradient
    x, w = pair(X, 4, P("i")), pair(W, 0.5, P(None, "i"))
    expected = step(W, X)
    for function in (sc.scalify(step), jax.jit(sc.scalify(step))):
        y = function(w, x)
        np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-5, atol=1e-6)
    constrained = sc.scalify(lambda x: jax.lax.with_sharding_constraint(x * 3, NamedSharding(mesh, P(None, "i"))))
    y = constrained(x)
    assert y.data.sharding.spec == P(None, "i")
    np.testing.assert_allclose(np.asarray(y), 3 * X)
    """)


@pytest.mark.parametrize("check_vma", [False, True])
def test_shard_map_inside(check_vma):
    """Each device has the sum over all, whatever its own data are like."""
    run(f"""
    @sc.scalify
    def total(x):
        return jax.shard_map(
            lambda x: jax.lax.psum(jnp.sum(x * x, axis=0), "i"), mesh=mesh, in_specs=P("i"), out_specs=P(),
            check_vma={check_vma},
        )(x)
    y = total(pair(X, 4, P("i")))
    np.testing.assert_allclose(np.asarray(y), np.sum(X * X, axis=0), rtol=1e-5)
    """)


def test_inside_shard_map():
    run("""
    @sc.scalify
    def local(x):
        return jax.lax.psum(jnp.sum(x, axis=0), "i")
    inputs, outputs = sc.ScaledArray(P("i"), P()), sc.ScaledArray(P(), P())
    mapped = jax.shard_map(local, mesh=mesh, in_specs=(inputs,), out_specs=outputs, check_vma=False)
    y = jax.jit(mapped)(pair(X, 4, P("i")))
    np.testing.assert_allclose(np.asarray(y), np.sum(X, axis=0), rtol=1e-5, atol=1e-6)
    """)


def test_export_for_a_mesh():
    run("""
    sharding = NamedSharding(mesh, P("i"))
    function = jax.jit(lambda x: x * 2, in_shardings=sharding, out_shardings=sharding)
    exported = export.export(function)(jax.ShapeDtypeStruct(X.shape, X.dtype))
    scaled = export.deserialize(sc.scalify_exported(exported).serialize())
    assert scaled.nr_devices == 4
    y = jax.jit(scaled.call)(pair(X, 4, P("i")))
    assert y.data.sharding.spec == P("i")
    np.testing.assert_array_equal(np.asarray(y), 2 * X)
    """)
