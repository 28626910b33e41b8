"""Native access to another library's arrays, by calls of their methods.

Enters: an array of the exact type that a leaf's record names. Leaves: the address of its bytes, once they are there; or
0 where the record doesn't hold for it or a method failed, without an error set. And new arrays of that library over
results. Other code may run meanwhile: the caller owns the references.
"""

from pyiree.runtime.calls import caller_layout as caller
from pyiree.runtime.calls import entry_layout as entry
from pyiree.runtime.native.cpython import (
    py_as_long,
    py_clear_error,
    py_decref,
    py_equal,
    py_list_new,
    py_vectorcall,
)
from pyiree.runtime.native.intrinsics import load_i64, native, stack_bytes, store_i64

_words = stack_bytes(32)

_EQUAL = 2  # Py_EQ


@native("int64(int64,int64)")
def _ask(method, array):
    """What a method of the array gives, a new reference; 0 where it raises."""
    words = _words()
    store_i64(words, array)
    found = py_vectorcall(method, words, 1, 0)
    if found == 0:
        py_clear_error()
    return found


@native("int64(int64,int64,int64)")
def _gives(method, array, wanted):
    """Whether a method gives this object or an equal one. Equal objects are the same almost always."""
    found = _ask(method, array)
    if found == 0:
        return 0
    same = 1
    if found != wanted:
        same = py_equal(found, wanted, _EQUAL)
        if same < 0:
            py_clear_error()
            same = 0
    py_decref(found)
    return same


@native("int64(int64,int64)")
def _is_in_place(foreign, array):
    place = _ask(load_i64(foreign + caller.FOREIGN_PLACE), array)
    if place == 0:
        return 0
    kind = load_i64(place + entry.OBJECT_TYPE_FIELD)
    py_decref(place)
    return 1 if kind == load_i64(foreign + caller.FOREIGN_PLACE_TYPE) else 0


@native("int64(int64,int64)")
def _wait(foreign, array):
    """Waits until the bytes are there."""
    ready = _ask(load_i64(foreign + caller.FOREIGN_READY), array)
    if ready == 0:
        return 0
    py_decref(ready)
    if ready == load_i64(foreign + caller.FOREIGN_TRUE):
        return 1
    waited = _ask(load_i64(foreign + caller.FOREIGN_WAIT), array)
    if waited == 0:
        return 0
    py_decref(waited)
    return 1


@native("int64(int64,int64)")
def is_foreign(leaf, array):
    """Whether an array has the shape and dtype of a leaf's record."""
    foreign = load_i64(leaf + caller.LEAF_DETAIL)
    return _gives(load_i64(foreign + caller.FOREIGN_KIND), array, load_i64(leaf + caller.LEAF_ARRAY_KIND))


@native("int64(int64,int64)")
def foreign_data(leaf, array):
    """The address of an array's bytes, or 0."""
    foreign = load_i64(leaf + caller.LEAF_DETAIL)
    # First what a deleted array answers by raising; jaxlib crashes on other questions then.
    number = _ask(load_i64(foreign + caller.FOREIGN_POINTER), array)
    if number == 0:
        return 0
    data = py_as_long(number)
    py_decref(number)
    if not is_foreign(leaf, array):
        return 0
    layout = load_i64(leaf + caller.LEAF_LAYOUT)
    if layout != 0 and not _gives(load_i64(foreign + caller.FOREIGN_LAYOUT), array, layout):
        return 0
    if not _is_in_place(foreign, array) or not _wait(foreign, array):
        return 0
    return data


@native("int64(int64,int64,int64)")
def new_foreign(foreign, kind, array):
    """A new array of the library's over a NumPy array, whose reference it takes over; 0 with Python's error set."""
    items = py_list_new(1)
    if items == 0:
        py_decref(array)
        return 0
    store_i64(load_i64(items + entry.LIST_ITEMS_FIELD), array)
    words = _words()
    store_i64(words, kind)
    store_i64(words + 8, load_i64(foreign + caller.FOREIGN_TARGET))
    store_i64(words + 16, items)
    store_i64(words + 24, load_i64(foreign + caller.FOREIGN_DEVICES))
    made = py_vectorcall(load_i64(foreign + caller.FOREIGN_PUT), words, 4, 0)
    py_decref(items)
    return made
