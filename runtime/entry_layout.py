"""Memory layouts of the native call entry: constants only, importable without numba.

CPython's and NumPy's object fields at the end; `program.check_layout` compares them with real objects.
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
TABLE_INSTANCES = 136  # INSTANCE_SLOTS idle instances
INSTANCE_SLOTS = 4
TABLE_BYTES = 192

# Value record: what an argument must be, or a result is.
VALUE_DTYPE = 0  # the dtype object
VALUE_ELEMENT_TYPE = 8
VALUE_RANK = 16
VALUE_DIMS = 24  # address of the dims
VALUE_SIZE = 32  # bytes of an argument
VALUE_BYTES = 40

# Instance: what one running call needs.
CALL_OUT = 0  # the invocation, when it is not done at once
CALL_WORDS = 8  # then n argument views, m result views, and for each argument and result two words more:
CALL_SIDE_BYTES = 16
SIDE_COPY = 0  # of an argument: an aligned copy of its bytes, or 0. Of a result: 1 if it shares no memory
SIDE_ARRAY = 8  # of an argument: the array, referenced during the call

GIL_NANOSECONDS = 50000  # a call that took longer gives up the GIL at its start the next time

# CPython's objects.
HEADER = object.__basicsize__  # reference count and type; longer in free-threaded builds
OBJECT_TYPE_FIELD = HEADER - 8
SEQUENCE_SIZE = HEADER
TUPLE_ITEMS = HEADER + 8  # the items themselves
LIST_ITEMS_FIELD = HEADER + 8  # their address

# NumPy's array object.
ARRAY_DATA, ARRAY_RANK, ARRAY_DIMS, ARRAY_STRIDES = HEADER, HEADER + 8, HEADER + 16, HEADER + 24
ARRAY_BASE, ARRAY_DTYPE, ARRAY_FLAGS = HEADER + 32, HEADER + 40, HEADER + 48
FLAGS_READABLE = 0x101  # C-contiguous and aligned
FLAGS_RESULT = 0x501  # and writable
NEW_FROM_DESCR = 94  # its place in NumPy's table of C functions
