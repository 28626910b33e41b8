"""Failure texts written by native code: pieces appended to the results array of a failing import.

Enters: the array's address (word 0 counts the bytes that follow) and pieces. Leaves: the text, cut at the
room that there is.
"""

from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import (
    load_i64,
    memcpy,
    message,
    native,
    stack_bytes,
    store_i8,
    store_i64,
)

_ROOM = layout.MESSAGE_BYTES - 8
_digits = stack_bytes(32)
_scratch = stack_bytes(64)
_unknown_type = message("opaque")
_signless, _signed, _unsigned, _boolean = message("i"), message("si"), message("ui"), message("bool")
_half, _brain, _complex, _f8 = message("f"), message("bf"), message("complex<f"), message("f8E")
_close, _cross, _any = message(">"), message("x"), message("?")
_e5m2, _e4m3, _e5m2fnuz, _e4m3fnuz = message("5M2"), message("4M3FN"), message("5M2FNUZ"), message("4M3FNUZ")


@native("void(int64,int64,int64)")
def append_bytes(results, source, count):
    used = load_i64(results)
    count = count if used + count <= _ROOM else _ROOM - used
    memcpy(results + 8 + used, source, count)
    store_i64(results, used + count)


@native("void(int64,int64)")
def append_message(results, scratch):
    """Appends what a `message` intrinsic left at `scratch`."""
    append_bytes(results, scratch + 8, load_i64(scratch))


@native("void(int64,int64)")
def append_number(results, number):
    digits = _digits()
    position = 32
    rest = number if number >= 0 else -number
    while True:
        position -= 1
        store_i8(digits + position, 48 + rest % 10)
        rest //= 10
        if rest == 0:
            break
    if number < 0:
        position -= 1
        store_i8(digits + position, 45)
    append_bytes(results, digits + position, 32 - position)


@native("void(int64,int64)")
def append_vm_string(results, buffer):
    """The bytes of a vm.buffer; nothing for null."""
    if buffer != 0:
        append_bytes(results, load_i64(buffer + layout.BUFFER_DATA), load_i64(buffer + layout.BUFFER_LENGTH))


@native("void(int64,int64)")
def append_element_type(results, element_type):
    kind, bits = element_type >> 24 & 0xFF, element_type & 0xFF
    scratch = _scratch()
    if kind == 0x10:
        _signless(scratch)
    elif kind == 0x11:
        _signed(scratch)
    elif kind == 0x12:
        _unsigned(scratch)
    elif kind == 0x13:
        _boolean(scratch)
    elif kind == 0x21:
        _half(scratch)
    elif kind == 0x22:
        _brain(scratch)
    elif kind == 0x23:
        _complex(scratch)
    elif 0x24 <= kind <= 0x27:
        _f8(scratch)
    else:
        _unknown_type(scratch)
    append_message(results, scratch)
    if kind == 0x24:
        _e5m2(scratch)
    elif kind == 0x25:
        _e4m3(scratch)
    elif kind == 0x26:
        _e5m2fnuz(scratch)
    elif kind == 0x27:
        _e4m3fnuz(scratch)
    elif kind == 0x23:
        append_number(results, bits // 2)
        _close(scratch)
    else:
        if kind != 0x13:
            append_number(results, bits)
        return
    append_message(results, scratch)


@native("void(int64,int64,int64,int64)")
def append_shape(results, rank, dims, element_type):
    """`2x?xf32`: dims lie at `dims`, a negative one is any."""
    scratch = _scratch()
    for k in range(rank):
        dim = load_i64(dims + 8 * k)
        if dim >= 0:
            append_number(results, dim)
        else:
            _any(scratch)
            append_message(results, scratch)
        _cross(scratch)
        append_message(results, scratch)
    append_element_type(results, element_type)
