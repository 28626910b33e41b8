"""Memory layouts of the entry for Python calls: constants only, importable without numba.

    caller ── records ──> record ── tokens: the structure of its arguments
                                 ├─ leaves: what each leaf must be
                                 └─ program: its table
"""

from pyiree.runtime.calls.entry_layout import HEADER

# Callable: an instance of a class of `native_callable`.
CALLABLE_ENTRY = HEADER  # the address of the native entry, 0: none
CALLABLE_TABLE = HEADER + 8  # the array in which the caller lies
CALLABLE_BYTES = HEADER + 16

# Caller: what stands behind one callable, in memory of Python's. A call keeps the object that it is in alive.
CALLER_SLOW = 0  # callable(self, *args, **kwargs): takes what no record fits
CALLER_GUARD = 8  # callable() giving a tuple: a record holds only where its items are the same objects
CALLER_GETTER, CALLER_STATE, CALLER_WANTED = 16, 24, 32  # getter(state) must be the wanted object, else it's slow
CALLER_RECORDS, CALLER_RECORD_COUNT = 40, 48  # address of the records' addresses
CALLER_LEAVES = 56  # most leaves of a record
CALLER_LAST = 64  # number of the record that took the last call
CALLER_BYTES = 72

RECORD_CONTEXT = 0  # tuple that the guard has to give again
RECORD_ARGUMENTS = 8  # positional arguments
RECORD_NAMES, RECORD_NAME_COUNT = 16, 24  # address of the names of keyword arguments
RECORD_TOKENS = 32  # of each positional argument, then of each keyword argument in the order of the names
RECORD_LEAVES, RECORD_LEAF_COUNT = 40, 48
RECORD_PROGRAM = 56  # a program's table
RECORD_INPUTS = 64  # address of a word for each argument of the program: the leaf it is, or -1 - a constant's number
RECORD_CONSTANTS = 72  # address of the constants: NumPy arrays
RECORD_RESULT_KIND = 80  # RESULT_*
RECORD_OUTPUT = 88  # address of the tokens of the result's structure, 0: `unflatten` makes it
RECORD_UNFLATTEN = 96  # callable(list of leaves)
RECORD_LIBRARY = 104  # address of the device array's record, or of the other library's
RECORD_KINDS = 112  # address of the shape tuple of each result, or of what the other library calls its kind
RECORD_DELETED, RECORD_DELETED_COUNT = 120, 128  # address of the numbers of the leaves that are given up
RECORD_DELETE = 136  # the name of the method that gives a leaf up
RECORD_UNUSED, RECORD_UNUSED_COUNT = 144, 152  # address of the numbers of other libraries' arrays that aren't inputs
RECORD_HOLDS = 160  # 1: other code may run before the leaves were last looked at, so that they are referenced
RECORD_BYTES = 168

RESULT_NUMPY = 0
RESULT_DEVICE = 1
RESULT_FOREIGN = 2

# Token: a node of a structure; its children follow.
TOKEN_KIND = 0
TOKEN_COUNT = 8  # children
TOKEN_TYPE = 16  # exact type of the object
TOKEN_OBJECTS = 24  # of a dict: address of the keys; of a static argument: the value itself
TOKEN_KEY = 32  # of a dict: exact type of all keys, str or int
TOKEN_BYTES = 40

TOKEN_LEAF = 0
TOKEN_TUPLE = 1
TOKEN_LIST = 2
TOKEN_DICT = 3
TOKEN_NONE = 4
TOKEN_SAME = 5  # a static argument: the very object
TOKEN_EQUAL = 6  # a static argument: an equal object of that type, whose comparison runs no Python code

# Leaf: what one leaf must be, and how the program gets its bytes.
LEAF_KIND = 0
LEAF_TYPE = 8  # exact type
LEAF_DTYPE, LEAF_RANK, LEAF_DIMS = 16, 24, 32  # of arrays
LEAF_DETAIL = 40  # of a device array or another library's: its record; of what is converted: the FORMAT_* wanted
LEAF_SHAPE = 48  # of a device array: the tuple
LEAF_SIZE = 48  # of an array that is converted: bytes then
LEAF_ARRAY_KIND, LEAF_LAYOUT = 16, 24  # of another library's array, in place of dtype and rank; a layout of 0: any
LEAF_BYTES = 56

LEAF_ARRAY = 0  # a NumPy array
LEAF_DEVICE = 1  # a device array whose content is there
LEAF_NUMBER = 2  # a Python number
LEAF_SCALAR = 3  # a NumPy scalar
LEAF_FOREIGN = 4  # another library's array
LEAF_NARROWED = 5  # a small NumPy array of a wider type than the program's, with the format of its elements

# Formats that Python numbers, and wider elements, are put in.
FORMAT_BOOL = 0
FORMAT_I32, FORMAT_I64 = 1, 2
FORMAT_F32, FORMAT_F64 = 3, 4
FORMAT_C64, FORMAT_C128 = 5, 6

# Device array's record: how to read and to make one.
DEVICE_TYPE = 0
DEVICE_CAPSULE, DEVICE_HOST, DEVICE_SHAPE, DEVICE_DTYPE = 8, 16, 24, 32  # where its fields are in it
DEVICE_EMPTY, DEVICE_EMPTY_COUNT = 40, 48  # address of the places of the fields that hold None in a new one
DEVICE_NONE = 56  # None
DEVICE_CAPSULE_TYPE, DEVICE_ARRAY_TYPE = 64, 72  # what the first two fields hold, if not None
DEVICE_BYTES = 80

# Another library's record: functions of one of its arrays, and how to make one.
FOREIGN_POINTER = 0  # the address of its bytes; raises where it was deleted
FOREIGN_KIND = 8  # an object that stands for its shape and dtype
FOREIGN_LAYOUT = 16  # an object that stands for the order of its bytes
FOREIGN_PLACE, FOREIGN_PLACE_TYPE = 24, 32  # where it is, and the type of that object for one that can be read
FOREIGN_READY, FOREIGN_TRUE = 40, 48  # whether its bytes are there, and True
FOREIGN_WAIT = 56
FOREIGN_PUT, FOREIGN_TARGET, FOREIGN_DEVICES = 64, 72, 80  # put(kind, target, [NumPy array], devices)
FOREIGN_BYTES = 88
