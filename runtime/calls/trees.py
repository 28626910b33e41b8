"""Native structures of arguments and results: nests of tuples, lists and dicts, matched against tokens or made of them.

Enters: tokens in preorder, and a Python object or new leaves. Leaves: the object's leaves, borrowed; or a new object.
No Python code runs while a structure is matched, so that nothing can change it meanwhile.
"""


from pyiree.runtime.calls import caller_layout as caller
from pyiree.runtime.calls import entry_layout as entry
from pyiree.runtime.calls.entry import is_array_of
from pyiree.runtime.native.cpython import (
    py_decref,
    py_dict_get,
    py_dict_new,
    py_dict_next,
    py_dict_set,
    py_dict_size,
    py_equal,
    py_incref,
    py_list_new,
    py_tuple_new,
)
from pyiree.runtime.native.intrinsics import load_i64, native, stack_bytes, store_i64

_dict_place = stack_bytes(24)

_EQUAL = 2  # Py_EQ

# A walk: where it stands.
WALK_TOKEN = 0  # address of the next token
WALK_LEAF = 8  # address of the next leaf's record
WALK_OBJECT = 16  # address of the word for the next leaf, or of the word with the next one
WALK_STEP = 24  # bytes from one such word to the next
WALK_BYTES = 32


@native("int64(int64,int64)")
def device_memory(device, value):
    """What holds a device array's content: its NumPy array or its capsule. 0: there is none yet, or no more."""
    array = load_i64(value + load_i64(device + caller.DEVICE_HOST))
    if load_i64(array + entry.OBJECT_TYPE_FIELD) == load_i64(device + caller.DEVICE_ARRAY_TYPE):
        return array
    capsule = load_i64(value + load_i64(device + caller.DEVICE_CAPSULE))
    if load_i64(capsule + entry.OBJECT_TYPE_FIELD) == load_i64(device + caller.DEVICE_CAPSULE_TYPE):
        return capsule
    return 0


@native("int64(int64,int64)")
def _is_device_leaf(leaf, value):
    device = load_i64(leaf + caller.LEAF_DETAIL)
    shape, wanted = load_i64(value + load_i64(device + caller.DEVICE_SHAPE)), load_i64(leaf + caller.LEAF_SHAPE)
    if shape == 0 or load_i64(value + load_i64(device + caller.DEVICE_DTYPE)) != load_i64(leaf + caller.LEAF_DTYPE):
        return 0  # a shape of 0: an instance that was never initialised
    if shape != wanted and py_equal(shape, wanted, _EQUAL) != 1:
        return 0
    return 1 if device_memory(device, value) != 0 else 0


@native("int64(int64,int64)")
def _is_leaf(leaf, value):
    """Whether an object is what a leaf's record asks for."""
    if load_i64(value + entry.OBJECT_TYPE_FIELD) != load_i64(leaf + caller.LEAF_TYPE):
        return 0
    kind = load_i64(leaf + caller.LEAF_KIND)
    if kind == caller.LEAF_ARRAY or kind == caller.LEAF_NARROWED:
        dtype, rank = load_i64(leaf + caller.LEAF_DTYPE), load_i64(leaf + caller.LEAF_RANK)
        return 1 if is_array_of(value, dtype, rank, load_i64(leaf + caller.LEAF_DIMS)) else 0
    return _is_device_leaf(leaf, value) if kind == caller.LEAF_DEVICE else 1


@native("int64(int64,int64)")
def _has_keys(value, wanted):
    """Whether all keys of a dict are of one exact type, so that looking one up runs no Python code."""
    place = _dict_place()
    store_i64(place, 0)
    while py_dict_next(value, place, place + 8, place + 16) != 0:
        if load_i64(load_i64(place + 8) + entry.OBJECT_TYPE_FIELD) != wanted:
            return 0
    return 1


@native("int64(int64,int64)")
def match(walk, value):
    """Whether an object has the structure of the next tokens; its leaves are written down."""
    token = load_i64(walk + WALK_TOKEN)
    store_i64(walk + WALK_TOKEN, token + caller.TOKEN_BYTES)
    kind = load_i64(token + caller.TOKEN_KIND)
    if kind == caller.TOKEN_LEAF:
        leaf = load_i64(walk + WALK_LEAF)
        if not _is_leaf(leaf, value):
            return 0
        store_i64(walk + WALK_LEAF, leaf + caller.LEAF_BYTES)
        place = load_i64(walk + WALK_OBJECT)
        store_i64(place, value)
        store_i64(walk + WALK_OBJECT, place + 8)
        return 1
    objects = load_i64(token + caller.TOKEN_OBJECTS)
    if kind == caller.TOKEN_SAME:
        return 1 if value == objects else 0
    if load_i64(value + entry.OBJECT_TYPE_FIELD) != load_i64(token + caller.TOKEN_TYPE):
        return 0
    if kind == caller.TOKEN_EQUAL:
        return 1 if value == objects or py_equal(value, objects, _EQUAL) == 1 else 0
    count = load_i64(token + caller.TOKEN_COUNT)
    if kind == caller.TOKEN_DICT:
        if py_dict_size(value) != count or not _has_keys(value, load_i64(token + caller.TOKEN_KEY)):
            return 0
        for k in range(count):
            item = py_dict_get(value, load_i64(objects + 8 * k))
            if item == 0:
                return 0
            if not match(walk, item):
                return 0
        return 1
    if kind == caller.TOKEN_NONE:
        return 1
    if load_i64(value + entry.SEQUENCE_SIZE) != count:
        return 0
    items = value + entry.TUPLE_ITEMS
    if kind == caller.TOKEN_LIST:
        items = load_i64(value + entry.LIST_ITEMS_FIELD)
    for k in range(count):
        if not match(walk, load_i64(items + 8 * k)):
            return 0
    return 1


@native("int64(int64)")
def build(walk):
    """A new object of the structure of the next tokens, over the next leaves, which it references anew.

    0 with Python's error set.
    """
    token = load_i64(walk + WALK_TOKEN)
    store_i64(walk + WALK_TOKEN, token + caller.TOKEN_BYTES)
    kind = load_i64(token + caller.TOKEN_KIND)
    if kind == caller.TOKEN_LEAF:
        place = load_i64(walk + WALK_OBJECT)
        store_i64(walk + WALK_OBJECT, place + load_i64(walk + WALK_STEP))
        py_incref(load_i64(place))
        return load_i64(place)
    objects = load_i64(token + caller.TOKEN_OBJECTS)
    if kind == caller.TOKEN_NONE:
        py_incref(objects)
        return objects
    count = load_i64(token + caller.TOKEN_COUNT)
    if kind == caller.TOKEN_DICT:
        made = py_dict_new()
    elif kind == caller.TOKEN_LIST:
        made = py_list_new(count)
    else:
        made = py_tuple_new(count)
    if made == 0:
        return 0
    for k in range(count):
        item = build(walk)
        failed = item == 0
        if not failed:
            if kind == caller.TOKEN_DICT:
                failed = py_dict_set(made, load_i64(objects + 8 * k), item) != 0
                py_decref(item)
            elif kind == caller.TOKEN_LIST:
                store_i64(load_i64(made + entry.LIST_ITEMS_FIELD) + 8 * k, item)
            else:
                store_i64(made + entry.TUPLE_ITEMS + 8 * k, item)
        if failed:
            py_decref(made)
            return 0
    return made
