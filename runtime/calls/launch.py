"""The native execution of launch plans: small programs run on the calling thread, without the interpreter.

Enters: a program's table with a plan, and a call's instance whose arguments' addresses stand in its side records.
Leaves: the plan's allocations, filled; or nothing done, where the interpreter has to be asked: the program is not known
to be small, memory is short, or a kernel failed.
"""

from pyiree.runtime.calls import entry_layout as entry
from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.allocator import pool_allocate, pool_free, size_class
from pyiree.runtime.hal.instance import (
    bind_addresses,
    estimate_instance,
    instance_give,
    instance_take,
    run_instance_inline,
)
from pyiree.runtime.hal.queue import runs_alone
from pyiree.runtime.native.intrinsics import VOID, extern, load_i64, native, store_i64
from pyiree.runtime.native.objects import release, retain

_save_thread = extern("PyEval_SaveThread", 0)
_restore_thread = extern("PyEval_RestoreThread", 1, VOID)

_MEASURE_EVERY = 16


@native("int64(int64,int64)")
def plan_sources(table, instance):
    """The address of the sources' words: the arguments' addresses, then those of the allocations."""
    return instance + load_i64(table + entry.TABLE_SOURCES)


@native("int64(int64,int64)")
def plan_blocks(table, instance):
    """The address of the words of the allocations: the block of each, 0 where a result has taken it over."""
    allocations = load_i64(load_i64(table + entry.TABLE_PLAN) + entry.PLAN_ALLOCATION_COUNT)
    return plan_sources(table, instance) + 8 * (load_i64(table + entry.TABLE_ARGUMENT_COUNT) + allocations)


@native("int64(int64,int64)")
def _plan_instances(table, instance):
    """The address of the words of the command buffers' instances, which the call's instance keeps."""
    return plan_blocks(table, instance) + 8 * load_i64(load_i64(table + entry.TABLE_PLAN) + entry.PLAN_ALLOCATION_COUNT)


@native("void(int64,int64)")
def give_plan_instances(table, instance):
    """Lets go of the command buffers' instances, as the call's instance goes."""
    plan, instances = load_i64(table + entry.TABLE_PLAN), _plan_instances(table, instance)
    launch = load_i64(plan + entry.PLAN_LAUNCHES)
    for k in range(load_i64(plan + entry.PLAN_LAUNCH_COUNT)):
        taken = load_i64(instances + 8 * k)
        if taken != 0:
            store_i64(instances + 8 * k, 0)
            instance_give(taken)
            release(load_i64(launch + entry.LAUNCH_COMMANDS))
        launch += entry.LAUNCH_BYTES


@native("int64(int64,int64)")
def _estimate(plan, instances):
    """The nanoseconds that all launches should take; -1: this thread is not to run them by itself, or can't.

    Each has an instance of its command buffer from its first time on.
    """
    launch = load_i64(plan + entry.PLAN_LAUNCHES)
    total = 0
    for k in range(load_i64(plan + entry.PLAN_LAUNCH_COUNT)):
        commands = load_i64(launch + entry.LAUNCH_COMMANDS)
        if load_i64(load_i64(launch + entry.LAUNCH_PLACE)) != commands:
            return -1  # the module was closed
        taken = load_i64(instances + 8 * k)
        if taken == 0:
            taken = instance_take(commands)
            if taken == 0:
                return -1
            retain(commands)
            store_i64(instances + 8 * k, taken)
        estimate = estimate_instance(taken)
        total += estimate
        if estimate < 0 or not runs_alone(commands, total):
            return -1
        launch += entry.LAUNCH_BYTES
    return total


@native("int64(int64,int64,int64,int64)")
def _allocate(pool, plan, blocks, addresses):
    """Takes the plan's memory. 0: it is short, and none is taken."""
    sizes = load_i64(plan + entry.PLAN_ALLOCATIONS)
    for k in range(load_i64(plan + entry.PLAN_ALLOCATION_COUNT)):
        block = pool_allocate(pool, load_i64(sizes + 8 * k))
        if block == 0:
            for taken in range(k):
                pool_free(pool, load_i64(blocks + 8 * taken), size_class(load_i64(sizes + 8 * taken)))
            return 0
        store_i64(blocks + 8 * k, block)
        store_i64(addresses + 8 * k, block)
    return 1


@native("int64(int64,int64,int64)")
def _run_launch(launch, instance, sources):
    """Gives a status."""
    commands = load_i64(launch + entry.LAUNCH_COMMANDS)
    bindings, count = load_i64(launch + entry.LAUNCH_BINDINGS), load_i64(launch + entry.LAUNCH_BINDING_COUNT)
    status = bind_addresses(instance, bindings, count, sources)
    if status != 0:
        return status
    runs = load_i64(commands + hal.COMMANDS_RUNS)
    store_i64(commands + hal.COMMANDS_RUNS, runs + 1)
    executor = load_i64(load_i64(launch + entry.LAUNCH_DEVICE) + hal.DEVICE_EXECUTOR)
    return run_instance_inline(instance, executor, 1 if runs % _MEASURE_EVERY == 0 else 0)


@native("void(int64,int64)")
def free_plan(table, instance):
    """Gives the memory back that no result has taken over."""
    plan, blocks = load_i64(table + entry.TABLE_PLAN), plan_blocks(table, instance)
    pool, sizes = load_i64(table + entry.TABLE_POOL), load_i64(plan + entry.PLAN_ALLOCATIONS)
    for k in range(load_i64(plan + entry.PLAN_ALLOCATION_COUNT)):
        block = load_i64(blocks + 8 * k)
        if block != 0:
            pool_free(pool, block, size_class(load_i64(sizes + 8 * k)))


@native("int64(int64,int64)")
def run_plan(table, instance):
    """1: the plan is carried out, and its memory is to be freed; 0: nothing is done or held."""
    plan = load_i64(table + entry.TABLE_PLAN)
    sources, instances = plan_sources(table, instance), _plan_instances(table, instance)
    estimate = _estimate(plan, instances)
    if estimate < 0:
        return 0
    arguments = load_i64(table + entry.TABLE_ARGUMENT_COUNT)
    pool, blocks = load_i64(table + entry.TABLE_POOL), plan_blocks(table, instance)
    if not _allocate(pool, plan, blocks, sources + 8 * arguments):
        return 0
    side = instance + load_i64(table + entry.TABLE_SIDE)
    for k in range(arguments):
        store_i64(sources + 8 * k, load_i64(side + entry.SIDE_DATA))
        side += entry.CALL_SIDE_BYTES
    thread = 0
    if estimate > entry.GIL_NANOSECONDS:
        thread = _save_thread()
    launch, status = load_i64(plan + entry.PLAN_LAUNCHES), 0
    for k in range(load_i64(plan + entry.PLAN_LAUNCH_COUNT)):
        if status == 0:
            status = _run_launch(launch, load_i64(instances + 8 * k), sources)
        launch += entry.LAUNCH_BYTES
    if thread != 0:
        _restore_thread(thread)
    if status != 0:
        free_plan(table, instance)
        return 0
    return 1
