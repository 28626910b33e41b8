"""The native entry of Python callables: `f(*args, **kwargs)` with a program behind each signature it is known with.

Enters: the arguments of a call, as CPython passes them. Leaves: the result, in the structure and of the kind of arrays
that the program's record asks for. What no record fits (another signature, another state of the guard, an argument in
another state) goes to the caller's slow callable with nothing changed.

Runs with the GIL held. Between the match of the arguments and the references that the call takes to them no Python code
runs.
"""

from pyiree.runtime.calls import caller_layout as caller
from pyiree.runtime.calls import entry_layout as entry
from pyiree.runtime.calls.call import (
    argument_side,
    call_program,
    drop_arguments,
    drop_results,
    give_instance,
    new_memory,
    result_side,
    set_argument,
    take_instance,
)
from pyiree.runtime.calls.convert import narrow_array, put_f32
from pyiree.runtime.calls.foreign import foreign_data, is_foreign, new_foreign
from pyiree.runtime.calls.trees import (
    WALK_BYTES,
    WALK_LEAF,
    WALK_OBJECT,
    WALK_STEP,
    WALK_TOKEN,
    build,
    device_memory,
    match,
)
from pyiree.runtime.native.cpython import (
    py_as_long_and_overflow,
    py_bad_call,
    py_clear_error,
    py_decref,
    py_incref,
    py_list_new,
    py_new_object,
    py_no_memory,
    py_vectorcall,
    py_vectorcall_method,
)
from pyiree.runtime.native.intrinsics import (
    free,
    load_f64,
    load_i64,
    malloc,
    memcmp,
    memcpy,
    native,
    stack_bytes,
    store_f64,
    store_i8,
    store_i32,
    store_i64,
)

_COUNT = (1 << 63) - 1  # of what CPython gives as the number of arguments; the highest bit is another matter
_FEW = 64  # leaves, or arguments, for which the stack has room
_words = stack_bytes(8 * _FEW)
_more_words = stack_bytes(8 * _FEW)
_walk = stack_bytes(WALK_BYTES)
_overflow = stack_bytes(8)
_one_word = stack_bytes(8)


# ------------------------------------------------------------------ the way to Python


@native("int64(int64,int64,int64,int64,int64)")
def _call_slow(table, self, args, count, names):
    """The slow callable, with `self` before the arguments."""
    total = count
    if names != 0:
        total += load_i64(names + entry.SEQUENCE_SIZE)
    words = _words() if total < _FEW else malloc(8 * total + 8)
    if words == 0:
        return py_no_memory()
    store_i64(words, self)
    memcpy(words + 8, args, 8 * total)
    result = py_vectorcall(load_i64(table + caller.CALLER_SLOW), words, count + 1, names)
    if total >= _FEW:
        free(words)
    return result


@native("int64(int64)")
def _state_of(table):
    """What the guard gives, a new reference; 0, without an error, where the call has to be slow."""
    word = _one_word()
    store_i64(word, load_i64(table + caller.CALLER_STATE))
    found = py_vectorcall(load_i64(table + caller.CALLER_GETTER), word, 1, 0)
    if found == 0:
        py_clear_error()
        return 0
    py_decref(found)
    if found != load_i64(table + caller.CALLER_WANTED):
        return 0
    state = py_vectorcall(load_i64(table + caller.CALLER_GUARD), word, 0, 0)
    if state == 0:
        py_clear_error()
    return state


@native("int64(int64,int64)")
def _same_items(first, second):
    """Whether two tuples hold the same objects."""
    size = load_i64(first + entry.SEQUENCE_SIZE)
    if load_i64(second + entry.SEQUENCE_SIZE) != size:
        return 0
    return 1 if memcmp(first + entry.TUPLE_ITEMS, second + entry.TUPLE_ITEMS, 8 * size) == 0 else 0


# ------------------------------------------------------------------ arguments


@native("int64(int64,int64)")
def _position_of(names, name):
    """Where a keyword argument stands among those given; -1: nowhere. Names are interned almost always."""
    for k in range(load_i64(names + entry.SEQUENCE_SIZE)):
        if load_i64(names + entry.TUPLE_ITEMS + 8 * k) == name:
            return k
    return -1


@native("int64(int64,int64,int64,int64,int64)")
def _fits(record, args, count, names, leaves):
    """Whether a call's arguments have the record's signature; writes their leaves down."""
    if load_i64(record + caller.RECORD_ARGUMENTS) != count:
        return 0
    given = 0
    if names != 0:
        given = load_i64(names + entry.SEQUENCE_SIZE)
    if load_i64(record + caller.RECORD_NAME_COUNT) != given:
        return 0
    walk = _walk()
    store_i64(walk + WALK_TOKEN, load_i64(record + caller.RECORD_TOKENS))
    store_i64(walk + WALK_LEAF, load_i64(record + caller.RECORD_LEAVES))
    store_i64(walk + WALK_OBJECT, leaves)
    for k in range(count):
        if not match(walk, load_i64(args + 8 * k)):
            return 0
    wanted = load_i64(record + caller.RECORD_NAMES)
    for k in range(given):
        position = _position_of(names, load_i64(wanted + 8 * k))
        if position < 0:
            return 0
        if not match(walk, load_i64(args + 8 * (count + position))):
            return 0
    return 1


@native("int64(int64,int64,int64)")
def _put_number(place, number, wanted):
    """A Python number's bytes in the wanted format. 0: it can't be said without more ado."""
    if wanted == caller.FORMAT_F64:
        store_f64(place, load_f64(number + entry.NUMBER_VALUE))
        return 1
    if wanted == caller.FORMAT_F32:
        return put_f32(place, load_f64(number + entry.NUMBER_VALUE))
    if wanted == caller.FORMAT_C128:
        memcpy(place, number + entry.NUMBER_VALUE, 16)
        return 1
    if wanted == caller.FORMAT_C64:
        real = put_f32(place, load_f64(number + entry.NUMBER_VALUE))
        return real & put_f32(place + 4, load_f64(number + entry.NUMBER_VALUE + 8))
    overflow = _overflow()
    store_i64(overflow, 0)
    value = py_as_long_and_overflow(number, overflow)
    if load_i64(overflow) != 0:
        return 0
    if wanted == caller.FORMAT_BOOL:
        store_i8(place, value)
    elif wanted == caller.FORMAT_I32:
        if value > 0x7FFFFFFF or value < -0x80000000:
            return 0
        store_i32(place, value)
    else:
        store_i64(place, value)
    return 1


@native("int64(int64,int64,int64,int64)")
def _set_narrowed(table, side, leaf, array):
    """Makes the converted elements of an array an argument. 0: some can't be converted, or memory is short."""
    size = load_i64(leaf + caller.LEAF_SIZE)
    capsule = new_memory(table, size)
    if capsule == 0:
        py_clear_error()
        return 0
    data = load_i64(capsule + entry.CAPSULE_POINTER)
    set_argument(side, capsule, data)
    py_decref(capsule)  # the argument keeps it
    wanted = load_i64(leaf + caller.LEAF_DETAIL)
    count = size // 8 if wanted == caller.FORMAT_C64 else size // 4
    return narrow_array(data, load_i64(array + entry.ARRAY_DATA), count, wanted)


@native("int64(int64,int64,int64,int64)")
def _set_leaf(table, side, leaf, value):
    """Makes a matched leaf an argument. 0: it can't be one as it is."""
    kind = load_i64(leaf + caller.LEAF_KIND)
    if kind == caller.LEAF_ARRAY:
        set_argument(side, value, load_i64(value + entry.ARRAY_DATA))
    elif kind == caller.LEAF_DEVICE:
        memory = device_memory(load_i64(leaf + caller.LEAF_DETAIL), value)
        set_argument(side, memory, load_i64(memory + entry.ARRAY_DATA))  # the first field of both kinds
    elif kind == caller.LEAF_SCALAR:
        set_argument(side, value, value + entry.NUMBER_VALUE)
    elif kind == caller.LEAF_NARROWED:
        return _set_narrowed(table, side, leaf, value)
    elif kind == caller.LEAF_FOREIGN:
        set_argument(side, value, foreign_data(leaf, value))
        return 1 if load_i64(side + entry.SIDE_DATA) != 0 else 0
    else:
        place = side + entry.SIDE_SCALAR
        store_i64(side + entry.SIDE_DATA, place)
        return _put_number(place, value, load_i64(leaf + caller.LEAF_DETAIL))
    return 1


@native("int64(int64,int64,int64,int64)")
def _set_arguments(record, table, instance, leaves):
    """Makes the leaves, and the program's constants, the arguments of an instance. 0: some leaf can't be one."""
    side, inputs = argument_side(table, instance), load_i64(record + caller.RECORD_INPUTS)
    for k in range(load_i64(table + entry.TABLE_ARGUMENT_COUNT)):
        number = load_i64(inputs + 8 * k)
        if number < 0:
            array = load_i64(load_i64(record + caller.RECORD_CONSTANTS) + 8 * (-1 - number))
            set_argument(side, array, load_i64(array + entry.ARRAY_DATA))
        else:
            leaf = load_i64(record + caller.RECORD_LEAVES) + caller.LEAF_BYTES * number
            if not _set_leaf(table, side, leaf, load_i64(leaves + 8 * number)):
                return 0
        side += entry.CALL_SIDE_BYTES
    numbers = load_i64(record + caller.RECORD_UNUSED)
    for k in range(load_i64(record + caller.RECORD_UNUSED_COUNT)):
        number = load_i64(numbers + 8 * k)
        leaf = load_i64(record + caller.RECORD_LEAVES) + caller.LEAF_BYTES * number
        if not is_foreign(leaf, load_i64(leaves + 8 * number)):
            return 0
    return 1


# ------------------------------------------------------------------ results


@native("int64(int64,int64,int64,int64)")
def _device_array(device, shape, dtype, capsule):
    """A new device array over a result's memory, whose reference it takes over; 0 with Python's error set."""
    made = py_new_object(load_i64(device + caller.DEVICE_TYPE), 0)
    if made == 0:
        py_decref(capsule)
        return 0
    py_incref(shape)
    py_incref(dtype)
    store_i64(made + load_i64(device + caller.DEVICE_CAPSULE), capsule)
    store_i64(made + load_i64(device + caller.DEVICE_SHAPE), shape)
    store_i64(made + load_i64(device + caller.DEVICE_DTYPE), dtype)
    none, places = load_i64(device + caller.DEVICE_NONE), load_i64(device + caller.DEVICE_EMPTY)
    for k in range(load_i64(device + caller.DEVICE_EMPTY_COUNT)):
        py_incref(none)
        store_i64(made + load_i64(places + 8 * k), none)
    return made


@native("int64(int64,int64,int64)")
def _wrap_results(record, table, side):
    """Puts the caller's kind of arrays in the place of the results. 0: Python's error is set, and they are dropped."""
    wanted = load_i64(record + caller.RECORD_RESULT_KIND)
    if wanted == caller.RESULT_NUMPY:
        return 1
    library, kinds = load_i64(record + caller.RECORD_LIBRARY), load_i64(record + caller.RECORD_KINDS)
    value, first = load_i64(table + entry.TABLE_RESULTS), side
    count = load_i64(table + entry.TABLE_RESULT_COUNT)
    for k in range(count):
        kind, result = load_i64(kinds + 8 * k), load_i64(side + entry.SIDE_OBJECT)
        if wanted == caller.RESULT_DEVICE:
            made = _device_array(library, kind, load_i64(value + entry.VALUE_DTYPE), result)
        else:
            made = new_foreign(library, kind, result)
        if made == 0:
            drop_results(first, k)
            drop_results(side + entry.CALL_SIDE_BYTES, count - k - 1)
            return 0
        store_i64(side + entry.SIDE_OBJECT, made)
        value += entry.VALUE_BYTES
        side += entry.CALL_SIDE_BYTES
    return 1


@native("int64(int64,int64,int64)")
def _structure(record, table, side):
    """The result: the leaves in their structure. 0 with Python's error set."""
    tokens = load_i64(record + caller.RECORD_OUTPUT)
    if tokens != 0:
        walk = _walk()
        store_i64(walk + WALK_TOKEN, tokens)
        store_i64(walk + WALK_OBJECT, side + entry.SIDE_OBJECT)
        store_i64(walk + WALK_STEP, entry.CALL_SIDE_BYTES)
        return build(walk)
    count = load_i64(table + entry.TABLE_RESULT_COUNT)
    leaves = py_list_new(count)
    if leaves == 0:
        return 0
    items = load_i64(leaves + entry.LIST_ITEMS_FIELD)
    for k in range(count):
        value = load_i64(side + entry.CALL_SIDE_BYTES * k + entry.SIDE_OBJECT)
        py_incref(value)
        store_i64(items + 8 * k, value)
    word = _one_word()
    store_i64(word, leaves)
    result = py_vectorcall(load_i64(record + caller.RECORD_UNFLATTEN), word, 1, 0)
    py_decref(leaves)
    return result


# ------------------------------------------------------------------ the call


@native("int64(int64,int64)")
def _delete_leaves(record, leaves):
    """Has the donated leaves give their memory up. 0: Python's error is set."""
    numbers, word = load_i64(record + caller.RECORD_DELETED), _one_word()
    for k in range(load_i64(record + caller.RECORD_DELETED_COUNT)):
        store_i64(word, load_i64(leaves + 8 * load_i64(numbers + 8 * k)))
        done = py_vectorcall_method(load_i64(record + caller.RECORD_DELETE), word, 1, 0)
        if done == 0:
            return 0
        py_decref(done)
    return 1


@native("int64(int64,int64,int64,int64)")
def _run(record, table, instance, leaves):
    """The program's call, and its result; 0 with Python's error set."""
    as_capsules = load_i64(record + caller.RECORD_RESULT_KIND) == caller.RESULT_DEVICE
    if not call_program(table, instance, 0 if as_capsules else 1):
        return 0
    side, count = result_side(table, instance), load_i64(table + entry.TABLE_RESULT_COUNT)
    if not _delete_leaves(record, leaves):
        drop_results(side, count)
        return 0
    if not _wrap_results(record, table, side):
        return 0
    result = _structure(record, table, side)
    drop_results(side, count)
    return result


@native("int64(int64,int64,int64,int64)")
def _call_record(record, leaves, found, number):
    """A call that a record fits; -1: an argument is in a state in which Python has to see to it."""
    table = load_i64(record + caller.RECORD_PROGRAM)
    instance = take_instance(table)
    if instance == 0:
        return py_no_memory()
    held = 0
    if load_i64(record + caller.RECORD_HOLDS) != 0:
        held = load_i64(record + caller.RECORD_LEAF_COUNT)
    for k in range(held):
        py_incref(load_i64(leaves + 8 * k))
    result = -1
    if _set_arguments(record, table, instance, leaves):
        store_i64(found + caller.CALLER_LAST, number)
        result = _run(record, table, instance, leaves)
    else:
        drop_arguments(table, instance)
    give_instance(table, instance)
    for k in range(held):
        py_decref(load_i64(leaves + 8 * k))
    return result


@native("int64(int64,int64,int64,int64,int64)")
def _call_known(table, state, args, count, names):
    """A call by the record that fits it; -1: there is none."""
    most = load_i64(table + caller.CALLER_LEAVES)
    leaves = _more_words() if most <= _FEW else malloc(8 * most)
    if leaves == 0:
        return py_no_memory()
    records, result = load_i64(table + caller.CALLER_RECORDS), -1
    for k in range(load_i64(table + caller.CALLER_RECORD_COUNT)):
        record = load_i64(records + 8 * k)
        if _fits(record, args, count, names, leaves):
            if _same_items(state, load_i64(record + caller.RECORD_CONTEXT)):
                result = _call_record(record, leaves, table, k)
                if result != -1:
                    break
    if most > _FEW:
        free(leaves)
    return result


@native("int64(int64,int64,int64,int64)")
def caller_entry(self, args, count, names):
    """The vectorcall function of instances of `NativeCallable`."""
    count = count & _COUNT
    holder = load_i64(self + caller.CALLABLE_TABLE)
    if holder == 0:  # an object that was never initialised
        py_bad_call()
        return 0
    table = load_i64(holder + entry.ARRAY_DATA)
    py_incref(holder)  # another thread may put another one in its place
    result = -1
    if load_i64(table + caller.CALLER_RECORD_COUNT) != 0:
        state = _state_of(table)
        if state != 0:
            result = _call_known(table, state, args, count, names)
            py_decref(state)
    if result == -1:
        result = _call_slow(table, self, args, count, names)
    py_decref(holder)
    return result
