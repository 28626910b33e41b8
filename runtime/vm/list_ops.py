"""The opcodes on vm.list: native functions with every check.

Enters and leaves: as in buffer_ops, the bytes of operands or minus a status. An item is a value and the type
it has; the integer types convert to one another, everything else must be asked for as what it is.
"""

from pyiree.runtime.native import layout as objects
from pyiree.runtime.native.intrinsics import load_i32, load_i64, native, store_i64
from pyiree.runtime.native.objects import (
    has_type,
    list_allocate,
    list_reserve,
    list_resize,
    release,
    retain,
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

OK = objects.OK


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
