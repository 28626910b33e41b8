"""Native fences: signalled once, with success or a failure; what waits for one is a list of waiter records.

Enters: fences and waiters. Leaves: `fence_resolve` gives the waiters that are now free to go, each with the
fence's state in it; `queue.settle_waiters` deals with them, in a loop rather than by recursion.
"""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import (
    atomic_add,
    atomic_exchange,
    atomic_load,
    call1,
    compare_and_swap,
    free,
    load_i64,
    malloc,
    native,
    store_i64,
    symbol_address,
)
from pyiree.runtime.native.objects import object_allocate, release, retain
from pyiree.runtime.task import layout as task
from pyiree.runtime.task.queue import wake_waiters

_fence_destroy_address = symbol_address("hal_fence_destroy")
_settle_waiters_address = symbol_address("settle_waiters")


@native("int64(int64)")
def hal_fence_create(executor):
    fence = object_allocate(hal.FENCE_BYTES, layout.TYPE_HAL_FENCE, _fence_destroy_address())
    if fence != 0:
        store_i64(fence + hal.FENCE_EXECUTOR, executor)
        store_i64(fence + hal.FENCE_GENERATION, load_i64(executor + task.EXECUTOR_GENERATION))
    return fence


@native("int64(int64)")
def fence_state(fence):
    """0 pending, FENCE_SIGNALLED, or a failure. One that a fork cut off from its workers has failed."""
    state = atomic_load(fence + hal.FENCE_STATE)
    if state == 0:
        executor = load_i64(fence + hal.FENCE_EXECUTOR)
        if load_i64(executor + task.EXECUTOR_GENERATION) != load_i64(fence + hal.FENCE_GENERATION):
            return hal.FENCE_FAILED | layout.ABORTED
    return state


@native("int64(int64,int64)")
def fence_resolve(fence, state):
    """Gives a pending fence its state; the waiters that this frees. A fence that has one keeps it."""
    if not compare_and_swap(fence + hal.FENCE_STATE, 0, state):
        return 0
    waiters = atomic_exchange(fence + hal.FENCE_WAITERS, hal.WAITERS_CLOSED)
    wake_waiters(load_i64(fence + hal.FENCE_EXECUTOR))
    waiter = waiters
    while waiter != 0:
        store_i64(waiter + hal.WAITER_CODE, state)
        waiter = load_i64(waiter + hal.WAITER_NEXT)
    return waiters


@native("int64(int64,int64,int64)")
def fence_add_waiter(fence, kind, target):
    """1: the target waits; 0: the fence has its state; -1: memory is short."""
    waiter = malloc(hal.WAITER_BYTES)
    if waiter == 0:
        return -1
    store_i64(waiter + hal.WAITER_KIND, kind)
    store_i64(waiter + hal.WAITER_TARGET, target)
    while True:
        head = atomic_load(fence + hal.FENCE_WAITERS)
        if head == hal.WAITERS_CLOSED:
            free(waiter)
            return 0
        store_i64(waiter + hal.WAITER_NEXT, head)
        if compare_and_swap(fence + hal.FENCE_WAITERS, head, waiter):
            return 1


@native("int64(int64,int64,int64)")
def hal_fence_join(executor, count, fences):
    """A fence for all of `count` fences (null ones count as signalled), whose addresses lie at `fences`."""
    joined = hal_fence_create(executor)
    if joined == 0:
        return 0
    store_i64(joined + hal.FENCE_REMAINING, count + 1)
    for k in range(count):
        fence = load_i64(fences + 8 * k)
        state = hal.FENCE_SIGNALLED if fence == 0 else fence_state(fence)
        added = 0
        if state == 0:
            retain(joined)
            added = fence_add_waiter(fence, hal.WAITER_JOIN, joined)
            if added != 1:
                release(joined)
                state = fence_state(fence) if added == 0 else hal.FENCE_FAILED | layout.RESOURCE_EXHAUSTED
        if added != 1:
            if state & hal.FENCE_FAILED:
                fence_resolve(joined, state)  # it is new: nobody waits for it
            atomic_add(joined + hal.FENCE_REMAINING, -1)
    if atomic_add(joined + hal.FENCE_REMAINING, -1) == 1:
        fence_resolve(joined, hal.FENCE_SIGNALLED)
    return joined


@native("void(int64)")
def hal_fence_destroy(fence):
    """What still waits for a fence that nobody can signal any more fails."""
    waiters = fence_resolve(fence, hal.FENCE_FAILED | layout.ABORTED)
    if waiters != 0:
        call1(_settle_waiters_address(), waiters)
    free(fence)
