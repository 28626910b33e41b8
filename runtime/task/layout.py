"""Memory layouts of the task system: constants only (byte offsets), importable without numba."""

# Executor: each contended word has a cache line of its own.
EXECUTOR_HEAD = 0  # ring position of the oldest node that may have unclaimed workgroups
EXECUTOR_TAIL = 64  # ring position of the next node to be published
EXECUTOR_FUTEX = 128  # 32-bit event counter that parked threads sleep on
EXECUTOR_SLEEPERS = 192  # threads parked, or about to
EXECUTOR_STOP = 256  # 1: workers leave their loop
EXECUTOR_RING = 320  # address of the slots
EXECUTOR_MASK = 328  # slot count - 1
EXECUTOR_SPIN = 336  # polls before parking
EXECUTOR_THREADS = 344  # worker threads started
EXECUTOR_WANTED = 352  # 1: a submission would have woken workers, but none is started yet
EXECUTOR_GENERATION = 360  # counts forks: a fence of an older generation is never signalled
EXECUTOR_WORKERS = 368  # worker threads that are to be started
EXECUTOR_SEQUENCE = 376  # number of the last submission
EXECUTOR_LIVE = 384  # worker threads now in their loop
EXECUTOR_PLACES = 392  # address of the places of the workers, or 0 when they are free to move
EXECUTOR_FREE_CORE = 400  # the core that no worker is pinned to
EXECUTOR_DONATING = 448  # parked waiters that also take work
EXECUTOR_ADMITTED = 512  # ring slots that running submissions may need at once
EXECUTOR_LOCK = 576  # spin lock of the four words below
EXECUTOR_ACTIVE = 584  # first running submission
EXECUTOR_SCRATCH = 592  # free local memories of calling threads, linked by their first word
EXECUTOR_NODES = 600  # free nodes, linked through NODE_NEXT_FREE
EXECUTOR_DEFERRED = 640  # executions that wait for a fence
EXECUTOR_BYTES = 704

PLACE_THREAD = 0  # the system's number of the worker thread; 0 before it runs
PLACE_CORE = 8  # the core that it is pinned to
PLACE_BYTES = 16

RING_SLOTS = 1 << 15
ADMISSION_LIMIT = 1 << 14  # half the ring: stale entries and the other submissions' nodes fit beside it

# Node: one dispatch of a submission, or a barrier. Nodes live in slabs that are never returned: a worker that
# was preempted may still fetch-add on NODE_NEXT of a node whose submission is long gone.
NODE_NEXT = 0  # epoch << 32 | next workgroup to claim, or a bit for each claim that is taken
NODE_DONE = 64  # workgroups finished
NODE_TOTAL = 128  # epoch << 32 | workgroup count
NODE_PENDING = 136  # predecessors that are not complete
NODE_DEPENDENCIES = 144  # predecessors in all
NODE_SUCCESSORS = 152  # address of an array of node addresses
NODE_SUCCESSOR_COUNT = 160
NODE_WORK = 168  # work record, or 0 for a barrier
NODE_SUBMISSION = 176
NODE_GRAIN = 184  # workgroups of one claim
NODE_NEXT_FREE = 192
NODE_SPLIT = 200  # epoch << 32 | workgroups of one claim where claims have bits, or 0
NODE_BYTES = 256
NODES_PER_SLAB = 256

CLAIM_BITS = 32

# Work record: what one dispatch calls. It begins with the dispatch state of the executable ABI.
WORK_GROUP_SIZE_X, WORK_GROUP_SIZE_Y, WORK_GROUP_SIZE_Z = 0, 4, 8
WORK_CONSTANT_COUNT = 10
WORK_COUNT_X, WORK_COUNT_Y, WORK_COUNT_Z = 12, 16, 20
WORK_MAX_CONCURRENCY, WORK_BINDING_COUNT = 22, 23
WORK_CONSTANTS, WORK_BINDING_POINTERS, WORK_BINDING_LENGTHS = 24, 32, 40
WORK_FUNCTION = 64
WORK_ENVIRONMENT = 72
WORK_NX, WORK_NY = 80, 88  # the counts again, as words
WORK_TILES = 96  # x * y * z
WORK_FLAGS = 104  # WORK_FLUSH_DENORMALS, WORK_SEQUENTIAL
WORK_LOCAL_BYTES = 112  # workgroup local memory that the kernel needs
WORK_COST = 120  # address of a word with the measured nanoseconds of one workgroup, or 0
WORK_INDIRECT = 128  # address of three u32 workgroup counts read when the dispatch is ready, or 0
WORK_BYTES = 192

WORK_FLUSH_DENORMALS = 1
WORK_SEQUENTIAL = 2  # the workgroups must run in their order: one claim takes them all

# Submission: a graph of nodes in flight.
SUBMISSION_REMAINING = 0  # nodes that are not complete
SUBMISSION_STATUS = 64  # 0, or IREE's status code | kernel's return code << 8; not 0 stops what has not begun
SUBMISSION_NODE_COUNT = 72
SUBMISSION_ROOTS = 80  # address of an array of node addresses
SUBMISSION_ROOT_COUNT = 88
SUBMISSION_WIDTH = 96  # ring slots that its nodes may take at once
SUBMISSION_ON_DONE = 104  # address of `i64 on_done(submission)`, called by who completes the last node
SUBMISSION_EXECUTOR = 112
SUBMISSION_OWNER = 120  # the submitting thread
SUBMISSION_NUMBER = 128
SUBMISSION_PREVIOUS, SUBMISSION_FOLLOWING = 136, 144  # the executor's list of running submissions
SUBMISSION_BYTES = 192

# Workgroup state of the executable ABI, and two words of our own behind it.
GROUP_X, GROUP_Y, GROUP_Z = 0, 4, 8
GROUP_PROCESSOR = 12
GROUP_LOCAL, GROUP_LOCAL_BYTES = 16, 24
GROUP_EXECUTOR = 32
GROUP_SCRATCH = 40  # local memory borrowed from the executor, to be given back
GROUP_BYTES = 64

# Workgroup local memory of each thread: reserved address space, touched only as far as kernels use it.
LOCAL_BYTES = 1 << 20

STATUS_CANCELLED = 1
STATUS_RESOURCE_EXHAUSTED = 8
STATUS_INTERNAL = 13
