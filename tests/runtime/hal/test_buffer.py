"""Buffers, views and memory through the native imports."""

import ctypes

import numpy as np
import pytest
from pyiree.runtime.hal.device import memory_statistics, reset_peak, trim_memory
from pyiree.runtime.native.image import image
from pyiree.runtime.vm.errors import VmError

F32 = 0x21000020


def test_blocks_are_aligned_reused_and_counted(hal):
    trim_memory()  # an earlier test may have left blocks of these sizes
    image().release(hal.buffer(1000))
    before = memory_statistics()
    reset_peak()
    buffers = [hal.buffer(size) for size in (0, 1, 64, 65, 1000, 70000, 5 << 20)]
    now = memory_statistics()
    assert now.live_blocks == before.live_blocks + 7 and now.live - before.live >= 71130 + (5 << 20)
    assert all(hal.array(b).__array_interface__["data"][0] % 64 == 0 for b in buffers[1:])
    addresses = {hal.array(b).__array_interface__["data"][0] for b in buffers[1:]}
    for b in buffers:
        image().release(b)
    after = memory_statistics()
    assert after.live == before.live and after.peak >= now.live and after.cached > before.cached
    again = [hal.buffer(size) for size in (1, 64, 65, 1000, 70000, 5 << 20)]
    assert {hal.array(b).__array_interface__["data"][0] for b in again} == addresses
    for b in again:
        image().release(b)
    assert trim_memory() >= 5 << 20


def test_absurd_sizes_are_refused(hal):
    for size in (-1, 1 << 60):
        with pytest.raises(VmError, match="memory"):
            hal.buffer(size)


def test_subspan_load_store_length(hal):
    whole = hal.buffer(32, np.arange(32))
    part = hal.call("buffer.subspan", whole, 8, 16)
    assert hal.call("buffer.length", part) == 16
    assert hal.call("buffer.load", part, 2, 1) == 10
    assert hal.call("buffer.load", part, 0, 2) == 0x0908
    hal.call("buffer.store", -2, part, 4, 4)
    assert hal.array(whole)[12:16].tolist() == [254, 255, 255, 255]
    assert hal.call("buffer.load", part, 4, 4) == -2
    inner = hal.call("buffer.subspan", part, 4, -1)
    assert hal.call("buffer.length", inner) == 12
    image().release(whole)
    image().release(part)
    assert hal.array(inner)[0] == 254  # the root lives on
    for offset, size in ((13, 4), (-1, 1), (1 << 62, 1)):
        with pytest.raises(VmError, match="range"):
            hal.call("buffer.load", inner, offset, size)


def test_assert_messages(hal):
    buffer = hal.buffer(24)
    view = hal.call("buffer_view.create", buffer, 0, 24, F32, 1, 2, 2, 3)
    name = hal.text(b"input7")
    hal.call("buffer_view.assert", view, name, F32, 1, 2, 2, 3)
    hal.call("buffer_view.assert", view, name, F32, 1, 2, -1, 3)
    for slots, text in (
        ((F32, 1, 2, 2, 4), "input7: expected 2x4xf32, got 2x3xf32"),
        ((0x21000040, 1, 1, 6), "input7: expected 6xf64, got 2x3xf32"),
        ((0x22000010, 1, 0), "input7: expected bf16, got 2x3xf32"),
        ((0x23000080, 1, 1, -1), "input7: expected ?xcomplex<f64>, got 2x3xf32"),
        ((0x25000008, 1, 1, 1), "input7: expected 1xf8E4M3FN, got 2x3xf32"),
        ((0x13000008, 1, 1, 1), "input7: expected 1xbool, got 2x3xf32"),
        ((0x11000010, 0, 2, 2, 3), "input7: expected 2x3xsi16, got 2x3xf32, encoding 1"),
    ):
        with pytest.raises(VmError) as failure:
            hal.call("buffer_view.assert", view, name, *slots)
        assert failure.value.message == text
    with pytest.raises(VmError, match="input7: the buffer needs at least 25 bytes, it has 24"):
        hal.call("buffer.assert", buffer, name, 0, 25, 16, 3075)


def test_integers_of_either_sign_are_one_storage(hal):
    view = hal.call("buffer_view.create", hal.buffer(8), 0, 8, 0x10000010, 1, 1, 4)
    hal.call("buffer_view.assert", view, 0, 0x12000010, 1, 1, 4)
    with pytest.raises(VmError):
        hal.call("buffer_view.assert", view, 0, 0x12000020, 1, 1, 4)


def test_view_of_a_part(hal):
    buffer = hal.buffer(64, np.arange(64))
    view = hal.call("buffer_view.create", buffer, 16, 8, 0x12000008, 1, 1, 8)
    assert [hal.call(f"buffer_view.{name}", view) for name in ("element_type", "encoding_type", "rank")] == [
        0x12000008,
        1,
        1,
    ]
    assert hal.call("buffer_view.dim", view, 0) == 8
    assert hal.array(hal.call("buffer_view.buffer", view)).tolist() == list(range(16, 24))
    with pytest.raises(VmError):
        hal.call("buffer_view.dim", view, 1)
    for dims in ((9,), (-1,), (1 << 40, 1 << 40)):
        with pytest.raises(VmError):
            hal.call("buffer_view.create", buffer, 16, 8, 0x12000008, 1, len(dims), *dims)


def test_import_of_module_data(hal):
    allocator = hal.call("device.allocator", hal.device)
    memory = (ctypes.c_ubyte * 256)(*range(256))
    start = -ctypes.addressof(memory) % 64
    data = image().buffer_wrap(ctypes.addressof(memory), 256, 8, 0)
    aligned = hal.call("allocator.import", allocator, 1, -1, 48, 0xC03, data, start, 64)
    assert hal.array(aligned).__array_interface__["data"][0] == ctypes.addressof(memory) + start
    assert hal.call("allocator.import", allocator, 1, -1, 48, 0xC03, data, start + 1, 64) == 0
    copied = hal.call("allocator.import", allocator, 0, -1, 48, 0xC03, data, start + 1, 64)
    assert hal.array(copied)[0] == start + 1
