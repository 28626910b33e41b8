"""Memory layouts of bound programs and their calls: constants only, importable without numba.

CPython's and NumPy's object fields at the end; `extension.layout_is_known` compares them with real objects.
"""

# Table of a program, in memory of Python's.
TABLE_CONTEXT = 0  # VM context block
TABLE_FUNCTION = 8  # ordinal of the function
TABLE_ARGUMENT_COUNT, TABLE_RESULT_COUNT = 16, 24
TABLE_ARGUMENTS, TABLE_RESULTS = 32, 40  # addresses of value records
TABLE_SLOW = 48  # callable(arrays): takes what the entry does not
TABLE_FINISH = 56  # callable(invocation, state): drives a call to its end, or raises
TABLE_MISMATCH = 64  # callable(result index, element type): raises
TABLE_NEW_ARRAY = 72  # PyArray_NewFromDescr
TABLE_NDARRAY, TABLE_LIST, TABLE_TUPLE = 80, 88, 96  # type objects
TABLE_POOL = 104  # memory pool
TABLE_EXECUTOR = 112
TABLE_DURATION = 120  # nanoseconds of the last call
TABLE_ALIGNMENT = 128  # what argument addresses must be a multiple of
TABLE_PLAN = 136  # plan record, 0: there is none
TABLE_INSTANCE_BYTES = 144
TABLE_SIDE = 152  # offset in an instance of the side records
TABLE_SOURCES = 160  # offset in an instance of the words that a plan uses
TABLE_INSTANCES = 168  # INSTANCE_SLOTS idle instances
INSTANCE_SLOTS = 4
TABLE_BYTES = 200

# Value record: what an argument must be, or a result is.
VALUE_DTYPE = 0  # the dtype object
VALUE_ELEMENT_TYPE = 8
VALUE_RANK = 16
VALUE_DIMS = 24  # address of the dims
VALUE_SIZE = 32  # bytes
VALUE_BYTES = 40

# Instance: what one running call needs.
CALL_OUT = 0  # the invocation, when it is not done at once
CALL_BYTES = 8  # its size
CALL_WORDS = 16  # then n argument views and m result views; a side record for each argument and result;
# the plan's sources: n + a addresses; the blocks of its a allocations, and the instances of its command buffers.
SIDE_COPY = 0  # of an argument: an aligned copy of its bytes, or 0. Of a result: 1 if it shares no memory
SIDE_OBJECT = 8  # of an argument: what owns the bytes, referenced during the call. Of a result: the new object
SIDE_DATA = 16  # of an argument: address of its bytes
SIDE_SCALAR = 24  # of an argument: 16 bytes, where a number is put
CALL_SIDE_BYTES = 40

GIL_NANOSECONDS = 50000  # a call that took longer gives up the GIL at its start the next time

# Plan record: what a function without control flow does.
PLAN_ALLOCATIONS, PLAN_ALLOCATION_COUNT = 0, 8  # address of words: bytes of each
PLAN_LAUNCHES, PLAN_LAUNCH_COUNT = 16, 24  # address of launch records
PLAN_RESULTS = 32  # address of a result record for each result
PLAN_BYTES = 40

LAUNCH_PLACE = 0  # address of the global's reference to the command buffer
LAUNCH_COMMANDS = 8  # the command buffer itself
LAUNCH_DEVICE = 16
LAUNCH_BINDINGS, LAUNCH_BINDING_COUNT = 24, 32  # address of triples: source, offset, length
LAUNCH_BYTES = 40

RESULT_SOURCE, RESULT_OFFSET, RESULT_LENGTH = 0, 8, 16
RESULT_IS_OWN = 24  # 1: an allocation is this result's alone
RESULT_BYTES = 32

# CPython's objects.
HEADER = object.__basicsize__  # reference count and type; longer in free-threaded builds
OBJECT_TYPE_FIELD = HEADER - 8
SEQUENCE_SIZE = HEADER
TUPLE_ITEMS = HEADER + 8  # the items themselves
LIST_ITEMS_FIELD = HEADER + 8  # their address
CAPSULE_POINTER = HEADER
NUMBER_VALUE = HEADER  # of float, complex and NumPy's scalars

# NumPy's array object.
ARRAY_DATA, ARRAY_RANK, ARRAY_DIMS, ARRAY_STRIDES = HEADER, HEADER + 8, HEADER + 16, HEADER + 24
ARRAY_BASE, ARRAY_DTYPE, ARRAY_FLAGS = HEADER + 32, HEADER + 40, HEADER + 48
FLAGS_READABLE = 0x101  # C-contiguous and aligned
FLAGS_RESULT = 0x501  # and writable
NEW_FROM_DESCR = 94  # its place in NumPy's table of C functions
