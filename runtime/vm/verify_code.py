"""The walk over a function's bytecode that proves it safe to interpret: native, linear, table-driven.

Enters: the block of facts (verify_table.py). Leaves: 0, or the number of an error and where it lies. After a
0 every opcode is known, every operand lies in the function and names what exists, every target is a block,
every block ends, and every call and return fits its signature.
"""

from pyiree.runtime.native import layout as objects
from pyiree.runtime.native.intrinsics import load_i64, load_u8, load_u16, load_u32, native, store_i8, store_i64
from pyiree.runtime.vm import layout
from pyiree.runtime.vm import verify_table as table
from pyiree.runtime.vmfb import isa

REF_BIT, MOVE_BIT, IMPORT_BIT = isa.REF_BIT, isa.MOVE_BIT, isa.IMPORT_BIT
REF_ORDINAL = ~(REF_BIT | MOVE_BIT) & 0xFFFF
IS_BLOCK, IS_TARGET = 1, 2  # bits of a scratch byte


@native("int64(int64,int64,int64)")
def fault(facts, error, at):
    """Notes an error; gives minus its number."""
    store_i64(facts + table.ERROR_AT, at)
    return -error


@native("int64(int64,int64,int64)")
def check_register(facts, at, kind):
    """Whether the register at an address may hold a value of a kind: 0 or minus an error."""
    register = load_u16(at)
    if kind == layout.KIND_REF:
        if register & REF_BIT == 0 or register & REF_ORDINAL >= load_i64(facts + table.REF_REGISTERS):
            return fault(facts, table.ERROR_REF, at)
        return 0
    count = load_i64(facts + table.VALUE_REGISTERS)
    if kind == layout.KIND_64:
        if register & 1 or register + 1 >= count:
            return fault(facts, table.ERROR_PAIR, at)
    elif register >= count:
        return fault(facts, table.ERROR_VALUE, at)
    return 0


@native("int64(int64,int64,int64)")
def check_any_register(facts, at, unused):
    """The same for a register of either bank."""
    return check_register(facts, at, layout.KIND_REF if load_u16(at) & REF_BIT else layout.KIND_32)


@native("int64(int64,int64,int64)")
def list_end(facts, at, item_bytes):
    """Where a counted list that follows `at` ends, or minus an error. It starts at an even address."""
    end = load_i64(facts + table.CODE) + load_i64(facts + table.LENGTH)
    start = (at + 1) & -2
    if start + 2 > end:
        return fault(facts, table.ERROR_END, at)
    behind = start + 2 + item_bytes * load_u16(start)
    return behind if behind <= end else fault(facts, table.ERROR_END, at)


@native("int64(int64,int64,int64)")
def check_list(facts, at, kind):
    """A list of registers of one kind, or of both banks if the kind is KIND_SPAN; gives its end."""
    end = list_end(facts, at, 2)
    if end < 0:
        return end
    item = ((at + 1) & -2) + 2
    while item < end:
        if kind == layout.KIND_SPAN:
            status = check_any_register(facts, item, 0)
        else:
            status = check_register(facts, item, kind)
        if status < 0:
            return status
        item += 2
    return end


@native("int64(int64,int64,int64,int64)")
def check_signature(facts, at, kinds, count):
    """A list of registers, one for each kind; gives its end."""
    end = list_end(facts, at, 2)
    if end < 0:
        return end
    start = (at + 1) & -2
    if load_u16(start) != count:
        return fault(facts, table.ERROR_SIGNATURE, at)
    for k in range(count):
        status = check_register(facts, start + 2 + 2 * k, load_u8(kinds + k))
        if status < 0:
            return status
    return end


@native("int64(int64,int64)")
def check_target(facts, at):
    """A branch target; gives the address behind it. That it is a block is seen at the end of the walk."""
    code = load_i64(facts + table.CODE)
    length = load_i64(facts + table.LENGTH)
    if at + 4 > code + length:
        return fault(facts, table.ERROR_END, at)
    target = load_u32(at)
    if target >= length:
        return fault(facts, table.ERROR_TARGET, at)
    mark = load_i64(facts + table.SCRATCH) + target
    store_i8(mark, load_u8(mark) | IS_TARGET)
    return at + 4


@native("int64(int64,int64)")
def check_remap(facts, at):
    """The operands of a branch; gives the address behind them."""
    end = list_end(facts, at, 4)
    if end < 0:
        return end
    pair = ((at + 1) & -2) + 2
    while pair < end:
        if (load_u16(pair) ^ load_u16(pair + 2)) & REF_BIT:
            return fault(facts, table.ERROR_BANK, pair)
        status = check_any_register(facts, pair, 0)
        if status < 0:
            return status
        status = check_any_register(facts, pair + 2, 0)
        if status < 0:
            return status
        pair += 4
    return end


@native("int64(int64,int64)")
def check_cases(facts, at):
    """The cases of a branch table; gives the address behind them."""
    end = load_i64(facts + table.CODE) + load_i64(facts + table.LENGTH)
    if at + 2 > end:
        return fault(facts, table.ERROR_END, at)
    count = load_u16(at)
    at += 2
    for _ in range(count):
        at = check_target(facts, at)
        if at < 0:
            return at
        at = check_remap(facts, at)
        if at < 0:
            return at
    return at


@native("int64(int64,int64,int64,int64)")
def check_variadic(facts, record, segments, operands):
    """The operands of a variadic call against the import's parameters; gives the address behind them."""
    kinds = load_i64(record + layout.IMPORT_ARGUMENTS)
    items = load_i64(record + layout.IMPORT_ARGUMENT_COUNT)
    end = list_end(facts, operands, 2)
    if end < 0:
        return end
    if load_u16(segments) != items:
        return fault(facts, table.ERROR_VARIADIC, segments)
    at = ((operands + 1) & -2) + 2
    for k in range(items):
        kind = load_u8(kinds)
        kinds += 1
        members = 1
        repeat = load_u16(segments + 2 + 2 * k)
        if kind == layout.KIND_SPAN:
            members = load_u8(kinds)
            kinds += 1
            if repeat == isa.NOT_VARIADIC:
                return fault(facts, table.ERROR_VARIADIC, segments)
        else:
            kinds -= 1
            if repeat != isa.NOT_VARIADIC:
                return fault(facts, table.ERROR_VARIADIC, segments)
            repeat = 1
        if at + 2 * members * repeat > end:
            return fault(facts, table.ERROR_VARIADIC, operands)
        for _ in range(repeat):
            for member in range(members):
                status = check_register(facts, at, load_u8(kinds + member))
                if status < 0:
                    return status
                at += 2
        kinds += members
    return at if at == end else fault(facts, table.ERROR_VARIADIC, operands)


@native("int64(int64,int64,int64,int64)")
def check_call(facts, at, variadic, yieldable):
    """A call from its ordinal on; gives the address behind it."""
    end = load_i64(facts + table.CODE) + load_i64(facts + table.LENGTH)
    if at + 4 > end:
        return fault(facts, table.ERROR_END, at)
    ordinal = load_u32(at)
    operands = at + 4
    segments = (operands + 1) & -2
    if variadic:
        operands = list_end(facts, operands, 2)
        if operands < 0:
            return operands
    if ordinal & IMPORT_BIT:
        ordinal &= ~IMPORT_BIT
        if ordinal >= load_i64(facts + table.IMPORT_COUNT):
            return fault(facts, table.ERROR_FUNCTION, at)
        record = load_i64(facts + table.IMPORTS) + layout.IMPORT_BYTES * ordinal
        kinds = load_i64(record + layout.IMPORT_ARGUMENTS)
        count = load_i64(record + layout.IMPORT_ARGUMENT_COUNT)
        result_kinds = load_i64(record + layout.IMPORT_RESULTS)
        result_count = load_i64(record + layout.IMPORT_RESULT_COUNT)
        if variadic:
            behind = check_variadic(facts, record, segments, operands)
        else:
            # Kinds are bytes in a row only without spans, whose mark no register satisfies.
            for k in range(count):
                if load_u8(kinds + k) == layout.KIND_SPAN:
                    return fault(facts, table.ERROR_VARIADIC, at)
            behind = check_signature(facts, operands, kinds, count)
    else:
        if ordinal >= load_i64(facts + table.FUNCTION_COUNT) or variadic:
            return fault(facts, table.ERROR_FUNCTION, at)
        record = load_i64(facts + table.FUNCTIONS) + layout.FUNCTION_BYTES * ordinal
        result_kinds = load_i64(record + layout.FUNCTION_RESULTS)
        result_count = load_i64(record + layout.FUNCTION_RESULT_COUNT)
        kinds = load_i64(record + layout.FUNCTION_ARGUMENTS)
        behind = check_signature(facts, operands, kinds, load_i64(record + layout.FUNCTION_ARGUMENT_COUNT))
    if behind < 0:
        return behind
    if yieldable:
        behind = check_target(facts, behind)
        if behind < 0:
            return behind
    return check_signature(facts, behind, result_kinds, result_count)


@native("int64(int64,int64,int64)")
def check_word(facts, at, code):
    """A field of four bytes that names something; gives the address behind it."""
    value = load_u32(at)
    if code == table.GLOBAL_4 or code == table.GLOBAL_8:
        if value + (4 if code == table.GLOBAL_4 else 8) > load_i64(facts + table.GLOBAL_BYTES):
            return fault(facts, table.ERROR_GLOBAL, at)
    elif code == table.GLOBAL_REF:
        if value >= load_i64(facts + table.GLOBAL_REFS):
            return fault(facts, table.ERROR_GLOBAL, at)
    elif code == table.RODATA:
        if value >= load_i64(facts + table.RODATA_COUNT):
            return fault(facts, table.ERROR_RODATA, at)
    elif code == table.FUNCTION:
        count = load_i64(facts + table.IMPORT_COUNT if value & IMPORT_BIT else facts + table.FUNCTION_COUNT)
        if value & ~IMPORT_BIT >= count:
            return fault(facts, table.ERROR_FUNCTION, at)
    elif code != table.SKIP_4:  # a type
        if value >= load_i64(facts + table.TYPE_COUNT):
            return fault(facts, table.ERROR_TYPE, at)
        ordinal = load_i64(load_i64(facts + table.TYPES) + 8 * value)
        if code == table.TYPE_REF and ordinal < objects.FIRST_REF_TYPE:
            return fault(facts, table.ERROR_TYPE, at)
    return at + 4


@native("int64(int64,int64,int64)")
def check_field(facts, at, code):
    """One field of an instruction; gives the address behind it, or minus an error."""
    end = load_i64(facts + table.CODE) + load_i64(facts + table.LENGTH)
    if code <= table.REF_MOVE:
        if at + 2 > end:
            return fault(facts, table.ERROR_END, at)
        if code == table.REF and load_u16(at) & MOVE_BIT:
            return fault(facts, table.ERROR_REF, at)
        kind = code - table.VALUE_32 if code < table.REF else layout.KIND_REF
        status = check_register(facts, at, kind)
        return status if status < 0 else at + 2
    if code == table.SKIP_8:
        return at + 8 if at + 8 <= end else fault(facts, table.ERROR_END, at)
    if code <= table.FUNCTION:
        return check_word(facts, at, code) if at + 4 <= end else fault(facts, table.ERROR_END, at)
    if code == table.TARGET:
        return check_target(facts, at)
    if code == table.REMAP:
        return check_remap(facts, at)
    if code == table.CASES:
        return check_cases(facts, at)
    if code == table.STRING:
        if at + 2 > end or at + 2 + load_u16(at) > end:
            return fault(facts, table.ERROR_END, at)
        return at + 2 + load_u16(at)
    if code <= table.LIST_ANY:
        return check_list(facts, at, code - table.LIST_32)
    if code == table.RETURN:
        kinds, count = load_i64(facts + table.RESULT_KINDS), load_i64(facts + table.RESULT_COUNT)
        return check_signature(facts, at, kinds, count)
    variadic = 1 if code == table.CALL_VARIADIC or code == table.CALL_VARIADIC_YIELDABLE else 0
    yieldable = 1 if code == table.CALL_YIELDABLE or code == table.CALL_VARIADIC_YIELDABLE else 0
    return check_call(facts, at, variadic, yieldable)


@native("int64(int64)")
def vm_verify(facts):
    """Verifies one function: 0, or the number of an error with its offset in ERROR_AT."""
    code = load_i64(facts + table.CODE)
    length = load_i64(facts + table.LENGTH)
    end = code + length
    scratch = load_i64(facts + table.SCRATCH)
    offsets = load_i64(facts + table.OFFSETS_ADDRESS)
    requirements = load_i64(facts + table.REQUIREMENTS)
    blocks = 0
    open_block = 0
    at = code
    error = 0
    while at < end and error == 0:
        start = at
        opcode = load_u8(at)
        at += 1
        if opcode == isa.BLOCK_MARKER:
            if open_block:
                error = table.ERROR_TERMINATOR
            open_block = 1
            blocks += 1
            mark = scratch + (start - code)
            store_i8(mark, load_u8(mark) | IS_BLOCK)
        elif open_block == 0:
            error = table.ERROR_OUTSIDE
        else:
            row = offsets
            if opcode == isa.PREFIX_F32 or opcode == isa.PREFIX_F64:
                needed = isa.REQUIRES_F32 if opcode == isa.PREFIX_F32 else isa.REQUIRES_F64
                row = offsets + (512 if opcode == isa.PREFIX_F32 else 1024)
                if requirements & needed == 0:
                    error = table.ERROR_REQUIREMENT
                if at == end:
                    error = table.ERROR_END
                else:
                    opcode = load_u8(at)
                    at += 1
            field = load_u16(row + 2 * opcode)
            if field == 0 and error == 0:
                error = table.ERROR_OPCODE
            field += load_i64(facts + table.FIELDS_ADDRESS)
            kind = load_u8(field)
            while kind != table.END and error == 0:
                if kind == table.TERMINATOR:
                    open_block = 0
                else:
                    at = check_field(facts, at, kind)
                    if at < 0:
                        return -at
                field += 1
                kind = load_u8(field)
        if error != 0:
            store_i64(facts + table.ERROR_AT, start)
    if error == 0:
        store_i64(facts + table.ERROR_AT, end)
        if open_block:
            error = table.ERROR_TERMINATOR
        elif blocks != load_i64(facts + table.BLOCK_COUNT) or length == 0 or load_u8(scratch) & IS_BLOCK == 0:
            error = table.ERROR_BLOCK_COUNT
        else:
            for k in range(length):
                if load_u8(scratch + k) == IS_TARGET:
                    store_i64(facts + table.ERROR_AT, code + k)
                    error = table.ERROR_TARGET
                    break
    return error
