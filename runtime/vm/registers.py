"""Register access: what an operand in the bytecode names, in the frame at hand.

Enters: the address of a u16 operand, and the frame's value registers or references. Leaves: the value; or a
changed register, with the count of a reference kept right.
"""

from pyiree.runtime.native.intrinsics import (
    load_i32,
    load_i64,
    load_u16,
    native,
    store_i32,
    store_i64,
)
from pyiree.runtime.native.objects import release, retain
from pyiree.runtime.vmfb import isa

REF_ORDINAL = ~(isa.REF_BIT | isa.MOVE_BIT) & 0xFFFF
MOVE_BIT = isa.MOVE_BIT


@native("int64(int64,int64)")
def value32(at, registers):
    """The 32-bit register that the operand at an address names."""
    return load_i32(registers + 4 * load_u16(at))


@native("int64(int64,int64)")
def value64(at, registers):
    return load_i64(registers + 4 * load_u16(at))


@native("void(int64,int64,int64)")
def set32(at, registers, value):
    store_i32(registers + 4 * load_u16(at), value)


@native("void(int64,int64,int64)")
def set64(at, registers, value):
    store_i64(registers + 4 * load_u16(at), value)


@native("int64(int64,int64)")
def borrow_ref(at, refs):
    """The reference that the operand at an address names, still owned by its register."""
    return load_i64(refs + 8 * (load_u16(at) & REF_ORDINAL))


@native("int64(int64,int64)")
def take_ref(at, refs):
    """The same, owned by the caller: moved out of the register if the operand says so."""
    register = load_u16(at)
    place = refs + 8 * (register & REF_ORDINAL)
    ref = load_i64(place)
    if register & MOVE_BIT:
        store_i64(place, 0)
    else:
        retain(ref)
    return ref


@native("void(int64,int64,int64)")
def put_ref(at, refs, ref):
    """Gives an owned reference to a register, which releases what it held."""
    place = refs + 8 * (load_u16(at) & REF_ORDINAL)
    old = load_i64(place)
    store_i64(place, ref)
    release(old)


@native("void(int64,int64)")
def drop_moved(at, refs):
    """Empties the register of an operand that is marked as moved."""
    register = load_u16(at)
    if register & isa.REF_BIT and register & MOVE_BIT:
        put_ref(at, refs, 0)
