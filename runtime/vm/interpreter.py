"""The interpreter: runs verified bytecode until it returns, fails, or needs somebody outside.

Enters: a context block and a function record (layout.py), argument slots. Leaves: one of DONE, FAILED,
SUSPENDED, PYTHON_CALL; in the last three the invocation block says where it stands and `vm_resume` or
`vm_abort` goes on from there. All state of an invocation is in its block, so any number may be under way.

Bytecode is decoded as it stands in the file. The verifier has made sure of opcodes, operands and targets;
what depends on values is checked here or in memory_ops.
"""

from pyiree.runtime.native import layout as objects
from pyiree.runtime.native.intrinsics import (
    atomic_exchange,
    call3,
    compare_and_swap,
    free,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    malloc,
    memset,
    monotonic_nanoseconds,
    native,
    signed_divide,
    signed_remainder,
    stack_bytes,
    store_i8,
    store_i32,
    store_i64,
    unsigned_divide,
    unsigned_remainder,
    write,
)
from pyiree.runtime.native.objects import release, retain
from pyiree.runtime.vm import layout, memory_ops
from pyiree.runtime.vm.memory_ops import (
    OK,
    borrow_ref,
    drop_moved,
    put_ref,
    set32,
    set64,
    take_ref,
    value32,
    value64,
)
from pyiree.runtime.vm.value_ops import value_ops
from pyiree.runtime.vmfb import isa

_core_value = value_ops(isa.CORE)
_f32_value = value_ops(isa.F32)
_f64_value = value_ops(isa.F64)

REF_BIT, IMPORT_BIT = isa.REF_BIT, isa.IMPORT_BIT
KIND_64, KIND_REF, KIND_SPAN = layout.KIND_64, layout.KIND_REF, layout.KIND_SPAN

# Branches backward, calls and imports spend credit; when it is gone the clock is looked at.
CREDIT = 4096
IMPORT_COST = 64
TIME_SLICE = 20_000_000  # nanoseconds

NEEDS_PYTHON = -2  # beside the statuses of an import call: Python is to perform it


def _code(name: str) -> int:
    return isa.OPS[name].code


BR, COND_BR, BR_TABLE = _code("br"), _code("cond_br"), _code("br_table")
BREAK, COND_BREAK, YIELD = _code("break"), _code("cond_break"), _code("yield")
CALL, CALL_VARIADIC = _code("call"), _code("call.variadic")
CALL_YIELDABLE, CALL_VARIADIC_YIELDABLE = _code("call.yieldable"), _code("call.variadic.yieldable")
RETURN, FAIL = _code("return"), _code("fail")
IMPORT_RESOLVED, TRACE, PRINT = _code("import.resolved"), _code("trace"), _code("print")
DISCARD_REFS, ASSIGN_REF = _code("discard.refs"), _code("assign.ref")
CONST_REF_ZERO, CONST_REF_RODATA = _code("const.ref.zero"), _code("const.ref.rodata")
SELECT_REF, SWITCH_REF = _code("select.ref"), _code("switch.ref")
SWITCH_I32, SWITCH_I64 = _code("switch.i32"), _code("switch.i64")
GLOBAL_LOAD_REF, GLOBAL_STORE_REF = _code("global.load.ref"), _code("global.store.ref")
DIV_I32_S, DIV_I32_U, REM_I32_S, REM_I32_U = (_code(f"{n}.i32.{s}") for n in ("div", "rem") for s in "su")
DIV_I64_S, DIV_I64_U, REM_I64_S, REM_I64_U = (_code(f"{n}.i64.{s}") for n in ("div", "rem") for s in "su")
# Ranges of opcodes that memory_ops runs.
LIST_FIRST, LIST_LAST = _code("list.alloc"), _code("list.set.ref")
BUFFER_LOAD_FIRST, BUFFER_LOAD_LAST = _code("buffer.load.i8.u"), _code("buffer.load.i64")
BUFFER_STORE_FIRST, BUFFER_STORE_LAST = _code("buffer.store.i8"), _code("buffer.store.i64")
BUFFER_FIRST, BUFFER_LAST = _code("buffer.alloc"), _code("buffer.fill.i64")
BUFFER_HASH, CAST_ANY_REF = _code("buffer.hash"), _code("cast.any.ref")
GLOBAL_LOAD_INDIRECT_I32, GLOBAL_LOAD_INDIRECT_I64, GLOBAL_LOAD_INDIRECT_REF = (
    _code(f"global.load.indirect.{t}") for t in ("i32", "i64", "ref")
)
GLOBAL_STORE_INDIRECT_I32, GLOBAL_STORE_INDIRECT_I64, GLOBAL_STORE_INDIRECT_REF = (
    _code(f"global.store.indirect.{t}") for t in ("i32", "i64", "ref")
)
PREFIX_F32, PREFIX_F64 = isa.PREFIX_F32, isa.PREFIX_F64
F32_SWITCH, F64_SWITCH = _code("switch.f32"), _code("switch.f64")
F32_MEMORY_OPS, F64_MEMORY_OPS = memory_ops.F32_MEMORY_OPS, memory_ops.F64_MEMORY_OPS


# ------------------------------------------------------------------ pieces of instructions


@native("int64(int64)")
def list_at(at):
    """Where a list that follows `at` starts: lists are aligned to 2."""
    return (at + 1) & -2


@native("int64(int64)")
def behind_list(at):
    """The address behind a register list."""
    start = list_at(at)
    return start + 2 + 2 * load_u16(start)


@native("int64(int64)")
def behind_remap(at):
    start = list_at(at)
    return start + 2 + 4 * load_u16(start)


@native("void(int64,int64,int64)")
def remap(at, registers, refs):
    """Copies a branch's operands to its target's arguments, in the order written."""
    pair = list_at(at)
    end = behind_remap(at)
    pair += 2
    while pair < end:
        source = load_u16(pair)
        if source & REF_BIT:
            put_ref(pair + 2, refs, take_ref(pair, refs))
        else:
            store_i32(registers + 4 * load_u16(pair + 2), load_i32(registers + 4 * source))
        pair += 4


@native("int64(int64,int64,int64)")
def divide32(code, x, y):
    """The four divisions of i32; the divisor is not zero. In 64 bits none of them overflows."""
    if code == DIV_I32_S:
        return signed_divide(x, y)
    if code == REM_I32_S:
        return signed_remainder(x, y)
    x &= 0xFFFFFFFF
    y &= 0xFFFFFFFF
    return unsigned_divide(x, y) if code == DIV_I32_U else unsigned_remainder(x, y)


@native("int64(int64,int64,int64)")
def divide64(code, x, y):
    """The four divisions of i64; the divisor is not zero. The lowest number by -1 wraps."""
    if code == DIV_I64_S:
        return -x if y == -1 else signed_divide(x, y)
    if code == REM_I64_S:
        return 0 if y == -1 else signed_remainder(x, y)
    return unsigned_divide(x, y) if code == DIV_I64_U else unsigned_remainder(x, y)


@native("int64(int64,int64,int64)")
def switch_value(at, registers, wide):
    """switch.*: `i x * >x`; gives the address behind the instruction."""
    index = value32(at, registers)
    cases = list_at(at + 4)
    count = load_u16(cases)
    chosen = cases + 2 + 2 * index if index >= 0 and index < count else at + 2
    result = cases + 2 + 2 * count
    if wide:
        set64(result, registers, value64(chosen, registers))
    else:
        set32(result, registers, value32(chosen, registers))
    return result + 2


@native("int64(int64,int64,int64)")
def switch_ref(at, registers, refs):
    """switch.ref: `i type R * >R`; gives the address behind the instruction."""
    index = value32(at, registers)
    cases = list_at(at + 8)
    count = load_u16(cases)
    chosen = cases + 2 + 2 * index if index >= 0 and index < count else at + 6
    result = cases + 2 + 2 * count
    ref = take_ref(chosen, refs)
    drop_moved(at + 6, refs)
    for k in range(count):
        drop_moved(cases + 2 + 2 * k, refs)
    put_ref(result, refs, ref)
    return result + 2


@native("void(int64,int64,int64)")
def select_ref(at, registers, refs):
    """select.ref: `i type R R >R`."""
    ref = take_ref(at + 6 if value32(at, registers) != 0 else at + 8, refs)
    drop_moved(at + 6, refs)
    drop_moved(at + 8, refs)
    put_ref(at + 10, refs, ref)


_digits = stack_bytes(64)


@native("void(int64,int64)")
def print_number(value, before):
    """Writes a character and a decimal number to standard error."""
    end = _digits() + 64
    at = end
    rest = value if value < 0 else -value  # the lowest number has no positive twin
    while True:
        at -= 1
        store_i8(at, 48 - signed_remainder(rest, 10))
        rest = signed_divide(rest, 10)
        if rest == 0:
            break
    if value < 0:
        at -= 1
        store_i8(at, 45)
    at -= 1
    store_i8(at, before)
    write(2, at, end - at)


@native("int64(int64,int64,int64)")
def print_line(at, registers, refs):
    """print: `str *`, to standard error; gives the address behind the instruction."""
    length = load_u16(at)
    write(2, at + 2, length)
    operands = list_at(at + 2 + length)
    for k in range(load_u16(operands)):
        register = operands + 2 + 2 * k
        is_ref = load_u16(register) & REF_BIT
        print_number(borrow_ref(register, refs) if is_ref else value32(register, registers), 32)
    newline = _digits()
    store_i8(newline, 10)
    write(2, newline, 1)
    return behind_list(at + 2 + length)


# ------------------------------------------------------------------ frames


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


# ------------------------------------------------------------------ imports


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
    """Performs an import call; gives a status, SUSPEND, or NEEDS_PYTHON.

    The slots stand on the stack behind the frame, where they stay while the call is pending.
    """
    context = load_i64(invocation + layout.INVOCATION_CONTEXT)
    record = load_i64(context + layout.CONTEXT_IMPORTS) + layout.IMPORT_BYTES * ordinal
    registers = frame + layout.FRAME_HEADER_BYTES
    refs = frame_refs(frame)
    count = load_u16(operands - 2)
    slots = frame + load_i64(load_i64(frame + layout.FRAME_FUNCTION) + layout.FUNCTION_FRAME_BYTES)
    result_bytes = 8 * load_i64(record + layout.IMPORT_RESULT_COUNT)
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
            memset(outcome, 0, result_bytes)
        function = load_i64(record + layout.IMPORT_FUNCTION)
        if function == 0:
            if load_i64(record + layout.IMPORT_RESOLVED) == 0:
                return objects.NOT_FOUND
            store_i64(invocation + layout.INVOCATION_IMPORT, ordinal)
            store_i64(invocation + layout.INVOCATION_ARGUMENTS, slots)
            store_i64(invocation + layout.INVOCATION_RESULTS, outcome)
            store_i64(invocation + layout.INVOCATION_PENDING, layout.PENDING_PYTHON)
            return NEEDS_PYTHON
        status = call3(function, load_i64(record + layout.IMPORT_STATE), slots, outcome)
    if status == OK:
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


# ------------------------------------------------------------------ the loop


@native("int64(int64)")
def out_of_time(invocation):
    """Whether the time slice is over; the first look at the clock starts it."""
    now = monotonic_nanoseconds()
    deadline = load_i64(invocation + layout.INVOCATION_DEADLINE)
    if deadline == 0:
        store_i64(invocation + layout.INVOCATION_DEADLINE, now + TIME_SLICE)
        return 0
    if now < deadline:
        return 0
    store_i64(invocation + layout.INVOCATION_DEADLINE, 0)
    store_i64(invocation + layout.INVOCATION_REASON, layout.REASON_TIME)
    return 1


@native("int64(int64)")
def run(invocation):
    """Goes on with an invocation from where it stands."""
    context = load_i64(invocation + layout.INVOCATION_CONTEXT)
    functions = load_i64(context + layout.CONTEXT_FUNCTIONS)
    types = load_i64(context + layout.CONTEXT_TYPES)
    global_base = load_i64(context + layout.CONTEXT_GLOBALS)
    frame = load_i64(invocation + layout.INVOCATION_FRAME)
    base = load_i64(load_i64(frame + layout.FRAME_FUNCTION) + layout.FUNCTION_CODE)
    registers = frame + layout.FRAME_HEADER_BYTES
    refs = frame_refs(frame)
    pc = load_i64(invocation + layout.INVOCATION_PC)
    credit = CREDIT
    status = OK
    state = layout.FAILED
    while True:
        if credit < 0:
            credit = CREDIT
            if out_of_time(invocation):
                state = layout.SUSPENDED
                break
        code = load_u8(pc)
        if code == BR or code == BREAK:
            target = base + load_u32(pc + 1)
            remap(pc + 5, registers, refs)
            credit -= 1
            pc = target + 1
        elif code == COND_BR:
            at = pc + 3
            if value32(pc + 1, registers) == 0:
                at = behind_remap(pc + 7)
            target = base + load_u32(at)
            remap(at + 4, registers, refs)
            credit -= 1
            pc = target + 1
        elif code == CALL or code == CALL_YIELDABLE or code == CALL_VARIADIC or code == CALL_VARIADIC_YIELDABLE:
            ordinal = load_u32(pc + 1)
            at = list_at(pc + 5)
            segments = 0
            if code == CALL_VARIADIC or code == CALL_VARIADIC_YIELDABLE:
                segments = at + 2
                at = behind_list(at)
            operands = at + 2
            at = behind_list(at)
            target = 0
            if code == CALL_YIELDABLE or code == CALL_VARIADIC_YIELDABLE:
                target = base + load_u32(at)
                at += 4
            if ordinal & IMPORT_BIT:
                credit -= IMPORT_COST
                status = call_import(invocation, frame, ordinal & ~IMPORT_BIT, segments, operands, at + 2)
                if status != OK:
                    if status == objects.SUSPEND:
                        state = layout.SUSPENDED
                    elif status == NEEDS_PYTHON:
                        state = layout.PYTHON_CALL
                    break
                pc = target + 1 if target != 0 else behind_list(at)
            else:
                credit -= 1
                record = load_i64(frame + layout.FRAME_FUNCTION)
                place = frame + load_i64(record + layout.FUNCTION_FRAME_BYTES)
                record = functions + layout.FUNCTION_BYTES * ordinal
                place = push_frame(invocation, record, place, frame)
                if place == 0:
                    status = objects.RESOURCE_EXHAUSTED
                    break
                store_i64(place + layout.FRAME_RETURN, at)
                store_i64(place + layout.FRAME_TARGET, target)
                pass_arguments(operands, registers, refs, place)
                frame = place
                base = load_i64(record + layout.FUNCTION_CODE)
                registers = frame + layout.FRAME_HEADER_BYTES
                refs = frame_refs(frame)
                pc = base + 1
        elif code == RETURN:
            operands = list_at(pc + 1) + 2
            caller = load_i64(frame + layout.FRAME_CALLER)
            if caller == 0:
                leave_results(operands, frame, load_i64(invocation + layout.INVOCATION_OUTPUT))
                release_frame(frame)
                frame = 0
                state = layout.DONE
                break
            at = load_i64(frame + layout.FRAME_RETURN)
            target = load_i64(frame + layout.FRAME_TARGET)
            registers = caller + layout.FRAME_HEADER_BYTES
            refs = frame_refs(caller)
            return_values(operands, frame, at + 2, registers, refs)
            release_frame(frame)
            frame = caller
            base = load_i64(load_i64(frame + layout.FRAME_FUNCTION) + layout.FUNCTION_CODE)
            pc = target + 1 if target != 0 else behind_list(at)
        elif code == BR_TABLE:
            index = value32(pc + 1, registers)
            at = pc + 3
            cases = behind_remap(at + 4)
            if index >= 0 and index < load_u16(cases):
                at = cases + 2
                for _ in range(index):
                    at = behind_remap(at + 4)
            target = base + load_u32(at)
            remap(at + 4, registers, refs)
            credit -= 1
            pc = target + 1
        elif code == COND_BREAK:
            target = base + load_u32(pc + 3)
            remap(pc + 7, registers, refs)
            credit -= 1
            pc = target + 1
        elif code == YIELD:
            target = base + load_u32(pc + 1)
            remap(pc + 5, registers, refs)
            pc = target + 1
            store_i64(invocation + layout.INVOCATION_REASON, layout.REASON_YIELD)
            state = layout.SUSPENDED
            break
        elif code == FAIL:
            status = value32(pc + 1, registers)
            if status <= 0:
                status = objects.UNKNOWN
            store_i64(invocation + layout.INVOCATION_MESSAGE, pc + 5)
            store_i64(invocation + layout.INVOCATION_MESSAGE_BYTES, load_u16(pc + 3))
            break
        elif code >= DIV_I32_S and code <= REM_I32_U:
            divisor = value32(pc + 3, registers)
            if divisor == 0:
                status = objects.INVALID_ARGUMENT
                break
            set32(pc + 5, registers, divide32(code, value32(pc + 1, registers), divisor))
            pc += 7
        elif code >= DIV_I64_S and code <= REM_I64_U:
            divisor = value64(pc + 3, registers)
            if divisor == 0:
                status = objects.INVALID_ARGUMENT
                break
            set64(pc + 5, registers, divide64(code, value64(pc + 1, registers), divisor))
            pc += 7
        elif code >= BUFFER_LOAD_FIRST and code <= BUFFER_LOAD_LAST:
            taken = memory_ops.buffer_load(code, pc + 1, registers, refs)
            if taken < 0:
                status = -taken
                break
            pc += 1 + taken
        elif code >= BUFFER_STORE_FIRST and code <= BUFFER_STORE_LAST:
            taken = memory_ops.buffer_store(code, pc + 1, registers, refs)
            if taken < 0:
                status = -taken
                break
            pc += 1 + taken
        elif code == CONST_REF_ZERO:
            put_ref(pc + 1, refs, 0)
            pc += 3
        elif code == CONST_REF_RODATA:
            ref = load_i64(load_i64(context + layout.CONTEXT_RODATA) + 8 * load_u32(pc + 1))
            retain(ref)
            put_ref(pc + 5, refs, ref)
            pc += 7
        elif code == ASSIGN_REF:
            put_ref(pc + 3, refs, take_ref(pc + 1, refs))
            pc += 5
        elif code == DISCARD_REFS:
            at = list_at(pc + 1)
            pc = behind_list(at)
            at += 2
            while at < pc:
                drop_moved(at, refs)
                at += 2
        elif code == GLOBAL_LOAD_REF:
            wanted = load_i64(types + 8 * load_u32(pc + 5))
            status = -memory_ops.global_ref_load(context, load_u32(pc + 1), wanted, pc + 9, refs)
            if status != OK:
                break
            pc += 11
        elif code == GLOBAL_STORE_REF:
            wanted = load_i64(types + 8 * load_u32(pc + 5))
            status = -memory_ops.global_ref_store(context, load_u32(pc + 1), wanted, pc + 9, refs)
            if status != OK:
                break
            pc += 11
        elif code == SELECT_REF:
            select_ref(pc + 1, registers, refs)
            pc += 13
        elif code == SWITCH_I32 or code == SWITCH_I64:
            pc = switch_value(pc + 1, registers, 1 if code == SWITCH_I64 else 0)
        elif code == SWITCH_REF:
            pc = switch_ref(pc + 1, registers, refs)
        elif code == IMPORT_RESOLVED:
            ordinal = load_u32(pc + 1)
            resolved = 1
            if ordinal & IMPORT_BIT:
                at = load_i64(context + layout.CONTEXT_IMPORTS) + layout.IMPORT_BYTES * (ordinal & ~IMPORT_BIT)
                resolved = load_i64(at + layout.IMPORT_RESOLVED)
            set32(pc + 5, registers, resolved)
            pc += 7
        elif code == TRACE:
            pc = behind_list(pc + 3 + load_u16(pc + 1))
        elif code == PRINT:
            pc = print_line(pc + 1, registers, refs)
        elif code == PREFIX_F32:
            second = load_u8(pc + 1)
            if second == F32_SWITCH:
                pc = switch_value(pc + 2, registers, 0)
            elif (F32_MEMORY_OPS >> second) & 1:
                taken = memory_ops.f32_memory_op(second, pc + 2, registers, refs, context)
                if taken < 0:
                    status = -taken
                    break
                pc += 2 + taken
            else:
                pc = _f32_value(second, pc + 1, registers, refs, global_base)
        elif code == PREFIX_F64:
            second = load_u8(pc + 1)
            if second == F64_SWITCH:
                pc = switch_value(pc + 2, registers, 1)
            elif (F64_MEMORY_OPS >> second) & 1:
                taken = memory_ops.f64_memory_op(second, pc + 2, registers, refs, context)
                if taken < 0:
                    status = -taken
                    break
                pc += 2 + taken
            else:
                pc = _f64_value(second, pc + 1, registers, refs, global_base)
        elif (
            (code >= LIST_FIRST and code <= LIST_LAST)
            or (code >= BUFFER_FIRST and code <= BUFFER_LAST)
            or code == BUFFER_HASH
            or code == CAST_ANY_REF
            or code == GLOBAL_LOAD_INDIRECT_I32
            or code == GLOBAL_LOAD_INDIRECT_I64
            or code == GLOBAL_LOAD_INDIRECT_REF
            or code == GLOBAL_STORE_INDIRECT_I32
            or code == GLOBAL_STORE_INDIRECT_I64
            or code == GLOBAL_STORE_INDIRECT_REF
        ):
            taken = memory_ops.core_memory_op(code, pc + 1, registers, refs, context)
            if taken < 0:
                status = -taken
                break
            pc += 1 + taken
        else:
            pc = _core_value(code, pc, registers, refs, global_base)
    store_i64(invocation + layout.INVOCATION_FRAME, frame)
    store_i64(invocation + layout.INVOCATION_PC, pc)
    store_i64(invocation + layout.INVOCATION_STATUS, status)
    return state


# ------------------------------------------------------------------ entry


@native("int64(int64)")
def take_invocation(context):
    """An idle invocation block of the context, or a new one; 0 if memory ran out."""
    for k in range(layout.POOL_SLOTS):
        slot = context + layout.CONTEXT_POOL + 8 * k
        if load_i64(slot) != 0:
            invocation = atomic_exchange(slot, 0)
            if invocation != 0:
                return invocation
    size = load_i64(context + layout.CONTEXT_STACK_BYTES)
    invocation = malloc(size)
    if invocation != 0:
        store_i64(invocation + layout.INVOCATION_CONTEXT, context)
        store_i64(invocation + layout.INVOCATION_END, invocation + size)
    return invocation


@native("void(int64)")
def put_invocation(invocation):
    """Keeps a finished invocation's block for the next one, or frees it."""
    context = load_i64(invocation + layout.INVOCATION_CONTEXT)
    for k in range(layout.POOL_SLOTS):
        if compare_and_swap(context + layout.CONTEXT_POOL + 8 * k, 0, invocation):
            return
    free(invocation)


@native("int64(int64,int64,int64,int64,int64)")
def vm_invoke(context, function, arguments, results, invocation_out):
    """Calls a function, by ordinal. References among the arguments stay the caller's; among the results they
    are the caller's from then on.

    Gives DONE, or another state with the invocation's address in `invocation_out` (0: no memory), which is
    then to be resumed or aborted. `results` must stay valid until then.
    """
    store_i64(invocation_out, 0)
    invocation = take_invocation(context)
    if invocation == 0:
        return layout.FAILED
    record = load_i64(context + layout.CONTEXT_FUNCTIONS) + layout.FUNCTION_BYTES * function
    memset(invocation + layout.INVOCATION_DEADLINE, 0, layout.INVOCATION_FRAMES - layout.INVOCATION_DEADLINE)
    store_i64(invocation + layout.INVOCATION_OUTPUT, results)
    # The block is large enough for any one frame.
    frame = push_frame(invocation, record, invocation + layout.INVOCATION_FRAMES, 0)
    enter_arguments(arguments, frame)
    store_i64(invocation + layout.INVOCATION_FRAME, frame)
    store_i64(invocation + layout.INVOCATION_PC, load_i64(record + layout.FUNCTION_CODE) + 1)
    state = run(invocation)
    if state == layout.DONE:
        put_invocation(invocation)
    else:
        store_i64(invocation_out, invocation)
    return state


@native("int64(int64)")
def vm_resume(invocation):
    """Goes on with a suspended invocation, or one whose Python call is performed; as vm_invoke from there."""
    state = run(invocation)
    if state == layout.DONE:
        put_invocation(invocation)
    return state


@native("void(int64)")
def vm_abort(invocation):
    """Ends an invocation that is not done: releases all that its frames hold."""
    frame = load_i64(invocation + layout.INVOCATION_FRAME)
    while frame != 0:
        release_frame(frame)
        frame = load_i64(frame + layout.FRAME_CALLER)
    put_invocation(invocation)


@native("void(int64)")
def vm_free_pool(context):
    """Frees the idle invocation blocks of a context that nobody invokes any more."""
    for k in range(layout.POOL_SLOTS):
        free(atomic_exchange(context + layout.CONTEXT_POOL + 8 * k, 0))
