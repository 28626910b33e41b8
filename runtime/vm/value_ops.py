"""The opcodes that only compute values: one line each, turned into machine code from the instruction table.

Enters: the instruction table. Leaves: `run_values`, an intrinsic that runs instructions for as long as they
are such ops. Operand decoding, register access and the length of an instruction come from its row's fields;
the line here says what is computed.
"""

from collections.abc import Callable

from llvmlite import ir
from pyiree.runtime.native.intrinsics import F32, F64, I1, I8, I16, I32, I64, declare, emitter, pointer
from pyiree.runtime.vmfb import isa

_FIELD_TYPES = {"i": I32, "I": I64, "f": F32, "F": F64, "r": I64}
_IMMEDIATE_TYPES = {"#i32": I32, "#i64": I64, "#f32": F32, "#f64": F64}
_SIZES = {"i": 2, "I": 2, "f": 2, "F": 2, "r": 2, "glob": 4, "#i32": 4, "#i64": 8, "#f32": 4, "#f64": 8}

Semantics = Callable[..., ir.Value]


def _compare(predicate: str, signed: bool) -> Semantics:
    def emit(b, x, y):
        compare = b.icmp_signed if signed else b.icmp_unsigned
        return b.zext(compare(predicate, x, y), I32)

    return emit


def _compare_floats(predicate: str, ordered: bool) -> Semantics:
    def emit(b, x, y):
        compare = b.fcmp_ordered if ordered else b.fcmp_unordered
        return b.zext(compare(predicate, x, y), I32)

    return emit


def _pick(predicate: str, signed: bool) -> Semantics:
    def emit(b, x, y):
        compare = b.icmp_signed if signed else b.icmp_unsigned
        return b.select(compare(predicate, x, y), x, y)

    return emit


def _shift(operation: str) -> Semantics:
    def emit(b, x, amount):
        masked = b.and_(amount, I32(x.type.width - 1))
        return getattr(b, operation)(x, masked if x.type is I32 else b.zext(masked, I64))

    return emit


def _select(b, condition, x, y):
    return b.select(b.icmp_signed("!=", condition, I32(0)), x, y)


def _absolute(b, x):
    return b.select(b.icmp_signed("<", x, x.type(0)), b.neg(x), x)


def _not_zero(b, x):
    return b.zext(b.icmp_signed("!=", x, x.type(0)), I32)


def _low_bits(kind: ir.IntType, extend: str) -> Semantics:
    return lambda b, x: getattr(b, extend)(b.trunc(x, kind), I32)


def _call(b, symbol: str, *values):
    kind = values[0].type
    return b.call(declare(b, symbol, kind, [kind] * len(values)), values)


def _llvm(name: str) -> Semantics:
    """An LLVM intrinsic on floats."""
    return lambda b, *values: _call(b, f"llvm.{name}.{'f32' if values[0].type is F32 else 'f64'}", *values)


def _libm(name: str) -> Semantics:
    return lambda b, *values: _call(b, name + ("f" if values[0].type is F32 else ""), *values)


def _to_integer(kind: ir.IntType, sign: str) -> Semantics:
    """Rounds half away from zero; out of range saturates, NaN gives zero."""

    def emit(b, x):
        rounded = _llvm("round")(b, x)
        suffix = "f32" if x.type is F32 else "f64"
        convert = declare(b, f"llvm.fpto{sign}i.sat.i{kind.width}.{suffix}", kind, [x.type])
        return b.call(convert, [rounded])

    return emit


def _integer_ops(t: str) -> dict[str, Semantics]:
    return {
        f"const.{t}": lambda b, x: x,
        f"select.{t}": _select,
        f"add.{t}": lambda b, x, y: b.add(x, y),
        f"sub.{t}": lambda b, x, y: b.sub(x, y),
        f"mul.{t}": lambda b, x, y: b.mul(x, y),
        f"fma.{t}": lambda b, x, y, z: b.add(b.mul(x, y), z),
        f"not.{t}": lambda b, x: b.not_(x),
        f"and.{t}": lambda b, x, y: b.and_(x, y),
        f"or.{t}": lambda b, x, y: b.or_(x, y),
        f"xor.{t}": lambda b, x, y: b.xor(x, y),
        f"shl.{t}": _shift("shl"),
        f"shr.{t}.s": _shift("ashr"),
        f"shr.{t}.u": _shift("lshr"),
        f"ctlz.{t}": lambda b, x: b.ctlz(x, I1(0)),
        f"abs.{t}": _absolute,
        f"min.{t}.s": _pick("<", True),
        f"min.{t}.u": _pick("<", False),
        f"max.{t}.s": _pick(">", True),
        f"max.{t}.u": _pick(">", False),
        f"cmp.eq.{t}": _compare("==", True),
        f"cmp.ne.{t}": _compare("!=", True),
        f"cmp.lt.{t}.s": _compare("<", True),
        f"cmp.lt.{t}.u": _compare("<", False),
        f"cmp.nz.{t}": _not_zero,
    }


def _float_ops(t: str, kind: ir.Type) -> dict[str, Semantics]:
    unary = "atan cos sin exp exp2 expm1 log log10 log1p log2 tanh erf"
    return {
        f"const.{t}": lambda b, x: x,
        f"select.{t}": _select,
        f"add.{t}": lambda b, x, y: b.fadd(x, y),
        f"sub.{t}": lambda b, x, y: b.fsub(x, y),
        f"mul.{t}": lambda b, x, y: b.fmul(x, y),
        f"div.{t}": lambda b, x, y: b.fdiv(x, y),
        f"rem.{t}": _libm("remainder"),
        f"fma.{t}": _llvm("fma"),
        f"abs.{t}": _llvm("fabs"),
        f"neg.{t}": lambda b, x: b.fneg(x),
        f"ceil.{t}": _llvm("ceil"),
        f"floor.{t}": _llvm("floor"),
        f"round.{t}": _llvm("round"),
        f"round.{t}.even": _llvm("roundeven"),
        f"sqrt.{t}": _llvm("sqrt"),
        f"rsqrt.{t}": lambda b, x: b.fdiv(kind(1), _llvm("sqrt")(b, x)),
        f"atan2.{t}": _libm("atan2"),
        f"pow.{t}": _libm("pow"),
        **{f"{name}.{t}": _libm(name) for name in unary.split()},
        # The second operand wins only if the comparison is true, so NaN in it is dropped.
        f"min.{t}": lambda b, x, y: b.select(b.fcmp_ordered("<", y, x), y, x),
        f"max.{t}": lambda b, x, y: b.select(b.fcmp_ordered(">", y, x), y, x),
        f"cmp.eq.{t}.o": _compare_floats("==", True),
        f"cmp.eq.{t}.u": _compare_floats("==", False),
        f"cmp.ne.{t}.o": _compare_floats("!=", False),  # plain `!=`, true for NaN
        f"cmp.ne.{t}.u": _compare_floats("!=", False),
        f"cmp.lt.{t}.o": _compare_floats("<", True),
        f"cmp.lt.{t}.u": _compare_floats("<", False),
        f"cmp.lte.{t}.o": _compare_floats("<=", True),
        f"cmp.lte.{t}.u": _compare_floats("<=", False),
        f"cmp.nan.{t}": lambda b, x: b.zext(b.fcmp_unordered("uno", x, x), I32),
        f"cast.si32.{t}": lambda b, x: b.sitofp(x, kind),
        f"cast.ui32.{t}": lambda b, x: b.uitofp(x, kind),
        f"cast.si64.{t}": lambda b, x: b.sitofp(x, kind),
        f"cast.ui64.{t}": lambda b, x: b.uitofp(x, kind),
        f"cast.{t}.si32": _to_integer(I32, "s"),
        f"cast.{t}.ui32": _to_integer(I32, "u"),
        f"cast.{t}.si64": _to_integer(I64, "s"),
        f"cast.{t}.ui64": _to_integer(I64, "u"),
    }


def _global_ops(t: str, kind: ir.Type) -> dict[str, Semantics]:
    return {
        f"global.load.{t}": lambda b, address: b.load(pointer(b, address, kind), align=1),
        f"global.store.{t}": lambda b, address, x: b.store(x, pointer(b, address, kind), align=1),
    }


def _zero(kind: ir.Type) -> Semantics:
    return lambda b: ir.Constant(kind, 0)


SEMANTICS: dict[str, Semantics] = {
    **_integer_ops("i32"),
    **_integer_ops("i64"),
    **_float_ops("f32", F32),
    **_float_ops("f64", F64),
    **_global_ops("i32", I32),
    **_global_ops("i64", I64),
    **_global_ops("f32", F32),
    **_global_ops("f64", F64),
    "const.i32.zero": _zero(I32),
    "const.i64.zero": _zero(I64),
    "const.f32.zero": _zero(F32),
    "const.f64.zero": _zero(F64),
    "trunc.i32.i8": _low_bits(I8, "zext"),
    "trunc.i32.i16": _low_bits(I16, "zext"),
    "trunc.i64.i32": lambda b, x: b.trunc(x, I32),
    "ext.i8.i32.s": _low_bits(I8, "sext"),
    "ext.i8.i32.u": _low_bits(I8, "zext"),
    "ext.i16.i32.s": _low_bits(I16, "sext"),
    "ext.i16.i32.u": _low_bits(I16, "zext"),
    "ext.i32.i64.s": lambda b, x: b.sext(x, I64),
    "ext.i32.i64.u": lambda b, x: b.zext(x, I64),
    "cmp.eq.ref": _compare("==", True),
    "cmp.ne.ref": _compare("!=", True),
    "cmp.nz.ref": _not_zero,
    "bitcast.i32.f32": lambda b, x: b.bitcast(x, F32),
    "bitcast.f32.i32": lambda b, x: b.bitcast(x, I32),
    "bitcast.i64.f64": lambda b, x: b.bitcast(x, F64),
    "bitcast.f64.i64": lambda b, x: b.bitcast(x, I64),
    "trunc.f64.f32": lambda b, x: b.fptrunc(x, F32),
    "ext.f32.f64": lambda b, x: b.fpext(x, F64),
}


def _emit_run(b, pc, registers, refs, global_base):
    """The loop: one jump table for each set, with an exit for every opcode that is no value op."""
    function = b.function
    leave = function.append_basic_block("leave")
    entry = b.block
    heads = {}
    for prefix in isa.SETS:
        block = function.append_basic_block(f"next_{prefix}")
        b.position_at_end(block)
        heads[prefix] = b.phi(I64)
    b.position_at_end(leave)
    stopped = b.phi(I64)
    b.position_at_end(entry)
    _go(b, heads[0], pc)
    switches = {}
    for prefix, table in isa.SETS.items():
        at = heads[prefix]
        b.position_at_end(at.parent)
        opcode = b.load(pointer(b, at, I8), align=1)
        # Where the instruction starts, its prefix included.
        stopped.add_incoming(b.sub(at, I64(1)) if prefix else at, at.parent)
        switches[prefix] = b.switch(opcode, leave)
        for op in table.values():
            if op.name in SEMANTICS:
                block = function.append_basic_block(op.name)
                switches[prefix].add_case(I8(op.code), block)
                b.position_at_end(block)
                _go(b, heads[0], _emit_op(b, op, at, registers, refs, global_base))
        if prefix:
            block = function.append_basic_block(f"prefix_{prefix}")
            switches[0].add_case(I8(prefix), block)
            b.position_at_end(block)
            _go(b, at, b.add(heads[0], I64(1)))
    b.position_at_end(leave)
    return stopped


def _go(b, head: ir.PhiInstr, address) -> None:
    """Branches to a loop head with its next address."""
    head.add_incoming(address, b.block)
    b.branch(head.parent)


# (pc, registers, refs, globals) → the first pc whose instruction is not a value op.
run_values = emitter("run_values", I64, [I64] * 4, _emit_run)


def _emit_op(b, op: isa.Op, pc, registers, refs, global_base):
    """One instruction, `pc` being at its opcode byte (behind a prefix); gives the address behind it."""
    position = 1
    operands, target = [], None
    for field in op.fields:
        place = b.add(pc, I64(position))
        position += _SIZES[field.kind]
        if field.is_result:
            target = pointer(b, _register(b, place, field.kind, registers, refs), _FIELD_TYPES[field.kind])
        elif field.kind in _IMMEDIATE_TYPES:
            operands.append(b.load(pointer(b, place, _IMMEDIATE_TYPES[field.kind]), align=1))
        elif field.kind == "glob":
            offset = b.zext(b.load(pointer(b, place, I32), align=1), I64)
            operands.append(b.add(global_base, offset))
        else:
            address = _register(b, place, field.kind, registers, refs)
            operands.append(b.load(pointer(b, address, _FIELD_TYPES[field.kind]), align=4))
    value = SEMANTICS[op.name](b, *operands)
    if target is not None:
        b.store(value, target, align=4)
    return b.add(pc, I64(position))


def _register(b, place, kind: str, registers, refs):
    """The address of the register that the u16 at `place` names."""
    number = b.zext(b.load(pointer(b, place, I16), align=1), I64)
    if kind == "r":
        ordinal = b.and_(number, I64(~(isa.REF_BIT | isa.MOVE_BIT) & 0xFFFF))
        return b.add(refs, b.shl(ordinal, I64(3)))
    return b.add(registers, b.shl(number, I64(2)))
