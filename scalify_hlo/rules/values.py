"""What the rewriter knows of an SSA value: its scaled form, or the compile-time facts of a plain one."""

import dataclasses
import math

from scalify_hlo.bindings import ir
from scalify_hlo.scale import Scale
from scalify_hlo.size.moments import UNIT, Moments
from scalify_hlo.types import TensorInfo, tensor_info


@dataclasses.dataclass(slots=True, unsafe_hash=True)  # never changed
class ScaledValue:
    """A tensor X = data * scale.

    data: the SSA value that replaces X: same shape and element type.
    scale: symbolic; rank 0 or broadcastable to the data.
    moments: what is known of the elements of `data`.
    indifferent: all elements are 0, infinite or NaN, so any scale fits (ANY_SCALE of the paper, section 3.4).
    """

    data: ir.Value
    scale: Scale
    moments: Moments = UNIT
    indifferent: bool = False
    _info: TensorInfo | None = dataclasses.field(default=None, init=False, repr=False, compare=False)
    _exponent: int | None = dataclasses.field(default=None, init=False, repr=False, compare=False)

    @property
    def info(self) -> TensorInfo:
        """Element type and shape."""
        if self._info is None:
            self._info = tensor_info(self.data.type)
        return self._info

    @property
    def exponent(self) -> int:
        """log2 of the size of the data as far as it is known, rounded down; not for a little in narrow types.

        0.95 times a state is no smaller than the state, or a moving average would halve its scale at every step.
        """
        if self._exponent is None:
            little = 0.25 if self.info.is_narrow else 1e-9
            self._exponent = math.floor(self.moments.log2 + little)
        return self._exponent

    @property
    def size(self) -> Scale:
        """The scale times the size of the data as far as it is known, rounded down to a power of two.

        This, and not the scale, is what the largest of several values is chosen by: data may be some powers of two
        away from unit scaling.
        """
        return self.scale.shifted(self.exponent)

    @property
    def centred(self) -> Moments:
        """The moments of the value relative to its size."""
        return self.moments.shifted(-self.exponent)


@dataclasses.dataclass(frozen=True, slots=True)
class PlainFacts:
    """What is known at compile time of a value without a scale.

    splat: the number that all elements equal, if known.
    indifferent: all elements are 0, infinite or NaN.
    moments: of the elements, if their magnitude is known (constants, iota, converted booleans, rng in [0, 1)).
    """

    splat: float | None = None
    indifferent: bool = False
    moments: Moments | None = None


UNKNOWN = PlainFacts()
