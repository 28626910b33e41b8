"""Native conversion of numbers to the narrower types of programs: small arrays, and Python's numbers.

Enters: f64, c128, i64 or u64 values. Leaves: the nearest f32 values, or the low 32 bits of integers, as NumPy converts
them; or 0 where NumPy would also warn, of a finite number that becomes infinite.
"""

from pyiree.runtime.calls import caller_layout as caller
from pyiree.runtime.native.intrinsics import (
    F32,
    F64,
    emitter,
    float64_bits,
    load_f64,
    load_i64,
    native,
    store_f32,
    store_i32,
)

_narrow = emitter("narrow", F32, [F64], lambda builder, value: builder.fptrunc(value, F32))

_SMALLEST_INFINITE = float.fromhex("0x1.ffffffp+127")  # halfway from the largest f32 to the next power of two
_EXPONENT = 0x7FF << 52


@native("int64(int64,float64)")
def put_f32(place, value):
    """One number. 0: it is finite and too large."""
    if value >= _SMALLEST_INFINITE or value <= -_SMALLEST_INFINITE:
        if float64_bits(value) & _EXPONENT != _EXPONENT:
            return 0
    store_f32(place, _narrow(value))
    return 1


@native("int64(int64,int64,int64,int64)")
def narrow_array(target, source, count, wanted):
    """`count` elements. 0: one of them is finite and too large."""
    if wanted == caller.FORMAT_I32:
        for k in range(count):
            store_i32(target + 4 * k, load_i64(source + 8 * k))
        return 1
    floats = 2 * count if wanted == caller.FORMAT_C64 else count
    for k in range(floats):
        if not put_f32(target + 4 * k, load_f64(source + 8 * k)):
            return 0
    return 1
