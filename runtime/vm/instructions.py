"""Pieces of instructions that the interpreter's loop calls: lists, branch operands, divisions, selections.

Enters: the address of an operand, and the frame's registers and references. Leaves: the address behind what
was read, or changed registers.
"""

from pyiree.runtime.native.intrinsics import (
    load_i32,
    load_u16,
    native,
    signed_divide,
    signed_remainder,
    stack_bytes,
    store_i8,
    store_i32,
    unsigned_divide,
    unsigned_remainder,
    write,
)
from pyiree.runtime.vm.registers import (
    borrow_ref,
    drop_moved,
    put_ref,
    set32,
    set64,
    take_ref,
    value32,
    value64,
)
from pyiree.runtime.vmfb import isa

REF_BIT = isa.REF_BIT
DIV_I32_S, DIV_I32_U, REM_I32_S, REM_I32_U = (isa.OPS[f"{n}.i32.{s}"].code for n in ("div", "rem") for s in "su")
DIV_I64_S, DIV_I64_U, REM_I64_S, REM_I64_U = (isa.OPS[f"{n}.i64.{s}"].code for n in ("div", "rem") for s in "su")

_digits = stack_bytes(64)


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
