# ruff: noqa: SIM109  (`in` on a tuple is no native code)
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
    compare_and_swap,
    free,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    malloc,
    memset,
    monotonic_nanoseconds,
    native,
    store_i64,
)
from pyiree.runtime.native.objects import retain
from pyiree.runtime.vm import layout
from pyiree.runtime.vm.buffer_ops import buffer_load, buffer_store
from pyiree.runtime.vm.frames import (
    enter_arguments,
    frame_refs,
    leave_results,
    pass_arguments,
    push_frame,
    release_frame,
    return_values,
)
from pyiree.runtime.vm.import_calls import NEEDS_PYTHON, call_import
from pyiree.runtime.vm.instructions import (
    behind_list,
    behind_remap,
    divide32,
    divide64,
    list_at,
    print_line,
    remap,
    select_ref,
    switch_ref,
    switch_value,
)
from pyiree.runtime.vm.memory_ops import (
    core_memory_op,
    f32_memory_op,
    f64_memory_op,
    global_ref_load,
    global_ref_store,
)
from pyiree.runtime.vm.registers import (
    drop_moved,
    put_ref,
    set32,
    set64,
    take_ref,
    value32,
    value64,
)
from pyiree.runtime.vm.value_ops import run_values
from pyiree.runtime.vmfb import isa

IMPORT_BIT = isa.IMPORT_BIT
OK = objects.OK

# Branches backward, calls and imports spend credit; when it is gone the clock is looked at.
CREDIT = 4096
IMPORT_COST = 64
TIME_SLICE = 20_000_000  # nanoseconds


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
BUFFER_LOAD_FIRST, BUFFER_LOAD_LAST = _code("buffer.load.i8.u"), _code("buffer.load.i64")
BUFFER_STORE_FIRST, BUFFER_STORE_LAST = _code("buffer.store.i8"), _code("buffer.store.i64")
PREFIX_F32, PREFIX_F64 = isa.PREFIX_F32, isa.PREFIX_F64
F32_SWITCH, F64_SWITCH = _code("switch.f32"), _code("switch.f64")
DIV_I32_FIRST, DIV_I32_LAST = _code("div.i32.s"), _code("rem.i32.u")
DIV_I64_FIRST, DIV_I64_LAST = _code("div.i64.s"), _code("rem.i64.u")


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
        pc = run_values(pc, registers, refs, global_base)
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
                if status == objects.SLOW:
                    credit = -1
                    status = OK
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
        elif code >= DIV_I32_FIRST and code <= DIV_I32_LAST:
            divisor = value32(pc + 3, registers)
            if divisor == 0:
                status = objects.INVALID_ARGUMENT
                break
            set32(pc + 5, registers, divide32(code, value32(pc + 1, registers), divisor))
            pc += 7
        elif code >= DIV_I64_FIRST and code <= DIV_I64_LAST:
            divisor = value64(pc + 3, registers)
            if divisor == 0:
                status = objects.INVALID_ARGUMENT
                break
            set64(pc + 5, registers, divide64(code, value64(pc + 1, registers), divisor))
            pc += 7
        elif code >= BUFFER_LOAD_FIRST and code <= BUFFER_LOAD_LAST:
            taken = buffer_load(code, pc + 1, registers, refs)
            if taken < 0:
                status = -taken
                break
            pc += 1 + taken
        elif code >= BUFFER_STORE_FIRST and code <= BUFFER_STORE_LAST:
            taken = buffer_store(code, pc + 1, registers, refs)
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
            status = -global_ref_load(context, load_u32(pc + 1), wanted, pc + 9, refs)
            if status != OK:
                break
            pc += 11
        elif code == GLOBAL_STORE_REF:
            wanted = load_i64(types + 8 * load_u32(pc + 5))
            status = -global_ref_store(context, load_u32(pc + 1), wanted, pc + 9, refs)
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
            else:
                taken = f32_memory_op(second, pc + 2, registers, refs, context)
                if taken < 0:
                    status = -taken
                    break
                pc += 2 + taken
        elif code == PREFIX_F64:
            second = load_u8(pc + 1)
            if second == F64_SWITCH:
                pc = switch_value(pc + 2, registers, 1)
            else:
                taken = f64_memory_op(second, pc + 2, registers, refs, context)
                if taken < 0:
                    status = -taken
                    break
                pc += 2 + taken
        else:
            taken = core_memory_op(code, pc + 1, registers, refs, context)
            if taken < 0:
                status = -taken
                break
            pc += 1 + taken
    store_i64(invocation + layout.INVOCATION_FRAME, frame)
    store_i64(invocation + layout.INVOCATION_PC, pc)
    store_i64(invocation + layout.INVOCATION_STATUS, status)
    return state


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
