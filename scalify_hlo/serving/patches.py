"""A convolution as a product of matrices: the patches of its input times its kernel.

# y[n, p, o] = sum over c, k of patch[n, p, (c, k)] w[(c, k), o]
"""

import dataclasses
import math

import jax
import numpy as np

from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.execution.element_types import Array


@dataclasses.dataclass(frozen=True)
class Patches:
    """How a `stablehlo.convolution` reads its input. Feature groups are batches of products."""

    op: ir.Operation

    @property
    def is_plain(self) -> bool:
        """Whether the kernel is read as it is, for all of the batch."""
        reversed_ = "window_reversal" in self.op.attributes and any(
            ir.DenseBoolArrayAttr(self.op.attributes["window_reversal"])
        )
        return not reversed_ and ir.IntegerAttr(self.op.attributes["batch_group_count"]).value == 1

    @property
    def _groups(self) -> int:
        return ir.IntegerAttr(self.op.attributes["feature_group_count"]).value

    def kernel(self, kernel: Array) -> Array:
        """An array of the kernel's shape as [groups, input features and places, output features of a group]."""
        numbers = stablehlo.ConvDimensionNumbers(self.op.attributes["dimension_numbers"])
        features, spatial = numbers.kernel_input_feature_dimension, list(numbers.kernel_spatial_dimensions)
        flat = kernel.transpose(features, *spatial, numbers.kernel_output_feature_dimension)
        outputs = flat.shape[-1] // self._groups
        return flat.reshape(-1, self._groups, outputs).transpose(1, 0, 2)

    def rows(self, x: Array) -> Array:
        """The input's patches, as [groups, patches, input features and places]."""
        numbers = stablehlo.ConvDimensionNumbers(self.op.attributes["dimension_numbers"])
        spatial = list(numbers.input_spatial_dimensions)
        batch, features = numbers.input_batch_dimension, numbers.input_feature_dimension
        shape = ir.RankedTensorType(self.op.operands[1].type).shape
        window = [shape[d] for d in numbers.kernel_spatial_dimensions]
        found = jax.lax.conv_general_dilated_patches(
            np.asarray(x.transpose(batch, features, *spatial), np.float32),
            window, self._integers("window_strides", [1] * len(window)), self._padding(len(window)),
            self._integers("lhs_dilation", [1] * len(window)), self._integers("rhs_dilation", [1] * len(window)),
            precision=jax.lax.Precision.HIGHEST,
        )  # fmt: skip
        patches = np.moveaxis(np.asarray(found, np.float64), 1, -1)
        read = x.shape[features] // self._groups * math.prod(window)
        return patches.reshape(-1, self._groups, read).transpose(1, 0, 2)

    def _integers(self, name: str, default: list[int]) -> list[int]:
        return [*ir.DenseI64ArrayAttr(self.op.attributes[name])] if name in self.op.attributes else default

    def _padding(self, rank: int) -> list[tuple[int, int]]:
        if "padding" not in self.op.attributes:
            return [(0, 0)] * rank
        return [(int(low), int(high)) for low, high in np.asarray(ir.DenseElementsAttr(self.op.attributes["padding"]))]
