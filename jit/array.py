"""Arrays in and out: NumPy arrays, `jax.Array`, pyiree's device arrays, and whatever speaks DLPack.

What enters: a leaf of a call, of any of these kinds.  What leaves: a NumPy array over the same memory for the
runtime to read, waited for if it was still being computed; and results as the caller's kind of array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NoReturn

import jax
import numpy as np
from pyiree.errors import SignatureError
from pyiree.jax_internals import ArrayImpl, PRNGKeyArray, Ref, device_layout, key_data, ref_value
from pyiree.runtime.hal.device_array import WHY_DELETED, DeletedArrayError
from pyiree.runtime.hal.device_array import DeviceArray as Array
from pyiree.signature import leaf_type, refuse

__all__ = ["Array", "device_put", "from_foreign", "numpy_reader"]

_require = np.require


def numpy_reader(example: Any, dtype: np.dtype) -> Callable[[Any], np.ndarray]:
    """A function from leaves like `example` to NumPy arrays of `dtype` that the runtime can read in place."""
    kind = type(example)
    if kind is Array:
        return Array.host
    if kind is ArrayImpl:
        return _jax_reader(example, dtype)
    if kind is PRNGKeyArray:
        read = _jax_reader(key_data(example), dtype)
        return lambda keys: read(key_data(keys))
    if kind is Ref:
        read_value = numpy_reader(ref_value(example), dtype)
        return lambda ref: read_value(ref_value(ref))
    if kind is np.ndarray and example.dtype == dtype:
        return lambda array: array if array.flags.carray else _require(array, None, ("C", "A"))
    return lambda leaf: _require(np.asarray(leaf, dtype, "C"), None, "A")


def _jax_reader(example: ArrayImpl, dtype: np.dtype) -> Callable[[ArrayImpl], np.ndarray]:
    """Reads a `jax.Array` in place.

    Not through `np.asarray`, whose result the array would keep for good and so never be donated.  An array on
    another device, on several, or laid out in another order takes that way all the same.
    """
    if example.is_deleted():
        refuse_deleted(example)
    example.block_until_ready()
    shape, size = example.shape, dtype.itemsize * example.size
    only_cpus = there_are_only_cpus()

    def is_plain(array: ArrayImpl) -> bool:
        if type(array.sharding) is not jax.sharding.SingleDeviceSharding:
            return False
        return only_cpus or array.device.platform == "cpu"

    if not (is_plain(example) and is_read_in_place(example, dtype)):
        return lambda array: np.asarray(array, dtype, "C")
    layout = device_layout(example)
    memory = (ctypes.c_char * size).from_address
    ndarray = np.ndarray

    def read(array: ArrayImpl) -> np.ndarray:
        # Deleted comes first: jaxlib crashes on the other questions then.
        if array.is_deleted():
            refuse_deleted(array)
        if not is_plain(array) or device_layout(array) != layout:
            return np.asarray(array, dtype, "C")
        if not array.is_ready():
            array.block_until_ready()
        return ndarray(shape, dtype, memory(array.unsafe_buffer_pointer()))

    return read


def refuse_deleted(array: ArrayImpl) -> NoReturn:
    """Raises for an array without memory."""
    raise DeletedArrayError(f"Array has been deleted with shape={array.aval.str_short()}{WHY_DELETED}")


def there_are_only_cpus() -> bool:
    """Whether every array is in memory that the program can read."""
    return all(device.platform == "cpu" for device in jax.local_devices())


def is_read_in_place(example: ArrayImpl, dtype: np.dtype) -> bool:
    """Whether the bytes of an array, if it is on a CPU, are those of a NumPy array of `dtype`."""
    stored = example.dtype == dtype and example.size > 0 and dtype.name not in _SUB_BYTE_TYPES
    return stored and _is_row_major(example)


_SUB_BYTE_TYPES = frozenset(("int2", "uint2", "int4", "uint4", "float4_e2m1fn"))


def _is_row_major(array: ArrayImpl) -> bool:
    layout = array.format.layout
    return layout.tiling in ((), None) and tuple(layout.major_to_minor) == tuple(range(array.ndim))


def from_foreign(leaf: Any) -> Any:
    """Another library's array as a NumPy array over the same memory, or the `jax.Array` it stands for.

    None for what isn't an array, is none yet (a tracer), or is more than one (a masked array).
    """
    if isinstance(leaf, (jax.core.Tracer, np.ma.MaskedArray)):
        return None
    if hasattr(leaf, "__jax_array__"):
        return leaf.__jax_array__()
    if hasattr(leaf, "__dlpack__"):
        try:
            return np.from_dlpack(leaf)
        except (BufferError, RuntimeError, TypeError, ValueError):
            # NumPy's DLPack lacks some dtypes and devices; the object may still know its NumPy array.
            if not hasattr(leaf, "__array__"):
                raise
    if hasattr(leaf, "__array__"):
        return np.asarray(leaf)
    return None


def device_put(tree: Any) -> Any:
    """The same tree with each array as a `pyiree.Array` in the device's memory, copied now."""
    return jax.tree_util.tree_map(_device_put_leaf, tree)


def _device_put_leaf(leaf: Any) -> Array:
    if isinstance(leaf, Array):
        return leaf
    kind = leaf_type(leaf)
    if kind is None:
        refuse(leaf, "its argument", "device_put")
    array = from_foreign(leaf) if kind is None else np.asarray(leaf, kind.dtype)
    if array is None:
        raise SignatureError(f"device_put takes arrays and numbers, not {type(leaf).__name__}")
    return Array.from_numpy(array)
