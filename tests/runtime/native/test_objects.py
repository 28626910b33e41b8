"""The reference object model: counts, destruction, buffers, lists, objects kept by Python."""

import ctypes

import pytest
from pyiree.runtime.native import layout
from pyiree.runtime.native.image import image
from pyiree.runtime.native.python_objects import ObjectTable, objects, read_word


@pytest.fixture(scope="module")
def native():
    return image()


def test_buffer_is_zeroed_and_aligned(native):
    ref = native.buffer_allocate(100, 64)
    data = read_word(ref + layout.BUFFER_DATA)
    assert data % 64 == 0
    assert read_word(ref + layout.BUFFER_LENGTH) == 100
    assert ctypes.string_at(data, 100) == bytes(100)
    native.release(ref)


@pytest.mark.parametrize("length", [-1, 1 << 60])
def test_buffer_of_impossible_length(native, length):
    assert native.buffer_allocate(length, 16) == 0


def test_buffer_keeps_its_owner(native):
    owner = objects.add("owner", layout.TYPE_OPAQUE)
    content = ctypes.create_string_buffer(b"abc")
    ref = native.buffer_wrap(ctypes.addressof(content), 3, 0, owner)
    native.release(owner)
    objects.drain()
    assert objects.get(owner) == "owner"
    native.release(ref)
    before = len(objects)
    objects.drain()
    assert len(objects) == before - 1


def test_list_releases_what_it_holds(native):
    table_size = len(objects)
    inner = objects.add(object(), layout.TYPE_HAL_FENCE)
    ref = native.list_allocate(layout.TYPE_NONE, 1)
    assert native.list_resize(ref, 3) == 0
    items = read_word(ref + layout.LIST_ITEMS)
    for k, (value, tag) in enumerate([(inner, layout.TYPE_HAL_FENCE), (7, layout.TYPE_I32)]):
        ctypes.c_int64.from_address(items + k * layout.LIST_ITEM_BYTES).value = value
        ctypes.c_int64.from_address(items + k * layout.LIST_ITEM_BYTES + 8).value = tag
    native.release(ref)
    objects.drain()
    assert len(objects) == table_size


def test_deeply_nested_lists_do_not_exhaust_the_stack(native):
    ref = 0
    for _ in range(200_000):
        outer = native.list_allocate(layout.TYPE_NONE, 1)
        native.list_resize(outer, 1)
        items = read_word(outer + layout.LIST_ITEMS)
        ctypes.c_int64.from_address(items).value = ref
        ctypes.c_int64.from_address(items + 8).value = layout.TYPE_LIST
        ref = outer
    native.release(ref)


def test_object_of_python_lives_until_the_last_release(native):
    value = object()
    address = objects.add(value, layout.TYPE_HAL_DEVICE, payload_bytes=16)
    assert read_word(address + layout.OBJECT_TYPE) == layout.TYPE_HAL_DEVICE
    assert read_word(address + layout.OBJECT_PAYLOAD + 8) == 0
    native.retain(address)
    native.release(address)
    objects.drain()
    assert objects.get(address) is value
    native.release(address)
    objects.drain()


def test_reference_without_python_side():
    with pytest.raises(TypeError, match="not an object of Python"):
        ObjectTable().get(0)
