"""Which products are summed apart: see test/lit/passes/partial_sums.mlir for what becomes of them."""

import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.partial_sums import PartialSums

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
