"""Native calls of Fortran routines, which take addresses only.

Enters: a routine's address and a table of its arguments. Leaves: the memory behind the arguments, changed.
"""

from pyiree.runtime.native.intrinsics import indirect_call, load_i64, native, store_i64
from pyiree.runtime.native.layout import FORTRAN_ARGUMENTS

_call = indirect_call(FORTRAN_ARGUMENTS)


@native("void(int64,int64,int64)")
def fortran_batch(routine, count, table):
    """Calls a routine `count` times. For each argument the table has an address, and by how many bytes it moves
    from one call to the next; the addresses are moved in place."""
    for _ in range(count):
        _call(
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
        for k in range(FORTRAN_ARGUMENTS):
            place = table + 16 * k
            store_i64(place, load_i64(place) + load_i64(place + 8))
