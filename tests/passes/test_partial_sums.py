"""Which products are summed apart: see test/lit/passes/partial_sums.mlir for what becomes of them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes import joined_numbers
from scalify_hlo.passes.partial_sums import PartialSums
from scalify_hlo.passes.precision_pipeline import precision_pipeline

TEXT = """
sdy.mesh @mesh = <["i"=8]>
func.func public @main(%x: tensor<32xKxf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"i"}]>},
                %w: tensor<Kx16xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}) -> tensor<32x16xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<32xKxf16>, tensor<Kx16xf16>) -> tensor<32x16xf32>
  %1 = stablehlo.convert %0 : (tensor<32x16xf32>) -> tensor<32x16xf16>
  return %1 : tensor<32x16xf16>
}
"""


CASES = [("64", "8", True), ("60", "8", False), ("64", "1", False)]


@pytest.mark.parametrize(("contracted", "devices", "apart"), CASES)
def test_products_are_summed_apart_where_devices_have_equal_parts(contracted: str, devices: str, apart: bool) -> None:
    with make_context():
        module = ir.Module.parse(TEXT.replace("K", contracted).replace('"i"=8', f'"i"={devices}'))
        before = str(module)
        PartialSums().apply(module, [])
        assert ("unreduced" in str(module)) == apart
        assert apart or str(module) == before


@pytest.mark.parametrize("cut", [(None, "i"), (None, None, "i")])
def test_gradients_of_layers_under_scan_are_summed_as_they_are_rounded(cut: tuple[Any, ...]) -> None:
    """The layouts that XLA finds: what a loop saves is laid out as it was in the loop."""
    mesh = AbstractMesh((8,), ("i",), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec("i"))

    def step(w: jax.Array, x: jax.Array) -> jax.Array:
        def layer(y: jax.Array, own: jax.Array) -> tuple[jax.Array, None]:
            return jax.lax.with_sharding_constraint(y + jnp.tanh(y @ own), rows), None

        return w - jax.grad(lambda w: jnp.mean(jax.lax.scan(layer, x, w)[0] ** 2))(w)

    w = jax.ShapeDtypeStruct((3, 64, 64), np.float32, sharding=NamedSharding(mesh, PartitionSpec(*cut)))
    x = jax.ShapeDtypeStruct((32, 64), np.float32, sharding=rows)
    with make_context():
        module = ir.Module.parse(jax.jit(step).trace(w, x).lower(lowering_platforms=("cuda",)).as_text())
        precision_pipeline("fp16").run(module, [])
        assert 'unreduced={"i"}> : tensor<64x64xf16>' in str(module)


NUMBERS = """
func.func public @main(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>
  %1 = "stablehlo.all_reduce"(%y) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
"""


def test_no_number_is_looked_for_in_a_sum_that_is_erased() -> None:
    """The block of such is gone with it: reading it is undefined."""
    with make_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(NUMBERS)
        owners = [block.owner.operation.name for block in joined_numbers._blocks(module.operation)]
        assert owners == ["builtin.module", "func.func"]
        assert joined_numbers.join_numbers(module, None) == 1
        assert str(module).count('"stablehlo.all_reduce"') == 1
