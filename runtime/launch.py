"""The native execution of launch plans: small programs run on the calling thread, without the interpreter.

Enters: a program's table with a plan, and a call's instance whose arguments' addresses stand in its side records.
Leaves: roots of the plan's allocations, filled; or nothing done, where the interpreter has to be asked: the program is
not known to be small, memory is short, or a kernel failed.
"""

from pyiree.runtime import entry_layout as entry
from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.buffer import hal_buffer_allocate
from pyiree.runtime.hal.instance import (
    bind_addresses,
    estimate_instance,
    instance_give,
    instance_take,
    run_instance_inline,
)
from pyiree.runtime.hal.queue import runs_alone
from pyiree.runtime.native.intrinsics import VOID, extern, load_i64, native, store_i64
from pyiree.runtime.native.objects import release

_save_thread = extern("PyEval_SaveThread", 0)
_restore_thread = extern("PyEval_RestoreThread", 1, VOID)

_EVERYTHING = 0x7E  # memory types: visible to and local to both host and device
_ANY_USAGE = 0x1F0F0F0F
_MEASURE_EVERY = 16


@native("int64(int64,int64)")
def plan_sources(table, instance):
    """The address of the sources' words: the arguments' addresses, then those of the allocations."""
    return instance + load_i64(table + entry.TABLE_SOURCES)


@native("int64(int64,int64)")
def plan_roots(table, instance):
    """The address of the roots of the allocations; the command buffers' instances follow."""
    allocations = load_i64(load_i64(table + entry.TABLE_PLAN) + entry.PLAN_ALLOCATION_COUNT)
    sources = load_i64(table + entry.TABLE_ARGUMENT_COUNT) + allocations
    return plan_sources(table, instance) + 8 * sources


@native("void(int64,int64)")
def _give_instances(instances, count):
    for k in range(count):
        instance_give(load_i64(instances + 8 * k))


@native("int64(int64,int64)")
def _take_instances(plan, instances):
    """An instance of each command buffer; gives the nanoseconds they should take.

    -1: this thread is not to run them by itself, and none is taken.
    """
    launch = load_i64(plan + entry.PLAN_LAUNCHES)
    total = 0
    for k in range(load_i64(plan + entry.PLAN_LAUNCH_COUNT)):
        commands = load_i64(launch + entry.LAUNCH_COMMANDS)
        taken = 0
        if load_i64(load_i64(launch + entry.LAUNCH_PLACE)) == commands:
            taken = instance_take(commands)
        estimate = -1
        if taken != 0:
            store_i64(instances + 8 * k, taken)
            estimate = estimate_instance(taken)
        total += estimate
        if estimate < 0 or not runs_alone(commands, total):
            _give_instances(instances, k + (1 if taken != 0 else 0))
            return -1
        launch += entry.LAUNCH_BYTES
    return total


@native("int64(int64,int64,int64,int64)")
def _allocate(table, plan, roots, addresses):
    """Takes the plan's memory. 0: it is short, and none is taken."""
    pool, sizes = load_i64(table + entry.TABLE_POOL), load_i64(plan + entry.PLAN_ALLOCATIONS)
    for k in range(load_i64(plan + entry.PLAN_ALLOCATION_COUNT)):
        root = hal_buffer_allocate(pool, load_i64(sizes + 8 * k), _EVERYTHING, _ANY_USAGE)
        if root == 0:
            for taken in range(k):
                release(load_i64(roots + 8 * taken))
            return 0
        store_i64(roots + 8 * k, root)
        store_i64(addresses + 8 * k, load_i64(root + hal.BUFFER_DATA))
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
def release_plan(table, instance):
    """Gives the roots of the allocations up."""
    roots = plan_roots(table, instance)
    for k in range(load_i64(load_i64(table + entry.TABLE_PLAN) + entry.PLAN_ALLOCATION_COUNT)):
        release(load_i64(roots + 8 * k))


@native("int64(int64,int64)")
def run_plan(table, instance):
    """1: the plan is carried out, and its roots are to be released; 0: nothing is done or held."""
    plan = load_i64(table + entry.TABLE_PLAN)
    roots, sources = plan_roots(table, instance), plan_sources(table, instance)
    arguments = load_i64(table + entry.TABLE_ARGUMENT_COUNT)
    launches = load_i64(plan + entry.PLAN_LAUNCH_COUNT)
    instances = roots + 8 * load_i64(plan + entry.PLAN_ALLOCATION_COUNT)
    estimate = _take_instances(plan, instances)
    if estimate < 0:
        return 0
    if not _allocate(table, plan, roots, sources + 8 * arguments):
        _give_instances(instances, launches)
        return 0
    side = instance + load_i64(table + entry.TABLE_SIDE)
    for k in range(arguments):
        store_i64(sources + 8 * k, load_i64(side + entry.SIDE_DATA))
        side += entry.CALL_SIDE_BYTES
    thread = 0
    if estimate > entry.GIL_NANOSECONDS:
        thread = _save_thread()
    launch, status = load_i64(plan + entry.PLAN_LAUNCHES), 0
    for k in range(launches):
        if status == 0:
            status = _run_launch(launch, load_i64(instances + 8 * k), sources)
        launch += entry.LAUNCH_BYTES
    _give_instances(instances, launches)
    if thread != 0:
        _restore_thread(thread)
    if status != 0:
        release_plan(table, instance)
        return 0
    return 1
