"""Devices: what a driver makes, and the native object that queue operations look at.

Enters: a driver's name, an executor, an index. Leaves: `Device`, whose `address` is the native object.
All devices of a process share one memory pool, which is the host's memory.
"""

import ctypes
import os

from pyiree.runtime.fork import fork_safe_lock
from pyiree.runtime.hal import layout
from pyiree.runtime.native.image import image
from pyiree.runtime.native.layout import OBJECT_COUNT, OBJECT_DESTROY, OBJECT_TYPE, TYPE_HAL_DEVICE
from pyiree.runtime.task.executor import Executor, guard_lock_across_fork
from pyiree.runtime.vmfb.lazy_dataclass import dataclass

_pool_lock = fork_safe_lock()
_pool = 0


def memory_pool() -> int:
    """The address of the process's memory pool."""
    global _pool
    with _pool_lock:
        if not _pool:
            _pool = image().pool_create(_cache_limit())
            if not _pool:
                raise MemoryError("no memory for the memory pool")
            guard_lock_across_fork(_pool + layout.POOL_LOCK)
        return _pool


def _cache_limit() -> int:
    """How many bytes of large free blocks are kept for reuse: an eighth of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8


@dataclass(frozen=True, slots=True)
class MemoryStatistics:
    """Of the memory pool, in bytes."""

    live: int  # in buffers
    peak: int  # the most that ever was
    cached: int  # free, kept for reuse
    allocations: int  # buffers made since the start
    live_blocks: int  # buffers now


def memory_statistics() -> MemoryStatistics:
    """What the memory pool holds now."""

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(memory_pool() + offset).value

    return MemoryStatistics(
        word(layout.POOL_LIVE),
        word(layout.POOL_PEAK),
        word(layout.POOL_CACHED),
        word(layout.POOL_ALLOCATIONS),
        word(layout.POOL_LIVE_BLOCKS),
    )


def reset_peak() -> None:
    """Counts the peak from now on."""
    pool = memory_pool()
    live = ctypes.c_int64.from_address(pool + layout.POOL_LIVE).value
    ctypes.c_int64.from_address(pool + layout.POOL_PEAK).value = live


def trim_memory() -> int:
    """Gives large free blocks back to the system; how many bytes that were."""
    return image().pool_trim(memory_pool())


class Device:
    """A device of the HAL. Drivers make it; it lives as long as anything uses it."""

    def __init__(self, driver: str, kind: int, executor: Executor, index: int):
        self.driver = driver
        self.index = index
        self.executor = executor
        allocator = image().hal_allocator_create(memory_pool())
        if not allocator:
            raise MemoryError("no memory for a device")
        # Memory of Python's, not counted down to zero by native code: `self` holds one reference throughout.
        self._memory = (ctypes.c_int64 * (layout.DEVICE_BYTES // 8))()
        for offset, value in (
            (OBJECT_COUNT, 1),
            (OBJECT_TYPE, TYPE_HAL_DEVICE),
            (OBJECT_DESTROY, 0),
            (layout.DEVICE_KIND, kind),
            (layout.DEVICE_EXECUTOR, executor.address),
            (layout.DEVICE_ALLOCATOR, allocator),
            (layout.DEVICE_INDEX, index),
        ):
            self._memory[offset // 8] = value
        self.address = ctypes.addressof(self._memory)

    @property
    def id(self) -> str:
        """What `hal.device.id` is matched against: modules for the CPU ask for `local*`."""
        return "local"

    def __repr__(self) -> str:
        return f"<Device {self.driver}:{self.index}>"
