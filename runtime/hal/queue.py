"""Native queue operations: what a device does when its wait fence allows it, and the fence it signals then.

Enters: a device, a wait fence (0: none), a signal fence (0: none) and an operation. Leaves: a status; the
work is done, in flight on the device's executor, or waits for the fence. An operation whose fence has
failed is not done and its signal fence fails likewise.
"""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.command_buffer import finalize_commands, hal_commands_create
from pyiree.runtime.hal.fence import fence_add_waiter, fence_resolve, fence_state
from pyiree.runtime.hal.instance import (
    bind_instance,
    choose_grains,
    estimate_instance,
    instance_give,
    instance_take,
    prepare_graph,
    release_table,
    run_instance_inline,
)
from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import (
    atomic_add,
    free,
    load_i64,
    monotonic_nanoseconds,
    native,
    store_i64,
)
from pyiree.runtime.native.objects import release, retain
from pyiree.runtime.task import layout as task
from pyiree.runtime.task.queue import pthread_self, submit, wait_for_word

_SLICE = 50000000  # nanoseconds that a synchronous device works before its caller may look at signals
_MEASURE_EVERY = 16
_ALONE_RUNS = 128
_RUN_AHEAD = 4  # executions that may wait for others before their submitter has to help


@native("int64(int64,int64)")
def _chain(first, second):
    """Two waiter lists as one."""
    if first == 0:
        return second
    last = first
    while load_i64(last + hal.WAITER_NEXT) != 0:
        last = load_i64(last + hal.WAITER_NEXT)
    store_i64(last + hal.WAITER_NEXT, second)
    return first


@native("int64(int64,int64)")
def _finish_instance(instance, state):
    """Lets go of what an execution held, then resolves its fence; the waiters that this frees."""
    release_table(instance)  # first: who waits may look at the counts of these buffers
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    signal = load_i64(instance + hal.INSTANCE_SIGNAL)
    instance_give(instance)
    release(commands)
    if signal == 0:
        return 0
    waiters = fence_resolve(signal, state)
    release(signal)
    return waiters


@native("int64(int64)")
def _state_of(status):
    return hal.FENCE_SIGNALLED if status == 0 else hal.FENCE_FAILED | status


@native("int64(int64,int64)")
def runs_alone(commands, estimate):
    """Whether the calling thread is to run an execution of this estimate by itself."""
    if 0 <= estimate < hal.INLINE_NANOSECONDS:
        return True
    alone = load_i64(commands + hal.COMMANDS_ALONE)
    if alone > 0 and 0 <= estimate < hal.ALONE_NANOSECONDS:
        store_i64(commands + hal.COMMANDS_ALONE, alone - 1)
        return True
    return False


@native("int64(int64)")
def _start_instance(instance):
    """Runs an instance here if it is small, else submits it; the waiters freed by one that is done."""
    device = load_i64(instance + hal.INSTANCE_DEVICE)
    executor = load_i64(device + hal.DEVICE_EXECUTOR)
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    count = load_i64(commands + hal.COMMANDS_COUNT)
    if count == 0 or load_i64(device + hal.DEVICE_KIND) == hal.DEVICE_NULL:
        return _finish_instance(instance, hal.FENCE_SIGNALLED)
    runs = load_i64(commands + hal.COMMANDS_RUNS)
    store_i64(commands + hal.COMMANDS_RUNS, runs + 1)
    estimate = estimate_instance(instance)
    small = runs_alone(commands, estimate) != 0
    if estimate < 0 and count == 1:
        small = load_i64(load_i64(instance + hal.INSTANCE_WORK) + task.WORK_TILES) <= 1
    if not small and prepare_graph(instance, executor) != 0:
        choose_grains(instance, load_i64(executor + task.EXECUTOR_WORKERS) + 1)
        store_i64(instance + hal.INSTANCE_BEGAN, monotonic_nanoseconds())
        store_i64(instance + hal.INSTANCE_ESTIMATE, estimate)
        if submit(executor, instance) != 0:
            return 0
    # Small; or the ring is full, or memory is short: then one thread is better than none.
    measure = 1 if estimate < 0 or runs % _MEASURE_EVERY == 0 else 0
    return _finish_instance(instance, _state_of(run_instance_inline(instance, executor, measure)))


@native("int64(int64)")
def _count_down(joined):
    return atomic_add(joined + hal.FENCE_REMAINING, -1) - 1


@native("int64(int64)")
def settle_waiters(waiters):
    """Deals with waiters whose fence has its state, and with those that this frees in turn."""
    while waiters != 0:
        waiter = waiters
        waiters = load_i64(waiter + hal.WAITER_NEXT)
        state = load_i64(waiter + hal.WAITER_CODE)
        target, kind = load_i64(waiter + hal.WAITER_TARGET), load_i64(waiter + hal.WAITER_KIND)
        free(waiter)
        freed = 0
        if kind == hal.WAITER_EXECUTE:
            executor = load_i64(load_i64(target + hal.INSTANCE_DEVICE) + hal.DEVICE_EXECUTOR)
            atomic_add(executor + task.EXECUTOR_DEFERRED, -1)
            if state == hal.FENCE_SIGNALLED:
                freed = _start_instance(target)
            else:
                freed = _finish_instance(target, state)
        else:
            if kind == hal.WAITER_SIGNAL or state != hal.FENCE_SIGNALLED:
                freed = fence_resolve(target, state)
            elif _count_down(target) == 0:
                freed = fence_resolve(target, hal.FENCE_SIGNALLED)
            release(target)
        waiters = _chain(freed, waiters)
    return 0


@native("void(int64)")
def _learn(instance):
    """Compares what sharing an execution out took with what one thread would take.

    Workers that are asleep, busy with other work or without a core of their own cost more than they bring.
    The comparison is repeated now and then.
    """
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    taken = monotonic_nanoseconds() - load_i64(instance + hal.INSTANCE_BEGAN)
    trials = load_i64(commands + hal.COMMANDS_TRIALS) + 1
    store_i64(commands + hal.COMMANDS_TRIALS, trials)
    if trials <= hal.COLD_TRIALS:
        return
    known = load_i64(commands + hal.COMMANDS_SPREAD_TIME)
    if known > 0:
        # One execution that something else held up says little.
        limit = known + known // 2
        taken = (3 * known + (taken if taken < limit else limit)) // 4
    store_i64(commands + hal.COMMANDS_SPREAD_TIME, taken)
    estimate = load_i64(instance + hal.INSTANCE_ESTIMATE)
    if trials >= hal.COLD_TRIALS + hal.WARM_TRIALS and 0 <= estimate < taken and estimate < hal.ALONE_NANOSECONDS:
        store_i64(commands + hal.COMMANDS_ALONE, _ALONE_RUNS)
        store_i64(commands + hal.COMMANDS_SPREAD_TIME, 0)
        store_i64(commands + hal.COMMANDS_TRIALS, 0)


@native("int64(int64)")
def instance_on_done(submission):
    """The task system's call when an instance's last node is complete."""
    status = load_i64(submission + task.SUBMISSION_STATUS)
    _learn(submission)
    return settle_waiters(_finish_instance(submission, _state_of(status)))


@native("void(int64,int64)")
def fence_signal(fence, state):
    """Gives a fence its state and starts what waited for it."""
    settle_waiters(fence_resolve(fence, state))


@native("int64(int64,int64)")
def signal_after(wait, signal):
    """Signals a fence when another one is; gives a status."""
    if signal == 0:
        return layout.OK
    state = hal.FENCE_SIGNALLED if wait == 0 else fence_state(wait)
    if state == 0:
        retain(signal)
        added = fence_add_waiter(wait, hal.WAITER_SIGNAL, signal)
        if added == 1:
            return layout.OK
        release(signal)
        if added < 0:
            return layout.RESOURCE_EXHAUSTED
        state = fence_state(wait)
    fence_signal(signal, state)
    return layout.OK


@native("int64(int64,int64,int64,int64,int64,int64)")
def queue_execute(device, wait, signal, commands, triples, count):
    """Executes a command buffer with `count` (buffer, offset, length) triples as its binding table.

    Gives a status, SLOW where this thread has worked or waited.
    """
    if load_i64(commands + hal.COMMANDS_FINAL) != 1:
        return layout.FAILED_PRECONDITION
    instance = instance_take(commands)
    if instance == 0:
        return layout.RESOURCE_EXHAUSTED
    status = bind_instance(instance, triples, count)
    if status != layout.OK:
        instance_give(instance)
        return status
    retain(commands)
    retain(signal)
    store_i64(instance + hal.INSTANCE_SIGNAL, signal)
    store_i64(instance + hal.INSTANCE_DEVICE, device)
    store_i64(instance + task.SUBMISSION_OWNER, pthread_self())
    executor = load_i64(device + hal.DEVICE_EXECUTOR)
    state = hal.FENCE_SIGNALLED if wait == 0 else fence_state(wait)
    if state == 0:
        deferred = atomic_add(executor + task.EXECUTOR_DEFERRED, 1)
        added = fence_add_waiter(wait, hal.WAITER_EXECUTE, instance)
        if added == 1:
            # A program that never waits must not run ahead without end: each step of it holds memory.
            if deferred >= _RUN_AHEAD and load_i64(executor + task.EXECUTOR_ACTIVE) != 0:
                wait_for_word(executor, wait + hal.FENCE_STATE, _SLICE)
                return layout.SLOW
            return layout.OK
        atomic_add(executor + task.EXECUTOR_DEFERRED, -1)
        state = fence_state(wait) if added == 0 else hal.FENCE_FAILED | layout.RESOURCE_EXHAUSTED
    if state != hal.FENCE_SIGNALLED:
        settle_waiters(_finish_instance(instance, state))
        return layout.OK
    settle_waiters(_start_instance(instance))
    if signal != 0 and load_i64(device + hal.DEVICE_KIND) == hal.DEVICE_SYNC:
        # No thread but this one runs it. What a slice does not finish goes on when the fence is waited for.
        if fence_state(signal) == 0:
            wait_for_word(executor, signal + hal.FENCE_STATE, _SLICE)
            return layout.SLOW
    return layout.OK


@native("int64(int64,int64)")
def single_command(device, capacity):
    """A command buffer for one operation that is executed once; 0 when memory is short."""
    return hal_commands_create(device, hal.MODE_ONE_SHOT, capacity)


@native("int64(int64,int64,int64,int64)")
def execute_single(device, wait, signal, commands):
    """Finishes and executes such a command buffer, and gives it up."""
    status = finalize_commands(commands)
    if status == layout.OK:
        status = queue_execute(device, wait, signal, commands, 0, 0)
    release(commands)
    return status
