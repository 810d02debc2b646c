"""Operations between devices, on four of them: scales that are equal everywhere, and scales that are not."""

import re

import pytest

from scalify_hlo.rewrite import rewrite_module
from tests import four_devices

# Each device's own scale: `set_scaling` to a power of two that depends on the device.
_PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import AxisType, PartitionSpec as P
from scalify_hlo.execution import xla
from scalify_hlo.frontend.primitives import set_scaling
from scalify_hlo.rewrite import rewrite_module

mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
rng = np.random.default_rng(0)
x = rng.normal(size=(8, 8)).astype(np.float32)
w = rng.normal(size=(8, 4)).astype(np.float32)


def collectives(x):
    return (
        lax.psum(x, "a"), lax.pmax(x, "b"), lax.pmin(x, "a"), lax.all_gather(x, "a", axis=0, tiled=True).sum(0)[None],
        lax.ppermute(x, "a", [(0, 1)]), lax.all_to_all(x, "b", 0, 0, tiled=True),
        lax.psum_scatter(x, "b", scatter_dimension=1, tiled=True),
    )


def equal_scales(x, w):
    return collectives(lax.psum(x @ w, "b"))


def unequal_scales(x, w):
    device = (lax.axis_index("a") + 2 * lax.axis_index("b")).astype(jnp.float32)
    x = set_scaling(x, jnp.ldexp(jnp.float32(1), 3 * device.astype(jnp.int32))) + 0 * w.sum()
    looped = lax.fori_loop(0, 3, lambda i, c: c * 1.5 + lax.psum(x, "a"), x)
    return (*collectives(x), looped, jax.nn.relu(x))


for body, aligned in ((equal_scales, False), (unequal_scales, True)):
    mapped = jax.shard_map(body, mesh=mesh, in_specs=(P("a", "b"), P("b")), out_specs=P("a", "b"), check_vma=False)
    module = jax.jit(lambda x, w: mapped(x, w)).lower(x, w).as_text()
    rewritten = rewrite_module(module)
    # Scales meet in a collective of their own only where they may differ.
    assert (rewritten.count("stablehlo.all_reduce") > module.count("stablehlo.all_reduce")) == aligned, rewritten
    expected = xla.compile(module)([x, w])
    executable = xla.compile(rewritten)
    for s, t in ((0, 0), (7, -9), (-9, 7)):
        scales = np.float32(2.0**s), np.float32(2.0**t)
        got = executable([x / scales[0], scales[0], w / scales[1], scales[1]])
        for i, want in enumerate(expected):
            np.testing.assert_array_equal(got[2 * i] * got[2 * i + 1], want, err_msg=f"{body.__name__}, result {i}")

# In f16 the sum of four data of 40000 is no f16: the power of two comes before the devices' sum, not after it.
large = jax.shard_map(lambda x: (lax.psum(x, ("a", "b")), lax.psum_scatter(x, ("a", "b"), tiled=True)),
                      mesh=mesh, in_specs=P(), out_specs=(P(), P(("a", "b"))), check_vma=False)
data = np.full((8,), 30000, np.float16)
module = jax.jit(large).lower(data).as_text()
got = xla.compile(rewrite_module(module))([data, np.float32(2.0**20)])
for i in (0, 2):
    value = got[i].astype(np.float64) * got[i + 1].astype(np.float64)
    assert np.isfinite(got[i]).all(), got
    np.testing.assert_array_equal(value, 120000 * 2.0**20)
"""


def test_collectives_on_four_devices() -> None:
    """Bit for bit."""
    four_devices.run(_PROGRAM)


# Every device has data at f16's largest number: any sum of two of them is none of f16, nor are the values.
_LARGE = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
import scalify_hlo as sc

count = len(jax.devices())
mesh = jax.make_mesh((count,), ("i",), axis_types=(AxisType.Auto,))
cut, whole = NamedSharding(mesh, P("i")), NamedSharding(mesh, P())
mapped = jax.shard_map(lambda x: (jax.lax.psum(x, "i"), jax.lax.psum_scatter(x, "i", tiled=True)),
                       mesh=mesh, in_specs=P(), out_specs=(P(), P("i")), check_vma=False)
data = np.full((count,), 65504, np.float16)
for exponent in (20, -20):
    x = sc.ScaledArray(data, np.float32(2.0**exponent))
    for y in sc.scalify(mapped)(x):
        assert y.data.dtype == np.float16 and np.isfinite(np.asarray(y.data)).all(), y
        want = 65504.0 * count * 2.0**exponent
        np.testing.assert_array_equal(np.asarray(y.data, np.float64) * np.asarray(y.scale, np.float64), want)

# The same of sums that the partitioner adds: a product that is cut along what it contracts, rounded to f16. The parts
# of the first devices alone have a sum that f16 has not; that of all is its largest number.
rows, columns = np.ones((8, 4 * count), np.float16), np.full((4 * count, 8), 65504, np.float16)
columns[2 * count :] *= -0.5
product = sc.scalify(lambda x, w: x @ w, in_shardings=(NamedSharding(mesh, P(None, "i")), cut), out_shardings=whole)
x, w = sc.ScaledArray(rows, np.float32(1)), sc.ScaledArray(columns, np.float32(2.0**20))
assert "unreduced" in product.lower(x, w).as_text()
y = product(x, w)
assert y.data.dtype == np.float16 and np.isfinite(np.asarray(y.data)).all(), y
value = np.asarray(y.data, np.float64) * np.asarray(y.scale, np.float64)
np.testing.assert_allclose(value, 65504.0 * count * 2.0**20, rtol=2e-3)
"""


@pytest.mark.parametrize("devices", [4, 8])
def test_sums_in_f16_overflow_on_no_number_of_devices(devices: int) -> None:
    four_devices.run(_LARGE, devices)


_MANUAL = """
module attributes {{mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32}} {{
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<8x4x{0}>, %y: tensor<8x4x{0}>) -> tensor<8x4x{0}> {{
    %r = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{{"x"}}, {{}}]>, <@mesh, [{{"x"}}, {{}}]>]
        out_shardings=[<@mesh, [{{"x"}}, {{}}]>] manual_axes={{"x"}} (%a: tensor<4x4x{0}>, %b: tensor<4x4x{0}>) {{
      {1}
      sdy.return %c : tensor<4x4x{0}>
    }} : (tensor<8x4x{0}>, tensor<8x4x{0}>) -> tensor<8x4x{0}>
    return %r : tensor<8x4x{0}>
  }}
}}
"""


@pytest.mark.parametrize(
    ("body", "results"),
    [
        ("%c = stablehlo.multiply %a, %b : tensor<4x4xf32>", 1),  # the scale is algebra of what entered
        ("%c = stablehlo.add %a, %b : tensor<4x4xf32>", 2),  # the larger of two scales: known inside only
    ],
)
def test_scales_leave_per_device_code_as_algebra_where_they_can(body: str, results: int) -> None:
    rewritten = rewrite_module(_MANUAL.format("f32", body))
    match = re.search(r"%\d+(?::(\d+))? = sdy.manual_computation", rewritten)
    assert match is not None and int(match[1] or 1) == results, rewritten
