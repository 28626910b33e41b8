"""Native command buffers: recording into flat arrays.

Enters: commands one after the other, barriers between groups of them. Leaves: a finished record that any
number of instances execute (`instance`). Every command is a dispatch of workgroups; a fill, copy or update
is one of a kernel of our own. Functions give 0 or an IREE status code.
"""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.buffer import buffer_root
from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import (
    atomic_load,
    call1,
    free,
    load_i64,
    memcpy,
    native,
    realloc,
    store_i64,
    symbol_address,
)
from pyiree.runtime.native.objects import object_allocate, release, retain

_commands_destroy_address = symbol_address("hal_commands_destroy")
_instance_destroy_address = symbol_address("instance_destroy")
_kernel_fill_address = symbol_address("kernel_fill")
_kernel_copy_address = symbol_address("kernel_copy")

_BYTES_PER_NANOSECOND = 8


@native("int64(int64,int64,int64)")
def hal_commands_create(device, modes, capacity):
    commands = object_allocate(
        hal.COMMANDS_BYTES, layout.TYPE_HAL_COMMAND_BUFFER, _commands_destroy_address()
    )
    if commands != 0:
        retain(device)
        store_i64(commands + hal.COMMANDS_DEVICE, device)
        store_i64(commands + hal.COMMANDS_MODES, modes)
        store_i64(commands + hal.COMMANDS_CAPACITY, capacity)
    return commands


@native("int64(int64,int64,int64,int64)")
def _grow(commands, array, needed, item):
    """Room for `needed` items of `item` bytes in the array whose words are at `array`; its address, or 0."""
    room = load_i64(commands + array + 16)
    items = load_i64(commands + array)
    if needed <= room:
        return items
    room = needed if needed > 2 * room else 2 * room
    room = room if room > 8 else 8
    items = realloc(items, room * item)
    if items != 0:
        store_i64(commands + array, items)
        store_i64(commands + array + 16, room)
    return items


@native("int64(int64,int64)")
def _append_data(commands, size):
    """Room for more data; its offset, which is a multiple of 8, or -1."""
    offset = load_i64(commands + hal.COMMANDS_DATA_BYTES)
    end = offset + ((size + 7) & -8) + 8  # never nothing, which would have no address
    if _grow(commands, hal.COMMANDS_DATA, end, 1) == 0:
        return -1
    store_i64(commands + hal.COMMANDS_DATA_BYTES, end)
    return offset


@native("int64(int64,int64)")
def _keep_resource(commands, resource):
    """Retains an executable or buffer for the command buffer's life; the last one is not taken twice."""
    count = load_i64(commands + hal.COMMANDS_RESOURCE_COUNT)
    resources = _grow(commands, hal.COMMANDS_RESOURCES, count + 1, 8)
    if resources == 0:
        return layout.RESOURCE_EXHAUSTED
    if count == 0 or load_i64(resources + 8 * (count - 1)) != resource:
        retain(resource)
        store_i64(resources + 8 * count, resource)
        store_i64(commands + hal.COMMANDS_RESOURCE_COUNT, count + 1)
    return layout.OK


@native("int64(int64,int64,int64,int64,int64)")
def append_binding(commands, slot, buffer, offset, length):
    """A binding of the next command: a range of a buffer, or of a slot of the binding table (null buffer)."""
    count = load_i64(commands + hal.COMMANDS_BINDING_COUNT)
    bindings = _grow(commands, hal.COMMANDS_BINDINGS, count + 1, hal.BINDING_BYTES)
    if bindings == 0:
        return layout.RESOURCE_EXHAUSTED
    binding = bindings + hal.BINDING_BYTES * count
    if offset < 0 or length < -1:
        return layout.OUT_OF_RANGE
    root = 0
    if buffer != 0:
        whole = load_i64(buffer + hal.BUFFER_LENGTH)
        if length == -1:
            length = whole - offset
        if length < 0 or offset > whole or length > whole - offset:
            return layout.OUT_OF_RANGE
        root = buffer_root(buffer)
        status = _keep_resource(commands, root)
        if status != layout.OK:
            return status
        slot = hal.SLOT_DIRECT
        offset += load_i64(buffer + hal.BUFFER_OFFSET)
    elif slot < 0 or slot >= load_i64(commands + hal.COMMANDS_CAPACITY):
        return layout.OUT_OF_RANGE
    store_i64(binding + hal.BINDING_SLOT, slot)
    store_i64(binding + hal.BINDING_BUFFER, root)
    store_i64(binding + hal.BINDING_OFFSET, offset)
    store_i64(binding + hal.BINDING_LENGTH, length)
    store_i64(commands + hal.COMMANDS_BINDING_COUNT, count + 1)
    return layout.OK


@native("int64(int64,int64)")
def _append_data_binding(commands, offset_length):
    """A binding of `length` bytes of the command buffer's own data: `offset << 32 | length`."""
    count = load_i64(commands + hal.COMMANDS_BINDING_COUNT)
    bindings = _grow(commands, hal.COMMANDS_BINDINGS, count + 1, hal.BINDING_BYTES)
    if bindings == 0:
        return layout.RESOURCE_EXHAUSTED
    binding = bindings + hal.BINDING_BYTES * count
    store_i64(binding + hal.BINDING_SLOT, hal.SLOT_DATA)
    store_i64(binding + hal.BINDING_BUFFER, 0)
    store_i64(binding + hal.BINDING_OFFSET, offset_length >> 32)
    store_i64(binding + hal.BINDING_LENGTH, offset_length & 0xFFFFFFFF)
    store_i64(commands + hal.COMMANDS_BINDING_COUNT, count + 1)
    return layout.OK


@native("int64(int64,int64)")
def begin_command(commands, binding_count):
    """A zeroed record for the next command, in the current group; 0 when memory is short.

    Its `binding_count` bindings follow through `append_binding`.
    """
    count = load_i64(commands + hal.COMMANDS_COUNT)
    records = _grow(commands, hal.COMMANDS_RECORDS, count + 1, hal.COMMAND_BYTES)
    if records == 0:
        return 0
    command = records + hal.COMMAND_BYTES * count
    for word in range(0, hal.COMMAND_BYTES, 8):
        store_i64(command + word, 0)
    store_i64(command + hal.COMMAND_GROUP, load_i64(commands + hal.COMMANDS_GROUP))
    store_i64(command + hal.COMMAND_BINDINGS, load_i64(commands + hal.COMMANDS_BINDING_COUNT))
    store_i64(command + hal.COMMAND_BINDING_COUNT, binding_count)
    store_i64(command + hal.COMMAND_Y, 1)
    store_i64(command + hal.COMMAND_Z, 1)
    store_i64(commands + hal.COMMANDS_COUNT, count + 1)
    return command


@native("int64(int64,int64,int64,int64,int64,int64)")
def record_dispatch(commands, executable, ordinal, constants, constant_count, binding_count):
    """Begins a dispatch whose constants are i64 slots; the caller sets the counts and appends the bindings.

    Gives the command's record, or a negative status.
    """
    if load_i64(commands + hal.COMMANDS_FINAL) != 0:
        return -layout.FAILED_PRECONDITION
    if ordinal < 0 or ordinal >= load_i64(executable + hal.EXECUTABLE_COUNT):
        return -layout.OUT_OF_RANGE
    export = load_i64(executable + hal.EXECUTABLE_EXPORTS) + hal.EXPORT_BYTES * ordinal
    if constant_count != load_i64(export + hal.EXPORT_CONSTANT_COUNT):
        return -layout.INVALID_ARGUMENT
    if binding_count != load_i64(export + hal.EXPORT_BINDING_COUNT):
        return -layout.INVALID_ARGUMENT
    data = _append_data(commands, 4 * constant_count)
    if data < 0 or _keep_resource(commands, executable) != layout.OK:
        return -layout.RESOURCE_EXHAUSTED
    command = begin_command(commands, binding_count)
    if command == 0:
        return -layout.RESOURCE_EXHAUSTED
    target = load_i64(commands + hal.COMMANDS_DATA) + data
    for k in range(constant_count):
        memcpy(target + 4 * k, constants + 8 * k, 4)
    store_i64(command + hal.COMMAND_EXPORT, export)
    store_i64(command + hal.COMMAND_FUNCTION, load_i64(export + hal.EXPORT_FUNCTION))
    store_i64(command + hal.COMMAND_ENVIRONMENT, load_i64(export + hal.EXPORT_ENVIRONMENT))
    store_i64(command + hal.COMMAND_CONSTANTS, data)
    store_i64(command + hal.COMMAND_CONSTANT_COUNT, constant_count)
    store_i64(command + hal.COMMAND_FLAGS, load_i64(export + hal.EXPORT_FLAGS))
    return command


@native("int64(int64,int64,int64)")
def _begin_transfer(commands, length, binding_count):
    if load_i64(commands + hal.COMMANDS_FINAL) != 0 or length < 0:
        return 0
    command = begin_command(commands, binding_count)
    if command != 0:
        tiles = (length + hal.TRANSFER_TILE - 1) // hal.TRANSFER_TILE
        size = length if length < hal.TRANSFER_TILE else hal.TRANSFER_TILE
        store_i64(command + hal.COMMAND_X, tiles)
        store_i64(command + hal.COMMAND_COST, size // _BYTES_PER_NANOSECOND + 1)
    return command


@native("int64(int64,int64,int64,int64,int64,int64,int64)")
def record_fill(commands, slot, target, offset, length, pattern, pattern_bytes):
    if pattern_bytes != 1 and pattern_bytes != 2 and pattern_bytes != 4 and pattern_bytes != 8:
        return layout.INVALID_ARGUMENT
    if length == -1 and target != 0:
        length = load_i64(target + hal.BUFFER_LENGTH) - offset
    if length < 0 or length % pattern_bytes != 0:
        return layout.INVALID_ARGUMENT
    data = _append_data(commands, 16)
    command = _begin_transfer(commands, length, 1)
    if data < 0 or command == 0:
        return layout.FAILED_PRECONDITION
    constants = load_i64(commands + hal.COMMANDS_DATA) + data
    store_i64(constants, pattern)
    store_i64(constants + 8, pattern_bytes)
    store_i64(command + hal.COMMAND_FUNCTION, _kernel_fill_address())
    store_i64(command + hal.COMMAND_CONSTANTS, data)
    return append_binding(commands, slot, target, offset, length)


@native("int64(int64,int64,int64,int64,int64,int64,int64,int64)")
def record_copy(commands, source_slot, source, source_offset, target_slot, target, target_offset, length):
    command = _begin_transfer(commands, length, 2)
    if command == 0:
        return layout.FAILED_PRECONDITION
    store_i64(command + hal.COMMAND_FUNCTION, _kernel_copy_address())
    status = append_binding(commands, source_slot, source, source_offset, length)
    if status == layout.OK:
        status = append_binding(commands, target_slot, target, target_offset, length)
    return status


@native("int64(int64,int64,int64,int64,int64,int64)")
def record_update(commands, source, slot, target, offset, length):
    """A copy of `length` bytes at the address `source`, taken now."""
    if length < 0 or length > 0x7FFFFFFF:
        return layout.OUT_OF_RANGE
    data = _append_data(commands, length)
    command = _begin_transfer(commands, length, 2)
    if data < 0 or data > 0x7FFFFFFF or command == 0:
        return layout.FAILED_PRECONDITION
    memcpy(load_i64(commands + hal.COMMANDS_DATA) + data, source, length)
    store_i64(command + hal.COMMAND_FUNCTION, _kernel_copy_address())
    status = _append_data_binding(commands, data << 32 | length)
    if status == layout.OK:
        status = append_binding(commands, slot, target, offset, length)
    return status


@native("void(int64)")
def record_barrier(commands):
    """What follows runs after all that came before. Barriers beside one another count once."""
    count = load_i64(commands + hal.COMMANDS_COUNT)
    if count > load_i64(commands + hal.COMMANDS_GROUP_START):
        store_i64(commands + hal.COMMANDS_GROUP, load_i64(commands + hal.COMMANDS_GROUP) + 1)
        store_i64(commands + hal.COMMANDS_GROUP_START, count)


@native("int64(int64)")
def group_end(position_in_records):
    """The number of commands from this record on that are in its group; the record after them ends it."""
    group = load_i64(position_in_records + hal.COMMAND_GROUP)
    size = 1
    while load_i64(position_in_records + hal.COMMAND_BYTES * size + hal.COMMAND_GROUP) == group:
        size += 1
    return size


@native("int64(int64)")
def finalize_commands(commands):
    """Closes the record: counts what the graph of an instance takes. Gives 0 or a status."""
    if load_i64(commands + hal.COMMANDS_FINAL) != 0:
        return layout.FAILED_PRECONDITION
    count = load_i64(commands + hal.COMMANDS_COUNT)
    records = _grow(commands, hal.COMMANDS_RECORDS, count + 1, hal.COMMAND_BYTES)
    if records == 0:
        return layout.RESOURCE_EXHAUSTED
    store_i64(records + hal.COMMAND_BYTES * count + hal.COMMAND_GROUP, -1)  # ends the last group
    nodes, edges, width, previous, k = count, 0, 0, 0, 0
    while k < count:
        size = group_end(records + hal.COMMAND_BYTES * k)
        if previous > 1 and size > 1:  # through a barrier node, or it would take previous * size edges
            nodes += 1
            edges += previous + size
        else:
            edges += previous * size
        width = size if size > width else width
        previous = size
        k += size
    store_i64(commands + hal.COMMANDS_NODES, nodes)
    store_i64(commands + hal.COMMANDS_EDGES, edges)
    store_i64(commands + hal.COMMANDS_WIDTH, width)
    store_i64(commands + hal.COMMANDS_FINAL, 1)
    return layout.OK


@native("void(int64)")
def hal_commands_destroy(commands):
    for k in range(hal.INSTANCE_CACHE):
        instance = atomic_load(commands + hal.COMMANDS_INSTANCES + 8 * k)
        if instance != 0:
            call1(_instance_destroy_address(), instance)
    resources = load_i64(commands + hal.COMMANDS_RESOURCES)
    for k in range(load_i64(commands + hal.COMMANDS_RESOURCE_COUNT)):
        release(load_i64(resources + 8 * k))
    free(resources)
    free(load_i64(commands + hal.COMMANDS_RECORDS))
    free(load_i64(commands + hal.COMMANDS_BINDINGS))
    free(load_i64(commands + hal.COMMANDS_DATA))
    release(load_i64(commands + hal.COMMANDS_DEVICE))
    free(commands)
