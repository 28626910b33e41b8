"""Memory layouts of the native object model: constants only, importable without numba.

Every VM reference is an int64 address (0 = null) of an object whose first four words are the header
below; what follows is the payload of its type. All offsets are in bytes.
"""

# Object header.
OBJECT_COUNT = 0  # reference count, changed atomically
OBJECT_TYPE = 8  # one of the TYPE_* ordinals
OBJECT_DESTROY = 16  # address of `void destroy(i64 object)`, called when the count reaches zero
OBJECT_ID = 24  # key of the Python side in its table, 0 if the object is all native
OBJECT_PAYLOAD = 32

# Type ordinals of objects, and tags of values in a list. Value types come first.
TYPE_NONE = 0
TYPE_I8 = 1
TYPE_I16 = 2
TYPE_I32 = 3
TYPE_I64 = 4
TYPE_F32 = 5
TYPE_F64 = 6
TYPE_OPAQUE = 16  # as a wanted type: any reference
TYPE_BUFFER = 17
TYPE_LIST = 18
TYPE_HAL_ALLOCATOR = 32
TYPE_HAL_BUFFER = 33
TYPE_HAL_BUFFER_VIEW = 34
TYPE_HAL_CHANNEL = 35
TYPE_HAL_COMMAND_BUFFER = 36
TYPE_HAL_DEVICE = 37
TYPE_HAL_EXECUTABLE = 38
TYPE_HAL_FENCE = 39
TYPE_HAL_FILE = 40
FIRST_REF_TYPE = TYPE_OPAQUE

TYPE_ORDINALS = {
    "i8": TYPE_I8,
    "i16": TYPE_I16,
    "i32": TYPE_I32,
    "i64": TYPE_I64,
    "f32": TYPE_F32,
    "f64": TYPE_F64,
    "!vm.opaque": TYPE_OPAQUE,
    "!vm.buffer": TYPE_BUFFER,
    "!hal.allocator": TYPE_HAL_ALLOCATOR,
    "!hal.buffer": TYPE_HAL_BUFFER,
    "!hal.buffer_view": TYPE_HAL_BUFFER_VIEW,
    "!hal.channel": TYPE_HAL_CHANNEL,
    "!hal.command_buffer": TYPE_HAL_COMMAND_BUFFER,
    "!hal.device": TYPE_HAL_DEVICE,
    "!hal.executable": TYPE_HAL_EXECUTABLE,
    "!hal.fence": TYPE_HAL_FENCE,
    "!hal.file": TYPE_HAL_FILE,
}

# vm.buffer
BUFFER_DATA = OBJECT_PAYLOAD  # address of the bytes
BUFFER_LENGTH = OBJECT_PAYLOAD + 8
BUFFER_ACCESS = OBJECT_PAYLOAD + 16  # ACCESS_* bits
BUFFER_FREE = OBJECT_PAYLOAD + 24  # FREE_* kind
BUFFER_OWNER = OBJECT_PAYLOAD + 32  # object retained while this buffer lives, or 0
BUFFER_BLOCK = OBJECT_PAYLOAD + 40  # what FREE_MALLOC frees: the block around the aligned bytes
BUFFER_BYTES = OBJECT_PAYLOAD + 48

ACCESS_MUTABLE = 1
ACCESS_ORIGIN_MODULE = 2
ACCESS_ORIGIN_GUEST = 4
ACCESS_ORIGIN_HOST = 8

FREE_NOTHING = 0  # the bytes belong to somebody else (a module's rodata, the host)
FREE_MALLOC = 1

# vm.list: items are pairs of words (value, type tag); a value of an untouched item is 0.
LIST_ITEMS = OBJECT_PAYLOAD
LIST_SIZE = OBJECT_PAYLOAD + 8
LIST_CAPACITY = OBJECT_PAYLOAD + 16
LIST_ELEMENT = OBJECT_PAYLOAD + 24  # type ordinal of the elements; TYPE_NONE: any value
LIST_BYTES = OBJECT_PAYLOAD + 32
LIST_ITEM_BYTES = 16
LIST_MAXIMUM = 1 << 24  # items; a list holds arguments and handles, not data

# Status codes of imports and invocations; 0 is success, the positive ones are IREE's.
OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16
DEFERRED = 17
INCOMPATIBLE = 18
SUSPEND = -1  # an import would block: call it again later with the same arguments
SLOW = -3  # success, after a long time: the interpreter looks at its clock
ASK_PYTHON = -4  # a native import leaves the call to the Python function that it has beside it

# The results array of an import call always has room for this many bytes. An import that fails may leave
# its message there: word 0 the byte count, then the bytes.
MESSAGE_BYTES = 512
