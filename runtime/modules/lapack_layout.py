"""Memory layouts of LAPACK calls: constants only (byte offsets), importable without numba.

A plan says how a routine is called for arrays of certain shapes. Plans of one import form a list, which only grows.
"""

# What an import of a routine has.
STATE_PLANS = 0
STATE_POOL = 8  # results and workspaces are of this memory pool
STATE_BYTES = 16

PLAN_NEXT = 0
PLAN_ROUTINE = 8  # address
PLAN_COUNT = 16  # items of the batch
PLAN_OPERANDS, PLAN_SCALARS, PLAN_RESULTS, PLAN_ARGUMENTS, PLAN_COPIES, PLAN_UNPACKS = 24, 32, 40, 48, 56, 64  # counts
PLAN_KEY = 72  # address: for each operand its element type, rank and dims; then the scalars
PLAN_RESULT_RECORDS, PLAN_ARGUMENT_RECORDS, PLAN_COPY_RECORDS, PLAN_UNPACK_RECORDS = 80, 88, 96, 104  # addresses
PLAN_SCRATCH_BYTES = 112
PLAN_GUARD = 120  # address of the record of what must be finite, or 0
PLAN_GUARD_ITEM = 128  # bytes of an item of it
PLAN_INFO = 136  # address of the record that gets an item's failure
PLAN_FLOAT_BYTES = 144  # of a real number
PLAN_ORDER = 152  # of the matrices whose eigenvectors are unpacked
PLAN_BYTES = 160

# An array of a call.
ARRAY_PLACE = 0  # PLACE_*
ARRAY_NUMBER = 8  # which operand or result; offset in the scratch memory; address
ARRAY_SKIPPED = 16  # bytes in front
ARRAY_STRIDE = 24  # bytes from one item of the batch to the next
ARRAY_BYTES = 32
PLACE_OPERAND, PLACE_RESULT, PLACE_SCRATCH, PLACE_FIXED = 0, 1, 2, 3

RESULT_SIZE = 0
RESULT_ELEMENT_TYPE = 8
RESULT_RANK = 16
RESULT_DIMS = 24  # address
RESULT_SOURCE = 32  # the operand that it starts as a copy of, or -1
RESULT_BYTES = 40

COPY_OFFSET = 0  # in the scratch memory
COPY_OPERAND = 8
COPY_SIZE = 16
COPY_BYTES = 24

# Eigenvectors of a real matrix: imaginary parts of the eigenvalues, packed vectors, complex vectors; three arrays.
UNPACK_BYTES = 3 * ARRAY_BYTES

# How many arguments a call of a Fortran routine passes: as many as any routine has, and some that it ignores.
FORTRAN_ARGUMENTS = 20
TABLE_BYTES = 16 * FORTRAN_ARGUMENTS  # an address and a stride each
NOT_FINITE = -4  # the info of a matrix with NaN or infinity: what LAPACK says where it looks for them
