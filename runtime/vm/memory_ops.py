"""Globals behind computed addresses and casts; and, by opcode, everything on buffers, lists and globals.

Enters: the address of an instruction's first operand, and the frame's registers and references. Leaves: how
many bytes of operands the instruction had, or minus a status.
"""

from pyiree.runtime.native import layout as objects
from pyiree.runtime.native.intrinsics import load_i32, load_i64, native, store_i32, store_i64
from pyiree.runtime.native.objects import has_type, release, retain
from pyiree.runtime.vm import layout
from pyiree.runtime.vm.buffer_ops import (
    FILL_I8,
    FILL_I32,
    FILL_I64,
    LOAD_I32,
    LOAD_I64,
    STORE_I32,
    STORE_I64,
    buffer_alloc,
    buffer_clone,
    buffer_compare,
    buffer_copy,
    buffer_fill,
    buffer_hash,
    buffer_length,
    buffer_load,
    buffer_store,
)
from pyiree.runtime.vm.list_ops import (
    list_alloc,
    list_get_ref,
    list_get_value,
    list_reserve_op,
    list_resize_op,
    list_set_ref,
    list_set_value,
    list_size,
)
from pyiree.runtime.vm.registers import (
    borrow_ref,
    put_ref,
    set32,
    set64,
    take_ref,
    value32,
    value64,
)
from pyiree.runtime.vmfb import isa

OK = objects.OK


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

# The float sets have the same shape: such an instruction runs as its integer twin of the same size.
_TWINS = ("global.load.indirect", "global.store.indirect", "list.get", "list.set")
_BUFFER_TWINS = ("buffer.load", "buffer.store", "buffer.fill")
F32_GLOBAL_LOAD, F32_GLOBAL_STORE, F32_LIST_GET, F32_LIST_SET = (_code(f"{name}.f32") for name in _TWINS)
F64_GLOBAL_LOAD, F64_GLOBAL_STORE, F64_LIST_GET, F64_LIST_SET = (_code(f"{name}.f64") for name in _TWINS)
F32_BUFFER_LOAD, F32_BUFFER_STORE, F32_BUFFER_FILL = (_code(f"{name}.f32") for name in _BUFFER_TWINS)
F64_BUFFER_LOAD, F64_BUFFER_STORE, F64_BUFFER_FILL = (_code(f"{name}.f64") for name in _BUFFER_TWINS)


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


@native("int64(int64,int64,int64,int64,int64)")
def f32_memory_op(code, at, registers, refs, context):
    """One instruction of the f32 set that has a twin."""
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
    """One instruction of the f64 set that has a twin."""
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
