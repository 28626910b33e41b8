"""Which cores the workers run on.

Enters: an executor whose workers are pinned, one core each, one core left free. Leaves: the workers on other cores than
the calling thread. The system may put a calling thread on a worker's core and keep it there for long (some kernels pack
threads on purpose), which halves what the two get done.
"""

from pyiree.runtime.native.intrinsics import (
    I32,
    extern,
    load_i64,
    memset,
    native,
    stack_bytes,
    store_i8,
    store_i64,
    thread_number,
)
from pyiree.runtime.task import layout as task
from pyiree.runtime.task.lock import acquire_lock, release_lock

_MASK_BYTES = 128  # of a cpu_set_t

sched_getcpu = extern("sched_getcpu", 0, I32)
sched_setaffinity = extern("sched_setaffinity", 3)
_core_mask = stack_bytes(_MASK_BYTES)


@native("void(int64,int64)")
def _pin(thread, core):
    mask = _core_mask()
    memset(mask, 0, _MASK_BYTES)
    store_i8(mask + (core >> 3), 1 << (core & 7))
    sched_setaffinity(thread, _MASK_BYTES, mask)


@native("void(int64)")
def leave_core_to_caller(executor):
    """Moves the worker that is pinned to this thread's core, if there is one, to the free core.

    A worker that starts what waited for its work stays where it is: the free core is the waiting caller's.
    """
    places = load_i64(executor + task.EXECUTOR_PLACES)
    if places == 0:
        return
    core = sched_getcpu()
    if core == load_i64(executor + task.EXECUTOR_FREE_CORE):
        return
    caller = thread_number()
    acquire_lock(executor + task.EXECUTOR_LOCK)
    for index in range(load_i64(executor + task.EXECUTOR_WORKERS)):
        place = places + task.PLACE_BYTES * index
        thread = load_i64(place + task.PLACE_THREAD)
        if thread == caller:
            break
        if thread != 0 and load_i64(place + task.PLACE_CORE) == core:
            _pin(thread, load_i64(executor + task.EXECUTOR_FREE_CORE))
            store_i64(place + task.PLACE_CORE, load_i64(executor + task.EXECUTOR_FREE_CORE))
            store_i64(executor + task.EXECUTOR_FREE_CORE, core)
            break
    release_lock(executor + task.EXECUTOR_LOCK)
