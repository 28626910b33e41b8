"""The element types of random programs: their NumPy twins, numbers worth trying, and MLIR literals.

Enters: a StableHLO element type by its spelling, a shape, a seed. Leaves: arrays, and constants of the same bits.
"""

import ml_dtypes
import numpy as np

SIGNED = ("i2", "i4", "i8", "i16", "i32", "i64")
UNSIGNED = ("ui2", "ui4", "ui8", "ui16", "ui32", "ui64")
INTEGERS = SIGNED + UNSIGNED
SMALL_FLOATS = (
    "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f8E3M4", "f8E4M3",
)  # fmt: skip
FLOATS = ("f16", "bf16", "f32", "f64")
COMPLEX = ("complex<f32>", "complex<f64>")
ALL = ("i1", *INTEGERS, *FLOATS, *SMALL_FLOATS, *COMPLEX)

_NUMPY = {
    "i1": np.dtype(bool), "bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "complex<f32>": np.dtype(np.complex64),
    "complex<f64>": np.dtype(np.complex128), "i4": np.dtype(ml_dtypes.int4), "ui4": np.dtype(ml_dtypes.uint4),
    "i2": np.dtype(ml_dtypes.int2), "ui2": np.dtype(ml_dtypes.uint2),
    **{f"i{w}": np.dtype(f"int{w}") for w in (8, 16, 32, 64)},
    **{f"ui{w}": np.dtype(f"uint{w}") for w in (8, 16, 32, 64)},
    **{name: np.dtype(getattr(ml_dtypes, "float8_" + name[2:].lower())) for name in SMALL_FLOATS},
}  # fmt: skip


def numpy_dtype(element):
    """The NumPy (or ml_dtypes) dtype of an element type."""
    return _NUMPY[element]


def width(element):
    """Bits of one element; of one part for a complex number."""
    if element.startswith("complex"):
        return width(element[8:-1])
    return 8 if element in SMALL_FLOATS else _digits(element)


def _digits(element):
    return int("".join(c for c in element if c.isdigit()))


def is_float(element):
    return element in FLOATS or element in SMALL_FLOATS


def tensor(shape, element):
    """The type's text."""
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def epsilon(element):
    """The distance from one to the next number."""
    return float(ml_dtypes.finfo(numpy_dtype(element)).eps)


def array(element, shape, style, seed):
    """An array of numbers: small ones, special ones among others, or any bits at all."""
    random = np.random.default_rng(seed)
    count = int(np.prod(shape))
    dtype = numpy_dtype(element)
    if element == "i1":
        return random.integers(0, 2, shape).astype(bool)
    if element.startswith("complex"):
        part = element[8:-1]
        made = np.empty(count, dtype)
        made.real = array(part, (count,), style, seed + 1)
        made.imag = array(part, (count,), style, seed + 2)
        return made.reshape(shape)
    if element in INTEGERS:
        info = ml_dtypes.iinfo(dtype)
        low, high = int(info.min), int(info.max)
        if style == "small":
            numbers = random.integers(max(low, -4), min(high, 7), count, endpoint=True).astype(object)
        else:
            numbers = np.array([int.from_bytes(random.bytes(8), "little") % (high - low + 1) + low
                                for _ in range(count)], object)  # fmt: skip
        if style == "special":
            pool = [low, high, 0, 1, low + 1, high - 1, high // 2, max(low, -1), 2, 3]
            for i in random.permutation(count)[: (count + 1) // 2]:
                numbers[i] = pool[random.integers(len(pool))]
        return numbers.astype(np.int64 if low else np.uint64).astype(dtype).reshape(shape)
    if style == "bits":
        return np.frombuffer(random.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()
    numbers = random.integers(-12, 13, count) / 4
    if style == "special":
        info = ml_dtypes.finfo(dtype)
        tiny = float(info.smallest_subnormal)
        pool = [np.nan, np.inf, -np.inf, -0.0, 0.0, tiny, -tiny, 3 * tiny, float(info.tiny), -float(info.tiny),
                float(info.max), float(info.min), 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1 + float(info.eps)]  # fmt: skip
        for i in random.permutation(count)[: (count + 1) // 2]:
            numbers[i] = pool[random.integers(len(pool))]
    with np.errstate(all="ignore"):
        return numbers.astype(dtype).reshape(shape)


def literal(array, element):
    """A constant's value with the same bits."""
    if array.size == 0:
        return f"dense<> : {tensor(array.shape, element)}"
    if element == "i1":
        return f"dense<{_nested(array)}> : {tensor(array.shape, element)}"
    raw = np.ascontiguousarray(array)
    if element in ("i2", "ui2", "i4", "ui4"):
        raw = raw.astype(np.int8) & ((1 << width(element)) - 1)
    return f'dense<"0x{raw.tobytes().hex().upper()}"> : {tensor(array.shape, element)}'


def _nested(array):
    if array.ndim == 0:
        return "true" if array else "false"
    return "[" + ", ".join(_nested(part) for part in array) + "]"


def np_full(shape, number, element):
    """An array of one number."""
    return np.full(shape, number).astype(numpy_dtype(element))


def epsilon_of(element):
    """The distance from one to the next number; 0 for integers."""
    if element.startswith("complex"):
        return epsilon(element[8:-1])
    return epsilon(element) if is_float(element) else 0.0
