"""Native calls of LAPACK routines by plan.

Enters: the state of an import and its arguments, references to buffer views and then scalars. Leaves: new views. Where
no plan is for views of these shapes, Python is asked to make one.
"""

from pyiree.runtime.hal.buffer import hal_buffer_allocate, hal_view_create, view_data
from pyiree.runtime.hal.layout import BUFFER_DATA, VIEW_DIMS, VIEW_ELEMENT_TYPE, VIEW_RANK
from pyiree.runtime.modules import lapack_layout as lapack
from pyiree.runtime.native import layout
from pyiree.runtime.native.intrinsics import (
    indirect_call,
    load_i32,
    load_i64,
    memcpy,
    message,
    monotonic_nanoseconds,
    native,
    stack_bytes,
    store_i32,
    store_i64,
)
from pyiree.runtime.native.objects import release

_call_routine = indirect_call(lapack.FORTRAN_ARGUMENTS)
_table = stack_bytes(lapack.TABLE_BYTES)
_memory = message("not enough memory")

_EVERYTHING = 0x7E  # memory types: visible to and local to both host and device
_ANY_USAGE = 0x1F0F0F0F
_SLOW_NANOSECONDS = 1000000
_MASK32 = 0xFFFFFFFF
_INFINITE32, _INFINITE64 = 0x7F800000, 0x7FF0000000000000


# ------------------------------------------------------------------ the routine


@native("void(int64,int64,int64)")
def fortran_batch(routine, count, table):
    """Calls a routine `count` times. For each argument the table has an address, and by how many bytes it moves
    from one call to the next; the addresses are moved in place."""
    for _ in range(count):
        _call_routine(
            routine,
            load_i64(table),
            load_i64(table + 16),
            load_i64(table + 32),
            load_i64(table + 48),
            load_i64(table + 64),
            load_i64(table + 80),
            load_i64(table + 96),
            load_i64(table + 112),
            load_i64(table + 128),
            load_i64(table + 144),
            load_i64(table + 160),
            load_i64(table + 176),
            load_i64(table + 192),
            load_i64(table + 208),
            load_i64(table + 224),
            load_i64(table + 240),
            load_i64(table + 256),
            load_i64(table + 272),
            load_i64(table + 288),
            load_i64(table + 304),
        )
        _move(table)


@native("void(int64)")
def _move(table):
    for k in range(lapack.FORTRAN_ARGUMENTS):
        place = table + 16 * k
        store_i64(place, load_i64(place) + load_i64(place + 8))


@native("int64(int64,int64,int64)")
def _is_finite(data, size, float_bytes):
    """Whether no float among these bytes is infinite or NaN."""
    for offset in range(0, size, float_bytes):
        if float_bytes == 4:
            if load_i32(data + offset) & _INFINITE32 == _INFINITE32:
                return False
        elif load_i64(data + offset) & _INFINITE64 == _INFINITE64:
            return False
    return True


@native("int64(int64,int64,int64,int64)")
def _address(record, args, results, scratch):
    """Where an array of a call lies."""
    place, number = load_i64(record + lapack.ARRAY_PLACE), load_i64(record + lapack.ARRAY_NUMBER)
    skipped = load_i64(record + lapack.ARRAY_SKIPPED)
    if place == lapack.PLACE_FIXED:
        return number
    if place == lapack.PLACE_SCRATCH:
        return scratch + number + skipped
    return view_data(load_i64((args if place == lapack.PLACE_OPERAND else results) + 8 * number)) + skipped


@native("void(int64,int64,int64,int64,int64)")
def _guarded_batch(plan, table, args, results, scratch):
    """As `fortran_batch`, but leaves out the items that are not finite: the routine might not end for them."""
    guard, info = load_i64(plan + lapack.PLAN_GUARD), load_i64(plan + lapack.PLAN_INFO)
    data, size = _address(guard, args, results, scratch), load_i64(plan + lapack.PLAN_GUARD_ITEM)
    failure = _address(info, args, results, scratch)
    for _ in range(load_i64(plan + lapack.PLAN_COUNT)):
        if _is_finite(data, size, load_i64(plan + lapack.PLAN_FLOAT_BYTES)):
            fortran_batch(load_i64(plan + lapack.PLAN_ROUTINE), 1, table)
        else:
            store_i32(failure, lapack.NOT_FINITE)
            _move(table)
        data += load_i64(guard + lapack.ARRAY_STRIDE)
        failure += load_i64(info + lapack.ARRAY_STRIDE)


# ------------------------------------------------------------------ eigenvectors of real matrices


@native("int64(int64,int64)")
def _sign(place, float_bytes):
    """1, -1 or 0: the sign of a float."""
    bits = load_i64(place) if float_bytes == 8 else load_i32(place)
    negative = bits < 0
    magnitude = bits & (0x7FFFFFFFFFFFFFFF if float_bytes == 8 else 0x7FFFFFFF)
    if magnitude == 0:
        return 0
    return -1 if negative else 1


@native("void(int64,int64,int64,int64)")
def _put(target, source, float_bytes, negate):
    """Copies a float, or its negative; a source of 0 is the number zero."""
    if float_bytes == 8:
        bits = load_i64(source) if source != 0 else 0
        store_i64(target, bits ^ -0x8000000000000000 if negate else bits)
    else:
        bits = load_i32(source) if source != 0 else 0
        store_i32(target, bits ^ 0x80000000 if negate else bits)


@native("void(int64,int64,int64,int64,int64)")
def _unpack_vectors(imaginary, packed, out, order, width):
    """Eigenvectors of one matrix: a conjugate pair has its real and imaginary part in two columns."""
    column_bytes = order * width
    for j in range(order):
        sign = _sign(imaginary + width * j, width)
        column = packed + column_bytes * j
        real = column - column_bytes if sign < 0 else column
        for row in range(order):
            place = out + 2 * (column_bytes * j + width * row)
            _put(place, real + width * row, width, 0)
            if sign > 0:
                _put(place + width, column + column_bytes + width * row, width, 0)
            elif sign < 0:
                _put(place + width, column + width * row, width, 1)
            else:
                _put(place + width, 0, width, 0)


@native("void(int64,int64,int64,int64)")
def _unpack_all(plan, args, results, scratch):
    width, order = load_i64(plan + lapack.PLAN_FLOAT_BYTES), load_i64(plan + lapack.PLAN_ORDER)
    record = load_i64(plan + lapack.PLAN_UNPACK_RECORDS)
    for _ in range(load_i64(plan + lapack.PLAN_UNPACKS)):
        imaginary = _address(record, args, results, scratch)
        packed = _address(record + lapack.ARRAY_BYTES, args, results, scratch)
        out = _address(record + 2 * lapack.ARRAY_BYTES, args, results, scratch)
        for _ in range(load_i64(plan + lapack.PLAN_COUNT)):
            _unpack_vectors(imaginary, packed, out, order, width)
            imaginary += load_i64(record + lapack.ARRAY_STRIDE)
            packed += load_i64(record + lapack.ARRAY_BYTES + lapack.ARRAY_STRIDE)
            out += load_i64(record + 2 * lapack.ARRAY_BYTES + lapack.ARRAY_STRIDE)
        record += lapack.UNPACK_BYTES


# ------------------------------------------------------------------ plans


@native("int64(int64,int64)")
def _matches(plan, args):
    """Whether a plan is for arguments of these kinds. References are not trusted to be views."""
    key = load_i64(plan + lapack.PLAN_KEY)
    operands = load_i64(plan + lapack.PLAN_OPERANDS)
    for k in range(operands):
        view = load_i64(args + 8 * k)
        if view == 0:
            return False
        if load_i64(view + layout.OBJECT_TYPE) != layout.TYPE_HAL_BUFFER_VIEW:
            return False
        rank = load_i64(key + 8)
        if load_i64(view + VIEW_ELEMENT_TYPE) != load_i64(key) or load_i64(view + VIEW_RANK) != rank:
            return False
        for d in range(rank):
            if load_i64(view + VIEW_DIMS + 8 * d) != load_i64(key + 16 + 8 * d):
                return False
        key += 16 + 8 * rank
    for k in range(load_i64(plan + lapack.PLAN_SCALARS)):
        if load_i64(args + 8 * (operands + k)) != load_i64(key + 8 * k):
            return False
    return True


@native("int64(int64,int64,int64,int64)")
def _make_results(plan, pool, args, results):
    """New views, some with the content of operands. False: memory is short, and nothing is left."""
    record = load_i64(plan + lapack.PLAN_RESULT_RECORDS)
    for k in range(load_i64(plan + lapack.PLAN_RESULTS)):
        size, rank = load_i64(record + lapack.RESULT_SIZE), load_i64(record + lapack.RESULT_RANK)
        element_type, dims = load_i64(record + lapack.RESULT_ELEMENT_TYPE), load_i64(record + lapack.RESULT_DIMS)
        root = hal_buffer_allocate(pool, size, _EVERYTHING, _ANY_USAGE)
        view = 0
        if root != 0:
            view = hal_view_create(root, 0, size, element_type, 1, rank, dims)
            release(root)  # the view keeps it
        if view == 0:
            _drop_results(results, k)
            return False
        store_i64(results + 8 * k, view)
        source = load_i64(record + lapack.RESULT_SOURCE)
        if source >= 0:
            memcpy(view_data(view), view_data(load_i64(args + 8 * source)), size)
        record += lapack.RESULT_BYTES
    return True


@native("void(int64,int64)")
def _drop_results(results, count):
    for k in range(count):
        release(load_i64(results + 8 * k))


@native("int64(int64,int64,int64,int64)")
def lapack_run_plan(plan, state, args, results):
    """Calls the plan's routine for each item of the batch."""
    pool = load_i64(state + lapack.STATE_POOL)
    began = monotonic_nanoseconds()
    if not _make_results(plan, pool, args, results):
        _memory(results)
        return layout.RESOURCE_EXHAUSTED
    room, scratch = 0, 0
    if load_i64(plan + lapack.PLAN_SCRATCH_BYTES) > 0:
        room = hal_buffer_allocate(pool, load_i64(plan + lapack.PLAN_SCRATCH_BYTES), _EVERYTHING, _ANY_USAGE)
        if room == 0:
            _drop_results(results, load_i64(plan + lapack.PLAN_RESULTS))
            _memory(results)
            return layout.RESOURCE_EXHAUSTED
        scratch = load_i64(room + BUFFER_DATA)
    copy = load_i64(plan + lapack.PLAN_COPY_RECORDS)
    for _ in range(load_i64(plan + lapack.PLAN_COPIES)):
        source = view_data(load_i64(args + 8 * load_i64(copy + lapack.COPY_OPERAND)))
        memcpy(scratch + load_i64(copy + lapack.COPY_OFFSET), source, load_i64(copy + lapack.COPY_SIZE))
        copy += lapack.COPY_BYTES
    table = _table()
    record = load_i64(plan + lapack.PLAN_ARGUMENT_RECORDS)
    for k in range(lapack.FORTRAN_ARGUMENTS):
        address, stride = 0, 0
        if k < load_i64(plan + lapack.PLAN_ARGUMENTS):
            address, stride = _address(record, args, results, scratch), load_i64(record + lapack.ARRAY_STRIDE)
            record += lapack.ARRAY_BYTES
        store_i64(table + 16 * k, address)
        store_i64(table + 16 * k + 8, stride)
    if load_i64(plan + lapack.PLAN_GUARD) != 0:
        _guarded_batch(plan, table, args, results, scratch)
    else:
        fortran_batch(load_i64(plan + lapack.PLAN_ROUTINE), load_i64(plan + lapack.PLAN_COUNT), table)
    _unpack_all(plan, args, results, scratch)
    if room != 0:
        release(room)
    return layout.SLOW if monotonic_nanoseconds() - began > _SLOW_NANOSECONDS else layout.OK


@native("int64(int64,int64,int64)")
def lapack_call(state, args, results):
    """The import of every routine."""
    plan = load_i64(state + lapack.STATE_PLANS)
    while plan != 0:
        if _matches(plan, args):
            return lapack_run_plan(plan, state, args, results)
        plan = load_i64(plan + lapack.PLAN_NEXT)
    return layout.ASK_PYTHON
