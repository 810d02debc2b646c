"""Tensor types taken apart."""

import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.types import _info, tensor_info


@pytest.mark.parametrize(("text", "shape", "element"), [
    ("tensor<f32>", (), "f32"), ("tensor<2x?xf16>", (2, -1), "f16"), ("tensor<complex<f32>>", (), "complex<f32>"),
    ("tensor<3xcomplex<f64>>", (3,), "complex<f64>"), ("tensor<1x4xindex>", (1, 4), "index"),
    ("tensor<?xbf16, #stablehlo.bounds<5>>", (-1,), "bf16"), ("tensor<0x2xi1>", (0, 2), "i1"),
])  # fmt: skip
def test_shape_and_element(text: str, shape: tuple[int, ...], element: str) -> None:
    with make_context():
        info = tensor_info(ir.Type.parse(text))
    assert (info.shape, info.element) == (shape, element)


def test_a_negative_size() -> None:
    """MLIR reads one from a damaged binary; what it prints of it is no type."""
    with pytest.raises(ScalifyError, match="negative size"):
        _info("tensor<2x-16x?xf32>")


@pytest.mark.parametrize("shape", ["9223372036854775807x6", "5000000000x5000000000", "2x?x9223372036854775807x4"])
def test_more_elements_than_can_be_counted(shape: str) -> None:
    """A vector of all elements, which a histogram is counted in, is no type of MLIR."""
    with make_context(), pytest.raises(ScalifyError, match="more elements than 64 bits"):
        tensor_info(ir.Type.parse(f"tensor<{shape}xf32>"))
