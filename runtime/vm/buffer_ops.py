# ruff: noqa: SIM109  (`in` on a tuple is no native code)
"""The opcodes on vm.buffer: native functions with every check.

Enters: the address of an instruction's first operand, and the frame's registers and references. Leaves: how
many bytes of operands the instruction had, or minus a status; a register is written only if all went well.
A reference may be null or of any type, an offset anything: both are checked here.
"""

from pyiree.runtime.native import layout as objects
from pyiree.runtime.native.intrinsics import (
    load_i8,
    load_i16,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    memcmp,
    memmove,
    memset,
    native,
    rotate_left,
    stack_bytes,
    store_i8,
    store_i16,
    store_i32,
    store_i64,
)
from pyiree.runtime.native.objects import buffer_allocate
from pyiree.runtime.vm.registers import borrow_ref, put_ref, set32, set64, value32, value64
from pyiree.runtime.vmfb import isa

LOAD_I8_U, LOAD_I8_S = isa.OPS["buffer.load.i8.u"].code, isa.OPS["buffer.load.i8.s"].code
LOAD_I16_U, LOAD_I16_S = isa.OPS["buffer.load.i16.u"].code, isa.OPS["buffer.load.i16.s"].code
LOAD_I32, LOAD_I64 = isa.OPS["buffer.load.i32"].code, isa.OPS["buffer.load.i64"].code
STORE_I8, STORE_I16 = isa.OPS["buffer.store.i8"].code, isa.OPS["buffer.store.i16"].code
STORE_I32, STORE_I64 = isa.OPS["buffer.store.i32"].code, isa.OPS["buffer.store.i64"].code
FILL_I8, FILL_I16 = isa.OPS["buffer.fill.i8"].code, isa.OPS["buffer.fill.i16"].code
FILL_I32, FILL_I64 = isa.OPS["buffer.fill.i32"].code, isa.OPS["buffer.fill.i64"].code

_sip_state = stack_bytes(32)
# The algorithm's constants with the key 00 01 … 0f in them.
_KEY = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
SIP_0, SIP_1 = 0x736F6D6570736575 ^ _KEY[0], 0x646F72616E646F6D ^ _KEY[1]
SIP_2, SIP_3 = 0x6C7967656E657261 ^ _KEY[0], 0x7465646279746573 ^ _KEY[1]


@native("int64(int64,int64,int64,int64,int64)")
def locate(buffer, offset, length, shift, mutable):
    """The address of `length` elements of 2**shift bytes at an element offset; minus a status if not there."""
    if buffer == 0:
        return -objects.FAILED_PRECONDITION
    if load_i64(buffer + objects.OBJECT_TYPE) != objects.TYPE_BUFFER:
        return -objects.INVALID_ARGUMENT
    if mutable and load_i64(buffer + objects.BUFFER_ACCESS) & objects.ACCESS_MUTABLE == 0:
        return -objects.PERMISSION_DENIED
    size = load_i64(buffer + objects.BUFFER_LENGTH) >> shift
    if offset < 0 or length < 0 or length > size or offset > size - length:
        return -objects.OUT_OF_RANGE
    return load_i64(buffer + objects.BUFFER_DATA) + (offset << shift)


@native("int64(int64,int64,int64,int64)")
def buffer_load(code, at, registers, refs):
    """buffer.load.*: `r I >x`; loads of floats come as those of integers of their size."""
    if code == LOAD_I8_U or code == LOAD_I8_S:
        shift = 0
    elif code == LOAD_I16_U or code == LOAD_I16_S:
        shift = 1
    elif code == LOAD_I32:
        shift = 2
    else:
        shift = 3
    address = locate(borrow_ref(at, refs), value64(at + 2, registers), 1, shift, 0)
    if address < 0:
        return address
    if code == LOAD_I64:
        set64(at + 4, registers, load_i64(address))
    elif code == LOAD_I32:
        set32(at + 4, registers, load_i32(address))
    elif code == LOAD_I16_S:
        set32(at + 4, registers, load_i16(address))
    elif code == LOAD_I16_U:
        set32(at + 4, registers, load_u16(address))
    elif code == LOAD_I8_S:
        set32(at + 4, registers, load_i8(address))
    else:
        set32(at + 4, registers, load_u8(address))
    return 6


@native("int64(int64,int64,int64,int64)")
def buffer_store(code, at, registers, refs):
    """buffer.store.*: `r I x`."""
    shift = code - STORE_I8
    address = locate(borrow_ref(at, refs), value64(at + 2, registers), 1, shift, 1)
    if address < 0:
        return address
    if code == STORE_I64:
        store_i64(address, value64(at + 4, registers))
    elif code == STORE_I32:
        store_i32(address, value32(at + 4, registers))
    elif code == STORE_I16:
        store_i16(address, value32(at + 4, registers))
    else:
        store_i8(address, value32(at + 4, registers))
    return 6


@native("int64(int64,int64,int64,int64)")
def buffer_fill(code, at, registers, refs):
    """buffer.fill.*: `r I I x`."""
    shift = code - FILL_I8
    count = value64(at + 4, registers)
    address = locate(borrow_ref(at, refs), value64(at + 2, registers), count, shift, 1)
    if address < 0:
        return address
    if code == FILL_I8:
        memset(address, value32(at + 6, registers) & 0xFF, count)
    elif code == FILL_I16:
        for k in range(count):
            store_i16(address + 2 * k, value32(at + 6, registers))
    elif code == FILL_I32:
        for k in range(count):
            store_i32(address + 4 * k, value32(at + 6, registers))
    else:
        for k in range(count):
            store_i64(address + 8 * k, value64(at + 6, registers))
    return 8


@native("int64(int64,int64,int64)")
def buffer_alloc(at, registers, refs):
    """buffer.alloc: `I i >R`."""
    buffer = buffer_allocate(value64(at, registers), value32(at + 2, registers))
    if buffer == 0:
        return -objects.RESOURCE_EXHAUSTED
    put_ref(at + 4, refs, buffer)
    return 6


@native("int64(int64,int64,int64)")
def buffer_clone(at, registers, refs):
    """buffer.clone: `r I I i >R`."""
    length = value64(at + 4, registers)
    source = locate(borrow_ref(at, refs), value64(at + 2, registers), length, 0, 0)
    if source < 0:
        return source
    buffer = buffer_allocate(length, value32(at + 6, registers))
    if buffer == 0:
        return -objects.RESOURCE_EXHAUSTED
    memmove(load_i64(buffer + objects.BUFFER_DATA), source, length)
    put_ref(at + 8, refs, buffer)
    return 10


@native("int64(int64,int64,int64)")
def buffer_length(at, registers, refs):
    """buffer.length: `r >I`."""
    buffer = borrow_ref(at, refs)
    address = locate(buffer, 0, 0, 0, 0)
    if address < 0:
        return address
    set64(at + 2, registers, load_i64(buffer + objects.BUFFER_LENGTH))
    return 4


@native("int64(int64,int64,int64)")
def buffer_copy(at, registers, refs):
    """buffer.copy: `r I r I I`."""
    length = value64(at + 8, registers)
    source = locate(borrow_ref(at, refs), value64(at + 2, registers), length, 0, 0)
    if source < 0:
        return source
    target = locate(borrow_ref(at + 4, refs), value64(at + 6, registers), length, 0, 1)
    if target < 0:
        return target
    memmove(target, source, length)
    return 10


@native("int64(int64,int64,int64)")
def buffer_compare(at, registers, refs):
    """buffer.compare: `r I r I I >i`."""
    length = value64(at + 8, registers)
    left = locate(borrow_ref(at, refs), value64(at + 2, registers), length, 0, 0)
    if left < 0:
        return left
    right = locate(borrow_ref(at + 4, refs), value64(at + 6, registers), length, 0, 0)
    if right < 0:
        return right
    set32(at + 10, registers, 1 if memcmp(left, right, length) == 0 else 0)
    return 12


@native("void(int64)")
def sip_round(state):
    """One round of SipHash on four words."""
    a, b, c, d = load_i64(state), load_i64(state + 8), load_i64(state + 16), load_i64(state + 24)
    a += b
    c += d
    b = rotate_left(b, 13) ^ a
    d = rotate_left(d, 16) ^ c
    a = rotate_left(a, 32)
    c += b
    a += d
    b = rotate_left(b, 17) ^ c
    d = rotate_left(d, 21) ^ a
    c = rotate_left(c, 32)
    store_i64(state, a)
    store_i64(state + 8, b)
    store_i64(state + 16, c)
    store_i64(state + 24, d)


@native("void(int64,int64)")
def sip_word(state, word):
    store_i64(state + 24, load_i64(state + 24) ^ word)
    sip_round(state)
    sip_round(state)
    store_i64(state, load_i64(state) ^ word)


@native("int64(int64,int64,int64)")
def buffer_hash(at, registers, refs):
    """buffer.hash: `r I I >I`. SipHash-2-4."""
    length = value64(at + 4, registers)
    data = locate(borrow_ref(at, refs), value64(at + 2, registers), length, 0, 0)
    if data < 0:
        return data
    state = _sip_state()
    store_i64(state, SIP_0)
    store_i64(state + 8, SIP_1)
    store_i64(state + 16, SIP_2)
    store_i64(state + 24, SIP_3)
    words = length >> 3
    for k in range(words):
        sip_word(state, load_i64(data + 8 * k))
    last = length << 56
    for k in range(length & 7):
        last |= load_u8(data + 8 * words + k) << (8 * k)
    sip_word(state, last)
    store_i64(state + 16, load_i64(state + 16) ^ 0xFF)
    for _ in range(4):
        sip_round(state)
    digest = load_i64(state) ^ load_i64(state + 8) ^ load_i64(state + 16) ^ load_i64(state + 24)
    set64(at + 6, registers, digest)
    return 8
