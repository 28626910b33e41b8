"""What the verifier knows of each opcode, as two flat tables; and the block of facts that it is given.

Enters: the instruction table. Leaves: `OFFSETS` (for each set and opcode, where its fields start, or 0) and
`FIELDS` (field codes, each row ended by END). Constants only besides, importable without numba.
"""

from pyiree.runtime.vmfb import isa

# Field codes.
END = 0
VALUE_32, VALUE_64, REF, REF_MOVE = 1, 2, 3, 4
SKIP_4, SKIP_8 = 5, 6
GLOBAL_4, GLOBAL_8, GLOBAL_REF = 7, 8, 9
TYPE_ANY, TYPE_REF, RODATA, FUNCTION = 10, 11, 12, 13
TARGET, STRING, REMAP, CASES = 14, 15, 16, 17
LIST_32, LIST_64, LIST_REF, LIST_ANY = 18, 19, 20, 21
RETURN, CALL, CALL_VARIADIC, CALL_YIELDABLE, CALL_VARIADIC_YIELDABLE = 22, 23, 24, 25, 26
TERMINATOR = 27

_PLAIN = {
    "i": VALUE_32,
    "f": VALUE_32,
    "I": VALUE_64,
    "F": VALUE_64,
    "r": REF,
    "R": REF_MOVE,
    "#i32": SKIP_4,
    "#f32": SKIP_4,
    "#i64": SKIP_8,
    "#f64": SKIP_8,
    "type": TYPE_REF,
    "rodata": RODATA,
    "func": FUNCTION,
    "pc": TARGET,
    "str": STRING,
    "remap": REMAP,
    "cases": CASES,
}
_WHOLE = {
    "return": RETURN,
    "call": CALL,
    "call.variadic": CALL_VARIADIC,
    "call.yieldable": CALL_YIELDABLE,
    "call.variadic.yieldable": CALL_VARIADIC_YIELDABLE,
}
_GLOBALS = {"i32": GLOBAL_4, "f32": GLOBAL_4, "i64": GLOBAL_8, "f64": GLOBAL_8, "ref": GLOBAL_REF}
_LISTS = {
    "switch.i32": LIST_32,
    "switch.f32": LIST_32,
    "switch.i64": LIST_64,
    "switch.f64": LIST_64,
    "switch.ref": LIST_REF,
    "discard.refs": LIST_REF,
    "trace": LIST_ANY,
    "print": LIST_ANY,
}


def _codes(op: isa.Op) -> list[int]:
    if op.name in _WHOLE:
        codes = [_WHOLE[op.name]]
    else:
        codes = []
        for field in op.fields:
            if field.kind == "glob":
                codes.append(_GLOBALS[op.name.rsplit(".", 1)[1]])
            elif field.kind == "*":
                codes.append(_LISTS[op.name])
            elif field.kind == "type" and op.name == "list.alloc":
                codes.append(TYPE_ANY)
            else:
                codes.append(_PLAIN[field.kind])
    return [*codes, TERMINATOR] if op.is_terminator else codes


def _build() -> tuple[bytes, bytes]:
    fields = bytearray([END])
    offsets = bytearray(3 * 256 * 2)
    for number, table in enumerate(isa.SETS.values()):
        for op in table.values():
            place = 2 * (256 * number + op.code)
            offsets[place : place + 2] = len(fields).to_bytes(2, "little")
            fields += bytes([*_codes(op), END])
    return bytes(offsets), bytes(fields)


OFFSETS, FIELDS = _build()

# The facts: one int64 each.
(
    CODE,  # address of the function's bytecode
    LENGTH,
    BLOCK_COUNT,
    VALUE_REGISTERS,
    REF_REGISTERS,
    REQUIREMENTS,
    RESULT_KINDS,  # address of the KIND_* bytes of the function's results
    RESULT_COUNT,
    OFFSETS_ADDRESS,
    FIELDS_ADDRESS,
    TYPES,  # address of the type ordinals
    TYPE_COUNT,
    RODATA_COUNT,
    FUNCTIONS,  # address of the function records
    FUNCTION_COUNT,
    IMPORTS,  # address of the import records
    IMPORT_COUNT,
    GLOBAL_BYTES,
    GLOBAL_REFS,
    SCRATCH,  # address of LENGTH zero bytes
    ERROR_AT,  # out: where the fault lies
) = range(0, 8 * 21, 8)
FACTS = 21

ERRORS = {
    1: "the block count is wrong",
    2: "a block does not end with a terminator",
    3: "an instruction stands outside any block",
    4: "an opcode is unknown",
    5: "an instruction runs past the function's end",
    6: "a value register is out of range",
    7: "a 64-bit value register is odd or out of range",
    8: "a reference register is malformed or out of range",
    9: "a global is out of range",
    10: "a type is out of range or of the wrong kind",
    11: "a rodata segment is out of range",
    12: "a function ordinal is out of range",
    13: "a branch target is no block",
    14: "a register list does not fit the signature",
    15: "a float instruction is used without the requirement bit",
    16: "a variadic call does not fit the import",
    17: "a branch moves a value between register banks",
}
(
    ERROR_BLOCK_COUNT,
    ERROR_TERMINATOR,
    ERROR_OUTSIDE,
    ERROR_OPCODE,
    ERROR_END,
    ERROR_VALUE,
    ERROR_PAIR,
    ERROR_REF,
    ERROR_GLOBAL,
    ERROR_TYPE,
    ERROR_RODATA,
    ERROR_FUNCTION,
    ERROR_TARGET,
    ERROR_SIGNATURE,
    ERROR_REQUIREMENT,
    ERROR_VARIADIC,
    ERROR_BANK,
) = range(1, 18)
