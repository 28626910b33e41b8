"""The Python side of the task system: one executor of worker threads per process, one without any.

Leaves: `shared_executor()` (workers: cores - 1) and `calling_thread_executor()` (none), each with the
address of its native block. Workers start when a submission first wants them; they stop at exit; a forked
child starts its own.

Environment: PYIREE_THREADS is how many threads compute, the calling one included.
"""

import atexit
import ctypes
import os
import threading
import time

from pyiree.runtime.fork import fork_safe_lock
from pyiree.runtime.native.image import image
from pyiree.runtime.task import layout
from pyiree.runtime.task.setting import as_thread_count
from pyiree.runtime.vmfb.errors import ConfigError

_SPIN_POLLS = 2000  # 30 to 100 microseconds


def available_cores() -> int:
    """How many cores this process may use: its affinity, capped by the cgroup's quota."""
    cores = len(_allowed_cores())
    quota = _cgroup_quota()
    return cores if quota is None else max(1, min(cores, int(quota)))


def _allowed_cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _cgroup_quota() -> float | None:
    """The processors that the control group grants, or None if it sets no limit."""
    for path in ("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"):
        try:
            with open(path) as file:
                words = file.read().split()
            if len(words) == 1:
                with open(path.replace("quota", "period")) as file:
                    words.append(file.read().strip())
        except OSError:
            continue
        if words[0] not in ("max", "-1"):
            return float(words[0]) / float(words[1])
    return None


def thread_count() -> int:
    """How many threads compute, the calling one included."""
    setting = os.environ.get("PYIREE_THREADS", "").strip()
    if not setting:
        return available_cores()
    try:
        return as_thread_count(setting)
    except ValueError as error:
        raise ConfigError(f"PYIREE_THREADS = {setting!r}: {error}") from None


class Executor:
    """A native executor and its worker threads."""

    def __init__(self, workers: int):
        self.workers = workers
        self.address = image().executor_create(layout.RING_SLOTS)
        if not self.address:
            raise MemoryError("no memory for the task system")
        self._threads: list[threading.Thread] = []
        self._lock = fork_safe_lock()
        self._local_memories: list[ctypes.Array] = []
        self._places = (ctypes.c_int64 * (workers * layout.PLACE_BYTES // 8))()
        oversubscribed = workers >= available_cores()
        self._set(layout.EXECUTOR_WORKERS, workers)
        self._set(layout.EXECUTOR_SPIN, 0 if oversubscribed else _SPIN_POLLS)
        self._pinned = not oversubscribed and hasattr(os, "sched_setaffinity")

    def _word(self, offset: int) -> ctypes.c_int64:
        return ctypes.c_int64.from_address(self.address + offset)

    def _set(self, offset: int, value: int) -> None:
        self._word(offset).value = value

    @property
    def running_workers(self) -> int:
        """Worker threads that are in their loop now."""
        return self._word(layout.EXECUTOR_LIVE).value

    def start(self) -> None:
        """Starts the workers, if they aren't there yet."""
        with self._lock:
            if self._threads or not self.workers:
                return
            cores = _allowed_cores()
            pinned = self._pinned and len(cores) > self.workers
            if pinned:
                ctypes.memset(self._places, 0, ctypes.sizeof(self._places))
                self._set(layout.EXECUTOR_FREE_CORE, cores[0])
                self._set(layout.EXECUTOR_PLACES, ctypes.addressof(self._places))
            for index in range(self.workers):
                # One core is left to the calling thread; unpinned workers were seen to share one core.
                core = cores[index + 1] if pinned else None
                thread = threading.Thread(
                    target=self._work, args=(index, core), name=f"pyiree-worker-{index}", daemon=True
                )
                thread.start()
                self._threads.append(thread)
            self._set(layout.EXECUTOR_THREADS, self.workers)
            self._set(layout.EXECUTOR_WANTED, 0)

    def _work(self, index: int, core: int | None) -> None:
        if core is not None:
            self._take_place(index, core)
        memory = ctypes.create_string_buffer(layout.LOCAL_BYTES + 4096)
        self._local_memories.append(memory)
        image().worker_main(self.address, index, (ctypes.addressof(memory) + 4095) & -4096)

    def _take_place(self, index: int, core: int) -> None:
        os.sched_setaffinity(0, {core})
        place = index * layout.PLACE_BYTES // 8
        self._places[place + layout.PLACE_CORE // 8] = core
        self._places[place + layout.PLACE_THREAD // 8] = threading.get_native_id()

    def start_if_wanted(self) -> None:
        """Starts the workers if a submission would have woken some."""
        if self._word(layout.EXECUTOR_WANTED).value:
            self.start()

    @property
    def last_submission(self) -> int:
        return self._word(layout.EXECUTOR_SEQUENCE).value

    def cancel(self, after: int) -> None:
        """Stops this thread's submissions numbered above `after`, and waits for the workgroups that run."""
        self._settle(after, layout.STATUS_CANCELLED)

    def drain(self, after: int) -> None:
        """Waits for this thread's submissions numbered above `after`, helping meanwhile."""
        self._settle(after, 0)

    def _settle(self, after: int, status: int) -> None:
        native, owner = image(), threading.get_ident()
        while native.cancel_submissions(self.address, owner, after, status):
            if not native.help_once(self.address):
                time.sleep(0.0002)  # what is left runs on other threads

    def stop(self) -> None:
        """Ends the workers; work in flight that no worker has begun is left undone."""
        with self._lock:
            if self._threads:
                image().executor_stop(self.address)
                for thread in self._threads:
                    thread.join()
                self._threads = []

    def lock(self) -> None:
        image().acquire_lock(self.address + layout.EXECUTOR_LOCK)

    def unlock(self) -> None:
        image().release_lock(self.address + layout.EXECUTOR_LOCK)

    def reset_after_fork(self) -> None:
        self._threads = []
        self._local_memories = []
        image().executor_reset_after_fork(self.address)


_executors: dict[str, Executor] = {}
_creation = fork_safe_lock()
_fork_locks: list[int] = []  # further native spin locks that no thread may hold while the process forks


def _executor(kind: str, workers) -> Executor:
    with _creation:
        if kind not in _executors:
            _executors[kind] = Executor(workers())
        return _executors[kind]


def shared_executor() -> Executor:
    """The process's executor with worker threads."""
    return _executor("task", lambda: thread_count() - 1)


def fixed_thread_count() -> int | None:
    """How many threads compute in this process whatever PYIREE_THREADS says by now; None while it still counts."""
    executor = _executors.get("task")
    return None if executor is None else executor.workers + 1


def calling_thread_executor() -> Executor:
    """The process's executor without threads: whoever waits does the work."""
    return _executor("sync", lambda: 0)


def guard_lock_across_fork(address: int) -> None:
    """Names a native spin lock that is to be free in a forked child."""
    _fork_locks.append(address)


def _before_fork() -> None:
    for executor in _executors.values():
        executor.lock()
    for lock in _fork_locks:
        image().acquire_lock(lock)


def _after_fork_in_parent() -> None:
    for lock in _fork_locks:
        image().release_lock(lock)
    for executor in _executors.values():
        executor.unlock()


def _after_fork_in_child() -> None:
    for lock in _fork_locks:
        image().release_lock(lock)
    for executor in _executors.values():
        executor.reset_after_fork()


@atexit.register
def _stop_all() -> None:
    for executor in _executors.values():
        executor.stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
