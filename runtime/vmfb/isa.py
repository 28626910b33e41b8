"""The VM instruction set as data: one row an opcode, and an instruction's bytes from its row.

Enters: mnemonics and operands. Leaves: `CORE`, `F32`, `F64` (opcode → Op), `OPS` (mnemonic → Op), and
`encode`/`decode` of single instructions. Nothing here knows what an instruction does.

Operand fields (`>` in front marks a result register, encoded the same):

    i f      register of the 32-bit bank, u16          glob    u32: byte offset of a value, ordinal of a ref
    I F      even register of that bank (a pair)       type    u32: index in the type table
    r        reference register, u16 with bit 15       rodata  u32: rodata segment
    R        same, bit 14 (MOVE) allowed               func    u32: function; bit 31 marks an import
    #i32 …   immediate of 4 or 8 bytes                 pc      u32: offset of a block marker
    *        u16 count, then as many registers         str     u16 count, then the bytes
    *seg     u16 count, then as many u16 sizes         remap   u16 count, then (source, target) registers
    cases    u16 count, then as many (pc, remap)

The lists `*`, `*seg` and `remap` start at an even offset from the function's start; nothing else is aligned.
"""

import struct
from dataclasses import dataclass

BLOCK_MARKER = 0x79  # in front of every basic block
PREFIX_F32, PREFIX_F64 = 224, 225

REF_BIT = 0x8000
MOVE_BIT = 0x4000
MAX_I32_REGISTERS = 0x7FFF
MAX_REF_REGISTERS = 0x3FFF
IMPORT_BIT = 0x80000000
NOT_VARIADIC = 0xFFFF  # in a segment list: the parameter is no span

# Requirement bits of functions and modules.
REQUIRES_F32, REQUIRES_F64, REQUIRES_YIELD, REQUIRES_UNWIND = 1, 2, 4, 8

_CORE = """
  0 global.load.i32              glob >i
  1 global.store.i32             glob i
  2 global.load.indirect.i32     i >i
  3 global.store.indirect.i32    i i
  4 global.load.i64              glob >I
  5 global.store.i64             glob I
  6 global.load.indirect.i64     i >I
  7 global.store.indirect.i64    i I
  8 global.load.ref              glob type >R
  9 global.store.ref             glob type R
 10 global.load.indirect.ref     i type >R
 11 global.store.indirect.ref    i type R
 12 const.i32.zero               >i
 13 const.i32                    #i32 >i
 14 const.i64.zero               >I
 15 const.i64                    #i64 >I
 16 const.ref.zero               >R
 17 const.ref.rodata             rodata >R
 18 list.alloc                   type i >R
 19 list.reserve                 r i
 20 list.size                    r >i
 21 list.resize                  r i
 22 list.get.i32                 r i >i
 23 list.set.i32                 r i i
 24 list.get.i64                 r i >I
 25 list.set.i64                 r i I
 26 list.get.ref                 r i type >R
 27 list.set.ref                 r i R
 28 select.i32                   i i i >i
 29 select.i64                   i I I >I
 30 select.ref                   i type R R >R
 31 switch.i32                   i i * >i
 32 switch.i64                   i I * >I
 33 switch.ref                   i type R * >R
 34 add.i32                      i i >i
 35 sub.i32                      i i >i
 36 mul.i32                      i i >i
 37 div.i32.s                    i i >i
 38 div.i32.u                    i i >i
 39 rem.i32.s                    i i >i
 40 rem.i32.u                    i i >i
 41 fma.i32                      i i i >i
 42 add.i64                      I I >I
 43 sub.i64                      I I >I
 44 mul.i64                      I I >I
 45 div.i64.s                    I I >I
 46 div.i64.u                    I I >I
 47 rem.i64.s                    I I >I
 48 rem.i64.u                    I I >I
 49 fma.i64                      I I I >I
 50 not.i32                      i >i
 51 and.i32                      i i >i
 52 or.i32                       i i >i
 53 xor.i32                      i i >i
 54 not.i64                      I >I
 55 and.i64                      I I >I
 56 or.i64                       I I >I
 57 xor.i64                      I I >I
 58 shl.i32                      i i >i
 59 shr.i32.s                    i i >i
 60 shr.i32.u                    i i >i
 61 shl.i64                      I i >I
 62 shr.i64.s                    I i >I
 63 shr.i64.u                    I i >I
 64 trunc.i32.i8                 i >i
 65 trunc.i32.i16                i >i
 66 trunc.i64.i32                I >i
 67 ext.i8.i32.s                 i >i
 68 ext.i8.i32.u                 i >i
 69 ext.i16.i32.s                i >i
 70 ext.i16.i32.u                i >i
 71 ext.i32.i64.s                i >I
 72 ext.i32.i64.u                i >I
 73 cmp.eq.i32                   i i >i
 74 cmp.ne.i32                   i i >i
 75 cmp.lt.i32.s                 i i >i
 76 cmp.lt.i32.u                 i i >i
 77 cmp.nz.i32                   i >i
 78 cmp.eq.i64                   I I >i
 79 cmp.ne.i64                   I I >i
 80 cmp.lt.i64.s                 I I >i
 81 cmp.lt.i64.u                 I I >i
 82 cmp.nz.i64                   I >i
 83 cmp.eq.ref                   r r >i
 84 cmp.ne.ref                   r r >i
 85 cmp.nz.ref                   r >i
 86 br                           pc remap
 87 cond_br                      i pc remap pc remap
 88 call                         func * >*
 89 call.variadic                func *seg * >*
 90 return                       *
 91 fail                         i str
 92 import.resolved              func >i
 93 yield                        pc remap
 94 trace                        str *
 95 print                        str *
 96 cond_break                   i pc remap
 97 break                        pc remap
 98 buffer.load.i8.u             r I >i
 99 buffer.load.i8.s             r I >i
100 buffer.load.i16.u            r I >i
101 buffer.load.i16.s            r I >i
102 buffer.load.i32              r I >i
103 buffer.load.i64              r I >I
104 buffer.store.i8              r I i
105 buffer.store.i16             r I i
106 buffer.store.i32             r I i
107 buffer.store.i64             r I I
108 buffer.alloc                 I i >R
109 buffer.clone                 r I I i >R
110 buffer.length                r >I
111 buffer.copy                  r I r I I
112 buffer.compare               r I r I I >i
113 buffer.fill.i8               r I I i
114 buffer.fill.i16              r I I i
115 buffer.fill.i32              r I I i
116 buffer.fill.i64              r I I I
117 ctlz.i32                     i >i
118 ctlz.i64                     I >I
119 abs.i32                      i >i
120 abs.i64                      I >I
122 min.i32.s                    i i >i
123 min.i32.u                    i i >i
124 max.i32.s                    i i >i
125 max.i32.u                    i i >i
126 min.i64.s                    I I >I
127 min.i64.u                    I I >I
128 max.i64.s                    I I >I
129 max.i64.u                    I I >I
130 cast.any.ref                 R type >R
131 br_table                     i pc remap cases
132 buffer.hash                  r I I >I
133 discard.refs                 *
134 assign.ref                   R >R
135 call.yieldable               func * pc >*
136 call.variadic.yieldable      func *seg * pc >*
"""

_F32 = """
  0 global.load.f32              glob >f
  1 global.store.f32             glob f
  2 global.load.indirect.f32     i >f
  3 global.store.indirect.f32    i f
  4 const.f32.zero               >f
  5 const.f32                    #f32 >f
  6 list.get.f32                 r i >f
  7 list.set.f32                 r i f
  8 select.f32                   i f f >f
  9 switch.f32                   i f * >f
 10 add.f32                      f f >f
 11 sub.f32                      f f >f
 12 mul.f32                      f f >f
 13 div.f32                      f f >f
 14 rem.f32                      f f >f
 15 fma.f32                      f f f >f
 16 abs.f32                      f >f
 17 neg.f32                      f >f
 18 ceil.f32                     f >f
 19 floor.f32                    f >f
 20 cast.si32.f32                i >f
 21 cast.ui32.f32                i >f
 22 cast.f32.si32                f >i
 23 cast.f32.ui32                f >i
 24 bitcast.i32.f32              i >f
 25 bitcast.f32.i32              f >i
 26 atan.f32                     f >f
 27 atan2.f32                    f f >f
 28 cos.f32                      f >f
 29 sin.f32                      f >f
 30 exp.f32                      f >f
 31 exp2.f32                     f >f
 32 expm1.f32                    f >f
 33 log.f32                      f >f
 34 log10.f32                    f >f
 35 log1p.f32                    f >f
 36 log2.f32                     f >f
 37 pow.f32                      f f >f
 38 rsqrt.f32                    f >f
 39 sqrt.f32                     f >f
 40 tanh.f32                     f >f
 41 erf.f32                      f >f
 42 cmp.eq.f32.o                 f f >i
 43 cmp.eq.f32.u                 f f >i
 44 cmp.ne.f32.o                 f f >i
 45 cmp.ne.f32.u                 f f >i
 46 cmp.lt.f32.o                 f f >i
 47 cmp.lt.f32.u                 f f >i
 48 cmp.lte.f32.o                f f >i
 49 cmp.lte.f32.u                f f >i
 50 cmp.nan.f32                  f >i
 51 buffer.load.f32              r I >f
 52 buffer.store.f32             r I f
 53 buffer.fill.f32              r I I f
 54 round.f32                    f >f
 55 min.f32                      f f >f
 56 max.f32                      f f >f
 57 round.f32.even               f >f
 58 cast.f32.si64                f >I
 59 cast.f32.ui64                f >I
 60 cast.si64.f32                I >f
 61 cast.ui64.f32                I >f
"""

_F64 = """
  0 global.load.f64              glob >F
  1 global.store.f64             glob F
  2 global.load.indirect.f64     i >F
  3 global.store.indirect.f64    i F
  4 const.f64.zero               >F
  5 const.f64                    #f64 >F
  6 list.get.f64                 r i >F
  7 list.set.f64                 r i F
  8 select.f64                   i F F >F
  9 switch.f64                   i F * >F
 10 add.f64                      F F >F
 11 sub.f64                      F F >F
 12 mul.f64                      F F >F
 13 div.f64                      F F >F
 14 rem.f64                      F F >F
 15 fma.f64                      F F F >F
 16 abs.f64                      F >F
 17 neg.f64                      F >F
 18 ceil.f64                     F >F
 19 floor.f64                    F >F
 20 trunc.f64.f32                F >f
 21 ext.f32.f64                  f >F
 22 cast.si32.f64                i >F
 23 cast.ui32.f64                i >F
 24 cast.f64.si32                F >i
 25 cast.f64.ui32                F >i
 26 cast.si64.f64                I >F
 27 cast.ui64.f64                I >F
 28 cast.f64.si64                F >I
 29 cast.f64.ui64                F >I
 30 bitcast.i64.f64              I >F
 31 bitcast.f64.i64              F >I
 32 atan.f64                     F >F
 33 atan2.f64                    F F >F
 34 cos.f64                      F >F
 35 sin.f64                      F >F
 36 exp.f64                      F >F
 37 exp2.f64                     F >F
 38 expm1.f64                    F >F
 39 log.f64                      F >F
 40 log10.f64                    F >F
 41 log1p.f64                    F >F
 42 log2.f64                     F >F
 43 pow.f64                      F F >F
 44 rsqrt.f64                    F >F
 45 sqrt.f64                     F >F
 46 tanh.f64                     F >F
 47 erf.f64                      F >F
 48 cmp.eq.f64.o                 F F >i
 49 cmp.eq.f64.u                 F F >i
 50 cmp.ne.f64.o                 F F >i
 51 cmp.ne.f64.u                 F F >i
 52 cmp.lt.f64.o                 F F >i
 53 cmp.lt.f64.u                 F F >i
 54 cmp.lte.f64.o                F F >i
 55 cmp.lte.f64.u                F F >i
 56 cmp.nan.f64                  F >i
 57 buffer.load.f64              r I >F
 58 buffer.store.f64             r I F
 59 buffer.fill.f64              r I I F
 60 round.f64                    F >F
 61 min.f64                      F F >F
 62 max.f64                      F F >F
 63 round.f64.even               F >F
"""

TERMINATORS = frozenset(
    (
        "br",
        "cond_br",
        "br_table",
        "return",
        "fail",
        "yield",
        "break",
        "cond_break",
        "call.yieldable",
        "call.variadic.yieldable",
    )
)


@dataclass(frozen=True, slots=True)
class Field:
    """One operand of an instruction."""

    kind: str  # as in the table above, without `>`
    is_result: bool


@dataclass(frozen=True, slots=True)
class Op:
    """One opcode."""

    prefix: int  # 0, PREFIX_F32 or PREFIX_F64
    code: int
    name: str
    fields: tuple[Field, ...]

    @property
    def is_terminator(self) -> bool:
        return self.name in TERMINATORS


def _parse(prefix: int, rows: str) -> dict[int, Op]:
    table = {}
    for row in rows.strip().splitlines():
        code, name, *fields = row.split()
        parsed = tuple(Field(field.removeprefix(">"), field.startswith(">")) for field in fields)
        table[int(code)] = Op(prefix, int(code), name, parsed)
    return table


CORE, F32, F64 = _parse(0, _CORE), _parse(PREFIX_F32, _F32), _parse(PREFIX_F64, _F64)
SETS = {0: CORE, PREFIX_F32: F32, PREFIX_F64: F64}
OPS = {op.name: op for table in SETS.values() for op in table.values()}

_SCALARS = {
    **dict.fromkeys(("i", "f", "I", "F", "r", "R"), struct.Struct("<H")),
    **dict.fromkeys(("glob", "type", "rodata", "func", "pc"), struct.Struct("<I")),
    "#i32": struct.Struct("<i"),
    "#i64": struct.Struct("<q"),
    "#f32": struct.Struct("<f"),
    "#f64": struct.Struct("<d"),
}
_LISTS = ("*", "*seg")


def ref(ordinal: int, move: bool = False) -> int:
    """The encoding of a reference register."""
    return REF_BIT | (MOVE_BIT if move else 0) | ordinal


def is_ref(register: int) -> bool:
    return bool(register & REF_BIT)


def ref_ordinal(register: int) -> int:
    return register & ~(REF_BIT | MOVE_BIT)


def encode(op: Op, operands, offset: int = 0) -> bytes:
    """The bytes of an instruction that starts at `offset` of its function; one operand per field.

    Registers, ordinals and offsets are ints in their encoded form, lists are sequences, `remap` is a sequence
    of (source, target), `cases` one of (pc, remap), `str` text or bytes.
    """
    if len(operands) != len(op.fields):
        raise ValueError(f"{op.name} takes {len(op.fields)} operands, not {len(operands)}")
    out = bytearray([op.prefix, op.code] if op.prefix else [op.code])
    for field, value in zip(op.fields, operands):
        _encode_field(out, field.kind, value, offset)
    return bytes(out)


def _encode_field(out: bytearray, kind: str, value, offset: int) -> None:
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        out += scalar.pack(value)
    elif kind in _LISTS:
        out += bytes((offset + len(out)) & 1)
        out += struct.pack(f"<{len(value) + 1}H", len(value), *value)
    elif kind == "remap":
        out += bytes((offset + len(out)) & 1)
        out += struct.pack("<H", len(value))
        for source, target in value:
            out += struct.pack("<HH", source, target)
    elif kind == "str":
        text = value.encode() if isinstance(value, str) else bytes(value)
        out += struct.pack("<H", len(text)) + text
    else:  # cases
        out += struct.pack("<H", len(value))
        for target, remap in value:
            _encode_field(out, "pc", target, offset)
            _encode_field(out, "remap", remap, offset)


def end_of_field(kind: str, value, offset: int) -> int:
    """Where an operand that starts at `offset` ends."""
    scratch = bytearray()
    _encode_field(scratch, kind, value, offset)
    return offset + len(scratch)


def decode(code, offset: int) -> tuple[Op, list, int]:
    """The instruction at `offset` of a function's bytes: its op, its operands, the offset after it.

    The inverse of `encode`; strings come as bytes. Raises ValueError at an unknown opcode and struct.error
    or IndexError where the bytes end too early. A block marker is no instruction.
    """
    prefix = code[offset] if code[offset] in (PREFIX_F32, PREFIX_F64) else 0
    offset += 1 if prefix else 0
    op = SETS[prefix].get(code[offset])
    if op is None:
        raise ValueError(f"unknown opcode {code[offset]} of set {prefix} at offset {offset}")
    offset += 1
    operands = []
    for field in op.fields:
        value, offset = _decode_field(code, field.kind, offset)
        operands.append(value)
    return op, operands, offset


def _decode_field(code, kind: str, offset: int):
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return scalar.unpack_from(code, offset)[0], offset + scalar.size
    if kind in _LISTS or kind == "remap":
        offset += offset & 1
    (count,) = struct.unpack_from("<H", code, offset)
    offset += 2
    if kind in _LISTS:
        return list(struct.unpack_from(f"<{count}H", code, offset)), offset + 2 * count
    if kind == "remap":
        flat = struct.unpack_from(f"<{2 * count}H", code, offset)
        return list(zip(flat[::2], flat[1::2])), offset + 4 * count
    if kind == "str":
        if offset + count > len(code):
            raise IndexError("a string runs past the end of the function")
        return bytes(code[offset : offset + count]), offset + count
    cases = []
    for _ in range(count):
        target, offset = _decode_field(code, "pc", offset)
        remap, offset = _decode_field(code, "remap", offset)
        cases.append((target, remap))
    return cases, offset
