"""Native buffers and buffer views.

Enters: pools, memory of callers or of other objects. Leaves: object addresses with a count of one (0 when
memory is short). A buffer is a *root*, which has the bytes, or a part of one; views hold roots.
"""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.allocator import pool_allocate, pool_free, size_class
from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import free, load_i64, memcpy, native, store_i64, symbol_address
from pyiree.runtime.native.objects import object_allocate, release, retain

_buffer_destroy_address = symbol_address("hal_buffer_destroy")
_view_destroy_address = symbol_address("hal_view_destroy")


@native("int64(int64,int64,int64,int64)")
def _new_buffer(length, memory_type, usage, kind):
    buffer = object_allocate(hal.BUFFER_BYTES, layout.TYPE_HAL_BUFFER, _buffer_destroy_address())
    if buffer != 0:
        store_i64(buffer + hal.BUFFER_LENGTH, length)
        store_i64(buffer + hal.BUFFER_MEMORY_TYPE, memory_type)
        store_i64(buffer + hal.BUFFER_USAGE, usage)
        store_i64(buffer + hal.BUFFER_KIND, kind)
    return buffer


@native("int64(int64,int64,int64,int64)")
def hal_buffer_allocate(pool, length, memory_type, usage):
    """A root of its own memory, whose content is undefined."""
    block = pool_allocate(pool, length)
    if block == 0:
        return 0
    buffer = _new_buffer(length, memory_type, usage, hal.BUFFER_KIND_POOL)
    if buffer == 0:
        pool_free(pool, block, size_class(length))
        return 0
    store_i64(buffer + hal.BUFFER_DATA, block)
    store_i64(buffer + hal.BUFFER_OWNER, pool)
    store_i64(buffer + hal.BUFFER_CLASS, size_class(length))
    return buffer


@native("int64(int64,int64,int64,int64,int64,int64)")
def hal_buffer_wrap(data, length, memory_type, usage, kind, owner):
    """A root over memory of a caller (KIND_BORROWED) or of a retained object (KIND_OWNED)."""
    buffer = _new_buffer(length, memory_type, usage, kind)
    if buffer != 0:
        store_i64(buffer + hal.BUFFER_DATA, data)
        store_i64(buffer + hal.BUFFER_OWNER, owner)
        if kind == hal.BUFFER_KIND_OWNED:
            retain(owner)
    return buffer


@native("int64(int64)")
def buffer_root(buffer):
    root = load_i64(buffer + hal.BUFFER_ROOT)
    return root if root != 0 else buffer


@native("int64(int64)")
def buffer_data(buffer):
    """The address of a buffer's first byte. It holds until the next call into the module returns."""
    return load_i64(buffer_root(buffer) + hal.BUFFER_DATA) + load_i64(buffer + hal.BUFFER_OFFSET)


@native("int64(int64,int64,int64)")
def hal_buffer_subspan(buffer, offset, length):
    """A part of a buffer, whose range was checked; the buffer itself if it is the whole."""
    if offset == 0 and length == load_i64(buffer + hal.BUFFER_LENGTH):
        retain(buffer)
        return buffer
    root = buffer_root(buffer)
    memory_type, usage = load_i64(root + hal.BUFFER_MEMORY_TYPE), load_i64(root + hal.BUFFER_USAGE)
    part = _new_buffer(length, memory_type, usage, 0)
    if part != 0:
        retain(root)
        store_i64(part + hal.BUFFER_ROOT, root)
        store_i64(part + hal.BUFFER_OFFSET, load_i64(buffer + hal.BUFFER_OFFSET) + offset)
    return part


@native("int64(int64,int64)")
def buffer_keep(root, pool):
    """Moves a borrowed root's bytes to memory of its own, as its lender is about to take them back.

    Nothing may be in flight. 1: done or not needed; 0: memory is short.
    """
    if load_i64(root + hal.BUFFER_KIND) != hal.BUFFER_KIND_BORROWED:
        return 1
    length = load_i64(root + hal.BUFFER_LENGTH)
    block = pool_allocate(pool, length)
    if block == 0:
        return 0
    memcpy(block, load_i64(root + hal.BUFFER_DATA), length)
    store_i64(root + hal.BUFFER_DATA, block)
    store_i64(root + hal.BUFFER_OWNER, pool)
    store_i64(root + hal.BUFFER_CLASS, size_class(length))
    store_i64(root + hal.BUFFER_KIND, hal.BUFFER_KIND_POOL)
    return 1


@native("void(int64)")
def hal_buffer_destroy(buffer):
    root = load_i64(buffer + hal.BUFFER_ROOT)
    if root != 0:
        release(root)
    elif load_i64(buffer + hal.BUFFER_KIND) == hal.BUFFER_KIND_POOL:
        pool = load_i64(buffer + hal.BUFFER_OWNER)
        pool_free(pool, load_i64(buffer + hal.BUFFER_DATA), load_i64(buffer + hal.BUFFER_CLASS))
    elif load_i64(buffer + hal.BUFFER_KIND) == hal.BUFFER_KIND_OWNED:
        release(load_i64(buffer + hal.BUFFER_OWNER))
    free(buffer)


@native("int64(int64,int64,int64,int64,int64,int64,int64)")
def hal_view_create(buffer, offset, length, element_type, encoding, rank, dims):
    """A view of a buffer's checked range; `dims` is the address of `rank` words."""
    view = object_allocate(hal.VIEW_BYTES + 8 * rank, layout.TYPE_HAL_BUFFER_VIEW, _view_destroy_address())
    if view != 0:
        root = buffer_root(buffer)
        retain(root)
        store_i64(view + hal.VIEW_BUFFER, root)
        store_i64(view + hal.VIEW_OFFSET, load_i64(buffer + hal.BUFFER_OFFSET) + offset)
        store_i64(view + hal.VIEW_LENGTH, length)
        store_i64(view + hal.VIEW_ELEMENT_TYPE, element_type)
        store_i64(view + hal.VIEW_ENCODING, encoding)
        store_i64(view + hal.VIEW_RANK, rank)
        for k in range(rank):
            store_i64(view + hal.VIEW_DIMS + 8 * k, load_i64(dims + 8 * k))
    return view


@native("int64(int64)")
def hal_view_buffer(view):
    """The buffer behind a view, one more owner: its root, or the part of it that the view shows."""
    root = load_i64(view + hal.VIEW_BUFFER)
    return hal_buffer_subspan(root, load_i64(view + hal.VIEW_OFFSET), load_i64(view + hal.VIEW_LENGTH))


@native("int64(int64)")
def view_data(view):
    return load_i64(load_i64(view + hal.VIEW_BUFFER) + hal.BUFFER_DATA) + load_i64(view + hal.VIEW_OFFSET)


@native("void(int64)")
def hal_view_destroy(view):
    release(load_i64(view + hal.VIEW_BUFFER))
    free(view)
