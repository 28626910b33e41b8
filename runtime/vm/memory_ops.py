"""The opcodes on buffers, lists and globals behind computed addresses: native functions with every check.

Enters: the address of an instruction's first operand, and the frame's registers and references. Leaves: how
many bytes of operands the instruction had, or minus a status; a register is written only if all went well.
References are read from a frame as they are, null or of any type, so each is checked here.
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
from pyiree.runtime.native.objects import (
    buffer_allocate,
    has_type,
    list_allocate,
    list_reserve,
    list_resize,
    release,
    retain,
)
from pyiree.runtime.vm import layout
from pyiree.runtime.vmfb import isa

REF_ORDINAL = ~(isa.REF_BIT | isa.MOVE_BIT) & 0xFFFF
MOVE_BIT = isa.MOVE_BIT
OK = objects.OK

LOAD_I8_U, LOAD_I8_S = isa.OPS["buffer.load.i8.u"].code, isa.OPS["buffer.load.i8.s"].code
LOAD_I16_U, LOAD_I16_S = isa.OPS["buffer.load.i16.u"].code, isa.OPS["buffer.load.i16.s"].code
LOAD_I32, LOAD_I64 = isa.OPS["buffer.load.i32"].code, isa.OPS["buffer.load.i64"].code
STORE_I8, STORE_I16 = isa.OPS["buffer.store.i8"].code, isa.OPS["buffer.store.i16"].code
STORE_I32, STORE_I64 = isa.OPS["buffer.store.i32"].code, isa.OPS["buffer.store.i64"].code
FILL_I8, FILL_I16 = isa.OPS["buffer.fill.i8"].code, isa.OPS["buffer.fill.i16"].code
FILL_I32, FILL_I64 = isa.OPS["buffer.fill.i32"].code, isa.OPS["buffer.fill.i64"].code


# ------------------------------------------------------------------ registers


@native("int64(int64,int64)")
def value32(at, registers):
    """The 32-bit register that the operand at an address names."""
    return load_i32(registers + 4 * load_u16(at))


@native("int64(int64,int64)")
def value64(at, registers):
    return load_i64(registers + 4 * load_u16(at))


@native("void(int64,int64,int64)")
def set32(at, registers, value):
    store_i32(registers + 4 * load_u16(at), value)


@native("void(int64,int64,int64)")
def set64(at, registers, value):
    store_i64(registers + 4 * load_u16(at), value)


@native("int64(int64,int64)")
def borrow_ref(at, refs):
    """The reference that the operand at an address names, still owned by its register."""
    return load_i64(refs + 8 * (load_u16(at) & REF_ORDINAL))


@native("int64(int64,int64)")
def take_ref(at, refs):
    """The same, owned by the caller: moved out of the register if the operand says so."""
    register = load_u16(at)
    place = refs + 8 * (register & REF_ORDINAL)
    ref = load_i64(place)
    if register & MOVE_BIT:
        store_i64(place, 0)
    else:
        retain(ref)
    return ref


@native("void(int64,int64,int64)")
def put_ref(at, refs, ref):
    """Gives an owned reference to a register, which releases what it held."""
    place = refs + 8 * (load_u16(at) & REF_ORDINAL)
    old = load_i64(place)
    store_i64(place, ref)
    release(old)


@native("void(int64,int64)")
def drop_moved(at, refs):
    """Empties the register of an operand that is marked as moved."""
    register = load_u16(at)
    if register & isa.REF_BIT and register & MOVE_BIT:
        put_ref(at, refs, 0)


# ------------------------------------------------------------------ buffers


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


_sip_state = stack_bytes(32)
# The algorithm's constants with the key 00 01 … 0f in them.
_KEY = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
SIP_0, SIP_1 = 0x736F6D6570736575 ^ _KEY[0], 0x646F72616E646F6D ^ _KEY[1]
SIP_2, SIP_3 = 0x6C7967656E657261 ^ _KEY[0], 0x7465646279746573 ^ _KEY[1]


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


# ------------------------------------------------------------------ lists


@native("int64(int64,int64)")
def list_item(ref, index):
    """The address of a list's item; minus a status if there is none."""
    if ref == 0:
        return -objects.FAILED_PRECONDITION
    if load_i64(ref + objects.OBJECT_TYPE) != objects.TYPE_LIST:
        return -objects.INVALID_ARGUMENT
    if index < 0 or index >= load_i64(ref + objects.LIST_SIZE):
        return -objects.OUT_OF_RANGE
    return load_i64(ref + objects.LIST_ITEMS) + objects.LIST_ITEM_BYTES * index


@native("int64(int64)")
def list_status(ref):
    """0 if the reference is a list, else minus a status."""
    if ref == 0:
        return -objects.FAILED_PRECONDITION
    return OK if load_i64(ref + objects.OBJECT_TYPE) == objects.TYPE_LIST else -objects.INVALID_ARGUMENT


@native("int64(int64,int64)")
def narrow(value, tag):
    """An integer as an item of an integer type holds it, sign-extended."""
    if tag == objects.TYPE_I8:
        return (value << 56) >> 56
    if tag == objects.TYPE_I16:
        return (value << 48) >> 48
    if tag == objects.TYPE_I32:
        return (value << 32) >> 32
    return value


@native("int64(int64,int64,int64,int64)")
def list_get_value(at, registers, refs, wanted):
    """list.get.*: `r i >x`. Integers convert to one another; an item of another kind is an error."""
    item = list_item(borrow_ref(at, refs), value32(at + 2, registers))
    if item < 0:
        return item
    value, tag = load_i64(item), load_i64(item + 8)
    if tag == objects.TYPE_NONE:
        # Untouched: zero in a list of values, nothing in a list of anything.
        tag = load_i64(borrow_ref(at, refs) + objects.LIST_ELEMENT)
    if tag == objects.TYPE_NONE or tag >= objects.FIRST_REF_TYPE:
        return -objects.FAILED_PRECONDITION
    if tag != wanted and (tag > objects.TYPE_I64 or wanted > objects.TYPE_I64):
        return -objects.INVALID_ARGUMENT
    if wanted == objects.TYPE_I64 or wanted == objects.TYPE_F64:
        set64(at + 4, registers, value)
    else:
        set32(at + 4, registers, value)
    return 6


@native("int64(int64,int64,int64,int64)")
def list_set_value(at, registers, refs, given):
    """list.set.*: `r i x`."""
    ref = borrow_ref(at, refs)
    item = list_item(ref, value32(at + 2, registers))
    if item < 0:
        return item
    element = load_i64(ref + objects.LIST_ELEMENT)
    if element == objects.TYPE_NONE or element == objects.TYPE_OPAQUE:
        element = given
    if element != given and (element > objects.TYPE_I64 or given > objects.TYPE_I64):
        return -objects.INVALID_ARGUMENT
    if given == objects.TYPE_I64 or given == objects.TYPE_F64:
        value = value64(at + 4, registers)
    else:
        value = value32(at + 4, registers)
    old, old_tag = load_i64(item), load_i64(item + 8)
    store_i64(item, narrow(value, element))
    store_i64(item + 8, element)
    if old_tag >= objects.FIRST_REF_TYPE:
        release(old)
    return 6


@native("int64(int64,int64,int64,int64)")
def list_get_ref(at, registers, refs, types):
    """list.get.ref: `r i type >R`; an item of another type gives null."""
    item = list_item(borrow_ref(at, refs), value32(at + 2, registers))
    if item < 0:
        return item
    tag = load_i64(item + 8)
    if tag != objects.TYPE_NONE and tag < objects.FIRST_REF_TYPE:
        return -objects.FAILED_PRECONDITION
    ref = load_i64(item)
    if ref != 0 and has_type(ref, load_i64(types + 8 * load_i32(at + 4))) == 0:
        ref = 0
    retain(ref)
    put_ref(at + 8, refs, ref)
    return 10


@native("int64(int64,int64,int64)")
def list_set_ref(at, registers, refs):
    """list.set.ref: `r i R`."""
    ref = borrow_ref(at, refs)
    item = list_item(ref, value32(at + 2, registers))
    if item < 0:
        return item
    element = load_i64(ref + objects.LIST_ELEMENT)
    if element != objects.TYPE_NONE:
        if element < objects.FIRST_REF_TYPE:
            return -objects.INVALID_ARGUMENT
        value = borrow_ref(at + 4, refs)
        if value != 0 and has_type(value, element) == 0:
            return -objects.INVALID_ARGUMENT
    old, old_tag = load_i64(item), load_i64(item + 8)
    store_i64(item, take_ref(at + 4, refs))
    store_i64(item + 8, objects.TYPE_OPAQUE)
    if old_tag >= objects.FIRST_REF_TYPE:
        release(old)
    return 6


@native("int64(int64,int64,int64,int64)")
def list_alloc(at, registers, refs, types):
    """list.alloc: `type i >R`."""
    capacity = value32(at + 4, registers)
    element = load_i64(types + 8 * load_i32(at))
    ref = list_allocate(element, capacity if capacity > 0 else 0)
    if ref == 0:
        return -objects.RESOURCE_EXHAUSTED
    put_ref(at + 6, refs, ref)
    return 8


@native("int64(int64,int64,int64)")
def list_size(at, registers, refs):
    """list.size: `r >i`."""
    status = list_status(borrow_ref(at, refs))
    if status != OK:
        return status
    set32(at + 2, registers, load_i64(borrow_ref(at, refs) + objects.LIST_SIZE))
    return 4


@native("int64(int64,int64,int64)")
def list_reserve_op(at, registers, refs):
    """list.reserve: `r i`."""
    status = list_status(borrow_ref(at, refs))
    if status == OK:
        status = -list_reserve(borrow_ref(at, refs), value32(at + 2, registers))
    return 4 if status == OK else status


@native("int64(int64,int64,int64)")
def list_resize_op(at, registers, refs):
    """list.resize: `r i`."""
    status = list_status(borrow_ref(at, refs))
    if status == OK:
        status = -list_resize(borrow_ref(at, refs), value32(at + 2, registers))
    return 4 if status == OK else status


# ------------------------------------------------------------------ globals, casts


@native("int64(int64,int64,int64)")
def global_address(context, offset, size):
    """The address of a value global at a computed offset; minus a status if it lies outside."""
    if offset < 0 or offset > load_i64(context + layout.CONTEXT_GLOBAL_BYTES) - size:
        return -objects.OUT_OF_RANGE
    return load_i64(context + layout.CONTEXT_GLOBALS) + offset


@native("int64(int64,int64,int64,int64)")
def global_indirect_load(context, at, registers, size):
    """global.load.indirect.*: `i >x`."""
    address = global_address(context, value32(at, registers), size)
    if address < 0:
        return address
    if size == 8:
        set64(at + 2, registers, load_i64(address))
    else:
        set32(at + 2, registers, load_i32(address))
    return 4


@native("int64(int64,int64,int64,int64)")
def global_indirect_store(context, at, registers, size):
    """global.store.indirect.*: `i x`."""
    address = global_address(context, value32(at, registers), size)
    if address < 0:
        return address
    if size == 8:
        store_i64(address, value64(at + 2, registers))
    else:
        store_i32(address, value32(at + 2, registers))
    return 4


@native("int64(int64,int64,int64,int64,int64)")
def global_ref_load(context, ordinal, wanted, at, refs):
    """Loads a ref global into the register at `at`, 0 or minus a status; null is of every type."""
    if ordinal < 0 or ordinal >= load_i64(context + layout.CONTEXT_GLOBAL_REF_COUNT):
        return -objects.OUT_OF_RANGE
    ref = load_i64(load_i64(context + layout.CONTEXT_GLOBAL_REFS) + 8 * ordinal)
    if ref != 0 and has_type(ref, wanted) == 0:
        return -objects.INVALID_ARGUMENT
    retain(ref)
    put_ref(at, refs, ref)
    return OK


@native("int64(int64,int64,int64,int64,int64)")
def global_ref_store(context, ordinal, wanted, at, refs):
    """Stores the register at `at` into a ref global, 0 or minus a status."""
    if ordinal < 0 or ordinal >= load_i64(context + layout.CONTEXT_GLOBAL_REF_COUNT):
        return -objects.OUT_OF_RANGE
    ref = borrow_ref(at, refs)
    if ref != 0 and has_type(ref, wanted) == 0:
        return -objects.INVALID_ARGUMENT
    place = load_i64(context + layout.CONTEXT_GLOBAL_REFS) + 8 * ordinal
    old = load_i64(place)
    store_i64(place, take_ref(at, refs))
    release(old)
    return OK


@native("int64(int64,int64,int64)")
def cast_ref(at, refs, types):
    """cast.any.ref: `R type >R`."""
    ref = borrow_ref(at, refs)
    if ref != 0 and has_type(ref, load_i64(types + 8 * load_i32(at + 2))) == 0:
        return -objects.INVALID_ARGUMENT
    put_ref(at + 6, refs, take_ref(at, refs))
    return 8


# ------------------------------------------------------------------ by opcode


def _code(name: str) -> int:
    return isa.OPS[name].code


LIST_ALLOC, LIST_RESERVE, LIST_SIZE, LIST_RESIZE = (
    _code(f"list.{n}") for n in ("alloc", "reserve", "size", "resize")
)
LIST_GET_I32, LIST_SET_I32, LIST_GET_I64, LIST_SET_I64, LIST_GET_REF, LIST_SET_REF = (
    _code(f"list.{n}.{t}") for t in ("i32", "i64", "ref") for n in ("get", "set")
)
BUFFER_ALLOC, BUFFER_CLONE, BUFFER_LENGTH, BUFFER_COPY, BUFFER_COMPARE, BUFFER_HASH = (
    _code(f"buffer.{n}") for n in ("alloc", "clone", "length", "copy", "compare", "hash")
)
CAST_ANY_REF = _code("cast.any.ref")
GLOBAL_LOAD_I32, GLOBAL_LOAD_I64, GLOBAL_LOAD_REF = (
    _code(f"global.load.indirect.{t}") for t in ("i32", "i64", "ref")
)
GLOBAL_STORE_I32, GLOBAL_STORE_I64, GLOBAL_STORE_REF = (
    _code(f"global.store.indirect.{t}") for t in ("i32", "i64", "ref")
)


@native("int64(int64,int64,int64,int64,int64)")
def core_memory_op(code, at, registers, refs, context):
    """One instruction of the core set out of those above."""
    types = load_i64(context + layout.CONTEXT_TYPES)
    if code == LIST_GET_I32:
        return list_get_value(at, registers, refs, objects.TYPE_I32)
    if code == LIST_GET_I64:
        return list_get_value(at, registers, refs, objects.TYPE_I64)
    if code == LIST_SET_I32:
        return list_set_value(at, registers, refs, objects.TYPE_I32)
    if code == LIST_SET_I64:
        return list_set_value(at, registers, refs, objects.TYPE_I64)
    if code == LIST_GET_REF:
        return list_get_ref(at, registers, refs, types)
    if code == LIST_SET_REF:
        return list_set_ref(at, registers, refs)
    if code == LIST_ALLOC:
        return list_alloc(at, registers, refs, types)
    if code == LIST_SIZE:
        return list_size(at, registers, refs)
    if code == LIST_RESERVE:
        return list_reserve_op(at, registers, refs)
    if code == LIST_RESIZE:
        return list_resize_op(at, registers, refs)
    if code >= FILL_I8 and code <= FILL_I64:
        return buffer_fill(code, at, registers, refs)
    if code == BUFFER_ALLOC:
        return buffer_alloc(at, registers, refs)
    if code == BUFFER_CLONE:
        return buffer_clone(at, registers, refs)
    if code == BUFFER_LENGTH:
        return buffer_length(at, registers, refs)
    if code == BUFFER_COPY:
        return buffer_copy(at, registers, refs)
    if code == BUFFER_COMPARE:
        return buffer_compare(at, registers, refs)
    if code == BUFFER_HASH:
        return buffer_hash(at, registers, refs)
    if code == CAST_ANY_REF:
        return cast_ref(at, refs, types)
    if code == GLOBAL_LOAD_I32:
        return global_indirect_load(context, at, registers, 4)
    if code == GLOBAL_LOAD_I64:
        return global_indirect_load(context, at, registers, 8)
    if code == GLOBAL_STORE_I32:
        return global_indirect_store(context, at, registers, 4)
    if code == GLOBAL_STORE_I64:
        return global_indirect_store(context, at, registers, 8)
    wanted = load_i64(types + 8 * load_i32(at + 2))
    if code == GLOBAL_LOAD_REF:
        status = global_ref_load(context, value32(at, registers), wanted, at + 6, refs)
    else:
        status = global_ref_store(context, value32(at, registers), wanted, at + 6, refs)
    return 8 if status == OK else status


# The float sets have the same shape: such an instruction runs as its integer twin of the same size.
_TWINS = ("global.load.indirect", "global.store.indirect", "list.get", "list.set")
_BUFFER_TWINS = ("buffer.load", "buffer.store", "buffer.fill")
F32_MEMORY_OPS = sum(1 << _code(f"{name}.f32") for name in _TWINS + _BUFFER_TWINS)
F64_MEMORY_OPS = sum(1 << _code(f"{name}.f64") for name in _TWINS + _BUFFER_TWINS)
F32_GLOBAL_LOAD, F32_GLOBAL_STORE, F32_LIST_GET, F32_LIST_SET = (_code(f"{name}.f32") for name in _TWINS)
F64_GLOBAL_LOAD, F64_GLOBAL_STORE, F64_LIST_GET, F64_LIST_SET = (_code(f"{name}.f64") for name in _TWINS)
F32_BUFFER_LOAD, F32_BUFFER_STORE, F32_BUFFER_FILL = (_code(f"{name}.f32") for name in _BUFFER_TWINS)
F64_BUFFER_LOAD, F64_BUFFER_STORE, F64_BUFFER_FILL = (_code(f"{name}.f64") for name in _BUFFER_TWINS)


@native("int64(int64,int64,int64,int64,int64)")
def f32_memory_op(code, at, registers, refs, context):
    """One instruction of the f32 set out of F32_MEMORY_OPS."""
    if code == F32_BUFFER_LOAD:
        return buffer_load(LOAD_I32, at, registers, refs)
    if code == F32_BUFFER_STORE:
        return buffer_store(STORE_I32, at, registers, refs)
    if code == F32_BUFFER_FILL:
        return buffer_fill(FILL_I32, at, registers, refs)
    if code == F32_LIST_GET:
        return list_get_value(at, registers, refs, objects.TYPE_F32)
    if code == F32_LIST_SET:
        return list_set_value(at, registers, refs, objects.TYPE_F32)
    if code == F32_GLOBAL_LOAD:
        return global_indirect_load(context, at, registers, 4)
    return global_indirect_store(context, at, registers, 4)


@native("int64(int64,int64,int64,int64,int64)")
def f64_memory_op(code, at, registers, refs, context):
    """One instruction of the f64 set out of F64_MEMORY_OPS."""
    if code == F64_BUFFER_LOAD:
        return buffer_load(LOAD_I64, at, registers, refs)
    if code == F64_BUFFER_STORE:
        return buffer_store(STORE_I64, at, registers, refs)
    if code == F64_BUFFER_FILL:
        return buffer_fill(FILL_I64, at, registers, refs)
    if code == F64_LIST_GET:
        return list_get_value(at, registers, refs, objects.TYPE_F64)
    if code == F64_LIST_SET:
        return list_set_value(at, registers, refs, objects.TYPE_F64)
    if code == F64_GLOBAL_LOAD:
        return global_indirect_load(context, at, registers, 8)
    return global_indirect_store(context, at, registers, 8)
