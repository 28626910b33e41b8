"""The native reference objects: counts, byte buffers, lists, and the native half of objects kept by Python.

Enters and leaves: object addresses (layout.py says what lies there). A function that makes an object gives
it with a count of one, or 0 when memory ran out.
"""

from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import (
    atomic_add,
    atomic_exchange,
    atomic_load,
    call1,
    calloc,
    compare_and_swap,
    free,
    global_word,
    load_i64,
    memset,
    native,
    realloc,
    store_i64,
    symbol_address,
)

ITEM = layout.LIST_ITEM_BYTES
REF = layout.FIRST_REF_TYPE

_buffer_destroy_address = symbol_address("buffer_destroy")
_list_destroy_address = symbol_address("list_destroy")
_python_object_destroy_address = symbol_address("python_object_destroy")
_pending = global_word("pending_objects")


# ------------------------------------------------------------------ references


@native("void(int64)")
def retain(ref):
    """One more owner; a null reference is left alone."""
    if ref != 0:
        atomic_add(ref, 1)


@native("void(int64)")
def release(ref):
    """One owner less; the last one destroys the object. A null reference is left alone."""
    if ref != 0:
        if atomic_add(ref, -1) == 1:
            call1(load_i64(ref + layout.OBJECT_DESTROY), ref)


@native("int64(int64,int64,int64)")
def object_allocate(size, type_ordinal, destroy):
    """A zeroed object of `size` bytes in all."""
    ref = calloc(1, size)
    if ref != 0:
        store_i64(ref + layout.OBJECT_COUNT, 1)
        store_i64(ref + layout.OBJECT_TYPE, type_ordinal)
        store_i64(ref + layout.OBJECT_DESTROY, destroy)
    return ref


@native("int64(int64,int64)")
def has_type(ref, wanted):
    """Whether a reference that is not null may stand where `wanted` is asked for."""
    return 1 if wanted == layout.TYPE_OPAQUE or load_i64(ref + layout.OBJECT_TYPE) == wanted else 0


# ------------------------------------------------------------------ objects kept by Python


@native("int64(int64,int64,int64)")
def python_object_create(type_ordinal, key, payload):
    """The native half of a Python object: header, key, `payload` zero bytes."""
    size = layout.OBJECT_PAYLOAD + payload
    ref = object_allocate(size, type_ordinal, _python_object_destroy_address())
    if ref != 0:
        store_i64(ref + layout.OBJECT_ID, key)
    return ref


@native("void(int64)")
def python_object_destroy(ref):
    """Puts the object on the pending stack: any thread may drop the last reference, only Python may free."""
    while True:
        head = atomic_load(_pending())
        store_i64(ref + layout.OBJECT_DESTROY, head)
        if compare_and_swap(_pending(), head, ref):
            return


@native("int64()")
def take_pending():
    """The whole pending stack (linked through OBJECT_DESTROY, 0 at its end), which is then empty."""
    return atomic_exchange(_pending(), 0)


# ------------------------------------------------------------------ vm.buffer


@native("int64(int64,int64,int64,int64)")
def buffer_wrap(data, length, access, owner):
    """A buffer over bytes of somebody else; `owner`, unless 0, is retained for as long as it lives."""
    ref = object_allocate(layout.BUFFER_BYTES, layout.TYPE_BUFFER, _buffer_destroy_address())
    if ref != 0:
        store_i64(ref + layout.BUFFER_DATA, data)
        store_i64(ref + layout.BUFFER_LENGTH, length)
        store_i64(ref + layout.BUFFER_ACCESS, access)
        store_i64(ref + layout.BUFFER_OWNER, owner)
        retain(owner)
    return ref


@native("int64(int64,int64)")
def buffer_allocate(length, alignment):
    """A zeroed, writable buffer; the alignment is rounded up to a power of two from 16 to 4096."""
    if length < 0 or length > 1 << 47:
        return 0
    boundary = 16
    while boundary < alignment and boundary < 4096:
        boundary *= 2
    # From calloc, which gives large blocks as untouched zero pages.
    block = calloc(1, length + boundary)
    if block == 0:
        return 0
    data = (block + boundary - 1) & -boundary
    ref = buffer_wrap(data, length, layout.ACCESS_MUTABLE | layout.ACCESS_ORIGIN_GUEST, 0)
    if ref == 0:
        free(block)
        return 0
    store_i64(ref + layout.BUFFER_FREE, layout.FREE_MALLOC)
    store_i64(ref + layout.BUFFER_BLOCK, block)
    return ref


@native("void(int64)")
def buffer_destroy(ref):
    if load_i64(ref + layout.BUFFER_FREE) == layout.FREE_MALLOC:
        free(load_i64(ref + layout.BUFFER_BLOCK))
    release(load_i64(ref + layout.BUFFER_OWNER))
    free(ref)


# ------------------------------------------------------------------ vm.list


@native("int64(int64,int64)")
def list_reserve(ref, capacity):
    """Room for `capacity` items; 0 or a status."""
    have = load_i64(ref + layout.LIST_CAPACITY)
    if capacity <= have:
        return layout.OK
    if capacity > layout.LIST_MAXIMUM:
        return layout.RESOURCE_EXHAUSTED
    grown = have * 2 if have * 2 > capacity else capacity
    items = realloc(load_i64(ref + layout.LIST_ITEMS), grown * ITEM)
    if items == 0:
        return layout.RESOURCE_EXHAUSTED
    store_i64(ref + layout.LIST_ITEMS, items)
    store_i64(ref + layout.LIST_CAPACITY, grown)
    return layout.OK


@native("int64(int64,int64)")
def list_resize(ref, size):
    """Cuts the list or fills it up with zeros (null references); 0 or a status."""
    if size < 0:
        return layout.INVALID_ARGUMENT
    have = load_i64(ref + layout.LIST_SIZE)
    if size > have:
        status = list_reserve(ref, size)
        if status != layout.OK:
            return status
        memset(load_i64(ref + layout.LIST_ITEMS) + have * ITEM, 0, (size - have) * ITEM)
        store_i64(ref + layout.LIST_SIZE, size)
        return layout.OK
    items = load_i64(ref + layout.LIST_ITEMS)
    store_i64(ref + layout.LIST_SIZE, size)
    for k in range(size, have):
        if load_i64(items + k * ITEM + 8) >= REF:
            release(load_i64(items + k * ITEM))
    return layout.OK


@native("int64(int64,int64)")
def list_allocate(element, capacity):
    """An empty list of `element` (a type ordinal; TYPE_NONE: of anything) with room for `capacity` items."""
    ref = object_allocate(layout.LIST_BYTES, layout.TYPE_LIST, _list_destroy_address())
    if ref != 0:
        store_i64(ref + layout.LIST_ELEMENT, element)
        if list_reserve(ref, capacity) != layout.OK:
            free(ref)
            return 0
    return ref


@native("void(int64)")
def list_destroy(ref):
    """Releases the items. Lists in lists are destroyed in a loop, so that no nesting exhausts the stack."""
    store_i64(ref + layout.OBJECT_DESTROY, 0)
    doomed = ref
    while doomed != 0:
        current = doomed
        doomed = load_i64(current + layout.OBJECT_DESTROY)
        items = load_i64(current + layout.LIST_ITEMS)
        for k in range(load_i64(current + layout.LIST_SIZE)):
            item = load_i64(items + k * ITEM)
            if load_i64(items + k * ITEM + 8) >= REF and item != 0:
                if atomic_add(item, -1) == 1:
                    if load_i64(item + layout.OBJECT_TYPE) == layout.TYPE_LIST:
                        store_i64(item + layout.OBJECT_DESTROY, doomed)
                        doomed = item
                    else:
                        call1(load_i64(item + layout.OBJECT_DESTROY), item)
        free(items)
        free(current)
