"""NumPy's dtypes and the HAL's element types."""

import functools

import numpy as np
from pyiree.runtime.vmfb.abi import ELEMENT_NAMES
from pyiree.runtime.vmfb.errors import PyireeError

_NATIVE = {
    0x13000008: "bool",
    0x10000008: "int8",
    0x10000010: "int16",
    0x10000020: "int32",
    0x10000040: "int64",
    0x11000008: "int8",
    0x11000010: "int16",
    0x11000020: "int32",
    0x11000040: "int64",
    0x12000008: "uint8",
    0x12000010: "uint16",
    0x12000020: "uint32",
    0x12000040: "uint64",
    0x21000010: "float16",
    0x21000020: "float32",
    0x21000040: "float64",
    0x23000040: "complex64",
    0x23000080: "complex128",
}
_EXTENDED = {  # of the package ml_dtypes; those of less than a byte take one
    0x10000002: "int2",
    0x10000004: "int4",
    0x11000002: "int2",
    0x11000004: "int4",
    0x12000002: "uint2",
    0x12000004: "uint4",
    0x22000010: "bfloat16",
    0x24000008: "float8_e5m2",
    0x25000008: "float8_e4m3fn",
    0x26000008: "float8_e5m2fnuz",
    0x27000008: "float8_e4m3fnuz",
    0x28000008: "float8_e8m0fnu",
    0x70000008: "float8_e4m3",
    0x71000008: "float8_e3m4",
    0x72000008: "float8_e4m3b11fnuz",
    0x73000006: "float6_e2m3fn",
    0x74000006: "float6_e3m2fn",
    0x75000004: "float4_e2m1fn",
}


class ElementTypeError(PyireeError, TypeError):
    """A dtype that devices don't have, or an element type that NumPy doesn't have."""


@functools.cache
def dtype_of(element_type: int) -> np.dtype:
    """The dtype of an element type. Signless integers are signed."""
    if element_type in _NATIVE:
        return np.dtype(_NATIVE[element_type])
    if element_type in _EXTENDED:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _EXTENDED[element_type]))
    name = ELEMENT_NAMES.get(element_type, f"{element_type:#x}")
    raise ElementTypeError(f"NumPy has no dtype for the element type {name}")


_BY_NAME = {
    name: code for code, name in (*reversed(_NATIVE.items()), *_EXTENDED.items()) if code >> 24 != 0x11
}


@functools.cache
def element_type_of(dtype: np.dtype) -> int:
    """The element type of a dtype: signless for signed integers."""
    code = _BY_NAME.get(dtype.name)
    if code is None or dtype.byteorder == ">":
        raise ElementTypeError(f"devices have no element type for the dtype {dtype!r}")
    return code
