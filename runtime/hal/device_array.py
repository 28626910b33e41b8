"""Arrays in a device's memory: what functions give, and take without a copy.

Enters: a native buffer view, and the fence after which its content is there; or a result of a bound program, as a NumPy
array or as the capsule that holds its memory. Leaves: shape, dtype and, through NumPy's and DLPack's protocols, the
content. A device array never changes. Of view and NumPy array, those that it was not made with are made when asked for.
"""

import ctypes
import math
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from pyiree.runtime.hal import layout
from pyiree.runtime.hal.device import memory_pool
from pyiree.runtime.hal.element_types import dtype_of, element_type_of
from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import TYPE_OPAQUE
from pyiree.runtime.native.python_objects import objects, read_word
from pyiree.runtime.vm.errors import VmError
from pyiree.runtime.vm.values import Ref
from pyiree.runtime.vmfb.abi import ENCODING_DENSE_ROW_MAJOR
from pyiree.runtime.vmfb.errors import PyireeError

ANY_MEMORY_TYPE = 0x7E  # visible to and local to both host and device
ANY_USAGE = 0x1F0F0F0F
WHY_DELETED = ": it may have been donated (donate_argnums) to an earlier call"
_WAIT_SLICE = 50_000_000  # nanoseconds between looks at pending signals


class DeletedArrayError(PyireeError, RuntimeError):
    """A device array is used after it was deleted or donated."""


class DeviceArray(NDArrayOperatorsMixin):
    """An array in a device's memory; `np.asarray` sees it without a copy, read-only.

    Operators and NumPy's functions compute with the content on the host, and give NumPy arrays.
    """

    # The native entry (`runtime/calls/caller`) makes instances too: all fields are set, those of no use to None.
    __slots__ = ("__weakref__", "_capsule", "_dtype", "_executor", "_fence", "_host", "_shape", "_view")
    __array_priority__ = 100

    def __init__(self, view: Ref, fence: Ref | None = None, executor: Any = None):
        """Takes over the view. `fence`, if given, is signalled when the content is there."""
        self._view: Ref | None = view
        self._host: np.ndarray | None = None
        self._capsule: Any = None
        self._fence = fence
        self._executor = executor
        self._shape, self._dtype = _type_of(view.address)

    @classmethod
    def of_result(cls, array: np.ndarray) -> "DeviceArray":
        """Takes over a result of a bound program, which nobody else has."""
        self = cls.__new__(cls)
        self._view = self._fence = self._executor = self._capsule = None
        self._host = array
        self._shape, self._dtype = array.shape, array.dtype
        return self

    @classmethod
    def from_numpy(cls, array: Any) -> "DeviceArray":
        """A copy of an array in the device's memory."""
        self = cls(view_of_copy(array))
        self.host()  # native calls take arrays whose content can be seen
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a device array of rank 0 has no length")
        return self.shape[0]

    @property
    def view(self) -> Ref:
        """The native buffer view; an error after `delete`."""
        if self._view is None:
            self._view = _view_of_result(self.host())
        return self._view

    def host(self) -> np.ndarray:
        """The content, waited for, as an array over the device's memory; nobody may write to it."""
        array = self._host
        if array is None:
            if self.is_deleted():
                what = f"the device array of shape {self.shape} and dtype {self.dtype} was deleted"
                raise DeletedArrayError(what + WHY_DELETED)
            array = self._host = self.block_until_ready()._memory()
        return array

    @property
    def fence(self) -> Ref | None:
        """What must be waited for before the content is there; None when it is."""
        if self._fence is not None and image().fence_state(self._fence.address) == layout.FENCE_SIGNALLED:
            self._fence = None
        return self._fence

    def is_ready(self) -> bool:
        """Whether the content is there. A failed computation counts as ready: waiting for it raises."""
        fence = self.fence
        return fence is None or image().fence_state(fence.address) != 0

    def block_until_ready(self) -> "DeviceArray":
        """Waits, and helps meanwhile; raises what the computation failed with."""
        if self._host is None and self._capsule is None:
            self.view  # noqa: B018 (raises when deleted)
            fence = self.fence
            if fence is not None:
                wait_for_fence(fence, self._executor)
                self._fence = None
        return self

    def is_deleted(self) -> bool:
        return self._view is None and self._host is None and self._capsule is None

    def delete(self) -> None:
        """Gives up the memory. Computations that already read it go on."""
        self._view = self._host = self._capsule = None

    def _memory(self) -> np.ndarray:
        """The memory of the capsule or of the view."""
        owner = self._capsule
        if owner is not None:
            data = _capsule_pointer(owner)
        else:
            view = self.view.address
            data = _data_of(view)
            owner = Ref.retained(read_word(view + layout.VIEW_BUFFER))
        memory = (ctypes.c_ubyte * self.nbytes).from_address(data)
        memory.owner = owner  # as long as any array over it lives
        if self.nbytes == 0:
            return np.empty(self.shape, self.dtype)
        return np.frombuffer(memory, self.dtype).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.host()
        if copy or (dtype is not None and np.dtype(dtype) != self.dtype):
            if copy is False:
                raise ValueError(f"an array of dtype {dtype} cannot be made of {self.dtype} without a copy")
            return array.astype(dtype or self.dtype, copy=True)
        array = array.view()
        array.flags.writeable = False
        return array

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(value, DeviceArray) for value in options.get("out", ())):
            raise TypeError("a device array never changes: it can't be what NumPy writes its result to")
        contents = [np.asarray(value) if isinstance(value, DeviceArray) else value for value in inputs]
        return getattr(function, method)(*contents, **options)

    def __dlpack__(self, **options: Any) -> Any:
        return self.host().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

    def __reduce__(self) -> tuple[Any, ...]:
        return DeviceArray.from_numpy, (np.asarray(self),)

    def _number(self) -> Any:
        if self.size != 1:
            raise TypeError(f"only an array of one element is a number, not one of shape {self.shape}")
        return np.asarray(self).reshape(()).item()

    def item(self) -> Any:
        """The only element, as a Python number."""
        return self._number()

    def tolist(self) -> Any:
        return np.asarray(self).tolist()

    def __bool__(self) -> bool:
        return bool(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.shape:
            raise TypeError("only an integer device array of rank 0 is an index")
        return int(self._number())

    def __format__(self, specification: str) -> str:
        return format(self._number(), specification) if specification else str(self)

    def __getitem__(self, key: Any) -> np.ndarray:
        return np.asarray(self)[key]

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"DeviceArray(deleted, shape={self.shape}, dtype={self.dtype})"
        return "DeviceArray" + np.array_repr(np.asarray(self)).removeprefix("array")


def new_view(shape: tuple[int, ...], dtype: np.dtype) -> Ref:
    """A buffer view over new memory, of undefined content."""
    native = image()
    size = dtype.itemsize * math.prod(shape)
    buffer = native.hal_buffer_allocate(memory_pool(), size, ANY_MEMORY_TYPE, ANY_USAGE)
    if not buffer:
        raise MemoryError(f"no memory for an array of {size} bytes")
    return view_of_buffer(Ref(buffer), size, shape, dtype)


def view_of_copy(array: Any) -> Ref:
    """A buffer view over new memory with the content of an array."""
    source = np.asarray(array)
    if not source.dtype.isnative:
        source = source.astype(source.dtype.newbyteorder("="))
    view = new_view(source.shape, source.dtype)
    source = np.ascontiguousarray(source)
    ctypes.memmove(_data_of(view.address), source.ctypes.data, source.nbytes)
    return view


def copy_of_view(view: int) -> np.ndarray:
    """A copy of what a buffer view shows, which has to be there."""
    shape, dtype = _type_of(view)
    array = np.empty(shape, dtype)
    ctypes.memmove(array.ctypes.data, _data_of(view), array.nbytes)
    return array


def _type_of(view: int) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype of a buffer view."""
    rank = read_word(view + layout.VIEW_RANK)
    shape = tuple([read_word(view + layout.VIEW_DIMS + 8 * k) for k in range(rank)])
    return shape, dtype_of(read_word(view + layout.VIEW_ELEMENT_TYPE))


def _data_of(view: int) -> int:
    """Where the content of a buffer view begins."""
    return read_word(read_word(view + layout.VIEW_BUFFER) + layout.BUFFER_DATA) + read_word(view + layout.VIEW_OFFSET)


def _view_of_result(array: np.ndarray) -> Ref:
    """A buffer view of a NumPy array, which lives as long as the view's buffer."""
    address = array.__array_interface__["data"][0]
    owner = Ref(objects.add(array, TYPE_OPAQUE))
    buffer = image().hal_buffer_wrap(
        address, array.nbytes, ANY_MEMORY_TYPE, ANY_USAGE, layout.BUFFER_KIND_OWNED, owner.address
    )
    if not buffer:
        raise MemoryError("no memory for a buffer")
    return view_of_buffer(Ref(buffer), array.nbytes, array.shape, array.dtype)


def _capsule_pointer(capsule: Any) -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, None)


def view_of_buffer(buffer: Ref, size: int, shape: tuple[int, ...], dtype: np.dtype) -> Ref:
    """A buffer view over `size` bytes of a buffer."""
    dims = (ctypes.c_int64 * (len(shape) + 1))(*shape)
    view = image().hal_view_create(
        buffer.address,
        0,
        size,
        element_type_of(dtype),
        ENCODING_DENSE_ROW_MAJOR,
        len(shape),
        ctypes.addressof(dims),
    )
    if not view:
        raise MemoryError("no memory for a buffer view")
    return Ref(view)


def wait_for_fence(fence: Ref, executor: Any = None) -> None:
    """Waits for a fence in slices, between which Python handles signals; raises what it failed with."""
    while True:
        if executor is not None:
            executor.start_if_wanted()
        state = image().hal_fence_wait(fence.address, _WAIT_SLICE)
        if state == layout.FENCE_SIGNALLED:
            return
        if state:
            raise failure_of(state)


def failure_of(state: int) -> VmError:
    """The error that a failed fence stands for."""
    kernel_code = state >> 8 & 0xFFFFFFFF
    message = f"a kernel returned the code {kernel_code}" if kernel_code else "the computation failed"
    return VmError(state & 0xFF, message)
