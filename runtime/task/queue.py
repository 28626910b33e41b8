"""The native task queue: ready ring, workgroup claiming, parking, submission.

Enters: addresses of the records in `layout`. Leaves: kernels called once per workgroup, `on_done` called once
per submission.

    ring head ──> [node][node][node] <── ring tail
                    │ NODE_NEXT says which claims are taken: GRAIN workgroups each

* A node's counters are reset by whoever makes it ready, never at submission: a recorded graph is submitted
  again at no cost per node, and a slow worker that still looks at an old node can only claim ready work.
* NODE_NEXT, NODE_TOTAL and NODE_SPLIT carry the number of the run (epoch); a claim exchanges NODE_NEXT as a whole, so
  what a slow worker saw of one run is void in the next.
* Where there are few claims, each thread first takes those of its own part of the workgroups, which is the same in
  every dispatch: what it finds in its core's cache is what it left there. Then it takes the ones that others would take
  last.
* The waiting thread runs the same `step`, so no worker at all is a legal setting.
"""

from pyiree.runtime.native.intrinsics import (
    FLUSH_DENORMALS,
    aligned_alloc,
    atomic_add,
    atomic_add32,
    atomic_load,
    atomic_load32,
    atomic_store,
    call1,
    call_kernel,
    compare_and_swap,
    cpu_pause,
    extern,
    futex_wait,
    futex_wake,
    get_float_control,
    load_i64,
    load_u32,
    memory_fence,
    memset,
    monotonic_nanoseconds,
    native,
    set_float_control,
    stack_bytes,
    store_i16,
    store_i32,
    store_i64,
)
from pyiree.runtime.task import layout as task
from pyiree.runtime.task.lock import acquire_lock, release_lock
from pyiree.runtime.task.placement import leave_core_to_caller

_LOW = 0xFFFFFFFF
_EVERYBODY = 1 << 30

pthread_self = extern("pthread_self", 0)
_group_state = stack_bytes(task.GROUP_BYTES)


# ------------------------------------------------------------------ executor memory


@native("int64(int64)")
def executor_create(ring_slots):
    """The address of a new executor of no threads; it lives as long as the process."""
    executor = aligned_alloc(64, task.EXECUTOR_BYTES)
    memset(executor, 0, task.EXECUTOR_BYTES)
    ring = aligned_alloc(64, ring_slots * 8)
    memset(ring, 0, ring_slots * 8)
    store_i64(executor + task.EXECUTOR_RING, ring)
    store_i64(executor + task.EXECUTOR_MASK, ring_slots - 1)
    return executor


@native("void(int64)")
def executor_reset_after_fork(executor):
    """Makes a forked child's copy usable: no threads, nothing in flight, later fences of a new generation."""
    ring_slots = load_i64(executor + task.EXECUTOR_MASK) + 1
    memset(load_i64(executor + task.EXECUTOR_RING), 0, ring_slots * 8)
    for word in (
        task.EXECUTOR_HEAD,
        task.EXECUTOR_TAIL,
        task.EXECUTOR_FUTEX,
        task.EXECUTOR_SLEEPERS,
        task.EXECUTOR_STOP,
        task.EXECUTOR_THREADS,
        task.EXECUTOR_WANTED,
        task.EXECUTOR_LIVE,
        task.EXECUTOR_PLACES,
        task.EXECUTOR_DONATING,
        task.EXECUTOR_ADMITTED,
        task.EXECUTOR_ACTIVE,
        task.EXECUTOR_DEFERRED,
    ):
        store_i64(executor + word, 0)
    atomic_add(executor + task.EXECUTOR_GENERATION, 1)
    atomic_store(executor + task.EXECUTOR_LOCK, 0)


@native("int64(int64)")
def take_node(executor):
    """A node that is no submission's; 0 when memory is short. The caller holds no lock."""
    acquire_lock(executor + task.EXECUTOR_LOCK)
    node = load_i64(executor + task.EXECUTOR_NODES)
    if node == 0:
        slab = aligned_alloc(64, task.NODE_BYTES * task.NODES_PER_SLAB)
        if slab != 0:
            memset(slab, 0, task.NODE_BYTES * task.NODES_PER_SLAB)
            for k in range(task.NODES_PER_SLAB):
                fresh = slab + task.NODE_BYTES * k
                store_i64(fresh + task.NODE_NEXT_FREE, node)
                node = fresh
    if node != 0:
        store_i64(executor + task.EXECUTOR_NODES, load_i64(node + task.NODE_NEXT_FREE))
    release_lock(executor + task.EXECUTOR_LOCK)
    return node


@native("void(int64,int64)")
def give_node(executor, node):
    acquire_lock(executor + task.EXECUTOR_LOCK)
    store_i64(node + task.NODE_NEXT_FREE, load_i64(executor + task.EXECUTOR_NODES))
    store_i64(executor + task.EXECUTOR_NODES, node)
    release_lock(executor + task.EXECUTOR_LOCK)


# ------------------------------------------------------------------ workgroup state


@native("void(int64,int64,int64,int64)")
def group_state_init(group, executor, processor, local):
    memset(group, 0, task.GROUP_BYTES)
    store_i32(group + task.GROUP_PROCESSOR, processor)
    store_i64(group + task.GROUP_EXECUTOR, executor)
    if local != 0:
        store_i64(group + task.GROUP_LOCAL, local)
        store_i32(group + task.GROUP_LOCAL_BYTES, task.LOCAL_BYTES)


@native("int64(int64)")
def _borrow_scratch(group):
    """Gives a calling thread local memory, for as long as it works; 0 when memory is short."""
    executor = load_i64(group + task.GROUP_EXECUTOR)
    acquire_lock(executor + task.EXECUTOR_LOCK)
    scratch = load_i64(executor + task.EXECUTOR_SCRATCH)
    if scratch != 0:
        store_i64(executor + task.EXECUTOR_SCRATCH, load_i64(scratch))
    release_lock(executor + task.EXECUTOR_LOCK)
    if scratch == 0:
        scratch = aligned_alloc(4096, task.LOCAL_BYTES)
    if scratch != 0:
        store_i64(group + task.GROUP_SCRATCH, scratch)
        store_i64(group + task.GROUP_LOCAL, scratch)
        store_i32(group + task.GROUP_LOCAL_BYTES, task.LOCAL_BYTES)
    return scratch


@native("void(int64)")
def return_scratch(group):
    scratch = load_i64(group + task.GROUP_SCRATCH)
    if scratch == 0:
        return
    executor = load_i64(group + task.GROUP_EXECUTOR)
    acquire_lock(executor + task.EXECUTOR_LOCK)
    store_i64(scratch, load_i64(executor + task.EXECUTOR_SCRATCH))
    store_i64(executor + task.EXECUTOR_SCRATCH, scratch)
    release_lock(executor + task.EXECUTOR_LOCK)
    store_i64(group + task.GROUP_SCRATCH, 0)
    store_i64(group + task.GROUP_LOCAL, 0)


@native("int64(int64,int64,int64,int64)")
def run_tiles(work, group, start, end):
    """Calls the kernel for workgroups [start, end) of a work record; gives a submission status, 0 is good."""
    if load_i64(work + task.WORK_LOCAL_BYTES) > 0 and load_i64(group + task.GROUP_LOCAL) == 0:
        if _borrow_scratch(group) == 0:
            return task.STATUS_RESOURCE_EXHAUSTED
    function = load_i64(work + task.WORK_FUNCTION)
    environment = load_i64(work + task.WORK_ENVIRONMENT)
    nx, ny = load_i64(work + task.WORK_NX), load_i64(work + task.WORK_NY)
    x = start % nx
    y = start // nx
    z = y // ny
    y = y % ny
    control = 0
    flush = load_i64(work + task.WORK_FLAGS) & task.WORK_FLUSH_DENORMALS
    if flush != 0:
        control = get_float_control()
        set_float_control(control | FLUSH_DENORMALS)
    code = 0
    for _ in range(start, end):
        store_i32(group + task.GROUP_X, x)
        store_i32(group + task.GROUP_Y, y)
        store_i16(group + task.GROUP_Z, z)
        code = call_kernel(function, environment, work, group)
        if code != 0:
            break
        x += 1
        if x == nx:
            x = 0
            y += 1
            if y == ny:
                y = 0
                z += 1
    if flush != 0:
        set_float_control(control)
    return 0 if code == 0 else ((code & _LOW) << 8) | task.STATUS_INTERNAL


@native("void(int64,int64,int64)")
def record_cost(work, nanoseconds, tiles):
    """Remembers what a workgroup of this kernel takes: a running mean that follows within a few runs."""
    cost = load_i64(work + task.WORK_COST)
    if cost != 0:
        measured = nanoseconds // tiles
        if measured < 1:
            measured = 1
        known = load_i64(cost)
        store_i64(cost, measured if known == 0 else (3 * known + measured + 2) // 4)


@native("void(int64,int64,int64,int64)")
def set_workgroup_count(work, x, y, z):
    store_i32(work + task.WORK_COUNT_X, x)
    store_i32(work + task.WORK_COUNT_Y, y)
    store_i16(work + task.WORK_COUNT_Z, z)
    store_i64(work + task.WORK_NX, x)
    store_i64(work + task.WORK_NY, y)
    # A count that does not fit the ticket's 32 bits comes from a damaged indirect buffer: nothing runs.
    tiles = x * y * z
    store_i64(work + task.WORK_TILES, tiles if tiles <= _LOW >> 1 and z < 1 << 16 else 0)


# ------------------------------------------------------------------ ring


@native("void(int64)")
def read_indirect_count(work):
    """Takes the workgroup count of an indirect dispatch from its buffer."""
    counts = load_i64(work + task.WORK_INDIRECT)
    if counts == 0:
        return
    x, y, z = load_u32(counts), load_u32(counts + 4), load_u32(counts + 8)
    set_workgroup_count(work, x, y, z)


@native("void(int64,int64)")
def notify(executor, count):
    """Wakes up to `count` sleepers, after the work they should see was published."""
    memory_fence()
    if atomic_load(executor + task.EXECUTOR_SLEEPERS) > 0:
        atomic_add32(executor + task.EXECUTOR_FUTEX, 1)
        futex_wake(executor + task.EXECUTOR_FUTEX, count)
    elif load_i64(executor + task.EXECUTOR_THREADS) < load_i64(executor + task.EXECUTOR_WORKERS):
        store_i64(executor + task.EXECUTOR_WANTED, 1)


@native("void(int64)")
def wake_waiters(executor):
    """Wakes the parked waiters, after the word that one of them waits for was given its outcome."""
    memory_fence()
    if atomic_load(executor + task.EXECUTOR_DONATING) > 0:
        notify(executor, _EVERYBODY)


@native("int64(int64,int64)")
def _make_ready(executor, node):
    """Publishes a node all of whose predecessors are complete; gives the number of claims it takes."""
    work = load_i64(node + task.NODE_WORK)
    tiles = 1  # a barrier, and a dispatch of no workgroups, is one empty claim
    if work != 0:
        read_indirect_count(work)
        tiles = load_i64(work + task.WORK_TILES)
        if tiles == 0:
            tiles = 1
    epoch = ((atomic_load(node + task.NODE_NEXT) >> 32) + 1) << 32
    grain = load_i64(node + task.NODE_GRAIN)
    claims = (tiles + grain - 1) // grain
    split = grain if 1 < claims <= task.CLAIM_BITS else 0
    store_i64(node + task.NODE_DONE, 0)
    store_i64(node + task.NODE_PENDING, load_i64(node + task.NODE_DEPENDENCIES))
    atomic_store(node + task.NODE_TOTAL, epoch | tiles)
    atomic_store(node + task.NODE_SPLIT, epoch | split)
    atomic_store(node + task.NODE_NEXT, epoch)
    position = atomic_add(executor + task.EXECUTOR_TAIL, 1) & load_i64(executor + task.EXECUTOR_MASK)
    slot = load_i64(executor + task.EXECUTOR_RING) + position * 8
    while atomic_load(slot) != 0:  # admission keeps this from lasting
        cpu_pause()
    atomic_store(slot, node)  # from here on the node may be finished and be another submission's
    return claims


@native("void(int64)")
def _retire(submission):
    """Takes a finished submission off the executor's books and tells its owner."""
    executor = load_i64(submission + task.SUBMISSION_EXECUTOR)
    atomic_add(executor + task.EXECUTOR_ADMITTED, -load_i64(submission + task.SUBMISSION_WIDTH))
    acquire_lock(executor + task.EXECUTOR_LOCK)
    previous = load_i64(submission + task.SUBMISSION_PREVIOUS)
    following = load_i64(submission + task.SUBMISSION_FOLLOWING)
    if previous != 0:
        store_i64(previous + task.SUBMISSION_FOLLOWING, following)
    else:
        store_i64(executor + task.EXECUTOR_ACTIVE, following)
    if following != 0:
        store_i64(following + task.SUBMISSION_PREVIOUS, previous)
    release_lock(executor + task.EXECUTOR_LOCK)
    call1(load_i64(submission + task.SUBMISSION_ON_DONE), submission)


@native("void(int64,int64)")
def _complete(executor, node):
    submission = load_i64(node + task.NODE_SUBMISSION)
    successors = load_i64(node + task.NODE_SUCCESSORS)
    claims = 0
    for k in range(load_i64(node + task.NODE_SUCCESSOR_COUNT)):
        successor = load_i64(successors + 8 * k)
        if atomic_add(successor + task.NODE_PENDING, -1) == 1:
            claims += _make_ready(executor, successor)
    if claims > 1:  # this thread takes one itself
        notify(executor, claims - 1)
    if atomic_add(submission + task.SUBMISSION_REMAINING, -1) == 1:
        _retire(submission)


@native("void(int64,int64,int64)")
def _advance(executor, head, slot):
    if compare_and_swap(executor + task.EXECUTOR_HEAD, head, head + 1):
        atomic_store(slot, 0)


@native("int64(int64,int64,int64)")
def _choose_claim(executor, group, claims_and_taken):
    """The number of a claim that is free, for the thread of a group; -1 when all are taken."""
    claims, taken = claims_and_taken >> 32, claims_and_taken & _LOW
    threads = load_i64(executor + task.EXECUTOR_WORKERS) + 1
    thread = load_u32(group + task.GROUP_PROCESSOR)
    first = thread * claims // threads
    for claim in range(first, (thread + 1) * claims // threads):
        if (taken >> claim) & 1 == 0:
            return claim
    claim = first
    for _ in range(claims):
        claim = (claim if claim > 0 else claims) - 1
        if (taken >> claim) & 1 == 0:
            return claim
    return -1


@native("int64(int64,int64)")
def step(executor, group):
    """Does one piece of work. 1: did some, or lost a race; 0: nothing is ready."""
    head = atomic_load(executor + task.EXECUTOR_HEAD)
    slot = load_i64(executor + task.EXECUTOR_RING) + (head & load_i64(executor + task.EXECUTOR_MASK)) * 8
    node = atomic_load(slot)
    if node == 0:
        return 1 if atomic_load(executor + task.EXECUTOR_HEAD) != head else 0
    taken = atomic_load(node + task.NODE_NEXT)
    total = atomic_load(node + task.NODE_TOTAL)
    split = atomic_load(node + task.NODE_SPLIT)
    tiles = total & _LOW
    is_this_run = (taken >> 32) == (total >> 32) and (taken >> 32) == (split >> 32)
    grain = split & _LOW
    start = 0
    following = 0
    if grain != 0:
        claims = (tiles + grain - 1) // grain
        claim = _choose_claim(executor, group, claims << 32 | (taken & _LOW)) if is_this_run else -1
        start = claim * grain if claim >= 0 else tiles
        following = taken | (1 << claim) if claim >= 0 else 0
        is_last = (following & _LOW) == (1 << claims) - 1
    else:
        grain = load_i64(node + task.NODE_GRAIN)
        start = taken & _LOW
        following = taken + grain
        is_last = start + grain >= tiles
    if not is_this_run or start >= tiles:
        _advance(executor, head, slot)
        return 1
    if not compare_and_swap(node + task.NODE_NEXT, taken, following):
        return 1
    end = start + grain
    if end > tiles:
        end = tiles
    if is_last:  # the last claim retires the node, so that others need not fail on it
        if atomic_load(executor + task.EXECUTOR_HEAD) == head and atomic_load(slot) == node:
            _advance(executor, head, slot)
    work = load_i64(node + task.NODE_WORK)
    submission = load_i64(node + task.NODE_SUBMISSION)
    if work != 0 and atomic_load(submission + task.SUBMISSION_STATUS) == 0:
        if load_i64(work + task.WORK_TILES) > 0:
            began = monotonic_nanoseconds() if start == 0 else 0
            status = run_tiles(work, group, start, end)
            if status != 0:
                compare_and_swap(submission + task.SUBMISSION_STATUS, 0, status)
            elif start == 0:
                record_cost(work, monotonic_nanoseconds() - began, end)
    if atomic_add(node + task.NODE_DONE, end - start) + (end - start) == tiles:
        _complete(executor, node)
    return 1


# ------------------------------------------------------------------ parking and waiting


@native("int64(int64,int64,int64)")
def _park(executor, word, nanoseconds):
    """Parks a thread that takes work, unless work or the end of `word` (0: none) shows up in between."""
    atomic_add(executor + task.EXECUTOR_SLEEPERS, 1)
    event = atomic_load32(executor + task.EXECUTOR_FUTEX)
    busy = atomic_load(executor + task.EXECUTOR_STOP) != 0
    if atomic_load(executor + task.EXECUTOR_HEAD) != atomic_load(executor + task.EXECUTOR_TAIL):
        busy = True
    if word != 0 and atomic_load(word) != 0:
        busy = True
    outcome = 0
    if not busy:
        outcome = futex_wait(executor + task.EXECUTOR_FUTEX, event, nanoseconds)
    atomic_add(executor + task.EXECUTOR_SLEEPERS, -1)
    return outcome


@native("int64(int64,int64,int64)")
def wait_for_word(executor, word, nanoseconds):
    """Works until the word is not 0. 1: it is; 0: the time is over (or a signal came), call again.

    Who sets the word calls `wake_waiters`.
    """
    group = _group_state()
    group_state_init(group, executor, load_i64(executor + task.EXECUTOR_WORKERS), 0)
    spin = load_i64(executor + task.EXECUTOR_SPIN)
    deadline = monotonic_nanoseconds() + nanoseconds
    idle = 0
    interrupted = False
    while atomic_load(word) == 0 and not interrupted:
        if step(executor, group) != 0:
            idle = 0
            interrupted = monotonic_nanoseconds() >= deadline
        elif idle < spin:
            idle += 1
            cpu_pause()
        else:
            idle = 0
            left = deadline - monotonic_nanoseconds()
            if left <= 0:
                break
            atomic_add(executor + task.EXECUTOR_DONATING, 1)
            interrupted = _park(executor, word, left) != 0 and monotonic_nanoseconds() < deadline
            atomic_add(executor + task.EXECUTOR_DONATING, -1)
            leave_core_to_caller(executor)
    return_scratch(group)
    # This thread may have announced work that it now leaves to others.
    if atomic_load(executor + task.EXECUTOR_HEAD) != atomic_load(executor + task.EXECUTOR_TAIL):
        notify(executor, 1)
    return 1 if atomic_load(word) != 0 else 0


@native("int64(int64,int64,int64)")
def worker_main(executor, index, local):
    """A worker thread's whole life."""
    group = _group_state()
    group_state_init(group, executor, index, local)
    atomic_add(executor + task.EXECUTOR_LIVE, 1)
    spin = load_i64(executor + task.EXECUTOR_SPIN)
    idle = 0
    while atomic_load(executor + task.EXECUTOR_STOP) == 0:
        if step(executor, group) != 0:
            idle = 0
        elif idle < spin:
            idle += 1
            cpu_pause()
        else:
            _park(executor, 0, 1000000000)
            idle = 0
    atomic_add(executor + task.EXECUTOR_LIVE, -1)
    return 0


@native("void(int64)")
def executor_stop(executor):
    atomic_store(executor + task.EXECUTOR_STOP, 1)
    atomic_add32(executor + task.EXECUTOR_FUTEX, 1)
    futex_wake(executor + task.EXECUTOR_FUTEX, _EVERYBODY)


# ------------------------------------------------------------------ submission


@native("int64(int64,int64)")
def submit(executor, submission):
    """Starts a submission; 0 when the ring has no room for its widest part, and nothing was done.

    Its graph and SUBMISSION_NODE_COUNT, _ROOTS, _ROOT_COUNT, _WIDTH, _ON_DONE and _OWNER are set.
    """
    width = load_i64(submission + task.SUBMISSION_WIDTH)
    if atomic_add(executor + task.EXECUTOR_ADMITTED, width) + width > task.ADMISSION_LIMIT:
        atomic_add(executor + task.EXECUTOR_ADMITTED, -width)
        return 0
    store_i64(submission + task.SUBMISSION_EXECUTOR, executor)
    store_i64(submission + task.SUBMISSION_STATUS, 0)
    acquire_lock(executor + task.EXECUTOR_LOCK)
    number = load_i64(executor + task.EXECUTOR_SEQUENCE) + 1
    store_i64(executor + task.EXECUTOR_SEQUENCE, number)
    store_i64(submission + task.SUBMISSION_NUMBER, number)
    first = load_i64(executor + task.EXECUTOR_ACTIVE)
    store_i64(submission + task.SUBMISSION_PREVIOUS, 0)
    store_i64(submission + task.SUBMISSION_FOLLOWING, first)
    if first != 0:
        store_i64(first + task.SUBMISSION_PREVIOUS, submission)
    store_i64(executor + task.EXECUTOR_ACTIVE, submission)
    release_lock(executor + task.EXECUTOR_LOCK)
    atomic_store(submission + task.SUBMISSION_REMAINING, load_i64(submission + task.SUBMISSION_NODE_COUNT))
    roots = load_i64(submission + task.SUBMISSION_ROOTS)
    count = load_i64(submission + task.SUBMISSION_ROOT_COUNT)
    claims = 0
    for k in range(count):  # from the last root's publication on, `submission` may be finished and gone
        claims += _make_ready(executor, load_i64(roots + 8 * k))
    if claims > 1:  # the caller takes one when it waits
        leave_core_to_caller(executor)
        notify(executor, claims - 1)
    return 1


@native("int64(int64,int64,int64,int64)")
def cancel_submissions(executor, owner, after, status):
    """Stops the running submissions of a thread with numbers above `after`; gives how many still run."""
    running = 0
    acquire_lock(executor + task.EXECUTOR_LOCK)
    submission = load_i64(executor + task.EXECUTOR_ACTIVE)
    while submission != 0:
        if load_i64(submission + task.SUBMISSION_OWNER) == owner:
            if load_i64(submission + task.SUBMISSION_NUMBER) > after:
                compare_and_swap(submission + task.SUBMISSION_STATUS, 0, status)
                running += 1
        submission = load_i64(submission + task.SUBMISSION_FOLLOWING)
    release_lock(executor + task.EXECUTOR_LOCK)
    return running


@native("int64(int64)")
def help_once(executor):
    """One step of work by a calling thread; 1 when there was something."""
    group = _group_state()
    group_state_init(group, executor, load_i64(executor + task.EXECUTOR_WORKERS), 0)
    did = step(executor, group)
    return_scratch(group)
    return did
