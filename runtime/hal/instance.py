"""Native instances: one execution of a command buffer, with its own bindings, work records and graph nodes.

Enters: a finished command buffer and a binding table. Leaves: an instance whose work records point at memory;
`run_instance_inline` runs it on the calling thread, `prepare_graph` makes it a submission of the task system.
A command buffer keeps a few idle instances, so that executing it again allocates nothing.
"""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.buffer import buffer_data, buffer_root
from pyiree.runtime.hal.command_buffer import group_end
from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import (
    aligned_alloc,
    atomic_exchange,
    compare_and_swap,
    free,
    load_i64,
    memset,
    monotonic_nanoseconds,
    native,
    stack_bytes,
    store_i8,
    store_i16,
    store_i32,
    store_i64,
    symbol_address,
)
from pyiree.runtime.native.objects import release, retain
from pyiree.runtime.task import layout as task
from pyiree.runtime.task.queue import (
    give_node,
    group_state_init,
    read_indirect_count,
    record_cost,
    return_scratch,
    run_tiles,
    set_workgroup_count,
    take_node,
)

_TABLE_ENTRY = 24  # root, pointer, length
_UNKNOWN = -1

_group_state = stack_bytes(task.GROUP_BYTES)
_on_done_address = symbol_address("instance_on_done")


@native("void(int64,int64,int64,int64)")
def _fill_work(instance, work, command, data):
    """What of a work record does not change from one execution to the next."""
    export = load_i64(command + hal.COMMAND_EXPORT)
    first = load_i64(command + hal.COMMAND_BINDINGS)
    store_i32(work + task.WORK_GROUP_SIZE_X, 1)
    store_i32(work + task.WORK_GROUP_SIZE_Y, 1)
    store_i16(work + task.WORK_GROUP_SIZE_Z, 1)
    if export != 0:
        store_i32(work + task.WORK_GROUP_SIZE_X, load_i64(export + hal.EXPORT_SIZE_X))
        store_i32(work + task.WORK_GROUP_SIZE_Y, load_i64(export + hal.EXPORT_SIZE_Y))
        store_i16(work + task.WORK_GROUP_SIZE_Z, load_i64(export + hal.EXPORT_SIZE_Z))
        store_i64(work + task.WORK_LOCAL_BYTES, load_i64(export + hal.EXPORT_LOCAL_BYTES))
        store_i64(work + task.WORK_COST, export + hal.EXPORT_COST)
    store_i16(work + task.WORK_CONSTANT_COUNT, load_i64(command + hal.COMMAND_CONSTANT_COUNT))
    store_i8(work + task.WORK_MAX_CONCURRENCY, 1)
    store_i8(work + task.WORK_BINDING_COUNT, load_i64(command + hal.COMMAND_BINDING_COUNT))
    store_i64(work + task.WORK_CONSTANTS, data + load_i64(command + hal.COMMAND_CONSTANTS))
    store_i64(work + task.WORK_BINDING_POINTERS, load_i64(instance + hal.INSTANCE_POINTERS) + 8 * first)
    store_i64(work + task.WORK_BINDING_LENGTHS, load_i64(instance + hal.INSTANCE_LENGTHS) + 8 * first)
    store_i64(work + task.WORK_FUNCTION, load_i64(command + hal.COMMAND_FUNCTION))
    store_i64(work + task.WORK_ENVIRONMENT, load_i64(command + hal.COMMAND_ENVIRONMENT))
    store_i64(work + task.WORK_FLAGS, load_i64(command + hal.COMMAND_FLAGS))
    x, y = load_i64(command + hal.COMMAND_X), load_i64(command + hal.COMMAND_Y)
    set_workgroup_count(work, x, y, load_i64(command + hal.COMMAND_Z))


@native("int64(int64)")
def _instance_create(commands):
    count = load_i64(commands + hal.COMMANDS_COUNT)
    bindings = load_i64(commands + hal.COMMANDS_BINDING_COUNT)
    capacity = load_i64(commands + hal.COMMANDS_CAPACITY)
    nodes, edges = load_i64(commands + hal.COMMANDS_NODES), load_i64(commands + hal.COMMANDS_EDGES)
    work = hal.INSTANCE_BYTES
    pointers = work + task.WORK_BYTES * count
    lengths = pointers + 8 * bindings
    table = lengths + 8 * bindings
    graph = table + _TABLE_ENTRY * capacity
    edge_list = graph + 8 * nodes
    roots = edge_list + 8 * edges
    size = roots + 8 * load_i64(commands + hal.COMMANDS_WIDTH)
    instance = aligned_alloc(64, (size + 63) & -64)
    if instance == 0:
        return 0
    memset(instance, 0, size)
    store_i64(instance + hal.INSTANCE_WORK, instance + work)
    store_i64(instance + hal.INSTANCE_POINTERS, instance + pointers)
    store_i64(instance + hal.INSTANCE_LENGTHS, instance + lengths)
    store_i64(instance + hal.INSTANCE_TABLE, instance + table)
    store_i64(instance + hal.INSTANCE_NODES, instance + graph)
    store_i64(instance + hal.INSTANCE_EDGES, instance + edge_list)
    store_i64(instance + hal.INSTANCE_ROOTS, instance + roots)
    store_i64(instance + hal.INSTANCE_COMMANDS, commands)
    records, data = load_i64(commands + hal.COMMANDS_RECORDS), load_i64(commands + hal.COMMANDS_DATA)
    for k in range(count):
        command = records + hal.COMMAND_BYTES * k
        _fill_work(instance, instance + work + task.WORK_BYTES * k, command, data)
    return instance


@native("int64(int64)")
def instance_take(commands):
    """An instance that nobody else uses; 0 when memory is short."""
    for k in range(hal.INSTANCE_CACHE):
        slot = commands + hal.COMMANDS_INSTANCES + 8 * k
        if load_i64(slot) != 0:
            instance = atomic_exchange(slot, 0)
            if instance != 0:
                return instance
    return _instance_create(commands)


@native("void(int64)")
def instance_destroy(instance):
    executor = load_i64(instance + hal.INSTANCE_EXECUTOR)
    if executor != 0:
        nodes = load_i64(instance + hal.INSTANCE_NODES)
        for k in range(load_i64(instance + task.SUBMISSION_NODE_COUNT)):
            give_node(executor, load_i64(nodes + 8 * k))
    free(instance)


@native("void(int64)")
def instance_give(instance):
    """Puts an idle instance back; one that finds no place, or is not used again, is destroyed."""
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    if load_i64(commands + hal.COMMANDS_MODES) & hal.MODE_ONE_SHOT == 0:
        for k in range(hal.INSTANCE_CACHE):
            if compare_and_swap(commands + hal.COMMANDS_INSTANCES + 8 * k, 0, instance):
                return
    instance_destroy(instance)


# ------------------------------------------------------------------ bindings


@native("void(int64)")
def release_table(instance):
    table = load_i64(instance + hal.INSTANCE_TABLE)
    for k in range(load_i64(instance + hal.INSTANCE_TABLE_COUNT)):
        release(load_i64(table + _TABLE_ENTRY * k))
    store_i64(instance + hal.INSTANCE_TABLE_COUNT, 0)


@native("int64(int64,int64,int64)")
def _take_table(instance, triples, count):
    """Retains the binding table's buffers: `count` triples of buffer, offset, length. Gives a status."""
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    table = load_i64(instance + hal.INSTANCE_TABLE)
    if count > load_i64(commands + hal.COMMANDS_CAPACITY):
        return layout.OUT_OF_RANGE
    for k in range(count):
        buffer = load_i64(triples + 24 * k)
        offset, length = load_i64(triples + 24 * k + 8), load_i64(triples + 24 * k + 16)
        root, pointer = 0, 0
        if buffer != 0:
            if load_i64(buffer + layout.OBJECT_TYPE) != layout.TYPE_HAL_BUFFER:
                return layout.INVALID_ARGUMENT
            whole = load_i64(buffer + hal.BUFFER_LENGTH)
            if length == -1:
                length = whole - offset
            if offset < 0 or length < 0 or offset > whole or length > whole - offset:
                return layout.OUT_OF_RANGE
            root = buffer_root(buffer)
            pointer = buffer_data(buffer) + offset
            retain(root)
        store_i64(table + _TABLE_ENTRY * k, root)
        store_i64(table + _TABLE_ENTRY * k + 8, pointer)
        store_i64(table + _TABLE_ENTRY * k + 16, length)
        store_i64(instance + hal.INSTANCE_TABLE_COUNT, k + 1)
    return layout.OK


@native("void(int64)")
def _resolve_indirect_counts(instance):
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    records, work = load_i64(commands + hal.COMMANDS_RECORDS), load_i64(instance + hal.INSTANCE_WORK)
    pointers = load_i64(instance + hal.INSTANCE_POINTERS)
    for k in range(load_i64(commands + hal.COMMANDS_COUNT)):
        indirect = load_i64(records + hal.COMMAND_BYTES * k + hal.COMMAND_INDIRECT)
        if indirect != 0:
            address = load_i64(pointers + 8 * (indirect - 1))
            store_i64(work + task.WORK_BYTES * k + task.WORK_INDIRECT, address)


@native("int64(int64,int64)")
def _resolve_bindings(instance, table_count):
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    binding = load_i64(commands + hal.COMMANDS_BINDINGS)
    data = load_i64(commands + hal.COMMANDS_DATA)
    table = load_i64(instance + hal.INSTANCE_TABLE)
    pointers, lengths = load_i64(instance + hal.INSTANCE_POINTERS), load_i64(instance + hal.INSTANCE_LENGTHS)
    for k in range(load_i64(commands + hal.COMMANDS_BINDING_COUNT)):
        slot = load_i64(binding + hal.BINDING_SLOT)
        offset, length = load_i64(binding + hal.BINDING_OFFSET), load_i64(binding + hal.BINDING_LENGTH)
        if slot >= 0:
            if slot >= table_count:
                return layout.OUT_OF_RANGE
            entry = table + _TABLE_ENTRY * slot
            pointer, whole = load_i64(entry + 8), load_i64(entry + 16)
            if length == -1:
                length = whole - offset
            if pointer == 0:
                return layout.FAILED_PRECONDITION
            if length < 0 or offset > whole or length > whole - offset:
                return layout.OUT_OF_RANGE
        elif slot == hal.SLOT_DATA:
            pointer = data
        else:
            pointer = load_i64(load_i64(binding + hal.BINDING_BUFFER) + hal.BUFFER_DATA)
        store_i64(pointers + 8 * k, pointer + offset)
        store_i64(lengths + 8 * k, length)
        binding += hal.BINDING_BYTES
    _resolve_indirect_counts(instance)
    return layout.OK


@native("int64(int64,int64,int64)")
def bind_instance(instance, triples, count):
    """Resolves every binding to an address. Gives a status; on failure nothing is retained."""
    status = _take_table(instance, triples, count)
    if status == layout.OK:
        status = _resolve_bindings(instance, count)
    if status != layout.OK:
        release_table(instance)
    return status


@native("int64(int64,int64,int64,int64)")
def bind_addresses(instance, bindings, count, sources):
    """The same for memory that the caller holds during the execution: nothing is retained. Gives a status.

    Bindings are triples (source, offset, length); a source numbers the words at `sources`, which are addresses.
    """
    table = load_i64(instance + hal.INSTANCE_TABLE)
    for _ in range(count):
        address = load_i64(sources + 8 * load_i64(bindings))
        store_i64(table + 8, address + load_i64(bindings + 8))
        store_i64(table + 16, load_i64(bindings + 16))
        table += _TABLE_ENTRY
        bindings += 24
    return _resolve_bindings(instance, count)


# ------------------------------------------------------------------ running


@native("int64(int64)")
def estimate_instance(instance):
    """The nanoseconds that the calling thread alone would take, or -1 if some kernel was never measured."""
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    records, work = load_i64(commands + hal.COMMANDS_RECORDS), load_i64(instance + hal.INSTANCE_WORK)
    total = 0
    for k in range(load_i64(commands + hal.COMMANDS_COUNT)):
        cost = load_i64(work + task.WORK_COST)
        if cost != 0:
            cost = load_i64(cost)
        else:
            cost = load_i64(records + hal.COMMAND_BYTES * k + hal.COMMAND_COST)
        if cost == 0 or load_i64(work + task.WORK_INDIRECT) != 0:
            return _UNKNOWN
        total += cost * load_i64(work + task.WORK_TILES)
        work += task.WORK_BYTES
    return total


@native("int64(int64,int64,int64)")
def run_instance_inline(instance, executor, measure):
    """Runs all commands in their order on the calling thread; gives a submission status."""
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    work = load_i64(instance + hal.INSTANCE_WORK)
    group = _group_state()
    group_state_init(group, executor, load_i64(executor + task.EXECUTOR_WORKERS), 0)
    status = 0
    for _ in range(load_i64(commands + hal.COMMANDS_COUNT)):
        read_indirect_count(work)
        tiles = load_i64(work + task.WORK_TILES)
        if tiles > 0:
            if measure != 0:
                began = monotonic_nanoseconds()
                status = run_tiles(work, group, 0, tiles)
                record_cost(work, monotonic_nanoseconds() - began, tiles)
            else:
                status = run_tiles(work, group, 0, tiles)
            if status != 0:
                break
        work += task.WORK_BYTES
    return_scratch(group)
    return status


@native("void(int64,int64,int64,int64,int64)")
def _set_node(node, work, submission, dependencies, successors):
    store_i64(node + task.NODE_WORK, work)
    store_i64(node + task.NODE_SUBMISSION, submission)
    store_i64(node + task.NODE_DEPENDENCIES, dependencies)
    store_i64(node + task.NODE_PENDING, dependencies)
    store_i64(node + task.NODE_SUCCESSORS, successors)
    store_i64(node + task.NODE_SUCCESSOR_COUNT, 0)
    store_i64(node + task.NODE_GRAIN, 1)


@native("int64(int64,int64,int64)")
def _point_at(node, edge, successor):
    store_i64(edge, successor)
    store_i64(node + task.NODE_SUCCESSORS, edge)
    store_i64(node + task.NODE_SUCCESSOR_COUNT, 1)
    return edge + 8


@native("void(int64,int64,int64)")
def _connect(instance, count, records):
    """Node k is command k; barriers come behind. Groups are joined directly where one of them is single."""
    nodes = load_i64(instance + hal.INSTANCE_NODES)
    edge = load_i64(instance + hal.INSTANCE_EDGES)
    barrier, previous, start = count, 0, 0
    while start < count:
        size = group_end(records + hal.COMMAND_BYTES * start)
        dependencies = previous
        if previous > 1 and size > 1:
            dependencies = 1
            join = load_i64(nodes + 8 * barrier)
            barrier += 1
            for k in range(start - previous, start):
                edge = _point_at(load_i64(nodes + 8 * k), edge, join)
            _set_node(join, 0, instance, previous, edge)
            store_i64(join + task.NODE_SUCCESSOR_COUNT, size)
            for k in range(start, start + size):
                store_i64(edge, load_i64(nodes + 8 * k))
                edge += 8
        else:
            for k in range(start - previous, start):
                node = load_i64(nodes + 8 * k)
                store_i64(node + task.NODE_SUCCESSORS, edge)
                store_i64(node + task.NODE_SUCCESSOR_COUNT, size)
                for successor in range(start, start + size):
                    store_i64(edge, load_i64(nodes + 8 * successor))
                    edge += 8
        for k in range(start, start + size):
            work = load_i64(instance + hal.INSTANCE_WORK) + task.WORK_BYTES * k
            _set_node(load_i64(nodes + 8 * k), work, instance, dependencies, 0)
            if start == 0:
                store_i64(load_i64(instance + hal.INSTANCE_ROOTS) + 8 * k, load_i64(nodes + 8 * k))
        if start == 0:
            store_i64(instance + task.SUBMISSION_ROOTS, load_i64(instance + hal.INSTANCE_ROOTS))
            store_i64(instance + task.SUBMISSION_ROOT_COUNT, size)
        previous = size
        start += size


@native("int64(int64,int64)")
def prepare_graph(instance, executor):
    """Makes the instance a submission at its first time: nodes, edges and roots. 0: memory is short."""
    if load_i64(instance + hal.INSTANCE_EXECUTOR) == executor:
        return 1
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    nodes, total = load_i64(instance + hal.INSTANCE_NODES), load_i64(commands + hal.COMMANDS_NODES)
    for k in range(total):
        node = take_node(executor)
        if node == 0:
            for taken in range(k):
                give_node(executor, load_i64(nodes + 8 * taken))
            return 0
        store_i64(nodes + 8 * k, node)
    _connect(instance, load_i64(commands + hal.COMMANDS_COUNT), load_i64(commands + hal.COMMANDS_RECORDS))
    store_i64(instance + hal.INSTANCE_EXECUTOR, executor)
    store_i64(instance + task.SUBMISSION_NODE_COUNT, total)
    store_i64(instance + task.SUBMISSION_WIDTH, load_i64(commands + hal.COMMANDS_WIDTH) + 1)
    store_i64(instance + task.SUBMISSION_ON_DONE, _on_done_address())
    return 1


@native("void(int64,int64)")
def choose_grains(instance, threads):
    """Sets how many workgroups one claim takes: enough to be worth it, few enough that all threads share."""
    commands = load_i64(instance + hal.INSTANCE_COMMANDS)
    nodes, work = load_i64(instance + hal.INSTANCE_NODES), load_i64(instance + hal.INSTANCE_WORK)
    for k in range(load_i64(commands + hal.COMMANDS_COUNT)):
        tiles = load_i64(work + task.WORK_TILES)
        fair = tiles // (4 * threads)
        cost = load_i64(work + task.WORK_COST)
        grain = 1
        if cost != 0 and load_i64(cost) != 0:
            worth = hal.CLAIM_NANOSECONDS // load_i64(cost)
            # As many claims as have bits let every thread find what it left in its cache.
            least = (tiles + task.CLAIM_BITS - 1) // task.CLAIM_BITS
            if threads <= hal.FEW_THREADS and worth < least and least * load_i64(cost) <= hal.LONGEST_CLAIM:
                worth = least
            share = (tiles + threads - 1) // threads
            grain = worth if worth < share else share
        elif fair > 16:
            grain = fair // 4
        if load_i64(work + task.WORK_FLAGS) & task.WORK_SEQUENTIAL:
            grain = tiles
        store_i64(load_i64(nodes + 8 * k) + task.NODE_GRAIN, grain if grain > 1 else 1)
        work += task.WORK_BYTES
