"""MLIR element types and their NumPy counterparts."""

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Every element type that NumPy, with ml_dtypes, can hold. Signless integers are read as signed, as StableHLO does.
NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(dtype)
    for name, dtype in {
        "f64": np.float64,
        "f32": np.float32,
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "f8E3M4": ml_dtypes.float8_e3m4,
        "f8E4M3": ml_dtypes.float8_e4m3,
        "f8E4M3FN": ml_dtypes.float8_e4m3fn,
        "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
        "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
        "f8E5M2": ml_dtypes.float8_e5m2,
        "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
        "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
        "f4E2M1FN": ml_dtypes.float4_e2m1fn,
        "complex<f32>": np.complex64,
        "complex<f64>": np.complex128,
        "i1": np.bool_,
        "i2": ml_dtypes.int2,
        "i4": ml_dtypes.int4,
        "i8": np.int8,
        "i16": np.int16,
        "i32": np.int32,
        "i64": np.int64,
        "ui2": ml_dtypes.uint2,
        "ui4": ml_dtypes.uint4,
        "ui8": np.uint8,
        "ui16": np.uint16,
        "ui32": np.uint32,
        "ui64": np.uint64,
    }.items()
}

ELEMENT_TYPES: dict[np.dtype[Any], str] = {dtype: name for name, dtype in NUMPY_DTYPES.items()}

# Element types NumPy's own buffers do not know: their arrays travel as integers of the same width.
NARROW_INTEGERS = frozenset({"i2", "i4", "ui2", "ui4"})


def is_float(element_type: str) -> bool:
    """Whether this is a real floating-point type (complex types are not)."""
    return element_type.startswith(("f", "bf"))


def is_complex(element_type: str) -> bool:
    return element_type.startswith("complex<")


def is_float_array(array: Array) -> bool:
    """Whether the array's dtype is a real floating-point type, ml_dtypes' included."""
    return is_float(ELEMENT_TYPES.get(array.dtype, ""))


def epsilon(element_type: str) -> float:
    """Distance from 1 to the next larger number of a float type, or of a complex type's parts."""
    if is_complex(element_type):
        element_type = element_type[len("complex<") : -1]
    one = np.ones(1, NUMPY_DTYPES[element_type])
    following = (one.view(f"u{one.itemsize}") + 1).view(one.dtype)
    return float(following.astype(np.float64)[0] - 1)
