"""Calls that leave the bytecode: arguments to slots, the native function or Python, results to registers.

Enters: an import's ordinal and the operand lists of the call. Leaves: a status, SUSPEND, or NEEDS_PYTHON.
"""

from pyiree.runtime.native import layout as objects
from pyiree.runtime.native.intrinsics import (
    call3,
    load_i64,
    load_u8,
    load_u16,
    memset,
    native,
    store_i64,
)
from pyiree.runtime.vm import layout
from pyiree.runtime.vm.frames import frame_refs
from pyiree.runtime.vm.registers import (
    borrow_ref,
    drop_moved,
    put_ref,
    set32,
    set64,
    value32,
    value64,
)

OK = objects.OK
KIND_64, KIND_REF, KIND_SPAN = layout.KIND_64, layout.KIND_REF, layout.KIND_SPAN
KEPT_BYTES = 32  # of the results, zero at the first call, in which an import may keep its state while suspended
NEEDS_PYTHON = -2  # beside the statuses of an import call: Python is to perform it


@native("int64(int64,int64,int64,int64)")
def slot_of(kind, at, registers, refs):
    """An operand as a slot of an import's argument array."""
    if kind == KIND_REF:
        return borrow_ref(at, refs)
    return value64(at, registers) if kind == KIND_64 else value32(at, registers)


@native("int64(int64,int64,int64,int64,int64,int64)")
def marshal_import(record, segments, operands, registers, refs, slots):
    """Fills an import's argument slots; gives the address behind them. `segments` is 0 for plain calls."""
    kinds = load_i64(record + layout.IMPORT_ARGUMENTS)
    at = operands
    for k in range(load_i64(record + layout.IMPORT_ARGUMENT_COUNT)):
        kind = load_u8(kinds)
        kinds += 1
        if kind == KIND_SPAN:
            length = load_u8(kinds)
            kinds += 1
            count = load_u16(segments + 2 * k)
            store_i64(slots, count)
            slots += 8
            for _ in range(count):
                for member in range(length):
                    store_i64(slots, slot_of(load_u8(kinds + member), at, registers, refs))
                    at += 2
                    slots += 8
            kinds += length
        else:
            store_i64(slots, slot_of(kind, at, registers, refs))
            at += 2
            slots += 8
    return slots


@native("void(int64,int64,int64,int64,int64)")
def unmarshal_results(record, slots, results, registers, refs):
    """Stores an import's result slots in the listed registers, which take the references over."""
    kinds = load_i64(record + layout.IMPORT_RESULTS)
    for k in range(load_i64(record + layout.IMPORT_RESULT_COUNT)):
        kind = load_u8(kinds + k)
        slot, target = load_i64(slots + 8 * k), results + 2 * k
        if kind == KIND_REF:
            put_ref(target, refs, slot)
        elif kind == KIND_64:
            set64(target, registers, slot)
        else:
            set32(target, registers, slot)


@native("int64(int64,int64,int64,int64,int64,int64)")
def call_import(invocation, frame, ordinal, segments, operands, results):
    """Performs an import call; gives a status, SLOW, SUSPEND, or NEEDS_PYTHON.

    The slots stand on the stack behind the frame, where they stay while the call is pending.
    """
    context = load_i64(invocation + layout.INVOCATION_CONTEXT)
    record = load_i64(context + layout.CONTEXT_IMPORTS) + layout.IMPORT_BYTES * ordinal
    registers = frame + layout.FRAME_HEADER_BYTES
    refs = frame_refs(frame)
    count = load_u16(operands - 2)
    slots = frame + load_i64(load_i64(frame + layout.FRAME_FUNCTION) + layout.FUNCTION_FRAME_BYTES)
    result_bytes = 8 * load_i64(record + layout.IMPORT_RESULT_COUNT)
    cleared = result_bytes if result_bytes > KEPT_BYTES else KEPT_BYTES
    if result_bytes < objects.MESSAGE_BYTES:
        result_bytes = objects.MESSAGE_BYTES
    needed = 8 * (count + load_i64(record + layout.IMPORT_ARGUMENT_COUNT)) + result_bytes
    if slots + needed > load_i64(invocation + layout.INVOCATION_END):
        return objects.RESOURCE_EXHAUSTED
    pending = load_i64(invocation + layout.INVOCATION_PENDING)
    store_i64(invocation + layout.INVOCATION_PENDING, layout.PENDING_NOTHING)
    outcome = marshal_import(record, segments, operands, registers, refs, slots)
    if pending == layout.PENDING_PYTHON:
        status = load_i64(invocation + layout.INVOCATION_IMPORT_STATUS)
    else:
        if pending == layout.PENDING_NOTHING:
            memset(outcome, 0, cleared)
        function, status = load_i64(record + layout.IMPORT_FUNCTION), objects.ASK_PYTHON
        if function != 0:
            status = call3(function, load_i64(record + layout.IMPORT_STATE), slots, outcome)
        elif load_i64(record + layout.IMPORT_RESOLVED) == 0:
            return objects.NOT_FOUND
        if status == objects.ASK_PYTHON:
            store_i64(invocation + layout.INVOCATION_IMPORT, ordinal)
            store_i64(invocation + layout.INVOCATION_ARGUMENTS, slots)
            store_i64(invocation + layout.INVOCATION_RESULTS, outcome)
            store_i64(invocation + layout.INVOCATION_PENDING, layout.PENDING_PYTHON)
            return NEEDS_PYTHON
    if status == OK or status == objects.SLOW:
        for k in range(count):
            drop_moved(operands + 2 * k, refs)
        unmarshal_results(record, outcome, results, registers, refs)
    elif status == objects.SUSPEND:
        store_i64(invocation + layout.INVOCATION_PENDING, layout.PENDING_RETRY)
        store_i64(invocation + layout.INVOCATION_REASON, layout.REASON_IMPORT)
    else:
        length = load_i64(outcome)
        if length > 0 and length <= objects.MESSAGE_BYTES - 8:
            store_i64(invocation + layout.INVOCATION_MESSAGE, outcome + 8)
            store_i64(invocation + layout.INVOCATION_MESSAGE_BYTES, length)
    return status
