"""Native imports of the `hal` module about queues and fences.

Each is `i64 fn(state, args, results)`, as in `hal_buffer`. The queue imports begin with device, affinity,
wait fence, signal fence (0: none).
"""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.buffer import buffer_data, hal_buffer_allocate
from pyiree.runtime.hal.command_buffer import record_copy, record_fill, record_update
from pyiree.runtime.hal.fence import fence_state, hal_fence_create, hal_fence_join
from pyiree.runtime.hal.queue import execute_single, fence_signal, queue_execute, signal_after, single_command
from pyiree.runtime.hal.transfer import fill_bytes
from pyiree.runtime.modules.hal_buffer import check_range, check_reference, give_object
from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import (
    load_i64,
    memcpy,
    memmove,
    message,
    monotonic_nanoseconds,
    native,
    store_i64,
)
from pyiree.runtime.native.objects import release
from pyiree.runtime.task.queue import wait_for_word

_IMPORT = "int64(int64,int64,int64)"
_FIRST_SLICE = 50000  # nanoseconds of the first wait: its caller may still hold the GIL
_SLICE = 50000000
_MILLISECOND = 1000000

_not_final = message("the command buffer was not finalized, or its recording failed")
_binding_range = message("a binding lies outside of its buffer or of the binding table")
_binding_null = message("a slot of the binding table has no buffer")
_pattern = message("a fill pattern has 1, 2, 4 or 8 bytes and divides the length")
_read_only = message("the file is read-only")
_data_range = message("the source range lies outside of the data")
_memory = message("not enough memory")


@native("int64(int64,int64)")
def _check_queue(args, results):
    status = check_reference(load_i64(args), layout.TYPE_HAL_DEVICE, results)
    wait, signal = load_i64(args + 16), load_i64(args + 24)
    if status == layout.OK and wait != 0:
        status = check_reference(wait, layout.TYPE_HAL_FENCE, results)
    if status == layout.OK and signal != 0:
        status = check_reference(signal, layout.TYPE_HAL_FENCE, results)
    return status


@native("int64(int64,int64)")
def _at_once(args, length):
    """Whether a transfer is small and nothing is to be waited for: then it is done on the spot."""
    wait = load_i64(args + 16)
    if length > hal.TRANSFER_TILE or load_i64(load_i64(args) + hal.DEVICE_KIND) == hal.DEVICE_NULL:
        return False
    return wait == 0 or fence_state(wait) == hal.FENCE_SIGNALLED


@native("int64(int64)")
def _signal_now(args):
    signal = load_i64(args + 24)
    if signal != 0:
        fence_signal(signal, hal.FENCE_SIGNALLED)
    return layout.OK


@native("int64(int64,int64,int64)")
def _execute_recorded(args, commands, status):
    """Executes a command buffer of one operation whose recording gave `status`."""
    if status != layout.OK:
        release(commands)
        return status
    return execute_single(load_i64(args), load_i64(args + 16), load_i64(args + 24), commands)


@native("int64(int64,int64)")
def _begin_single(args, results):
    commands = single_command(load_i64(args), 0)
    if commands == 0:
        _memory(results)
    return commands


# ------------------------------------------------------------------ memory


@native(_IMPORT)
def hal_import_queue_alloca(state, args, results):
    """Memory now, whatever the wait fence: host memory needs no queue. The signal follows the wait."""
    status = _check_queue(args, results)
    if status != layout.OK:
        return status
    allocator = load_i64(load_i64(args) + hal.DEVICE_ALLOCATOR)
    memory_type, usage = load_i64(args + 40), load_i64(args + 48)
    pool = load_i64(allocator + hal.ALLOCATOR_POOL)
    status = give_object(hal_buffer_allocate(pool, load_i64(args + 56), memory_type, usage), results)
    if status == layout.OK:
        status = signal_after(load_i64(args + 16), load_i64(args + 24))
        if status != layout.OK:
            release(load_i64(results))
            store_i64(results, 0)
    return status


@native(_IMPORT)
def hal_import_queue_dealloca(state, args, results):
    """The memory goes with its last reference, which work in flight holds too."""
    status = _check_queue(args, results)
    if status == layout.OK:
        status = check_reference(load_i64(args + 32), layout.TYPE_HAL_BUFFER, results)
    if status == layout.OK:
        status = signal_after(load_i64(args + 16), load_i64(args + 24))
    return status


@native(_IMPORT)
def hal_import_queue_barrier(state, args, results):
    status = _check_queue(args, results)
    if status == layout.OK:
        status = signal_after(load_i64(args + 16), load_i64(args + 24))
    return status


@native(_IMPORT)
def hal_import_queue_flush(state, args, results):
    """Submissions start at once, so there is nothing to flush."""
    return check_reference(load_i64(args), layout.TYPE_HAL_DEVICE, results)


# ------------------------------------------------------------------ transfers


@native(_IMPORT)
def hal_import_queue_fill(state, args, results):
    target, offset, length = load_i64(args + 32), load_i64(args + 40), load_i64(args + 48)
    pattern, size = load_i64(args + 56), load_i64(args + 64)
    status = _check_queue(args, results)
    if status == layout.OK:
        status = check_reference(target, layout.TYPE_HAL_BUFFER, results)
    if status != layout.OK:
        return status
    if length == -1:
        length = load_i64(target + hal.BUFFER_LENGTH) - offset
    status = check_range(target, offset, length, results)
    if status != layout.OK:
        return status
    if (size != 1 and size != 2 and size != 4 and size != 8) or length % size != 0:
        _pattern(results)
        return layout.INVALID_ARGUMENT
    if _at_once(args, length):
        fill_bytes(buffer_data(target) + offset, length, pattern, size)
        return _signal_now(args)
    commands = _begin_single(args, results)
    if commands == 0:
        return layout.RESOURCE_EXHAUSTED
    return _execute_recorded(args, commands, record_fill(commands, 0, target, offset, length, pattern, size))


@native(_IMPORT)
def hal_import_queue_update(state, args, results):
    source, source_offset = load_i64(args + 32), load_i64(args + 40)
    target, offset, length = load_i64(args + 48), load_i64(args + 56), load_i64(args + 64)
    status = _check_queue(args, results)
    if status == layout.OK:
        status = check_reference(source, layout.TYPE_BUFFER, results)
    if status == layout.OK:
        status = check_reference(target, layout.TYPE_HAL_BUFFER, results)
    if status == layout.OK:
        status = check_range(target, offset, length, results)
    if status != layout.OK:
        return status
    whole = load_i64(source + layout.BUFFER_LENGTH)
    if source_offset < 0 or source_offset > whole or length > whole - source_offset:
        _data_range(results)
        return layout.OUT_OF_RANGE
    data = load_i64(source + layout.BUFFER_DATA) + source_offset
    if _at_once(args, length):
        memcpy(buffer_data(target) + offset, data, length)
        return _signal_now(args)
    commands = _begin_single(args, results)
    if commands == 0:
        return layout.RESOURCE_EXHAUSTED
    return _execute_recorded(args, commands, record_update(commands, data, 0, target, offset, length))


@native("int64(int64,int64,int64,int64,int64,int64,int64)")
def _copy(args, source, source_offset, target, offset, length, results):
    status = check_range(source, source_offset, length, results)
    if status == layout.OK:
        status = check_range(target, offset, length, results)
    if status != layout.OK:
        return status
    if _at_once(args, length):
        memmove(buffer_data(target) + offset, buffer_data(source) + source_offset, length)
        return _signal_now(args)
    commands = _begin_single(args, results)
    if commands == 0:
        return layout.RESOURCE_EXHAUSTED
    status = record_copy(commands, 0, source, source_offset, 0, target, offset, length)
    return _execute_recorded(args, commands, status)


@native(_IMPORT)
def hal_import_queue_copy(state, args, results):
    source, target = load_i64(args + 32), load_i64(args + 48)
    status = _check_queue(args, results)
    if status == layout.OK:
        status = check_reference(source, layout.TYPE_HAL_BUFFER, results)
    if status == layout.OK:
        status = check_reference(target, layout.TYPE_HAL_BUFFER, results)
    if status != layout.OK:
        return status
    source_offset, offset, length = load_i64(args + 40), load_i64(args + 56), load_i64(args + 64)
    return _copy(args, source, source_offset, target, offset, length, results)


@native(_IMPORT)
def hal_import_queue_read(state, args, results):
    file, target = load_i64(args + 32), load_i64(args + 48)
    status = _check_queue(args, results)
    if status == layout.OK:
        status = check_reference(file, layout.TYPE_HAL_FILE, results)
    if status == layout.OK:
        status = check_reference(target, layout.TYPE_HAL_BUFFER, results)
    if status != layout.OK:
        return status
    source_offset, offset, length = load_i64(args + 40), load_i64(args + 56), load_i64(args + 64)
    return _copy(args, load_i64(file + hal.FILE_BUFFER), source_offset, target, offset, length, results)


@native(_IMPORT)
def hal_import_queue_write(state, args, results):
    source, file = load_i64(args + 32), load_i64(args + 48)
    status = _check_queue(args, results)
    if status == layout.OK:
        status = check_reference(source, layout.TYPE_HAL_BUFFER, results)
    if status == layout.OK:
        status = check_reference(file, layout.TYPE_HAL_FILE, results)
    if status != layout.OK:
        return status
    if load_i64(file + hal.FILE_WRITABLE) == 0:
        _read_only(results)
        return layout.PERMISSION_DENIED
    source_offset, offset, length = load_i64(args + 40), load_i64(args + 56), load_i64(args + 64)
    return _copy(args, source, source_offset, load_i64(file + hal.FILE_BUFFER), offset, length, results)


# ------------------------------------------------------------------ execution


@native("int64(int64,int64,int64,int64)")
def _execute(args, table, count, results):
    commands = load_i64(args + 32)
    status = _check_queue(args, results)
    wait, signal = load_i64(args + 16), load_i64(args + 24)
    if commands == 0:  # nothing to execute: a barrier
        return signal_after(wait, signal) if status == layout.OK else status
    if status == layout.OK:
        status = check_reference(commands, layout.TYPE_HAL_COMMAND_BUFFER, results)
    if status != layout.OK:
        return status
    if load_i64(commands + hal.COMMANDS_FINAL) != 1:
        _not_final(results)
        return layout.FAILED_PRECONDITION
    status = queue_execute(load_i64(args), wait, signal, commands, table, count)
    if status == layout.OUT_OF_RANGE:
        _binding_range(results)
    elif status == layout.FAILED_PRECONDITION:
        _binding_null(results)
    return status


@native(_IMPORT)
def hal_import_queue_execute(state, args, results):
    return _execute(args, 0, 0, results)


@native(_IMPORT)
def hal_import_queue_execute_indirect(state, args, results):
    return _execute(args, args + 56, load_i64(args + 48), results)


# ------------------------------------------------------------------ fences


@native(_IMPORT)
def hal_import_fence_create(state, args, results):
    device = load_i64(args)
    status = check_reference(device, layout.TYPE_HAL_DEVICE, results)
    if status == layout.OK:
        status = give_object(hal_fence_create(load_i64(device + hal.DEVICE_EXECUTOR)), results)
    return status


@native("int64(int64,int64,int64)")
def _check_fences(fences, count, results):
    """Null fences are allowed: they count as signalled."""
    for k in range(count):
        fence = load_i64(fences + 8 * k)
        if fence != 0:
            status = check_reference(fence, layout.TYPE_HAL_FENCE, results)
            if status != layout.OK:
                return status
    return layout.OK


@native(_IMPORT)
def hal_import_fence_join(state, args, results):
    count = load_i64(args + 8)
    status = _check_fences(args + 16, count, results)
    if status != layout.OK:
        return status
    executor = load_i64(load_i64(state + hal.STATE_DEVICES) + hal.DEVICE_EXECUTOR)
    for k in range(count):
        fence = load_i64(args + 16 + 8 * k)
        if fence != 0 and fence_state(fence) == 0:
            executor = load_i64(fence + hal.FENCE_EXECUTOR)
    return give_object(hal_fence_join(executor, count, args + 16), results)


@native(_IMPORT)
def hal_import_fence_query(state, args, results):
    fence = load_i64(args)
    status = check_reference(fence, layout.TYPE_HAL_FENCE, results)
    if status == layout.OK:
        fence_status = fence_state(fence)
        if fence_status == 0:
            store_i64(results, layout.DEFERRED)
        elif fence_status & hal.FENCE_FAILED:
            store_i64(results, fence_status & 0xFF)
    return status


@native(_IMPORT)
def hal_import_fence_signal(state, args, results):
    status = check_reference(load_i64(args), layout.TYPE_HAL_FENCE, results)
    if status == layout.OK:
        fence_signal(load_i64(args), hal.FENCE_SIGNALLED)
    return status


@native(_IMPORT)
def hal_import_fence_fail(state, args, results):
    status = check_reference(load_i64(args), layout.TYPE_HAL_FENCE, results)
    if status == layout.OK:
        code = load_i64(args + 8) & 0xFF
        fence_signal(load_i64(args), hal.FENCE_FAILED | (code if code != 0 else layout.UNKNOWN))
    return status


@native(_IMPORT)
def hal_import_fence_await(state, args, results):
    """Waits, working, for all fences; suspends after a short first slice and after each long later one.

    Result word 1 keeps the deadline between the calls (0: first call), word 2 counts them.
    """
    timeout, count, fences = load_i64(args), load_i64(args + 16), args + 24
    status = _check_fences(fences, count, results)
    if status != layout.OK:
        return status
    slice_left = _FIRST_SLICE
    if load_i64(results + 16) != 0:
        slice_left = _SLICE
    elif timeout > 0:
        store_i64(results + 8, monotonic_nanoseconds() + timeout * _MILLISECOND)
    deadline = load_i64(results + 8)
    for k in range(count):
        fence = load_i64(fences + 8 * k)
        state_of_fence = hal.FENCE_SIGNALLED if fence == 0 else fence_state(fence)
        if state_of_fence == 0:
            if timeout == 0:
                store_i64(results, layout.DEADLINE_EXCEEDED)
                return layout.OK
            if deadline != 0:
                left = deadline - monotonic_nanoseconds()
                if left <= 0:
                    store_i64(results, layout.DEADLINE_EXCEEDED)
                    return layout.OK
                slice_left = left if left < slice_left else slice_left
            wait_for_word(load_i64(fence + hal.FENCE_EXECUTOR), fence + hal.FENCE_STATE, slice_left)
            state_of_fence = fence_state(fence)
            if state_of_fence == 0:
                store_i64(results + 16, 1)
                return layout.SUSPEND
        if state_of_fence & hal.FENCE_FAILED:
            store_i64(results, state_of_fence & 0xFF)
            return layout.OK
    return layout.OK


@native("int64(int64,int64)")
def hal_fence_wait(fence, nanoseconds):
    """A wait by the host, working meanwhile: the fence's state, 0 if the time is over before it has one."""
    if fence_state(fence) == 0:
        wait_for_word(load_i64(fence + hal.FENCE_EXECUTOR), fence + hal.FENCE_STATE, nanoseconds)
    return fence_state(fence)
