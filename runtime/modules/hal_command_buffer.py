"""Native imports of the `hal` module about command buffers and executables.

Each is `i64 fn(state, args, results)`, as in `hal_buffer`.
"""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.command_buffer import (
    append_binding,
    finalize_commands,
    hal_commands_create,
    record_barrier,
    record_copy,
    record_dispatch,
    record_fill,
    record_update,
)
from pyiree.runtime.modules.hal_buffer import check_reference, give_object
from pyiree.runtime.modules.text import append_bytes, append_message, append_number, append_vm_string
from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import load_i64, memcmp, message, native, stack_bytes, store_i64

_IMPORT = "int64(int64,int64,int64)"
_POISONED = 2  # COMMANDS_FINAL of a command buffer whose recording failed
_BINDING_WORDS = 5  # reserved, slot, buffer, offset, length
_MAXIMUM_CAPACITY = 1 << 20
_U32 = 0xFFFFFFFF

_scratch = stack_bytes(layout.MESSAGE_BYTES)
_no_export = message("the executable has no export named ")
_counts = message(" takes constants and bindings: ")
_given = message(", given ")
_and = message(" and ")
_capacity = message("a command buffer has at most 2**20 binding slots")
_refused = message("the command was refused: its buffer is finalized, a range or a slot is out of bounds")
_workgroups = message("too many workgroups")
_not_mutable = message("the source range lies outside of the data")


@native("int64(int64,int64,int64)")
def _outcome(commands, status, results):
    """A failed command spoils its command buffer: it can be neither finalized nor executed."""
    if status != layout.OK:
        store_i64(commands + hal.COMMANDS_FINAL, _POISONED)
        if load_i64(results) == 0:
            _refused(results)
    return status


@native("int64(int64,int64,int64)")
def _check_optional(buffer, wanted, results):
    return layout.OK if buffer == 0 else check_reference(buffer, wanted, results)


@native(_IMPORT)
def hal_import_command_buffer_create(state, args, results):
    device, capacity = load_i64(args), load_i64(args + 32)
    status = check_reference(device, layout.TYPE_HAL_DEVICE, results)
    if status != layout.OK:
        return status
    if capacity < 0 or capacity > _MAXIMUM_CAPACITY:
        _capacity(results)
        return layout.OUT_OF_RANGE
    return give_object(hal_commands_create(device, load_i64(args + 8), capacity), results)


@native(_IMPORT)
def hal_import_command_buffer_finalize(state, args, results):
    commands = load_i64(args)
    status = check_reference(commands, layout.TYPE_HAL_COMMAND_BUFFER, results)
    if status == layout.OK:
        status = _outcome(commands, finalize_commands(commands), results)
    return status


@native(_IMPORT)
def hal_import_command_buffer_execution_barrier(state, args, results):
    commands = load_i64(args)
    status = check_reference(commands, layout.TYPE_HAL_COMMAND_BUFFER, results)
    if status == layout.OK:
        record_barrier(commands)
    return status


@native(_IMPORT)
def hal_import_command_buffer_note(state, args, results):
    """advise_buffer and the debug groups: nothing to record on a CPU."""
    return check_reference(load_i64(args), layout.TYPE_HAL_COMMAND_BUFFER, results)


@native(_IMPORT)
def hal_import_command_buffer_fill_buffer(state, args, results):
    commands, target = load_i64(args), load_i64(args + 8)
    status = check_reference(commands, layout.TYPE_HAL_COMMAND_BUFFER, results)
    if status == layout.OK:
        status = _check_optional(target, layout.TYPE_HAL_BUFFER, results)
    if status != layout.OK:
        return status
    offset, length, slot = load_i64(args + 16), load_i64(args + 24), load_i64(args + 32)
    pattern, size = load_i64(args + 40), load_i64(args + 48)
    return _outcome(commands, record_fill(commands, slot, target, offset, length, pattern, size), results)


@native(_IMPORT)
def hal_import_command_buffer_update_buffer(state, args, results):
    commands, source, target = load_i64(args), load_i64(args + 8), load_i64(args + 24)
    status = check_reference(commands, layout.TYPE_HAL_COMMAND_BUFFER, results)
    if status == layout.OK:
        status = check_reference(source, layout.TYPE_BUFFER, results)
    if status == layout.OK:
        status = _check_optional(target, layout.TYPE_HAL_BUFFER, results)
    if status != layout.OK:
        return status
    source_offset, offset, length = load_i64(args + 16), load_i64(args + 32), load_i64(args + 40)
    whole = load_i64(source + layout.BUFFER_LENGTH)
    if source_offset < 0 or length < 0 or source_offset > whole or length > whole - source_offset:
        _not_mutable(results)
        return _outcome(commands, layout.OUT_OF_RANGE, results)
    data = load_i64(source + layout.BUFFER_DATA) + source_offset
    return _outcome(
        commands, record_update(commands, data, load_i64(args + 48), target, offset, length), results
    )


@native(_IMPORT)
def hal_import_command_buffer_copy_buffer(state, args, results):
    commands, source, target = load_i64(args), load_i64(args + 24), load_i64(args + 40)
    status = check_reference(commands, layout.TYPE_HAL_COMMAND_BUFFER, results)
    if status == layout.OK:
        status = _check_optional(source, layout.TYPE_HAL_BUFFER, results)
    if status == layout.OK:
        status = _check_optional(target, layout.TYPE_HAL_BUFFER, results)
    if status != layout.OK:
        return status
    source_slot, target_slot, length = load_i64(args + 8), load_i64(args + 16), load_i64(args + 56)
    source_offset, offset = load_i64(args + 32), load_i64(args + 48)
    status = record_copy(commands, source_slot, source, source_offset, target_slot, target, offset, length)
    return _outcome(commands, status, results)


@native("int64(int64,int64,int64,int64)")
def _mismatch(executable, ordinal, counts, results):
    """Writes what a dispatch's constants and bindings should have been."""
    export = load_i64(executable + hal.EXECUTABLE_EXPORTS) + hal.EXPORT_BYTES * ordinal
    scratch = _scratch()
    append_bytes(results, load_i64(export + hal.EXPORT_NAME), load_i64(export + hal.EXPORT_NAME_LENGTH))
    _counts(scratch)
    append_message(results, scratch)
    append_number(results, load_i64(export + hal.EXPORT_CONSTANT_COUNT))
    _and(scratch)
    append_message(results, scratch)
    append_number(results, load_i64(export + hal.EXPORT_BINDING_COUNT))
    _given(scratch)
    append_message(results, scratch)
    append_number(results, counts >> 32)
    _and(scratch)
    append_message(results, scratch)
    append_number(results, counts & _U32)
    return layout.INVALID_ARGUMENT


@native("int64(int64,int64,int64)")
def _dispatch(args, rest, results):
    """Both dispatches: `rest` is the address of the constants' span. Gives the command's record or -status.

    The bindings' span follows; their records are appended.
    """
    commands, executable, ordinal = load_i64(args), load_i64(args + 8), load_i64(args + 16)
    status = check_reference(commands, layout.TYPE_HAL_COMMAND_BUFFER, results)
    if status != layout.OK:
        return -status
    status = check_reference(executable, layout.TYPE_HAL_EXECUTABLE, results)
    if status != layout.OK:
        return -_outcome(commands, status, results)
    constant_count = load_i64(rest)
    span = rest + 8 + 8 * constant_count
    binding_count = load_i64(span)
    command = record_dispatch(commands, executable, ordinal, rest + 8, constant_count, binding_count)
    if command == -layout.INVALID_ARGUMENT:
        _mismatch(executable, ordinal, constant_count << 32 | binding_count, results)
    if command < 0:
        return -_outcome(commands, -command, results)
    for k in range(binding_count):
        words = span + 8 + 8 * _BINDING_WORDS * k
        slot, buffer = load_i64(words + 8), load_i64(words + 16)
        status = _check_optional(buffer, layout.TYPE_HAL_BUFFER, results)
        if status == layout.OK:
            status = append_binding(commands, slot, buffer, load_i64(words + 24), load_i64(words + 32))
        if status != layout.OK:
            return -_outcome(commands, status, results)
    return command


@native(_IMPORT)
def hal_import_command_buffer_dispatch(state, args, results):
    x, y, z = load_i64(args + 24) & _U32, load_i64(args + 32) & _U32, load_i64(args + 40) & _U32
    command = _dispatch(args, args + 56, results)
    if command < 0:
        return -command
    if z > 0xFFFF or (x > 0 and y > 0 and z > 0 and x > (0x7FFFFFFF // y) // z):
        _workgroups(results)
        return _outcome(load_i64(args), layout.OUT_OF_RANGE, results)
    store_i64(command + hal.COMMAND_X, x)
    store_i64(command + hal.COMMAND_Y, y)
    store_i64(command + hal.COMMAND_Z, z)
    return layout.OK


@native(_IMPORT)
def hal_import_command_buffer_dispatch_indirect(state, args, results):
    """The workgroup counts are three u32 of a buffer, read when the dispatch begins."""
    slot, buffer, offset = load_i64(args + 24), load_i64(args + 32), load_i64(args + 40)
    status = _check_optional(buffer, layout.TYPE_HAL_BUFFER, results)
    if status != layout.OK:
        return status
    command = _dispatch(args, args + 56, results)
    if command < 0:
        return -command
    commands = load_i64(args)
    store_i64(command + hal.COMMAND_INDIRECT, load_i64(commands + hal.COMMANDS_BINDING_COUNT) + 1)
    return _outcome(commands, append_binding(commands, slot, buffer, offset, 12), results)


@native(_IMPORT)
def hal_import_executable_lookup_function(state, args, results):
    """The ordinal of an export by its name."""
    executable, name = load_i64(args), load_i64(args + 8)
    status = check_reference(executable, layout.TYPE_HAL_EXECUTABLE, results)
    if status == layout.OK:
        status = check_reference(name, layout.TYPE_BUFFER, results)
    if status != layout.OK:
        return status
    length, text = load_i64(name + layout.BUFFER_LENGTH), load_i64(name + layout.BUFFER_DATA)
    export = load_i64(executable + hal.EXECUTABLE_EXPORTS)
    for ordinal in range(load_i64(executable + hal.EXECUTABLE_COUNT)):
        if load_i64(export + hal.EXPORT_NAME_LENGTH) == length:
            if memcmp(load_i64(export + hal.EXPORT_NAME), text, length) == 0:
                store_i64(results, ordinal)
                return layout.OK
        export += hal.EXPORT_BYTES
    scratch = _scratch()
    _no_export(scratch)
    append_message(results, scratch)
    append_vm_string(results, name)
    return layout.NOT_FOUND
