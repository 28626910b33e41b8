"""Native calls of bound programs: addresses of arguments in, memory of results out, one VM invocation in between.

Enters: a program's table, and an instance in whose side records the arguments stand. Leaves: for each result a new
NumPy array, or the capsule alone that holds its memory: 64-byte aligned, of the pool, to which it returns when the
capsule dies. Runs with the GIL held, and gives it up for calls that last. A program that has a plan and is small runs
without the interpreter.

Arguments are not copied: the call's views borrow the caller's memory. A borrowed buffer that the module still
holds afterwards is moved to memory of its own, and a result that shares memory with anything else is copied.
"""

from pyiree.runtime.calls import entry_layout as entry
from pyiree.runtime.calls.launch import free_plan, give_plan_instances, plan_blocks, plan_sources, run_plan
from pyiree.runtime.hal import layout as hal
from pyiree.runtime.hal.allocator import block_tag, free_tagged, pool_allocate, pool_free, size_class
from pyiree.runtime.hal.buffer import (
    buffer_keep,
    hal_buffer_wrap,
    hal_view_create,
    view_data,
)
from pyiree.runtime.native import layout
from pyiree.runtime.native.cpython import (
    py_capsule_context,
    py_capsule_new,
    py_capsule_pointer,
    py_capsule_set_context,
    py_decref,
    py_incref,
    py_long,
    py_no_memory,
    py_restore_thread,
    py_save_thread,
    py_vectorcall,
)
from pyiree.runtime.native.intrinsics import (
    atomic_load,
    calloc,
    free,
    indirect_call,
    load_i64,
    memcpy,
    monotonic_nanoseconds,
    native,
    stack_bytes,
    store_i64,
    symbol_address,
)
from pyiree.runtime.native.objects import release, retain
from pyiree.runtime.task import layout as task
from pyiree.runtime.task.queue import cancel_submissions, pthread_self, wait_for_word
from pyiree.runtime.vm import layout as vm
from pyiree.runtime.vm.interpreter import vm_invoke, vm_resume

_new_from_descr = indirect_call(9)
_call_words = stack_bytes(32)
_idle_word = stack_bytes(8)
_root_capsule_free_address = symbol_address("root_capsule_free")
_block_capsule_free_address = symbol_address("block_capsule_free")

_DRAIN_SLICE = 1000000
_EVERYTHING = 0x7E  # memory types: visible to and local to both host and device
_ANY_USAGE = 0x1F0F0F0F


@native("void(int64)")
def root_capsule_free(capsule):
    """A result is dead whose memory lies in a buffer."""
    release(py_capsule_context(capsule))


@native("void(int64)")
def block_capsule_free(capsule):
    """A result is dead that has a block of its own."""
    free_tagged(py_capsule_pointer(capsule, 0), py_capsule_context(capsule))


@native("int64(int64,int64,int64)")
def _call_python(function, first, second):
    """Calls a callable with two objects, whose references it takes over; the result is a new reference."""
    words = _call_words()
    store_i64(words, first)
    store_i64(words + 8, second)
    result = py_vectorcall(function, words, 2, 0)
    py_decref(first)
    py_decref(second)
    return result


# ------------------------------------------------------------------ instances: taken and given with the GIL held


@native("void(int64,int64)")
def _free_instance(table, instance):
    if load_i64(table + entry.TABLE_PLAN) != 0 and load_i64(instance + entry.CALL_BYTES) == load_i64(
        table + entry.TABLE_INSTANCE_BYTES
    ):
        give_plan_instances(table, instance)
    for k in range(load_i64(table + entry.TABLE_ARGUMENT_COUNT)):
        release(load_i64(instance + entry.CALL_WORDS + 8 * k))
    free(instance)


@native("int64(int64)")
def take_instance(table):
    """An instance that no other call uses; 0 when memory is short."""
    size = load_i64(table + entry.TABLE_INSTANCE_BYTES)
    for k in range(entry.INSTANCE_SLOTS):
        slot = table + entry.TABLE_INSTANCES + 8 * k
        instance = load_i64(slot)
        if instance != 0:
            store_i64(slot, 0)
            if load_i64(instance + entry.CALL_BYTES) == size:
                return instance
            _free_instance(table, instance)  # made before the program had a plan
    instance = calloc(1, size)
    if instance != 0:
        store_i64(instance + entry.CALL_BYTES, size)
    return instance


@native("int64(int64,int64)")
def argument_side(table, instance):
    """The address of the first argument's side record; those of the results follow."""
    return instance + load_i64(table + entry.TABLE_SIDE)


@native("int64(int64,int64)")
def result_side(table, instance):
    """The address of the first result's side record."""
    return argument_side(table, instance) + entry.CALL_SIDE_BYTES * load_i64(table + entry.TABLE_ARGUMENT_COUNT)


@native("void(int64,int64)")
def give_instance(table, instance):
    """Puts an instance back whose call is over."""
    for k in range(entry.INSTANCE_SLOTS):
        slot = table + entry.TABLE_INSTANCES + 8 * k
        if load_i64(slot) == 0:
            store_i64(slot, instance)
            return
    _free_instance(table, instance)


@native("void(int64)")
def program_free_instances(table):
    """Frees the idle instances of a table that nobody calls any more."""
    for k in range(entry.INSTANCE_SLOTS):
        slot = table + entry.TABLE_INSTANCES + 8 * k
        if load_i64(slot) != 0:
            _free_instance(table, load_i64(slot))
            store_i64(slot, 0)


@native("void(int64,int64,int64)")
def set_argument(side, owner, data):
    """Makes `data` the bytes of an argument, which `owner` keeps alive."""
    py_incref(owner)  # another thread may empty the list that it comes from meanwhile
    store_i64(side + entry.SIDE_OBJECT, owner)
    store_i64(side + entry.SIDE_DATA, data)


@native("void(int64,int64)")
def drop_arguments(table, instance):
    """Lets go of what the arguments' side records hold."""
    side = argument_side(table, instance)
    for _ in range(load_i64(table + entry.TABLE_ARGUMENT_COUNT)):
        owner = load_i64(side + entry.SIDE_OBJECT)
        if owner != 0:
            store_i64(side + entry.SIDE_OBJECT, 0)
            py_decref(owner)
        side += entry.CALL_SIDE_BYTES


# ------------------------------------------------------------------ arguments as views


@native("int64(int64)")
def _new_view(value):
    """A view, and its borrowed buffer, for arguments of this kind; 0 when memory is short."""
    size = load_i64(value + entry.VALUE_SIZE)
    root = hal_buffer_wrap(0, size, _EVERYTHING, _ANY_USAGE, hal.BUFFER_KIND_BORROWED, 0)
    if root == 0:
        return 0
    element_type, rank = load_i64(value + entry.VALUE_ELEMENT_TYPE), load_i64(value + entry.VALUE_RANK)
    view = hal_view_create(root, 0, size, element_type, 1, rank, load_i64(value + entry.VALUE_DIMS))
    release(root)  # the view keeps it
    return view


@native("int64(int64,int64)")
def _lend_arguments(table, instance):
    """Points the instance's views at the arguments, or at aligned copies of them. False: memory is short."""
    side = argument_side(table, instance)
    misaligned = load_i64(table + entry.TABLE_ALIGNMENT) - 1
    value = load_i64(table + entry.TABLE_ARGUMENTS)
    for k in range(load_i64(table + entry.TABLE_ARGUMENT_COUNT)):
        slot = instance + entry.CALL_WORDS + 8 * k
        view = load_i64(slot)
        if view == 0:
            view = _new_view(value)
            if view == 0:
                return False
            store_i64(slot, view)
        data = load_i64(side + entry.SIDE_DATA)
        if data & misaligned:
            size = load_i64(value + entry.VALUE_SIZE)
            copy = pool_allocate(load_i64(table + entry.TABLE_POOL), size)
            if copy == 0:
                return False
            memcpy(copy, data, size)
            store_i64(side + entry.SIDE_COPY, copy)
            data = copy
        store_i64(load_i64(view + hal.VIEW_BUFFER) + hal.BUFFER_DATA, data)
        value += entry.VALUE_BYTES
        side += entry.CALL_SIDE_BYTES
    return True


@native("void(int64,int64)")
def _drain(executor, after):
    """Waits for what this thread submitted after `after`."""
    owner = pthread_self()
    while cancel_submissions(executor, owner, after, 0) > 0:
        word = _idle_word()
        store_i64(word, 0)
        wait_for_word(executor, word, _DRAIN_SLICE)


@native("void(int64,int64,int64)")
def _reclaim_arguments(table, instance, after):
    """Takes the arguments' memory back from the module: a buffer that it still holds gets its own bytes."""
    side = argument_side(table, instance)
    value = load_i64(table + entry.TABLE_ARGUMENTS)
    pool = load_i64(table + entry.TABLE_POOL)
    for k in range(load_i64(table + entry.TABLE_ARGUMENT_COUNT)):
        slot = instance + entry.CALL_WORDS + 8 * k
        view = load_i64(slot)
        if view != 0:
            root = load_i64(view + hal.VIEW_BUFFER)
            if atomic_load(view + layout.OBJECT_COUNT) != 1 or atomic_load(root + layout.OBJECT_COUNT) != 1:
                _drain(load_i64(table + entry.TABLE_EXECUTOR), after)
                buffer_keep(root, pool)
                release(view)
                store_i64(slot, 0)
        copy = load_i64(side + entry.SIDE_COPY)
        if copy != 0:
            pool_free(pool, copy, size_class(load_i64(value + entry.VALUE_SIZE)))
            store_i64(side + entry.SIDE_COPY, 0)
        value += entry.VALUE_BYTES
        side += entry.CALL_SIDE_BYTES


# ------------------------------------------------------------------ results


@native("int64(int64,int64,int64)")
def _is_exclusive(results, count, index):
    """Whether the memory behind a result is only that result's: then the caller may have it uncopied."""
    view = load_i64(results + 8 * index)
    root = load_i64(view + hal.VIEW_BUFFER)
    if load_i64(root + hal.BUFFER_KIND) != hal.BUFFER_KIND_POOL:
        return False
    if atomic_load(view + layout.OBJECT_COUNT) != 1:
        return False
    start = load_i64(view + hal.VIEW_OFFSET)
    end = start + load_i64(view + hal.VIEW_LENGTH)
    holders = 1
    for k in range(count):
        other = load_i64(results + 8 * k)
        if k != index and load_i64(other + hal.VIEW_BUFFER) == root:
            holders += 1
            other_start = load_i64(other + hal.VIEW_OFFSET)
            if start < other_start + load_i64(other + hal.VIEW_LENGTH) and other_start < end:
                return False
    return atomic_load(root + layout.OBJECT_COUNT) == holders


@native("int64(int64,int64,int64)")
def _capsule(data, context, destroy):
    """A new capsule over memory, which it owns; 0 with Python's error set, and the memory the caller's."""
    capsule = py_capsule_new(data, 0, destroy)
    if capsule != 0:
        py_capsule_set_context(capsule, context)
    return capsule


@native("int64(int64,int64)")
def new_memory(table, size):
    """A capsule over a block of its own, of undefined content; 0 with Python's error set."""
    pool = load_i64(table + entry.TABLE_POOL)
    block = pool_allocate(pool, size)
    if block == 0:
        return py_no_memory()
    capsule = _capsule(block, block_tag(pool, size), _block_capsule_free_address())
    if capsule == 0:
        pool_free(pool, block, size_class(size))
    return capsule


@native("int64(int64,int64,int64)")
def _copied(table, data, size):
    """A capsule over a block of its own with a copy of these bytes; 0 with Python's error set."""
    capsule = new_memory(table, size)
    if capsule != 0:
        memcpy(load_i64(capsule + entry.CAPSULE_POINTER), data, size)
    return capsule


@native("int64(int64,int64,int64)")
def _memory_of_view(table, view, exclusive):
    """A capsule over a result's memory, or over a copy of it; 0 with Python's error set."""
    data = view_data(view)
    if exclusive == 0:
        return _copied(table, data, load_i64(view + hal.VIEW_LENGTH))
    root = load_i64(view + hal.VIEW_BUFFER)
    capsule = _capsule(data, root, _root_capsule_free_address())
    if capsule != 0:
        retain(root)
    return capsule


@native("int64(int64,int64,int64)")
def _memory_of_plan(table, instance, index):
    """The same for a result of a plan."""
    plan = load_i64(table + entry.TABLE_PLAN)
    result = load_i64(plan + entry.PLAN_RESULTS) + entry.RESULT_BYTES * index
    source = load_i64(result + entry.RESULT_SOURCE)
    data = load_i64(plan_sources(table, instance) + 8 * source)
    if load_i64(result + entry.RESULT_IS_OWN) == 0:
        data += load_i64(result + entry.RESULT_OFFSET)
        return _copied(table, data, load_i64(result + entry.RESULT_LENGTH))
    own = source - load_i64(table + entry.TABLE_ARGUMENT_COUNT)
    size = load_i64(load_i64(plan + entry.PLAN_ALLOCATIONS) + 8 * own)
    tag = block_tag(load_i64(table + entry.TABLE_POOL), size)
    capsule = _capsule(data, tag, _block_capsule_free_address())
    if capsule != 0:
        store_i64(plan_blocks(table, instance) + 8 * own, 0)
    return capsule


@native("int64(int64,int64,int64,int64,int64)")
def _put_array(table, index, side, rank, dims):
    """Makes a NumPy array of the capsule in a result's side record. 0: Python's error is set, the capsule is gone."""
    capsule = load_i64(side + entry.SIDE_OBJECT)
    value = load_i64(table + entry.TABLE_RESULTS) + entry.VALUE_BYTES * index
    dtype = load_i64(value + entry.VALUE_DTYPE)
    py_incref(dtype)  # the call takes it over
    ndarray, function = load_i64(table + entry.TABLE_NDARRAY), load_i64(table + entry.TABLE_NEW_ARRAY)
    data = load_i64(capsule + entry.CAPSULE_POINTER)
    array = _new_from_descr(function, ndarray, dtype, rank, dims, 0, data, entry.FLAGS_RESULT, 0, 0)
    if array == 0:
        py_decref(capsule)
        return 0
    store_i64(array + entry.ARRAY_BASE, capsule)
    store_i64(side + entry.SIDE_OBJECT, array)
    return 1


@native("int64(int64,int64,int64)")
def _check_result(table, index, view):
    """Whether the result is a view of the expected element type; if not, the table's callable has raised."""
    wanted = load_i64(load_i64(table + entry.TABLE_RESULTS) + entry.VALUE_BYTES * index + entry.VALUE_ELEMENT_TYPE)
    found = -1
    if view != 0 and load_i64(view + layout.OBJECT_TYPE) == layout.TYPE_HAL_BUFFER_VIEW:
        found = load_i64(view + hal.VIEW_ELEMENT_TYPE)
        integers = 0x10 <= found >> 24 <= 0x12 and 0x10 <= wanted >> 24 <= 0x12
        if found == wanted or (integers and found & hal.ELEMENT_BITS == wanted & hal.ELEMENT_BITS):
            return True
    result = _call_python(load_i64(table + entry.TABLE_MISMATCH), py_long(index), py_long(found))
    if result != 0:
        py_decref(result)
    return False


@native("void(int64,int64)")
def drop_results(side, count):
    """Lets go of `count` results."""
    for k in range(count):
        py_decref(load_i64(side + entry.CALL_SIDE_BYTES * k + entry.SIDE_OBJECT))


@native("int64(int64,int64,int64)")
def _check_views(table, instance, first):
    """Looks at all results before any takes a reference: writes down which memory is a result's own. 0: an error."""
    count = load_i64(table + entry.TABLE_RESULT_COUNT)
    results = instance + entry.CALL_WORDS + 8 * load_i64(table + entry.TABLE_ARGUMENT_COUNT)
    for k in range(count):
        if not _check_result(table, k, load_i64(results + 8 * k)):
            return 0
    for k in range(count):
        exclusive = 1 if _is_exclusive(results, count, k) else 0
        store_i64(first + entry.CALL_SIDE_BYTES * k + entry.SIDE_COPY, exclusive)
    return 1


@native("int64(int64,int64,int64,int64)")
def _collect(table, instance, planned, as_arrays):
    """Puts the results in their side records. 0: Python's error is set. Views and blocks stay the caller's."""
    first = result_side(table, instance)
    if planned == 0 and not _check_views(table, instance, first):
        return 0
    results = instance + entry.CALL_WORDS + 8 * load_i64(table + entry.TABLE_ARGUMENT_COUNT)
    side = first
    value = load_i64(table + entry.TABLE_RESULTS)
    for k in range(load_i64(table + entry.TABLE_RESULT_COUNT)):
        if planned != 0:
            rank, dims = load_i64(value + entry.VALUE_RANK), load_i64(value + entry.VALUE_DIMS)
            made = _memory_of_plan(table, instance, k)
        else:
            view = load_i64(results + 8 * k)
            rank, dims = load_i64(view + hal.VIEW_RANK), view + hal.VIEW_DIMS
            made = _memory_of_view(table, view, load_i64(side + entry.SIDE_COPY))
        store_i64(side + entry.SIDE_OBJECT, made)
        if made != 0 and as_arrays != 0:
            made = _put_array(table, k, side, rank, dims)
        if made == 0:
            drop_results(first, k)
            return 0
        value += entry.VALUE_BYTES
        side += entry.CALL_SIDE_BYTES
    return 1


# ------------------------------------------------------------------ the call


@native("int64(int64,int64)")
def _invoke(table, instance):
    """Invokes the function to its end. 1: the results are there; 0: Python's error is set."""
    count = load_i64(table + entry.TABLE_ARGUMENT_COUNT)
    arguments = instance + entry.CALL_WORDS
    results = arguments + 8 * count
    context, function = load_i64(table + entry.TABLE_CONTEXT), load_i64(table + entry.TABLE_FUNCTION)
    executor = load_i64(table + entry.TABLE_EXECUTOR)
    began = monotonic_nanoseconds()
    thread = 0
    if load_i64(table + entry.TABLE_DURATION) > entry.GIL_NANOSECONDS:
        thread = py_save_thread()
    state = vm_invoke(context, function, arguments, results, instance)
    # The first wait is short. The second one is long, without the GIL; after that Python looks at its signals.
    if state == vm.SUSPENDED and load_i64(executor + task.EXECUTOR_WANTED) == 0:
        if thread == 0:
            thread = py_save_thread()
        state = vm_resume(load_i64(instance))
    if thread != 0:
        py_restore_thread(thread)
    if state != vm.DONE:
        finish = load_i64(table + entry.TABLE_FINISH)
        finished = _call_python(finish, py_long(load_i64(instance)), py_long(state))
        if finished == 0:
            return 0
        py_decref(finished)
    store_i64(table + entry.TABLE_DURATION, monotonic_nanoseconds() - began)
    return 1


@native("int64(int64,int64,int64)")
def _interpret(table, instance, as_arrays):
    """A call by the interpreter: 1, and the results in their side records; or 0 with Python's error set."""
    executor = load_i64(table + entry.TABLE_EXECUTOR)
    after = load_i64(executor + task.EXECUTOR_SEQUENCE)
    done = 0
    if not _lend_arguments(table, instance):
        py_no_memory()
    elif _invoke(table, instance) != 0:
        results = instance + entry.CALL_WORDS + 8 * load_i64(table + entry.TABLE_ARGUMENT_COUNT)
        done = _collect(table, instance, 0, as_arrays)
        for k in range(load_i64(table + entry.TABLE_RESULT_COUNT)):
            release(load_i64(results + 8 * k))
    else:
        cancel_submissions(executor, pthread_self(), after, task.STATUS_CANCELLED)
        _drain(executor, after)
    _reclaim_arguments(table, instance, after)
    return done


@native("int64(int64,int64,int64)")
def call_program(table, instance, as_arrays):
    """A call with the arguments in the instance's side records, which it lets go of.

    1: in the side record of each result stands a new NumPy array, or the capsule with its memory; 0: Python's error is
    set.
    """
    if load_i64(table + entry.TABLE_PLAN) != 0 and run_plan(table, instance) != 0:
        done = _collect(table, instance, 1, as_arrays)
        free_plan(table, instance)
    else:
        done = _interpret(table, instance, as_arrays)
    drop_arguments(table, instance)
    return done
