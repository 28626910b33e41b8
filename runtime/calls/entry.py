"""The native entry of bound programs: a list of NumPy arrays in, a list of new NumPy arrays out.

Enters: a program's table and a list or tuple of arrays. Leaves: a list of arrays. What it does not take (other types,
shapes, layouts) goes to the table's slow callable.
"""
# ruff: noqa: SIM110  (`all` is no native code)

from pyiree.runtime.calls import entry_layout as entry
from pyiree.runtime.calls.call import (
    argument_side,
    call_program,
    drop_results,
    give_instance,
    result_side,
    set_argument,
    take_instance,
)
from pyiree.runtime.native.cpython import (
    py_list_new,
    py_no_memory,
    py_vectorcall,
)
from pyiree.runtime.native.intrinsics import load_i32, load_i64, native, stack_bytes, store_i64

_call_words = stack_bytes(32)


@native("int64(int64,int64)")
def _slow(table, arrays):
    words = _call_words()
    store_i64(words, arrays)
    return py_vectorcall(load_i64(table + entry.TABLE_SLOW), words, 1, 0)


@native("int64(int64,int64)")
def _items_of(table, arrays):
    """The address of the sequence's items, if it is a list or tuple of the right length; else 0."""
    kind = load_i64(arrays + entry.OBJECT_TYPE_FIELD)
    if load_i64(arrays + entry.SEQUENCE_SIZE) != load_i64(table + entry.TABLE_ARGUMENT_COUNT):
        return 0
    if kind == load_i64(table + entry.TABLE_TUPLE):
        return arrays + entry.TUPLE_ITEMS
    if kind == load_i64(table + entry.TABLE_LIST):
        # An empty list has no items, and needs none.
        items = load_i64(arrays + entry.LIST_ITEMS_FIELD)
        return items if items != 0 else arrays
    return 0


@native("int64(int64,int64,int64,int64)")
def is_array_of(array, dtype, rank, wanted):
    """Whether a plain array has this dtype object, these dims, and lies in memory as the runtime reads it."""
    if load_i64(array + entry.ARRAY_DTYPE) != dtype or load_i32(array + entry.ARRAY_RANK) != rank:
        return False
    if load_i32(array + entry.ARRAY_FLAGS) & entry.FLAGS_READABLE != entry.FLAGS_READABLE:
        return False
    dims = load_i64(array + entry.ARRAY_DIMS)
    for d in range(rank):
        if load_i64(dims + 8 * d) != load_i64(wanted + 8 * d):
            return False
    return True


@native("int64(int64,int64)")
def _matches(table, items):
    """Whether every argument is a plain array of the expected dtype, shape and layout."""
    ndarray = load_i64(table + entry.TABLE_NDARRAY)
    value = load_i64(table + entry.TABLE_ARGUMENTS)
    for k in range(load_i64(table + entry.TABLE_ARGUMENT_COUNT)):
        array = load_i64(items + 8 * k)
        if load_i64(array + entry.OBJECT_TYPE_FIELD) != ndarray:
            return False
        dtype, rank = load_i64(value + entry.VALUE_DTYPE), load_i64(value + entry.VALUE_RANK)
        if not is_array_of(array, dtype, rank, load_i64(value + entry.VALUE_DIMS)):
            return False
        value += entry.VALUE_BYTES
    return True


@native("int64(int64,int64)")
def _list_of_results(table, instance):
    """The result arrays, which the list takes over."""
    count, side = load_i64(table + entry.TABLE_RESULT_COUNT), result_side(table, instance)
    arrays = py_list_new(count)
    if arrays == 0:
        drop_results(side, count)
        return 0
    items = load_i64(arrays + entry.LIST_ITEMS_FIELD)
    for k in range(count):
        store_i64(items + 8 * k, load_i64(side + entry.SIDE_OBJECT))
        side += entry.CALL_SIDE_BYTES
    return arrays


@native("int64(int64,int64)")
def program_entry(self, arrays):
    """`PyObject* program_entry(PyObject* self, PyObject* arrays)`: a METH_O function over a program's table."""
    table = load_i64(self + entry.ARRAY_DATA)
    items = _items_of(table, arrays)
    if items == 0:
        return _slow(table, arrays)
    if not _matches(table, items):
        return _slow(table, arrays)
    instance = take_instance(table)
    if instance == 0:
        return py_no_memory()
    side = argument_side(table, instance)
    for k in range(load_i64(table + entry.TABLE_ARGUMENT_COUNT)):
        array = load_i64(items + 8 * k)
        set_argument(side, array, load_i64(array + entry.ARRAY_DATA))
        side += entry.CALL_SIDE_BYTES
    output = 0
    if call_program(table, instance, 1) != 0:
        output = _list_of_results(table, instance)
    give_instance(table, instance)
    return output
