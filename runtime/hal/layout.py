"""Memory layouts of the HAL's native objects: constants only (byte offsets), importable without numba.

Objects begin with the header of `native/layout.py`; the offsets here count from the object's address.
"""

# Allocator: free blocks by size class, and statistics.
ALLOCATOR_POOL = 32  # address of the pool
ALLOCATOR_BYTES = 40

POOL_LOCK = 0
POOL_LIVE = 64  # bytes in blocks that are handed out
POOL_PEAK = 72
POOL_CACHED = 80  # bytes in free blocks
POOL_ALLOCATIONS = 88  # blocks handed out since the start
POOL_LIVE_BLOCKS = 96
POOL_CACHE_LIMIT = 104  # large free blocks above this go back to the system
POOL_CHUNK, POOL_CHUNK_END = 112, 120  # what is left of the slab that small blocks are cut from
POOL_FREE = 128  # heads of the free lists, one a size class
POOL_CLASSES = 192
POOL_BYTES = POOL_FREE + 8 * POOL_CLASSES
POOL_ALIGNMENT = 2048  # of a pool's address: what is added to it below this is a size class

SLAB_BYTES = 1 << 20
LARGEST_SLAB_BLOCK = 1 << 16  # larger blocks are allocations of their own
HUGE_PAGE = 1 << 21
BLOCK_ALIGNMENT = 64

# Buffer: bytes of an allocation (a root), or a part of a root.
BUFFER_ROOT = 32  # 0: this is a root; else the retained root
BUFFER_DATA = 40  # of a root: address of the first byte
BUFFER_OFFSET = 48  # in the root
BUFFER_LENGTH = 56
BUFFER_MEMORY_TYPE = 64
BUFFER_USAGE = 72
BUFFER_KIND = 80  # of a root: BUFFER_KIND_*
BUFFER_OWNER = 88  # of a root: pool (KIND_POOL) or retained object (KIND_OWNED)
BUFFER_CLASS = 96  # of a root from a pool: its size class
BUFFER_BYTES = 104

BUFFER_KIND_POOL = 0  # its block returns to the pool
BUFFER_KIND_BORROWED = 1  # a caller's memory, valid during one call: moved to a block if the module keeps it
BUFFER_KIND_OWNED = 2  # memory of another object (module data, a Python owner): read-only for the world

# Buffer view: a shaped and typed range of a root.
VIEW_BUFFER = 32  # retained root
VIEW_OFFSET = 40  # in the root
VIEW_LENGTH = 48
VIEW_ELEMENT_TYPE = 56
VIEW_ENCODING = 64
VIEW_RANK = 72
VIEW_DIMS = 80  # rank words
VIEW_BYTES = 80

MAXIMUM_RANK = 128

# Fence: signalled once.
FENCE_STATE = 32  # 0 pending, FENCE_SIGNALLED, or a failure: FENCE_FAILED | a submission's status
FENCE_WAITERS = 40  # list of waiter records, or CLOSED once signalled
FENCE_REMAINING = 48  # of a joined fence: how many it still waits for
FENCE_EXECUTOR = 56  # who waits for it works here
FENCE_GENERATION = 64  # the executor's at creation
FENCE_BYTES = 72

FENCE_SIGNALLED = 1
FENCE_FAILED = 1 << 60
WAITERS_CLOSED = 1

WAITER_NEXT = 0
WAITER_KIND = 8
WAITER_TARGET = 16  # retained fence, or an instance
WAITER_CODE = 24  # the state of the fence that set it free
WAITER_BYTES = 32
WAITER_SIGNAL = 0  # passes the state on to a fence
WAITER_JOIN = 1  # counts down a joined fence
WAITER_EXECUTE = 2  # starts an instance

# Device.
DEVICE_KIND = 32  # DEVICE_*
DEVICE_EXECUTOR = 40
DEVICE_ALLOCATOR = 48  # retained
DEVICE_INDEX = 56
DEVICE_BYTES = 64
DEVICE_SYNC = 0
DEVICE_TASK = 1
DEVICE_NULL = 2

# Executable: a mapped ELF and its exports.
EXECUTABLE_EXPORTS = 32  # address of the export records
EXECUTABLE_COUNT = 40
EXECUTABLE_ENVIRONMENT = 48
EXECUTABLE_MAPPING, EXECUTABLE_MAPPING_BYTES = 56, 64
EXECUTABLE_CONSTANTS = 72
EXECUTABLE_BYTES = 80

EXPORT_FUNCTION = 0
EXPORT_CONSTANT_COUNT = 8
EXPORT_BINDING_COUNT = 16
EXPORT_LOCAL_BYTES = 24
EXPORT_COST = 32  # measured nanoseconds of one workgroup, 0 if unknown
EXPORT_FLAGS = 40  # the work record's flags
EXPORT_SIZE_X, EXPORT_SIZE_Y, EXPORT_SIZE_Z = 48, 56, 64  # workgroup size
EXPORT_NAME, EXPORT_NAME_LENGTH = 72, 80
EXPORT_ENVIRONMENT = 88
EXPORT_BYTES = 128

ENVIRONMENT_CONSTANTS = 0
ENVIRONMENT_PROCESSOR = 32  # 8 words
ENVIRONMENT_BYTES = 96

# Command buffer: what was recorded, in growing arrays.
COMMANDS_DEVICE = 32  # retained
COMMANDS_MODES = 40
COMMANDS_CAPACITY = 48  # binding table slots
COMMANDS_FINAL = 56
COMMANDS_RECORDS, COMMANDS_COUNT, COMMANDS_ROOM = 64, 72, 80
COMMANDS_BINDINGS, COMMANDS_BINDING_COUNT, COMMANDS_BINDING_ROOM = 88, 96, 104
COMMANDS_DATA, COMMANDS_DATA_BYTES, COMMANDS_DATA_ROOM = 112, 120, 128  # constants and update payloads
COMMANDS_RESOURCES, COMMANDS_RESOURCE_COUNT, COMMANDS_RESOURCE_ROOM = 136, 144, 152  # retained objects
COMMANDS_GROUP = 160  # number of the group (commands between two barriers) being recorded
COMMANDS_GROUP_START = 168  # its first command
COMMANDS_NODES = 176  # nodes of one instance, extra barriers counted (set by finalize)
COMMANDS_EDGES = 184  # successor entries of one instance
COMMANDS_WIDTH = 192  # most commands of a group
COMMANDS_LOCAL = 200
COMMANDS_INSTANCES = 208  # INSTANCE_CACHE words: idle instances
COMMANDS_RUNS = 240
COMMANDS_SPREAD_TIME = 248  # nanoseconds of an execution by all threads, a running mean
COMMANDS_ALONE = 256  # how many of the next executions the calling thread does alone, as that was faster
COMMANDS_TRIALS = 264  # executions by all threads since the last one by the calling thread alone
COMMANDS_BYTES = 272
INSTANCE_CACHE = 4

COMMAND_EXPORT = 0  # export record (dispatch) or 0 (transfer)
COMMAND_FUNCTION = 8
COMMAND_ENVIRONMENT = 16
COMMAND_X, COMMAND_Y, COMMAND_Z = 24, 32, 40
COMMAND_GROUP = 48
COMMAND_CONSTANTS, COMMAND_CONSTANT_COUNT = 56, 64  # offset in the data
COMMAND_BINDINGS, COMMAND_BINDING_COUNT = 72, 80  # first binding
COMMAND_FLAGS = 88
COMMAND_INDIRECT = 96  # binding number + 1 of the workgroup counts, 0: direct
COMMAND_COST = 104  # estimated nanoseconds of a transfer's workgroup
COMMAND_BYTES = 112

BINDING_SLOT = 0  # binding table slot, SLOT_DIRECT or SLOT_DATA
BINDING_BUFFER = 8  # root of a direct binding
BINDING_OFFSET = 16
BINDING_LENGTH = 24
BINDING_BYTES = 32
SLOT_DIRECT = -1
SLOT_DATA = -2  # the offset is in the command buffer's data

MODE_ONE_SHOT = 1

# Instance: one execution of a command buffer in flight, begun by a submission of the task system.
INSTANCE_SUBMISSION = 0
INSTANCE_COMMANDS = 192  # retained while in flight
INSTANCE_SIGNAL = 200  # retained fence, or 0
INSTANCE_DEVICE = 208  # device object, kept by the command buffer or the VM
INSTANCE_TABLE = 216  # retained roots of the binding table
INSTANCE_TABLE_COUNT = 224
INSTANCE_NODES = 232  # array of node addresses; 0 until the first submission
INSTANCE_WORK = 240  # array of work records, one a command
INSTANCE_POINTERS = 248  # binding pointers of all commands
INSTANCE_LENGTHS = 256
INSTANCE_EDGES = 264
INSTANCE_ROOTS = 272
INSTANCE_EXECUTOR = 280  # whose nodes these are
INSTANCE_BEGAN = 288  # when it was submitted
INSTANCE_ESTIMATE = 296  # nanoseconds that one thread would take, -1: unknown
INSTANCE_BYTES = 320

# File: a range of memory.
FILE_BUFFER = 32  # retained buffer
FILE_WRITABLE = 40
FILE_BYTES = 48

# HAL module state: what `module_state` is for the `hal` imports.
STATE_DEVICE_COUNT = 0
STATE_DEVICES = 8  # retained device objects
STATE_BYTES = 136
MAXIMUM_DEVICES = 16

TRANSFER_TILE = 1 << 18  # bytes that one workgroup of a fill or copy handles
INLINE_NANOSECONDS = 15000  # programs estimated below this run on the calling thread alone
COLD_TRIALS = 6  # executions by all threads until they are awake, and each has its part of the data in its cache
WARM_TRIALS = 4  # and how many more are measured
ALONE_NANOSECONDS = 500000  # and programs below this, where sharing them out was measured to be no faster
CLAIM_NANOSECONDS = 10000  # what one claim of workgroups should take
LONGEST_CLAIM = 200000  # and what it may take where that makes few claims of many
FEW_THREADS = 8  # for which few claims are enough

ELEMENT_BITS = 0xFFFF  # of an element type: the size of one
