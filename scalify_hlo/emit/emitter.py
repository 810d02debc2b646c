"""What rules emit with: operations, the arithmetic of scales, and data times a scale."""

import math
from typing import Any

from scalify_hlo.bindings import ir
from scalify_hlo.emit.scale_arithmetic import NeedsScaleError
from scalify_hlo.emit.scopes import At, Scope
from scalify_hlo.emit.zero_scales import ZeroScaleEmitter
from scalify_hlo.module.constants import constant_behind, splat_number
from scalify_hlo.scale import ONE, Scale
from scalify_hlo.types import FLOAT_RANGE, TensorInfo, tensor_info

__all__ = ["At", "Emitter", "NeedsScaleError", "Scope"]


class Emitter(ZeroScaleEmitter):
    """Multiplies data by scales."""

    def rescale(self, data: ir.Value, factor: Scale, *, infinite: bool = False) -> ir.Value:
        """data * factor, in the data's type; through f32 where the type is too narrow for the factor.

        infinite: data may be infinite, and remain so if the factor, a product of small scales, has become 0.
        """
        if not factor.factors and not factor.exponent:
            return data
        before = self.known("scaled", data)
        if before is not None and (before[1] * factor).is_constant:
            # (x s) / s = x: what it was before
            return self.rescale(before[0], before[1] * factor)
        info = tensor_info(data.type)
        if not factor.factors:
            return self._rescale_by_constant(data, info, factor.exponent)
        if info.is_narrow:
            wide = self.rescale(self.convert(data, "f32"), factor, infinite=infinite)
            return self.convert(wide, info.element)
        value = self.divisor(factor) if infinite else self.scale_value(factor)
        return self._noted(self._scaled_by("multiply", data, value, info), data, factor)

    def unscale_by(self, data: ir.Value, scale: Scale) -> ir.Value:
        """data / scale, where the scale is a value of its own: no reciprocal is emitted. Not for narrow types."""
        if not scale.factors:
            return self.rescale(data, ONE / scale)
        before = self.known("scaled", data)
        if before is not None and (before[1] / scale).is_constant:
            return self.rescale(before[0], before[1] / scale)
        found = self._scaled_by("divide", data, self.divisor(scale), tensor_info(data.type))
        return self._noted(found, data, ONE / scale)

    def _noted(self, scaled: ir.Value, data: ir.Value, factor: Scale) -> ir.Value:
        """Remember that `scaled` is data * factor: in the scope, which is gone with what is discarded of a region."""
        self.scope.cache["scaled", scaled] = data, factor
        return scaled

    def known(self, kind: str, data: ir.Value) -> Any:
        """What this scope, or one that it sees into, remembers of a value, by an operation emitted here.

        "scaled": (x, factor) of what is x * factor. "source": (x, k) of what is x * 2^k.
        """
        scope: Scope | None = self.scope
        while scope is not None:
            found = scope.cache.get((kind, data))
            if found is not None:
                return found
            scope = None if scope.isolated else scope.parent
        return None

    def _scaled_by(self, name: str, data: ir.Value, value: ir.Value, info: TensorInfo) -> ir.Value:
        if info.is_complex:
            real_type = self.tensor_type(data.type, info.real)
            real, imag = self.op("real", real_type, data), self.op("imag", real_type, data)
            factor = self.broadcast_like(self.scale_as(value, info.real), real)
            parts = (self.op(name, real_type, part, factor) for part in (real, imag))
            return self.op("complex", data.type, *parts)
        factor = self.broadcast_like(self.scale_as(value, info.element), data, info, used=True)
        return self.op(name, data.type, data, factor)

    def scale_as(self, value: ir.Value, element: str) -> ir.Value:
        """A f32 scale value in the element type it is to be multiplied in."""
        if element == "f32":
            return value
        key = ("convert", value, element)
        if key not in self.scope.cache:
            self.scope.cache[key] = self.convert(value, element)
        return self.scope.cache[key]

    def _rescale_by_constant(self, data: ir.Value, info: TensorInfo, exponent: float) -> ir.Value:
        low, high = info.min_exponent, info.max_exponent
        in_f8 = info.is_float and FLOAT_RANGE[info.element][2] < 7  # no arithmetic in the type itself
        constant = None if in_f8 or info.is_complex else constant_behind(data)
        number = None if constant is None else splat_number(constant)
        if number is not None and number and low <= math.log2(abs(number)) + exponent < high:
            return self.splat(data, number * 2.0**exponent)
        if in_f8 or (info.is_narrow and not low <= exponent <= high):
            # 2^16 is no f16, and XLA makes one factor of 2^15 and 2 that follow each other.
            wide = self.convert(data, "f32")
            return self.convert(self._rescale_by_constant(wide, tensor_info(wide.type), exponent), info.element)
        source, total = data, exponent
        if info.is_complex:  # multiplied by f32 scale values
            low, high = max(low, -126), min(high, 127)
        while exponent:
            if source != data:  # as above
                data = self.op("optimization_barrier", data.type, data)
            step = max(low, min(high, exponent))
            if info.is_complex:
                data = self._scaled_by("multiply", data, self.constant(self.scalar, 2.0**step), info)
            else:
                data = self.op("multiply", data.type, data, self.splat(data, 2.0**step))
            exponent -= step
        if not info.is_narrow:
            # What is computed from it next may go back to the source (see scalify_hlo.rules.plain.unscaled).
            self.scope.cache["source", data] = (source, total)
        return data
