"""Memory layouts of the interpreter: constants only, importable without numba. Offsets are in bytes.

A context block holds what all invocations share; a function record says where a function's code lies and
what it takes; an invocation block is a header with a stack of frames behind it.
"""

# How `vm_invoke` and `vm_resume` come back.
DONE = 0
FAILED = 1
SUSPENDED = 2
PYTHON_CALL = 3

# Why an invocation is suspended.
REASON_IMPORT = 1  # an import asked to be called again
REASON_TIME = 2  # its time slice is over
REASON_YIELD = 3  # the program yielded

# Context block.
CONTEXT_FUNCTIONS = 0  # function records
CONTEXT_IMPORTS = 8  # import records
CONTEXT_TYPES = 16  # i64 type ordinals, by index in the module's type table
CONTEXT_RODATA = 24  # references of the rodata buffers
CONTEXT_GLOBALS = 32  # bytes of the value globals
CONTEXT_GLOBAL_BYTES = 40
CONTEXT_GLOBAL_REFS = 48  # references of the ref globals
CONTEXT_GLOBAL_REF_COUNT = 56
CONTEXT_STACK_BYTES = 64  # size of an invocation block
CONTEXT_POOL = 128  # POOL_SLOTS addresses of idle invocation blocks, each taken and put by an exchange
POOL_SLOTS = 8
CONTEXT_BYTES = 192

# Function record.
FUNCTION_CODE = 0  # address of the bytecode
FUNCTION_VALUE_BYTES = 8  # of the frame's 32-bit registers, a multiple of 8
FUNCTION_REF_COUNT = 16
FUNCTION_FRAME_BYTES = 24  # header, values and references
FUNCTION_ARGUMENTS = 32  # address of the KIND_* bytes of the arguments
FUNCTION_ARGUMENT_COUNT = 40
FUNCTION_RESULTS = 48
FUNCTION_RESULT_COUNT = 56
FUNCTION_BYTES = 64

# Import record.
IMPORT_FUNCTION = 0  # native address; 0: Python is to perform the call
IMPORT_STATE = 8  # first argument of the native function
IMPORT_RESOLVED = 16  # 0 for an optional import that nothing provides
IMPORT_ARGUMENTS = 24  # address of the KIND_* bytes; a span is KIND_SPAN, its tuple's length, its kinds
IMPORT_ARGUMENT_COUNT = 32  # parameters, a span counting as one
IMPORT_RESULTS = 40
IMPORT_RESULT_COUNT = 48
IMPORT_BYTES = 64

KIND_32, KIND_64, KIND_REF, KIND_SPAN = 0, 1, 2, 3

# Invocation block.
INVOCATION_CONTEXT = 0
INVOCATION_PC = 8  # where to go on; after a failure, the instruction that failed
INVOCATION_FRAME = 16  # the innermost frame, 0 before the first call
INVOCATION_END = 24  # first byte behind the stack
INVOCATION_DEADLINE = 32  # end of the time slice, 0 until the clock is looked at
INVOCATION_STATUS = 40
INVOCATION_REASON = 48
INVOCATION_IMPORT = 56  # ordinal of the import that Python is to call
INVOCATION_ARGUMENTS = 64  # slots of the pending import call
INVOCATION_RESULTS = 72
INVOCATION_PENDING = 80  # PENDING_*
INVOCATION_MESSAGE = 88  # address of a failure's text, 0 if there is none
INVOCATION_MESSAGE_BYTES = 96
INVOCATION_OUTPUT = 104  # where the results of the outermost function go
INVOCATION_IMPORT_STATUS = 112  # outcome of a call made by Python
INVOCATION_FRAMES = 128  # the stack
INVOCATION_DEFAULT_BYTES = 1 << 20

PENDING_NOTHING = 0
PENDING_RETRY = 1  # the import at the pc asked to be called again; its results array is as it left it
PENDING_PYTHON = 2  # Python has performed the call; its status and results stand ready

# Frame.
FRAME_CALLER = 0  # the frame below, 0 for the outermost
FRAME_RETURN = 8  # address of the result register list in the caller's code
FRAME_TARGET = 16  # address of the block where the caller goes on; 0: behind the list
FRAME_FUNCTION = 24  # the function's record
FRAME_HEADER_BYTES = 32
