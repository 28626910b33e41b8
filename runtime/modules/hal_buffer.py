"""Native imports of the `hal` module about buffers, buffer views, allocators, devices and files.

Each is `i64 fn(state, args, results)`: args and results are words in the order of the calling convention in
`vmfb/abi`; references in args are borrowed, those in results are the caller's. They give 0 or a status.
"""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.buffer import (
    buffer_data,
    hal_buffer_allocate,
    hal_buffer_subspan,
    hal_buffer_wrap,
    hal_view_buffer,
    hal_view_create,
)
from pyiree.runtime.modules.text import append_message, append_number, append_shape, append_vm_string
from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import (
    free,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    memcpy,
    message,
    native,
    stack_bytes,
    store_i8,
    store_i16,
    store_i32,
    store_i64,
    symbol_address,
)
from pyiree.runtime.native.objects import object_allocate, release, retain

_IMPORT = "int64(int64,int64,int64)"
_INTEGER_KINDS = 0x10  # 0x10 signless, 0x11 signed, 0x12 unsigned: one storage
_ALIGNMENT = 64

_scratch = stack_bytes(layout.MESSAGE_BYTES)
_object_free_address = symbol_address("hal_object_free")
_file_destroy_address = symbol_address("hal_file_destroy")
_expected, _got, _encoding = message(": expected "), message(", got "), message(", encoding ")
_needs, _bytes_got = message(": the buffer needs at least "), message(" bytes, it has ")
_null = message("a null reference where a HAL object is needed")
_wrong = message("a reference of the wrong type")
_range = message("the range lies outside of the buffer")
_memory = message("not enough memory")
_types = message(": the buffer lacks a needed memory type or usage")
_element_bits = message("the range does not hold the view's elements: it needs bytes: ")
_dimension, _lacks = message("dimension "), message(" is needed of an array that is ")
_tensor_rank = message("a view has at most 128 dimensions, none negative")


@native("int64(int64,int64,int64)")
def check_reference(ref, wanted, results):
    """0, or a status with its text: the verifier only knows that an argument is a reference."""
    if ref == 0:
        _null(results)
        return layout.FAILED_PRECONDITION
    if load_i64(ref + layout.OBJECT_TYPE) != wanted:
        _wrong(results)
        return layout.INVALID_ARGUMENT
    return layout.OK


@native("int64(int64,int64,int64,int64)")
def check_range(buffer, offset, length, results):
    whole = load_i64(buffer + hal.BUFFER_LENGTH)
    if offset < 0 or length < 0 or offset > whole or length > whole - offset:
        _range(results)
        return layout.OUT_OF_RANGE
    return layout.OK


@native("int64(int64,int64)")
def give_object(ref, results):
    """Leaves a new object as the first result."""
    if ref == 0:
        _memory(results)
        return layout.RESOURCE_EXHAUSTED
    store_i64(results, ref)
    return layout.OK


# ------------------------------------------------------------------ devices and allocators


@native(_IMPORT)
def hal_devices_count(state, args, results):
    store_i64(results, load_i64(state + hal.STATE_DEVICE_COUNT))
    return layout.OK


@native(_IMPORT)
def hal_devices_get(state, args, results):
    index = load_i64(args)
    if index < 0 or index >= load_i64(state + hal.STATE_DEVICE_COUNT):
        return layout.OK  # null: there is none
    device = load_i64(state + hal.STATE_DEVICES + 8 * index)
    retain(device)
    store_i64(results, device)
    return layout.OK


@native(_IMPORT)
def hal_device_allocator(state, args, results):
    device = load_i64(args)
    status = check_reference(device, layout.TYPE_HAL_DEVICE, results)
    if status == layout.OK:
        allocator = load_i64(device + hal.DEVICE_ALLOCATOR)
        retain(allocator)
        store_i64(results, allocator)
    return status


@native("void(int64)")
def hal_object_free(ref):
    """Destroys an object that owns nothing."""
    free(ref)


@native("int64(int64)")
def hal_allocator_create(pool):
    allocator = object_allocate(hal.ALLOCATOR_BYTES, layout.TYPE_HAL_ALLOCATOR, _object_free_address())
    if allocator != 0:
        store_i64(allocator + hal.ALLOCATOR_POOL, pool)
    return allocator


@native(_IMPORT)
def hal_allocator_allocate(state, args, results):
    allocator = load_i64(args)
    status = check_reference(allocator, layout.TYPE_HAL_ALLOCATOR, results)
    if status != layout.OK:
        return status
    pool, memory_type, usage = (
        load_i64(allocator + hal.ALLOCATOR_POOL),
        load_i64(args + 16),
        load_i64(args + 24),
    )
    return give_object(hal_buffer_allocate(pool, load_i64(args + 32), memory_type, usage), results)


@native(_IMPORT)
def hal_allocator_import(state, args, results):
    """Module data as a buffer, not copied; null when it may fail and the data is not aligned."""
    allocator, source = load_i64(args), load_i64(args + 40)
    status = check_reference(allocator, layout.TYPE_HAL_ALLOCATOR, results)
    if status == layout.OK:
        status = check_reference(source, layout.TYPE_BUFFER, results)
    if status != layout.OK:
        return status
    memory_type, usage = load_i64(args + 24), load_i64(args + 32)
    offset, length = load_i64(args + 48), load_i64(args + 56)
    whole = load_i64(source + layout.BUFFER_LENGTH)
    if length == -1:
        length = whole - offset
    if offset < 0 or length < 0 or offset > whole or length > whole - offset:
        _range(results)
        return layout.OUT_OF_RANGE
    data = load_i64(source + layout.BUFFER_DATA) + offset
    if data % _ALIGNMENT == 0:
        buffer = hal_buffer_wrap(data, length, memory_type, usage, hal.BUFFER_KIND_OWNED, source)
        return give_object(buffer, results)
    if load_i64(args + 8) != 0:
        return layout.OK  # null
    buffer = hal_buffer_allocate(load_i64(allocator + hal.ALLOCATOR_POOL), length, memory_type, usage)
    if buffer != 0:
        memcpy(load_i64(buffer + hal.BUFFER_DATA), data, length)
    return give_object(buffer, results)


@native(_IMPORT)
def hal_allocator_select(state, args, results):
    """The first of the devices: all share the host's memory."""
    if load_i64(args + 24) < 1:
        _null(results)
        return layout.NOT_FOUND
    status = check_reference(load_i64(args + 32), layout.TYPE_HAL_DEVICE, results)
    if status == layout.OK:
        retain(load_i64(args + 32))
        store_i64(results, load_i64(args + 32))
        store_i64(results + 8, load_i64(args + 40))
    return status


# ------------------------------------------------------------------ buffers


@native(_IMPORT)
def hal_import_buffer_assert(state, args, results):
    buffer = load_i64(args)
    status = check_reference(buffer, layout.TYPE_HAL_BUFFER, results)
    if status != layout.OK:
        return status
    least, memory_type, usage = load_i64(args + 24), load_i64(args + 32), load_i64(args + 40)
    have = load_i64(buffer + hal.BUFFER_LENGTH)
    scratch = _scratch()
    if have < least:
        append_vm_string(results, load_i64(args + 8))
        _needs(scratch)
        append_message(results, scratch)
        append_number(results, least)
        _bytes_got(scratch)
        append_message(results, scratch)
        append_number(results, have)
        return layout.OUT_OF_RANGE
    missing = memory_type & ~load_i64(buffer + hal.BUFFER_MEMORY_TYPE)
    if (missing | usage & ~load_i64(buffer + hal.BUFFER_USAGE)) & 0xFFFFFFFF:
        append_vm_string(results, load_i64(args + 8))
        _types(scratch)
        append_message(results, scratch)
        return layout.PERMISSION_DENIED
    return layout.OK


@native(_IMPORT)
def hal_import_buffer_subspan(state, args, results):
    buffer, offset, length = load_i64(args), load_i64(args + 8), load_i64(args + 16)
    status = check_reference(buffer, layout.TYPE_HAL_BUFFER, results)
    if status == layout.OK:
        if length == -1:
            length = load_i64(buffer + hal.BUFFER_LENGTH) - offset
        status = check_range(buffer, offset, length, results)
    if status == layout.OK:
        status = give_object(hal_buffer_subspan(buffer, offset, length), results)
    return status


@native(_IMPORT)
def hal_import_buffer_length(state, args, results):
    buffer = load_i64(args)
    status = check_reference(buffer, layout.TYPE_HAL_BUFFER, results)
    if status == layout.OK:
        store_i64(results, load_i64(buffer + hal.BUFFER_LENGTH))
    return status


@native(_IMPORT)
def hal_import_buffer_load(state, args, results):
    buffer, offset, size = load_i64(args), load_i64(args + 8), load_i64(args + 16)
    status = check_reference(buffer, layout.TYPE_HAL_BUFFER, results)
    if status == layout.OK:
        status = check_range(buffer, offset, size, results)
    if status != layout.OK:
        return status
    data = buffer_data(buffer) + offset
    if size == 4:
        store_i64(results, load_i32(data))
    elif size == 2:
        store_i64(results, load_u16(data))
    elif size == 1:
        store_i64(results, load_u8(data))
    else:
        return layout.INVALID_ARGUMENT
    return layout.OK


@native(_IMPORT)
def hal_import_buffer_store(state, args, results):
    value, buffer, offset, size = load_i64(args), load_i64(args + 8), load_i64(args + 16), load_i64(args + 24)
    status = check_reference(buffer, layout.TYPE_HAL_BUFFER, results)
    if status == layout.OK:
        status = check_range(buffer, offset, size, results)
    if status != layout.OK:
        return status
    data = buffer_data(buffer) + offset
    if size == 4:
        store_i32(data, value)
    elif size == 2:
        store_i16(data, value)
    elif size == 1:
        store_i8(data, value)
    else:
        return layout.INVALID_ARGUMENT
    return layout.OK


@native(_IMPORT)
def hal_import_buffer_allocation(state, args, results):
    """preserve, discard, is_terminal: memory goes with its last reference, so nobody is told to free it."""
    return check_reference(load_i64(args), layout.TYPE_HAL_BUFFER, results)


# ------------------------------------------------------------------ buffer views


@native("int64(int64,int64,int64,int64)")
def _check_elements(results, length, element_type, dims_slot):
    """The range must hold every element of the shape; `dims_slot` is the address of rank and dims."""
    rank = load_i64(dims_slot)
    elements = 1
    good = 0 <= rank <= hal.MAXIMUM_RANK
    if good:
        for k in range(rank):
            dim = load_i64(dims_slot + 8 + 8 * k)
            if dim < 0 or (dim > 0 and elements > (1 << 52) // dim):
                good = False
            else:
                elements *= dim
    if not good:
        _tensor_rank(results)
        return layout.INVALID_ARGUMENT
    needed = (elements * (element_type & hal.ELEMENT_BITS) + 7) // 8
    if needed > length:
        _element_bits(results)
        append_number(results, needed)
        return layout.OUT_OF_RANGE
    return layout.OK


@native(_IMPORT)
def hal_import_buffer_view_create(state, args, results):
    buffer, offset, length = load_i64(args), load_i64(args + 8), load_i64(args + 16)
    status = check_reference(buffer, layout.TYPE_HAL_BUFFER, results)
    if status != layout.OK:
        return status
    if length == -1:
        length = load_i64(buffer + hal.BUFFER_LENGTH) - offset
    element_type, encoding = load_i64(args + 24), load_i64(args + 32)
    status = check_range(buffer, offset, length, results)
    if status == layout.OK:
        status = _check_elements(results, length, element_type, args + 40)
    if status != layout.OK:
        return status
    rank = load_i64(args + 40)
    view = hal_view_create(buffer, offset, length, element_type, encoding, rank, args + 48)
    return give_object(view, results)


@native("int64(int64,int64)")
def _same_storage(actual, wanted):
    if actual == wanted:
        return True
    integers = 0x10 <= actual >> 24 <= 0x12 and 0x10 <= wanted >> 24 <= 0x12
    return integers and actual & 0xFF == wanted & 0xFF


@native(_IMPORT)
def hal_import_buffer_view_assert(state, args, results):
    view = load_i64(args)
    status = check_reference(view, layout.TYPE_HAL_BUFFER_VIEW, results)
    if status != layout.OK:
        return status
    element_type, encoding, rank = load_i64(args + 16), load_i64(args + 24), load_i64(args + 32)
    good = _same_storage(load_i64(view + hal.VIEW_ELEMENT_TYPE), element_type)
    if load_i64(view + hal.VIEW_ENCODING) != encoding or load_i64(view + hal.VIEW_RANK) != rank:
        good = False
    else:
        for k in range(rank):
            wanted = load_i64(args + 40 + 8 * k)
            if wanted >= 0 and load_i64(view + hal.VIEW_DIMS + 8 * k) != wanted:
                good = False
    if good:
        return layout.OK
    scratch = _scratch()
    append_vm_string(results, load_i64(args + 8))
    _expected(scratch)
    append_message(results, scratch)
    append_shape(results, rank, args + 40, element_type)
    _got(scratch)
    append_message(results, scratch)
    actual = load_i64(view + hal.VIEW_ELEMENT_TYPE)
    append_shape(results, load_i64(view + hal.VIEW_RANK), view + hal.VIEW_DIMS, actual)
    if load_i64(view + hal.VIEW_ENCODING) != encoding:
        _encoding(scratch)
        append_message(results, scratch)
        append_number(results, load_i64(view + hal.VIEW_ENCODING))
    return layout.INVALID_ARGUMENT


@native(_IMPORT)
def hal_import_buffer_view_buffer(state, args, results):
    view = load_i64(args)
    status = check_reference(view, layout.TYPE_HAL_BUFFER_VIEW, results)
    if status == layout.OK:
        status = give_object(hal_view_buffer(view), results)
    return status


@native("int64(int64,int64,int64)")
def _view_word(args, results, offset):
    view = load_i64(args)
    status = check_reference(view, layout.TYPE_HAL_BUFFER_VIEW, results)
    if status == layout.OK:
        store_i64(results, load_i64(view + offset))
    return status


@native(_IMPORT)
def hal_import_buffer_view_element_type(state, args, results):
    return _view_word(args, results, hal.VIEW_ELEMENT_TYPE)


@native(_IMPORT)
def hal_import_buffer_view_encoding_type(state, args, results):
    return _view_word(args, results, hal.VIEW_ENCODING)


@native(_IMPORT)
def hal_import_buffer_view_rank(state, args, results):
    return _view_word(args, results, hal.VIEW_RANK)


@native(_IMPORT)
def hal_import_buffer_view_dim(state, args, results):
    view, index = load_i64(args), load_i64(args + 8)
    status = check_reference(view, layout.TYPE_HAL_BUFFER_VIEW, results)
    if status == layout.OK:
        rank = load_i64(view + hal.VIEW_RANK)
        if index < 0 or index >= rank:
            scratch = _scratch()
            _dimension(scratch)
            append_message(results, scratch)
            append_number(results, index)
            _lacks(scratch)
            append_message(results, scratch)
            append_shape(results, rank, view + hal.VIEW_DIMS, load_i64(view + hal.VIEW_ELEMENT_TYPE))
            return layout.OUT_OF_RANGE
        store_i64(results, load_i64(view + hal.VIEW_DIMS + 8 * index))
    return status


# ------------------------------------------------------------------ files


@native("void(int64)")
def hal_file_destroy(file):
    release(load_i64(file + hal.FILE_BUFFER))
    free(file)


@native(_IMPORT)
def hal_import_file_from_memory(state, args, results):
    """A range of module data as a file: a buffer that owns a reference to the data."""
    source, offset, length = load_i64(args + 24), load_i64(args + 32), load_i64(args + 40)
    status = check_reference(source, layout.TYPE_BUFFER, results)
    if status != layout.OK:
        return status
    whole = load_i64(source + layout.BUFFER_LENGTH)
    if length == -1:
        length = whole - offset
    if offset < 0 or length < 0 or offset > whole or length > whole - offset:
        _range(results)
        return layout.OUT_OF_RANGE
    file = object_allocate(hal.FILE_BYTES, layout.TYPE_HAL_FILE, _file_destroy_address())
    if file != 0:
        data = load_i64(source + layout.BUFFER_DATA) + offset
        contents = hal_buffer_wrap(data, length, 0, 0, hal.BUFFER_KIND_OWNED, source)
        store_i64(file + hal.FILE_BUFFER, contents)
        writable = load_i64(source + layout.BUFFER_ACCESS) & layout.ACCESS_MUTABLE
        store_i64(file + hal.FILE_WRITABLE, writable)
        if contents == 0:
            free(file)
            file = 0
    return give_object(file, results)
