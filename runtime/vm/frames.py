"""Frames of an invocation's stack: made, filled with arguments, emptied of results, released.

Enters: function records, operand lists, slots. Leaves: frames, whose registers stand behind their header:
32-bit values first, references behind them.
"""

from pyiree.runtime.native.intrinsics import load_i64, load_u8, memset, native, store_i32, store_i64
from pyiree.runtime.native.objects import release, retain
from pyiree.runtime.vm import layout
from pyiree.runtime.vm.registers import put_ref, set32, set64, take_ref, value32, value64

KIND_64, KIND_REF = layout.KIND_64, layout.KIND_REF


@native("int64(int64,int64,int64,int64)")
def push_frame(invocation, record, place, caller):
    """A zeroed frame at `place`; 0 if the stack is full."""
    size = load_i64(record + layout.FUNCTION_FRAME_BYTES)
    if place + size > load_i64(invocation + layout.INVOCATION_END):
        return 0
    memset(place, 0, size)
    store_i64(place + layout.FRAME_CALLER, caller)
    store_i64(place + layout.FRAME_FUNCTION, record)
    return place


@native("int64(int64)")
def frame_refs(frame):
    """The address of a frame's reference registers."""
    record = load_i64(frame + layout.FRAME_FUNCTION)
    return frame + layout.FRAME_HEADER_BYTES + load_i64(record + layout.FUNCTION_VALUE_BYTES)


@native("void(int64)")
def release_frame(frame):
    """Releases what is left in a frame's reference registers."""
    refs = frame_refs(frame)
    count = load_i64(load_i64(frame + layout.FRAME_FUNCTION) + layout.FUNCTION_REF_COUNT)
    for k in range(count):
        release(load_i64(refs + 8 * k))


@native("void(int64,int64,int64,int64)")
def pass_arguments(operands, registers, refs, frame):
    """Copies a call's operands to where the function of the new frame expects its arguments."""
    record = load_i64(frame + layout.FRAME_FUNCTION)
    kinds = load_i64(record + layout.FUNCTION_ARGUMENTS)
    value = frame + layout.FRAME_HEADER_BYTES
    first = value
    ref = frame_refs(frame)
    for k in range(load_i64(record + layout.FUNCTION_ARGUMENT_COUNT)):
        kind = load_u8(kinds + k)
        at = operands + 2 * k
        if kind == KIND_REF:
            store_i64(ref, take_ref(at, refs))
            ref += 8
        elif kind == KIND_64:
            value = first + ((value - first + 7) & -8)
            store_i64(value, value64(at, registers))
            value += 8
        else:
            store_i32(value, value32(at, registers))
            value += 4


@native("void(int64,int64)")
def enter_arguments(slots, frame):
    """The same from slots, whose references stay with the caller."""
    record = load_i64(frame + layout.FRAME_FUNCTION)
    kinds = load_i64(record + layout.FUNCTION_ARGUMENTS)
    value = frame + layout.FRAME_HEADER_BYTES
    first = value
    ref = frame_refs(frame)
    for k in range(load_i64(record + layout.FUNCTION_ARGUMENT_COUNT)):
        kind = load_u8(kinds + k)
        slot = load_i64(slots + 8 * k)
        if kind == KIND_REF:
            retain(slot)
            store_i64(ref, slot)
            ref += 8
        elif kind == KIND_64:
            value = first + ((value - first + 7) & -8)
            store_i64(value, slot)
            value += 8
        else:
            store_i32(value, slot)
            value += 4


@native("void(int64,int64,int64,int64,int64)")
def return_values(operands, frame, results, registers, refs):
    """Copies a return's operands to the caller's result registers."""
    record = load_i64(frame + layout.FRAME_FUNCTION)
    kinds = load_i64(record + layout.FUNCTION_RESULTS)
    inner = frame + layout.FRAME_HEADER_BYTES
    inner_refs = frame_refs(frame)
    for k in range(load_i64(record + layout.FUNCTION_RESULT_COUNT)):
        kind = load_u8(kinds + k)
        source, target = operands + 2 * k, results + 2 * k
        if kind == KIND_REF:
            put_ref(target, refs, take_ref(source, inner_refs))
        elif kind == KIND_64:
            set64(target, registers, value64(source, inner))
        else:
            set32(target, registers, value32(source, inner))


@native("void(int64,int64,int64)")
def leave_results(operands, frame, slots):
    """Copies the outermost return's operands to slots; references pass to their reader."""
    record = load_i64(frame + layout.FRAME_FUNCTION)
    kinds = load_i64(record + layout.FUNCTION_RESULTS)
    registers = frame + layout.FRAME_HEADER_BYTES
    refs = frame_refs(frame)
    for k in range(load_i64(record + layout.FUNCTION_RESULT_COUNT)):
        kind = load_u8(kinds + k)
        at = operands + 2 * k
        if kind == KIND_REF:
            store_i64(slots + 8 * k, take_ref(at, refs))
        elif kind == KIND_64:
            store_i64(slots + 8 * k, value64(at, registers))
        else:
            store_i64(slots + 8 * k, value32(at, registers))
