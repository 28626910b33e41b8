"""Fills and copies as kernels of the executable ABI, so that a transfer is a dispatch like any other.

Enters: a work record with one binding (fill: target; constants: pattern low, high, pattern bytes) or two
(copy: source, target). Leaves: one tile of TRANSFER_TILE bytes done per workgroup.
"""

from pyiree.runtime.hal import layout as hal
from pyiree.runtime.native.intrinsics import (
    load_i64,
    load_u32,
    memmove,
    memset,
    native,
    store_i8,
    store_i64,
)
from pyiree.runtime.task import layout as task


@native("int64(int64,int64)")
def repeated_pattern(pattern, size):
    """A 1, 2, 4 or 8 byte pattern repeated to eight bytes."""
    if size == 1:
        return (pattern & 0xFF) * 0x0101010101010101
    if size == 2:
        return (pattern & 0xFFFF) * 0x0001000100010001
    if size == 4:
        return (pattern & 0xFFFFFFFF) * 0x0000000100000001
    return pattern


@native("void(int64,int64,int64,int64)")
def fill_bytes(target, length, pattern, size):
    """Fills `length` bytes, a multiple of the pattern's size."""
    word = repeated_pattern(pattern, size)
    if word == (word & 0xFF) * 0x0101010101010101:
        memset(target, word & 0xFF, length)
        return
    whole = length // 8
    for k in range(whole):
        store_i64(target + 8 * k, word)
    for k in range(8 * whole, length):
        store_i8(target + k, word >> (8 * (k % 8)))


@native("int64(int64,int64,int64)")
def kernel_fill(environment, state, group):
    start = load_u32(group + task.GROUP_X) * hal.TRANSFER_TILE
    length = load_i64(load_i64(state + task.WORK_BINDING_LENGTHS)) - start
    constants = load_i64(state + task.WORK_CONSTANTS)
    if length > hal.TRANSFER_TILE:
        length = hal.TRANSFER_TILE
    target = load_i64(load_i64(state + task.WORK_BINDING_POINTERS)) + start
    fill_bytes(target, length, load_i64(constants), load_i64(constants + 8))
    return 0


@native("int64(int64,int64,int64)")
def kernel_copy(environment, state, group):
    start = load_u32(group + task.GROUP_X) * hal.TRANSFER_TILE
    length = load_i64(load_i64(state + task.WORK_BINDING_LENGTHS)) - start
    if length > hal.TRANSFER_TILE:
        length = hal.TRANSFER_TILE
    pointers = load_i64(state + task.WORK_BINDING_POINTERS)
    memmove(load_i64(pointers + 8) + start, load_i64(pointers) + start, length)
    return 0
