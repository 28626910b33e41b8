"""Native spin locks: a word that is 0 when free. Held for a few instructions, never around a call out."""

from pyiree.runtime.native.intrinsics import (
    atomic_exchange,
    atomic_load,
    atomic_store,
    cpu_pause,
    native,
    sched_yield,
)

_POLLS = 200  # before the processor is given to the thread that may hold the lock


@native("void(int64)")
def acquire_lock(word):
    polls = 0
    while atomic_exchange(word, 1) != 0:
        while atomic_load(word) != 0:
            polls += 1
            if polls % _POLLS == 0:
                sched_yield()
            else:
                cpu_pause()


@native("void(int64)")
def release_lock(word):
    atomic_store(word, 0)
